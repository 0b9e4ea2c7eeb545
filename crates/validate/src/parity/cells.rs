//! The cells: experiments that are run in both worlds.

use flowloom_core::workload::LinkSide;

use super::vectors;

/// The name of the link on the sender's side whose packets are captured, so that the flight is seen where it begins.
pub const ACCESS: &str = "access";

/// What a cell loads the path with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Bulk transfers: the queue is compared as a distribution.
    Bulk,
    /// Exchanges of a workload: durations and response times are compared as distributions.
    Exchanges,
}

/// An experiment that is run in the simulator and through the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its name: `cubic-1-pie-20m40`.
    pub name: String,
    /// The title of the cell in words.
    pub title: String,
    /// What it loads the path with.
    pub load: Load,
    /// The directions whose packets and queues are compared.
    pub ways: Vec<LinkSide>,
    /// Whether the path loses packets at random: goodput then varies more.
    pub loses_at_random: bool,
    /// Whether it is one of those that must be inside: CUBIC over drop-tail, PIE or FQ-CoDel.
    pub is_core: bool,
    /// Whether the simulator gives another result under another seed.
    pub draws: bool,
    /// Whether the packets at [`ACCESS`] are captured.
    pub captures: bool,
    /// Whether `cargo test` simulates it.
    pub is_tested: bool,
    /// Length of a run in seconds, without what it drains.
    pub seconds: u32,
    /// The experiment file without its title and seed.
    experiment: String,
    /// The vectors beside it, in the form of Tmix.
    pub vectors: Option<String>,
}

/// The name of the file with the vectors of a cell, beside its experiment file.
pub const VECTORS_FILE: &str = "vectors.cvec";

impl Cell {
    /// The experiment file under a seed.
    pub fn experiment(&self, seed: u64) -> String {
        format!("title = \"{}\"\n\n{}\n[run]\nseeds = [{seed}]\n", self.title, self.experiment)
    }

    /// A fingerprint of what is run (FNV-1a, 64 bits): repetitions of another experiment do not count.
    pub fn fingerprint(&self) -> String {
        let text = [&self.experiment, self.vectors.as_deref().unwrap_or_default()].concat();
        // Where the repository is makes no difference.
        let text = text.replace(env!("CARGO_MANIFEST_DIR"), "");
        let hash = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        format!("{hash:016x}")
    }

    /// The seeds under which the simulator is run: the kernel's first three, or one if they make no difference.
    pub fn simulator_seeds(&self) -> std::ops::RangeInclusive<u64> {
        if self.draws { 1..=3 } else { 1..=1 }
    }
}

/// A path: rate in Mbit/s and round-trip time in milliseconds.
#[derive(Clone, Copy)]
struct Path {
    rate: u32,
    rtt: u32,
}

const PATHS: [Path; 4] =
    [Path { rate: 20, rtt: 40 }, Path { rate: 50, rtt: 50 }, Path { rate: 10, rtt: 100 }, Path { rate: 100, rtt: 20 }];

impl Path {
    fn name(self) -> String {
        format!("{}m{}", self.rate, self.rtt)
    }

    fn title(self) -> String {
        format!("{} Mbit/s, {} ms", self.rate, self.rtt)
    }

    /// Packets of 1,514 bytes in a bandwidth-delay product, rounded down.
    fn bdp(self) -> u32 {
        self.rate * 1000 * self.rtt / 8 / 1514
    }

    /// Runs over 100 ms are longer, because windows take longer to grow.
    fn seconds(self) -> u32 {
        if self.rtt >= 100 { 60 } else { 20 }
    }
}

/// The queue of the bottleneck, and the impairments before it.
#[derive(Clone)]
struct Bottleneck {
    name: &'static str,
    title: &'static str,
    queue: String,
    /// Impairments of the packets from the left.
    impairment: Option<&'static str>,
    draws: bool,
    is_core: bool,
}

