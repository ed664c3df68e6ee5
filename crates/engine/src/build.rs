//! From a compiled network to a simulation that has not started.

mod check;
mod link;
mod port;

pub(crate) use check::check_indices;

use crate::adaptive::{AdaptiveFlow, TfrcFlow};
use crate::calendar::Calendar;
use crate::clock::Clock;
use crate::clock::{Sources, CENSUS_SOURCE, END_SOURCE, WARM_UP_SOURCE};
use crate::control::ControlPlane;
use crate::counters::{CongestionMarks, Deliveries, Drops, Totals};
use crate::data_plane::{DataPlane, ForwardingTables, NodeStages};
use crate::event_free_hops::EventFreeHops;
use crate::handshakes::Handshakes;
use crate::histogram::Pool;
use crate::hosts::Hosts;
use crate::hosts::{FlowAgents, FlowPlan};
use crate::measurements::{Baseline, Measurements};
use crate::media::MediaFlow;
use crate::mpls::Tables;
use crate::network::{Agent, Flow, Measure, Network};
use crate::observer::Observer;
use crate::partition::Region;
use crate::path_account::PathAccounts;
use crate::ports::Ports;
use crate::prefetch::{outgrows_caches, PrefetchPipeline};
use crate::probe::ProbeSampler;
use crate::recovery::Recovery;
use crate::route::{Edge, Fib, RouteSearch};
use crate::simulation::RunLimits;
use crate::simulation::{RunError, Simulation, EVENTS_BETWEEN_STOP_CHECKS};
use crate::static_routes::StaticRoutes;
use crate::transfers::{Workloads, SENDER_END};
use link::{build_link, build_near_end};
use port::build_classifier;
use std::sync::Arc;
use trunkline_agent::udp::{Arrivals, UdpConfig};
use trunkline_agent::{tcp, udp};
use trunkline_packet::{flag, Arena, Cause, Ecn};
use trunkline_units::{RandomStream, Span, Time, NEVER};

/// Bytes of a typical packet, to guess how often a loaded link has an event.
pub(crate) const TYPICAL_BYTES: u128 = 600;

impl<O: Observer> Simulation<O> {
    /// Prepares a run of `network` with `seed`.
    ///
    /// # Errors
    /// [`RunError::Invalid`] with the first index or parameter that is not valid.
    pub fn new(network: &Network, seed: u64, observer: O) -> Result<Self, RunError> {
        check_indices(network)?;
        let mut simulation = Self::new_unarmed(network, seed, observer, initial_routes(network))?;
        simulation.choose_visits(network);
        simulation.begin(network);
        Ok(simulation)
    }

    /// Prepares a run in which nodes are visited, worth it or not.
    ///
    /// # Errors
    /// As [`Self::new`], and if that is not possible.
    pub(crate) fn with_visits(network: &Network, seed: u64, observer: O) -> Result<Self, RunError> {
        check_indices(network)?;
        let mut simulation = Self::new_unarmed(network, seed, observer, initial_routes(network))?;
        if !simulation.keep_events_by_node(network) {
            return Err(invalid("its nodes cannot serve their events in a row".into()));
        }
        simulation.begin(network);
        Ok(simulation)
    }

    fn begin(&mut self, network: &Network) {
        self.arm(network);
        let Hosts { flows, plane, .. } = &mut self.hosts;
        plane.find_event_free_hops(network, flows, O::ACTIVE);
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
        let recovery = Recovery::new(network, seed);
        let control = ControlPlane::new(network, &recovery.lines, seed);
        let stages = NodeStages {
            processors: crate::processing::processors_of(network),
            late_packets: crate::reordering::late_packets_of(network, seed),
        };
        let of_control = control.as_ref().map_or(0, |control| control.sources());
        let clock = new_clock(network, [recovery.sources(), of_control, stages.sources()]);
        let mut agents = AgentArrays::default();
        let flows = agents.add_all(network, seed, &clock.sources);
        let starts = &agents.starts;
        let workloads =
            Workloads::new(network, &flows, starts, &fib, seed, agents.senders.len() as u32);
        let ports = build_ports(network, seed, clock.untimed_before > 0 && !O::ACTIVE)?;
        // Whoever records each event of a packet reads the packet itself.
        let carries_headers =
            !O::ACTIVE && outgrows_caches(network.links.len(), network.flows.len());
        let plane = DataPlane {
            ports,
            clock,
            tables: ForwardingTables {
                mpls: Tables::new(network, seed),
                static_routes: static_routes_of(network, &end_nodes(network)),
                fib,
            },
            arena: Arena::new(agents.with_ack_details),
            stages,
            event_free: EventFreeHops::default(),
            region: Region::default(),
            measured: new_measurements(network),
            notices: Vec::new(),
            notices_all_losses: network.signalling.is_some(),
            carries_headers,
            observer,
        };
        let hosts = Hosts {
            flows,
            starts: agents.starts,
            senders: agents.senders,
            receivers: agents.receivers,
            handshakes: Handshakes { open: Vec::new(), fresh: new_handshakes(network) },
            datagrams: agents.datagrams,
            adaptive_flows: agents.adaptive_flows,
            streams: agents.streams,
            workloads,
            echoes: crate::echo::echo_senders(network),
            plane,
        };
        Ok(Self {
            limits: RunLimits {
                end: network.run.duration_ns,
                next_question: EVENTS_BETWEEN_STOP_CHECKS,
                events_per_instant: network.run.events_per_instant,
                node_names: network.nodes.iter().map(|node| node.name.clone()).collect(),
            },
            recovery,
            control,
            sampler: ProbeSampler::new(&network.probes),
            lookahead: PrefetchPipeline::new(network.links.len(), &hosts.flows),
            census: Vec::new(),
            census_changes: None,
            hosts,
        })
    }

