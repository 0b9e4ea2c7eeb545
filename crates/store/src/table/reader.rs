//! Rows out of a Parquet file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::vec;

use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescriptor;

use super::checked::CheckedFile;
use super::column::{Column, Leaf, Problem};
use super::digests;
use super::error::{FileError, Part};
use super::guard::guarded;
use super::row::{FORMAT_KEY, Row, VERSION_KEY, schema};
use crate::regular;

/// Rows read at a time.
const BATCH: u64 = 1_024;

/// Streams the rows of a table. After an error it ends.
pub(crate) struct TableReader<R> {
    path: PathBuf,
    file: CheckedFile,
    columns: Vec<Column<R>>,
    /// The row groups to read.
    groups: vec::IntoIter<usize>,
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
    /// Opens the table at `path`, which must be in `version` of its format or an earlier one.
    pub(crate) fn open(path: &Path, version: u64) -> Result<TableReader<R>, FileError> {
        let format = R::TABLE;
        let file = open_file(path, format)?;
        let mut reader = TableReader {
            path: path.to_owned(),
            file,
            columns: R::columns(),
            groups: Vec::new().into_iter(),
            readers: Vec::new(),
            left: 0,
            batch: Vec::new().into_iter(),
            read: 0,
            failed: false,
        };
        reader.groups = (0..reader.file.metadata().num_row_groups()).collect::<Vec<_>>().into_iter();
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
        if found >= digests::FIRST_VERSION && !reader.is_protected() {
            return Err(FileError::Changed { path: path.to_owned(), part: Part::Metadata });
        }
        let found_columns = reader.file.metadata().file_metadata().schema_descr().columns();
        let is_there = |leaf: &Leaf<R>| found_columns.iter().any(|found| *found.path() == leaf.path);
        let is_expected =
            |column: &Column<R>| column.since <= found && (!column.is_optional || column.leaves.iter().any(is_there));
        reader.columns.retain(is_expected);
        if found == 0 || !reader.has_expected_columns() {
            return Err(metadata_error(path, format!("its columns are not those of version {found}")));
        }
        Ok(reader)
    }

    /// Whether the file carries digests: then its rows are those that were written. Files of version 1 carry none.
    pub(crate) fn is_protected(&self) -> bool {
        self.file.is_protected()
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
        self.file.value(key)
    }

    /// How many rows the file says it has.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Leaves out the row groups whose least and greatest value of the integer column `name` are not what `keep` wants. One of which the
    /// file does not say them is read. To be called before the first row is read.
    pub(crate) fn retain_groups(&mut self, name: &str, keep: impl Fn(u64, u64) -> bool) {
        let is_kept = |group: &usize| self.bounds(*group, name).is_none_or(|(least, most)| keep(least, most));
        let kept: Vec<usize> = self.groups.as_slice().iter().copied().filter(is_kept).collect();
        self.groups = kept.into_iter();
    }

    /// The greatest value of the integer column `name`, if the file says it.
    pub(crate) fn greatest(&self, name: &str) -> Option<u64> {
        self.groups.as_slice().iter().filter_map(|group| self.bounds(*group, name)).map(|(_, most)| most).max()
    }

    /// Least and greatest value of an integer column in a row group, if the file says them.
    fn bounds(&self, group: usize, name: &str) -> Option<(u64, u64)> {
        let columns = self.file.metadata().row_group(group).columns();
        let column = columns.iter().find(|column| column.column_path().string() == name)?;
        let Statistics::Int64(found) = column.statistics()? else { return None };
        Some((found.min_opt()?.cast_unsigned(), found.max_opt()?.cast_unsigned()))
    }

    /// Reads the next batch; an empty one at the end of the file.
    fn next_batch(&mut self) -> Result<Vec<R>, Problem> {
        while self.left == 0 {
            let Some(number) = self.groups.next() else { return Ok(Vec::new()) };
            let group = self.file.metadata().row_group(number);
            self.left = u64::try_from(group.num_rows())
                .map_err(|_| ParquetError::General("a row group of negative length".to_owned()))?;
            let columns = 0..group.num_columns();
            self.readers = columns.map(|column| self.file.column(number, column)).collect::<Result<_, _>>()?;
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
                let path = self.path.clone();
                Some(Err(match problem {
                    Problem::Changed(part) => FileError::Changed { path, part },
                    Problem::Value { row } | Problem::Short { row } => {
                        FileError::Damaged { path, row: self.read + row as u64, problem: problem.to_string() }
                    }
                    Problem::Parquet(_) | Problem::Panic => {
                        FileError::Damaged { path, row: self.read, problem: problem.to_string() }
                    }
                }))
            }
        }
    }
}

/// The `flowloom.format` of the file at `path`, which should be of the kind `expected`.
pub(crate) fn format_of(path: &Path, expected: &'static str) -> Result<String, FileError> {
    let file = open_file(path, expected)?;
    let format = file.value(FORMAT_KEY).map(str::to_owned);
    format.ok_or_else(|| FileError::Foreign { path: path.to_owned(), expected })
}

/// Reads the table at `path` to its end, as long as `goes_on`: the number of its rows, and whether it carries digests.
pub(crate) fn read_through<R: Row>(
    path: &Path,
    version: u64,
    goes_on: &dyn Fn() -> bool,
) -> Result<(u64, bool), FileError> {
    let mut table = TableReader::<R>::open(path, version)?;
    Ok((count(&mut table, goes_on)?, table.is_protected()))
}

/// How many `rows` there are, of those that are read while `goes_on`.
pub(crate) fn count<R>(
    rows: &mut impl Iterator<Item = Result<R, FileError>>,
    goes_on: &dyn Fn() -> bool,
) -> Result<u64, FileError> {
    rows.take_while(|_| goes_on()).try_fold(0, |count, row| row.map(|_| count + 1))
}

fn metadata_error(path: &Path, problem: String) -> FileError {
    FileError::Metadata { path: path.to_owned(), problem }
}

/// Opens a Parquet file, whose metadata are looked through.
fn open_file(path: &Path, expected: &'static str) -> Result<CheckedFile, FileError> {
    let file = open_checked(path, expected)?;
    guarded(|| CheckedFile::new(file)).map_err(|problem| match problem {
        Problem::Changed(part) => FileError::Changed { path: path.to_owned(), part },
        problem => metadata_error(path, problem.to_string()),
    })
}

/// Opens a file that begins and ends as Parquet files do.
fn open_checked(path: &Path, expected: &'static str) -> Result<File, FileError> {
    const MAGIC: &[u8; 4] = b"PAR1";
    let read = |source: io::Error| FileError::Read { path: path.to_owned(), source };
    let mut file = regular::open(path).map_err(read)?;
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
