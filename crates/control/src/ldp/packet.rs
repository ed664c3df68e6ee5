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
}
