//! From a compiled network to a simulation that has not started.

mod check;
mod link;
mod port;

pub(crate) use check::check_indices;

use crate::adaptive::{AdaptiveFlow, TfrcFlow};
use crate::calendar::Calendar;
use crate::control::ControlPlane;
use crate::counters::{CongestionMarks, DelayStatistics, Drops, Totals};
use crate::event_free_hops::EventFreeHops;
use crate::histogram::Pool;
use crate::link::Link;
use crate::media::MediaFlow;
use crate::mpls::Tables;
use crate::network::{Agent, Measure, Network};
use crate::observer::Observer;
use crate::partition::Region;
use crate::path_account::PathAccounts;
use crate::prefetch::PrefetchPipeline;
use crate::probe::ProbeSampler;
use crate::recovery::Recovery;
use crate::route::{Edge, Fib, RouteSearch};
use crate::simulation::{
    Baseline, FlowAgents, FlowPlan, NearEnd, RunError, Simulation, Sources, CENSUS_SOURCE,
    END_SOURCE, EVENTS_BETWEEN_STOP_CHECKS, WARM_UP_SOURCE,
};
use crate::static_routes::StaticRoutes;
use crate::transfers::Workloads;
use link::{build_link, build_near_end};
use std::sync::Arc;
use trunkline_agent::udp::{Arrivals, UdpConfig};
use trunkline_agent::{tcp, udp};
use trunkline_packet::{flag, Arena, Ecn};
use trunkline_units::{RandomStream, Span, Time, NEVER};

type NearEnds = Vec<Option<Box<NearEnd>>>;

/// Bytes of a typical packet, to guess how often a loaded link has an event.
const TYPICAL_BYTES: u128 = 600;

impl<O: Observer> Simulation<O> {
    /// Prepares a run of `network` with `seed`.
    ///
    /// # Errors
    /// [`RunError::Invalid`] with the first index or parameter that is not valid.
    pub fn new(network: &Network, seed: u64, observer: O) -> Result<Self, RunError> {
        check_indices(network)?;
        let mut simulation = Self::new_unarmed(network, seed, observer, initial_routes(network))?;
        simulation.arm(network);
        simulation.find_event_free_hops(network, O::ACTIVE);
        Ok(simulation)
    }

