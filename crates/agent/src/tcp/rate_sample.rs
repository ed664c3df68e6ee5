//! Rate samples: the rate of delivery, from a note stored with each segment.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation sections 3.1 to 3.3; Linux 6.1,
//! `net/ipv4/tcp_rate.c`. Times are in full microseconds.
//! A sample is limited where the application (`application.rs`) or a control held the sender back; the end
//! of a transfer sends nothing that would be sampled.

use super::lost_segments::LostSegments;
use super::send_pace::SendContext;
use super::Ack;
use std::collections::VecDeque;
use trunkline_units::{Span, Time};

const US: Span = 1_000;

/// Note stored with a segment when it is sent.
#[derive(Clone, Copy, Debug)]
struct SegmentNote {
    sent_at: Time, // [us]
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    marked: u64,
    lost: u64,
    in_flight: u32, // with it
    limited: bool,
    resent: bool,
    done: bool, // delivered
}

/// A segment found lost, and the network when it was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostSegment {
    pub seq: u32,
    /// Segments in the network, with it.
    pub in_flight: u32,
    /// Segments found lost since, with it.
    pub lost_since: u64,
    /// The application had nothing more to send.
    pub limited: bool,
}

/// A sample of the path by an acknowledgement, for controls that steer by it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    pub now: Time,
    /// Segments delivered and the time that took [us]; none where unknown.
    pub delivered: Option<(u64, Span)>,
    /// Segments that had been delivered when the last of them was sent.
    pub prior_delivered: u64,
    /// The rate was less than the path may give.
    pub limited: bool,
    /// Segments in the network when the last of them was sent, with it; found lost since; delivered
    /// with a mark since.
    pub sent_in_flight: u32,
    pub lost_since: u64,
    pub marked_since: u64,
    /// Round trip of the segment delivered last that went once [us].
    pub rtt: Option<Span>,
    /// Smoothed round trip [us].
    pub srtt: Option<Span>,
    /// Segments that this acknowledgement delivered, and those it showed to be lost.
    pub acked: u32,
    pub lost: u32,
    /// Segments in the network before and after it.
    pub prior_in_flight: u32,
    pub in_flight: u32,
    /// A loss is being repaired after duplicates, or after a timeout.
    pub recovering: bool,
    pub timed_out: bool,
    /// Segments delivered, delivered with a mark, and lost since the start, and when the last was
    /// delivered [us].
    pub total: u64,
    pub total_marked: u64,
    pub total_lost: u64,
    pub delivered_at: Time,
    /// When the next may go [us].
    pub next_at: Time,
    /// The window was full at some time in the last round trip.
    pub window_full: bool,
}

/// Notes of the outstanding segments.
#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    first: u32, // number of the first entry
    noted: VecDeque<SegmentNote>,
    outstanding: u32,
    delivered: u64,
    marked: u64,        // of these, by acknowledgements with ECN-Echo
    full_until: u64,    // deliveries until the segment that filled the window is one of them
    delivered_at: Time, // [us]
    first_sent: Time,   // of the segment delivered last [us]
    limited_until: u64, // 0: not limited
    least_rtt: Option<Span>,
}

impl RateSampler {
    /// A segment is sent, for the first time or again.
    pub fn sent(&mut self, seq: u32, now: Time, known: &SendContext, window: f64) {
        let now = now / US;
        if self.outstanding == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let (fresh, index) = (self.first + self.noted.len() as u32, seq.wrapping_sub(self.first));
        let noted = SegmentNote {
            sent_at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            marked: self.marked,
            lost: known.found_lost,
            in_flight: known.in_flight,
            limited: self.limited_until > 0,
            resent: seq < fresh,
            done: false,
        };
        if f64::from(known.in_flight) >= window.trunc() {
            self.full_until = self.delivered + u64::from(known.in_flight);
        }
        if seq >= fresh {
            self.noted.push_back(noted);
            self.outstanding += 1;
        } else if let Some(old) = self.noted.get_mut(index as usize).filter(|old| !old.done) {
            *old = noted;
        }
    }

