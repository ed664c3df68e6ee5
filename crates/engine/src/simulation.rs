//! The run: serves events in order. `forwarding.rs` moves packets, `delivery.rs` serves agents.
//!
//! Order at one instant: controls (end, warm-up), ends of processing, probes, ends of transmission, arrivals by link,
//! senders' timers by flow, receivers' timers by flow. It follows from the numbering of sources
//! and the calendar's (time, source) order, so it depends on the network alone.

use crate::account::Accounts;
use crate::adaptive::AdaptiveFlow;
use crate::calendar::{Calendar, Source};
use crate::classifier::Classifier;
use crate::conditioner::Conditioner;
use crate::control::ControlPlane;
use crate::counters::{CongestionMarks, DelayStatistics, Drops, Totals};
use crate::delivered_marks::DeliveredMarks;
use crate::echo::EchoSender;
use crate::event_free_hops::EventFreeHops;
use crate::histogram::Pool;
use crate::link::Link;
use crate::mpls::Tables;
use crate::observer::Observer;
use crate::panic::catch_panic;
use crate::partition::Region;
use crate::path_account::PathAccounts;
use crate::prefetch::PrefetchPipeline;
use crate::probe::ProbeSampler;
use crate::processing::Processor;
use crate::recovery::Recovery;
use crate::reordering::LatePackets;
use crate::route::Fib;
use crate::static_routes::StaticRoutes;
use crate::transfers::Workloads;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use trunkline_agent::tcp::{Counters, Handshake, Receiver, Sender};
use trunkline_agent::udp;
use trunkline_packet::{flag, Arena, Ecn};
use trunkline_units::{RandomStream, Span, Time};

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

/// The agents of a flow, by index into their arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlowAgents {
    /// Sender and receiver have the same index.
    Tcp(u32),
    /// Source; the sink has no state.
    Udp(u32),
    /// Datagrams at a rate that heeds congestion: both ends have state.
    Adaptive(u32),
    /// Connections that come and go: index of the workload.
    Transfers(u32),
    /// Messages of this protocol.
    Control(u32),
}

/// Parts of a port that few ports have.
#[derive(Debug)]
pub(crate) struct NearEnd {
    /// Separates the drop precedences of a FIFO.
    pub classifier: Option<Classifier>,
    pub conditioner: Option<Conditioner>,
    pub accounts: Option<Accounts>,
}

/// Header values of a flow's packets, and the agents that handle them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlan {
    pub agents: FlowAgents,
    pub src: u32,
    pub dst: u32,
    /// Columns of the routing table.
    pub src_column: u32,
    pub dst_column: u32,
    pub fec: u16,
    pub fec_reverse: u16,
    pub dscp: u8,
    pub ttl: u8,
    pub ecn: Ecn,
    /// Retransmissions and acknowledgements are ECN-capable too (RFC 8257 section 6).
    pub all_capable: bool,
    /// Bytes of an acknowledgement, or of a datagram's headers.
    pub header_bytes: u16,
    pub start: Time,
    pub stop: Time,
    /// Index of the flow's random stream.
    pub stream: u32,
    /// Of one of many connections: its number, which packets carry.
    pub connection: u32,
    /// Flags that all its packets bear.
    pub mark: u8,
    /// Delay from which a datagram is more than delivered: late to its call, or, from 0, a request
    /// to answer; else never.
    pub late_from: Span,
    /// Sources of the timers of sender and receiver.
    pub wakes: [Source; 2],
}

impl FlowPlan {
    /// Whether its connections open by a handshake.
    #[inline(always)]
    pub fn connects(&self) -> bool {
        self.mark & flag::SETUP != 0
    }
}

/// First source numbers of each kind, in the order they are served at one instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    pub recovery: Source,
    pub control: Source,
    pub processors: Source,
    pub probes: Source,
    pub transmitters: Source,
    pub arrivals: Source,
    pub senders: Source,
    pub receivers: Source,
}

/// The caller's stop check is called once in so many events, some 10 to 50 ms.
pub(crate) const EVENTS_BETWEEN_STOP_CHECKS: u64 = 0x10000;

pub(crate) const END_SOURCE: Source = 0;
pub(crate) const WARM_UP_SOURCE: Source = 1;
/// A region waits to hear from the others.
pub(crate) const WINDOW_SOURCE: Source = 2;
/// The packets in the network are counted.
pub(crate) const CENSUS_SOURCE: Source = 3;
/// Counts of a run.
const CENSUS_COUNT: Time = 1000;

