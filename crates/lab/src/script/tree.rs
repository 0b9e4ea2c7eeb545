//! What a script says, as a tree. Values stay text until they reach a leaf (methods J.1).

use super::place::Place;

/// A comment with its marks, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The comment; line ends within it are `\n`.
    pub text: String,
    /// An empty line stands before it.
    pub apart: bool,
}

/// What is about an item and means nothing to the lab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Comments before it.
    pub before: Vec<Comment>,
    /// An empty line stands before it, behind those comments.
    pub apart: bool,
    /// Comments behind it on its last line.
    pub after: Vec<Comment>,
}

/// What stands between the braces of a block, or in a file. Two are equal if they say the same, whatever could not be read beside it.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Variables that are defined here (an extension).
    pub lets: Vec<Let>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Blocks within, in their order, and files with more of them.
    pub children: Vec<Child>,
    /// Comments behind all that.
    pub end: Vec<Comment>,
    /// What could not be read: nothing, or something that defines these variables.
    pub lost: Option<Vec<String>>,
}

impl PartialEq for Body {
    fn eq(&self, other: &Body) -> bool {
        let Body { lets, parameters, children, end, lost: _ } = self;
        (lets, parameters, children, end) == (&other.lets, &other.parameters, &other.children, &other.end)
    }
}

impl Eq for Body {}

/// A block within another, or a file with such (an extension).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// A block.
    Block(Block),
    /// A file.
    Include(Include),
}

/// `keyword address { ... }`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What kind of block it is.
    pub keyword: String,
    /// Where the keyword stands.
    pub place: Place,
    /// The host that it runs on.
    pub address: Option<Word>,
    /// What stands in it.
    pub body: Body,
    /// Comments behind `{` on its line.
    pub open: Vec<Comment>,
    /// What is about it.
    pub around: Around,
}

/// `name = value;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub place: Place,
    /// What it is set to.
    pub value: Value,
    /// What is about it.
    pub around: Around,
}

/// `@let name = value;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Let {
    /// Name of the variable.
    pub name: String,
    /// Where the name stands.
    pub place: Place,
    /// What it stands for.
    pub value: Value,
    /// What is about it.
    pub around: Around,
}

/// `@include "file";`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// The file, as it is named.
    pub file: String,
    /// Where its name stands.
    pub place: Place,
    /// What is about it.
    pub around: Around,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `name(argument = value, ...)`
    Function(Function),
    /// `[value, ...]` (an extension).
    List(List),
    /// `"text"`
    Text(Text),
    /// Anything else.
    Word(Word),
}

/// `[value, ...]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Its values.
    pub items: Vec<Value>,
    /// Where it begins.
    pub place: Place,
}

/// `"text"`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What stands between the quotes, with escapes resolved.
    pub text: String,
    /// Where.
    pub place: Place,
}

/// A value without quotes and parentheses, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub text: String,
    /// What its form says it is.
    pub form: Form,
    /// Where.
    pub place: Place,
}

/// What the form of a word says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number, perhaps with a multiplier.
    Quantity,
    /// A host, perhaps with a port. A name without points and port is an identifier.
    Address,
    /// A name.
    Identifier,
    /// It has a variable in it, and is something only when that is known (an extension).
    Variable,
}

/// `name(argument = value, ...)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub place: Place,
    /// What it is called with.
    pub arguments: Vec<Argument>,
}

/// `name = value` in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub place: Place,
    /// Its value.
    pub value: Value,
}

impl Child {
    /// Where it stands.
    pub fn place(&self) -> Place {
        match self {
            Child::Block(block) => block.place,
            Child::Include(include) => include.place,
        }
    }
}

impl Value {
    /// Where it stands.
    pub fn place(&self) -> Place {
        match self {
            Value::Function(function) => function.place,
            Value::List(list) => list.place,
            Value::Text(text) => text.place,
            Value::Word(word) => word.place,
        }
    }
}

impl Body {
    /// The blocks within; files that were not read are left out.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.children.iter().filter_map(|child| match child {
            Child::Block(block) => Some(block),
            Child::Include(_) => None,
        })
    }
}

/// How the blocks within a block belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// At the same time, and if one fails all have.
    Cluster,
    /// At the same time.
    Parallel,
    /// One after the other.
    Serial,
}

impl Keyword {
    /// All of them.
    pub const ALL: [Keyword; 3] = [Keyword::Cluster, Keyword::Parallel, Keyword::Serial];

    /// As scripts spell it.
    pub const fn word(self) -> &'static str {
        match self {
            Keyword::Cluster => "cluster",
            Keyword::Parallel => "parallel",
            Keyword::Serial => "serial",
        }
    }

    /// What `word` is, if it is no kind of leaf.
    pub fn of(word: &str) -> Option<Keyword> {
        Keyword::ALL.into_iter().find(|keyword| keyword.word() == word)
    }
}

impl Block {
    /// How its blocks belong together; nothing of a leaf, which has none.
    pub fn control(&self) -> Option<Keyword> {
        Keyword::of(&self.keyword)
    }
}
