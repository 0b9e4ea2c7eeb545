//! Tokens into a script: recursive descent, one function per rule of the language.

use flowloom_core::time::Duration;
use flowloom_core::wire::{Ecn, Flags};

use super::info;
use super::lexer::{ParseError, Position, Token, advance, tokens};
use super::script::{
    Action, Argument, Assertion, Call, Comparison, EcnField, Event, Operand, Options, Packet, Script, Setting, When,
};

impl Script {
    /// Reads the script in `bytes`; `file` is its name in messages.
    ///
    /// # Errors
    /// What is wrong, with file, line and column. No bytes make it panic.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Script, ParseError> {
        let error = |(at, message)| ParseError { file: file.to_owned(), at, message };
        let start = Position { line: 1, column: 1 };
        let text = std::str::from_utf8(bytes).map_err(|invalid| {
            let before = String::from_utf8_lossy(&bytes[..invalid.valid_up_to()]);
            error((advance(start, &before), "this is not UTF-8".to_owned()))
        })?;
        let tokens = tokens(text).map_err(error)?;
        let end = advance(start, text);
        let mut parser = Parser { tokens: &tokens, end, depth: 0 };
        let (options, events) = parser.script().map_err(error)?;
        Ok(Script { file: file.to_owned(), options, events })
    }
}

type Wrong = (Position, String);

/// Lists in lists; nothing real needs more, and recursion must end.
const DEEPEST: u32 = 16;

