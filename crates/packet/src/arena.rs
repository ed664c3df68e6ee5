//! Storage of packets: slots are reused, so a run allocates only while its peak still grows.

use crate::Packet;
use trunkline_units::prefetch;

/// Index of a packet in its [`Arena`].
pub type PacketId = u32;

/// At most three SACK blocks `[start, end)` in segments fit with a time stamp (RFC 2018 section 3); `[0,
/// 0)` is no block.
pub type SackBlocks = [[u32; 2]; 3];

/// Content of an acknowledgement besides its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckDetails {
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Window that the receiver offers from its number on [B]; 0: not given.
    pub window: u32,
}

/// Packets by index, with a free list. Details of acknowledgements are stored apart: most packets have none.
#[derive(Debug, Default)]
pub struct Arena {
    packets: Vec<Packet>,
    details: Vec<AckDetails>,
    free: Vec<PacketId>,
    with_details: bool,
}

impl Arena {
    /// An empty arena; `with_details` reserves room for those of every packet.
    #[must_use]
    pub fn new(with_details: bool) -> Self {
        Self { with_details, ..Self::default() }
    }

    /// Stores a packet.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        let id = PacketId::try_from(self.packets.len()).expect("fewer than 2^32 packets at once");
        self.packets.push(packet);
        if self.with_details {
            self.details.push(AckDetails::default());
        }
        id
    }

    /// Frees a slot. The caller forgets `id`.
    #[inline(always)]
    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// Asks the processor to fetch a packet that will be used soon.
    #[inline(always)]
    pub fn prefetch(&self, id: PacketId) {
        prefetch::element(&self.packets, id);
    }

    /// The packet in a slot, or the one that was there last; none in a slot that was never used.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, id: PacketId) -> Option<&Packet> {
        self.packets.get(id as usize)
    }

    /// Packets stored now.
    #[must_use]
    pub fn live(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// Largest number of packets stored at once so far.
    #[must_use]
    pub fn peak(&self) -> usize {
        self.packets.len()
    }

    /// Whether it keeps details of acknowledgements.
    #[inline(always)]
    #[must_use]
    pub fn keeps_details(&self) -> bool {
        self.with_details
    }

    /// Details of an acknowledgement; empty ones if the arena keeps none.
    #[inline]
    #[must_use]
    pub fn details(&self, id: PacketId) -> AckDetails {
        self.details.get(id as usize).copied().unwrap_or_default()
    }

    /// Writes the details of an acknowledgement.
    #[inline]
    pub fn set_details(&mut self, id: PacketId, details: AckDetails) {
        if let Some(slot) = self.details.get_mut(id as usize) {
            *slot = details;
        }
    }
}

impl std::ops::Index<PacketId> for Arena {
    type Output = Packet;
    #[inline(always)]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<PacketId> for Arena {
    #[inline(always)]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three in, one out, one in: the slot is used again, so three are live and three the peak.
    #[test]
    fn a_slot_is_used_again_and_the_peak_stays() {
        let mut arena = Arena::new(false);
        let packet = |seq| Packet::new(0, 0, seq, 40, 0);
        let ids = [10, 11, 12].map(|seq| arena.insert(packet(seq)));
        assert_eq!(ids, [0, 1, 2]);
        assert_eq!(ids.map(|id| arena[id].seq), [10, 11, 12]);
        arena.remove(1);
        assert_eq!((arena.live(), arena.peak()), (2, 3));
        assert_eq!(arena.insert(packet(13)), 1);
        assert_eq!((arena.live(), arena.peak(), arena[1].seq), (3, 3, 13));
        arena[1].seq = 14;
        assert_eq!(arena[1].seq, 14);
    }

    #[test]
    fn details_are_kept_where_they_are_asked_for() {
        let details = AckDetails { sack: [[1, 2], [5, 9], [0, 0]], window: 64_240 };
        for (kept, found) in [(true, details), (false, AckDetails::default())] {
            let mut arena = Arena::new(kept);
            let id = arena.insert(Packet::new(0, 0, 0, 40, 0));
            assert_eq!((arena.keeps_details(), arena.details(id)), (kept, AckDetails::default()));
            arena.set_details(id, details);
            assert_eq!(arena.details(id), found);
        }
    }
}
