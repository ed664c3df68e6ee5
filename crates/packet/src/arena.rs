//! Storage of packets: slots are reused, so a run allocates only while its peak still grows.

use crate::Packet;
use trunkline_units::prefetch;

/// Index of a packet in its [`Arena`].
pub type PacketId = u32;

/// At most three SACK blocks `[start, end)` in segments fit with a time stamp (RFC 2018 section 3); `[0,
/// 0)` is no block.
pub type SackBlocks = [[u32; 2]; 3];

/// Packets by index, with a free list. SACK blocks are stored apart: most packets have none.
#[derive(Debug, Default)]
pub struct Arena {
    packets: Vec<Packet>,
    sack: Vec<SackBlocks>,
    free: Vec<PacketId>,
    with_sack: bool,
}

impl Arena {
    /// An empty arena; `with_sack` reserves room for the SACK blocks of every packet.
    #[must_use]
    pub fn new(with_sack: bool) -> Self {
        Self { with_sack, ..Self::default() }
    }

    /// Stores a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        let id = PacketId::try_from(self.packets.len()).expect("fewer than 2^32 packets at once");
        self.packets.push(packet);
        if self.with_sack {
            self.sack.push(SackBlocks::default());
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

    /// Whether it keeps SACK blocks.
    #[inline(always)]
    #[must_use]
    pub fn keeps_sack(&self) -> bool {
        self.with_sack
    }

    /// SACK blocks of an acknowledgement; empty ones if the arena keeps none.
    #[inline]
    #[must_use]
    pub fn sack(&self, id: PacketId) -> SackBlocks {
        self.sack.get(id as usize).copied().unwrap_or_default()
    }

    /// Writes the SACK blocks of an acknowledgement.
    #[inline]
    pub fn set_sack(&mut self, id: PacketId, blocks: SackBlocks) {
        if let Some(slot) = self.sack.get_mut(id as usize) {
            *slot = blocks;
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
