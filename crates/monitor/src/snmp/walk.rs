//! Columns of a table, asked for together and put together row by row.
//!
//! Columns may have holes, and an answer may end in the middle of a row: every column therefore goes on from its own last index.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::oid::Oid;
use super::session::{Session, Trouble};
use super::value::Value;
use crate::clock::Moment;

/// Rows of a table at most: a target that has more makes them up.
const MOST_ROWS: usize = 100_000;

/// Answers of a table of which nothing can be read, at most.
const MOST_EMPTY: usize = 64;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its values, by column.
    pub values: Vec<Option<Value>>,
    /// When the first of them was received.
    pub received: Moment,
}

/// What was read of a table.
#[derive(Debug, Default)]
pub struct Table {
    /// Its rows, by index.
    pub rows: BTreeMap<Vec<u32>, Row>,
    /// Whether a column did not go up: the agent named an index twice. What is behind it was not read.
    pub is_disordered: bool,
    /// Values that could not be read.
    pub unread: usize,
}

/// Reads columns of a table.
///
/// # Errors
/// The target does not answer, or its table has no end.
pub fn walk(session: &mut Session, columns: &[Oid]) -> Result<Table, Trouble> {
    let mut walk = Walk::new(columns);
    let mut page = Vec::new();
    while let Some(questions) = walk.questions() {
        page.clear();
        let (received, _) = session.next_rows(&questions, &mut |name, value| page.push((name.to_vec(), value)))?;
        walk.take(&page, received);
        if walk.table.rows.len() > MOST_ROWS {
            return Err(Trouble::Endless(session.address().to_owned()));
        }
    }
    Ok(walk.table)
}

/// A walk on its way. It does no I/O.
pub struct Walk {
    columns: Vec<Oid>,
    /// The index that each column is at; `None` at its end.
    at: Vec<Option<Vec<u32>>>,
    table: Table,
    /// Answers of which nothing could be read.
    empty: usize,
}

impl Walk {
    /// One of these columns.
    pub fn new(columns: &[Oid]) -> Walk {
        let at = vec![Some(Vec::new()); columns.len()];
        Walk { columns: columns.to_vec(), at, table: Table::default(), empty: 0 }
    }

    /// What was read.
    pub fn into_table(self) -> Table {
        self.table
    }

    /// Behind what to ask next, of each column that goes on; `None` at the end of all.
    pub fn questions(&self) -> Option<Vec<Oid>> {
        let open = self.columns.iter().zip(&self.at);
        let questions: Vec<Oid> = open.filter_map(|(column, at)| at.as_ref().map(|at| column.then(at))).collect();
        (!questions.is_empty()).then_some(questions)
    }

    /// Takes the answer to [`Walk::questions`]: rows of one value of each column.
    pub fn take(&mut self, page: &[(Vec<u8>, Value)], received: Moment) {
        let open: Vec<usize> = (0..self.columns.len()).filter(|column| self.at[*column].is_some()).collect();
        if page.is_empty()
            && let Some(column) = open.first()
        {
            // The first value cannot be read, and hides the others. It is that of the next row, as far as other columns tell.
            self.table.unread += 1;
            self.empty += 1;
            let at = self.at[*column].take().unwrap_or_default();
            let behind = (Bound::Excluded(at), Bound::Unbounded);
            self.at[*column] = self.table.rows.range(behind).next().map(|(index, _)| index.clone());
            if self.empty > MOST_EMPTY {
                self.at.fill(None);
            }
        }
        let before = self.at.clone();
        for row in page.chunks(open.len().max(1)) {
            for ((name, value), column) in row.iter().zip(&open) {
                self.value(*column, name, value, received);
            }
        }
        self.skip_unread(page, &open, &before);
        // A page that ends before all columns had a value leaves the others where they are, and they are asked for again.
    }

    /// Goes on behind values that could not be read, in columns that would ask for them again: at the next index that other columns of the
    /// row name, which may be ahead, or else at the next number. If that is not far enough, the value comes again.
    fn skip_unread(&mut self, page: &[(Vec<u8>, Value)], open: &[usize], before: &[Option<Vec<u32>>]) {
        for row in page.chunks(open.len().max(1)) {
            let named = row.iter().zip(open).filter_map(|((name, _), column)| self.columns[*column].index_in(name));
            let named: Vec<Vec<u32>> = named.collect();
            for (_, column) in row.iter().zip(open).filter(|((_, value), _)| *value == Value::Unread) {
                let stays = self.at[*column] == before[*column];
                let Some(at) = self.at[*column].as_mut().filter(|_| stays) else { continue };
                match named.iter().filter(|index| *index > at).min() {
                    Some(index) => at.clone_from(index),
                    None => match at.last_mut() {
                        Some(last) => *last = last.saturating_add(1),
                        None => at.push(1),
                    },
                }
            }
        }
    }

