//! HOSTS.toml: where agents are, and which side of an ordinary experiment each of them plays.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_lab::authority::identity::Name;
use flowloom_lab::authority::{self, unique};
use flowloom_lab::blocking::Lab;
use flowloom_lab::controller::Place;
use flowloom_lab::controller::sides::{ClockOf, Share};
use flowloom_lab::script::address::CONTROL_PORT;
use flowloom_live::remote::backend::Hosts;
use flowloom_store::regular;
use serde::Deserialize;

use crate::error::{Error, decoded};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HostsFile {
    hosts: BTreeMap<Name, String>,
    /// Which of them play which side.
    sides: Option<Sides>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sides {
    left: Vec<Name>,
    right: Vec<Name>,
}

fn read(path: &Path) -> Result<HostsFile, Error> {
    let bytes = regular::read(path).map_err(|error| Error::new(format_args!("{}: {error}", path.display())))?;
    let text = decoded(bytes, &path.display().to_string(), "a file of hosts is text in UTF-8")?;
    toml::from_str(&text)
        .map_err(|error| Error::usage(format_args!("{}: {}", path.display(), error.to_string().trim_end())))
}

/// The agents of a file of hosts.
pub fn hosts_of(path: &Path) -> Result<Vec<(Option<Name>, String)>, Error> {
    Ok(read(path)?.hosts.into_iter().map(|(name, address)| (Some(name), with_port(&address))).collect())
}

/// The agents that a command names: files of hosts, and addresses.
pub fn agents(words: &[String]) -> Result<Vec<(Option<Name>, String)>, Error> {
    let mut agents = Vec::new();
    for word in words {
        if word.ends_with(".toml") {
            agents.extend(hosts_of(Path::new(word))?);
        } else {
            agents.push((None, with_port(word)));
        }
    }
    Ok(agents)
}

/// An agent's address, with the port of agents where it names none.
fn with_port(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, CONTROL_PORT).to_string(),
        Err(_) if host.rsplit_once(':').is_some() => host.to_owned(),
        Err(_) => format!("{host}:{CONTROL_PORT}"),
    }
}

/// The hosts of `--on lab:HOSTS.toml`.
#[derive(Debug)]
pub struct LabHosts {
    /// That of a controller.
    folder: PathBuf,
    places: Vec<(LinkSide, Place)>,
}

/// Beside what a run takes by its clock, hosts may be at work for so long.
const LONGER: Duration = Duration::from_secs(120);

impl LabHosts {
    /// Reads the file; `folder` is that of a controller.
    pub fn read(path: &Path, folder: &Path) -> Result<LabHosts, Error> {
        let HostsFile { hosts, sides } = read(path)?;
        let shown = path.display();
        let sides = sides.ok_or_else(|| {
            Error::usage(format_args!("{shown}: it does not say which hosts play which side"))
                .hint("add [sides] with left = [\"NAME\"] and right = [\"NAME\"]")
        })?;
        let mut places: Vec<(LinkSide, Place)> = Vec::new();
        for (side, names) in [(LinkSide::Left, sides.left), (LinkSide::Right, sides.right)] {
            if names.is_empty() {
                return Err(Error::usage(format_args!("{shown}: sides.{} names no host", side.word())));
            }
            for name in names {
                let address = hosts.get(&name).ok_or_else(|| {
                    Error::usage(format_args!("{shown}: sides.{} names {name}, which is not in [hosts]", side.word()))
                })?;
                if places.iter().any(|(_, place)| place.name.as_ref() == Some(&name)) {
                    return Err(Error::usage(format_args!("{shown}: {name} is named twice in [sides]")));
                }
                places.push((side, Place { name: Some(name), address: with_port(address) }));
            }
        }
        Ok(LabHosts { folder: folder.to_owned(), places })
    }

    /// How many hosts the side with more of them has.
    pub fn most_of_a_side(&self) -> u16 {
        let of = |wanted| self.places.iter().filter(|(side, _)| *side == wanted).count();
        of(LinkSide::Left).max(of(LinkSide::Right)) as u16
    }

    /// Has the hosts begin, for a run of so long.
    pub fn begin(&self, run: Duration) -> Result<(Lab, Hosts), Error> {
        let name = unique().map_err(of_lab)?;
        let share = Share { duration_s: (run + LONGER).as_nanos().div_ceil(1_000_000_000) };
        let begun = Lab::begin(&self.folder, &name, &self.places, share).map_err(of_lab)?;
        begun.map_err(|problems| {
            let mut problems = problems.into_iter();
            let first = problems.next().map_or_else(|| Error::new(""), Error::new);
            problems.fold(first, Error::note).hint("flowloom lab status asks agents what they say")
        })
    }
}

/// An error of the lab, as users see it.
pub fn of_lab(error: authority::Error) -> Error {
    let is_missing = matches!(&error, authority::Error::File { path, .. } if !path.exists());
    Error::new(error).hint_if(is_missing.then_some(
        "the folder of a lab is made by `flowloom lab init`, that of an agent by `flowloom lab enrol`; --dir names it",
    ))
}

/// What is known of a host's clock, in words.
pub fn clock_note(clock: &ClockOf) -> String {
    let at = |bounds: Option<flowloom_lab::clock::exchange::Bounds>| match bounds {
        Some(bounds) => format!("{} ns ahead to within {} ns", bounds.middle_ns(), bounds.error_ns()),
        None => "not known".to_owned(),
    };
    format!("the clock of {} was {} before the run, {} after", clock.agent, at(clock.before), at(clock.after))
}
