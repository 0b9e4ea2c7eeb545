//! Text that users give cannot become markup: every name is a piece of HTML, and every page shows it as it was written.

use std::path::Path;

use flowloom_core::workload::ConnectionVector;
use flowloom_report::describe::{Described, Describer, PacketsTold};
use flowloom_report::facts::{ClassFacts, LinkFacts, Topology};
use flowloom_report::fit::{FitVariable, Fitter};
use flowloom_report::html::{self, ReportOptions};
use flowloom_report::overhead::{DatagramTotals, Overhead, StackEfficiency};
use flowloom_report::plausibility::{FlowPlausibility, Plausibility};
use flowloom_report::{Facts, Run, Variant};
use flowloom_store::workload::{CaptureFacts, TrafficFacts};

use flowloom_testkit::reports::MadeUp;

/// What a user might call the thing `of`. It has no slash: of paths only the last part is shown.
fn hostile(of: &str) -> String {
    format!("<script>alert(\"{of}\")&'")
}

/// The same as a page holds it.
fn safe(of: &str) -> String {
    format!("&lt;script&gt;alert(&quot;{of}&quot;)&amp;'")
}

/// Fails unless `page` shows each of `names` and none of them is markup.
fn check(page: &[u8], names: &[&str]) {
    let page = std::str::from_utf8(page).unwrap();
    // Its own scripts: the data of the figures and the program.
    let scripts: Vec<&str> = page.split("<script").skip(1).collect();
    assert_eq!(scripts.len(), 2, "a name became a script");
    assert!(scripts[0].starts_with(" type=\"application/json\"") && scripts[1].starts_with(">\n\"use strict\""));
    for name in names {
        assert!(page.contains(&safe(name)), "the {name} is missing, or is not escaped");
        assert!(!page.contains(&hostile(name)), "the {name} is not escaped");
        assert!(!page.contains(&format!("(\"{name}\")")), "the {name} ends its attribute");
    }
}

#[test]
fn names_in_a_report_stay_text() {
    let folder = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join("markup").join(name);
    let link = |name: &str, from: &str, to: &str| LinkFacts {
        name: hostile(name),
        from: hostile(from),
        to: hostile(to),
        queue: hostile("queue"),
        ..LinkFacts::default()
    };
    let facts = Facts {
        title: hostile("title"),
        source: hostile("source"),
        driver: hostile("driver"),
        model: hostile("model"),
        network: hostile("network"),
        experiment: hostile("experiment"),
        command: hostile("command"),
        provenance: [(hostile("provenance"), hostile("version"))].into(),
        warnings: vec![hostile("warning")],
        classes: vec![ClassFacts {
            name: hostile("class"),
            kind: hostile("kind"),
            congestion: hostile("congestion"),
            ..ClassFacts::default()
        }],
        topology: Some(Topology {
            nodes: ["left", "right"].map(hostile).into(),
            ends: ["left", "right"].map(hostile),
            links: vec![link("link", "left", "right"), link("way back", "right", "left")],
        }),
        plausibility: Some(Plausibility {
            judged_flows: 1,
            flows: vec![FlowPlausibility {
                class: hostile("flow"),
                from_side: hostile("side"),
                congestion: hostile("algorithm"),
                ..FlowPlausibility::default()
            }],
            ..Plausibility::default()
        }),
        ..Facts::default()
    };
    let run = |name: &str| {
        let made_up = MadeUp { connections: 200, facts: facts.clone(), ..MadeUp::default() };
        let mut run = Run::load(&made_up.write(&folder(name))).unwrap();
        run.host.date = hostile("date");
        run.host.host = [(hostile("host"), hostile("processor"))].into();
        run
    };
    let variant = |name: &str| Variant { name: hostile(name), runs: vec![run(name)] };
    let of_a_run = [
        "title",
        "source",
        "driver",
        "model",
        "network",
        "experiment",
        "command",
        "provenance",
        "version",
        "warning",
        "class",
        "kind",
        "congestion",
        "left",
        "right",
        "link",
        "way back",
        "queue",
        "flow",
        "side",
        "algorithm",
        "date",
        "host",
        "processor",
    ];
    let page = |variants: &[Variant], title: Option<String>| {
        let mut page = Vec::new();
        html::write_report(variants, &mut page, &ReportOptions { title }).unwrap();
        page
    };
    check(&page(&[variant("one")], None), &of_a_run);
    // Three have small multiples, seven have the table on its side.
    for count in [3, 7] {
        let names = ["one", "two", "three", "four", "five", "six", "seven"];
        let variants: Vec<Variant> = names[..count].iter().map(|name| variant(name)).collect();
        let page = page(&variants, Some(hostile("own title")));
        check(&page, &[&of_a_run[1..], &["own title"], &names[..count]].concat());
    }
}

#[test]
fn names_in_a_description_stay_text() {
    let described = |name: &str| {
        let mut vectors = Describer::default();
        vectors.add(&ConnectionVector::default());
        let capture = CaptureFacts { warnings: vec![hostile("warning")], ..CaptureFacts::default() };
        Described::new(Some(hostile(name)), capture, &TrafficFacts::default(), vectors, PacketsTold::default())
    };
    let mut page = Vec::new();
    html::write_description(&[described("one"), described("two")], &mut page).unwrap();
    check(&page, &["one", "two", "warning"]);
}

#[test]
fn names_in_other_pages_stay_text() {
    let mut page = Vec::new();
    let fitted = Fitter::default().finish(Some(hostile("workload")), &FitVariable::ALL);
    html::write_fits(&fitted, &mut page).unwrap();
    check(&page, &["workload"]);

    let totals = DatagramTotals { datagrams: 0, data_bytes: 0, ip_bytes: 0 };
    let stack = StackEfficiency {
        stack: hostile("stack"),
        cell_payload_bytes: None,
        cell_overhead_bytes: None,
        techniques: Vec::new(),
        curve: Some(Vec::new()),
    };
    let overhead = Overhead {
        source: Some(hostile("lengths")),
        lengths_of: "packets",
        tcp: totals,
        udp: totals,
        left_out_packets: None,
        stacks: vec![stack],
        warnings: Vec::new(),
        interrupted: false,
    };
    let mut page = Vec::new();
    html::write_overhead(&overhead, &mut page).unwrap();
    check(&page, &["lengths", "stack"]);
}
