//! One run on several threads: the network cut into regions of nodes.
//!
//! Each region is a separate simulation with all tables that serves only the events of its nodes. A
//! packet that a port has accepted crosses a cut: it arrives a link's delay after its departure, so each
//! region may run as far as the shortest delay of a cut link before it needs the packets of the others
//! (conservative look-ahead: Chandy & Misra, IEEE Trans. Software Eng. 5(5), 1979). Events are served by
//! (time, source), an order that no cut changes, so the results are those of one thread, byte for byte.
//!
//! Differs: a limit of events at one instant holds for each region.
//! Failures and recovery do not depend on packets: every region serves them for its own tables, and
//! loses its own packets of a link.
//! Protocols of routers are served by every region for all nodes (`control.rs`).
//! Absent: connections that users keep, interactive media, and protocols that act on a message at once where a
//! wire may lose it or something at its end may hold it back; those take one thread.

mod cut;
mod join;
mod region;
mod spin_barrier;
mod threads;

pub(crate) use region::Region;
pub(crate) use threads::on_threads;
pub use threads::{run_cut, run_on_threads};
