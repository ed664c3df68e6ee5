//! Connections that open by a handshake and close by FIN: their packets without data.
//!
//! `tcp::Handshake` decides what to send; this module sends it, delivers arrivals to the right end, and
//! sets the timers. The number of its segment, or of the segment that it expects, gives the kind of a
//! packet without data: see [`bare_of_sender`] and [`bare_of_receiver`].

use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::observer::Observer;
use std::sync::Arc;
use trunkline_agent::tcp::{Ack, AckFields, BarePacket, Handshake};
use trunkline_packet::{flag, Packet, PacketId};
use trunkline_units::{Time, NEVER};

/// Number of a SYN: it precedes the first segment.
pub(crate) const SYN_NUMBER: u32 = u32::MAX;

/// Kind of a sender's packet without data, by the number of the next segment.
fn bare_of_sender(seq: u32) -> BarePacket {
    match seq {
        SYN_NUMBER => BarePacket::Syn,
        0 => BarePacket::Ack,
        _ => BarePacket::LastAck,
    }
}

/// Kind of a receiver's packet without data, by its acknowledgement number.
fn bare_of_receiver(ack: u32) -> BarePacket {
    match ack {
        0 => BarePacket::Syn,
        _ => BarePacket::Fin,
    }
}

/// The handshakes of a run.
#[derive(Debug)]
pub(crate) struct Handshakes {
    /// By agent, where its connection opens by a handshake.
    pub open: Vec<Option<Box<Handshake>>>,
    /// By flow, as each begins.
    pub fresh: Vec<Option<Arc<Handshake>>>,
}

impl<O: Observer> Hosts<O> {
    fn handshake(&mut self, agent: u32) -> &mut Handshake {
        self.handshakes.open[agent as usize].as_mut().expect("of a flow that connects")
    }

    /// A sender connects.
    #[cold]
    #[inline(never)]
    pub(crate) fn connect(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        let now = self.plane.clock.now;
        self.begin_handshake(flow, agent).connect(now);
        self.send_bare(flow, plan, agent, BarePacket::Syn, false);
        self.arm_client(plan, agent);
    }

    fn arm_client(&mut self, plan: &FlowPlan, agent: u32) {
        let timer = self.handshake(agent).client_timer();
        self.plane.clock.bring_forward(plan.wakes[0], timer);
    }

    fn arm_server(&mut self, plan: &FlowPlan, agent: u32) {
        let timer = self.handshake(agent).server_timer();
        self.plane.clock.bring_forward(plan.wakes[1], timer);
    }

    /// Sends a packet without data from the sender's end.
    fn send_bare(&mut self, flow: u32, plan: &FlowPlan, agent: u32, bare: BarePacket, again: bool) {
        let end = self.senders[agent as usize].counters();
        let end = (end.segments_sent - end.retransmissions).max(1) as u32;
        let (seq, bytes) = match bare {
            BarePacket::Syn => (SYN_NUMBER, self.handshake(agent).syn_bytes()),
            BarePacket::Ack => (0, plan.header_bytes),
            BarePacket::LastAck | BarePacket::Fin => (end, plan.header_bytes),
        };
        let mut packet = plan.data_packet(flow, seq, bytes, self.plane.clock.now);
        packet.ack = plan.connection;
        packet.flags = plan.mark | flag::BARE | if again { flag::RETRANSMISSION } else { 0 };
        if plan.all_capable {
            packet.set_ecn(plan.ecn);
        }
        let totals = &mut self.plane.measured.totals[flow as usize];
        totals.sent_packets += 1;
        totals.sent_bytes += u64::from(bytes);
        self.count_entry(plan);
        self.send(plan.src, packet);
    }

    /// Sends a packet without data from the receiver's end: the answer to a SYN, or a FIN.
    fn send_bare_answer(&mut self, flow: u32, plan: &FlowPlan, agent: u32, bare: BarePacket) {
        let fields = match bare {
            BarePacket::Fin => self.receivers[agent as usize].ack(self.plane.clock.now),
            _ => AckFields { ack: 0, echo: 0, ece: false },
        };
        let bytes = self.handshake(agent).syn_bytes();
        let mut packet = self.acknowledgement(flow, plan, &fields);
        packet.flags |= flag::BARE;
        if bare == BarePacket::Syn {
            packet.ip_bytes = bytes;
        }
        let id = self.plane.arena.insert(packet);
        if self.plane.arena.keeps_details() {
            self.plane.arena.set_details(id, Default::default());
        }
        self.send_stored(plan.dst, id);
    }

