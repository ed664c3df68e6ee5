//! RACK: a segment is lost when one sent later has arrived, and a settling time has passed.
//!
//! Source: RFC 8985 sections 6.2 and 7.2 (with SACK only). The settling time is none in recovery and
//! from the duplicate threshold on, a quarter of the least round trip otherwise, unless reordering
//! was seen; then a D-SACK makes it a quarter longer, once a round trip, until 16 recoveries have passed that
//! were not undone.

use super::retransmission_queue::RemovedSegments;
use super::timer::ticks;
use super::{AckSummary, PendingTimer, Phase, Sender};
use crate::tcp::Ack;
use trunkline_units::Time;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const MIN_TIMER_US: u64 = 2_000;
/// TCP_RACK_RECOVERY_THRESH.
const LASTING_RECOVERIES: u32 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    sent_at: Time, // of the segment sent last among those delivered
    seq: u32,
    rtt: u64, // of the segment with the highest number delivered last [us]
    advanced: bool,
    doubted: bool,           // a D-SACK arrived
    more: u64,               // quarters of a round trip beyond the first
    no_widening_before: u32, // no more before this is acknowledged
    recoveries_left: u32,    // recoveries for which the wider window stays
}

impl Rack {
    /// RFC 8985 section 6.2 step 2. The round trip is that of the segment with the highest number, not of
    /// the one sent last (`tcp_rack_advance`, which is called for each in their order): after an outage
    /// of the acknowledgements, the one that brings news of many excuses those sent soon after them.
    pub(super) fn advance(&mut self, removed: &RemovedSegments, now: Time) {
        let (Some(latest), Some(highest_sent)) = (removed.latest, removed.highest_sent) else {
            return;
        };
        self.advanced = true;
        self.rtt = (now - highest_sent) / US;
        if latest > (self.sent_at, self.seq) {
            (self.sent_at, self.seq) = latest;
        }
    }

    /// Something was sent again needlessly (RFC 8985 section 6.2 step 4).
    pub(super) fn widen_window(&mut self) {
        self.doubted = true;
    }

    /// `una` is acknowledged, `next` is next to send.
    fn widen_on_duplicate(&mut self, una: u32, next: u32) {
        if std::mem::take(&mut self.doubted) && una >= self.no_widening_before {
            (self.more, self.no_widening_before, self.recoveries_left) =
                ((self.more + 1).min(254), next, LASTING_RECOVERIES);
        } else if self.recoveries_left == 0 {
            self.more = 0;
        }
    }

    /// A reduction was undone, since all sent again arrived twice.
    pub(super) fn undid_by_duplicates(&mut self) {
        self.recoveries_left = (self.recoveries_left + 1).min(LASTING_RECOVERIES);
    }

    /// A recovery is over that was needed.
    pub(super) fn recovered(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
    }

    pub(super) fn reset_window(&mut self) {
        self.advanced = true;
    }

    /// Microseconds until a segment sent then is lost.
    fn remaining(&self, sent_at: Time, settle: u64, now: Time) -> u64 {
        (self.rtt + settle).saturating_sub((now - sent_at) / US)
    }
}

impl Sender {
    /// RFC 8985 section 6.2 step 1: segments that an acknowledgement is about to remove, none yet. Of one
    /// sent again less than the least round trip ago, or after the echo, the first may have arrived.
    pub(super) fn begin_removal(&self, ack: &Ack, now: Time) -> RemovedSegments {
        let trip = self.estimator.min_rtt.saturating_mul(US);
        let echoed = if self.timestamps { (ack.echo / MS + 1) * MS - 1 } else { Time::MAX };
        RemovedSegments::until(now.saturating_sub(trip).min(echoed))
    }

    fn reordering_window(&self) -> u64 {
        let sure = self.phase >= Phase::Recovery || self.queue.sacked_count >= self.reordering;
        if !self.reordering_seen && sure {
            return 0;
        }
        let quarters = 1 + self.rack.more;
        (self.estimator.min_rtt / 4 * quarters).min(self.estimator.srtt().unwrap_or(0))
    }

    /// Marks overtaken segments as lost. True: the timer is set for those that may follow.
    pub(super) fn find_overtaken(&mut self, now: Time, summary: &mut AckSummary) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.lose_overtaken(now, summary);
        if wait > 0 {
            let after = ticks(wait + MIN_TIMER_US).min(self.estimator.rto());
            self.set_pending(PendingTimer::Reordering, after, now);
        }
        wait > 0
    }

    /// RFC 8985 section 6.2 step 5. Longest wait that is left [us].
    pub(super) fn lose_overtaken(&mut self, now: Time, summary: &mut AckSummary) -> u64 {
        self.rack.widen_on_duplicate(self.una, self.next);
        let settle = self.reordering_window();
        let latest = (self.rack.sent_at, self.rack.seq);
        let mut wait = 0;
        let mut overtaken = vec![];
        for (seq, sent_at) in self.queue.segments_in_flight() {
            if (sent_at, seq) < latest {
                let left = self.rack.remaining(sent_at, settle, now);
                wait = wait.max(left);
                if left == 0 {
                    overtaken.push(seq);
                }
            }
        }
        for seq in overtaken {
            summary.lost += self.queue.lose(seq);
        }
        wait
    }

    /// After a timeout: every segment is lost except those sent within the last round trip (RFC 8985
    /// section 6.3).
    pub(super) fn lose_all(&mut self, now: Time) {
        let young = |sent: Time| self.rack.remaining(sent, 0, now) > 0;
        let old: Vec<u32> = self
            .queue
            .segments_in_flight()
            .filter(|(seq, sent)| *seq == self.una || !young(*sent))
            .map(|(seq, _)| seq)
            .collect();
        for seq in old {
            self.queue.lose(seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.1, `tcp_rack_update_reo_wnd`: a D-SACK makes the window a quarter longer, once a round trip (what
    /// was next to send must be acknowledged), up to 255 quarters, and for the 16 recoveries after it; one that
    /// was undone does not count.
    #[test]
    fn tcp_rack_update_reo_wnd_widens_once_a_round_trip_for_16_recoveries() {
        let mut rack = Rack::default();
        for (una, next, more) in [(5, 20, 1), (19, 30, 1), (20, 40, 2)] {
            rack.widen_window();
            rack.widen_on_duplicate(una, next);
            assert_eq!(rack.more, more, "{una}");
        }
        rack.widen_on_duplicate(50, 60);
        assert_eq!((rack.more, rack.recoveries_left), (2, 16), "no duplicate, no change");
        for _ in 0..16 {
            assert_eq!(rack.more, 2);
            rack.recovered();
            rack.undid_by_duplicates();
            rack.recovered();
            rack.widen_on_duplicate(50, 60);
        }
        assert_eq!(rack.more, 0);
        rack.undid_by_duplicates();
        assert_eq!(rack.recoveries_left, 1);
        (rack.more, rack.recoveries_left) = (254, 16);
        rack.widen_window();
        rack.widen_on_duplicate(60, 70);
        rack.undid_by_duplicates();
        assert_eq!((rack.more, rack.recoveries_left), (254, 16));
    }

    /// RFC 8985 section 6.2 step 5: what is left of the round trip and the settling time, in whole us.
    #[test]
    fn rfc8985_s6_2_what_is_left_of_the_time() {
        let rack = Rack { rtt: 20_000, ..Rack::default() };
        for (now_us, left) in [(1_000, 25_000), (11_000, 15_000), (26_000, 0), (90_000, 0)] {
            assert_eq!(rack.remaining(1_000 * US, 5_000, now_us * US), left, "{now_us}");
        }
    }
}
