//! Captures for the field's own tools: a pcapng writer, and the packets of a trace as real headers.
//!
//! `block.rs` writes the file's blocks, `header.rs` the headers of a frame, `trace.rs` has the types of
//! a trace, and `capture.rs` selects the events seen at each point. None knows the engine: the caller
//! has names and numbers.

pub mod block;
pub mod capture;
pub mod header;
pub mod trace;

pub use block::{Direction, Interface, PcapngWriter};
pub use header::{Frame, TcpHeader, Transport};
pub use trace::PacketTrace;
