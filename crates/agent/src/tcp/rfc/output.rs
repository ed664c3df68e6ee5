//! Choice of the segment to send, and of its time.
//!
//! Source: RFC 5681, RFC 3042 (limited transmit), RFC 3168 section 6.1.2 (CWR); ns-2 for bursts.

use super::{rack, sack, Sender, NONE};
use crate::tcp::send_pace::SendContext;
use crate::tcp::{Segment, Variant};
use trunkline_units::{RandomStream, Time, NEVER};

impl Sender {
    /// The next segment to send now, if any.
    #[inline]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if !self.windowed || self.resend {
            return self.next_other_segment(now);
        }
        if self.burst == 0 || self.next >= self.limit {
            return None;
        }
        self.burst -= 1;
        self.next += 1;
        Some(self.emit(self.next - 1, now))
    }

    /// The same where more than the window decides, or a segment is sent again.
    #[inline(never)]
    fn next_other_segment(&mut self, now: Time) -> Option<Segment> {
        if self.is_paced() && self.is_held(now) {
            return None;
        }
        if self.resend {
            self.resend = false;
            if let (Variant::Sack, Some(scoreboard)) = (self.variant, self.scoreboard.as_mut()) {
                scoreboard.on_resend(self.una);
            }
            return Some(self.emit(self.una, now));
        }
        if self.overhead.as_ref().is_none_or(|overhead| overhead.released) {
            if let Some(seq) = self.choose_segment(now) {
                self.burst -= 1;
                if seq == self.next {
                    self.next += 1;
                }
                return Some(self.emit(seq, now));
            }
            if let Some(overhead) = self.overhead.as_mut() {
                overhead.released = false;
            }
        }
        None
    }

    fn choose_segment(&mut self, now: Time) -> Option<u32> {
        if self.burst == 0 {
            return None;
        }
        match self.variant {
            Variant::Sack => sack::choose_segment(self, true),
            Variant::Rack => rack::choose_segment(self, true, now),
            _ => (self.next < self.limit).then_some(self.next),
        }
    }

    #[inline]
    fn emit(&mut self, seq: u32, now: Time) -> Segment {
        let fresh = seq >= self.max;
        if fresh {
            self.max = seq + 1;
            if !self.timestamps && self.timed == NONE {
                self.timed = seq;
                self.timed_at = now;
            }
        } else {
            self.retransmissions += 1;
        }
        if self.rtx_at == NEVER {
            self.rtx_at = now + self.rto.current();
        }
        if self.is_paced() {
            self.note_sent(seq, now);
        }
        let ip_bytes = match self.sizes.full_bytes(seq) {
            Some(bytes) => bytes,
            None => self.last_bytes(seq, now),
        };
        // RFC 3168 section 6.1.2: on the first new data after the reduction.
        let cwr = fresh && std::mem::take(&mut self.cwr);
        Segment { seq, ip_bytes, retransmission: !fresh, cwr, push: false }
    }

    #[cold]
    fn note_sent(&mut self, seq: u32, now: Time) {
        let (in_flight, found_lost) = (self.in_flight(), self.count_lost());
        if let Some(pace) = self.pace.as_mut() {
            let known = SendContext { in_flight, found_lost };
            pace.sent(seq, now, &known, (&mut self.control, &mut self.window));
        }
    }

    /// Computes what the event allows to be sent and, with a send overhead, when.
    #[inline]
    pub(super) fn plan_sends(&mut self, now: Time, random: &mut RandomStream) {
        self.limit = self.window_end();
        self.burst = u32::MAX;
        if self.dup_acks > 0 && !matches!(self.variant, Variant::Sack | Variant::Rack) {
            self.limit_burst();
        }
        if !self.windowed {
            self.plan_release(now, random);
        }
    }

    /// Draws the send overhead of a burst.
    fn plan_release(&mut self, now: Time, random: &mut RandomStream) {
        let Some(overhead) = &self.overhead else { return };
        if overhead.released || overhead.release_at != NEVER {
            return;
        }
        let below = overhead.below;
        let ready = match self.variant {
            Variant::Sack => sack::choose_segment(self, false).is_some(),
            Variant::Rack => rack::choose_segment(self, false, now).is_some(),
            _ => self.burst > 0 && self.next < self.limit,
        };
        if ready {
            self.set_release(now + random.below(below));
        }
    }

    #[inline]
    pub(super) fn window_end(&self) -> u32 {
        let window = (self.window.cwnd as u32).saturating_add(self.inflation).min(self.window.cap);
        self.una.saturating_add(window).min(self.end)
    }

    /// How much may follow a duplicate acknowledgement.
    fn limit_burst(&mut self) {
        if self.dup_acks >= self.threshold {
            // ns-2's NewReno lets two segments go per duplicate or partial acknowledgement.
            if self.variant == Variant::NewReno {
                self.burst = 2;
            }
        } else if self.limited_transmit {
            // RFC 3042 section 2: one new segment each, cwnd plus two outstanding at most.
            let window =
                (self.window.cwnd as u32).saturating_add(self.dup_acks).min(self.window.cap);
            self.limit = self.una.saturating_add(window).min(self.end);
        } else if self.variant != Variant::Tahoe {
            self.burst = 0;
        }
    }

    /// Whether nothing is sent now, where only the window limits transmission.
    #[inline(always)]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.windowed && self.next >= self.limit && !self.resend
    }
}
