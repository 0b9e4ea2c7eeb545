//! From tokens to the tree, with as many errors as can be told in one go.
//!
//! A word that means nothing is left out alone. Any other error makes the parser leave out what it is in: to the next `;`, or a line on
//! which something begins. So what follows is read as if nothing had been wrong, and nothing is said twice.

use std::collections::{BTreeMap, VecDeque};

use flowloom_core::keys::nearest;

use super::diagnostic::{Diagnostic, did_you_mean};
use super::lexer::{Kind, Lexer, Token};
use super::place::{Files, Place};
use super::tree::{
    Argument, Around, Block, Body, Child, Comment, Form, Function, Include, Keyword, Let, List, Parameter, Text, Value,
    Word,
};
use super::word;

/// Most bytes of a file.
pub const MOST_BYTES: usize = 8 << 20;
/// Most blocks within each other.
pub const MOST_DEPTH: usize = 64;
/// Most functions within each other.
pub const MOST_CALLS: usize = 16;
/// Most blocks, parameters and arguments.
pub const MOST_ITEMS: usize = 500_000;
/// Most errors that are told.
pub const MOST_ERRORS: usize = 50;
/// Most warnings that are told.
pub const MOST_WARNINGS: usize = 50;

/// How the grammar is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A `;` may be left out before `}` and at the end of a line, and there may be too many: a warning.
    #[default]
    Lenient,
    /// As it is written.
    Strict,
}

/// Reads a script, which is one block.
///
/// The tree is what could be read; it is whole if no diagnostic is an error.
pub fn script(files: &Files, file: u32, mode: Mode) -> (Body, Vec<Diagnostic>) {
    let mut parser = Parser::new(files, file, mode);
    let body = parser.file();
    // Without an error nothing was left out; and what a file adds is not known yet.
    let includes = body.children.iter().any(|child| matches!(child, Child::Include(_)));
    if !includes && !parser.failed() {
        parser.found.extend(one_block(&body, parser.current.place));
    }
    (body, parser.found)
}

/// What is wrong with a script that is not one block, of which the file ends at `end`; and a note, if the block has an address, which
/// means nothing (methods J.1).
pub fn one_block(body: &Body, end: Place) -> Vec<Diagnostic> {
    const ONE: &str = "a script is one block: cluster { ... }, parallel { ... } or serial { ... }";
    let mut found = Vec::new();
    if let Some(parameter) = body.parameters.first() {
        found.push(Diagnostic::error(parameter.place, format!("{} stands in no block", parameter.name)).hint(ONE));
    }
    let mut blocks = body.blocks();
    match (blocks.next(), blocks.next()) {
        (None, _) => found.push(Diagnostic::error(end, "there is no block in the script").hint(ONE)),
        (_, Some(second)) => {
            let error = Diagnostic::error(second.place, "a second block, and a script is one");
            found.push(error.hint("put both into parallel { ... } or serial { ... }"));
        }
        (Some(Block { address: Some(address), .. }), None) => {
            let message = format!("the outermost block runs here, so that its address {} means nothing", address.text);
            found.push(Diagnostic::note(address.place, message));
        }
        _ => {}
    }
    found
}

/// Reads what another file includes: whatever can stand in a block.
pub fn fragment(files: &Files, file: u32, mode: Mode) -> (Body, Vec<Diagnostic>) {
    let mut parser = Parser::new(files, file, mode);
    let body = parser.file();
    (body, parser.found)
}

/// Reads a block of a script as hosts give it to each other: variables and files were put in before. Nothing is lenient there.
///
/// # Errors
/// What is wrong.
pub fn block(files: &Files, file: u32) -> Result<Block, Vec<Diagnostic>> {
    let mut parser = Parser::new(files, file, Mode::Strict);
    let mut body = parser.file();
    let more = match (body.lets.first(), body.parameters.first(), body.children.get(1)) {
        (Some(one), ..) => Some(one.place),
        (_, Some(parameter), _) => Some(parameter.place),
        (.., Some(child)) => Some(child.place()),
        _ => None,
    };
    let block = body.children.drain(..).next();
    match (block, more) {
        (Some(Child::Block(block)), None) if !parser.failed() => match extension(&block) {
            None => return Ok(block),
            Some(place) => parser.say(Diagnostic::error(place, "variables and files have no meaning to other hosts")),
        },
        _ if parser.failed() => {}
        (_, more) => {
            let place = more.unwrap_or(parser.current.place);
            parser.say(Diagnostic::error(place, "there is one block, keyword { ... }, and nothing else"));
        }
    }
    Err(parser.found)
}

