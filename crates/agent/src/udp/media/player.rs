//! The player: each frame is shown a fixed time after its capture, if all of it is there.
//!
//! A frame that is not there leaves the last one on the screen: a stall, as long as frames are missing.
//! Differs from a decoder: a missing frame does not spoil those after it.

use super::encoder::EncodedFrame;
use crate::workload::Viewing;
use std::collections::VecDeque;
use trunkline_units::{Span, Time};

#[derive(Clone, Copy, Debug)]
struct AwaitedFrame {
    frame: EncodedFrame,
    missing: u32, // packets
}

/// Receiving end of a stream.
#[derive(Clone, Debug)]
pub struct MediaPlayer {
    frame_ns: Span,
    playout_ns: Span,
    first: u32, // number of the first awaited frame
    awaited: VecDeque<AwaitedFrame>,
    is_stalled: bool,
    last_rate: Option<u64>,
    viewing: Viewing,
}

impl MediaPlayer {
    /// A player that shows frames `playout_ns` after their capture.
    #[must_use]
    pub fn new(frame_ns: Span, playout_ns: Span) -> Self {
        Self {
            frame_ns,
            playout_ns,
            first: 0,
            awaited: VecDeque::new(),
            is_stalled: false,
            last_rate: None,
            viewing: Viewing::default(),
        }
    }

    /// A frame was made; the numbers of frames count up from 0.
    pub fn expect(&mut self, frame: EncodedFrame) {
        self.awaited.push_back(AwaitedFrame { frame, missing: frame.packets });
    }

    /// A packet of a frame arrived.
    pub fn on_packet(&mut self, frame: u32, now: Time) {
        self.settle(now);
        let Some(index) = frame.checked_sub(self.first) else { return };
        let Some(awaited) = self.awaited.get_mut(index as usize) else { return };
        awaited.missing = awaited.missing.saturating_sub(1);
    }

    /// Shows, or misses, all frames whose time is before `now`.
    pub fn settle(&mut self, now: Time) {
        while let Some(&awaited) = self.awaited.front() {
            let due = awaited.frame.captured_at + self.playout_ns;
            if due >= now {
                return;
            }
            self.awaited.pop_front();
            self.first += 1;
            self.count(&awaited, due);
        }
    }

    fn count(&mut self, awaited: &AwaitedFrame, due: Time) {
        let viewing = &mut self.viewing;
        let began = *viewing.began.get_or_insert(awaited.frame.captured_at);
        let rate = awaited.frame.rate_bit_s;
        if awaited.missing == 0 {
            viewing.start_up.get_or_insert(due - began);
            viewing.chunks += 1;
            viewing.rates += rate;
            viewing.switches += u64::from(self.last_rate.is_some_and(|last| last != rate));
            self.last_rate = Some(rate);
            self.is_stalled = false;
        } else if viewing.start_up.is_some() {
            viewing.stalls += u64::from(!self.is_stalled);
            viewing.stalled += self.frame_ns;
            self.is_stalled = true;
        }
    }

    /// Playback up to `now`: its chunks are frames shown, its stalls the times that the picture stood still.
    #[must_use]
    pub fn viewing(&self, now: Time) -> Viewing {
        let mut player = self.clone();
        player.settle(now);
        player.viewing
    }
}
