//! Sources and sinks of traffic as sans-IO state machines: time and arrivals in, packets and the time of
//! the next timer out.
//!
//! Nothing here reads a clock, draws its own random numbers or knows the network: `now` and `random` are
//! arguments, segments are returned by value, and `timer()` gives the only time at which an agent needs
//! a call.

mod seq_set;
pub mod tcp;
pub mod udp;
pub mod workload;
