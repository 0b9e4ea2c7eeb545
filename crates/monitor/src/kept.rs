//! What the registry says of sites, targets, ports and links, kept in the store as of the time from which it held: the map of a store needs
//! no other file, and shows a past topology although the registry was changed since.
//!
//! Communities, keys, addresses, counters and alerts are not kept.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flowloom_store::FileError;
use flowloom_store::manifest::{self, Manifest};
use flowloom_store::monitor::{of_utc_name, utc_name};
use flowloom_store::regular;
use flowloom_store::staged::StagedFile;
use serde::Serialize;

use crate::registry::{Link, Port, Registry, Site, Target};

/// The folder of a store that holds them, with a manifest.
const FOLDER: &str = "registry";

/// The end of their names, which are times: `20261128T101733Z.json`.
const ENDING: &str = ".json";

/// A clock that was ahead for longer was wrong, in nanoseconds.
const DAY_NS: u64 = 86_400_000_000_000;

/// What is kept: keys of a registry.
#[derive(Serialize)]
struct Kept<'a> {
    site: &'a [Site],
    target: Vec<KeptTarget<'a>>,
    link: &'a [Link],
}

#[derive(Serialize)]
struct KeptTarget<'a> {
    name: &'a str,
    r#type: Option<&'a str>,
    site: Option<&'a str>,
    port: &'a [Port],
}

