//! Requests to the kernel's tables of links and queueing disciplines.
//!
//! Source: rtnetlink(7) and the kernel's headers `linux/rtnetlink.h`, `linux/if_link.h`,
//! `linux/veth.h`, `linux/gen_stats.h`.

use crate::orders::LinkEnd;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const GET_QDISC: u16 = 38;
const GET_CLASS: u16 = 42;
const GET_STATISTICS: u16 = 94;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP: u16 = 0x300;
const CREATE_EXCLUSIVE: u16 = 0x600;
const DONE: u16 = 3;
const ERROR: u16 = 2;

/// A socket to the tables of the namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink(File);

/// Counters of a queueing discipline or class.
#[derive(Debug, PartialEq, Eq)]
pub struct QdiscCounters {
    /// `qdisc` or `class`.
    pub kind_name: &'static str,
    /// Its kind: `htb`, ...
    pub kind: String,
    /// Its handle: major number times 65536 plus minor number.
    pub handle: u32,
    /// Handle of its parent.
    pub parent: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets waiting.
    pub queued: u32,
    /// Bytes waiting.
    pub backlog: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Times that it held packets back.
    pub overlimits: u32,
}

/// Labelled packets that the kernel refused at one device.
#[derive(Debug, PartialEq, Eq)]
pub struct MplsErrors {
    /// Arrived with a TTL that ran out.
    pub expired: u64,
    /// Arrived with a label that has no entry.
    pub unknown: u64,
    /// Were too large to go out.
    pub too_big: u64,
}

impl Netlink {
    /// Opens one in the namespace of this thread.
    pub fn open() -> io::Result<Self> {
        crate::sys::socket::netlink_socket().map(|fd| Self(File::from(fd)))
    }

    /// Takes the loopback device up.
    pub fn loopback_up(&mut self) -> io::Result<()> {
        const UP: u32 = 1;
        self.send_request(NEW_LINK, REQUEST | ACK, &interface_message(1, UP)).map(drop)
    }

    /// Makes a veth pair: one end in this socket's namespace, the other in a given one.
    pub fn make_pair(
        &mut self,
        near_end: &LinkEnd,
        far_end: &LinkEnd,
        namespace: &OwnedFd,
    ) -> io::Result<()> {
        const NAME: u16 = 3;
        const ADDRESS: u16 = 1;
        const LINK_INFO: u16 = 18;
        const NAMESPACE_FD: u16 = 28;
        let end = |end: &LinkEnd| {
            let mut attributes = attribute(NAME, format!("{}\0", end.device).as_bytes());
            attributes.extend(attribute(ADDRESS, &end.mac));
            attributes
        };
        let mut peer = interface_message(0, 0);
        peer.extend(end(far_end));
        peer.extend(attribute(NAMESPACE_FD, &namespace.as_raw_fd().to_ne_bytes()));
        let mut info = attribute(1, b"veth");
        info.extend(attribute(2, &attribute(1, &peer)));
        let mut body = interface_message(0, 0);
        body.extend(end(near_end));
        body.extend(attribute(LINK_INFO, &info));
        self.send_request(NEW_LINK, REQUEST | ACK | CREATE_EXCLUSIVE, &body).map(drop)
    }

    /// Names and indices of the devices, loopback left out, in order of index.
    pub fn devices(&mut self) -> io::Result<Vec<(i32, String)>> {
        let messages = self.send_request(GET_LINK, REQUEST | DUMP, &interface_message(0, 0))?;
        let mut devices: Vec<_> = messages
            .iter()
            .filter_map(|body| {
                let name = attributes(body.get(16..)?).find(|(kind, _)| *kind == 3)?.1;
                Some((i32::from_ne_bytes(body.get(4..8)?.try_into().ok()?), text(name)))
            })
            .filter(|(_, name)| name != "lo")
            .collect();
        devices.sort();
        Ok(devices)
    }

