//! COBALT: CoDel that forgets by its own law, and BLUE for flows that do not listen.
//!
//! Source: Palmei et al., "Design and evaluation of COBALT queue discipline", IEEE LANMAN 2019; Linux
//! 6.1 `net/sched/sch_cake.c`, restated. While the head has waited `target` or less, or only the time
//! of four largest packets, the count of CoDel falls by the law by which it rose. When the queue
//! overflows a probability grows by 1/256, when it is found empty it falls by 1/4096, each at most
//! once a `target`; by it heads are dropped, never marked. The last packet of a queue is never dropped.
//! The control law has Linux's arithmetic: 32 bits, four Newton steps to the roots of small counts, one
//! to those of others (`cobalt_newton_step`). As there, and unlike the paper, a queue's first signal does
//! not wait for an interval (`root`). Absent: the allowance for two packets of each flow of the tin.

use super::{ActiveQueueManagement, Arrival, HeadPacket, InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Span, Time};

const INCREMENT: f64 = 1.0 / 256.0;
const DECREMENT: f64 = 1.0 / 4096.0;
/// Counts whose roots are looked up (`REC_INV_SQRT_CACHE`).
const CACHED_ROOTS: usize = 16;
/// Their 1 / sqrt(count), in parts of 2^32 (`cobalt_cache_init`).
const ROOTS: [u32; CACHED_ROOTS] = roots();

const fn roots() -> [u32; CACHED_ROOTS] {
    let (mut table, mut root, mut count) = ([u32::MAX; CACHED_ROOTS], u32::MAX, 1);
    while count < CACHED_ROOTS {
        let mut step = 0;
        while step < 4 {
            root = newton(root, count as u32);
            step += 1;
        }
        table[count] = root;
        count += 1;
    }
    table
}

/// A Newton step to 1 / sqrt(count).
const fn newton(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let rest = (3u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (rest.wrapping_mul(root as u64) >> 31) as u32
}

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
    /// 1 / sqrt(count), in parts of 2^32, when it last rose or fell; 0 before (`cobalt_vars_init`).
    root: u32,
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
    pub fn new(config: &CobaltConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        let CobaltConfig { target_ns, interval_ns, .. } = *config;
        InvalidParameter::require(target_ns > 0, "target_ns", || "must be above 0".into())?;
        InvalidParameter::require(interval_ns > target_ns, "interval_ns", || {
            format!("must be above target_ns: {interval_ns} is not above {target_ns}")
        })?;
        Ok(Self {
            config: *config,
            dropping: false,
            count: 0,
            root: 0,
            drop_next: 0,
            probability: 0.0,
            changed_at: None,
        })
    }

    /// The time of the drop after one at `at` (RFC 8289 section 4.4).
    fn control_law(&self, at: Time) -> Time {
        at + ((u128::from(self.config.interval_ns) * u128::from(self.root)) >> 32) as Span
    }

    /// Counts one signal more or fewer; the next is due by the law.
    fn recount(&mut self, count: u32) {
        self.count = count;
        let known = ROOTS.get(count as usize);
        self.root = known.copied().unwrap_or_else(|| newton(self.root, count));
        self.drop_next = self.control_law(self.drop_next);
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
            self.recount(self.count.saturating_add(1));
            return true;
        }
        while !self.dropping && self.count > 0 && now >= self.drop_next {
            self.recount(self.count - 1);
        }
        false
    }
}

impl ActiveQueueManagement for Cobalt {
    const AT_HEAD: bool = true;

    #[inline]
    fn on_arrival(&mut self, _arrival: &Arrival, _random: &mut RandomStream) -> Verdict {
        Verdict::Pass
    }

