//! Descriptions for the terminal, as wide as it is: one input at length or several side by side.

use std::fmt::Write as _;

use flowloom_core::extract::conversations::Transport;
use flowloom_core::workload::sum_of_known;
use flowloom_store::workload::CaptureFacts;

use super::Described;
use super::conversations::{ApplicationDescription, ConversationDescription, Scope};
use super::load::DirectionLoad;
use super::protocols::ProtocolShare;
use super::variable::{Distribution, Variable};
use super::vectors::{PayloadBytes, TOTALS_ONLY};
use crate::columns::Columns;
use crate::facts::{missing_text, set_aside_with_bytes};
use crate::loops::clocked_text;
use crate::metric::Unit;
use crate::text::wrap_at;
use crate::words::{by_pattern, counted, thousands};

/// What is described, as `describe` prints it in lines of `width` characters.
pub fn description_text(described: &[Described], width: usize) -> String {
    let text = match described {
        [one] => single(one, width),
        several => side_by_side(several, width),
    };
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn single(described: &Described, width: usize) -> String {
    let mut text = String::new();
    for (head, body) in preamble(described) {
        wrap_at(width, &mut text, &head, &body);
    }
    let mut tables = vec![classes(described), Some(loads(described))];
    tables.push(table("connections", &described.workload.distributions));
    for datagrams in &described.workload.datagrams {
        tables.push(table(&format!("{} flows", datagrams.protocol.to_uppercase()), &datagrams.distributions));
    }
    tables.push(described.protocols.as_deref().map(protocols));
    for table in tables.into_iter().flatten() {
        text.push('\n');
        text.push_str(&table.text(width));
    }
    if let Some(conversations) = &described.conversations {
        self::conversations(&mut text, conversations, width);
    }
    text
}

/// A cell that holds `text`.
fn cell(text: impl Into<String>) -> String {
    text.into()
}

/// The lines above the tables.
fn preamble(described: &Described) -> Vec<(String, String)> {
    let Described { capture, workload, .. } = described;
    let connections = &workload.connections;
    let length = length(described);
    let mut lines = Vec::new();
    if capture.packets > 0 {
        lines.push(("original      ".to_owned(), format!("{} packets, {length}", thousands(capture.packets))));
    }
    let kinds = by_pattern(connections.sequential, connections.concurrent, connections.totals_only);
    let body = match connections.total {
        0 => "none to replay".to_owned(),
        total => format!(
            "{} to replay: {kinds}; {} complete, {} incomplete",
            thousands(total),
            thousands(connections.complete),
            thousands(connections.incomplete)
        ),
    };
    lines.push(("connections   ".to_owned(), body));
    if !capture.set_aside.is_empty() {
        let mut body = set_aside_with_bytes(&capture.set_aside, &capture.set_aside_bytes);
        if is_of_another(capture) {
            body.push_str(" (of what this was drawn from)");
        }
        lines.push(("  set aside   ".to_owned(), body));
    }
    if connections.total > 0 {
        let body = format!(
            "{} on the left, {} on the right of the link",
            thousands(connections.from_left),
            thousands(connections.from_right)
        );
        lines.push(("initiators    ".to_owned(), body));
        lines.push(("payload       ".to_owned(), payload(&workload.payload_bytes)));
    }
    if let Some(share) = workload.payload.clocked_share() {
        lines.push(("  released    ".to_owned(), clocked_text(share)));
    }
    let lacking = workload.payload.lacking();
    if lacking.missing > 0 {
        lines.push(("  missing     ".to_owned(), missing_text(&lacking)));
    }
    for (index, flows) in workload.datagrams.iter().enumerate() {
        let noun = format!("{} flow", flows.protocol.to_uppercase());
        let packets = counted(flows.packets, "packet");
        let body = format!("{}: {packets}, {}", counted(flows.flows, &noun), payload(&flows.payload_bytes));
        lines.push((if index == 0 { "datagrams     " } else { "              " }.to_owned(), body));
    }
    let loss = &workload.loss;
    if loss.initiator.data_segments + loss.acceptor.data_segments > 0 {
        let body = match connections.lossy {
            0 if lacking.missing > 0 => "none seen, and bytes are missing".to_owned(),
            0 => "none".to_owned(),
            lossy => format!("in {}", counted(lossy, "connection")),
        };
        lines.push(("losses        ".to_owned(), body));
        let directions = [("initiators", &loss.initiator), ("acceptors", &loss.acceptor)];
        for (sender, loss) in directions.into_iter().filter(|_| connections.lossy > 0) {
            let [total, before, after] = [loss.total, loss.before, loss.after].map(|share| Unit::Share.show(share));
            let body = format!("{total} of what {sender} sent: {before} before the monitor, {after} after it");
            lines.push(("              ".to_owned(), body));
        }
    }
    lines
}

/// Who sent how much.
fn payload(payload: &PayloadBytes) -> String {
    let [initiator, acceptor] = [payload.initiator, payload.acceptor].map(|bytes| Unit::Bytes.show(bytes as f64));
    format!("{initiator} from initiators, {acceptor} from acceptors")
}

/// A share, or nothing of nothing.
pub(crate) fn percent(part: u64, all: u64) -> String {
    if all == 0 { String::new() } else { Unit::Share.show(part as f64 / all as f64) }
}

/// How long the original is, and by how much its clock jumps.
fn length(described: &Described) -> String {
    let [length, jumps] =
        [described.observed_ns(), described.clock_jumps_ns].map(|nanos| Unit::Time.show(nanos as f64));
    match described.clock_jumps_ns {
        0 => length,
        _ => format!("{length} and a jump of the clock by {jumps}"),
    }
}

fn classes(described: &Described) -> Option<Columns> {
    let classes = &described.classes;
    let connections: u64 = classes.iter().map(|class| class.connections).sum();
    if connections == 0 {
        return None;
    }
    let mut table = Columns::new([26, 13, 9, 14, 9, 13, 9]);
    table.row(["class", "connections", "", "packets", "", "payload", ""].map(cell));
    // Shares of a total that is not known would be wrong.
    let packets = sum_of_known(classes.iter().map(|class| class.packets));
    let payload = classes.iter().map(|class| class.payload_bytes).sum::<Option<u64>>();
    for class in classes {
        let share =
            |part: Option<u64>, all: Option<u64>| part.zip(all).map_or(String::new(), |(part, all)| percent(part, all));
        table.row([
            cell(class_words(class.class)),
            thousands(class.connections),
            percent(class.connections, connections),
            class.packets.map_or_else(|| "–".to_owned(), thousands),
            share(class.packets, packets),
            class.payload_bytes.map_or_else(|| "–".to_owned(), |bytes| Unit::Bytes.show(bytes as f64)),
            share(class.payload_bytes, payload),
        ]);
    }
    Some(table)
}

pub(crate) fn class_words(class: &str) -> &'static str {
    match class {
        "no_data" => "no data",
        "one_way" => "one direction only",
        "sequential_complete" => "sequential, complete",
        "sequential_incomplete" => "sequential, incomplete",
        "concurrent_complete" => "concurrent, complete",
        TOTALS_ONLY => "known by totals only",
        _ => "concurrent, incomplete",
    }
}

