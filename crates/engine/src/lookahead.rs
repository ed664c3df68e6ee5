//! Fetching ahead: what the events of the near future will touch, stage by stage.
//!
//! A hop reads a chain of places each of which the one before names: the link, the head of its
//! wire, the packet, the route, the next link, the end of its queue. On a network that outgrows
//! the caches each costs a wait of some 100 ns. The calendar names events some way ahead, and each
//! event moves every hint by one stage, so that these waits overlap with the events between.
//! Nothing here changes what is simulated; a hint that proves wrong costs nothing but its fetch.

use crate::link::Link;
use crate::observer::Observer;
use crate::route::{LOCAL, SHARED};
use crate::simulation::{Agents, Simulation};
use trunkline_packet::PacketId;
use trunkline_units::fetch;

/// Stages of a hint, one entry each.
const STAGES: usize = 6;
/// Networks of more links are fetched ahead.
const LARGE: usize = 2_000;

/// What is known of an event that will come.
#[derive(Clone, Copy, Debug)]
enum Hint {
    Nothing,
    /// The packet at the head of this link's wire arrives.
    Arrival(u32),
    /// This packet arrives from this link.
    Packet(u32, PacketId),
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

/// Hints under way, one in each stage.
#[derive(Debug)]
pub(crate) struct Lookahead {
    /// Whether the network is of a size that makes fetching ahead pay.
    pub worthwhile: bool,
    hints: [Hint; STAGES],
    newest: usize,
}

impl Lookahead {
    /// For a network of `links` links.
    pub fn new(links: usize) -> Self {
        // Below, links and rings stay in the second-level cache and hints cost more than they save.
        Self { worthwhile: links > LARGE, hints: [Hint::Nothing; STAGES], newest: 0 }
    }
}

impl<O: Observer> Simulation<O> {
    /// Takes in a hint and moves the others by one stage.
    pub(crate) fn fetch_ahead(&mut self) {
        let Some(source) = self.calendar.upcoming() else { return };
        let arrival = source.wrapping_sub(self.sources.arrivals);
        let newest = self.lookahead.newest.wrapping_add(1);
        self.lookahead.newest = newest;
        let hint = if let Some(link) = self.links.get(arrival as usize) {
            link.fetch_arrival();
            Hint::Arrival(arrival)
        } else if source >= self.sources.senders {
            let flow = (source - self.sources.senders) % self.flows.len().max(1) as u32;
            fetch::element(&self.flows, flow);
            Hint::Wake(flow)
        } else {
            Hint::Nothing
        };
        self.lookahead.hints[newest % STAGES] = hint;
        for age in 1..STAGES {
            let place = newest.wrapping_sub(age) % STAGES;
            let hint = self.lookahead.hints[place];
            self.lookahead.hints[place] = self.advance(age, hint);
        }
    }

    /// Fetches what a hint of some age names next. What it reads was fetched one event ago.
    #[inline(always)]
    fn advance(&self, age: usize, hint: Hint) -> Hint {
        match (age, hint) {
            (1, Hint::Arrival(link)) => self.links[link as usize].wire.fetch_front(),
            (2, Hint::Arrival(link)) => {
                let Some(head) = self.links[link as usize].wire.front() else {
                    return Hint::Nothing;
                };
                self.arena.prefetch(head.packet);
                return Hint::Packet(link, head.packet);
            }
            (3, Hint::Packet(link, id)) => {
                let packet = &self.arena[id];
                if packet.labels.is_empty() {
                    self.fib.fetch(self.links[link as usize].to, packet.dst);
                }
            }
            (4, Hint::Packet(link, id)) => {
                let packet = &self.arena[id];
                if !packet.labels.is_empty() {
                    return Hint::Nothing;
                }
                let next = self.fib.next(self.links[link as usize].to, packet.dst);
                if next == LOCAL {
                    let flow = packet.flow;
                    fetch::element(&self.flows, flow);
                    fetch::element(&self.totals, flow);
                    return Hint::Deliver { flow, reverse: packet.is_reverse() };
                }
                if next >= SHARED {
                    return Hint::Nothing;
                }
                self.links[next as usize].fetch_offer();
                return Hint::Forward(next);
            }
            (5, Hint::Forward(link)) => self.links[link as usize].wire.fetch_end(),
            (5, Hint::Deliver { flow, reverse }) => self.fetch_agent(flow, reverse),
            (1, Hint::Wake(flow)) => self.fetch_agent(flow, true),
            _ => {}
        }
        hint
    }

    #[inline(always)]
    fn fetch_agent(&self, flow: u32, sender: bool) {
        match self.flows[flow as usize].agents {
            Agents::Tcp(agent) if sender => {
                if let Some(sender) = self.senders.get(agent as usize) {
                    sender.fetch();
                }
                self.calendar.fetch(self.sources.senders + flow);
            }
            Agents::Tcp(agent) => {
                fetch::element(&self.receivers, agent);
                fetch::all_lines(&self.delays[flow as usize].count);
                self.calendar.fetch(self.sources.receivers + flow);
            }
            Agents::Udp(_) | Agents::Transfers(_) | Agents::Control(_) => {
                fetch::all_lines(&self.delays[flow as usize].count);
            }
        }
    }
}

impl Link {
    #[inline(always)]
    fn fetch_arrival(&self) {
        fetch::all_lines(&self.to);
    }

    #[inline(always)]
    fn fetch_offer(&self) {
        fetch::all_lines(&self.to);
        fetch::all_lines(&self.serializer);
        fetch::all_lines(&self.area);
    }
}
