//! Hops without an event: a queue that one link alone feeds is filled ahead of time.
//!
//! A FIFO link knows when each packet it accepts will reach its far end. Where the queue that the
//! packet joins there is fed by this link alone, no other packet can arrive in between, so the packet is
//! offered to it at once, in the time of its arrival, and the hop needs no event. The order by (time,
//! source), every counter and every delay stay those of a run with an event a hop.
//!
//! The feeders of a queue are found before the run by following the packets of every flow. A hop keeps
//! its event where a difference would show: the arrival lies beyond the end of the warm-up or of the
//! run, the packet would be dropped or enters a path, or one before it on the same wire kept its event.
//! So do all hops of runs with traces, failures, signalling, shared routes, processing at nodes,
//! conditioners or regions.
//!
//! Absent: ports with classes, AQMs, accounts or probes.

use crate::classifier::OWN_COLUMN;
use crate::data_plane::AnyDataPlane;
use crate::hosts::{FlowAgents, FlowPlan};
use crate::link::OnwardHop;
use crate::mpls::NextHop;
use crate::network::{Measure, Network};
use crate::route::{LOCAL_DELIVERY, UNREACHABLE};
use trunkline_packet::Packet;
use trunkline_units::Time;

/// No link or agent feeds this queue.
const NO_FEEDER: u32 = u32::MAX;
/// More than one link does, or an agent.
const MANY_FEEDERS: u32 = u32::MAX - 1;

/// The only link that feeds each queue, and the time until which this may be used.
#[derive(Debug, Default)]
pub(crate) struct EventFreeHops {
    fed_by: Vec<u32>,
    /// Arrivals from here on keep their events.
    horizon: Time,
}

/// Successions of links that packets take.
struct PacketPaths {
    fed_by: Vec<u32>,
    /// Links after each, [`NO_FEEDER`] where packets end; few, so that a list is searched soonest.
    next: Vec<Vec<u32>>,
}

impl PacketPaths {
    fn new(links: usize) -> Self {
        Self { fed_by: vec![NO_FEEDER; links], next: vec![Vec::new(); links] }
    }

    /// A packet comes from `feeder` ([`MANY_FEEDERS`]: an agent) and takes `link` ([`NO_FEEDER`]: none).
    fn record_step(&mut self, feeder: u32, link: u32) {
        if let Some(next) = self.next.get_mut(feeder as usize) {
            if next.contains(&link) {
                return;
            }
            next.push(link);
        }
        if let Some(feeder_of_link) = self.fed_by.get_mut(link as usize) {
            *feeder_of_link = if *feeder_of_link == NO_FEEDER || *feeder_of_link == feeder {
                feeder
            } else {
                MANY_FEEDERS
            };
        }
    }
}

impl AnyDataPlane {
    /// Finds the hops that need no event, before the first event; none where each is `watched`.
    pub(crate) fn find_event_free_hops(
        &mut self,
        network: &Network,
        plans: &[FlowPlan],
        watched: bool,
    ) {
        let plain = network.links.iter().all(|it| it.conditioner.is_none() && it.ingress.is_none());
        let watched = watched || self.measured.path_accounts.is_some();
        // Tables that change in time, and messages of routers, cannot be followed before the run.
        let recovers = self.clock.sources.control > self.clock.sources.recovery;
        let moving = recovers || network.signalling.is_some();
        // Packets of several links wait for one processor.
        let slow = network.nodes.iter().any(|node| node.processing.is_some());
        let shared = self.tables.mpls.chooser.is_on();
        if watched || !plain || moving || slow || shared {
            return;
        }
        let mut paths = PacketPaths::new(self.ports.links.len());
        for plan in plans {
            self.trace_paths(plan.src, plan.data_packet(0, 0, 0, 0), &mut paths);
            if !matches!(plan.agents, FlowAgents::Udp(_)) {
                self.trace_paths(plan.dst, plan.reverse_packet(0, 0, 0, 0), &mut paths);
            }
        }
        let mut fed_by = paths.fed_by;
        for (index, link) in self.ports.links.iter().enumerate() {
            if !link.is_plain_fifo() || link.has_near_end {
                fed_by[index] = MANY_FEEDERS;
            }
        }
        for probe in network.probes.iter().filter(|probe| watches_link(probe.measure)) {
            fed_by[probe.target as usize] = MANY_FEEDERS;
        }
        for (index, link) in (0..).zip(&mut self.ports.links) {
            // A link whose packets part keeps its events: a packet that waits for its event delays the
            // others.
            let next = &paths.next[index as usize];
            let leads =
                next.iter().all(|&next| next != NO_FEEDER && fed_by[next as usize] == index);
            if leads && !next.is_empty() && link.far_end.is_none() && link.is_fifo() {
                link.onward = OnwardHop::EventFree;
            }
        }
        self.event_free = EventFreeHops { fed_by, horizon: network.run.warmup_ns };
    }

