//! Visits: a node serves its events in a row for as long as no other node can send it anything.
//!
//! A packet reaches a node at the earliest the shortest delay of its links after the event that sends it. So the node
//! of the earliest event of all may serve its own events for as long (conservative look-ahead: Chandy & Misra, IEEE
//! Trans. Software Eng. 5(5), 1979), while its links, ports, tables and agents stay in the caches, and without a
//! look at the calendar for each. Each node serves its events by (time, source), and no packet touches the state of
//! two nodes, so the results are those of all events in the order of time, byte for byte.
//!
//! Differs: a limit of events at one instant holds for each node.
//! Failures, repairs and probes concern the network: no visit goes beyond the next of them.
//! Absent: observers, protocols of routers, processing at nodes, wires that reorder, accounts of paths (the jitter of a
//! path depends on the order of packets that end at several nodes), transfers, handshakes, datagrams whose rate heeds
//! congestion; a link without delay. These take all events in the order of time.

use crate::build::TYPICAL_BYTES;
use crate::clock::Sources;
use crate::data_plane::DataPlane;
use crate::hosts::FlowAgents;
use crate::link::OnwardHop;
use crate::network::{Link, Network};
use crate::node_events::{find_look_aheads, EventsByNode, COMMON};
use crate::observer::Observer;
use crate::prefetch::PrefetchReach;
use crate::simulation::{census_time, RunError, Simulation, CENSUS_COUNT};
use trunkline_units::{Span, Time};

/// Packet-hops that a visit must hold on average, if links are loaded, to be worth its start; with fewer links, whose
/// state stays in the caches anyhow, more of them.
const MIN_HOPS_PER_VISIT: u128 = 20;
const MIN_HOPS_PER_VISIT_OF_FEW_LINKS: u128 = 80;
const FEW_LINKS: usize = 50;

/// Whether visits of a network are worth their start.
fn are_visits_worth_it(network: &Network) -> bool {
    let look_ahead = find_look_aheads(network.nodes.len(), &network.links);
    let bits = |link: &Link| {
        u128::from(link.rate_bit_s) * u128::from(look_ahead[link.to as usize]) / 1_000_000_000
    };
    let hops = network.links.iter().map(bits).sum::<u128>() / (TYPICAL_BYTES * 8);
    let visited = look_ahead.iter().filter(|span| **span < Span::MAX).count() as u128;
    let least = if network.links.len() < FEW_LINKS {
        MIN_HOPS_PER_VISIT_OF_FEW_LINKS
    } else {
        MIN_HOPS_PER_VISIT
    };
    hops > visited * least
}

/// How many packets more or fewer the network has after each part of a run than before it: to count them at one
/// time, no visit needs to end there.
#[derive(Debug)]
pub(crate) struct CensusChanges {
    run: Time,
    /// By part, of equal length.
    changes: Vec<i64>,
    /// The part that a visit begins in, and its end.
    part: usize,
    behind: Time,
}

impl CensusChanges {
    fn new(run: Time) -> Self {
        let mut new = Self { run, changes: vec![0; CENSUS_COUNT as usize], part: 0, behind: 0 };
        new.behind = new.end_of(0);
        new
    }

    fn end_of(&self, part: usize) -> Time {
        census_time(self.run, part as u64 + 1)
    }

    /// The part of a run that a visit begins in, which no visit before began behind.
    #[inline(always)]
    fn find_part(&mut self, begin: Time) -> (usize, Time) {
        while begin >= self.behind && self.part + 1 < self.changes.len() {
            self.part += 1;
            self.behind = self.end_of(self.part);
        }
        (self.part, self.behind)
    }

    /// In a part of the run, there were so many packets before an event or several, and so many after.
    #[inline(always)]
    fn add(&mut self, part: usize, before: usize, after: usize) {
        self.changes[part] += after as i64 - before as i64;
    }

    /// Packets in the network at the end of each part but the last, at which the run ends.
    fn counts(&self) -> Vec<u64> {
        let mut packets = 0;
        let parts = &self.changes[..self.changes.len() - 1];
        parts
            .iter()
            .map(|change| {
                packets += change;
                packets as u64
            })
            .collect()
    }
}

impl<O: Observer> Simulation<O> {
    /// Lets nodes be visited in the run, in which nothing is due yet, if that is possible and worth it.
    pub(crate) fn choose_visits(&mut self, network: &Network) {
        if are_visits_worth_it(network) {
            self.keep_events_by_node(network);
        }
    }

    /// The same if it is possible; whether it is.
    pub(crate) fn keep_events_by_node(&mut self, network: &Network) -> bool {
        if O::ACTIVE || !self.can_visit_nodes(network) {
            return false;
        }
        let plane = &mut self.hosts.plane;
        let ends: Vec<[u32; 2]> = self.hosts.flows.iter().map(|it| [it.src, it.dst]).collect();
        let sources = plane.clock.sources;
        let events = EventsByNode::new(network.nodes.len(), &network.links, &ends, sources);
        plane.clock.calendar = events.new_calendar();
        plane.clock.by_node = Some(Box::new(events));
        if !plane.region.is_part() {
            self.census_changes = Some(CensusChanges::new(self.limits.end));
        }
        true
    }

