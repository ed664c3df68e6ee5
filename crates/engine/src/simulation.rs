//! The run: serves events in order. `clock.rs` has the order, `data_plane.rs` and `hosts.rs` the parts of the
//! network that it hands them to.

use crate::calendar::Source;
use crate::clock::{Sources, CENSUS_SOURCE, WARM_UP_SOURCE, WINDOW_SOURCE};
use crate::control::ControlPlane;
use crate::hosts::Hosts;
use crate::node_visits::CensusChanges;
use crate::observer::Observer;
use crate::panic::catch_panic;
use crate::prefetch::{PrefetchPipeline, PrefetchReach};
use crate::probe::ProbeSampler;
use crate::recovery::Recovery;
use trunkline_units::Time;

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The network cannot be run: a parameter out of range.
    Invalid(String),
    /// More events at one instant than allowed: a loop that takes no time.
    Storm {
        /// When.
        at: Time,
        /// Node of the last event.
        node: String,
    },
    /// Packets were lost or made by the engine itself: a bug.
    Conservation(String),
    /// The engine broke one of its own rules: a bug.
    Panic {
        /// When.
        at: Time,
        /// The rule, and the line of the engine that has it.
        why: String,
    },
    /// The caller asked to stop.
    Interrupted {
        /// When in the run.
        at: Time,
        /// Events so far.
        events: u64,
        /// Packets in the network.
        packets: u64,
        /// Packets in ports, part of `packets`.
        queued: u64,
    },
}

impl RunError {
    /// When, if in a run that had begun.
    pub(crate) fn at(&self) -> Time {
        match self {
            Self::Storm { at, .. } | Self::Interrupted { at, .. } | Self::Panic { at, .. } => *at,
            Self::Invalid(_) | Self::Conservation(_) => 0,
        }
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(why) => write!(out, "invalid network: {why}"),
            Self::Storm { at, node } => write!(
                out,
                "endless events at one instant ({} s) at node {node}: a loop that takes no time",
                *at as f64 / 1e9
            ),
            Self::Conservation(what) => {
                write!(out, "packets not conserved: {what}; this is a fault of trunkline")
            }
            Self::Panic { at, why } => write!(
                out,
                "the engine stopped at {} s of the run: {why}; this is a fault of trunkline",
                *at as f64 / 1e9
            ),
            Self::Interrupted { at, events, packets, queued } => write!(
                out,
                "stopped at {} s of the run: {events} events, {packets} packets in the network, \
                 {queued} of them in ports",
                *at as f64 / 1e9
            ),
        }
    }
}

impl std::error::Error for RunError {}

/// The caller's stop check is called once in so many events, some 10 to 50 ms.
pub(crate) const EVENTS_BETWEEN_STOP_CHECKS: u64 = 0x10000;

/// Counts of a run.
pub(crate) const CENSUS_COUNT: Time = 1000;

/// When the packets of a run of some length are counted for the `number`th time, from 1.
pub(crate) fn census_time(run: Time, number: u64) -> Time {
    (u128::from(run) * u128::from(number) / u128::from(CENSUS_COUNT)) as Time
}

/// Bounds of a run, and what its errors name.
#[derive(Debug)]
pub(crate) struct RunLimits {
    pub end: Time,
    /// The next stop check is after this number of events.
    pub next_question: u64,
    pub events_per_instant: u64,
    pub node_names: Vec<String>,
}

/// A network being run: it deals out the events.
#[derive(Debug)]
pub struct Simulation<O> {
    pub(crate) limits: RunLimits,
    pub(crate) recovery: Recovery,
    pub(crate) control: Option<Box<ControlPlane>>,
    pub(crate) sampler: ProbeSampler,
    pub(crate) lookahead: PrefetchPipeline,
    /// Packets in the network at equal distances in time.
    pub(crate) census: Vec<u64>,
    /// The same as changes, where nodes are visited.
    pub(crate) census_changes: Option<CensusChanges>,
    pub(crate) hosts: Hosts<O>,
}

impl<O: Observer> Simulation<O> {
    /// Runs to the end. `stops_at` is asked now and then, at the simulated time, whether to stop.
    ///
    /// # Errors
    /// A storm, an interruption, or a panic.
    pub fn run(&mut self, stops_at: &dyn Fn(Time) -> bool) -> Result<(), RunError> {
        catch_panic(|| self.serve(stops_at))
            .unwrap_or_else(|why| Err(RunError::Panic { at: self.hosts.plane.clock.now, why }))
    }

