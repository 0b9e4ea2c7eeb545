//! A Parquet file of which the crate reads only bytes that have been looked at: the metadata at the end of the file, and each
//! column chunk. Where the file carries digests, the bytes are those that were written; and in any case, the Thrift in them
//! passed [`thrift::check`].
//!
//! Source of the layouts: `parquet.thrift` of the Parquet format.

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::column::Problem;
use super::digests::{self, ChunkDigest};
use super::error::Part;
use super::thrift::{self, Refusal, Shape};

/// The first bytes of a file: the magic.
const HEAD: u64 = 4;

/// The last bytes of a file: the length of its metadata and the magic.
const TAIL: u64 = 8;

/// Of a page's header this much is looked through. Headers without statistics, as Flowloom's are, take some thirty bytes.
const MOST_HEADER: usize = 8 << 10;

/// A file whose metadata have been looked through.
pub(super) struct CheckedFile {
    file: File,
    length: u64,
    metadata: ParquetMetaData,
    /// Of all column chunks, row group by row group; `None` if the file carries none.
    digests: Option<Vec<ChunkDigest>>,
}

impl CheckedFile {
    /// Reads the metadata of a file that begins and ends as Parquet files do.
    pub(super) fn new(file: File) -> Result<CheckedFile, Problem> {
        let length = file.metadata()?.len();
        let mut size = [0; 4];
        file.read_exact_at(&mut size, length.saturating_sub(TAIL))?;
        let size = u32::from_le_bytes(size) as usize;
        let start = length.checked_sub(TAIL + size as u64).ok_or_else(|| {
            let problem =
                format!("it ends with the length of its metadata, {size} bytes, and has {length} bytes in all");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        let footer = read_at(&file, start, length - start)?;
        let intact = digests::is_intact(&footer);
        if intact == Some(false) {
            return Err(Problem::Changed(Part::Metadata));
        }
        let bytes = &footer[..size];
        check("its metadata", start, bytes, FILE_METADATA)?;
        let metadata = ParquetMetaDataReader::decode_metadata(bytes)?;
        let digests = digests::of_chunks(metadata.file_metadata().key_value_metadata());
        let is_whole = match (intact, &digests) {
            (None, None) => true,
            (Some(_), Some(digests)) => covers(&metadata, digests, start),
            _ => false,
        };
        if !is_whole {
            return Err(Problem::Changed(Part::Metadata));
        }
        Ok(CheckedFile { file, length, metadata, digests })
    }

    /// What the file says about itself.
    pub(super) fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// A value of the metadata.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Whether the file carries digests, so that what is read of it is what was written.
    pub(super) fn is_protected(&self) -> bool {
        self.digests.is_some()
    }

    /// Reads a column of a row group.
    pub(super) fn column(&self, row_group: usize, column: usize) -> Result<ColumnReader, Problem> {
        let group = self.metadata.row_group(row_group);
        let chunk = group.column(column);
        let (start, length) = chunk.byte_range();
        if start.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let bytes = read_at(&self.file, start, length)?;
        if let Some(digests) = &self.digests {
            let number = row_group * group.num_columns() + column;
            if digests.get(number) != Some(&digests::of_chunk(&bytes)) {
                let name = chunk.column_path().string().replace(".list.element.", "[].");
                return Err(Problem::Changed(Part::Column { name, row_group }));
            }
        }
        let bytes = Arc::new(Chunk { start, bytes: bytes.into() });
        let pages = SerializedPageReader::new(bytes, chunk, group.num_rows() as usize, None)?;
        Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)))
    }
}

/// Whether there is a digest for each column chunk, and the chunks cover the file up to its footer at `end`.
fn covers(metadata: &ParquetMetaData, digests: &[ChunkDigest], end: u64) -> bool {
    let chunks = || metadata.row_groups().iter().flat_map(|group| group.columns());
    let covered = chunks().try_fold(HEAD, |at, chunk| {
        let (start, length) = chunk.byte_range();
        (start == at).then(|| at.checked_add(length))?
    });
    covered == Some(end) && chunks().count() == digests.len()
}

/// The bytes of a column chunk.
struct Chunk {
    /// Where in the file they begin.
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    /// The bytes from `start` of the file on.
    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let at = start.checked_sub(self.start).filter(|at| *at <= self.bytes.len() as u64);
        let at = at.ok_or_else(|| ParquetError::EOF(format!("a page at byte {start} is outside of its column")))?;
        Ok(self.bytes.slice(at as usize..))
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = Header;