    /// Prepares a run in which each hop has an event, as regions need it, and in which no event is due
    /// yet. The indices of the network are valid, and `fib` has its routes.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn new_unarmed(
        network: &Network,
        seed: u64,
        observer: O,
        fib: Fib,
    ) -> Result<Self, RunError> {
        let (mut links, near_ends) = build_links(network, seed)?;
        let recovery = Recovery::new(network, seed);
        let processors = crate::processing::processors_of(network);
        let mut agents = AgentArrays::default();
        let control = ControlPlane::new(network, &recovery.lines, seed);
        let of_control = control.as_ref().map_or(0, |control| control.sources());
        let late_packets = crate::reordering::late_packets_of(network, seed);
        let of_stages = (processors.len() + late_packets.len()) as u32;
        let of_each = [recovery.sources(), of_control, of_stages];
        let sources = number_sources(network, of_each);
        let untimed_before = event_free_before(network, of_each);
        if untimed_before > 0 && !O::ACTIVE {
            links.iter_mut().for_each(Link::let_port_lag);
        }
        let flows = agents.add_all(network, seed, &sources);
        let workloads = Workloads::new(network, &flows, &fib, seed, agents.senders.len() as u32);
        Ok(Self {
            now: 0,
            calendar: new_calendar(network, &sources),
            sources,
            links,
            capacity: network.links.iter().map(|link| link.rate_bit_s).collect(),
            near_ends,
            link_from: network.links.iter().map(|link| link.from).collect(),
            tables: Tables::new(network, seed),
            static_routes: static_routes_of(network, &end_nodes(network)),
            fib,
            arena: Arena::new(agents.with_ack_details),
            totals: vec![Totals::default(); flows.len()],
            delays: vec![DelayStatistics::default(); flows.len()],
            flows,
            senders: agents.senders,
            receivers: agents.receivers,
            handshakes: Vec::new(),
            fresh_handshakes: new_handshakes(network),
            datagrams: agents.datagrams,
            adaptive_flows: agents.adaptive_flows,
            streams: agents.streams,
            workloads,
            pool: Pool::default(),
            drops: Drops::default(),
            marks: CongestionMarks::default(),
            echoes: crate::echo::echo_senders(network),
            path_accounts: PathAccounts::new(&network.paths),
            delivered_marks: network.run.delivered_marks.then(Box::default),
            processors,
            late_packets,
            sampler: ProbeSampler::new(&network.probes),
            recovery,
            control,
            region: Region::default(),
            ahead: EventFreeHops::default(),
            untimed_before,
            census: Vec::new(),
            end: network.run.duration_ns,
            lookahead: PrefetchPipeline::new(network.links.len()),
            observer,
            at_warm_up: Baseline::default(),
            events: 0,
            next_question: EVENTS_BETWEEN_STOP_CHECKS,
            events_per_instant: network.run.events_per_instant,
            node_names: network.nodes.iter().map(|node| node.name.clone()).collect(),
        })
    }

    /// Schedules the first event of every source that has one here.
    pub(crate) fn arm(&mut self, network: &Network) {
        self.calendar.schedule(END_SOURCE, network.run.duration_ns);
        self.calendar.schedule(WARM_UP_SOURCE, network.run.warmup_ns);
        self.arm_census();
        self.arm_recovery();
        self.arm_control();
        self.arm_probes();
        for (index, plan) in self.flows.iter().enumerate() {
            // To take out one of many that begin at one instant is a search.
            if !self.region.owns(plan.src) {
                continue;
            }
            let first = match plan.agents {
                FlowAgents::Tcp(_) | FlowAgents::Adaptive(_) => plan.start,
                FlowAgents::Udp(agent) => self.datagrams[agent as usize].next_at(),
                FlowAgents::Transfers(index) => self.workloads.next_at(index),
                FlowAgents::Control(_) => NEVER,
            };
            // One whose start was put off beyond its stop never begins.
            if first < plan.stop {
                self.calendar.schedule(self.sources.senders + index as u32, first);
            }
        }
    }
}

/// The links of a network, and the parts at their near ends.
fn build_links(network: &Network, seed: u64) -> Result<(Vec<Link>, NearEnds), RunError> {
    let (mut links, mut near_ends) = (Vec::new(), Vec::new());
    for link in &network.links {
        let mut built = build_link(network, link, seed)?;
        let near_end = build_near_end(network, link, seed)?;
        built.has_near_end = near_end.is_some();
        links.push(built);
        near_ends.push(near_end);
    }
    Ok((links, near_ends))
}

/// The routes of a network to its ends, before anything fails.
pub(crate) fn initial_routes(network: &Network) -> Fib {
    routes_to(network, &end_nodes(network))
}

/// The routes of a network to some nodes, before anything fails.
pub(crate) fn routes_to(network: &Network, ends: &[u32]) -> Fib {
    let mut fib = found_routes(network, ends);
    let Some(routes) = static_routes_of(network, ends) else { return fib };
    for node in routes.nodes() {
        routes.install(node, &mut fib);
    }
    fib
}

/// Routes of the IGP alone.
fn found_routes(network: &Network, ends: &[u32]) -> Fib {
    let edges: Vec<Edge> = network.links.iter().map(routing_edge).collect();
    let search = RouteSearch {
        multipath: network.routing.ecmp.is_some(),
        neighbours_only: network.routing.without_igp,
    };
    Fib::new(network.nodes.len(), &edges, ends, search)
}

fn static_routes_of(network: &Network, ends: &[u32]) -> Option<StaticRoutes> {
    if network.routing.static_routes.is_empty() {
        return None;
    }
    StaticRoutes::new(network, ends.to_vec(), found_routes(network, ends))
}