    /// Schedules the first event of every source that has one here.
    pub(crate) fn arm(&mut self, network: &Network) {
        let clock = &mut self.hosts.plane.clock;
        clock.schedule(END_SOURCE, network.run.duration_ns);
        clock.schedule(WARM_UP_SOURCE, network.run.warmup_ns);
        self.arm_census();
        self.arm_recovery();
        self.arm_control();
        self.sampler.arm(&mut self.hosts.plane.clock);
        self.hosts.arm();
    }
}

impl<O: Observer> Hosts<O> {
    /// Schedules the start of each flow whose source is here.
    fn arm(&mut self) {
        let plane = &mut self.plane;
        for (plan, &start) in self.flows.iter().zip(&self.starts) {
            let end = match plan.agents {
                FlowAgents::Transfers(index) => self.workloads.wakes_end(index),
                _ => SENDER_END,
            };
            // To take out one of many that begin at one instant is a search.
            if !plane.region.owns([plan.src, plan.dst][end]) {
                continue;
            }
            let first = match plan.agents {
                FlowAgents::Tcp(_) | FlowAgents::Adaptive(_) => start,
                FlowAgents::Udp(agent) => self.datagrams[agent as usize].next_at(),
                FlowAgents::Transfers(index) => self.workloads.next_at(index),
                FlowAgents::Control(_) => NEVER,
            };
            // One whose start was put off beyond its stop never begins.
            if first < plan.stop {
                plane.clock.schedule(plan.wakes[end], first);
            }
        }
    }
}

/// The links of a network with their ports; `lag`: ports with classes may choose late.
fn build_ports(network: &Network, seed: u64, lag: bool) -> Result<Ports, RunError> {
    let (mut links, mut near_ends) = (Vec::new(), Vec::new());
    let classifiers: Vec<_> = network.ports.iter().map(build_classifier).collect();
    for link in &network.links {
        let mut built = build_link(network, link, seed)?;
        built.classifier.clone_from(&classifiers[link.port as usize]);
        let near_end = build_near_end(network, link, seed)?;
        built.has_near_end = near_end.is_some() || built.is_fifo() && built.classifier.is_some();
        if lag {
            built.let_port_lag();
        }
        links.push(built);
        near_ends.push(near_end);
    }
    Ok(Ports {
        capacity: network.links.iter().map(|link| link.rate_bit_s).collect(),
        near_ends,
        from: network.links.iter().map(|link| link.from).collect(),
        refusals: vec![Cause::TooBig; links.len()],
        forgone: vec![0; links.len()],
        links,
    })
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
    starts: Vec<Time>,
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

    /// Makes the agents of a flow, which starts at `start` at the earliest.
    fn add_agents(&mut self, flow: &Flow, start: Time, duration: Time) -> FlowAgents {
        match &*flow.agent {
            Agent::Tcp(config) => {
                self.with_ack_details |= config.uses_sack() || config.linux;
                if flow.transfers.is_some() {
                    self.workloads += 1;
                    return FlowAgents::Transfers(self.workloads - 1);
                }
                self.senders.push(tcp::Sender::new(config));
                self.receivers.push(tcp::Receiver::new(config));
                FlowAgents::Tcp(self.senders.len() as u32 - 1)
            }
            Agent::Udp(config) => {
                let bytes = config.size.mean() as u16;
                match &config.arrivals {
                    Arrivals::Tfrc { max_bit_s } => {
                        self.add_adaptive(AdaptiveFlow::Tfrc(TfrcFlow {
                            sender: udp::TfrcSender::new(bytes, *max_bit_s, start),
                            receiver: udp::TfrcReceiver::new(bytes),
                            bytes,
                        }))
                    }
                    Arrivals::Media(media) => {
                        let session = MediaFlow::new(media, config.rate_bit_s, bytes, start);
                        self.add_adaptive(AdaptiveFlow::Media(Box::new(session)))
                    }
                    _ => {
                        self.datagrams.push(udp::Source::new(config, start, duration));
                        FlowAgents::Udp(self.datagrams.len() as u32 - 1)
                    }
                }
            }
            Agent::Control(_) => {
                self.protocols += 1;
                FlowAgents::Control(self.protocols - 1)
            }
        }
    }

    fn add(&mut self, flow: &Flow, (duration, seed): (Time, u64), ends: &[u32]) -> FlowPlan {
        let element = format!("flows[{}]", flow.name);
        let start = flow.start_ns + start_delay(flow.start_jitter_ns, seed, &element);
        let agents = self.add_agents(flow, start, duration);
        let tcp = match &*flow.agent {
            Agent::Tcp(config) => Some(config),
            Agent::Udp(_) | Agent::Control(_) => None,
        };
        self.starts.push(start);
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
            ecn: ecn_of(&flow.agent),
            all_capable: tcp.is_some_and(|config| config.congestion.needs_exact_echo()),
            header_bytes: header_bytes_of(&flow.agent) as u16,
            stop: flow.stop_ns.unwrap_or(NEVER),
            connection: 0,
            mark: if tcp.is_some_and(|config| config.connect) { flag::SETUP } else { 0 },
            late_from: match agents {
                FlowAgents::Adaptive(_) => 0,
                _ => late_threshold(flow),
            },
            wakes: [0; 2],
        }
    }
}

