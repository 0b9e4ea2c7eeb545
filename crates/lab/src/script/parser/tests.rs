use super::*;

fn read(text: &str, mode: Mode) -> (Body, Vec<String>) {
    let mut files = Files::new();
    let file = files.add("a.ns", text, None);
    let (body, found) = script(&files, file, mode);
    (body, found.iter().map(|one| told(one, &files)).collect())
}

/// A diagnostic, and the line that it is about.
fn told(one: &Diagnostic, files: &Files) -> String {
    format!("{}: {}\n{}\n", one.severity.word(), one.summary(files), files.line(one.place))
}

/// What is said of a script, each as `severity: line:column: message | hint`.
fn said(text: &str, mode: Mode) -> Vec<String> {
    let mut files = Files::new();
    let file = files.add("a.ns", text, None);
    let (_, found) = script(&files, file, mode);
    let told = found.iter().map(|one| {
        let hint = one.hint.as_ref().map_or(String::new(), |hint| format!(" | {hint}"));
        format!("{}: {}:{}: {}{hint}", one.severity.word(), one.place.line, one.place.column, one.message)
    });
    told.collect()
}

/// The script that methods J.1 prints.
const PRINTED: &str = "cluster { test a:42005 { type = full (blocksize=32768, duration=10); protocol = tcp (window=128K, \
    tcpmtu=536); own = a:42005; peer = b:42006; } test b:42006 { type = sink (blocksize=32768, duration=10); protocol = tcp \
    (window=131072); own = b:42006; peer = a:42005; } }";

#[test]
fn the_printed_script_is_read_as_it_is_meant() {
    let (body, said) = read(PRINTED, Mode::Strict);
    assert_eq!(said, [""; 0]);
    let cluster = body.blocks().next().unwrap();
    assert_eq!((cluster.control(), cluster.body.children.len()), (Some(Keyword::Cluster), 2));
    let a = cluster.body.blocks().next().unwrap();
    assert_eq!((a.keyword.as_str(), a.control()), ("test", None));
    assert_eq!(
        a.address.as_ref().map(|address| (address.text.as_str(), address.form)),
        Some(("a:42005", Form::Address))
    );
    let names: Vec<_> = a.body.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["type", "protocol", "own", "peer"]);
    let Value::Function(protocol) = &a.body.parameters[1].value else { panic!("{:?}", a.body.parameters[1]) };
    let arguments: Vec<_> = protocol.arguments.iter().map(|argument| argument.name.as_str()).collect();
    assert_eq!((protocol.name.as_str(), arguments), ("tcp", vec!["window", "tcpmtu"]));
    let Value::Word(window) = &protocol.arguments[0].value else { panic!("{protocol:?}") };
    assert_eq!(
        (window.text.as_str(), window.form, window.place.line, window.place.column),
        ("128K", Form::Quantity, 1, 93)
    );
}

/// Methods J.1: `parallel {}` is legal and empty; what it does not list is passed on as text.
#[test]
fn legal_scripts_are_taken() {
    for text in [
        "parallel {}",
        "parallel{}\n",
        "serial { cluster { parallel { } } }",
        "cluster ctl-1 { test {} }",
        "serial { x = 1; y = \"z\"; other [::1]:5 { own = [2001:db8::1]:0; a = f(); b = g(h = i(j = 1,),); } }",
        "\u{feff}# c\ncluster { // d\n /* e\n f */ }\r\n",
        "cluster { test { unknown = -1.5e-3; other = www.example.org; } }",
        "@let a = 1; cluster { test $h { own = $h:$p; } @include \"x.ns\"; }",
    ] {
        let said = said(text, Mode::Strict);
        let errors: Vec<_> = said.iter().filter(|said| !said.starts_with("note")).collect();
        assert_eq!(errors, Vec::<&String>::new(), "{text}");
    }
    assert_eq!(
        said("cluster ctl-1 {}", Mode::Strict),
        ["note: 1:9: the outermost block runs here, so that its address ctl-1 means nothing"]
    );
}

