//! What people write.

use flowloom::core::extract::Prefix;
use flowloom::lab::script::diagnostic::Diagnostic;
use flowloom::lab::script::parser::{self, Mode};
use flowloom::lab::script::place::Files;
use flowloom::lab::script::{self, toml_form};
use flowloom::store::vcsim;
use flowloom::{Experiment, rules};

/// An experiment file: one that is taken means the same when it is written out and read again.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Experiment::parse(text, "fuzz.toml") {
        Ok(experiment) => {
            let written = toml::to_string(&experiment).expect("an experiment can be written");
            assert_eq!(Experiment::parse(&written, "again.toml"), Ok(experiment), "{written}");
        }
        Err(failure) => assert!(failure.to_string().starts_with("fuzz.toml"), "{failure}"),
    }
}

/// A rules file: one that is taken has rules that can be told in words.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match rules::parse(text, "fuzz.toml") {
        Ok(rules) => assert!(rules.iter().all(|rule| rule.to_string().starts_with(rule.metric.name()))),
        Err(failure) => assert!(failure.to_string().starts_with("fuzz.toml"), "{failure}"),
    }
}

/// A VCSIM specification: one that is taken is taken again with blank lines between its words, and each problem of another has a line and a
/// column of the file.
pub fn specification(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match vcsim::read(text).whole() {
        Ok(found) => {
            let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
            let apart = lines.join(" ").split_whitespace().collect::<Vec<_>>().join("\n\n");
            let again = vcsim::read(&apart).whole().expect("blanks mean nothing");
            assert_eq!((again.seeds, again.timer, again.routes.len()), (found.seeds, found.timer, found.routes.len()));
        }
        Err(problems) => {
            let (found, more) = (problems.found(), problems.more());
            assert!(found.len() == vcsim::MOST_PROBLEMS || (found.len() < vcsim::MOST_PROBLEMS && more == 0));
            let lines: Vec<&str> = text.lines().collect();
            for (problem, at) in found.iter().filter_map(|problem| Some((problem, problem.at?))) {
                let line = lines.get(at.line as usize - 1).expect("the line is there");
                assert!(line.chars().nth(at.column as usize - 1).is_some(), "{problem}");
            }
            assert!(found.is_sorted_by_key(|problem| (problem.at.is_none(), problem.at)), "in the order of the file");
            assert!(found.iter().all(|problem| problem.message.len() < 1_000), "words are cut");
        }
    }
}

/// A script of the lab: what could be read comes back from its layout, even of one with errors, and what is said of it can be shown.
pub fn script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = |text: &str, mode| {
        let mut files = Files::new();
        let file = files.add("fuzz.ns", text, None);
        let (body, found) = parser::fragment(&files, file, mode);
        let said = found.iter().map(|one| shown(&files, one)).sum::<usize>();
        assert!(said <= 1_000 * (parser::MOST_ERRORS + 1 + found.len()), "messages are cut");
        (body, found.iter().any(Diagnostic::is_error))
    };
    let (body, _) = read(text, Mode::Lenient);
    let formatted = script::format::format(&body);
    let (again, failed) = read(&formatted, Mode::Strict);
    assert!(!failed && again == body, "{formatted}");
    let (_, strict) = read(text, Mode::Strict);
    explained("fuzz.ns", text, strict);
}

/// How long what is said of a place is, which can be found in its file.
fn shown(files: &Files, one: &Diagnostic) -> usize {
    // With the returns at its end, which a place may be behind.
    let text = &files.get(one.place.file).text;
    let line = text.split('\n').nth(one.place.line as usize - 1).unwrap_or_default();
    assert!(line.chars().count() + 2 >= one.place.column as usize, "{one:?}");
    let included = one.included(files).len();
    one.summary(files).len() + one.hint.as_ref().map_or(0, String::len) + included
}

/// The same in TOML.
pub fn script_toml(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = |text: &str| {
        let mut files = Files::new();
        let file = files.add("fuzz.toml", text, None);
        let (body, found) = toml_form::read(&files, file);
        found.iter().for_each(|one| _ = shown(&files, one));
        (body, found.len())
    };
    let (body, problems) = read(text);
    let written = toml_form::write(&body);
    assert_eq!(read(&written), (body.clone(), 0), "{written}");
    let mut files = Files::new();
    let file = files.add("fuzz.ns", &script::format::format(&body), None);
    let (again, found) = parser::fragment(&files, file, Mode::Strict);
    // A kind of leaf that is nearly a kind of block is warned of.
    assert!(!found.iter().any(Diagnostic::is_error) && again == body, "{written}");
    explained("fuzz.toml", text, problems > 0);
}

/// A script is put together, with itself as what it includes, and explained; one that could not be read is not.
fn explained(name: &str, text: &str, failed: bool) {
    let whole =
        script::expand::whole(name, text, Mode::Strict, &mut |_, named| Ok((named.to_owned(), text.to_owned())));
    assert!(!failed || whole.block.is_none());
    let Some(block) = whole.block else {
        assert!(whole.found.iter().any(Diagnostic::is_error));
        return;
    };
    if let Ok((explanation, _)) = script::explain::explain(&whole.files, &block, whole.found) {
        assert!(script::explain::text(&explanation).lines().count() > explanation.leaves as usize);
    }
}

/// An address prefix, as `--inside` takes it.
pub fn prefix(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = text.parse::<Prefix>();
}
