//! RACK-TLP: losses found by the time of transmission, and probes for losses at the tail.
//!
//! Source: RFC 8985 sections 5 to 7; the window in recovery is that of RFC 6675 section 5, with the
//! segments that RACK counts in flight. `max_ack_delay` is the receiver's own. Absent: reneging.

use super::{Phase, Sender, NONE};
use crate::tcp::lost_segments::LostSegments;
use crate::tcp::Ack;
use std::collections::VecDeque;
use trunkline_units::{Span, Time, NEVER};

/// Section 6.2 step 4: recoveries without a D-SACK after which the window is a quarter again.
const PERSISTENCE: u32 = 16;
/// Section 7.2: before the first sample of the round trip.
const FIRST_PROBE_TIMEOUT: Span = 1_000_000_000;

/// A segment that is not yet acknowledged (section 5.2).
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    sent_at: Time,
    retransmitted: bool,
    held: bool,
    lost: bool,
}

/// Why [`RackTlp`] waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Reordering,
    Probe,
}

/// State of a connection (sections 5.3 and 7.1).
#[derive(Clone, Debug)]
pub(super) struct RackTlp {
    segments: VecDeque<SentSegment>, // from SND.UNA on
    in_flight: u32,
    lost: u32, // and not sent again
    held: u32,
    found_lost: LostSegments,
    sent_at: Time, // RACK.xmit_ts
    end: u32,      // RACK.end_seq
    rtt: Span,
    window: Span, // RACK.reo_wnd
    min_rtt: Span,
    fack: u32, // RACK.fack: one past the highest segment that arrived
    reordering_seen: bool,
    round: Option<u32>, // RACK.dsack_round
    multiplier: u64,
    persistence: u32,
    threshold: u32,
    max_ack_delay: Span,
    wait: Wait,
    wakes_at: Time,
    release: bool,              // one segment may go whatever the window
    probe_due: bool,            // the next segment is a probe
    probe: Option<(u32, bool)>, // TLP.end_seq, TLP.is_retrans
    timed_out_at: Option<u32>,
}