    /// The crate calls this for the headers of pages. After a header that it has read before, it may call it for what follows
    /// and read nothing there, so nothing is looked at here.
    fn get_read(&self, start: u64) -> Result<Header, ParquetError> {
        Ok(Header { bytes: Cursor::new(self.from(start)?), start, is_checked: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF(format!("a page at byte {start} is longer than its column")));
        }
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// Reads the header of a page once it has been looked through.
struct Header {
    /// Everything from the header on.
    bytes: Cursor<Bytes>,
    /// Where in the file it stands.
    start: u64,
    is_checked: bool,
}

impl Read for Header {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.is_checked {
            let bytes = self.bytes.get_ref();
            check("a page header", self.start, &bytes[..bytes.len().min(MOST_HEADER)], PAGE_HEADER)?;
            self.is_checked = true;
        }
        self.bytes.read(into)
    }
}

/// Reads `length` bytes from `start` on.
fn read_at(file: &File, start: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// Looks through the struct that `bytes` begin with, which stand at `start` of the file.
fn check(what: &'static str, start: u64, bytes: &[u8], fields: &[Shape]) -> io::Result<()> {
    thrift::check(bytes, fields).map_err(|(at, refusal)| {
        let damage = Damage { what, offset: start.saturating_add(at as u64), refusal };
        io::Error::new(io::ErrorKind::InvalidData, damage)
    })
}

/// What is not handed to the crate.
#[derive(Debug)]
struct Damage {
    what: &'static str,
    offset: u64,
    refusal: Refusal,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { what, offset, refusal } = self;
        write!(f, "{what} cannot be right at byte {offset}: {refusal} (take another copy, or write the file again)")
    }
}

impl std::error::Error for Damage {}

use Shape::{Binary, Bool, Byte, Children, Double, I16, I32, I64, List, Struct, Unknown};

const EMPTY: Shape = Struct(&[]);

const FILE_METADATA: &[Shape] = &[
    I32,                   // version
    List(&SCHEMA_ELEMENT), // schema
    I64,                   // num_rows
    List(&ROW_GROUP),      // row_groups
    List(&KEY_VALUE),      // key_value_metadata
    Binary,                // created_by
    List(&COLUMN_ORDER),   // column_orders
];

const SCHEMA_ELEMENT: Shape = Struct(&[
    I32,          // type
    I32,          // type_length
    I32,          // repetition_type
    Binary,       // name
    Children,     // num_children
    I32,          // converted_type
    I32,          // scale
    I32,          // precision
    I32,          // field_id
    LOGICAL_TYPE, // logicalType
]);

const LOGICAL_TYPE: Shape = Struct(&[
    EMPTY,                  // STRING
    EMPTY,                  // MAP
    EMPTY,                  // LIST
    EMPTY,                  // ENUM
    Struct(&[I32, I32]),    // DECIMAL: scale, precision
    EMPTY,                  // DATE
    TIME,                   // TIME
    TIME,                   // TIMESTAMP
    Unknown,                // reserved
    Struct(&[Byte, Bool]),  // INTEGER: bitWidth, isSigned
    EMPTY,                  // UNKNOWN
    EMPTY,                  // JSON
    EMPTY,                  // BSON
    EMPTY,                  // UUID
    EMPTY,                  // FLOAT16
    Struct(&[Byte]),        // VARIANT: specification_version
    Struct(&[Binary]),      // GEOMETRY: crs
    Struct(&[Binary, I32]), // GEOGRAPHY: crs, algorithm
    EMPTY,                  // FILE
]);

/// isAdjustedToUTC and the unit.
const TIME: Shape = Struct(&[Bool, Struct(&[EMPTY, EMPTY, EMPTY])]);

const ROW_GROUP: Shape = Struct(&[
    List(&COLUMN_CHUNK),               // columns
    I64,                               // total_byte_size
    I64,                               // num_rows
    List(&Struct(&[I32, Bool, Bool])), // sorting_columns: column_idx, descending, nulls_first
    I64,                               // file_offset
    I64,                               // total_compressed_size
    I16,                               // ordinal
]);

const COLUMN_CHUNK: Shape = Struct(&[
    Binary,          // file_path
    I64,             // file_offset
    COLUMN_METADATA, // meta_data
    I64,             // offset_index_offset
    I32,             // offset_index_length
    I64,             // column_index_offset
    I32,             // column_index_length
]);

const COLUMN_METADATA: Shape = Struct(&[
    I32,                             // type
    List(&I32),                      // encodings
    List(&Binary),                   // path_in_schema
    I32,                             // codec
    I64,                             // num_values
    I64,                             // total_uncompressed_size
    I64,                             // total_compressed_size
    List(&KEY_VALUE),                // key_value_metadata
    I64,                             // data_page_offset
    I64,                             // index_page_offset
    I64,                             // dictionary_page_offset
    STATISTICS,                      // statistics
    List(&Struct(&[I32, I32, I32])), // encoding_stats: page_type, encoding, count
    I64,                             // bloom_filter_offset
    I32,                             // bloom_filter_length
    SIZE_STATISTICS,                 // size_statistics
    GEOSPATIAL_STATISTICS,           // geospatial_statistics
]);

const STATISTICS: Shape = Struct(&[
    Binary, // max
    Binary, // min
    I64,    // null_count
    I64,    // distinct_count
    Binary, // max_value
    Binary, // min_value
    Bool,   // is_max_value_exact
    Bool,   // is_min_value_exact
    I64,    // nan_count
]);

/// unencoded_byte_array_data_bytes, repetition_level_histogram, definition_level_histogram.
const SIZE_STATISTICS: Shape = Struct(&[I64, List(&I64), List(&I64)]);

/// bbox, geospatial_types.
const GEOSPATIAL_STATISTICS: Shape = Struct(&[Struct(&[Double; 8]), List(&I32)]);

/// key, value.
const KEY_VALUE: Shape = Struct(&[Binary, Binary]);

/// TYPE_ORDER, IEEE_754_TOTAL_ORDER, INT96_TIMESTAMP_ORDER.
const COLUMN_ORDER: Shape = Struct(&[EMPTY, EMPTY, EMPTY]);

const PAGE_HEADER: &[Shape] = &[
    I32,                                                       // type
    I32,                                                       // uncompressed_page_size
    I32,                                                       // compressed_page_size
    I32,                                                       // crc
    Struct(&[I32, I32, I32, I32, STATISTICS]),                 // data_page_header
    EMPTY,                                                     // index_page_header
    Struct(&[I32, I32, Bool]),                                 // dictionary_page_header
    Struct(&[I32, I32, I32, I32, I32, I32, Bool, STATISTICS]), // data_page_header_v2
];

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;

