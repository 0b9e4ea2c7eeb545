//! The canonical layout of a script. What is read of it is the same tree again, comments included.
//!
//! Two spaces for each block; variables first, then parameters, then blocks and files in their order; a function with its arguments on one
//! line if they fit, otherwise an argument a line. Empty lines between items stay, one for any number.

use std::fmt::Write;

use super::tree::{Argument, Around, Block, Body, Child, Comment, Function, Include, Let, Parameter, Value};

/// The longest line that arguments make.
const WIDTH: usize = 100;

/// The text of a script or of a file that one includes.
pub fn format(body: &Body) -> String {
    let mut out = String::new();
    write_body(&mut out, body, 0);
    out
}

/// The text of one block without its comments: what hosts give each other of a script, and what a delegation is of. Reading it and
/// writing it again makes the same text, and so does writing a block within it.
pub fn block(block: &Block) -> String {
    let mut out = String::new();
    write_block(&mut out, &bare(block), 0);
    out
}

/// A block without comments and empty lines.
fn bare(block: &Block) -> Block {
    let Block { keyword, place, address, body, .. } = block;
    let parameter = |one: &Parameter| Parameter { around: Around::default(), ..one.clone() };
    let body = Body {
        lets: body.lets.iter().map(|one| Let { around: Around::default(), ..one.clone() }).collect(),
        parameters: body.parameters.iter().map(parameter).collect(),
        children: body
            .children
            .iter()
            .map(|child| match child {
                Child::Block(block) => Child::Block(bare(block)),
                Child::Include(include) => Child::Include(Include { around: Around::default(), ..include.clone() }),
            })
            .collect(),
        end: Vec::new(),
        lost: None,
    };
    let (keyword, address) = (keyword.clone(), address.clone());
    Block { keyword, place: *place, address, body, open: Vec::new(), around: Around::default() }
}

/// Whether there are comments in it.
pub fn has_comments(body: &Body) -> bool {
    let about = |around: &Around| !around.before.is_empty() || !around.after.is_empty();
    let in_child = |child: &Child| match child {
        Child::Block(block) => about(&block.around) || !block.open.is_empty() || has_comments(&block.body),
        Child::Include(include) => about(&include.around),
    };
    body.lets.iter().any(|one| about(&one.around))
        || body.parameters.iter().any(|parameter| about(&parameter.around))
        || body.children.iter().any(in_child)
        || !body.end.is_empty()
}

