//! A sender after the RFCs and ns-2: the part that all variants share. Events in, segments and their
//! times out.
//!
//! Source: RFC 5681 (loss recovery), RFC 3042 (limited transmit); `window.rs` has the rules of the
//! window.
//! Differs: after a timeout Tahoe, Reno and NewReno go back to the first unacknowledged segment
//! and send on from there, as ns-2 does. Absent: congestion window validation (RFC 7661).

mod idle;
mod newreno;
mod output;
mod rack;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;
mod view;
mod window;

use super::application::Application;
use super::config::SegmentSizes;
use super::congestion::{Control, Growth, Window};
use super::handshake::RTO_AFTER_SYN_LOSS;
use super::lost_segments::LostSegments;
use super::send_pace::{AckContext, SendPace};
use super::{rto::Rto, Ack, OpenedConnection, TcpConfig, Variant};
use rack::RackTlp;
use scoreboard::Scoreboard;
use trunkline_units::{RandomStream, Span, Time, NEVER};

/// No segment is being timed.
const NONE: u32 = u32::MAX;
/// The transfer is over: `timed_at` is when its last acknowledgement came.
const OVER: u32 = u32::MAX - 1;

/// State of the sender between losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No loss is being repaired.
    Open,
    /// Duplicate acknowledgements showed a loss; until `recover` is acknowledged.
    FastRecovery,
    /// The timer ran out; until `recover` is acknowledged.
    Timeout,
}

/// Sending end of a TCP connection.
///
/// The three cache lines that every acknowledgement touches come first: 256 B in all, since large runs have many.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Sender {
    window: Window,
    una: u32,   // first segment not acknowledged (SND.UNA)
    next: u32,  // next to send; below `max` when going back after a timeout
    max: u32,   // one past the highest sent (SND.MAX)
    end: u32,   // one past the last to send
    limit: u32, // one past the last that window and transfer allow
    burst: u32, // segments the last event lets go at once
    dup_acks: u32,
    inflation: u32, // segments that left the network during fast recovery
    recover: u32,   // `max` at the last loss: RFC 6582's "recover", plus one
    timed: u32,     // the segment being timed, `NONE` or `OVER`
    timed_at: Time,
    rtx_at: Time,
    sizes: SegmentSizes,
    reduced: u32, // `max` at the last reduction of the window
    threshold: u32,
    retransmissions: u32,
    fast_retransmits: u32,
    phase: Phase,
    variant: Variant,
    /// The first unacknowledged segment is sent next, whatever the window.
    resend: bool,
    /// Only the window limits transmission: no scoreboard, pace or send overhead.
    windowed: bool,
    partial_seen: bool,
    impatient: bool,
    partial_resets: bool,
    limited_transmit: bool,
    timestamps: bool,
    ecn: bool,
    cwr: bool,
    /// The control wants to see every acknowledgement.
    measures: bool,
    grows_by_use: bool, // the window, where the application fills it
    control: Control,
    rto: Rto,
    /// Segments go at a pace.
    pace: Option<Box<SendPace>>,
    overhead: Option<Box<SendOverhead>>,
    scoreboard: Option<Box<Scoreboard>>, // of SACK
    rack: Option<Box<RackTlp>>,
    application: Option<Box<Application>>,
}

/// A random time before each burst of segments.
#[derive(Clone, Debug)]
struct SendOverhead {
    below: Span,
    /// When the next burst goes.
    release_at: Time,
    /// It may go now.
    released: bool,
}

