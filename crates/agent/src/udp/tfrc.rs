//! TFRC: a source of datagrams whose rate is what a TCP connection would get.
//!
//! Source: RFC 5348: the equation of section 3.1, the sender of section 4, loss events and their rate of
//! section 5, the receiver of section 6. Sizes are those of IP packets. The equation is inverted exactly,
//! without the 5 % of tolerance that 6.3.1 allows. Absent: reduction of oscillations (4.5, optional), an
//! idle application.

use std::collections::VecDeque;
use trunkline_units::{Span, Time, NEVER, SECOND};

/// Section 4.3: t_mbi, the longest time from one datagram to the next.
const MAX_GAP_S: f64 = 64.0;
/// Section 5.1: packets with higher numbers that mean a loss.
const LATER_ARRIVALS: u32 = 3;
/// Section 5.4: intervals in the average, and their weights.
pub(super) const INTERVAL_WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Section 5.5: no interval is discounted below this.
const LEAST_DISCOUNT: f64 = 0.25;

/// Section 3.1 with b = 1 and t_RTO = 4 R: bytes per second of segments of `size` B at a round trip
/// [s] and a loss event rate above 0.
#[must_use]
pub fn throughput(size: f64, rtt: f64, p: f64) -> f64 {
    size / (rtt * rate_term(p))
}

