//! Counters by flow, and drops by place and cause.

use crate::histogram::{Histogram, Pool};
use std::collections::BTreeMap;
use trunkline_packet::{Cause, Packet};
use trunkline_units::{Span, Time, NEVER};

/// Packets and bytes (IP) of a flow that only grow; a warm-up cut is a difference of two copies.
///
/// Those that its packets change are first, in one cache line; [`DeliveredTotals`] are stored with the delays.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Totals {
    /// Packets the source sent (retransmissions included).
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Acknowledgements that arrived.
    pub acks_delivered: u64,
    /// Packets of a call that reached the sink too late to be played.
    pub late_packets: u64,
    /// Packets lost in the network.
    pub dropped_packets: u64,
    /// Acknowledgements lost in the network.
    pub acks_dropped: u64,
    /// Second copies of packets that 1+1 protection made.
    pub copied_packets: u64,
    /// Second copies of acknowledgements.
    pub acks_copied: u64,
}

/// The packets of a flow that reached the sink, as [`Totals`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveredTotals {
    /// Packets.
    pub packets: u64,
    /// Their bytes (IP).
    pub bytes: u64,
    /// Application bytes of a UDP flow.
    pub datagram_bytes: u64,
}

/// Counts of a flow that a delivery changes: three cache lines.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Deliveries {
    /// Packets since the run began.
    pub totals: DeliveredTotals,
    /// Delays since the warm-up.
    pub delays: DelayStatistics,
}

/// One-way delay of the packets delivered since the warm-up.
///
/// In the order of the cache lines of [`Deliveries`].
#[derive(Clone, Debug)]
#[repr(C)]
pub struct DelayStatistics {
    /// Packets that arrived after one sent later (RFC 4737 type-P-reordered).
    pub reordered: u64,
    /// Distribution.
    pub histogram: Histogram,
    /// Packets measured.
    pub count: u64,
    /// Sum [ns].
    pub sum: u64,
    /// Minimum [ns]; meaningless while `count` is 0.
    pub min: u64,
    /// Greatest [ns].
    pub max: u64,
    /// Interarrival jitter of RFC 3550 section 6.4.1 [ns].
    pub jitter: f64,
    /// [`NEVER`]: none.
    last_delay_ns: Span,
    pub(crate) next_seq: u32,
    /// Of the packets measured, those with none before them to compare with.
    alone: u32,
}

impl Default for DelayStatistics {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            jitter: 0.0,
            last_delay_ns: NEVER,
            reordered: 0,
            next_seq: 0,
            alone: 0,
            histogram: Histogram::default(),
        }
    }
}

impl DelayStatistics {
    /// Measures a data packet at its sink.
    #[inline]
    pub fn measure(&mut self, packet: &Packet, now: Time, pool: &mut Pool) {
        let delay = now - packet.sent_at;
        self.record(delay, self.delay_variation(delay), pool);
        self.last_delay_ns = delay;
        if packet.seq >= self.next_seq {
            self.next_seq = packet.seq + 1;
        } else if self.is_late(packet) {
            self.reordered += 1;
        }
    }

    /// Whether a packet arrives after one that was sent later.
    #[inline(always)]
    #[must_use]
    pub fn is_late(&self, packet: &Packet) -> bool {
        packet.seq < self.next_seq && packet.flags & trunkline_packet::flag::RETRANSMISSION == 0
    }

    /// How a delay differs from the one before it; none before the first.
    #[inline(always)]
    #[must_use]
    pub fn delay_variation(&self, delay: u64) -> Option<u64> {
        (self.last_delay_ns != NEVER).then(|| delay.abs_diff(self.last_delay_ns))
    }

    /// Enters a delay, and how it differs from the one before it.
    #[inline(always)]
    pub fn record(&mut self, delay: u64, change: Option<u64>, pool: &mut Pool) {
        if let Some(change) = change {
            self.smooth(change);
        }
        self.count_delay(delay, change.is_none(), pool);
    }

