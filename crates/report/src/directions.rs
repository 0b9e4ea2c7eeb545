//! Words for the two directions of the link: *up* from the clients to the servers, *down* back, where the clients are on one side
//! (methods C.6). Tables, JSON and keys keep `left` and `right`.

use flowloom_core::workload::LinkSide;

use crate::metric::Metric;
use crate::run::Run;
use crate::scalars::Headings;

/// Which side the clients are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    clients: Option<LinkSide>,
}

impl Directions {
    /// Those of so many connections that were opened from the left and from the right: *up* as metrics by name have it
    /// ([`Headings`]). Where neither side opened more, nobody knows.
    pub fn of(initiators: [u64; 2]) -> Directions {
        let [left, right] = initiators;
        Directions { clients: (left != right).then(|| Headings::of_initiators(initiators).up) }
    }

    /// Those of all connections of `runs`.
    pub fn of_runs<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Directions {
        let initiators = runs.into_iter().map(|run| run.measurements.initiators);
        Directions::of(initiators.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]))
    }

    /// The direction of packets from `from` in a word: `up`, `down`, or `left to right`.
    pub fn word(self, from: LinkSide) -> &'static str {
        match (self.clients, from) {
            (Some(clients), _) if clients == from => "up",
            (Some(_), _) => "down",
            (None, LinkSide::Left) => "left to right",
            (None, LinkSide::Right) => "right to left",
        }
    }

    /// The same with its sides, for the first use: `up (left to right)`.
    pub fn told(self, from: LinkSide) -> String {
        let sides = Directions::default().word(from);
        match self.clients {
            Some(_) => format!("{} ({sides})", self.word(from)),
            None => sides.to_owned(),
        }
    }

    /// What *up* is, where it is known: `up: left to right`.
    pub fn legend(self) -> String {
        self.clients.map_or_else(String::new, |clients| format!("up: {}", Directions::default().word(clients)))
    }

    /// A metric's name within a sentence, plural: `queue delays up`.
    pub fn plural(self, metric: Metric) -> String {
        match (self.clients, metric.from()) {
            (Some(_), Some(from)) => format!("{} {}", metric.quantity(), self.word(from)),
            _ => metric.plural().to_owned(),
        }
    }

    /// What was found of `metric`, a sentence that begins with its name, with the words of the directions.
    pub fn finding(self, metric: Metric, finding: &str) -> String {
        let rest = finding.get(1..).and_then(|behind| behind.strip_prefix(&metric.plural()[1..]));
        match rest.filter(|_| metric.from().is_some()) {
            Some(rest) => {
                let name = self.plural(metric);
                name[..1].to_uppercase() + &name[1..] + rest
            }
            None => finding.to_owned(),
        }
    }

    /// The name of a row about `quantity` from `from`: `throughput up`, `throughput to right`.
    pub fn row(self, quantity: &str, from: LinkSide) -> String {
        match (self.clients, from) {
            (Some(_), _) => format!("{quantity} {}", self.word(from)),
            (None, LinkSide::Left) => format!("{quantity} to right"),
            (None, LinkSide::Right) => format!("{quantity} to left"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_initiators_decide() {
        let words = |initiators| [LinkSide::Left, LinkSide::Right].map(|from| Directions::of(initiators).told(from));
        assert_eq!(words([2, 1]), ["up (left to right)", "down (right to left)"]);
        assert_eq!(words([1, 2]), ["down (left to right)", "up (right to left)"]);
        for unknown in [[0, 0], [5, 5]] {
            assert_eq!(words(unknown), ["left to right", "right to left"], "{unknown:?}");
        }
        assert_eq!(words([u64::MAX, 1])[0], "up (left to right)");
    }

    #[test]
    fn names_of_metrics_follow() {
        let up = Directions::of([0, 9]);
        assert_eq!(up.plural(Metric::QueueDelayFromRight), "queue delays up");
        assert_eq!(up.plural(Metric::Duration), "connection durations");
        assert_eq!(up.row("throughput", LinkSide::Left), "throughput down");
        assert_eq!(up.legend(), "up: right to left");
        let (long, short) = ("Queue delays from right to left: twice as long", "Queue delays up: twice as long");
        assert_eq!(up.finding(Metric::QueueDelayFromRight, long), short);
        assert_eq!(up.finding(Metric::Goodput, "Goodput: the same"), "Goodput: the same");
        let unknown = Directions::default();
        assert_eq!(unknown.finding(Metric::QueueDelayFromRight, long), long);
        assert_eq!(unknown.plural(Metric::QueueFromLeft), "queue lengths from left to right");
        assert_eq!(unknown.row("throughput", LinkSide::Left), "throughput to right");
        assert_eq!(unknown.legend(), "");
    }
}
