//! One server: waits, losses and queues of queueing theory.
//!
//! Each mean is taken over independent replications (fixed seeds); theory must lie within the
//! 99.9 % confidence interval, and the interval must be narrow.

mod finite;
mod little;
mod order;
mod overload;
mod poisson;
mod priority;

use crate::support::*;
use trunkline_agent::udp::Size;

/// All servers here send 1000 bytes in 1 ms.
const RATE: u64 = 8 * MBIT;
/// Mean service time [ns].
const SERVICE: f64 = 1e6;

/// Datagrams of 1000 B: deterministic service.
const FIXED: Size = Size::Fixed { bytes: 1000 };
/// Exponential sizes of mean 1000 B. Rounding to whole bytes moves a wait by under 1e-6.
const EXPONENTIAL: Size = Size::Exponential { mean_bytes: 1000.0 };

/// A server with Poisson arrivals that offer the load `rho`.
fn offered(rho: f64, size: Size, port: trunkline_engine::network::PortConfig) -> Lab {
    let mut lab = Lab::server(RATE, port);
    lab.flow("load", "a", "b", poisson((rho * RATE as f64) as u64, size));
    lab
}
