//! Facts in an acknowledgement: segments delivered, round trip, reordering.
//!
//! Source: RFC 6298, RFC 6675; `tcp_sacktag_write_queue` and `tcp_clean_rtx_queue` of Linux 6.1.

use super::retransmission_queue::RemovedSegments;
use super::{Phase, Sender, MAX_REORDERING};
use crate::tcp::Ack;
use trunkline_units::Time;

/// Facts in an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    pub(super) advanced: bool,
    pub(super) covers_new: bool,          // a block covers something new
    pub(super) original: bool, // something never sent again was delivered from before `high_seq`
    pub(super) acknowledges_resent: bool, // acknowledges something sent again
    pub(super) set_timer: bool,
    pub(super) trip: Option<u64>, // round trip of the segment delivered last [us]
    pub(super) echo: bool,
    pub(super) lost_again: bool,
    pub(super) duplicate: bool, // a segment arrived twice (RFC 2883)
    pub(super) delivered: u32,
    pub(super) lost: u32,
}

impl Sender {
    pub(super) fn apply_sack_blocks(
        &mut self,
        ack: &Ack,
        now: Time,
        summary: &mut AckSummary,
    ) -> RemovedSegments {
        let mut held = self.begin_removal(ack, now);
        if !self.sack || ack.sack[0][1] == 0 {
            return held;
        }
        let high = self.queue.high_held();
        let mut blocks = ack.sack;
        blocks.sort_unstable(); // as `tcp_sacktag_write_queue` does
        for [start, end] in blocks {
            self.queue.mark_sacked(start.max(self.una), end, self.high_seq, &mut held);
        }
        if held.count == 0 {
            return held;
        }
        summary.covers_new = true;
        summary.original |= held.original;
        summary.delivered += held.count;
        self.rack.advance(&held, now);
        if let Some(low) = held.lowest.filter(|low| *low < high) {
            if self.phase != Phase::Loss || self.undo {
                self.see_reordering(low, self.queue.high_held());
            }
        }
        held
    }

    /// Cleans the queue, times the round trip (RFC 6298; Karn's rule) and counts what was delivered;
    /// returns the segments that no block had covered.
    pub(super) fn apply_cumulative_ack(
        &mut self,
        ack: &Ack,
        prior_high: u32,
        held: &RemovedSegments,
        now: Time,
        summary: &mut AckSummary,
    ) -> u32 {
        let prior_held = self.queue.sacked_count;
        let removed = self.queue.take(ack.ack, self.high_seq, self.begin_removal(ack, now));
        summary.acknowledges_resent = removed.again;
        summary.original |= removed.original;
        self.time(&removed, held, ack, now, summary);
        if removed.count == 0 {
            return 0;
        }
        summary.set_timer = true;
        if self.sack {
            summary.delivered += removed.fresh;
            self.rack.advance(&removed, now);
            if let Some(low) = removed.lowest.filter(|low| *low < prior_high) {
                self.see_reordering(low, self.queue.high_held());
            }
        } else {
            // One hole was filled; duplicates acknowledged the segments behind it.
            let delivered = removed.count.saturating_sub(prior_held).max(1);
            summary.delivered += delivered;
            self.queue.sacked_count = prior_held.saturating_sub(removed.count - 1);
            self.limit_duplicates(removed.count);
            summary.original &= !summary.acknowledges_resent;
        }
        removed.fresh
    }

    fn time(
        &mut self,
        removed: &RemovedSegments,
        held: &RemovedSegments,
        ack: &Ack,
        now: Time,
        summary: &mut AckSummary,
    ) {
        let since = |sent: Time| (now - sent) / 1_000;
        let mut sample = removed.first_sent.filter(|_| !removed.again).map(since);
        let by_block = held.first_sent.map(since);
        sample = sample.or(by_block);
        let delivered = removed.last_sent.filter(|_| !removed.again);
        summary.trip = held.last_sent.or(delivered).map(since);
        if sample.is_none() && self.timestamps && removed.count > 0 {
            sample = Some(((now / 1_000_000 - ack.echo / 1_000_000) * 1_000).max(1_000));
            summary.trip = sample;
        }
        let Some(sample) = sample else { return };
        self.estimator.min_rtt = self.estimator.min_rtt.min(sample);
        self.estimator.sample(sample, self.una, self.next);
        // A block of a segment sent after the last transmission of the head gives no news of the head.
        if by_block > self.queue.head_sent_at().map(since) {
            summary.set_timer = true;
        }
    }

    /// More arrived than was expected at once: segments are reordered on the path.
    pub(super) fn see_reordering(&mut self, low: u32, high: u32) {
        if low < high {
            self.reordering = self.reordering.max((high - low).min(MAX_REORDERING));
            self.reordering_seen = true;
        }
    }
}
