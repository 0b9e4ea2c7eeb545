//! `docs/reference/schemas.md` lists the columns of every table as they are: names, types and order.

use flowloom_core::record::{DropRecord, QueueSample, SojournRecord, SourceRecord, WindowRecord};
use flowloom_core::workload::ConnectionVector;
use parquet::basic::{Repetition, Type as Physical};
use parquet::schema::types::Type;

use super::Row;
use super::row::schema;
use crate::monitor::{GapRow, LevelRow, SampleRow};
use crate::run_folder::{ActiveRow, AduRow, ConnectionRow, EpochRow, FlowRow, LatenessRow, ThroughputRow};

const DOCUMENT: &str = include_str!("../../../../docs/reference/schemas.md");

/// The columns of the document's section for `table`: what stands in the first two cells of its table.
fn documented(table: &str) -> Vec<(String, String)> {
    let names: Vec<String> = table.split(", ").map(|name| format!("`{name}`")).collect();
    let heading = format!("### {}", names.join(", "));
    let section = DOCUMENT.split_once(&heading).unwrap_or_else(|| panic!("no section {heading}")).1;
    let section = section.split("\n#").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    cells.map(|(name, rest)| (name.to_owned(), rest.split(" |").next().unwrap_or_default().to_owned())).collect()
}

/// The columns of a Parquet type, list members as `list[].member`.
fn columns(prefix: &str, fields: &[std::sync::Arc<Type>]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for field in fields {
        let name = format!("{prefix}{}", field.name());
        if field.is_group() {
            let element = &field.get_fields()[0].get_fields()[0];
            all.extend(columns(&format!("{name}[]."), element.get_fields()));
            continue;
        }
        let kind = match field.get_physical_type() {
            Physical::INT64 => "integer",
            Physical::BOOLEAN => "boolean",
            Physical::BYTE_ARRAY => "text",
            other => panic!("{name} is {other}"),
        };
        let optional = field.get_basic_info().repetition() == Repetition::OPTIONAL;
        all.push((name, format!("{kind}{}", if optional { " or null" } else { "" })));
    }
    all
}

fn check<R: Row>(heading: &str) {
    let schema = schema(&R::columns());
    assert_eq!(documented(heading), columns("", schema.get_fields()), "{heading}");
}

#[test]
fn every_column_is_documented() {
    check::<ConnectionVector>("*.parquet");
    check::<ConnectionRow>("connections.parquet");
    check::<EpochRow>("epochs.parquet");
    check::<AduRow>("adus.parquet");
    check::<QueueSample>("queue.parquet");
    check::<ThroughputRow>("throughput.parquet");
    check::<ActiveRow>("active.parquet");
    check::<DropRecord>("drops.parquet");
    check::<SojournRecord>("sojourn.parquet");
    check::<FlowRow>("flows.parquet");
    check::<SourceRecord>("sources.parquet");
    check::<WindowRecord>("tcp_trace.parquet");
    check::<LatenessRow>("lateness.parquet");
    check::<SampleRow>("samples-*.parquet");
    check::<LevelRow>("seconds-*.parquet, minutes-*.parquet, hours-*.parquet");
    check::<GapRow>("gaps-*.parquet");
}