/// The ECN field of a flow's data.
fn ecn_of(agent: &Agent) -> Ecn {
    match agent {
        Agent::Tcp(config) if config.ecn => match config.congestion.counts_marks() {
            true => Ecn::Ect1,
            false => Ecn::Ect0,
        },
        Agent::Udp(UdpConfig { arrivals: Arrivals::Media(media), .. }) if media.ecn => Ecn::Ect0,
        _ => Ecn::NotCapable,
    }
}

/// Bytes of an acknowledgement, or of a datagram's headers.
fn header_bytes_of(agent: &Agent) -> u32 {
    match agent {
        Agent::Tcp(config) => config.ack_bytes,
        Agent::Udp(config) => config.header_bytes,
        Agent::Control(config) => config.header_bytes,
    }
}

/// Nothing counted.
fn new_measurements(network: &Network) -> Measurements {
    Measurements {
        totals: vec![Totals::default(); network.flows.len()],
        deliveries: vec![Deliveries::default(); network.flows.len()],
        pool: Pool::default(),
        drops: Drops::default(),
        marks: CongestionMarks::default(),
        path_accounts: PathAccounts::new(&network.paths),
        delivered_marks: network.run.delivered_marks.then(Box::default),
        watched_delays: crate::probe::watched_delays(&network.probes),
        at_warm_up: Baseline::default(),
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

fn late_threshold(flow: &Flow) -> Span {
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
    let [of_recovery, of_control, of_stages] = of_each;
    let recovery = CENSUS_SOURCE + 1;
    let control = recovery + of_recovery;
    let stages = control + of_control;
    let probes = stages + of_stages;
    let transmitters = probes + network.probes.len() as u32;
    let arrivals = transmitters + links;
    let senders = arrivals + links;
    Sources {
        recovery,
        control,
        stages,
        probes,
        transmitters,
        arrivals,
        senders,
        receivers: senders + flows,
    }
}

/// At the start, with nothing due; `of_each`: sources of recovery, of control and of stages.
fn new_clock(network: &Network, of_each: [u32; 3]) -> Clock {
    let sources = number_sources(network, of_each);
    Clock {
        now: 0,
        calendar: new_calendar(network, &sources),
        by_node: None,
        sources,
        events: 0,
        untimed_before: event_free_before(network, of_each),
    }
}

fn new_calendar(network: &Network, sources: &Sources) -> Calendar {
    let total = sources.receivers as usize + network.flows.len();
    let bits: u128 = network.links.iter().map(|link| u128::from(link.rate_bit_s)).sum();
    let gap = TYPICAL_BYTES * 8 * 1_000_000_000 / bits.max(1);
    Calendar::new(total, network.links.len().max(64), Span::try_from(gap).unwrap_or(Span::MAX))
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
