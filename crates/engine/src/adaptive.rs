//! UDP flows that heed congestion: both ends have state. Here TFRC, datagrams and reports; `media.rs` has
//! the frames of interactive media.
//!
//! Source: RFC 5348 section 3.2 (what packets carry). A datagram carries the sender's round trip in the
//! field `echo`; a report the adjusted time stamp in `echo`, the loss event rate in billionths in `ack`, and the
//! rate received in the field of the window [B/s].

use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::media::MediaFlow;
use crate::observer::Observer;
use trunkline_agent::udp::{Feedback, TfrcReceiver, TfrcSender};
use trunkline_packet::arena::AckDetails;
use trunkline_packet::{Packet, PacketId};
use trunkline_units::NEVER;

/// Section 3.2.2: four fields of 4 B behind the headers.
const REPORT_BYTES: u16 = 16;
const BILLION: f64 = 1e9;

/// Both ends of such a flow. A packet of TFRC meets no pointer.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub(crate) enum AdaptiveFlow {
    Tfrc(TfrcFlow),
    Media(Box<MediaFlow>),
}

/// Both ends of a flow at the rate of TFRC.
#[derive(Clone, Debug)]
pub(crate) struct TfrcFlow {
    pub sender: TfrcSender,
    pub receiver: TfrcReceiver,
    pub bytes: u16,
}

impl<O: Observer> Hosts<O> {
    /// The sender's time has come: for a datagram, or its timer ran out.
    #[cold]
    pub(crate) fn wake_adaptive_sender(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        if self.plane.clock.now >= plan.stop {
            return;
        }
        let AdaptiveFlow::Tfrc(session) = &mut self.adaptive_flows[agent as usize] else {
            return self.wake_media_sender(flow, plan, agent);
        };
        let (sends, bytes, rtt) =
            (session.sender.wake(self.plane.clock.now), session.bytes, session.sender.rtt());
        self.plane.clock.schedule(plan.wakes[0], session.sender.wakes_at());
        if !sends {
            return;
        }
        let totals = &mut self.plane.measured.totals[flow as usize];
        let number = totals.sent_packets as u32;
        totals.sent_packets += 1;
        totals.sent_bytes += u64::from(bytes);
        let mut packet = plan.data_packet(flow, number, bytes, self.plane.clock.now);
        packet.echo = rtt;
        self.send(plan.src, packet);
    }

    /// A datagram has arrived.
    #[cold]
    pub(crate) fn take_adaptive_datagram(
        &mut self,
        flow: u32,
        plan: &FlowPlan,
        agent: u32,
        id: PacketId,
    ) {
        let packet = self.plane.arena[id];
        self.plane.arena.remove(id);
        let AdaptiveFlow::Tfrc(TfrcFlow { receiver, .. }) =
            &mut self.adaptive_flows[agent as usize]
        else {
            return self.take_media_packet(&packet, plan, agent);
        };
        let stamps = (packet.sent_at, packet.echo);
        if receiver.on_datagram(packet.seq, packet.ip_bytes, stamps, self.plane.clock.now) {
            self.report_adaptive(flow, plan, agent);
        }
    }

    /// Sends a report, if there is anything to report, and sets the timer of the next.
    #[cold]
    pub(crate) fn report_adaptive(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        let AdaptiveFlow::Tfrc(TfrcFlow { receiver, .. }) =
            &mut self.adaptive_flows[agent as usize]
        else {
            return self.report_media(flow, plan, agent);
        };
        let report = receiver.report(self.plane.clock.now);
        let due = receiver.due();
        if due != NEVER {
            self.plane.clock.schedule(plan.wakes[1], due);
        }
        let Some(Feedback { echo, received_rate, loss_rate }) = report else { return };
        let totals = &mut self.plane.measured.totals[flow as usize];
        let number = totals.acks_sent as u32;
        totals.acks_sent += 1;
        let bytes = plan.header_bytes + REPORT_BYTES;
        let mut packet = plan.reverse_packet(flow, number, bytes, self.plane.clock.now);
        packet.echo = echo;
        packet.ack = (loss_rate * BILLION).ceil() as u32;
        let id = self.plane.arena.insert(packet);
        let window = received_rate.round() as u32;
        self.plane.arena.set_details(id, AckDetails { sack: [[0; 2]; 3], window });
        self.send_stored(plan.dst, id);
    }

    /// A report has arrived.
    #[cold]
    pub(crate) fn take_adaptive_report(&mut self, report: &Packet, window: u32) {
        let plan = self.flows[report.flow as usize];
        let FlowAgents::Adaptive(agent) = plan.agents else { return };
        let feedback = Feedback {
            echo: report.echo,
            received_rate: f64::from(window),
            loss_rate: f64::from(report.ack) / BILLION,
        };
        let AdaptiveFlow::Tfrc(TfrcFlow { sender, .. }) = &mut self.adaptive_flows[agent as usize]
        else {
            return self.take_media_report(report, agent);
        };
        sender.on_feedback(&feedback, self.plane.clock.now);
        self.plane.clock.schedule(plan.wakes[0], sender.wakes_at());
    }
}
