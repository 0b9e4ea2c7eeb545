//! What is kept of the addresses of connections (methods M.12).

use std::path::PathBuf;

use serde_json::json;

use flowloom_store::addresses::{AddressBook, CryptoPan, Keep};
use flowloom_store::workload::Provenance;

use crate::context::Context;
use crate::error::Error;
use crate::warning::Warning;

/// What to keep of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostChoice {
    /// Nothing; the port of the service stays.
    #[default]
    None,
    /// A dense number per address.
    Number,
    /// Addresses encrypted with Crypto-PAn, which keeps common prefixes.
    Cryptopan,
    /// Addresses as captured, for your own use.
    Captured,
}

impl HostChoice {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            HostChoice::None => "none",
            HostChoice::Number => "number",
            HostChoice::Cryptopan => "cryptopan",
            HostChoice::Captured => "captured",
        }
    }
}

/// What becomes of the addresses of connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostOptions {
    /// What to keep; `None`: nothing, but all that Flowloom's own files keep.
    pub keep: Option<HostChoice>,
    /// The key of [`HostChoice::Cryptopan`]: a file of 32 bytes or 64 hexadecimal digits.
    pub key: Option<PathBuf>,
    /// Leave private, multicast and other special addresses as they are under [`HostChoice::Cryptopan`].
    pub keep_special: bool,
}

/// The address book that the options ask for.
///
/// Files of Flowloom hold what was asked for when they were made; that stays unless something else is asked for.
pub fn book(options: &HostOptions, own_files: bool, context: Context<'_>) -> Result<AddressBook, Error> {
    let choice = choice(options, own_files);
    let encrypts = choice == HostChoice::Cryptopan;
    for (option, given) in [("--key", options.key.is_some()), ("--keep-special", options.keep_special)] {
        if given && !encrypts {
            return Err(Error::usage(format_args!("{option} goes with --hosts cryptopan"))
                .hint(format_args!("add --hosts cryptopan, or leave {option} out")));
        }
    }
    Ok(AddressBook::new(match choice {
        HostChoice::None => Keep::Nothing,
        HostChoice::Number => Keep::Number,
        HostChoice::Captured => Keep::Captured,
        HostChoice::Cryptopan => {
            let Some(path) = &options.key else {
                return Err(Error::usage("--hosts cryptopan needs --key FILE")
                    .hint("make a key once and keep it: head -c 32 /dev/urandom > campus.key"));
            };
            let interrupt = context.interrupt();
            let pan = CryptoPan::from_key_file(path, &interrupt).map_err(|error| match interrupt.has_cut() {
                true => Error::stopped(),
                false => Error::new(error).hint("make one with: head -c 32 /dev/urandom > FILE"),
            })?;
            Keep::Encrypted { pan: Box::new(pan), keep_special: options.keep_special }
        }
    }))
}

fn choice(options: &HostOptions, own_files: bool) -> HostChoice {
    options.keep.unwrap_or(if own_files { HostChoice::Captured } else { HostChoice::None })
}

/// Writes into `provenance` what was kept; the key leaves no trace.
pub fn note(options: &HostOptions, provenance: &mut Provenance) {
    let name = choice(options, false).word();
    provenance.options.insert("hosts".to_owned(), json!(name));
    if options.keep_special {
        provenance.options.insert("keep_special".to_owned(), json!(true));
    }
}

/// Warns of what is not protected.
pub fn warn(options: &HostOptions, context: Context<'_>) {
    if options.keep == Some(HostChoice::Captured) {
        context.warn(&Warning::AddressesKept);
    }
}
