//! `HOST:PORT`: where a leaf sends from, or whom it talks to.

use std::fmt;

use super::super::address::{Address, Host};
use super::super::diagnostic::Diagnostic;
use super::super::tree::{Form, Value};

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The port; 0 of a source is any.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Endpoint {
    /// The endpoint that `value`, given as `name`, is.
    pub(super) fn read(name: &str, value: &Value, found: &mut Vec<Diagnostic>) -> Option<Endpoint> {
        let address = match value {
            Value::Word(word) if word.form != Form::Quantity => word.text.parse::<Address>().ok(),
            _ => None,
        };
        match address {
            Some(Address { host, port: Some(port) }) => Some(Endpoint { host, port }),
            _ => {
                let message = format!("{name} is a host and a port");
                found.push(Diagnostic::error(value.place(), message).hint("write HOST:PORT"));
                None
            }
        }
    }
}