impl Bottleneck {
    fn new(name: &'static str, title: &'static str, queue: impl Into<String>) -> Bottleneck {
        Bottleneck { name, title, queue: queue.into(), impairment: None, draws: false, is_core: false }
    }

    fn drawing(self) -> Bottleneck {
        Bottleneck { draws: true, ..self }
    }

    fn core(self) -> Bottleneck {
        Bottleneck { is_core: true, ..self }
    }

    fn impaired(self, impairment: &'static str) -> Bottleneck {
        Bottleneck { impairment: Some(impairment), draws: true, ..self }
    }
}

fn drop_tail(packets: u32) -> String {
    format!("{{ kind = \"drop-tail\", limit = \"{packets}p\" }}")
}

const LOSS: &str = "loss = \"1%\"";
const PIE: &str = "{ kind = \"pie\", limit = \"1000p\" }";
const CODEL: &str = "{ kind = \"codel\", limit = \"1000p\" }";
const RED: &str = "{ kind = \"red\", min = \"15p\", max = \"45p\", limit = \"200p\" }";

/// The six that the grid has over each path.
fn grid_bottlenecks(path: Path) -> [Bottleneck; 6] {
    [
        Bottleneck::new("droptail", "drop-tail 1 BDP", drop_tail(path.bdp())).core(),
        Bottleneck::new("red", "RED 15p/45p of 200p", RED).drawing(),
        Bottleneck::new("pie", "PIE 1000p", PIE).drawing().core(),
        Bottleneck::new("codel", "CoDel 1000p", CODEL),
        Bottleneck::new("fqcodel", "FQ-CoDel", "{ kind = \"fq-codel\" }").core(),
        Bottleneck::new("loss", "random loss 1 %", drop_tail(1000)).impaired(LOSS),
    ]
}

/// Bulk transfers over one bottleneck, as an experiment file says them.
struct Bulk<'a> {
    name: String,
    title: String,
    path: Path,
    bottleneck: &'a Bottleneck,
    /// The keys of `[tcp]`, as lines of TOML.
    tcp: &'a str,
    /// The entries of `[[sources]]`, as TOML.
    sources: String,
    /// Links behind those that every cell has.
    links: &'a str,
    ways: Vec<LinkSide>,
    draws: bool,
}

impl Bulk<'_> {
    fn cell(self) -> Cell {
        let Bulk { name, title, path, bottleneck, tcp, sources, links, ways, draws } = self;
        let impairment =
            bottleneck.impairment.map_or(String::new(), |keys| format!("\n[network.path.from-left]\n{keys}\n"));
        let access = if links.is_empty() {
            format!(
                "\n[[network.links]]\nname = \"{ACCESS}\"\nfrom = \"sender\"\nto = \"router\"\nrate = \"unlimited\"\n"
            )
        } else {
            links.to_owned()
        };
        let experiment = format!(
            "[network]\ntopology = \"graph\"\nends = {{ left = \"sender\", right = \"receiver\" }}\n\n\
             [network.bottleneck]\nfrom = \"router\"\nto = \"receiver\"\nrate = \"{}mbit\"\ndelay = \"{}us\"\nqueue = {}\n\
             {access}{impairment}\n[tcp]\nprofile = \"linux\"\n{tcp}\n{sources}\n[measure]\nduration = \"{}s\"\ndrain = \"0s\"\n\
             queue-every = \"10ms\"\nthroughput-every = \"10ms\"\n",
            path.rate,
            path.rtt * 500,
            bottleneck.queue,
            path.seconds()
        );
        Cell {
            name,
            title,
            load: Load::Bulk,
            ways,
            loses_at_random: bottleneck.impairment.is_some_and(|keys| keys.contains("loss")),
            is_core: bottleneck.is_core,
            draws: draws || bottleneck.draws,
            captures: true,
            is_tested: path.rate <= 20,
            seconds: path.seconds(),
            experiment,
            vectors: None,
        }
    }
}

