//! Text into tokens, each with its place.

use std::fmt;

/// A place in a script; both numbers count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A script that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{at}: {message}")]
pub struct ParseError {
    /// The file it was said to be in.
    pub file: String,
    /// The position in the script.
    pub at: Position,
    /// A description of the error.
    pub message: String,
}

/// One token of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A whole number, `-` included.
    Integer(i64),
    /// A number with a point, as written.
    Decimal(String),
    /// A word of letters, digits and `_`.
    Word(String),
    /// An option such as `--name`.
    Option(String),
    /// `"..."`, without the quotes.
    Text(String),
    /// `%{ ... }%`, without the marks.
    Code(String),
    /// `` `...` ``, without the marks.
    Command(String),
    /// An ellipsis, `...`.
    Ellipsis,
    /// Any other single character.
    Sign(char),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Integer(number) => write!(f, "{number}"),
            Token::Decimal(text) | Token::Word(text) => f.write_str(text),
            Token::Option(name) => write!(f, "--{name}"),
            Token::Text(text) => write!(f, "\"{text}\""),
            Token::Code(_) => f.write_str("a block %{ }%"),
            Token::Command(_) => f.write_str("a command in backquotes"),
            Token::Ellipsis => f.write_str("..."),
            Token::Sign(sign) => write!(f, "'{}'", sign.escape_default()),
        }
    }
}

/// The tokens of `text`, or what is wrong where.
pub(super) fn tokens(text: &str) -> Result<Vec<(Position, Token)>, (Position, String)> {
    let mut reader = Reader { rest: text, at: Position { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        reader.skip_space()?;
        let at = reader.at;
        let Some(token) = reader.token().map_err(|message| (at, message))? else { return Ok(tokens) };
        tokens.push((at, token));
    }
}

/// The place right after `text` that starts at `start`.
pub(super) fn advance(start: Position, text: &str) -> Position {
    text.chars().fold(start, |at, c| match c {
        '\n' => Position { line: at.line + 1, column: 1 },
        _ => Position { column: at.column + 1, ..at },
    })
}

struct Reader<'a> {
    rest: &'a str,
    at: Position,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Reader<'a> {
    /// The next `bytes` bytes, which end at a character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.at = advance(self.at, taken);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let bytes = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        self.take(bytes)
    }

    fn skip_space(&mut self) -> Result<(), (Position, String)> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return Err((self.at, "this comment has no end \"*/\"".to_owned()));
                };
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// What stands between `open` and `close`, if it starts here.
    fn enclosed(&mut self, open: &str, close: &str) -> Option<Result<String, String>> {
        let inner = self.rest.strip_prefix(open)?;
        let Some(length) = inner.find(close) else {
            return Some(Err(format!("{open} has no closing {close}")));
        };
        let text = inner[..length].to_owned();
        self.take(open.len() + length + close.len());
        Some(Ok(text))
    }

    fn token(&mut self) -> Result<Option<Token>, String> {
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if let Some(code) = self.enclosed("%{", "}%") {
            return code.map(|code| Some(Token::Code(code)));
        }
        if let Some(command) = self.enclosed("`", "`") {
            return command.map(|command| Some(Token::Command(command)));
        }
        if let Some(text) = self.enclosed("\"", "\"") {
            return text.map(|text| Some(Token::Text(text)));
        }
        if self.rest.starts_with("...") {
            self.take(3);
            return Ok(Some(Token::Ellipsis));
        }
        let second = self.rest.chars().nth(1);
        if first == '-' && second == Some('-') && self.rest[2..].starts_with(is_word) {
            self.take(2);
            return Ok(Some(Token::Option(self.take_while(is_word).to_owned())));
        }
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        if is_word(first) || (first == '-' && digit(second)) || (first == '.' && digit(second)) {
            return self.number_or_word().map(Some);
        }
        self.take(first.len_utf8());
        Ok(Some(Token::Sign(first)))
    }

    fn number_or_word(&mut self) -> Result<Token, String> {
        let text = self.rest;
        let mut length = self.take_while(|c| c == '-').len();
        length += self.take_while(is_word).len();
        let whole = &text[..length];
        let digits = whole.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        let fraction = self.rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if digits && fraction {
            length += self.take(1).len();
            length += self.take_while(|c| c.is_ascii_digit()).len();
            return Ok(Token::Decimal(text[..length].to_owned()));
        }
        if let Some(hexadecimal) = whole.strip_prefix("0x") {
            return i64::from_str_radix(hexadecimal, 16)
                .map(Token::Integer)
                .map_err(|_| format!("{whole} is no number of 63 bits"));
        }
        if digits {
            return whole.parse().map(Token::Integer).map_err(|_| format!("{whole} is no number of 63 bits"));
        }
        Ok(Token::Word(whole.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(_, token)| token).collect()
    }

    #[test]
    fn numbers_flags_and_ellipses_come_apart() {
        let word = |text: &str| Token::Word(text.to_owned());
        let decimal = |text: &str| Token::Decimal(text.to_owned());
        assert_eq!(kinds("+.1 < S."), [Token::Sign('+'), decimal(".1"), Token::Sign('<'), word("S"), Token::Sign('.')]);
        assert_eq!(kinds("0...0.25"), [Token::Integer(0), Token::Ellipsis, decimal("0.25")]);
        assert_eq!(kinds(". 1:1"), [Token::Sign('.'), Token::Integer(1), Token::Sign(':'), Token::Integer(1)]);
        assert_eq!(
            kinds("-1 0x10 --a_b=2"),
            [
                Token::Integer(-1),
                Token::Integer(16),
                Token::Option("a_b".to_owned()),
                Token::Sign('='),
                Token::Integer(2),
            ]
        );
        assert_eq!(kinds("%{ assert }% `x`"), [Token::Code(" assert ".into()), Token::Command("x".into())]);
    }

    #[test]
    fn places_count_lines_and_characters() {
        let places: Vec<_> =
            tokens("a // x\n /* y\n */ é b").unwrap().into_iter().map(|(at, _)| (at.line, at.column)).collect();
        assert_eq!(places, [(1, 1), (3, 5), (3, 7)]);
    }

    #[test]
    fn what_has_no_end_is_said_where_it_began() {
        for (text, column) in [("a /* b", 3), ("a `b", 3), ("a \"b", 3), ("a %{ b", 3), ("99999999999999999999", 1)] {
            let (at, _) = tokens(text).unwrap_err();
            assert_eq!((at.line, at.column), (1, column), "{text}");
        }
    }
}
