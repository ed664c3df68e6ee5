//! Captures for the field's own tools: a pcapng writer, and the packets of a trace as real headers.
//!
//! `block.rs` writes the file's blocks, `header.rs` the headers of a frame, `capture.rs` says which
//! event of a trace is seen where. None knows the engine: whoever calls has names and numbers.

pub mod block;
pub mod capture;
pub mod header;

pub use block::{Direction, Interface, Writer};
pub use capture::Trace;
pub use header::{Frame, Tcp, Transport};
