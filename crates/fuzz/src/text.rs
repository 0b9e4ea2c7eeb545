//! What people write.

use flowloom_core::extract::Prefix;
use flowloom_store::vcsim;

use crate::experiment::Experiment;
use crate::rules;

/// An experiment file: one that is taken means the same when it is written out and read again.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Experiment::parse(text, "fuzz.toml") {
        Ok(experiment) => {
            let written = toml::to_string(&experiment).expect("an experiment can be written");
            assert_eq!(Experiment::parse(&written, "again.toml"), Ok(experiment), "{written}");
        }
        Err(failure) => assert!(failure.to_string().starts_with("error: fuzz.toml"), "{failure}"),
    }
}

/// A rules file: one that is taken has rules that can be told in words.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match rules::parse(text, "fuzz.toml") {
        Ok(rules) => assert!(rules.iter().all(|rule| rule.to_string().starts_with(rule.metric.name()))),
        Err(failure) => assert!(failure.to_string().starts_with("error: fuzz.toml"), "{failure}"),
    }
}

/// A VCSIM specification: one that is taken is taken again with blank lines between its tokens, and errors name a line of the file.
pub fn specification(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match vcsim::read(text) {
        Ok(found) => {
            let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
            let apart = lines.join(" ").split_whitespace().collect::<Vec<_>>().join("\n\n");
            let again = vcsim::read(&apart).expect("blanks mean nothing");
            assert_eq!((again.seeds, again.timer, again.routes.len()), (found.seeds, found.timer, found.routes.len()));
        }
        Err(error) => assert!(error.line as usize <= text.lines().count().max(1), "{error}"),
    }
}

/// An address prefix, as `--inside` takes it.
pub fn prefix(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = text.parse::<Prefix>();
}
