//! Conversations of tcplib, drawn as they go on (methods G.3): what vectors are made of, and what hosts of a virtual-circuit
//! internetwork do.

use crate::distribution::Distribution;
use crate::rng::{Purpose, Source, Stream};
use crate::time::Duration;

/// The laws of an application.
#[derive(Clone, Debug, PartialEq)]
pub enum Laws {
    /// Files, articles, messages.
    Bulk {
        /// How many, rounded up, one at least; one if there is no law.
        items: Option<Distribution>,
        /// Bytes of one.
        bytes: Distribution,
        /// Bytes of each packet of the handshake before it.
        control: Distribution,
    },
    /// Someone at a terminal.
    Interactive {
        /// Milliseconds of a conversation.
        duration: Distribution,
        /// Milliseconds between what is typed.
        gap: Distribution,
        /// Bytes of an answer.
        reply: Distribution,
    },
}

/// One conversation.
#[derive(Debug)]
pub enum Conversation<'a> {
    /// Items, one after the other.
    Bulk(Box<Items<'a>>),
    /// Something typed until time is over.
    Interactive(Box<Typing<'a>>),
}

/// One item: what is asked before it, what is answered to that, and its bytes. Not rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The packet of the source.
    pub question: f64,
    /// The packet of the destination.
    pub answer: f64,
    /// What the source sends then.
    pub bytes: f64,
}

/// The items of a conversation.
#[derive(Debug)]
pub struct Items<'a> {
    left: u64,
    bytes: &'a Distribution,
    control: &'a Distribution,
    sizes: Stream,
    questions: Stream,
    answers: Stream,
}

/// What is typed in a conversation.
#[derive(Debug)]
pub struct Typing<'a> {
    /// How long it lasts.
    pub duration: Duration,
    gap: &'a Distribution,
    reply: &'a Distribution,
    gaps: Stream,
    replies: Stream,
}

impl Laws {
    /// The conversation of `source`.
    pub fn converse(&self, seed: u64, source: Source) -> Conversation<'_> {
        let stream = |purpose| source.stream(seed, purpose);
        match self {
            Laws::Bulk { items, bytes, control } => {
                let items = items
                    .as_ref()
                    .map_or(1.0, |items| items.quantile(stream(Purpose::Items).uniform()).ceil().max(1.0));
                Conversation::Bulk(Box::new(Items {
                    left: items as u64,
                    bytes,
                    control,
                    sizes: stream(Purpose::ItemBytes),
                    questions: stream(Purpose::Handshakes),
                    answers: stream(Purpose::Replies),
                }))
            }
            Laws::Interactive { duration, gap, reply } => Conversation::Interactive(Box::new(Typing {
                duration: millis(duration.quantile(stream(Purpose::Durations).uniform())),
                gap,
                reply,
                gaps: stream(Purpose::Gaps),
                replies: stream(Purpose::Replies),
            })),
        }
    }
}

fn millis(value: f64) -> Duration {
    Duration::from_secs_f64(value / 1e3)
}

impl Iterator for Items<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        self.left = self.left.checked_sub(1)?;
        Some(Item {
            bytes: self.bytes.quantile(self.sizes.uniform()),
            question: self.control.quantile(self.questions.uniform()),
            answer: self.control.quantile(self.answers.uniform()),
        })
    }
}

impl Typing<'_> {
    /// Time to what is typed next.
    pub fn gap(&mut self) -> Duration {
        millis(self.gap.quantile(self.gaps.uniform())).max(Duration::from_nanos(1))
    }

    /// Bytes of the next answer, not rounded.
    pub fn reply(&mut self) -> f64 {
        self.reply.quantile(self.replies.uniform())
    }
}
