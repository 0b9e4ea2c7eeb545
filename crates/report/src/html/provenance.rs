//! Where numbers come from: the table and the columns of the run folder, and a query that gives them (`docs/reference/schemas.md`).

use flowloom_core::time::{Duration, Time};
use maud::{Markup, html};

use crate::metric::Metric;

/// Where the numbers of a figure or of a row of the answer come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// Table, columns and conditions; empty where they are no run's. Names stand between backquotes.
    pub from: String,
    /// DuckDB's SQL for it, to be run inside the run folder; empty where that is not simple.
    pub query: String,
}

/// What decides which rows of a table count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// Whether a replay is set beside its original at the monitor, or runs beside each other at their ends.
    pub with_original: bool,
    pub window: (Time, Time),
    /// Width of the bins of series.
    pub bin: Duration,
}

/// Cells of dead packets in a direction of the bottleneck.
fn dead_cells(link: usize) -> Provenance {
    let from = format!("`run.json`: `topology.links[{link}].cells`: `dead` / `sent`, of the whole run");
    Provenance { from, query: String::new() }
}

impl Scope {
    /// The condition that `column` lies in the window.
    fn within(&self, column: &str) -> String {
        let (start, end) = (self.window.0.as_nanos(), self.window.1.as_nanos());
        format!("{column} >= {start} AND {column} < {end}")
    }

    /// Where `metric` comes from.
    pub(super) fn of(&self, metric: Metric) -> Provenance {
        match metric {
            Metric::Duration => self.durations(),
            Metric::ResponseTime => self.response_times(),
            Metric::RoundTripTime => self.round_trip_times(),
            Metric::AduSize => self.adu_sizes(),
            Metric::ActiveConnections => self.active(),
            Metric::ThroughputFromLeft => self.throughput("bytes", Some("left"), self.bin),
            Metric::ThroughputFromRight => self.throughput("bytes", Some("right"), self.bin),
            Metric::PacketArrivals => self.throughput("packets", None, self.bin),
            Metric::Goodput => self.throughput("payload_bytes", None, self.bin),
            Metric::QueueFromLeft => self.queue("left"),
            Metric::QueueFromRight => self.queue("right"),
            Metric::QueueDelayFromLeft => self.queue_delay("left"),
            Metric::QueueDelayFromRight => self.queue_delay("right"),
            Metric::DeadCellsFromLeft => dead_cells(0),
            Metric::DeadCellsFromRight => dead_cells(1),
            Metric::ProbeRoundTrip => self.probes("datagram"),
            Metric::ProbeRequest => self.probes("request"),
        }
    }

    fn durations(&self) -> Provenance {
        let started = self.within("start_ns");
        let over = "outcome = 'completed'\n  OR delivered_to_acceptor_bytes + delivered_to_initiator_bytes >= initiator_bytes + \
                    acceptor_bytes";
        let told = "; connections that did not deliver all their bytes last at least as long as they were seen to";
        let (from, columns, known) = match self.with_original {
            true => (
                "`original_duration_ns`, `monitor_duration_ns` where the first is known",
                "quantile_disc(original_duration_ns, [0.5, 0.99]) AS original_ns,\n       \
                 quantile_disc(if(is_over, monitor_duration_ns, 'infinity'::DOUBLE), [0.5, 0.99]) AS replay_ns",
                "original_duration_ns IS NOT NULL AND (monitor_duration_ns IS NOT NULL OR NOT is_over)",
            ),
            false => (
                "`endpoint_duration_ns` where `first_data_ns` is known",
                "quantile_disc(if(is_over, endpoint_duration_ns, 'infinity'::DOUBLE), [0.5, 0.99]) AS ns",
                "first_data_ns IS NOT NULL AND (endpoint_duration_ns IS NOT NULL OR NOT is_over)",
            ),
        };
        Provenance {
            from: format!("`connections.parquet`: {from}{told}"),
            query: format!(
                "SELECT count(*) AS n, {columns}\nFROM (SELECT *, {over} AS is_over\n  FROM 'connections.parquet')\n\
                 WHERE {known}\n  AND {started};"
            ),
        }
    }

    fn response_times(&self) -> Provenance {
        let points = if self.with_original { "'original', 'monitor'" } else { "'endpoint'" };
        Provenance {
            from: format!(
                "`epochs.parquet`: `response_ns` where `point` is one of {points}, of connections that are sequential in \
                 `connections.parquet` (`pattern`); exchanges that began and did not end last at least as long as they were seen to"
            ),
            query: format!(
                "-- of exchanges that ended\nSELECT point, count(*) AS n, quantile_disc(response_ns, [0.5, 0.99]) AS ns\n\
                 FROM 'epochs.parquet' e\nJOIN 'connections.parquet' c ON c.id = e.connection_id\n\
                 WHERE point IN ({points}) AND response_ns IS NOT NULL AND c.pattern = 'sequential'\n  \
                 AND ({} OR (epoch = 0 AND {}))\nGROUP BY point ORDER BY point;",
                self.within("e.start_ns"),
                self.within("c.start_ns")
            ),
        }
    }