    fn on_head(&mut self, head: &HeadPacket, random: &mut RandomStream) -> Verdict {
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
            self.recount(self.count - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueueBacklog;
    use super::*;

    const MS: Time = 1_000_000;
    const PLAIN: CobaltConfig =
        CobaltConfig { target_ns: 5 * MS, interval_ns: 100 * MS, mtu_time_ns: MS };

    /// Judges a head at `now` that waited `wait`, both in ms.
    fn ask(cobalt: &mut Cobalt, now: Time, wait: Time) -> Verdict {
        let left = QueueBacklog { packets: 50, bytes: 50_000 };
        let (now, since) = (now * MS, (now - wait) * MS);
        let head = HeadPacket { now, since, bytes: 1000, precedence: 0, left, can_mark: false };
        cobalt.on_head(&head, &mut RandomStream::new(1, "test", "aqm"))
    }

    fn drops(cobalt: &mut Cobalt, from: Time, until: Time, wait: Time) -> Vec<Time> {
        (from..until).filter(|&now| ask(cobalt, now, wait) != Verdict::Pass).collect()
    }

    /// One whose count rose and fell again, so that its law is the paper's.
    fn used(config: &CobaltConfig) -> Cobalt {
        let mut cobalt = Cobalt::new(config, 0).unwrap();
        (cobalt.count, cobalt.drop_next) = (1, 0);
        assert!(drops(&mut cobalt, 1, 2, 1).is_empty());
        assert_eq!((cobalt.count, cobalt.root), (0, u32::MAX));
        cobalt
    }

    /// Linux 6.1, `cobalt_vars_init` and `cobalt_should_drop`: the inverse root is 0 until the count
    /// changes, so the first late head makes the second due at once; 70.7 ms later the third.
    #[test]
    fn cobalt_vars_init_the_first_signal_of_a_queue_does_not_wait() {
        let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
        assert_eq!(drops(&mut cobalt, 50, 125, 20), [51, 121]);
    }

    /// `cobalt_cache_init` by hand: of 1, all but 2^32; of 4 and 9, a half and a third to 1 in 10^4.
    #[test]
    fn cobalt_newton_step_comes_near_the_root() {
        for (count, root) in [(1, 1.0), (4, 0.5), (9, 1.0 / 3.0)] {
            assert!((f64::from(ROOTS[count]) / 2f64.powi(32) / root - 1.0).abs() < 1e-4, "{count}");
        }
        let root = (16..400).fold(ROOTS[15], newton);
        assert!((f64::from(root) / 2f64.powi(32) * 399f64.sqrt() - 1.0).abs() < 1e-4);
    }

    mod palmei2019 {
        use super::*;

        /// A head every ms, late from 50 ms on: the first drop an interval later, at 150 ms, then
        /// 100 / sqrt(2) = 70.7, 57.7 and 50 ms apart: 220.7, 278.4, 328.4 ms.
        #[test]
        fn s3_drops_follow_codels_law() {
            let mut cobalt = used(&PLAIN);
            assert!(drops(&mut cobalt, 10, 50, 5).is_empty());
            assert_eq!(drops(&mut cobalt, 50, 350, 20), [150, 221, 279, 329]);
        }

        /// While the queue is short the count falls by the same law: four drops have made it 5; the
        /// next is due at 328.4 + 100 / sqrt(5) = 373.2 ms; at rest it falls to 4 then, 50 ms later to
        /// 3, 57.7 ms later to 2, 70.7 ms later to 1. Late again at 600 ms: the next drop is
        /// an interval / sqrt(1) away.
        #[test]
        fn s3_the_count_falls_by_the_law_by_which_it_rose() {
            let mut cobalt = used(&PLAIN);
            drops(&mut cobalt, 50, 350, 20);
            assert_eq!(cobalt.count, 5);
            assert!(drops(&mut cobalt, 350, 425, 2).is_empty());
            assert_eq!(cobalt.count, 3);
            drops(&mut cobalt, 425, 600, 2);
            assert_eq!(cobalt.count, 1);
            assert_eq!(drops(&mut cobalt, 600, 705, 20), [700]);
        }

        /// Four packets of 1 ms may wait though the target is 2 ms.
        #[test]
        fn s3_the_time_of_four_packets_is_never_too_long() {
            let config = CobaltConfig { target_ns: 2 * MS, ..PLAIN };
            let mut cobalt = used(&config);
            assert!(drops(&mut cobalt, 10, 500, 4).is_empty());
            assert_eq!(drops(&mut cobalt, 500, 650, 5), [600]);
        }

        /// Linux's `cake_dequeue`: a drop that is due at a queue's last packet is skipped, and the next
        /// follows the law: 150, then 220.7 ms.
        #[test]
        fn the_last_packet_of_a_queue_is_never_dropped() {
            let mut cobalt = used(&PLAIN);
            drops(&mut cobalt, 50, 150, 20);
            let (left, random) =
                (QueueBacklog::default(), &mut RandomStream::new(1, "test", "aqm"));
            let now = 150 * MS;
            let (since, bytes, precedence) = (130 * MS, 1000, 0);
            let last = HeadPacket { now, since, bytes, precedence, left, can_mark: false };
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

        /// The probability drops heads: 1/4 of them, none at 0, each at 1.
        #[test]
        fn s3_blue_drops_heads_by_its_probability() {
            for (probability, low, high) in [(0.0, 0, 0), (0.25, 935, 1065), (1.0, 4000, 4000)] {
                let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
                cobalt.probability = probability;
                let random = &mut RandomStream::new(1, "test", "aqm");
                let left = QueueBacklog { packets: 5, bytes: 5_000 };
                let (now, bytes, precedence) = (MS, 1000, 0);
                let head = HeadPacket { now, since: now, bytes, precedence, left, can_mark: true };
                let refused = Verdict::Refuse(Cause::Early);
                let drops = (0..4000).filter(|_| cobalt.on_head(&head, random) == refused).count();
                assert!((low..=high).contains(&drops), "{probability}: {drops}");
            }
        }

        /// `cake_dequeue`, late from 50 ms, nothing sent between 52 and 400 ms, when a signal has been due for
        /// 250 ms. Drops catch up: the law gives 220.7, 278.4, 328.4, 373.2 and 414.0 ms, one a head from 400 ms
        /// on. A mark starts the law again: 57.7 ms after the one at 400 (due at once again at 401), then 50.
        #[test]
        fn cake_dequeue_drops_catch_up_and_marks_do_not() {
            for (can_mark, expected) in
                [(false, [400, 401, 402, 403, 404, 414]), (true, [400, 401, 458, 508, 553, 594])]
            {
                let mut cobalt = used(&PLAIN);
                assert!(drops(&mut cobalt, 50, 52, 20).is_empty());
                let random = &mut RandomStream::new(1, "test", "aqm");
                let left = QueueBacklog { packets: 50, bytes: 50_000 };
                let mut judge = |ms: Time| {
                    let (now, since) = (ms * MS, (ms - 20) * MS);
                    let head =
                        HeadPacket { now, since, bytes: 1000, precedence: 0, left, can_mark };
                    cobalt.on_head(&head, random) != Verdict::Pass
                };
                let signals: Vec<Time> = (400..600).filter(|ms| judge(*ms)).take(6).collect();
                assert_eq!(signals, expected, "{can_mark}");
            }
        }

        /// `cobalt_queue_empty`: an empty queue takes one off a count that is due, none before.
        #[test]
        fn cobalt_queue_empty_the_count_falls_when_due() {
            for (at, count) in [(99, 3), (100, 2)] {
                let mut cobalt = Cobalt::new(&PLAIN, 0).unwrap();
                (cobalt.count, cobalt.drop_next, cobalt.dropping) = (3, 100 * MS, true);
                cobalt.on_idle(at * MS);
                assert_eq!((cobalt.count, cobalt.dropping), (count, false), "{at}");
            }
        }
    }
}