fn rate_term(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

/// Section 6.3.1: X_target is at least so many packets in a round trip.
const LEAST_TARGET: f64 = 0.5;

/// The loss event rate at which the equation gives so many packets in a round trip.
fn invert(packets: f64) -> f64 {
    let (mut low, mut high) = (1e-9_f64, 1.0_f64);
    for _ in 0..60 {
        let middle: f64 = (low * high).sqrt();
        if 1.0 / rate_term(middle) > packets {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn seconds(span: Span) -> f64 {
    span as f64 / SECOND as f64
}

/// Report of a receiver (section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// When the last datagram was sent, later by the time that the receiver held it.
    pub echo: Time,
    /// Bytes per second received since the last feedback.
    pub received_rate: f64,
    /// Loss event rate.
    pub loss_rate: f64,
}

/// Sending end.
#[derive(Clone, Debug)]
pub struct TfrcSender {
    size: f64,
    max_rate: f64, // of the application [B/s]
    rate: f64,     // X [B/s]
    rtt: Option<f64>,
    loss_rate: f64,
    doubled_at: Time,           // tld
    received: Vec<(Time, f64)>, // X_recv_set
    expires_at: Time,           // nofeedback timer
    last_sent: Time,
    next_at: Time,
}

impl TfrcSender {
    /// A sender of datagrams of `bytes` from `start` on, of at most `max_bit_s`.
    #[must_use]
    pub fn new(bytes: u16, max_bit_s: Option<u64>, start: Time) -> Self {
        let size = f64::from(bytes);
        Self {
            size,
            max_rate: max_bit_s.map_or(f64::INFINITY, |rate| rate as f64 / 8.0),
            // Section 4.2: one packet a second before the first feedback, a timer of 2 s.
            rate: size,
            rtt: None,
            loss_rate: 0.0,
            doubled_at: 0,
            received: vec![(start, f64::INFINITY)],
            expires_at: start + 2 * SECOND,
            last_sent: start,
            next_at: start,
        }
    }

    /// When it next sends, or its nofeedback timer runs out.
    #[must_use]
    pub fn wakes_at(&self) -> Time {
        self.next_at.min(self.expires_at)
    }

    /// Round trip that datagrams carry [ns]; 0 before the first sample.
    #[must_use]
    pub fn rtt(&self) -> Span {
        self.rtt.map_or(0, |rtt| (rtt * SECOND as f64) as Span)
    }

    /// The allowed rate [B/s].
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate.min(self.max_rate)
    }

    /// The time of [`Self::wakes_at`] has come. True: a datagram goes now.
    pub fn wake(&mut self, now: Time) -> bool {
        if now >= self.expires_at {
            self.on_no_feedback(now);
        }
        if now < self.next_at {
            return false;
        }
        self.last_sent = now;
        self.plan_next(now);
        true
    }

    /// Section 4.6: s / X after the last.
    fn plan_next(&mut self, now: Time) {
        let gap = (self.size / self.rate() * SECOND as f64) as Span;
        self.next_at = (self.last_sent + gap.max(1)).max(now);
    }

    fn least(&self) -> f64 {
        self.size / MAX_GAP_S
    }

    fn most_received(&self) -> f64 {
        self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// Section 4.2: W_init / R.
    fn initial_rate(&self, rtt: f64) -> f64 {
        (4.0 * self.size).min((2.0 * self.size).max(4380.0)) / rtt
    }

    fn set_timer(&mut self, now: Time) {
        let after = (4.0 * self.rtt.unwrap_or(0.5)).max(2.0 * self.size / self.rate);
        self.expires_at = now + (after * SECOND as f64) as Span;
    }

    /// Section 4.3.
    pub fn on_feedback(&mut self, feedback: &Feedback, now: Time) {
        let sample = seconds(now.saturating_sub(feedback.echo)).max(1e-9);
        let first = self.rtt.is_none();
        let rtt = self.rtt.map_or(sample, |rtt| 0.9 * rtt + 0.1 * sample);
        self.rtt = Some(rtt);
        let grew = feedback.loss_rate > self.loss_rate;
        self.loss_rate = feedback.loss_rate;
        let limited = self.max_rate <= self.rate;
        let limit = self.note_received(feedback.received_rate, limited, grew, now);
        if first && self.loss_rate == 0.0 {
            (self.rate, self.doubled_at) = (self.initial_rate(rtt), now);
        } else {
            self.allow(limit, now);
        }
        self.set_timer(now);
        self.plan_next(now);
    }

    /// Section 4.3 step 4, its part that keeps X_recv_set; returns recv_limit.
    fn note_received(&mut self, rate: f64, limited: bool, grew: bool, now: Time) -> f64 {
        let old = (2.0 * self.rtt.unwrap_or(0.0) * SECOND as f64) as Span;
        if limited {
            let mut rate = rate;
            if grew {
                self.received.iter_mut().for_each(|(_, rate)| *rate /= 2.0);
                rate *= 0.85;
            }
            let before = self.received.iter().map(|(_, rate)| *rate);
            let most = before.filter(|rate| rate.is_finite()).fold(rate, f64::max);
            self.received = vec![(now, most)];
            return if grew { most } else { 2.0 * most };
        }
        self.received.push((now, rate));
        self.received.retain(|(at, rate)| now - at <= old && rate.is_finite());
        2.0 * self.most_received()
    }

    /// Section 4.3 step 4: the equation, or slow start.
    fn allow(&mut self, limit: f64, now: Time) {
        let Some(rtt) = self.rtt else { return };
        if self.loss_rate > 0.0 {
            let calculated = throughput(self.size, rtt, self.loss_rate);
            self.rate = calculated.min(limit).max(self.least());
        } else if seconds(now - self.doubled_at) >= rtt {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(rtt));
            self.doubled_at = now;
        }
    }

    /// Section 4.4; the sender is never idle.
    fn on_no_feedback(&mut self, now: Time) {
        let received = self.most_received();
        match self.rtt {
            Some(rtt) if self.loss_rate > 0.0 => {
                let calculated = throughput(self.size, rtt, self.loss_rate);
                let limit = if calculated > 2.0 * received { received } else { calculated / 2.0 };
                self.received = vec![(now, limit.max(self.least()) / 2.0)];
                self.allow(2.0 * self.most_received(), now);
            }
            _ => self.rate = (self.rate / 2.0).max(self.least()),
        }
        self.set_timer(now);
        self.plan_next(now);
    }
}

/// Numbers from the first missing on, and the arrivals around them, of a loss that is not yet sure.
#[derive(Clone, Copy, Debug)]
struct ArrivedDatagram {
    seq: u32,
    at: Time,
}

/// Receiving end: loss events, their rate, and when to report.
#[derive(Clone, Debug)]
pub struct TfrcReceiver {
    size: f64,
    recent: VecDeque<ArrivedDatagram>, // the highest, of those that may yet show a loss
    settled: Option<ArrivedDatagram>,  // all up to it has arrived or is lost
    event: Option<(u32, Time)>,        // first loss of the current loss event: S_loss, T_loss
    closed: VecDeque<(f64, f64)>,      // lengths of intervals that ended, and their discounts
    rtt: Span,
    bytes: u64, // since the last report
    reported_at: Time,
    last: Option<(Time, Time)>, // sent and received
    due: Time,
    max_rate: f64, // X_recv, the largest so far
}

impl TfrcReceiver {
    /// A receiver of datagrams of `bytes`.
    #[must_use]
    pub fn new(bytes: u16) -> Self {
        Self {
            size: f64::from(bytes),
            recent: VecDeque::new(),
            settled: None,
            event: None,
            closed: VecDeque::new(),
            rtt: 0,
            bytes: 0,
            reported_at: 0,
            last: None,
            due: NEVER,
            max_rate: 0.0,
        }
    }

    /// When its feedback timer runs out.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Section 6.1: a datagram arrived; the sender's round trip is `rtt` [ns], 0: unknown. True: report now.
    pub fn on_datagram(
        &mut self,
        seq: u32,
        bytes: u16,
        (sent_at, rtt): (Time, Span),
        now: Time,
    ) -> bool {
        let first = self.last.is_none();
        self.bytes += u64::from(bytes);
        self.rtt = if rtt > 0 { rtt } else { self.rtt };
        self.last = Some((sent_at, now));
        let before = self.loss_rate();
        self.place(ArrivedDatagram { seq, at: now });
        self.settle(now);
        if first {
            self.reported_at = now;
            return true;
        }
        // Section 6.1 step 3: a new loss event reports at once.
        self.loss_rate() > before
    }

    fn place(&mut self, arrived: ArrivedDatagram) {
        if self.settled.is_some_and(|settled| arrived.seq <= settled.seq) {
            return; // given up, or a copy
        }
        let index = self.recent.partition_point(|one| one.seq < arrived.seq);
        if self.recent.get(index).is_none_or(|one| one.seq != arrived.seq) {
            self.recent.insert(index, arrived);
        }
    }

    /// Section 5.1: a gap is a loss once three with higher numbers have arrived.
    fn settle(&mut self, now: Time) {
        while let Some(&next) = self.recent.front() {
            let missing = self.settled.map_or(0, |settled| settled.seq + 1)..next.seq;
            if !missing.is_empty() && (self.recent.len() as u32) < LATER_ARRIVALS {
                return;
            }
            for lost in missing {
                self.lose(lost, next, now);
            }
            self.settled = self.recent.pop_front();
        }
    }

    /// Sections 5.2 and 5.3: a loss begins an event unless it came within a round trip of the last one's first.
    fn lose(&mut self, seq: u32, after: ArrivedDatagram, now: Time) {
        let at = self.settled.map_or(after.at, |before| {
            let share = f64::from(seq - before.seq) / f64::from(after.seq - before.seq);
            before.at + ((after.at.saturating_sub(before.at)) as f64 * share) as Span
        });
        match self.event {
            Some((_, since)) if at <= since + self.rtt => return,
            Some((first, _)) => self.close(f64::from(seq - first)),
            None => self.closed.push_front((self.first_interval(now), 1.0)),
        }
        self.event = Some((seq, at));
    }

    /// Section 6.3.1: the interval that stands for X_target, the largest X_recv so far, or for the least of
    /// it where the first datagram is lost.
    fn first_interval(&self, now: Time) -> f64 {
        let largest = self.settled.map_or(0.0, |_| self.received_rate(now).max(self.max_rate));
        let packets = largest * seconds(self.rtt) / self.size;
        1.0 / invert(packets.max(LEAST_TARGET))
    }

    /// Section 5.5: an interval ends, and what is before it keeps the discount of the moment.
    fn close(&mut self, length: f64) {
        let discount = self.discount_at(length);
        self.closed.iter_mut().for_each(|(_, factor)| *factor *= discount);
        self.closed.push_front((length, 1.0));
        self.closed.truncate(INTERVAL_WEIGHTS.len());
    }

    /// Sections 5.4 and 5.5. The oldest interval counts only in the mean without the current one.
    #[must_use]
    pub fn loss_rate(&self) -> f64 {
        let Some((first, _)) = self.event else { return 0.0 };
        let top = self.recent.back().or(self.settled.as_ref()).map_or(first, |last| last.seq);
        let current = f64::from(top.saturating_sub(first) + 1);
        let discount = self.discount_at(current);
        let (mut length, mut weight) = (current, 1.0);
        let (mut length_closed, mut weight_closed) = (0.0, 0.0);
        for (index, (interval, factor)) in self.closed.iter().enumerate() {
            length_closed += INTERVAL_WEIGHTS[index] * factor * interval;
            weight_closed += INTERVAL_WEIGHTS[index] * factor;
            if index + 1 < self.closed.len() {
                let later = INTERVAL_WEIGHTS[index + 1];
                length += later * factor * discount * interval;
                weight += later * factor * discount;
            }
        }
        (weight / length).min(weight_closed / length_closed).min(1.0)
    }

    /// Discount of the closed intervals besides a current one of that length.
    fn discount_at(&self, current: f64) -> f64 {
        let weighed = self.closed.iter().zip(INTERVAL_WEIGHTS);
        let (length, weight) = weighed.fold((0.0, 0.0), |(length, weight), (one, w)| {
            (length + w * one.1 * one.0, weight + w * one.1)
        });
        let mean = length / weight;
        if current > 2.0 * mean {
            (2.0 * mean / current).max(LEAST_DISCOUNT)
        } else {
            1.0
        }
    }

    fn received_rate(&self, now: Time) -> f64 {
        // Section 6.2: over a round trip at least.
        let span = (now - self.reported_at).max(self.rtt).max(1);
        self.bytes as f64 / seconds(span)
    }

    /// Section 6.2: the report of now. None: nothing has arrived since the last.
    pub fn report(&mut self, now: Time) -> Option<Feedback> {
        self.due = now + self.rtt.max(1_000_000);
        let (sent_at, arrived) = self.last.filter(|_| self.bytes > 0)?;
        let received_rate = self.received_rate(now);
        if now > self.reported_at {
            self.max_rate = self.max_rate.max(received_rate); // the first report knows no rate
        }
        (self.bytes, self.reported_at) = (0, now);
        let echo = sent_at + (now - arrived);
        Some(Feedback { echo, received_rate, loss_rate: self.loss_rate() })
    }
}

#[cfg(test)]
mod rfc5348 {
    use super::*;

    const MS: Span = 1_000_000;

    /// Section 3.1 by hand: s 1000 B, R 0.1 s, p 0.01: sqrt(2 p / 3) is 0.081650, 12 sqrt(3 p / 8) p (1 + 32 p^2)
    /// 0.0073719, so X is 1000 / (0.1 * 0.0890217) = 112 332 B/s. At p 0.1: 0.258199 + 0.306753, 17 701 B/s.
    #[test]
    fn s3_1_the_equation_gives_the_rate_of_tcp() {
        assert!((throughput(1000.0, 0.1, 0.01) - 112_332.0).abs() < 2.0);
        assert!((throughput(1000.0, 0.1, 0.1) - 17_701.0).abs() < 2.0);
        assert!((invert(112_332.0 * 0.1 / 1000.0) - 0.01).abs() < 1e-6);
    }

    /// A datagram a millisecond at a round trip of 20 ms, without those of `lost`.
    fn receive(count: u32, lost: &[u32]) -> TfrcReceiver {
        let mut receiver = TfrcReceiver::new(1000);
        for seq in (0..count).filter(|seq| !lost.contains(seq)) {
            let now = u64::from(seq) * MS;
            receiver.on_datagram(seq, 1000, (now, 20 * MS), now);
            if seq % 20 == 0 {
                receiver.report(now);
            }
        }
        receiver
    }

    /// Section 5.1: a loss is sure once three with higher numbers have arrived.
    #[test]
    fn s5_1_three_later_arrivals_make_a_loss() {
        assert_eq!(receive(53, &[50]).loss_rate(), 0.0);
        assert!(receive(54, &[50]).loss_rate() > 0.0);
    }

    /// Section 5.2: losses within a round trip (20 datagrams) of the first are one event, one beyond is another: with the
    /// history of before the sixty datagrams from 100 to 160, not 100 to 110.
    #[test]
    fn s5_2_losses_within_a_round_trip_are_one_event() {
        assert_eq!(receive(300, &[100]).loss_rate(), receive(300, &[100, 110, 119]).loss_rate());
        let two = receive(300, &[100, 160]);
        assert_eq!(two.closed.front(), Some(&(60.0, 1.0)));
        assert_eq!(two.closed.len(), 2);
    }

    fn every_hundredth(until: u32) -> Vec<u32> {
        (1..=10).map(|number| 100 * number).filter(|seq| *seq < until).collect()
    }

    /// Section 5.4: of nine intervals of 100 the mean is 100, and as long as the current one is shorter it is not counted.
    #[test]
    fn s5_4_the_rate_is_one_over_the_weighed_mean_interval() {
        let receiver = receive(1050, &every_hundredth(1050));
        assert!((receiver.loss_rate() - 0.01).abs() < 1e-9, "{}", receiver.loss_rate());
    }

    /// Section 5.5: 400 since the last loss, twice the mean of 100 and more: the others count half. 400 + 100 * 5 / 2 over
    /// 1 + 5 / 2 weights: 3.5 / 650, where without discounting it is 6 / 900.
    #[test]
    fn s5_5_a_long_interval_discounts_those_before_it() {
        let receiver = receive(1400, &every_hundredth(1400));
        assert!((receiver.loss_rate() - 3.5 / 650.0).abs() < 1e-9, "{}", receiver.loss_rate());
    }

    /// Section 5.5 by hand: intervals of 100, 200 and 400 with discounts of 1, 1/2 and 1/4: 300 over weights of 1.75. A
    /// current one of 50 is left out: with it 250 over 2.5 is the larger rate. One of 1000 is above twice the mean of 171.4,
    /// so the others, but for the oldest, count 342.9 / 1000 more: 1000 + 68.571 over 1 + 0.514.
    #[test]
    fn s5_5_closed_intervals_count_by_their_discounts() {
        let arrived = |seq| ArrivedDatagram { seq, at: 0 };
        let mut receiver = TfrcReceiver::new(1000);
        receiver.event = Some((1000, 0));
        receiver.closed = VecDeque::from([(100.0, 1.0), (200.0, 0.5), (400.0, 0.25)]);
        receiver.settled = Some(arrived(1049));
        assert!((receiver.loss_rate() - 1.75 / 300.0).abs() < 1e-12);
        receiver.settled = Some(arrived(1999));
        let discount = 2.0 * 300.0 / 1.75 / 1000.0;
        let expected = (1.0 + discount * 1.5) / (1000.0 + discount * 200.0);
        assert!((receiver.loss_rate() - expected).abs() < 1e-12);
        // From the fifth on the weights are 0.8, 0.6, 0.4 and 0.2; the current one moves each one down.
        receiver.closed = (1..=8).map(|number| (f64::from(number) * 10.0, 0.5)).collect();
        receiver.settled = Some(arrived(1000));
        // (10 + 20 + 30 + 40) + 0.8 * 50 + 0.6 * 60 + 0.4 * 70 + 0.2 * 80 = 220 over 6, both halved.
        assert!((receiver.loss_rate() - 6.0 / 220.0).abs() < 1e-12);
        receiver.settled = Some(arrived(1059));
        // 60 + (10 + 20 + 30 + 0.8 * 40 + 0.6 * 50 + 0.4 * 60 + 0.2 * 70) / 2 = 140 over 1 + 2.5.
        assert!((receiver.loss_rate() - 3.5 / 140.0).abs() < 1e-12);
    }

    /// Section 6.2: the timer runs for a round trip from each report on.
    #[test]
    fn s6_2_the_feedback_timer_is_a_round_trip() {
        let mut receiver = receive(100, &[]);
        receiver.report(100 * MS);
        assert_eq!(receiver.due(), 120 * MS);
        assert_eq!(TfrcReceiver::new(1000).due(), NEVER);
    }

    /// Section 6.3.1: 20 datagrams of 1000 B come in each round trip of 20 ms, so X_target is 1 MB/s. There the
    /// equation has p = 0.00352: 20 (0.048443 + 0.001535) = 0.9996. Until the current interval is longer than
    /// 1 / p, 284, it does not count (section 5.4 with k = 1).
    #[test]
    fn s6_3_1_the_first_interval_gives_the_rate_received() {
        for count in [54, 300] {
            let rate = receive(count, &[50]).loss_rate();
            assert!((throughput(1000.0, 0.02, rate) / 1e6 - 1.0).abs() < 1e-6, "{rate}");
            assert!((rate - 0.00352).abs() < 0.00002, "{rate}");
        }
        // 50 to 449: 400, and no mean of both.
        let rate = receive(450, &[50]).loss_rate();
        assert!((rate - 1.0 / 400.0).abs() < 1e-9, "{rate}");
    }

    /// Section 6.3.1: X_target is the largest X_recv so far, not the last: here the rate falls to a half for 20 round trips.
    #[test]
    fn s6_3_1_the_largest_rate_received_counts() {
        let mut receiver = TfrcReceiver::new(1000);
        let mut now = 0;
        for seq in 0..404_u32 {
            now += if seq < 200 { MS } else { 2 * MS };
            if seq != 400 {
                receiver.on_datagram(seq, 1000, (now, 20 * MS), now);
            }
            if seq % 20 == 0 {
                receiver.report(now);
            }
        }
        let rate = throughput(1000.0, 0.02, receiver.loss_rate());
        assert!((rate / 1e6 - 1.0).abs() < 1e-6, "{rate}");
    }

    /// Section 6.3.1: where the first datagrams are lost X_target is half a packet in a round trip, a loss event rate of
    /// 20.64 % (as Linux's CCID 3 has it); it is never below.
    #[test]
    fn s6_3_1_a_first_loss_leaves_half_a_packet_in_a_round_trip() {
        for (count, lost) in [(4, &[0][..]), (6, &[0, 1, 2][..])] {
            let receiver = receive(count, lost);
            assert_eq!(receiver.event.map(|event| event.0), Some(0));
            let rate = 1.0 / receiver.closed[0].0;
            assert!((rate - 0.2064).abs() < 0.0001, "{rate}");
        }
        // One a second at a round trip of 20 ms.
        let mut receiver = TfrcReceiver::new(1000);
        for seq in [0, 1, 2, 4, 5, 6] {
            let now = Time::from(seq) * SECOND;
            receiver.on_datagram(seq, 1000, (now, 20 * MS), now);
            receiver.report(now);
        }
        assert!((receiver.loss_rate() - 0.2064).abs() < 0.0001, "{}", receiver.loss_rate());
    }

    fn with_intervals(closed: &[(f64, f64)], current: u32) -> TfrcReceiver {
        let mut receiver = TfrcReceiver::new(1000);
        receiver.closed = closed.iter().copied().collect();
        receiver.event = Some((0, 0));
        receiver.settled = Some(ArrivedDatagram { seq: current - 1, at: 0 });
        receiver
    }

    /// Section 5.4 with k = 3 intervals: I_0 to I_3 are 40, 10, 20, 90. I_tot0 = 40 + 10 + 20 = 70, I_tot1 = 10 + 20 + 90
    /// = 120, W_tot = 3: p = 3 / 120. With I_0 = 100: 130 and 120, p = 3 / 130 (2 I_mean is 80, but see section 5.5: DF is
    /// 0.8, so W_tot0 = 1 + 1.6, I_tot0 = 100 + 0.8 * 30 = 124, and p = min(2.6 / 124, 3 / 120)).
    #[test]
    fn s5_4_the_oldest_interval_counts_only_without_the_current_one() {
        let closed = [(10.0, 1.0), (20.0, 1.0), (90.0, 1.0)];
        assert!((with_intervals(&closed, 40).loss_rate() - 3.0 / 120.0).abs() < 1e-12);
        assert!((with_intervals(&closed, 80).loss_rate() - 3.0 / 120.0).abs() < 1e-12);
        assert!((with_intervals(&closed, 100).loss_rate() - 2.6 / 124.0).abs() < 1e-12);
    }

    /// Section 5.5: DF is 2 I_mean / I_0, 0.25 at least: of intervals of 100 and 1000 since the last loss 0.25.
    /// When a loss ends the interval of 400 (DF 0.5), DF_i of those before it are halved and its own is 1: with I_0 = 1
    /// I_tot1 = 400 + 0.5 * 100, W_tot1 = 1.5.
    #[test]
    fn s5_5_discounts_are_kept_and_the_long_interval_itself_is_not_discounted() {
        let hundred = [(100.0, 1.0), (100.0, 1.0)];
        let rate = with_intervals(&hundred, 1000).loss_rate();
        assert!((rate - 1.25 / 1025.0).abs() < 1e-12, "{rate}");
        let mut receiver = with_intervals(&hundred[..1], 403);
        receiver.close(400.0);
        assert_eq!(receiver.closed, [(400.0, 1.0), (100.0, 0.5)]);
        receiver.event = Some((402, 0));
        assert!((receiver.loss_rate() - 1.5 / 450.0).abs() < 1e-12, "{}", receiver.loss_rate());
    }

    fn feedback(sent_at: Time, received_rate: f64, loss_rate: f64) -> Feedback {
        Feedback { echo: sent_at, received_rate, loss_rate }
    }

    /// Section 4.2: one packet a second; after the first feedback min(4 s, max(2 s, 4380 B)) a round trip: 4000 B in 0.1 s.
    /// Section 4.3: then twice as much each round trip, and twice what was received at most.
    #[test]
    fn s4_3_the_rate_doubles_up_to_twice_what_was_received() {
        let mut sender = TfrcSender::new(1000, None, 0);
        assert_eq!(sender.rate(), 1000.0);
        sender.on_feedback(&feedback(0, 1000.0, 0.0), 100 * MS);
        assert_eq!(sender.rate(), 40_000.0);
        sender.on_feedback(&feedback(100 * MS, 60_000.0, 0.0), 200 * MS);
        assert_eq!(sender.rate(), 80_000.0);
        sender.on_feedback(&feedback(200 * MS, 60_000.0, 0.0), 300 * MS);
        assert_eq!(sender.rate(), 120_000.0);
    }

    /// Section 4.3 step 4: with losses the equation, of which twice the received rate is the limit.
    #[test]
    fn s4_3_with_losses_the_rate_is_that_of_the_equation() {
        let mut sender = TfrcSender::new(1000, None, 0);
        sender.on_feedback(&feedback(0, 200_000.0, 0.0), 100 * MS);
        sender.on_feedback(&feedback(100 * MS, 200_000.0, 0.01), 200 * MS);
        assert!((sender.rate() / 112_332.0 - 1.0).abs() < 0.03);
        sender.on_feedback(&feedback(800 * MS, 30_000.0, 0.01), 900 * MS);
        assert_eq!(sender.rate(), 60_000.0);
    }

    /// Section 4.4: without feedback for 2 s at the start, later four round trips, half the rate: without losses X / 2; with
    /// them by X_recv_set, which is half of X_recv if the equation gives more than twice that: 50 kB/s leave 50 kB/s.
    #[test]
    fn s4_4_without_feedback_the_rate_is_halved() {
        let mut sender = TfrcSender::new(1000, None, 0);
        sender.wake(2 * SECOND);
        assert_eq!(sender.rate(), 500.0);
        let mut sender = TfrcSender::new(1000, None, 0);
        sender.on_feedback(&feedback(0, 50_000.0, 0.0), 100 * MS);
        assert_eq!(sender.expires_at, 500 * MS);
        sender.on_feedback(&feedback(100 * MS, 50_000.0, 0.01), 200 * MS);
        assert_eq!(sender.rate(), 100_000.0);
        sender.wake(600 * MS);
        assert_eq!(sender.rate(), 50_000.0);
    }

    /// Section 4.2: W_init is min(4 s, max(2 s, 4380 B)), over the round trip.
    #[test]
    fn s4_2_the_initial_window_follows_rfc_3390() {
        for (bytes, window) in
            [(500, 2000.0), (1095, 4380.0), (1460, 4380.0), (2190, 4380.0), (3000, 6000.0)]
        {
            let rate = TfrcSender::new(bytes, None, 0).initial_rate(0.5);
            assert_eq!(rate, 2.0 * window, "{bytes}");
        }
    }

    /// Section 4.3 step 4: X_recv_set keeps two round trips; recv_limit is twice its largest. Where the
    /// application limits the rate it keeps the largest alone, and a rise of the loss event rate halves what
    /// was received before and takes 0.85 of what was now.
    #[test]
    fn s4_3_the_receive_rates_of_two_round_trips_count() {
        let sender = || TfrcSender {
            rtt: Some(0.1),
            received: vec![(0, 90.0)],
            ..TfrcSender::new(1000, None, 0)
        };
        for (now, limit) in [(200 * MS, 180.0), (200 * MS + 1, 140.0)] {
            assert_eq!(sender().note_received(70.0, false, false, now), limit, "{now}");
        }
        for (rate, grew, limit) in [(70.0, false, 180.0), (70.0, true, 59.5), (50.0, true, 45.0)] {
            let mut sender = sender();
            assert_eq!(sender.note_received(rate, true, grew, 500 * MS), limit);
            let kept = if grew { limit } else { limit / 2.0 };
            assert_eq!(sender.received, [(500 * MS, kept)]);
        }
    }

    /// Section 4.4: without feedback the rate is that received, where the equation allows more than twice as
    /// much, or else half of the equation's; without a loss half of itself; never below a packet in 64 s.
    #[test]
    fn s4_4_no_feedback_halves_the_rate() {
        let by_equation = throughput(1000.0, 0.1, 0.01);
        for (received, left) in [(0.45, 0.45), (0.55, 0.5), (0.0, 0.0)] {
            let mut sender = TfrcSender {
                rtt: Some(0.1),
                loss_rate: 0.01,
                received: vec![(0, received * by_equation)],
                ..TfrcSender::new(1000, None, 0)
            };
            sender.on_no_feedback(SECOND);
            let least = 1000.0 / 64.0;
            let expected = (left * by_equation).max(least);
            assert!((sender.rate / expected - 1.0).abs() < 1e-12, "{received}: {}", sender.rate);
        }
        for (rate, left) in [(500.0, 250.0), (20.0, 1000.0 / 64.0)] {
            let mut sender = TfrcSender { rate, ..TfrcSender::new(1000, None, 0) };
            sender.on_no_feedback(SECOND);
            assert_eq!(sender.rate, left);
        }
    }

    /// Section 4.3 step 4: the receive rate that the application limits (step 3) decides, and the first report
    /// without a loss starts from W_init.
    #[test]
    fn s4_3_a_rise_of_the_loss_rate_counts_where_the_application_limits() {
        for (loss_rate, most) in [(0.02, 850.0), (0.01, 1000.0), (0.005, 1000.0)] {
            let mut sender = TfrcSender {
                rtt: Some(0.1),
                rate: 1e6,
                loss_rate: 0.01,
                received: vec![],
                ..TfrcSender::new(1000, Some(8000), 0)
            };
            let feedback = Feedback { echo: 900 * MS, received_rate: 1000.0, loss_rate };
            sender.on_feedback(&feedback, SECOND);
            assert_eq!(sender.received, [(SECOND, most)], "{loss_rate}");
        }
    }

    /// Section 4.6: s / X after the last datagram, and the application's rate at most: 4000 bit/s are 500 B/s. The
    /// nofeedback timer of 2 s (section 4.2) wakes the sender too.
    #[test]
    fn s4_6_datagrams_leave_a_size_over_the_rate_apart() {
        for (most, gap) in [(None, SECOND), (Some(4000), 2 * SECOND), (Some(400_000), SECOND)] {
            let mut sender = TfrcSender::new(1000, most, MS);
            assert_eq!((sender.rtt(), sender.wakes_at()), (0, MS));
            assert!(!sender.wake(MS - 1) && sender.wake(MS));
            assert_eq!(sender.wakes_at(), MS + gap);
        }
        // 4000 B in 100 ms: 25 ms apart, from the last datagram on. Feedback that comes later than that: now.
        for (now, next) in [(100 * MS, 100 * MS), (10 * MS, 11 * MS + MS / 2)] {
            let mut sender = TfrcSender::new(1000, None, 9 * MS);
            sender.wake(9 * MS);
            sender.on_feedback(&feedback(0, 1000.0, 0.0), now);
            assert_eq!((sender.rtt(), sender.wakes_at()), (now, next));
        }
    }

    /// Section 4.3: less than a round trip after the last doubling there is no other; a first report with losses
    /// gives the equation, twice the received rate at most.
    #[test]
    fn s4_3_the_rate_doubles_once_a_round_trip() {
        let mut sender = TfrcSender::new(1000, None, 0);
        sender.on_feedback(&feedback(0, 1000.0, 0.0), 100 * MS);
        sender.on_feedback(&feedback(90 * MS, 90_000.0, 0.0), 190 * MS);
        assert_eq!(sender.rate(), 40_000.0);
        sender.on_feedback(&feedback(100 * MS, 90_000.0, 0.0), 200 * MS);
        assert_eq!(sender.rate(), 80_000.0);
        let mut sender = TfrcSender::new(1000, None, 0);
        sender.on_feedback(&feedback(0, 1e9, 0.01), 100 * MS);
        assert!((sender.rate() / throughput(1000.0, 0.1, 0.01) - 1.0).abs() < 1e-12);
    }

    /// Section 6.1: the first datagram is reported, and the one that makes a loss event; the timer runs for a round
    /// trip, the last that a datagram carried, and 1 ms at least. Section 6.2: the echo leaves out what was held.
    #[test]
    fn s6_1_the_first_datagram_and_a_new_loss_event_are_reported_at_once() {
        let mut receiver = TfrcReceiver::new(1000);
        let mut reported = vec![];
        for seq in (0..14).filter(|seq| ![4, 5, 10].contains(seq)) {
            let at = u64::from(seq) * MS;
            if receiver.on_datagram(seq, 1000, (at, if seq == 0 { 20 * MS } else { 0 }), at) {
                reported.push(seq);
            }
        }
        assert_eq!(reported, [0, 8], "three above the gap; the second loss is in the same event");
        let report = receiver.report(15 * MS).expect("some have arrived");
        assert_eq!((report.echo, receiver.due()), (15 * MS, 35 * MS));
        assert_eq!(receiver.report(16 * MS), None);
        let mut unknown = TfrcReceiver::new(1000);
        unknown.on_datagram(0, 1000, (2 * MS, 0), 7 * MS);
        assert_eq!(unknown.report(8 * MS).map(|report| report.echo), Some(3 * MS));
        assert_eq!(unknown.due(), 9 * MS);
    }

    /// Section 5.2: T_loss lies on the line between the arrivals around the gap: of 10 at 100 ms and 14 at 120 ms,
    /// 12 at 110 ms. With a round trip of 20 ms a loss up to 130 ms is of the same event, and one later begins
    /// another, with an interval from first loss to first loss.
    #[test]
    fn s5_2_the_time_of_a_loss_lies_on_the_line_between_arrivals() {
        let mut receiver = TfrcReceiver::new(1000);
        receiver.rtt = 20 * MS;
        receiver.settled = Some(ArrivedDatagram { seq: 10, at: 100 * MS });
        receiver.lose(12, ArrivedDatagram { seq: 14, at: 120 * MS }, 125 * MS);
        assert_eq!(receiver.event, Some((12, 110 * MS)));
        receiver.settled = Some(ArrivedDatagram { seq: 20, at: 128 * MS });
        receiver.lose(21, ArrivedDatagram { seq: 22, at: 132 * MS }, 140 * MS);
        assert_eq!(receiver.event, Some((12, 110 * MS)));
        receiver.lose(21, ArrivedDatagram { seq: 22, at: 133 * MS }, 140 * MS);
        assert_eq!(receiver.event, Some((21, 130 * MS + MS / 2)));
        assert_eq!(receiver.closed.front(), Some(&(9.0, 1.0)));
    }
}
