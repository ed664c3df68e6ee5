//! The engine against theory, the RFCs worked by hand, and ns-2.
//!
//! One binary, so that all tests share both cores: `cargo test -p trunkline-engine queueing`.

#[path = "../support/mod.rs"]
mod support;

mod delivered_marks;
mod determinism;
mod echo;
mod event_free_hops;
mod headers_on_wires;
mod mpls;
mod node_visits;
mod ns2;
mod partition;
mod partition_signalling;
mod probes;
mod processing;
mod queueing;
mod random;
mod recovery;
mod refusals;
mod sched;
mod storm;
mod tcp;
mod transfers;
