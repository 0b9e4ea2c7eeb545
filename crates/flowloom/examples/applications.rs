//! Who talked on a captured link: the vectors of a capture, one by one, without a file between. `applications CAPTURE`
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flowloom::workload::open;
use flowloom::{CaptureOptions, Context, Error, HostOptions, Silent, Stop, input};

/// Connections and payload bytes by the port of the acceptor, which some forms of vectors do not know.
fn by_port(files: &[PathBuf], context: Context<'_>) -> Result<BTreeMap<Option<u16>, (u64, u64)>, Error> {
    let kind = input::common_kind(files)?;
    let (capture, hosts, scratch) = (CaptureOptions::default(), HostOptions::default(), std::env::temp_dir());
    let workload = open(files, kind, &capture, &hosts, &scratch, context)?;
    let mut ports: BTreeMap<Option<u16>, (u64, u64)> = BTreeMap::new();
    for vector in workload.vectors {
        let vector = vector?;
        let of_port = ports.entry(vector.ends.acceptor.port).or_default();
        of_port.0 += 1;
        of_port.1 += vector.adus.iter().map(|adu| adu.bytes).sum::<u64>();
    }
    Ok(ports)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let capture = std::env::args().nth(1).ok_or("applications CAPTURE")?;
    let stop = Stop::new();
    for (port, (connections, bytes)) in by_port(&[Path::new(&capture).to_owned()], Context::new(&Silent, &stop))? {
        let port = port.map_or_else(|| "?".to_owned(), |port| port.to_string());
        println!("port {port:>5}: {connections:>6} connections, {bytes:>12} bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_capture_has_web_traffic() {
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/demo.pcap.gz");
        let ports = by_port(&[demo], Context::new(&Silent, &Stop::new())).unwrap();
        assert!(
            ports.len() > 3 && ports.values().all(|(connections, bytes)| *connections > 0 && *bytes > 0),
            "{ports:?}"
        );
    }
}
