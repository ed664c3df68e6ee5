//! Schedulers at a port of the engine: shares, delay bounds, isolation.

mod delay;
mod isolation;
mod shares;

use crate::support::*;

/// The line here sends 1000 bytes in 0.8 ms.
const RATE: u64 = 10 * MBIT;
