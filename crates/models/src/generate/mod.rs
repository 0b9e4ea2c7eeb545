//! Source models: traffic without a capture.
//!
//! A source model draws connection vectors from laws. Each variable has a stream of random numbers of its own, in which the
//! numbers of connection n do not depend on those of any other (methods L.5): two variants of a model draw the same sizes for the
//! same connections.

pub mod ditg;
pub(crate) mod ends;
mod exchanges;
mod gaussian;
pub mod harpoon;
mod histogram;
pub mod netspec;
pub mod on_off;
mod packmime;
pub mod reference;
pub mod steady;
pub mod tcplib;
pub mod web;

pub use ends::{Ends, Impossible, InitiatorSide, Vectors};
pub use exchanges::Exchanges;
pub use histogram::Read;
pub use packmime::{Http, PackMime};
pub use reference::Reference;
pub use tcplib::TableError;

use flowloom_core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::swing::Swing;

/// A source model and its parameters, as experiments spell them: `{ kind = "exchanges", ... }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SourceModel {
    /// Connections of one request and one response that start in a Poisson process.
    Exchanges(Exchanges),
    /// Conversations of tcplib.
    Tcplib(tcplib::Tcplib),
    /// Conversations of packets that nobody waits for.
    TcplibMisc(tcplib::Misc),
    /// Users who read pages.
    Web(web::Web),
    /// Traffic of NetSpec.
    Netspec(netspec::Netspec),
    /// Sources with heavy-tailed busy and silent times.
    OnOff(on_off::OnOff),
    /// Datagrams at a constant rate.
    Cbr(steady::Steady),
    /// Datagrams with exponential gaps.
    Poisson(steady::Steady),
    /// Application profiles of D-ITG.
    #[serde(rename = "d-itg")]
    Ditg(ditg::Ditg),
    /// Web traffic between clouds of clients and servers, of which the rate of new connections decides the rest.
    #[serde(rename = "packmime")]
    PackMime(PackMime),
    /// Connections with the published statistics of a campus link of 2008.
    #[serde(rename = "campus-2008")]
    Campus2008(Reference),
    /// Connections with the published statistics of an enterprise's link of 2006.
    #[serde(rename = "enterprise-2006")]
    Enterprise2006(Reference),
    /// Users, exchanges, connections and paths by the distributions of a capture.
    Swing(Swing),
    /// Sessions that transfer files, as many as each interval needs.
    Harpoon(harpoon::Harpoon),
}