/// Flows from the left to the right; many of them begin within the first second.
fn flows(count: u32, keys: &str) -> String {
    let start = if count > 1 { "start = { kind = \"uniform\", min = \"0s\", max = \"1s\" }\n" } else { "" };
    format!(
        "[[sources]]\nname = \"bulk\"\nkind = \"bulk\"\nfrom = \"sender\"\nto = \"receiver\"\ncount = {count}\n{start}{keys}"
    )
}

fn in_words(count: u32, congestion: &str) -> String {
    let name = match congestion {
        "cubic" => "CUBIC",
        "reno" => "Reno",
        _ => "BBR",
    };
    if count == 1 { format!("1 {name} flow") } else { format!("{count} {name} flows") }
}

/// Flows of one congestion control over a bottleneck of a path.
fn plain(congestion: &str, count: u32, path: Path, bottleneck: &Bottleneck) -> Cell {
    let cell = Bulk {
        name: format!("{congestion}-{count}-{}-{}", bottleneck.name, path.name()),
        title: format!("{}, {}, {}", in_words(count, congestion), bottleneck.title, path.title()),
        path,
        bottleneck,
        tcp: &format!("congestion = \"{congestion}\""),
        sources: flows(count, ""),
        links: "",
        ways: vec![LinkSide::Left],
        draws: count > 1 || congestion == "bbr",
    };
    let cell = cell.cell();
    let is_long = path.rtt >= 100 && count > 1;
    Cell { is_core: cell.is_core && congestion == "cubic", is_tested: cell.is_tested && !is_long, ..cell }
}

/// One or several CUBIC flows over 20 Mbit/s and 40 ms, called by what is particular about them.
fn corner(name: &str, title: &str, bottleneck: &Bottleneck, sources: String) -> Cell {
    on_path(name, title, PATHS[0], bottleneck, sources, "")
}

fn on_path(name: &str, title: &str, path: Path, bottleneck: &Bottleneck, sources: String, tcp: &str) -> Cell {
    let tcp = format!("congestion = \"cubic\"\n{tcp}");
    let draws = sources.contains("uniform");
    let cell = Bulk {
        name: name.to_owned(),
        title: format!("{title}, {}", path.title()),
        path,
        bottleneck,
        tcp: &tcp,
        sources,
        links: "",
        ways: vec![LinkSide::Left],
        draws,
    };
    Cell { is_core: false, ..cell.cell() }
}

/// The grid: CUBIC over every bottleneck and path.
fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for path in PATHS {
        for bottleneck in grid_bottlenecks(path) {
            cells.extend([1, 20].map(|count| plain("cubic", count, path, &bottleneck)));
        }
    }
    cells
}

/// Reno and BBR, on two paths.
fn others() -> Vec<Cell> {
    let mut cells = Vec::new();
    for path in [PATHS[0], PATHS[1]] {
        for bottleneck in grid_bottlenecks(path).iter().filter(|one| ["droptail", "pie", "loss"].contains(&one.name)) {
            cells.extend(["reno", "bbr"].map(|congestion| plain(congestion, 1, path, bottleneck)));
        }
    }
    cells
}

