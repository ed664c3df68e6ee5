//! OSPF packets as octets.
//!
//! Source: RFC 2328 appendix A.3 (packets), A.4.1 and A.4.2 (LSA header, router-LSA), section 12.1.7
//! (checksum of an LSA: ISO 8473), appendix D.4.

use super::Lsa;
use crate::address;
use trunkline_units::Span;

/// Names of the kinds of message, by [`super::Message::kind`].
pub const KINDS: [&str; 3] = ["Hello", "LS Update", "LS Acknowledgment"];

/// Octets of an LSA's header, of a router-LSA without links, and of a link in it.
const LSA_HEADER: usize = 20;
const OPTIONS: u8 = 2;
const SECOND: Span = 1_000_000_000;

/// A packet of one type: the common header, then `body`.
fn packet(node: u32, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![2, kind];
    octets.extend((24 + body.len() as u16).to_be_bytes());
    octets.extend(address(node));
    octets.extend([0; 4 + 2 + 2 + 8]);
    octets.extend(body);
    let mut sum: u32 = octets
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    octets[12..14].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    octets
}

/// A hello that lists the neighbour if it is heard.
pub fn hello(node: u32, neighbour: Option<u32>, interval: Span, dead: Span) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend((interval.div_ceil(SECOND).min(0xffff) as u16).to_be_bytes());
    body.extend([OPTIONS, 1]);
    body.extend((dead.div_ceil(SECOND) as u32).to_be_bytes());
    body.extend([0; 8]);
    body.extend(neighbour.iter().flat_map(|node| address(*node)));
    packet(node, 1, &body)
}

/// A link-state update.
pub fn update(node: u32, lsas: &[Lsa]) -> Vec<u8> {
    let mut body = (lsas.len() as u32).to_be_bytes().to_vec();
    for each in lsas {
        body.extend(lsa(each));
    }
    packet(node, 4, &body)
}

/// A link-state acknowledgment: the headers of LSAs.
pub fn acknowledgment(node: u32, lsas: &[Lsa]) -> Vec<u8> {
    let body: Vec<u8> = lsas.iter().flat_map(|each| lsa(each)[..LSA_HEADER].to_vec()).collect();
    packet(node, 5, &body)
}

/// A router-LSA: a point-to-point link for each neighbour, and the node's own address.
fn lsa(its: &Lsa) -> Vec<u8> {
    let own = address(its.origin);
    let mut octets = vec![0, 1, OPTIONS, 1];
    octets.extend(own);
    octets.extend(own);
    octets.extend((0x8000_0001u32.wrapping_add(its.sequence)).to_be_bytes());
    octets.extend([0; 4]);
    octets.extend([0, 0]);
    octets.extend((its.links.len() as u16 + 1).to_be_bytes());
    for link in its.links.iter() {
        octets.extend(address(link.to));
        // Interface without an address: its index (RFC 2328 appendix A.4.2).
        octets.extend(link.line.to_be_bytes());
        octets.extend([1, 0]);
        octets.extend((link.metric as u16).to_be_bytes());
    }
    octets.extend(own);
    octets.extend([255, 255, 255, 255, 3, 0, 0, 0]);
    let length = octets.len() as u16;
    octets[18..20].copy_from_slice(&length.to_be_bytes());
    let sum = fletcher(&octets[2..], 14);
    octets[16..18].copy_from_slice(&sum);
    octets
}

/// The two octets of an ISO 8473 checksum that stand at `at`, where there are zeros now.
fn fletcher(octets: &[u8], at: usize) -> [u8; 2] {
    let (mut first, mut second) = (0i64, 0i64);
    for octet in octets {
        first = (first + i64::from(*octet)) % 255;
        second = (second + first) % 255;
    }
    let after = (octets.len() - at - 1) as i64;
    let x = (after * first - second).rem_euclid(255);
    let y = (second - (after + 1) * first).rem_euclid(255);
    let or_255 = |value: i64| if value == 0 { 255 } else { value as u8 };
    [or_255(x), or_255(y)]
}

#[cfg(test)]
mod rfc2328 {
    use super::*;
    use crate::ospf::Adjacent;
    use std::sync::Arc;

    /// Section 12.1.7 and ISO 8473: over all of an LSA but its age both sums are 0 modulo 255.
    #[test]
    fn s12_1_7_both_sums_over_an_lsa_are_zero() {
        for neighbours in 0..6u32 {
            let link = |to| Adjacent { line: 3 * to, to: to + 40, metric: 1000 + u64::from(to) };
            let links = Arc::new((0..neighbours).map(link).collect());
            let octets = lsa(&Lsa { origin: 7, sequence: 900 + neighbours, links });
            let (mut first, mut second) = (0u64, 0u64);
            for octet in &octets[2..] {
                first = (first + u64::from(*octet)) % 255;
                second = (second + first) % 255;
            }
            assert_eq!((first, second), (0, 0));
            // Section A.4.2: header 20, 4 and a link of 12 for each neighbour and the node itself.
            assert_eq!(octets.len(), 24 + 12 * (neighbours as usize + 1));
        }
    }
}