/// The first variable or file in a block.
fn extension(block: &Block) -> Option<Place> {
    let defined = block.body.lets.first().map(|one| one.place);
    defined.or_else(|| {
        block.body.children.iter().find_map(|child| match child {
            Child::Block(block) => extension(block),
            Child::Include(include) => Some(include.place),
        })
    })
}

/// What is wrong was said already, and the rest of the item is to be left out.
struct Skip;

/// What a body is made of while it is read.
struct Items<'a> {
    body: Body,
    /// Names of parameters and of variables, and where they first stand.
    parameters: BTreeMap<&'a str, Place>,
    variables: BTreeMap<&'a str, Place>,
    /// How many blocks are around it.
    depth: usize,
    /// The kind of leaf it is in, if it is in one.
    leaf: Option<&'a str>,
    /// Blocks in that leaf.
    misplaced: u64,
}

impl Items<'_> {
    fn new<'a>(depth: usize, leaf: Option<&'a str>) -> Items<'a> {
        Items {
            body: Body::default(),
            parameters: BTreeMap::new(),
            variables: BTreeMap::new(),
            depth,
            leaf,
            misplaced: 0,
        }
    }

    /// A variable whose value could not be read.
    fn lose(&mut self, variable: &str) {
        self.body.lost.get_or_insert_default().push(variable.to_owned());
    }

    /// A value, if it could be read.
    fn kept(&mut self, value: Option<Value>) -> Option<Value> {
        if value.is_none() {
            self.body.lost.get_or_insert_default();
        }
        value
    }

    /// The body. What comes first in it stands apart from nothing.
    fn finish(mut self) -> Body {
        let body = &mut self.body;
        let around = match (body.lets.first_mut(), body.parameters.first_mut(), body.children.first_mut()) {
            (Some(one), ..) => Some(&mut one.around),
            (_, Some(parameter), _) => Some(&mut parameter.around),
            (.., Some(Child::Block(block))) => Some(&mut block.around),
            (.., Some(Child::Include(include))) => Some(&mut include.around),
            _ => None,
        };
        let apart = match around {
            Some(Around { before, apart, .. }) => before.first_mut().map_or(apart, |comment| &mut comment.apart),
            None => match body.end.first_mut() {
                Some(comment) => &mut comment.apart,
                None => return self.body,
            },
        };
        *apart = false;
        self.body
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    mode: Mode,
    found: Vec<Diagnostic>,
    current: Token<'a>,
    ahead: Option<Token<'a>>,
    /// Where the token before the current one ended.
    behind: Place,
    /// Comments within the item that is being read.
    inner_comments: Vec<Comment>,
    items: usize,
    /// Blocks that are missing their end were complained of.
    unclosed: bool,
    stopped: bool,
}

