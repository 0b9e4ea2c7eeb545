//! Files in either spelling to vectors.

use std::str::SplitAsciiWhitespace;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Evidence, Label, LinkSide, Pattern, PerSide, Side};

use super::super::error::{Flaw, FormatError};
use super::super::lines::Lines;
use super::super::notes::{Notes, Remark};
use super::comment::{PAYLOAD, Told, ToldClose};
use super::row::{After, MOST_MICROS, Row, Spelling};
use super::rows;
use crate::formats::limits::MOST_ADUS;
use crate::formats::read_vectors::ReadVectors;
use crate::workload::PayloadFacts;

/// Longest line: real ones have a few dozen characters, comments may have more.
const MOST_LINE_BYTES: usize = 1 << 16;

/// Reads Tmix connection vectors one after the other, in the order of the file. It holds one vector.
pub(in crate::formats) struct TmixReader {
    lines: Lines,
    spelling: Option<Spelling>,
    /// The vector whose lines are being read.
    block: Option<Block>,
    initiator_side: LinkSide,
    notes: Notes,
    last_start: Time,
}

/// A header and what followed it so far.
struct Block {
    line: u64,
    vector: ConnectionVector,
    /// The header's count of epochs, or of both sides' ADUs.
    declared: PerSide<u64>,
    /// Parameter lines seen: m, w, r, l.
    seen: [bool; 4],
    rows: Vec<Row>,
    /// Waits read and not yet followed by what they precede: one if sequential, one per side if concurrent.
    waits: PerSide<Option<u64>>,
    /// Zero-size ADUs of the original spelling.
    zero_adus: bool,
    /// The close that a comment tells of.
    close: Option<ToldClose>,
}

/// Reads the vectors of a file in memory.
///
/// # Errors
/// If a line is damaged, or stands where it cannot.
pub fn read(text: &[u8]) -> Result<(Vec<ConnectionVector>, Notes), FormatError> {
    let mut reader = TmixReader::new(Lines::of("vectors", text)?);
    let vectors = reader.read_all()?;
    Ok((vectors, reader.notes))
}

impl TmixReader {
    /// Reads `lines`. Initiators are on the left, unless the file is named as the half of a pair that holds the
    /// connections opened from the other side: `crecv`.
    pub(crate) fn new(lines: Lines) -> TmixReader {
        let name = lines.file().rsplit('/').next().unwrap_or_default();
        let initiator_side = if name.contains("crecv") { LinkSide::Right } else { LinkSide::Left };
        TmixReader {
            lines,
            spelling: None,
            block: None,
            initiator_side,
            notes: Notes::default(),
            last_start: Time::ZERO,
        }
    }

    /// Reads a header.
    fn begin(
        &self,
        spelling: Spelling,
        word: &str,
        mut tokens: SplitAsciiWhitespace<'_>,
        line: u64,
    ) -> Result<Block, Flaw> {
        if self.spelling.is_some_and(|before| before != spelling) {
            return Err(Flaw::new("the other spelling in one file", "the spelling the file begins with"));
        }
        let concurrent = matches!(word, "CONC" | "C");
        let expected = match (spelling, concurrent) {
            (Spelling::Original, false) => "SEQ START_US EPOCHS SUBSET_ID ID",
            (Spelling::Original, true) => "CONC START_US INITIATOR_ADUS ACCEPTOR_ADUS SUBSET_ID ID",
            (Spelling::Alternate, false) => "S START_US EPOCHS SUBSET_ID ID",
            (Spelling::Alternate, true) => "C START_US INITIATOR_ADUS ACCEPTOR_ADUS SUBSET_ID ID",
        };
        let mut next = || number(&mut tokens, expected);
        let start = bounded(next()?, "a start")?;
        let initiator = next()?;
        let acceptor = if concurrent { next()? } else { 0 };
        let label = Label { subset: next()?, id: next()? };
        end_of(tokens, expected)?;
        let vector = ConnectionVector {
            label: Some(label),
            evidence: Evidence::VectorFile,
            start: Time::ZERO + Duration::from_micros(start),
            initiator_side: self.initiator_side,
            pattern: if concurrent { Pattern::Concurrent } else { Pattern::Sequential },
            // Vectors are whole connections: they are made from complete ones and replayed from SYN to FIN.
            complete: true,
            ..ConnectionVector::default()
        };
        Ok(Block {
            line,
            vector,
            declared: PerSide { initiator, acceptor },
            seen: [false; 4],
            rows: Vec::new(),
            waits: PerSide::default(),
            zero_adus: false,
            close: None,
        })
    }

