//! Hosts that have one conversation after the other (methods G.3).

use crate::distribution::Distribution;
use crate::play::conversation::{Conversation, Item, Items, Laws, Typing};
use crate::rng::Source as Origin;
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};

/// What a host says.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Conversations of an application.
    Application(Laws),
    /// Packets that nobody answers or acknowledges.
    Misc {
        /// How many in a conversation, rounded up.
        packets: Distribution,
        /// Seconds between two.
        gap_s: Distribution,
        /// Their bytes, rounded.
        bytes: Distribution,
    },
}

/// Something to send in whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its bytes, one at least.
    pub bytes: u64,
    /// Bytes that its receiver answers with at once.
    pub answer: Option<u64>,
}

fn whole(bytes: f64) -> u64 {
    (bytes.round() as u64).max(1)
}

#[derive(Debug)]
enum State<'a> {
    /// The next conversation begins then.
    Before(Time),
    /// Of the item whose question was sent the answer is missing.
    Asked(Box<Items<'a>>, Item),
    /// Something is typed at the first of these times, unless the second comes before.
    Typing(Box<Typing<'a>>, Time, Time),
    /// So many packets are left, the next leaves then; streams of gaps and of sizes.
    Packets { left: u64, next: Time, streams: Box<[Stream; 2]> },
    /// All was said.
    Said,
}

/// One source host's conversations, one at a time.
///
/// [`Self::handle_timeout`], [`Self::handle_answer`], and [`Self::handle_acknowledged`] when the transport has nothing left; after each,
/// [`Self::poll_message`].
#[derive(Debug)]
pub struct Source<'a> {
    traffic: &'a Traffic,
    between: &'a Distribution,
    seed: u64,
    number: u64,
    begun: u64,
    state: State<'a>,
    /// Answers that are missing.
    unanswered: u64,
    messages: std::collections::VecDeque<Message>,
}

