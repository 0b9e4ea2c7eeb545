//! What sweeps need that no experiment file can draw: parts of a workload, and the model file of a parametric twin. Both come from the
//! workload of an experiment, as a run of it has it, and stand in a folder with the experiment that sweeps over them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flowloom::{Context, MakeOptions, Silent, Stop, SwingFitOptions, fit_swing, make};
use flowloom_core::workload::Host;
use flowloom_store::workload::{WorkloadReader, WorkloadWriter};
use toml::{Table, Value};

use super::parts::{self, Part};

/// The experiment in a folder of [`prepare_parts`] or [`prepare_twin`].
pub const SWEEP_FILE: &str = "sweep.toml";

/// What stands for a twin where a part has its name.
const TWIN: &str = "twin";

/// The seed that the workload of a twin is drawn with.
const TWIN_SEED: u64 = 1;

/// What a file is of: its name says so, since a workload file has neither scale nor seed for a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The source model.
    pub workload: String,
    /// Its connections as a share of the published ones.
    pub scale: f64,
    /// What of it.
    pub part: String,
    /// The seed that it was drawn with.
    pub seed: u64,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { workload, scale, part, seed } = self;
        write!(f, "{workload}_{scale}_{part}_{seed}")
    }
}

impl FromStr for Origin {
    type Err = String;

    /// From the name of a file without what stands behind its last dot.
    fn from_str(text: &str) -> Result<Origin, String> {
        let wrong = || format!("{text:?} is no WORKLOAD_SCALE_PART_SEED");
        let [workload, scale, part, seed] = text.split('_').collect::<Vec<_>>()[..] else { return Err(wrong()) };
        let (scale, seed) = scale.parse().ok().zip(seed.parse().ok()).ok_or_else(wrong)?;
        Ok(Origin { workload: workload.to_owned(), scale, part: part.to_owned(), seed })
    }
}

impl Origin {
    /// That of the file in `path`.
    pub fn of_file(path: &str) -> Result<Origin, String> {
        let name = Path::new(path).file_stem().unwrap_or_default();
        name.to_string_lossy().parse().map_err(|why| format!("{path}: {why}"))
    }
}

/// An experiment over a source model with a scale.
struct Base {
    file: PathBuf,
    keys: Table,
    workload: String,
    scale: f64,
    seeds: u64,
}

impl Base {
    fn read(file: &Path) -> Result<Base, String> {
        let failed = |why: &dyn fmt::Display| format!("{}: {why}", file.display());
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        let keys: Table = text.parse().map_err(|error| failed(&error))?;
        let model = keys.get("workload").and_then(|workload| workload.get("model"));
        let kind = model.and_then(|model| model.get("kind")).and_then(Value::as_str);
        let scale = model.and_then(|model| model.get("scale")).and_then(Value::as_float);
        let seeds = keys.get("sweep").and_then(|sweep| sweep.get("seeds")).and_then(Value::as_integer);
        match (kind, scale, seeds) {
            (Some(kind), Some(scale), Some(seeds)) if seeds > 0 => {
                Ok(Base { workload: kind.to_owned(), file: file.to_owned(), scale, seeds: seeds.unsigned_abs(), keys })
            }
            _ => Err(failed(&"it needs workload.model.kind, workload.model.scale and sweep.seeds")),
        }
    }

    /// Its `[workload]`, whose rule for waits holds for what is made of it.
    fn workload_keys(&self) -> Table {
        self.keys.get("workload").and_then(Value::as_table).cloned().unwrap_or_default()
    }

    fn origin(&self, part: &str, seed: u64) -> Origin {
        Origin { workload: self.workload.clone(), scale: self.scale, part: part.to_owned(), seed }
    }

