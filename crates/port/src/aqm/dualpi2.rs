//! DualPI2: two queues with one AQM between them, for scalable and for classic congestion controls.
//!
//! Source: RFC 9332, sections 2.5 and 4 and appendix A: every `tupdate` a base probability p' follows the
//! longer of the two waits as PI2's; the classic queue drops or marks by its square, the low-latency queue
//! marks by `coupling` times it, or for certain if a packet waited longer than `step` with another
//! behind it. From p' = 1/`coupling` on, both drop by the square (appendix A.1, overload). A credit
//! decides which queue sends, as in the Linux module of the L4S team (`sch_dualpi2`): the classic one
//! has `protection` of the bytes while both wait. Below two packets of `mtu` only the step signals.
//! Differs: signals are drawn, where appendix A.1 adds probabilities up; the step is not a ramp.
//! Absent: time-shifted FIFO.

use super::{ActiveQueueManagement, Arrival, InvalidParameter, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Span, Time, SECOND};

/// Keys of `dualpi2`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Config {
    /// Time in the queue it steers to [ns, > 0].
    pub target_ns: Span,
    /// Time between two updates of the probability [ns, > 0].
    pub tupdate_ns: Span,
    /// Weight of the wait's distance from the target [Hz, > 0].
    pub alpha: f64,
    /// Weight of the wait's change [Hz, > 0].
    pub beta: f64,
    /// k: marks of the low-latency queue for the root of the classic one's [> 0].
    pub coupling: f64,
    /// Wait above which the low-latency queue marks [ns].
    pub step_ns: Span,
    /// Share of the classic queue while both wait [0..1].
    pub protection: f64,
    /// Largest packet on the wire [B, > 0].
    pub mtu_bytes: u32,
}

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualSide {
    /// For Not-ECT and ECT(0).
    Classic = 0,
    /// For ECT(1) and CE.
    LowLatency = 1,
}

/// A packet about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct DepartingPacket {
    /// Its queue.
    pub side: DualSide,
    /// How long it waited [ns].
    pub wait: Span,
    /// Packets that wait behind it in its queue.
    pub behind: u32,
    /// Bytes in both queues, its own included.
    pub backlog: u64,
    /// Whether it can be marked.
    pub can_mark: bool,
}

/// Credit is counted in 1/1024 B.
const CREDIT_UNIT: f64 = 1024.0;

/// The AQM of two queues, and which of them sends.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    /// p'.
    base: f64,
    wait_before: f64,
    next_update: Time,
    credit: i64, // above 0 the classic queue sends
}

impl DualPi2 {
    /// A DualPI2; the port's rate plays no part.
    ///
    /// # Errors
    /// The parameter that is out of range.
    pub fn new(config: &DualPi2Config, _rate_bit_s: u64) -> Result<Self, InvalidParameter> {
        let above = |value: f64, key| {
            InvalidParameter::require(value > 0.0 && value.is_finite(), key, || {
                "must be above 0".into()
            })
        };
        above(config.target_ns as f64, "target_ns")?;
        above(config.tupdate_ns as f64, "tupdate_ns")?;
        above(config.alpha, "alpha")?;
        above(config.beta, "beta")?;
        above(config.coupling, "coupling")?;
        above(f64::from(config.mtu_bytes), "mtu_bytes")?;
        InvalidParameter::require((0.0..1.0).contains(&config.protection), "protection", || {
            "must be in 0..1".into()
        })?;
        let mut dualpi2 = Self {
            config: *config,
            base: 0.0,
            wait_before: 0.0,
            next_update: config.tupdate_ns,
            credit: 0,
        };
        dualpi2.rest();
        Ok(dualpi2)
    }

    /// Makes the updates that were due by `now`; `heads` gives since when each queue's head has waited,
    /// which does not change between two updates.
    pub fn advance(&mut self, now: Time, heads: [Option<Time>; 2]) {
        while self.next_update <= now {
            let waits =
                heads.into_iter().flatten().map(|since| self.next_update.saturating_sub(since));
            let wait = waits.max().unwrap_or(0);
            let rests = wait == 0 && self.wait_before == 0.0 && self.base == 0.0;
            if rests && heads == [None; 2] {
                let missed = (now - self.next_update) / self.config.tupdate_ns + 1;
                self.next_update += missed * self.config.tupdate_ns;
                return;
            }
            self.update(wait);
            self.next_update += self.config.tupdate_ns;
        }
    }

