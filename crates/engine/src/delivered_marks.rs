//! Packets of each flow by DSCP, ECN field and TTL, as they reach the end of their way.
//!
//! Only where a run asks for it: a comparison with another engine counts segments so.

use crate::tables::Table;
use std::collections::BTreeMap;
use trunkline_packet::{flag, Packet};

/// Flow, whether it is an acknowledgement, DSCP, ECN field, TTL.
type Mark = (u32, bool, u8, u8, u8);

/// Counts of what was delivered; packets that only open or close a connection are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveredMarks(BTreeMap<Mark, u64>);

impl DeliveredMarks {
    /// A packet was delivered.
    pub fn count(&mut self, packet: &Packet) {
        if packet.flags & flag::BARE == 0 {
            let Packet { flow, dscp, ttl, .. } = *packet;
            let mark = (flow, packet.is_reverse(), dscp, packet.ecn() as u8, ttl);
            *self.0.entry(mark).or_default() += 1;
        }
    }

    /// Starts afresh at the end of the warm-up.
    pub fn restart(&mut self) {
        self.0.clear();
    }

    /// Adds those of another region.
    pub fn add(&mut self, part: &Self) {
        for (mark, count) in &part.0 {
            *self.0.entry(*mark).or_default() += count;
        }
    }

    /// A row a mark.
    pub fn table(&self) -> Table {
        let column = |value: fn(&Mark) -> i64| self.0.keys().map(value);
        Table::new("delivered_marks")
            .ints("flow", column(|mark| mark.0.into()))
            .ints("reverse", column(|mark| mark.1.into()))
            .ints("dscp", column(|mark| mark.2.into()))
            .ints("ecn", column(|mark| mark.3.into()))
            .ints("ttl", column(|mark| mark.4.into()))
            .ints("packets", self.0.values().map(|&count| count as i64))
    }
}