    /// Enters a difference of delays, which come in order, into the jitter.
    #[inline(always)]
    pub fn smooth(&mut self, change: u64) {
        // RFC 3550 section 6.4.1: J += (|D| - J) / 16, D the difference of transit times.
        // A signed number is one instruction to convert.
        self.jitter += (change as i64 as f64 - self.jitter) / 16.0;
    }

    /// Enters a delay into all but the jitter; whether it is `alone`, with none before it.
    #[inline(always)]
    pub fn count_delay(&mut self, delay: u64, alone: bool, pool: &mut Pool) {
        self.count += 1;
        self.sum += delay;
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
        self.alone += u32::from(alone);
        self.histogram.add(pool, delay);
    }

    /// Adds the delays that another region measured, in the same pool; one of the two has the jitter.
    pub fn join(&mut self, more: &Self, pool: &mut Pool) {
        self.count += more.count;
        self.sum += more.sum;
        self.min = self.min.min(more.min);
        self.max = self.max.max(more.max);
        self.jitter += more.jitter;
        self.reordered += more.reordered;
        self.alone += more.alone;
        self.histogram.merge(&more.histogram, pool);
    }

    /// Differences of delays that the jitter is an estimate of.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.count - u64::from(self.alone)
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self, pool: &mut Pool) {
        self.histogram.clear(pool);
        let histogram = std::mem::take(&mut self.histogram);
        let (last, next_seq) = (self.last_delay_ns, self.next_seq);
        *self = Self { histogram, last_delay_ns: last, next_seq, ..Self::default() };
    }
}

/// Place, flow and cause of a loss.
#[derive(Clone, Copy, Debug)]
pub struct DropKey {
    /// Flow.
    pub flow: u32,
    /// Acknowledgement.
    pub reverse: bool,
    /// Link, or `u32::MAX` where a node lost it.
    pub link: u32,
    /// Node.
    pub node: u32,
    /// Class of the port.
    pub class: u16,
    /// Drop precedence.
    pub precedence: u8,
    /// Why.
    pub cause: Cause,
}

impl DropKey {
    /// All of it as one number, by which the rows of the table are in order: a search compares it at
    /// once.
    #[inline(always)]
    fn number(&self) -> u128 {
        let place = u128::from(self.flow) << 1 | u128::from(self.reverse);
        let place = place << 64 | u128::from(self.link) << 32 | u128::from(self.node);
        let of_port = u128::from(self.class) << 8 | u128::from(self.precedence);
        (place << 24 | of_port) << 7 | self.cause as u128
    }
}

/// Packets lost in one place for one reason.
#[derive(Clone, Copy, Debug)]
pub struct DropCount {
    /// Where and why.
    pub key: DropKey,
    /// Packets.
    pub packets: u64,
    /// Their bytes (IP).
    pub bytes: u64,
}

/// Drops since the warm-up.
#[derive(Debug, Default)]
pub struct Drops(BTreeMap<u128, DropCount>);

impl Drops {
    /// Counts packets.
    #[inline]
    pub fn add(&mut self, key: DropKey, packets: u64, bytes: u64) {
        let empty = DropCount { key, packets: 0, bytes: 0 };
        let count = self.0.entry(key.number()).or_insert(empty);
        count.packets += packets;
        count.bytes += bytes;
    }

    /// Adds the counts of another table.
    pub fn merge(&mut self, more: &Self) {
        more.rows().for_each(|row| self.add(row.key, row.packets, row.bytes));
    }

    /// Starts afresh.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts by flow, direction, link, node, class, precedence and cause.
    pub fn rows(&self) -> impl Iterator<Item = &DropCount> {
        self.0.values()
    }
}

/// Port, class and flow of packets that a congestion signal was written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MarkKey {
    /// Flow.
    pub flow: u32,
    /// Acknowledgement.
    pub reverse: bool,
    /// Link of the port.
    pub link: u32,
    /// Class of the port.
    pub class: u16,
    /// Drop precedence.
    pub precedence: u8,
}

/// Congestion marks since the warm-up: by the port that wrote them, and by the flow that got them.
#[derive(Debug, Default)]
pub struct CongestionMarks {
    at_ports: BTreeMap<MarkKey, (u64, u64)>,
    /// Data packets that arrived with CE, by flow.
    received: BTreeMap<u32, u64>,
}

