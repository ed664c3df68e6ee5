//! PIE: drops arrivals by a probability that steers the time in the queue to a target.
//!
//! Source: RFC 8033, sections 4 and 5; Linux 6.1 `net/sched/sch_pie.c` for what the RFC leaves open:
//! the delay is that of the last packet sent (its time stamp, RFC 8033 section 5.2), 0 where it left
//! the queue empty; probability decays by 1/64 while the delay is 0. Probabilities are added up
//! between drops (section 5.4): below a sum of 0.85 no packet is dropped, from 8.5 on every packet is.
//! ECN-capable packets are marked while the probability is at most 0.1 (section 5.1).
//! `arithmetic: linux` differs in two points: the burst allowance falls by the time between departures
//! (`pie_process_dequeue`), and the probability may exceed 1, which its check for overflow misses since
//! it has 56 bits in a word of 64, so that it takes longer to fall after an overload.
//! Differs: updates are made every `tupdate` from time 0 (Linux rounds them up to ticks of its clock, 16
//! ms for 15 at 250 Hz, and starts when the queue is made).
//! Absent: byte mode, the departure-rate estimator.

use super::codel::Arithmetic;
use super::{ActiveQueueManagement, Arrival, HeadPacket, InvalidParameter, QueueBacklog, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Span, Time, SECOND};

/// A delay above which the probability grows faster (RFC 8033 section 5.5) [ns].
const LONG_DELAY: Span = 250_000_000;

/// Keys of `pie`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    /// Time in the queue it steers to [ns, > 0].
    pub target_ns: Span,
    /// Time between two updates of the probability [ns, > 0].
    pub tupdate_ns: Span,
    /// Weight of the delay's distance from the target [Hz, > 0].
    pub alpha: f64,
    /// Weight of the delay's change [Hz, > 0].
    pub beta: f64,
    /// Time for which a queue that was idle drops no packet [ns].
    pub burst_ns: Span,
    /// Below two of these no packet is dropped [B, > 0].
    pub mtu_bytes: u32,
    /// Whose bound the probability has, and whose clock the burst.
    pub arithmetic: Arithmetic,
}

/// A PIE queue's AQM.
#[derive(Clone, Debug)]
pub struct Pie {
    config: PieConfig,
    probability: f64,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
    delay: Span,
    delay_before: Span,
    burst_left: Span,
    /// When a packet left since the burst allowance was full.
    left_at: Option<Time>,
    next_update: Time,
    /// Packets that wait.
    waiting: u32,
}

