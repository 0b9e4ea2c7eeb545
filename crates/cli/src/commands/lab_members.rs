//! `flowloom lab init`, `invite`, `admit`, `enrol`, `revoke`: who takes part in a lab.

use std::path::Path;

use flowloom::lab::authority::enrolment::{Answer, MOST_BYTES, Pending, Request};
use flowloom::lab::authority::files;
use flowloom::lab::authority::folder::{Authority, Invitation};
use flowloom::lab::authority::identity::Role;
use flowloom::lab::authority::token::Token;
use flowloom::lab::blocking;
use flowloom::lab::clock::{Clock, HostClock};

use crate::args::{LabAdmit, LabEnrol, LabInit, LabInvite, LabRevoke};
use crate::exit::Exit;
use crate::{interrupt, output};
use flowloom::Error;
use flowloom::run::of_lab;

/// Makes a lab.
pub fn init(args: &LabInit) -> Result<Exit, Error> {
    let of_folder = || args.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = args.name.clone().unwrap_or_else(of_folder);
    let authority = Authority::init(&args.dir, &name, HostClock.unix_s()).map_err(of_lab)?;
    let dir = args.dir.display();
    output::shown(&format!(
        "lab {name}  {}\n  authority and controller  {dir}  (keep it: whoever has it is the lab)\n  next  flowloom lab invite NAME --address THIS-HOST:42011 --dir {dir}\n",
        authority.lab()
    ))?;
    Ok(Exit::Done)
}

/// Invites a host.
pub fn invite(args: &LabInvite, quiet: bool) -> Result<Exit, Error> {
    let authority = Authority::open(&args.dir).map_err(of_lab)?;
    let within_s = i64::try_from(args.within.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX);
    let invitation = Invitation {
        name: args.name.clone(),
        role: if args.controller { Role::Controller } else { Role::Agent },
        until_unix_s: HostClock.unix_s().saturating_add(within_s),
        certificate_days: args.days,
    };
    let token = authority.invite(&invitation, args.address.clone()).map_err(of_lab)?;
    if !quiet {
        tell!("{} may come once within {}; on that host: flowloom lab enrol TOKEN --dir agent", args.name, args.within);
    }
    // The token alone, for scripts to take.
    output::text(&format!("{token}\n"))?;
    Ok(Exit::Done)
}

/// Lets in those who are invited.
pub fn admit(args: &LabAdmit, quiet: bool) -> Result<Exit, Error> {
    let authority = Authority::open(&args.dir).map_err(of_lab)?;
    if let (Some(request), Some(answer)) = (&args.request, &args.answer) {
        let request: Request = read(request)?;
        let (who, given) = authority.admit(&request, HostClock.unix_s()).map_err(of_lab)?;
        write_new(answer, &given)?;
        output::shown(&format!("{who}  {}\n", answer.display()))?;
        return Ok(Exit::Done);
    }
    let listens = |address| {
        if !quiet {
            tell!("listening on {address} until all who are invited have come");
        }
    };
    blocking::admit(
        authority,
        args.listen,
        listens,
        |asked| match &asked.outcome {
            // A reader that went away does not keep others out.
            Ok(who) => drop(output::shown(&format!("{who}  from {}\n", asked.from))),
            Err(why) => tell!("warning: {}: {why}", asked.from),
        },
        || interrupt::stop().is_requested(),
    )
    .map_err(of_lab)?;
    Ok(if interrupt::stop().is_requested() { Exit::Invalid } else { Exit::Done })
}

/// Comes in.
pub fn enrol(args: &LabEnrol) -> Result<Exit, Error> {
    let pending = Pending::of(&args.dir);
    let who = match (&args.token, &args.answer) {
        (_, Some(answer)) => {
            let answer: Answer = read(answer)?;
            pending.end(&args.dir, &answer, blocking::FILES_OF_AGENTS, HostClock.unix_s()).map_err(of_lab)?
        }
        (Some(token), None) => {
            let token: Token = token.parse().map_err(Error::usage)?;
            if let Some(file) = &args.request {
                let request = pending.begin(&token).map_err(of_lab)?;
                if let Err(error) = write_new(file, &request) {
                    // Without its request the key is of no use.
                    pending.cancel().map_err(of_lab)?;
                    return Err(error);
                }
                let (file, dir) = (file.display(), args.dir.display());
                output::shown(&format!(
                    "{file}\n  at the lab  flowloom lab admit --request {file} --answer ANSWER\n  then here   flowloom lab enrol --dir {dir} --answer ANSWER\n"
                ))?;
                return Ok(Exit::Done);
            }
            let who = blocking::enrol(&token, &args.dir).map_err(of_lab)?;
            // A request of before has no folder to go to any more.
            pending.cancel().map_err(of_lab)?;
            who
        }
        (None, None) => return Err(Error::usage("a token or an answer is needed")),
    };
    let dir = args.dir.display();
    output::shown(&format!(
        "{who}  {dir}\n  what it lends  {dir}/limits.toml\n  next           flowloom agent --dir {dir}\n"
    ))?;
    Ok(Exit::Done)
}

/// Makes certificates count no longer.
pub fn revoke(args: &LabRevoke) -> Result<Exit, Error> {
    let authority = Authority::open(&args.dir).map_err(of_lab)?;
    let revoked = authority.revoke(&args.name, HostClock.unix_s()).map_err(of_lab)?;
    output::shown(&match revoked {
        0 => format!("{}  was revoked before\n", args.name),
        n => format!("{}  {n} certificate{} revoked\n", args.name, if n == 1 { "" } else { "s" }),
    })?;
    Ok(Exit::Done)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = files::read(path, MOST_BYTES).map_err(Error::new)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::new(format_args!("{}: {error}", path.display())))
}

fn write_new(path: &Path, value: &impl serde::Serialize) -> Result<(), Error> {
    let bytes = serde_json::to_vec(value).map_err(Error::new)?;
    files::write_new(path, &bytes).map_err(Error::new)
}