impl RackTlp {
    pub fn new(threshold: u32, max_ack_delay: Span, found_lost: LostSegments) -> Self {
        Self {
            segments: VecDeque::new(),
            in_flight: 0,
            lost: 0,
            held: 0,
            found_lost,
            sent_at: 0,
            end: 0,
            rtt: 0,
            window: 0,
            min_rtt: Span::MAX,
            fack: 0,
            reordering_seen: false,
            round: None,
            multiplier: 1,
            persistence: PERSISTENCE,
            threshold,
            max_ack_delay,
            wait: Wait::Reordering,
            wakes_at: NEVER,
            release: false,
            probe_due: false,
            probe: None,
            timed_out_at: None,
        }
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub fn found_lost(&mut self) -> &mut LostSegments {
        &mut self.found_lost
    }

    pub fn wakes_at(&self) -> Time {
        self.wakes_at
    }

    /// Section 6.2 steps 1 to 3: a segment is newly known to have arrived. `echo`: when the segment
    /// that its acknowledgement answers was sent, if time stamps show it.
    fn deliver(&mut self, seq: u32, segment: SentSegment, echo: Option<Time>, now: Time) {
        if !segment.lost {
            self.in_flight -= 1;
        } else {
            self.lost -= 1;
        }
        let rtt = now - segment.sent_at;
        if seq >= self.fack {
            self.fack = seq + 1;
        } else if !segment.retransmitted {
            self.reordering_seen = true;
        }
        if segment.retransmitted {
            let of_original = echo.is_some_and(|echo| echo < segment.sent_at);
            if of_original || rtt < self.min_rtt {
                return;
            }
        }
        self.min_rtt = self.min_rtt.min(rtt);
        self.rtt = rtt;
        if (segment.sent_at, seq + 1) > (self.sent_at, self.end) {
            (self.sent_at, self.end) = (segment.sent_at, seq + 1);
        }
    }

    /// Section 6.2 step 4, RACK_update_reo_wnd, its part that D-SACK and recoveries move.
    fn adapt_window(&mut self, duplicate: bool, recovered: bool, una: u32, next: u32) {
        if self.round.is_some_and(|round| una >= round) {
            self.round = None;
        }
        if self.round.is_none() && duplicate {
            self.round = Some(next);
            self.multiplier += 1;
            self.persistence = PERSISTENCE;
        } else if recovered {
            self.persistence = self.persistence.saturating_sub(1);
            if self.persistence == 0 {
                self.multiplier = 1;
            }
        }
    }

    /// Section 6.2 step 4, its value.
    fn reordering_window(&self, recovering: bool, srtt: Span) -> Span {
        if !self.reordering_seen && (recovering || self.held >= self.threshold) {
            return 0;
        }
        if self.min_rtt == Span::MAX {
            return 0;
        }
        (self.multiplier * (self.min_rtt / 4)).min(srtt)
    }

    /// Section 6.2 step 5, RACK_detect_loss. Returns the segments newly lost, and the longest wait left.
    fn detect_losses(&mut self, una: u32, now: Time) -> (u32, Span) {
        if self.held == 0 && self.lost == 0 && self.segments.iter().all(|one| !one.retransmitted) {
            return (0, 0); // nothing was overtaken
        }
        let (mut found, mut timeout) = (0, 0);
        let (latest, limit) = ((self.sent_at, self.end), self.rtt + self.window);
        for (seq, segment) in (una + 1..).zip(&mut self.segments) {
            if segment.held || segment.lost || (segment.sent_at, seq) >= latest {
                continue;
            }
            let due = segment.sent_at + limit;
            if due <= now {
                (segment.lost, segment.retransmitted) = (true, false);
                self.found_lost.add(seq - 1);
                found += 1;
            } else {
                timeout = timeout.max(due - now);
            }
        }
        self.lose(found);
        (found, timeout)
    }

    fn lose(&mut self, found: u32) {
        self.in_flight -= found;
        self.lost += found;
    }

    /// Section 6.3, RACK_mark_losses_on_RTO.
    pub fn on_timeout(&mut self, una: u32, now: Time) {
        let limit = self.rtt + self.window;
        let mut found = 0;
        for (index, segment) in self.segments.iter_mut().enumerate() {
            let old = index == 0 || segment.sent_at + limit <= now;
            if !segment.held && !segment.lost && old {
                (segment.lost, segment.retransmitted) = (true, false);
                self.found_lost.add(una + index as u32);
                found += 1;
            }
        }
        self.lose(found);
        self.timed_out_at = Some(una);
        (self.release, self.wakes_at, self.probe) = (true, NEVER, None);
    }

    /// The first unacknowledged segment when the timer last ran out.
    pub fn timed_out_at(&self) -> Option<u32> {
        self.timed_out_at
    }

    /// Whether the first block reports a segment that came twice (RFC 2883 section 4), and which.
    fn find_duplicate(ack: &Ack) -> Option<[u32; 2]> {
        let [first, second, _] = ack.sack;
        let inside = first[0] >= second[0] && first[1] <= second[1];
        (first[1] > 0 && (first[1] <= ack.ack || inside)).then_some(first)
    }

    /// Reads acknowledgement and blocks. Returns whether anything is newly known to have arrived.
    fn read(&mut self, ack: &Ack, (una, max): (u32, u32), timestamps: bool, now: Time) -> bool {
        let echo = timestamps.then_some(ack.echo);
        let mut news = ack.ack > una;
        for seq in una..ack.ack {
            let Some(segment) = self.segments.pop_front() else { break };
            if segment.held {
                self.held -= 1;
            } else {
                self.deliver(seq, segment, echo, now);
            }
        }
        for [start, end] in ack.sack {
            for seq in start.max(ack.ack)..end.min(max) {
                let segment = self.segments[(seq - ack.ack) as usize];
                if !segment.held {
                    self.deliver(seq, segment, echo, now);
                    let segment = &mut self.segments[(seq - ack.ack) as usize];
                    (segment.held, segment.lost) = (true, false);
                    self.held += 1;
                    news = true;
                }
            }
        }
        news
    }

    /// A segment is sent again now.
    fn resend(&mut self, index: usize, now: Time) {
        let segment = &mut self.segments[index];
        if segment.lost {
            self.lost -= 1;
            self.in_flight += 1;
        }
        (segment.sent_at, segment.retransmitted, segment.lost) = (now, true, false);
    }
}

/// The state, which the variant `rack` has.
fn state(sender: &mut Sender) -> &mut RackTlp {
    sender.rack.as_mut().expect("variant rack has its state")
}

pub(super) fn on_ack(sender: &mut Sender, ack: &Ack, now: Time) {
    let (una, max, timestamps) = (sender.una, sender.max, sender.timestamps);
    let rack = state(sender);
    let duplicate = RackTlp::find_duplicate(ack);
    let news = rack.read(ack, (una, max), timestamps, now);
    let (phase, advanced) = (sender.phase, ack.ack > una);
    if advanced {
        let covered = sender.accept(ack, now);
        if sender.una >= sender.recover {
            sender.phase = Phase::Open;
        }
        if phase != Phase::FastRecovery {
            sender.grow(ack, covered, now);
        }
    }
    let recovered = phase != Phase::Open && sender.phase == Phase::Open;
    let (una, next) = (sender.una, sender.max);
    state(sender).adapt_window(duplicate.is_some(), recovered, una, next);
    answer_probe(sender, ack, duplicate, advanced);
    if news || duplicate.is_some() {
        find_losses(sender, now);
    }
}

/// Section 6.2 step 5, with the answer of congestion control and the timers.
fn find_losses(sender: &mut Sender, now: Time) {
    let (una, recovering) = (sender.una, sender.phase != Phase::Open);
    let srtt = sender.rto.srtt().unwrap_or(0.0) as Span;
    let rack = state(sender);
    rack.window = rack.reordering_window(recovering, srtt);
    let (found, timeout) = rack.detect_losses(una, now);
    rack.wakes_at = NEVER;
    if timeout > 0 {
        (rack.wait, rack.wakes_at) = (Wait::Reordering, now + timeout);
    }
    if found > 0 && !recovering {
        enter_recovery(sender, now);
    }
    schedule_probe(sender, now);
}

/// RFC 6675 section 5 step (4).
fn enter_recovery(sender: &mut Sender, now: Time) {
    let flight = sender.max - sender.una;
    let extra = flight.saturating_sub(sender.window.cwnd as u32);
    if sender.reduce(f64::from(flight - extra)) {
        sender.window.cwnd = sender.window.cwnd.max(sender.window.ssthresh);
    }
    sender.on_loss(now);
    sender.phase = Phase::FastRecovery;
    state(sender).release = true;
}

/// Section 7.2: the timer of a probe, if one may be sent.
fn schedule_probe(sender: &mut Sender, now: Time) {
    let out = sender.max - sender.una;
    let (open, timeout) = (sender.phase == Phase::Open, sender.rtx_at);
    let srtt = sender.rto.srtt();
    let rack = state(sender);
    let waits = rack.wakes_at != NEVER && rack.wait == Wait::Reordering;
    if !open || rack.held > 0 || rack.probe.is_some() || out == 0 || waits {
        return;
    }
    let mut after = srtt.map_or(FIRST_PROBE_TIMEOUT, |srtt| 2 * srtt as Span);
    if srtt.is_some() && out == 1 {
        after += rack.max_ack_delay;
    }
    (rack.wait, rack.wakes_at) = (Wait::Probe, (now + after).min(timeout));
}

/// Section 7.4.2, TLP_process_ack.
fn answer_probe(sender: &mut Sender, ack: &Ack, duplicate: Option<[u32; 2]>, advanced: bool) {
    let rack = state(sender);
    let Some((end, again)) = rack.probe.filter(|(end, _)| ack.ack >= *end) else { return };
    let arrived_twice = duplicate.is_some_and(|block| block[1] == end);
    if !again || arrived_twice {
        rack.probe = None;
    } else if ack.ack > end {
        rack.probe = None;
        // The probe repaired a loss: the answer of fast recovery.
        sender.reduce(sender.window.cwnd);
    } else if ack.sack[0][1] == 0 && !advanced {
        rack.probe = None;
    }
}

/// The time of [`RackTlp::wakes_at`] has come.
pub(super) fn on_timer(sender: &mut Sender, now: Time) {
    let (una, max) = (sender.una, sender.max);
    let rack = state(sender);
    rack.wakes_at = NEVER;
    if rack.wait == Wait::Reordering {
        return find_losses(sender, now);
    }
    if una < max {
        rack.probe_due = true;
        sender.rtx_at = now + sender.rto.current();
    }
}

/// The segment to send next, if the window has room for it, or if it goes whatever the window.
/// `take` books it.
pub(super) fn choose_segment(sender: &mut Sender, take: bool, now: Time) -> Option<u32> {
    let window = sender.window.cwnd as u32;
    let (una, max, next) = (sender.una, sender.max, sender.next);
    let fresh = next < sender.end && next < una.saturating_add(sender.window.cap);
    let rack = state(sender);
    if rack.probe_due {
        return choose_probe(sender, fresh, take, now);
    }
    if rack.in_flight >= window && !rack.release {
        return None;
    }
    if rack.lost > 0 {
        let index = rack.segments.iter().position(|segment| segment.lost)?;
        if take {
            rack.resend(index, now);
            rack.release = false;
        }
        return Some(una + index as u32);
    }
    if !fresh || rack.in_flight >= window {
        return None;
    }
    if take {
        book_new(rack, now);
        if next == max {
            // Section 7.2: each new transmission sets the timer again; the timeout is set with it.
            let timeout = sender.rtx_at;
            sender.rtx_at = timeout.min(now + sender.rto.current());
            sender.max += 1;
            schedule_probe(sender, now);
            sender.max -= 1;
            sender.rtx_at = timeout;
        }
    }
    Some(next)
}

fn book_new(rack: &mut RackTlp, now: Time) {
    let segment = SentSegment { sent_at: now, retransmitted: false, held: false, lost: false };
    rack.segments.push_back(segment);
    rack.in_flight += 1;
    rack.release = false;
}

/// Section 7.3, TLP_send_probe: new data, else the last segment again.
fn choose_probe(sender: &mut Sender, fresh: bool, take: bool, now: Time) -> Option<u32> {
    let (una, max, next) = (sender.una, sender.max, sender.next);
    sender.timed = if take && !fresh { NONE } else { sender.timed };
    let rack = state(sender);
    if take {
        rack.probe_due = false;
        match fresh {
            true => book_new(rack, now),
            false => rack.resend((max - 1 - una) as usize, now),
        }
        rack.probe = Some((max + u32::from(fresh), !fresh));
    }
    Some(if fresh { next } else { max - 1 })
}

#[cfg(test)]
mod rfc8985 {
    use super::*;
    use crate::tcp::config::tests::plain;
    use crate::tcp::{TcpConfig, Variant};

