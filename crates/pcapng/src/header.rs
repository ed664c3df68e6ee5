//! Headers of a frame: Ethernet, label stack, IPv4, TCP, UDP or ICMP, checksums right, payload of zeros.
//!
//! Source: IEEE 802.3 (Ethernet II), RFC 3032 section 2.1 and RFC 5332 section 3 (label stack and
//! its EtherType), RFC 791 section 3.1 (IPv4), RFC 1071 (checksum), RFC 9293 section 3.1 (TCP), RFC
//! 2018 section 3 (SACK), RFC 7323 section 3.2 (time stamps), RFC 768 (UDP), RFC 792 (ICMP echo).

const ETHERNET_BYTES: usize = 14;
const IP_BYTES: usize = 20;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// A data offset of 15 words leaves this much for options (RFC 9293 section 3.1).
const MAX_OPTION_BYTES: usize = 40;
const NOP: u8 = 1;

/// The TCP header of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// ECN-Echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Opens the connection.
    pub syn: bool,
    /// The acknowledgement number holds.
    pub acknowledges: bool,
    /// Window field, scaled already.
    pub window: u16,
    /// Time stamps, value and echo, where there is room for them.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks, left and right edge; [0, 0] is none.
    pub sack: [[u32; 2]; 3],
    /// Bytes that the sender counts for this header; NOPs fill the bytes that the fields leave.
    pub room: usize,
}

/// Transport protocol of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A segment.
    Tcp(TcpHeader),
    /// A datagram.
    Udp,
    /// A request, or a reply, of this identifier and sequence number (RFC 792).
    Echo(bool, u16, u16),
    /// A message of this protocol as on the wire, and the options of the IP header.
    Message(u8, &'a [u8], &'a [u8]),
}

/// One packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Ethernet addresses: from, to.
    pub stations: [[u8; 6]; 2],
    /// Label stack entries from the top, as on the wire.
    pub labels: &'a [u32],
    /// DSCP and ECN: the octet of RFC 2474 and RFC 3168.
    pub traffic_class: u8,
    /// Time to live.
    pub ttl: u8,
    /// Identification.
    pub id: u16,
    /// IPv4 addresses: from, to.
    pub addresses: [[u8; 4]; 2],
    /// Ports: from, to.
    pub ports: [u16; 2],
    /// Its transport protocol.
    pub transport: Transport<'a>,
    /// Bytes of payload, all zero.
    pub payload: usize,
}

