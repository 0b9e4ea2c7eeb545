//! `queue = red(min = 50, max = 150)`: the discipline of a path, with the keys that experiment files have (docs/reference/queues.md).

use flowloom_core::queue::{
    AdaptiveRedParams, BlueParams, CodelParams, Discipline, FqCodelParams, PiParams, PieParams, RedParams, RemParams,
    discipline::FULL_PACKET_BYTES,
};
use flowloom_core::time::Duration;
use flowloom_core::units::Limit;

use super::super::diagnostic::{Diagnostic, nearest};
use super::super::tree::Argument;
use super::arguments::{Arguments, as_function, same_name};

/// Disciplines. Those that tell packets of different classes apart are not among them: packets of strangers have none. Nor is
/// step marking, which experiment files have.
const KINDS: [&str; 12] = [
    "drop-tail",
    "head-drop",
    "red",
    "adaptive-red",
    "blue",
    "pi",
    "rem",
    "pie",
    "codel",
    "fq-codel",
    "drr",
    "round-robin",
];

/// What may wait unless the script says otherwise.
const LIMIT: Limit = Limit::Packets(65_000);

impl Arguments<'_> {
    /// A queue discipline with its arguments.
    pub fn queue(&mut self, argument: &Argument) -> Option<Discipline> {
        let Some(function) = as_function(&argument.value) else {
            self.wrong(argument.value.place(), "queue is a discipline", "write queue = drop-tail(limit = 100);");
            return None;
        };
        let Some(kind) = KINDS.into_iter().find(|kind| same_name(kind, &function.name)) else {
            let error = Diagnostic::error(function.place, format!("there is no queue {} here", function.name));
            let meant = nearest(&function.name, KINDS).map(|meant| format!("did you mean \"{meant}\"?"));
            self.found().push(error.hint(format!("known: {}", KINDS.join(", "))).hint_if(meant));
            return None;
        };
        self.within(&function, |inner| {
            let mut discipline = default(kind);
            inner.set(&mut discipline).then_some(discipline)
        })
    }

    /// Sets what of a discipline is given; whether all of it could be.
    fn set(&mut self, discipline: &mut Discipline) -> bool {
        let before = self.found().len();
        match discipline {
            Discipline::DropTail(limit) | Discipline::HeadDrop(limit) | Discipline::RoundRobin(limit) => {
                self.set_limit("limit", limit);
            }
            Discipline::Red(red) => {
                self.set_limit("limit", &mut red.limit);
                self.set_limit("min", &mut red.min);
                self.set_limit("max", &mut red.max);
                self.set_number("max-p", &mut red.max_p);
                self.set_number("weight", &mut red.weight);
                self.set_switch("gentle", &mut red.gentle);
                self.set_count("mean-packet", &mut red.mean_packet);
                self.set_switch("ecn", &mut red.ecn);
            }
            Discipline::AdaptiveRed(red) => {
                self.set_limit("limit", &mut red.limit);
                self.set_time("target", &mut red.target_delay);
                self.set_time("interval", &mut red.interval);
                self.set_number("max-p", &mut red.max_p);
                self.set_number("increment", &mut red.increment);
                self.set_number("decrease", &mut red.decrease);
                self.set_count("mean-packet", &mut red.mean_packet);
                self.set_switch("ecn", &mut red.ecn);
            }
            Discipline::Blue(blue) => {
                self.set_limit("limit", &mut blue.limit);
                self.set_time("freeze-time", &mut blue.freeze_time);
                self.set_number("increment", &mut blue.increment);
                self.set_number("decrement", &mut blue.decrement);
                self.set_switch("ecn", &mut blue.ecn);
            }
            Discipline::Pi(pi) => {
                self.set_limit("limit", &mut pi.limit);
                self.set_packets("target", &mut pi.target);
                self.set_number("a", &mut pi.a);
                self.set_number("b", &mut pi.b);
                self.set_number("frequency", &mut pi.frequency);
                self.set_switch("ecn", &mut pi.ecn);
            }
            Discipline::Rem(rem) => {
                self.set_limit("limit", &mut rem.limit);
                self.set_packets("target", &mut rem.target);
                self.set_number("gamma", &mut rem.gamma);
                self.set_number("alpha", &mut rem.alpha);
                self.set_number("phi", &mut rem.phi);
                self.set_time("interval", &mut rem.interval);
                self.set_switch("ecn", &mut rem.ecn);
            }
            Discipline::Pie(pie) => {
                self.set_limit("limit", &mut pie.limit);
                self.set_time("target", &mut pie.target);
                self.set_time("interval", &mut pie.interval);
                self.set_number("alpha", &mut pie.alpha);
                self.set_number("beta", &mut pie.beta);
                self.set_time("max-burst", &mut pie.max_burst);
                self.set_switch("rest", &mut pie.rest);
                self.set_switch("ecn", &mut pie.ecn);
            }
            Discipline::Codel(codel) => {
                self.set_limit("limit", &mut codel.limit);
                self.set_time("target", &mut codel.target);
                self.set_time("interval", &mut codel.interval);
                self.set_switch("ecn", &mut codel.ecn);
            }
            Discipline::FqCodel(codel) => {
                self.set_limit("limit", &mut codel.limit);
                self.set_count("flows", &mut codel.flows);
                self.set_count("quantum", &mut codel.quantum);
                self.set_time("target", &mut codel.target);
                self.set_time("interval", &mut codel.interval);
                self.set_switch("ecn", &mut codel.ecn);
            }
            Discipline::DeficitRoundRobin { limit, quantum } => {
                self.set_limit("limit", limit);
                self.set_count("quantum", quantum);
            }
            // No name above leads to these.
            Discipline::Step(_) | Discipline::Priority { .. } | Discipline::Custom(_) => {}
        }
        self.found().len() == before
    }

    fn set_limit(&mut self, name: &'static str, limit: &mut Limit) {
        if let Some(given) = self.optional(name).and_then(|given| self.limit(given)) {
            *limit = given;
        }
    }

    fn set_time(&mut self, name: &'static str, time: &mut Duration) {
        if let Some(given) = self.optional(name).and_then(|given| self.time(given)) {
            *time = given;
        }
    }

    fn set_number(&mut self, name: &'static str, number: &mut f64) {
        if let Some(given) = self.optional(name).and_then(|given| self.number(given)) {
            *number = given;
        }
    }

    fn set_switch(&mut self, name: &'static str, switch: &mut bool) {
        if let Some(given) = self.optional(name).and_then(|given| self.switch(given)) {
            *switch = given;
        }
    }

    /// Bytes, or flows.
    fn set_count(&mut self, name: &'static str, count: &mut u32) {
        if let Some(given) = self.optional(name).and_then(|given| self.whole(given, 1..=u64::from(u32::MAX))) {
            *count = given as u32;
        }
    }

    fn set_packets(&mut self, name: &'static str, packets: &mut u64) {
        let Some(given) = self.optional(name) else { return };
        match self.limit(given) {
            Some(Limit::Packets(number)) => *packets = number,
            Some(Limit::Bytes(_)) => {
                self.wrong(given.value.place(), format!("{name} is a number of packets"), "as in 200")
            }
            None => {}
        }
    }
}

/// A discipline as it is when nothing is said of it.
fn default(kind: &str) -> Discipline {
    match kind {
        "head-drop" => Discipline::HeadDrop(LIMIT),
        "red" => Discipline::Red(RedParams::default()),
        "adaptive-red" => Discipline::AdaptiveRed(AdaptiveRedParams::default()),
        "blue" => Discipline::Blue(BlueParams::default()),
        "pi" => Discipline::Pi(PiParams::default()),
        "rem" => Discipline::Rem(RemParams::default()),
        "pie" => Discipline::Pie(PieParams::default()),
        "codel" => Discipline::Codel(CodelParams::default()),
        "fq-codel" => Discipline::FqCodel(FqCodelParams::default()),
        "drr" => Discipline::DeficitRoundRobin { limit: LIMIT, quantum: FULL_PACKET_BYTES },
        "round-robin" => Discipline::RoundRobin(LIMIT),
        _ => Discipline::DropTail(LIMIT),
    }
}
