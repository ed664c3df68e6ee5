//! A region: the nodes whose events it serves, and the packets that cross its edge.

use crate::control::EndedMessage;
use crate::data_plane::{DataPlane, NextStep, PacketNotice};
use crate::link::{Departure, Link, LostPacket, OnwardHop};
use crate::observer::Observer;
use crate::path_account::DelayChange;
use crate::route::LOCAL_DELIVERY;
use crate::transfers::ConnectionNews;
use std::collections::{BTreeMap, VecDeque};
use trunkline_packet::arena::AckDetails;
use trunkline_packet::{Packet, PacketId};
use trunkline_units::Time;

/// A packet that moves from one region to another.
#[derive(Debug)]
pub(crate) struct Crossing {
    link: u32,
    departure: Departure,
    packet: Packet,
    details: AckDetails,
    /// Its number for observers.
    known_as: u64,
    /// Its path, if that is accounted for.
    path: Option<u32>,
}

/// A message of a protocol that will reach the far end of a link, unless the link fails before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnnouncedMessage {
    link: u32,
    at: Time,
    packet: Packet,
}

/// All that one region sends another in a window.
#[derive(Debug, Default)]
pub(crate) struct RegionLetter {
    pub packets: Vec<Crossing>,
    pub delay_changes: Vec<DelayChange>,
    pub connections: ConnectionNews,
    pub announced_messages: Vec<AnnouncedMessage>,
    pub ended_messages: Vec<EndedMessage>,
    /// Bytes that have entered each path here, where a protocol is about to read the sum.
    pub path_bytes: Vec<u64>,
}

/// Place of a simulation among the regions of a network; empty for a simulation of the entire network.
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// Region of each node, and the one that this is.
    of_node: Vec<u8>,
    number: u8,
    /// Letters of the current window, by destination region.
    pub outbox: Vec<RegionLetter>,
    /// Whether messages of protocols are announced when they leave a port.
    announces: bool,
    /// Messages that will reach the far ends of links in other regions, by link.
    announced: BTreeMap<u32, VecDeque<AnnouncedMessage>>,
}

impl Region {
    /// Whether there are others.
    pub fn is_part(&self) -> bool {
        !self.of_node.is_empty()
    }

    /// Whether it is the entire network or the first region: events that all regions serve count there.
    pub fn is_first(&self) -> bool {
        self.number == 0
    }

    pub fn owns(&self, node: u32) -> bool {
        self.of_node.get(node as usize).is_none_or(|region| *region == self.number)
    }

    /// The letter to the region of a node, if that is another one.
    pub fn letter_to(&mut self, node: u32) -> Option<&mut RegionLetter> {
        let region = *self.of_node.get(node as usize)?;
        (region != self.number).then(|| &mut self.outbox[usize::from(region)])
    }

    /// Announces a message to all regions but the one where it arrives.
    fn announce(&mut self, message: AnnouncedMessage, arrives_in: u8) {
        for (region, letter) in self.outbox.iter_mut().enumerate() {
            if region != usize::from(arrives_in) {
                letter.announced_messages.push(message);
            }
        }
    }

    /// The messages on a link that fails are lost, those of this window included.
    fn forget_announced(&mut self, link: u32) {
        self.announced.remove(&link);
        for letter in &mut self.outbox {
            letter.announced_messages.retain(|message| message.link != link);
        }
    }

    /// Packets that left in the current window.
    pub fn packets_crossing(&self) -> u64 {
        self.outbox.iter().map(|letter| letter.packets.len() as u64).sum()
    }
}

impl<O: Observer> DataPlane<O> {
    /// Keeps to the events of one region's nodes, before any is due; `announces`: messages of protocols, when they
    /// leave a port.
    pub(super) fn restrict_to_region(
        &mut self,
        of_node: &[u8],
        region: u8,
        regions: usize,
        announces: bool,
    ) {
        self.region.of_node = of_node.to_vec();
        self.region.number = region;
        self.observer.watch_region(region);
        self.region.outbox.resize_with(regions, RegionLetter::default);
        if let Some(accounts) = &mut self.measured.path_accounts {
            accounts.restrict_to_region(regions);
        }
        for link in &mut self.ports.links {
            if of_node[link.to as usize] != region {
                link.onward = OnwardHop::Crosses;
            } else if announces {
                link.onward = OnwardHop::Announced;
            }
        }
        self.region.announces = announces;
    }

    /// Announces the last packet that a port accepted, a message.
    #[cold]
    #[inline(never)]
    pub(crate) fn announce_accepted_message(&mut self, index: u32) {
        self.announce_message(index, *self.ports.links[index as usize].newest());
    }

    /// Announces a message with a known departure.
    #[cold]
    pub(crate) fn announce_message(&mut self, link: u32, departure: Departure) {
        let Link { to, delay, .. } = self.ports.links[link as usize];
        let (at, packet) = (departure.at + delay, self.arena[departure.packet.id()]);
        let message = AnnouncedMessage { link, at, packet };
        self.region.announce(message, self.region.of_node[to as usize]);
    }

