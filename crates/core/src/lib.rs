//! Flowloom's machines: packets to connection vectors, players, TCP, queue disciplines, links, DelayBox.
//!
//! Everything here is a state machine without I/O. Time comes in as an argument, randomness as a seeded
//! stream at construction. The rules every machine keeps are in `ARCHITECTURE.md`, "Calling contract".
//!
//! | module | holds |
//! |---|---|
//! | `wire` | packets as they are on the wire, one file per layer |
//! | `extract` | packets into connection vectors: `front`, `part`, `merger` are the three machines; `end` and `observer` know one end and both; `adus` infers epochs and waits, `exchange` the pattern, `recovery` what a retransmission was, `datagrams` and `flow` UDP and QUIC; `conversations/` (Cáceres) |
//! | `workload` | the connection vector |
//! | `transits` | which of its transit times a replay has |
//! | `distribution` | distributions of delays, sizes and counts, as files spell them and as they are drawn |
//! | `play` | what an end does and when: `player`, over TCP or in datagrams; `reader`, when it does not read; `waits` decides which part of a wait is replayed; `prefill` begins a run in the middle of a workload; `conversation` draws conversations of tcplib |
//! | `tcp` | TCP: `sender/` (recovery in `repair`, reductions in `usage`, `bursts`, `undo`), `receiver`, `scoreboard`, `rack`, `prr`; congestion control in `congestion/`, one file per algorithm; a user's own implements `CongestionControl` |
//! | `queue` | queue disciplines, one file each; a user's own implements `Admit` or `Serve` |
//! | `path` | links and what sends their packets, DelayBox, loss, impairments, rules of flows |
//! | `cell` | cells, virtual circuits, the transport of 1988; framings and what they cost |
//! | `plausibility` | response functions, and whether a flow is near its own |
//! | `keys` | what keys of experiments are made of; the keys themselves are in `queue/keys`, `tcp/keys`, `path/keys` |
//! | `record` | what a run records |
//! | `time`, `units`, `rng` | nanoseconds; rates, sizes, limits; seeded streams |
//! | `sketch` | quantiles of streams |

#![forbid(unsafe_code)]

pub mod cell;
#[cfg(test)]
mod contract;
pub mod distribution;
pub mod extract;
pub mod keys;
pub mod path;
pub mod plausibility;
pub mod play;
pub mod queue;
pub mod record;
pub mod rng;
pub mod sketch;
pub mod tcp;
pub mod time;
pub mod transits;
pub mod units;
pub mod wire;
pub mod workload;