    /// Makes a vector of a block that is complete.
    fn end(&mut self, block: Block) -> Result<ConnectionVector, FormatError> {
        let Block { line, declared, zero_adus, .. } = block;
        let mut vector = block.finish(self.spelling).map_err(|flaw| self.lines.flaw_at(line, &flaw))?;
        if zero_adus {
            self.notes.remark(Remark::ZeroAdu, line);
        }
        for remark in vector.1.drain(..) {
            self.notes.remark(remark, line);
        }
        let vector = vector.0;
        let found = match vector.pattern {
            Pattern::Sequential => PerSide { initiator: vector.epochs().count() as u64, acceptor: 0 },
            Pattern::Concurrent => PerSide { initiator: Side::Initiator, acceptor: Side::Acceptor }
                .map(|side| vector.adus.iter().filter(|adu| adu.side == side).count() as u64),
        };
        if found != declared {
            self.notes.remark(Remark::CountMismatch, line);
        }
        if vector.start < self.last_start {
            self.notes.remark(Remark::OutOfOrder, line);
        }
        self.last_start = self.last_start.max(vector.start);
        self.notes.vectors += 1;
        Ok(vector)
    }
}

impl ReadVectors for TmixReader {
    fn read_next(&mut self) -> Result<Option<ConnectionVector>, FormatError> {
        while self.lines.advance(MOST_LINE_BYTES)? {
            // Comments may be older than UTF-8.
            if self.lines.bytes().trim_ascii_start().starts_with(b"#") {
                if let Some(stated) = self.lines.bytes().strip_prefix(PAYLOAD.as_bytes()) {
                    let stated = serde_json::from_slice(stated).ok().filter(PayloadFacts::is_possible);
                    self.notes.payload = self.notes.payload.or(stated);
                }
                if let (Some(block), Some(told)) = (&mut self.block, Told::read(self.lines.bytes())) {
                    told.put(&mut block.vector);
                    block.close = told.close();
                }
                continue;
            }
            let text = self.lines.text()?;
            let mut tokens = text.split('#').next().unwrap_or_default().split_ascii_whitespace();
            let Some(word) = tokens.next() else { continue };
            match Spelling::of(word) {
                Some(spelling) => {
                    let at = self.lines.number();
                    let begun = self.begin(spelling, word, tokens, at).map_err(|flaw| self.lines.flaw(&flaw))?;
                    self.spelling = Some(spelling);
                    if let Some(before) = self.block.replace(begun) {
                        return self.end(before).map(Some);
                    }
                }
                None => {
                    let spelling = self.spelling;
                    let taken = match &mut self.block {
                        None => Err(Flaw::new("this stands before the first header", HEADERS)),
                        Some(block) => block.take(word, tokens, spelling),
                    };
                    taken.map_err(|flaw| self.lines.flaw(&flaw))?;
                }
            }
        }
        self.block.take().map(|last| self.end(last)).transpose()
    }

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }
}

const HEADERS: &str = "a header first: SEQ, CONC, S or C";

impl Block {
    /// Takes in a line below the header.
    fn take(&mut self, word: &str, tokens: SplitAsciiWhitespace<'_>, spelling: Option<Spelling>) -> Result<(), Flaw> {
        match word {
            "m" | "w" | "r" | "l" => self.parameter(word, tokens),
            _ if self.rows.len() >= MOST_ADUS => Err(Flaw::new(format!("a vector of more than {MOST_ADUS} ADUs"), "")),
            _ if spelling == Some(Spelling::Alternate) => self.alternate(word, tokens),
            _ => self.original(word, tokens),
        }
    }

