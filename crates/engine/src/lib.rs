//! The packet engine: a deterministic, event-driven simulation of an MPLS and DiffServ network.
//!
//! [`run`] takes a compiled [`network::Network`] and a seed and returns tables. Everything below
//! it is a state machine: no clock, no file, no global, and no thread but those of `partition`.

#[cfg(test)]
extern crate self as trunkline_engine; // as tests of the crate name it

mod account;
mod adaptive;
mod build;
pub mod calendar;
mod class_queue;
mod classful;
mod classifier;
mod clock;
mod conditioner;
mod control;
mod counters;
mod data_plane;
mod delay_columns;
mod delivered_marks;
mod delivery;
mod dual_queue;
mod echo;
mod ecmp;
mod event_free_hops;
mod flow_queue;
mod forwarding;
mod handshakes;
pub mod histogram;
mod host_queue;
mod hosts;
mod link;
mod measurements;
mod media;
mod mpls;
pub mod network;
mod node_events;
mod node_visits;
pub mod observer;
pub mod panic;
mod partition;
mod path_account;
mod ports;
mod prefetch;
mod probe;
mod processing;
mod queue;
mod ranges;
mod recovery;
mod reordering;
pub mod results;
pub mod ring;
pub mod route;
mod simulation;
mod static_routes;
pub mod tables;
mod time_integral;
mod trace;
mod transfers;
mod transmission;

pub use network::Network;
use observer::{Observer, TraceLine};
pub use partition::{run_cut, run_on_threads};
pub use recovery::{TimelineEvent, TIMELINE_EVENT_NAMES};
pub use simulation::RunError;
use simulation::Simulation;
pub use tables::{Column, Table};
pub use trace::EVENTS as PACKET_EVENTS;
pub use trunkline_control::ldp::KINDS as LDP_KINDS;
pub use trunkline_control::ospf::KINDS as OSPF_KINDS;
pub use trunkline_control::rsvp::{EVENTS as SIGNALLING_EVENTS, KINDS as RSVP_KINDS};
pub use trunkline_packet::{Cause, Colour, Ecn};
use trunkline_units::Time;

/// Runs `network` with `seed` to its end; `interrupted` is called now and then.
///
/// # Errors
/// See [`RunError`].
pub fn run(
    network: &Network,
    seed: u64,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Table>, RunError> {
    run_watched(network, seed, &|_| interrupted())
}

/// Runs as [`run`] does, with nodes that serve their events in a row even where that costs time.
///
/// # Errors
/// See [`RunError`]; a network whose nodes cannot do so is invalid.
pub fn run_by_node(network: &Network, seed: u64) -> Result<Vec<Table>, RunError> {
    let mut simulation = Simulation::with_visits(network, seed, observer::NoObserver)?;
    simulation.run(&|_| false)?;
    simulation.finish().map(|(tables, _)| tables)
}

/// Runs as [`run`] does; `stops_at` is asked now and then, at the simulated time, whether to stop.
///
/// # Errors
/// See [`RunError`].
pub fn run_watched(
    network: &Network,
    seed: u64,
    stops_at: &dyn Fn(Time) -> bool,
) -> Result<Vec<Table>, RunError> {
    if network.run.trace {
        let (mut tables, trace) = run_observed::<observer::Trace>(network, seed, stops_at)?;
        tables.extend(trace.table(network.run.duration_ns, 1));
        return Ok(tables);
    }
    if network.run.waits {
        let (mut tables, waits) =
            run_observed::<observer::WaitHistograms>(network, seed, stops_at)?;
        tables.extend(waits.table(network.run.duration_ns, 1));
        return Ok(tables);
    }
    run_observed::<observer::NoObserver>(network, seed, stops_at).map(|(tables, _)| tables)
}

/// Runs as [`run`] does and also gives every packet's events, in the order they happened.
///
/// # Errors
/// See [`RunError`].
pub fn run_traced(network: &Network, seed: u64) -> Result<(Vec<Table>, Vec<TraceLine>), RunError> {
    let (tables, trace) = run_observed::<observer::Trace>(network, seed, &|_| false)?;
    Ok((tables, trace.lines))
}

fn run_observed<O: Observer>(
    network: &Network,
    seed: u64,
    stops_at: &dyn Fn(Time) -> bool,
) -> Result<(Vec<Table>, O), RunError> {
    let mut observer = O::default();
    observer.on_start(network.run.warmup_ns);
    let mut simulation = Simulation::new(network, seed, observer)?;
    simulation.run(stops_at)?;
    simulation.finish()
}

/// Next hops of a network: (node, destination, link) for every node and every end of a flow, or
/// every node `to_all`, a row for each of equal cost where they share; link -1 where there is no
/// route, and no row where the node is the destination.
#[must_use]
pub fn initial_next_hops(network: &Network, to_all: bool) -> Vec<(u32, u32, i64)> {
    let ends = match to_all {
        true => (0..network.nodes.len() as u32).collect(),
        false => build::end_nodes(network),
    };
    let fib = build::routes_to(network, &ends);
    let mut rows = Vec::new();
    for node in 0..network.nodes.len() as u32 {
        for (&end, column) in ends.iter().zip(0..) {
            match fib.next(node, column) {
                route::LOCAL_DELIVERY => {}
                route::UNREACHABLE => rows.push((node, end, -1)),
                next => {
                    let links = fib.links(next);
                    rows.extend(links.into_iter().map(|link| (node, end, i64::from(link))));
                }
            }
        }
    }
    rows
}
