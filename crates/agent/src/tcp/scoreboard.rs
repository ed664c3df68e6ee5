//! SACK scoreboard: what the receiver holds, what is lost, and how much is in the network.
//!
//! Source: RFC 6675 sections 3 and 4. Segments are equal, so `IsLost` needs one rule: three
//! discontiguous blocks hold at least three segments, and "more than (DupThresh - 1) * SMSS bytes"
//! is DupThresh segments. Everything below the DupThresh-th highest segment held is therefore
//! lost or held, and one bound that only rises says which. `pipe` is kept as that bound, blocks
//! and acknowledgements move, so that no acknowledgement costs a walk over the window.

use crate::ring::BitRing;
use trunkline_packet::arena::SackBlocks;

#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    pipe: u32,
    held_count: u32,
    high_held: u32,  // one past the highest segment held
    lost_below: u32, // segments below this and not held are lost
    resent_to: u32,  // one past HighRxt; at or below SND.UNA when nothing was resent
    rescued: bool,
    timed_out_at: Option<u32>,
    held: BitRing,   // segments of a SACK block
    resent: BitRing, // segments sent again that rules (1) and (3) count in `pipe`
}

impl Scoreboard {
    /// Segments thought to be in the network (RFC 6675 section 4, SetPipe).
    #[inline]
    pub(super) fn pipe(&self) -> u32 {
        self.pipe
    }

    /// A segment was sent for the first time.
    #[inline]
    pub(super) fn on_new(&mut self, una: u32, seq: u32) {
        self.held.reserve(una, seq + 1);
        self.resent.reserve(una, seq + 1);
        self.pipe += 1;
    }

    /// What a segment not held counts in `pipe`: once unless lost, once more if sent again.
    #[inline]
    fn weight(&self, seq: u32) -> u32 {
        u32::from(seq >= self.lost_below) + u32::from(self.resent.contains(seq))
    }

    /// The cumulative acknowledgement moved from `una` to `ack`.
    #[inline]
    pub(super) fn on_cumulative(&mut self, una: u32, ack: u32) {
        if self.held_count == 0 && self.resent_to <= una && self.lost_below <= una {
            self.pipe -= ack - una;
            return;
        }
        for seq in una..ack {
            if self.held.contains(seq) {
                self.held.remove(seq);
                self.held_count -= 1;
            } else {
                self.pipe -= self.weight(seq);
            }
            self.resent.remove(seq);
        }
    }

    /// Reads the blocks of an acknowledgement (RFC 6675 section 4, Update) for a window
    /// `[una, max)`. True: some segment was not known to be held.
    pub(super) fn on_blocks(&mut self, blocks: &SackBlocks, una: u32, max: u32, dup: u32) -> bool {
        let before = self.held_count;
        for [start, end] in blocks {
            let end = (*end).min(max);
            let mut seq = self.held.next_absent((*start).max(una), end);
            while seq < end {
                self.pipe -= self.weight(seq);
                self.held.insert(seq);
                self.held_count += 1;
                self.high_held = self.high_held.max(seq + 1);
                seq = self.held.next_absent(seq + 1, end);
            }
        }
        let news = self.held_count > before;
        if news {
            self.raise_bound(una, dup);
        }
        news
    }

    fn raise_bound(&mut self, una: u32, dup: u32) {
        let Some(bound) = self.held.nth_from_top(una, self.high_held, dup) else { return };
        let mut seq = self.held.next_absent(self.lost_below.max(una), bound);
        while seq < bound {
            self.pipe -= 1;
            seq = self.held.next_absent(seq + 1, bound);
        }
        self.lost_below = self.lost_below.max(bound);
    }

    /// Whether `seq` is lost (RFC 6675 section 4, IsLost).
    #[inline]
    pub(super) fn is_lost(&self, seq: u32) -> bool {
        seq < self.lost_below && !self.held.contains(seq)
    }

    /// A recovery begins: nothing is resent yet.
    pub(super) fn on_recovery(&mut self) {
        self.rescued = false;
    }

    /// Segment `seq` goes again and counts in `pipe` (RFC 6675 section 5, (4.3) and (C.1)).
    #[inline]
    pub(super) fn on_resend(&mut self, seq: u32) {
        if !self.resent.contains(seq) {
            self.resent.insert(seq);
            self.pipe += 1;
        }
        self.resent_to = self.resent_to.max(seq + 1);
    }

    /// NextSeg (1): the first lost segment not sent again, below `stop`; else `None`.
    #[inline]
    pub(super) fn next_lost(&self, una: u32, stop: u32) -> Option<u32> {
        let stop = self.lost_below.min(stop);
        let seq = self.held.next_absent(self.resent_to.max(una), stop);
        (seq < stop).then_some(seq)
    }

    /// NextSeg (3): the first segment not held and not sent again below the highest held.
    pub(super) fn next_doubtful(&self, una: u32) -> Option<u32> {
        let seq = self.held.next_absent(self.resent_to.max(una), self.high_held);
        (seq < self.high_held).then_some(seq)
    }

    /// NextSeg (4), once per recovery: the highest segment not held of `[una, max)`.
    pub(super) fn rescue(&mut self, una: u32, max: u32, take: bool) -> Option<u32> {
        if self.rescued {
            return None;
        }
        let seq = (una..max).rev().find(|seq| !self.held.contains(*seq))?;
        self.rescued = take;
        Some(seq)
    }

    /// The first unacknowledged segment when the timer last ran out.
    pub(super) fn timed_out_at(&self) -> Option<u32> {
        self.timed_out_at
    }

    /// The timer ran out: all of `[una, max)` that is not held is lost and may go again.
    pub(super) fn on_timeout(&mut self, una: u32, max: u32) {
        let mut seq = self.resent.next_member(una, max);
        while seq < max {
            self.resent.remove(seq);
            seq = self.resent.next_member(seq + 1, max);
        }
        self.pipe = 0;
        self.lost_below = max;
        self.resent_to = una;
        self.timed_out_at = Some(una);
    }
}