/// A link as routing sees it.
pub(crate) fn routing_edge(link: &crate::network::Link) -> Edge {
    Edge { from: link.from, to: link.to, metric: Some(link.metric) }
}

/// The nodes where packets end, in order; all of them where they signal.
pub(crate) fn end_nodes(network: &Network) -> Vec<u32> {
    if network.signalling.is_some() {
        return (0..network.nodes.len() as u32).collect();
    }
    let mut nodes: Vec<u32> = network.flows.iter().flat_map(|flow| [flow.src, flow.dst]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[derive(Default)]
struct AgentArrays {
    senders: Vec<tcp::Sender>,
    receivers: Vec<tcp::Receiver>,
    datagrams: Vec<udp::Source>,
    adaptive_flows: Vec<AdaptiveFlow>,
    streams: Vec<RandomStream>,
    workloads: u32,
    protocols: u32,
    with_ack_details: bool,
}

impl AgentArrays {
    fn add_all(&mut self, network: &Network, seed: u64, sources: &Sources) -> Vec<FlowPlan> {
        let ends = end_nodes(network);
        let mut plans = Vec::with_capacity(network.flows.len());
        let run = (network.run.duration_ns, seed);
        for (index, flow) in (0..).zip(&network.flows) {
            let wakes = [sources.senders + index, sources.receivers + index];
            plans.push(FlowPlan { wakes, ..self.add(flow, run, &ends) });
        }
        plans
    }

    fn add_adaptive(&mut self, session: AdaptiveFlow) -> FlowAgents {
        self.adaptive_flows.push(session);
        // A report's rate is stored outside the packet, as a window is.
        self.with_ack_details = true;
        FlowAgents::Adaptive(self.adaptive_flows.len() as u32 - 1)
    }

    fn add(
        &mut self,
        flow: &crate::network::Flow,
        (duration, seed): (Time, u64),
        ends: &[u32],
    ) -> FlowPlan {
        let element = format!("flows[{}]", flow.name);
        let start = flow.start_ns + start_delay(flow.start_jitter_ns, seed, &element);
        let mut exact = false;
        let (agents, overhead, ecn) = match &*flow.agent {
            Agent::Tcp(config) => {
                self.with_ack_details |= config.uses_sack() || config.linux;
                exact = config.congestion.needs_exact_echo();
                let ecn = match config.ecn {
                    true if config.congestion.counts_marks() => Ecn::Ect1,
                    true => Ecn::Ect0,
                    false => Ecn::NotCapable,
                };
                let agents = if flow.transfers.is_some() {
                    self.workloads += 1;
                    FlowAgents::Transfers(self.workloads - 1)
                } else {
                    self.senders.push(tcp::Sender::new(config));
                    self.receivers.push(tcp::Receiver::new(config));
                    FlowAgents::Tcp(self.senders.len() as u32 - 1)
                };
                (agents, config.ack_bytes, ecn)
            }
            Agent::Udp(config @ UdpConfig { arrivals: Arrivals::Tfrc { max_bit_s }, .. }) => {
                let bytes = config.size.mean() as u16;
                let session = TfrcFlow {
                    sender: udp::TfrcSender::new(bytes, *max_bit_s, start),
                    receiver: udp::TfrcReceiver::new(bytes),
                    bytes,
                };
                let agents = self.add_adaptive(AdaptiveFlow::Tfrc(session));
                (agents, config.header_bytes, Ecn::NotCapable)
            }
            Agent::Udp(config @ UdpConfig { arrivals: Arrivals::Media(media), .. }) => {
                let bytes = config.size.mean() as u16;
                let session = MediaFlow::new(media, config.rate_bit_s, bytes, start);
                let agents = self.add_adaptive(AdaptiveFlow::Media(Box::new(session)));
                let ecn = if media.ecn { Ecn::Ect0 } else { Ecn::NotCapable };
                (agents, config.header_bytes, ecn)
            }
            Agent::Udp(config) => {
                self.datagrams.push(udp::Source::new(config, start, duration));
                (
                    FlowAgents::Udp(self.datagrams.len() as u32 - 1),
                    config.header_bytes,
                    Ecn::NotCapable,
                )
            }
            Agent::Control(config) => {
                self.protocols += 1;
                (FlowAgents::Control(self.protocols - 1), config.header_bytes, Ecn::NotCapable)
            }
        };
        self.streams.push(RandomStream::new(seed, &element, "agent"));
        let column = |node| ends.partition_point(|&end| end < node) as u32;
        FlowPlan {
            agents,
            src: flow.src,
            dst: flow.dst,
            src_column: column(flow.src),
            dst_column: column(flow.dst),
            fec: flow.fec,
            fec_reverse: flow.fec_reverse,
            dscp: flow.dscp,
            ttl: flow.ttl,
            ecn,
            all_capable: exact,
            header_bytes: overhead as u16,
            start,
            stop: flow.stop_ns.unwrap_or(NEVER),
            stream: self.streams.len() as u32 - 1,
            connection: 0,
            mark: match &*flow.agent {
                Agent::Tcp(config) if config.connect => flag::SETUP,
                _ => 0,
            },
            late_from: match agents {
                FlowAgents::Adaptive(_) => 0,
                _ => late_threshold(flow),
            },
            wakes: [0; 2],
        }
    }
}

/// By flow; those of flows with the same agent are one.
fn new_handshakes(network: &Network) -> Vec<Option<Arc<tcp::Handshake>>> {
    let mut fresh: Vec<Option<Arc<tcp::Handshake>>> = Vec::new();
    for (index, flow) in network.flows.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &network.flows[before].agent);
        let handshake = match (&*flow.agent, before) {
            (_, Some(before)) if Arc::ptr_eq(&flow.agent, before) => fresh[index - 1].clone(),
            (Agent::Tcp(config), _) if config.connect => {
                Some(Arc::new(tcp::Handshake::new(config)))
            }
            _ => None,
        };
        fresh.push(handshake);
    }
    fresh
}

