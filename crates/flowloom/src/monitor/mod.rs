//! Counters of links over months: collected, checked, printed.
//!
//! | file | holds |
//! |---|---|
//! | `registry` | the registry file: read, all its errors at once |
//! | `check` | whether targets answer, and what they offer |
//! | `changes` | what hangs on ports, as of dates |
//! | `history` | a period of a store |

mod changes;
mod check;
mod history;
mod registry;

use std::net::SocketAddr;
use std::path::Path;

use flowloom_monitor::{Bell, Board, Moment, PushOptions, Pusher, Report};

use crate::context::{Context, Event};
use crate::error::Error;
use crate::metrics;

use registry::of_monitor;

pub use changes::ConnectionChange;
pub use check::{CheckedPort, CheckedTarget, MonitorChecked, check_monitor};
pub use history::{History, HistoryOptions, Period, history, history_csv, monitored_series};
pub use registry::{Registered, registry_page, registry_schema};

/// Between two looks at whether to stop, in nanoseconds.
const STOP_EVERY_NS: u64 = 100_000_000;

/// What of a monitor can be chosen beside its registry.
#[derive(Clone, Debug, Default)]
pub struct MonitorOptions {
    /// Where the present state is served as Prometheus text; `None` for nowhere.
    pub metrics: Option<SocketAddr>,
    /// Where it is pushed to; `None` for nowhere.
    pub push: Option<PushOptions>,
}

/// Collects what the targets of the registry at `registry` count into the store at `store`, until the stop is requested.
///
/// # Errors
/// The registry is wrong, a secret cannot be had, the store cannot be opened, or not be written at the end. What fails meanwhile is an event.
pub fn monitor(registry: &Path, store: &Path, options: &MonitorOptions, context: Context<'_>) -> Result<(), Error> {
    let registered = Registered::read(registry)?;
    let (bell, board) = (Bell::default(), Board::default());
    let served = board.clone();
    let server = options.metrics.map(|address| metrics::serve(address, move || served.prometheus())).transpose()?;
    if let Some(server) = &server {
        context.event(&Event::ServesMetrics(server.address()));
    }
    let told = board.clone();
    let start = |push: &PushOptions| Pusher::start(push.clone(), move |metrics| told.tell(metrics));
    let pusher = options.push.as_ref().map(start).transpose().map_err(Error::new)?;
    let result = std::thread::scope(|scope| {
        let (stopped, pusher) = (bell.clone(), &pusher);
        scope.spawn(move || {
            while !context.is_stopped() {
                let news = pusher.iter().flat_map(Pusher::news);
                news.for_each(|news| context.event(&Event::Push(&news)));
                if stopped.wait_until(Moment::now().monotonic_ns + STOP_EVERY_NS) {
                    return;
                }
            }
            stopped.ring();
        });
        let mut observe = |report: &Report<'_>| context.event(&Event::Monitor(report));
        let result = flowloom_monitor::run(&registered.registry, &registered.base, store, &bell, &board, &mut observe);
        bell.ring();
        result
    });
    if let Some(pusher) = &pusher {
        pusher.end();
        pusher.news().iter().for_each(|news| context.event(&Event::Push(news)));
    }
    result.map_err(of_monitor)
}
