//! Outputs: what may be written where.
//!
//! | name leads to | without `--force` | with `--force` |
//! |---|---|---|
//! | nothing | made | made |
//! | a file | refused | replaced; a link to it stays |
//! | a link to nothing | refused | made where the link leads |
//! | a device or pipe | written into | written into |
//! | a folder, socket or disk | refused | refused |
//! | an input | refused | refused |
//!
//! What is not complete, because the work was stopped, replaces nothing ([`write_result`]).

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flowloom_store::interrupt::Interrupt;
use flowloom_store::staged::{self, StagedFile, Target, leads_nowhere};
use flowloom_store::{formats, manifest};

use crate::context::{Context, Stop};
use crate::error::Error;
use crate::input::{self, Kind};
use crate::warning::Warning;

/// Whether an output is standard output: `-`, or one of its names in `/dev`.
pub fn is_standard_output(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path.as_os_str() == *name)
}

/// The folder for temporary files of an output: that of the file, or the system's where the output is a device, a pipe or standard output.
pub(crate) fn scratch(path: &Path) -> PathBuf {
    match Target::of(path) {
        _ if is_standard_output(path) => std::env::temp_dir(),
        Ok(Target::Free(end) | Target::File(end) | Target::Dangling(end)) => folder(&end).to_owned(),
        Ok(Target::Folder(_) | Target::Unwritable(_)) | Err(_) => folder(path).to_owned(),
        Ok(Target::Device | Target::Pipe) => std::env::temp_dir(),
    }
}

