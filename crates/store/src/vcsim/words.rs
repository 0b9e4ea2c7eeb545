//! The words of a specification, and the names among them.

use super::position::Position;

/// A word and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub at: Position,
}

/// An iterator over the words of a text, without comments.
pub(super) struct Words<'a> {
    lines: std::str::Lines<'a>,
    /// The part of the line that was not read yet, and where it begins.
    rest: &'a str,
    at: Position,
}

impl<'a> Words<'a> {
    pub fn of(text: &'a str) -> Words<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Words { lines: text.lines(), rest: "", at: Position { line: 0, column: 1 } }
    }

    /// Takes so many bytes from the line.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        let characters = u32::try_from(taken.chars().count()).unwrap_or(u32::MAX);
        self.at.column = self.at.column.saturating_add(characters);
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            self.take(self.rest.len() - self.rest.trim_start().len());
            if !self.rest.is_empty() {
                break;
            }
            let line = self.lines.next()?;
            self.rest = line.split_once("//").map_or(line, |(said, _)| said);
            self.at = Position { line: self.at.line.saturating_add(1), column: 1 };
        }
        let at = self.at;
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        Some(Word { text: self.take(end), at })
    }
}

/// A block, or the file around all blocks.
#[derive(Debug)]
pub(super) struct Scope {
    /// The word that opens the block; none of the file.
    pub block: &'static str,
    /// The word that closes it.
    pub end: &'static str,
    /// The names of its parameters.
    pub names: &'static [&'static str],
}

/// The names outside blocks, and the words that open blocks.
pub(super) const FILE: Scope = Scope {
    block: "",
    end: "",
    names: &[
        "ticks_per_sec",
        "bytes_per_cell",
        "header_bytes",
        "padding",
        "max_pkt_size",
        "tables",
        "seed",
        "timer",
        "router",
        "switch",
        "link",
        "host",
        "route",
    ],
};
pub(super) const SEED: Scope = Scope { block: "seed", end: "seed_end", names: &[] };
pub(super) const TIMER: Scope =
    Scope { block: "timer", end: "timer_end", names: &["log", "checkpoint", "regeneration", "end"] };
pub(super) const ROUTER: Scope = Scope {
    block: "router",
    end: "router_end",
    names: &[
        "router_id",
        "vc_map",
        "packet_queue",
        "cell_queue",
        "dynamic_vc",
        "idle_time",
        "setup_time",
        "vc_window",
        "flow_control",
        "default_window",
        "maximum_window",
        "peak_rate",
        "meter_time",
        "report",
        "buffer_policy",
        "buffer_size",
        "discard",
        "discard_threshold",
    ],
};
pub(super) const SWITCH: Scope = Scope {
    block: "switch",
    end: "switch_end",
    names: &["switch_id", "cell_queue", "report", "buffer_policy", "buffer_size", "discard", "discard_threshold"],
};
pub(super) const LINK: Scope =
    Scope { block: "link", end: "link_end", names: &["link_id", "connects", "speed", "delay", "report"] };
pub(super) const HOST: Scope = Scope {
    block: "host",
    end: "host_end",
    names: &[
        "host_id",
        "function",
        "traffic_type",
        "flow_control",
        "window_limit",
        "retransmit",
        "conv_arr_dist",
        "conv_arr_mean",
        "conv_arr_std",
        "conv_len_dist",
        "conv_len_mean",
        "pkt_arr_dist",
        "pkt_arr_mean",
        "pkt_len_dist",
        "pkt_len_mean",
        "report",
    ],
};
pub(super) const ROUTE: Scope = Scope { block: "route", end: "route_end", names: &[] };

/// All blocks.
const BLOCKS: [&Scope; 7] = [&SEED, &TIMER, &ROUTER, &SWITCH, &LINK, &HOST, &ROUTE];

/// Whether `word` closes a block of some kind.
pub(super) fn closes(word: &str) -> bool {
    BLOCKS.iter().any(|scope| scope.end == word)
}

/// The blocks that have a parameter called `word`.
pub(super) fn owners(word: &str) -> Vec<&'static str> {
    BLOCKS.iter().filter(|scope| scope.names.contains(&word)).map(|scope| scope.block).collect()
}

/// Whether `word` is a name somewhere, or closes a block: no value is.
pub(super) fn is_name(word: &str) -> bool {
    FILE.names.contains(&word) || closes(word) || BLOCKS.iter().any(|scope| scope.names.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_means_nothing() {
        let found: Vec<(&str, u32)> = Words::of("\u{feff}a b").map(|Word { text, at }| (text, at.column)).collect();
        assert_eq!(found, [("a", 1), ("b", 3)]);
    }

    #[test]
    fn words_have_lines_and_columns() {
        let text = "// none\na  b\u{2003}é// c\r\n\n\tlong word\r\n";
        let found: Vec<(&str, u32, u32)> =
            Words::of(text).map(|Word { text, at }| (text, at.line, at.column)).collect();
        assert_eq!(found, [("a", 2, 1), ("b", 2, 4), ("é", 2, 6), ("long", 4, 2), ("word", 4, 7)]);
    }
}
