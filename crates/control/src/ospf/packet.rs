//! OSPF packets as octets.
//!
//! Source: RFC 2328 appendix A.3 (packets), A.4.1 and A.4.2 (LSA header, router-LSA), section 12.1.7
//! (checksum of an LSA: ISO 8473), appendix D.4; RFC 5250 appendix A.2 (opaque LSA), RFC 3630
//! sections 2.3 to 2.5 (TLVs of traffic engineering), RFC 4203 section 1.1 (links without addresses).

use super::lsa::{Lsa, LsaContent, RouterLink, TeLink};
use crate::address;
use trunkline_units::Span;

/// Names of the kinds of message, by [`super::Message::kind`].
pub const KINDS: [&str; 3] = ["Hello", "LS Update", "LS Acknowledgment"];

/// Octets of an LSA's header, of a router-LSA without links, and of a link in it.
const LSA_HEADER: usize = 20;
const OPTIONS: u8 = 2;
/// Link state ID of the first opaque LSA of traffic engineering (RFC 3630 section 2.2).
const FIRST_TE_LSA_ID: u32 = 1 << 24;
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

fn lsa(lsa: &Lsa) -> Vec<u8> {
    let own = address(lsa.origin);
    // Type, and link state ID: of an opaque LSA its kind, 1, and a number.
    let (kind, id, body) = match &lsa.content {
        LsaContent::Router(links) => (1, own, router(own, links)),
        LsaContent::Address => (10, FIRST_TE_LSA_ID.to_be_bytes(), tlv(1, &own)),
        LsaContent::Link(offer) => {
            (10, (FIRST_TE_LSA_ID + 1 + offer.line[0]).to_be_bytes(), tlv(2, &link(offer)))
        }
    };
    let mut octets = vec![0, 1, OPTIONS, kind];
    octets.extend(id);
    octets.extend(own);
    octets.extend((0x8000_0001u32.wrapping_add(lsa.sequence)).to_be_bytes());
    octets.extend([0; 4]);
    octets.extend(body);
    let length = octets.len() as u16;
    octets[18..20].copy_from_slice(&length.to_be_bytes());
    let sum = fletcher(&octets[2..], 14);
    octets[16..18].copy_from_slice(&sum);
    octets
}

