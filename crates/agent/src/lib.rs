//! Sources and sinks of traffic: sans-IO state machines that are given the time and what arrived,
//! and say what to send and when to be woken.
//!
//! Nothing here reads a clock, draws its own random numbers or knows the network: `now` and
//! `random` are arguments, segments are returned by value, and an agent's only claim on the
//! future is the one instant its `timer()` names.

mod seq_set;
pub mod tcp;
pub mod udp;
pub mod workload;
