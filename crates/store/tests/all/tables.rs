//! The tables of tcplib and of ns-2's HTTP sources, where the user has them: a million draws have the moments they should.

use std::path::PathBuf;

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_models::generate::tcplib::summarised;
use flowloom_store::histogram;

const SHARES: [&str; 8] = ["0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95", "0.99"];

fn shared(folder: &str) -> Option<PathBuf> {
    flowloom_needs::shared("store: tables of tcplib and ns-2", folder)
}

/// A million draws, in order.
fn draws(rows: Vec<(f64, f64)>, id: u64) -> (Distribution, Vec<f64>) {
    let law = Distribution::new(Law::Linear(rows)).unwrap();
    let mut stream = Stream::new(1, Purpose::ItemBytes, id);
    let mut values: Vec<f64> = (0..1_000_000).map(|_| law.quantile(stream.uniform())).collect();
    values.sort_by(f64::total_cmp);
    (law, values)
}

/// Quantiles within 2 %, or within the steps of a thousandth in which the tables have their shares where one is steeper than that.
#[test]
fn tcplib_at_a_million_draws() {
    let Some(folder) = shared("tcplib") else { return };
    let text = std::fs::read_to_string(folder.join("reference_moments.json")).unwrap();
    let reference: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tables = reference.as_object().unwrap();
    assert_eq!(tables.len(), 11);
    for (at, (name, table)) in tables.iter().enumerate() {
        // What a model draws from without the tables.
        for share in SHARES.iter().filter(|share| **share != "0.05" && !name.starts_with("phone")) {
            let wanted = table["quantiles_if_linear"][share].as_f64().unwrap();
            let found = summarised(name).quantile(share.parse().unwrap());
            assert!((found / wanted - 1.0).abs() < 1e-6, "the summary of {name} at {share}: {found}, not {wanted}");
        }
        let rows = histogram::open(&folder, name).unwrap();
        assert_eq!(rows.len() as u64, table["rows"].as_u64().unwrap(), "{name}");
        let (law, values) = draws(rows, at as u64);
        let mean = table["mean_if_linear_between_rows"].as_f64().unwrap();
        assert!((law.mean().unwrap() / mean - 1.0).abs() < 1e-9, "{name}: mean of {:?}, not {mean}", law.mean());
        for share in SHARES {
            let wanted = table["quantiles_if_linear"][share].as_f64().unwrap();
            let u: f64 = share.parse().unwrap();
            assert!((law.quantile(u) - wanted).abs() <= 1e-9 * wanted, "{name} at {share}: {}", law.quantile(u));
            let found = values[(u * 1e6) as usize];
            assert!((found / wanted - 1.0).abs() < 0.02, "{name} at {share}: {found}, not {wanted}");
        }
    }
}

/// Sizes of the samples are those of their README; counts and shares are the same rows.
#[test]
fn mahs_tables_at_a_million_draws() {
    let Some(folder) = shared("ns2-http-cdf") else { return };
    for (at, (name, median, largest)) in [
        ("HttpConnections", 1.0, 65.0),
        ("HttpReplyLength", 2_111.688, 1_636_039.0),
        ("HttpRequestLength", 230.84, 1_373.0),
        ("HttpServerStay", 1.855, 54.0),
        ("HttpThinkTime", 16.192, 86_394.941),
    ]
    .into_iter()
    .enumerate()
    {
        let rows = histogram::open(&folder, name).unwrap();
        assert_eq!(rows.last(), Some(&(largest, 1.0)), "{name}");
        let (_, values) = draws(rows, at as u64);
        let found = values[500_000];
        assert!((found / median - 1.0).abs() < 0.02, "{name}: {found}, not {median}");
    }
}
