//! Answers on terminals that are narrower than the answers were laid out for: tables stand in several blocks, each with the names of the
//! rows, and everything else is wrapped below its own beginning.

use flowloom::report::words::columns;

/// Narrower terminals get lines of this width, in columns.
const LEAST_WIDTH: usize = 60;
/// Spaces between two columns of a table, at least.
const GAP: usize = 2;
/// Lines of a table have this many fields, at least.
const FIELDS: usize = 3;
/// The indentation of wrapped lines whose second field stands too far to the right.
const HANG: usize = 4;

/// `text` in lines of at most `width` columns (at least 60), unless a word is longer. Lines that fit stay as they are. Colours take no
/// room.
pub fn narrowed(text: &str, width: usize) -> String {
    let width = width.max(LEAST_WIDTH);
    if text.lines().all(|line| Line::of(line).width() <= width) {
        return text.to_owned();
    }
    let lines: Vec<Line> = text.lines().map(Line::of).collect();
    let mut out = Vec::new();
    for paragraph in lines.split_inclusive(Line::is_empty) {
        let mut rest = paragraph;
        while let [first, others @ ..] = rest {
            let is_table = |line: &Line| line.is_of_table();
            let taken = match is_table(first) {
                true => rest.iter().take_while(|line| is_table(line)).count(),
                false => 1 + others.iter().take_while(|line| first.is_continued_by(line)).count(),
            };
            let (block, after) = rest.split_at(taken);
            rest = after;
            if block.iter().all(|line| line.width() <= width) {
                out.extend(block.iter().map(Line::text));
            } else if let Some(table) = is_table(first).then(|| table(block, width)).flatten() {
                out.extend(table);
            } else if is_table(first) {
                block.iter().for_each(|line| wrap(std::slice::from_ref(line), width, &mut out));
            } else {
                wrap(block, width, &mut out);
            }
        }
    }
    out.join("\n") + "\n"
}

/// A line by its columns.
struct Line {
    /// What stands in each column, with the colours that begin there; empty behind a character of two columns.
    cells: Vec<String>,
    /// A colour that ends behind the last column.
    tail: String,
}

impl Line {
    fn of(text: &str) -> Line {
        let mut line = Line { cells: Vec::new(), tail: String::new() };
        let mut rest = text.trim_end();
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '\u{1b}' => rest.find('m').map_or(1, |end| end + 1),
                _ => c.len_utf8(),
            };
            let (piece, after) = rest.split_at(length);
            rest = after;
            match (c, columns(piece), line.cells.last_mut()) {
                // What ends a colour belongs to the character before it.
                ('\u{1b}', _, Some(last)) if piece == "\u{1b}[0m" => last.push_str(piece),
                ('\u{1b}', ..) => line.tail.push_str(piece),
                (_, 0, Some(last)) => last.push_str(piece),
                (_, wide, _) => {
                    let cell = std::mem::take(&mut line.tail) + if c == '\t' { " " } else { piece };
                    line.cells.push(cell);
                    line.cells.extend((1..wide).map(|_| String::new()));
                }
            }
        }
        line
    }

    fn width(&self) -> usize {
        self.cells.len()
    }

    fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn text(&self) -> String {
        self.cells.concat() + &self.tail
    }

    fn is_blank_at(&self, column: usize) -> bool {
        self.cells.get(column).is_none_or(|cell| cell == " ")
    }

    /// Columns before the first character.
    fn indent(&self) -> usize {
        self.cells.iter().take_while(|cell| *cell == " ").count()
    }

    /// The columns in which fields begin: behind the indentation, and behind each gap.
    fn fields(&self) -> Vec<usize> {
        let is_begin = |column: &usize| {
            !self.is_blank_at(*column)
                && (*column == 0 || (self.is_blank_at(column - 1) && (*column == 1 || self.is_blank_at(column - 2))))
        };
        let indent = self.indent();
        (indent..self.width()).filter(|column| *column == indent || is_begin(column)).collect()
    }

    /// Whether this is a row of a table: of several fields, or of heads alone, which stand far to the right.
    fn is_of_table(&self) -> bool {
        let fields = self.fields().len();
        fields >= FIELDS || (fields >= FIELDS - 1 && self.indent() > 2 * HANG)
    }

    /// The column in which the wrapped lines begin: that of the last field, unless that is far to the right.
    fn hang(&self, width: usize) -> usize {
        let fields = self.fields();
        match fields.last() {
            Some(last) if fields.len() > 1 && *last <= width / 2 => *last,
            _ => self.indent() + HANG,
        }
    }

    /// Whether `next` goes on with this line's text: it begins below the text, in its only field; or, where this line has one field too,
    /// behind its beginning.
    fn is_continued_by(&self, next: &Line) -> bool {
        let fields = self.fields();
        let is_below = match fields.last() {
            Some(last) if fields.len() > 1 => *last == next.indent(),
            _ => next.indent() > self.indent() && self.width() > LEAST_WIDTH,
        };
        next.fields().len() == 1 && is_below
    }

    /// The columns from `from` to `to`, filled with spaces.
    fn slice(&self, from: usize, to: usize) -> String {
        let inside = self.cells.get(from.min(self.width())..to.min(self.width())).unwrap_or_default();
        inside.concat() + &" ".repeat(to - from - inside.len())
    }
}

/// The columns of a table, from and to: `gap` spaces or more are between them in every row.
fn parts(rows: &[Line], gap: usize) -> Vec<(usize, usize)> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    let mut blank = gap;
    for column in 0..rows.iter().map(Line::width).max().unwrap_or(0) {
        if rows.iter().all(|row| row.is_blank_at(column)) {
            blank += 1;
            continue;
        }
        match parts.last_mut() {
            Some(part) if blank < gap => part.1 = column + 1,
            _ => parts.push((column, column + 1)),
        }
        blank = 0;
    }
    parts
}