impl Sender {
    /// A sender that has sent nothing and waits for [`Sender::start`].
    #[must_use]
    pub fn new(config: &TcpConfig) -> Self {
        let most = config.window_packets.min(config.buffered_segments());
        let cap = f64::from(most);
        Self {
            window: Window {
                cwnd: config.initial_window.min(cap),
                ssthresh: config.initial_ssthresh.unwrap_or(cap).min(cap),
                cap: most,
                credit: 0,
                growth: match config.count_segments {
                    true => Growth::Segments,
                    false => Growth::Acknowledgements,
                },
            },
            una: 0,
            next: 0,
            max: 0,
            end: config.segments(),
            limit: 0,
            burst: 0,
            dup_acks: 0,
            inflation: 0,
            recover: 0,
            reduced: 0,
            timed: NONE,
            timed_at: 0,
            rtx_at: NEVER,
            rto: Rto::new(
                config.rto_initial_ns,
                config.rto_min_ns,
                config.rto_max_ns,
                config.tick_ns,
            ),
            phase: Phase::Open,
            variant: config.variant,
            resend: false,
            windowed: !config.uses_sack() && !config.pacing && config.send_overhead_ns == 0,
            impatient: config.new_reno_impatient,
            partial_resets: config.partial_ack_resets,
            partial_seen: false,
            limited_transmit: config.limited_transmit,
            timestamps: config.timestamps,
            ecn: config.ecn,
            cwr: false,
            threshold: config.dup_acks,
            sizes: config.sizes(),
            control: Control::new(config),
            measures: config.congestion.measures(),
            pace: SendPace::new(config),
            overhead: (config.send_overhead_ns > 0).then(|| {
                let below = config.send_overhead_ns;
                Box::new(SendOverhead { below, release_at: NEVER, released: false })
            }),
            retransmissions: 0,
            fast_retransmits: 0,
            scoreboard: (config.variant == Variant::Sack)
                .then(|| Box::new(Scoreboard::new(config.congestion.steers()))),
            rack: (config.variant == Variant::Rack).then(|| {
                let delayed = config.delayed_ack.map_or(0, |delayed| delayed.timeout_ns);
                let lost = LostSegments::new(config.congestion.steers());
                Box::new(RackTlp::new(config.dup_acks, delayed, lost))
            }),
            application: None,
            grows_by_use: false,
        }
    }

    /// RFC 6298 (2.2), (5.7); RFC 5681 section 3.1: one segment where a SYN was lost.
    pub fn establish(&mut self, opened: &OpenedConnection) {
        match opened.rtt {
            Some(rtt) => self.rto.sample_timed(0, rtt),
            None => self.rto.fall_back(RTO_AFTER_SYN_LOSS),
        }
        if opened.retries > 0 {
            self.window.cwnd = self.window.cwnd.min(1.0);
        }
        if let Some(pace) = self.pace.as_mut() {
            pace.establish(opened.rtt.unwrap_or(0));
        }
    }

    /// Its SYN went again.
    pub fn connect_again(&mut self) {
        self.rto.count_expiry();
        self.retransmissions += 1;
    }

    /// Opens the window. The first burst is not held back: the flow's own start may be random.
    pub fn start(&mut self, now: Time) {
        if self.sizes.total == 0 {
            (self.timed, self.timed_at) = (OVER, now);
        }
        if let Some(pace) = self.pace.as_mut() {
            pace.start(&mut self.control, &self.window, now);
        }
        self.start_application(now);
        self.limit = self.window_end();
        self.burst = u32::MAX;
        self.release();
    }

    /// Lets a burst go that the send overhead held back.
    fn release(&mut self) {
        if let Some(overhead) = self.overhead.as_mut() {
            overhead.released = true;
        }
    }

    /// No new data after this; lost segments are still retransmitted.
    pub fn stop(&mut self) {
        self.end = self.max;
        self.limit = self.limit.min(self.end);
    }

