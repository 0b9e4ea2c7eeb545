//! The page of captures and workloads: what they are, side by side, and each distribution as a picture.

use std::fmt::Write as _;

use flowloom_core::extract::conversations::Transport;
use maud::{Markup, html};

use super::document::document;
use super::elements::{heads, list, row, scrolled, swatch, value};
use super::figure::{
    Axis, Below, Figure, Kind as FigureKind, Line, Number, Points, Role, TABLE_PROBABILITIES, Table, View, curve_error,
    unit_word,
};
use super::pictures::{figure_element, legend};
use super::provenance::Provenance;
use crate::describe::text::{MEDIANS, by_packets, median, percent, protocol_words, published_rows, rows};
use crate::describe::{ApplicationDescription, ConversationDescription, Described, Distribution, Scope, Variable};
use crate::metric::Unit;
use crate::statistics::thin_steps;
use crate::words::thousands;

/// Where the distributions of a picture are.
#[derive(Clone, Copy)]
enum Place {
    /// Among those of connections.
    Connections,
    /// Among loads.
    Loads,
    /// Among those of datagrams of a protocol.
    Datagrams(&'static str),
    /// Among those of conversations.
    Conversations(Scope),
}

/// A picture: id, title, place and variable.
type Kind = (&'static str, &'static str, Place, Variable);

const KINDS: [Kind; 44] = [
    ("response-time", "Response time", Place::Connections, Variable::ResponseTime),
    ("duration", "Connection duration", Place::Connections, Variable::Duration),
    ("request", "Request size", Place::Connections, Variable::RequestBytes),
    ("response", "Response size", Place::Connections, Variable::ResponseBytes),
    ("epochs", "Epochs per connection", Place::Connections, Variable::Epochs),
    ("connection-bytes", "Bytes per connection", Place::Connections, Variable::ConnectionBytes),
    ("intra-epoch-wait", "Wait within an epoch", Place::Connections, Variable::IntraEpochWait),
    ("inter-epoch-wait", "Wait between epochs", Place::Connections, Variable::InterEpochWait),
    ("concurrent-adu", "Data units of concurrent connections", Place::Connections, Variable::ConcurrentAduBytes),
    ("concurrent-wait", "Waits of concurrent connections", Place::Connections, Variable::ConcurrentWait),
    ("lifetime", "Lifetime", Place::Connections, Variable::Lifetime),
    ("rtt", "Minimum round-trip time", Place::Connections, Variable::MinRtt),
    ("initiator-window", "Initiator's window", Place::Connections, Variable::InitiatorWindow),
    ("acceptor-window", "Acceptor's window", Place::Connections, Variable::AcceptorWindow),
    ("initial-window", "Initial window", Place::Connections, Variable::InitialWindow),
    ("initiator-loss", "Loss from the initiator", Place::Connections, Variable::InitiatorLoss),
    ("acceptor-loss", "Loss from the acceptor", Place::Connections, Variable::AcceptorLoss),
    ("load-left", "Load by the second, left to right", Place::Loads, Variable::LoadFromLeft),
    ("load-right", "Load by the second, right to left", Place::Loads, Variable::LoadFromRight),
    ("udp-adu", "UDP: data units", Place::Datagrams("udp"), Variable::AduBytes),
    ("udp-wait", "UDP: waits after data units", Place::Datagrams("udp"), Variable::AduWait),
    ("udp-bytes", "UDP: bytes per flow", Place::Datagrams("udp"), Variable::FlowBytes),
    ("udp-largest", "UDP: largest datagrams", Place::Datagrams("udp"), Variable::LargestDatagram),
    ("quic-adu", "QUIC: data units", Place::Datagrams("quic"), Variable::AduBytes),
    ("quic-wait", "QUIC: waits after data units", Place::Datagrams("quic"), Variable::AduWait),
    ("quic-bytes", "QUIC: bytes per flow", Place::Datagrams("quic"), Variable::FlowBytes),
    ("quic-largest", "QUIC: largest datagrams", Place::Datagrams("quic"), Variable::LargestDatagram),
    ("talk-bytes", "Conversations: bytes", ALL, Variable::ConversationBytes),
    ("talk-duration", "Conversations: duration", ALL, Variable::ConversationDuration),
    ("bulk-bytes", "Bulk conversations: bytes", BULK, Variable::ConversationBytes),
    ("bulk-duration", "Bulk conversations: duration", BULK, Variable::ConversationDuration),
    ("bulk-packets", "Bulk conversations: packets", BULK, Variable::ConversationPackets),
    ("bulk-interval", "Bulk conversations: between starts", BULK, Variable::ConversationInterarrival),
    ("bulk-length", "Bulk conversations: packet length", BULK, Variable::PacketBytes),
    ("bulk-ratio", "Bulk conversations: directionality", BULK, Variable::Directionality),
    ("bulk-items", "Bulk conversations: items", BULK, Variable::Items),
    ("bulk-item-bytes", "Bulk conversations: item size", BULK, Variable::ItemBytes),
    ("interactive-bytes", "Interactive conversations: bytes", INTERACTIVE, Variable::ConversationBytes),
    ("interactive-duration", "Interactive conversations: duration", INTERACTIVE, Variable::ConversationDuration),
    (
        "interactive-interval",
        "Interactive conversations: between starts",
        INTERACTIVE,
        Variable::ConversationInterarrival,
    ),
    ("interactive-packets", "Interactive conversations: packets", INTERACTIVE, Variable::ConversationPackets),
    ("interactive-length", "Interactive conversations: packet length", INTERACTIVE, Variable::PacketBytes),
    ("interactive-gap", "Interactive conversations: between packets", INTERACTIVE, Variable::PacketGap),
    ("interactive-ratio", "Interactive conversations: directionality", INTERACTIVE, Variable::Directionality),
];

const ALL: Place = Place::Conversations(Scope::All);
const BULK: Place = Place::Conversations(Scope::Bulk);
const INTERACTIVE: Place = Place::Conversations(Scope::Interactive);

/// The whole file.
pub(super) fn page(described: &[Described]) -> String {
    let names: Vec<String> = described.iter().enumerate().map(|(index, one)| one.title(index)).collect();
    let figures: Vec<Figure> = KINDS.iter().filter_map(|kind| figure(kind, described, &names)).collect();
    let title = match &names[..] {
        [name] => name.clone(),
        [first, second] => format!("{first} and {second}"),
        names => format!("{} descriptions", names.len()),
    };
    let roles: Vec<Role> = (0..names.len()).map(Role::run).collect();
    let body = html! {
        (header(&title, described, &names))
        main {
            (answer(described, &names))
            section id="pictures" {
                h2 { "Pictures" }
                (legend(roles.iter().zip(names.iter().map(String::as_str))))
                div class="figures" { @for figure in &figures { (figure_element(figure)) } }
            }
            (protocols(described, &names))
            (conversations(described, &names))
            (warnings(described, &names))
        }
    };
    document(&title, &figures, &[], &body)
}

fn header(title: &str, described: &[Described], names: &[String]) -> Markup {
    let total = |of: &dyn Fn(&Described) -> u64| thousands(described.iter().map(of).sum::<u64>());
    let mut lead = format!("{} TCP connections", total(&|one| one.workload.connections.total));
    let flows = |one: &Described| one.workload.datagrams.iter().map(|datagrams| datagrams.flows).sum::<u64>();
    if described.iter().any(|one| flows(one) > 0) {
        let _ = write!(lead, " and {} UDP or QUIC flows", total(&flows));
    }
    if described.iter().any(|one| one.capture.packets > 0) {
        let _ = write!(lead, ", inferred from {} packets", total(&|one| one.capture.packets));
    }
    if described.len() > 1 {
        let _ = write!(lead, " in {} inputs", described.len());
    }
    html! {
        header class="top" {
            p class="brand" { "Flowloom " span { "description" } }
            h1 { (title) }
            p class="lead" { (lead) "." }
            ul class="facts" { li { span { "inputs" } " " (list(names.iter().map(String::as_str))) } }
            nav aria-label="Sections" {
                a href="#answer" { "Numbers" }
                a href="#pictures" { "Pictures" }
                @if described.iter().any(|one| one.protocols.as_ref().is_some_and(|rows| !rows.is_empty())) {
                    a href="#protocols" { "Protocols" }
                }
                @if described.iter().any(|one| one.conversations.is_some()) {
                    a href="#conversations" { "Conversations" }
                }
            }
        }
    }
}

/// A table whose columns are `names` after the first, and whose rows begin with their names.
fn table(names: &[Markup], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    let cell = |text: &String| value(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    let table = html! {
        table class="numbers" {
            (heads(names))
            tbody {
                @for cells in rows {
                    @let (name, cells) = cells.split_first().map_or(("", &[][..]), |(name, cells)| (name.as_str(), cells));
                    (row(name.trim(), cells.iter().map(cell)))
                }
            }
        }
    };
    scrolled("Numbers", &table)
}

fn words(names: &[&str]) -> Vec<Markup> {
    names.iter().map(|name| html! { (name) }).collect()
}

/// The name of input `index` beside the look of its lines.
fn input(index: usize, name: &str) -> Markup {
    html! { (swatch(&Role::run(index))) (name) }
}

fn answer(described: &[Described], names: &[String]) -> Markup {
    let columns = names.iter().enumerate().map(|(index, name)| input(index, name));
    let heads: Vec<Markup> = std::iter::once(html! { span class="quiet" { "quantity" } }).chain(columns).collect();
    let rows = rows(described)
        .into_iter()
        .map(|row| std::iter::once(row.full_name).chain(described.iter().map(row.value)).collect());
    html! {
        section id="answer" {
            h2 { "Numbers" }
            (table(&heads, rows))
            p class="below" { "Loads are over the length of the original. Distributions are median / 99 % quantile." }
        }
    }
}

/// What the packets carry, a column for each capture.
fn protocols(described: &[Described], names: &[String]) -> Markup {
    let told = described.iter().zip(names).enumerate();
    let captures: Vec<_> =
        told.filter_map(|(index, (one, name))| Some((index, name, one.protocols.as_deref()?))).collect();
    let mut protocols: Vec<&'static str> = Vec::new();
    for row in captures.iter().flat_map(|(_, _, rows)| *rows) {
        if !protocols.contains(&row.protocol) {
            protocols.push(row.protocol);
        }
    }
    let mut heads = vec![html! { span class="quiet" { "protocol" } }];
    for (index, name, _) in &captures {
        heads.push(html! { (input(*index, name)) ": packets" });
        heads.push(html! { "bytes" });
    }
    let cells = |protocol: &&'static str| {
        let mut cells = vec![protocol_words(protocol).to_owned()];
        for (_, _, rows) in &captures {
            let [packets, bytes] =
                rows.iter().find(|row| row.protocol == *protocol).map_or([0; 2], |row| [row.packets, row.bytes]);
            cells.extend([thousands(packets), Unit::Bytes.show(bytes as f64)]);
        }
        cells
    };
    html! {
        @if !protocols.is_empty() {
            section id="protocols" {
                h2 { "Packets by protocol" }
                (table(&heads, protocols.iter().map(cells)))
            }
        }
    }
}

fn conversations(described: &[Described], names: &[String]) -> Markup {
    let told = described.iter().zip(names).enumerate();
    let told: Vec<_> =
        told.filter_map(|(index, (one, name))| Some((index, one.conversations.as_ref()?, name))).collect();
    html! {
        @if !told.is_empty() {
            section id="conversations" {
                h2 { "Conversations" }
                @for (index, conversations, name) in told {
                    h3 { (input(index, name)) }
                    (conversation_tables(conversations))
                }
            }
        }
    }
}

fn conversation_tables(conversations: &ConversationDescription) -> Markup {
    let bytes = |bytes: u64| Unit::Bytes.show(bytes as f64);
    let applications =
        || [Transport::Tcp, Transport::Udp].into_iter().flat_map(|transport| by_packets(conversations, transport));
    let name = |row: &ApplicationDescription| format!("{} {}", row.transport, row.application);
    let share = |part: u64, all: u64| format!("({})", percent(part, all));
    let totals = applications().map(|row| {
        let transport = if row.transport == Transport::Tcp.name() { Transport::Tcp } else { Transport::Udp };
        let [all_packets, all_bytes, all] = conversations.totals(transport);
        vec![
            name(row),
            row.class.to_owned(),
            format!("{} {}", thousands(row.packets), share(row.packets, all_packets)),
            format!("{} {}", bytes(row.payload_bytes), share(row.payload_bytes, all_bytes)),
            format!("{} {}", thousands(row.conversations), share(row.conversations, all)),
        ]
    });
    let mut names = vec!["medians of conversations"];
    names.extend(MEDIANS.iter().map(|(name, _)| *name));
    names.push("one-sided");
    let medians = applications().filter(|row| row.conversations > 0).map(|row| {
        let mut cells = vec![name(row)];
        cells.extend(MEDIANS.iter().map(|(_, variable)| median(&row.distributions, *variable)));
        cells.push(percent(row.one_sided, row.conversations));
        cells
    });
    let published = published_rows(conversations);
    let shares =
        published.iter().map(|row| vec![row.name.to_owned(), row.in_1991.to_owned(), Unit::Share.show(row.here)]);
    html! {
        (table(&words(&["application", "class", "packets", "payload", "conversations"]), totals))
        p class="below" { "Shares are of TCP and of UDP." }
        (table(&words(&names), medians))
        p class="below" {
            "interval: between starts; length and gap: of packets; ratio: bytes of the heavier direction / of the other; one-sided: \
             share without bytes of one end."
        }
        @if !published.is_empty() { (table(&words(&["shares that were published", "1991", "here"]), shares)) }
    }
}

fn warnings(described: &[Described], names: &[String]) -> Markup {
    html! {
        @if described.iter().any(|one| !one.capture.warnings.is_empty()) {
            section id="warnings" {
                h2 { "What to know" }
                ul class="warnings" {
                    @for (one, name) in described.iter().zip(names) {
                        @for warning in &one.capture.warnings { li { (name) ": " (warning) } }
                    }
                }
            }
        }
    }
}

fn of(described: &Described, place: Place, variable: Variable) -> Option<&Distribution> {
    let among = match place {
        Place::Connections => &described.workload.distributions[..],
        Place::Loads => &described.load_per_second[..],
        Place::Datagrams(protocol) => {
            let datagrams = described.workload.datagrams_over(protocol);
            datagrams.map_or(&[][..], |datagrams| &datagrams.distributions[..])
        }
        Place::Conversations(scope) => described.conversations.as_ref().map_or(&[][..], |told| told.pooled(scope)),
    };
    among.iter().find(|distribution| distribution.variable == variable)
}

/// `None` where no input has values other than zero.
fn figure(&(id, title, place, variable): &Kind, described: &[Described], names: &[String]) -> Option<Figure> {
    let all: Vec<Option<&Distribution>> = described.iter().map(|one| of(one, place, variable)).collect();
    if all.iter().flatten().all(|distribution| distribution.max == 0.0) {
        return None;
    }
    let mut lines = Vec::new();
    for (index, distribution) in all.iter().enumerate() {
        let Some(distribution) = distribution else { continue };
        let n = distribution.n as usize;
        let points = thin_steps(
            distribution.steps().map(|(value, count)| (value, count as usize)),
            n,
            curve_error(described.len()),
        );
        let x = points.iter().map(|point| Number(point.x)).collect();
        let above = points.iter().map(|point| point.above).collect();
        let points = Points::Distribution { n, x, above };
        lines.push(Line { name: names[index].clone(), role: Role::run(index), smooth: false, points });
    }
    let axis = Axis::new(variable.words(), unit_word(variable.unit()), variable.unit() != Unit::Share);
    Some(Figure {
        id: id.to_owned(),
        kind: FigureKind::Distribution,
        title: title.to_owned(),
        view: View::Cdf,
        finding: finding(variable, &all, names),
        plural: variable.plural(),
        column: variable.name(),
        x: axis.clone(),
        y: axis,
        start: Number(0.0),
        step: Number(1.0),
        lines,
        below: Below::Nothing,
        table: quantiles(variable, &all, names),
        unit: variable.unit(),
        provenance: Provenance::default(),
    })
}

/// What it shows, in a sentence: medians and tails.
fn finding(variable: Variable, all: &[Option<&Distribution>], names: &[String]) -> String {
    let told = all.iter().zip(names).filter_map(|(distribution, name)| {
        let distribution = (*distribution)?;
        let name = if names.len() > 1 { format!("{name}: ") } else { String::new() };
        let (p50, p99) = (variable.show(distribution.p50), variable.show(distribution.p99));
        Some(format!("{name}median {p50}, 99 % at most {p99}"))
    });
    let text = told.collect::<Vec<_>>().join("; ");
    let mut letters = text.chars();
    let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().collect());
    if names.len() > 1 { format!("{text}.") } else { format!("{first}{}.", letters.as_str()) }
}

fn quantiles(variable: Variable, all: &[Option<&Distribution>], names: &[String]) -> Table {
    let row = |name: String, cell: &dyn Fn(&Distribution) -> String| -> Vec<String> {
        let cells = all.iter().map(|distribution| distribution.map_or_else(|| "–".to_owned(), cell));
        std::iter::once(name).chain(cells).collect()
    };
    let mut rows = vec![
        row("values".to_owned(), &|one| thousands(one.n)),
        row("mean".to_owned(), &|one| variable.show(one.mean)),
        row("smallest".to_owned(), &|one| variable.show(one.quantile(0.0))),
    ];
    for p in TABLE_PROBABILITIES {
        let percent = format!("{:.1}", p * 100.0);
        let name = format!("{} %", percent.trim_end_matches(".0"));
        rows.push(row(name, &|one| variable.show(one.quantile(p))));
    }
    rows.push(row("largest".to_owned(), &|one| variable.show(one.max)));
    Table { head: std::iter::once("quantile".to_owned()).chain(names.iter().cloned()).collect(), rows }
}
