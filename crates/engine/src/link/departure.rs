//! An entry of a wire. That of an unlabelled packet has what a router needs of its IP header, so that a router that
//! sends it on does not touch the packet itself.

use crate::queue::SizeAndMarks;
use trunkline_packet::{Packet, PacketId};
use trunkline_units::Time;

/// A packet from the moment a FIFO accepts it (or a classful port has sent it) until it arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departure {
    /// When its last bit leaves.
    pub at: Time,
    /// The packet.
    pub packet: PacketOnWire,
}

/// A packet on a wire, with its IP header or with its bytes and drop precedence.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketOnWire {
    /// The packet's number; with a header its lower 24 bits, below the TTL.
    id_and_ttl: u32,
    /// [`SizeAndMarks`]; with a header, [`HAS_HEADER`], the destination and the bytes, of 16 bits.
    size: u32,
}

/// No drop precedence has this bit.
const HAS_HEADER: u32 = 1 << 31;
const TTL_SHIFT: u32 = 24;
const DESTINATION_SHIFT: u32 = 16;
/// Packets and destinations from these numbers on have no header on the wire.
const MAX_PACKETS: u32 = 1 << TTL_SHIFT;
const MAX_DESTINATIONS: u32 = HAS_HEADER >> DESTINATION_SHIFT;

/// Fields of the IP header that a router needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Time to live.
    pub ttl: u8,
    /// Column of the routing table.
    pub destination: u32,
    /// IP header and everything above it [B].
    pub ip_bytes: u32,
}

impl Departure {
    /// The entry of a packet that waited.
    #[inline(always)]
    #[must_use]
    pub fn with_size(at: Time, packet: PacketId, size: SizeAndMarks) -> Self {
        Self { at, packet: PacketOnWire { id_and_ttl: packet, size: size.into() } }
    }
}

impl PacketOnWire {
    /// A packet without its header.
    #[inline(always)]
    #[must_use]
    pub fn new(id: PacketId, bytes: u32, precedence: u8) -> Self {
        Self { id_and_ttl: id, size: SizeAndMarks::new(bytes, precedence, false).into() }
    }

    /// An unlabelled packet with its header, if that has room.
    #[inline(always)]
    #[must_use]
    pub fn with_header(id: PacketId, packet: &Packet) -> Option<Self> {
        let size = HAS_HEADER | packet.dst << DESTINATION_SHIFT | u32::from(packet.ip_bytes);
        (id < MAX_PACKETS && packet.dst < MAX_DESTINATIONS)
            .then_some(Self { id_and_ttl: id | u32::from(packet.ttl) << TTL_SHIFT, size })
    }

    /// Whether the header is here.
    #[inline(always)]
    #[must_use]
    pub fn has_header(self) -> bool {
        self.size & HAS_HEADER != 0
    }

    /// The header, if it is here.
    #[inline(always)]
    #[must_use]
    pub fn header(self) -> Option<IpHeader> {
        self.has_header().then_some(IpHeader {
            ttl: (self.id_and_ttl >> TTL_SHIFT) as u8,
            destination: self.size >> DESTINATION_SHIFT & (MAX_DESTINATIONS - 1),
            ip_bytes: self.size & 0xffff,
        })
    }

    /// The same without a header, by another number.
    #[must_use]
    pub fn with_id(self, id: PacketId) -> Self {
        debug_assert!(!self.has_header(), "its TTL would be lost");
        Self { id_and_ttl: id, ..self }
    }

    /// The same with a TTL, which is not 0, less by one.
    #[inline(always)]
    #[must_use]
    pub fn count_ttl_down(self) -> Self {
        Self { id_and_ttl: self.id_and_ttl - (1 << TTL_SHIFT), ..self }
    }

    /// Number of the packet.
    #[inline(always)]
    #[must_use]
    pub fn id(self) -> PacketId {
        if self.has_header() {
            self.id_and_ttl & (MAX_PACKETS - 1)
        } else {
            self.id_and_ttl
        }
    }

    /// Number of a packet whose header is not here.
    #[inline(always)]
    #[must_use]
    pub fn id_without_header(self) -> PacketId {
        debug_assert!(!self.has_header(), "the word has the TTL");
        self.id_and_ttl
    }

    /// Bytes on the wire and drop precedence, if the header is not here.
    #[inline(always)]
    #[must_use]
    pub fn size(self) -> SizeAndMarks {
        debug_assert!(!self.has_header(), "the word has the header");
        SizeAndMarks::from(self.size)
    }

    /// Bytes on the wire of a link whose header has so many.
    #[inline(always)]
    #[must_use]
    pub fn bytes(self, link_header: u32) -> u32 {
        match self.header() {
            Some(header) => header.ip_bytes + link_header,
            None => self.size().bytes(),
        }
    }

    /// Drop precedence.
    #[inline(always)]
    #[must_use]
    pub fn precedence(self) -> u8 {
        match self.header() {
            Some(_) => 0,
            None => self.size().precedence(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_takes_a_quarter_of_a_cache_line() {
        assert_eq!(std::mem::size_of::<Departure>(), 16);
    }

    proptest! {
        /// Reads what was written, on links of any header; a packet whose number or destination has no room goes
        /// without.
        #[test]
        fn a_header_on_the_wire_is_that_of_the_packet(
            id in prop_oneof![0..(1u32 << 24), Just((1 << 24) - 1), (1u32 << 24)..],
            dst in prop_oneof![0..(1u32 << 15), Just((1 << 15) - 1), (1u32 << 15)..],
            ip_bytes: u16,
            ttl in 1u8..,
            link_header in 0u32..100,
        ) {
            let mut packet = Packet::new(7, dst, 1, ip_bytes, 0);
            packet.ttl = ttl;
            let ip_bytes = u32::from(ip_bytes);
            let has_room = id < 1 << 24 && dst < 1 << 15;
            let carried = PacketOnWire::with_header(id, &packet);
            prop_assert_eq!(carried.is_some(), has_room);
            if let Some(carried) = carried {
                let header = IpHeader { ttl, destination: dst, ip_bytes };
                prop_assert_eq!(carried.header(), Some(header));
                let counted = carried.count_ttl_down();
                prop_assert_eq!(counted.header(), Some(IpHeader { ttl: ttl - 1, ..header }));
                prop_assert_eq!((counted.id(), counted.precedence()), (id, 0));
                prop_assert_eq!(counted.bytes(link_header), ip_bytes + link_header);
            }
        }

        /// Packets with labels, or in classes, have size and drop precedence there instead.
        #[test]
        fn without_a_header_size_and_precedence_are_on_the_wire(
            id: u32,
            bytes in 0u32..1 << 23,
            precedence in 0u8..128,
            link_header in 0u32..100,
        ) {
            let carried = PacketOnWire::new(id, bytes, precedence);
            prop_assert_eq!(carried.header(), None);
            prop_assert_eq!((carried.id(), carried.bytes(link_header)), (id, bytes));
            prop_assert_eq!((carried.precedence(), carried.size().bytes()), (precedence, bytes));
            prop_assert_eq!(carried.with_id(!id).id(), !id);
        }
    }
}
