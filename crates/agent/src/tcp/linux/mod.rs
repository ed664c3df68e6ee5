//! The sender of Linux 6.1: Reno's window with the loss recovery of the kernel.
//!
//! Source: RFC 5681, 6582 (NewReno), 6675 (SACK), 8985 (RACK and tail loss probes, with SACK), 5682
//! (F-RTO), 2883 (D-SACK), 6937 (proportional rate reduction), 3465 (growth by segments); `net/ipv4/tcp_input.c`,
//! `tcp_output.c`, `tcp_recovery.c` and `tcp_timer.c` of Linux 6.1 for what they leave open.
//! `retransmission_queue.rs` holds the outstanding segments; `loss_recovery.rs` detects losses;
//! `undo.rs` reverts spurious reductions; `rack.rs`, `probe.rs`, `window.rs`, `output.rs` and `timer.rs`
//! do what their names say; `offered_window.rs` is the receiver's window, `writer.rs` the application,
//! `host_queue.rs` what waits in the sender's host;
//! `receive_buffer.rs`, `delayed_ack.rs` and `ack_compression.rs` belong to the receiver.
//! `idle.rs` is what pauses of the application do. Absent: reneging, path MTU probes, a receiver's window that
//! shrinks.

pub(super) mod ack_compression;
mod ack_summary;
pub(super) mod delayed_ack;
mod host_queue;
mod idle;
mod loss_recovery;
mod offered_window;
mod output;
mod probe;
mod rack;
pub(super) mod receive_buffer;
mod retransmission_queue;
mod steer;
pub(in crate::tcp) mod timer;
mod undo;
mod window;
mod writer;

use super::application::Application;
use super::config::SegmentSizes;
use super::congestion::{Control, Growth, Window};
use super::handshake::RTO_AFTER_SYN_LOSS;
use super::prr::Prr;
use super::send_pace::SendPace;
use super::{Ack, Counters, OpenedConnection, Segment, State, TcpConfig, Variant};
use ack_summary::AckSummary;
use retransmission_queue::RetransmissionQueue;
use std::collections::VecDeque;
use timer::Estimator;
use trunkline_units::{RandomStream, Time, NEVER};

/// RFC 5681 section 3.2: duplicates that mean a loss, before reordering was seen.
const DUP_THRESH: u32 = 3;
const MAX_REORDERING: u32 = 300;

/// State of the sender between losses ("CA state").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// Duplicates or blocks, and no loss yet.
    Disorder,
    /// Reducing for an ECN-Echo.
    Reducing,
    Recovery,
    Loss,
}

/// Purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingTimer {
    Nothing,
    Retransmission,
    Reordering,
    Probe,
}

/// Packets to send after an acknowledgement in recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepairStep {
    Nothing,
    Lost,
    /// RFC 5682 section 2.1 step 2b: new data first.
    New,
}

/// Sending end, without the sizes of its segments.
#[derive(Clone, Debug)]
pub struct Sender {
    sack: bool,
    timestamps: bool,
    ecn: bool,
    window: Window,
    control: Control,
    measures: bool,
    pace: Option<Box<SendPace>>,
    pace_at: Time,
    sent_at: Time, // of the segment sent last
    una: u32,
    next: u32,
    end: u32,
    sizes: SegmentSizes,
    offer: offered_window::OfferedWindow,
    queue: RetransmissionQueue,
    phase: Phase,
    high_seq: u32, // `next` when the phase began
    reordering: u32,
    reordering_seen: bool,
    prr: Prr,
    prr_sent: u32,
    prior_ssthresh: f64, // 0: not to be taken back
    prior_cwnd: u32,
    undo: bool, // a reduction may be taken back
    undo_again: i64,
    undo_from: u32,                // `una` when the reduction began
    first_resent_at: Option<Time>, // first segment sent again in this recovery
    frto: bool,
    expiries: u32, // of the timer, without progress
    rack: rack::Rack,
    probe_end: Option<u32>,
    probe_again: bool,
    limited: bool, // the window was full
    limited_until: u32,
    max_outstanding: u32,
    estimator: Estimator,
    pending: PendingTimer,
    timer: Time,
    cwr: bool,
    out: VecDeque<(u32, bool)>, // segments to send, with whether each went before
    writer: writer::ApplicationWriter,
    application: Option<Box<Application>>,
    host: host_queue::HostQueue,
    mss: u32,
    finished_at: Option<Time>,
    retransmissions: u64,
    timeouts: u64,
    recoveries: u64,
}

