//! Data of a sender that waits in its own host: segments from their sender to the start of their
//! transmission on its first link.
//!
//! A sender that limits it (Linux's small queues) hears when each segment leaves. A FIFO knows that when it
//! accepts the segment; a port with classes reports it, for which the segment bears a mark. A segment
//! that is dropped has left, and so has one that enters no link or, on two paths at once, two.

use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::link::Port;
use crate::observer::Observer;
use crate::route::FIRST_SHARED;
use trunkline_packet::Packet;

impl<O: Observer> Hosts<O> {
    /// Sends a segment of a sender that limits what waits in its host.
    #[inline(never)]
    pub(crate) fn send_through_host_queue(
        &mut self,
        plan: &FlowPlan,
        agent: u32,
        mut packet: Packet,
    ) {
        let first_link = self.first_link(plan.src, packet);
        let mut fifo = None;
        match first_link.map(|index| (index, &mut self.plane.ports.links[index as usize])) {
            None => {}
            Some((index, link)) if matches!(link.port, Port::Classful(_)) => {
                if let Port::Classful(port) = &mut link.port {
                    port.reports_departures = true;
                }
                self.plane.ports.keep_time(index as usize, &mut self.plane.clock);
                packet.set_in_host_queue(true);
                return self.send(plan.src, packet);
            }
            Some((index, link)) => {
                fifo = Some((index, link.wire.tail(), link.idle_from(self.plane.clock.now)));
            }
        }
        self.send(plan.src, packet);
        let sender = &mut self.senders[agent as usize];
        match fifo {
            Some((index, tail, at))
                if self.plane.ports.links[index as usize].wire.tail() != tail =>
            {
                sender.leave_host_at(at);
            }
            _ => {
                sender.leave_host();
            }
        }
    }

    /// The link that a fresh packet takes from `node`.
    fn first_link(&self, node: u32, mut packet: Packet) -> Option<u32> {
        let fresh = packet;
        let (next, _) = self.plane.next_link(node, &mut packet, true)?;
        if next < FIRST_SHARED {
            return Some(next);
        }
        let links = self.plane.tables.fib.shared(next);
        (!links.is_empty())
            .then(|| links[self.plane.tables.mpls.chooser.choose(node, &fresh, links.len())])
    }

    /// A packet no longer waits at its first link: informs its sender.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_host_queue(&mut self, packet: &Packet) {
        let plan = match packet.connection() {
            None => self.flows.get(packet.flow as usize),
            Some(_) => self.plan_of_connection(packet),
        };
        let Some(&plan) = plan else { return };
        let FlowAgents::Tcp(agent) = plan.agents else { return };
        if self.senders[agent as usize].leave_host() {
            self.wake_sender_now(&plan);
        }
    }
}