    const MS: Span = 1_000_000;

    /// With a least round trip of 20 ms, a first transmission delivered in 20 ms.
    fn make() -> RackTlp {
        let mut rack = RackTlp::new(3, 0, LostSegments::new(false));
        rack.in_flight = 10;
        rack.deliver(0, sent(0, false), None, 20 * MS);
        rack
    }

    fn sent(sent_at: Time, retransmitted: bool) -> SentSegment {
        SentSegment { sent_at, retransmitted, held: false, lost: false }
    }

    /// Section 6.2 step 2: one sent again says nothing if the time stamp answers an earlier
    /// transmission, or if it arrived within less than the least round trip; else it is the latest.
    #[test]
    fn s6_2_step_2_an_answer_to_the_original_is_no_news_of_the_retransmission() {
        for (echo, at, counts) in [
            (Some(99 * MS), 130 * MS, false),
            (Some(90 * MS), 130 * MS, false),
            (Some(100 * MS), 130 * MS, true),
            (Some(101 * MS), 130 * MS, true),
            (None, 130 * MS, true),
            (None, 119 * MS, false),
            (None, 120 * MS, true),
        ] {
            let mut rack = make();
            rack.deliver(1, sent(100 * MS, true), echo, at);
            let latest = if counts { (100 * MS, 2, at - 100 * MS) } else { (0, 1, 20 * MS) };
            assert_eq!((rack.sent_at, rack.end, rack.rtt), latest, "{echo:?} {at}");
        }
        let mut first = make();
        first.deliver(1, sent(100 * MS, false), None, 110 * MS);
        assert_eq!((first.min_rtt, first.rtt), (10 * MS, 10 * MS));
    }

