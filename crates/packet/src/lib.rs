//! The packet, its label stack, the arena that stores packets, and the causes of loss.

pub mod arena;
pub mod cause;
pub mod label;

pub use arena::{Arena, PacketId};
pub use cause::Cause;
pub use label::{LabelStack, StackEntry, MAX_DEPTH};

use trunkline_units::Time;

/// Explicit Congestion Notification field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// 00: the transport does not react to marks.
    NotCapable = 0,
    /// 01: capable, ECT(1).
    Ect1 = 1,
    /// 10: capable, ECT(0).
    Ect0 = 2,
    /// 11: congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Names in the results tables, by the two bits.
    pub const NAMES: [&str; 4] = ["Not-ECT", "ECT(1)", "ECT(0)", "CE"];
}

/// Colour a meter gave the packet (RFC 2697, 2698, 2859).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Colour {
    /// Conforms.
    #[default]
    Green = 0,
    /// Exceeds.
    Yellow = 1,
    /// Violates.
    Red = 2,
}

impl Colour {
    /// Names in the results tables, by number.
    pub const NAMES: [&str; 3] = ["green", "yellow", "red"];
}

/// Flag bits of [`Packet::flags`].
pub mod flag {
    /// Travels from the flow's destination back to its source (an acknowledgement).
    pub const REVERSE: u8 = 1;
    /// A TCP segment sent before.
    pub const RETRANSMISSION: u8 = 2;
    /// TCP ECN-Echo (RFC 3168 section 6.1).
    pub const ECE: u8 = 4;
    /// TCP Congestion Window Reduced (RFC 3168 section 6.1).
    pub const CWR: u8 = 8;
    /// TCP Push: an application's write ends here (RFC 9293 section 3.9.1).
    pub const PUSH: u8 = 16;
    /// Of an acknowledgement, the place of the counter of marks, which has the three bits of ECE, CWR
    /// and AE (ACE, RFC 9768 section 3.2): those of ECE, CWR and PSH here.
    pub const ACE_SHIFT: u32 = 2;
    /// Its connection opens by a handshake and closes by FIN.
    pub const SETUP: u8 = 32;
    /// Of those, one without data, which opens or closes the connection.
    pub const BARE: u8 = 64;
    /// Belongs to one of many connections of its flow: see [`super::Packet::connection`].
    pub const CONNECTION: u8 = 128;
    /// The flow alone does not give the receiving agent.
    pub const MARKED: u8 = SETUP | CONNECTION;
}

/// One packet: a cache line, in an [`Arena`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// When the source handed it to the network.
    pub sent_at: Time,
    /// Acknowledgement: `sent_at` of the segment that caused it (RFC 7323 TSecr).
    pub echo: Time,
    /// Segment or datagram number within the flow, from 0.
    pub seq: u32,
    /// Acknowledgement: the next segment expected.
    pub ack: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Index of the node it is for.
    pub dst: u32,
    /// MPLS label stack, top first (RFC 3032 section 2.1).
    pub labels: LabelStack,
    /// IP header and everything above it [B].
    pub ip_bytes: u16,
    /// Forwarding equivalence class (RFC 3031 section 2.1): the key of an ingress LSR's FTN.
    pub fec: u16,
    /// Differentiated Services codepoint, 0..64.
    pub dscp: u8,
    /// IP time to live.
    pub ttl: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// Low two bits [`Ecn`], next two [`Colour`], then [`Self::is_in_host_queue`] and [`Self::is_message`].
    mark: u8,
}

impl Packet {
    /// A fresh packet with an empty label stack.
    #[must_use]
    pub fn new(flow: u32, dst: u32, seq: u32, ip_bytes: u16, now: Time) -> Self {
        Self {
            sent_at: now,
            echo: 0,
            seq,
            ack: 0,
            flow,
            dst,
            labels: LabelStack::EMPTY,
            ip_bytes,
            fec: 0,
            dscp: 0,
            ttl: 64,
            flags: 0,
            mark: 0,
        }
    }

    /// Bytes of the label stack and the IP packet [B]; the link adds its own header.
    #[inline(always)]
    #[must_use]
    pub fn labelled_bytes(&self) -> u32 {
        u32::from(self.ip_bytes) + self.labels.bytes()
    }

