//! Columns of a table: each knows how to take its values out of rows and how to put them back.

use std::error::Error;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

use super::error::Part;
use super::value::{Field, Physical, Value};

/// A column of rows `R`: one value per row, or a list of structs, which is several leaves.
pub(crate) struct Column<R> {
    pub(super) leaves: Vec<Leaf<R>>,
    pub(super) schema: TypePtr,
    /// The first version of its table that has it.
    pub(super) since: u64,
    /// Files of that version may lack it.
    pub(super) is_optional: bool,
}

impl<R> Column<R> {
    /// The same, in files of `version` and later; rows of others keep what a blank row has.
    pub(crate) fn since(self, version: u64) -> Column<R> {
        Column { since: version, ..self }
    }

    /// The same, in files that have it; rows of others keep what a blank row has.
    pub(crate) fn optional(self) -> Column<R> {
        Column { is_optional: true, ..self }
    }
}

/// What Parquet calls a column: one sequence of values.
pub(crate) struct Leaf<R> {
    pub(super) path: ColumnPath,
    /// Integers that are mostly different: delta encoding, no dictionary.
    pub(super) numeric: bool,
    pub(super) codec: Box<dyn Codec<R> + Send>,
}

/// Moves one leaf between rows and a file.
pub(super) trait Codec<R> {
    /// Takes the leaf of `rows` over, behind what is held already.
    fn gather(&mut self, rows: &[R]);

    /// Writes what is held, and holds nothing afterwards.
    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>;

    /// Sets the leaf of the next `rows.len()` rows of the file in `rows`.
    fn read(&self, input: &mut ColumnReader, rows: &mut [R]) -> Result<(), Problem>;
}

/// Why rows could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// The Parquet layer says so, or the file under it.
    #[error("{0}")]
    Parquet(Box<dyn Error + Send + Sync>),
    /// The Parquet layer panicked.
    #[error("its pages contradict each other (take another copy, or write the file again)")]
    Panic,
    /// Bytes are not those that were written.
    #[error("its bytes are not those that were written")]
    Changed(Part),
    /// A value that no writer of ours stores, in this row of the batch.
    #[error("a value that Flowloom does not write")]
    Value { row: usize },
    /// The column has fewer rows than the file says.
    #[error("a column ends before the others")]
    Short { row: usize },
}

impl From<ParquetError> for Problem {
    fn from(error: ParquetError) -> Problem {
        Problem::Parquet(match error {
            ParquetError::External(inner) => inner,
            other => other.into(),
        })
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        Problem::Parquet(error.into())
    }
}

/// A column with one value per row; nullable if `F` is an `Option`.
pub(crate) fn column<R: 'static, F: Field + 'static>(
    name: &str,
    get: impl Fn(&R) -> F + Send + 'static,
    set: impl Fn(&mut R, F) + Send + 'static,
) -> Column<R> {
    let leaf = Leaf {
        path: ColumnPath::from(name),
        numeric: is_numeric::<F::Value>(),
        codec: Box::new(Flat { get, set, held: Held::default(), row: PhantomData }),
    };
    Column { leaves: vec![leaf], schema: leaf_schema::<F>(name), since: 1, is_optional: false }
}

/// A column without a counterpart in the row: computed for those who open the file elsewhere, ignored on reading.
pub(crate) fn derived<R: 'static, F: Field + 'static>(name: &str, get: impl Fn(&R) -> F + Send + 'static) -> Column<R> {
    column(name, get, |_, _| {})
}

/// One member of the structs `E` in a list column.
pub(crate) struct Element<E> {
    name: &'static str,
    schema: TypePtr,
    numeric: bool,
    codec: Box<dyn ElementCodec<E> + Send>,
}

/// A member of a list's structs; nullable if `F` is an `Option`.
pub(crate) fn element<E: Clone + 'static, F: Field + 'static>(
    name: &'static str,
    get: impl Fn(&E) -> F + Send + 'static,
    set: impl Fn(&mut E, F) + Send + 'static,
) -> Element<E> {
    Element {
        name,
        schema: leaf_schema::<F>(name),
        numeric: is_numeric::<F::Value>(),
        codec: Box::new(Nested { get, set, held: Held::default(), element: PhantomData }),
    }
}

