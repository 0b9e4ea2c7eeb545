//! Whole runs of the simulator beside what is known of them.

mod cell_links;
mod cells;
mod common;
mod cut;
mod dumbbell;
mod link_truth;
mod losses;
mod networks;
mod options;
mod path;
mod plausibility;
mod probes;
mod queues;
mod rates;
mod re_extraction;
mod real_captures;
mod round_trip;
mod sojourn;
mod sources;
mod structures;
mod syns;
mod tcp_truth;