/// Whether more connections were set aside than there are of the kind: they are those of the original that vectors were drawn from.
fn is_of_another(capture: &CaptureFacts) -> bool {
    let kinds = [("no-data", capture.connections.no_data), ("one-way", capture.connections.one_way)];
    kinds.into_iter().any(|(kind, own)| capture.set_aside.get(&format!("connections-{kind}")).is_some_and(|n| *n > own))
}

/// A row of the table of loads: its name and its value of one direction.
type LoadRow = (&'static str, fn(&DirectionLoad) -> Option<f64>);

pub(crate) const LOADS: [LoadRow; 5] = [
    ("payload", |load| load.payload_bits_per_second),
    ("on the wire, estimated", |load| load.estimated_wire_bits_per_second),
    ("on the wire, measured", |load| load.measured_replayed_bits_per_second),
    ("UDP, QUIC, estimated", |load| load.estimated_datagram_bits_per_second),
    ("TCP and UDP, measured", |load| load.measured_bits_per_second),
];

/// A rate, or that it is unknown.
pub(crate) fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| Unit::Rate.show(value))
}

/// A row about the load by the second: its name and its quantile.
type QuantileRow = (&'static str, fn(&Distribution) -> f64);

const BY_THE_SECOND: [QuantileRow; 3] =
    [("by the second, median", |one| one.p50), ("  99 %", |one| one.p99), ("  largest", |one| one.max)];

fn loads(described: &Described) -> Columns {
    let mut table = Columns::new([26, 16, 16]);
    table.row(["offered load", "left to right", "right to left"].map(cell));
    for (name, value) in LOADS {
        let [left, right] =
            [&described.load.left_to_right, &described.load.right_to_left].map(|load| rate(value(load)));
        table.row([cell(name), left, right]);
    }
    for (name, value) in BY_THE_SECOND.into_iter().filter(|_| !described.load_per_second.is_empty()) {
        let [left, right] = [Variable::LoadFromLeft, Variable::LoadFromRight].map(|variable| {
            let found = described.load_per_second.iter().find(|one| one.variable == variable);
            rate(found.map(value))
        });
        table.row([cell(name), left, right]);
    }
    table
}

fn table(head: &str, distributions: &[Distribution]) -> Option<Columns> {
    if distributions.is_empty() {
        return None;
    }
    let mut table = Columns::new([22, 9, 9, 9, 9, 9, 9, 9, 9, 6]);
    let last = if distributions.iter().any(|one| one.share_of_500_ms.is_some()) { ">=½s" } else { "" };
    table.row([head, "n", "mean", "p10", "p50", "p80", "p90", "p99", "max", last].map(cell));
    for distribution in distributions {
        let Distribution { variable, n, mean, p10, p50, p80, p90, p99, max, share_of_500_ms, .. } = distribution;
        let values = [mean, p10, p50, p80, p90, p99, max].map(|value| variable.show(*value));
        let share = share_of_500_ms.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
        table.row([cell(variable.words()), thousands(*n)].into_iter().chain(values).chain([share]));
    }
    Some(table)
}

/// What protocols are called.
pub(crate) fn protocol_words(protocol: &str) -> &'static str {
    match protocol {
        "tcp" => "TCP",
        "udp" => "UDP",
        "icmp" => "ICMP",
        "other_ip" => "other IP",
        "not_ip" => "not IP",
        _ => "not read",
    }
}