/// A network being run.
#[derive(Debug)]
pub struct Simulation<O: ?Sized> {
    pub(crate) now: Time,
    pub(crate) calendar: Calendar,
    pub(crate) sources: Sources,
    pub(crate) links: Vec<Link>,
    /// Capacity of each link [bit/s].
    pub(crate) capacity: Vec<u64>,
    /// Other functions at the near end of each link, where there are any.
    pub(crate) near_ends: Vec<Option<Box<NearEnd>>>,
    /// Node at the near end of each link.
    pub(crate) link_from: Vec<u32>,
    pub(crate) tables: Tables,
    pub(crate) fib: Fib,
    pub(crate) static_routes: Option<StaticRoutes>,
    pub(crate) arena: Arena,
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    /// By agent, where its connection opens by a handshake; by flow, as each begins.
    pub(crate) handshakes: Vec<Option<Box<Handshake>>>,
    pub(crate) fresh_handshakes: Vec<Option<Arc<Handshake>>>,
    pub(crate) datagrams: Vec<udp::Source>,
    pub(crate) adaptive_flows: Vec<AdaptiveFlow>,
    pub(crate) streams: Vec<RandomStream>,
    pub(crate) workloads: Workloads,
    pub(crate) totals: Vec<Totals>,
    pub(crate) delays: Vec<DelayStatistics>,
    pub(crate) pool: Pool,
    pub(crate) drops: Drops,
    pub(crate) marks: CongestionMarks,
    pub(crate) echoes: Vec<EchoSender>,
    pub(crate) path_accounts: Option<Box<PathAccounts>>,
    pub(crate) delivered_marks: Option<Box<DeliveredMarks>>,
    pub(crate) sampler: ProbeSampler,
    pub(crate) processors: Vec<Processor>,
    pub(crate) late_packets: Vec<LatePackets>,
    pub(crate) recovery: Recovery,
    pub(crate) control: Option<Box<ControlPlane>>,
    pub(crate) lookahead: PrefetchPipeline,
    pub(crate) region: Region,
    pub(crate) ahead: EventFreeHops,
    /// A transmission from a port with classes that ends before this has no event of its own unless
    /// another packet waits for its end.
    pub(crate) untimed_before: Time,
    /// Packets in the network at equal distances in time.
    pub(crate) census: Vec<u64>,
    pub(crate) end: Time,
    pub(crate) at_warm_up: Baseline,
    pub(crate) events: u64,
    /// The next stop check is after this number of events.
    pub(crate) next_question: u64,
    pub(crate) events_per_instant: u64,
    pub(crate) node_names: Vec<String>,
    pub(crate) observer: O,
}

/// A network being run, whatever its observer: functions that record nothing are methods of this, and
/// are compiled once.
pub(crate) type AnySimulation = Simulation<dyn Send>;

impl<O: Observer> Deref for Simulation<O> {
    type Target = AnySimulation;

    #[inline(always)]
    fn deref(&self) -> &AnySimulation {
        self
    }
}

impl<O: Observer> DerefMut for Simulation<O> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut AnySimulation {
        self
    }
}

/// Counters at the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub at: Time,
    /// By flow; empty where there was no warm-up, so that all counters were 0.
    pub flows: Vec<FlowBaseline>,
    /// Packets and bytes in each class of each port.
    pub in_port: Vec<Vec<(u64, u64)>>,
    /// Waits by class of each port that were not counted alike by then (see `results::debts`).
    pub debts: Vec<Vec<i128>>,
    pub events: u64,
    pub live: u64,
}

/// Counters of a flow at the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowBaseline {
    pub totals: Totals,
    pub tcp: Counters,
    pub goodput: u64,
}

impl Baseline {
    /// That of a flow.
    pub fn flow(&self, flow: usize) -> FlowBaseline {
        self.flows.get(flow).copied().unwrap_or_default()
    }
}

impl<O: Observer> Simulation<O> {
    /// Runs to the end. `stops_at` is asked now and then, at the simulated time, whether to stop.
    ///
    /// # Errors
    /// A storm, an interruption, or a panic.
    pub fn run(&mut self, stops_at: &dyn Fn(Time) -> bool) -> Result<(), RunError> {
        catch_panic(|| self.serve(stops_at))
            .unwrap_or_else(|why| Err(RunError::Panic { at: self.now, why }))
    }

