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
        let column = match packet.labels.top() {
            _ if column != OWN_COLUMN => usize::from(column),
            Some(entry) => 64 + usize::from(entry.tc()),
            None => usize::from(packet.dscp),
        };
        self.cells[usize::from(row) * COLUMNS + column]
    }
}
