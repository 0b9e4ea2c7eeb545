//! Virtual-circuit internetworks in virtual time (Caceres 1992; methods G.4): hosts whose packets routers cut into cells, switches
//! that share links between circuits cell by cell, and what comes of it.

mod config;
mod network;
mod plan;
mod results;

pub use config::{Config, ConfigError, Host, HostError, Link, Node, Role, Route, RouteError, Router, Switch};
pub use network::{Event, Happening, Observer, run};
pub use results::{HostResults, LinkResults, Results, RouterResults, Spread};