    /// The connection is open, after a round trip [us].
    pub fn open(&mut self, rtt: Option<Span>) {
        self.least_rtt = rtt;
    }

    /// The application, or a control, declares that the network holds less than the path could take.
    pub fn limit(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// The segments found lost that are still outstanding.
    pub fn describe_losses<'a>(
        &'a self,
        lost: &'a mut LostSegments,
    ) -> impl Iterator<Item = LostSegment> + 'a {
        let mut count = lost.count() - lost.unheard();
        lost.drain().filter_map(move |seq| {
            count += 1;
            let note = self.noted.get(seq.wrapping_sub(self.first) as usize)?;
            Some(LostSegment {
                seq,
                in_flight: note.in_flight,
                lost_since: count.saturating_sub(note.lost),
                limited: note.limited,
            })
        })
    }

    /// An acknowledgement arrived: the segments it delivers, and the sample it gives. `lost` segments
    /// were found lost since the start. The sender fills in the fields that it knows.
    pub fn sample(&mut self, ack: &Ack, now: Time, lost: u64) -> RateSample {
        let now_us = now / US;
        let mut newest: Option<(SegmentNote, u32)> = None;
        let (mut acked, mut last_once) = (0, None);
        let end = self.first + self.noted.len() as u32;
        let acknowledged_blocks = [[self.first, ack.ack], ack.sack[0], ack.sack[1], ack.sack[2]];
        for [from, to] in acknowledged_blocks {
            for seq in from.max(self.first)..to.min(end) {
                let noted = &mut self.noted[(seq - self.first) as usize];
                if std::mem::replace(&mut noted.done, true) {
                    continue;
                }
                acked += 1;
                last_once = if noted.resent { last_once } else { Some(noted.sent_at) };
                if newest.is_none_or(|(old, at)| (noted.sent_at, seq) > (old.sent_at, at)) {
                    newest = Some((*noted, seq));
                }
            }
        }
        for _ in self.first..ack.ack.min(end) {
            self.noted.pop_front();
            self.first += 1;
        }
        self.outstanding -= acked;
        self.delivered += u64::from(acked);
        self.marked += if ack.ece { u64::from(acked) } else { 0 };
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if acked > 0 {
            self.delivered_at = now_us;
        }
        let rtt = last_once.map(|sent| now_us - sent);
        self.least_rtt = self.least_rtt.min(rtt).or(self.least_rtt).or(rtt);
        let mut sample = RateSample { now, acked, rtt, total_lost: lost, ..self.totals() };
        if let Some((newest, _)) = newest {
            self.first_sent = newest.sent_at;
            sample.prior_delivered = newest.delivered;
            sample.limited = newest.limited;
            sample.sent_in_flight = newest.in_flight;
            sample.lost_since = lost.saturating_sub(newest.lost);
            sample.marked_since = self.marked - newest.marked;
            // The longer of sending and acknowledging; less than a round trip gives no sample.
            let sending = newest.sent_at - newest.first_sent;
            let interval = sending.max(now_us - newest.delivered_at);
            let delivered = self.delivered - newest.delivered;
            sample.delivered =
                (interval >= self.least_rtt.unwrap_or(0).max(1)).then_some((delivered, interval));
        }
        sample
    }

    /// A sample without news.
    pub fn totals(&self) -> RateSample {
        RateSample {
            total: self.delivered,
            total_marked: self.marked,
            window_full: self.delivered <= self.full_until,
            delivered_at: self.delivered_at,
            ..RateSample::default()
        }
    }
}

#[cfg(test)]
mod delivery_rate {
    use super::*;

    const MS: Span = 1_000_000;
    const OPEN: SendContext = SendContext { in_flight: 1, found_lost: 0 };

    fn ack(ack: u32) -> Ack {
        Ack { ack, ..Ack::default() }
    }

