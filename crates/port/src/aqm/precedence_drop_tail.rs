//! Drop-tail with a limit for each precedence.
//!
//! Source: `own` is the drop-tail mode of ns-2.35's DiffServ module, `all` is partial buffer sharing
//! (Kroener et al., IEEE JSAC 9(3), 1991): precedence n is let in while fewer than its limit of
//! packets of any precedence wait.

use super::{ActiveQueueManagement, Arrival, InvalidParameter, QueueBacklog, Verdict};
use serde::{Deserialize, Serialize};
use trunkline_packet::Cause;
use trunkline_units::{RandomStream, Time};

/// Packets that a precedence's limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Those of the same precedence.
    Own,
    /// All in the queue.
    All,
}

/// Keys of `precedence-drop-tail`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrecedenceDropTailConfig {
    /// Maximum number of packets in the queue for precedence 0, 1, ... [packets]; a higher one takes the last.
    pub limits_packets: Vec<u32>,
    /// Packets that the limits count.
    pub counted: Counted,
}

/// A drop-tail queue's AQM, by precedence.
#[derive(Clone, Debug)]
pub struct PrecedenceDropTail {
    limits: Vec<u32>,
    packets: Vec<u32>,
    counted: Counted,
}

impl PrecedenceDropTail {
    /// A drop-tail by precedence.
    ///
    /// # Errors
    /// If there is no limit.
    pub fn new(
        config: &PrecedenceDropTailConfig,
        _rate_bit_s: u64,
    ) -> Result<Self, InvalidParameter> {
        let limits = config.limits_packets.clone();
        InvalidParameter::require((1..=256).contains(&limits.len()), "limits_packets", || {
            format!("must be 1 to 256 limits, not {}", limits.len())
        })?;
        Ok(Self { packets: vec![0; limits.len()], limits, counted: config.counted })
    }

    fn level(&self, precedence: u8) -> usize {
        usize::from(precedence).min(self.limits.len() - 1)
    }
}

impl ActiveQueueManagement for PrecedenceDropTail {
    #[inline]
    fn on_arrival(&mut self, arrival: &Arrival, _random: &mut RandomStream) -> Verdict {
        let level = self.level(arrival.precedence);
        let waiting = match self.counted {
            Counted::Own => self.packets[level],
            Counted::All => arrival.backlog.packets,
        };
        if waiting < self.limits[level] {
            Verdict::Pass
        } else {
            Verdict::Refuse(Cause::QueueFull)
        }
    }

    fn on_enqueue(&mut self, _bytes: u32, precedence: u8) {
        let level = self.level(precedence);
        self.packets[level] += 1;
    }

    fn on_departure(&mut self, _at: Time, _bytes: u32, precedence: u8, _left: QueueBacklog) {
        let level = self.level(precedence);
        self.packets[level] -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_queue::overload;
    use super::*;

    fn limits_of(limits: &[u32], counted: Counted) -> PrecedenceDropTail {
        let config = PrecedenceDropTailConfig { limits_packets: limits.to_vec(), counted };
        PrecedenceDropTail::new(&config, 8_000_000).unwrap()
    }

    /// `all`: precedence 1 fills the queue to 10, then only precedence 0 is admitted. At 1.5 times the
    /// capacity with a third of precedence 0 (0.5 of the capacity), 0 has no loss and 1 has the full
    /// excess: 0.5 of its 1.0.
    #[test]
    fn partial_buffer_sharing_protects_the_lower_precedence() {
        let result = overload(limits_of(&[60, 10], Counted::All), 1.5, &[0, 1, 1], 200_000);
        assert_eq!(result.dropped[0], 0.0);
        assert!((result.dropped[1] - 0.5).abs() < 0.01, "{:?}", result.dropped);
    }

    /// `own`: limits 30 and 10 are both reached at heavy overload of each, and a FIFO serves them in
    /// proportion to their limits: 3/4 and 1/4 of the capacity. Loads 1 and 1: losses 1/4 and 3/4.
    #[test]
    fn own_limits_share_the_queue_as_the_limits() {
        let result = overload(limits_of(&[30, 10], Counted::Own), 2.0, &[0, 1], 200_000);
        assert!((result.dropped[0] - 0.25).abs() < 0.02, "{:?}", result.dropped);
        assert!((result.dropped[1] - 0.75).abs() < 0.02, "{:?}", result.dropped);
    }

    /// A limit of two lets two in; `own` counts those of the precedence, `all` all, and a precedence above
    /// the last has its limit.
    #[test]
    fn a_limit_is_the_largest_number_that_waits() {
        for (counted, admitted) in
            [(Counted::Own, [true, true, false]), (Counted::All, [true, false, false])]
        {
            let mut tail = limits_of(&[3, 2], counted);
            let mut random = RandomStream::new(1, "test", "aqm");
            tail.on_enqueue(1000, 0);
            for (at, admits) in (1..).zip(admitted) {
                let backlog = QueueBacklog { packets: at, bytes: 0 };
                let arrival = Arrival { now: 0, bytes: 1000, precedence: 9, backlog };
                let verdict = tail.on_arrival(&arrival, &mut random);
                assert_eq!(verdict == Verdict::Pass, admits, "{counted:?} {at}");
                tail.on_enqueue(1000, 1);
            }
        }
    }
}
