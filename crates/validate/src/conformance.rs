//! The TCP transcripts as rows.

use crate::check::{Expected, Row};
use crate::transcripts::{folder, suite};

/// A row per script: 1 if it holds. What a failing one expected is written to the standard error stream.
pub(crate) fn rows() -> Vec<Row> {
    let transcripts = match suite(&folder()) {
        Ok(transcripts) if !transcripts.is_empty() => transcripts,
        other => {
            let error = other.err().map_or("no scripts there".to_owned(), |error| error.to_string());
            eprintln!("{}: {error}", folder().display());
            return vec![Row::new("TCP transcripts", "scripts found", "this repository", Expected::AtLeast(1.0), 0.0)];
        }
    };
    let mut rows = Vec::new();
    for transcript in transcripts {
        let played = transcript.play();
        if let (Err(failure), None) = (&played, &transcript.departs) {
            eprintln!("{failure}\n");
        }
        let name = format!("{}: {}", transcript.name, transcript.title);
        let row = Row::new(
            "TCP transcripts",
            name,
            transcript.source,
            Expected::Exactly(1.0),
            f64::from(u8::from(played.is_ok())),
        );
        rows.push(Row { departs: transcript.departs, ..row });
    }
    rows
}