    /// Section 6.2 step 3: a segment below the highest that arrived, sent once, shows reordering.
    #[test]
    fn s6_2_step_3_only_a_segment_sent_once_shows_reordering() {
        for (seq, retransmitted, seen) in [(4, false, true), (4, true, false), (6, false, false)] {
            let mut rack = make();
            rack.deliver(5, sent(0, false), None, 20 * MS);
            rack.deliver(seq, sent(0, retransmitted), None, 20 * MS);
            assert_eq!(rack.reordering_seen, seen, "{seq} {retransmitted}");
        }
    }

    /// Section 6.3: at a timeout the first segment is lost, and those sent a round trip and the window ago.
    #[test]
    fn s6_3_a_timeout_takes_the_first_and_the_old_ones() {
        let mut rack = make();
        rack.rtt = 20 * MS;
        rack.found_lost = LostSegments::new(true);
        rack.segments = [99, 70, 80, 81].map(|at| sent(at * MS, false)).into();
        assert_eq!(rack.timed_out_at(), None);
        rack.on_timeout(7, 100 * MS);
        let lost: Vec<bool> = rack.segments.iter().map(|one| one.lost).collect();
        assert_eq!(lost, [true, true, true, false]);
        assert_eq!((rack.timed_out_at(), rack.lost, rack.in_flight), (Some(7), 3, 6));
        assert_eq!(rack.found_lost.drain().collect::<Vec<_>>(), [7, 8, 9]);
    }