    /// Whether packets and timers touch the state of one node each, and nothing but counts is common.
    fn can_visit_nodes(&self, network: &Network) -> bool {
        let Sources { control, probes, .. } = self.hosts.plane.clock.sources;
        let plain_flows = self.hosts.flows.iter().all(|plan| {
            matches!(plan.agents, FlowAgents::Tcp(_) | FlowAgents::Udp(_)) && plan.mark == 0
        });
        control == probes
            && plain_flows
            && self.hosts.plane.measured.path_accounts.is_none()
            && network.links.iter().all(|link| link.delay_ns > 0)
            && network.run.duration_ns >= CENSUS_COUNT
    }

    /// Runs visit after visit.
    pub(crate) fn visit_nodes(&mut self, stops_at: &dyn Fn(Time) -> bool) -> Result<(), RunError> {
        loop {
            let Some((begin, number)) = self.hosts.plane.clock.calendar.pop() else {
                return Ok(());
            };
            if self.is_time_to_ask() && stops_at(begin) {
                self.hosts.plane.clock.now = begin;
                return Err(self.interruption_error());
            }
            if number == COMMON {
                let clock = &mut self.hosts.plane.clock;
                let Some(events) = &mut clock.by_node else { return Ok(()) };
                let Some(source) = events.take_common(&mut clock.calendar) else { return Ok(()) };
                let packets = self.hosts.plane.arena.live();
                let ends = self.serve_common(begin, source);
                if let Some(census) = &mut self.census_changes {
                    // A failure loses packets.
                    let (part, _) = census.find_part(begin);
                    census.add(part, packets, self.hosts.plane.arena.live());
                    if ends {
                        self.census = census.counts();
                    }
                }
                if ends {
                    return Ok(());
                }
                continue;
            }
            if self.lookahead.reach == PrefetchReach::Events {
                self.lookahead.fetch_visit_ahead(&mut self.hosts);
            }
            self.visit(number - 1, begin)?;
        }
    }

    /// Serves the events of a `node` from the earliest of all on, which is due at `begin`.
    fn visit(&mut self, node: u32, begin: Time) -> Result<(), RunError> {
        let plane = &mut self.hosts.plane;
        let Some(events) = &mut plane.clock.by_node else { return Ok(()) };
        let end = events.begin_visit(&plane.clock.calendar, node, begin);
        plane.catch_up_ports_to(node, begin);
        let Sources { transmitters, arrivals, senders, receivers, .. } =
            self.hosts.plane.clock.sources;
        let (mut part, mut stop) = (0, end);
        if let Some(changes) = &mut self.census_changes {
            let (first, behind) = changes.find_part(begin);
            (part, stop) = (first, end.min(behind));
        }
        let mut packets = self.hosts.plane.arena.live();
        let mut at_once = 0;
        loop {
            let clock = &mut self.hosts.plane.clock;
            let Some(events) = &mut clock.by_node else { return Ok(()) };
            let (at, source) = events.find_next(node);
            if at >= stop {
                if let Some(census) = &mut self.census_changes {
                    let before = std::mem::replace(&mut packets, self.hosts.plane.arena.live());
                    census.add(part, before, packets);
                }
                if at >= end {
                    events.end_visit(&mut clock.calendar, node, at);
                    return Ok(());
                }
                if let Some(census) = &self.census_changes {
                    while at >= stop {
                        part += 1;
                        stop = end.min(census.end_of(part));
                    }
                }
            }
            at_once = 1 + if at == clock.now { at_once } else { 0 };
            clock.now = at;
            clock.events += 1;
            if source >= arrivals && source < senders {
                let link = source - arrivals;
                events.take_arrival(link);
                if self.lookahead.reach == PrefetchReach::Wires {
                    self.lookahead.fetch_behind(&self.hosts, link as usize);
                }
                self.hosts.arrive(link as usize);
            } else {
                events.take_timer(node, source);
                if source >= receivers {
                    self.hosts.wake_receiver(source - receivers);
                } else if source >= senders {
                    self.hosts.wake_sender(source - senders);
                } else {
                    self.hosts.plane.finish_transmission((source - transmitters) as usize);
                }
            }
            if at_once > self.limits.events_per_instant {
                return Err(self.event_storm_error(source));
            }
            if !self.hosts.plane.notices.is_empty() {
                self.settle_notices();
            }
        }
    }
}

impl<O: Observer> DataPlane<O> {
    /// Makes the choices of ports of links to a node that are due by `now`: no packet that is chosen later arrives in
    /// the visit that begins now, so where the last one on a wire arrives in it, no other waits.
    #[inline(always)]
    fn catch_up_ports_to(&mut self, node: u32, now: Time) {
        let Some(events) = &self.clock.by_node else { return };
        for place in events.places_of(node) {
            let Some(events) = &self.clock.by_node else { return };
            let index = events.link_at(place) as usize;
            let link = &self.ports.links[index];
            if link.onward == OnwardHop::CatchesUp && link.is_behind(now) {
                self.ports.catch_up(index, now, &mut self.clock);
            }
        }
    }
}
