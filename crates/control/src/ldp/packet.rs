//! LDP messages as octets, in UDP datagrams and TCP segments.
//!
//! Source: RFC 5036 sections 3.1 (PDU header), 3.3 and 3.4 (TLVs), 3.5 (messages); RFC 768, RFC 9293
//! section 3.1.
//! Absent: TCP options.

use super::tcp_stream::StreamSegment;
use super::{Body, PORT};
use crate::address;
use trunkline_units::Span;

/// Names of the kinds of message; a segment has the kind of its payload.
pub const KINDS: [&str; 9] = [
    "hello",
    "tcp",
    "notification",
    "initialization",
    "keepalive",
    "address",
    "label-mapping",
    "label-withdraw",
    "label-release",
];

/// Bytes of the headers of a PDU, and of a TCP segment.
pub const PDU_HEADER: usize = 10;
/// Longest PDU that fits a segment of 1,460 bytes.
pub const MAX_PDU_BYTES: usize = 1460;
const UDP: u8 = 17;
const TCP: u8 = 6;
const IPV4: u16 = 1;
const SECOND: Span = 1_000_000_000;

/// Full seconds, as fields of 16 bits hold them.
fn seconds(span: Span) -> [u8; 2] {
    (span.div_ceil(SECOND).min(0xfffe) as u16).to_be_bytes()
}

fn tlv(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = kind.to_be_bytes().to_vec();
    octets.extend((value.len() as u16).to_be_bytes());
    octets.extend(value);
    octets
}

fn message(kind: u16, id: u32, body: &[u8]) -> Vec<u8> {
    let mut octets = kind.to_be_bytes().to_vec();
    octets.extend((body.len() as u16 + 4).to_be_bytes());
    octets.extend(id.to_be_bytes());
    octets.extend(body);
    octets
}

/// FEC of a node: the prefix of its address (section 3.4.1), and a generic label (3.4.2.1).
fn binding(kind: u16, id: u32, fec: u32, label: u32) -> Vec<u8> {
    let mut element = vec![2];
    element.extend(IPV4.to_be_bytes());
    element.push(32);
    element.extend(address(fec));
    let mut body = tlv(0x0100, &element);
    body.extend(tlv(0x0200, &label.to_be_bytes()));
    message(kind, id, &body)
}

/// A message of a session; `to` is the peer.
pub fn encode(body: &Body, id: u32, node: u32, to: u32, keepalive: Span) -> Vec<u8> {
    match *body {
        Body::Notification(status) => {
            let mut value = status.to_be_bytes().to_vec();
            value.extend([0; 6]);
            message(0x0001, id, &tlv(0x0300, &value))
        }
        Body::Initialization => {
            let mut value = vec![0, 1];
            value.extend(seconds(keepalive));
            // Downstream unsolicited, no loop detection; PDUs of up to 4,096 octets.
            value.extend([0, 0, 0, 0]);
            value.extend(address(to));
            value.extend([0, 0]);
            message(0x0200, id, &tlv(0x0500, &value))
        }
        Body::KeepAlive => message(0x0201, id, &[]),
        Body::Address => {
            let mut value = IPV4.to_be_bytes().to_vec();
            value.extend(address(node));
            message(0x0300, id, &tlv(0x0101, &value))
        }
        Body::Mapping(fec, label) => binding(0x0400, id, fec, label),
        Body::Withdraw(fec, label) => binding(0x0402, id, fec, label),
        Body::Release(fec, label) => binding(0x0403, id, fec, label),
    }
}

/// A PDU of these messages.
pub fn pdu(node: u32, messages: &[u8]) -> Vec<u8> {
    let mut octets = vec![0, 1];
    octets.extend((messages.len() as u16 + 6).to_be_bytes());
    octets.extend(address(node));
    octets.extend([0, 0]);
    octets.extend(messages);
    octets
}

/// A link hello with its transport address, in a datagram to all routers.
pub fn hello(node: u32, id: u32, hold: Span) -> Vec<u8> {
    let mut value = seconds(hold).to_vec();
    value.extend([0, 0]);
    let mut body = tlv(0x0400, &value);
    body.extend(tlv(0x0401, &address(node)));
    let pdu = pdu(node, &message(0x0100, id, &body));
    let mut octets = Vec::new();
    octets.extend(PORT.to_be_bytes());
    octets.extend(PORT.to_be_bytes());
    octets.extend((pdu.len() as u16 + 8).to_be_bytes());
    octets.extend([0; 2]);
    octets.extend(pdu);
    let sum = checksum(UDP, [node, crate::ALL_ROUTERS], &octets);
    octets[6..8].copy_from_slice(&sum.to_be_bytes());
    octets
}