/// Methods J.1, and others.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    let leaf = |inner: &str| format!("cluster {{\n  test a {{\n    {inner}\n  }}\n}}\n");
    for (text, wanted) in [
        (leaf("window = 16KK;"), "error: 3:14: 16KK: a number takes one multiplier, K, M or G, not \"KK\""),
        (leaf("own = a:70000;"), "error: 3:11: a:70000: a port is a number from 0 to 65535, not \"70000\""),
        (
            "cluster { test a { }".to_owned(),
            "error: 1:21: a \"}\" is missing | the cluster that begins in line 1 has no end",
        ),
        (leaf("x = 1; x = 2;"), "error: 3:12: x is given twice | it stands in line 3 already"),
        (leaf("x = f(a = 1, a = 2);"), "error: 3:18: a is given twice | it stands in line 3 already"),
        (leaf("x = ;"), "error: 3:8: a value is missing"),
        (leaf("x 1;"), "error: 3:7: \"x\" is followed by \"1\" | \"=\" makes a parameter of it, \"{\" a block"),
        (
            leaf("x = f(1);"),
            "error: 3:11: an argument or \")\" is expected here, not \"1\" | arguments are written name = value",
        ),
        (
            leaf("x = f(a = 1;"),
            "error: 3:16: \",\" or \")\" is expected here, not \";\" | the \"(\" in line 3 has no end",
        ),
        (leaf("x = 1 y = 2;"), "error: 3:11: a \";\" is missing before \"y\""),
        (
            leaf("x = 16K(a = 1);"),
            "error: 3:9: \"16K\" cannot name a function | a name is of letters, digits, \"-\" and \"_\", and begins with none of the digits",
        ),
        (leaf("= 1;"), "error: 3:5: a parameter or a block is expected here, not \"=\""),
        (leaf("x = @let;"), "error: 3:9: a value is expected here, not \"@let\""),
        (leaf("@lett x = 1;"), "error: 3:5: \"@lett\" is not known | did you mean \"@let\"?"),
        (
            leaf("@let a-b = 1;"),
            "error: 3:10: \"a-b\" cannot name a variable | such a name is of letters, digits and \"_\", and begins with no digit",
        ),
        (leaf("@include x;"), "error: 3:14: the name of a file in quotes is expected here, not \"x\""),
        (leaf("cluster {}"), "error: 3:5: test is a kind of leaf, and leaves hold no blocks"),
        (
            "clustr { test a {} }".to_owned(),
            "error: 1:10: clustr is a kind of leaf, and leaves hold no blocks | did you mean \"cluster\"?",
        ),
        ("serial 16K {}".to_owned(), "error: 1:8: 16K is no address of a host"),
        ("serial {} }".to_owned(), "error: 1:11: there is no block that this \"}\" could end"),
        (
            "serial {} parallel {}".to_owned(),
            "error: 1:11: a second block, and a script is one | put both into parallel { ... } or serial { ... }",
        ),
        (
            "x = 1;".to_owned(),
            "error: 1:1: x stands in no block | a script is one block: cluster { ... }, parallel { ... } or serial { ... }",
        ),
        (
            String::new(),
            "error: 1:1: there is no block in the script | a script is one block: cluster { ... }, parallel { ... } or serial { ... }",
        ),
    ] {
        let said = said(&text, Mode::Lenient);
        assert_eq!(said.first().map(String::as_str), Some(wanted), "{text}");
        assert!(said.len() <= 2, "{text}: {said:#?}");
    }
}

#[test]
fn an_error_shows_its_line() {
    let (_, said) = read("cluster {\n\ttest b {\n\t\town = b:70000; # too high\n\t}\n}\n", Mode::Strict);
    assert_eq!(
        said,
        [
            "error: a.ns:3:9: b:70000: a port is a number from 0 to 65535, not \"70000\"\n\t\town = b:70000; # too high\n"
        ]
    );
}