    fn round_trip_times(&self) -> Provenance {
        let columns: &[&str] =
            if self.with_original { &["original_rtt_ns", "monitor_rtt_ns"] } else { &["path_rtt_ns"] };
        let of_each: Vec<String> =
            columns.iter().map(|column| format!("quantile_disc({column}, [0.5, 0.99]) AS {column}")).collect();
        Provenance {
            from: format!("`connections.parquet`: `{}`", columns.join("`, `")),
            query: format!(
                "SELECT {}\nFROM 'connections.parquet'\nWHERE {};",
                of_each.join(", "),
                self.within("start_ns")
            ),
        }
    }

    fn adu_sizes(&self) -> Provenance {
        Provenance {
            from: "`adus.parquet`: `bytes` where `point` is 'original' or 'monitor'".to_owned(),
            query: format!(
                "SELECT point, count(*) AS n, quantile_disc(bytes, [0.5, 0.99]) AS bytes\nFROM 'adus.parquet' a\n\
                 JOIN 'connections.parquet' c ON c.id = a.connection_id\n\
                 WHERE {} AND (first_ns IS NULL OR {})\nGROUP BY point ORDER BY point;",
                self.within("c.start_ns"),
                self.within("first_ns")
            ),
        }
    }

    fn active(&self) -> Provenance {
        let [start, end] = [self.window.0, self.window.1].map(Time::as_nanos);
        let width = self.bin.as_nanos().max(1);
        let replay = "SELECT 'replay' AS point, monitor_start_ns AS since, monitor_end_ns AS until\n  FROM 'connections.parquet' \
                      WHERE monitor_start_ns IS NOT NULL";
        let (from, open) = match self.with_original {
            true => (
                "`start_ns` to `original_end_ns`, and `monitor_start_ns` to `monitor_end_ns`",
                format!(
                    "{replay}\n  UNION ALL SELECT 'original', start_ns, original_end_ns FROM 'connections.parquet'"
                ),
            ),
            false => ("`monitor_start_ns` to `monitor_end_ns`", replay.to_owned()),
        };
        Provenance {
            from: format!(
                "`connections.parquet`: {from} (to the end where there is none); how long connections are open in each bin of {}, over its width",
                self.bin
            ),
            query: format!(
                "WITH open AS ({open}),\n  bins AS (SELECT unnest(range({start}, {end} - {width} + 1, {width})) AS bin)\n\
                 SELECT point, bin / 1e9 AS second,\n  \
                 sum(greatest(0, least(coalesce(until, {end}), bin + {width}) - greatest(since, bin))) / {width} AS connections\n\
                 FROM bins, open\nGROUP BY point, bin ORDER BY point, bin;"
            ),
        }
    }

    /// Bits per second of a column of bytes, or packets per second, in bins of `width`.
    pub(super) fn throughput(&self, column: &str, side: Option<&str>, width: Duration) -> Provenance {
        let points = if self.with_original { "'original', 'replay-carried'" } else { "'replay-carried'" };
        let (per, unit) = if column == "packets" { ("", "packets") } else { ("8 * ", "bits") };
        let (told, filter) = match side {
            Some(side) => (format!(", `from_side` '{side}'"), format!(" AND from_side = '{side}'")),
            None => (", both directions added".to_owned(), String::new()),
        };
        let nanos = width.as_nanos();
        // What stands in for missing bytes is carried and not compared (methods M.8).
        let missing = "point = 'replay-missing'";
        Provenance {
            from: format!(
                "`throughput.parquet`: {}`{column}` by `start_ns`, added in bins of {width}, where `point` is one of {points} and `link` < 2{told}; \
                 less that of 'replay-missing' of the replay",
                if per.is_empty() { "" } else { "8 × " }
            ),
            query: format!(
                "-- bins without traffic have no row\nSELECT if({missing}, 'replay-carried', point) AS line, \
                 (start_ns - {start}) // {nanos} AS bin,\n  {per}greatest(0, coalesce(sum({column}) FILTER (WHERE NOT {missing}), 0)\n    \
                 - coalesce(sum({column}) FILTER (WHERE {missing}), 0)) / {seconds} AS {unit}_per_second\n\
                 FROM 'throughput.parquet'\nWHERE point IN ({points}, 'replay-missing') AND link < 2{filter}\n  AND {}\n\
                 GROUP BY ALL ORDER BY ALL;",
                self.within("start_ns"),
                start = self.window.0.as_nanos(),
                seconds = nanos as f64 / 1e9,
            ),
        }
    }

