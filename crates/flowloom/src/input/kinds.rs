//! What an input may be.

use flowloom_store::formats::Format;

/// The kinds of input a command may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An experiment file: its name ends in `.toml`.
    Experiment,
    /// A specification of a virtual-circuit internetwork: its name ends in `.spec`.
    Specification,
    /// A run folder: a directory with `run.json`, or `index.json` for several seeds.
    RunFolder,
    /// A workload file: it begins as Parquet files do.
    Workload,
    /// Vectors in another form, which never is Parquet.
    Vectors(Format),
    /// Export messages of NetFlow or IPFIX. A capture of them cannot be told from other captures.
    Flows,
    /// Anything else, standard input and other directories included: the capture reader says what is wrong with it, if
    /// anything.
    Capture,
}

impl Kind {
    /// The kind of vectors in `format`.
    pub fn of(format: Format) -> Kind {
        if format == Format::Parquet { Kind::Workload } else { Kind::Vectors(format) }
    }

    /// What it is called in options and JSON.
    pub fn name(self) -> &'static str {
        let of = |format| Format::NAMES.iter().find(|(_, known)| *known == format).map_or("", |(name, _)| name);
        match self {
            Kind::Experiment => "experiment",
            Kind::Specification => "specification",
            Kind::RunFolder => "run",
            Kind::Workload => of(Format::Parquet),
            Kind::Vectors(format) => of(format),
            Kind::Flows => "flows",
            Kind::Capture => "capture",
        }
    }

    /// What it is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Experiment => "an experiment",
            Kind::Specification => "a specification of an internetwork",
            Kind::RunFolder => "a run folder",
            Kind::Workload | Kind::Vectors(Format::Parquet) => "a workload",
            Kind::Vectors(Format::Tmix(_)) => "a file of Tmix vectors",
            Kind::Vectors(Format::Zeek) => "a conn.log of Zeek",
            Kind::Vectors(Format::Csv) => "a CSV table of connections",
            Kind::Vectors(Format::JsonLines) => "a file of vectors in JSON lines",
            Kind::Vectors(Format::Astf) => "a profile of TRex",
            Kind::Vectors(Format::Tgen) => "a graph of tgen",
            Kind::Flows => "a file of flow records",
            Kind::Capture => "a capture",
        }
    }
}
