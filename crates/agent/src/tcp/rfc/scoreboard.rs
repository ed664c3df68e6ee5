//! SACK scoreboard: which segments the receiver holds, which are lost, and how many are in the network.
//!
//! Source: RFC 6675 sections 3 and 4. Segments are equal, so `IsLost` needs one rule: three
//! discontiguous blocks hold at least three segments, and "more than (DupThresh - 1) * SMSS bytes"
//! is DupThresh segments. Everything below the DupThresh-th highest segment held is therefore
//! lost or held, and one bound that only rises separates them. `pipe` is updated as that bound, blocks
//! and acknowledgements move, so no acknowledgement costs a walk over the window.

use crate::seq_set::SeqSet;
use crate::tcp::lost_segments::LostSegments;
use trunkline_packet::arena::SackBlocks;

#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    pipe: u32,
    held_count: u32,
    high_held: u32,  // one past the highest segment held
    lost_below: u32, // segments below this and not held are lost
    resent_to: u32,  // one past HighRxt; at or below SND.UNA when nothing was resent
    found_lost: LostSegments,
    rescued: bool,
    timed_out_at: Option<u32>,
    held: SeqSet,   // segments of a SACK block
    resent: SeqSet, // segments sent again that rules (1) and (3) count in `pipe`
}

impl Scoreboard {
    /// Segments thought to be in the network (RFC 6675 section 4, SetPipe).
    #[inline]
    pub(super) fn pipe(&self) -> u32 {
        self.pipe
    }

    /// `named`: a control asks which segments are lost.
    pub(super) fn new(named: bool) -> Self {
        Self { found_lost: LostSegments::new(named), ..Self::default() }
    }

    /// Segments that were found lost, by blocks or by the timer.
    pub(super) fn found_lost(&mut self) -> &mut LostSegments {
        &mut self.found_lost
    }

    /// A segment was sent for the first time.
    #[inline]
    pub(super) fn on_new(&mut self, una: u32, seq: u32) {
        self.held.reserve(una, seq + 1);
        self.resent.reserve(una, seq + 1);
        self.pipe += 1;
    }

    /// Amount that a segment outside the receiver adds to `pipe`: 1 unless lost, 1 more if sent
    /// again.
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
    /// `[una, max)`. True: some segment is newly known to be held.
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
        let summary = self.held_count > before;
        if summary {
            self.raise_bound(una, dup);
        }
        summary
    }

    fn raise_bound(&mut self, una: u32, dup: u32) {
        let Some(bound) = self.held.nth_from_top(una, self.high_held, dup) else { return };
        let mut seq = self.held.next_absent(self.lost_below.max(una), bound);
        while seq < bound {
            self.pipe -= 1;
            self.found_lost.add(seq);
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

    /// Segment `seq` is sent again and counts in `pipe` (RFC 6675 section 5, (4.3) and (C.1)).
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
        (self.lost_below.clamp(una, max)..max).for_each(|seq| self.found_lost.add(seq));
        self.pipe = 0;
        self.lost_below = max;
        self.resent_to = una;
        self.timed_out_at = Some(una);
    }
}

#[cfg(test)]
mod rfc6675 {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const DUP_THRESH: u32 = 3;

    /// Section 4 word for word: sets, and a walk over the window at every call.
    #[derive(Default)]
    struct Literal {
        una: u32,
        max: u32,
        held: BTreeSet<u32>,
        high_rxt: Option<u32>,
        all_lost_below: u32, // after a timeout
    }

    impl Literal {
        fn is_lost(&self, seq: u32) -> bool {
            let above: Vec<u32> = self.held.range(seq + 1..).copied().collect();
            let blocks = above.iter().filter(|s| !self.held.contains(&(*s - 1))).count() as u32;
            blocks >= DUP_THRESH || above.len() as u32 > DUP_THRESH - 1 || seq < self.all_lost_below
        }

        fn set_pipe(&self) -> u32 {
            let out = (self.una..self.max).filter(|seq| !self.held.contains(seq));
            out.map(|seq| {
                let resent = self.high_rxt.is_some_and(|high| seq <= high);
                u32::from(!self.is_lost(seq)) + u32::from(resent)
            })
            .sum()
        }

        /// Rule (1), then rule (3), of NextSeg.
        fn next_seg(&self) -> [Option<u32>; 2] {
            let from = self.high_rxt.map_or(self.una, |high| self.una.max(high + 1));
            let high = self.held.last().copied().unwrap_or(0);
            let mut candidates = (from..high).filter(|seq| !self.held.contains(seq));
            let first = candidates.next();
            let lost = (from..self.max).find(|s| !self.held.contains(s) && self.is_lost(*s));
            [lost, first]
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send(u32),
        Hold(u32, u32),
        Advance(u32),
        Resend,
        Timeout,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1u32..20).prop_map(Step::Send),
            6 => (0u32..200, 1u32..6).prop_map(|(at, length)| Step::Hold(at, length)),
            3 => (0u32..30).prop_map(Step::Advance),
            3 => Just(Step::Resend),
            1 => Just(Step::Timeout),
        ]
    }

    proptest! {
        #[test]
        fn s4_pipe_and_next_seg_are_those_of_a_walk_over_the_window(
            steps in prop::collection::vec(step(), 1..120),
        ) {
            let mut board = Scoreboard::default();
            let mut literal = Literal::default();
            for step in steps {
                let (una, max) = (literal.una, literal.max);
                match step {
                    Step::Send(count) => {
                        for seq in max..max + count {
                            board.on_new(una, seq);
                        }
                        literal.max += count;
                    }
                    Step::Hold(at, length) if max > una => {
                        // The first unacknowledged segment is never held.
                        let start = (una + 1 + at % (max - una)).min(max);
                        let end = (start + length).min(max);
                        let summary = board.on_blocks(&[[start, end], [0; 2], [0; 2]], una, max, 3);
                        let before = literal.held.len();
                        literal.held.extend(start..end);
                        prop_assert_eq!(summary, literal.held.len() > before);
                    }
                    Step::Advance(count) => {
                        let mut ack = (una + count).min(max);
                        while literal.held.contains(&ack) {
                            ack += 1;
                        }
                        board.on_cumulative(una, ack);
                        literal.una = ack;
                        literal.held.retain(|seq| *seq >= ack);
                    }
                    Step::Resend => {
                        let rules = literal.next_seg();
                        prop_assert_eq!(board.next_lost(una, max), rules[0]);
                        prop_assert_eq!(board.next_doubtful(una), rules[1]);
                        if let Some(seq) = rules[0].or(rules[1]) {
                            board.on_resend(seq);
                            literal.high_rxt = Some(seq);
                        }
                    }
                    Step::Timeout => {
                        board.on_timeout(una, max);
                        literal.high_rxt = None;
                        literal.all_lost_below = max;
                    }
                    Step::Hold(..) => {}
                }
                prop_assert_eq!(board.pipe(), literal.set_pipe());
            }
        }
    }
}
