//! Files of fitted Swing models: JSON, as `docs/reference/json.md` has it under "swing model".

use std::io::{self, Read, Write};
use std::path::Path;

use flowloom_models::swing::SwingModel;

use crate::formats::FormatError;
use crate::regular;

/// Largest file: the sessions that are kept whole take some 30 MB of each class.
const MOST_BYTES: u64 = 1 << 28;

/// Reads the model in the file at `path`.
///
/// # Errors
/// A file that cannot be read, and what in it is no model, with its place.
pub fn open(path: &Path) -> Result<SwingModel, FormatError> {
    let file = path.display().to_string();
    let failed = |source: io::Error| FormatError::Open { file: file.clone(), source };
    let mut bytes = Vec::new();
    regular::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)).map_err(failed)?;
    model(&file, &bytes)
}

/// Reads a model in memory.
///
/// # Errors
/// As [`open`].
pub fn read(bytes: &[u8]) -> Result<SwingModel, FormatError> {
    model("model", bytes)
}

fn model(file: &str, bytes: &[u8]) -> Result<SwingModel, FormatError> {
    let foreign = |problem: String| FormatError::Foreign { file: file.to_owned(), problem };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(foreign(format!("more than {MOST_BYTES} bytes are no Swing model")));
    }
    let model: SwingModel = serde_json::from_slice(bytes).map_err(|error| {
        // serde_json names the place behind the problem.
        foreign(format!("this is no Swing model: {error}"))
    })?;
    model.check().map_err(foreign)?;
    Ok(model)
}

/// Writes `model` to anything.
///
/// # Errors
/// Those of `out`.
pub fn write_to(model: &SwingModel, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, model)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use flowloom_core::time::{Duration, Time};
    use flowloom_core::workload::{Adu, ConnectionVector, Endpoint, Host, PerSide, Side};
    use flowloom_models::swing::{Grouping, Survey};

    use super::*;

    fn fitted() -> SwingModel {
        let adu =
            |side| Adu { side, bytes: 700, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
        let end = |host| Endpoint { host: Some(Host::Number(host)), port: Some(443), ..Endpoint::default() };
        let mut survey = Survey::new(Grouping::default());
        for second in [0, 2, 25, 60, 100, 500, 505] {
            survey.add(&ConnectionVector {
                start: Time::ZERO + Duration::from_secs(second),
                ends: PerSide { initiator: end(0), acceptor: end(1) },
                adus: vec![adu(Side::Initiator), adu(Side::Acceptor)],
                ..ConnectionVector::default()
            });
        }
        survey.finish(Duration::from_secs(600))
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("swing.json");
        write_to(&fitted(), File::create(&path).unwrap()).unwrap();
        assert_eq!(open(&path).unwrap(), fitted());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_model_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("swing.json");
        write_to(&fitted(), File::create(&path).unwrap()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for (from, to, wanted) in [
            ("{", "[", "this is no Swing model: "),
            ("\"version\":1", "\"version\":2", "version 2 is not known"),
            ("\"version\":1", "\"versions\":1", "unknown field `versions`, expected one of"),
            (
                "\"model\":\"swing\"",
                "\"model\":\"harpoon\"",
                "unknown variant `harpoon`, expected `swing` at line 1 column",
            ),
            ("\"num_rre\":[[1,0]", "\"num_rre\":[[0,0]", "classes[0].users.num_rre: needs values from 1 on"),
            ("\"num_rre\":[[1,0]", "\"num_rre\":[[1,5]", "classes[0].users.num_rre: point 1: 5 values"),
            (
                "\"inter_conn_ns\":[[2000000000,0]",
                "\"inter_conn_ns\":[[1,0],[90000000000,9]",
                "rre.inter_conn_ns: point",
            ),
            ("\"rre_gap_ns\":30000000000", "\"rre_gap_ns\":3000000000", "classes[0].rre.inter_conn_ns: a value above"),
            ("\"b1\"", "\"x1\"", "\"x1\" is no turn"),
            ("\"others\":0", "\"others\":7", "classes[0].servers: "),
            ("\"at_ns\":2000000000", "\"at_ns\":999000000000", "starts at 999000000000 ns, which is another session"),
            ("\"bytes\":[[700,0]", "\"bytes\":[[0,0]", "classes[0].connections[0].initiator.bytes: needs values"),
        ] {
            assert!(text.contains(from), "{from} in {text}");
            let message = read(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
            assert!(message.starts_with("model: ") && message.contains(wanted), "{message}");
        }
        assert!(open(&folder.path().join("none")).unwrap_err().to_string().contains("none: cannot open"));
    }
}