    /// RFC 2883 section 4: the first block reports what came twice where it is below the acknowledgement, or
    /// inside the second one; no block does not.
    #[test]
    fn rfc2883_s4_the_first_block_may_report_a_duplicate() {
        for (sack, duplicate) in [
            ([[0, 0], [0, 0]], None),
            ([[3, 5], [0, 0]], Some([3, 5])),
            ([[9, 10], [0, 0]], Some([9, 10])),
            ([[9, 11], [0, 0]], None),
            ([[12, 14], [12, 14]], Some([12, 14])),
            ([[12, 14], [11, 15]], Some([12, 14])),
            ([[12, 14], [13, 15]], None),
            ([[12, 14], [11, 13]], None),
            ([[12, 14], [20, 25]], None),
        ] {
            let ack = Ack { ack: 10, sack: [sack[0], sack[1], [0, 0]], ..Ack::default() };
            assert_eq!(RackTlp::find_duplicate(&ack), duplicate, "{sack:?}");
        }
    }

    /// Section 7.4.2: the episode ends when its segment is acknowledged: without more for new data, or where a D-SACK
    /// reports that the probe came twice; with the answer to a loss where more is acknowledged; a duplicate without
    /// blocks says that both came.
    #[test]
    fn s7_4_2_a_probe_is_answered_by_what_the_acknowledgement_says() {
        for (again, number, sack, duplicate, is_over, is_reduced) in [
            (true, 4, [0, 0], None, false, false),
            (false, 5, [0, 0], None, true, false),
            (true, 6, [4, 5], Some([4, 5]), true, false),
            (true, 6, [3, 4], Some([3, 4]), true, true),
            (true, 6, [0, 0], None, true, true),
            (true, 5, [7, 8], None, false, false),
            (true, 5, [0, 0], None, true, false),
        ] {
            let config = TcpConfig { variant: Variant::Rack, ..plain() };
            let mut sender = Sender::new(&config);
            state(&mut sender).probe = Some((5, again));
            let ack = Ack { ack: number, sack: [sack, [0, 0], [0, 0]], ..Ack::default() };
            answer_probe(&mut sender, &ack, duplicate, false);
            assert_eq!(state(&mut sender).probe.is_none(), is_over, "{again} {number} {sack:?}");
            assert_eq!(sender.window.cwnd < 10.0, is_reduced, "{again} {number} {sack:?}");
        }
    }
}