    pub(crate) fn count_entry(&mut self, plan: &FlowPlan) {
        if let (true, FlowAgents::Tcp(agent)) = (plan.mark & flag::CONNECTION != 0, plan.agents) {
            self.workloads.enter(agent);
        }
    }

    /// Receiver of a data packet that bears a mark; none: it had no data, and is done.
    #[inline(never)]
    pub(crate) fn plan_for_marked(&mut self, id: PacketId) -> Option<FlowPlan> {
        let packet = self.plane.arena[id];
        let plan = match packet.connection() {
            None => self.flows[packet.flow as usize],
            Some(_) => self.plan_for_data(&packet)?,
        };
        if packet.flags & flag::BARE == 0 {
            return Some(plan);
        }
        if self.plane.measured.path_accounts.is_some() {
            let place = self.plane.observer.place_in_time();
            self.plane.measured.account_delivery(&packet, id, self.plane.clock.now, place);
        }
        self.plane.arena.remove(id);
        self.plane.measured.count_delivered(&packet);
        let FlowAgents::Tcp(agent) = plan.agents else { return None };
        let now = self.plane.clock.now;
        match bare_of_sender(packet.seq) {
            BarePacket::Syn => {
                if self.end_of_server(packet.flow, agent).on_syn(now) {
                    self.send_bare_answer(packet.flow, &plan, agent, BarePacket::Syn);
                    self.arm_server(&plan, agent);
                }
            }
            BarePacket::Ack => {
                if let Some(rtt) = self.handshake(agent).on_ack(now) {
                    self.receivers[agent as usize].establish(rtt);
                }
            }
            BarePacket::LastAck | BarePacket::Fin => self.handshake(agent).on_last_ack(),
        }
        self.settle_connection_of(&plan);
        None
    }

    /// An agent is that of another connection now, which is closed.
    pub(crate) fn renew_handshake(&mut self, flow: u32, agent: u32) {
        if self.handshakes.fresh[flow as usize].is_some() {
            self.begin_handshake(flow, agent);
        } else if let Some(last) = self.handshakes.open.get_mut(agent as usize) {
            *last = None;
        }
    }

    /// A connection that is closed.
    fn begin_handshake(&mut self, flow: u32, agent: u32) -> &mut Handshake {
        if self.handshakes.open.len() <= agent as usize {
            self.handshakes.open.resize(agent as usize + 1, None);
        }
        let fresh = self.handshakes.fresh[flow as usize].as_deref();
        self.handshakes.open[agent as usize] = fresh.map(|fresh| Box::new(fresh.clone()));
        self.handshake(agent)
    }

    /// The receiver's end: where the sender is simulated elsewhere, a SYN is the first that is heard.
    fn end_of_server(&mut self, flow: u32, agent: u32) -> &mut Handshake {
        match self.handshakes.open.get(agent as usize) {
            Some(Some(_)) => self.handshake(agent),
            _ => self.begin_handshake(flow, agent),
        }
    }

    /// Receiver of an acknowledgement that bears a mark; none: it is done.
    #[inline(never)]
    pub(crate) fn plan_for_marked_ack(&mut self, packet: &Packet) -> Option<FlowPlan> {
        let plan = match packet.connection() {
            None => self.flows[packet.flow as usize],
            Some(_) => self.plan_for_ack(packet)?,
        };
        if packet.flags & flag::BARE == 0 {
            return Some(plan);
        }
        let FlowAgents::Tcp(agent) = plan.agents else { return None };
        let (flow, now) = (packet.flow, self.plane.clock.now);
        if bare_of_receiver(packet.ack) == BarePacket::Syn {
            if self.handshake(agent).has_given_up() {
                return None; // a reset, for which no connection waits
            }
            let opened = self.handshake(agent).on_answer(now);
            self.send_bare(flow, &plan, agent, BarePacket::Ack, opened.is_none());
            if let Some(opened) = opened {
                let sender = &mut self.senders[agent as usize];
                sender.establish(&opened);
                sender.start(now);
                self.send_allowed_segments(flow, &plan, agent);
            }
        } else {
            self.acknowledge_by_fin(packet, flow, &plan, agent);
            self.handshake(agent).on_fin();
            self.send_bare(flow, &plan, agent, BarePacket::LastAck, false);
        }
        self.settle_connection_of(&plan);
        None
    }

