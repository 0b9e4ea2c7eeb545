//! From characters to tokens.

use super::diagnostic::Diagnostic;
use super::place::{Files, Place};
use super::tree::Comment;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A number, an address or a name.
    Word(&'a str),
    /// A text in quotes, with escapes resolved.
    Text(String),
    /// The name behind an `@`.
    Directive(&'a str),
    /// `{`
    Open,
    /// `}`
    Close,
    /// `(`
    Begin,
    /// `)`
    End,
    /// `[`
    BeginList,
    /// `]`
    EndList,
    /// `=`
    Equals,
    /// `;`
    Semicolon,
    /// `,`
    Comma,
    /// The end of the file.
    EndOfFile,
}

impl Kind<'_> {
    /// The token in words, for what is wrong with it.
    pub fn words(&self) -> String {
        match self {
            Kind::Word(word) => format!("\"{word}\""),
            Kind::Text(_) => "a text in quotes".to_owned(),
            Kind::Directive(name) => format!("\"@{name}\""),
            Kind::Open => "\"{\"".to_owned(),
            Kind::Close => "\"}\"".to_owned(),
            Kind::Begin => "\"(\"".to_owned(),
            Kind::End => "\")\"".to_owned(),
            Kind::BeginList => "\"[\"".to_owned(),
            Kind::EndList => "\"]\"".to_owned(),
            Kind::Equals => "\"=\"".to_owned(),
            Kind::Semicolon => "\";\"".to_owned(),
            Kind::Comma => "\",\"".to_owned(),
            Kind::EndOfFile => "the end of the file".to_owned(),
        }
    }
}

/// A comment before a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// The comment.
    pub comment: Comment,
    /// It begins on the line on which the token or comment before it ends.
    pub same_line: bool,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    /// Where it is.
    pub place: Place,
    /// Comments before it.
    pub asides: Vec<Aside>,
    /// It is not on the line of the token before it.
    pub on_new_line: bool,
    /// An empty line is before it.
    pub apart: bool,
}

/// Most errors that are told of one token and what is before it.
const MOST_PROBLEMS: usize = 100;

/// Takes a text apart.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    rest: &'a str,
    place: Place,
    /// Nothing was taken yet.
    at_begin: bool,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.+:$".contains(c)
}

