//! `cells = { ... }`: a link that carries cells instead of packets (docs/guide/cells.md).

use std::fmt::{self, Display};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells::{Abr, CellFraming, CellParams};
use crate::cell::framing::{KNOWN, NAMED_STACKS, Shape, Stack, Step};
use crate::cell::{Discard, Mapping, Order};
use crate::keys::{KeyError, Quantity, Written};
use crate::time::Duration;
use crate::units::{ParseQuantityError, Rate};

/// `cells = { ... }`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Cells {
    /// Framings of a datagram from the inside out, cells last, as `overhead --stack` takes them; default: aal5+atm.
    pub framing: Quantity<CellFraming>,
    /// Packets that share a virtual circuit; default: conversation.
    pub circuits: Circuits,
    /// Order in which circuits are served; default: round-robin.
    pub order: CellOrder,
    /// Cells of all circuits that may wait before the line; default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub buffer: Option<u32>,
    /// Cells that a full buffer refuses beside those without room; default: tail.
    pub discard: CellDiscard,
    /// `discard = "early"`: waiting cells from which on whole packets are refused; default: half of `buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub threshold: Option<u32>,
    /// Bit rate at which the cells of a circuit reach the buffer; default: those of a packet come at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "100bit", "most" = "100tbit"))]
    pub access: Option<Quantity<Rate>>,
    /// Bit rate that paced circuits do not exceed; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "100bit", "most" = "100tbit"))]
    pub peak_rate: Option<Quantity<Rate>>,
    /// Circuits that `peak-rate` is for; default: both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paced: Option<Paced>,
    /// Ideal ABR: time after which each circuit's rate becomes its max-min share of the link, such as the round-trip time; default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1us", "most" = "1h"))]
    pub abr: Option<Quantity<Duration>>,
}

impl Default for Cells {
    fn default() -> Cells {
        Cells {
            framing: Quantity::of("aal5+atm"),
            circuits: Circuits::default(),
            order: CellOrder::default(),
            buffer: None,
            discard: CellDiscard::default(),
            threshold: None,
            access: None,
            peak_rate: None,
            paced: None,
            abr: None,
        }
    }
}

/// Packets that share a circuit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Circuits {
    /// Those of one connection or flow of datagrams.
    #[default]
    Conversation,
    /// Those of one class or source, and of one port of the acceptor.
    Type,
    /// Those that leave the network over the same link.
    Destination,
}

/// Order in which circuits are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellOrder {
    /// Cells as they came.
    Fifo,
    /// One cell of each circuit in turn.
    #[default]
    RoundRobin,
}

/// Cells that a full buffer refuses (Romanow and Floyd 1995).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellDiscard {
    /// Those that find no room.
    #[default]
    Tail,
    /// After one of them the rest of its packet, but not the last cell.
    Partial,
    /// The same, and whole packets that begin while `threshold` cells wait.
    Early,
}

/// Circuits that have a peak rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paced {
    /// Those of sources.
    Target,
    /// Those of everything else.
    Background,
    /// Those of sources and of everything else.
    #[default]
    Both,
}

impl FromStr for CellFraming {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<CellFraming, ParseQuantityError> {
        let framing = text.parse::<Stack>().ok().and_then(CellFraming::new);
        framing.ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: "a stack of framings that ends in cells",
            example: "aal5+atm, llc-snap+aal5+atm or cells:48/0",
        })
    }
}

impl Written for CellFraming {
    const FORMAT: &'static str = "cell-framing";
    const MEANING: &'static str = "framings that end in cells";
    const EXAMPLES: &'static [&'static str] = &["aal5+atm", "llc-snap+aal5+atm", "cells:48/0"];

    fn pattern() -> String {
        const NUMBER: &str = "0*([0-9]{1,4}|[1-5][0-9]{4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5]))))";
        const ABOVE_ZERO: &str =
            "0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5]))))";
        let escaped = |name: &str| name.replace('.', r"\.");
        let (mut around, mut before_cells, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for known in KNOWN {
            let list = match known.shape {
                Shape::Cells { .. } => &mut cells,
                Shape::Around([Step::Trailer { .. }]) => &mut before_cells,
                Shape::Around(_) => &mut around,
            };
            list.push(escaped(known.name));
        }
        let [around, before_cells, cells] = [around, before_cells, cells].map(|names| names.join("|"));
        let named = NAMED_STACKS.map(|stack| escaped(stack.name)).join("|");
        format!(
            r"{named}|(({around}|(bytes|least):{NUMBER}|multiple:{ABOVE_ZERO})\+){{0,30}}(({before_cells})\+)?({cells}|cells:{ABOVE_ZERO}/{NUMBER})"
        )
    }
}

