//! Parts of a DiffServ port (RFC 2475, RFC 3290): classifier, meter, AQM, queue and scheduler.
//!
//! Each part is a plain state machine: time and randomness are arguments, packets are sizes and
//! indices. `crates/engine` composes them into the port of a link.

// Units and ranges are in square brackets, which rustdoc would take for links.
#![allow(rustdoc::broken_intra_doc_links)]

pub mod aqm;
#[cfg(test)]
mod bounds_tests;
mod invalid_parameter;
pub mod meter;
pub mod sched;

pub use invalid_parameter::InvalidParameter;