impl<'a> Lexer<'a> {
    /// Of `text`, which is what stands in the file with this number. A byte order mark at its begin means nothing.
    pub fn new(text: &'a str, file: u32) -> Lexer<'a> {
        let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lexer { rest, place: Place { file, line: 1, column: 1, length: 1 }, at_begin: true }
    }

    /// Of a file.
    pub fn of(files: &'a Files, file: u32) -> Lexer<'a> {
        Lexer::new(&files.get(file).text, file)
    }

    /// From here on there is only the end of the file.
    pub fn stop(&mut self) {
        self.rest = "";
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    /// Takes characters while they are what `is` says.
    fn take(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let from = self.rest;
        while self.peek().is_some_and(&is) {
            self.advance();
        }
        &from[..from.len() - self.rest.len()]
    }

    /// The next token; what is wrong goes to `found`.
    pub fn next(&mut self, found: &mut Vec<Diagnostic>) -> Token<'a> {
        let mut asides = Vec::new();
        let (mut lines, mut on_new_line) = (0, self.at_begin);
        loop {
            let blank = self.take(char::is_whitespace);
            lines += blank.bytes().filter(|byte| *byte == b'\n').count();
            on_new_line |= lines > 0;
            let begin = self.place;
            let text = if self.rest.starts_with('#') || self.rest.starts_with("//") {
                self.take(|c| c != '\n').trim_end().to_owned()
            } else if self.rest.starts_with("/*") {
                let Some(text) = self.block_comment(begin, found) else { continue };
                text
            } else if self.peek().is_none_or(is_token) {
                break;
            } else {
                self.unexpected(begin, found);
                continue;
            };
            let same_line = lines == 0 && !self.at_begin;
            asides.push(Aside { comment: Comment { text, apart: lines > 1 }, same_line });
            on_new_line |= self.place.line > begin.line;
            (lines, self.at_begin) = (0, false);
        }
        let begin = self.place;
        let kind = self.token(found);
        // No token goes on to another line.
        let place = Place { length: (self.place.column - begin.column).max(1), ..begin };
        let apart = lines > 1;
        self.at_begin = false;
        Token { kind, place, asides, on_new_line, apart }
    }

    /// `/* ... */`; nothing of what has no end.
    fn block_comment(&mut self, begin: Place, found: &mut Vec<Diagnostic>) -> Option<String> {
        let Some(length) = self.rest[2..].find("*/").map(|at| at + 4) else {
            found
                .push(Diagnostic::error(Place { length: 2, ..begin }, "the comment has no end").hint("\"*/\" ends it"));
            self.take(|_| true);
            return None;
        };
        let text = &self.rest[..length];
        for _ in text.chars() {
            self.advance();
        }
        Some(text.replace("\r\n", "\n"))
    }

    /// Characters that belong to nothing: one error for all that stand together.
    fn unexpected(&mut self, begin: Place, found: &mut Vec<Diagnostic>) {
        let text = self.take(|c| !c.is_whitespace() && !is_token(c) && c != '#');
        // A slash that begins no comment must not stop this.
        let shown: String = text.chars().take(20).flat_map(char::escape_debug).collect();
        // Before a single token there may be very many of them.
        if found.len() == MOST_PROBLEMS {
            return;
        }
        let place = Place { length: text.chars().count() as u32, ..begin };
        let hint = "names are of letters, digits, \"-\" and \"_\"; a text with anything else stands in quotes";
        found.push(Diagnostic::error(place, format!("\"{shown}\" means nothing here")).hint(hint));
    }

    fn token(&mut self, found: &mut Vec<Diagnostic>) -> Kind<'a> {
        let begin = self.place;
        let Some(first) = self.peek() else { return Kind::EndOfFile };
        let single = match first {
            '{' => Kind::Open,
            '}' => Kind::Close,
            '(' => Kind::Begin,
            ')' => Kind::End,
            '[' if !self.at_address() => Kind::BeginList,
            ']' => Kind::EndList,
            '=' => Kind::Equals,
            ';' => Kind::Semicolon,
            ',' => Kind::Comma,
            '"' => return Kind::Text(self.quoted(begin, found)),
            '@' => {
                self.advance();
                return Kind::Directive(self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            }
            _ => return Kind::Word(self.word()),
        };
        self.advance();
        single
    }

    /// Whether the bracket here is that of an address of IPv6, and not of a list: two colons are in it or one is behind it.
    fn at_address(&self) -> bool {
        let inner = self.rest.get(1..).unwrap_or_default();
        let length = inner.find(|c: char| !(is_word(c) || c == '%')).unwrap_or(inner.len());
        inner[..length].matches(':').count() >= 2 || inner[length..].starts_with("]:")
    }

    /// A word: what stands in brackets at its begin, and braces behind a `$`, belong to it.
    fn word(&mut self) -> &'a str {
        let from = self.rest;
        if self.peek() == Some('[') {
            self.advance();
            self.take(|c| is_word(c) || c == '%');
            if self.peek() == Some(']') {
                self.advance();
            }
        }
        loop {
            let part = self.take(is_word);
            if !(part.ends_with('$') && self.peek() == Some('{')) {
                break;
            }
            self.advance();
            self.take(is_word);
            if self.peek() == Some('}') {
                self.advance();
            }
        }
        &from[..from.len() - self.rest.len()]
    }

    /// `"..."` on one line.
    fn quoted(&mut self, begin: Place, found: &mut Vec<Diagnostic>) -> String {
        self.advance();
        let mut text = String::new();
        loop {
            let here = self.place;
            match self.peek() {
                None | Some('\n') => {
                    let message = "the text has no closing quote on its line";
                    found.push(Diagnostic::error(begin, message).hint("\\n is a new line within a text"));
                    return text.trim_end_matches('\r').to_owned();
                }
                Some('"') => {
                    self.advance();
                    return text;
                }
                Some('\\') => {
                    self.advance();
                    match self.peek() {
                        Some('n') => text.push('\n'),
                        Some('r') => text.push('\r'),
                        Some('t') => text.push('\t'),
                        Some(c @ ('"' | '\\')) => text.push(c),
                        Some(c) if c != '\n' && found.len() < MOST_PROBLEMS => {
                            let message = format!("\"\\{}\" means nothing in a text", c.escape_debug());
                            let hint = "known: \\\" \\\\ \\n \\r \\t";
                            found.push(Diagnostic::error(Place { length: 2, ..here }, message).hint(hint));
                        }
                        None | Some('\n') => continue,
                        Some(_) => {}
                    }
                    self.advance();
                }
                Some(c) => {
                    self.advance();
                    if !c.is_control() || c == '\t' || c == '\r' {
                        text.push(c);
                    } else if found.len() < MOST_PROBLEMS {
                        let message = format!("a text cannot hold the character \"{}\"", c.escape_debug());
                        found.push(Diagnostic::error(here, message));
                    }
                }
            }
        }
    }
}

/// Whether a token can begin with it.
fn is_token(c: char) -> bool {
    is_word(c) || "{}()=;,\"@[]".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> (Vec<Token<'_>>, Vec<String>) {
        let (mut lexer, mut found, mut tokens) = (Lexer::new(text, 0), Vec::new(), Vec::new());
        loop {
            let token = lexer.next(&mut found);
            if token.kind == Kind::EndOfFile {
                tokens.push(token);
                break;
            }
            tokens.push(token);
        }
        let told = found.into_iter().map(|one| format!("{}:{}: {}", one.place.line, one.place.column, one.message));
        (tokens, told.collect())
    }

    fn kinds<'a>(tokens: &[Token<'a>]) -> Vec<Kind<'a>> {
        tokens.iter().map(|token| token.kind.clone()).collect()
    }

    #[test]
    fn every_token_is_told() {
        let (tokens, found) = lex("test [::1]:80 { a-b=16K; c = f(x = \"q\\\"\\\\ \\n\",); @let d=${e}1:$p; }");
        assert_eq!(found, [""; 0]);
        use Kind::*;
        let wanted = [
            Word("test"),
            Word("[::1]:80"),
            Open,
            Word("a-b"),
            Equals,
            Word("16K"),
            Semicolon,
            Word("c"),
            Equals,
            Word("f"),
            Begin,
            Word("x"),
            Equals,
            Text("q\"\\ \n".to_owned()),
            Comma,
            End,
            Semicolon,
            Directive("let"),
            Word("d"),
            Equals,
            Word("${e}1:$p"),
            Semicolon,
            Close,
            EndOfFile,
        ];
        assert_eq!(kinds(&tokens), wanted);
    }

    #[test]
    fn comments_are_kept_with_the_token_behind_them() {
        let (tokens, found) = lex("# one\n\n// two\n/* three\r\n */ a; // four\n\nb");
        assert_eq!(found, [""; 0]);
        let asides = |token: &Token<'_>| {
            let told = |aside: &Aside| (aside.comment.text.clone(), aside.comment.apart, aside.same_line);
            token.asides.iter().map(told).collect::<Vec<_>>()
        };
        let text = |text: &str| text.to_owned();
        assert_eq!(
            asides(&tokens[0]),
            [(text("# one"), false, false), (text("// two"), true, false), (text("/* three\n */"), false, false)]
        );
        assert!(tokens[0].on_new_line && !tokens[0].apart && !tokens[1].on_new_line);
        assert_eq!(asides(&tokens[2]), [(text("// four"), false, true)]);
        assert!(tokens[2].apart && tokens[2].on_new_line);
        assert_eq!((tokens[2].place.line, tokens[2].place.column), (7, 1));
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_is_read() {
        let (tokens, found) = lex("a = /tmp/x%%; b = \"open\nc = \"\\q\x01\"; d /* ");
        assert_eq!(
            found,
            [
                "1:5: \"/\" means nothing here",
                "1:9: \"/\" means nothing here",
                "1:11: \"%%\" means nothing here",
                "1:19: the text has no closing quote on its line",
                "2:6: \"\\q\" means nothing in a text",
                "2:8: a text cannot hold the character \"\\u{1}\"",
                "2:14: the comment has no end",
            ]
        );
        assert_eq!(tokens.len(), 14);
    }

    #[test]
    fn brackets_are_of_addresses_or_of_lists() {
        use Kind::*;
        let of = |text| kinds(&lex(text).0).into_iter().take(3).map(|kind| kind.words()).collect::<Vec<_>>();
        let first = |text| lex(text).0[0].kind.clone();
        assert_eq!(of("[a, b]"), [BeginList, Word("a"), Comma].map(|kind| kind.words()));
        assert_eq!(of("[a:1]"), [BeginList, Word("a:1"), EndList].map(|kind| kind.words()));
        assert_eq!(of("[]"), [BeginList, EndList, EndOfFile].map(|kind| kind.words()));
        assert_eq!((first("[::1]:80"), first("[fe80::1%eth0]")), (Word("[::1]:80"), Word("[fe80::1%eth0]")));
        assert_eq!((first("[$a]:80"), first("[[::1]]")), (Word("[$a]:80"), BeginList));
    }

    #[test]
    fn any_bytes_have_an_end() {
        for text in ["", "\u{feff}", "[", "[[[", "$", "${", "@", "\"", "\\", "/", "/*", "é", "\"\\"] {
            let (tokens, _) = lex(text);
            assert!(tokens.len() <= 4, "{text}");
        }
    }
}
