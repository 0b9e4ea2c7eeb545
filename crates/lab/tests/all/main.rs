//! The lab: language, members, agents, leaves and controllers, over real connections on this host.

mod authority;
mod bytes;
mod common;
mod consent;
mod experiments;
mod generated;
mod hosts;
mod language;
mod leaves;
mod path;
mod scale;
mod scripts;
mod strangers;
mod tools;
mod trees;