impl CongestionMarks {
    /// Counts a packet of `bytes` (IP) that a port marked.
    pub fn add(&mut self, key: MarkKey, bytes: u64) {
        let count = self.at_ports.entry(key).or_default();
        count.0 += 1;
        count.1 += bytes;
    }

    /// Counts a data packet that reached its destination with CE.
    pub fn receive(&mut self, flow: u32) {
        *self.received.entry(flow).or_default() += 1;
    }

    /// Adds the counts of another table.
    pub fn merge(&mut self, more: &Self) {
        for (key, (packets, bytes)) in &more.at_ports {
            let count = self.at_ports.entry(*key).or_default();
            count.0 += packets;
            count.1 += bytes;
        }
        for (flow, packets) in &more.received {
            *self.received.entry(*flow).or_default() += packets;
        }
    }

    /// Starts afresh.
    pub fn clear(&mut self) {
        self.at_ports.clear();
        self.received.clear();
    }

    /// Packets and bytes by flow, direction, link, class and precedence.
    pub fn rows(&self) -> impl Iterator<Item = (&MarkKey, &(u64, u64))> {
        self.at_ports.iter()
    }

    /// Packets that a class of a port marked.
    #[must_use]
    pub fn of_class(&self, link: u32, class: u16) -> u64 {
        let here = |key: &MarkKey| key.link == link && key.class == class;
        self.rows().filter(|(key, _)| here(key)).map(|(_, count)| count.0).sum()
    }

    /// Packets that a port marked.
    #[must_use]
    pub fn of_link(&self, link: u32) -> u64 {
        self.rows().filter(|(key, _)| key.link == link).map(|(_, count)| count.0).sum()
    }

