//! Flooding: LSAs are sent to all neighbours, and again until these acknowledge them.
//!
//! Source: RFC 2328 sections 13 (processing of an LSA that arrives), 13.3 to 13.6.
//! Differs: acknowledgments are not delayed.

use super::lsa::{Lsa, LsaContent};
use super::{packet, Ospf, OspfMessage, OspfTimer};
use crate::{NetworkPlane, OutgoingMessage, RoutingEvent, SignalledLink};
use trunkline_units::Time;

const IP_BYTES: u16 = 20;
/// Protocol number in the IP header (section A.1).
const IP_PROTOCOL: u8 = 89;
/// LSAs in one update, so that it fits into 1500 bytes where nodes have up to a dozen links.
const MAX_LSAS_PER_UPDATE: usize = 8;

impl Ospf {
    /// Sends LSAs to all neighbours except the one that sent them.
    pub(super) fn flood(
        &mut self,
        node: u32,
        from: Option<u32>,
        lsas: &[Lsa],
        plane: &mut dyn NetworkPlane,
    ) {
        for line in 0..self.lines.len() as u32 {
            let link = &self.lines[line as usize];
            let is_target = link.from == node && Some(line) != from;
            if is_target && self.adjacencies[line as usize].up {
                self.send(line, lsas, plane);
            }
        }
    }

    /// Sends LSAs to one neighbour until they are acknowledged.
    pub(super) fn send(&mut self, line: u32, lsas: &[Lsa], plane: &mut dyn NetworkPlane) {
        let adjacency = &mut self.adjacencies[line as usize];
        adjacency.unacknowledged.extend(lsas.iter().map(|lsa| (lsa.place, lsa.sequence)));
        if !adjacency.resending {
            adjacency.resending = true;
            self.timers.set(plane.now() + self.config.resend_ns, OspfTimer::Resend(line));
        }
        let node = self.lines[line as usize].from;
        for part in lsas.chunks(MAX_LSAS_PER_UPDATE) {
            let octets = packet::update(node, part);
            self.transmit(line, OspfMessage::Update(part.to_vec()), octets, plane);
        }
    }

    pub(super) fn transmit(
        &self,
        line: u32,
        message: OspfMessage,
        octets: Vec<u8>,
        plane: &mut dyn NetworkPlane,
    ) {
        let SignalledLink { from, to, .. } = self.lines[line as usize];
        let kind = match message {
            OspfMessage::Hello => 0,
            OspfMessage::Update(_) => 1,
            OspfMessage::Acknowledgment(_) => 2,
        };
        let message = crate::Message::Ospf(message);
        plane.send(
            line,
            OutgoingMessage {
                message,
                octets,
                header_bytes: IP_BYTES,
                protocol: IP_PROTOCOL,
                ends: [from, to],
                kind,
            },
        );
    }

    pub(super) fn resend(&mut self, line: u32, plane: &mut dyn NetworkPlane) {
        let adjacency = &mut self.adjacencies[line as usize];
        adjacency.resending = false;
        let node = self.lines[line as usize].from;
        let database = &self.routers[node as usize].database;
        let again: Vec<Lsa> = adjacency
            .unacknowledged
            .keys()
            .map(|place| database[*place as usize].clone())
            .collect();
        if adjacency.up && !again.is_empty() {
            self.send(line, &again, plane);
        }
    }

    /// RFC 2328 section 13: newer LSAs are stored, acknowledged and flooded; the sender of an older one
    /// is sent the newer copy; an LSA already in the database counts as an acknowledgment. An instance
    /// that follows the one before within `MinLSArrival` is discarded (step 5 a).
    pub(super) fn process_lsas(&mut self, line: u32, lsas: Vec<Lsa>, plane: &mut dyn NetworkPlane) {
        let (Some(back), node) = (self.lines[line as usize].reverse, self.lines[line as usize].to)
        else {
            return;
        };
        if !self.adjacencies[back as usize].up {
            return;
        }
        let (mut news, mut newer, mut heads) = (Vec::new(), Vec::new(), Vec::new());
        for lsa in lsas {
            let router = &mut self.routers[node as usize];
            let own_copy = &router.database[lsa.place as usize];
            if lsa.sequence < own_copy.sequence {
                newer.push(own_copy.clone());
                continue;
            }
            let known = lsa.sequence == own_copy.sequence;
            let arrived = &mut router.arrived[lsa.place as usize];
            if !known {
                let early = |at: Time| plane.now() < at + self.config.lsa_arrival_ns;
                if arrived.is_some_and(early) {
                    // Its sender has no acknowledgment and sends it again.
                    continue;
                }
                *arrived = Some(plane.now());
            }
            heads.push(lsa.clone());
            let waiting = &mut self.adjacencies[back as usize].unacknowledged;
            if known && waiting.get(&lsa.place) == Some(&lsa.sequence) {
                waiting.remove(&lsa.place);
                heads.pop();
            } else if !known {
                waiting.remove(&lsa.place);
                if matches!(lsa.content, LsaContent::Router(_)) {
                    plane.record_routing_event(RoutingEvent::Learnt, node, Some(line));
                }
                self.store_lsa(node, lsa.clone(), plane);
                news.push(lsa);
            }
        }
        if !heads.is_empty() {
            let octets = packet::acknowledgment(node, &heads);
            let instances = heads.iter().map(|lsa| (lsa.place, lsa.sequence)).collect();
            self.transmit(back, OspfMessage::Acknowledgment(instances), octets, plane);
        }
        if !news.is_empty() {
            self.flood(node, Some(back), &news, plane);
        }
        if !newer.is_empty() {
            self.send(back, &newer, plane);
        }
    }
}
