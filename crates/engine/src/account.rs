//! Accounting at a port by flow, codepoint, colour, class and drop precedence, where configured.

use crate::classifier::Assignment;
use crate::queue::QueueDecision;
use std::collections::BTreeMap;
use trunkline_packet::{Colour, Packet};

/// Whose packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountKey {
    /// Flow.
    pub flow: u32,
    /// Acknowledgements.
    pub reverse: bool,
    /// Codepoint.
    pub dscp: u8,
    /// Colour.
    pub colour: Colour,
    /// Class of the port.
    pub class: u16,
    /// Drop precedence.
    pub precedence: u8,
}

/// Packets and bytes that the port was offered and dropped since the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// Packets offered.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
}

/// Accounts of a port, in key order.
#[derive(Clone, Debug, Default)]
pub struct Accounts(pub BTreeMap<AccountKey, Account>);

impl Accounts {
    /// Enters one packet.
    pub fn add(&mut self, packet: &Packet, place: Assignment, bytes: u32, offer: QueueDecision) {
        let account = self.account_of(packet, place);
        account.packets += 1;
        account.bytes += u64::from(bytes);
        if matches!(offer, QueueDecision::Dropped(_)) {
            self.discard(packet, place, bytes);
        }
    }

    /// Enters the drop of a packet that was entered before.
    pub fn discard(&mut self, packet: &Packet, place: Assignment, bytes: u32) {
        let account = self.account_of(packet, place);
        account.dropped_packets += 1;
        account.dropped_bytes += u64::from(bytes);
    }

    fn account_of(&mut self, packet: &Packet, place: Assignment) -> &mut Account {
        let key = AccountKey {
            flow: packet.flow,
            reverse: packet.is_reverse(),
            dscp: packet.dscp,
            colour: packet.colour(),
            class: place.class,
            precedence: place.precedence,
        };
        self.0.entry(key).or_default()
    }
}
