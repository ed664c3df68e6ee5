//! Reordering: a share of the packets of a wire arrives later than the rest, which overtake them.
//!
//! Source: netem of Linux (`netem_enqueue`): `delay T reorder P` holds a packet for T with probability
//! 1 - P and sends it on at once with probability P, each by itself. RFC 4737 measures the effect.

use crate::data_plane::{DataPlane, NextStep};
use crate::link::Departure;
use crate::network::Network;
use crate::observer::Observer;
use std::collections::VecDeque;
use trunkline_packet::{Cause, PacketId};
use trunkline_units::{RandomStream, Span, Time};

/// The packets of a link that arrive late.
#[derive(Clone, Debug)]
pub(crate) struct LatePackets {
    link: u32,
    share: f64,
    by: Span,
    random: RandomStream,
    /// When each arrives: in order, as all are late by the same time.
    held: VecDeque<(Time, Departure)>,
}

/// A stage for each link that reorders.
pub(crate) fn late_packets_of(network: &Network, seed: u64) -> Vec<LatePackets> {
    let links = (0..).zip(&network.links);
    let stages = links.filter_map(|(link, config)| {
        let reorder = config.reorder?;
        let element = format!("links[{}]", config.name);
        let random = RandomStream::new(seed, &element, "reorder");
        let (share, by) = (reorder.share, reorder.by_ns);
        Some(LatePackets { link, share, by, random, held: VecDeque::new() })
    });
    stages.collect()
}

impl LatePackets {
    /// Packets inside.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.held.iter().map(|(_, departure)| departure.packet.id())
    }
}

impl<O: Observer> DataPlane<O> {
    /// A packet has come to the far end of a wire that reorders. False: it arrives now.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_late_packet(&mut self, stage: u32, departure: Departure) -> bool {
        let late = &mut self.stages.late_packets[stage as usize];
        if late.random.uniform() >= late.share {
            return false;
        }
        let due = self.clock.now.saturating_add(late.by);
        late.held.push_back((due, departure));
        if late.held.len() == 1 {
            let source = self.clock.sources.stages + self.stages.processors.len() as u32 + stage;
            self.clock.schedule(source, due);
        }
        true
    }

    /// The next late packet that arrives by now.
    #[cold]
    pub(crate) fn release_late_packet(&mut self, stage: u32) -> Option<NextStep> {
        let late = &mut self.stages.late_packets[stage as usize];
        let &(due, departure) = late.held.front()?;
        let link = late.link;
        if due > self.clock.now {
            let source = self.clock.sources.stages + self.stages.processors.len() as u32 + stage;
            self.clock.schedule(source, due);
            return None;
        }
        late.held.pop_front();
        Some(self.enter_far_end(link as usize, departure))
    }

    /// The link failed, and these were still on it.
    #[cold]
    pub(crate) fn lose_late_packets(&mut self, link: u32, node: u32) {
        for stage in 0..self.stages.late_packets.len() {
            if self.stages.late_packets[stage].link != link {
                continue;
            }
            for (_, departure) in std::mem::take(&mut self.stages.late_packets[stage].held) {
                let place = crate::classifier::Assignment::outside(departure.packet.precedence());
                let cause = Cause::FailedInFlight;
                self.drop_packet(departure.packet.id(), cause, Some(link), node, place);
            }
        }
    }
}