fn late_threshold(flow: &crate::network::Flow) -> Span {
    match (&flow.call, &flow.echo) {
        (_, Some(_)) => 0,
        (Some(call), None) => call.playout_ns + 1,
        (None, None) => NEVER,
    }
}

fn start_delay(below: Span, seed: u64, element: &str) -> Time {
    if below == 0 {
        return 0;
    }
    RandomStream::new(seed, element, "start").below(below)
}

fn number_sources(network: &Network, of_each: [u32; 3]) -> Sources {
    let (links, flows) = (network.links.len() as u32, network.flows.len() as u32);
    let [of_recovery, of_control, of_processors] = of_each;
    let recovery = CENSUS_SOURCE + 1;
    let control = recovery + of_recovery;
    let processors = control + of_control;
    let probes = processors + of_processors;
    let transmitters = probes + network.probes.len() as u32;
    let arrivals = transmitters + links;
    let senders = arrivals + links;
    Sources {
        recovery,
        control,
        processors,
        probes,
        transmitters,
        arrivals,
        senders,
        receivers: senders + flows,
    }
}

fn new_calendar(network: &Network, sources: &Sources) -> Calendar {
    let total = sources.receivers as usize + network.flows.len();
    let bits: u128 = network.links.iter().map(|link| u128::from(link.rate_bit_s)).sum();
    let gap = TYPICAL_BYTES * 8 * 1_000_000_000 / bits.max(1);
    let gap = Span::try_from(gap).unwrap_or(Span::MAX).clamp(1, 1 << 20);
    Calendar::new(total, network.links.len().max(64), gap)
}

fn invalid(why: String) -> RunError {
    RunError::Invalid(why)
}

/// Until when the ends of transmissions need no events: not where an earlier event of the same instant
/// offers packets to ports, cuts links or reads averages.
fn event_free_before(network: &Network, sources: [u32; 3]) -> Time {
    let reads = network.probes.iter().any(|probe| probe.measure == Measure::QueueAverage);
    match sources {
        [0, 0, 0] if !reads => network.run.warmup_ns.max(1),
        _ => 0,
    }
}
