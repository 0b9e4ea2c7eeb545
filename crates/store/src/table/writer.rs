//! Rows into a Parquet file.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;

use super::column::Column;
use super::row::{FORMAT_KEY, Row, VERSION_KEY, schema};
use super::sealing::Sealing;

/// Weight of a row group at most, unless one row alone is heavier.
const GROUP_WEIGHT: usize = 65_536;

/// Rows that are taken apart together: few enough to stay in the cache while each column takes its share.
const CHUNK_ROWS: usize = 128;

/// Streams rows into `W`, a whole row group at a time. Output depends on the rows and the metadata only.
pub(crate) struct TableWriter<R, W: Write + Send> {
    file: SerializedFileWriter<Sealing<W>>,
    columns: Vec<Column<R>>,
    /// Rows that are still whole.
    chunk: Vec<R>,
    /// Rows of the row group, whole or taken apart.
    rows: usize,
    weight: usize,
    written: u64,
}

impl<R: Row, W: Write + Send> TableWriter<R, W> {
    /// An empty table in `version` of its format.
    pub(crate) fn new(out: W, version: u64) -> Result<TableWriter<R, W>, ParquetError> {
        let columns = R::columns();
        let mut properties = WriterProperties::builder()
            .set_created_by("flowloom".to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(vec![
                KeyValue::new(FORMAT_KEY.to_owned(), R::TABLE.to_owned()),
                KeyValue::new(VERSION_KEY.to_owned(), version.to_string()),
            ]));
        for leaf in columns.iter().flat_map(|column| &column.leaves) {
            properties = match leaf.numeric {
                true => properties
                    .set_column_dictionary_enabled(leaf.path.clone(), false)
                    // Packed as they are, zstd makes the file 5 % smaller, for a twentieth of the time of extraction.
                    .set_column_compression(leaf.path.clone(), Compression::UNCOMPRESSED)
                    .set_column_encoding(leaf.path.clone(), Encoding::DELTA_BINARY_PACKED),
                // The least and the greatest name of a class help nobody to skip a row group.
                false => properties.set_column_statistics_enabled(leaf.path.clone(), EnabledStatistics::None),
            };
        }
        let file = SerializedFileWriter::new(Sealing::new(out), schema(&columns), Arc::new(properties.build()))?;
        Ok(TableWriter { file, columns, chunk: Vec::new(), rows: 0, weight: 0, written: 0 })
    }

    /// Adds a row.
    pub(crate) fn write(&mut self, row: R) -> Result<(), ParquetError> {
        self.weight += row.weight();
        self.chunk.push(row);
        self.rows += 1;
        self.written += 1;
        if self.chunk.len() >= CHUNK_ROWS {
            self.gather();
        }
        if self.rows >= R::GROUP_ROWS || self.weight >= GROUP_WEIGHT { self.flush() } else { Ok(()) }
    }

    /// Rows added so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Takes the whole rows apart.
    fn gather(&mut self) {
        for leaf in self.columns.iter_mut().flat_map(|column| &mut column.leaves) {
            leaf.codec.gather(&self.chunk);
        }
        self.chunk.clear();
    }

    /// Writes the rows held as a row group.
    fn flush(&mut self) -> Result<(), ParquetError> {
        self.gather();
        let mut group = self.file.next_row_group()?;
        for leaf in self.columns.iter_mut().flat_map(|column| &mut column.leaves) {
            let mut out = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("the schema has fewer columns than the table".to_owned()))?;
            leaf.codec.write(&mut out)?;
            out.close()?;
        }
        let group = group.close()?;
        self.pass(group.columns())?;
        self.rows = 0;
        self.weight = 0;
        Ok(())
    }

    /// Hands on what was written so far, of which `chunks` are new.
    fn pass(&mut self, chunks: &[ColumnChunkMetaData]) -> Result<(), ParquetError> {
        self.file.flush()?;
        Ok(self.file.inner_mut().pass(chunks)?)
    }

    /// Writes what is held, the metadata and the footer.
    pub(crate) fn finish(mut self, metadata: &[(&str, String)]) -> Result<W, ParquetError> {
        if self.rows > 0 {
            self.flush()?;
        }
        // The magic of a table without rows: the footer is then all that is held.
        self.pass(&[])?;
        let own = metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        for pair in own.chain(self.file.inner().metadata()).collect::<Vec<_>>() {
            self.file.append_key_value_metadata(pair);
        }
        Ok(self.file.into_inner()?.finish()?)
    }
}
