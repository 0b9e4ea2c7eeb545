//! The one test that every state machine passes: rules 2 to 6 of the calling contract (`ARCHITECTURE.md`).
//!
//! A machine's test wraps it as a [`Machine`], gives [`check`] a list of dated inputs, and the check drives fresh copies
//! through them: exactly on time, with wake-ups nobody asked for, and with wake-ups that come late.
//!
//! Every machine with a clock is driven: TCP endpoint, player, link (and the discipline in it), DelayBox. Extraction has no
//! deadlines and may see time run backwards (rule 1), so there is nothing here to drive it with.

use std::fmt::Debug;

use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};

/// A state machine as the contract sees it. Parameters that real calls take by reference (a configuration, a script)
/// live in the wrapper.
pub(crate) trait Machine {
    /// A mutation other than a wake-up.
    type Input;
    /// What a poll returns. If the machine dates what it returns, the date belongs in here.
    type Output: Debug + PartialEq;

    /// Takes one input.
    fn input(&mut self, now: Time, input: &Self::Input);
    /// Wakes it up.
    fn handle_timeout(&mut self, now: Time);
    /// The next thing it has to say, `None` when drained.
    fn poll(&mut self, now: Time) -> Option<Self::Output>;
    /// When it wants to be woken.
    fn next_timeout(&self) -> Option<Time>;
}

/// What happened between two inputs: everything said, and the deadline in force at the end.
type Account<O> = Vec<(Vec<O>, Option<Time>)>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Waking {
    Exact,
    Spurious,
    Late,
}

struct Run<M: Machine> {
    machine: M,
    waking: Waking,
    patience: Duration,
    stream: Stream,
    said: Vec<M::Output>,
}

impl<M: Machine> Run<M> {
    fn drain(&mut self, now: Time) {
        for count in 0.. {
            let Some(output) = self.machine.poll(now) else { break };
            self.said.push(output);
            assert!(count < 1_000_000, "polling never ends at {now:?}");
        }
        assert_eq!(self.machine.poll(now), None, "a drained machine spoke again at {now:?}");
    }

    /// A wake-up at which nothing is due.
    fn nudge(&mut self, now: Time) {
        let before = self.machine.next_timeout();
        if self.waking != Waking::Spurious || before.is_some_and(|due| due <= now) {
            return;
        }
        self.machine.handle_timeout(now);
        assert_eq!(self.machine.poll(now), None, "a spurious wake-up at {now:?} made it speak");
        assert_eq!(self.machine.next_timeout(), before, "a spurious wake-up at {now:?} moved its deadline");
    }

    /// Serves the deadlines before `end`. A driver serves what is overdue before it brings the next input.
    fn pass(&mut self, from: Time, end: Time) {
        let mut now = from;
        for count in 0.. {
            assert!(count < 10_000_000, "deadlines never move past {now:?}");
            let Some(due) = self.machine.next_timeout().filter(|&due| due < end) else { break };
            if due > now {
                let between = Duration::from_nanos(self.stream.below(due.since(now).as_nanos()));
                self.nudge(now + between);
            }
            let lateness = match self.waking {
                Waking::Late => {
                    let most = self.patience.as_nanos().min(end.since(due).as_nanos());
                    Duration::from_nanos(self.stream.below(most + 1))
                }
                _ => Duration::ZERO,
            };
            now = now.max(due + lateness);
            self.machine.handle_timeout(now);
            self.drain(now);
            let next = self.machine.next_timeout();
            assert!(next.is_none_or(|next| next > now), "it asks at {now:?} to be woken at {next:?}");
            self.nudge(now);
        }
    }
}

fn account<M: Machine>(
    machine: M,
    inputs: &[(Time, M::Input)],
    waking: Waking,
    patience: Duration,
    seed: u64,
) -> Account<M::Output> {
    let mut run = Run { machine, waking, patience, stream: Stream::new(seed, Purpose::Delays, 0), said: Vec::new() };
    let mut account = Vec::with_capacity(inputs.len());
    run.drain(Time::ZERO);
    for (index, (time, input)) in inputs.iter().enumerate() {
        run.machine.input(*time, input);
        run.drain(*time);
        run.nudge(*time);
        let end = inputs.get(index + 1).map_or(Time::MAX, |next| next.0);
        assert!(end >= *time, "the test's inputs run backwards");
        run.pass(*time, end);
        account.push((std::mem::take(&mut run.said), run.machine.next_timeout()));
    }
    account
}

