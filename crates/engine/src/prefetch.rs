//! Prefetching: the memory that the events of the near future will touch, stage by stage.
//!
//! A hop reads a chain of places, each found through the one before: the link, the head of its wire, the
//! packet, the route, the next link, the end of its queue. On a network that outgrows the caches each
//! costs a wait of some 100 ns. The calendar gives events some way ahead, and each event moves every
//! hint by one stage, so that these waits overlap with the events between. Where links stay in the caches and
//! many flows do not, each arrival instead fetches for those behind it on its wire: it needs no calendar, and
//! their next events are a whole round of the links away. Where nodes serve their events in a row (`node_visits.rs`) the
//! calendar gives the nodes, of which the links are hints. This changes nothing in the simulation; a wrong hint
//! costs only its fetch.

use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::link::Link;
use crate::observer::Observer;
use crate::route::{FIRST_SHARED, LOCAL_DELIVERY};
use trunkline_packet::PacketId;
use trunkline_units::prefetch;

/// Newest hints, of which the oldest that is moved has age 8; a power of two, so that places need no division.
const HINTS_IN_PROGRESS: usize = 16;
/// Of networks of more links all is fetched ahead.
const MIN_PREFETCHED_LINKS: usize = 2_000;
/// Of other networks, where there are so many flows, what the next packets of a wire need is. With fewer the
/// caches have it.
const MIN_PREFETCHED_FLOWS: usize = 2_000;
/// Without a header on the wire nobody knows which packets end at its far end. Asking for the flows of all of them
/// costs a quarter more than it saves with ten times as many flows as this.
const MAX_FLOWS_WITHOUT_HEADERS: usize = 10_000;
/// No packet is fetched.
const NO_PACKET: PacketId = PacketId::MAX;

/// Known part of an event to come.
#[derive(Clone, Copy, Debug)]
enum PrefetchHint {
    Nothing,
    /// The packet at the head of this link's wire arrives.
    Arrival(u32),
    /// This packet arrives from this link.
    Packet(u32, PacketId),
    /// This packet, of this destination by its header, arrives from this link.
    Header(u32, PacketId, u32),
    /// This packet is for the node that it comes to.
    Ends(PacketId),
    /// This packet takes this out-link.
    Forward(u32),
    /// This packet is for this flow.
    Deliver {
        flow: u32,
        reverse: bool,
    },
    /// A timer of this flow.
    Wake(u32),
}

/// Whether a network's packets and flows stay in the caches no more, so that hints are worth their time, and
/// headers on the wires save a line a hop.
pub(crate) fn outgrows_caches(links: usize, flows: usize) -> bool {
    links > MIN_PREFETCHED_LINKS || flows >= MIN_PREFETCHED_FLOWS
}

/// How much is fetched ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrefetchReach {
    /// Nothing but the next packets of a wire, which each arrival asks for: hints cost more than they save.
    Nothing,
    /// Links stay in the second-level cache, flows and label entries do not: what the next packets of a
    /// wire need.
    Wires,
    /// Links do not: what the events named by the calendar need.
    Events,
}

/// Hints in progress, one in each stage.
#[derive(Debug)]
pub(crate) struct PrefetchPipeline {
    /// The part that is worth fetching, by the size of the network.
    pub reach: PrefetchReach,
    hints: [PrefetchHint; HINTS_IN_PROGRESS],
    newest: usize,
    /// Nodes of visits to come: the record of the first has been asked for, and the links of the second.
    upcoming_nodes: [u32; 2],
    /// Of [`PrefetchReach::Wires`], the agents of each flow, without the rest of its plan.
    agents: Box<[FlowAgents]>,
    /// Of the same, the packet that comes next on each wire, as seen at the arrival before: it is known without
    /// the lines of link and wire. [`NO_PACKET`] for one that its header sends on.
    next_packets: Box<[PacketId]>,
    /// Of the same, whether this is done for packets without a header too.
    fetches_without_headers: bool,
}

impl PrefetchPipeline {
    /// For a network of `links` links and these flows.
    pub fn new(links: usize, flows: &[FlowPlan]) -> Self {
        let reach = if !prefetch::IS_EFFECTIVE || !outgrows_caches(links, flows.len()) {
            PrefetchReach::Nothing
        } else if links > MIN_PREFETCHED_LINKS {
            PrefetchReach::Events
        } else {
            PrefetchReach::Wires
        };
        let known = if reach == PrefetchReach::Wires { flows } else { &[] };
        Self {
            reach,
            agents: known.iter().map(|plan| plan.agents).collect(),
            fetches_without_headers: flows.len() <= MAX_FLOWS_WITHOUT_HEADERS,
            next_packets: vec![NO_PACKET; if known.is_empty() { 0 } else { links }].into(),
            hints: [PrefetchHint::Nothing; HINTS_IN_PROGRESS],
            newest: 0,
            upcoming_nodes: [0; 2],
        }
    }