    use parquet::column::reader::{ColumnReader, get_typed_column_reader};
    use parquet::column::writer::ColumnWriter;
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::metadata::{KeyValue, SortingColumn};
    use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::CheckedFile;

    /// Two row groups of so many rows in a file that uses what the crate can write of the format.
    fn rich(version: WriterVersion, rows: usize) -> tempfile::NamedTempFile {
        let schema = "message other {
            required int64 id (INTEGER(64, false));
            optional group names (LIST) { repeated group list { required binary element (STRING); } }
            optional int32 day (DATE);
            optional int64 at (TIMESTAMP(NANOS, true));
            optional int64 clock (TIME(MICROS, false));
            optional int32 price (DECIMAL(9, 2));
            optional binary json (JSON);
            optional double load;
            optional fixed_len_byte_array(16) key (UUID);
        }";
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_write_page_header_statistics(true)
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(100)
            .set_sorting_columns(Some(vec![SortingColumn { column_idx: 0, descending: true, nulls_first: false }]))
            .set_key_value_metadata(Some(vec![KeyValue::new("key".to_owned(), None)]));
        let file = tempfile::NamedTempFile::new().unwrap();
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer =
            SerializedFileWriter::new(file.reopen().unwrap(), schema, Arc::new(properties.build())).unwrap();
        let values: Vec<i64> = (0..).take(rows).collect();
        let names: Vec<ByteArray> = values.iter().map(|id| ByteArray::from(format!("{id:060}").as_str())).collect();
        let (present, absent) = (vec![2; rows], vec![0; rows]);
        for _ in 0..2 {
            let mut group = writer.next_row_group().unwrap();
            while let Some(mut column) = group.next_column().unwrap() {
                match column.untyped() {
                    ColumnWriter::Int64ColumnWriter(out) if out.get_descriptor().name() == "id" => {
                        out.write_batch(&values, None, None)
                    }
                    ColumnWriter::ByteArrayColumnWriter(out) if out.get_descriptor().name() == "element" => {
                        out.write_batch(&names, Some(&present), Some(&absent))
                    }
                    ColumnWriter::Int32ColumnWriter(out) => out.write_batch(&[], Some(&absent), None),
                    ColumnWriter::Int64ColumnWriter(out) => out.write_batch(&[], Some(&absent), None),
                    ColumnWriter::DoubleColumnWriter(out) => out.write_batch(&[], Some(&absent), None),
                    ColumnWriter::ByteArrayColumnWriter(out) => out.write_batch(&[], Some(&absent), None),
                    ColumnWriter::FixedLenByteArrayColumnWriter(out) => out.write_batch(&[], Some(&absent), None),
                    _ => panic!("a column of another type"),
                }
                .unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
        file
    }

    /// The number of rows of a column without values.
    fn nulls(column: ColumnReader) -> usize {
        let mut levels = Vec::new();
        let (records, values, _) = match column {
            ColumnReader::Int32ColumnReader(mut column) => {
                column.read_records(10_000, Some(&mut levels), None, &mut Vec::new())
            }
            ColumnReader::Int64ColumnReader(mut column) => {
                column.read_records(10_000, Some(&mut levels), None, &mut Vec::new())
            }
            ColumnReader::DoubleColumnReader(mut column) => {
                column.read_records(10_000, Some(&mut levels), None, &mut Vec::new())
            }
            ColumnReader::ByteArrayColumnReader(mut column) => {
                column.read_records(10_000, Some(&mut levels), None, &mut Vec::new())
            }
            ColumnReader::FixedLenByteArrayColumnReader(mut column) => {
                column.read_records(10_000, Some(&mut levels), None, &mut Vec::new())
            }
            _ => panic!("a column of another type"),
        }
        .unwrap();
        assert_eq!(values, 0);
        records
    }

    #[test]
    fn whatever_the_crate_writes_passes() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let file = rich(version, 1_000);
            let reader = CheckedFile::new(file.reopen().unwrap()).unwrap();
            assert!(!reader.is_protected());
            let (mut ids, mut names, mut absent) = (Vec::new(), Vec::new(), 0);
            for group in 0..reader.metadata().num_row_groups() {
                let mut column = get_typed_column_reader::<Int64Type>(reader.column(group, 0).unwrap());
                column.read_records(10_000, None, None, &mut ids).unwrap();
                let mut column = get_typed_column_reader::<ByteArrayType>(reader.column(group, 1).unwrap());
                let (mut defined, mut repeated) = (Vec::new(), Vec::new());
                column.read_records(10_000, Some(&mut defined), Some(&mut repeated), &mut names).unwrap();
                for leaf in 2..reader.metadata().row_group(group).num_columns() {
                    absent += nulls(reader.column(group, leaf).unwrap());
                }
            }
            assert_eq!((ids.len(), names.len(), absent), (2_000, 2_000, 7 * 2_000));
        }
    }

    /// A file of these metadata.
    fn refused(metadata: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        let length = u32::try_from(metadata.len()).unwrap().to_le_bytes();
        fs::write(file.path(), [b"PAR1", metadata, &length, b"PAR1"].concat()).unwrap();
        CheckedFile::new(File::open(file.path()).unwrap()).err().expect("a file to refuse").to_string()
    }

    #[test]
    fn metadata_are_refused_with_their_place() {
        // A map of two thousand million booleans in field 9.
        let said = refused(&[0x9b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x11, 0x00]);
        assert_eq!(
            said,
            "its metadata cannot be right at byte 5: a count of 2147483647, with 2 bytes left (take another copy, or write \
             the file again)"
        );
        // The version as a string, of which the crate would read the length and go on with what the string holds.
        let said = refused(&[0x18, 8, 0x99, 0xf2, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00, 0x00]);
        assert!(said.contains("at byte 5: a field or an element of type 8"), "{said}");
        // Each group of the schema in the one before it: the crate goes down by recursion.
        let group = [0x35, 0x00, 0x18, 1, b'a', 0x15, 0x02, 0x00];
        let said = refused(&[&[0x15, 0x02, 0x19, 0xfc, 0xa0, 0x8d, 0x06][..], &group.repeat(100_000), &[0]].concat());
        assert!(said.contains("more than 256 groups"), "{said}");
    }

    #[test]
    fn metadata_longer_than_the_file_are_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"PAR1\xff\xff\x00\x00PAR1").unwrap();
        let error = CheckedFile::new(File::open(file.path()).unwrap()).err().expect("a file to refuse");
        assert_eq!(error.to_string(), "it ends with the length of its metadata, 65535 bytes, and has 12 bytes in all");
    }
}