/// A column that holds a list of structs per row, in the three-level form every reader knows:
/// `name.list.element.member`.
pub(crate) fn list<R: 'static, E: Clone + Send + 'static>(
    name: &str,
    blank: E,
    get: fn(&R) -> &Vec<E>,
    get_mut: fn(&mut R) -> &mut Vec<E>,
    members: Vec<Element<E>>,
) -> Column<R> {
    let fields = members.iter().map(|member| Arc::clone(&member.schema)).collect();
    let element = group("element", Repetition::REQUIRED, None, fields);
    let repeated = group("list", Repetition::REPEATED, None, vec![element]);
    let schema = group(name, Repetition::REQUIRED, Some(LogicalType::List), vec![repeated]);
    let leaves = members
        .into_iter()
        .enumerate()
        .map(|(index, member)| Leaf {
            path: ColumnPath::new([name, "list", "element", member.name].map(str::to_owned).to_vec()),
            numeric: member.numeric,
            codec: Box::new(List { leads: index == 0, blank: blank.clone(), get, get_mut, member: member.codec }),
        })
        .collect();
    Column { leaves, schema, since: 1, is_optional: false }
}

fn is_numeric<V: Value>() -> bool {
    V::Physical::get_physical_type() == parquet::basic::Type::INT64
}

fn leaf_schema<F: Field>(name: &str) -> TypePtr {
    let repetition = if F::OPTIONAL { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(name, <F::Value as Value>::Physical::get_physical_type())
        .with_repetition(repetition)
        .with_logical_type(F::Value::TEXT.then_some(LogicalType::String));
    Arc::new(builder.build().expect("a name and a physical type make a column"))
}

pub(super) fn group(name: &str, repetition: Repetition, logical: Option<LogicalType>, fields: Vec<TypePtr>) -> TypePtr {
    let builder =
        Type::group_type_builder(name).with_repetition(repetition).with_logical_type(logical).with_fields(fields);
    Arc::new(builder.build().expect("a name and fields make a group"))
}

/// Values of a leaf on their way to a file, with Parquet's levels.
struct Held<V: Value> {
    values: Vec<<V::Physical as DataType>::T>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl<V: Value> Default for Held<V> {
    fn default() -> Held<V> {
        Held { values: Vec::new(), definition: Vec::new(), repetition: Vec::new() }
    }
}

impl<V: Value> Held<V> {
    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        out.typed::<V::Physical>().write_batch(&self.values, levels(&self.definition), levels(&self.repetition))?;
        self.values.clear();
        self.definition.clear();
        self.repetition.clear();
        Ok(())
    }
}

/// A leaf that is neither optional nor in a list has no levels.
fn levels(held: &[i16]) -> Option<&[i16]> {
    (!held.is_empty()).then_some(held)
}

struct Flat<R, F: Field, G, S> {
    get: G,
    set: S,
    held: Held<F::Value>,
    row: PhantomData<fn(&mut R) -> F>,
}

impl<R, F: Field, G: Fn(&R) -> F, S: Fn(&mut R, F)> Codec<R> for Flat<R, F, G, S> {
    fn gather(&mut self, rows: &[R]) {
        for row in rows {
            let value = (self.get)(row).into_value();
            if F::OPTIONAL {
                self.held.definition.push(i16::from(value.is_some()));
            }
            self.held.values.extend(value.map(Value::store));
        }
    }

    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        self.held.write(out)
    }

    fn read(&self, input: &mut ColumnReader, rows: &mut [R]) -> Result<(), Problem> {
        let mut values = Vec::with_capacity(rows.len());
        let mut present = Vec::new();
        let (records, ..) =
            typed::<F::Value>(input)?.read_records(rows.len(), Some(&mut present), None, &mut values)?;
        if records != rows.len() {
            return Err(Problem::Short { row: records });
        }
        let mut values = values.iter();
        for (index, row) in rows.iter_mut().enumerate() {
            let value = if F::OPTIONAL && present.get(index) != Some(&1) { None } else { values.next() };
            (self.set)(row, field(value).ok_or(Problem::Value { row: index })?);
        }
        Ok(())
    }
}

