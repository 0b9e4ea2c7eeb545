//! Rows, claims and the page, over made-up rows and the ones that are kept.

use std::path::Path;

use super::cells::{CellRow, Key, Network, read, write};
use super::claims::{Agreement, Asked, Claim, Estimate, Growth, Of};
use super::{CELLS_FILE, files};

fn row(scale: f64, structure: &str, seed: u64, numbers: &[(&str, f64)]) -> CellRow {
    let key = Key {
        workload: "campus-2008".to_owned(),
        scale,
        network: Network::Constrained,
        structure: structure.to_owned(),
        rtt: "usernet".to_owned(),
        window: "measured".to_owned(),
        waits: "500ms none".to_owned(),
        minutes: 30,
        seed,
    };
    CellRow { key, numbers: numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect() }
}

fn claim(asked: Asked) -> Claim {
    Claim { name: String::new(), source: "", asked, why: None }
}

#[test]
fn rows_come_back_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(CELLS_FILE);
    let rows = [
        row(0.4, "a-b", 1, &[("presence_mean", 1.25), ("queue_mean_packets", 3.0)]),
        row(1.0, "a-b", 2, &[("presence_mean", 5.0)]),
    ];
    write(&path, &rows).unwrap();
    assert_eq!(read(&path).unwrap(), rows);
    std::fs::write(
        &path,
        "workload,scale,network,structure,rtt,window,waits,minutes,seed,x\ncampus-2008,0.4,constrained,a-b,usernet,measured,500ms none,30,1,many\n",
    )
    .unwrap();
    assert!(read(&path).unwrap_err().ends_with("line 2: x is \"many\", not a number"));
    std::fs::write(&path, "a,b\n1,2\n").unwrap();
    assert!(read(&path).unwrap_err().contains("its columns do not begin with workload,scale"));
}

#[test]
fn intervals_are_students() {
    // Mean 2, deviation 1, three values: 4.303 / sqrt(3).
    let Estimate { mean, interval, seeds } = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
    let (low, high) = interval.unwrap();
    assert_eq!((mean, seeds), (2.0, 3));
    assert!((high - 4.484).abs() < 1e-3 && (low + 0.484).abs() < 1e-3, "{low} {high}");
    assert_eq!(Estimate::of(&[7.0]).unwrap().interval, None);
    assert_eq!(Estimate::of(&[]), None);
}

#[test]
fn values_are_asked_at_the_published_scale() {
    let rows =
        [row(0.25, "a-t-b-t", 1, &[("presence_mean", 10.0)]), row(0.25, "a-t-b-t", 2, &[("presence_mean", 12.0)])];
    let of = Of::control("campus-2008", Network::Constrained);
    let ask = |growth, published| {
        let claim = claim(Asked::Value { of, quantity: "presence_mean", growth, published, tolerance: 0.1 });
        let ours = claim.ours(&rows, 0.25);
        (ours.unwrap().mean, claim.agreement(ours))
    };
    assert_eq!(ask(Growth::Linear, 40.0), (44.0, Agreement::Agrees));
    assert_eq!(ask(Growth::Root, 22.0), (22.0, Agreement::Agrees));
    // The interval of 10 and 12 is 11 and 12.7 to each side.
    assert_eq!(ask(Growth::None, 20.0).1, Agreement::Agrees);
    assert_eq!(ask(Growth::None, 30.0).1, Agreement::Differs);
    let missing = claim(Asked::Value {
        of: of.rtt("mean"),
        quantity: "presence_mean",
        growth: Growth::None,
        published: 1.0,
        tolerance: 0.1,
    });
    assert_eq!(missing.agreement(missing.ours(&rows, 0.25)), Agreement::NotRun);
}

#[test]
fn ratios_are_of_the_same_seed_and_need_their_interval() {
    let queue = "queue_mean_packets";
    let of = Of::control("campus-2008", Network::Constrained);
    let ask = |above: [f64; 3], bounds: (f64, f64)| {
        let mut rows: Vec<CellRow> =
            (1..).zip(above).map(|(seed, value)| row(0.4, "a-b", seed, &[(queue, value)])).collect();
        rows.extend((1..).zip([1.0, 10.0, 100.0]).map(|(seed, value)| row(0.4, "a-t-b-t", seed, &[(queue, value)])));
        // A seed without a partner counts for nothing.
        rows.push(row(0.4, "a-b", 9, &[(queue, 1e9)]));
        let claim = claim(Asked::Ratio {
            over: (of.structure("a-b"), queue),
            under: (of, queue),
            least: bounds.0,
            most: bounds.1,
        });
        let ours = claim.ours(&rows, 0.4).unwrap();
        assert_eq!(ours.seeds, 3);
        claim.agreement(Some(ours))
    };
    assert_eq!(ask([3.0, 31.0, 299.0], (2.0, f64::INFINITY)), Agreement::Agrees);
    assert_eq!(ask([3.0, 31.0, 299.0], (4.0, f64::INFINITY)), Agreement::Differs);
    assert_eq!(ask([9.0, 10.0, 200.0], (1.0, f64::INFINITY)), Agreement::CannotTell);
    assert_eq!(ask([1.0, 10.0, 101.0], (0.9, 1.1)), Agreement::Agrees);
}

#[test]
fn the_page_is_that_of_the_rows_that_are_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/reproductions");
    let rows = read(&folder.join("aikat-2010").join(CELLS_FILE)).unwrap();
    for (name, content) in files(&rows) {
        let found = std::fs::read_to_string(folder.join(&name)).unwrap();
        assert!(found == content, "{name} is another: make reproduce");
    }
}