impl Sender {
    pub fn new(config: &TcpConfig) -> Self {
        Self {
            sack: config.variant == Variant::Sack,
            timestamps: config.timestamps,
            ecn: config.ecn,
            window: Window {
                cwnd: f64::from((config.initial_window as u32).max(1)),
                ssthresh: config
                    .initial_ssthresh
                    .map_or(f64::INFINITY, |given| given.trunc().max(2.0)),
                cap: u32::MAX, // the receiver's window holds segments back, not the congestion window
                credit: 0,
                growth: Growth::Linux,
            },
            control: Control::new(config),
            measures: config.congestion.measures(),
            pace: SendPace::new(config),
            pace_at: NEVER,
            sent_at: 0,
            una: 0,
            next: 0,
            end: config.segments(),
            sizes: config.sizes(),
            offer: offered_window::OfferedWindow::new(config),
            queue: RetransmissionQueue::new(config.congestion.steers()),
            phase: Phase::Open,
            high_seq: 0,
            reordering: DUP_THRESH,
            reordering_seen: false,
            prr: Prr::default(),
            prr_sent: 0,
            prior_ssthresh: 0.0,
            prior_cwnd: 0,
            undo: false,
            undo_again: -1,
            undo_from: 0,
            first_resent_at: None,
            frto: false,
            expiries: 0,
            rack: rack::Rack::default(),
            probe_end: None,
            probe_again: false,
            limited: false,
            limited_until: 0,
            max_outstanding: 0,
            estimator: Estimator::new(config.rto_initial_ns, config.rto_min_ns, config.rto_max_ns),
            pending: PendingTimer::Nothing,
            timer: NEVER,
            cwr: false,
            out: VecDeque::new(),
            writer: writer::ApplicationWriter::new(
                config.mss_bytes,
                config.segments(),
                config.send_buffer_bytes.map(|bytes| writer::SendMemory {
                    bytes,
                    per_segment: host_queue::OVERHEAD_BYTES + u64::from(config.mss_bytes),
                }),
            ),
            application: None,
            host: host_queue::HostQueue::new(config.mss_bytes),
            mss: config.mss_bytes,
            finished_at: None,
            retransmissions: 0,
            timeouts: 0,
            recoveries: 0,
        }
    }

    /// As `tcp_init_transfer` and `tcp_init_metrics`: a window of one segment where the SYN went more than
    /// twice.
    pub fn establish(&mut self, opened: &OpenedConnection) {
        match opened.rtt {
            Some(rtt) => {
                let rtt = rtt / 1_000;
                self.estimator.min_rtt = rtt;
                self.estimator.sample(rtt, 0, 0);
            }
            None => self.estimator.fall_back(RTO_AFTER_SYN_LOSS),
        }
        if opened.retries > 1 {
            self.window.cwnd = 1.0;
        }
        if let Some(pace) = self.pace.as_mut() {
            pace.establish(opened.rtt.unwrap_or(0));
        }
    }

    /// Its SYN went again.
    pub fn connect_again(&mut self) {
        self.timeouts += 1;
        self.retransmissions += 1;
    }

    pub fn start(&mut self, now: Time) {
        if self.sizes.total == 0 {
            self.finished_at = Some(now);
        }
        if let Some(pace) = self.pace.as_mut() {
            pace.start(&mut self.control, &self.window, now);
        }
        if let Some(application) = self.application.as_mut() {
            (application.started, application.unfilled_since) = (true, now);
        }
        self.send_and_write(now);
    }

    /// Sends what is there, and lets the application write; what it writes goes too where memory is short.
    pub(super) fn send_and_write(&mut self, now: Time) {
        self.send_new(now, false);
        let before = self.writer.sendable();
        self.writer.write(self.una, self.next, self.offer.max_offered_bytes());
        if self.writer.sendable() > before {
            if self.next == before {
                self.note_application_limit();
            }
            self.send_new(now, false);
        }
    }