    /// An acknowledgement arrived. Poll [`Sender::next_segment`] after it.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        if ack.ack < self.una || ack.ack > self.max {
            return; // older than one seen before (RFC 9293 section 3.10.7.4), or for nothing sent
        }
        if self.measures {
            return self.on_measured_ack(ack, now, random);
        }
        self.process_ack(ack, now, random);
    }

    /// The control sees the acknowledgement before it moves anything.
    #[cold]
    fn on_measured_ack(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        let ece = self.control.on_marks_counted(ack.ace).map_or(ack.ece, |marks| marks > 0);
        let ack = Ack { ece, ..*ack };
        self.measure(&ack, now);
        if self.application.is_some() {
            return self.process_ack_of_writes(&ack, now, random);
        }
        self.process_ack(&ack, now, random);
    }

    #[inline]
    fn process_ack(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        if self.is_paced() {
            self.note_before_ack();
        }
        if ack.ece && self.ecn {
            self.on_ecn_echo(ack.ack, now);
        }
        match self.variant {
            Variant::Sack => sack::on_ack(self, ack, now),
            Variant::Rack => rack::on_ack(self, ack, now),
            _ if ack.ack > self.una => match self.variant {
                Variant::Reno => reno::on_new_ack(self, ack, now),
                Variant::NewReno => newreno::on_new_ack(self, ack, now),
                _ => tahoe::on_new_ack(self, ack, now),
            },
            // Nothing outstanding: not a duplicate (RFC 5681 section 2).
            _ if self.max == self.una => {}
            _ => {
                self.dup_acks += 1;
                match self.variant {
                    Variant::Reno => reno::on_dup_ack(self, now),
                    Variant::NewReno => newreno::on_dup_ack(self, now),
                    _ => tahoe::on_dup_ack(self, now),
                }
            }
        }
        if self.is_paced() {
            self.update_pace(ack, now, random);
        }
        self.plan_sends(now, random);
    }

    /// The time of [`Sender::timer`] may have come. Poll [`Sender::next_segment`] after it.
    pub fn on_timer(&mut self, now: Time, random: &mut RandomStream) {
        if now >= self.rack_wakes_at() {
            rack::on_timer(self, now);
            self.plan_sends(now, random);
        }
        if now >= self.rtx_at {
            self.on_timeout(now);
            self.plan_sends(now, random);
        }
        if let Some(pace) = self.pace.as_mut() {
            pace.end_hold(now);
        }
        if now >= self.releases_at() {
            self.set_release(NEVER);
            self.release();
            self.burst = u32::MAX;
        }
    }

    /// Whether segments go at a pace. The flag lies in a line that is read anyway.
    #[inline(always)]
    fn is_paced(&self) -> bool {
        !self.windowed && self.pace.is_some()
    }

    /// When the send overhead of the next burst is over.
    fn releases_at(&self) -> Time {
        self.overhead.as_ref().map_or(NEVER, |overhead| overhead.release_at)
    }

    fn set_release(&mut self, at: Time) {
        if let Some(overhead) = self.overhead.as_mut() {
            overhead.release_at = at;
        }
    }

    /// Whether the pace holds the next segment back.
    #[cold]
    fn is_held(&mut self, now: Time) -> bool {
        self.pace.as_mut().is_some_and(|pace| pace.holds(now))
    }

    pub(in crate::tcp) fn in_flight(&self) -> u32 {
        match (&self.scoreboard, &self.rack) {
            (Some(scoreboard), _) => scoreboard.pipe(),
            (_, Some(rack)) => rack.in_flight(),
            _ => self.max - self.una,
        }
    }

    /// Number of segments found lost, where the variant names them.
    fn count_lost(&mut self) -> u64 {
        match (self.scoreboard.as_mut(), self.rack.as_mut()) {
            (Some(scoreboard), _) => scoreboard.found_lost().count(),
            (_, Some(rack)) => rack.found_lost().count(),
            _ => 0,
        }
    }

    fn rack_wakes_at(&self) -> Time {
        self.rack.as_ref().map_or(NEVER, |rack| rack.wakes_at())
    }

    #[cold]
    fn note_before_ack(&mut self) {
        let (in_flight, found_lost) = (self.in_flight(), self.count_lost());
        if let Some(pace) = self.pace.as_mut() {
            pace.note_before_ack(in_flight, found_lost);
        }
    }

    /// After an acknowledgement: sets the pace of the next segments.
    #[cold]
    fn update_pace(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        let in_flight = self.in_flight();
        let Some(pace) = self.pace.as_mut() else { return };
        let mut none_named = LostSegments::default();
        let lost = match (self.scoreboard.as_mut(), self.rack.as_mut()) {
            (Some(scoreboard), _) => scoreboard.found_lost(),
            (_, Some(rack)) => rack.found_lost(),
            _ => &mut none_named,
        };
        let known = AckContext {
            now,
            srtt: self.rto.srtt().unwrap_or(0.0) as u64,
            in_flight,
            out: self.max - self.una,
            recovering: self.phase == Phase::FastRecovery,
            timed_out: self.phase == Phase::Timeout,
        };
        pace.update_after_ack(ack, &known, lost, (&mut self.control, &mut self.window), random);
    }

    /// The earliest instant at which [`Sender::on_timer`] has something to do, or [`NEVER`].
    #[inline]
    #[must_use]
    pub fn timer(&self) -> Time {
        // Where only the window limits transmission there is no other timer.
        if self.windowed {
            return self.rtx_at;
        }
        let pace = self.pace.as_ref().map_or(NEVER, |pace| pace.held_until());
        self.rtx_at.min(self.releases_at()).min(pace).min(self.rack_wakes_at())
    }
}
