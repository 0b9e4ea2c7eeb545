//! `--hosts`: what becomes of the addresses of connections (methods M.12).

use clap::ValueEnum;
use serde_json::json;

use flowloom_store::addresses::{AddressBook, CryptoPan, Keep};
use flowloom_store::workload::Provenance;

use crate::args::{HostChoice, Hosts};
use crate::failure::Failure;
use crate::output::Manner;

/// The address book that the options ask for.
///
/// Files of Flowloom hold what was asked for when they were made; that stays unless something else is asked for.
pub fn book(args: &Hosts, own_files: bool) -> Result<AddressBook, Failure> {
    let choice = choice(args, own_files);
    let encrypts = choice == HostChoice::Cryptopan;
    for (option, given) in [("--key", args.key.is_some()), ("--keep-special", args.keep_special)] {
        if given && !encrypts {
            return Err(Failure::usage(format_args!("{option} goes with --hosts cryptopan"))
                .hint(format_args!("add --hosts cryptopan, or leave {option} out")));
        }
    }
    Ok(AddressBook::new(match choice {
        HostChoice::None => Keep::Nothing,
        HostChoice::Number => Keep::Number,
        HostChoice::Captured => Keep::Captured,
        HostChoice::Cryptopan => {
            let Some(path) = &args.key else {
                return Err(Failure::usage("--hosts cryptopan needs --key FILE")
                    .hint("make a key once and keep it: head -c 32 /dev/urandom > campus.key"));
            };
            let pan = CryptoPan::from_key_file(path)
                .map_err(|error| Failure::new(error).hint("make one with: head -c 32 /dev/urandom > FILE"))?;
            Keep::Encrypted { pan: Box::new(pan), keep_special: args.keep_special }
        }
    }))
}

fn choice(args: &Hosts, own_files: bool) -> HostChoice {
    args.hosts.unwrap_or(if own_files { HostChoice::Captured } else { HostChoice::None })
}

/// Writes into `provenance` what was kept; the key leaves no trace.
pub fn note(args: &Hosts, provenance: &mut Provenance) {
    let name = choice(args, false).to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    provenance.options.insert("hosts".to_owned(), json!(name));
    if args.keep_special {
        provenance.options.insert("keep_special".to_owned(), json!(true));
    }
}

/// Warns of what is not protected.
pub fn warn(args: &Hosts, manner: Manner) {
    if args.hosts == Some(HostChoice::Captured) {
        manner.warn(
            "the output holds the addresses of the captured hosts",
            "keep it to yourself, or use --hosts number or --hosts cryptopan",
        );
    }
}
