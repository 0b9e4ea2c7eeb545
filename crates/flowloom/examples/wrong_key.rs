//! What is wrong with an experiment, as data: a client shows it where its user can mend it. `wrong_key EXPERIMENT.toml`
use flowloom::{Error, Experiment};

/// What is wrong with the text of an experiment, if anything, as an editor needs it: line, column, key, problem, what to do.
fn diagnosis(text: &str, file: &str) -> Option<(usize, usize, String, String, Option<String>)> {
    let Err(Error { place, key, cause, hint, .. }) = Experiment::parse(text, file) else { return None };
    let (line, column) = place.map_or((1, 1), |place| (place.line.unwrap_or(1), place.column.unwrap_or(1)));
    Some((line, column, key.unwrap_or_default(), cause, hint))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("wrong_key EXPERIMENT.toml")?;
    match diagnosis(&std::fs::read_to_string(&file)?, &file) {
        None => println!("{file}: nothing is wrong"),
        Some((line, column, key, cause, hint)) => {
            println!("line {line}, column {column}, key {key}: {cause}");
            hint.iter().for_each(|hint| println!("{hint}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_key_has_its_parts_as_fields() {
        let text = "[network.bottleneck]\nrate = \"20mbit\"\nqueue = { kind = \"fqcodel\" }\n";
        let (line, column, key, cause, hint) = diagnosis(text, "x.toml").unwrap();
        assert_eq!((line, column, key.as_str()), (3, 18, "network.bottleneck.queue.kind"));
        assert_eq!(cause, "network.bottleneck.queue.kind: unknown word \"fqcodel\"");
        assert_eq!(hint.as_deref(), Some("did you mean \"fq-codel\"?"));
    }

    #[test]
    fn an_impossible_value_names_its_key() {
        let text = "[run]\nseeds = [1]\n\n  [measure]\n  duration = \"0s\"\n";
        let (line, column, key, cause, _) = diagnosis(text, "x.toml").unwrap();
        assert_eq!((line, column, key.as_str()), (5, 14, "measure.duration"));
        assert!(cause.starts_with("measure.duration must be above zero"), "{cause}");
    }

    #[test]
    fn a_right_experiment_has_none() {
        assert_eq!(diagnosis("title = \"t\"\n", "x.toml"), None);
    }
}
