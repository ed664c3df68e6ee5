//! Blocks of a pcapng file.
//!
//! Source: draft-ietf-opsawg-pcapng-03, sections 4.1 (section header), 4.2 (interface description),
//! 4.3 (enhanced packet), 3.5 (options). Little-endian, as the byte-order magic says.

use std::io::{self, Write};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;

mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    pub const APPLICATION: u16 = 4;
    pub const NAME: u16 = 2;
    pub const DESCRIPTION: u16 = 3;
    pub const SPEED: u16 = 8;
    pub const RESOLUTION: u16 = 9;
    pub const FLAGS: u16 = 2;
}

/// A place where packets are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `if_name`.
    pub name: String,
    /// `if_description`.
    pub description: String,
    /// `if_speed` [bit/s].
    pub rate_bit_s: u64,
}

/// Direction of a packet at its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It comes in.
    Inbound,
    /// It goes out.
    Outbound,
}

/// Writes a capture, block by block.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    /// Maximum number of bytes captured of a frame [B].
    snaplen: u32,
    body: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file: the section header, then a description of each interface.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(
        out: W,
        application: &str,
        comment: &str,
        interfaces: &[Interface],
        snaplen: u32,
    ) -> io::Result<Self> {
        let mut writer = Self { out, snaplen, body: Vec::with_capacity(2048) };
        writer.word(BYTE_ORDER);
        writer.half(1); // version 1.0
        writer.half(0);
        writer.body.extend_from_slice(&u64::MAX.to_le_bytes()); // section length not given
        writer.option(option::APPLICATION, application.as_bytes());
        writer.option(option::COMMENT, comment.as_bytes());
        writer.half(option::END);
        writer.half(0);
        writer.finish_block(SECTION)?;
        for interface in interfaces {
            writer.half(ETHERNET);
            writer.half(0);
            writer.word(snaplen);
            writer.option(option::NAME, interface.name.as_bytes());
            writer.option(option::DESCRIPTION, interface.description.as_bytes());
            writer.option(option::SPEED, &interface.rate_bit_s.to_le_bytes());
            writer.option(option::RESOLUTION, &[9]); // 10^-9 s
            writer.half(option::END);
            writer.half(0);
            writer.finish_block(INTERFACE)?;
        }
        Ok(writer)
    }

    /// Writes a packet seen at `at_ns`: the start of its frame, and how long it was.
    ///
    /// # Errors
    /// Those of the output.
    pub fn packet(
        &mut self,
        interface: u32,
        at_ns: u64,
        frame: &[u8],
        original: u32,
        direction: Direction,
        comment: &str,
    ) -> io::Result<()> {
        let captured_bytes = original.min(self.snaplen);
        self.word(interface);
        self.word((at_ns >> 32) as u32);
        self.word(at_ns as u32);
        self.word(captured_bytes);
        self.word(original);
        // The bytes behind the headers are zeros.
        let headers = frame.len().min(captured_bytes as usize);
        self.body.extend_from_slice(&frame[..headers]);
        let length = self.body.len() + (captured_bytes as usize - headers);
        self.body.resize(length, 0);
        self.pad();
        let bits: u32 = match direction {
            Direction::Inbound => 1,
            Direction::Outbound => 2,
        };
        self.option(option::FLAGS, &bits.to_le_bytes());
        self.option(option::COMMENT, comment.as_bytes());
        self.half(option::END);
        self.half(0);
        self.finish_block(PACKET)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn word(&mut self, value: u32) {
        self.body.extend_from_slice(&value.to_le_bytes());
    }

    fn half(&mut self, value: u16) {
        self.body.extend_from_slice(&value.to_le_bytes());
    }

    /// Fills up to a multiple of 32 bits.
    fn pad(&mut self) {
        let length = self.body.len().next_multiple_of(4);
        self.body.resize(length, 0);
    }

    /// An option; text of more than 65,535 bytes is cut at the end of a character.
    fn option(&mut self, code: u16, value: &[u8]) {
        let mut length = value.len().min(usize::from(u16::MAX));
        while length < value.len() && length > 0 && value[length] & 0xc0 == 0x80 {
            length -= 1;
        }
        self.half(code);
        self.half(length as u16);
        self.body.extend_from_slice(&value[..length]);
        self.pad();
    }

    fn finish_block(&mut self, kind: u32) -> io::Result<()> {
        let total = self.body.len() as u32 + 12;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&total.to_le_bytes())?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&total.to_le_bytes())?;
        self.body.clear();
        Ok(())
    }
}

#[cfg(test)]
mod draft_ietf_opsawg_pcapng {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        let word = |part: &[u8]| u32::from_le_bytes(part.try_into().expect("four bytes"));
        bytes.chunks(4).map(word).collect()
    }

    fn capture(snaplen: u32) -> Vec<u8> {
        let interface =
            Interface { name: "a->b".into(), description: "x".into(), rate_bit_s: 1_000_000 };
        let mut writer =
            PcapngWriter::new(Vec::new(), "t", "c", &[interface], snaplen).expect("memory");
        let at = (5 << 32) + 7;
        writer.packet(0, at, &[0xab; 6], 9, Direction::Inbound, "hi").expect("memory");
        writer.finish().expect("memory")
    }

    /// Section: 12 of frame, 16 of fields, options of 8 + 8 + 4 = 48. Interface: 12 + 8 fields,
    /// name 4 + 4, description 4 + 4, speed 4 + 8, resolution 4 + 4, end 4 = 60.
    #[test]
    fn s3_1_each_block_says_its_length_at_both_ends() {
        let written = words(&capture(65_535));
        assert_eq!(written[..4], [SECTION, 48, BYTE_ORDER, 1]);
        assert_eq!(written[48 / 4 - 1], 48);
        assert_eq!(written[12..14], [INTERFACE, 60]);
        assert_eq!(written[(48 + 60) / 4 - 1], 60);
    }

    /// Packet: 12 + 20 fields, 9 bytes padded to 12, flags 4 + 4, comment 4 + 4, end 4 = 64.
    #[test]
    fn s4_3_a_packet_has_its_time_in_two_words_its_lengths_and_its_bytes() {
        let written = words(&capture(65_535));
        let packet = &written[27..];
        assert_eq!(packet[..7], [PACKET, 64, 0, 5, 7, 9, 9]);
        assert_eq!(packet[7..10], [0xabab_abab, 0x0000_abab, 0]);
        assert_eq!(packet[10..12], [4 << 16 | 2, 1]);
        assert_eq!(packet.last(), Some(&64));
    }

    #[test]
    fn s4_2_the_snapshot_length_cuts_the_captured_bytes_not_the_original_length() {
        let written = words(&capture(4));
        assert_eq!(written[15], 4, "the interface says it");
        assert_eq!(written[27..][5..9], [4, 9, 0xabab_abab, 4 << 16 | 2]);
    }
}