    /// A message reaches the far end of a link in another region, which counts the event.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_message_elsewhere(&mut self, link: u32) -> NextStep {
        self.clock.events -= 1;
        let waiting = self.region.announced.entry(link).or_default();
        if let Some(AnnouncedMessage { mut packet, .. }) = waiting.pop_front() {
            if let Some(next) = waiting.front() {
                self.clock.schedule_new_arrival(link, next.at);
            }
            let node = self.ports.links[link as usize].to;
            // Else it is forwarded there, or lost.
            if self.next_link(node, &mut packet, false).is_none()
                && packet.labels.is_empty()
                && self.tables.fib.next(node, packet.dst) == LOCAL_DELIVERY
            {
                self.notices.push(PacketNotice::MessageElsewhere(packet));
            }
        }
        NextStep::Forwarded
    }

    /// Sends the last packet that a port at the edge accepted to the other side.
    #[inline(never)]
    pub(crate) fn send_accepted_to_other_region(&mut self, index: u32) {
        self.send_to_other_region(index, *self.ports.links[index as usize].newest());
    }

    /// Sends a packet with a known departure to the other side.
    pub(crate) fn send_to_other_region(&mut self, link: u32, departure: Departure) {
        let id = departure.packet.id();
        if self.region.announces && self.arena[id].is_message() {
            self.announce_message(link, departure);
        }
        let (packet, details) = (self.arena[id], self.arena.details(id));
        let known_as = self.observer.packet_name(id);
        let path = self.measured.path_accounts.as_mut().and_then(|accounts| accounts.take_path(id));
        self.arena.remove(id);
        let to = self.region.of_node[self.ports.links[link as usize].to as usize];
        let crossing = Crossing { link, departure, packet, details, known_as, path };
        self.region.outbox[usize::from(to)].packets.push(crossing);
    }

    /// Stores a packet that arrives from another region.
    fn admit(&mut self, crossing: &Crossing) -> PacketId {
        let id = self.arena.insert(crossing.packet);
        self.arena.set_details(id, crossing.details);
        self.observer.on_crossing(id, crossing.known_as);
        if let Some(accounts) = &mut self.measured.path_accounts {
            accounts.set_path(id, crossing.path);
        }
        id
    }

    /// Puts what left in this window into the letter to another region.
    pub(super) fn write_letter(&mut self, to: usize) -> &mut RegionLetter {
        let letter = &mut self.region.outbox[to];
        if let Some(accounts) = &mut self.measured.path_accounts {
            std::mem::swap(&mut letter.delay_changes, &mut accounts.changes_by_region[to]);
        }
        letter
    }

    /// Stores the packets of a letter from another region; those of each link are in order, as messages are.
    pub(super) fn take_in(&mut self, letter: &mut RegionLetter) {
        for message in letter.announced_messages.drain(..) {
            let waiting = self.region.announced.entry(message.link).or_default();
            if waiting.is_empty() {
                self.clock.schedule_new_arrival(message.link, message.at);
            }
            waiting.push_back(message);
        }
        for crossing in letter.packets.drain(..) {
            let packet = self.admit(&crossing);
            let Crossing { link, mut departure, .. } = crossing;
            departure.packet = departure.packet.with_id(packet);
            let number = link;
            let link = &mut self.ports.links[number as usize];
            link.accept_crossing(departure);
            if link.wire.len() == 1 {
                self.clock.schedule_arrival(number, departure.at + link.delay);
            }
        }
    }

    /// Empties a failing link of this region's packets: those that its far end has received, and then
    /// the rest.
    pub(crate) fn cut_link(&mut self, index: u32) -> [Vec<LostPacket>; 2] {
        self.region.forget_announced(index);
        let link = &mut self.ports.links[index as usize];
        let near = self.region.owns(self.ports.from[index as usize]);
        match (near, self.region.owns(link.to)) {
            (false, false) => [vec![], vec![]],
            (false, true) => [link.cut_wire(self.clock.now), vec![]],
            (true, far) => {
                link.drain(self.clock.now);
                link.forget_departed();
                let (held, forgone) = link.take_down_link(self.clock.now);
                self.ports.forgone[index as usize] += forgone;
                [vec![], if far { held } else { self.recall_from_other_region(index, held) }]
            }
        }
    }

    /// The packets lost at the near end of a link that leads to another region; the port has `held`
    /// them: those packets of a FIFO that the far end has not received, or those of the classes behind
    /// them.
    fn recall_from_other_region(&mut self, index: u32, held: Vec<LostPacket>) -> Vec<LostPacket> {
        let link = &self.ports.links[index as usize];
        let (to, now) = (usize::from(self.region.of_node[link.to as usize]), self.clock.now);
        let is_fifo = link.is_fifo();
        let in_port = |crossing: &Crossing| is_fifo && crossing.departure.at > now;
        let outbox = std::mem::take(&mut self.region.outbox[to].packets);
        let (recalled, others): (Vec<_>, Vec<_>) =
            outbox.into_iter().partition(|crossing| crossing.link == index);
        self.region.outbox[to].packets = others;
        // The packets that a FIFO admitted last are here.
        let in_port_count = recalled.iter().filter(|crossing| in_port(crossing)).count();
        let mut rest =
            if is_fifo { held[held.len() - in_port_count..].iter() } else { held.iter() };
        let mut lost = Vec::new();
        for crossing in &recalled {
            let packet = self.admit(crossing);
            let queued =
                in_port(crossing) && rest.next().is_some_and(|held_packet| held_packet.queued);
            let precedence = crossing.departure.packet.precedence();
            lost.push(LostPacket { packet, queued, class: 0, precedence });
        }
        lost.extend(rest);
        lost
    }
}