/// Median of `variable`, or that there is none.
pub(crate) fn median(distributions: &[Distribution], variable: Variable) -> String {
    let found = distributions.iter().find(|distribution| distribution.variable == variable);
    found.map_or_else(|| "–".to_owned(), |distribution| variable.show(distribution.p50))
}

/// Median and 99 % quantile of `variable`, or that there are none.
fn median_and_tail(distributions: &[Distribution], variable: Variable) -> String {
    let found = distributions.iter().find(|distribution| distribution.variable == variable);
    found.map_or_else(|| "–".to_owned(), |one| format!("{} / {}", variable.show(one.p50), variable.show(one.p99)))
}

fn protocols(protocols: &[ProtocolShare]) -> Columns {
    let mut table = Columns::new([22, 13, 9, 13, 9]);
    table.row(["protocol", "packets", "", "bytes", ""].map(cell));
    let all = protocols.iter().fold([0; 2], |[packets, bytes], row| [packets + row.packets, bytes + row.bytes]);
    for row in protocols {
        table.row([
            cell(protocol_words(row.protocol)),
            thousands(row.packets),
            percent(row.packets, all[0]),
            Unit::Bytes.show(row.bytes as f64),
            percent(row.bytes, all[1]),
        ]);
    }
    table
}

/// A silence, as people say it.
fn silence_words(silence_ns: u64) -> String {
    const MINUTE_NS: u64 = 60_000_000_000;
    if silence_ns.is_multiple_of(MINUTE_NS) {
        format!("{} min", thousands(silence_ns / MINUTE_NS))
    } else {
        Unit::Time.show(silence_ns as f64)
    }
}

