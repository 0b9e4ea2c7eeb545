use flowloom_sim::LinkNumber;

use crate::error::by_line;
use crate::experiment::Experiment;

/// Two ways from a to d: over b and the bottleneck, or over c.
const GRAPH: &str = r#"
    [network]
    topology = "graph"
    ends = { left = "a", right = "d" }
    bottleneck = { from = "b", to = "d", rate = "10mbit" }
    [[network.links]]
    name = "access"
    from = "a"
    to = "b"
    rate = "1gbit"
    [[network.links]]
    name = "upper"
    from = "a"
    to = "c"
    rate = "1gbit"
    delay = "2ms"
    one-way = true
"#;

fn read(more: &str) -> Result<Experiment, String> {
    Experiment::parse(&format!("{GRAPH}{more}"), "x.toml").map_err(by_line)
}

/// The links there, and those back, of the workload.
fn ways(experiment: &Experiment) -> [String; 2] {
    let shape = experiment.network.shape().unwrap();
    let names = |links: &[LinkNumber]| {
        let name = |link: &LinkNumber| shape.graph.links()[link.index()].name.clone();
        links.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    let way = shape.workload_way().unwrap();
    [names(&way.there), names(&way.back)]
}

#[test]
fn every_topology_is_a_graph() {
    let parse = |text: &str| Experiment::parse(text, "x.toml").unwrap();
    assert_eq!(ways(&parse("")), ["bottleneck", "bottleneck-back"]);
    let lot = parse("[network]\ntopology = \"parking-lot\"\nhops = 3\n");
    assert_eq!(ways(&lot), ["bottleneck hop-2 hop-3", "hop-3-back hop-2-back bottleneck-back"]);
    assert_eq!(parse("[network]\ntopology = \"parking-lot\"\n").network.shape().unwrap().graph.links().len(), 12);
    let graph = read("").unwrap();
    assert_eq!(ways(&graph), ["access bottleneck", "bottleneck-back access-back"]);
    assert_eq!(graph.network.shape().unwrap().graph.links().len(), 5, "upper has one direction");
    assert_eq!(Experiment::parse(&graph.to_toml(), "again").unwrap().to_toml(), graph.to_toml());
}

#[test]
fn routes_are_taken_as_written() {
    let tail = "[[network.links]]\nname = \"lower\"\nfrom = \"c\"\nto = \"b\"\nrate = \"1gbit\"\n";
    let route = "[[network.routes]]\nfrom = \"a\"\nto = \"d\"\nvia = [\"c\", \"b\"]\n";
    let experiment = read(&format!("{tail}{route}")).unwrap();
    assert_eq!(ways(&experiment), ["upper lower bottleneck", "bottleneck-back access-back"]);
}

#[test]
fn what_cannot_be_is_refused_with_key_and_line() {
    let link = |name: &str, from: &str, to: &str, rest: &str| {
        format!("[[network.links]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{rest}\n")
    };
    let route = |to: &str, via: &str| format!("[[network.routes]]\nfrom = \"a\"\nto = \"{to}\"\nvia = [{via}]\n");
    for (more, wanted) in [
        (link("access", "c", "d", "rate = \"1mbit\""), "x.toml:18: network.links[2]: there are two links named access"),
        (link("x", "c", "c", "rate = \"1mbit\""), "x.toml:18: network.links[2]: link x joins c with itself"),
        (link("x", "c", "d", "rate = \"9bit\""), "x.toml:22: network.links[2].rate of 9bit is too slow"),
        (
            link("x", "c", "d", "rate = \"1mbit\"\ndelay = \"2h\""),
            "x.toml:23: network.links[2].delay of 2h is too long",
        ),
        (
            link("x", "c", "d", "rate = \"1mbit\"\nqueue = { limit = \"100b\" }"),
            "x.toml:23: network.links[2].queue.limit must hold at least one packet",
        ),
        (link("x", "c", "d", ""), "x.toml:18: network.links[2]: missing key \"rate\""),
        (link("x", "c", "d", "rate = \"1mbit\"\nqeue = 1"), "did you mean \"queue\"?"),
        (link("a b", "c", "d", "rate = \"1mbit\""), "x.toml:19: network.links[2].name: a link is named \"a b\""),
        (route("z", ""), "x.toml:18: network.routes[0]: there is no node z (known: b, d, a, c)"),
        (route("d", "\"c\", \"b\""), "the route from a to d goes from c to b, and no link joins these two"),
        (route("d", "\"b\", \"a\""), "the route from a to d comes to a twice"),
        (
            format!("{}{}", link("x", "c", "d", "rate = \"1mbit\""), route("d", "\"c\"")),
            "x.toml:4: network.ends: the way from a to d is upper, x: it must cross bottleneck, which joins b to d",
        ),
    ] {
        let message = read(&more).unwrap_err();
        assert!(message.contains(wanted), "{more} gave {message}, not {wanted}");
    }
    for (from, to, wanted) in [
        ("right = \"d\"", "right = \"q\"", "x.toml:4: network.ends.right: there is no node q"),
        ("right = \"d\"", "right = \"a\"", "network.ends.right is a, as the left one is"),
        ("right = \"d\"", "right = \"c\"", "network.ends: no way leads from c to a"),
        ("left = \"a\", right = \"d\"", "left = \"d\", right = \"a\"", "it must cross bottleneck, which joins b to d"),
        ("from = \"b\", ", "", "x.toml:5: network.bottleneck needs from and to"),
        ("ends = { left = \"a\", right = \"d\" }", "", "network.ends is missing"),
        ("\"graph\"", "\"dumbbell\"", "x.toml:6: network.links is of networks with topology = \"graph\""),
        (
            "topology = \"graph\"",
            "topology = \"graph\"\nhops = 3",
            "network.hops is of networks with topology = \"parking-lot\"",
        ),
        ("\"graph\"", "\"grap\"", "did you mean \"graph\"?"),
    ] {
        let text = GRAPH.replace(from, to);
        let message = by_line(Experiment::parse(&text, "x.toml").unwrap_err());
        assert!(message.contains(wanted), "{to} gave {message}, not {wanted}");
    }
    let message =
        by_line(Experiment::parse("[network]\ntopology = \"parking-lot\"\nhops = 0\n", "x.toml").unwrap_err());
    assert!(message.contains("x.toml:3: network.hops of 0 must be between 1 and 1000"), "{message}");
}
