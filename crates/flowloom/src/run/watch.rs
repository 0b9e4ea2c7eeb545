//! What is observed of a run while it goes on, about once a second: told to the observer, and kept in a file beside the run.
//!
//! Looking changes nothing of a run, so that it comes to the same whoever watches.

use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_live::Progress as LiveProgress;
use flowloom_report::Connections;
use flowloom_report::gates::so_far;
use flowloom_sim::{Config, LinkNumber, LinkProgress, LinksAt, Progress};
use flowloom_store::running::{Observation, ObservedConnections, ObservedLateness, ObservedLink, Phase, RunningFile};

use crate::clock::{Stopwatch, unix_nanos};
use crate::context::{Context, Event};
use crate::observation::{EVERY_NANOS, begun};
use crate::run::live;
use crate::run::setup::Setup;

/// The first observation of a run comes so soon; a shorter run has none.
const FIRST_NANOS: u64 = 200_000_000;

/// Watches one run. When it is dropped, observers hear that the run has ended, and its file is gone.
pub struct Watch<'a> {
    context: Context<'a>,
    file: RunningFile,
    clock: Stopwatch,
    /// When the next observation is due.
    next_nanos: u64,
    /// What was said last, or will be said first.
    said: Observation,
    /// Links as they were then.
    before: LinksAt,
}