    fn queue(&self, side: &str) -> Provenance {
        Provenance {
            from: format!(
                "`queue.parquet`: `packets` by `time_ns` where `link` < 2 and `from_side` is '{side}'; empty at instants without a row"
            ),
            query: format!(
                "SELECT time_ns / 1e9 AS second, packets\nFROM 'queue.parquet'\nWHERE link < 2 AND from_side = '{side}' AND {}\n\
                 ORDER BY time_ns;",
                self.within("time_ns")
            ),
        }
    }

    /// Sojourn times of the packets from `side`.
    fn queue_delay(&self, side: &str) -> Provenance {
        let [start, end] = [self.window.0, self.window.1].map(Time::as_nanos);
        let of = format!("fate = 'transmitted' AND from_side = '{side}'");
        Provenance {
            from: format!(
                "`sojourn.parquet`: `total_ns` over `packets` where `fate` is 'transmitted' and `from_side` is '{side}', `packets` times each"
            ),
            query: format!(
                "-- packets that left the queue from {start} ns on and before {end} ns\nSELECT any_value(n) AS n, min(ns) FILTER (up_to >= 0.5 * n) AS p50_ns, min(ns) FILTER (up_to >= 0.99 * n) AS p99_ns\n\
                 FROM (SELECT sum(total_ns) / sum(packets) AS ns,\n    sum(sum(packets)) OVER (ORDER BY sojourn_ns) AS up_to,\n    \
                 sum(sum(packets)) OVER () AS n\n  FROM 'sojourn.parquet'\n  WHERE {of} AND packets > 0\n  GROUP BY sojourn_ns);"
            ),
        }
    }

    /// What probes of a kind met.
    fn probes(&self, kind: &str) -> Provenance {
        let time = if kind == "request" { "connect_ns + round_trip_ns" } else { "round_trip_ns" };
        Provenance {
            from: format!(
                "`probes.parquet`: {} by `sent_ns` where `kind` is '{kind}'; not of probes that were lost",
                time.split(" + ").map(|column| format!("`{column}`")).collect::<Vec<_>>().join(" + ")
            ),
            query: format!(
                "-- of probes that were answered\nSELECT count(*) AS n, quantile_disc({time}, [0.5, 0.95, 0.99]) AS ns\n\
                 FROM 'probes.parquet'\nWHERE kind = '{kind}' AND round_trip_ns IS NOT NULL AND {};",
                self.within("sent_ns")
            ),
        }
    }

    /// Of link `number` beside the bottleneck: its throughput, or its queue.
    pub(super) fn of_link(&self, number: u16, metric: Metric) -> Provenance {
        let from = match metric {
            Metric::QueueFromLeft => format!("`queue.parquet`: `packets` by `time_ns` where `link` is {number}"),
            _ => format!(
                "`throughput.parquet`: 8 × `bytes` by `start_ns`, added in bins of {}, where `point` is 'replay-carried' and `link` is {number}",
                self.bin
            ),
        };
        Provenance { from, query: String::new() }
    }
}

/// `text` as HTML, what stands between backquotes as code.
pub(super) fn coded(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// What the page says of it beneath what has the id `id`; nothing if it says nothing.
pub(super) fn part(id: &str, provenance: &Provenance) -> Markup {
    html! {
        @if !provenance.from.is_empty() {
            p class="from" { "From " (coded(&provenance.from)) "." }
            @if !provenance.query.is_empty() {
                details class="query" {
                    summary { "Query" }
                    button type="button" data-copy={ (id) "-query" } { "Copy for DuckDB" }
                    pre id={ (id) "-query" } tabindex="0" { (provenance.query) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_names_a_table_and_its_columns() {
        let scope = |with_original| Scope {
            with_original,
            window: (Time::from_nanos(1_000_000_000), Time::from_nanos(5_000_000_000)),
            bin: Duration::from_millis(100),
        };
        for with_original in [true, false] {
            for metric in crate::html::figures::KINDS.map(|kind| kind.metric) {
                let told = scope(with_original).of(metric);
                assert!(told.from.contains(".parquet`: ") && told.from.matches('`').count() % 2 == 0, "{}", told.from);
                assert!(told.query.contains("FROM '") && told.query.contains("5000000000"), "{}", told.query);
            }
        }
        let told = scope(true).of(Metric::ThroughputFromLeft).query;
        assert!(
            told.contains("// 100000000 AS bin")
                && told.contains("8 * greatest(0, ")
                && told.contains(" / 0.1 AS bits"),
            "{told}"
        );
        assert!(told.contains("'replay-carried', 'replay-missing')"), "what stands in for missing bytes: {told}");
    }

    #[test]
    fn code_is_marked_and_nothing_becomes_markup() {
        assert_eq!(coded("`a<b`: 1").0, "<code>a&lt;b</code>: 1");
    }
}
