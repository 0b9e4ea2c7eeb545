//! The monitor against real agents, and against agents made for the test.

mod agents;
mod network;
mod periods;
mod responder;
mod scale;
mod snmpd;
mod upkeep;
