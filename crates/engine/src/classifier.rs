//! Behaviour-aggregate and multi-field classification by two array look-ups (RFC 2475 section 2.3.1).

use crate::network;
use trunkline_packet::Packet;

/// Columns of a row: 64 DSCPs, then 8 traffic classes.
pub const COLUMNS: usize = 72;
/// The NHLFE has no row.
pub const NO_ROW: u16 = u16::MAX;
/// "The packet's own column."
pub const OWN_COLUMN: u8 = u8::MAX;

/// Class and drop precedence of a packet at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Class of the port.
    pub class: u16,
    /// Drop precedence, 0 dropped last.
    pub precedence: u8,
}

impl Assignment {
    /// Of a packet that is in no queue of a port.
    #[must_use]
    pub fn outside(precedence: u8) -> Self {
        Self { class: u16::MAX, precedence }
    }

    /// Whether the packet is in a queue of the port, or was offered to one.
    #[must_use]
    pub fn is_in_queue(self) -> bool {
        self.class != u16::MAX
    }
}

/// A port's classifier.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Classifier {
    cells: Box<[Assignment]>,
    flow_rows: Box<[u16]>,
}

impl Classifier {
    /// Builds the tables.
    #[must_use]
    pub fn new(config: &network::Classifier) -> Self {
        let cells = config
            .rows
            .iter()
            .flatten()
            .map(|&[class, precedence]| Assignment { class, precedence: precedence as u8 })
            .collect();
        Self { cells, flow_rows: config.flow_rows.clone().into() }
    }

    /// Classifies a packet that an NHLFE with this `row` forwarded ([`NO_ROW`]: by its flow).
    #[inline]
    #[must_use]
    pub fn assign(&self, packet: &Packet, row: u16) -> Assignment {
        self.assign_as(packet, row, OWN_COLUMN)
    }

    /// Classifies a packet by another `column` than its own: at the end of a pipe, by the PHB of the
    /// popped label (RFC 3270 section 2.6.2).
    #[inline]
    #[must_use]
    pub fn assign_as(&self, packet: &Packet, row: u16, column: u8) -> Assignment {
        if self.cells.is_empty() {
            return Assignment::default();
        }
        let row = if row != NO_ROW {
            row
        } else {
            let direction = packet.flow as usize * 2 + usize::from(packet.is_reverse());
            self.flow_rows.get(direction).copied().unwrap_or(0)
        };
        let column = if column != OWN_COLUMN {
            usize::from(column)
        } else {
            // Whether there is a label is hard to predict: products, no branch.
            let (tc, labelled) = (packet.labels.top_or_zero().tc(), !packet.labels.is_empty());
            usize::from(tc)
                + 64 * usize::from(labelled)
                + usize::from(packet.dscp) * usize::from(!labelled)
        };
        self.cells[usize::from(row) * COLUMNS + column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_packet::{flag, StackEntry};

    /// Three rows whose cells are all different: the class is the number of the cell, row after row.
    fn classifier(flow_rows: &[u16]) -> Classifier {
        let cell = |row: usize, column: usize| [(COLUMNS * row + column) as u16, (row % 3) as u16];
        let rows = (0..3).map(|row| (0..COLUMNS).map(|column| cell(row, column)).collect());
        Classifier::new(&network::Classifier {
            rows: rows.collect(),
            flow_rows: flow_rows.to_vec(),
        })
    }

    /// RFC 2475 section 2.3.1: by the codepoint alone, or by more fields, here the flow and its direction. RFC
    /// 3270 section 4: a labelled packet by its label and its traffic class.
    #[test]
    fn rfc2475_s2_3_1_row_and_column_give_the_cell() {
        let by_flow = classifier(&[2, 1, 0, 2]);
        let found = |classifier: &Classifier, packet: &Packet, row, column| {
            let place = classifier.assign_as(packet, row, column);
            assert_eq!(place.precedence, (place.class / 72 % 3) as u8);
            (place.class / 72, place.class % 72)
        };
        for (flow, reverse, row) in [(0, false, 2), (0, true, 1), (1, false, 0), (1, true, 2)] {
            for dscp in 0..64 {
                let mut packet = Packet::new(flow, 0, 0, 1000, 0);
                packet.dscp = dscp;
                packet.flags = if reverse { flag::REVERSE } else { 0 };
                let own = found(&by_flow, &packet, NO_ROW, OWN_COLUMN);
                assert_eq!(own, (row, dscp.into()));
                assert_eq!(by_flow.assign(&packet, NO_ROW).class, row * 72 + u16::from(dscp));
                // The entry that forwarded it has a row, or the popped label gives the column.
                assert_eq!(found(&by_flow, &packet, 1, OWN_COLUMN), (1, dscp.into()));
                assert_eq!(found(&by_flow, &packet, NO_ROW, 66), (row, 66));
                assert_eq!(found(&classifier(&[]), &packet, NO_ROW, OWN_COLUMN), (0, dscp.into()));
                let tc = dscp % 8;
                assert!(packet.labels.push(StackEntry::new(100, tc, 64)));
                assert_eq!(found(&by_flow, &packet, NO_ROW, OWN_COLUMN), (row, (64 + tc).into()));
                assert_eq!(found(&by_flow, &packet, 0, 5), (0, 5));
            }
        }
        let all = network::Classifier { rows: vec![], flow_rows: vec![] };
        let packet = Packet::new(1, 0, 0, 1000, 0);
        assert_eq!(Classifier::new(&all).assign(&packet, NO_ROW), Assignment::default());
    }

    #[test]
    fn a_packet_outside_the_queues_is_in_none() {
        assert!(!Assignment::outside(2).is_in_queue());
        assert_eq!(Assignment::outside(2).precedence, 2);
        assert!(Assignment::default().is_in_queue());
    }
}