/// A value on one line.
pub fn value(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn write_body(out: &mut String, body: &Body, depth: usize) {
    for one in &body.lets {
        before(out, &one.around, depth);
        let _ = write!(out, "@let {} = ", one.name);
        write_wide(out, &one.value, depth);
        behind(out, ";", &one.around.after);
    }
    for parameter in &body.parameters {
        before(out, &parameter.around, depth);
        let _ = write!(out, "{} = ", parameter.name);
        write_wide(out, &parameter.value, depth);
        behind(out, ";", &parameter.around.after);
    }
    for child in &body.children {
        match child {
            Child::Block(block) => write_block(out, block, depth),
            Child::Include(include) => {
                before(out, &include.around, depth);
                out.push_str("@include ");
                write_text(out, &include.file);
                behind(out, ";", &include.around.after);
            }
        }
    }
    comments(out, &body.end, depth);
}

fn write_block(out: &mut String, block: &Block, depth: usize) {
    before(out, &block.around, depth);
    out.push_str(&block.keyword);
    if let Some(address) = &block.address {
        let _ = write!(out, " {}", address.text);
    }
    let Body { lets, parameters, children, end, lost: _ } = &block.body;
    let is_empty = lets.is_empty() && parameters.is_empty() && children.is_empty() && end.is_empty();
    if is_empty && block.open.is_empty() {
        return behind(out, " {}", &block.around.after);
    }
    behind(out, " {", &block.open);
    write_body(out, &block.body, depth + 1);
    indent(out, depth);
    behind(out, "}", &block.around.after);
}

/// Comments of their own lines.
fn comments(out: &mut String, comments: &[Comment], depth: usize) {
    for comment in comments {
        if comment.apart {
            out.push('\n');
        }
        indent(out, depth);
        out.push_str(&comment.text);
        out.push('\n');
    }
}

/// What is before an item, to where it begins.
fn before(out: &mut String, around: &Around, depth: usize) {
    comments(out, &around.before, depth);
    if around.apart {
        out.push('\n');
    }
    indent(out, depth);
}

/// The end of an item, and comments behind it on its line.
fn behind(out: &mut String, end: &str, comments: &[Comment]) {
    out.push_str(end);
    for comment in comments {
        out.push(' ');
        out.push_str(&comment.text);
    }
    out.push('\n');
}

/// A value on one line if that is not too long, otherwise with a line for each argument. The line begins at the last end of a line of `out`.
fn write_wide(out: &mut String, value: &Value, depth: usize) {
    let begin = out.len();
    write_value(out, value);
    let line = out.len() - out.rfind('\n').map_or(0, |end| end + 1);
    // The sign behind it counts too.
    if line < WIDTH {
        return;
    }
    let function = match value {
        Value::Function(function) if !function.arguments.is_empty() => function,
        Value::List(list) if !list.items.is_empty() => {
            out.truncate(begin);
            out.push_str("[\n");
            for item in &list.items {
                indent(out, depth + 1);
                write_wide(out, item, depth + 1);
                out.push_str(",\n");
            }
            indent(out, depth);
            return out.push(']');
        }
        _ => return,
    };
    out.truncate(begin);
    let _ = writeln!(out, "{}(", function.name);
    for Argument { name, value, .. } in &function.arguments {
        indent(out, depth + 1);
        let _ = write!(out, "{name} = ");
        write_wide(out, value, depth + 1);
        out.push_str(",\n");
    }
    indent(out, depth);
    out.push(')');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Function(function) => write_function(out, function),
        Value::List(list) => {
            out.push('[');
            for (index, item) in list.items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Text(text) => write_text(out, &text.text),
        Value::Word(word) => out.push_str(&word.text),
    }
}

fn write_function(out: &mut String, function: &Function) {
    let _ = write!(out, "{}(", function.name);
    for (index, Argument { name, value, .. }) in function.arguments.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        let _ = write!(out, "{name} = ");
        write_value(out, value);
    }
    out.push(')');
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::super::parser::{Mode, script};
    use super::super::place::Files;
    use super::*;

    fn formatted(text: &str) -> String {
        let mut files = Files::new();
        let file = files.add("a.ns", text, None);
        let (body, found) = script(&files, file, Mode::Lenient);
        assert!(!found.iter().any(|one| one.is_error()), "{text}: {found:?}");
        format(&body)
    }

    #[test]
    fn the_layout_is_canonical() {
        let text = "# what it is\n\n\n/* for */ cluster /* all */ ctl:42010{ # open\n\n\n  # first\n test a {own=a:1;type = full (duration=1,\
            blocksize=32K ,)// behind\n peer=b:2;/* 1 */ # 2\n\n x = \"q\\\"\\t\"; # 3\n # last\n }\n @let n=5;\n\n serial{};\n\n\n # end\n}";
        let wanted = "# what it is\n\n/* for */\n/* all */\ncluster ctl:42010 { # open\n  @let n = 5;\n\n  # first\n  test a {\n    \
            own = a:1;\n    type = full(duration = 1, blocksize = 32K); // behind\n    peer = b:2; /* 1 */ # 2\n\n    \
            x = \"q\\\"\\t\"; # 3\n    # last\n  }\n\n  serial {}\n\n  # end\n}\n";
        let found = formatted(text);
        assert_eq!(formatted(&found), found, "a second time changes nothing");
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_block_by_itself_is_written_the_same_wherever_it_is_read() {
        let text = "# top\ncluster a { # open\n\n  # first\n  test b { # in\n x = f(y = 1); # behind\n\n z = \"q\"; }\n\n  /* 2 */ serial {\n\n test { } } # end\n}";
        let read = |text: &str| {
            let mut files = Files::new();
            let file = files.add("a.ns", text, None);
            crate::script::parser::block(&files, file).unwrap_or_else(|found| panic!("{text}: {found:?}"))
        };
        let whole = read(text);
        assert_eq!(block(&whole), formatted(&block(&whole)));
        assert!(!has_comments(&Body { children: vec![Child::Block(read(&block(&whole)))], ..Body::default() }));
        let again = read(&block(&whole));
        for (one, other) in whole.body.blocks().zip(again.body.blocks()) {
            assert_eq!(block(one), block(other));
        }
    }

    #[test]
    fn lists_are_laid_out_as_functions_are() {
        let item = "table(name = access, from = a, to = b, rate = 10M)";
        let text = format!("serial {{ path {{ via = [ a,b , ]; none = []; links = [{item}, {item}]; }} }}");
        let wanted = format!(
            "serial {{\n  path {{\n    via = [a, b];\n    none = [];\n    links = [\n      {item},\n      {item},\n    ];\n  }}\n}}\n"
        );
        assert_eq!(formatted(&text), wanted);
        assert_eq!(formatted(&wanted), wanted);
    }

    #[test]
    fn long_functions_have_a_line_for_each_argument() {
        let text = "serial { test { type = burstq (blocksize = ftpItemSize(min=8), repeats = ftpNOfItems(min=1), period = \
            ftpSessionInterarrival(lambda=0.00001, min=1000), buffer = 262144, duration = 20); } }";
        let wanted = "serial {\n  test {\n    type = burstq(\n      blocksize = ftpItemSize(min = 8),\n      repeats = \
            ftpNOfItems(min = 1),\n      period = ftpSessionInterarrival(lambda = 0.00001, min = 1000),\n      buffer = \
            262144,\n      duration = 20,\n    );\n  }\n}\n";
        assert_eq!(formatted(text), wanted);
        assert_eq!(formatted(wanted), wanted);
    }
}