/// The folder that `file` is in.
pub(crate) fn folder(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses an output that exists, unless it may be replaced, one that no file can be written into, and one that is an input.
///
/// # Errors
/// The output exists, and `replace` does not allow to replace it; it is a folder, a socket or a disk; it is one of `inputs`, or a part
/// of one that is a folder.
pub fn check_target(path: &Path, replace: bool, inputs: &[PathBuf]) -> Result<(), Error> {
    if is_standard_output(path) {
        return Ok(());
    }
    let shown = path.display();
    let cannot = |problem: &dyn std::fmt::Display| Error::new(format_args!("{shown}: {problem}"));
    match Target::of(path).map_err(|error| cannot(&error))? {
        Target::Free(_) | Target::Device | Target::Pipe => Ok(()),
        Target::Folder(_) => Err(cannot(&"is a folder, and the output is a file").hint("-o names a file")),
        Target::Unwritable(what) => Err(cannot(&format_args!("it is {what}")).hint("name a file")),
        Target::File(end) => match inputs.iter().find(|input| is_of(&end, input)) {
            Some(input) => Err(is_input(path, input)),
            None if replace => Ok(()),
            None => Err(Error::exists(path)),
        },
        Target::Dangling(_) if replace => Ok(()),
        Target::Dangling(end) => {
            Err(cannot(&leads_nowhere(&end)).hint("--force writes the file there, another name leaves the link"))
        }
    }
}

/// The same for an output that is read from its end, as workloads are.
///
/// # Errors
/// Those of [`check_target`]; standard output, or a pipe.
pub fn check_workload_target(path: &Path, replace: bool, inputs: &[PathBuf]) -> Result<(), Error> {
    if is_standard_output(path) || matches!(Target::of(path), Ok(Target::Pipe)) {
        return Err(Error::usage(format_args!(
            "{}: a workload (.parquet) cannot be written to a pipe",
            path.display()
        ))
        .hint("name a file; flowloom convert -o - --to jsonl writes its vectors as text"));
    }
    check_target(path, replace, inputs)
}

/// Refuses a folder as output that replaces what it holds, where that is an input.
///
/// # Errors
/// Standard output; one of `inputs` is in the folder, or is it.
pub fn check_folder(folder: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    if is_standard_output(folder) {
        return Err(Error::usage(format_args!("{}: this output is a folder, not one stream", folder.display()))
            .hint("-o names a folder; --json prints results on standard output"));
    }
    let Ok(whole) = fs::canonicalize(folder) else { return Ok(()) };
    let is_inside = |input: &&PathBuf| fs::canonicalize(input).is_ok_and(|input| input.starts_with(&whole));
    match inputs.iter().find(is_inside) {
        Some(input) => Err(Error::new(format_args!(
            "{}: the input {} is in this folder, which would be replaced",
            folder.display(),
            input.display()
        ))
        .hint("give another folder to -o, or move the input")),
        None => Ok(()),
    }
}

/// Refuses a folder of results that holds what no command wrote, as `is_known` says by path and name, and that would be replaced.
///
/// # Errors
/// Up to three names of what is foreign; the folder cannot be read.
pub fn refuse_foreign(folder: &Path, is_known: impl Fn(&Path, &str) -> bool) -> Result<(), Error> {
    let shown = folder.display();
    match staged::foreign(folder, is_known) {
        Ok(names) if names.is_empty() => Ok(()),
        Ok(names) => Err(Error::new(format_args!(
            "{shown} holds what flowloom did not write, so --force does not replace it: {}",
            staged::named(&names)
        ))
        .hint("move that, or give another folder to -o")),
        Err(error) => Err(Error::new(format_args!("{shown}: {error}"))),
    }
}

fn is_input(path: &Path, input: &Path) -> Error {
    let what = match path == input {
        true => "it is also an input".to_owned(),
        false => format!("it is also the input {}, or a part of it", input.display()),
    };
    Error::new(format_args!("{}: exists already, and {what}", path.display()))
        .hint("--force replaces no input: give another name")
}

/// Whether the file `end` is the input, under whatever name, or a file of the folder that is the input.
fn is_of(end: &Path, input: &Path) -> bool {
    // Standard input may be a file, too.
    let input = if input.as_os_str() == "-" { Path::new("/dev/stdin") } else { input };
    let (Ok(file), Ok(found)) = (fs::metadata(end), fs::metadata(input)) else { return false };
    if !found.is_dir() {
        return (file.dev(), file.ino()) == (found.dev(), found.ino());
    }
    let (Ok(end), Ok(folder)) = (fs::canonicalize(end), fs::canonicalize(input)) else { return false };
    let is_read = match input::kind(input) {
        // Of a run, pages and exports may lie beside what is read.
        Kind::RunFolder => end.extension().is_some_and(|ending| ending == "parquet" || ending == "json"),
        _ => input::kind(&end) == Kind::Capture,
    };
    is_read && end.starts_with(folder)
}

/// Writes the page or text that `write` makes to `path`, under another name first, so that no half-written one is left. Devices, pipes
/// and standard output (`-`) are written into; a reader of standard output that has gone is no error. `stop` ends the wait for the
/// reader of a pipe.
///
/// # Errors
/// What could not be written; a file that came into being since [`check_target`], unless it may be replaced.
pub fn write_page(
    path: &Path,
    replace: bool,
    stop: &Stop,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Error> {
    staged_page(path, replace, stop, write)?
        .map_or(Ok(()), |staged| manifest::commit(staged).map_err(|error| cannot_write(path, &error)))
}

/// Writes a page of results like [`write_page`], and returns its name. One that is not complete, because the work was stopped, replaces
/// nothing: where its name is taken, it gets that of a part beside it (`NAME.part`), of which a warning tells.
///
/// # Errors
/// Those of [`write_page`].
pub fn write_result(
    path: &Path,
    replace: bool,
    is_complete: bool,
    context: Context<'_>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<PathBuf, Error> {
    if is_complete {
        write_page(path, replace, context.stop(), write)?;
        return Ok(path.to_owned());
    }
    let Some(staged) = staged_page(path, replace, context.stop(), write)? else { return Ok(path.to_owned()) };
    let named = manifest::commit_part(staged).map_err(|error| cannot_write(path, &error))?;
    Ok(tell_part(path, named, context))
}

/// Warns if a part of the result `path` was `named` otherwise, because an earlier result has the name; the name of the part.
pub(crate) fn tell_part(path: &Path, named: Option<PathBuf>, context: Context<'_>) -> PathBuf {
    let named = named.unwrap_or_else(|| path.to_owned());
    if named != staged::real(path).unwrap_or_else(|_| path.to_owned()) {
        context.warn(&Warning::PartKept { result: path.to_owned(), part: named.clone() });
        return named;
    }
    path.to_owned()
}

/// Writes a page under a temporary name; `None` if it went to standard output.
fn staged_page(
    path: &Path,
    replace: bool,
    stop: &Stop,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Option<StagedFile>, Error> {
    if is_standard_output(path) {
        let mut out = BufWriter::new(io::stdout().lock());
        return match write(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Error::new(format_args!("standard output: {error}")))
            }
            _ => Ok(None),
        };
    }
    let interrupt = stop.interrupt();
    let created = StagedFile::create_until(path, replace, &interrupt);
    let (staged, file) = created.map_err(|error| not_created(path, &error, &interrupt))?;
    written(&file, write).map_err(|error| cannot_write(path, &error))?;
    Ok(Some(staged))
}

/// Why an output could not be opened: the user may have ended the wait for its reader.
pub(crate) fn not_created(path: &Path, error: &io::Error, interrupt: &Interrupt) -> Error {
    if interrupt.has_cut() { Error::stopped() } else { cannot_write(path, error) }
}

/// Writes several files, of which each has its name once all are complete.
///
/// # Errors
/// Those of [`write_page`].
pub fn write_pages(pages: &[(PathBuf, String)], replace: bool) -> Result<(), Error> {
    let staged = pages.iter().map(|(path, text)| {
        let cannot = |error| cannot_write(path, &error);
        let (staged, file) = StagedFile::create(path, replace).map_err(cannot)?;
        written(&file, |out| out.write_all(text.as_bytes())).map_err(cannot)?;
        Ok((path, staged))
    });
    let staged = staged.collect::<Result<Vec<_>, Error>>()?;
    staged
        .into_iter()
        .try_for_each(|(path, staged)| manifest::commit(staged).map_err(|error| cannot_write(path, &error)))
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::of_file(path, error).hint_if(formats::remedy(error.kind()))
}

fn written(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out).and_then(|()| out.flush())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_input_is_an_output() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("input"), "x").unwrap();
        fs::hard_link(at("input"), at("hard")).unwrap();
        symlink("input", at("soft")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        let inputs = [at("input")];
        for other in ["input", "hard", "soft", "sub/../input"] {
            let said = check_target(&at(other), true, &inputs).unwrap_err().to_string();
            assert!(said.contains("also") && said.contains("input"), "{said}");
        }
        fs::write(at("else"), "x").unwrap();
        check_target(&at("else"), true, &inputs).unwrap();
        check_target(&at("none"), false, &inputs).unwrap();
        check_folder(&at("sub"), &inputs).unwrap();
        check_folder(folder.path(), &inputs).unwrap_err();
        symlink(".", at("here")).unwrap();
        check_folder(&at("here"), &inputs).unwrap_err();
    }

    #[test]
    fn no_file_of_a_folder_that_is_read_is_an_output() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("ring")).unwrap();
        fs::create_dir(at("run")).unwrap();
        for file in ["ring/a.pcap", "run/run.json", "run/queue.parquet", "run/report.html"] {
            fs::write(at(file), [0xd4, 0xc3, 0xb2, 0xa1]).unwrap();
        }
        fs::write(at("ring/old.csv"), "start_ns\n").unwrap();
        for (file, input, is_refused) in [
            ("ring/a.pcap", "ring", true),
            ("ring/old.csv", "ring", false),
            ("run/queue.parquet", "run", true),
            ("run/run.json", "run", true),
            ("run/report.html", "run", false),
        ] {
            assert_eq!(check_target(&at(file), true, &[at(input)]).is_err(), is_refused, "{file}");
        }
    }

    #[test]
    fn links_and_devices_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("none", at("loose")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        let said = check_target(&at("loose"), false, &[]).unwrap_err().to_string();
        assert!(said.contains("does not exist") && said.contains("--force"), "{said}");
        check_target(&at("loose"), true, &[]).unwrap();
        check_target(&at("null"), false, &[]).unwrap();
        check_target(folder.path(), true, &[]).unwrap_err();
        write_page(&at("null"), false, &Stop::new(), |out| out.write_all(b"text")).unwrap();
        assert!(at("null").is_symlink());
        check_workload_target(Path::new("-"), true, &[]).unwrap_err();
    }
}