    /// The experiment with another `[workload]` and other keys of `[sweep]`, as a file in `folder`.
    fn write(&self, folder: &Path, workload: Table, sweep: Table) -> Result<(), String> {
        let mut keys = self.keys.clone();
        keys.insert("workload".to_owned(), Value::Table(workload));
        if let Some(Value::Table(of)) = keys.get_mut("sweep") {
            of.extend(sweep);
        }
        let path = folder.join(SWEEP_FILE);
        fs::write(&path, keys.to_string()).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// A list of texts.
fn list(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(Value::String).collect())
}

/// Makes the workload of the experiment in `file` with a seed, unless it is there.
fn made(file: &Path, target: &Path, seed: u64) -> Result<(), String> {
    if target.exists() {
        return Ok(());
    }
    let options = MakeOptions { seed: Some(seed), ..MakeOptions::default() };
    make(file, target, &options, Context::new(&Silent, &Stop::new())).map(drop).map_err(|error| error.to_string())
}

/// Writes the parts of the workload of `experiment`, of each of its seeds, into `folder`, and the experiment that sweeps over them. Parts that
/// are there stay, so that what was stopped goes on.
///
/// # Errors
/// The experiment has no workload of a model with a scale; a file cannot be read or written.
pub fn prepare_parts(experiment: &Path, folder: &Path) -> Result<(), String> {
    let base = Base::read(experiment)?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file_of = |part: Part, seed| format!("{}.parquet", base.origin(part.name(), seed));
    for seed in 1..=base.seeds {
        let whole = folder.join(file_of(Part::Whole, seed));
        made(&base.file, &whole, seed)?;
        let mut survey = None;
        for part in Part::ALL {
            let target = folder.join(file_of(part, seed));
            if target.exists() {
                continue;
            }
            let survey = match &survey {
                Some(survey) => survey,
                None => survey.insert(parts::survey(&whole)?),
            };
            parts::write(&whole, survey, part, seed, &target)?;
        }
    }
    let first = file_of(Part::Whole, 1);
    let files: Vec<String> = (1..=base.seeds).flat_map(|seed| Part::ALL.map(|part| file_of(part, seed))).collect();
    let mut workload = base.workload_keys();
    workload.remove("model");
    workload.remove("cut");
    workload.insert("source".to_owned(), Value::String(first));
    // A file has no seeds: those are in its name.
    let sweep = Table::from_iter([
        ("vary".to_owned(), list([format!("workload.source={}", files.join(","))])),
        ("seeds".to_owned(), Value::Integer(1)),
    ]);
    base.write(folder, workload, sweep)
}

/// Fits Swing's model to the workload of `experiment`, whole connections of which each is of a client of its own, and writes it into `folder`
/// with the experiment that draws from it, by variables and by sessions, over both networks.
///
/// # Errors
/// Those of [`prepare_parts`]; what cannot be fitted.
pub fn prepare_twin(experiment: &Path, folder: &Path) -> Result<(), String> {
    let base = Base::read(experiment)?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let config = format!("{}.json", base.origin(TWIN, TWIN_SEED));
    if !folder.join(&config).exists() {
        let scratch = tempfile::tempdir_in(folder).map_err(|error| error.to_string())?;
        // Whole connections: in a trace some are cut.
        let mut keys = base.keys.clone();
        if let Some(Value::Table(workload)) = keys.get_mut("workload") {
            workload.insert("cut".to_owned(), Value::String("none".to_owned()));
        }
        let [file, plain, with_clients] =
            ["whole.toml", "plain.parquet", "clients.parquet"].map(|name| scratch.path().join(name));
        fs::write(&file, keys.to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
        made(&file, &plain, TWIN_SEED)?;
        name_clients(&plain, &with_clients)?;
        let options = SwingFitOptions { target: Some(folder.join(&config)), ..SwingFitOptions::default() };
        fit_swing(&with_clients, &options, Context::new(&Silent, &Stop::new())).map_err(|error| error.to_string())?;
    }
    let model = Table::from_iter([
        ("kind".to_owned(), Value::String("swing".to_owned())),
        ("config".to_owned(), Value::String(config)),
        ("draw".to_owned(), Value::String("independent".to_owned())),
    ]);
    let mut workload = base.workload_keys();
    workload.insert("model".to_owned(), Value::Table(model));
    // Each over a link of 105 % of its own load: the draws of a twin do not carry the same bytes.
    let sweep = Table::from_iter([
        (
            "vary".to_owned(),
            list(["workload.model.draw=independent,sessions".to_owned(), "rate=1gbit,105%".to_owned()]),
        ),
        ("rate-of".to_owned(), Value::String("each".to_owned())),
    ]);
    base.write(folder, workload, sweep)
}

/// Copies a workload, and gives each connection a client of its own, and all of them one server.
fn name_clients(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: &dyn fmt::Display| format!("{}: {error}", to.display());
    // Errors of the reader name their file.
    let reader = WorkloadReader::open(from).map_err(|error| error.to_string())?;
    let facts = reader.facts().clone();
    let mut writer = WorkloadWriter::create(to).map_err(|error| failed(&error))?;
    for vector in reader {
        let mut vector = vector.map_err(|error| error.to_string())?;
        let client = u32::try_from(vector.id + 1).map_err(|error| failed(&error))?;
        vector.ends.initiator.host = Some(Host::Number(client));
        vector.ends.acceptor.host = Some(Host::Number(0));
        writer.write_owned(vector).map_err(|error| failed(&error))?;
    }
    writer.finish(facts.provenance, facts.capture, &facts.traffic).map(drop).map_err(|error| failed(&error))
}
