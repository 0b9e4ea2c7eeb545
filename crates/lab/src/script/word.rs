//! What a word is by its form: a quantity, an address or an identifier; and the variables in it.

use super::address::{Address, AddressError, Host};
use super::lexer::{Kind, Lexer};
use super::quantity::{Quantity, QuantityError, number_length};
use super::tree::Form;

/// The longest word.
pub const MOST_WORD: usize = 1_024;

/// Why a word is none: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordError {
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl WordError {
    fn new(problem: impl ToString, hint: Option<&str>) -> WordError {
        WordError { problem: problem.to_string(), hint: hint.map(str::to_owned) }
    }
}

/// Whether `text` can name parameters, functions, arguments and kinds of blocks: letters, digits, `_` and `-`, from a letter or `_` on.
pub fn is_identifier(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Whether `text` can name a variable: letters, digits and `_`, so that `$name-1` and `$name.example` end where they seem to.
pub fn is_variable(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What the word `text` is.
///
/// # Errors
/// If it is nothing that a value can be.
pub fn form(text: &str) -> Result<Form, WordError> {
    if text.len() > MOST_WORD {
        return Err(WordError::new(format_args!("a word of more than {MOST_WORD} letters"), None));
    }
    if text.contains('$') {
        return parts(text).map(|_| Form::Variable);
    }
    let number = text.parse::<Quantity>();
    match &number {
        Ok(_) => return Ok(Form::Quantity),
        Err(QuantityError::TooLarge) => {
            return Err(WordError::new(format_args!("{text}: the number is too large"), None));
        }
        Err(_) => {}
    }
    if is_identifier(text) {
        return Ok(Form::Identifier);
    }
    match (text.parse::<Address>(), number) {
        // A name that begins like a number is one only if its last part could not belong to a number: 3com.example, not 1.5MM.
        (Ok(Address { host: Host::Name(_), port: None }), Err(QuantityError::Unit(unit))) if !is_domain(text) => {
            let capital = unit.to_ascii_uppercase();
            let hint = ["K", "M", "G"].contains(&capital.as_str());
            let hint = hint.then(|| format!("write {}{capital}", &text[..text.len() - unit.len()]));
            let problem = format!("{text}: {}", QuantityError::Unit(unit));
            Err(WordError { problem, hint })
        }
        (Ok(_), _) => Ok(Form::Address),
        (Err(AddressError::Bare), _) => {
            Err(WordError::new(format_args!("{text}: {}", AddressError::Bare), Some("write [ADDRESS]:PORT")))
        }
        (Err(error @ AddressError::Port(_)), _) => Err(WordError::new(format_args!("{text}: {error}"), None)),
        (Err(error), Err(QuantityError::NotANumber)) if text.contains([':', '[']) || number_length(text).is_some() => {
            Err(WordError::new(error, None))
        }
        (Err(error @ (AddressError::Ipv4(_) | AddressError::Ipv6(_))), _) => Err(WordError::new(error, None)),
        _ => Err(WordError::new(
            format_args!("\"{text}\" is no number, address or name"),
            Some("a text stands in quotes"),
        )),
    }
}

/// Whether the last part of a name with points is of letters, two at least.
fn is_domain(text: &str) -> bool {
    let last = text.rsplit_once('.').map_or("", |(_, last)| last);
    last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
}

/// Whether `text` would be read as one word, whatever that is.
pub fn is_word(text: &str) -> bool {
    let mut lexer = Lexer::new(text, 0);
    let first = lexer.next(&mut Vec::new());
    first.kind == Kind::Word(text) && first.asides.is_empty()
}

/// A part of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// It stands for itself.
    Plain(&'a str),
    /// It stands for the variable of this name.
    Variable(&'a str),
}

/// The parts of a word: `$name` and `${name}` are variables.
///
/// # Errors
/// If a `$` is followed by no name.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, WordError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        if at > 0 {
            parts.push(Part::Plain(&rest[..at]));
        }
        let from = &rest[at + 1..];
        let (name, behind) = match from.strip_prefix('{') {
            Some(inner) => inner.split_once('}').unwrap_or((inner, "")),
            None => {
                let end = from.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
                from.split_at(end)
            }
        };
        if !is_variable(name) {
            return Err(WordError::new(
                format_args!("{text}: $ is followed by no name of a variable"),
                Some("write $name, or ${name} where letters or digits follow"),
            ));
        }
        parts.push(Part::Variable(name));
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Plain(rest));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_by_their_form() {
        for (text, wanted) in [
            ("16K", Form::Quantity),
            ("1.5M", Form::Quantity),
            ("-3", Form::Quantity),
            ("1e-5", Form::Quantity),
            ("udp", Form::Identifier),
            ("host-a", Form::Identifier),
            ("_x", Form::Identifier),
            ("host-a:42000", Form::Address),
            ("192.0.2.1", Form::Address),
            ("[::1]:80", Form::Address),
            ("www.example.org", Form::Address),
            ("3com.example", Form::Address),
            ("$a:42000", Form::Variable),
            ("${a}1", Form::Variable),
        ] {
            assert_eq!(form(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_word_is_said() {
        for (text, problem, hint) in [
            ("16KK", "16KK: a number takes one multiplier, K, M or G, not \"KK\"", None),
            ("16k", "16k: a number takes one multiplier, K, M or G, not \"k\"", Some("write 16K")),
            ("10gbase", "10gbase: a number takes one multiplier, K, M or G, not \"gbase\"", None),
            ("1.5MM", "1.5MM: a number takes one multiplier, K, M or G, not \"MM\"", None),
            ("a:70000", "a:70000: a port is a number from 0 to 65535, not \"70000\"", None),
            ("fe80::1", "fe80::1: an address of IPv6 stands in brackets", Some("write [ADDRESS]:PORT")),
            ("1.2.3", "\"1.2.3\" is no address of IPv4", None),
            ("a+b", "\"a+b\" is no number, address or name", Some("a text stands in quotes")),
            (
                "$",
                "$: $ is followed by no name of a variable",
                Some("write $name, or ${name} where letters or digits follow"),
            ),
            ("1e999", "1e999: the number is too large", None),
        ] {
            let error = form(text).unwrap_err();
            assert_eq!((error.problem.as_str(), error.hint.as_deref()), (problem, hint), "{text}");
        }
    }

    #[test]
    fn variables_end_where_their_names_do() {
        use Part::{Plain, Variable};
        assert_eq!(parts("$a-1:$port"), Ok(vec![Variable("a"), Plain("-1:"), Variable("port")]));
        assert_eq!(parts("x${a}1"), Ok(vec![Plain("x"), Variable("a"), Plain("1")]));
        assert!(parts("$-").is_err() && parts("${a-b}").is_err());
    }
}