    /// Counters of the disciplines and classes of a device, as the kernel lists them.
    pub fn counters(&mut self, device: i32) -> io::Result<Vec<QdiscCounters>> {
        let mut about = vec![0; 20];
        about[4..8].copy_from_slice(&device.to_ne_bytes());
        let mut counters_found = Vec::new();
        for (what, request) in [("qdisc", GET_QDISC), ("class", GET_CLASS)] {
            let messages = self.send_request(request, REQUEST | DUMP, &about)?;
            counters_found
                .extend(messages.iter().filter_map(|body| counters_in(what, device, body)));
        }
        Ok(counters_found)
    }

    /// Labelled packets that the kernel refused at each device: its index and their numbers. Without
    /// the MPLS module there are none.
    pub fn labelled(&mut self) -> io::Result<Vec<(i32, MplsErrors)>> {
        const PROTOCOLS: u32 = 1 << 4;
        let mut about = vec![0; 8];
        about.extend(PROTOCOLS.to_ne_bytes());
        let messages = self.send_request(GET_STATISTICS, REQUEST | DUMP, &about)?;
        Ok(messages.iter().filter_map(|body| labelled_in(body)).collect())
    }

    /// Sends a request and reads the answer: the bodies of its messages.
    fn send_request(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let length = u32::try_from(16 + body.len()).map_err(io::Error::other)?;
        let mut request = length.to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend(flags.to_ne_bytes());
        request.extend([0; 8]);
        request.extend(body);
        self.send_message(&request)
    }

    /// Sends a request with its header and reads the answer: the bodies of its messages.
    pub fn send_message(&mut self, request: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.write_all(request)?;
        let mut bodies = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = self.0.read(&mut buffer)?;
            let mut rest = &buffer[..count];
            while rest.len() >= 16 {
                let size = u32::from_ne_bytes(rest[..4].try_into().expect("4 bytes")) as usize;
                let kind = u16::from_ne_bytes([rest[4], rest[5]]);
                let Some(body) = rest.get(16..size) else {
                    return Err(io::Error::other("a message of the kernel is cut off"));
                };
                match kind {
                    DONE => return Ok(bodies),
                    ERROR => {
                        let code =
                            body.first_chunk::<4>().map_or(0, |&code| i32::from_ne_bytes(code));
                        return if code == 0 {
                            Ok(bodies)
                        } else {
                            Err(io::Error::from_raw_os_error(-code))
                        };
                    }
                    _ => bodies.push(body.to_vec()),
                }
                rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
            }
        }
    }
}

/// `struct ifinfomsg`: a device and the flags to set.
fn interface_message(index: i32, flags: u32) -> Vec<u8> {
    let mut message = vec![0; 4];
    message.extend(index.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message
}

/// `struct rtattr` with its value, filled up to a multiple of four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).expect("values are below 64 kB");
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes in some bytes: kind and value of each.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let header = rest.first_chunk::<4>()?;
        let size = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & 0x3FFF;
        let value = rest.get(4..size)?;
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |part| u32::from_ne_bytes(part.try_into().expect("4 bytes")))
}