impl Frame<'_> {
    /// Writes the headers into `out`, which is emptied first.
    ///
    /// Returns the length of the frame, payload included, without a frame check sequence [B]; IP's total
    /// length limits it to 65,535 and the layers below.
    pub fn write(&self, out: &mut Vec<u8>) -> u32 {
        out.clear();
        out.extend_from_slice(&self.stations[1]);
        out.extend_from_slice(&self.stations[0]);
        let kind: u16 = if self.labels.is_empty() { 0x0800 } else { 0x8847 };
        out.extend_from_slice(&kind.to_be_bytes());
        for (number, entry) in self.labels.iter().enumerate() {
            let bottom = u32::from(number + 1 == self.labels.len()) << 8;
            out.extend_from_slice(&(entry & !0x100 | bottom).to_be_bytes());
        }
        debug_assert_eq!(out.len(), ETHERNET_BYTES + 4 * self.labels.len());
        let segment = self.segment();
        let options = self.options();
        let total =
            (IP_BYTES + options.len() + segment.len() + self.payload).min(usize::from(u16::MAX));
        let start = out.len();
        let mut ip = [0; IP_BYTES];
        ip[0] = 0x45 + (options.len() / 4) as u8;
        ip[1] = self.traffic_class;
        ip[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&self.id.to_be_bytes());
        ip[6] = 0x40; // do not fragment
        ip[8] = self.ttl;
        ip[9] = self.protocol();
        ip[12..16].copy_from_slice(&self.addresses[0]);
        ip[16..20].copy_from_slice(&self.addresses[1]);
        let sum = finish(add(add(0, &ip), options));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(&ip);
        out.extend_from_slice(options);
        out.extend_from_slice(&segment);
        (start + total) as u32
    }

    fn protocol(&self) -> u8 {
        match self.transport {
            Transport::Tcp(_) => 6,
            Transport::Udp => 17,
            Transport::Echo(..) => 1,
            Transport::Message(protocol, _, _) => protocol,
        }
    }

    fn options(&self) -> &[u8] {
        match self.transport {
            Transport::Message(_, _, options) => options,
            _ => &[],
        }
    }

    /// The header of the transport protocol.
    fn segment(&self) -> Vec<u8> {
        if let Transport::Message(_, octets, _) = self.transport {
            return octets.to_vec();
        }
        if let Transport::Echo(reply, identifier, number) = self.transport {
            let mut header = vec![if reply { 0 } else { 8 }, 0, 0, 0];
            header.extend_from_slice(&identifier.to_be_bytes());
            header.extend_from_slice(&number.to_be_bytes());
            let sum = finish(add(0, &header));
            header[2..4].copy_from_slice(&sum.to_be_bytes());
            return header;
        }
        let mut header = Vec::with_capacity(TCP_BYTES + MAX_OPTION_BYTES);
        for port in self.ports {
            header.extend_from_slice(&port.to_be_bytes());
        }
        let place = match self.transport {
            Transport::Tcp(tcp) => {
                header.extend_from_slice(&tcp.seq.to_be_bytes());
                header.extend_from_slice(&tcp.ack.to_be_bytes());
                let options = tcp.options();
                let words = (TCP_BYTES + options.len()) / 4;
                header.push((words << 4) as u8);
                // CWR, ECE, then ACK, which every segment of a connection bears.
                header.push(
                    u8::from(tcp.cwr) << 7
                        | u8::from(tcp.ece) << 6
                        | u8::from(tcp.acknowledges) << 4
                        | u8::from(tcp.syn) << 1,
                );
                header.extend_from_slice(&tcp.window.to_be_bytes());
                header.extend_from_slice(&[0; 4]);
                header.extend_from_slice(&options);
                16
            }
            Transport::Udp | Transport::Message(..) | Transport::Echo(..) => {
                let length = (UDP_BYTES + self.payload).min(usize::from(u16::MAX) - IP_BYTES);
                header.extend_from_slice(&(length as u16).to_be_bytes());
                header.extend_from_slice(&[0; 2]);
                6
            }
        };
        // Zeros do not change the sum, so the payload is left out.
        let length = (header.len() + self.payload).min(usize::from(u16::MAX) - IP_BYTES);
        let pseudo = add(add(0, &self.addresses[0]), &self.addresses[1])
            + u32::from(self.protocol())
            + length as u32;
        let mut sum = finish(add(pseudo, &header));
        if sum == 0 && self.transport == Transport::Udp {
            sum = 0xffff; // RFC 768: zero means that there is no checksum
        }
        header[place..place + 2].copy_from_slice(&sum.to_be_bytes());
        header
    }
}

impl TcpHeader {
    /// Options, a multiple of four bytes.
    fn options(&self) -> Vec<u8> {
        let mut options = Vec::with_capacity(MAX_OPTION_BYTES);
        if let Some((value, echo)) = self.stamps {
            options.extend_from_slice(&[NOP, NOP, 8, 10]);
            options.extend_from_slice(&value.to_be_bytes());
            options.extend_from_slice(&echo.to_be_bytes());
        }
        let blocks: Vec<[u32; 2]> =
            self.sack.iter().copied().filter(|block| *block != [0, 0]).collect();
        if !blocks.is_empty() {
            options.extend_from_slice(&[NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
            for edge in blocks.into_iter().flatten() {
                options.extend_from_slice(&edge.to_be_bytes());
            }
        }
        let room = self.room.saturating_sub(TCP_BYTES).min(MAX_OPTION_BYTES) / 4 * 4;
        if options.len() < room {
            options.resize(room, NOP);
        }
        options
    }
}

/// Adds 16-bit words to a sum (RFC 1071 section 1); an odd last byte counts as the upper one.
fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.chunks(2).fold(sum, |sum, pair| {
        sum + (u32::from(pair[0]) << 8) + u32::from(pair.get(1).copied().unwrap_or(0))
    })
}

/// Folds a sum into 16 bits and complements it.
fn finish(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(transport: Transport<'static>) -> Frame<'static> {
        Frame {
            stations: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]],
            labels: &[],
            traffic_class: 46 << 2,
            ttl: 64,
            id: 7,
            addresses: [[10, 0, 0, 1], [10, 0, 0, 2]],
            ports: [1024, 9],
            transport,
            payload: 100,
        }
    }

    fn write_frame(frame: &Frame<'_>) -> (Vec<u8>, u32) {
        let mut out = Vec::new();
        let length = frame.write(&mut out);
        (out, length)
    }