fn conversations(text: &mut String, conversations: &ConversationDescription, width: usize) {
    let silence = silence_words(conversations.silence_ns);
    for transport in [Transport::Tcp, Transport::Udp] {
        let rows = by_packets(conversations, transport);
        if rows.is_empty() {
            continue;
        }
        let [packets, bytes, count] = conversations.totals(transport);
        let head = format!("{} application", transport.name().to_uppercase());
        let mut table = Columns::new([22, 13, 9, 13, 9, 17, 9]);
        table.row([&head, "packets", "", "payload", "", "conversations", ""].map(cell));
        for row in rows {
            table.row([
                cell(row.application),
                thousands(row.packets),
                percent(row.packets, packets),
                Unit::Bytes.show(row.payload_bytes as f64),
                percent(row.payload_bytes, bytes),
                thousands(row.conversations),
                percent(row.conversations, count),
            ]);
        }
        text.push('\n');
        text.push_str(&table.text(width));
    }
    let told: Vec<_> = [Transport::Tcp, Transport::Udp]
        .into_iter()
        .flat_map(|transport| by_packets(conversations, transport))
        .filter(|row| row.conversations > 0)
        .collect();
    if !told.is_empty() {
        let _ = writeln!(text, "\nconversations (silence {silence}), medians");
        let mut table = Columns::new([18].into_iter().chain([10; MEDIANS.len()]).chain([11]));
        table.row([""].into_iter().chain(MEDIANS.map(|(heading, _)| heading)).chain(["one-sided"]).map(cell));
        for row in told {
            let medians = MEDIANS.map(|(_, variable)| median(&row.distributions, variable));
            let name = format!("{} {}", row.transport, row.application);
            table.row([name].into_iter().chain(medians).chain([percent(row.one_sided, row.conversations)]));
        }
        text.push_str(&table.text(width));
    }
    for (scope, head) in [(Scope::All, "all conversations"), (Scope::Bulk, "bulk"), (Scope::Interactive, "interactive")]
    {
        if let Some(table) = table(head, conversations.pooled(scope)) {
            text.push('\n');
            text.push_str(&table.text(width));
        }
    }
    published(text, conversations, width);
    if conversations.ended_early > 0 {
        let _ = writeln!(
            text,
            "\n{} conversations ended early: too many were open at once, or held too many items",
            thousands(conversations.ended_early)
        );
    }
}

/// The columns of the table of medians.
pub(crate) const MEDIANS: [(&str, Variable); 7] = [
    ("bytes", Variable::ConversationBytes),
    ("packets", Variable::ConversationPackets),
    ("duration", Variable::ConversationDuration),
    ("interval", Variable::ConversationInterarrival),
    ("length", Variable::PacketBytes),
    ("gap", Variable::PacketGap),
    ("ratio", Variable::Directionality),
];

/// The applications over `transport`, the one with the most packets first.
pub(crate) fn by_packets(
    conversations: &ConversationDescription,
    transport: Transport,
) -> Vec<&ApplicationDescription> {
    let mut rows: Vec<_> = conversations.applications.iter().filter(|row| row.transport == transport.name()).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.packets));
    rows
}

/// A published share: what it is of, what was published, and what it is in this capture.
pub(crate) struct PublishedRow {
    pub name: &'static str,
    pub in_1991: &'static str,
    pub here: f64,
}

/// The published shares that this capture has.
pub(crate) fn published_rows(conversations: &ConversationDescription) -> Vec<PublishedRow> {
    let shares = &conversations.published;
    let rows = [
        ("bulk conversations (FTP, NNTP, SMTP) below 10 kB", "60–90 %", shares.bulk_below_10_kb),
        ("FTP conversations below 10 kB", "75 %", shares.ftp_below_10_kb),
        ("bulk bytes in conversations above 1 MB", "40–50 %", shares.bulk_bytes_in_conversations_above_1_mb),
        ("bulk bytes in items above 1 MB", "15–20 %", shares.bulk_bytes_in_items_above_1_mb),
        (
            "interactive (TELNET, RLOGIN) conversations below 1,000 packets",
            "> 80 %",
            shares.interactive_below_1000_packets,
        ),
        ("interactive conversations below 10 kB", "> 80 %", shares.interactive_below_10_kb),
        ("interactive conversations below 200 s", "50 %", shares.interactive_below_200_s),
        ("interactive packets below 10 bytes", "> 80 %", shares.interactive_packets_below_10_bytes),
        ("interactive gaps above 100 ms", "> 80 %", shares.interactive_gaps_above_100_ms),
        ("FTP conversations below 10:1", "36 %", shares.ftp_below_10_to_1),
        ("TELNET conversations above 10:1", "67 %", shares.telnet_above_10_to_1),
    ];
    let of_all = [
        ("packets that are interactive", "25–45 %", shares.interactive_packets),
        ("bytes that are interactive", "5–10 %", shares.interactive_bytes),
    ];
    // Zero of everything says no more than that there is no TELNET.
    let of_all = of_all.into_iter().filter(|(_, _, share)| share.is_some_and(|share| share > 0.0));
    let told = rows.into_iter().chain(of_all);
    told.filter_map(|(name, in_1991, share)| Some(PublishedRow { name, in_1991, here: share? })).collect()
}

