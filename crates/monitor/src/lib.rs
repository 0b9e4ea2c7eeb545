//! The monitor of links: counters of ports and queues over months.
//!
//! [`run`] asks the targets of a [`Registry`], each at its interval, and records what they count in the store of
//! `flowloom_store::monitor`. [`Archive`] answers queries about any period of it, while it is written or not. The crate needs no
//! simulator, no reports and no web server, so that a host can collect without them.
//!
//! | module | holds |
//! |---|---|
//! | `rates` | two counts into an amount: wraps, restarts, resets (methods I.5) |
//! | `target` | a target over time: answers into samples and gaps |
//! | `snmp`, `ifmib`, `agent` | questions by SNMP; the counters of ports; all of an agent as one answer |
//! | `local` | interfaces and queue disciplines of this host |
//! | `runs` | links of live runs on this host |
//! | `registry`, `idle`, `kept` | the keys of the registry; alerts that can never act; what a store keeps of it |
//! | `collector` | threads, writing, what is reported |
//! | `alert`, `board` | thresholds and their actions; the present state |
//! | `metric`, `otlp` | metrics, and their form for Prometheus; metrics pushed to a collector |
//! | `http` | calls to other programs |
//! | `query` | periods at a bounded number of points |
//! | `held` | a counter as rates that held for some time each |
//! | `steps` | samples as functions of time, which can be added and put into bins |
//! | `total` | sums of series; bins; days at a glance |
//! | `bursts`, `correlation` | times above a threshold; how far two series go together |
//! | `clock` | the only reader of the clocks here |

#![forbid(unsafe_code)]

mod agent;
mod alert;
mod board;
mod bursts;
mod clock;
mod collector;
mod correlation;
mod doubt;
mod held;
mod http;
mod idle;
mod ifmib;
mod kept;
mod local;
mod metric;
mod otlp;
mod query;
pub mod rates;
pub mod registry;
mod runs;
pub mod snmp;
mod steps;
mod target;
mod total;

pub use agent::{Agent, Offered, PortDescription, capacity_of};
pub use alert::{Raised, State as AlertState};
pub use board::{Board, TargetState};
pub use bursts::{Burst, Bursts};
pub use clock::{Bell, Moment};
pub use collector::{MonitorError, Observer, Report, agent, base_of, run};
pub use correlation::{Correlation, Lag, MOST_BINS, MOST_LAGS};
pub use held::{Held, Stretch};
pub use idle::idle_alerts;
pub use ifmib::{Offer, uptime};
pub use kept::{has_kept, keep as keep_registry, kept_at, kept_text, read_kept};
pub use local::local_ports;
pub use metric::{MetricKind, Metrics, Number, PrometheusText};
pub use otlp::{PushNews, PushOptions, Pusher};
pub use query::{Archive, BITS_OF_CELL, Curve, Gap, MOST_POINTS, Point, Query, Selection, bits_of};
pub use registry::Registry;
pub use runs::Runs;
pub use total::{Day, DayBegins, Days, Total, Unaddable};
