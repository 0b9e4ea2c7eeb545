//! `flowloom lab init`, `invite`, `admit`, `enrol`, `revoke`: who takes part in a lab.

use std::path::Path;

use flowloom_lab::authority::Error;
use flowloom_lab::authority::enrolment::{Answer, MOST_BYTES, Pending, Request};
use flowloom_lab::authority::files;
use flowloom_lab::authority::folder::{Authority, Invitation};
use flowloom_lab::authority::identity::Role;
use flowloom_lab::authority::token::Token;
use flowloom_lab::blocking;
use flowloom_lab::clock::{Clock, HostClock};

use crate::args::{LabAdmit, LabEnrol, LabInit, LabInvite, LabRevoke};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::output;

/// An error of the lab, as users see it.
pub fn failure(error: Error) -> Failure {
    match &error {
        Error::File { path, .. } if !path.exists() => Failure::new(&error)
            .hint("the folder of a lab is made by `flowloom lab init`, that of an agent by `flowloom lab enrol`; --dir names it"),
        _ => Failure::new(error),
    }
}

/// Makes a lab.
pub fn init(args: &LabInit) -> Result<Exit, Failure> {
    let of_folder = || args.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or_else(of_folder);
    let authority = Authority::init(&args.dir, &name, HostClock.unix_s()).map_err(failure)?;
    let dir = args.dir.display();
    output::text(&format!(
        "lab {name}  {}\n  authority and controller  {dir}  (keep it: whoever has it is the lab)\n  next  flowloom lab invite NAME --address THIS-HOST:42011 --dir {dir}\n",
        authority.lab()
    ))?;
    Ok(Exit::Done)
}

/// Invites a host.
pub fn invite(args: &LabInvite, quiet: bool) -> Result<Exit, Failure> {
    let authority = Authority::open(&args.dir).map_err(failure)?;
    let within_s = i64::try_from(args.within.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX);
    let invitation = Invitation {
        name: args.name.clone(),
        role: if args.controller { Role::Controller } else { Role::Agent },
        until_unix_s: HostClock.unix_s().saturating_add(within_s),
        certificate_days: args.days,
    };
    let token = authority.invite(&invitation, args.address.clone()).map_err(failure)?;
    if !quiet {
        eprintln!(
            "{} may come once within {}; on that host: flowloom lab enrol TOKEN --dir agent",
            args.name, args.within
        );
    }
    // The token alone, for scripts to take.
    output::text(&format!("{token}\n"))?;
    Ok(Exit::Done)
}

/// Lets in those who are invited.
pub fn admit(args: &LabAdmit, quiet: bool) -> Result<Exit, Failure> {
    let authority = Authority::open(&args.dir).map_err(failure)?;
    if let (Some(request), Some(answer)) = (&args.request, &args.answer) {
        let request: Request = read(request)?;
        let (who, given) = authority.admit(&request, HostClock.unix_s()).map_err(failure)?;
        write_new(answer, &given)?;
        output::text(&format!("{who}  {}\n", answer.display()))?;
        return Ok(Exit::Done);
    }
    let listens = |address| {
        if !quiet {
            eprintln!("listening on {address} until all who are invited have come");
        }
    };
    blocking::admit(
        authority,
        args.listen,
        listens,
        |asked| match &asked.outcome {
            // A reader that went away does not keep others out.
            Ok(who) => drop(output::text(&format!("{who}  from {}\n", asked.from))),
            Err(why) => eprintln!("warning: {}: {why}", asked.from),
        },
        interrupt::requested,
    )
    .map_err(failure)?;
    Ok(if interrupt::requested() { Exit::Invalid } else { Exit::Done })
}

/// Comes in.
pub fn enrol(args: &LabEnrol) -> Result<Exit, Failure> {
    let pending = Pending::of(&args.dir);
    let who = match (&args.token, &args.answer) {
        (_, Some(answer)) => {
            let answer: Answer = read(answer)?;
            pending.end(&args.dir, &answer, blocking::FILES_OF_AGENTS, HostClock.unix_s()).map_err(failure)?
        }
        (Some(token), None) => {
            let token: Token = token.parse().map_err(Failure::usage)?;
            if let Some(file) = &args.request {
                write_new(file, &pending.begin(&token).map_err(failure)?)?;
                let (file, dir) = (file.display(), args.dir.display());
                output::text(&format!(
                    "{file}\n  at the lab  flowloom lab admit --request {file} --answer ANSWER\n  then here   flowloom lab enrol --dir {dir} --answer ANSWER\n"
                ))?;
                return Ok(Exit::Done);
            }
            blocking::enrol(&token, &args.dir).map_err(failure)?
        }
        (None, None) => return Err(Failure::usage("a token or an answer is needed")),
    };
    let dir = args.dir.display();
    output::text(&format!(
        "{who}  {dir}\n  what it lends  {dir}/limits.toml\n  next           flowloom agent --dir {dir}\n"
    ))?;
    Ok(Exit::Done)
}

/// Makes certificates count no longer.
pub fn revoke(args: &LabRevoke) -> Result<Exit, Failure> {
    let authority = Authority::open(&args.dir).map_err(failure)?;
    let revoked = authority.revoke(&args.name, HostClock.unix_s()).map_err(failure)?;
    output::text(&match revoked {
        0 => format!("{}  was revoked before\n", args.name),
        n => format!("{}  {n} certificate{} revoked\n", args.name, if n == 1 { "" } else { "s" }),
    })?;
    Ok(Exit::Done)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let bytes = files::read(path, MOST_BYTES).map_err(Failure::new)?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::new(format_args!("{}: {error}", path.display())))
}

fn write_new(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let bytes = serde_json::to_vec(value).map_err(Failure::new)?;
    files::write_new(path, &bytes).map_err(Failure::new)
}