    /// No new data after this.
    pub fn stop(&mut self) {
        self.end = self.next;
    }

    /// The next segment to send, if any.
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.out.is_empty() && self.host.take_try(now) {
            self.send_held_back(now);
        }
        let (seq, retransmission) = self.out.pop_front()?;
        // RFC 3168 section 6.1.2: on the first new data after the reduction.
        let cwr = !retransmission && std::mem::take(&mut self.cwr);
        let (ip_bytes, push) = (self.datagram_bytes(seq), self.writer.marks(seq));
        Some(Segment { seq, ip_bytes, retransmission, cwr, push })
    }

    /// The segment taken last leaves its host then.
    pub fn leave_host_at(&mut self, at: Time) {
        self.host.leave_at(at);
    }

    /// A segment left its host, or was dropped there. True: [`Self::next_segment`] may have one.
    pub fn leave_host(&mut self) -> bool {
        self.host.leave() && self.out.is_empty()
    }

    /// An acknowledgement arrived.
    pub fn on_ack(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        if ack.ack < self.una || ack.ack > self.next {
            return; // older than one seen before (RFC 9293 section 3.10.7.4), or for nothing sent
        }
        let mut summary = AckSummary { advanced: ack.ack > self.una, ..AckSummary::default() };
        summary.echo = self.ecn && ack.ece;
        let (prior_una, prior_high) = (self.una, self.prior_high());
        let outstanding = self.queue.len();
        if let Some(pace) = self.pace.as_mut() {
            pace.note_before_ack(self.queue.in_flight(), self.queue.found_lost.count());
        }
        self.una = ack.ack;
        self.offer.update(ack.ack, ack.window);
        if summary.advanced {
            self.expiries = 0;
        }
        summary.duplicate = self.sack && self.take_duplicate(ack, prior_una);
        let held = self.apply_sack_blocks(ack, now, &mut summary);
        if outstanding == 0 && summary.duplicate {
            self.undo_by_duplicates();
        }
        if outstanding > 0 {
            let fresh = self.apply_cumulative_ack(ack, prior_high, &held, now, &mut summary);
            if self.measures {
                self.measure(fresh + held.count, &summary, now);
            }
            self.on_probe_answered(ack.ack, &summary);
            let before = self.phase;
            let repair = self.update_phase(prior_una, ack, now, &mut summary);
            if self.phase == Phase::Open && before != Phase::Open {
                self.control.on_open(self.next);
            }
            if summary.set_timer {
                self.set_timer(now);
            }
            self.control(&summary, now);
            self.apply_steering(ack, now, random);
            self.repair(repair, now);
        }
        self.send_and_write(now);
        if self.una == self.sizes.total {
            self.finished_at = self.finished_at.or(Some(now));
        }
    }

    fn prior_high(&self) -> u32 {
        if self.sack {
            self.queue.high_held()
        } else {
            self.una
        }
    }

    pub fn window(&self) -> f64 {
        self.window.cwnd
    }

    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    pub fn srtt(&self) -> Option<f64> {
        self.estimator.srtt().map(|us| us as f64 * 1e3)
    }

    pub fn rtt(&self) -> Option<f64> {
        (self.estimator.latest > 0).then_some(self.estimator.latest as f64 * 1e3)
    }

    pub fn rto(&self) -> u64 {
        self.estimator.rto() * timer::TICK_NS
    }

    pub fn pacing_rate(&self) -> Option<u64> {
        self.pace.as_ref().and_then(|pace| pace.known_rate())
    }

    pub fn in_flight(&self) -> u32 {
        self.queue.in_flight()
    }

    pub fn timer(&self) -> Time {
        self.timer.min(self.pace_at).min(self.host.tries_at())
    }

    pub fn finished_at(&self) -> Option<Time> {
        self.finished_at
    }

    pub fn state(&self) -> State {
        match self.phase {
            Phase::Recovery => State::FastRecovery,
            Phase::Loss => State::Timeout,
            _ if self.window.cwnd < self.window.ssthresh => State::SlowStart,
            _ => State::CongestionAvoidance,
        }
    }

    pub fn counters(&self) -> Counters {
        Counters {
            segments_sent: u64::from(self.next) + self.retransmissions,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            fast_retransmits: self.recoveries,
        }
    }
}