#[test]
fn several_errors_are_told_in_one_go() {
    let text = "cluster {\n  test a {\n    own = a:70000;\n    window = 16KK\n    x = f(a b);\n    peer = \n    y = 1;\n  }\n  tst b {\n    \
        = ;\n    z = \"open;\n  }\n}\n}\n";
    assert_eq!(
        said(text, Mode::Lenient),
        [
            "error: 3:11: a:70000: a port is a number from 0 to 65535, not \"70000\"",
            "error: 4:14: 16KK: a number takes one multiplier, K, M or G, not \"KK\"",
            "warning: 4:18: a \";\" is missing",
            "error: 5:11: an argument or \")\" is expected here, not \"a\" | arguments are written name = value",
            "error: 6:11: a value is missing",
            "error: 10:5: a parameter or a block is expected here, not \"=\"",
            "error: 11:9: the text has no closing quote on its line | \\n is a new line within a text",
            "warning: 11:15: a \";\" is missing",
            "error: 14:1: there is no block that this \"}\" could end",
        ]
    );
}

/// A published script lacks the `;` behind a parameter.
#[test]
fn a_missing_semicolon_is_a_warning_unless_it_is_strict() {
    let text = "cluster {\n  test a {\n    protocol = tcp (window = 1) # slip\n    own = a:1;\n    peer = b:2 };;\n}\n";
    for (mode, severity) in [(Mode::Lenient, "warning"), (Mode::Strict, "error")] {
        let wanted = [
            "3:32: a \";\" is missing",
            "5:15: a \";\" is missing",
            "5:17: this \";\" ends nothing",
            "5:18: this \";\" ends nothing",
        ];
        assert_eq!(said(text, mode), wanted.map(|wanted| format!("{severity}: {wanted}")));
    }
    let (body, _) = read(text, Mode::Lenient);
    let a = &body.blocks().next().unwrap().body;
    assert_eq!(a.blocks().next().unwrap().body.parameters.len(), 3);
}

#[test]
fn depth_and_numbers_have_bounds() {
    let nested = |depth: usize| "serial {".repeat(depth) + &"}".repeat(depth);
    assert_eq!(said(&nested(MOST_DEPTH), Mode::Strict), [""; 0]);
    let refused = format!("error: 1:{}: more than 64 blocks within each other", 8 * MOST_DEPTH + 1);
    assert_eq!(said(&nested(10_000), Mode::Strict), [refused]);
    assert_eq!(said(&"serial {".repeat(10_000), Mode::Strict).len(), 2);
    let calls = |depth: usize| format!("serial {{ x = {}1{}; }}", "f(a = ".repeat(depth), ")".repeat(depth));
    assert_eq!(said(&calls(MOST_CALLS), Mode::Strict), [""; 0]);
    let refused = "error: 1:110: more than 16 functions within each other";
    assert_eq!(said(&calls(10_000), Mode::Strict), [refused]);
    let leaf =
        "test host { type = full(blocksize = 32768, duration = 10); protocol = tcp; own = host:1; peer = other:2; }\n";
    let (body, found) = read(&format!("parallel {{ {} }}", leaf.repeat(10_000)), Mode::Strict);
    assert_eq!((body.blocks().next().unwrap().body.children.len(), found.len()), (10_000, 0));
    assert!(
        said(&format!("serial {{ {} }}", "a{}".repeat(600_000)), Mode::Strict)[0].contains("more than 500000 blocks")
    );
    assert!(said(&" ".repeat(MOST_BYTES + 1), Mode::Strict)[0].contains("longer than 8 MiB"));
    let slips = said(&format!("serial {{ {} }}", ";".repeat(100_000)), Mode::Lenient);
    assert_eq!(slips.len(), MOST_WARNINGS + 1);
    assert!(slips[MOST_WARNINGS].contains("so many warnings that others are not told"));
    assert!(said(&"é ".repeat(100_000), Mode::Lenient).len() <= MOST_ERRORS + 1);
    let many = said(&"x;".repeat(100_000), Mode::Strict);
    assert_eq!(many.len(), MOST_ERRORS + 1);
    assert!(many[MOST_ERRORS].contains("so many errors that the rest is not read"));
}

