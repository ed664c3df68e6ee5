//! COBALT: CoDel that forgets by its own law, and BLUE for flows that do not listen.
//!
//! Source: Palmei et al., "Design and evaluation of COBALT queue discipline", IEEE LANMAN 2019; Linux
//! 6.1 `net/sched/sch_cake.c`, restated. While the head has waited `target` or less, or only the time
//! of four largest packets, the count of CoDel falls by the law by which it rose. When the queue
//! overflows a probability grows by 1/256, when it is found empty it falls by 1/4096, each at most
//! once a `target`; by it heads are dropped, never marked. The last packet of a queue is never dropped.
//! Differs: the control law is a real square root (Linux: 16 bits, a Newton step). Absent: the
//! allowance for two packets of each flow of the tin.

use super::{ActiveQueueManagement, Arrival, Head, Invalid, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{Span, Stream, Time};

const INCREMENT: f64 = 1.0 / 256.0;
const DECREMENT: f64 = 1.0 / 4096.0;

/// Keys of `cobalt`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CobaltConfig {
    /// Time in the queue that is acceptable [ns, > 0].
    pub target_ns: Span,
    /// Time over which it must be exceeded, of the order of a round trip [ns, > `target_ns`].
    pub interval_ns: Span,
    /// Time of the largest packet at the queue's rate [ns].
    pub mtu_time_ns: Span,
}

/// A COBALT queue's AQM.
#[derive(Clone, Debug)]
pub struct Cobalt {
    config: CobaltConfig,
    dropping: bool,
    count: u32,
    drop_next: Time,
    probability: f64,
    /// When the probability changed.
    changed_at: Option<Time>,
}

impl Cobalt {
    /// A COBALT; the port's rate plays no part.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &CobaltConfig, _rate_bit_s: u64) -> Result<Self, Invalid> {
        let CobaltConfig { target_ns, interval_ns, .. } = *config;
        Invalid::unless(target_ns > 0, "target_ns", || "must be above 0".into())?;
        Invalid::unless(interval_ns > target_ns, "interval_ns", || {
            format!("must be above target_ns: {interval_ns} is not above {target_ns}")
        })?;
        Ok(Self {
            config: *config,
            dropping: false,
            count: 0,
            drop_next: 0,
            probability: 0.0,
            changed_at: None,
        })
    }

    /// The time of the drop after one at `at` (RFC 8289 section 4.4).
    fn control_law(&self, at: Time) -> Time {
        at + (self.config.interval_ns as f64 / f64::from(self.count.max(1)).sqrt()) as Span
    }

    /// Moves the probability, unless it moved within the last `target`.
    fn change(&mut self, at: Time, by: f64) -> bool {
        let free = self.changed_at.is_none_or(|before| at - before > self.config.target_ns);
        if free {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed_at = Some(at);
        }
        free
    }

    /// CoDel's part: whether to signal at the head.
    fn signals(&mut self, now: Time, wait: Span) -> bool {
        let late = wait > self.config.target_ns && wait > 4 * self.config.mtu_time_ns;
        let due = self.count > 0 && now >= self.drop_next;
        if late {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if due && self.dropping {
            self.count = self.count.saturating_add(1);
            self.drop_next = self.control_law(self.drop_next);
            return true;
        }
        while !self.dropping && self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(self.drop_next);
        }
        false
    }
}

impl ActiveQueueManagement for Cobalt {
    const AT_HEAD: bool = true;

    #[inline]
    fn on_arrival(&mut self, _arrival: &Arrival, _random: &mut Stream) -> Verdict {
        Verdict::Pass
    }

    fn on_head(&mut self, head: &Head, random: &mut Stream) -> Verdict {
        let signals = self.signals(head.now, head.now - head.since);
        let refuses = self.probability > 0.0 && random.uniform() < self.probability;
        let drops = refuses || (signals && !head.can_mark);
        if self.count == 0 {
            self.drop_next = head.now + self.config.interval_ns;
        } else if head.now > self.drop_next && !drops {
            self.drop_next = head.now;
        }
        // `cake_dequeue`: a queue's last packet may be marked, it is not dropped.
        if drops && head.left.packets == 0 {
            return if signals && head.can_mark { Verdict::Mark } else { Verdict::Pass };
        }
        match (refuses, signals) {
            (true, _) => Verdict::Refuse(Cause::Early),
            (_, true) => Verdict::Signal(Cause::Early),
            _ => Verdict::Pass,
        }
    }