    /// The receiver's FIN acknowledges the data that its other acknowledgements did not.
    fn acknowledge_by_fin(&mut self, packet: &Packet, flow: u32, plan: &FlowPlan, agent: u32) {
        let ece = packet.flags & flag::ECE != 0;
        let ace = packet.flags >> flag::ACE_SHIFT & 7;
        let ack = Ack { ack: packet.ack, echo: packet.echo, ece, ace, ..Ack::default() };
        let random = &mut self.streams[flow as usize];
        self.senders[agent as usize].on_ack(&ack, self.plane.clock.now, random);
        self.send_allowed_segments(flow, plan, agent);
    }

    /// A receiver has dealt with a data packet that bears a mark.
    #[inline(never)]
    pub(crate) fn after_marked_data(&mut self, flow: u32, plan: &FlowPlan) {
        if let (true, FlowAgents::Tcp(agent)) = (plan.connects(), plan.agents) {
            let now = self.plane.clock.now;
            if self.receivers[agent as usize].is_complete() && self.handshake(agent).close(now) {
                self.send_bare_answer(flow, plan, agent, BarePacket::Fin);
                self.arm_server(plan, agent);
            }
        }
        if let (true, FlowAgents::Tcp(agent)) = (plan.mark & flag::CONNECTION != 0, plan.agents) {
            self.received(agent);
        }
    }

    /// The timer of a sender whose connection may not be open yet.
    #[cold]
    #[inline(never)]
    pub(crate) fn time_client(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        let now = self.plane.clock.now;
        if self.handshake(agent).on_client_timer(now).is_some() {
            self.senders[agent as usize].connect_again();
            self.send_bare(flow, plan, agent, BarePacket::Syn, true);
        }
        if self.handshake(agent).client_timer() != NEVER {
            self.arm_client(plan, agent);
        }
        self.settle_connection_of(plan);
    }

    /// The timer of a receiver that waits for an answer to its SYN or FIN; when it has more to do.
    #[cold]
    #[inline(never)]
    pub(crate) fn time_server(&mut self, flow: u32, plan: &FlowPlan, agent: u32) -> Time {
        let Some(Some(_)) = self.handshakes.open.get(agent as usize) else { return NEVER };
        let (now, heard) = (self.plane.clock.now, self.receivers[agent as usize].has_heard());
        if let Some(bare) = self.handshake(agent).on_server_timer(heard, now) {
            self.send_bare_answer(flow, plan, agent, bare);
        }
        let timer = self.handshake(agent).server_timer();
        self.settle_connection_of(plan);
        timer
    }

    pub(crate) fn settle_connection_of(&mut self, plan: &FlowPlan) {
        if let (true, FlowAgents::Tcp(agent)) = (plan.mark & flag::CONNECTION != 0, plan.agents) {
            self.settle(self.workloads.slot_of_agent(agent));
        }
    }

    /// The handshake of an agent that has one.
    fn open_handshake(&self, agent: u32) -> Option<&Handshake> {
        self.handshakes.open.get(agent as usize)?.as_deref()
    }

    /// Whether the sender's end of a connection has no packet left to send by itself.
    pub(crate) fn is_sender_end_over(&self, agent: u32) -> bool {
        let finished = self.senders[agent as usize].finished_at().is_some();
        self.open_handshake(agent).map_or(finished, |handshake| {
            handshake.is_client_over() && (finished || handshake.has_given_up())
        })
    }

    /// When the sender's end of a connection has something to do by itself.
    pub(crate) fn sender_timer(&self, agent: u32) -> Time {
        let opening = self.open_handshake(agent).map_or(NEVER, Handshake::client_timer);
        self.senders[agent as usize].timer().min(opening)
    }

    /// When the receiver's end of a connection has something to do by itself.
    pub(crate) fn receiver_timer(&self, agent: u32) -> Time {
        let closing = self.open_handshake(agent).map_or(NEVER, Handshake::server_timer);
        self.receivers[agent as usize].timer().min(closing)
    }
}
