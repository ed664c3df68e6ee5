//! Token-bucket shaping: each class sends only as its bucket allows, strict priority among those
//! that may send.
//!
//! Source: RFC 2475 section 2.3.3.3 (shapers delay packets to bring a stream into its profile). A
//! class of rate r and burst b may send a packet of L bytes when its bucket, b deep and filled at
//! r, holds L; a packet larger than b is sent when the bucket is full, and leaves it that much in debt.
//! A rate of 0 does not shape. A burst of one packet makes a leaky bucket. Among classes that
//! may send, the lowest priority number is served first; equal ones take turns by packet.
//! Cost: O(log n) a packet, and as much for each class that becomes able to send.

use super::bucket::RateBucket;
use super::heap::ClassHeap;
use super::{ClassHeads, Discipline, InvalidParameter, SchedulerChoice};
use serde::{Deserialize, Serialize};
use trunkline_units::{Time, NEVER};

/// Share of a shaped class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShapedShare {
    /// Strict priority: 0 is served first.
    pub priority: u32,
    /// Rate it is shaped to [bit/s]; 0 = none.
    pub rate_bit_s: u64,
    /// Depth of its bucket [B].
    pub burst_bytes: u64,
}

#[derive(Clone, Debug)]
struct Shaper {
    priority: u32,
    /// None: not shaped.
    bucket: Option<RateBucket>,
    filled_at: Time,
}

impl Shaper {
    fn fill(&mut self, now: Time) {
        if let Some(bucket) = &mut self.bucket {
            bucket.fill(now - self.filled_at);
        }
        self.filled_at = now;
    }

    /// When the bucket will hold the tokens for a head of `bytes`, from `filled_at` on.
    fn ready_at(&self, bytes: u32) -> Time {
        self.filled_at + self.bucket.map_or(0, |bucket| bucket.time_until_holds(bytes))
    }
}

/// Shaped classes under strict priority.
#[derive(Clone, Debug)]
pub struct Shaped {
    classes: Vec<Shaper>,
    /// Backlogged classes that may send, by (priority, turn).
    ready: ClassHeap<(u32, u64)>,
    /// Backlogged classes that may not, by the time they will.
    held: ClassHeap<Time>,
    turn: u64,
}

impl Shaped {
    /// A shaper; reads `rate_bit_s`, `burst_bytes` and `priority` of each share.
    ///
    /// # Errors
    /// If there is no class, or a shaped class has no burst.
    pub fn new(shares: &[ShapedShare]) -> Result<Self, InvalidParameter> {
        super::at_least_one_class(shares)?;
        for (class, share) in shares.iter().enumerate() {
            InvalidParameter::require(
                share.rate_bit_s == 0 || share.burst_bytes > 0,
                "burst_bytes",
                || format!("must be above 0 with a rate (class {class})"),
            )?;
        }
        let shaper = |share: &ShapedShare| {
            let bucket = (share.rate_bit_s > 0)
                .then(|| RateBucket::full(share.rate_bit_s, share.burst_bytes));
            Shaper { priority: share.priority, bucket, filled_at: 0 }
        };
        Ok(Self {
            classes: shares.iter().map(shaper).collect(),
            ready: ClassHeap::new(shares.len()),
            held: ClassHeap::new(shares.len()),
            turn: 0,
        })
    }

    /// Files `class`, whose head has `bytes`, under ready or held.
    fn requeue_class(&mut self, class: u16, bytes: u32, now: Time) {
        let shaper = &mut self.classes[usize::from(class)];
        shaper.fill(now);
        let at = shaper.ready_at(bytes);
        if at > now {
            self.ready.remove(class);
            self.held.set(class, at);
        } else {
            self.turn += 1;
            self.held.remove(class);
            self.ready.set(class, (shaper.priority, self.turn));
        }
    }
}

impl Discipline for Shaped {
    fn on_enqueue(&mut self, class: u16, bytes: u32, was_empty: bool, now: Time) {
        if was_empty {
            self.requeue_class(class, bytes, now);
        }
    }

    fn choose(&mut self, heads: &mut impl ClassHeads, now: Time) -> SchedulerChoice {
        while let Some((at, class)) = self.held.first() {
            if at > now {
                break;
            }
            match heads.head(class) {
                Some(bytes) => self.requeue_class(class, bytes, now),
                None => self.held.remove(class),
            }
        }
        while let Some((_, class)) = self.ready.first() {
            let Some(bytes) = heads.head(class) else {
                self.ready.remove(class);
                continue;
            };
            let shaper = &mut self.classes[usize::from(class)];
            shaper.fill(now);
            if shaper.ready_at(bytes) <= now {
                return SchedulerChoice::Class(class);
            }
            // Its head has changed since it was filed.
            self.requeue_class(class, bytes, now);
        }
        self.held.first().map_or(SchedulerChoice::Idle, |(at, _)| SchedulerChoice::Wait(at))
    }