impl Pie {
    /// A PIE; the port's rate plays no part.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &PieConfig, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        let above = |value: f64, key| {
            InvalidParameter::require(value > 0.0 && value.is_finite(), key, || {
                "must be above 0".into()
            })
        };
        above(config.target_ns as f64, "target_ns")?;
        above(config.tupdate_ns as f64, "tupdate_ns")?;
        above(config.alpha, "alpha")?;
        above(config.beta, "beta")?;
        above(f64::from(config.mtu_bytes), "mtu_bytes")?;
        Ok(Self {
            config: *config,
            probability: 0.0,
            accumulated: 0.0,
            delay: 0,
            delay_before: 0,
            burst_left: config.burst_ns,
            left_at: None,
            next_update: config.tupdate_ns,
            waiting: 0,
        })
    }

    fn is_linux(&self) -> bool {
        self.config.arithmetic == Arithmetic::Linux
    }

    /// Makes the updates that were due by `now`; their inputs do not change between two of them.
    fn advance(&mut self, now: Time) {
        while self.next_update <= now {
            let rests = self.delay == 0 && self.delay_before == 0 && self.probability == 0.0;
            if rests && self.burst_left == self.config.burst_ns {
                let missed = (now - self.next_update) / self.config.tupdate_ns + 1;
                self.next_update += missed * self.config.tupdate_ns;
                self.left_at = None;
                return;
            }
            self.update();
            self.next_update += self.config.tupdate_ns;
        }
    }

    /// RFC 8033 section 5.2, `calculate_drop_prob`, with the non-linear steps of section 5.5.
    fn update(&mut self) {
        let PieConfig { target_ns, tupdate_ns, alpha, beta, burst_ns, .. } = self.config;
        let seconds = |ns: Span| ns as f64 / SECOND as f64;
        let (delay, before) = (seconds(self.delay), seconds(self.delay_before));
        let mut step = alpha * (delay - seconds(target_ns)) + beta * (delay - before);
        step /= scale(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        if self.delay > LONG_DELAY {
            step += 0.02;
        }
        let highest = if self.is_linux() { f64::from(1 << 8) } else { 1.0 };
        self.probability = (self.probability + step).clamp(0.0, highest);
        if self.delay == 0 && self.delay_before == 0 && self.waiting == 0 {
            self.probability *= 63.0 / 64.0;
        }
        if !self.is_linux() {
            self.burst_left = self.burst_left.saturating_sub(tupdate_ns);
        }
        let calm = self.delay < target_ns / 2 && self.delay_before < target_ns / 2;
        if calm && self.probability == 0.0 {
            self.burst_left = burst_ns;
            self.left_at = None;
            self.accumulated = 0.0;
        }
        self.delay_before = self.delay;
    }

    /// RFC 8033 section 5.1 and 5.4, `drop_early`.
    fn drops_early(&mut self, backlog: QueueBacklog, random: &mut RandomStream) -> bool {
        let PieConfig { target_ns, mtu_bytes, .. } = self.config;
        let light = self.delay < target_ns / 2 && self.probability < 0.2;
        if self.burst_left > 0 || light || backlog.bytes < 2 * u64::from(mtu_bytes) {
            return false;
        }
        self.accumulated =
            if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
        let drops = self.accumulated >= 8.5
            || (self.accumulated >= 0.85 && random.uniform() < self.probability);
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

/// By how much steps are scaled down at a small probability (RFC 8033 section 5.2).
fn scale(probability: f64) -> f64 {
    let levels =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
    levels.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, by)| *by)
}

impl ActiveQueueManagement for Pie {
    /// The time in the queue is known when a packet leaves it.
    const AT_HEAD: bool = true;

    fn on_arrival(&mut self, arrival: &Arrival, random: &mut RandomStream) -> Verdict {
        self.advance(arrival.now);
        if !self.drops_early(arrival.backlog, random) {
            return Verdict::Pass;
        }
        if self.probability <= 0.1 {
            Verdict::Signal(Cause::Early)
        } else {
            Verdict::Refuse(Cause::Early)
        }
    }

    fn on_enqueue(&mut self, _bytes: u32, _precedence: u8) {
        self.waiting += 1;
    }

    fn on_head(&mut self, head: &HeadPacket, _random: &mut RandomStream) -> Verdict {
        self.advance(head.now);
        self.delay = if head.left.packets == 0 { 0 } else { head.now - head.since };
        self.waiting = head.left.packets;
        if self.is_linux() {
            let before = self.left_at.replace(head.now).unwrap_or(head.now);
            self.burst_left = self.burst_left.saturating_sub(head.now - before);
        }
        Verdict::Pass
    }