    /// Takes in the node of a visit to come: its record is fetched, then its links.
    pub fn fetch_visit_ahead<O: Observer>(&mut self, hosts: &mut Hosts<O>) {
        let Some(number) = hosts.plane.clock.calendar.peek_upcoming() else { return };
        let Some(node) = number.checked_sub(1) else { return };
        let Some(events) = &hosts.plane.clock.by_node else { return };
        let [first, second] = self.upcoming_nodes;
        self.upcoming_nodes = [node, first];
        events.fetch_record(node);
        events.fetch_places(first);
        for place in events.places_of(second) {
            let link = events.link_at(place);
            hosts.plane.ports.links[link as usize].fetch_arrival();
            self.enter_hint(hosts, PrefetchHint::Arrival(link));
        }
    }

    /// Takes in a hint and moves the others by one stage.
    pub fn fetch_ahead<O: Observer>(&mut self, hosts: &mut Hosts<O>) {
        let Some(source) = hosts.plane.clock.calendar.peek_upcoming() else { return };
        let arrival = source.wrapping_sub(hosts.plane.clock.sources.arrivals);
        let hint = if let Some(link) = hosts.plane.ports.links.get(arrival as usize) {
            link.fetch_arrival();
            PrefetchHint::Arrival(arrival)
        } else if source >= hosts.plane.clock.sources.senders {
            let flow =
                (source - hosts.plane.clock.sources.senders) % hosts.flows.len().max(1) as u32;
            prefetch::element(&hosts.flows, flow);
            PrefetchHint::Wake(flow)
        } else {
            PrefetchHint::Nothing
        };
        self.enter_hint(hosts, hint);
    }

    #[inline(always)]
    fn enter_hint<O: Observer>(&mut self, hosts: &Hosts<O>, hint: PrefetchHint) {
        let newest = self.newest.wrapping_add(1);
        self.newest = newest;
        self.hints[newest % HINTS_IN_PROGRESS] = hint;
        self.move_hint(hosts, 1);
        self.move_hint(hosts, 2);
        self.move_hint(hosts, 3);
        self.move_hint(hosts, 4);
        // A packet and its flow are seldom in any cache: each has two events to come.
        self.move_hint(hosts, 6);
        self.move_hint(hosts, 8);
    }

    #[inline(always)]
    fn move_hint<O: Observer>(&mut self, hosts: &Hosts<O>, age: usize) {
        let place = self.newest.wrapping_sub(age) % HINTS_IN_PROGRESS;
        let hint = self.hints[place];
        self.hints[place] = Self::advance(hosts, age, hint);
    }

    /// Fetches the next place of a hint of some age. The place it reads was fetched one event ago or two.
    #[inline(always)]
    fn advance<O: Observer>(hosts: &Hosts<O>, age: usize, hint: PrefetchHint) -> PrefetchHint {
        match (age, hint) {
            (1, PrefetchHint::Arrival(link)) => {
                let wire = &hosts.plane.ports.links[link as usize].wire;
                wire.fetch(wire.head());
            }
            (2, PrefetchHint::Arrival(link)) => {
                let Some(head) = hosts.plane.ports.links[link as usize].wire.front() else {
                    return PrefetchHint::Nothing;
                };
                let id = head.packet.id();
                if let Some(header) = head.packet.header() {
                    let node = hosts.plane.ports.links[link as usize].to;
                    hosts.plane.tables.fib.fetch(node, header.destination);
                    return PrefetchHint::Header(link, id, header.destination);
                }
                hosts.plane.arena.prefetch(id);
                return PrefetchHint::Packet(link, id);
            }
            (3, PrefetchHint::Packet(link, id)) => {
                let packet = &hosts.plane.arena[id];
                if packet.labels.is_empty() {
                    hosts
                        .plane
                        .tables
                        .fib
                        .fetch(hosts.plane.ports.links[link as usize].to, packet.dst);
                }
            }
            (3, PrefetchHint::Header(link, id, destination)) => {
                let node = hosts.plane.ports.links[link as usize].to;
                let next = hosts.plane.tables.fib.next(node, destination);
                if next == LOCAL_DELIVERY {
                    hosts.plane.arena.prefetch(id);
                    return PrefetchHint::Ends(id);
                }
                let Some(link) = hosts.plane.ports.links.get(next as usize) else {
                    return PrefetchHint::Nothing;
                };
                link.fetch_offer();
                return PrefetchHint::Forward(next);
            }
            (6, PrefetchHint::Ends(id)) => {
                let packet = &hosts.plane.arena[id];
                return Self::fetch_flow(hosts, packet.flow, packet.is_reverse());
            }
            (4, PrefetchHint::Packet(link, id)) => {
                let packet = &hosts.plane.arena[id];
                if !packet.labels.is_empty() {
                    return PrefetchHint::Nothing;
                }
                let next = hosts
                    .plane
                    .tables
                    .fib
                    .next(hosts.plane.ports.links[link as usize].to, packet.dst);
                if next == LOCAL_DELIVERY {
                    return Self::fetch_flow(hosts, packet.flow, packet.is_reverse());
                }
                if next >= FIRST_SHARED {
                    return PrefetchHint::Nothing;
                }
                hosts.plane.ports.links[next as usize].fetch_offer();
                return PrefetchHint::Forward(next);
            }
            (4 | 6, PrefetchHint::Forward(link)) => {
                let wire = &hosts.plane.ports.links[link as usize].wire;
                wire.fetch(wire.tail());
                return PrefetchHint::Nothing;
            }
            (8, PrefetchHint::Deliver { flow, reverse }) => Self::fetch_agent(hosts, flow, reverse),
            (1, PrefetchHint::Wake(flow)) => Self::fetch_agent(hosts, flow, true),
            _ => {}
        }
        hint
    }

