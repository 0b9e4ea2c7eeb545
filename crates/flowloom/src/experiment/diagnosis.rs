//! Where in the text of an experiment an error is.

use toml::de::{DeTable, DeValue};

use crate::error::{Error, Place, nearest};

/// Where the key of a dotted path begins, or the last part of the path that is there, in bytes. Of tables in a list a part
/// is the name, or the number from 1 on.
fn start_of(text: &str, path: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut parts = path.split('.');
    let (mut table, mut place) = (document.get_ref(), None);
    while let Some((key, value)) = parts.next().and_then(|part| table.iter().find(|(key, _)| key.get_ref() == part)) {
        place = Some(key.span().start);
        table = match value.get_ref() {
            DeValue::Table(inner) => inner,
            DeValue::Array(list) => {
                let Some(part) = parts.next() else { break };
                let is_meant = |number: usize, item: &DeValue<'_>| {
                    let name = item.get("name").and_then(|name| name.get_ref().as_str());
                    name == Some(part) || part.parse() == Ok(number + 1)
                };
                let found = list.iter().enumerate().find(|(number, item)| is_meant(*number, item.get_ref()));
                let Some((_, item)) = found else { break };
                place = Some(item.span().start);
                let DeValue::Table(inner) = item.get_ref() else { break };
                inner
            }
            _ => break,
        };
    }
    place
}

/// The place of the byte at `offset` in the text of a file.
pub fn place(text: &str, offset: usize, file: &str) -> Place {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Place {
        file: file.to_owned(),
        line: Some(1 + before.matches('\n').count()),
        column: Some(1 + before[line_start..].chars().count()),
    }
}

/// `error` with the place of its key in the text of the file called `file`.
pub fn located(error: Error, text: &str, file: &str) -> Error {
    let start = error.key.as_deref().and_then(|key| start_of(text, key));
    let nowhere = || Place { file: file.to_owned(), line: None, column: None };
    error.at(start.map_or_else(nowhere, |start| place(text, start, file)))
}

/// The dotted path of the key whose value stands at `place`, tables of a list by their names or numbers from 1 on.
fn key_at(text: &str, place: usize) -> Option<String> {
    fn within(table: &DeTable<'_>, place: usize) -> Option<Vec<String>> {
        table.iter().find_map(|(key, value)| {
            let deeper = match value.get_ref() {
                DeValue::Table(inner) => within(inner, place),
                DeValue::Array(list) => list.iter().zip(1..).find_map(|(item, number)| {
                    let inner = item.get_ref().as_table()?;
                    let path = within(inner, place).or_else(|| item.span().contains(&place).then(Vec::new))?;
                    let name = item.get_ref().get("name").and_then(|name| name.get_ref().as_str().map(str::to_owned));
                    Some([vec![name.unwrap_or_else(|| number.to_string())], path].concat())
                }),
                _ => None,
            };
            let here = || (key.span().contains(&place) || value.span().contains(&place)).then(Vec::new);
            Some([vec![key.get_ref().to_string()], deeper.or_else(here)?].concat())
        })
    }
    Some(within(DeTable::parse(text).ok()?.get_ref(), place)?.join("."))
}

/// Turns a TOML or value error into place, key, what is known and what was probably meant.
pub fn explain(error: &toml::de::Error, text: &str, file: &str) -> Error {
    let key = error.span().and_then(|span| key_at(text, span.start));
    let named = |cause: String| key.as_ref().map_or_else(|| cause.clone(), |key| format!("{key}: {cause}"));
    let message = match error.message().lines().next().unwrap_or("not readable").trim_end_matches('.') {
        // What the library calls a variant of an enumeration.
        "wanted string or table" => "a word in quotes is wanted",
        message => message,
    };
    // serde words this error the same for keys and for variants: the word first, then what it knows, all in backquotes.
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = |what: String| {
        let (typed, known) = (words[0], &words[1..]);
        Error::usage(format_args!("{what} \"{typed}\""))
            .note(format_args!("known: {}", known.join(", ")))
            .hint_if(nearest(typed, known).map(|meant| format!("did you mean \"{meant}\"?")))
    };
    let explained = if message.starts_with("unknown field") {
        unknown("unknown key".to_owned())
    } else if message.starts_with("unknown variant") {
        unknown(named("unknown word".to_owned()))
    } else {
        Error::usage(named(message.to_owned()))
    };
    let nowhere = || Place { file: file.to_owned(), line: None, column: None };
    let place = error.span().map_or_else(nowhere, |span| place(text, span.start, file));
    Error { key, ..explained }.at(place)
}