    /// Ten at once at 0, acknowledged one each 1 ms from 100 ms on: the second's sample is 2 segments
    /// since the send at 0, in 101 ms. The first of the next ten, sent at 100 ms when 1 was delivered
    /// and acknowledged at 200 ms after 9 more: 10 in 100 ms.
    #[test]
    fn s3_1_delivered_since_the_segment_was_sent() {
        let mut sampler = RateSampler::default();
        (0..10).for_each(|seq| sampler.sent(seq, 0, &OPEN, 100.0));
        for each in 0..10u32 {
            let now = (100 + u64::from(each)) * MS;
            let sample = sampler.sample(&ack(each + 1), now, 0);
            assert_eq!(sample.rtt, Some(100_000 + 1000 * u64::from(each)));
            assert_eq!(sample.delivered, Some((u64::from(each) + 1, sample.rtt.unwrap())));
            sampler.sent(10 + each, now, &OPEN, 100.0);
        }
        let sample = sampler.sample(&ack(11), 200 * MS, 0);
        assert_eq!((sample.delivered, sample.prior_delivered), (Some((10, 100_000)), 1));
    }

    /// Sent over 50 ms, acknowledged at once, by a burst of ACKs: the sending is the longer: from the
    /// first, at 0, to the last, at 50 ms; but that is less than the least round trip, 60 ms.
    #[test]
    fn s3_2_the_longer_of_sending_and_acknowledging_and_no_less_than_a_round_trip() {
        let mut sampler = RateSampler::default();
        sampler.sent(0, 0, &OPEN, 100.0);
        sampler.sample(&ack(1), 60 * MS, 0);
        for seq in 1..12 {
            sampler.sent(seq, 60 * MS + u64::from(seq) * 5 * MS, &OPEN, 100.0);
        }
        // 1 was sent at 65 ms with nothing outstanding: both phases begin there. It took 120 ms.
        assert_eq!(sampler.sample(&ack(2), 185 * MS, 0).delivered, Some((1, 120_000)));
        // 2 to 11 together: 11 was sent 50 ms after 1, and arrived 120 ms after 1 was sent.
        assert_eq!(sampler.sample(&ack(12), 185 * MS, 0).delivered, Some((11, 120_000)));
    }

    /// A block delivers once; a segment sent again gives no round trip.
    #[test]
    fn s3_3_a_block_counts_once_and_a_retransmission_has_no_round_trip() {
        let mut sampler = RateSampler::default();
        (0..4).for_each(|seq| sampler.sent(seq, 0, &OPEN, 100.0));
        let blocks = Ack { ack: 0, sack: [[1, 4], [0; 2], [0; 2]], ..Ack::default() };
        assert_eq!(sampler.sample(&blocks, 100 * MS, 0).acked, 3);
        assert_eq!(sampler.sample(&blocks, 101 * MS, 0).acked, 0);
        sampler.sent(0, 101 * MS, &OPEN, 100.0);
        let last = sampler.sample(&ack(4), 201 * MS, 0);
        assert_eq!((last.acked, last.rtt, last.total), (1, None, 4));
    }

    /// Section 4.1.2.4 of the draft: the bubble is past when all that is in flight now has been delivered, and
    /// one segment at least.
    #[test]
    fn s4_3_a_limit_lasts_until_what_is_in_flight_is_delivered() {
        for (delivered, in_flight, until) in [(5, 3, 8), (5, 0, 5), (0, 0, 1)] {
            let mut sampler = RateSampler { delivered, ..RateSampler::default() };
            sampler.limit(in_flight);
            assert_eq!(sampler.limited_until, until);
        }
        for (full_until, window_full) in [(4, false), (5, true), (6, true)] {
            let sampler = RateSampler { delivered: 5, full_until, ..RateSampler::default() };
            assert_eq!(sampler.totals().window_full, window_full, "{full_until}");
        }
    }
}