    /// At an arrival by `link`, fetches the place of the packet behind it on its wire in the tables of labels or
    /// of flows. That packet was fetched at the arrival before.
    #[inline(always)]
    pub fn fetch_behind<O: Observer>(&mut self, hosts: &Hosts<O>, link: usize) {
        let plane = &hosts.plane;
        let (Some(next), Some(link)) =
            (self.next_packets.get_mut(link), plane.ports.links.get(link))
        else {
            return;
        };
        // Behind the last packet of the ring are others that are gone, whose hints are wrong.
        let after_next = link.wire.get(link.wire.head().wrapping_add(2)).packet;
        let candidate = match after_next.header() {
            Some(header)
                if plane.tables.fib.next(link.to, header.destination) == LOCAL_DELIVERY =>
            {
                plane.arena.prefetch(after_next.id());
                after_next.id()
            }
            Some(_) => NO_PACKET,
            None => {
                plane.arena.prefetch(after_next.id_without_header());
                if self.fetches_without_headers {
                    after_next.id_without_header()
                } else {
                    NO_PACKET
                }
            }
        };
        let behind = std::mem::replace(next, candidate);
        let Some(packet) = plane.arena.get(behind) else { return };
        if let Some(top) = packet.labels.top() {
            plane.tables.mpls.fetch(link.to, top.label());
        } else {
            let flow = packet.flow;
            prefetch::element(&hosts.flows, flow);
            let is_reverse = packet.is_reverse();
            if !is_reverse {
                prefetch::element(&plane.measured.deliveries, flow);
            }
            let Some(&FlowAgents::Tcp(agent)) = self.agents.get(flow as usize) else { return };
            prefetch::element_start(&plane.measured.totals, flow);
            if !is_reverse {
                prefetch::element(&hosts.receivers, agent);
            } else {
                prefetch::element(&hosts.senders, agent);
                plane.clock.calendar.fetch(plane.clock.sources.senders + flow);
            }
        }
    }

    #[inline(always)]
    fn fetch_flow<O: Observer>(hosts: &Hosts<O>, flow: u32, reverse: bool) -> PrefetchHint {
        prefetch::element(&hosts.flows, flow);
        prefetch::element_start(&hosts.plane.measured.totals, flow);
        PrefetchHint::Deliver { flow, reverse }
    }

    #[inline(always)]
    fn fetch_agent<O: Observer>(hosts: &Hosts<O>, flow: u32, sender: bool) {
        match hosts.flows[flow as usize].agents {
            FlowAgents::Tcp(agent) if sender => {
                prefetch::element(&hosts.senders, agent);
                hosts.plane.clock.calendar.fetch(hosts.plane.clock.sources.senders + flow);
            }
            FlowAgents::Tcp(agent) => {
                prefetch::element(&hosts.receivers, agent);
                prefetch::element(&hosts.plane.measured.deliveries, flow);
                hosts.plane.clock.calendar.fetch(hosts.plane.clock.sources.receivers + flow);
            }
            FlowAgents::Udp(_)
            | FlowAgents::Adaptive(_)
            | FlowAgents::Transfers(_)
            | FlowAgents::Control(_) => {
                prefetch::element(&hosts.plane.measured.deliveries, flow);
            }
        }
    }
}

impl Link {
    #[inline(always)]
    fn fetch_arrival(&self) {
        prefetch::all_lines(&self.to);
    }

    #[inline(always)]
    fn fetch_offer(&self) {
        prefetch::all_lines(&self.to);
        prefetch::all_lines(&self.header);
    }
}