    fn value(&mut self, column: usize, name: &[u8], value: &Value, received: Moment) {
        let Some(at) = &self.at[column] else { return };
        if *value == Value::Unread {
            self.table.unread += 1;
            return;
        }
        let index = self.columns[column].index_in(name).filter(|index| !index.is_empty() && *value != Value::End);
        let Some(index) = index else {
            self.at[column] = None;
            return;
        };
        if index <= *at {
            self.table.is_disordered = true;
            self.at[column] = None;
            return;
        }
        let columns = self.columns.len();
        let row = self.table.rows.entry(index.clone()).or_insert_with(|| Row { values: vec![None; columns], received });
        row.values[column] = Some(value.clone());
        self.at[column] = Some(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> [Oid; 2] {
        ["1.3.6.1.2", "1.3.6.1.3"].map(|oid| oid.parse().unwrap())
    }

    fn cell(column: usize, index: u32, value: u64) -> (Vec<u8>, Value) {
        (columns()[column].then(&[index]).wire().to_vec(), Value::Gauge(value))
    }

    fn rows(table: &Table) -> Vec<(u32, [Option<u64>; 2])> {
        let number = |value: &Option<Value>| match value {
            Some(Value::Gauge(number)) => Some(*number),
            _ => None,
        };
        table
            .rows
            .iter()
            .map(|(index, row)| (index[0], [0, 1].map(|column| number(row.values.get(column).unwrap_or(&None)))))
            .collect()
    }

    #[test]
    fn rows_are_put_together_across_answers() {
        let mut walk = Walk::new(&columns());
        // The second column has no row 2, and the first answer ends in the middle of a row.
        walk.take(&[cell(0, 1, 10), cell(1, 1, 11), cell(0, 2, 20), cell(1, 3, 31), cell(0, 3, 30)], Moment::default());
        let next: Vec<String> = walk.questions().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(next, ["1.3.6.1.2.3", "1.3.6.1.3.3"]);
        let other = (vec![0x2b, 6, 1, 4], Value::Gauge(9));
        walk.take(&[cell(1, 1, 9), other.clone()], Moment::default());
        assert!(walk.questions().is_none());
        let table = walk.into_table();
        assert_eq!(rows(&table), [(1, [Some(10), Some(11)]), (2, [Some(20), None]), (3, [Some(30), Some(31)])]);
        assert!(!table.is_disordered);
    }

    #[test]
    fn values_that_cannot_be_read_end_nothing() {
        let unread = || (Vec::new(), Value::Unread);
        let mut walk = Walk::new(&columns());
        walk.take(
            &[cell(0, 1, 10), cell(1, 1, 11), unread(), cell(1, 2, 21), cell(0, 3, 30), cell(1, 3, 31)],
            Moment::default(),
        );
        // At the end of a page: it goes on behind the row.
        walk.take(&[unread(), cell(1, 4, 41)], Moment::default());
        let next: Vec<String> = walk.questions().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(next, ["1.3.6.1.2.4", "1.3.6.1.3.4"]);
        walk.take(&[(vec![0x2b, 6, 1, 4], Value::Gauge(9)), (vec![0x2b, 6, 1, 4], Value::Gauge(9))], Moment::default());
        let table = walk.into_table();
        let expected =
            [(1, [Some(10), Some(11)]), (2, [None, Some(21)]), (3, [Some(30), Some(31)]), (4, [None, Some(41)])];
        assert_eq!((rows(&table), table.unread, table.is_disordered), (expected.to_vec(), 2, false));
        // Of one column nobody names the index.
        let mut walk = Walk::new(&columns()[..1]);
        walk.take(&[unread(), cell(0, 7, 70), unread()], Moment::default());
        assert_eq!(walk.questions().unwrap()[0].to_string(), "1.3.6.1.2.7");
        walk.take(&[unread()], Moment::default());
        assert_eq!(walk.questions().unwrap()[0].to_string(), "1.3.6.1.2.8");
        // An answer of which nothing can be read does not end in silence.
        walk.take(&[], Moment::default());
        assert_eq!((walk.questions(), walk.table.unread), (None, 4));
    }

    #[test]
    fn a_value_alone_in_its_answer_does_not_end_its_column() {
        // Rows of one value of each column; that of the second column in row 1 cannot be read, and nothing is behind it.
        let end = (vec![0x2b, 6, 1, 4], Value::Gauge(9));
        let mut walk = Walk::new(&columns());
        for row in 1..=3 {
            walk.take(&[cell(0, row, row.into())], Moment::default());
        }
        walk.take(std::slice::from_ref(&end), Moment::default());
        let next = |walk: &Walk| walk.questions().unwrap()[0].to_string();
        assert_eq!(next(&walk), "1.3.6.1.3");
        walk.take(&[], Moment::default());
        assert_eq!(next(&walk), "1.3.6.1.3.1");
        walk.take(&[cell(1, 2, 12)], Moment::default());
        walk.take(&[cell(1, 3, 13)], Moment::default());
        walk.take(&[end], Moment::default());
        assert!(walk.questions().is_none());
        let table = walk.into_table();
        let expected = [(1, [Some(1), None]), (2, [Some(2), Some(12)]), (3, [Some(3), Some(13)])];
        assert_eq!((rows(&table), table.unread), (expected.to_vec(), 1));
    }

    #[test]
    fn an_index_that_comes_twice_ends_the_walk() {
        let mut walk = Walk::new(&columns()[..1]);
        walk.take(&[cell(0, 1, 10), cell(0, 2, 20), cell(0, 2, 99), cell(0, 3, 30)], Moment::default());
        assert!(walk.questions().is_none());
        let table = walk.into_table();
        assert!(table.is_disordered);
        assert_eq!(
            rows(&table),
            [(1, [Some(10), None]), (2, [Some(20), None])].map(|(index, [a, _])| (index, [a, None]))
        );
    }

    #[test]
    fn silence_and_ends_end_the_walk() {
        for page in [vec![], vec![(columns()[0].then(&[1]).wire().to_vec(), Value::End)], vec![cell(1, 1, 1)]] {
            let mut walk = Walk::new(&columns()[..1]);
            walk.take(&page, Moment::default());
            assert!(walk.questions().is_none() && walk.table.rows.is_empty());
        }
    }
}
