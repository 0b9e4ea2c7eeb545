//! `flowloom doctor`: one line per capability, what it means for a run, and what to do about it.

mod calibrate;
mod clean;
mod live;

use std::borrow::Cow;
use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use serde::Serialize;

use crate::exit::Exit;
use crate::{args, output};
use flowloom::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Limited,
    Missing,
}

/// One capability of the host.
#[derive(Debug, Serialize)]
struct Capability {
    name: &'static str,
    state: State,
    found: String,
    means: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<Cow<'static, str>>,
}

/// Runs the command.
pub fn run(args: &args::Doctor, quiet: bool) -> Result<Exit, Error> {
    if args.clean {
        return clean::run(args, quiet);
    }
    if args.calibrate {
        return calibrate::run(args, quiet);
    }
    let mut capabilities = vec![cores(), memory(), disk(), output_folder(), browser(), capturing()];
    capabilities.extend(live::capabilities());
    if args.json {
        return output::json(&serde_json::json!({ "capabilities": capabilities })).map(|()| Exit::Done);
    }
    if quiet {
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for Capability { name, state, found, means, remedy } in &capabilities {
        let state = match state {
            State::Ok => "ok",
            State::Limited => "limited",
            State::Missing => "missing",
        };
        text.push_str(&format!("{state:<8} {name:<11} {found}: {means}\n"));
        if let Some(remedy) = remedy {
            text.push_str(&format!("{:20} remedy: {remedy}\n", ""));
        }
    }
    output::shown(&text).map(|()| Exit::Done)
}

fn cores() -> Capability {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let found = format!("{count} core{}", if count == 1 { "" } else { "s" });
    Capability {
        name: "processor",
        state: State::Ok,
        found,
        means: "one run uses one core, several seeds use all; a live run uses two at least".into(),
        remedy: None,
    }
}

fn memory() -> Capability {
    // Peak memory of `extract` over 10,000 and 100,000 connections that stay open: 1.0 kB each after the handshake,
    // 1.4 kB after 5 exchanges, 3.5 kB after 20.
    const MEANS: &str = "a replay needs 2 to 8 kB per active connection, a capture 1 to 4 kB per open one";
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    let (state, found, remedy) = match available {
        None => (State::Limited, "unknown".to_owned(), None),
        Some(kilobytes) => {
            let gigabytes = kilobytes as f64 / 1e6;
            let short = gigabytes < 0.5;
            let remedy = short.then_some("close other programs, or cut the capture into pieces");
            (if short { State::Limited } else { State::Ok }, format!("{gigabytes:.1} GB available"), remedy)
        }
    };
    Capability { name: "memory", state, found, means: MEANS.into(), remedy: remedy.map(Cow::from) }
}

fn disk() -> Capability {
    let free = statvfs(".").map(|stat| stat.blocks_available() as f64 * stat.fragment_size() as f64 / 1e9);
    let (state, found, remedy) = match free {
        Err(error) => (State::Limited, error.to_string(), Some("run in a folder that exists and can be read")),
        Ok(gigabytes) if gigabytes < 1.0 => (
            State::Limited,
            format!("{gigabytes:.2} GB free here"),
            Some("free some space, or write elsewhere with -o"),
        ),
        Ok(gigabytes) => (State::Ok, format!("{gigabytes:.0} GB free here"), None),
    };
    Capability {
        name: "disk",
        state,
        found,
        means: "a run folder needs about 100 bytes per replayed packet at most".into(),
        remedy: remedy.map(Cow::from),
    }
}

fn output_folder() -> Capability {
    let writable = access(".", AccessFlags::W_OK).is_ok();
    Capability {
        name: "output",
        state: if writable { State::Ok } else { State::Missing },
        found: if writable { "this folder can be written" } else { "this folder cannot be written" }.to_owned(),
        means: "runs go to ./runs unless -o says otherwise".into(),
        remedy: (!writable).then_some("change the folder, or give -o".into()),
    }
}

fn browser() -> Capability {
    let found = ["xdg-open", "firefox", "chromium", "google-chrome"].into_iter().find(|program| on_path(program));
    Capability {
        name: "browser",
        state: if found.is_some() { State::Ok } else { State::Limited },
        found: found.unwrap_or("none here").to_owned(),
        means: "a report is one file that any browser opens, here or on another machine".into(),
        remedy: None,
    }
}

fn capturing() -> Capability {
    let found = ["tcpdump", "dumpcap"].into_iter().find(|program| on_path(program));
    Capability {
        name: "capturing",
        state: if found.is_some() { State::Ok } else { State::Missing },
        found: found.unwrap_or("no tcpdump or dumpcap").to_owned(),
        means: "`tcpdump -s 96 -w FILE tcp` makes captures that Flowloom reads".into(),
        remedy: found.is_none().then_some("apt-get install tcpdump, or bring captures from elsewhere".into()),
    }
}

fn on_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| is_program(&folder.join(program))))
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}