    fn serve(&mut self, stops_at: &dyn Fn(Time) -> bool) -> Result<(), RunError> {
        if self.hosts.plane.clock.by_node.is_some() {
            return self.visit_nodes(stops_at);
        }
        let mut at_once = 0;
        while let Some((at, source)) = self.hosts.plane.clock.calendar.pop() {
            let clock = &mut self.hosts.plane.clock;
            // Whether the clock moves is hard to predict: a selection, not a branch.
            at_once = 1 + if at == clock.now { at_once } else { 0 };
            clock.now = at;
            self.hosts.plane.observer.on_event(at, source);
            if at_once > self.limits.events_per_instant {
                return Err(self.event_storm_error(source));
            }
            let clock = &mut self.hosts.plane.clock;
            clock.events += 1;
            if self.is_time_to_ask() && stops_at(at) {
                return Err(self.interruption_error());
            }
            if self.lookahead.reach == PrefetchReach::Events {
                self.lookahead.fetch_ahead(&mut self.hosts);
            }
            let Sources { probes, transmitters, arrivals, senders, receivers, .. } =
                self.hosts.plane.clock.sources;
            if source >= arrivals && source < senders {
                let link = (source - arrivals) as usize;
                if self.lookahead.reach == PrefetchReach::Wires {
                    self.lookahead.fetch_behind(&self.hosts, link);
                }
                self.hosts.arrive(link);
            } else if source >= receivers {
                self.hosts.wake_receiver(source - receivers);
            } else if source >= senders {
                self.hosts.wake_sender(source - senders);
            } else if source >= transmitters {
                self.hosts.plane.finish_transmission((source - transmitters) as usize);
            } else if source >= probes {
                self.sampler.sample(&mut self.hosts, source - probes);
            } else if self.serve_rare(source) {
                break;
            }
            if !self.hosts.plane.notices.is_empty() {
                self.settle_notices();
            }
        }
        Ok(())
    }

    /// Whether so many events have been served since the last time that the caller is asked again whether to stop.
    #[inline(always)]
    pub(crate) fn is_time_to_ask(&mut self) -> bool {
        let events = self.hosts.plane.clock.events;
        let asks = events >= self.limits.next_question;
        if asks {
            self.limits.next_question = events + EVENTS_BETWEEN_STOP_CHECKS;
        }
        asks
    }

    /// Serves an event that concerns the whole network. True: `run` ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn serve_common(&mut self, at: Time, source: Source) -> bool {
        let clock = &mut self.hosts.plane.clock;
        clock.now = at;
        clock.events += 1;
        let probes = clock.sources.probes;
        if source >= probes {
            self.sampler.sample(&mut self.hosts, source - probes);
        } else if self.serve_rare(source) {
            return true;
        }
        if !self.hosts.plane.notices.is_empty() {
            self.settle_notices();
        }
        false
    }

    /// Serves an event that few runs have, or have once. True: `run` ends.
    #[cold]
    #[inline(never)]
    fn serve_rare(&mut self, source: Source) -> bool {
        let Sources { recovery, control, stages, .. } = self.hosts.plane.clock.sources;
        if source >= stages {
            self.hosts.end_stage(source - stages);
        } else if source >= control {
            self.wake_control(source - control);
        } else if source >= recovery {
            self.recover(source - recovery);
        } else if source == WARM_UP_SOURCE {
            self.end_warm_up();
        } else if source == WINDOW_SOURCE {
            self.hosts.plane.clock.events -= 1; // is of how the run is done, not of the network
            return true;
        } else if source == CENSUS_SOURCE {
            self.hosts.plane.clock.events -= 1;
            self.take_census();
        } else {
            self.sampler.sample_last(&mut self.hosts);
            return true;
        }
        false
    }

    /// Counts the packets in the network and sees to the next count.
    #[cold]
    fn take_census(&mut self) {
        self.census.push(self.hosts.plane.packets_in_network());
        self.arm_census();
    }

    pub(crate) fn arm_census(&mut self) {
        if self.census_changes.is_some() {
            return;
        }
        let next = census_time(self.limits.end, self.census.len() as u64 + 1);
        let clock = &mut self.hosts.plane.clock;
        // A run of fewer nanoseconds than counts has several at once: one is enough.
        clock.schedule(CENSUS_SOURCE, next.max(clock.now + 1));
    }

    #[cold]
    pub(crate) fn interruption_error(&mut self) -> RunError {
        let plane = &mut self.hosts.plane;
        let mut queued = 0;
        for index in 0..plane.ports.links.len() {
            plane.drain_link(index);
            queued += u64::from(plane.ports.links[index].in_port().packets);
        }
        let (events, packets) = (plane.clock.events, plane.packets_in_network());
        RunError::Interrupted { at: plane.clock.now, events, packets, queued }
    }

    #[cold]
    pub(crate) fn event_storm_error(&self, source: Source) -> RunError {
        let plane = &self.hosts.plane;
        let Sources { stages, transmitters, arrivals, senders, receivers, .. } =
            plane.clock.sources;
        let node = if source >= receivers {
            self.hosts.flows[(source - receivers) as usize].dst
        } else if source >= senders {
            self.hosts.flows[(source - senders) as usize].src
        } else if source >= arrivals {
            plane.ports.links[(source - arrivals) as usize].to
        } else if source >= transmitters {
            plane.ports.from[(source - transmitters) as usize]
        } else {
            // Wires that reorder and probes come behind the processors, and have no node.
            let number = source.checked_sub(stages).map(|number| number as usize);
            let processor = number.and_then(|number| plane.stages.processors.get(number));
            processor.map_or(0, |processor| processor.node)
        };
        RunError::Storm { at: plane.clock.now, node: self.limits.node_names[node as usize].clone() }
    }
}