struct Parser<'a> {
    tokens: &'a [(Position, Token)],
    end: Position,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn at(&self) -> Position {
        self.tokens.first().map_or(self.end, |(at, _)| *at)
    }

    fn peek(&self) -> Option<&'a Token> {
        self.tokens.first().map(|(_, token)| token)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let ((_, token), rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(token)
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T, Wrong> {
        let found = self.peek().map_or_else(|| "the end of the script".to_owned(), Token::to_string);
        Err((self.at(), format!("expected {wanted}, found {found}")))
    }

    fn accept(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), Wrong> {
        if self.accept(sign) { Ok(()) } else { self.unexpected(&format!("'{sign}'")) }
    }

    fn accept_word(&mut self, wanted: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(word)) if word == wanted);
        if found {
            self.next();
        }
        found
    }

    fn word(&mut self, wanted: &str) -> Result<&'a str, Wrong> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.next();
                Ok(word)
            }
            _ => self.unexpected(wanted),
        }
    }

    fn number(&mut self, wanted: &str, largest: i64) -> Result<i64, Wrong> {
        match self.peek() {
            Some(Token::Integer(number)) if (0..=largest).contains(number) => {
                self.next();
                Ok(*number)
            }
            Some(Token::Integer(number)) => {
                Err((self.at(), format!("{wanted} is 0 to {largest}, {number} is outside of it")))
            }
            _ => self.unexpected(wanted),
        }
    }

    fn u32(&mut self, wanted: &str) -> Result<u32, Wrong> {
        Ok(self.number(wanted, i64::from(u32::MAX))? as u32)
    }

    fn u16(&mut self, wanted: &str) -> Result<u16, Wrong> {
        Ok(self.number(wanted, i64::from(u16::MAX))? as u16)
    }

    fn script(&mut self) -> Result<(Vec<Setting>, Vec<Event>), Wrong> {
        let mut options = Vec::new();
        while let Some(Token::Option(name)) = self.peek() {
            let at = self.at();
            self.next();
            let value = if self.accept('=') { self.option_value()? } else { String::new() };
            options.push(Setting { at, name: name.clone(), value });
        }
        let mut events = Vec::new();
        while let Some(token) = self.peek() {
            let at = self.at();
            // A command ahead of the first event has no time of its own.
            if let Token::Command(command) = token {
                self.next();
                let action = Action::Configure(settings(at, command));
                events.push(Event { at, time: When::After(Duration::ZERO), action });
                continue;
            }
            let time = self.time_of_event()?;
            let action = self.action()?;
            let expects = matches!(action, Action::Outbound(_));
            if !expects && !matches!(time, When::At(_) | When::After(_)) {
                return Err((
                    at,
                    "only a packet that is expected (\">\") can have a range or * as its time".to_owned(),
                ));
            }
            events.push(Event { at, time, action });
        }
        if events.is_empty() {
            return self.unexpected("an event");
        }
        Ok((options, events))
    }

    /// Reads the value of an option: `VALUE` or `NAME=VALUE`.
    fn option_value(&mut self) -> Result<String, Wrong> {
        let mut value = self.option_word()?;
        if self.accept('=') {
            value.push('=');
            value += &self.option_word()?;
        }
        Ok(value)
    }

    fn option_word(&mut self) -> Result<String, Wrong> {
        match self.peek() {
            Some(Token::Text(text)) => {
                self.next();
                Ok(text.clone())
            }
            Some(Token::Integer(_) | Token::Decimal(_) | Token::Word(_)) => {
                let mut value = String::new();
                while let Some(token @ (Token::Integer(_) | Token::Decimal(_) | Token::Word(_))) = self.peek() {
                    let line = self.at().line;
                    value += &token.to_string();
                    self.next();
                    // `bsd-2008` is three tokens or two; a value ends with its line.
                    if self.at().line == line && self.accept('-') {
                        value.push('-');
                    } else if !matches!(self.peek(), Some(Token::Integer(number)) if *number < 0 && self.at().line == line)
                    {
                        break;
                    }
                }
                Ok(value)
            }
            _ => self.unexpected("a value"),
        }
    }

    fn time_of_event(&mut self) -> Result<When, Wrong> {
        let at = self.at();
        if self.accept('*') {
            return Ok(When::Any);
        }
        let relative = self.accept('+');
        let first = self.time()?;
        if !self.accept('~') {
            return Ok(if relative { When::After(first) } else { When::At(first) });
        }
        if relative {
            self.expect('+')?;
        }
        let last = self.time()?;
        if last < first {
            return Err((at, "this range ends before it begins".to_owned()));
        }
        Ok(if relative { When::BetweenAfter(first, last) } else { When::Between(first, last) })
    }

    /// Seconds, to the nanosecond.
    fn time(&mut self) -> Result<Duration, Wrong> {
        const LONGEST: u64 = 1_000_000_000;
        let text = match self.peek() {
            Some(Token::Integer(number)) => number.to_string(),
            Some(Token::Decimal(text)) => text.clone(),
            _ => return self.unexpected("a time in seconds"),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let whole = if whole.is_empty() { Some(0) } else { whole.parse().ok() };
        let nanos = format!("{fraction:0<9}").parse().ok().filter(|_| fraction.len() <= 9);
        let time = match (whole, nanos) {
            (Some(seconds), Some(nanos)) if seconds <= LONGEST => {
                Duration::from_secs(seconds) + Duration::from_nanos(nanos)
            }
            _ => return self.unexpected("a time of 0 to 1e9 seconds with at most nine decimals"),
        };
        self.next();
        Ok(time)
    }

    fn action(&mut self) -> Result<Action, Wrong> {
        let at = self.at();
        if self.accept('<') {
            return self.packet(true).map(Action::Inbound);
        }
        if self.accept('>') {
            return self.packet(false).map(Action::Outbound);
        }
        match self.peek() {
            Some(Token::Code(code)) => {
                self.next();
                assertions(at, code).map(Action::Assert)
            }
            Some(Token::Command(command)) => {
                self.next();
                Ok(Action::Configure(settings(at, command)))
            }
            Some(Token::Word(_) | Token::Ellipsis) => self.call().map(Action::Call),
            _ => self.unexpected("\"<\", \">\", a system call, a command or a block %{ }%"),
        }
    }

    fn packet(&mut self, inbound: bool) -> Result<Packet, Wrong> {
        let ecn = self.ecn(inbound)?;
        let flags = self.flags()?;
        let (sequence, payload_bytes) = self.sequence()?;
        let at = self.at();
        let acknowledgement = if self.accept_word("ack") { Some(self.u32("an acknowledgement number")?) } else { None };
        if acknowledgement.is_some() != (flags & Flags::ACK != 0) {
            return Err((at, "the ACK flag \".\" and \"ack N\" go together".to_owned()));
        }
        let at = self.at();
        let window = if self.accept_word("win") { Some(self.u16("a window field")?) } else { None };
        if inbound && window.is_none() && flags & Flags::RST == 0 {
            return Err((at, "a packet that arrives needs \"win N\"".to_owned()));
        }
        let at = self.at();
        let options = self.options()?;
        if inbound && options.is_none() {
            return Err((at, "<...> is for packets that are expected".to_owned()));
        }
        Ok(Packet { ecn, flags, sequence, payload_bytes, acknowledgement, window, options })
    }

    fn ecn(&mut self, inbound: bool) -> Result<Option<EcnField>, Wrong> {
        let close = match self.peek() {
            Some(Token::Sign('[')) => ']',
            Some(Token::Sign('(')) => ')',
            _ => return Ok(None),
        };
        self.next();
        let at = self.at();
        let field = match self.word("noecn, ect0, ect1, ect01 or ce")? {
            "noecn" => EcnField::Exactly(Ecn::NotEct),
            "ect0" => EcnField::Exactly(Ecn::Ect0),
            "ect1" => EcnField::Exactly(Ecn::Ect1),
            "ce" => EcnField::Exactly(Ecn::Ce),
            "ect01" if inbound => return Err((at, "ect01 is for packets that are expected".to_owned())),
            "ect01" => EcnField::Capable,
            other => return Err((at, format!("{other} is none of noecn, ect0, ect1, ect01, ce"))),
        };
        self.expect(close)?;
        Ok(Some(field))
    }

    fn flags(&mut self) -> Result<u8, Wrong> {
        if self.accept('-') {
            return Ok(0);
        }
        let at = self.at();
        let letters = match self.peek() {
            Some(Token::Word(letters)) => {
                self.next();
                letters.as_str()
            }
            Some(Token::Sign('.')) => "",
            _ => return self.unexpected("flags: letters of SFRPEW and \".\" for ACK, or \"-\" for none"),
        };
        let mut flags = if self.accept('.') { Flags::ACK } else { 0 };
        for letter in letters.chars() {
            flags |= match letter {
                'S' => Flags::SYN,
                'F' => Flags::FIN,
                'R' => Flags::RST,
                'P' => Flags::PSH,
                'E' => Flags::ECE,
                'W' => Flags::CWR,
                _ => return Err((at, format!("{letter} is no flag; they are S F R P E W and \".\" for ACK"))),
            };
        }
        Ok(flags)
    }

    /// Reads `START:END(LENGTH)` as the start and the length.
    fn sequence(&mut self) -> Result<(u32, u32), Wrong> {
        let at = self.at();
        let start = self.u32("a sequence number")?;
        self.expect(':')?;
        let end = self.u32("a sequence number")?;
        self.expect('(')?;
        let length = self.u32("a payload length")?;
        self.expect(')')?;
        if start.checked_add(length) != Some(end) {
            return Err((at, format!("{start}:{end} does not span {length} bytes")));
        }
        Ok((start, length))
    }

    fn options(&mut self) -> Result<Option<Options>, Wrong> {
        let mut options = Options::default();
        if !self.accept('<') {
            return Ok(Some(options));
        }
        if self.peek() == Some(&Token::Ellipsis) {
            self.next();
            self.expect('>')?;
            return Ok(None);
        }
        loop {
            self.option(&mut options)?;
            if !self.accept(',') {
                self.expect('>')?;
                return Ok(Some(options));
            }
        }
    }

    fn option(&mut self, options: &mut Options) -> Result<(), Wrong> {
        let at = self.at();
        let name = self.word("an option: mss, wscale, sackOK, sack, TS, nop or eol")?;
        let twice = match name {
            "nop" | "eol" => false,
            "mss" => options.mss.replace(self.u16("a segment size")?).is_some(),
            "wscale" => options.window_scale.replace(self.number("a shift", 255)? as u8).is_some(),
            "sackOK" => std::mem::replace(&mut options.sack_permitted, true),
            "sack" => {
                let twice = !options.sack.is_empty();
                loop {
                    let left = self.u32("the left edge of a SACK block")?;
                    self.expect(':')?;
                    options.sack.push((left, self.u32("the right edge of a SACK block")?));
                    if !matches!(self.peek(), Some(Token::Integer(_))) {
                        break twice;
                    }
                }
            }
            "TS" => {
                if !self.accept_word("val") {
                    return self.unexpected("\"val N ecr N\"");
                }
                let value = self.u32("a timestamp")?;
                if !self.accept_word("ecr") {
                    return self.unexpected("\"ecr N\"");
                }
                options.timestamps.replace((value, self.u32("a timestamp")?)).is_some()
            }
            _ => return Err((at, format!("{name} is no option; they are mss, wscale, sackOK, sack, TS, nop, eol"))),
        };
        if twice { Err((at, format!("{name} stands here twice"))) } else { Ok(()) }
    }

    fn call(&mut self) -> Result<Call, Wrong> {
        let until = if self.peek() == Some(&Token::Ellipsis) {
            self.next();
            Some(self.time()?)
        } else {
            None
        };
        let name = self.word("the name of a system call")?.to_owned();
        self.expect('(')?;
        let arguments = self.list(')')?;
        self.expect('=')?;
        let result = match self.peek() {
            Some(Token::Integer(number)) => *number,
            _ => return self.unexpected("the number that the call returns"),
        };
        self.next();
        let error = match self.peek() {
            Some(Token::Word(word)) if word.starts_with('E') => {
                self.next();
                Some(word.clone())
            }
            _ => None,
        };
        // strerror's words, or a note.
        if self.accept('(') {
            while !self.accept(')') {
                self.word("words and \")\"")?;
            }
        }
        Ok(Call { until, name, arguments, result, error })
    }

    /// Arguments up to and with `close`.
    fn list(&mut self, close: char) -> Result<Vec<Argument>, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err((self.at(), "lists in lists too deep to be meant".to_owned()));
        }
        let mut list = Vec::new();
        if !self.accept(close) {
            loop {
                list.push(self.argument()?);
                if !self.accept(',') {
                    self.expect(close)?;
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(list)
    }

    fn argument(&mut self) -> Result<Argument, Wrong> {
        let token = match self.peek() {
            Some(token @ (Token::Ellipsis | Token::Integer(_) | Token::Text(_) | Token::Word(_))) => token,
            Some(Token::Sign('[')) => {
                self.next();
                return self.list(']').map(Argument::List);
            }
            Some(Token::Sign('{')) => {
                self.next();
                return self.list('}').map(Argument::List);
            }
            _ => return self.unexpected("an argument"),
        };
        self.next();
        Ok(match token {
            Token::Integer(number) => Argument::Number(*number),
            Token::Text(text) => Argument::Text(text.clone()),
            Token::Word(word) if self.accept('=') => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err((self.at(), "fields in fields too deep to be meant".to_owned()));
                }
                let value = self.argument()?;
                self.depth -= 1;
                Argument::Field(word.clone(), Box::new(value))
            }
            Token::Word(word) => {
                let mut name = word.clone();
                while self.accept('|') {
                    name.push('|');
                    name += self.word("the name of a constant")?;
                }
                // `htons(8080)` and its like.
                if self.accept('(') {
                    return self.list(')').map(Argument::List);
                }
                Argument::Name(name)
            }
            _ => Argument::Anything,
        })
    }
}