    fn on_dequeue(&mut self, class: u16, bytes: u32, now_empty: bool, now: Time) {
        let shaper = &mut self.classes[usize::from(class)];
        shaper.fill(now);
        if let Some(bucket) = &mut shaper.bucket {
            bucket.take(bytes, NEVER);
        }
        self.ready.remove(class);
        self.held.remove(class);
        if !now_empty {
            // The next head is not known here: `choose` reads it.
            self.turn += 1;
            self.ready.set(class, (self.classes[usize::from(class)].priority, self.turn));
        }
    }

    fn on_discard(&mut self, class: u16, now_empty: bool) {
        // Else `choose` reads the next head.
        if now_empty {
            self.ready.remove(class);
            self.held.remove(class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_link::{arrivals, serve, Arrival};
    use super::*;
    use proptest::prelude::*;

    fn share(rate_bit_s: u64, burst_bytes: u64, priority: u32) -> ShapedShare {
        ShapedShare { rate_bit_s, burst_bytes, priority }
    }

    mod rfc2475 {
        use super::*;

        /// 800 kbit/s = 100 B/ms, burst 300 B, line 8 Mbit/s (100 B = 0.1 ms). 6 packets of 100 B at
        /// 0: three at once (0, 0.1, 0.2 ms). At 0.2 ms the bucket has 20 B after the third, so the
        /// fourth is sent when 80 more are there: 1.0 ms, then 2.0 and 3.0 ms.
        #[test]
        fn s2_3_3_3_a_burst_passes_and_the_rest_follows_at_the_rate() {
            let sched = Shaped::new(&[share(800_000, 300, 0)]).unwrap();
            let sent = serve(sched, 8_000_000, 1, &arrivals(&[(0, 0, 100); 6]));
            let starts: Vec<_> = sent.iter().map(|sent| sent.start / 1000).collect();
            assert_eq!(starts, [0, 100, 200, 1000, 2000, 3000]);
        }

        proptest! {
            /// The bytes that a shaped class sends in any interval [s, t] are at most b + r (t - s), and
            /// every
            /// packet is sent, in order.
            #[test]
            fn s2_3_3_3_output_conforms_to_the_profile(
                steps in prop::collection::vec((0u64..3_000, 40u32..300), 1..100),
            ) {
                let mut at = 0;
                let trace: Vec<_> = steps
                    .iter()
                    .map(|&(gap, bytes)| { at += gap * 1000; Arrival { at, class: 0, bytes } })
                    .collect();
                let sched = Shaped::new(&[share(800_000, 300, 0)]).unwrap();
                let sent = serve(sched, 8_000_000, 1, &trace);
                prop_assert_eq!(sent.len(), trace.len());
                for from in 0..sent.len() {
                    let mut bytes = 0;
                    for to in from..sent.len() {
                        prop_assert!(sent[to].id == to);
                        bytes += u64::from(sent[to].bytes);
                        let span = sent[to].start - sent[from].start;
                        // bytes <= 300 + 1e5 B/s * span, times 1e4 ns.
                        prop_assert!(bytes * 10_000 <= 300 * 10_000 + span, "{} to {}", from, to);
                    }
                }
            }
        }
    }

    /// A packet above the burst waits for a full bucket and leaves a debt: burst 100 B, packets
    /// of 300 B at 100 B/ms: at 0, then when -200 B have grown to 100 B: 3 ms, 6 ms.
    #[test]
    fn a_packet_above_the_burst_is_paid_afterwards() {
        let sched = Shaped::new(&[share(800_000, 100, 0)]).unwrap();
        let sent = serve(sched, 8_000_000, 1, &arrivals(&[(0, 0, 300); 3]));
        let starts: Vec<_> = sent.iter().map(|sent| sent.start / 1000).collect();
        assert_eq!(starts, [0, 3000, 6000]);
    }

    /// Class 0 shaped to 100 B/ms before an unshaped class 1 of 500 B packets (0.5 ms each): 1 fills
    /// the gaps, and 0 is sent at the first end of a packet after it may.
    #[test]
    fn an_unshaped_class_fills_the_gaps() {
        let sched = Shaped::new(&[share(800_000, 100, 0), share(0, 0, 1)]).unwrap();
        let trace = [[(0, 0, 100); 3].as_slice(), &[(0, 1, 500); 6]].concat();
        let sent = serve(sched, 8_000_000, 2, &arrivals(&trace));
        let order: Vec<_> = sent.iter().map(|sent| (sent.start / 1000, sent.class)).collect();
        let expected = [
            (0, 0),
            (100, 1),
            (600, 1),
            (1100, 0),
            (1200, 1),
            (1700, 1),
            (2200, 0),
            (2300, 1),
            (2800, 1),
        ];
        assert_eq!(order, expected);
    }

    /// Equal priorities take turns by packet, from the one that came first on.
    #[test]
    fn equal_priorities_take_turns_in_the_order_of_their_arrival() {
        let sched = Shaped::new(&[share(0, 0, 0), share(0, 0, 0), share(0, 0, 0)]).unwrap();
        let trace = [[(0, 2, 100); 2], [(0, 0, 100); 2], [(0, 1, 100); 2]].concat();
        let order: Vec<_> =
            serve(sched, 8_000_000, 3, &arrivals(&trace)).iter().map(|sent| sent.class).collect();
        assert_eq!(order, [2, 0, 1, 2, 0, 1]);
    }
}
