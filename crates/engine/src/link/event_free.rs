//! A link whose packets are forwarded ahead of time, and a port that takes them.

use super::{Link, PacketOnWire, Port};
use trunkline_packet::PacketId;
use trunkline_units::Time;

impl Link {
    /// Whether each packet's departure is known on its admission.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        matches!(self.port, Port::Fifo(_))
    }

    /// Lets in a packet that will be here at `at`, if it is not too big and there will be room.
    /// The port must be plain.
    #[inline(always)]
    pub fn accept_ahead(&mut self, at: Time, packet: PacketId, size: u32) -> bool {
        if size > self.mtu || !self.has_room(at) {
            return false;
        }
        let bytes = size + self.header;
        self.enter_plain(at, PacketOnWire::new(packet, bytes, 0), bytes);
        true
    }

    /// Packets that were not forwarded ahead of time and have an arrival to come.
    #[inline(always)]
    #[must_use]
    pub fn arriving(&self) -> u32 {
        self.wire.tail().wrapping_sub(self.forwarded)
    }

    /// The first of them is forwarded ahead of time; forgets entries that are neither in the port nor
    /// among them.
    #[inline(always)]
    pub fn forward(&mut self) {
        self.forwarded = self.forwarded.wrapping_add(1);
        let departed = self.in_port.wrapping_sub(self.wire.head());
        let gone = self.forwarded.wrapping_sub(self.wire.head());
        self.wire.forget_to(self.wire.head().wrapping_add(departed.min(gone)));
    }

    /// The first of them arrives at `now`: those before it are forgotten.
    // They left before it did; what has left since, the near end finds in its own time.
    #[cold]
    pub fn arrive(&mut self, now: Time) {
        self.drain(now - self.delay);
        self.wire.forget_to(self.forwarded);
        self.forwarded = self.forwarded.wrapping_add(1);
    }

    /// Packets whose arrival at the far end is still due here.
    pub fn on_wire(&self) -> impl Iterator<Item = PacketId> + '_ {
        let skip = match self.onward {
            super::OnwardHop::Arrives
            | super::OnwardHop::Announced
            | super::OnwardHop::CatchesUp => 0,
            super::OnwardHop::Crosses => self.wire.len(),
            super::OnwardHop::EventFree => self.forwarded.wrapping_sub(self.wire.head()),
        };
        self.wire.iter().skip(skip as usize).map(|departure| departure.packet.id())
    }
}
