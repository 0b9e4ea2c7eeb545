//! A fitted Swing model in numbers and words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;
use flowloom_models::swing::{LeftOut, Measure, SwingModel, Variable};
use serde::Serialize;

use crate::metric::Unit;
use crate::words::{counted, thousands};

/// What was found: the object that `fit --model swing --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct SwingSummary {
    /// The file that was fitted, as given; `None` if names are to be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// TCP connections and flows of datagrams that were taken into account.
    pub connections: u64,
    /// Those that were not, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// How long the workload is.
    pub duration_ns: u64,
    /// Sessions of all classes that start in a second.
    pub sessions_per_second: f64,
    /// Users, by application and side of the link.
    pub classes: Vec<SwingClass>,
}

/// Users of one application (or of all) on one side of the link.
#[derive(Clone, Debug, Serialize)]
pub struct SwingClass {
    /// The application, or "all".
    pub class: String,
    /// The side of the link its clients are on.
    pub from: &'static str,
    /// Clients.
    pub clients: u64,
    /// Their sessions.
    pub sessions: u64,
    /// Their exchanges.
    pub rres: u64,
    /// Their connections by transport.
    pub transports: BTreeMap<&'static str, u64>,
    /// The servers these go to.
    pub servers: u64,
    /// Sessions that the model holds whole.
    pub whole_sessions: u64,
    /// Sessions that start in a second.
    pub sessions_per_second: f64,
    /// The variables that have values.
    pub variables: Vec<SwingVariable>,
}

/// A variable.
#[derive(Clone, Debug, Serialize)]
pub struct SwingVariable {
    /// Its name.
    pub variable: String,
    /// What its values are counted in: `ns`, `bytes`, `ppm` or nothing.
    pub unit: &'static str,
    /// How many values.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: u64,
    /// Their quantile 0.99.
    pub p99: u64,
    /// The largest.
    pub max: u64,
    #[serde(skip)]
    measure: Measure,
}

impl SwingSummary {
    /// That of `model`, which was made of the file `name`.
    pub fn new(model: &SwingModel, name: Option<String>, connections: u64, left_out: LeftOut) -> SwingSummary {
        let LeftOut { no_host, flow_records, no_data, too_many_hosts } = left_out;
        let reasons = [
            ("no-host", no_host),
            ("flow-records", flow_records),
            ("no-data", no_data),
            ("too-many-hosts", too_many_hosts),
        ];
        let class = |class: &flowloom_models::swing::ClassModel| SwingClass {
            class: class.name.clone(),
            from: LinkSide::from(class.from).word(),
            clients: class.users.sessions_per_client.count(),
            sessions: class.users.num_rre.count(),
            rres: class.rre.num_conn.count(),
            transports: class.connections.iter().map(|of| (of.transport.name(), of.count)).collect(),
            servers: class.servers(),
            whole_sessions: class.sessions.len() as u64,
            sessions_per_second: class.sessions_per_second(),
            variables: class.variables().into_iter().filter_map(variable).collect(),
        };
        SwingSummary {
            name,
            connections,
            left_out: reasons.into_iter().filter(|(_, count)| *count > 0).collect(),
            duration_ns: model.duration_ns,
            sessions_per_second: model.sessions_per_second(),
            classes: model.classes.iter().map(class).collect(),
        }
    }

    /// What `flowloom fit --model swing` prints.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} and flows in {}, {} sessions started each second",
            counted(self.connections, "connection"),
            Unit::Time.show(self.duration_ns as f64),
            three_digits(self.sessions_per_second)
        );
        for class in &self.classes {
            let transports = class.transports.iter().map(|(name, count)| format!("{} {name}", thousands(*count)));
            let _ = writeln!(
                text,
                "\n{} from the {}: {}, {}, {}; {}; {}",
                class.class,
                class.from,
                counted(class.clients, "client"),
                counted(class.sessions, "session"),
                counted(class.rres, "exchange"),
                transports.collect::<Vec<_>>().join(", "),
                counted(class.servers, "server"),
            );
            let _ = writeln!(
                text,
                "  {:<34}{:>9}{:>11}{:>11}{:>11}{:>11}",
                "", "values", "mean", "median", "99 %", "largest"
            );
            for variable in &class.variables {
                let show = |value: f64| variable.show(value);
                let _ = writeln!(
                    text,
                    "  {:<34}{:>9}{:>11}{:>11}{:>11}{:>11}",
                    variable.variable,
                    thousands(variable.n),
                    show(variable.mean),
                    show(variable.median as f64),
                    show(variable.p99 as f64),
                    show(variable.max as f64)
                );
            }
        }
        text
    }
}

impl SwingVariable {
    fn show(&self, value: f64) -> String {
        match self.measure {
            Measure::Time => Unit::Time.show(value),
            Measure::Bytes => Unit::Bytes.show(value),
            Measure::Count => Unit::Count.show(value),
            Measure::PartsPerMillion => Unit::Share.show(value / 1e6),
        }
    }
}

fn variable(Variable { name, measure, law }: Variable) -> Option<SwingVariable> {
    Some(SwingVariable {
        variable: name,
        unit: match measure {
            Measure::Time => "ns",
            Measure::Bytes => "bytes",
            Measure::PartsPerMillion => "ppm",
            Measure::Count => "",
        },
        n: law.count(),
        mean: law.mean()?,
        median: law.quantile(0.5)?,
        p99: law.quantile(0.99)?,
        max: law.max()?,
        measure,
    })
}