    fn parameter(&mut self, word: &str, mut tokens: SplitAsciiWhitespace<'_>) -> Result<(), Flaw> {
        let which = "mwrl".find(word).unwrap_or_default();
        if std::mem::replace(&mut self.seen[which], true) {
            return Err(Flaw::new(format!("a second {word} line"), "one per vector"));
        }
        if !self.rows.is_empty() {
            return Err(Flaw::new(format!("an {word} line below ADUs"), "m, w, r and l lines above the ADUs"));
        }
        let ends = &mut self.vector.ends;
        match word {
            "m" => {
                const EXPECTED: &str = "m INITIATOR_MSS ACCEPTOR_MSS, bytes from 1 to 65535";
                for side in Side::BOTH {
                    let mss = number(&mut tokens, EXPECTED)?;
                    let mss = u16::try_from(mss).ok().filter(|mss| *mss > 0);
                    ends[side].mss = Some(mss.ok_or_else(|| Flaw::new("no segment size", EXPECTED))?);
                }
                end_of(tokens, EXPECTED)
            }
            "w" => {
                const EXPECTED: &str = "w INITIATOR_WINDOW ACCEPTOR_WINDOW, bytes";
                for side in Side::BOTH {
                    ends[side].max_window = Some(number(&mut tokens, EXPECTED)?);
                }
                end_of(tokens, EXPECTED)
            }
            "r" => {
                const EXPECTED: &str = "r MIN_RTT_US";
                let rtt = bounded(number(&mut tokens, EXPECTED)?, "a round-trip time")?;
                self.vector.stated_rtt = Some(Duration::from_micros(rtt));
                end_of(tokens, EXPECTED)
            }
            _ => {
                const EXPECTED: &str = "l INITIATOR_LOSS ACCEPTOR_LOSS, fractions from 0 to 1";
                for side in Side::BOTH {
                    ends[side].stated_loss_ppm = Some(loss(tokens.next(), EXPECTED)?);
                }
                end_of(tokens, EXPECTED)
            }
        }
    }

    /// A body line of the original spelling.
    fn original(&mut self, word: &str, mut tokens: SplitAsciiWhitespace<'_>) -> Result<(), Flaw> {
        const SEQUENTIAL: &str = "> BYTES, < BYTES or t MICROSECONDS in a SEQ vector";
        const CONCURRENT: &str = "c> BYTES, c< BYTES, t> MICROSECONDS or t< MICROSECONDS in a CONC vector";
        let (side, is_wait, expected) = match (word, self.vector.pattern) {
            (">", Pattern::Sequential) => (Side::Initiator, false, SEQUENTIAL),
            ("<", Pattern::Sequential) => (Side::Acceptor, false, SEQUENTIAL),
            // The one wait of a sequential body; who waits is told by what follows.
            ("t", Pattern::Sequential) => (Side::Initiator, true, SEQUENTIAL),
            ("c>", Pattern::Concurrent) => (Side::Initiator, false, CONCURRENT),
            ("c<", Pattern::Concurrent) => (Side::Acceptor, false, CONCURRENT),
            ("t>", Pattern::Concurrent) => (Side::Initiator, true, CONCURRENT),
            ("t<", Pattern::Concurrent) => (Side::Acceptor, true, CONCURRENT),
            ("c>" | "c<" | "t>" | "t<", Pattern::Sequential) => {
                return Err(Flaw::new("a line of a CONC vector in a SEQ vector", SEQUENTIAL));
            }
            (">" | "<" | "t", Pattern::Concurrent) => {
                return Err(Flaw::new("a line of a SEQ vector in a CONC vector", CONCURRENT));
            }
            ("I" | "A", _) => return Err(Flaw::new("a row of the alternate spelling", "the spelling of the header")),
            (_, Pattern::Sequential) => return Err(Flaw::new("an unknown line", SEQUENTIAL)),
            (_, Pattern::Concurrent) => return Err(Flaw::new("an unknown line", CONCURRENT)),
        };
        let value = number(&mut tokens, expected)?;
        end_of(tokens, expected)?;
        let sequential = self.vector.pattern == Pattern::Sequential;
        let before = self.rows.iter().rev().find(|row| sequential || row.side == side).copied();
        if is_wait {
            if before.is_none() {
                return Err(Flaw::new("a wait before any ADU", "waits follow ADUs"));
            }
            if self.waits[side].replace(bounded(value, "a wait")?).is_some() {
                return Err(Flaw::new("two waits in a row", "an ADU between them"));
            }
            return Ok(());
        }
        let waits = if sequential { &mut self.waits.initiator } else { &mut self.waits[side] };
        let (wait_us, after) = match (before, waits.take()) {
            (None, _) => (0, After::Sending),
            (Some(_), None) => {
                return Err(Flaw::new("two ADUs without a wait between them", "a t line between them, t 0 for none"));
            }
            (Some(before), Some(wait)) => (wait, if before.side == side { After::Sending } else { After::Receiving }),
        };
        self.zero_adus |= value == 0;
        self.rows.push(Row { side, after, wait_us, bytes: value });
        Ok(())
    }

