//! Hosts that have one conversation after the other (methods G.3).

use crate::model::Distribution;
use crate::model::generate::Source as Origin;
use crate::model::generate::conversation::{Conversation, Item, Items, Laws, Typing};
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
