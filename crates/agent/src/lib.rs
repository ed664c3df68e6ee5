//! Sources and sinks of traffic: sans-IO state machines that are told the time and what arrived,
//! and say what to send and when to be woken.

pub mod tcp;
pub mod udp;