    /// RFC 9332 appendix A.1, `dualpi2_update`.
    fn update(&mut self, wait: Span) {
        let seconds = |ns: Span| ns as f64 / SECOND as f64;
        let DualPi2Config { target_ns, alpha, beta, .. } = self.config;
        let wait = seconds(wait);
        let step = alpha * (wait - seconds(target_ns)) + beta * (wait - self.wait_before);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.wait_before = wait;
    }

    /// Choice of the queue that sends; bytes at the head of each.
    #[must_use]
    pub fn choose(&self, heads: [Option<u32>; 2]) -> Option<DualSide> {
        match heads {
            [None, None] => None,
            [Some(_), None] => Some(DualSide::Classic),
            [None, Some(_)] => Some(DualSide::LowLatency),
            _ if self.credit > 0 => Some(DualSide::Classic),
            _ => Some(DualSide::LowLatency),
        }
    }

    /// Bytes of a queue are sent; `other` is whether the other one waits.
    pub fn served(&mut self, side: DualSide, bytes: u32, other: bool) {
        if other {
            let share = self.config.protection;
            let weight = match side {
                DualSide::Classic => share - 1.0,
                DualSide::LowLatency => share,
            };
            self.credit += (weight * f64::from(bytes) * CREDIT_UNIT) as i64;
        }
    }

    /// Both queues are empty.
    pub fn rest(&mut self) {
        let DualPi2Config { protection, mtu_bytes, .. } = self.config;
        self.credit = ((2.0 * protection - 1.0) * 2.0 * f64::from(mtu_bytes) * CREDIT_UNIT) as i64;
    }