/// Bulk transfers with something particular about the queue, the path or the flows.
fn corners() -> Vec<Cell> {
    let path = PATHS[0];
    let bdp = path.bdp();
    let tail = |packets| Bottleneck::new("droptail", "drop-tail", drop_tail(packets));
    let one = || flows(1, "");
    let ecn = "ecn = \"on\"\n";
    let marking = |kind: &str| format!("{{ kind = \"{kind}\", limit = \"1000p\", ecn = true }}");
    let reordered = tail(bdp).impaired("reorder = { share = \"1%\", late = \"5ms\" }");
    let bursty = tail(bdp).impaired("loss = { kind = \"gilbert-elliott\", p = \"0.1%\", r = \"25%\" }");
    vec![
        corner("tail-20p", "drop-tail of 20 packets", &tail(20), one()),
        corner("tail-4bdp", "drop-tail of 4 BDP", &tail(4 * bdp), one()),
        on_path("ecn-codel", "ECN, CoDel 1000p", path, &Bottleneck::new("", "", marking("codel")), one(), ecn),
        on_path("ecn-pie", "ECN, PIE 1000p", path, &Bottleneck::new("", "", marking("pie")).drawing(), one(), ecn),
        two_way(path),
        corner("reordered", "1 % of the packets 5 ms late", &reordered, one()),
        corner("bursty-loss", "Gilbert-Elliott loss, 0.4 % in bursts of 4", &bursty, one()),
        on_path(
            "window-64k",
            "receive window of 64 KiB",
            PATHS[1],
            &tail(PATHS[1].bdp()),
            flows(1, "window = \"64k\"\n"),
            "",
        ),
        mixed_round_trips(),
        slow_acknowledgements(path),
    ]
}

/// Flows of different round-trip times share a queue.
fn mixed_round_trips() -> Cell {
    let keys = "rtt = { kind = \"uniform\", min = \"20ms\", max = \"120ms\" }\n";
    // What the link takes is part of each.
    let path = Path { rate: 20, rtt: 10 };
    let cell = on_path("mixed-rtt-pie", "", path, &Bottleneck::new("", "", PIE), flows(20, keys), "");
    Cell { title: "20 CUBIC flows with round trips of 20 to 120 ms, PIE 1000p, 20 Mbit/s".to_owned(), ..cell }
}

/// A flow each way: acknowledgements wait behind data. They do not begin at once, for then they would stay in step
/// where nothing is random.
fn two_way(path: Path) -> Cell {
    let other = "[[sources]]\nname = \"other\"\nkind = \"bulk\"\nfrom = \"receiver\"\nto = \"sender\"\n\
                 start = { kind = \"uniform\", min = \"0s\", max = \"1s\" }\n";
    let sources = format!("{}\n{other}", flows(1, ""));
    let bottleneck = Bottleneck::new("droptail", "drop-tail 1 BDP", drop_tail(path.bdp()));
    let cell = corner("two-way", "a flow each way, drop-tail 1 BDP", &bottleneck, sources);
    Cell { ways: vec![LinkSide::Left, LinkSide::Right], ..cell }
}

/// The links back to the sender have a fiftieth of the rate.
fn slow_acknowledgements(path: Path) -> Cell {
    let links = format!(
        "\n[[network.links]]\nname = \"{ACCESS}\"\nfrom = \"sender\"\nto = \"router\"\nrate = \"unlimited\"\none-way = true\n\n\
         [[network.links]]\nname = \"slow\"\nfrom = \"router\"\nto = \"sender\"\nrate = \"{}kbit\"\none-way = true\n\
         queue = {{ limit = \"50p\" }}\n",
        path.rate * 20
    );
    let bottleneck = Bottleneck::new("droptail", "drop-tail 1 BDP", drop_tail(path.bdp()));
    let cell = Bulk {
        name: "slow-acks".to_owned(),
        title: format!("acknowledgements over 1/50 of the rate, drop-tail 1 BDP, {}", path.title()),
        path,
        bottleneck: &bottleneck,
        tcp: "congestion = \"cubic\"",
        sources: flows(1, ""),
        links: &links,
        ways: vec![LinkSide::Left],
        draws: false,
    };
    Cell { is_core: false, captures: false, ..cell.cell() }
}

/// Cells of a workload.
struct Exchanges<'a> {
    name: &'a str,
    title: &'a str,
    workload: String,
    network: String,
    way: LinkSide,
    seconds: u32,
    /// The keys of `[measure]`, as lines of TOML.
    measure: &'a str,
    vectors: Option<String>,
    loses_at_random: bool,
    draws: bool,
}