/// The list column's part of a leaf: finds the lists.
struct List<R, E> {
    /// The first member to be read makes the elements, the others must agree with it.
    leads: bool,
    blank: E,
    get: fn(&R) -> &Vec<E>,
    get_mut: fn(&mut R) -> &mut Vec<E>,
    member: Box<dyn ElementCodec<E> + Send>,
}

/// Moves one member of the structs in lists, one list per row.
trait ElementCodec<E> {
    fn gather(&mut self, list: &[E]);

    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError>;

    /// `blank` is given to the member that makes the elements.
    fn read(&self, input: &mut ColumnReader, lists: &mut [&mut Vec<E>], blank: Option<&E>) -> Result<(), Problem>;
}

impl<R, E> Codec<R> for List<R, E> {
    fn gather(&mut self, rows: &[R]) {
        for row in rows {
            self.member.gather((self.get)(row));
        }
    }

    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        self.member.write(out)
    }

    fn read(&self, input: &mut ColumnReader, rows: &mut [R]) -> Result<(), Problem> {
        let mut lists: Vec<&mut Vec<E>> = rows.iter_mut().map(self.get_mut).collect();
        self.member.read(input, &mut lists, self.leads.then_some(&self.blank))
    }
}

/// One member of a list's structs.
struct Nested<E, F: Field, G, S> {
    get: G,
    set: S,
    held: Held<F::Value>,
    element: PhantomData<fn(&mut E) -> F>,
}

/// Definition level of an element of a required list of required structs; one more if its member is not null.
const IN_LIST: i16 = 1;

impl<E: Clone, F: Field, G: Fn(&E) -> F, S: Fn(&mut E, F)> ElementCodec<E> for Nested<E, F, G, S> {
    fn gather(&mut self, list: &[E]) {
        let held = &mut self.held;
        if list.is_empty() {
            held.definition.push(0);
            held.repetition.push(0);
        }
        for (index, element) in list.iter().enumerate() {
            let value = (self.get)(element).into_value();
            held.definition.push(IN_LIST + i16::from(F::OPTIONAL && value.is_some()));
            held.repetition.push(i16::from(index > 0));
            held.values.extend(value.map(Value::store));
        }
    }

    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        self.held.write(out)
    }

    fn read(&self, input: &mut ColumnReader, lists: &mut [&mut Vec<E>], blank: Option<&E>) -> Result<(), Problem> {
        let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        let (records, ..) = typed::<F::Value>(input)?.read_records(
            lists.len(),
            Some(&mut definition),
            Some(&mut repetition),
            &mut values,
        )?;
        if records != lists.len() {
            return Err(Problem::Short { row: records });
        }
        let mut values = values.iter();
        let mut levels = definition.iter().zip(&repetition).peekable();
        for (row, list) in lists.iter_mut().enumerate() {
            let mut length = 0;
            while let Some((&definition, _)) = levels.next_if(|(_, repetition)| (**repetition == 0) == (length == 0)) {
                if definition < IN_LIST {
                    break;
                }
                let value = if F::OPTIONAL && definition == IN_LIST { None } else { values.next() };
                if let Some(blank) = blank {
                    list.push(blank.clone());
                }
                let element = list.get_mut(length).ok_or(Problem::Value { row })?;
                (self.set)(element, field(value).ok_or(Problem::Value { row })?);
                length += 1;
            }
            if length != list.len() {
                return Err(Problem::Value { row });
            }
        }
        Ok(())
    }
}

/// The reader of a leaf that holds `V`s; an error if the file's column holds something else.
fn typed<V: Value>(input: &mut ColumnReader) -> Result<&mut ColumnReaderImpl<V::Physical>, Problem> {
    V::Physical::reader(input).ok_or_else(|| ParquetError::General("a column is of another type".to_owned()).into())
}

/// The field of a stored value; `None` if the value means nothing or must not be missing.
fn field<F: Field>(stored: Option<&<<F::Value as Value>::Physical as DataType>::T>) -> Option<F> {
    match stored {
        Some(stored) => F::from_value(Some(F::Value::load(stored)?)),
        None => F::from_value(None),
    }
}