    fn on_departure(&mut self, at: Time, _bytes: u32, _precedence: u8, left: QueueBacklog) {
        self.advance(at);
        self.waiting = left.packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: PieConfig = PieConfig {
        target_ns: 15_000_000,
        tupdate_ns: 15_000_000,
        alpha: 0.125,
        beta: 1.25,
        burst_ns: 150_000_000,
        mtu_bytes: 1500,
        arithmetic: Arithmetic::Exact,
    };

    fn pie() -> Pie {
        Pie::new(&PLAIN, 8_000_000).unwrap()
    }

    /// Linux 6.1, `pie_calculate_probability`: 300 ms above 0.1 add 0.02 and 0.02 an update; the RFC's
    /// ends at 1, the kernel's continues, 20 updates by 0.8. `pie_process_dequeue`: the burst of 150 ms
    /// is over 150 ms after the first departure, whatever the updates.
    #[test]
    fn linux_has_no_upper_bound_and_counts_the_burst_by_departures() {
        for (arithmetic, risen) in [(Arithmetic::Exact, 1.0), (Arithmetic::Linux, 1.7)] {
            let mut pie = Pie::new(&PieConfig { arithmetic, ..PLAIN }, 8_000_000).unwrap();
            (pie.probability, pie.delay, pie.delay_before) = (0.9, 300_000_000, 0);
            for _ in 0..20 {
                (pie.delay_before, pie.waiting) = (0, 9);
                pie.update();
            }
            assert!((pie.probability - risen).abs() < 1e-9, "{}", pie.probability);
        }
        let mut pie = Pie::new(&PieConfig { arithmetic: Arithmetic::Linux, ..PLAIN }, 0).unwrap();
        let left = QueueBacklog { packets: 9, bytes: 9_000 };
        for at in [0, 100_000_000, 149_000_000, 150_000_000] {
            assert!(pie.burst_left > 0);
            let (now, since) = (at + 20_000_000, at);
            let head = HeadPacket { now, since, bytes: 1000, precedence: 0, left, can_mark: false };
            pie.on_head(&head, &mut RandomStream::new(1, "test", "aqm"));
        }
        assert_eq!(pie.burst_left, 0);
    }

    mod rfc8033 {
        use super::*;

        /// A delay of 30 ms from 0: the first step is (0.125 * 15 ms + 1.25 * 30 ms) / 2048 =
        /// 1.9226e-5, which is above 1e-5; the next ones 0.125 * 15 ms / 128 = 1.4648e-5 each, and
        /// above 1e-4 0.125 * 15 ms / 32 = 5.859e-5.
        #[test]
        fn s5_2_probability_under_a_constant_delay_grows_by_scaled_steps() {
            let mut pie = pie();
            pie.delay = 30_000_000;
            let by_hand = [
                1.9226e-5, 3.3875e-5, 4.8523e-5, 6.3171e-5, 7.782e-5, 9.2468e-5, 1.07117e-4,
                1.6571e-4,
            ];
            for expected in by_hand {
                pie.update();
                let probability = pie.probability;
                assert!((probability / expected - 1.0).abs() < 1e-4, "{probability} {expected}");
            }
        }

        /// Section 5.5: at 10 % and more a step is at most 2 %; above 250 ms it is 2 % larger.
        #[test]
        fn s5_5_steps_are_at_most_2_percent_until_the_delay_is_long() {
            for (delay, grown) in [(250_000_000, 0.02), (250_000_001, 0.04)] {
                let mut pie = pie();
                (pie.probability, pie.delay) = (0.2, delay);
                pie.update();
                assert!((pie.probability - 0.2 - grown).abs() < 1e-12, "{}", pie.probability);
            }
        }

        /// Section 5.4: at a constant 1/16, whose sums are exact, the gap between two drops is at
        /// least 0.85 * 16, so 14 arrivals, and at most 8.5 * 16 = 136.
        #[test]
        fn s5_4_drops_are_neither_back_to_back_nor_far_apart() {
            let mut pie = pie();
            (pie.probability, pie.delay, pie.burst_left) = (0.0625, 20_000_000, 0);
            let mut random = RandomStream::new(3, "test", "pie");
            let backlog = QueueBacklog { packets: 20, bytes: 20_000 };
            let drops: Vec<usize> =
                (0..100_000).filter(|_| pie.drops_early(backlog, &mut random)).collect();
            let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.iter().all(|gap| (14..=136).contains(gap)), "{gaps:?}");
            // After 13 spared arrivals a geometric gap of mean 16: one in 29.
            let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
            assert!((mean - 29.0).abs() < 1.0, "{mean}");
        }

        /// Section 4.2 and `calculate_drop_prob`: an idle queue of probability 0.064 takes the step
        /// -0.125 * 15 ms / 2 = -0.0009375 and then 63/64 of 0.0630625 = 0.0620771 (2 % less in the
        /// RFC, 1/64 in Linux).
        #[test]
        fn s4_2_the_probability_decays_while_the_queue_is_idle() {
            let mut pie = pie();
            pie.probability = 0.064;
            pie.update();
            assert!((pie.probability - 0.062_077_148).abs() < 1e-9, "{}", pie.probability);
            // A packet waits: no decay, the step alone.
            pie.waiting = 1;
            pie.update();
            assert!((pie.probability - 0.061_139_648).abs() < 1e-9, "{}", pie.probability);
        }

        /// Without a burst allowance as well, whose rest is then always whole: both updates of an idle queue that
        /// are due count. -0.0009375 and 63/64 of 0.0620771 - 0.0009375 give 0.0601843.
        #[test]
        fn s4_2_an_idle_queue_without_a_burst_allowance_decays_too() {
            let mut pie = Pie::new(&PieConfig { burst_ns: 0, ..PLAIN }, 8_000_000).unwrap();
            pie.probability = 0.064;
            pie.advance(pie.next_update + PLAIN.tupdate_ns);
            assert!((pie.probability - 0.060_184_341).abs() < 1e-8, "{}", pie.probability);
        }

        /// Section 5.1: ECN-capable packets are marked up to a probability of 10 %, dropped above.
        #[test]
        fn s5_1_marks_turn_to_drops_above_10_percent() {
            let verdict = |probability| {
                let mut pie = pie();
                (pie.probability, pie.burst_left, pie.accumulated) = (probability, 0, 9.0);
                pie.delay = 100_000_000;
                let backlog = QueueBacklog { packets: 50, bytes: 50_000 };
                let arrival = Arrival { now: 1, bytes: 1000, precedence: 0, backlog };
                pie.on_arrival(&arrival, &mut RandomStream::new(1, "test", "aqm"))
            };
            assert_eq!(verdict(0.1), Verdict::Signal(Cause::Early));
            assert_eq!(verdict(0.101), Verdict::Refuse(Cause::Early));
        }

        /// Section 5.1: no packet is dropped below two packets, in the burst allowance, or at half
        /// the target while the probability is below 20 %.
        #[test]
        fn s5_1_a_light_queue_and_a_burst_drop_nothing() {
            let mut random = RandomStream::new(3, "test", "pie");
            let full = QueueBacklog { packets: 20, bytes: 20_000 };
            let mut never =
                |pie: &mut Pie, backlog| (0..1000).all(|_| !pie.drops_early(backlog, &mut random));
            let mut pie = pie();
            (pie.probability, pie.delay, pie.burst_left) = (0.9, 20_000_000, 0);
            assert!(never(&mut pie, QueueBacklog { packets: 2, bytes: 2_999 }));
            assert!(!never(&mut pie, full));
            pie.burst_left = 1;
            assert!(never(&mut pie, full));
            (pie.burst_left, pie.probability, pie.delay) = (0, 0.19, 7_000_000);
            assert!(never(&mut pie, full));
        }

        /// Section 4.2: the probability below which a step is scaled down by 2048, 512, 128, 32, 8, 2.
        #[test]
        fn s4_2_steps_are_scaled_by_the_table() {
            let levels = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0)];
            for ((bound, below), above) in
                levels.into_iter().chain([(0.1, 2.0)]).zip([512.0, 128.0, 32.0, 8.0, 2.0, 1.0])
            {
                assert_eq!((scale(bound * 0.999), scale(bound)), (below, above), "{bound}");
            }
        }

        /// Section 4.3: updates every 15 ms; over a long idle time they change nothing, and the next one is a
        /// multiple of 15 ms. A delay of 20 ms after none counts at once: 0.125 * 5 ms + 1.25 * 20 ms =
        /// 0.025625, by 2048 1.25122e-5.
        #[test]
        fn s4_3_updates_come_every_tupdate() {
            let mut pie = pie();
            pie.advance(100_000_000);
            assert_eq!((pie.next_update, pie.probability), (105_000_000, 0.0));
            pie.delay = 20_000_000;
            pie.advance(105_000_000);
            assert!((pie.probability / 1.251_220_7e-5 - 1.0).abs() < 1e-6, "{}", pie.probability);
            assert_eq!(pie.next_update, 120_000_000);
        }

        /// Section 4.4: a queue at rest whose burst allowance was used has it again at the next update.
        #[test]
        fn s4_4_a_queue_at_rest_has_its_burst_allowance_again() {
            for arithmetic in [Arithmetic::Exact, Arithmetic::Linux] {
                let mut pie = Pie::new(&PieConfig { arithmetic, ..PLAIN }, 8_000_000).unwrap();
                (pie.burst_left, pie.left_at) = (1, Some(3));
                pie.advance(14_999_999);
                assert_eq!((pie.burst_left, pie.left_at), (1, Some(3)));
                pie.advance(15_000_000);
                assert_eq!((pie.burst_left, pie.left_at), (150_000_000, None), "{arithmetic:?}");
            }
        }

        /// Section 4.4: the burst allowance is full again where this delay and the last are below half the
        /// target and the probability is 0. (7.5, 7 ms) falls as well: 0.125 * -7.5 + 1.25 * 0.5 ms.
        #[test]
        fn s4_4_the_burst_allowance_returns_when_both_delays_are_below_half_the_target() {
            for (delay, before, full) in [
                (7_499_999, 7_499_999, true),
                (7_500_000, 7_000_000, false),
                (7_000_000, 7_500_000, false),
                (0, 16_000_000, false),
            ] {
                let mut pie = pie();
                (pie.burst_left, pie.accumulated) = (0, 0.5);
                (pie.delay, pie.delay_before) = (delay, before);
                pie.update();
                assert_eq!(pie.probability, 0.0);
                assert_eq!(pie.burst_left == 150_000_000, full, "{delay} {before}");
                assert_eq!(pie.accumulated == 0.0, full, "{delay} {before}");
            }
        }

        /// Section 5.1 at its bounds: two packets of 1500 B, half of 15 ms, and 20 % do not protect.
        #[test]
        fn s5_1_nothing_is_spared_at_the_bounds() {
            for (bytes, delay, probability, spared) in [
                (3000, 7_499_999, 0.2, false),
                (3000, 7_500_000, 0.19, false),
                (3000, 7_499_999, 0.199, true),
                (2999, 7_500_000, 0.2, true),
            ] {
                let mut pie = pie();
                (pie.burst_left, pie.accumulated) = (0, 8.5);
                (pie.delay, pie.probability) = (delay, probability);
                let backlog = QueueBacklog { packets: 2, bytes };
                let drops = pie.drops_early(backlog, &mut RandomStream::new(1, "test", "pie"));
                assert_eq!(drops, !spared, "{bytes} {delay} {probability}");
            }
        }

        /// Section 5.2: the delay is that of the last packet that left, 0 where none is behind it; a queue is
        /// idle, so that its probability decays, from when its last packet left until the next is queued.
        #[test]
        fn s5_2_the_delay_is_that_of_the_last_departure() {
            let mut pie = pie();
            let random = &mut RandomStream::new(1, "test", "pie");
            let mut leave = |pie: &mut Pie, packets| {
                let left = QueueBacklog { packets, bytes: u64::from(packets) * 1000 };
                let (now, since) = (10_000_000, 7_000_000);
                let head =
                    HeadPacket { now, since, bytes: 1000, precedence: 0, left, can_mark: false };
                pie.on_head(&head, random);
                pie.on_departure(now, 1000, 0, left);
                (pie.delay, pie.waiting)
            };
            assert_eq!(leave(&mut pie, 2), (3_000_000, 2));
            assert_eq!(leave(&mut pie, 0), (0, 0));
            pie.on_enqueue(1000, 0);
            pie.on_enqueue(1000, 0);
            assert_eq!(pie.waiting, 2);
            pie.on_departure(10_000_000, 1000, 0, QueueBacklog { packets: 1, bytes: 1000 });
            assert_eq!(pie.waiting, 1);
        }
    }
}