impl SourceModel {
    /// What it is called.
    pub const fn name(&self) -> &'static str {
        match self {
            SourceModel::Exchanges(_) => "exchanges",
            SourceModel::Tcplib(_) => "tcplib",
            SourceModel::TcplibMisc(_) => "tcplib-misc",
            SourceModel::Web(_) => "web",
            SourceModel::Netspec(_) => "netspec",
            SourceModel::OnOff(_) => "on-off",
            SourceModel::Cbr(_) => "cbr",
            SourceModel::Poisson(_) => "poisson",
            SourceModel::Ditg(_) => "d-itg",
            SourceModel::PackMime(_) => "packmime",
            SourceModel::Campus2008(_) => "campus-2008",
            SourceModel::Enterprise2006(_) => "enterprise-2006",
            SourceModel::Swing(_) => "swing",
            SourceModel::Harpoon(_) => "harpoon",
        }
    }

    /// What no type can refuse: parameters that are well formed and impossible.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn check(&self) -> Result<(), Impossible> {
        match self {
            SourceModel::Exchanges(model) => model.check(),
            SourceModel::Tcplib(model) => model.check(),
            SourceModel::TcplibMisc(model) => model.check(),
            SourceModel::Web(model) => model.check(),
            SourceModel::Netspec(model) => model.check(),
            SourceModel::OnOff(model) => model.check(),
            SourceModel::Cbr(model) | SourceModel::Poisson(model) => model.check(),
            SourceModel::Ditg(model) => model.check(),
            SourceModel::PackMime(model) => model.check(),
            SourceModel::Campus2008(model) | SourceModel::Enterprise2006(model) => model.check(),
            SourceModel::Swing(model) => model.check(),
            SourceModel::Harpoon(model) => model.check(),
        }
    }

    /// All that [`Self::check`] would refuse one after the other, as far as that is known.
    pub fn problems(&self) -> Vec<Impossible> {
        match self {
            SourceModel::Harpoon(model) => model.problems(),
            model => model.check().err().into_iter().collect(),
        }
    }

    /// The rates that say how much it sends, by their keys, in new connections per second or in parts of a published number of these;
    /// none if it has no such number. One is of all connections; two are of those whose initiators are on the left and on the right.
    pub fn rates(&self) -> Vec<(&'static str, f64)> {
        match self {
            SourceModel::Exchanges(model) => vec![("connections-per-second", model.connections_per_second)],
            SourceModel::PackMime(model) => {
                let reverse = model.reverse_rate.map(|rate| ("reverse-rate", rate));
                [("rate", model.rate)].into_iter().chain(reverse).collect()
            }
            SourceModel::Campus2008(model) | SourceModel::Enterprise2006(model) => vec![("scale", model.scale)],
            _ => Vec::new(),
        }
    }

    /// The same with other [`Self::rates`], in their order.
    #[must_use]
    pub fn with_rates(&self, rates: &[f64]) -> SourceModel {
        let mut model = self.clone();
        let places: [Option<&mut f64>; 2] = match &mut model {
            SourceModel::Exchanges(model) => [Some(&mut model.connections_per_second), None],
            SourceModel::PackMime(model) => [Some(&mut model.rate), model.reverse_rate.as_mut()],
            SourceModel::Campus2008(model) | SourceModel::Enterprise2006(model) => [Some(&mut model.scale), None],
            _ => [None, None],
        };
        places.into_iter().flatten().zip(rates).for_each(|(place, rate)| *place = *rate);
        model
    }

    /// The connections that start in the first `duration`, in the order of their starts, with dense ids from 0, one by one. The
    /// parameters must be possible ([`Self::check`]).
    pub fn vectors(&self, seed: u64, duration: Duration) -> Vectors {
        self.vectors_after(seed, Duration::ZERO, duration)
    }

    /// The same with a run that begins `lead_in` after the first: what a model changes at some time of the run is then so much
    /// later.
    pub fn vectors_after(&self, seed: u64, lead_in: Duration, duration: Duration) -> Vectors {
        match self {
            SourceModel::Exchanges(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::Tcplib(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::TcplibMisc(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::Web(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::Netspec(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::OnOff(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::Cbr(model) => Box::new(model.constant(seed, duration)),
            SourceModel::Poisson(model) => Box::new(model.poisson(seed, duration)),
            SourceModel::Ditg(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::PackMime(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::Campus2008(model) => {
                Box::new(model.vectors(&reference::Trace::campus_2008(), seed, lead_in, duration))
            }
            SourceModel::Enterprise2006(model) => {
                Box::new(model.vectors(&reference::Trace::enterprise_2006(), seed, lead_in, duration))
            }
            SourceModel::Swing(model) => Box::new(model.vectors(seed, duration)),
            SourceModel::Harpoon(model) => Box::new(model.vectors(seed, duration)),
        }
    }

    /// What a reader of results should know of its laws, and of `duration`: laws without a mean, what is clipped, what is left out.
    pub fn remarks(&self, duration: Duration) -> Vec<String> {
        let no_mean = |what: &str| format!("{what} have no mean, so that no load can be expected");
        match self {
            SourceModel::Exchanges(model) => ends::without_mean([
                ("request-bytes", &model.request_bytes),
                ("response-bytes", &model.response_bytes),
                ("think-ms", &model.think_ms),
                ("rtt-ms", &model.rtt_ms),
            ]),
            SourceModel::Tcplib(model) => ends::without_mean([("gap-s", &model.gap_s)]),
            SourceModel::TcplibMisc(model) => model.remarks(),
            SourceModel::Netspec(model) => model.remarks(),
            SourceModel::Harpoon(model) => model.remarks(duration),
            SourceModel::OnOff(model) if model.mean_rate().is_none() => vec![no_mean("busy or silent times")],
            SourceModel::Ditg(model) if !model.gaps_have_mean() => vec![no_mean("gaps of this profile")],
            _ => Vec::new(),
        }
    }

    /// The files of its configuration that it names, which are to be read before it draws.
    pub fn configs(&mut self) -> &mut [String] {
        match self {
            SourceModel::Swing(model) => std::slice::from_mut(&mut model.config),
            SourceModel::Harpoon(model) => model.configs(),
            _ => &mut [],
        }
    }

    /// The folder of tables that it is to draw from, if it names one: [`Self::read_tables`] reads them.
    pub fn tables(&mut self) -> Option<&mut String> {
        match self {
            SourceModel::Tcplib(model) => model.tables.as_mut(),
            SourceModel::Web(model) => model.tables.as_mut(),
            SourceModel::Netspec(model) => model.tables.as_mut(),
            _ => None,
        }
    }

    /// Takes its laws from tables that `read` knows by their names, where it has any.
    ///
    /// # Errors
    /// The reader's, or a table that is no cumulative histogram.
    pub fn read_tables<E>(&mut self, read: Read<'_, E>) -> Result<(), TableError<E>> {
        match self {
            SourceModel::Tcplib(model) => model.read_tables(read),
            SourceModel::Web(model) => model.read_tables(read),
            SourceModel::Netspec(model) => model.read_tables(read),
            _ => Ok(()),
        }
    }
}
