//! CoDel: drops at the head of a queue whose packets have waited too long for too long.
//!
//! Source: RFC 8289, sections 4 and 5 (pseudo-code), and Linux 6.1 `include/net/codel_impl.h`. Once
//! every packet sent over an `interval` has waited `target` or more, the head is dropped (or
//! marked), and again `interval / sqrt(count)` later, until one has waited less or at most `mtu`
//! bytes are left. Within 16 intervals the next episode starts from the last one's rate.
//! `exact` is the RFC's real square root in nanoseconds. `linux` is the kernel's fixed point, in
//! units of 1024 ns with one Newton step a drop from 1.0, which drops earlier: 0, 100, 150, 206 ms
//! rather than 0, 100, 171, 228.
//! `ce_threshold` marks ECN-capable packets that have waited longer, whatever the law decides.
//! Absent: a largest packet learnt from traffic (it is `mtu`), Linux's `ce_threshold_selector`.

use super::{ActiveQueueManagement, Arrival, HeadPacket, InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Span, Time};

/// Whose arithmetic a law of control has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// The RFC's: a square root (RFC 8289 section 4.4), a probability of 1 at most (RFC 8033).
    Exact,
    /// Linux's: 16 bits, a Newton step for each drop; see `pie` for its own.
    Linux,
}

/// Keys of `codel`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    /// Time in the queue that is acceptable [ns, > 0].
    pub target_ns: Span,
    /// Time over which it must be exceeded, of the order of a round trip [ns, > `target_ns`].
    pub interval_ns: Span,
    /// Bytes that may be left without a drop: one largest packet [B, > 0].
    pub mtu_bytes: u32,
    /// Time in the queue above which ECN-capable packets are marked [ns]; none = never.
    pub ce_threshold_ns: Option<Span>,
    /// Whose arithmetic a law of control has.
    pub arithmetic: Arithmetic,
}

/// The event before the packet now at the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadContext {
    /// A packet that was sent.
    Sent,
    /// A drop in the dropping state.
    Drop,
    /// The drop that began the dropping state.
    Entry,
}

/// A CoDel queue's AQM. Times are in units of its arithmetic.
#[derive(Clone, Debug)]
pub struct Codel {
    config: CodelConfig,
    target: u64,
    interval: u64,
    /// Time from which on a head may be dropped; none while the queue is below target.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    count: u32,
    last_count: u32,
    /// 1 / sqrt(count) in 1/65536, of [`Arithmetic::Linux`].
    inverse_root: u16,
    after: HeadContext,
}

impl Codel {
    /// A CoDel; the port's rate plays no part.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &CodelConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        let CodelConfig { target_ns, interval_ns, mtu_bytes, arithmetic, .. } = *config;
        InvalidParameter::require(target_ns > 0, "target_ns", || "must be above 0".into())?;
        InvalidParameter::require(interval_ns > target_ns, "interval_ns", || {
            format!("must be above target_ns: {interval_ns} is not above {target_ns}")
        })?;
        InvalidParameter::require(mtu_bytes > 0, "mtu_bytes", || "must be above 0".into())?;
        Ok(Self {
            config: *config,
            target: to_units(target_ns, arithmetic),
            interval: to_units(interval_ns, arithmetic),
            first_above: None,
            dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
            inverse_root: 0,
            after: HeadContext::Sent,
        })
    }

    /// Whether the head has waited too long for too long (RFC 8289 section 5.5, `dodequeue`).
    fn is_late(&mut self, now: u64, wait: u64, left: u64) -> bool {
        if wait < self.target || left <= u64::from(self.config.mtu_bytes) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
            Some(at) if self.config.arithmetic == Arithmetic::Linux => now > at,
            Some(at) => now >= at,
        }
    }

    /// The time of the drop after one at `at` (RFC 8289 section 4.4).
    fn control_law(&self, at: u64) -> u64 {
        at + match self.config.arithmetic {
            Arithmetic::Exact => (self.interval as f64 / f64::from(self.count).sqrt()) as u64,
            Arithmetic::Linux => (self.interval * (u64::from(self.inverse_root) << 16)) >> 32,
        }
    }

    /// Linux's `codel_Newton_step`: x (3 - count x^2) / 2.
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let rest = ((3u64 << 32) - u64::from(self.count) * square) >> 2;
        self.inverse_root = ((rest * root) >> 31 >> 16) as u16;
    }

    /// One more drop in the dropping state.
    fn count_up(&mut self) {
        self.count = self.count.saturating_add(1);
        self.newton_step();
    }

    /// Begins the dropping state at `now` (RFC 8289 section 5.4, end of `deque`).
    fn enter(&mut self, now: u64) {
        self.dropping = true;
        let fresh = self.count - self.last_count;
        if fresh > 1 && now.saturating_sub(self.drop_next) < 16 * self.interval {
            self.count = fresh;
            self.newton_step();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
    }

    /// Whether to signal at the packet at the head.
    fn signals(&mut self, now: u64, late: bool, can_mark: bool) -> bool {
        match std::mem::replace(&mut self.after, HeadContext::Sent) {
            HeadContext::Entry => {
                self.enter(now);
                return false;
            }
            HeadContext::Drop if late => self.drop_next = self.control_law(self.drop_next),
            _ => {}
        }
        if self.dropping {
            if !late {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count_up();
            if can_mark {
                self.drop_next = self.control_law(self.drop_next);
            } else {
                self.after = HeadContext::Drop;
            }
            return true;
        }
        if late {
            if can_mark {
                self.enter(now);
            } else {
                self.after = HeadContext::Entry;
            }
        }
        late
    }
}

fn to_units(ns: u64, arithmetic: Arithmetic) -> u64 {
    match arithmetic {
        Arithmetic::Exact => ns,
        Arithmetic::Linux => ns >> 10,
    }
}

impl ActiveQueueManagement for Codel {
    const AT_HEAD: bool = true;

    #[inline]
    fn on_arrival(&mut self, _arrival: &Arrival, _random: &mut RandomStream) -> Verdict {
        Verdict::Pass
    }

    fn on_head(&mut self, head: &HeadPacket, _random: &mut RandomStream) -> Verdict {
        let now = to_units(head.now, self.config.arithmetic);
        let wait = now - to_units(head.since, self.config.arithmetic);
        let late = self.is_late(now, wait, head.left.bytes);
        if self.signals(now, late, head.can_mark) {
            return Verdict::Signal(Cause::Early);
        }
        let above = |threshold| wait > to_units(threshold, self.config.arithmetic);
        if self.config.ce_threshold_ns.is_some_and(above) {
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    fn on_idle(&mut self, at: Time) {
        if self.after == HeadContext::Entry {
            self.enter(to_units(at, self.config.arithmetic));
        }
        // Linux resets the start of the late period only where a drop left the queue empty.
        let dropped = std::mem::replace(&mut self.after, HeadContext::Sent) != HeadContext::Sent;
        if dropped || self.config.arithmetic == Arithmetic::Exact {
            self.first_above = None;
        }
        self.dropping = false;
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
