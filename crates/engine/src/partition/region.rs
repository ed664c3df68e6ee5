//! A region: the nodes whose events it serves, and the packets that cross its edge.

use crate::link::{Departure, Onward};
use crate::observer::Observer;
use crate::simulation::Simulation;
use trunkline_packet::arena::SackBlocks;
use trunkline_packet::Packet;

/// A packet on its way from one region to another.
#[derive(Debug)]
pub(crate) struct Crossing {
    link: u32,
    departure: Departure,
    packet: Packet,
    sack: SackBlocks,
}

/// What a simulation that is a part of another knows of the whole; a whole one knows nothing.
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// Region of each node.
    of_node: Vec<u8>,
    /// Packets that left in the window under way, by the region they go to.
    pub outbox: Vec<Vec<Crossing>>,
}

impl Region {
    /// Packets that left in the window under way.
    pub fn crossing(&self) -> u64 {
        self.outbox.iter().map(|packets| packets.len() as u64).sum()
    }
}

impl<O: Observer> Simulation<O> {
    /// Keeps the events of one region's nodes only, before the first event.
    pub(super) fn restrict(&mut self, of_node: &[u8], region: u8, regions: usize) {
        self.region.of_node = of_node.to_vec();
        self.region.outbox.resize_with(regions, Vec::new);
        for (link, from) in self.links.iter_mut().zip(&self.link_from) {
            let inside = |node: u32| of_node[node as usize] == region;
            let crosses = inside(*from) && !inside(link.to);
            link.onward = if crosses { Onward::Crosses } else { Onward::Arrives };
        }
        for (flow, plan) in (0..).zip(&self.flows) {
            if of_node[plan.src as usize] != region {
                self.calendar.cancel(self.sources.senders + flow);
            }
        }
        self.keep_probes(|node| of_node[node as usize] == region);
    }

    /// The packet that a port at the edge accepted last goes to the other side.
    #[inline(never)]
    pub(crate) fn cross_accepted(&mut self, index: u32) {
        let departure = *self.links[index as usize].newest();
        self.cross(index, departure);
    }

    /// A packet whose departure is known goes to the other side.
    pub(crate) fn cross(&mut self, link: u32, departure: Departure) {
        let id = departure.packet;
        let (packet, sack) = (self.arena[id], self.arena.sack(id));
        self.arena.remove(id);
        let to = self.region.of_node[self.links[link as usize].to as usize];
        self.region.outbox[usize::from(to)].push(Crossing { link, departure, packet, sack });
    }

    /// Takes in what another region sent; the packets of each link come in their order.
    pub(super) fn take_in(&mut self, crossings: &mut Vec<Crossing>) {
        for Crossing { link, mut departure, packet, sack } in crossings.drain(..) {
            departure.packet = self.arena.insert(packet);
            self.arena.set_sack(departure.packet, sack);
            let source = self.sources.arrivals + link;
            let link = &mut self.links[link as usize];
            link.take_in(departure);
            if link.wire.len() == 1 {
                self.calendar.schedule(source, departure.at + link.delay);
            }
        }
    }
}