    /// Data packets of a flow that arrived with CE.
    #[must_use]
    pub fn received(&self, flow: u32) -> u64 {
        self.received.get(&flow).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_changes_three_cache_lines() {
        assert_eq!(std::mem::size_of::<Deliveries>(), 3 * 64);
        assert_eq!(std::mem::offset_of!(Deliveries, delays.count), 2 * 64);
        assert_eq!(std::mem::offset_of!(Totals, late_packets), 32);
    }

    /// Two keys compare as their parts do, in this order: flow, direction, link, node, class, precedence, cause.
    #[test]
    fn drops_are_in_the_order_of_their_keys_and_none_are_mixed_up() {
        let numbers = [0, 1, 2, 0x0001_0000, u32::MAX / 2, u32::MAX];
        let mut keys = Vec::new();
        for (place, number) in (0..6).flat_map(|place| numbers.map(|number| (place, number))) {
            for (other, second) in (0..6).flat_map(|other| [0, 1, 3].map(|second| (other, second)))
            {
                let part = |at| match (at == place, at == other) {
                    (true, _) => number,
                    (_, true) => second,
                    _ => 0,
                };
                for (reverse, cause) in [(false, Cause::TooBig), (true, Cause::TtlExpired)] {
                    keys.push(DropKey {
                        flow: part(0),
                        reverse,
                        link: part(1),
                        node: part(2),
                        class: part(3) as u16,
                        precedence: part(4) as u8,
                        cause,
                    });
                }
            }
        }
        let parts = |key: &DropKey| {
            let of_port = (key.class, key.precedence, key.cause as u8);
            (key.flow, key.reverse, key.link, key.node, of_port)
        };
        let mut drops = Drops::default();
        let mut counts = BTreeMap::new();
        for key in &keys {
            drops.add(*key, 1, 100);
            *counts.entry(parts(key)).or_insert(0) += 1;
        }
        let mut twice = Drops::default();
        for _ in 0..2 {
            twice.merge(&drops);
        }
        let rows: Vec<_> = drops.rows().map(|row| (parts(&row.key), row.packets)).collect();
        assert_eq!(rows, counts.into_iter().collect::<Vec<_>>());
        for (row, double) in drops.rows().zip(twice.rows()) {
            assert_eq!((row.bytes, double.packets), (100 * row.packets, 2 * row.packets));
            assert_eq!((parts(&double.key), double.bytes), (parts(&row.key), 2 * row.bytes));
        }
    }

    /// Ports that mark the same flow, classes of one port, and packets that arrive: each sum by hand.
    #[test]
    fn marks_are_counted_by_port_class_and_flow() {
        let key = |flow, link, class| MarkKey { flow, reverse: false, link, class, precedence: 0 };
        let mut marks = CongestionMarks::default();
        for (flow, link, class, bytes) in
            [(1, 2, 0, 10), (1, 2, 1, 20), (3, 2, 1, 30), (1, 4, 1, 40)]
        {
            marks.add(key(flow, link, class), bytes);
        }
        marks.add(key(3, 2, 1), 5);
        [1, 1, 3].into_iter().for_each(|flow| marks.receive(flow));
        let mut twice = CongestionMarks::default();
        (0..2).for_each(|_| twice.merge(&marks));
        for (times, marks) in [(1, &marks), (2, &twice)] {
            let of_class =
                [(2, 0), (2, 1), (4, 1), (4, 0)].map(|(link, class)| marks.of_class(link, class));
            assert_eq!(of_class, [1, 3, 1, 0].map(|count| count * times));
            assert_eq!([2, 4, 1].map(|link| marks.of_link(link)), [4 * times, times, 0]);
            assert_eq!([1, 2, 3].map(|flow| marks.received(flow)), [2 * times, 0, times]);
            let bytes: Vec<u64> = marks.rows().map(|(_, count)| count.1).collect();
            assert_eq!(bytes, [10, 20, 40, 35].map(|bytes| bytes * times));
        }
    }

    /// Delays that two regions have measured are those of one that measured all; one of both has the jitter.
    #[test]
    fn joined_delays_are_those_of_all_packets() {
        let delays = [7u64, 3, 900, 40];
        let (mut pool, mut all) = (Pool::default(), DelayStatistics::default());
        let [mut first, mut second] = [DelayStatistics::default(), DelayStatistics::default()];
        for (index, delay) in delays.into_iter().enumerate() {
            let part = if index % 2 == 0 { &mut first } else { &mut second };
            for each in [&mut all, part] {
                each.count_delay(delay, index < 2, &mut pool);
                each.reordered += index as u64;
            }
        }
        second.smooth(32);
        all.smooth(32);
        first.join(&second, &mut pool);
        let table = |each: &DelayStatistics| {
            let buckets = each.histogram.buckets(&pool).filter(|bucket| bucket.1 > 0);
            let sums = (each.count, each.sum, each.min, each.max, each.reordered, each.compared());
            (sums, each.jitter, buckets.collect::<Vec<_>>())
        };
        assert_eq!(table(&first).0, (4, 950, 3, 900, 6, 2));
        assert_eq!(table(&first), table(&all));
    }

    /// RFC 3550 section 6.4.1, by the sum of its recursion: after differences D_1 ... D_n the estimate is
    /// the sum of D_k / 16 * (15/16)^(n - k). Two datagrams whose transit times differ by 16 ms: 1 ms; a
    /// third like the second: 15/16 ms; then one that is 8 ms faster: 225/256 + 1/2 ms.
    #[test]
    fn rfc3550_s6_4_1_jitter_is_a_sixteenth_of_each_difference_of_transit_times() {
        let (mut pool, mut delays) = (Pool::default(), DelayStatistics::default());
        let mut last = None;
        let mut after = |delay_ms: u64| {
            let delay = delay_ms * 1_000_000;
            let change = last.map(|last: u64| delay.abs_diff(last));
            last = Some(delay);
            delays.record(delay, change, &mut pool);
            (delays.jitter / 1e6, delays.compared())
        };
        assert_eq!(after(4), (0.0, 0));
        assert_eq!(after(20), (1.0, 1));
        assert_eq!(after(20), (15.0 / 16.0, 2));
        assert_eq!(after(12), (15.0 * 15.0 / 256.0 + 0.5, 3));
    }
}