    /// A row of the alternate spelling.
    fn alternate(&mut self, word: &str, mut tokens: SplitAsciiWhitespace<'_>) -> Result<(), Flaw> {
        const EXPECTED: &str = "I|A SEND_WAIT_US RECEIVE_WAIT_US BYTES, one of the waits being 0";
        let side = match word {
            "I" => Side::Initiator,
            "A" => Side::Acceptor,
            ">" | "<" | "t" | "c>" | "c<" | "t>" | "t<" => {
                return Err(Flaw::new("a line of the original spelling", "the spelling of the header"));
            }
            _ => return Err(Flaw::new("an unknown line", EXPECTED)),
        };
        let send = bounded(number(&mut tokens, EXPECTED)?, "a wait")?;
        let receive = bounded(number(&mut tokens, EXPECTED)?, "a wait")?;
        let bytes = number(&mut tokens, EXPECTED)?;
        end_of(tokens, EXPECTED)?;
        if send > 0 && receive > 0 {
            return Err(Flaw::new("both waits are set", EXPECTED));
        }
        let sequential = self.vector.pattern == Pattern::Sequential;
        let before = self.rows.iter().rev().find(|row| sequential || row.side == side);
        if before.is_none() && send + receive > 0 {
            return Err(Flaw::new("the first ADU waits", "0 0 there: the start says when it is sent"));
        }
        // Where neither wait is set, the neighbours tell whose it is.
        let turns = before.is_some_and(|before| before.side != side);
        let after = if receive > 0 || (send == 0 && turns) { After::Receiving } else { After::Sending };
        self.rows.push(Row { side, after, wait_us: send + receive, bytes });
        Ok(())
    }

    fn finish(mut self, spelling: Option<Spelling>) -> Result<(ConnectionVector, Vec<Remark>), Flaw> {
        if spelling == Some(Spelling::Original) {
            let sequential = self.vector.pattern == Pattern::Sequential;
            for side in Side::BOTH {
                // A wait that nothing follows is that before the close.
                let before = self.rows.iter().rev().find(|row| sequential || row.side == side).copied();
                if let (Some(wait_us), Some(before)) = (self.waits[side], before.filter(|before| before.bytes > 0)) {
                    self.rows.push(Row { side: before.side, after: After::Sending, wait_us, bytes: 0 });
                }
            }
            if let Some(close) = self.close.filter(|_| sequential) {
                close.put(&mut self.rows);
            }
        }
        if self.rows.is_empty() {
            return Err(Flaw::new("a vector without data", "at least one ADU below the header"));
        }
        let remarks = rows::put(&self.rows, &mut self.vector)?;
        Ok((self.vector, remarks))
    }
}

/// The next token as a whole number.
fn number(tokens: &mut SplitAsciiWhitespace<'_>, expected: &'static str) -> Result<u64, Flaw> {
    let Some(token) = tokens.next() else { return Err(Flaw::new("a field is missing", expected)) };
    // Rust takes a plus sign; vector files have none.
    token.parse().ok().filter(|_| !token.starts_with('+')).ok_or_else(|| {
        let digits = token.strip_prefix('-').unwrap_or(token);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        Flaw::new(
            match (is_number, token.starts_with('-')) {
                (true, true) => format!("{token} is negative"),
                (true, false) => format!("{token} is too large"),
                (false, _) => format!("{token} is not a whole number"),
            },
            expected,
        )
    })
}

fn bounded(micros: u64, what: &str) -> Result<u64, Flaw> {
    if micros > MOST_MICROS {
        return Err(Flaw::new(format!("{what} of {micros} us is too large"), "at most 292 years"));
    }
    Ok(micros)
}

/// A fraction, in parts per million.
fn loss(token: Option<&str>, expected: &'static str) -> Result<u32, Flaw> {
    let token = token.ok_or_else(|| Flaw::new("a field is missing", expected))?;
    let fraction: f64 = token.parse().map_err(|_| Flaw::new(format!("{token} is not a number"), expected))?;
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Flaw::new(format!("a loss of {token}"), expected));
    }
    Ok((fraction * 1e6).round() as u32)
}

fn end_of(mut tokens: SplitAsciiWhitespace<'_>, expected: &'static str) -> Result<(), Flaw> {
    match tokens.next() {
        None => Ok(()),
        Some(extra) => Err(Flaw::new(format!("\"{extra}\" is one field too many"), expected)),
    }
}