/// A type, a length and a value, filled up to words of 4 octets.
fn tlv(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut octets = kind.to_be_bytes().to_vec();
    octets.extend((value.len() as u16).to_be_bytes());
    octets.extend(value);
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// The sub-TLVs of a Link TLV.
fn link(te_link: &TeLink) -> Vec<u8> {
    // Octets a second as an IEEE number.
    let bandwidth = |bit_s: &u64| (*bit_s as f32 / 8.0).to_be_bytes();
    let unreserved: Vec<u8> = te_link.unreserved.iter().flat_map(bandwidth).collect();
    let [near, far] = te_link.line.map(u32::to_be_bytes);
    [
        tlv(1, &[1]),
        tlv(2, &address(te_link.to)),
        tlv(11, &[near, far].concat()),
        tlv(5, &te_link.metric.to_be_bytes()),
        tlv(6, &bandwidth(&te_link.rate_bit_s)),
        tlv(7, &bandwidth(&te_link.reservable_bit_s)),
        tlv(8, &unreserved),
        tlv(9, &te_link.colours.to_be_bytes()),
    ]
    .concat()
}

/// A router-LSA: a point-to-point link for each neighbour, and the node's own address.
fn router(own: [u8; 4], links: &[RouterLink]) -> Vec<u8> {
    let mut octets = vec![0, 0];
    octets.extend((links.len() as u16 + 1).to_be_bytes());
    for link in links {
        octets.extend(address(link.to));
        // Interface without an address: its index (RFC 2328 appendix A.4.2).
        octets.extend(link.line.to_be_bytes());
        octets.extend([1, 0]);
        octets.extend((link.metric as u16).to_be_bytes());
    }
    octets.extend(own);
    octets.extend([255, 255, 255, 255, 3, 0, 0, 0]);
    octets
}

/// The two octets of an ISO 8473 checksum at `at`, where there are zeros now.
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
    use std::sync::Arc;

    /// Section 12.1.7 and ISO 8473: over all of an LSA but its age both sums are 0 modulo 255.
    #[test]
    fn s12_1_7_both_sums_over_an_lsa_are_zero() {
        for neighbours in 0..6u32 {
            let link = |to| RouterLink { line: 3 * to, to: to + 40, metric: 1000 + u64::from(to) };
            let links = Arc::new((0..neighbours).map(link).collect());
            let octets = lsa(&Lsa {
                place: 7,
                origin: 7,
                sequence: 900 + neighbours,
                content: LsaContent::Router(links),
            });
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

    /// RFC 3630 sections 2.4.2 and 2.5: a header of 20, a Link TLV of 4 + 8 + 8 + 12 (RFC 4203) + 8 +
    /// 8 + 8 + 36 + 8; 10 Mbit/s are 1,250,000 octets a second, 0x49989680.
    #[test]
    fn rfc3630_s2_5_a_link_has_its_sub_tlvs_and_bandwidths_in_octets() {
        let offer = TeLink {
            line: [4, 5],
            to: 2,
            metric: 40,
            rate_bit_s: 10_000_000,
            reservable_bit_s: 20_000_000,
            unreserved: Arc::new(std::array::from_fn(|at| 10_000_000 * u64::from(at < 4))),
            colours: 0b101,
        };
        let content = LsaContent::Link(Arc::new(offer));
        let octets = lsa(&Lsa { place: 9, origin: 7, sequence: 3, content });
        assert_eq!(octets.len(), 20 + 4 + 8 + 8 + 12 + 8 + 8 + 8 + 36 + 8);
        // Type 10, opaque type 1, instance 5.
        assert_eq!((octets[3], &octets[4..8]), (10, &[1, 0, 0, 5][..]));
        assert_eq!(&octets[20..24], [0, 2, 0, 96]);
        let at = |kind: u8| {
            let mut place = 24;
            while octets[place + 1] != kind {
                place += 4 + usize::from(octets[place + 3]).next_multiple_of(4);
            }
            octets[place + 4..place + 4 + usize::from(octets[place + 3])].to_vec()
        };
        let rate = 1_250_000f32.to_be_bytes();
        assert_eq!(rate, [0x49, 0x98, 0x96, 0x80]);
        assert_eq!((at(1), at(2)), (vec![1], address(2).to_vec()));
        assert_eq!((at(5), at(6), at(9)), (vec![0, 0, 0, 40], rate.to_vec(), vec![0, 0, 0, 5]));
        assert_eq!(at(8), [rate.repeat(4), vec![0; 16]].concat());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2328 appendix D.4 and RFC 1071 section 1: the sum of all words with the checksum is all ones,
    /// whatever the words, and it is reached for each of them.
    #[test]
    fn rfc1071_s1_the_words_and_their_checksum_are_all_ones() {
        for word in 0..=u16::MAX {
            let octets = packet(7, 1, &word.to_be_bytes());
            let words =
                octets.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]])));
            let sum = words.sum::<u64>();
            assert_eq!(sum % 0xffff, 0, "{word}");
            assert!(sum > 0);
        }
        // An octet alone is the upper half of a word.
        assert_eq!(packet(7, 1, &[5])[12..14], packet(7, 1, &[4, 0xff])[12..14]);
    }

    /// Version 2, type, length, router, area 0, checksum, no authentication (RFC 2328 appendix A.3.1).
    #[track_caller]
    fn body_of(octets: &[u8], kind: u8, router: u8) -> Vec<u8> {
        let length = (octets.len() as u16).to_be_bytes();
        assert_eq!(octets[..12], [2, kind, length[0], length[1], 10, 0, 0, router, 0, 0, 0, 0]);
        assert_eq!(octets[14..24], [0; 10]);
        octets[24..].to_vec()
    }

    /// RFC 2328 appendix A.3.2 on a point-to-point line without addresses: no mask, interval, options (E) and
    /// priority, dead interval, no designated routers, and the neighbour once it is heard. Times are whole
    /// seconds, rounded up.
    #[test]
    fn rfc2328_a3_2_a_hello_octet_by_octet() {
        let alone = [0, 0, 0, 0, 0, 10, 2, 1, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0];
        let octets = hello(0, None, 10 * SECOND, 40 * SECOND);
        assert_eq!(body_of(&octets, 1, 1), alone);
        let octets = hello(0, Some(1), 9 * SECOND + 1, 39 * SECOND + 1);
        assert_eq!(body_of(&octets, 1, 1), [&alone[..], &[10, 0, 0, 2]].concat());
        let long = hello(0, None, 70_000 * SECOND, 70_000 * SECOND);
        assert_eq!(body_of(&long, 1, 1)[4..12], [0xff, 0xff, 2, 1, 0, 1, 0x11, 0x70]);
    }

    /// RFC 2328 appendices A.3.5, A.4.1 and A.4.2: an update counts its LSAs; a router-LSA of age 1 with options,
    /// type 1, its router twice, the number of the instance from 0x80000001 on, its links, and last its own
    /// address as a stub of 32 bits at cost 0; RFC 3630 section 2.2: an opaque LSA of area scope is of type 10, and
    /// the first one holds the router's address (2.4.1). An acknowledgment has the headers alone (A.3.6).
    #[test]
    fn rfc2328_a3_5_and_a3_6_an_update_and_its_acknowledgment_octet_by_octet() {
        let links = vec![
            RouterLink { line: 4, to: 1, metric: 258 },
            RouterLink { line: 5, to: 2, metric: 9 },
        ];
        let of = |place, sequence, content| Lsa { place, origin: 0, sequence, content };
        let lsas = [of(0, 0, LsaContent::Router(links.into())), of(1, 2, LsaContent::Address)];
        let first = [0, 1, 2, 1, 10, 0, 0, 1, 10, 0, 0, 1, 0x80, 0, 0, 1];
        let content = [
            &[0, 0, 0, 3][..],
            &[10, 0, 0, 2, 0, 0, 0, 4, 1, 0, 1, 2],
            &[10, 0, 0, 3, 0, 0, 0, 5, 1, 0, 0, 9],
            &[10, 0, 0, 1, 255, 255, 255, 255, 3, 0, 0, 0],
        ]
        .concat();
        let second = [0, 1, 2, 10, 1, 0, 0, 0, 10, 0, 0, 1, 0x80, 0, 0, 3];
        let body = body_of(&update(0, &lsas), 4, 1);
        assert_eq!(body[..4], [0, 0, 0, 2]);
        assert_eq!(body[4..20], first);
        assert_eq!(body[22..24], [0, 60], "20, 4 and three links of 12");
        assert_eq!(body[24..64], content);
        assert_eq!(body[64..80], second);
        assert_eq!(body[82..84], [0, 28]);
        assert_eq!(body[84..], [0, 1, 0, 4, 10, 0, 0, 1]);
        let headers = body_of(&acknowledgment(1, &lsas), 5, 2);
        assert_eq!(headers, [&body[4..24], &body[64..84]].concat());
    }
}