/// Counters in a `struct tcmsg` with its attributes, if it is about this device.
fn counters_in(what: &'static str, device: i32, body: &[u8]) -> Option<QdiscCounters> {
    const KIND: u16 = 1;
    const STATISTICS: u16 = 7;
    const BASIC: u16 = 1;
    const QUEUE: u16 = 3;
    if i32::from_ne_bytes(body.get(4..8)?.try_into().ok()?) != device {
        return None;
    }
    let (mut kind, mut basic, mut queue) = (String::new(), &[][..], &[][..]);
    for (name, value) in attributes(body.get(20..)?) {
        match name {
            KIND => kind = text(value),
            STATISTICS => {
                for (name, value) in attributes(value) {
                    match name {
                        BASIC => basic = value,
                        QUEUE => queue = value,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some(QdiscCounters {
        kind_name: what,
        kind,
        handle: number(body, 8),
        parent: number(body, 12),
        bytes: u64::from(number(basic, 4)) << 32 | u64::from(number(basic, 0)),
        packets: u64::from(number(basic, 8)),
        queued: number(queue, 0),
        backlog: number(queue, 4),
        drops: number(queue, 8),
        overlimits: number(queue, 16),
    })
}

/// Refusals in a `struct if_stats_msg` with its attributes: `struct mpls_link_stats` has packets, bytes,
/// errors and drops, each in and out, and `rx_noroute`. `mpls_forward` counts a TTL that ran out as an
/// error in, and a packet that the output device cannot hold as an error out.
fn labelled_in(body: &[u8]) -> Option<(i32, MplsErrors)> {
    const BY_PROTOCOL: u16 = 5;
    const MPLS: u16 = 28;
    const LINK: u16 = 1;
    let within = |bytes, kind| attributes(bytes).find(|each| each.0 == kind).map(|each| each.1);
    let device = i32::from_ne_bytes(body.get(4..8)?.try_into().ok()?);
    let counts = within(within(within(body.get(12..)?, BY_PROTOCOL)?, MPLS)?, LINK)?;
    let at = |word: usize| {
        u64::from(number(counts, 8 * word + 4)) << 32 | u64::from(number(counts, 8 * word))
    };
    Some((device, MplsErrors { expired: at(4), unknown: at(8), too_big: at(5) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rtnetlink(7): length and type, two bytes each; the next begins at a multiple of four.
    #[test]
    fn attributes_are_read_as_they_are_written() {
        let mut bytes = attribute(3, b"l0a\0\0");
        assert_eq!(bytes, [9, 0, 3, 0, b'l', b'0', b'a', 0, 0, 0, 0, 0]);
        bytes.extend(attribute(1, &[2, 0, 0, 0, 0, 1]));
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(3, &b"l0a\0\0"[..]), (1, &[2, 0, 0, 0, 0, 1][..])]);
    }

    #[test]
    fn counters_of_another_device_are_left_out() {
        let mut body = vec![0; 20];
        body[4] = 5;
        assert!(counters_in("qdisc", 4, &body).is_none());
    }

    /// `gnet_stats_basic` is bytes (u64) and packets (u32); `gnet_stats_queue` is qlen, backlog,
    /// drops, requeues, overlimits (u32 each).
    #[test]
    fn counters_are_found_in_their_places() {
        let mut body = vec![0; 20];
        body[4] = 5;
        body[8..12].copy_from_slice(&0x0001_0000_u32.to_ne_bytes());
        body.extend(attribute(1, b"htb\0"));
        let basic: Vec<u8> = [7_u32, 1, 3, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let queue: Vec<u8> =
            [4_u32, 400, 2, 0, 9].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut statistics = attribute(1, &basic);
        statistics.extend(attribute(3, &queue));
        body.extend(attribute(7, &statistics));
        let found = counters_in("qdisc", 5, &body).expect("it is about device 5");
        assert_eq!((found.kind.as_str(), found.handle), ("htb", 0x0001_0000));
        assert_eq!((found.bytes, found.packets), ((1 << 32) + 7, 3));
        assert_eq!((found.queued, found.backlog, found.drops, found.overlimits), (4, 400, 2, 9));
    }

    /// `struct mpls_link_stats`: rx and tx of packets, bytes, errors and drops, then rx_noroute.
    #[test]
    fn refused_labels_are_found_in_their_places() {
        let counts: Vec<u8> = (10..19_u64).flat_map(u64::to_ne_bytes).collect();
        let mut body = vec![0; 12];
        body[4] = 7;
        body.extend(attribute(5, &attribute(28, &attribute(1, &counts))));
        let refused = MplsErrors { expired: 14, unknown: 18, too_big: 15 };
        assert_eq!(labelled_in(&body), Some((7, refused)));
        assert_eq!(labelled_in(&body[..12]), None);
    }
}