/// `name=value` pairs among the words of a command that begins with `sysctl`; `set -x` and paths are left alone.
fn settings(start: Position, command: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut at = start;
    // The backquote itself.
    at.column += 1;
    let mut continued = false;
    for line in command.split_inclusive('\n') {
        let is_sysctl = continued || line.trim_start().starts_with("sysctl");
        continued = is_sysctl && line.trim_end().ends_with('\\');
        let mut offset = 0;
        for word in line.split_whitespace() {
            let begin = line[offset..].find(word).map_or(offset, |found| offset + found);
            offset = begin + word.len();
            if let Some((name, value)) = word.split_once('=').filter(|_| is_sysctl) {
                let value = value.trim_matches(|c| c == '"' || c == '\'').to_owned();
                settings.push(Setting { at: advance(at, &line[..begin]), name: name.to_owned(), value });
            }
        }
        at = advance(at, line);
    }
    settings
}

/// Lines `assert LEFT SIGN RIGHT [and ...] [, MESSAGE]` of a block that begins at `start`.
fn assertions(start: Position, code: &str) -> Result<Vec<Assertion>, Wrong> {
    let mut found = Vec::new();
    let mut at = advance(start, "%{");
    for line in code.split_inclusive(['\n', ';']) {
        let statement = line.split('#').next().unwrap_or_default().trim_end_matches(['\n', ';']).trim();
        let here = advance(at, &line[..line.len() - line.trim_start().len()]);
        at = advance(at, line);
        if statement.is_empty() {
            continue;
        }
        let Some(condition) = statement.strip_prefix("assert").filter(|rest| rest.starts_with([' ', '(', '\t'])) else {
            return Err((here, format!("only \"assert A == B\" can be read here, not \"{statement}\"")));
        };
        let condition = condition.split(',').next().unwrap_or_default().trim();
        let condition = condition.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(condition);
        for comparison in condition.split(" and ") {
            found.push(assertion(here, comparison.trim())?);
        }
    }
    Ok(found)
}

fn assertion(at: Position, text: &str) -> Result<Assertion, Wrong> {
    let Some((left, comparison, right)) =
        Comparison::ALL.iter().find_map(|(sign, is)| text.split_once(sign).map(|(left, right)| (left, *is, right)))
    else {
        return Err((at, format!("\"{text}\" compares nothing; write it like \"tcpi_snd_cwnd == 10\"")));
    };
    let operand = |text: &str| -> Result<Operand, Wrong> {
        let text = text.trim();
        if let Ok(number) = text.parse() {
            return Ok(Operand::Number(number));
        }
        info::constant(text).map(Operand::Number).or_else(|| info::Field::named(text).map(Operand::Field)).ok_or_else(
            || {
                let known: Vec<_> = info::Field::ALL.iter().map(|field| field.name()).collect();
                (at, format!("\"{text}\" is neither a number nor one of {}", known.join(", ")))
            },
        )
    };
    Ok(Assertion { at, left: operand(left)?, comparison, right: operand(right)? })
}
