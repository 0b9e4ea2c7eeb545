//! The lab: experiments over several hosts, as NetSpec controlled them (Frost et al. 1998, chapter 5; methods J).
//!
//! | module | holds |
//! |---|---|
//! | `script` | the language: `lexer`, `parser`, `tree`; `format` lays out, `toml_form/` is the same in TOML, `expand` takes files and variables in, `leaf/` is what leaves are asked, `explain/` what a script will do |
//! | `control` | what cluster, parallel and serial make of answers |
//! | `controller` | who commands agents: `experiment` from setup to teardown, `tree`, `plan`, `remote`, `times`; `sides` lends agents to an ordinary experiment |
//! | `agent` | `shared`, what its sessions have in common; `sessions`, limits, consent, results, the audit log; leaves as agents run them (`traffic`, `tools`, `path`, `replay`, `subtree`, `side`); `refusal`, why a command is not done |
//! | `leaves` | traffic, path, capture, watch, monitor and command leaves, one file each |
//! | `authority` | members: certificates, tokens, enrolment, revocation, signed statements |
//! | `transport`, `rpc` | how hosts talk; the messages, made of `proto/lab.proto` |
//! | `clock` | the clocks of other hosts, with bounds |
//! | `report` | reports of leaves, and their files |
//! | `blocking` | all of it for callers without async |

#![forbid(unsafe_code)]

pub mod agent;
pub mod authority;
pub mod blocking;
pub mod clock;
pub mod control;
pub mod controller;
pub mod leaves;
pub mod report;
pub mod rpc;
pub mod script;
pub mod transport;