    fn on_overflow(&mut self, at: Time) {
        self.change(at, INCREMENT);
        self.dropping = true;
        self.drop_next = at;
        self.count = self.count.max(1);
    }

    fn on_idle(&mut self, at: Time) {
        if self.probability > 0.0 {
            self.change(at, -DECREMENT);
        }
        self.dropping = false;
        if self.count > 0 && at >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(self.drop_next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Backlog;
    use super::*;

    const MS: Time = 1_000_000;
    const PLAIN: CobaltConfig =
        CobaltConfig { target_ns: 5 * MS, interval_ns: 100 * MS, mtu_time_ns: MS };

    /// Asks about a head at `now` that waited `wait`, both in ms.
    fn ask(cobalt: &mut Cobalt, now: Time, wait: Time) -> Verdict {
        let left = Backlog { packets: 50, bytes: 50_000 };
        let (now, since) = (now * MS, (now - wait) * MS);
        let head = Head { now, since, bytes: 1000, precedence: 0, left, can_mark: false };
        cobalt.on_head(&head, &mut Stream::new(1, "test", "aqm"))
    }

    fn drops(cobalt: &mut Cobalt, from: Time, until: Time, wait: Time) -> Vec<Time> {
        (from..until).filter(|&now| ask(cobalt, now, wait) != Verdict::Pass).collect()
    }

    mod palmei2019 {
        use super::*;

        /// A head every ms, late from 50 ms on: the first drop an interval later, at 150 ms, then
        /// 100 / sqrt(2) = 70.7, 57.7 and 50 ms apart: 220.7, 278.4, 328.4 ms.
        #[test]
        fn s3_drops_follow_codels_law() {
            let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
            assert!(drops(&mut cobalt, 10, 50, 5).is_empty());
            assert_eq!(drops(&mut cobalt, 50, 350, 20), [150, 221, 279, 329]);
        }

        /// While the queue is short the count falls by the same law: four drops have made it 5; the
        /// next is due at 328.4 + 100 / sqrt(5) = 373.2 ms; at rest it falls to 4 then, 50 ms later to
        /// 3, 57.7 ms later to 2, 70.7 ms later to 1. Late again at 600 ms: the next drop is
        /// an interval / sqrt(1) away.
        #[test]
        fn s3_the_count_falls_by_the_law_by_which_it_rose() {
            let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
            drops(&mut cobalt, 50, 350, 20);
            assert_eq!(cobalt.count, 5);
            assert!(drops(&mut cobalt, 350, 425, 2).is_empty());
            assert_eq!(cobalt.count, 3);
            drops(&mut cobalt, 425, 600, 2);
            assert_eq!(cobalt.count, 1);
            assert_eq!(drops(&mut cobalt, 600, 705, 20), [700]);
        }

        /// Four packets of 1 ms may stand though the target is 2 ms.
        #[test]
        fn s3_the_time_of_four_packets_is_never_too_long() {
            let config = CobaltConfig { target_ns: 2 * MS, ..PLAIN };
            let mut cobalt = Cobalt::new(&config, 0).unwrap();
            assert!(drops(&mut cobalt, 10, 500, 4).is_empty());
            assert_eq!(drops(&mut cobalt, 500, 650, 5), [600]);
        }

        /// Linux's `cake_dequeue`: a drop that is due at a queue's last packet is left out, and the
        /// next comes by the law: 150, then 220.7 ms.
        #[test]
        fn the_last_packet_of_a_queue_is_never_dropped() {
            let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
            drops(&mut cobalt, 50, 150, 20);
            let (left, random) = (Backlog::default(), &mut Stream::new(1, "test", "aqm"));
            let now = 150 * MS;
            let (since, bytes, precedence) = (130 * MS, 1000, 0);
            let last = Head { now, since, bytes, precedence, left, can_mark: false };
            assert_eq!(cobalt.on_head(&last, random), Verdict::Pass);
            assert_eq!(drops(&mut cobalt, 151, 250, 20), [221]);
        }

        /// BLUE: 1/256 for an overflow, once a target; 1/4096 less for an empty queue.
        #[test]
        fn s3_overflows_raise_the_probability_and_empty_queues_lower_it() {
            let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
            cobalt.on_overflow(10 * MS);
            cobalt.on_overflow(15 * MS);
            assert_eq!(cobalt.probability, 1.0 / 256.0);
            cobalt.on_overflow(16 * MS);
            assert_eq!(cobalt.probability, 2.0 / 256.0);
            cobalt.on_idle(22 * MS);
            assert_eq!(cobalt.probability, 2.0 / 256.0 - 1.0 / 4096.0);
        }
    }
}
