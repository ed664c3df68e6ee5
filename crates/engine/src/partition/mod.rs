//! One run on several threads: the network cut into regions of nodes.
//!
//! Each region is a simulation of its own with all tables, that serves the events of its nodes
//! alone. What crosses a cut is a packet that a port has accepted: it arrives a link's delay after
//! its departure, so each region may run as far as the shortest delay of a cut link before it
//! hears of the others (conservative look-ahead: Chandy & Misra, IEEE Trans. Software Eng. 5(5),
//! 1979). Events are served by (time, source), an order that no cut changes, so the results are
//! those of one thread, byte for byte.
//!
//! Differs: a limit of events at one instant holds for each region.
//! Absent: runs that watch or change the whole network at once, which take one thread: packet
//! traces, failures, accounts by path, transfers.

mod choose;
mod gather;
mod region;
mod threads;

pub(crate) use region::Region;
pub use threads::{run_cut, run_on};