impl Exchanges<'_> {
    fn cell(self) -> Cell {
        let Exchanges { name, title, workload, network, way, seconds, measure, vectors, loses_at_random, draws } = self;
        let experiment = format!(
            "[workload]\n{workload}\n\n[network]\n{network}\n\n[tcp]\nprofile = \"linux\"\n\n[measure]\n{measure}\n\
             queue-every = \"10ms\"\nthroughput-every = \"10ms\"\n"
        );
        Cell {
            name: name.to_owned(),
            title: title.to_owned(),
            load: Load::Exchanges,
            ways: vec![way],
            loses_at_random,
            is_core: false,
            draws,
            captures: false,
            is_tested: true,
            seconds,
            experiment,
            vectors,
        }
    }
}

fn exchanges() -> Vec<Cell> {
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo.pcap.gz");
    let vectors_source = format!("source = \"{VECTORS_FILE}\"");
    vec![
        Exchanges {
            name: "pauses",
            title: "writes with pauses of 0.3 to 5 s, drop-tail 1 BDP, 20 Mbit/s, 40 ms",
            workload: vectors_source.clone(),
            network: format!(
                "bottleneck = {{ rate = \"20mbit\", delay = \"20ms\", queue = {} }}",
                drop_tail(PATHS[0].bdp())
            ),
            way: LinkSide::Left,
            seconds: 20,
            measure: "duration = \"20s\"",
            vectors: Some(vectors::pauses()),
            loses_at_random: false,
            draws: false,
        }
        .cell(),
        Exchanges {
            name: "requests-loss-3",
            title: "requests and responses, random loss 3 %, 50 Mbit/s, 50 ms",
            workload: vectors_source,
            network: format!(
                "bottleneck = {{ rate = \"50mbit\", delay = \"25ms\", queue = {} }}\npath = {{ loss = \"3%\" }}",
                drop_tail(PATHS[1].bdp())
            ),
            way: LinkSide::Right,
            seconds: 20,
            measure: "duration = \"20s\"",
            vectors: Some(vectors::requests()),
            loses_at_random: true,
            draws: true,
        }
        .cell(),
        Exchanges {
            name: "demo-105",
            title: "the bundled capture at 105 %, drop-tail 60p",
            workload: format!("source = \"{demo}\""),
            network: "bottleneck = { rate = \"105%\", delay = \"1ms\", queue = { limit = \"60p\" } }".to_owned(),
            way: LinkSide::Right,
            seconds: 110,
            measure: "",
            vectors: None,
            loses_at_random: false,
            draws: false,
        }
        .cell(),
        Exchanges {
            name: "campus-small",
            title: "campus-2008 at scale 0.05, drop-tail 100p, 10 Mbit/s",
            workload: "model = { kind = \"campus-2008\", scale = 0.05 }".to_owned(),
            network: "bottleneck = { rate = \"10mbit\", delay = \"1ms\", queue = { limit = \"100p\" } }".to_owned(),
            way: LinkSide::Right,
            seconds: 30,
            measure: "duration = \"30s\"\ndrain = \"10s\"",
            vectors: None,
            loses_at_random: false,
            draws: false,
        }
        .cell(),
    ]
}

/// All cells, in the order of the page.
pub fn all() -> Vec<Cell> {
    [grid(), others(), corners(), exchanges()].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cells_have_names_and_fingerprints_of_their_own() {
        let cells = all();
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        let fingerprints: BTreeSet<String> = cells.iter().map(Cell::fingerprint).collect();
        assert_eq!((names.len(), fingerprints.len()), (cells.len(), cells.len()));
    }

    #[test]
    fn grid_has_every_queue_over_every_path() {
        let core: Vec<Cell> = all().into_iter().filter(|cell| cell.is_core).collect();
        // One and twenty flows, three queues, four paths.
        assert_eq!(core.len(), 24);
        assert_eq!(grid().len(), 48);
        // 20 Mbit/s x 40 ms are 100 kB: 66 packets of 1,514 bytes.
        assert!(grid()[0].experiment(1).contains("limit = \"66p\""));
    }
}