    /// Judges a packet about to be sent.
    pub fn judge(&self, packet: &DepartingPacket, random: &mut RandomStream) -> Verdict {
        let DualPi2Config { coupling, step_ns, mtu_bytes, .. } = self.config;
        let light = packet.backlog < 2 * u64::from(mtu_bytes);
        let base = if light { 0.0 } else { self.base };
        let (square, coupled) = (base * base, coupling * base);
        let classic = square > 0.0 && random.uniform() < square;
        if packet.side == DualSide::Classic {
            let overload = square >= (1.0 / (coupling * coupling)).min(1.0);
            return match classic {
                true if overload => Verdict::Refuse(Cause::Early),
                true => Verdict::Signal(Cause::Early),
                false => Verdict::Pass,
            };
        }
        if coupled >= 1.0 {
            return if classic { Verdict::Refuse(Cause::Early) } else { Verdict::Mark };
        }
        let late = packet.wait > step_ns && packet.behind > 0;
        if late || (coupled > 0.0 && random.uniform() < coupled) {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
}

/// The engine calls [`DualPi2::judge`] instead, as there are two queues.
impl ActiveQueueManagement for DualPi2 {
    const AT_HEAD: bool = true;

    fn on_arrival(&mut self, _arrival: &Arrival, _random: &mut RandomStream) -> Verdict {
        Verdict::Pass
    }
}

#[cfg(test)]
mod rfc9332 {
    use super::*;

    const MS: Span = 1_000_000;
    const PLAIN: DualPi2Config = DualPi2Config {
        target_ns: 15 * MS,
        tupdate_ns: 16 * MS,
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step_ns: MS,
        protection: 0.1,
        mtu_bytes: 1500,
    };

    fn plain() -> (DualPi2, RandomStream) {
        (DualPi2::new(&PLAIN, 1).unwrap(), RandomStream::new(1, "dualpi2", "test"))
    }

    fn leaving(side: DualSide, wait: Span) -> DepartingPacket {
        DepartingPacket {
            side,
            wait,
            behind: 5,
            backlog: 60_000,
            can_mark: side == DualSide::LowLatency,
        }
    }

    /// Share of 20,000 packets that are signalled.
    fn share(dualpi2: &DualPi2, packet: &DepartingPacket, random: &mut RandomStream) -> f64 {
        let signals =
            (0..20_000).filter(|_| dualpi2.judge(packet, random) != Verdict::Pass).count();
        signals as f64 / 20_000.0
    }

    /// 30 ms from 0: 0.16 * 15 ms + 3.2 * 30 ms = 0.0984, then 0.16 * 15 ms = 0.0024 more each time.
    #[test]
    fn a1_the_base_probability_follows_the_wait() {
        let (mut dualpi2, _) = plain();
        let mut seen = vec![];
        for _ in 0..5 {
            dualpi2.update(30 * MS);
            seen.push(dualpi2.base);
        }
        let by_hand = [0.0984, 0.1008, 0.1032, 0.1056, 0.108];
        assert!(
            seen.iter().zip(by_hand).all(|(dualpi2, by)| (dualpi2 - by).abs() < 1e-12),
            "{seen:?}"
        );
    }

    /// The longer of the two waits counts: at 16 ms one head has waited since 1 ms, the other since 10.
    #[test]
    fn a1_the_longer_of_the_two_waits_counts() {
        let (mut dualpi2, _) = plain();
        dualpi2.advance(16 * MS, [Some(10 * MS), Some(MS)]);
        let by_hand: f64 = 0.16 * 0.0 + 3.2 * 0.015;
        assert!((dualpi2.base - by_hand).abs() < 1e-12, "{}", dualpi2.base);
    }

    /// Section 2.1: the classic share is the square of the other queue's share over k: p' = 0.1
    /// gives 0.01 and 0.2.
    #[test]
    fn s2_1_the_classic_probability_is_the_square_of_the_coupled_one_over_k() {
        let (mut dualpi2, mut random) = plain();
        dualpi2.base = 0.1;
        let classic = share(&dualpi2, &leaving(DualSide::Classic, 0), &mut random);
        let scalable = share(&dualpi2, &leaving(DualSide::LowLatency, 0), &mut random);
        assert!((classic - 0.01).abs() < 3e-3 && (scalable - 0.2).abs() < 9e-3);
    }

    /// Section 2.5.2: p_C max is 1 / k^2 = 25 %, where the other is marked always: from p' = 0.5 on both drop.
    #[test]
    fn s2_5_2_in_overload_both_queues_drop() {
        let (mut dualpi2, mut random) = plain();
        let refuses = |dualpi2: &DualPi2, side, random: &mut RandomStream| {
            let judge = |_| dualpi2.judge(&leaving(side, 0), random);
            (0..4000).map(judge).any(|verdict| verdict == Verdict::Refuse(Cause::Early))
        };
        for (base, refused) in [(0.49, false), (0.5, true)] {
            dualpi2.base = base;
            assert_eq!(refuses(&dualpi2, DualSide::LowLatency, &mut random), refused);
            assert_eq!(refuses(&dualpi2, DualSide::Classic, &mut random), refused);
        }
    }

    /// Section 4.2 with a step in place of the ramp: above 1 ms every packet is marked, unless none
    /// waits behind it.
    #[test]
    fn s2_5_1_the_step_marks_what_waited_longer() {
        let (dualpi2, mut random) = plain();
        let packet = leaving(DualSide::LowLatency, MS + 1);
        assert_eq!(dualpi2.judge(&packet, &mut random), Verdict::Mark);
        assert_eq!(
            dualpi2.judge(&DepartingPacket { wait: MS, ..packet }, &mut random),
            Verdict::Pass
        );
        assert_eq!(
            dualpi2.judge(&DepartingPacket { behind: 0, ..packet }, &mut random),
            Verdict::Pass
        );
    }

    /// Section 2.5: the low-latency queue is served first, and the classic one has a tenth while both
    /// wait.
    #[test]
    fn s2_5_the_classic_queue_has_its_share_while_both_wait() {
        let (mut dualpi2, _) = plain();
        let mut sent = [0, 0];
        for _ in 0..1000 {
            let side = dualpi2.choose([Some(1500), Some(1500)]).unwrap();
            dualpi2.served(side, 1500, true);
            sent[side as usize] += 1;
        }
        assert!((98..=101).contains(&sent[0]), "{sent:?}");
        assert_eq!(dualpi2.choose([Some(1500), None]), Some(DualSide::Classic));
    }

    /// Appendix A.1: an update every `tupdate`. Over a long idle time they change nothing and the next one is
    /// a multiple of 16 ms; a head that came at 40 ms is 8 ms old at 48 ms and 24 ms at 64 ms: p' is
    /// 0.16 * -7 ms + 3.2 * 8 ms = 0.02448, then 0.16 * 9 ms + 3.2 * 16 ms = 0.05264 more. From 0.05 an
    /// empty queue takes 0.16 * 15 ms = 0.0024 off, and what was waited before is forgotten.
    #[test]
    fn a1_updates_go_on_while_the_queues_are_empty() {
        let (mut dualpi2, _) = plain();
        dualpi2.advance(100 * MS, [None; 2]);
        assert_eq!((dualpi2.next_update, dualpi2.base), (112 * MS, 0.0));
        let (mut dualpi2, _) = plain();
        dualpi2.advance(64 * MS, [None, Some(40 * MS)]);
        assert!((dualpi2.base - 0.07712).abs() < 1e-12, "{}", dualpi2.base);
        let (mut dualpi2, _) = plain();
        dualpi2.base = 0.05;
        dualpi2.advance(16 * MS, [None; 2]);
        assert!((dualpi2.base - 0.0476).abs() < 1e-12, "{}", dualpi2.base);
        let (mut dualpi2, _) = plain();
        dualpi2.wait_before = 0.02;
        dualpi2.advance(16 * MS, [None; 2]);
        assert_eq!((dualpi2.wait_before, dualpi2.base), (0.0, 0.0));
    }

    /// Linux's `c_protection_init` at a tenth: 2 * 1500 B * (0.1 - 0.9) = -2400 B. A low-latency packet of
    /// 1500 B is worth 150 B, so that 17 go before the first classic one, again after the queues were
    /// empty; what is sent while the other queue is empty counts nothing.
    #[test]
    fn s2_5_a_busy_period_begins_with_17_low_latency_packets() {
        let (mut dualpi2, _) = plain();
        for _ in 0..2 {
            dualpi2.served(DualSide::LowLatency, 1500, false);
            let mut before = 0;
            while dualpi2.choose([Some(1500), Some(1500)]) == Some(DualSide::LowLatency) {
                dualpi2.served(DualSide::LowLatency, 1500, true);
                before += 1;
            }
            assert_eq!(before, 17);
            assert_eq!(dualpi2.choose([None, Some(1500)]), Some(DualSide::LowLatency));
            assert_eq!(dualpi2.choose([None, None]), None);
            dualpi2.rest();
        }
    }

    /// Below two packets of 1500 B nothing is signalled whatever p' is, and no random number is drawn.
    #[test]
    fn a1_two_packets_or_fewer_are_left_alone() {
        let (mut dualpi2, mut random) = plain();
        dualpi2.base = 1.0;
        let packet = |side, backlog| DepartingPacket { backlog, ..leaving(side, 0) };
        for (side, verdict) in [
            (DualSide::Classic, Verdict::Refuse(Cause::Early)),
            (DualSide::LowLatency, Verdict::Refuse(Cause::Early)),
        ] {
            assert_eq!(dualpi2.judge(&packet(side, 2999), &mut random), Verdict::Pass);
            assert_eq!(random.bits(), plain().1.bits(), "{side:?}");
            random = plain().1;
            assert_eq!(dualpi2.judge(&packet(side, 3000), &mut random), verdict);
            random = plain().1;
        }
    }

    /// Section 2.5.2: p_C max is 1 / k^2, and 1 at most. With k = 3 it is 0.1111, between the squares of
    /// 0.33 and 0.34; with k = 1/2 the square of 0.95 is below 1.
    #[test]
    fn s2_5_2_the_bound_of_the_classic_probability_follows_the_coupling() {
        for (coupling, base, refused) in [(3.0, 0.33, false), (3.0, 0.34, true), (0.5, 0.95, false)]
        {
            let (_, mut random) = plain();
            let mut dualpi2 = DualPi2::new(&DualPi2Config { coupling, ..PLAIN }, 1).unwrap();
            dualpi2.base = base;
            let packet = leaving(DualSide::Classic, 0);
            let verdicts: Vec<_> = (0..2000).map(|_| dualpi2.judge(&packet, &mut random)).collect();
            let is_refused = verdicts.contains(&Verdict::Refuse(Cause::Early));
            assert_eq!(is_refused, refused, "{coupling} {base}");
            assert_eq!(verdicts.contains(&Verdict::Signal(Cause::Early)), !refused);
        }
    }
}
