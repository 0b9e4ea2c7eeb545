//! The arguments of a function, read one by one; what nobody asked for is wrong.

use std::ops::RangeInclusive;

use flowloom_core::time::Duration;
use flowloom_core::units::{ParseQuantityError, Rate};

use super::super::diagnostic::{Diagnostic, did_you_mean};
use super::super::place::Place;
use super::super::quantity::Quantity;
use super::super::tree::{Argument, Block, Form, Function, Value};
use super::endpoint::Endpoint;
use super::keys::Keys;
use super::names::same_name;

/// A block as a function of its parameters.
pub fn as_arguments(block: &Block) -> Function {
    let argument = |name: &String, place, value: &Value| Argument { name: name.clone(), place, value: value.clone() };
    let arguments = block.body.parameters.iter().map(|one| argument(&one.name, one.place, &one.value));
    Function { name: block.keyword.clone(), place: block.place, arguments: arguments.collect() }
}

/// The arguments of a function.
pub struct Arguments<'a> {
    function: &'a Function,
    /// Those that were asked for.
    used: Vec<bool>,
    /// What was asked for, for what is misspelt.
    known: Vec<&'static str>,
    found: &'a mut Vec<Diagnostic>,
}

impl<'a> Arguments<'a> {
    /// Of `function`; what is wrong goes to `found`.
    pub fn of(function: &'a Function, found: &'a mut Vec<Diagnostic>) -> Arguments<'a> {
        Arguments { function, used: vec![false; function.arguments.len()], known: Vec::new(), found }
    }

    /// Something is wrong.
    pub fn wrong(&mut self, place: Place, message: impl Into<String>, hint: &str) {
        self.found.push(Diagnostic::error(place, message).hint(hint));
    }

    /// Where the function stands.
    pub fn place(&self) -> Place {
        self.function.place
    }

    /// Where what is wrong goes.
    pub fn found(&mut self) -> &mut Vec<Diagnostic> {
        self.found
    }

    /// An argument that may be left out.
    pub fn optional(&mut self, name: &'static str) -> Option<&'a Argument> {
        self.known.push(name);
        let at = self.function.arguments.iter().position(|argument| same_name(&argument.name, name))?;
        self.used[at] = true;
        Some(&self.function.arguments[at])
    }

    /// Arguments that nobody asked for and that are keys of the outermost table.
    pub fn keys(&mut self, keys: &Keys) -> Vec<(&'static str, &'a Argument)> {
        self.known.extend(keys.names());
        let mut given = Vec::new();
        for (argument, used) in self.function.arguments.iter().zip(&mut self.used).filter(|(_, used)| !**used) {
            if let Some(key) = keys.key(&argument.name) {
                *used = true;
                given.push((key, argument));
            }
        }
        given
    }

    /// An argument that must be there, and what it is.
    pub fn needed(&mut self, name: &'static str, what: &str) -> Option<&'a Argument> {
        let argument = self.optional(name);
        if argument.is_none() {
            let message = format!("{} needs {name}: {what}", self.function.name);
            self.found.push(Diagnostic::error(self.function.place, message));
        }
        argument
    }

    /// A number: sizes have multipliers of 1,024, everything else of 1,000.
    fn quantity(&mut self, argument: &Argument, what: &str) -> Option<Quantity> {
        let quantity = match &argument.value {
            Value::Word(word) if word.form == Form::Quantity => word.text.parse().ok(),
            _ => None,
        };
        if quantity.is_none() {
            let message = format!("{} takes {what}", argument.name);
            self.found.push(Diagnostic::error(argument.value.place(), message));
        }
        quantity
    }

    /// A size in bytes, at least one.
    pub fn size(&mut self, argument: &Argument) -> Option<u64> {
        let what = "a whole number of bytes, one at least, as in 32768 or 32K";
        let bytes = self.quantity(argument, what)?.bytes().filter(|bytes| *bytes > 0);
        if bytes.is_none() {
            self.found.push(Diagnostic::error(argument.value.place(), format!("{} takes {what}", argument.name)));
        }
        bytes
    }

    /// A size within bounds.
    pub fn whole(&mut self, argument: &Argument, bounds: RangeInclusive<u64>) -> Option<u64> {
        let size = self.size(argument)?;
        if bounds.contains(&size) {
            return Some(size);
        }
        let message = format!("{} is from {} to {}", argument.name, bounds.start(), bounds.end());
        self.found.push(Diagnostic::error(argument.value.place(), message));
        None
    }

    /// A number that is no size.
    pub fn number(&mut self, argument: &Argument) -> Option<f64> {
        Some(self.quantity(argument, "a number")?.decimal())
    }

    /// A number that must be there.
    pub fn needed_number(&mut self, name: &'static str, what: &str) -> Option<f64> {
        let argument = self.needed(name, what)?;
        self.number(argument)
    }

    /// `true` or `false`, with other words for them.
    pub fn switch(&mut self, argument: &Argument) -> Option<bool> {
        let word = match &argument.value {
            Value::Word(word) => word.text.to_ascii_lowercase(),
            _ => String::new(),
        };
        let switch = match word.as_str() {
            "true" | "on" | "yes" | "1" => Some(true),
            "false" | "off" | "no" | "0" => Some(false),
            _ => None,
        };
        if switch.is_none() {
            self.found.push(Diagnostic::error(argument.value.place(), format!("{} is true or false", argument.name)));
        }
        switch
    }

    /// `window`, a size that may be left out.
    pub fn window(&mut self) -> Option<u64> {
        let argument = self.optional("window")?;
        self.size(argument)
    }

    /// `rate`, a bit rate that may be left out: `1.5M` is 1,500,000 bit/s, as `"1.5 Mbit/s"` is.
    pub fn rate(&mut self) -> Option<Rate> {
        let argument = self.optional("rate")?;
        self.bit_rate(argument)
    }

    /// A bit rate that must be there.
    pub fn needed_rate(&mut self, name: &'static str, what: &str) -> Option<Rate> {
        let argument = self.needed(name, what)?;
        self.bit_rate(argument)
    }

    fn bit_rate(&mut self, argument: &Argument) -> Option<Rate> {
        if let Value::Text(text) = &argument.value {
            let wrong = |error: ParseQuantityError| {
                self.found.push(Diagnostic::error(text.place, format!("{}: {error}", argument.name)));
            };
            return text.text.parse().map_err(wrong).ok();
        }
        let bits = self.number(argument)?;
        let rate = (bits >= 1.0 && bits < u64::MAX as f64).then(|| Rate::from_bits_per_second(bits.round() as u64));
        if rate.is_none() {
            let message = format!("{} is one bit per second at least", argument.name);
            self.found.push(Diagnostic::error(argument.value.place(), message));
        }
        rate.flatten()
    }

    /// `duration`, in seconds.
    pub fn duration(&mut self) -> Option<Duration> {
        let argument = self.needed("duration", "how long, in seconds")?;
        let seconds = self.number(argument)?;
        // A year is more than any experiment.
        if seconds > 0.0 && seconds <= 31_536_000.0 {
            return Some(Duration::from_secs_f64(seconds));
        }
        let message = format!("{} is a number of seconds above 0, and a year at most", argument.name);
        self.found.push(Diagnostic::error(argument.value.place(), message));
        None
    }

    /// A name or a text, as that of a network interface.
    pub fn name(&mut self, argument: &Argument) -> Option<String> {
        match &argument.value {
            Value::Word(word) if word.form != Form::Variable => Some(word.text.clone()),
            Value::Text(text) if !text.text.is_empty() => Some(text.text.clone()),
            value => {
                self.found.push(Diagnostic::error(value.place(), format!("{} is a name", argument.name)));
                None
            }
        }
    }

    /// A name that must be there.
    pub fn needed_name(&mut self, name: &'static str, what: &str) -> Option<String> {
        let argument = self.needed(name, what)?;
        self.name(argument)
    }

    /// A host and a port.
    pub fn endpoint(&mut self, name: &'static str, what: &str) -> Option<Endpoint> {
        let argument = self.needed(name, what)?;
        Endpoint::read(&argument.name, &argument.value, self.found)
    }

    /// A time: in microseconds, as periods are, or with its unit in quotes.
    pub fn time(&mut self, argument: &Argument) -> Option<Duration> {
        let read = match &argument.value {
            Value::Word(word) if word.form == Form::Quantity => word.text.parse().ok().and_then(|number: Quantity| {
                let micros = number.decimal();
                // A hundred years.
                (0.0..=3.2e15).contains(&micros).then(|| Duration::from_nanos((micros * 1e3).round() as u64))
            }),
            Value::Text(text) => text.text.parse().ok(),
            _ => None,
        };
        if read.is_none() {
            let message = format!("{} is a time: microseconds, or with a unit as in \"20ms\"", argument.name);
            self.found.push(Diagnostic::error(argument.value.place(), message));
        }
        read
    }

    /// Warns of parameters of a block that nobody asked for: they are passed on.
    pub fn pass_on(self) {
        let Arguments { function, used, known, found } = self;
        for (argument, _) in function.arguments.iter().zip(used).filter(|(_, used)| !used) {
            let meant = did_you_mean(&argument.name, &known);
            let message = format!("{} means nothing to a {}, and is passed on", argument.name, function.name);
            found.push(Diagnostic::warning(argument.place, message).hint_if(meant));
        }
    }

    /// Complains of arguments that nobody asked for.
    pub fn finish(self) {
        let Arguments { function, used, known, found } = self;
        for (argument, _) in function.arguments.iter().zip(used).filter(|(_, used)| !used) {
            let error = Diagnostic::error(argument.place, format!("{} takes no {}", function.name, argument.name));
            let hint = match did_you_mean(&argument.name, &known) {
                Some(meant) => meant,
                None if known.is_empty() => "it takes nothing".to_owned(),
                None => format!("it takes {}", known.join(", ")),
            };
            found.push(error.hint(hint));
        }
    }
}