    fn serve(&mut self, stops_at: &dyn Fn(Time) -> bool) -> Result<(), RunError> {
        let mut at_once = 0;
        while let Some((at, source)) = self.calendar.pop() {
            // Whether the clock moves is hard to predict: a selection, not a branch.
            at_once = 1 + if at == self.now { at_once } else { 0 };
            self.now = at;
            self.observer.on_event(at, source);
            if at_once > self.events_per_instant {
                return Err(self.event_storm_error(source));
            }
            self.events += 1;
            if self.events >= self.next_question {
                self.next_question = self.events + EVENTS_BETWEEN_STOP_CHECKS;
                if stops_at(at) {
                    return Err(self.interruption_error());
                }
            }
            if self.lookahead.worthwhile {
                self.fetch_ahead();
            }
            let Sources {
                recovery,
                control,
                processors,
                probes,
                transmitters,
                arrivals,
                senders,
                receivers,
            } = self.sources;
            if source >= arrivals && source < senders {
                self.arrive((source - arrivals) as usize);
            } else if source >= receivers {
                self.wake_receiver(source - receivers);
            } else if source >= senders {
                self.wake_sender(source - senders);
            } else if source >= transmitters {
                self.finish_transmission((source - transmitters) as usize);
            } else if source >= probes {
                self.sample(source - probes);
            } else if source >= processors {
                self.end_stage(source - processors);
            } else if source >= control {
                self.wake_control(source - control);
            } else if source >= recovery {
                self.recover(source - recovery);
            } else if source == WARM_UP_SOURCE {
                self.end_warm_up();
            } else if source == WINDOW_SOURCE {
                self.events -= 1; // is of how the run is done, not of the network
                return Ok(());
            } else if source == CENSUS_SOURCE {
                self.events -= 1;
                self.take_census();
            } else {
                self.sample_last();
                break;
            }
        }
        Ok(())
    }
}

impl AnySimulation {
    /// Packets in the network, those between two regions included.
    pub(crate) fn packets_in_network(&self) -> u64 {
        self.arena.live() as u64 + self.region.packets_crossing()
    }

    /// Counts the packets in the network and sees to the next count.
    #[cold]
    fn take_census(&mut self) {
        self.census.push(self.packets_in_network());
        self.arm_census();
    }

    pub(crate) fn arm_census(&mut self) {
        let next =
            u128::from(self.end) * (self.census.len() as u128 + 1) / u128::from(CENSUS_COUNT);
        // A run of fewer nanoseconds than counts has several at once: one is enough.
        self.calendar.schedule(CENSUS_SOURCE, (next as Time).max(self.now + 1));
    }

    #[cold]
    pub(crate) fn interruption_error(&mut self) -> RunError {
        let mut queued = 0;
        for index in 0..self.links.len() {
            self.drain_link(index);
            queued += u64::from(self.links[index].in_port().packets);
        }
        let (events, packets) = (self.events, self.packets_in_network());
        RunError::Interrupted { at: self.now, events, packets, queued }
    }

    #[cold]
    fn event_storm_error(&self, source: Source) -> RunError {
        let Sources { processors, probes, transmitters, arrivals, senders, receivers, .. } =
            self.sources;
        let flows = self.flows.len() as u32;
        let node = if source >= receivers + flows {
            self.flow_of_timer(source - receivers - flows).dst
        } else if source >= receivers {
            self.flows[(source - receivers) as usize].dst
        } else if source >= senders {
            self.flows[(source - senders) as usize].src
        } else if source >= arrivals {
            self.links[(source - arrivals) as usize].to
        } else if source >= transmitters {
            self.link_from[(source - transmitters) as usize]
        } else if source >= processors && source < probes {
            let number = (source - processors) as usize;
            self.processors.get(number).map_or(0, |processor| processor.node)
        } else {
            0
        };
        RunError::Storm { at: self.now, node: self.node_names[node as usize].clone() }
    }

    /// Length of the measured part of the run so far.
    #[must_use]
    pub fn measured(&self) -> Span {
        self.now - self.at_warm_up.at
    }
}