    /// RFC 792, echo: 8 for a request and 0 for a reply, code 0, checksum, identifier, number. By hand:
    /// 0800 + 0005 + 0003 = 0808, complement f7f7; 0000 + 0005 + 0003 = 0008, complement fff7.
    #[test]
    fn rfc792_echo_request_and_reply() {
        let (bytes, length) = write_frame(&frame(Transport::Echo(false, 5, 3)));
        assert_eq!((bytes[23], length), (1, 14 + 20 + 8 + 100));
        assert_eq!(bytes[34..], [8, 0, 0xf7, 0xf7, 0, 5, 0, 3]);
        let (bytes, _) = write_frame(&frame(Transport::Echo(true, 5, 3)));
        assert_eq!(bytes[34..], [0, 0, 0xff, 0xf7, 0, 5, 0, 3]);
    }

    mod rfc1071 {
        use super::*;

        /// Section 3's example: 0001 f203 f4f5 f6f7 sum to 2ddf0, folded ddf2, complement 220d.
        #[test]
        fn s3_the_example_sums_to_ddf2() {
            let sum = add(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
            assert_eq!(sum, 0x2_ddf0);
            assert_eq!(finish(sum), 0x220d);
        }

        /// A header with its checksum in place sums to ffff.
        #[test]
        fn s1_the_header_sums_to_ones_with_its_checksum_in_place() {
            let (bytes, _) = write_frame(&frame(Transport::Udp));
            assert_eq!(finish(add(0, &bytes[14..34])), 0);
            let pseudo = add(0, &bytes[26..34]) + 17 + 108;
            assert_eq!(finish(add(pseudo, &bytes[34..])), 0);
        }
    }

    mod rfc3032 {
        use super::*;

        #[test]
        fn s2_1_only_the_last_entry_has_the_bottom_bit_and_the_ether_type_is_8847() {
            let labels = [16 << 12 | 5 << 9 | 0x100 | 64, 17 << 12 | 0x100 | 255];
            let frame = Frame { labels: &labels, ..frame(Transport::Udp) };
            let (bytes, length) = write_frame(&frame);
            assert_eq!(bytes[12..14], [0x88, 0x47]);
            assert_eq!(bytes[14..22], [0x00, 0x01, 0x0a, 0x40, 0x00, 0x01, 0x11, 0xff]);
            assert_eq!(bytes[22], 0x45);
            assert_eq!(length, 14 + 8 + 20 + 8 + 100);
        }
    }

    mod rfc9293 {
        use super::*;

        /// Flags: CWR 80, ECE 40, ACK 10. Offset: 20 bytes are 5 words.
        #[test]
        fn s3_1_a_segment_without_options_has_five_words_and_its_flags() {
            let tcp = TcpHeader {
                seq: 1461,
                ack: 1,
                ece: true,
                cwr: true,
                acknowledges: true,
                window: 1000,
                room: 20,
                ..TcpHeader::default()
            };
            let (bytes, length) = write_frame(&frame(Transport::Tcp(tcp)));
            let header = &bytes[34..];
            assert_eq!(header.len(), 20);
            assert_eq!(header[4..8], [0, 0, 0x05, 0xb5]);
            assert_eq!(header[12..16], [0x50, 0xd0, 0x03, 0xe8]);
            assert_eq!(length, 14 + 20 + 20 + 100);
            let pseudo = add(0, &bytes[26..34]) + 6 + 120;
            assert_eq!(finish(add(pseudo, header)), 0);
        }
    }

    mod rfc2018 {
        use super::*;

        /// Kind 5, length 2 + 8 a block; with time stamps three blocks fill the 40 bytes.
        #[test]
        fn s3_three_blocks_fit_with_time_stamps() {
            let sack = [[10, 20], [30, 40], [50, 60]];
            let tcp = TcpHeader { stamps: Some((1, 2)), sack, room: 32, ..TcpHeader::default() };
            let (bytes, _) = write_frame(&frame(Transport::Tcp(tcp)));
            assert_eq!(bytes[34 + 12] >> 4, 15);
            assert_eq!(bytes[54..58], [1, 1, 8, 10]);
            assert_eq!(bytes[66..70], [1, 1, 5, 26]);
            assert_eq!(bytes[70..78], [0, 0, 0, 10, 0, 0, 0, 20]);
            assert_eq!(bytes.len(), 34 + 60);
        }

        #[test]
        fn s3_room_that_no_option_takes_is_filled_with_no_operations() {
            let tcp = TcpHeader { room: 30, ..TcpHeader::default() };
            let (bytes, _) = write_frame(&frame(Transport::Tcp(tcp)));
            assert_eq!(bytes[54..], [1; 8]);
        }
    }
}
