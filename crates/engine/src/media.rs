//! Interactive media: packets of frames one way, reports on each packet the other.
//!
//! Source: RFC 3550 section 5.1 (RTP) and RFC 8888 section 3.1 (reports). A packet carries the number of its
//! frame in the field `echo`, a report its own number in `ack`; what a report covers stays with the flow.

use crate::adaptive::AdaptiveFlow;
use crate::hosts::{FlowAgents, FlowPlan, Hosts};
use crate::observer::Observer;
use crate::tables::Table;
use crate::transfers::viewing_table;
use std::collections::VecDeque;
use trunkline_agent::udp::{
    report_bytes, ArrivedMediaPacket, Encoder, FeedbackLog, MediaConfig, MediaPlayer, Nada,
    REPORT_INTERVAL,
};
use trunkline_packet::arena::AckDetails;
use trunkline_packet::{Ecn, Packet};
use trunkline_units::{Span, Time, NEVER};

/// A report under way.
#[derive(Clone, Copy, Debug)]
struct SentReport {
    number: u32,
    covered: (u64, u64), // arrivals
    sent_at: Time,
}

/// Both ends of a stream.
#[derive(Clone, Debug)]
pub(crate) struct MediaFlow {
    encoder: Encoder,
    controller: Nada,
    player: MediaPlayer,
    log: FeedbackLog,
    reports: VecDeque<SentReport>,
    report_due: Time,
    silence: Span, // without a report
}

/// Reports that come at most so far apart, of which one may be lost.
const REPORTS_OF_SILENCE: u64 = 3;

impl MediaFlow {
    pub fn new(config: &MediaConfig, max_bit_s: u64, packet_bytes: u16, start: Time) -> Self {
        Self {
            encoder: Encoder::new(config, max_bit_s, packet_bytes, start),
            controller: Nada::new(config.min_bit_s, max_bit_s, config.priority, start),
            player: MediaPlayer::new(config.frame_ns, config.playout_ns),
            log: FeedbackLog::default(),
            reports: VecDeque::new(),
            report_due: NEVER,
            // A report goes an interval after a packet that came behind the last one.
            silence: REPORTS_OF_SILENCE * (REPORT_INTERVAL + config.frame_ns),
        }
    }
}

impl<O: Observer> Hosts<O> {
    fn media_flow(&mut self, agent: u32) -> &mut MediaFlow {
        let AdaptiveFlow::Media(session) = &mut self.adaptive_flows[agent as usize] else {
            unreachable!("the caller has seen that it is no flow of TFRC")
        };
        session
    }

    /// A frame or a packet is due.
    pub(crate) fn wake_media_sender(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        let now = self.plane.clock.now;
        let session = self.media_flow(agent);
        session.controller.notice_silence(session.silence, now);
        let reference = session.controller.rate();
        if let Some(frame) = session.encoder.make_frame(reference, now) {
            session.player.expect(frame);
        }
        let media_packet = session.encoder.take_packet(reference, now);
        let wakes_at = session.encoder.wakes_at();
        self.plane.clock.schedule(plan.wakes[0], wakes_at);
        let Some(media_packet) = media_packet else { return };
        let totals = &mut self.plane.measured.totals[flow as usize];
        let number = totals.sent_packets as u32;
        totals.sent_packets += 1;
        totals.sent_bytes += u64::from(media_packet.bytes);
        let mut packet = plan.data_packet(flow, number, media_packet.bytes, now);
        packet.echo = u64::from(media_packet.frame);
        packet.set_ecn(plan.ecn);
        self.send(plan.src, packet);
    }

    /// A packet of a frame has arrived.
    pub(crate) fn take_media_packet(&mut self, packet: &Packet, plan: &FlowPlan, agent: u32) {
        let now = self.plane.clock.now;
        let is_marked = packet.ecn() == Ecn::Ce;
        if is_marked {
            self.plane.measured.marks.receive(packet.flow);
        }
        let session = self.media_flow(agent);
        session.player.on_packet(packet.echo as u32, now);
        session.log.push(ArrivedMediaPacket {
            number: packet.seq,
            sent_at: packet.sent_at,
            arrived_at: now,
            bytes: packet.ip_bytes,
            is_marked,
        });
        if session.report_due == NEVER {
            session.report_due = now + REPORT_INTERVAL;
            let due = session.report_due;
            self.plane.clock.schedule(plan.wakes[1], due);
        }
    }

    /// The time of a report has come.
    pub(crate) fn report_media(&mut self, flow: u32, plan: &FlowPlan, agent: u32) {
        let now = self.plane.clock.now;
        let number = self.plane.measured.totals[flow as usize].acks_sent as u32;
        let session = self.media_flow(agent);
        if session.report_due > now {
            return;
        }
        // The next packet that arrives sets the timer again.
        session.report_due = NEVER;
        let covered = session.log.begin_report();
        session.reports.push_back(SentReport { number, covered, sent_at: now });
        let packets = (covered.1 - covered.0) as usize;
        self.plane.measured.totals[flow as usize].acks_sent += 1;
        let bytes = plan.header_bytes + report_bytes(packets);
        let mut packet = plan.reverse_packet(flow, number, bytes, now);
        packet.ack = number;
        let id = self.plane.arena.insert(packet);
        self.plane.arena.set_details(id, AckDetails { sack: [[0; 2]; 3], window: 0 });
        self.send_stored(plan.dst, id);
    }

    /// A report has arrived.
    pub(crate) fn take_media_report(&mut self, report: &Packet, agent: u32) {
        let now = self.plane.clock.now;
        let session = self.media_flow(agent);
        session.controller.hear(now);
        while session.reports.front().is_some_and(|sent| sent.number < report.ack) {
            session.reports.pop_front(); // lost, or overtaken
        }
        let Some(&sent) = session.reports.front() else { return };
        if sent.number != report.ack {
            return;
        }
        session.reports.pop_front();
        let arrivals = session.log.take(sent.covered);
        let Some(last) = arrivals.last() else { return };
        let held = sent.sent_at - last.arrived_at;
        let round_trip = now - last.sent_at - held;
        session.controller.on_feedback(&arrivals, round_trip, now);
    }

    /// Playback of films and of media, in the order of the flows.
    pub(crate) fn video_table(&self) -> Table {
        let mut viewings = self.workloads.viewings(self.plane.clock.now);
        for (flow, plan) in self.flows.iter().enumerate() {
            let FlowAgents::Adaptive(agent) = plan.agents else { continue };
            if let AdaptiveFlow::Media(session) = &self.adaptive_flows[agent as usize] {
                let end = self.plane.clock.now.min(plan.stop);
                viewings.push((flow as u32, session.player.viewing(end)));
            }
        }
        viewings.sort_by_key(|(flow, _)| *flow);
        viewing_table(&viewings)
    }
}
