//! Segments of TCP flows by DSCP, ECN field and TTL, as they arrive at the ends of each flow.

use crate::archive::Archive;
use crate::namespaces::NodeNamespaces;
use crate::orders::{GuestOrders, SocketPath};
use crate::sys::packet_ring::PacketRing;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// Packets that came to one end of a flow: its number, whether these are acknowledgements, TOS byte and TTL.
type ArrivedMark = (u32, bool, u8, u8);

/// Rings of the nodes at which TCP flows begin or end, and what has come so far.
#[derive(Debug)]
pub struct MarkCounter {
    rings: Vec<(usize, PacketRing)>,
    flows: Vec<SocketPath>,
    counts: BTreeMap<ArrivedMark, u64>,
    snapshots: Vec<String>,
}

impl MarkCounter {
    /// Rings for the flows of the orders.
    ///
    /// # Errors
    /// The node whose ring the kernel refuses.
    pub fn open(orders: &GuestOrders, spaces: &NodeNamespaces) -> Result<Self, String> {
        let transfers = orders.transfers.iter().map(|flow| &flow.tcp);
        let flows: Vec<_> =
            orders.tcp.iter().chain(transfers).map(|flow| flow.path.clone()).collect();
        let mut nodes: Vec<usize> =
            flows.iter().flat_map(|path| [path.source, path.destination]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut rings = Vec::with_capacity(nodes.len());
        for node in nodes {
            let ring = spaces.run_in_namespace(node, PacketRing::open).and_then(|result| result);
            let ring = ring.map_err(|why| {
                format!("node {}: ring of packets: {why}", orders.nodes[node].name)
            })?;
            rings.push((node, ring));
        }
        Ok(Self { rings, flows, counts: BTreeMap::new(), snapshots: Vec::new() })
    }

    /// Whether there are no flows to count.
    pub fn is_idle(&self) -> bool {
        self.flows.is_empty()
    }

    /// Counts what has come.
    pub fn drain(&mut self) {
        let Self { rings, flows, counts, .. } = self;
        for (node, ring) in rings {
            ring.drain(|header| {
                if let Some(mark) = read_mark(header, *node, flows) {
                    *counts.entry(mark).or_default() += 1;
                }
            });
        }
    }

    /// Notes the counts at a time since time zero \[ns\].
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn note(&mut self, at: u64) -> Result<(), String> {
        self.drain();
        let mut missed = 0;
        for (_, ring) in &mut self.rings {
            missed += ring.count_missed().map_err(|why| format!("ring of packets: {why}"))?;
        }
        let mut line = format!("{{\"missed\":{missed},\"segments\":[");
        for (number, ((flow, is_reverse, tos, ttl), count)) in self.counts.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(line, "{comma}[{flow},{},{tos},{ttl},{count}]", u8::from(*is_reverse))
                .expect("a string takes all");
        }
        write!(line, "],\"time_ns\":{at}}}").expect("a string takes all");
        self.snapshots.push(line);
        Ok(())
    }

    /// Stores what was noted.
    pub fn finish(self, archive: &mut Archive) {
        archive.put("tcp-marks.json", format!("[{}]\n", self.snapshots.join(",\n")));
    }
}

/// Kind of a segment at a node: data of a flow that ends there, or an acknowledgement without
/// data of one that begins there. A SYN is neither, nor is what is under way to another node.
fn read_mark(header: &[u8], node: usize, flows: &[SocketPath]) -> Option<ArrivedMark> {
    let ip_bytes = usize::from(header.first()? & 15) * 4;
    let total = usize::from(u16::from_be_bytes([*header.get(2)?, *header.get(3)?]));
    let tcp = header.get(ip_bytes..)?;
    let port = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
    let address = |at: usize| {
        let octets: [u8; 4] = header.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(octets))
    };
    let has_data = total > ip_bytes + usize::from(tcp.get(12)? >> 4) * 4;
    let is_syn = tcp.get(13)? & 2 != 0;
    let (from, to) = ((address(12)?, port(0)?), (address(16)?, port(2)?));
    let flow = flows.iter().find(|flow| {
        let listener = (flow.destination_address, flow.port);
        if has_data {
            flow.destination == node && listener == to
        } else {
            flow.source == node && listener == from
        }
    })?;
    (!is_syn).then_some((flow.id, !has_data, header[1], header[8]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> SocketPath {
        SocketPath {
            id: 7,
            source: 0,
            destination: 2,
            source_address: Ipv4Addr::new(10, 0, 0, 1),
            destination_address: Ipv4Addr::new(10, 0, 1, 2),
            port: 9001,
            tos: 0,
            ttl: 64,
        }
    }

    /// An IP header (RFC 791) with `data` bytes behind that of TCP (RFC 9293).
    fn segment(is_reverse: bool, flags: u8, data: u8) -> Vec<u8> {
        let mut ends = [([10, 0, 0, 1], 40_000_u16), ([10, 0, 1, 2], 9001)];
        if is_reverse {
            ends.reverse();
        }
        let [(from, from_port), (to, to_port)] = ends;
        let mut bytes = vec![0x45, 0x2a, 0, 40 + data, 0, 0, 0, 0, 61, 6, 0, 0];
        bytes.extend([from, to].concat());
        bytes.extend([from_port.to_be_bytes(), to_port.to_be_bytes()].concat());
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0]);
        bytes
    }

    #[test]
    fn rfc791_rfc9293_data_counts_where_it_ends_and_an_acknowledgement_where_it_began() {
        let flows = [path()];
        assert_eq!(read_mark(&segment(false, 0x10, 9), 2, &flows), Some((7, false, 0x2a, 61)));
        assert_eq!(read_mark(&segment(true, 0x10, 0), 0, &flows), Some((7, true, 0x2a, 61)));
        // On its way through another node; the other end; SYN and its answer; a port of nobody.
        assert_eq!(read_mark(&segment(false, 0x10, 9), 1, &flows), None);
        assert_eq!(read_mark(&segment(true, 0x10, 9), 0, &flows), None);
        assert_eq!(read_mark(&segment(true, 0x12, 0), 0, &flows), None);
        assert_eq!(read_mark(&segment(false, 0x10, 9), 2, &[]), None);
        assert_eq!(read_mark(&segment(false, 0x10, 9)[..30], 2, &flows), None);
    }
}
