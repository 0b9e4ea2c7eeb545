use std::path::PathBuf;

use flowloom_core::path::keys::DelayBox;
use flowloom_core::path::{
    BucketConfig, GilbertElliott, Impairments, LossModel, LossRate, Matching, PacketList, Reorder, Reordering, Rule,
};
use flowloom_core::time::Duration;
use flowloom_core::units::Probability;
use flowloom_core::workload::{LinkSide, Side};

use crate::error::by_line;
use crate::experiment::Experiment;

fn read(text: &str) -> Experiment {
    let experiment = Experiment::parse(text, "x.toml").unwrap_or_else(|failure| panic!("{text}: {failure}"));
    // What is written is resolved: it names defaults that were left out.
    let again = Experiment::parse(&experiment.to_toml(), "again.toml").unwrap();
    assert_eq!(again.to_toml(), experiment.to_toml());
    assert_eq!(again.network.path, experiment.network.path);
    assert_eq!(again.network.delay_box, experiment.network.delay_box);
    experiment
}

fn path(text: &str) -> [Impairments; 2] {
    read(&format!("[network.path]\n{text}")).network.path.impairments()
}

fn p(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

#[test]
fn loss_models_read() {
    assert_eq!(path("loss = \"1%\"")[1].loss, LossModel::Bernoulli(p(0.01)));
    assert_eq!(path("loss = { kind = \"bernoulli\", p = \"0.5%\" }")[0].loss, LossModel::Bernoulli(p(0.005)));
    let simple = path("loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"25%\" }")[0].loss.clone();
    assert_eq!(simple, LossModel::GilbertElliott(GilbertElliott::simple(p(0.01), p(0.25))));
    let full = path("loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"25%\", 1-h = \"50%\", 1-k = \"0.1%\" }");
    let wanted = GilbertElliott { p: p(0.01), r: p(0.25), bad_loss: p(0.5), good_loss: p(0.001) };
    assert_eq!(full[0].loss, LossModel::GilbertElliott(wanted));
    let list = path("loss = { kind = \"list\", packets = [3, \"5-8\", \"9\"] }")[0].loss.clone();
    assert_eq!(list, LossModel::List(PacketList::new([(3, 3), (5, 9)]).unwrap()));
}

#[test]
fn a_direction_replaces_what_both_have() {
    let [left, right] = path(
        "loss = \"1%\"\nduplicate = \"2%\"\nreorder = { share = \"3%\", gap = 5 }\n\
         jitter = { kind = \"exponential\", mean = \"2ms\" }\n\
         from-right = { loss = \"0%\", reorder = { share = \"3%\", late = \"1ms\" }, jitter-keeps-order = false }\n",
    );
    assert_eq!((left.loss, right.loss), (LossModel::Bernoulli(p(0.01)), LossModel::Bernoulli(p(0.0))));
    assert_eq!((left.duplicate, right.duplicate), (p(0.02), p(0.02)));
    assert_eq!(left.reorder, Some(Reorder { share: p(0.03), gap: 5, manner: Reordering::Overtake }));
    let late = Reordering::Late(Duration::from_millis(1));
    assert_eq!(right.reorder, Some(Reorder { share: p(0.03), gap: 1, manner: late }));
    let order = |impairments: &Impairments| impairments.jitter.as_ref().map(|jitter| jitter.keeps_order);
    assert!(path("jitter = \"1ms\"").iter().all(|side| order(side) == Some(true)));
    assert_eq!(
        (left.jitter.map(|jitter| jitter.keeps_order), right.jitter.map(|jitter| jitter.keeps_order)),
        (Some(true), Some(false))
    );
    assert!(read("").network.path.is_default());
}

#[test]
fn rules_read() {
    let experiment = read(
        "[[network.delay-box]]\nfrom = \"left\"\nsender = \"initiator\"\nport = 443\nsubset = 2\n\
         delay = { kind = \"lognormal\", median = \"64ms\", mean = \"101ms\" }\nloss = \"measured\"\n\
         rate = { kind = \"empirical\", values = [[\"1mbit\", 0.5], [\"10mbit\", 0.5]] }\n\
         [[network.delay-box]]\ndelay = \"5ms\"\nloss = { kind = \"uniform\", min = \"0%\", max = \"1%\" }\n",
    );
    let rules: Vec<Rule> = experiment.network.delay_box.iter().map(DelayBox::rule).collect();
    let matching =
        Matching { from: Some(LinkSide::Left), sender: Some(Side::Initiator), port: Some(443), subset: Some(2) };
    assert_eq!((rules[0].matching, &rules[0].loss), (matching, &LossRate::Measured));
    assert_eq!(rules[0].delay.as_ref().unwrap().quantile(0.5), 64e6);
    assert_eq!(rules[0].rate.as_ref().unwrap().quantile(0.75), 10e6);
    assert_eq!(rules[1].delay.as_ref().unwrap().quantile(0.9), 5e6);
    assert!(matches!(&rules[1].loss, LossRate::Drawn(loss) if loss.max() == 0.01));
}

#[test]
fn what_sends_the_packets_reads() {
    let bottleneck = |text: &str| read(&format!("[network.bottleneck]\n{text}")).network.bottleneck;
    let shaper = bottleneck("shaper = { rate = \"10mbit\", burst = \"32k\" }").shaper.unwrap();
    assert_eq!(shaper.config(), BucketConfig::new("10mbit".parse().unwrap(), 32 << 10).unwrap());
    let both = bottleneck("trace = \"a.up\"").trace.unwrap();
    assert_eq!(both.files(), [&PathBuf::from("a.up"); 2]);
    let each = bottleneck("trace = { from-left = \"a.up\", from-right = \"/b.down\" }").trace.unwrap();
    let each = each.map(|file| std::path::Path::new("dir").join(file));
    assert_eq!(each.files(), [&PathBuf::from("dir/a.up"), &PathBuf::from("/b.down")]);
}

#[test]
fn impossible_values_are_refused_with_their_line() {
    for (text, wanted) in [
        ("[network.path]\nloss = \"101%\"", "x.toml:2: network.path.loss: \"101%\" is not a share of 0% to 100%"),
        ("[network.path]\nloss = \"-1%\"", "x.toml:2: network.path.loss: \"-1%\" is not a share"),
        (
            "[network.path]\nloss = 0.01",
            "x.toml:2: network.path.loss: expected a share of 0% to 100% in quotes, such as \"0.1%\" or a table such as \
             { kind = ... }, found the number 0.01",
        ),
        (
            "[network.path]\n\nloss = { kind = \"gilbert\", p = \"1%\" }",
            "x.toml:3: network.path.loss.kind: unknown word \"gilbert\"",
        ),
        (
            "[network.path]\nloss = { kind = \"gilbert-elliott\", p = \"1%\" }",
            "x.toml:2: network.path.loss: missing key \"r\"",
        ),
        ("[network.path]\nloss = { kind = \"bernoulli\", p = \"1%\", q = 1 }", "x.toml:2: unknown key \"q\""),
        (
            "[network.path]\nloss = { kind = \"list\", packets = [\"x\"] }",
            "x.toml:2: network.path.loss: \"x\" is no packet and no interval",
        ),
        (
            "[network.path]\nloss = { kind = \"list\", packets = [\"8-5\"] }",
            "x.toml:2: network.path.loss: 8-5 is no interval of packets",
        ),
        (
            "[network.path]\njitter = { kind = \"normal\", mean = \"1ms\" }",
            "x.toml:2: network.path.jitter: missing key \"sd\"",
        ),
        (
            "[network.path]\njitter = { kind = \"uniform\", min = \"2ms\", max = \"1ms\" }",
            "x.toml:2: network.path.jitter: max of a distribution must be not below min",
        ),
        ("[network.path]\njitter = \"-1ms\"", "x.toml:2: network.path.jitter: \"-1ms\" is not a time"),
        ("[network.path]\nreorder = { gap = 5 }", "x.toml:2: network.path.reorder: missing key \"share\""),
        ("[network.path]\nlos = \"1%\"", "x.toml:2: unknown key \"los\""),
        (
            "[[network.delay-box]]\ndelay = { kind = \"empirical\", values = [[\"1ms\", 0.4]] }",
            "x.toml:2: network.delay-box[0].delay: the probabilities add up to 0.4, not to 1",
        ),
        (
            "[[network.delay-box]]\nrate = \"unlimited\"",
            "x.toml:2: network.delay-box[0].rate: unlimited is not possible here",
        ),
        (
            "[[network.delay-box]]\nrate = \"0mbit\"",
            "x.toml:2: network.delay-box[0].rate: \"0mbit\" is not a rate above zero",
        ),
        ("[[network.delay-box]]\nfrom = \"middle\"", "x.toml:2: network.delay-box[0].from: unknown word \"middle\""),
        ("[[network.delay-box]]\nport = 80\n", "network.delay-box[0] changes nothing"),
        (
            "[network.bottleneck]\nshaper = { rate = \"1mbit\", burst = \"100b\" }",
            "x.toml:2: network.bottleneck.shaper.burst of 100b must be between 1514b and 4294967295b",
        ),
        (
            "[network.bottleneck]\npolicer = { rate = \"1mbit\", burst = \"10p\" }",
            "x.toml:2: network.bottleneck.policer.burst: \"10p\" is not a number of bytes",
        ),
        (
            "[network.bottleneck]\nrate = \"1mbit\"\ntrace = \"a.up\"",
            "network.bottleneck has a trace, which is its rate: leave out rate",
        ),
        (
            "[network.bottleneck]\nshaper = { rate = \"1mbit\", burst = \"2k\" }\ntrace = \"a.up\"",
            "network.bottleneck has a trace and a shaper",
        ),
        (
            "[network.bottleneck]\ncells = { abr = \"45ms\" }\ntrace = \"a.up\"",
            "network.bottleneck has a trace and cells.abr",
        ),
    ] {
        let message = by_line(Experiment::parse(text, "x.toml").unwrap_err());
        assert!(message.contains(wanted), "{text:?} gave {message}");
    }
}