impl<'a> Watch<'a> {
    /// Of the run with these numbers, which will be in `target` and is in `folder` until then.
    pub fn new(setup: &Setup<'a>, config: &Config, target: &Path, folder: &Path) -> Watch<'a> {
        let Setup { plan, options, shape, context, .. } = *setup;
        let links = shape.graph.links().iter().zip(0..).map(|(joined, number)| {
            let number = LinkNumber(number);
            let link = config.link(number);
            ObservedLink {
                name: joined.name.clone(),
                from: shape.graph.name(joined.from).to_owned(),
                to: shape.graph.name(joined.to).to_owned(),
                bottleneck: number.is_bottleneck(),
                rate_bps: link.rate.bits_per_second().filter(|_| link.trace.is_none()),
                ..ObservedLink::default()
            }
        });
        let said = Observation {
            seed: config.seed,
            window_ns: config.window.as_nanos(),
            at_most_ns: (config.window + config.drain).as_nanos(),
            links: links.collect(),
            ..begun(target, &plan.target, options.on.name())
        };
        let (file, clock, before) = (RunningFile::new(folder), Stopwatch::start(), LinksAt::default());
        Watch { context, file, clock, next_nanos: FIRST_NANOS, said, before }
    }

    /// Observes the run if it is time, and asks it to stop if somebody wants that.
    pub fn look(&mut self, at: &Progress<'_>, live: Option<&LiveProgress<'_>>) {
        let now = self.clock.nanos();
        if at.is_last && self.said.observed_unix_ns > 0 {
            // It is told when the run finishes.
            return self.observe(at, live);
        }
        if now < self.next_nanos || at.is_last {
            return;
        }
        self.next_nanos = now + EVERY_NANOS;
        if self.file.is_stop_requested() && !self.context.stop().request() {
            self.context.note("a stop was requested: what was measured until now is kept".to_owned());
        }
        self.observe(at, live);
        self.tell();
    }

    /// The run is over, and its results are computed.
    pub fn finish(&mut self) {
        // Of a run so short that nothing was said nobody waits for more.
        if self.said.observed_unix_ns > 0 {
            self.said.phase = Phase::Finishing;
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.said.observed_unix_ns = unix_nanos();
        self.said.log = self.context.last_lines();
        self.file.write(&self.said);
        self.context.event(&Event::Observation(&self.said));
    }

    fn observe(&mut self, at: &Progress<'_>, live: Option<&LiveProgress<'_>>) {
        let said = &mut self.said;
        said.time_ns = at.now.as_nanos();
        said.share_done = (at.now.as_nanos() as f64 / said.window_ns.max(1) as f64).min(1.0);
        said.events = live.is_none().then_some(at.events);
        let counts = at.connections;
        said.connections = ObservedConnections {
            started: counts.started,
            active: at.active,
            completed: counts.completed,
            reset: counts.reset,
            gave_up: counts.gave_up,
        };
        let links = at.links();
        said.links_time_ns = links.time.as_nanos();
        let elapsed = links.time.since(self.before.time);
        for (number, (link, now)) in said.links.iter_mut().zip(&links.links).enumerate() {
            observe_link(link, now, self.before.links.get(number), elapsed);
        }
        self.before = links;
        let releases = live.map(|live| live::late(&live.releases));
        said.lateness = releases.as_ref().map(|late| ObservedLateness {
            count: late.n,
            p50_ns: late.p50,
            p99_ns: late.p99,
            max_ns: late.max,
        });
        let problems: Vec<String> = live.iter().flat_map(|live| live.problems).map(ToString::to_string).collect();
        let connections = Connections {
            started: counts.started,
            completed: counts.completed,
            reset: counts.reset,
            gave_up: counts.gave_up,
            unfinished: 0,
            cut: 0,
        };
        let verdict = so_far(connections, releases.as_ref().map(|late| (late, &problems[..])));
        (said.verdict, said.reasons) = (verdict.word.to_string(), verdict.reasons);
    }
}

/// What a link did since `before`, `elapsed` ago.
fn observe_link(link: &mut ObservedLink, now: &LinkProgress, before: Option<&LinkProgress>, elapsed: Duration) {
    let before = before.copied().unwrap_or_default();
    let (packets, bytes) = now.carried();
    let new_bytes = bytes.saturating_sub(before.carried().1);
    (link.carried_packets, link.carried_bytes) = (packets, bytes);
    (link.dropped_packets, link.lost_packets) = (now.dropped.total(), now.lost.total());
    (link.queue_packets, link.queue_bytes) = (now.waiting.packets, now.waiting.bytes);
    link.waited_packets = now.waited.map(|waited| waited.packets);
    link.waited_ns = now.waited.map(|waited| waited.total.as_nanos());
    link.throughput_bps = match elapsed {
        Duration::ZERO => 0.0,
        elapsed => new_bytes as f64 * 8.0 / elapsed.as_secs_f64(),
    };
    let waited_before = before.waited.unwrap_or_default();
    link.queue_delay_ns = now.waited.and_then(|waited| {
        let packets = waited.packets - waited_before.packets;
        let total = waited.total.saturating_sub(waited_before.total);
        (packets > 0).then(|| total.as_nanos() as f64 / packets as f64)
    });
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if self.said.observed_unix_ns > 0 {
            self.said.phase = Phase::Ended;
            self.context.event(&Event::Observation(&self.said));
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::path::Waited;
    use flowloom_core::queue::Backlog;
    use flowloom_sim::PacketCounts;

    use super::*;

    fn counts(data: u64, bytes: u64) -> PacketCounts {
        PacketCounts { data, bytes, ..PacketCounts::default() }
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let first = LinkProgress {
            offered: counts(10, 10_000),
            waiting: Backlog { packets: 4, bytes: 4_000 },
            waited: Some(Waited { packets: 6, total: Duration::from_millis(60) }),
            ..LinkProgress::default()
        };
        let second = LinkProgress {
            offered: counts(30, 30_000),
            dropped: counts(3, 3_000),
            lost: counts(2, 2_000),
            waiting: Backlog { packets: 1, bytes: 1_000 },
            waited: Some(Waited { packets: 26, total: Duration::from_millis(1_060) }),
        };
        let mut link = ObservedLink::default();
        observe_link(&mut link, &first, None, Duration::from_secs(1));
        assert_eq!((link.carried_packets, link.throughput_bps, link.queue_delay_ns), (6, 48_000.0, Some(10e6)));
        observe_link(&mut link, &second, Some(&first), Duration::from_millis(500));
        // 26,000 bytes until now, 6,000 of them before: 20,000 in half a second.
        assert_eq!((link.carried_bytes, link.throughput_bps, link.queue_delay_ns), (26_000, 320_000.0, Some(50e6)));
        assert_eq!((link.dropped_packets, link.lost_packets, link.queue_packets), (3, 2, 1));
        observe_link(&mut link, &second, Some(&second), Duration::ZERO);
        assert_eq!((link.throughput_bps, link.queue_delay_ns), (0.0, None), "nothing happened in no time");
    }
}