impl<'a> Source<'a> {
    /// Host `number` under `seed`, whose first conversation begins at `start`, and each other as many seconds after the last as
    /// `between` says.
    pub fn new(traffic: &'a Traffic, between: &'a Distribution, seed: u64, number: u64, start: Time) -> Source<'a> {
        Source {
            traffic,
            between,
            seed,
            number,
            begun: 0,
            state: State::Before(start),
            unanswered: 0,
            messages: std::collections::VecDeque::new(),
        }
    }

    /// Conversations that were begun.
    pub const fn begun(&self) -> u64 {
        self.begun
    }

    fn stream(&self, purpose: Purpose) -> Stream {
        Origin(self.number, self.begun).stream(self.seed, purpose)
    }

    fn say(&mut self, bytes: f64, answer: Option<f64>) {
        self.unanswered += u64::from(answer.is_some());
        self.messages.push_back(Message { bytes: whole(bytes), answer: answer.map(whole) });
    }

    /// The next conversation begins.
    fn begin(&mut self, now: Time) {
        self.state = match self.traffic {
            Traffic::Application(laws) => match laws.converse(self.seed, Origin(self.number, self.begun)) {
                Conversation::Bulk(items) => self.ask(items),
                Conversation::Interactive(mut typing) => {
                    let end = now + typing.duration;
                    let next = now + typing.gap();
                    State::Typing(typing, next, end)
                }
            },
            Traffic::Misc { packets, .. } => {
                let left = packets.quantile(self.stream(Purpose::Items).uniform()).ceil().max(1.0) as u64;
                State::Packets {
                    left,
                    next: now,
                    streams: Box::new([Purpose::Gaps, Purpose::ItemBytes].map(|purpose| self.stream(purpose))),
                }
            }
        };
        self.begun += 1;
    }

    /// Asks for the next item.
    fn ask(&mut self, mut items: Box<Items<'a>>) -> State<'a> {
        let Some(item) = items.next() else { return State::Said };
        self.say(item.question, Some(item.answer));
        State::Asked(items, item)
    }

    /// The answer to the first message that wants one and has none has come.
    pub fn handle_answer(&mut self, _now: Time) {
        self.unanswered = self.unanswered.saturating_sub(1);
        self.state = match std::mem::replace(&mut self.state, State::Said) {
            State::Asked(items, item) => {
                self.say(item.bytes, None);
                self.ask(items)
            }
            other => other,
        };
    }

    /// All that it said was acknowledged. If that was all of the conversation, it is over.
    pub fn handle_acknowledged(&mut self, now: Time) {
        if matches!(self.state, State::Said) && self.unanswered == 0 && self.messages.is_empty() {
            let wait = self.between.quantile(self.stream(Purpose::SessionGaps).uniform());
            self.state = State::Before(now + Duration::from_secs_f64(wait).max(Duration::from_nanos(1)));
        }
    }

    /// When it has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Before(at) | State::Packets { next: at, .. } => Some(*at),
            State::Typing(_, at, end) => Some(*at.min(end)),
            State::Asked(..) | State::Said => None,
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        while self.next_timeout().is_some_and(|due| due <= now) {
            match std::mem::replace(&mut self.state, State::Said) {
                State::Before(at) => self.begin(at),
                State::Typing(mut typing, at, end) if at <= end => {
                    let reply = typing.reply();
                    self.say(1.0, Some(reply));
                    let next = at + typing.gap();
                    self.state = State::Typing(typing, next, end);
                }
                State::Packets { left, next, mut streams } => {
                    let [gaps, sizes] = &mut *streams;
                    let Traffic::Misc { gap_s, bytes, .. } = self.traffic else { return };
                    self.say(bytes.quantile(sizes.uniform()), None);
                    if left > 1 {
                        let gap = Duration::from_secs_f64(gap_s.quantile(gaps.uniform())).max(Duration::from_nanos(1));
                        self.state = State::Packets { left: left - 1, next: next + gap, streams };
                    }
                }
                _ => {}
            }
        }
    }

    /// The next thing to send.
    pub fn poll_message(&mut self) -> Option<Message> {
        self.messages.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};

    fn constant(value: f64) -> Distribution {
        Distribution::constant(value).unwrap()
    }

    fn bulk(items: f64) -> Traffic {
        Traffic::Application(Laws::Bulk {
            items: Some(constant(items)),
            bytes: constant(5_000.0),
            control: constant(30.4),
        })
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn messages(source: &mut Source<'_>) -> Vec<(u64, Option<u64>)> {
        std::iter::from_fn(|| source.poll_message()).map(|message| (message.bytes, message.answer)).collect()
    }

    #[test]
    fn items_are_asked_for_answered_and_sent() {
        let (traffic, between) = (bulk(2.0), constant(0.5));
        let mut source = Source::new(&traffic, &between, 1, 0, at(7));
        source.handle_timeout(at(6));
        assert_eq!((messages(&mut source), source.next_timeout()), (vec![], Some(at(7))));
        source.handle_timeout(at(7));
        assert_eq!((messages(&mut source), source.next_timeout()), (vec![(30, Some(30))], None));
        source.handle_acknowledged(at(8));
        assert_eq!(source.next_timeout(), None, "the answer is missing");
        source.handle_answer(at(50));
        assert_eq!(messages(&mut source), [(5_000, None), (30, Some(30))], "the next is asked for behind it");
        source.handle_answer(at(90));
        assert_eq!(messages(&mut source), [(5_000, None)]);
        source.handle_acknowledged(at(200));
        assert_eq!((source.next_timeout(), source.begun()), (Some(at(700)), 1));
    }

    #[test]
    fn typing_waits_for_nobody_and_ends_with_its_time() {
        let laws = Laws::Interactive { duration: constant(100.0), gap: constant(30.0), reply: constant(9.0) };
        let (traffic, between) = (Traffic::Application(laws), constant(0.0));
        let mut source = Source::new(&traffic, &between, 1, 0, at(0));
        for (now, typed) in [(0, 0), (30, 1), (60, 1), (90, 1), (100, 0)] {
            source.handle_timeout(at(now));
            assert_eq!(messages(&mut source), vec![(1, Some(9)); typed], "{now}");
        }
        assert_eq!(source.next_timeout(), None);
        source.handle_acknowledged(at(110));
        assert_eq!(source.next_timeout(), None, "three answers are missing");
        (0..3).for_each(|_| source.handle_answer(at(120)));
        source.handle_acknowledged(at(120));
        assert!(source.next_timeout().is_some());
    }

    struct Contract<'a>(Source<'a>);

    impl Machine for Contract<'_> {
        type Input = ();
        type Output = Message;

        fn input(&mut self, now: Time, (): &()) {
            self.0.handle_acknowledged(now);
        }

        fn handle_timeout(&mut self, now: Time) {
            self.0.handle_timeout(now);
        }

        fn poll(&mut self, _now: Time) -> Option<Message> {
            self.0.poll_message()
        }

        fn next_timeout(&self) -> Option<Time> {
            self.0.next_timeout()
        }
    }

    #[test]
    fn it_keeps_the_contract() {
        let (gap_s, bytes) = (Distribution::new(crate::distribution::Law::Exponential { mean: 0.01 }), constant(80.0));
        let traffic = Traffic::Misc { packets: constant(20.0), gap_s: gap_s.unwrap(), bytes };
        let between = constant(0.2);
        let inputs = [5_000, 9_000, 9_001].map(|millis| (at(millis), ()));
        contract::check(|| Contract(Source::new(&traffic, &between, 1, 0, at(3))), &inputs, Duration::from_millis(4));
    }
}
