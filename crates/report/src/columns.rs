//! Tables of text whose columns never touch.

/// A table: its first column begins at the left, the others end at the right.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Least widths of the columns, the space before each included.
    least: Vec<usize>,
    rows: Vec<Vec<String>>,
}

/// Spaces between two columns, at least.
const GAP: usize = 1;

impl Columns {
    /// Columns of at least these widths; wider cells make them wider.
    pub fn new(least: impl IntoIterator<Item = usize>) -> Columns {
        Columns { least: least.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row, which may have fewer cells than there are columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Lays the table out in lines of `width` characters: columns that find no room stand below, each time after the first column again. A line is
    /// longer only where the first column and one other are.
    pub fn text(&self, width: usize) -> String {
        let widths: Vec<usize> = (0..self.least.len()).map(|column| self.width(column)).collect();
        let Some((first, others)) = widths.split_first() else { return String::new() };
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        let mut used = width;
        for (column, own) in (1..).zip(others) {
            if used + own > width {
                blocks.push(Vec::new());
                used = *first;
            }
            used += own;
            blocks.last_mut().expect("there is a block").push(column);
        }
        let laid_out = blocks.iter().map(|block| {
            let lines = self.rows.iter().map(|row| {
                let cell = |column: usize| row.get(column).map_or("", String::as_str);
                let mut line = format!("{:first$}", cell(0));
                block
                    .iter()
                    .for_each(|column| line.push_str(&format!("{:>own$}", cell(*column), own = widths[*column])));
                line.truncate(line.trim_end().len());
                line + "\n"
            });
            lines.collect::<String>()
        });
        laid_out.collect::<Vec<_>>().join("\n")
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        // The space before a column is its own; the first has none.
        self.least[column].max(widest + if column == 0 { 0 } else { GAP })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn columns_never_collide(
            rows in prop::collection::vec(prop::collection::vec("[0-9.a-zµ–]{1,30}", 8), 1..5),
            least in prop::collection::vec(0..20usize, 8),
        ) {
            let mut table = Columns::new(least.iter().copied());
            rows.iter().for_each(|row| table.row(row.iter().cloned()));
            let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            let needed = |column: usize| least[column].max(widest(column) + usize::from(column > 0));
            let others = (1..8).map(needed).max().unwrap_or(0);
            for width in [60, 80, 99, 120] {
                let text = table.text(width);
                if needed(0) + others <= width {
                    prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
                }
                // Put together again, each row has its cells, one by one.
                let mut found = vec![Vec::new(); rows.len()];
                for block in text.split("\n\n") {
                    for (line, cells) in block.lines().zip(&mut found) {
                        cells.extend(line.split_whitespace().skip(usize::from(!cells.is_empty())).map(str::to_owned));
                    }
                }
                prop_assert_eq!(&found, &rows, "{}:\n{}", width, text);
            }
        }
    }

    #[test]
    fn wide_cells_push_columns_apart() {
        let mut table = Columns::new([10, 6, 6]);
        table.row(["class", "bytes", ""].map(str::to_owned));
        table.row(["no data", "92 B", "0.00786 %"].map(str::to_owned));
        table.row(["one direction", "1,000,000 B", "100 %"].map(str::to_owned));
        assert_eq!(
            table.text(80),
            "class               bytes\nno data              92 B 0.00786 %\none direction 1,000,000 B     100 %\n"
        );
        // Two blocks, each with the names.
        assert_eq!(
            table.text(26),
            "class               bytes\nno data              92 B\none direction 1,000,000 B\n\nclass\nno data       0.00786 %\none direction     100 %\n"
        );
        assert_eq!(Columns::new([]).text(10), "");
    }
}