/// Drives machines made by `make` through `inputs` (their times never decreasing) and on until they ask for nothing:
///
/// - the same inputs give the same outputs;
/// - wake-ups before the deadline, at random instants, and repeated ones say nothing and move nothing;
/// - wake-ups up to `patience` late give the same outputs in the same order between each two inputs, and the same
///   deadlines after them: what was due at `t` happened as of `t`. `patience` must not skip over a deadline that the
///   machine sets only in answer to what it says.
///
/// Panics where the machine breaks the contract. The machine must come to rest by itself.
pub(crate) fn check<M: Machine>(make: impl Fn() -> M, inputs: &[(Time, M::Input)], patience: Duration) {
    let run = |waking, seed| account(make(), inputs, waking, patience, seed);
    let exact = run(Waking::Exact, 0);
    assert!(exact.iter().any(|(said, _)| !said.is_empty()), "the inputs make the machine say nothing");
    assert_eq!(run(Waking::Exact, 0), exact, "the same inputs gave different outputs");
    for seed in 1..=8 {
        assert_eq!(run(Waking::Spurious, seed), exact, "spurious wake-ups changed something (seed {seed})");
        assert_eq!(run(Waking::Late, seed), exact, "late wake-ups changed something (seed {seed})");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speaks every 10 ns, `left` times after an input. Its faults are the ones the check is for.
    #[derive(Clone, Default)]
    struct Ticker {
        due: Option<Time>,
        left: u32,
        ready: u32,
        from_now: bool,
        early: bool,
        twice: bool,
        restless: bool,
    }

    impl Machine for Ticker {
        type Input = u32;
        type Output = u32;

        fn input(&mut self, now: Time, &input: &u32) {
            self.left = input;
            self.due = Some(now + Duration::from_nanos(10));
        }

        fn handle_timeout(&mut self, now: Time) {
            if self.twice && now.as_nanos().is_multiple_of(10) {
                self.ready += 1;
            }
            while let Some(due) =
                self.due.filter(|&due| due <= now || (self.early && due < now + Duration::from_nanos(5)))
            {
                self.ready += 1;
                self.left = self.left.saturating_sub(1);
                let from = if self.from_now { now } else { due };
                self.due = (self.left > 0).then(|| from + Duration::from_nanos(10));
                if self.restless {
                    self.due = Some(now);
                    break;
                }
            }
        }

        fn poll(&mut self, _now: Time) -> Option<u32> {
            self.ready = self.ready.checked_sub(1)?;
            Some(self.left)
        }

        fn next_timeout(&self) -> Option<Time> {
            self.due
        }
    }

    fn check_ticker(ticker: Ticker) {
        let inputs = [(Time::from_nanos(3), 9), (Time::from_nanos(74), 4)];
        check(|| ticker.clone(), &inputs, Duration::from_nanos(4));
    }

    #[test]
    fn a_well_behaved_machine_passes() {
        check_ticker(Ticker::default());
    }

    #[test]
    #[should_panic(expected = "late wake-ups changed something")]
    fn counting_from_now_is_caught() {
        check_ticker(Ticker { from_now: true, ..Ticker::default() });
    }

    #[test]
    #[should_panic(expected = "a spurious wake-up")]
    fn acting_early_is_caught() {
        check_ticker(Ticker { early: true, ..Ticker::default() });
    }

    #[test]
    #[should_panic(expected = "a spurious wake-up")]
    fn acting_on_each_wake_up_is_caught() {
        let inputs = [(Time::from_nanos(0), 9)];
        check(|| Ticker { twice: true, ..Ticker::default() }, &inputs, Duration::ZERO);
    }

    #[test]
    #[should_panic(expected = "it asks at")]
    fn asking_for_the_past_is_caught() {
        check_ticker(Ticker { restless: true, ..Ticker::default() });
    }
}
