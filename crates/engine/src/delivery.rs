//! Delivery: packets that reached the node they were for, and the agents that send.

use crate::data_plane::PacketNotice;
use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::observer::{Event, Observer};
use crate::transfers::{RECEIVER_END, SENDER_END};
use trunkline_agent::tcp::{Ack, AckFields};
use trunkline_packet::arena::SackBlocks;
use trunkline_packet::{flag, Ecn, Packet, PacketId};
use trunkline_units::{Span, NEVER};

impl<O: Observer> Hosts<O> {
    /// A packet has reached the node it was for.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, node: u32, id: PacketId) {
        self.plane.observer.record(
            self.plane.clock.now,
            Event::Delivered { node },
            id,
            &self.plane.arena,
        );
        if self.plane.measured.delivered_marks.is_some() {
            self.plane.measured.count_mark(&self.plane.arena[id]);
        }
        let packet = &self.plane.arena[id];
        if packet.is_reverse() {
            self.deliver_ack(id);
        } else {
            self.deliver_data(id);
        }
    }

    #[inline(always)]
    fn deliver_data(&mut self, id: PacketId) {
        let packet = &self.plane.arena[id];
        if packet.flags & flag::MARKED != 0 {
            return self.deliver_marked(id);
        }
        let flow = packet.flow;
        let delay = self.plane.measured.count_data(
            &self.plane.arena[id],
            id,
            self.plane.clock.now,
            self.plane.observer.place_in_time(),
        );
        let plan = &self.flows[flow as usize];
        // A datagram in time needs no more of the plan, which is long.
        if let (FlowAgents::Udp(_), true) = (plan.agents, delay < plan.late_from) {
            self.count_datagram(id, flow, plan.header_bytes);
            return self.plane.arena.remove(id);
        }
        let plan = *plan;
        self.take_data(id, &plan, delay);
    }

    /// Data of a connection that is more than its flow.
    #[inline(never)]
    fn deliver_marked(&mut self, id: PacketId) {
        let flow = self.plane.arena[id].flow;
        let Some(plan) = self.plan_for_marked(id) else { return };
        let delay = self.plane.measured.count_data(
            &self.plane.arena[id],
            id,
            self.plane.clock.now,
            self.plane.observer.place_in_time(),
        );
        self.take_data(id, &plan, delay);
        if let FlowAgents::Tcp(_) = plan.agents {
            self.after_marked_data(flow, &plan);
        }
    }

    /// Counts what a datagram carries.
    #[inline(always)]
    fn count_datagram(&mut self, id: PacketId, flow: u32, header_bytes: u16) {
        let bytes = self.plane.arena[id].ip_bytes.saturating_sub(header_bytes);
        self.plane.measured.deliveries[flow as usize].totals.datagram_bytes += u64::from(bytes);
    }

    #[inline(always)]
    fn take_data(&mut self, id: PacketId, plan: &FlowPlan, delay: Span) {
        let now = self.plane.clock.now;
        let packet = &self.plane.arena[id];
        let flow = packet.flow;
        let FlowAgents::Tcp(agent) = plan.agents else {
            if let FlowAgents::Control(protocol) = plan.agents {
                return self.plane.notices.push(PacketNotice::Message(protocol, id));
            }
            self.count_datagram(id, flow, plan.header_bytes);
            if delay < plan.late_from {
                return self.plane.arena.remove(id);
            }
            return self.handle_late_datagram(flow, plan, id);
        };
        // The answer needs it, after the agent has run.
        self.plane.tables.mpls.fetch_entry_to_path(plan.dst, plan.fec_reverse, plan.dscp);
        let receiver = &mut self.receivers[agent as usize];
        let marked = packet.ecn() == Ecn::Ce;
        if marked {
            self.plane.measured.marks.receive(flow);
        }
        let reduced = packet.flags & flag::CWR != 0;
        let pushed = packet.flags & flag::PUSH != 0;
        let reply = receiver.on_segment(packet.seq, pushed, packet.sent_at, marked, reduced, now);
        if let Some(earlier_ack) = receiver.take_earlier_ack() {
            self.send_earlier_acknowledgement(flow, *plan, agent, &earlier_ack);
        }
        if reply {
            // The segment's slot carries the acknowledgement back.
            let fields = self.receivers[agent as usize].ack(now);
            self.plane.arena[id] = self.acknowledgement(flow, plan, &fields);
            self.send_ack(plan.dst, id, agent);
        } else {
            self.plane.arena.remove(id);
        }
        let timer = self.receivers[agent as usize].timer();
        let source = plan.wakes[1];
        self.plane.clock.bring_forward(source, timer);
    }

    /// An acknowledgement to send before the one for the segment that arrived.
    #[cold]
    #[inline(never)]
    fn send_earlier_acknowledgement(
        &mut self,
        flow: u32,
        plan: FlowPlan,
        agent: u32,
        ack_fields: &AckFields,
    ) {
        let packet = self.acknowledgement(flow, &plan, ack_fields);
        let id = self.plane.arena.insert(packet);
        self.send_ack(plan.dst, id, agent);
    }

    #[inline(always)]
    pub(crate) fn acknowledgement(
        &mut self,
        flow: u32,
        plan: &FlowPlan,
        fields: &AckFields,
    ) -> Packet {
        let totals = &mut self.plane.measured.totals[flow as usize];
        let number = totals.acks_sent;
        totals.acks_sent += 1;
        let is_one = plan.mark & flag::CONNECTION == 0;
        let number = if is_one { number as u32 } else { plan.connection };
        let mut ack = plan.reverse_packet(flow, number, plan.header_bytes, self.plane.clock.now);
        ack.ack = fields.ack;
        ack.echo = fields.echo;
        ack.flags |= plan.mark | if fields.ece { flag::ECE } else { 0 };
        if plan.mark != 0 {
            self.count_entry(plan);
        }
        if plan.all_capable {
            ack.set_ecn(plan.ecn);
            ack.flags |= self.mark_count_flags(plan);
        }
        ack
    }

    /// The receiver's count of marks in the flags, for a control that reacts to the share of marks.
    #[cold]
    #[inline(never)]
    fn mark_count_flags(&self, plan: &FlowPlan) -> u8 {
        let FlowAgents::Tcp(agent) = plan.agents else { return 0 };
        self.receivers[agent as usize].marks().map_or(0, |marks| marks << flag::ACE_SHIFT)
    }

    #[inline(always)]
    fn send_ack(&mut self, node: u32, id: PacketId, agent: u32) {
        if self.plane.arena.keeps_details() {
            let receiver = &self.receivers[agent as usize];
            let details = receiver.details();
            self.plane.arena.set_details(id, details);
            if details.sack[0][1] != 0 {
                self.plane.arena[id].ip_bytes += receiver.option_bytes();
            }
        }
        self.send_stored(node, id);
    }

    #[inline(always)]
    fn deliver_ack(&mut self, id: PacketId) {
        let packet = &self.plane.arena[id];
        let flow = packet.flow;
        let mut ack = Ack {
            ack: packet.ack,
            echo: packet.echo,
            ece: packet.flags & flag::ECE != 0,
            ace: packet.flags >> flag::ACE_SHIFT & 7,
            sack: SackBlocks::default(),
            window: 0,
        };
        if self.plane.arena.keeps_details() {
            let details = self.plane.arena.details(id);
            (ack.sack, ack.window) = (details.sack, details.window);
        }
        let marked = packet.flags & flag::MARKED != 0;
        self.plane.arena.remove(id);
        self.plane.measured.totals[flow as usize].acks_delivered += 1;
        if marked {
            return self.take_marked_ack(flow, id, &ack);
        }
        let plan = self.flows[flow as usize];
        self.take_ack(flow, id, &ack, &plan);
    }

    /// An acknowledgement of a connection that is more than its flow.
    #[inline(never)]
    fn take_marked_ack(&mut self, flow: u32, id: PacketId, ack: &Ack) {
        // The slot was freed, but no packet has been stored since.
        let packet = self.plane.arena[id];
        let Some(plan) = self.plan_for_marked_ack(&packet) else { return };
        self.take_ack(flow, id, ack, &plan);
        if let FlowAgents::Tcp(_) = plan.agents {
            self.settle_connection_of(&plan);
        }
    }

    #[inline(always)]
    fn take_ack(&mut self, flow: u32, id: PacketId, ack: &Ack, plan: &FlowPlan) {
        let FlowAgents::Tcp(agent) = plan.agents else {
            // The slot was freed, but no packet has been stored since.
            let reply = self.plane.arena[id];
            if let FlowAgents::Adaptive(_) = plan.agents {
                return self.take_adaptive_report(&reply, ack.window);
            }
            return self.take_reply(&reply);
        };
        self.plane.tables.mpls.fetch_entry_to_path(plan.src, plan.fec, plan.dscp);
        let random = &mut self.streams[flow as usize];
        self.senders[agent as usize].on_ack(ack, self.plane.clock.now, random);
        self.send_allowed_segments(flow, plan, agent);
    }

    /// Sends the segments that a TCP sender may send now, and sets its timer.
    #[inline(always)]
    pub(crate) fn send_allowed_segments(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        if self.plane.clock.now >= plan.stop {
            self.senders[agent as usize].stop(self.plane.clock.now);
        }
        let limits_host_queue = self.senders[agent as usize].limits_host_queue();
        while !self.senders[agent as usize].is_idle() {
            let Some(segment) = self.senders[agent as usize].next_segment(self.plane.clock.now)
            else {
                break;
            };
            let mut packet =
                plan.data_packet(flow, segment.seq, segment.ip_bytes, self.plane.clock.now);
            // RFC 3168 section 6.1.5: a retransmitted segment is not ECN-capable.
            let bare = segment.retransmission && !plan.all_capable;
            packet.set_ecn(if bare { Ecn::NotCapable } else { plan.ecn });
            packet.ack = plan.connection;
            packet.flags = plan.mark
                | if segment.retransmission { flag::RETRANSMISSION } else { 0 }
                | if segment.cwr { flag::CWR } else { 0 }
                | if segment.push { flag::PUSH } else { 0 };
            let totals = &mut self.plane.measured.totals[flow as usize];
            totals.sent_packets += 1;
            totals.sent_bytes += u64::from(segment.ip_bytes);
            if plan.mark != 0 {
                self.count_entry(plan);
            }
            if limits_host_queue {
                self.send_through_host_queue(plan, agent, packet);
            } else {
                self.send(plan.src, packet);
            }
        }
        let timer = self.senders[agent as usize].timer();
        let source = plan.wakes[0];
        self.plane.clock.bring_forward(source, timer);
    }

    pub(crate) fn wake_sender(&mut self, flow: u32) {
        let plan = self.flows[flow as usize];
        match plan.agents {
            FlowAgents::Tcp(agent) if self.starts_now(flow) && plan.connects() => {
                self.connect(flow, &plan, agent);
            }
            FlowAgents::Tcp(agent)
                if self.starts_now(flow)
                    && self.senders[agent as usize].counters().segments_sent == 0 =>
            {
                self.senders[agent as usize].start(self.plane.clock.now);
                self.send_allowed_segments(flow, &plan, agent);
            }
            FlowAgents::Tcp(agent) => self.serve_sender_timer(flow, &plan, agent),
            FlowAgents::Udp(agent) => self.send_datagram(flow, &plan, agent),
            FlowAgents::Adaptive(agent) => self.wake_adaptive_sender(flow, &plan, agent),
            FlowAgents::Transfers(workload) => self.wake_workload(workload, SENDER_END),
            FlowAgents::Control(_) => {}
        }
    }

    #[inline(always)]
    fn starts_now(&self, flow: u32) -> bool {
        self.plane.clock.now == self.starts[flow as usize]
    }

    /// The timer of a TCP sender: one that was put off since is armed again for its new time.
    #[inline]
    pub(crate) fn serve_sender_timer(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        if plan.connects() {
            self.time_client(flow, plan, agent);
        }
        let sender = &mut self.senders[agent as usize];
        if sender.timer() <= self.plane.clock.now {
            sender.on_timer(self.plane.clock.now, &mut self.streams[flow as usize]);
        }
        self.send_allowed_segments(flow, plan, agent);
    }

    fn send_datagram(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        if self.plane.clock.now >= plan.stop {
            return;
        }
        self.plane.tables.mpls.fetch_entry_to_path(plan.src, plan.fec, plan.dscp);
        let random = &mut self.streams[flow as usize];
        let source = &mut self.datagrams[agent as usize];
        let bytes = source.take(self.plane.clock.now, random);
        let next = source.next_at();
        let totals = &mut self.plane.measured.totals[flow as usize];
        let number = totals.sent_packets;
        totals.sent_packets += 1;
        totals.sent_bytes += u64::from(bytes);
        let packet = plan.data_packet(flow, number as u32, bytes, self.plane.clock.now);
        if next != NEVER {
            self.plane.clock.schedule(self.plane.clock.sources.senders + flow, next);
        }
        self.send(plan.src, packet);
    }

    pub(crate) fn wake_receiver(&mut self, flow: u32) {
        let plan = self.flows[flow as usize];
        self.serve_receiver_timer(flow, &plan);
    }

    /// The timer of a TCP receiver.
    #[inline]
    pub(crate) fn serve_receiver_timer(&mut self, flow: u32, plan: &FlowPlan) {
        let FlowAgents::Tcp(agent) = plan.agents else {
            match plan.agents {
                FlowAgents::Adaptive(agent) => self.report_adaptive(flow, plan, agent),
                FlowAgents::Transfers(workload) => self.wake_workload(workload, RECEIVER_END),
                _ => {}
            }
            return;
        };
        let receiver = &mut self.receivers[agent as usize];
        if receiver.timer() <= self.plane.clock.now && receiver.on_timer(self.plane.clock.now) {
            let fields = receiver.ack(self.plane.clock.now);
            let packet = self.acknowledgement(flow, plan, &fields);
            let id = self.plane.arena.insert(packet);
            self.send_ack(plan.dst, id, agent);
        }
        let mut timer = self.receivers[agent as usize].timer();
        if plan.connects() {
            timer = timer.min(self.time_server(flow, plan, agent));
        }
        if timer != NEVER {
            self.plane.clock.schedule(plan.wakes[1], timer);
        }
    }
}
