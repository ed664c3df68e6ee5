//! The congestion window: Reno's growth, and its reduction in proportion to what arrives.
//!
//! Source: RFC 5681 section 3.1 by segments acknowledged (RFC 3465 without its limit); RFC 6937
//! (`prr.rs`); RFC 7661 section 4.1 for when it may grow: it was full, or in slow start half full.

use super::{Linux, News, Phase, INFINITE};
use crate::tcp::prr::Progress;

impl Linux {
    pub(super) fn reducing(&self) -> bool {
        matches!(self.phase, Phase::Reducing | Phase::Recovery)
    }

    /// The threshold that a reduction can be taken back to.
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.reducing() {
            self.ssthresh
        } else {
            self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
        }
    }

    pub(super) fn start_reduction(&mut self) {
        self.high_seq = self.next;
        self.probe_end = None;
        self.credit = 0;
        self.prior_cwnd = self.cwnd;
        self.prr.start(self.cwnd);
        self.prr_sent = 0;
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwr = self.ecn;
    }

    pub(super) fn end_reduction(&mut self) {
        if self.ssthresh < INFINITE && (self.phase == Phase::Reducing || self.undo) {
            self.cwnd = self.ssthresh;
        }
    }

    /// After all else is known of an acknowledgement.
    pub(super) fn control(&mut self, news: &News) {
        if self.reducing() {
            self.reduce(news.delivered, news.advanced && news.lost == 0);
        } else if news.advanced || (self.reordering > super::DUP_THRESH && news.held) {
            self.grow(news.delivered);
        }
    }

    pub(super) fn reduce(&mut self, delivered: u32, clean: bool) {
        if delivered == 0 {
            return;
        }
        let in_flight = self.queue.in_flight();
        let progress =
            Progress { ssthresh: self.ssthresh, in_flight, delivered, sent: self.prr_sent, clean };
        self.cwnd = in_flight + self.prr.allows(&progress);
    }

    fn grow(&mut self, mut acked: u32) {
        let slow = self.cwnd < self.ssthresh;
        let half_full = slow && self.cwnd < 2 * self.most_out;
        if !self.limited && !half_full {
            return;
        }
        if slow {
            let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown.min(self.clamp);
            if acked == 0 {
                return;
            }
        }
        if self.credit >= self.cwnd {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        let more = self.credit / self.cwnd;
        self.credit -= more * self.cwnd;
        self.cwnd = (self.cwnd + more).min(self.clamp);
    }

    /// Something was sent, or the window is full: remembers for a window of data which it was.
    pub(super) fn validate(&mut self, limited: bool) {
        let out = self.queue.len();
        if self.una >= self.limited_until || limited || (!self.limited && out > self.most_out) {
            self.limited = limited;
            self.most_out = out;
            self.limited_until = self.next;
        }
    }
}