fn published(text: &mut String, conversations: &ConversationDescription, width: usize) {
    let rows = published_rows(conversations);
    if rows.is_empty() {
        return;
    }
    let mut table = Columns::new([66, 10, 10]);
    table.row(["shares that were published (Cáceres 1992)", "1991", "here"].map(cell));
    for PublishedRow { name, in_1991, here } in rows {
        table.row([cell(name), cell(in_1991), Unit::Share.show(here)]);
    }
    text.push('\n');
    text.push_str(&table.text(width));
}

/// A row of the table of several.
pub(crate) struct Row {
    /// Its name below the rows before it.
    pub name: String,
    /// Its name where it stands alone.
    pub full_name: String,
    /// What it says of one input.
    pub value: Box<dyn Fn(&Described) -> String>,
}

fn side_by_side(described: &[Described], width: usize) -> String {
    let mut table = Columns::new([28].into_iter().chain(described.iter().map(|_| 24)));
    let titles = described.iter().enumerate().map(|(index, input)| shortened(&input.title(index), 22));
    table.row([String::new()].into_iter().chain(titles));
    for Row { name, value, .. } in rows(described) {
        table.row([name].into_iter().chain(described.iter().map(value)));
    }
    table.text(width)
}

fn shortened(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    let kept: String = name.chars().take(room - 1).collect();
    format!("{kept}…")
}

