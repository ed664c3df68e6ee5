//! What an acknowledgement tells: what was delivered, its round trip, whether segments changed places.
//!
//! Source: RFC 6298, RFC 6675; `tcp_sacktag_write_queue` and `tcp_clean_rtx_queue` of Linux 6.1.

use super::queue::Taken;
use super::{Phase, Sender, MOST_REORDERING};
use crate::tcp::Ack;
use trunkline_units::Time;

/// What an acknowledgement told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    pub(super) advanced: bool,
    pub(super) held: bool,     // a block covers something new
    pub(super) original: bool, // something never sent again was delivered from before `high_seq`
    pub(super) again: bool,    // acknowledges something sent again
    pub(super) set_timer: bool,
    pub(super) trip: Option<u64>, // round trip of what was delivered last [us]
    pub(super) echo: bool,
    pub(super) lost_again: bool,
    pub(super) duplicate: bool, // something came twice (RFC 2883)
    pub(super) delivered: u32,
    pub(super) lost: u32,
}

impl Sender {
    pub(super) fn take_blocks(&mut self, ack: &Ack, now: Time, news: &mut News) -> Taken {
        let mut held = Taken::default();
        if !self.sack || ack.sack[0][1] == 0 {
            return held;
        }
        let high = self.queue.high_held();
        for [start, end] in ack.sack {
            self.queue.hold(start.max(self.una), end, self.high_seq, &mut held);
        }
        if held.count == 0 {
            return held;
        }
        news.held = true;
        news.original |= held.original;
        news.delivered += held.count;
        self.rack.advance(&held, now, &self.estimator, ack.echo, self.timestamps);
        if let Some(low) = held.lowest.filter(|low| *low < high) {
            if self.phase != Phase::Loss || self.undo {
                self.see_reordering(low, self.queue.high_held());
            }
        }
        self.offer.open(held.count);
        held
    }

    /// Cleans the queue, times the round trip (RFC 6298; Karn's rule) and counts what was delivered;
    /// returns the segments that no block had covered.
    pub(super) fn take_acknowledged(
        &mut self,
        ack: &Ack,
        prior_high: u32,
        held: &Taken,
        now: Time,
        news: &mut News,
    ) -> u32 {
        let prior_held = self.queue.held;
        let taken = self.queue.take(ack.ack, self.high_seq);
        news.again = taken.again;
        news.original |= taken.original;
        self.time(&taken, held, ack, now, news);
        if taken.count == 0 {
            return 0;
        }
        news.set_timer = true;
        if self.sack {
            news.delivered += taken.fresh;
            self.rack.advance(&taken, now, &self.estimator, ack.echo, self.timestamps);
            if let Some(low) = taken.lowest.filter(|low| *low < prior_high) {
                self.see_reordering(low, self.queue.high_held());
            }
            self.offer.open(taken.fresh);
        } else {
            // One hole was filled; what lies behind it was acknowledged by duplicates.
            let delivered = taken.count.saturating_sub(prior_held).max(1);
            news.delivered += delivered;
            self.queue.held = prior_held.saturating_sub(taken.count - 1);
            self.limit_duplicates(taken.count);
            news.original &= !news.again;
            self.offer.open(delivered);
        }
        taken.fresh
    }

    fn time(&mut self, taken: &Taken, held: &Taken, ack: &Ack, now: Time, news: &mut News) {
        let since = |sent: Time| (now - sent) / 1_000;
        let mut sample = taken.first_sent.filter(|_| !taken.again).map(since);
        let by_block = held.first_sent.map(since);
        sample = sample.or(by_block);
        let delivered = taken.last_sent.filter(|_| !taken.again);
        news.trip = held.last_sent.or(delivered).map(since);
        if sample.is_none() && self.timestamps && taken.count > 0 {
            sample = Some(((now / 1_000_000 - ack.echo / 1_000_000) * 1_000).max(1_000));
            news.trip = sample;
        }
        let Some(sample) = sample else { return };
        self.estimator.min_rtt = self.estimator.min_rtt.min(sample);
        self.estimator.sample(sample, self.una, self.next);
        // A block of something sent after the head was sent last tells nothing of the head.
        if taken.count == 0 && by_block > self.queue.head_sent_at().map(since) {
            news.set_timer = true;
        }
    }

    /// What came beyond what was expected at once: segments change places on the way.
    pub(super) fn see_reordering(&mut self, low: u32, high: u32) {
        if low < high {
            self.reordering = self.reordering.max((high - low).min(MOST_REORDERING));
            self.reordering_seen = true;
        }
    }
}