    /// Connection it belongs to, where its flow has many that come and go. The number is in a field that
    /// such a packet does not use otherwise: `ack` of data, `seq` of an acknowledgement.
    #[inline(always)]
    #[must_use]
    pub fn connection(&self) -> Option<u32> {
        if self.flags & flag::CONNECTION == 0 {
            return None;
        }
        Some(if self.is_reverse() { self.seq } else { self.ack })
    }

    /// Whether it is an acknowledgement on its way back.
    #[inline(always)]
    #[must_use]
    pub fn is_reverse(&self) -> bool {
        self.flags & flag::REVERSE != 0
    }

    /// ECN field.
    #[inline]
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match self.mark & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Writes the ECN field.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.mark = self.mark & !3 | ecn as u8;
    }

    /// Whether it waits at its first link, and its sender must hear when it leaves.
    #[inline(always)]
    #[must_use]
    pub fn is_in_host_queue(&self) -> bool {
        self.mark & 16 != 0
    }

    /// Writes whether its sender must hear when it leaves its first link.
    #[inline]
    pub fn set_in_host_queue(&mut self, waits: bool) {
        self.mark = self.mark & !16 | u8::from(waits) << 4;
    }

    /// Whether it is a message of a protocol of routers.
    #[inline(always)]
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.mark & 32 != 0
    }

    /// It is a message of a protocol of routers.
    pub fn set_message(&mut self) {
        self.mark |= 32;
    }

    /// Colour of the last meter passed; green before the first.
    #[inline]
    #[must_use]
    pub fn colour(&self) -> Colour {
        match (self.mark >> 2) & 3 {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        }
    }

    /// Writes the colour.
    #[inline]
    pub fn set_colour(&mut self, colour: Colour) {
        self.mark = self.mark & !12 | (colour as u8) << 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Packet>(), 64);
    }

    #[test]
    fn ecn_and_colour_do_not_disturb_each_other() {
        let mut packet = Packet::new(0, 0, 0, 40, 0);
        packet.set_ecn(Ecn::Ce);
        packet.set_colour(Colour::Red);
        assert_eq!((packet.ecn(), packet.colour()), (Ecn::Ce, Colour::Red));
        packet.set_ecn(Ecn::NotCapable);
        assert_eq!((packet.ecn(), packet.colour()), (Ecn::NotCapable, Colour::Red));
    }

    const ECN: [Ecn; 4] = [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    const COLOURS: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

    /// Every codepoint and colour over every other: what is written is read, and the other stays.
    #[test]
    fn rfc3168_s5_every_codepoint_and_colour_replaces_every_other() {
        for before in ECN {
            for after in ECN {
                for colour in COLOURS {
                    for next in COLOURS {
                        let mut packet = Packet::new(0, 0, 0, 40, 0);
                        packet.set_ecn(before);
                        packet.set_colour(colour);
                        packet.set_ecn(after);
                        assert_eq!((packet.ecn(), packet.colour()), (after, colour));
                        packet.set_colour(next);
                        assert_eq!((packet.ecn(), packet.colour()), (after, next));
                    }
                }
            }
        }
        assert_eq!(ECN.map(|ecn| Ecn::NAMES[ecn as usize]), ["Not-ECT", "ECT(1)", "ECT(0)", "CE"]);
    }

    /// RFC 3032 section 2.1: four bytes a label, none without one.
    #[test]
    fn rfc3032_s2_1_each_label_adds_four_bytes() {
        let mut packet = Packet::new(0, 0, 0, 500, 0);
        for bytes in [500, 504, 508, 512, 516] {
            assert_eq!(packet.labelled_bytes(), bytes);
            let pushed = packet.labels.push(StackEntry::new(16, 0, 64));
            assert_eq!(pushed, bytes < 516);
        }
    }

    /// The number is `ack` of data and `seq` of an acknowledgement, and there is none without the flag,
    /// whatever other flags there are.
    #[test]
    fn a_connection_is_in_the_field_that_its_direction_leaves_free() {
        for others in [0, !(flag::CONNECTION | flag::REVERSE)] {
            let of = |flags: u8| {
                let packet = Packet { ack: 7, flags, ..Packet::new(0, 0, 5, 40, 0) };
                (packet.is_reverse(), packet.connection())
            };
            assert_eq!(of(others), (false, None));
            assert_eq!(of(others | flag::REVERSE), (true, None));
            assert_eq!(of(others | flag::CONNECTION), (false, Some(7)));
            assert_eq!(of(others | flag::CONNECTION | flag::REVERSE), (true, Some(5)));
        }
        assert_eq!(flag::MARKED, 32 + 128);
    }
}