pub(crate) fn rows(described: &[Described]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut named = |name: &str, full_name: &str, value: Box<dyn Fn(&Described) -> String>| {
        rows.push(Row { name: name.to_owned(), full_name: full_name.to_owned(), value });
    };
    let mut row = |name: &str, value: Box<dyn Fn(&Described) -> String>| named(name, name.trim(), value);
    row("packets", Box::new(|one| thousands(one.capture.packets)));
    row("length", Box::new(length));
    row("payload missing", Box::new(|one| Unit::Share.show(one.workload.payload.lacking().share())));
    row("connections to replay", Box::new(|one| thousands(one.workload.connections.total)));
    // Of connections without a loss rate, as flow records have them, nobody knows.
    let rated = |one: &Distribution| matches!(one.variable, Variable::InitiatorLoss | Variable::AcceptorLoss);
    row(
        "with losses",
        Box::new(move |one| {
            let known = one.workload.distributions.iter().any(rated);
            if known { thousands(one.workload.connections.lossy) } else { "–".to_owned() }
        }),
    );
    let mut classes: Vec<&'static str> = Vec::new();
    for class in described.iter().flat_map(|one| &one.classes) {
        if !classes.contains(&class.class) {
            classes.push(class.class);
        }
    }
    for name in classes {
        row(
            &format!("  {}", class_words(name)),
            Box::new(move |one| {
                let all = one.classes.iter().map(|class| class.connections).sum();
                let count = one.classes.iter().find(|class| class.class == name).map_or(0, |class| class.connections);
                let share = if all == 0 { String::new() } else { format!("({})", percent(count, all)) };
                format!("{} {share:>9}", thousands(count))
            }),
        );
    }
    for (name, value) in LOADS {
        named(
            &format!("{name}, left"),
            &format!("load, left to right: {name}"),
            Box::new(move |one| rate(value(&one.load.left_to_right))),
        );
        named(
            "  from the right",
            &format!("load, right to left: {name}"),
            Box::new(move |one| rate(value(&one.load.right_to_left))),
        );
    }
    named("", "distributions", Box::new(|_| "p50 / p99".to_owned()));
    let mut variables: Vec<Variable> = Vec::new();
    for distribution in described.iter().flat_map(|one| &one.workload.distributions) {
        if !variables.contains(&distribution.variable) {
            variables.push(distribution.variable);
        }
    }
    variables.sort();
    for variable in variables {
        let of = move |one: &Described| median_and_tail(&one.workload.distributions, variable);
        named(variable.words(), variable.words(), Box::new(of));
    }
    for protocol in ["udp", "quic"] {
        if described.iter().all(|one| one.workload.datagrams_over(protocol).is_none()) {
            continue;
        }
        let flows = move |one: &Described| {
            thousands(one.workload.datagrams_over(protocol).map_or(0, |datagrams| datagrams.flows))
        };
        let name = format!("{} flows", protocol.to_uppercase());
        named(&name, &name, Box::new(flows));
        for variable in [Variable::FlowBytes, Variable::AduBytes, Variable::AduWait, Variable::FlowLifetime] {
            let of = move |one: &Described| {
                let datagrams = one.workload.datagrams_over(protocol);
                median_and_tail(datagrams.map_or(&[][..], |datagrams| &datagrams.distributions), variable)
            };
            let words = variable.words();
            named(&format!("  {words}"), &format!("{}: {words}", protocol.to_uppercase()), Box::new(of));
        }
    }
    if described.iter().any(|one| one.conversations.is_some()) {
        let conversations = |one: &Described, of: fn(&ConversationDescription) -> String| {
            one.conversations.as_ref().map_or_else(|| "–".to_owned(), of)
        };
        let count =
            |told: &ConversationDescription| thousands(told.applications.iter().map(|row| row.conversations).sum());
        named("conversations", "conversations", Box::new(move |one| conversations(one, count)));
        for (variable, name) in [
            (Variable::ConversationBytes, "  bytes"),
            (Variable::ConversationPackets, "  packets"),
            (Variable::ConversationDuration, "  duration"),
            (Variable::Directionality, "  directionality"),
        ] {
            let of = move |one: &Described| {
                let pooled = one.conversations.as_ref().map_or(&[][..], |told| told.pooled(Scope::All));
                median_and_tail(pooled, variable)
            };
            named(name, &format!("conversations: {}", name.trim()), Box::new(of));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use flowloom_core::record::Traffic;
    use flowloom_core::time::{Duration, Time};
    use flowloom_store::workload::TrafficFacts;

    use super::super::{ClassShare, Describer, PacketsTold};
    use super::*;

    /// "92 B0.00786 %", as a large capture with three odd connections had it.
    #[test]
    fn shares_stand_apart_from_sizes() {
        let share = |class, bytes| ClassShare { class, connections: 3, packets: Some(7), payload_bytes: Some(bytes) };
        let told = PacketsTold {
            set_aside: vec![share("one_way", 92), share("no_data", 1_170_000)],
            protocols: Some(vec![ProtocolShare { protocol: "tcp", packets: u64::MAX / 2, bytes: u64::MAX / 2 }]),
            ..PacketsTold::default()
        };
        let none = TrafficFacts::default();
        let described = Described::new(None, CaptureFacts::default(), &none, Describer::default(), told);
        for width in [60, 80, 99, 120] {
            let text = description_text(std::slice::from_ref(&described), width);
            assert!(text.contains(" 92 B 0.00786 %"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
    }

    /// A drawn workload has no connection without data, and its original had eight.
    #[test]
    fn what_was_set_aside_of_an_original_is_told_to_be_its_own() {
        let text = |own: u64| {
            let mut capture =
                CaptureFacts { set_aside: [("connections-no-data".to_owned(), 8)].into(), ..CaptureFacts::default() };
            capture.connections.no_data = own;
            let (none, told) = (TrafficFacts::default(), PacketsTold::default());
            description_text(&[Described::new(None, capture, &none, Describer::default(), told)], 100)
        };
        assert!(text(0).contains("8 connections: no data (of what this was drawn from)"), "{}", text(0));
        assert!(text(8).contains("8 connections: no data\n"), "{}", text(8));
    }

    #[test]
    fn rates_leave_jumps_of_the_clock_out() {
        let packet = Traffic { packets: 1, bytes: 1_000, payload_bytes: 0 };
        let mut traffic = TrafficFacts::default();
        let days = 2_133 * 86_400;
        for second in [0, 4, 9 + days] {
            traffic.replayed.from_left.add(Time::ZERO + Duration::from_secs(second), packet);
        }
        // The jump is what is between two packets.
        let capture = CaptureFacts { duration_ns: (9 + days) * 1_000_000_000, packets: 3, ..CaptureFacts::default() };
        let jumps = traffic.clock_jumps(Duration::from_nanos(capture.duration_ns));
        assert_eq!(jumps.total(), Duration::from_secs(5 + days));
        let described = Described::new(None, capture, &traffic, Describer::default(), PacketsTold::default());
        assert_eq!(described.load.left_to_right.measured_bits_per_second, Some(8.0 * 3_000.0 / 4.0));
        let text = description_text(&[described], 100);
        assert!(text.contains("3 packets, 4.00 s and a jump of the clock by 2133 d"), "{text}");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shortened("campus.pcap", 22), "campus.pcap");
        assert_eq!(shortened("a-very-long-name-of-a-capture.pcap", 22).chars().count(), 22);
        assert_eq!(percent(1, 0), "");
        assert_eq!(percent(1, 8), "12.5 %");
    }
}
