//! The language as a whole: random scripts come back from their layout, damaged ones never panic, and the scripts of the shared data are
//! read.

use std::fs;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use flowloom_lab::script::diagnostic::Diagnostic;
use flowloom_lab::script::format::format;
use flowloom_lab::script::parser::{self, Mode, fragment, script};
use flowloom_lab::script::place::{Files, Place};
use flowloom_lab::script::toml_form;
use flowloom_lab::script::tree::{
    Argument, Around, Block, Body, Child, Comment, Form, Function, Include, Let, List, Parameter, Text, Value, Word,
};

fn word(form: Form, pattern: &'static str) -> impl Strategy<Value = Word> {
    pattern.prop_map(move |text| Word { text, form, place: Place::default() })
}

fn address() -> impl Strategy<Value = Word> {
    prop_oneof![
        word(Form::Address, "[a-z][a-z0-9]{0,5}(\\.[a-z]{2,4})?:(0|[1-9][0-9]{0,3})"),
        word(Form::Address, "[1-9]\\.0\\.2\\.[1-9](:[1-5][0-9]{0,4})?"),
        word(Form::Address, "\\[(2001:db8::[1-9a-f]{1,4}|::1)\\](:[1-9])?"),
        word(Form::Address, "[a-z]{1,3}\\.[a-z]{2,3}"),
        word(Form::Identifier, "[a-zA-Z_][a-zA-Z0-9_-]{0,6}"),
        word(Form::Variable, "\\$[a-z]{1,3}(-[a-z])?(:[0-9])?|\\$\\{[a-z]\\}[0-9]"),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        address().prop_map(Value::Word),
        word(Form::Quantity, "-?(0|[1-9][0-9]{0,6})(\\.[0-9]{1,3})?(e-?[1-9])?[KMG]?").prop_map(Value::Word),
        word(Form::Quantity, "0[0-9]{1,3}|\\.[0-9]").prop_map(Value::Word),
        word(Form::Identifier, "true|false|inf|nan|udp").prop_map(Value::Word),
        "[ -~é\n\r\t]{0,12}".prop_map(|text| Value::Text(Text { text, place: Place::default() })),
        "udp|16K|a:1|\\$a".prop_map(|text| Value::Text(Text { text, place: Place::default() })),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let arguments = btree_map("[a-z][a-z0-9-]{0,12}", inner.clone(), 0..4);
        let function = ("[a-zA-Z][a-zA-Z0-9]{0,20}", arguments).prop_map(|(name, arguments)| {
            let place = Place::default();
            let arguments = arguments.into_iter().map(|(name, value)| Argument { name, place, value }).collect();
            Value::Function(Function { name, place, arguments })
        });
        let list = vec(inner, 0..4).prop_map(|items| Value::List(List { items, place: Place::default() }));
        prop_oneof![3 => function, 1 => list]
    })
}

fn own_line() -> impl Strategy<Value = Vec<Comment>> {
    let text = prop_oneof!["# [a-z{};\"]{1,6}", "// [a-z=]{1,4}", "/\\*[ a-z\n]{0,6}\\*/"];
    vec((text, any::<bool>()).prop_map(|(text, apart)| Comment { text, apart }), 0..2)
}

/// Comments behind something: only the last can be one that goes to the end of the line.
fn behind() -> impl Strategy<Value = Vec<Comment>> {
    (vec("/\\* [a-z\n]{0,3} \\*/", 0..2), option::of("# [a-z]{1,3}"))
        .prop_map(|(blocks, line)| blocks.into_iter().chain(line).map(|text| Comment { text, apart: false }).collect())
}

fn around() -> impl Strategy<Value = Around> {
    (own_line(), any::<bool>(), behind()).prop_map(|(before, apart, after)| Around { before, apart, after })
}

fn include() -> impl Strategy<Value = Child> {
    ("[a-z /\"\\\\]{1,8}", around())
        .prop_map(|(file, around)| Child::Include(Include { file, place: Place::default(), around }))
}

/// What stands in a file or a block, with `children`.
fn body_of(children: impl Strategy<Value = Vec<Child>>) -> impl Strategy<Value = Body> {
    let place = Place::default();
    let lets = btree_map("[a-z][a-z0-9_]{0,4}", (value(), around()), 0..2);
    let parameters = btree_map("[a-z][a-z0-9_-]{0,6}", (value(), around()), 0..4);
    (lets, parameters, children, own_line()).prop_map(move |(lets, parameters, children, end)| {
        let lets = lets.into_iter().map(|(name, (value, around))| Let { name, place, value, around }).collect();
        let parameters =
            parameters.into_iter().map(|(name, (value, around))| Parameter { name, place, value, around }).collect();
        let mut body = Body { lets, parameters, children, end, lost: None };
        settle(&mut body);
        body
    })
}

/// What comes first in a body stands apart from nothing.
fn settle(body: &mut Body) {
    let first = |around: &mut Around| match around.before.first_mut() {
        Some(comment) => comment.apart = false,
        None => around.apart = false,
    };
    if let Some(one) = body.lets.first_mut() {
        first(&mut one.around);
    } else if let Some(parameter) = body.parameters.first_mut() {
        first(&mut parameter.around);
    } else if let Some(child) = body.children.first_mut() {
        match child {
            Child::Block(block) => first(&mut block.around),
            Child::Include(include) => first(&mut include.around),
        }
    } else if let Some(comment) = body.end.first_mut() {
        comment.apart = false;
    }
}

