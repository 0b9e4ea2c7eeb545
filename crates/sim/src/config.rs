//! What a simulated experiment is.

use std::sync::Arc;

use flowloom_core::model::{ReplayModel, Waits};
use flowloom_core::path::{
    BucketConfig, Impairments, Line, Placement, Rules, Schedule, TokenBucket, Trace, Transmitter,
};
use flowloom_core::queue::{Discipline, ParameterError};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};
use flowloom_core::workload::LinkSide;

/// A dumbbell: connections on both sides of one link, each with its own delay to it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The link in the middle.
    pub bottleneck: Bottleneck,
    /// What happens to the packets from the left and from the right before the link: at the end that sends them, as with
    /// netem there.
    pub path: [Impairments; 2],
    /// From what the delays, losses and bottlenecks of single flows are drawn (methods F.6).
    pub rules: Rules,
    /// What all TCP endpoints have in common.
    pub tcp: tcp::Config,
    /// Which waits of a vector are replayed (methods A.5.9-10, M.3).
    pub replay: ReplayModel,
    /// Where the monitor stands between the ends.
    pub placement: Placement,
    /// Round-trip time of connections whose own is not known: the median of the workload (methods A.6).
    pub unknown_rtt: Duration,
    /// Connections that start in `[0, window)` are run, and the queue's time-weighted statistics cover it (methods M.4).
    pub window: Duration,
    /// How much longer the run may go on for connections to end; at most [`Config::MAX_DRAIN`].
    pub drain: Duration,
    /// Spacing of queue samples.
    pub queue_every: Duration,
    /// Width of throughput bins.
    pub throughput_every: Duration,
    /// Seed of everything random: the initial sequence numbers, the decisions of queues, what happens on the way.
    pub seed: u64,
    /// Whether the packets at the monitor are made into vectors again (methods M.1). Costs time and memory.
    pub monitor: bool,
    /// Longest silence within an ADU at the monitor (methods A.5.2); that of the extraction to compare with.
    pub quiet: Duration,
}

/// The link in the middle, the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// Its rate.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// The queue in front of it, in which the packet in transmission does not count.
    pub queue: Discipline,
    /// What sends the packets from the left and from the right: a trace instead of the rate.
    pub trace: Option<[Arc<Trace>; 2]>,
    /// A token bucket of each direction that the packets at the head of the queue wait for.
    pub shaper: Option<BucketConfig>,
    /// A token bucket of each direction without whose tokens packets are dropped before the queue.
    pub policer: Option<BucketConfig>,
}

impl Bottleneck {
    /// A link of `rate` with neither propagation nor a practical limit to its queue.
    pub fn new(rate: Rate) -> Bottleneck {
        Bottleneck {
            rate,
            delay: Duration::ZERO,
            queue: Discipline::DropTail(Limit::Packets(65_000)),
            trace: None,
            shaper: None,
            policer: None,
        }
    }

    /// What sends the packets from `side`. A trace comes before a shaper.
    pub fn transmitter(&self, side: LinkSide) -> Transmitter {
        let line = Line::new(self.rate);
        match (&self.trace, self.shaper) {
            (Some(traces), _) => Transmitter::Trace(Schedule::new(Arc::clone(&traces[side as usize]))),
            (None, Some(bucket)) => Transmitter::Shaper(line, Box::new(TokenBucket::new(bucket))),
            (None, None) => Transmitter::Line(line),
        }
    }
}

impl Config {
    /// Longest drain (methods M.4).
    pub const MAX_DRAIN: Duration = Duration::from_secs(60);
    /// Longest window and longest delay: a hundred years, far from where a `Time` ends.
    pub const MAX_WINDOW: Duration = Duration::from_secs(100 * 365 * 86_400);
    /// Longest one-way delay of a link and longest round-trip time.
    pub const MAX_DELAY: Duration = Duration::from_secs(3_600);
    /// Slowest link: slower ones would take minutes for a packet, where TCP has given up.
    pub const MIN_BITS_PER_SECOND: u64 = 100;

    /// A run of `window` over a link of `rate` with neither propagation nor a practical limit to its queue; everything
    /// else as methods C, M.1 and M.4 have it.
    pub fn new(rate: Rate, window: Duration) -> Config {
        Config {
            bottleneck: Bottleneck::new(rate),
            path: Default::default(),
            rules: Rules::default(),
            tcp: tcp::Config::default(),
            replay: ReplayModel::with_waits(Waits::CORRECTED),
            placement: Placement::Measured,
            unknown_rtt: Duration::from_millis(100),
            window,
            drain: Config::MAX_DRAIN,
            queue_every: Duration::from_millis(10),
            throughput_every: Duration::from_millis(1),
            seed: 1,
            monitor: true,
            quiet: Duration::from_millis(500),
        }
    }

    /// Whether the numbers can be simulated.
    ///
    /// # Errors
    /// The first one that cannot, and what would be possible.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let at_most = |name, value: Duration, most: Duration| {
            if value > most { Err(ConfigError::TooLong { name, value, most }) } else { Ok(()) }
        };
        let above_zero = |name, value: Duration| if value.is_zero() { Err(ConfigError::Zero { name }) } else { Ok(()) };
        above_zero("window", self.window)?;
        above_zero("queue_every", self.queue_every)?;
        above_zero("throughput_every", self.throughput_every)?;
        at_most("window", self.window, Config::MAX_WINDOW)?;
        at_most("drain", self.drain, Config::MAX_DRAIN)?;
        at_most("bottleneck delay", self.bottleneck.delay, Config::MAX_DELAY)?;
        at_most("unknown_rtt", self.unknown_rtt, Config::MAX_DELAY)?;
        self.bottleneck.queue.build(self.bottleneck.rate, Stream::new(self.seed, Purpose::Queue, 0))?;
        match self.bottleneck.rate.bits_per_second() {
            Some(bits) if bits < Config::MIN_BITS_PER_SECOND => {
                Err(ConfigError::TooSlow { rate: self.bottleneck.rate })
            }
            _ => Ok(()),
        }
    }
}

/// A number that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It has to be above zero.
    #[error("{name} must be longer than 0 s")]
    Zero {
        /// Which.
        name: &'static str,
    },
    /// It is too long.
    #[error("{name} of {value} is too long (at most {most})")]
    TooLong {
        /// Which.
        name: &'static str,
        /// What was given.
        value: Duration,
        /// What is possible.
        most: Duration,
    },
    /// A parameter of the queue discipline is wrong.
    #[error("bottleneck queue: {0}")]
    Queue(#[from] ParameterError),
    /// The link is too slow for TCP.
    #[error("a bottleneck of {rate} is too slow (at least 100 bit/s)")]
    TooSlow {
        /// What was given.
        rate: Rate,
    },
}
