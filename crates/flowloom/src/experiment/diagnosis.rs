//! Where in the text of an experiment file an error is.

use toml::de::{DeTable, DeValue};

use flowloom_core::keys::walk::{KeyPath, Step};

use crate::error::{Error, Place, nearest, place};

/// Where the key of a path begins, or the last part of the path that is there, in bytes.
fn start_of(text: &str, path: &KeyPath) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (mut table, mut list, mut place) = (Some(document.get_ref()), None, None);
    for step in path.steps() {
        let value = match step {
            Step::Key(name) => {
                let found = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == name));
                let Some((key, value)) = found else { break };
                // An inline table begins at its brace, and what is in it is asked for by its own key.
                place = Some(key.span().start);
                value
            }
            Step::Item(number) => {
                let found: Option<&toml::Spanned<DeValue<'_>>> = list.and_then(|list: &[_]| list.get(*number));
                let Some(item) = found else { break };
                place = Some(item.span().start);
                item
            }
        };
        (table, list) = match value.get_ref() {
            DeValue::Table(inner) => (Some(inner), None),
            DeValue::Array(items) => (None, Some(&items[..])),
            _ => (None, None),
        };
    }
    place
}

/// `error` with the places of its keys in the text of the file called `file`.
pub fn located(mut error: Error, text: &str, file: &str) -> Error {
    let others = std::mem::take(&mut error.others).into_iter().map(|other| located(other, text, file)).collect();
    let start = error.key.as_deref().and_then(KeyPath::parse).and_then(|path| start_of(text, &path));
    let nowhere = || Place { file: file.to_owned(), line: None, column: None };
    Error { others, ..error }.at(start.map_or_else(nowhere, |start| place(text, start, file)))
}

/// The path of the key whose value stands at `place`.
fn key_at(text: &str, place: usize) -> Option<String> {
    fn within(table: &DeTable<'_>, place: usize) -> Option<String> {
        table.iter().find_map(|(key, value)| {
            let name = key.get_ref();
            let deeper = match value.get_ref() {
                DeValue::Table(inner) => within(inner, place).map(|path| format!("{name}.{path}")),
                DeValue::Array(list) => list.iter().enumerate().find_map(|(number, item)| {
                    let inner = item.get_ref().as_table()?;
                    let here = || item.span().contains(&place).then(|| format!("{name}[{number}]"));
                    within(inner, place).map(|path| format!("{name}[{number}].{path}")).or_else(here)
                }),
                _ => None,
            };
            let here = || (key.span().contains(&place) || value.span().contains(&place)).then(|| name.to_string());
            deeper.or_else(here)
        })
    }
    within(DeTable::parse(text).ok()?.get_ref(), place)
}

/// Where the line begins at which reading fails with an error that has no place.
fn failing_line(error: &toml::de::Error, text: &str) -> Option<usize> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).chain([text.len()]).collect();
    let fails = |end: &usize| DeTable::parse(&text[..*end]).is_err_and(|found| found.message() == error.message());
    let line = ends.partition_point(|end| !fails(end));
    (line < ends.len()).then(|| line.checked_sub(1).map_or(0, |before| ends[before]))
}

/// Turns a TOML or value error into place, key, what is known and what was probably meant.
pub fn explain(error: &toml::de::Error, text: &str, file: &str) -> Error {
    let key = error.span().and_then(|span| key_at(text, span.start));
    let named = |cause: String| key.as_ref().map_or_else(|| cause.clone(), |key| format!("{key}: {cause}"));
    let message = match error.message().lines().next().unwrap_or("not readable").trim_end_matches('.') {
        // What the library calls a variant of an enumeration.
        "wanted string or table" => "a word in quotes is wanted",
        "recursion limit" => "keys or values are nested too deeply",
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
    let start = error.span().map(|span| span.start).or_else(|| failing_line(error, text));
    let place = start.map_or_else(nowhere, |start| place(text, start, file));
    Error { key, ..explained }.at(place)
}
