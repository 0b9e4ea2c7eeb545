//! Rows out of a Parquet file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::vec;

use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::checked::CheckedFile;
use super::column::{Column, Problem};
use super::error::FileError;
use super::guard::guarded;
use super::row::{FORMAT_KEY, Row, VERSION_KEY, schema};

/// Rows read at a time.
const BATCH: u64 = 1_024;

/// Streams the rows of a table. After an error it ends.
pub(crate) struct TableReader<R> {
    path: PathBuf,
    file: SerializedFileReader<CheckedFile>,
    columns: Vec<Column<R>>,
    /// The row group to open next.
    next_group: usize,
    /// One reader per leaf of the open row group.
    readers: Vec<ColumnReader>,
    /// Rows of the open row group not read yet.
    left: u64,
    batch: vec::IntoIter<R>,
    /// Rows read so far, the batch included.
    read: u64,
    failed: bool,
}

impl<R: Row> TableReader<R> {
    /// Opens the table at `path`, which must be in `version` of its format.
    pub(crate) fn open(path: &Path, version: u64) -> Result<TableReader<R>, FileError> {
        let format = R::TABLE;
        let file = open_checked(path, format)?;
        let file = guarded(|| Ok(SerializedFileReader::new(CheckedFile::new(file)?)?))
            .map_err(|problem| metadata_error(path, problem.to_string()))?;
        let reader = TableReader {
            path: path.to_owned(),
            file,
            columns: R::columns(),
            next_group: 0,
            readers: Vec::new(),
            left: 0,
            batch: Vec::new().into_iter(),
            read: 0,
            failed: false,
        };
        let Some(found) = reader.metadata(FORMAT_KEY) else {
            return Err(FileError::Foreign { path: path.to_owned(), expected: format });
        };
        if found != format {
            return Err(FileError::OtherFormat { path: path.to_owned(), found: found.to_owned(), expected: format });
        }
        let found = reader.metadata(VERSION_KEY).unwrap_or_default();
        let found: u64 =
            found.parse().map_err(|_| metadata_error(path, format!("its version is \"{found}\", not a number")))?;
        if found > version {
            return Err(FileError::Newer { path: path.to_owned(), format, found, known: version });
        }
        if found != version || !reader.has_expected_columns() {
            return Err(metadata_error(path, format!("its columns are not those of version {version}")));
        }
        Ok(reader)
    }

    /// Whether the file's columns are the table's. The schemas themselves differ in what the format leaves open.
    fn has_expected_columns(&self) -> bool {
        let expected = SchemaDescriptor::new(schema(&self.columns));
        let found = self.file.metadata().file_metadata().schema_descr();
        expected.num_columns() == found.num_columns()
            && expected.columns().iter().zip(found.columns()).all(|(expected, found)| {
                expected.path() == found.path()
                    && expected.physical_type() == found.physical_type()
                    && expected.max_def_level() == found.max_def_level()
                    && expected.max_rep_level() == found.max_rep_level()
            })
    }

    /// A value of the file's metadata.
    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        let pairs = self.file.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// How many rows the file says it has.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Reads the next batch; an empty one at the end of the file.
    fn next_batch(&mut self) -> Result<Vec<R>, Problem> {
        while self.left == 0 {
            if self.next_group >= self.file.num_row_groups() {
                return Ok(Vec::new());
            }
            let group = self.file.get_row_group(self.next_group)?;
            self.next_group += 1;
            self.left = u64::try_from(group.metadata().num_rows())
                .map_err(|_| ParquetError::General("a row group of negative length".to_owned()))?;
            self.readers =
                (0..group.num_columns()).map(|leaf| group.get_column_reader(leaf)).collect::<Result<_, _>>()?;
        }
        let mut rows: Vec<R> = (0..self.left.min(BATCH)).map(|_| R::blank()).collect();
        for (leaf, reader) in self.columns.iter().flat_map(|column| &column.leaves).zip(&mut self.readers) {
            leaf.codec.read(reader, &mut rows)?;
        }
        self.left -= rows.len() as u64;
        Ok(rows)
    }
}

impl<R: Row> Iterator for TableReader<R> {
    type Item = Result<R, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(row) = self.batch.next() {
            return Some(Ok(row));
        }
        if self.failed {
            return None;
        }
        match guarded(|| self.next_batch()) {
            Ok(rows) => {
                self.read += rows.len() as u64;
                self.batch = rows.into_iter();
                self.batch.next().map(Ok)
            }
            Err(problem) => {
                self.failed = true;
                let row = match problem {
                    Problem::Value { row } | Problem::Short { row } => self.read + row as u64,
                    Problem::Parquet(_) | Problem::Panic => self.read,
                };
                Some(Err(FileError::Damaged { path: self.path.clone(), row, problem: problem.to_string() }))
            }
        }
    }
}

fn metadata_error(path: &Path, problem: String) -> FileError {
    FileError::Metadata { path: path.to_owned(), problem }
}

/// Opens a file that begins and ends as Parquet files do.
fn open_checked(path: &Path, expected: &'static str) -> Result<File, FileError> {
    const MAGIC: &[u8; 4] = b"PAR1";
    let read = |source: io::Error| FileError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(read)?;
    if file.metadata().map_err(read)?.is_dir() {
        return Err(read(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start).map_err(read)?;
    if start != MAGIC {
        return Err(FileError::NotParquet { path: path.to_owned(), expected });
    }
    // Magic, an empty footer, its length, magic: nothing shorter is whole.
    let length = file.seek(SeekFrom::End(0)).map_err(read)?;
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(4))).map_err(read)?;
    file.by_ref().take(4).read_to_end(&mut end).map_err(read)?;
    if length < 12 || end != MAGIC {
        return Err(FileError::Cut { path: path.to_owned() });
    }
    Ok(file)
}