/// A TCP segment; `octets` is its payload.
pub fn segment(segment: &StreamSegment, ends: [u32; 2], payload: &[u8]) -> Vec<u8> {
    let ports = if segment.from_active { [segment.port, PORT] } else { [PORT, segment.port] };
    let mut octets: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    octets.extend(segment.seq.to_be_bytes());
    octets.extend(segment.ack.unwrap_or(0).to_be_bytes());
    let flag = |is: bool, bit: u8| if is { bit } else { 0 };
    octets.push(5 << 4);
    octets.push(
        flag(segment.fin, 1)
            | flag(segment.syn, 2)
            | flag(segment.rst, 4)
            | flag(!payload.is_empty(), 8)
            | flag(segment.ack.is_some(), 16),
    );
    octets.extend(0xffff_u16.to_be_bytes());
    octets.extend([0; 4]);
    octets.extend(payload);
    let sum = checksum(TCP, ends, &octets);
    octets[16..18].copy_from_slice(&sum.to_be_bytes());
    octets
}

/// Checksum with the pseudo-header (RFC 9293 section 3.1); zero in UDP would mean none.
fn checksum(protocol: u8, ends: [u32; 2], octets: &[u8]) -> u16 {
    let addresses = ends.map(address).concat();
    let words = |octets: &[u8]| -> u32 {
        let word =
            |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| (*low).into());
        octets.chunks(2).map(word).sum()
    };
    let mut sum = words(&addresses) + words(octets) + u32::from(protocol) + octets.len() as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    match !(sum as u16) {
        0 => 0xffff,
        sum => sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 section 1: the sum of all words with the checksum is all ones; that of the pseudo-header
    /// (RFC 9293 section 3.1) is the addresses, the protocol and the length. UDP's is never 0 (RFC 768).
    #[test]
    fn rfc1071_s1_the_words_and_their_checksum_are_all_ones() {
        let words = |octets: &[u8]| -> u64 {
            octets.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum()
        };
        for word in 0..=u16::MAX {
            let octets = [0xff, 0xfe, word.to_be_bytes()[0], word.to_be_bytes()[1]];
            let sum = checksum(UDP, [1, 2], &octets);
            assert_ne!(sum, 0);
            let all = words(&[1, 2].map(address).concat()) + words(&octets) + u64::from(UDP) + 4;
            assert_eq!((all + u64::from(sum)) % 0xffff, 0, "{word}");
        }
    }

    /// RFC 5036 section 3.5: each message with its number 0x01020304, of node 0 (10.0.0.1) to node 1. An
    /// Initialization has version 1, the keepalive time and the receiver's LDP identifier (3.5.3), an Address
    /// message one IPv4 address (3.5.5), the others a FEC of one prefix of 32 bits and a generic label (3.4.1,
    /// 3.4.2.1), a Notification a status and no message that it is about (3.4.6).
    #[test]
    fn rfc5036_s3_5_messages_octet_by_octet() {
        let id = [1, 2, 3, 4];
        let fec = [1, 0, 0, 8, 2, 0, 1, 32, 10, 0, 0, 8];
        let label = [2, 0, 0, 4, 0, 0, 0, 17];
        let about = |kind| [&[4, kind, 0, 24][..], &id, &fec, &label].concat();
        let status = [3, 0, 0, 10, 0x80, 0, 0, 0x14, 0, 0, 0, 0, 0, 0];
        let common = [5, 0, 0, 14, 0, 1, 0, 40, 0, 0, 0, 0, 10, 0, 0, 2, 0, 0];
        for (body, octets) in [
            (Body::Notification(0x8000_0014), [&[0, 1, 0, 18][..], &id, &status].concat()),
            (Body::Initialization, [&[2, 0, 0, 22][..], &id, &common].concat()),
            (Body::KeepAlive, [&[2, 1, 0, 4][..], &id].concat()),
            (Body::Address, [&[3, 0, 0, 14][..], &id, &[1, 1, 0, 6, 0, 1, 10, 0, 0, 1]].concat()),
            (Body::Mapping(7, 17), about(0)),
            (Body::Withdraw(7, 17), about(2)),
            (Body::Release(7, 17), about(3)),
        ] {
            assert_eq!(encode(&body, 0x0102_0304, 0, 1, 40 * SECOND), octets, "{body:?}");
        }
        // Section 3.1: version 1, the length behind these four octets, the sender and its label space.
        assert_eq!(pdu(0, &[9, 9]), [0, 1, 0, 8, 10, 0, 0, 1, 0, 0, 9, 9]);
    }

    /// Times are whole seconds, rounded up; 0xffff would mean for ever (section 3.5.2).
    #[test]
    fn rfc5036_s3_5_2_times_are_seconds() {
        let spans = [0, 1, SECOND, SECOND + 1, 0xfffe * SECOND, 70_000 * SECOND];
        assert_eq!(
            spans.map(|span| u16::from_be_bytes(seconds(span))),
            [0, 1, 1, 2, 0xfffe, 0xfffe]
        );
    }

    /// RFC 5036 section 3.5.2: a link hello, of port 646 to port 646 in a datagram of 42 octets (RFC 768), with a
    /// hold time of 15 s, no request for targeted hellos, and the transport address.
    #[test]
    fn rfc5036_s3_5_2_a_hello_octet_by_octet() {
        let octets = hello(0, 9, 15 * SECOND);
        assert_eq!(octets[..6], [2, 134, 2, 134, 0, 42]);
        assert_eq!(octets[8..18], [0, 1, 0, 30, 10, 0, 0, 1, 0, 0]);
        assert_eq!(octets[18..26], [1, 0, 0, 20, 0, 0, 0, 9]);
        assert_eq!(octets[26..], [4, 0, 0, 4, 0, 15, 0, 0, 4, 1, 0, 4, 10, 0, 0, 1]);
        // Pseudo-header: 10.0.0.1, 224.0.0.2, protocol 17, length 42.
        let mut sum: u64 = 0x0a00 + 1 + 0xe000 + 2 + 17 + 42;
        sum +=
            octets.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1])).sum::<u64>();
        assert_eq!(sum % 0xffff, 0);
    }

    /// RFC 9293 section 3.1: ports, numbers, a header of 5 words, the flags FIN 1, SYN 2, RST 4, PSH 8 (with a
    /// payload), ACK 16, the largest window without scaling, no urgent data.
    #[test]
    fn rfc9293_s3_1_a_segment_octet_by_octet() {
        let plain = StreamSegment {
            port: 0xc001,
            from_active: true,
            syn: false,
            fin: false,
            rst: false,
            seq: 0x0102_0304,
            ack: None,
            bytes: 0,
            bodies: vec![],
            payload: vec![],
        };
        let ends = [0, 1];
        for (sent, payload, ports, ack, flags) in [
            (plain.clone(), &[][..], [0xc0, 1, 2, 134], 0, 0),
            (StreamSegment { from_active: false, ..plain.clone() }, &[], [2, 134, 0xc0, 1], 0, 0),
            (StreamSegment { fin: true, ..plain.clone() }, &[], [0xc0, 1, 2, 134], 0, 1),
            (StreamSegment { syn: true, ..plain.clone() }, &[], [0xc0, 1, 2, 134], 0, 2),
            (StreamSegment { rst: true, ..plain.clone() }, &[], [0xc0, 1, 2, 134], 0, 4),
            (StreamSegment { ack: Some(7), ..plain.clone() }, &[], [0xc0, 1, 2, 134], 7, 16),
            (StreamSegment { ack: Some(7), ..plain }, &[5, 6, 7], [0xc0, 1, 2, 134], 7, 24),
        ] {
            let octets = segment(&sent, ends, payload);
            let sum = checksum(TCP, ends, &[&octets[..16], &[0, 0], &octets[18..]].concat());
            let numbers = [1, 2, 3, 4, 0, 0, 0, ack, 0x50, flags, 0xff, 0xff];
            let expected = [&ports[..], &numbers, &sum.to_be_bytes(), &[0, 0], payload].concat();
            assert_eq!(octets, expected, "{sent:?}");
        }
    }
}