impl<'a> KeptTarget<'a> {
    fn of(target: &'a Target) -> KeptTarget<'a> {
        let Target { name, r#type, site, port, .. } = target;
        KeptTarget { name, r#type: r#type.as_deref(), site: site.as_deref(), port }
    }
}

/// The file that is kept of `registry`.
///
/// # Errors
/// A number that JSON has no form of.
pub fn kept_text(registry: &Registry) -> serde_json::Result<String> {
    let target = registry.target.iter().map(KeptTarget::of).collect();
    serde_json::to_string_pretty(&Kept { site: &registry.site, target, link: &registry.link })
}

/// What a file says that was kept.
///
/// # Errors
/// It is no registry.
pub fn read_kept(text: &str) -> serde_json::Result<Registry> {
    serde_json::from_str(text)
}

/// Keeps `registry` in the store in `root` as of `now_ns`, unless it says the same as the last one there.
///
/// # Errors
/// It cannot be written, or what is there cannot be read.
pub fn keep(root: &Path, registry: &Registry, now_ns: u64) -> Result<(), FileError> {
    let folder = root.join(FOLDER);
    let text = kept_text(registry).map_err(|error| failed(&folder)(error.into()))?;
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    if Manifest::open(&folder)?.is_none() {
        Manifest::default().write(&folder)?;
    }
    let all = times(&folder)?;
    // A clock that was set back a little must not put it before the last one; one that was far ahead must not hide all later ones.
    let last = all.iter().rfind(|(time_ns, _)| *time_ns <= now_ns.saturating_add(DAY_NS));
    if let Some((_, last)) = last
        && read(&folder, last)? == text
    {
        return Ok(());
    }
    let time_ns = last.map_or(now_ns, |(last_ns, _)| now_ns.max(last_ns + 1_000_000_000));
    let path = folder.join(name(time_ns));
    let (staged, mut file) = StagedFile::create(&path, true).map_err(failed(&path))?;
    file.write_all(text.as_bytes()).map_err(failed(&path))?;
    manifest::commit(staged).map_err(failed(&path))
}

/// Whether the store in `root` keeps a registry.
pub fn has_kept(root: &Path) -> bool {
    times(&root.join(FOLDER)).is_ok_and(|all| !all.is_empty())
}

/// The registry of the store in `root` as of `at_ns`: the last one that was kept until then, or else the first. Of targets it has name, type,
/// site and ports. `None` if the store keeps none.
///
/// # Errors
/// It is damaged, or cannot be read.
pub fn kept_at(root: &Path, at_ns: u64) -> Result<Option<Registry>, FileError> {
    let folder = root.join(FOLDER);
    let all = times(&folder)?;
    let behind = all.partition_point(|(time_ns, _)| *time_ns <= at_ns);
    let Some((_, path)) = all.get(behind.saturating_sub(1)) else { return Ok(None) };
    let text = read(&folder, path)?;
    let wrong = |error: serde_json::Error| FileError::Metadata { path: path.clone(), problem: error.to_string() };
    read_kept(&text).map(Some).map_err(wrong)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> FileError + use<> {
    let path = path.to_owned();
    move |source| FileError::Write { path: path.clone(), source }
}

fn name(time_ns: u64) -> String {
    utc_name(time_ns) + ENDING
}

/// The time that a name says.
fn time_of(name: &str) -> Option<u64> {
    of_utc_name(name.strip_suffix(ENDING)?)
}

/// Those that the manifest lists, by their times.
fn times(folder: &Path) -> Result<Vec<(u64, PathBuf)>, FileError> {
    let listed = Manifest::open(folder)?;
    let names = listed.iter().flat_map(|manifest| manifest.files().keys());
    let mut found: Vec<(u64, PathBuf)> = names.filter_map(|name| Some((time_of(name)?, folder.join(name)))).collect();
    found.sort_unstable();
    Ok(found)
}

/// The text at `path`, which must be as the manifest of `folder` has it.
fn read(folder: &Path, path: &Path) -> Result<String, FileError> {
    let bytes = regular::read(path).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    if let Some(manifest) = Manifest::open(folder)? {
        manifest.check(path, &bytes)?;
    }
    String::from_utf8(bytes).map_err(|error| FileError::Metadata { path: path.to_owned(), problem: error.to_string() })
}

#[cfg(test)]
mod tests {
    use flowloom_store::monitor::{utc_ns, utc_text};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn registry(extra: &str) -> Registry {
        let text = format!(
            "[[site]]\nname = \"north\"\nlatitude = 54.3\nlongitude = 10.1\n[[target]]\nname = \"core\"\nsite = \"north\"\ntype = \"switch\"\n\
             addresses = [\"192.0.2.1\"]\ncommunity = \"hidden\"\n[[target.port]]\nname = \"a\"\nsince = \"2026-06-01\"\n\
             capacity = \"10gbit\"\n[[target]]\nname = \"here\"\nkind = \"local\"\n[[link]]\nfrom = \"core:a\"\nto = \"here:b\"\n{extra}"
        );
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn a_store_keeps_what_a_map_needs_as_of_each_time() {
        let store = tempfile::tempdir().unwrap();
        let root = store.path();
        assert!(!has_kept(root) && kept_at(root, SECOND).unwrap().is_none());
        let begin = utc_ns("2026-11-28T10:17:33").unwrap();
        keep(root, &registry(""), begin).unwrap();
        // The same again changes nothing.
        keep(root, &registry("until = \"2027-01-01\"\n"), begin + 3_600 * SECOND).unwrap();
        keep(root, &registry("until = \"2027-01-01\"\n"), begin + 7_200 * SECOND).unwrap();
        // A clock that was set back.
        keep(root, &registry("until = \"2028-01-01\"\n"), begin).unwrap();
        let mut names: Vec<String> = fs::read_dir(root.join(FOLDER))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["20261128T101733Z.json", "20261128T111733Z.json", "20261128T111734Z.json", "manifest.json"]);
        let until = |at_ns: u64| {
            let found = kept_at(root, at_ns).unwrap().unwrap();
            found.link[0].until.as_ref().map(|day| utc_text(day.start_ns)[..4].to_owned())
        };
        let hour = begin + 3_600 * SECOND;
        assert_eq!([0, begin, hour - 1].map(until), [None, None, None]);
        assert_eq!([hour, hour + SECOND].map(until), ["2027", "2028"].map(|year| Some(year.to_owned())));
        // A clock that was ten years ahead.
        let ahead = begin + 3_650 * DAY_NS;
        keep(root, &registry("until = \"2050-01-01\"\n"), ahead).unwrap();
        keep(root, &registry("until = \"2029-01-01\"\n"), hour + 60 * SECOND).unwrap();
        let later = [hour + 60 * SECOND, hour + 9 * DAY_NS, ahead].map(until);
        assert_eq!(later, ["2029", "2029", "2050"].map(|year| Some(year.to_owned())));
        let found = kept_at(root, begin).unwrap().unwrap();
        assert_eq!((found.site[0].latitude, found.target[0].r#type.as_deref()), (Some(54.3), Some("switch")));
        assert_eq!(found.target[0].port[0].capacity.as_ref().unwrap().to_string(), "10gbit");
        // What is secret, and what it does not need, is not there.
        for name in names {
            let text = fs::read_to_string(root.join(FOLDER).join(name)).unwrap();
            assert!(!text.contains("hidden") && !text.contains("192.0.2.1"), "{text}");
        }
    }

    #[test]
    fn a_changed_byte_is_damage() {
        let store = tempfile::tempdir().unwrap();
        keep(store.path(), &registry(""), SECOND).unwrap();
        let path = store.path().join(FOLDER).join(name(SECOND));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("north", "south")).unwrap();
        assert!(matches!(kept_at(store.path(), 0), Err(FileError::Changed { .. })));
        assert_eq!(
            ["19700101T000001Z.json", "19700101T000001.json", "é.json"].map(time_of),
            [Some(SECOND), None, None]
        );
    }
}
