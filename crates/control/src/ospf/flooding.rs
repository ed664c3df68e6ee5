//! Flooding: LSAs go to all neighbours, which acknowledge them or get them again.
//!
//! Source: RFC 2328 sections 13 (what a router does with an LSA that comes), 13.3 to 13.6.
//! Differs: acknowledgments are not delayed.

use super::lsa::{Content, Lsa};
use super::{packet, Message, Ospf, Timer};
use crate::{Line, Moment, Outgoing, Plane};
use trunkline_units::Time;

const IP_BYTES: u16 = 20;
/// Protocol number in the IP header (section A.1).
const IP_PROTOCOL: u8 = 89;
/// LSAs in one update, so that it fits into 1500 bytes where nodes have up to a dozen links.
const LSAS: usize = 8;

impl Ospf {
    /// Sends LSAs to all neighbours but the one that they came from.
    pub(super) fn flood(
        &mut self,
        node: u32,
        from: Option<u32>,
        lsas: &[Lsa],
        plane: &mut dyn Plane,
    ) {
        for line in 0..self.lines.len() as u32 {
            let its = &self.lines[line as usize];
            let wanted = its.from == node && Some(line) != from;
            if wanted && self.adjacencies[line as usize].up {
                self.send(line, lsas, plane);
            }
        }
    }

    /// Sends LSAs to one neighbour until they are acknowledged.
    pub(super) fn send(&mut self, line: u32, lsas: &[Lsa], plane: &mut dyn Plane) {
        let its = &mut self.adjacencies[line as usize];
        its.unacknowledged.extend(lsas.iter().map(|lsa| (lsa.place, lsa.sequence)));
        if !its.resending {
            its.resending = true;
            self.timers.set(plane.now() + self.config.resend_ns, Timer::Resend(line));
        }
        let node = self.lines[line as usize].from;
        for part in lsas.chunks(LSAS) {
            let octets = packet::update(node, part);
            self.put(line, Message::Update(part.to_vec()), octets, plane);
        }
    }

    pub(super) fn put(&self, line: u32, message: Message, octets: Vec<u8>, plane: &mut dyn Plane) {
        let Line { from, to, .. } = self.lines[line as usize];
        let kind = match message {
            Message::Hello => 0,
            Message::Update(_) => 1,
            Message::Acknowledgment(_) => 2,
        };
        let message = crate::Message::Ospf(message);
        plane.send(
            line,
            Outgoing {
                message,
                octets,
                header_bytes: IP_BYTES,
                protocol: IP_PROTOCOL,
                ends: [from, to],
                kind,
            },
        );
    }

    pub(super) fn resend(&mut self, line: u32, plane: &mut dyn Plane) {
        let its = &mut self.adjacencies[line as usize];
        its.resending = false;
        let node = self.lines[line as usize].from;
        let database = &self.routers[node as usize].database;
        let again: Vec<Lsa> =
            its.unacknowledged.keys().map(|place| database[*place as usize].clone()).collect();
        if its.up && !again.is_empty() {
            self.send(line, &again, plane);
        }
    }

    /// RFC 2328 section 13: news are kept, acknowledged and passed on; the sender of what is old
    /// gets what is newer; what is known counts as an acknowledgment. What follows the instance
    /// before within `MinLSArrival` is discarded (step 5 a).
    pub(super) fn handle(&mut self, line: u32, lsas: Vec<Lsa>, plane: &mut dyn Plane) {
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
            let mine = &router.database[lsa.place as usize];
            if lsa.sequence < mine.sequence {
                newer.push(mine.clone());
                continue;
            }
            let known = lsa.sequence == mine.sequence;
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
                if matches!(lsa.content, Content::Router(_)) {
                    plane.mark(Moment::Learnt, node, Some(line));
                }
                self.take(node, lsa.clone(), plane);
                news.push(lsa);
            }
        }
        if !heads.is_empty() {
            let octets = packet::acknowledgment(node, &heads);
            let instances = heads.iter().map(|lsa| (lsa.place, lsa.sequence)).collect();
            self.put(back, Message::Acknowledgment(instances), octets, plane);
        }
        if !news.is_empty() {
            self.flood(node, Some(back), &news, plane);
        }
        if !newer.is_empty() {
            self.send(back, &newer, plane);
        }
    }
}