/// Leaves out what means nothing.
fn bare(body: &mut Body) {
    body.lets.iter_mut().for_each(|one| one.around = Around::default());
    body.parameters.iter_mut().for_each(|parameter| parameter.around = Around::default());
    for child in &mut body.children {
        match child {
            Child::Include(include) => include.around = Around::default(),
            Child::Block(block) => {
                (block.around, block.open) = (Around::default(), Vec::new());
                bare(&mut block.body);
            }
        }
    }
    body.end.clear();
}

fn block(keyword: &'static str, body: impl Strategy<Value = Body>) -> impl Strategy<Value = Child> {
    (keyword, option::of(address()), body, behind(), around()).prop_map(|(keyword, address, body, open, around)| {
        Child::Block(Block { keyword, place: Place::default(), address, body, open, around })
    })
}

fn child() -> impl Strategy<Value = Child> {
    let leaf = block("test|other", body_of(vec(include(), 0..2)));
    leaf.prop_recursive(3, 12, 4, |inner| {
        block("cluster|parallel|serial", body_of(vec(prop_oneof![3 => inner, 1 => include()], 0..4)))
    })
}

fn body() -> impl Strategy<Value = Body> {
    body_of(vec(child(), 0..3))
}

fn read(text: &str, mode: Mode) -> (Body, Vec<Diagnostic>, Files) {
    let mut files = Files::new();
    let file = files.add("a.ns", text, None);
    let (body, found) = fragment(&files, file, mode);
    (body, found, files)
}

fn told(found: &[Diagnostic], files: &Files) -> String {
    found.iter().map(|one| one.summary(files) + "\n").collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(9), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_laid_out_is_read_as_the_same(body in body()) {
        let text = format(&body);
        let (read, found, files) = read(&text, Mode::Strict);
        prop_assert!(found.is_empty(), "{text}\n{}", told(&found, &files));
        prop_assert_eq!(format(&read), text.clone(), "a second time changes nothing");
        prop_assert_eq!(read, body, "{}", text);
    }

    #[test]
    fn toml_says_the_same(mut body in body()) {
        bare(&mut body);
        let text = toml_form::write(&body);
        let mut files = Files::new();
        let file = files.add("a.toml", &text, None);
        let (read, found) = toml_form::read(&files, file);
        prop_assert!(found.is_empty(), "{text}\n{}", told(&found, &files));
        prop_assert_eq!(toml_form::write(&read), text.clone());
        prop_assert_eq!(read, body, "{}", text);
    }

    /// Cut, with characters changed, or with other tokens between: what is said has a place in the text, and what is read despite it can
    /// be laid out, and then is read as the same.
    #[test]
    fn what_is_damaged_is_told_and_never_panics(
        body in body(),
        damage in vec((any::<prop::sample::Index>(), 0_usize..4, "[{}();=,@\"#/$\\[\\]:\\\\ \n*é]|test |= 1|/\\*|[a-z0-9.-]"), 1..6),
    ) {
        let mut text = format(&body);
        for (at, length, with) in damage {
            let mut from = at.index(text.len() + 1);
            while !text.is_char_boundary(from) { from -= 1; }
            let mut to = (from + length).min(text.len());
            while !text.is_char_boundary(to) { to += 1; }
            text.replace_range(from..to, &with);
        }
        for mode in [Mode::Lenient, Mode::Strict] {
            let (damaged, found, files) = read(&text, mode);
            for one in &found {
                let lines = text.split('\n').count() as u32;
                prop_assert!((1..=lines).contains(&one.place.line), "{}\n{text}", one.summary(&files));
                let width = files.line(one.place).chars().count() as u32 + 2;
                prop_assert!((1..=width).contains(&one.place.column), "{}\n{text}", one.summary(&files));
            }
            let again = format(&damaged);
            let (second, found, files) = read(&again, Mode::Strict);
            prop_assert!(!found.iter().any(Diagnostic::is_error), "{text}\n--\n{again}\n{}", told(&found, &files));
            prop_assert_eq!(format(&second), again, "{}", text);
            prop_assert_eq!(second, damaged, "{}", text);
        }
        let mut files = Files::new();
        let file = files.add("command", &text, None);
        let _ = (script(&files, file, Mode::Lenient), parser::block(&files, file));
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        let (_, found, files) = read(&text, Mode::Lenient);
        told(&found, &files);
    }
}

/// The scripts of the shared data, by name.
fn shared() -> Vec<(String, String)> {
    let Some(folder) = flowloom_needs::shared("lab: scripts of NetSpec", "netspec") else { return Vec::new() };
    let paths = fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path()));
    let scripts = paths.filter(|path| path.extension().is_some_and(|ending| ending == "ns"));
    let mut scripts: Vec<_> = scripts
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("a script"))
        })
        .collect();
    scripts.sort();
    assert_eq!(scripts.len(), 3);
    scripts
}

#[test]
fn shared_scripts_are_read() {
    for (name, text) in shared() {
        let mut files = Files::new();
        let file = files.add(&name, &text, None);
        let (body, found) = script(&files, file, Mode::Lenient);
        // The third lacks a `;`, as a published one does.
        let wanted = match name.starts_with("03") {
            true => "03-emulated-sources.ns:30:21: a \";\" is missing\n",
            false => "",
        };
        assert_eq!(told(&found, &files), wanted);
        let laid_out = format(&body);
        let (again, found, files) = read(&laid_out, Mode::Strict);
        assert_eq!(told(&found, &files), "");
        assert_eq!(again, body, "{laid_out}");
        let mut files = Files::new();
        let file = files.add("a.toml", &toml_form::write(&body), None);
        let (mut again, found) = toml_form::read(&files, file);
        let mut wanted = body;
        [&mut wanted, &mut again].into_iter().for_each(bare);
        assert_eq!((again, found), (wanted, Vec::new()));
    }
}