    /// Follows the packets of a flow from where they are sent.
    fn trace_paths(&self, origin: u32, mut packet: Packet, paths: &mut PacketPaths) {
        let (mut node, mut feeder) = (origin, MANY_FEEDERS);
        while let Some((link, _)) = self.next_link(node, &mut packet, feeder == MANY_FEEDERS) {
            paths.record_step(feeder, link);
            (node, feeder) = (self.ports.links[link as usize].to, link);
        }
        paths.record_step(feeder, NO_FEEDER);
    }

    /// The link that a packet takes from `node` on, where it is `fresh` or arrived by a link, and the
    /// entry by which it enters a path; its labels and its TTL change. None where it ends.
    #[inline(always)]
    pub(crate) fn next_link(
        &self,
        node: u32,
        packet: &mut Packet,
        fresh: bool,
    ) -> Option<(u32, Option<u32>)> {
        let (mut counted, mut column) = (fresh, OWN_COLUMN);
        while !packet.labels.is_empty() {
            match self.tables.mpls.switch(node, packet, counted).ok()? {
                NextHop::Link(link, _) => return Some((link, None)),
                NextHop::Again(done, by) => (counted, column) = (done, by),
                NextHop::Bridge(_) => return None,
            }
        }
        let next = self.tables.fib.next(node, packet.dst);
        if next == LOCAL_DELIVERY || !counted && packet.ttl <= 1 {
            return None;
        }
        packet.ttl -= u8::from(!counted);
        if packet.fec != 0 {
            if let Some(nhlfe) = self.tables.mpls.ftn(node, packet.fec, packet.dscp) {
                let dscp = if column == OWN_COLUMN { packet.dscp } else { column };
                match self.tables.mpls.label(node, nhlfe, packet, dscp).ok()? {
                    NextHop::Link(link, _) => return Some((link, Some(nhlfe))),
                    NextHop::Again(..) => {}
                    NextHop::Bridge(_) => return None,
                }
            }
        }
        (next != UNREACHABLE).then_some((next, None))
    }

    /// Takes the packet that a port has accepted last on as far as it needs no event.
    #[inline(never)]
    pub(crate) fn forward_without_event(&mut self, mut index: u32) {
        loop {
            let link = &self.ports.links[index as usize];
            // One before it waits for its arrival: so does this.
            let alone = link.arriving() == 1;
            let next = if alone { self.offer_without_event(index) } else { return };
            let Some(next) = next else { return self.await_arrival(index) };
            match self.ports.links[next as usize].onward {
                OnwardHop::EventFree => index = next,
                _ => return self.await_first(next),
            }
        }
    }

    /// Offers the next packet of a wire to its next port, in the time of its arrival; returns the link
    /// of that port. None where it keeps its event.
    #[inline(always)]
    fn offer_without_event(&mut self, index: u32) -> Option<u32> {
        let link = &self.ports.links[index as usize];
        let departure = *link.wire.get(link.forwarded);
        let (at, id, node) =
            (departure.at + link.delay, departure.packet.id_without_header(), link.to);
        if at >= self.event_free.horizon {
            return None;
        }
        let mut packet = self.arena[id];
        let (next, path) = self.next_link(node, &mut packet, false)?;
        if self.event_free.fed_by[next as usize] != index {
            return None;
        }
        if !self.ports.links[next as usize].accept_ahead(at, id, packet.labelled_bytes()) {
            return None;
        }
        if let Some(nhlfe) = path {
            self.tables.mpls.count(nhlfe, &packet);
        }
        self.arena[id] = packet;
        self.ports.links[index as usize].forward();
        self.clock.events += 1;
        Some(next)
    }

    /// Schedules the arrival of the first packet of a wire that waits for it.
    fn await_arrival(&mut self, index: u32) {
        let link = &self.ports.links[index as usize];
        let due = link.wire.get(link.forwarded).at + link.delay;
        self.clock.schedule_arrival(index, due);
    }

    fn await_first(&mut self, index: u32) {
        let link = &self.ports.links[index as usize];
        if link.wire.len() == 1 {
            let due = link.wire.get(link.wire.head()).at + link.delay;
            self.clock.schedule_arrival(index, due);
        }
    }

    /// The warm-up is over: forwards the packets that waited for its end. Hops before `end` need no event.
    pub(crate) fn forward_at_warm_up_end(&mut self, end: Time) {
        self.event_free.horizon = end;
        if self.clock.untimed_before > 0 {
            self.clock.untimed_before = end;
        }
        for index in 0..self.ports.links.len() as u32 {
            if self.ports.links[index as usize].onward != OnwardHop::EventFree {
                continue;
            }
            self.clock.cancel_arrival(index);
            while self.ports.links[index as usize].arriving() > 0 {
                let Some(next) = self.offer_without_event(index) else { break };
                match self.ports.links[next as usize].onward {
                    OnwardHop::EventFree => self.forward_without_event(next),
                    _ => self.await_first(next),
                }
            }
            if self.ports.links[index as usize].arriving() > 0 {
                self.await_arrival(index);
            }
        }
    }
}

/// Whether a probe reads the state of a link's queue or the packets that have left it.
fn watches_link(measure: Measure) -> bool {
    use Measure::{Drops, QueueAverage, QueueBytes, QueuePackets, Utilisation};
    matches!(measure, Drops | QueueAverage | QueueBytes | QueuePackets | Utilisation)
}