/// A table in blocks of as many columns as fit, each with the first column; `None` where one column is too wide for that.
fn table(rows: &[Line], width: usize) -> Option<Vec<String>> {
    // Columns that one space parts are found where several rows show them.
    let least = if rows.len() > 2 { 1 } else { GAP };
    (least..=GAP).rev().find_map(|gap| table_of(rows, &parts(rows, gap), width))
}

/// The same with these columns.
fn table_of(rows: &[Line], parts: &[(usize, usize)], width: usize) -> Option<Vec<String>> {
    let (&first, others) = parts.split_first()?;
    let size = |part: &(usize, usize)| part.1 - part.0;
    if others.is_empty() || others.iter().any(|part| size(&first) + GAP + size(part) > width) {
        return None;
    }
    let mut blocks: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut used = width;
    for &part in others {
        if used + GAP + size(&part) > width {
            blocks.push(Vec::new());
            used = size(&first);
        }
        used += GAP + size(&part);
        blocks.last_mut()?.push(part);
    }
    let mut out = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        if place > 0 {
            out.push(String::new());
        }
        for row in rows {
            let cells: Vec<String> = block.iter().map(|(from, to)| row.slice(*from, *to)).collect();
            if cells.iter().all(|cell| cell.trim().is_empty())
                && (place > 0 || row.slice(first.0, first.1).trim().is_empty())
            {
                continue;
            }
            let line =
                [row.slice(first.0, first.1)].into_iter().chain(cells).collect::<Vec<_>>().join(&" ".repeat(GAP));
            out.push(line.trim_end().to_owned());
        }
    }
    Some(out)
}

/// The text of `lines`, of which each goes on with the one before, in lines of `width` columns.
fn wrap(lines: &[Line], width: usize, out: &mut Vec<String>) {
    let [first, others @ ..] = lines else { return };
    let hang =
        others.first().map(Line::indent).filter(|indent| *indent <= width / 2).unwrap_or_else(|| first.hang(width));
    // A head that is too long by itself is wrapped as well.
    let begin = first.fields().last().copied().filter(|begin| *begin <= width).unwrap_or_else(|| first.indent());
    let (head, body) = first.cells.split_at(begin.min(first.width()));
    let mut line = head.concat();
    let mut used = head.len();
    // A head that takes more than its share has a line of its own.
    if used > hang {
        out.push(line.trim_end().to_owned());
        line = " ".repeat(hang);
        used = hang;
    }
    let mut is_first = true;
    let bodies = std::iter::once((body, &first.tail))
        .chain(others.iter().map(|line| (&line.cells[line.indent()..], &line.tail)));
    for (cells, tail) in bodies {
        for word in cells.split(|cell| cell == " ").filter(|word| !word.is_empty()) {
            if !is_first && used + 1 + word.len() > width {
                out.push(std::mem::replace(&mut line, " ".repeat(hang)));
                used = hang;
            } else if !is_first {
                line.push(' ');
                used += 1;
            }
            line.push_str(&word.concat());
            used += word.len();
            is_first = false;
        }
        line.push_str(tail);
    }
    out.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "\
replayed      sim, a-t-b-t, usernet, measured windows, waits from 0ms corrected by the transit they
              contain, dumbbell

                                original              replay                tolerant KS, ratio
connections                     399                   399 completed
duration            p50 / p99   922 ms / 30.1 s       922 ms / 27.5 s       0.013  \u{1b}[33mdifferent\u{1b}[0m
throughput to right mean        639 kbit/s            648 kbit/s            0.083  same        1.01x

warning: of 23 connections (5.76 %) the close is not seen in both the original and the replay; the
         distances leave them out
";

    #[test]
    fn wide_terminals_get_the_same_bytes() {
        assert_eq!(narrowed(ANSWER, 100), ANSWER);
        assert_eq!(narrowed("", 60), "");
    }

    #[test]
    fn tables_stand_in_blocks() {
        let wanted = "\
replayed      sim, a-t-b-t, usernet, measured windows, waits
              from 0ms corrected by the transit they
              contain, dumbbell

                               original
connections                    399
duration            p50 / p99  922 ms / 30.1 s
throughput to right mean       639 kbit/s

                               replay
connections                    399 completed
duration            p50 / p99  922 ms / 27.5 s
throughput to right mean       648 kbit/s

                               tolerant KS, ratio
duration            p50 / p99  0.013  \u{1b}[33mdifferent\u{1b}[0m
throughput to right mean       0.083  same        1.01x

warning: of 23 connections (5.76 %) the close is not seen in
         both the original and the replay; the distances
         leave them out
";
        let shown = narrowed(ANSWER, 60);
        assert!(shown.lines().all(|line| Line::of(line).width() <= 60), "{shown}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(words(&shown), words(ANSWER));
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_table_with_a_text_is_wrapped_below_it() {
        let doctor =
            "ok       processor   2 cores: one run uses one core, several seeds use all; a live run uses two\n";
        let wanted = "ok       processor   2 cores: one run uses one core, several\n                     seeds use all; a live run uses two\n";
        assert_eq!(narrowed(doctor, 60), wanted);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let name = "\u{4e2d}\u{6587}".repeat(4);
        let row = |name: &str, value: &str| format!("{name}{}{value:>30}{value:>40}", " ".repeat(20 - columns(name)));
        let text = format!("{}\n{}\n", row(&name, "1"), row("ab", "2"));
        let shown = narrowed(&text, 60);
        let ends: Vec<usize> = shown.lines().filter(|line| !line.is_empty()).map(columns).collect();
        assert!(ends.iter().all(|end| *end <= 60) && ends[0] == ends[1], "{shown}");
    }
}