impl Cells {
    /// What no type can refuse; keys are relative to the table.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        let mut refuse = |key: &str, is_wrong: bool, problem: &str| {
            found.extend(is_wrong.then(|| KeyError::new(key, problem)));
        };
        let is_early = self.discard == CellDiscard::Early;
        refuse("buffer", self.buffer == Some(0), "must hold at least one cell");
        refuse("threshold", self.threshold == Some(0), "must be at least one cell");
        refuse("threshold", self.threshold.is_some() && !is_early, "is a key of discard = \"early\"");
        refuse("threshold", self.threshold > self.buffer && self.buffer.is_some(), "must not be above buffer");
        let is_endless = self.buffer.is_none() && !(is_early && self.threshold.is_some());
        let problem = "has no effect without a limit: give buffer as well";
        refuse("discard", self.discard != CellDiscard::Tail && is_endless, problem);
        refuse("paced", self.paced.is_some() && self.peak_rate.is_none(), "has no effect without peak-rate");
        let is_zero = |time: &Quantity<Duration>| time.value.is_zero();
        refuse("abr", self.abr.as_ref().is_some_and(is_zero), "must be longer than 0 s");
        for (key, rate) in [("access", &self.access), ("peak-rate", &self.peak_rate)] {
            let impossible = rate.as_ref().and_then(|rate| Some((rate, rate.value.impossible()?)));
            if let Some((rate, problem)) = impossible {
                found.push(KeyError::new(key, format_args!("of {rate} is {problem}")));
            }
        }
        found
    }

    /// As the numbers of a link whose cells have `rate` together.
    pub fn params(&self, rate: Rate) -> CellParams {
        let value = |rate: Option<&Quantity<Rate>>| rate.map_or(Rate::UNLIMITED, |rate| rate.value);
        let mut params = CellParams::new(self.framing.value.clone());
        params.order = match self.order {
            CellOrder::Fifo => Order::Fifo,
            CellOrder::RoundRobin => Order::RoundRobin,
        };
        params.room = self.buffer;
        params.discard = match self.discard {
            CellDiscard::Tail => Discard::Tail,
            CellDiscard::Partial => Discard::Partial,
            CellDiscard::Early => Discard::Early(self.threshold()),
        };
        (params.access, params.peak) = (value(self.access.as_ref()), value(self.peak_rate.as_ref()));
        params.abr = self.abr.as_ref().map(|every| Abr { every: every.value, rate });
        params
    }

    fn threshold(&self) -> u32 {
        self.threshold.unwrap_or_else(|| self.buffer.map_or(u32::MAX, |buffer| buffer.div_ceil(2)))
    }

    /// Which packets share a circuit, and which circuits are paced.
    pub fn circuits(&self) -> (Mapping, Paced) {
        let mapping = match self.circuits {
            Circuits::Conversation => Mapping::PerConversation,
            Circuits::Type => Mapping::PerType,
            Circuits::Destination => Mapping::PerDestination,
        };
        (mapping, self.paced.unwrap_or_default())
    }
}

/// `cells aal5+atm, circuits conversation, order fifo, buffer 500, discard early, threshold 250`
impl Display for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = Cells {
            threshold: (self.discard == CellDiscard::Early).then(|| self.threshold()),
            paced: self.peak_rate.is_some().then(|| self.paced.unwrap_or_default()),
            ..self.clone()
        };
        write!(f, "cells {}", self.framing)?;
        let table = serde_json::to_value(stated).unwrap_or_default();
        for key in ["circuits", "order", "buffer", "discard", "threshold", "access", "peak-rate", "paced", "abr"] {
            match &table[key] {
                serde_json::Value::Null => {}
                serde_json::Value::String(text) => write!(f, ", {key} {text}")?,
                value => write!(f, ", {key} {value}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Cells {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn keys_become_numbers() {
        let rate: Rate = "149.76mbit".parse().unwrap();
        let all = cells(
            "framing = \"smds-802.6\"\ncircuits = \"type\"\norder = \"fifo\"\nbuffer = 501\ndiscard = \"early\"\naccess = \"1gbit\"\n\
             peak-rate = \"10mbit\"\npaced = \"target\"\nabr = \"45ms\"\n",
        );
        assert_eq!((all.problems(), all.circuits()), (vec![], (Mapping::PerType, Paced::Target)));
        let params = all.params(rate);
        assert_eq!((params.room, params.discard, params.order), (Some(501), Discard::Early(251), Order::Fifo));
        assert_eq!(
            (params.framing.cell_bytes(), params.abr),
            (53, Some(Abr { every: Duration::from_millis(45), rate }))
        );
        assert_eq!(
            all.to_string(),
            "cells smds-802.6, circuits type, order fifo, buffer 501, discard early, threshold 251, access 1gbit, peak-rate 10mbit, \
             paced target, abr 45ms"
        );
        let usual = cells("");
        assert_eq!(usual.params(rate), CellParams::new("aal5+atm".parse().unwrap()));
        assert_eq!(usual.to_string(), "cells aal5+atm, circuits conversation, order round-robin, discard tail");
    }

    #[test]
    fn impossible_values_are_refused() {
        for (text, said) in [
            ("buffer = 0", "buffer must hold at least one cell"),
            ("threshold = 5\nbuffer = 9", "threshold is a key of discard = \"early\""),
            ("discard = \"early\"\nthreshold = 10\nbuffer = 9", "threshold must not be above buffer"),
            ("discard = \"partial\"", "discard has no effect without a limit: give buffer as well"),
            ("paced = \"both\"", "paced has no effect without peak-rate"),
            ("access = \"1bit\"", "access of 1bit is too slow (at least 100 bit/s)"),
            ("abr = \"0s\"", "abr must be longer than 0 s"),
        ] {
            let problems = cells(text).problems();
            assert_eq!(problems.iter().map(ToString::to_string).collect::<Vec<_>>(), [said], "{text}");
        }
        for framing in ["ethernet", "aal5+atm+ethernet", "xfrs", "cells:0/5", "atm5"] {
            assert!(framing.parse::<CellFraming>().is_err(), "{framing}");
        }
    }
}