impl<'a> Parser<'a> {
    fn new(files: &'a Files, file: u32, mode: Mode) -> Parser<'a> {
        let mut lexer = Lexer::of(files, file);
        let mut found = Vec::new();
        if files.get(file).text.len() > MOST_BYTES {
            let place = Place { file, line: 1, column: 1, length: 1 };
            let mib = MOST_BYTES >> 20;
            found.push(Diagnostic::error(place, format!("the file is longer than {mib} MiB, the most that is read")));
            lexer.stop();
        }
        let current = lexer.next(&mut found);
        let behind = current.place;
        let mut parser = Parser {
            lexer,
            mode,
            found: Vec::new(),
            current,
            ahead: None,
            behind,
            inner_comments: Vec::new(),
            items: 0,
            unclosed: false,
            stopped: false,
        };
        found.into_iter().for_each(|one| parser.say(one));
        parser
    }

    fn failed(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        if self.stopped {
            return;
        }
        let (is_error, place) = (diagnostic.is_error(), diagnostic.place);
        let told = self.found.iter().filter(|one| one.is_error() == is_error).count();
        match is_error {
            true if told + 1 == MOST_ERRORS => {
                self.found.push(diagnostic);
                self.stop(Diagnostic::error(place, "so many errors that the rest is not read"));
            }
            false if told == MOST_WARNINGS => {
                self.found.push(Diagnostic::warning(place, "so many warnings that others are not told"));
            }
            false if told > MOST_WARNINGS => {}
            _ => self.found.push(diagnostic),
        }
    }

    /// Reads no further.
    fn stop(&mut self, why: Diagnostic) {
        if !self.stopped {
            self.found.push(why);
        }
        self.stopped = true;
        self.lexer.stop();
        self.ahead = None;
        let place = self.current.place;
        self.current = Token { kind: Kind::EndOfFile, place, asides: Vec::new(), on_new_line: true, apart: false };
    }

    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Result<T, Skip> {
        self.say(diagnostic);
        Err(Skip)
    }

    /// The next token from the text.
    fn lexed(&mut self) -> Token<'a> {
        let mut found = Vec::new();
        let token = self.lexer.next(&mut found);
        found.into_iter().for_each(|one| self.say(one));
        token
    }

