//! The file with the limits of a host. A file of another host, kernel or version of Flowloom is not used.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flowloom_store::staged::StagedFile;
use flowloom_store::{manifest, regular};
use serde::{Deserialize, Serialize};

use crate::error::Error;

use super::limits::Limit;
use super::load::Load;

/// Name of the file in the cache folder.
pub const FILE: &str = "live-capacity.json";
/// Version of its form.
const VERSION: u32 = 1;

/// What a measurement holds for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIdentity {
    /// The host's name, as `hostname` prints it.
    pub name: String,
    /// Its kernel, as `uname -r` has it.
    pub kernel: String,
    /// Cores that a process may use.
    pub cores: usize,
    /// The architecture that Flowloom was built for.
    pub architecture: String,
    /// The version of Flowloom that measured.
    pub flowloom: String,
}

impl HostIdentity {
    /// Of this host.
    pub fn of_this_host() -> HostIdentity {
        let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        HostIdentity {
            name: read("/proc/sys/kernel/hostname"),
            kernel: read("/proc/sys/kernel/osrelease"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            architecture: std::env::consts::ARCH.to_owned(),
            flowloom: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// What differs first from `other`, in words; `None` if nothing does.
    fn difference(&self, other: &HostIdentity) -> Option<String> {
        let told = |what: &str, here: &str, there: &str| {
            (here != there).then(|| format!("it is of {what} {there}, and this is {here}"))
        };
        told("host", &self.name, &other.name)
            .or_else(|| told("architecture", &self.architecture, &other.architecture))
            .or_else(|| told("kernel", &self.kernel, &other.kernel))
            .or_else(|| told("Flowloom", &self.flowloom, &other.flowloom))
            .or_else(|| {
                (self.cores != other.cores)
                    .then(|| format!("it is of {} cores, and there are {}", other.cores, self.cores))
            })
    }
}

/// The limits of a host, load by load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The version of this form.
    version: u32,
    /// What they hold for.
    pub host: HostIdentity,
    /// The limits that were measured.
    pub limits: BTreeMap<Load, Limit>,
}

impl Capacity {
    /// This host without any limit.
    pub fn of_this_host() -> Capacity {
        Capacity { version: VERSION, host: HostIdentity::of_this_host(), limits: BTreeMap::new() }
    }

    /// Writes the file in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// The folder cannot be made, or the file not be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, Error> {
        let file = folder.join(FILE);
        let cannot = |error: &dyn std::fmt::Display| {
            Error::new(format_args!("{}: {error}", file.display())).hint("XDG_CACHE_HOME names another folder for it")
        };
        let text = serde_json::to_string_pretty(self).map_err(|error| cannot(&error))?;
        // Another command reads all of it or nothing.
        let written = fs::create_dir_all(folder).and_then(|()| {
            let (staged, mut out) = StagedFile::create(&file, true)?;
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n")?;
            manifest::commit(staged)
        });
        written.map_err(|error| cannot(&error))?;
        Ok(file)
    }
}

/// What is known of the capacity of this host.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Nothing was measured.
    Nothing,
    /// There is a file that is not used, and why.
    Unusable(String),
    /// The limits of this host.
    Measured(Capacity),
}

/// What the file in this cache folder says of this host.
pub fn known(folder: &Path) -> Known {
    let file = folder.join(FILE);
    let unusable = |why: &dyn std::fmt::Display| Known::Unusable(format!("{} cannot be read: {why}", file.display()));
    let text = match regular::read(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Known::Nothing,
        Err(error) => return unusable(&error),
        Ok(text) => text,
    };
    let capacity: Capacity = match serde_json::from_slice(&text) {
        Err(error) => return unusable(&error),
        Ok(capacity) => capacity,
    };
    match HostIdentity::of_this_host().difference(&capacity.host) {
        Some(why) => Known::Unusable(why),
        None if capacity.version != VERSION => Known::Unusable("it has another form".to_owned()),
        None => Known::Measured(capacity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_host_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache/flowloom");
        assert_eq!(known(&cache), Known::Nothing);
        let mut capacity = Capacity::of_this_host();
        capacity.limits.insert(Load::Bits, Limit { most: 1e9, ..Limit::default() });
        let file = capacity.write(&cache).unwrap();
        assert_eq!(known(&cache), Known::Measured(capacity.clone()));
        let host = capacity.host.clone();
        for (other, why) in [
            (HostIdentity { name: "elsewhere".to_owned(), ..host.clone() }, "of host elsewhere"),
            (HostIdentity { kernel: "2.6.32".to_owned(), ..host.clone() }, "of kernel 2.6.32"),
            (HostIdentity { flowloom: "0.0.1".to_owned(), ..host.clone() }, "of Flowloom 0.0.1"),
            (HostIdentity { cores: 1_000, ..host.clone() }, "of 1000 cores"),
        ] {
            Capacity { host: other, ..capacity.clone() }.write(&cache).unwrap();
            let Known::Unusable(told) = known(&cache) else { panic!("{why}") };
            assert!(told.contains(why), "{told}");
        }
        fs::write(&file, "{ \"version\": 1").unwrap();
        assert!(matches!(known(&cache), Known::Unusable(why) if why.contains("cannot be read")));
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1, "nothing else is left");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(capacity.write(&cache).is_err());
    }
}