#[test]
fn blocks_that_hosts_give_each_other_are_whole_and_strict() {
    let read = |text: &str| {
        let mut files = Files::new();
        let file = files.add("block", text, None);
        block(&files, file).map_err(|found| found.iter().map(|one| one.message.clone()).collect::<Vec<_>>())
    };
    let leaf = read("setup { type = full(duration = 1); }").unwrap();
    assert_eq!((leaf.keyword.as_str(), leaf.body.parameters.len()), ("setup", 1));
    assert_eq!(read("run{}").map(|block| block.body), Ok(Body::default()));
    assert_eq!(read("cluster a { run {} serial { run {} } }").unwrap().body.blocks().count(), 2);
    let one = "there is one block, keyword { ... }, and nothing else";
    let extension = "variables and files have no meaning to other hosts";
    for (text, wanted) in [
        ("", one),
        ("run {} kill {}", one),
        ("@include \"x\";", one),
        ("x = 1; run {}", one),
        ("run { @let x = 1; }", extension),
        ("cluster { serial { @include \"x\"; } }", extension),
        ("run { open {} }", "run is a kind of leaf, and leaves hold no blocks"),
        ("run { x = 1 }", "a \";\" is missing"),
        ("run {", "a \"}\" is missing"),
    ] {
        assert_eq!(read(text).unwrap_err().first().map(String::as_str), Some(wanted), "{text}");
    }
}

#[test]
fn one_error_in_brackets_is_told_once() {
    for (inner, wanted) in [
        (
            "protocol = tcp (\n rate = 5M,\n 8zz = 3,\n window = 64K\n);\nown = a:1;",
            "5:2: \"8zz\" cannot name an argument",
        ),
        ("8zz = tcp (\n rate = 5M,\n window = 64K\n);", "3:1: \"8zz\" cannot name a parameter"),
        ("protocol = 8zz (\n rate = 5M,\n window = 64K\n);", "3:12: \"8zz\" cannot name a function"),
        ("@let 8zz = f (\n rate = 5M,\n window = 64K\n);", "3:6: \"8zz\" cannot name a variable"),
        ("protocol = tcp (\n rate = 5M burst = 3,\n window = 64K\n);", "4:12: \",\" or \")\" is expected here"),
        ("protocol = tcp (\n rate = [1, 2 3,\n window = 64K\n);", "4:15: \",\" or \"]\" is expected here"),
        ("protocol = tcp (\n 5M,\n window = f (\n x = 1\n )\n);", "4:2: an argument or \")\" is expected here"),
    ] {
        let said = said(&format!("cluster {{\ntest a {{\n{inner}\nown = b:2;\n}}\n}}\n"), Mode::Lenient);
        let told: Vec<_> = said.iter().filter(|one| !one.contains("given twice")).collect();
        assert!(told.len() == 1 && told[0].starts_with(&format!("error: {wanted}")), "{inner}: {told:#?}");
    }
}

#[test]
fn a_word_alone_is_no_keyword_of_the_next_block() {
    let (body, said) = read("serial {\n foo\n cluster {\n test a { }\n }\n}\n", Mode::Lenient);
    assert!(said.len() == 1 && said[0].contains("\"foo\" is followed by \"cluster\""), "{said:#?}");
    let block = body.blocks().next().unwrap().body.blocks().next().unwrap();
    assert_eq!((block.keyword.as_str(), block.body.blocks().count()), ("cluster", 1));
}