    /// Goes to the next token. Comments before the one that is left have been taken by then, or are within an item.
    fn take(&mut self) -> Token<'a> {
        let next = match self.ahead.take() {
            Some(token) => token,
            None => self.lexed(),
        };
        let mut token = std::mem::replace(&mut self.current, next);
        self.inner_comments.extend(token.asides.drain(..).map(|aside| Comment { apart: false, ..aside.comment }));
        let Place { column, length, .. } = token.place;
        self.behind = Place { column: column + length, length: 1, ..token.place };
        token
    }

    fn at(&self, kind: &Kind<'_>) -> bool {
        self.current.kind == *kind
    }

    /// The token behind the current one.
    fn peek(&mut self) -> &Token<'a> {
        if self.ahead.is_none() {
            self.ahead = Some(self.lexed());
        }
        self.ahead.as_ref().unwrap_or(&self.current)
    }

    /// Counts blocks, parameters and arguments.
    fn count(&mut self) {
        self.items += 1;
        if self.items > MOST_ITEMS {
            let place = self.current.place;
            self.stop(Diagnostic::error(place, format!("more than {MOST_ITEMS} blocks, parameters and arguments")));
        }
    }

    /// Whether an item begins at the current token.
    fn begins_item(&mut self) -> bool {
        match &self.current.kind {
            Kind::Directive(_) => true,
            Kind::Word(_) => matches!(self.peek().kind, Kind::Equals | Kind::Open | Kind::Word(_)),
            _ => false,
        }
    }

    /// Leaves out what is left of an item: to its `;` or block, or to a line on which another begins. Variables that are defined there
    /// are `lost`.
    fn skip_item(&mut self, lost: &mut Vec<String>) {
        while !(self.current.on_new_line && self.begins_item()) {
            match self.current.kind {
                Kind::EndOfFile | Kind::Close => return,
                Kind::Open => return self.skip_block(),
                Kind::Semicolon => return drop(self.take()),
                Kind::Directive("let") => {
                    self.take();
                    if let Kind::Word(name) = self.current.kind {
                        lost.push(name.to_owned());
                    }
                }
                _ => drop(self.take()),
            }
        }
    }

    /// Leaves out a block from its `{` to its `}`.
    fn skip_block(&mut self) {
        let mut open = 0_u64;
        loop {
            match self.current.kind {
                Kind::EndOfFile => return,
                Kind::Open => open += 1,
                Kind::Close if open <= 1 => return drop(self.take()),
                Kind::Close => open -= 1,
                _ => {}
            }
            self.take();
        }
    }

    /// Comments before the current token.
    fn comments(&mut self) -> Around {
        let before = self.current.asides.drain(..).map(|aside| aside.comment).collect();
        Around { before, apart: self.current.apart, after: Vec::new() }
    }

    /// Comments behind the token before the current one, on its line.
    fn comments_behind(&mut self) -> Vec<Comment> {
        let same_line = self.current.asides.iter().take_while(|aside| aside.same_line).count();
        self.current.asides.drain(..same_line).map(|aside| aside.comment).collect()
    }

    /// What is about an item that ends here: comments before it, in it, which come before it too, and behind it.
    fn around(&mut self, mut around: Around) -> Around {
        around.before.append(&mut self.inner_comments);
        around.after = self.comments_behind();
        around
    }

    /// A whole file.
    fn file(&mut self) -> Body {
        let mut items = Items::new(0, None);
        loop {
            self.items(&mut items);
            if !self.at(&Kind::Close) {
                return items.finish();
            }
            let place = self.current.place;
            self.say(Diagnostic::error(place, "there is no block that this \"}\" could end"));
            self.take();
        }
    }

    /// Items to a `}` or the end of the file.
    fn items(&mut self, items: &mut Items<'a>) {
        // Comments before a `;` that ends nothing are before what comes.
        let mut before = Vec::new();
        loop {
            self.inner_comments.clear();
            let mut around = self.comments();
            before.append(&mut around.before);
            if self.at(&Kind::Semicolon) {
                self.slip(self.current.place, "this \";\" ends nothing");
                self.take();
                continue;
            }
            around.before = std::mem::take(&mut before);
            let read = match self.current.kind {
                Kind::Close | Kind::EndOfFile => {
                    items.body.end.extend(around.before);
                    return;
                }
                Kind::Directive(name) => self.directive(name, items, around),
                Kind::Word(name) => match self.peek().kind {
                    Kind::Equals => self.parameter(name, items, around),
                    _ => self.block(name, items, around),
                },
                _ => self.expected("a parameter or a block", None).map(drop),
            };
            if let Err(Skip) = read {
                let lost = items.body.lost.get_or_insert_default();
                self.skip_item(lost);
            }
        }
    }

    /// Something else than what stands here was expected.
    fn expected(&mut self, what: &str, hint: Option<String>) -> Result<(), Skip> {
        let (words, place) = (self.current.kind.words(), self.current.place);
        self.say(Diagnostic::error(place, format!("{what} is expected here, not {words}")).hint_if(hint));
        // Otherwise the same would be met again.
        if let Kind::Begin | Kind::End | Kind::BeginList | Kind::EndList | Kind::Comma | Kind::Equals | Kind::Text(_) =
            self.current.kind
        {
            self.take();
        }
        Err(Skip)
    }

    /// What lenient scripts may have.
    fn slip(&mut self, place: Place, message: &str) {
        self.say(match self.mode {
            Mode::Lenient => Diagnostic::warning(place, message),
            Mode::Strict => Diagnostic::error(place, message),
        });
    }

    /// The word that stands here, which names `what`: its place, and whether it may be a name. What it names is read in any case, so that
    /// nothing in there is taken for something else.
    fn name(&mut self, name: &'a str, what: &str) -> (Place, bool) {
        let place = self.current.place;
        self.take();
        let is_name = word::is_identifier(name);
        if !is_name {
            let hint = "a name is of letters, digits, \"-\" and \"_\", and begins with none of the digits";
            self.say(Diagnostic::error(place, format!("\"{name}\" cannot name {what}")).hint(hint));
        }
        (place, is_name)
    }

    /// `name = value;`
    fn parameter(&mut self, name: &'a str, items: &mut Items<'a>, around: Around) -> Result<(), Skip> {
        let (place, is_name) = self.name(name, "a parameter");
        self.count();
        self.take();
        let value = self.value(0)?;
        self.end_of_item(items);
        let around = self.around(around);
        if !is_name {
            items.body.lost.get_or_insert_default();
        } else if self.is_new(&mut items.parameters, name, place)
            && let Some(value) = items.kept(value)
        {
            items.body.parameters.push(Parameter { name: name.to_owned(), place, value, around });
        }
        Ok(())
    }

    /// Whether a name stands for the first time.
    fn is_new(&mut self, names: &mut BTreeMap<&'a str, Place>, name: &'a str, place: Place) -> bool {
        let Some(first) = names.get(name) else {
            names.insert(name, place);
            return true;
        };
        let hint = format!("it stands in line {} already", first.line);
        self.say(Diagnostic::error(place, format!("{name} is given twice")).hint(hint));
        false
    }

    /// The end of a parameter or of what is marked by `@`.
    fn end_of_item(&mut self, items: &mut Items<'a>) {
        match self.current.kind {
            Kind::Semicolon => drop(self.take()),
            Kind::Close | Kind::EndOfFile => self.slip(self.behind, "a \";\" is missing"),
            _ if self.current.on_new_line => self.slip(self.behind, "a \";\" is missing"),
            _ => {
                let (place, words) = (self.current.place, self.current.kind.words());
                self.say(Diagnostic::error(place, format!("a \";\" is missing before {words}")));
                if !self.begins_item() {
                    self.skip_item(items.body.lost.get_or_insert_default());
                }
            }
        }
    }

    /// `keyword address { ... }`
    fn block(&mut self, keyword: &'a str, items: &mut Items<'a>, around: Around) -> Result<(), Skip> {
        let (place, is_name) = self.name(keyword, "a block");
        if !is_name {
            return Err(Skip);
        }
        self.count();
        // A word on a line of its own is no keyword of the block on the next.
        let begins =
            self.current.on_new_line && matches!(self.current.kind, Kind::Word(word) if Keyword::of(word).is_some());
        let opens = !begins && self.peek().kind == Kind::Open;
        let address = match self.current.kind {
            Kind::Word(text) if opens => self.word(text).filter(|word| {
                let is_number = word.form == Form::Quantity;
                if is_number {
                    self.say(Diagnostic::error(word.place, format!("{text} is no address of a host")));
                }
                !is_number
            }),
            _ => None,
        };
        if !self.at(&Kind::Open) {
            let (here, words) = (self.current.place, self.current.kind.words());
            let error = Diagnostic::error(here, format!("\"{keyword}\" is followed by {words}"));
            self.say(error.hint("\"=\" makes a parameter of it, \"{\" a block"));
            while matches!(self.current.kind, Kind::Word(_)) && !(self.current.on_new_line && self.begins_item()) {
                self.take();
            }
            // What is in the block may be wrong too.
            if !self.at(&Kind::Open) {
                return Err(Skip);
            }
        }
        if let Some(leaf) = items.leaf {
            items.misplaced += 1;
            if items.misplaced == 1 {
                let error = Diagnostic::error(place, format!("{leaf} is a kind of leaf, and leaves hold no blocks"));
                self.say(error.hint_if(did_you_mean(leaf, &Keyword::ALL.map(Keyword::word))));
            }
        }
        if items.depth == MOST_DEPTH {
            let message = format!("more than {MOST_DEPTH} blocks within each other");
            self.say(Diagnostic::error(place, message));
            self.skip_block();
            return Ok(());
        }
        let leaf = Keyword::of(keyword).is_none().then_some(keyword);
        self.take();
        let open = self.comments_behind();
        let mut inner = Items::new(items.depth + 1, leaf);
        let around_it = std::mem::take(&mut self.inner_comments);
        self.items(&mut inner);
        self.inner_comments = around_it;
        if leaf.is_some() && inner.misplaced == 0 {
            self.suspect(keyword, place);
        }
        if self.at(&Kind::Close) {
            self.take();
        } else if !self.unclosed {
            self.unclosed = true;
            let hint = format!("the {keyword} that begins in line {} has no end", place.line);
            self.say(Diagnostic::error(self.behind, "a \"}\" is missing").hint(hint));
        }
        let around = self.around(around);
        if items.leaf.is_some() {
            return Ok(());
        }
        let (keyword, body) = (keyword.to_owned(), inner.finish());
        items.body.children.push(Child::Block(Block { keyword, place, address, body, open, around }));
        Ok(())
    }

    /// Warns of a kind of leaf that is spelt nearly like something else.
    fn suspect(&mut self, keyword: &str, place: Place) {
        if let Some(meant) = did_you_mean(keyword, &Keyword::ALL.map(Keyword::word)) {
            self.say(Diagnostic::warning(place, format!("{keyword} is taken for a kind of leaf")).hint(meant));
        }
    }

    /// `@let name = value;` or `@include "file";`
    fn directive(&mut self, directive: &str, items: &mut Items<'a>, around: Around) -> Result<(), Skip> {
        let at = self.current.place;
        self.take();
        let place = self.current.place;
        match directive {
            "let" => {
                let Kind::Word(name) = self.current.kind else { return self.expected("the name of a variable", None) };
                let is_name = word::is_variable(name);
                if !is_name {
                    let error = Diagnostic::error(place, format!("\"{name}\" cannot name a variable"));
                    self.say(error.hint("such a name is of letters, digits and \"_\", and begins with no digit"));
                }
                self.count();
                self.take();
                if !self.at(&Kind::Equals) {
                    items.lose(name);
                    return self.expected("\"=\"", None);
                }
                self.take();
                let value = self.value(0).inspect_err(|_| items.lose(name))?;
                self.end_of_item(items);
                let around = self.around(around);
                if !is_name {
                    items.lose(name);
                } else if self.is_new(&mut items.variables, name, place) {
                    match value {
                        Some(value) => items.body.lets.push(Let { name: name.to_owned(), place, value, around }),
                        None => items.lose(name),
                    }
                }
            }
            "include" => {
                let Kind::Text(file) = self.current.kind.clone() else {
                    return self.expected("the name of a file in quotes", None);
                };
                self.count();
                self.take();
                self.end_of_item(items);
                let around = self.around(around);
                items.body.children.push(Child::Include(Include { file, place, around }));
            }
            other => {
                let meant = nearest(other, &["let", "include"]).map(|meant| format!("did you mean \"@{meant}\"?"));
                let error = Diagnostic::error(at, format!("\"@{other}\" is not known"));
                return self.fail(error.hint("known: @let, @include").hint_if(meant));
            }
        }
        Ok(())
    }

    /// A value, within `calls` functions; nothing where it means nothing, and what is behind it can be read.
    fn value(&mut self, calls: usize) -> Result<Option<Value>, Skip> {
        match self.current.kind.clone() {
            Kind::Text(text) => {
                let place = self.current.place;
                self.take();
                Ok(Some(Value::Text(Text { text, place })))
            }
            // On a line of its own, what looks like the next item is that.
            Kind::Word(_) if self.current.on_new_line && self.begins_item() => {
                self.fail(Diagnostic::error(self.behind, "a value is missing"))
            }
            Kind::Word(name) if self.peek().kind == Kind::Begin => self.function(name, calls),
            Kind::Word(text) => Ok(self.word(text).map(Value::Word)),
            Kind::BeginList => self.list(calls),
            Kind::Comma | Kind::End | Kind::EndList if calls > 0 => {
                self.say(Diagnostic::error(self.behind, "a value is missing"));
                Ok(None)
            }
            Kind::Semicolon | Kind::Comma | Kind::End | Kind::EndList | Kind::Close | Kind::EndOfFile => {
                self.fail(Diagnostic::error(self.behind, "a value is missing"))
            }
            _ => self.expected("a value", None).and(Err(Skip)),
        }
    }

    /// The word that stands here, if it means something.
    fn word(&mut self, text: &'a str) -> Option<Word> {
        let place = self.current.place;
        self.take();
        let form = word::form(text);
        form.map(|form| Word { text: text.to_owned(), form, place })
            .map_err(|error| self.say(Diagnostic::error(place, error.problem).hint_if(error.hint)))
            .ok()
    }

    /// Leaves out the rest of a function or list in which something is wrong, if it has an end: what looks like an item is an argument
    /// there, and an item only where a `;` or a block comes before the end.
    fn skip_brackets(&mut self) {
        let mut lexer = self.lexer.clone();
        let mut found = Vec::new();
        let ahead = self.ahead.as_ref().map(|token| token.kind.clone());
        let mut next = [Some(self.current.kind.clone()), ahead].into_iter().flatten().collect::<VecDeque<_>>();
        let (mut open, mut tokens) = (0_u64, 0_u64);
        loop {
            let kind = next.pop_front().unwrap_or_else(|| lexer.next(&mut found).kind);
            tokens += 1;
            match kind {
                Kind::Begin | Kind::BeginList => open += 1,
                Kind::End | Kind::EndList if open == 0 => break,
                Kind::End | Kind::EndList => open -= 1,
                Kind::Semicolon | Kind::Open | Kind::Close | Kind::EndOfFile | Kind::Directive(_) => return,
                _ => {}
            }
        }
        (0..tokens).for_each(|_| drop(self.take()));
    }

    /// `name(argument = value, ...)`; nothing if one of the arguments is none.
    fn function(&mut self, name: &'a str, calls: usize) -> Result<Option<Value>, Skip> {
        self.arguments(name, calls).inspect_err(|_| self.skip_brackets())
    }

    fn arguments(&mut self, name: &'a str, calls: usize) -> Result<Option<Value>, Skip> {
        let (place, is_name) = self.name(name, "a function");
        if calls == MOST_CALLS {
            return self.fail(Diagnostic::error(place, format!("more than {MOST_CALLS} functions within each other")));
        }
        let opened = self.take().place;
        let mut arguments = is_name.then(Vec::new);
        let mut names = BTreeMap::new();
        loop {
            if self.at(&Kind::End) {
                self.take();
                let function = |arguments| Value::Function(Function { name: name.to_owned(), place, arguments });
                return Ok(arguments.map(function));
            }
            let is_named = self.peek().kind == Kind::Equals;
            let named = match self.current.kind {
                Kind::Word(name) if is_named => Some(name),
                _ => None,
            };
            let Some(argument) = named else {
                let hint = self.unended("(", opened).unwrap_or_else(|| "arguments are written name = value".to_owned());
                return self.expected("an argument or \")\"", Some(hint)).and(Err(Skip));
            };
            let (place, is_name) = self.name(argument, "an argument");
            self.count();
            self.take();
            let value = self.value(calls + 1)?;
            if !is_name {
                arguments = None;
            } else if self.is_new(&mut names, argument, place) {
                let named = |value| Argument { name: argument.to_owned(), place, value };
                arguments = with(arguments, value.map(named));
            }
            match self.current.kind {
                Kind::Comma => drop(self.take()),
                Kind::End => {}
                _ => {
                    let hint = self.unended("(", opened);
                    return self.expected("\",\" or \")\"", hint).and(Err(Skip));
                }
            }
        }
    }

    /// `[value, ...]`; nothing if one of the values is none.
    fn list(&mut self, calls: usize) -> Result<Option<Value>, Skip> {
        self.list_items(calls).inspect_err(|_| self.skip_brackets())
    }

    fn list_items(&mut self, calls: usize) -> Result<Option<Value>, Skip> {
        let place = self.current.place;
        if calls == MOST_CALLS {
            return self.fail(Diagnostic::error(place, format!("more than {MOST_CALLS} functions within each other")));
        }
        self.take();
        let mut items = Some(Vec::new());
        loop {
            if self.at(&Kind::EndList) {
                self.take();
                return Ok(items.map(|items| Value::List(List { items, place })));
            }
            self.count();
            items = with(items, self.value(calls + 1)?);
            match self.current.kind {
                Kind::Comma => drop(self.take()),
                Kind::EndList => {}
                _ => {
                    let hint = self.unended("[", place);
                    return self.expected("\",\" or \"]\"", hint).and(Err(Skip));
                }
            }
        }
    }

    /// What to do where the bracket at `opened` has no end before the item has.
    fn unended(&self, bracket: &str, opened: Place) -> Option<String> {
        let ends = matches!(self.current.kind, Kind::Semicolon | Kind::Close | Kind::EndOfFile);
        ends.then(|| format!("the \"{bracket}\" in line {} has no end", opened.line))
    }
}

/// `list` with one more; nothing without one of them.
fn with<T>(list: Option<Vec<T>>, one: Option<T>) -> Option<Vec<T>> {
    let (mut list, one) = list.zip(one)?;
    list.push(one);
    Some(list)
}

#[cfg(test)]
mod tests;
