//! From the events of a packet trace to a capture.
//!
//! A link has two ends. At the near end a packet is seen when its first bit is sent, or when the
//! port drops it; at the far end when its last bit arrives.

use crate::block::{Direction, Interface, PcapngWriter};
use crate::header::{Frame, TcpHeader, Transport};
pub use crate::trace::{
    CapturedFlow, CapturedLink, Content, PacketEvent, PacketTrace, Point, Row, TcpConnection,
};
use std::fmt::Write as _;
use std::io::{self, Write};

/// TCP and UDP port of every sink: "discard" (RFC 863).
const DISCARD_PORT: u16 = 9;
/// Ports of the sources count from here, by flow, ...
const FIRST_PORT: u16 = 1024;
/// ... to the last one before those that operating systems give away (RFC 6335 section 6).
const LAST_PORT: u32 = 49_152 - 1024;
/// Largest shift of the window (RFC 7323 section 2.3).
const MAX_WINDOW_SHIFT: u32 = 14;

/// Router alert: every router looks at the packet (RFC 2113 section 2.1).
const ALERT: [u8; 4] = [148, 4, 0, 0];

/// A packet seen at a point.
#[derive(Clone, Copy, Debug)]
struct SeenPacket {
    at_ns: u64,
    row: usize,
    point: u32,
    /// Cause, if it was lost on the link behind.
    lost: Option<u32>,
}

/// A packet that has left a queue and not arrived yet.
#[derive(Clone, Copy, Debug)]
struct PacketInFlight {
    link: u32,
    /// Where it was seen, if it was.
    seen: Option<usize>,
}

impl PacketTrace {
    /// Writes the packets seen at `points`; returns how many they were.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write<W: Write>(
        &self,
        out: W,
        application: &str,
        comment: &str,
        points: &[Point],
        snaplen: u32,
    ) -> io::Result<u64> {
        let interfaces: Vec<Interface> =
            points.iter().map(|point| self.interface(*point)).collect();
        let comment = format!("{comment}{}", self.describe_window_scales());
        let mut writer = PcapngWriter::new(out, application, &comment, &interfaces, snaplen)?;
        let creation_times = self.creation_times();
        let seen = self.seen(points, creation_times.len());
        let (mut frame, mut note) = (Vec::with_capacity(256), String::new());
        for sight in &seen {
            let row = &self.rows[sight.row];
            let point = points[sight.point as usize];
            let link = &self.links[point.link as usize];
            let length = self.frame(row, link, &creation_times, &mut frame);
            self.describe_row(row, point, sight.lost, &mut note);
            let direction = if point.far { Direction::Inbound } else { Direction::Outbound };
            writer.packet(sight.point, sight.at_ns, &frame, length, direction, &note)?;
        }
        writer.finish()?;
        Ok(seen.len() as u64)
    }

    fn interface(&self, point: Point) -> Interface {
        let link = &self.links[point.link as usize];
        let (name, what) = if point.far {
            (format!("{} in", link.name), "as its last bit arrives")
        } else {
            (link.name.clone(), "as its first bit is sent, or as the port drops it")
        };
        Interface {
            name,
            description: format!("link {}: a packet {what}", link.name),
            rate_bit_s: link.rate_bit_s,
        }
    }

    /// When each packet was made, by its number.
    fn creation_times(&self) -> Vec<u64> {
        let packets = self.rows.iter().map(|row| row.packet as usize + 1).max().unwrap_or(0);
        let mut times = vec![0; packets];
        for row in self.rows.iter().filter(|row| row.event == PacketEvent::Made) {
            times[row.packet as usize] = row.at_ns;
        }
        times
    }

    /// The packets seen at the points, in order of time and, at one instant, of the trace.
    fn seen(&self, points: &[Point], packets: usize) -> Vec<SeenPacket> {
        let mut ends = vec![[None, None]; self.links.len()];
        for (number, point) in (0..).zip(points) {
            ends[point.link as usize][usize::from(point.far)] = Some(number);
        }
        let mut under_way: Vec<Option<PacketInFlight>> = vec![None; packets];
        let mut seen: Vec<SeenPacket> = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let Some(link) = row.link else { continue };
            let [near, far] = ends[link as usize];
            let under_way = &mut under_way[row.packet as usize];
            let (at_ns, point) = match row.event {
                PacketEvent::Queued => {
                    let Some(wait) = row.wait_ns else { continue };
                    let seen = near.map(|_| seen.len());
                    *under_way = Some(PacketInFlight { link, seen });
                    (row.at_ns + wait, near)
                }
                PacketEvent::Arrived => {
                    *under_way = None;
                    (row.at_ns, far)
                }
                PacketEvent::Dropped => match under_way.take().filter(|packet| packet.link == link)
                {
                    None => (row.at_ns, near),
                    Some(_) if self.reached_the_end(row) => (row.at_ns, far),
                    Some(packet) => {
                        if let Some(sight) = packet.seen {
                            seen[sight].lost = row.cause;
                        }
                        continue;
                    }
                },
                _ => continue,
            };
            if let Some(point) = point {
                seen.push(SeenPacket { at_ns, row: index, point, lost: None });
            }
        }
        seen.sort_by_key(|sight| sight.at_ns);
        seen
    }

    /// Whether a packet that was dropped behind a link fully arrived at its far end: a conditioner
    /// dropped it there.
    fn reached_the_end(&self, drop: &Row) -> bool {
        drop.cause.is_some_and(|cause| self.causes[cause as usize] == "policed")
    }

    /// The packet's comment.
    fn describe_row(&self, row: &Row, point: Point, lost: Option<u32>, note: &mut String) {
        note.clear();
        let flow = &self.flows[row.flow as usize];
        let what = match (row.reverse, flow.tcp) {
            (false, _) => "packet",
            (true, Some(_)) => "acknowledgement",
            (true, None) => "reply to packet",
        };
        let _ = write!(note, "{what} {} of flow {}, number {}", row.seq, flow.name, row.packet);
        let named = |names: &[String], index: Option<u32>| {
            index.and_then(|index| names.get(index as usize)).cloned()
        };
        if !point.far {
            if let Some(class) = named(&self.classes, row.class) {
                let _ = write!(note, "; class {class}");
            }
        }
        if let Some(wait) = row.wait_ns {
            let _ = write!(note, "; waited {}.{:03} us", wait / 1000, wait % 1000);
        }
        if let Some(cause) = named(&self.causes, row.cause) {
            let _ = write!(note, "; dropped: {cause}");
        } else if let Some(cause) = named(&self.causes, lost) {
            let _ = write!(note, "; lost on the link: {cause}");
        }
    }

    /// Writes a row's packet as a frame of a link; gives the frame's length.
    fn frame(
        &self,
        row: &Row,
        link: &CapturedLink,
        creation_times: &[u64],
        out: &mut Vec<u8>,
    ) -> u32 {
        let flow = &self.flows[row.flow as usize];
        let source = FIRST_PORT + (row.flow % LAST_PORT) as u16;
        let [from, to] = flow.ends.map(address);
        let order_ends = |ends: [[u8; 4]; 2]| if row.reverse { [ends[1], ends[0]] } else { ends };
        let ports = if row.reverse { [DISCARD_PORT, source] } else { [source, DISCARD_PORT] };
        let creation_times = creation_times[row.packet as usize];
        let headers = if row.reverse || row.syn { row.ip_bytes } else { flow.header_bytes };
        let (transport, payload) = match &flow.tcp {
            Some(tcp) => (
                Transport::Tcp(segment(row, tcp, headers, creation_times)),
                row.ip_bytes.saturating_sub(headers),
            ),
            None if flow.icmp => {
                let identifier = (row.flow % 0xffff) as u16 + 1;
                let echo = Transport::Echo(row.reverse, identifier, row.seq as u16);
                (echo, row.ip_bytes.saturating_sub(28))
            }
            None => (Transport::Udp, row.ip_bytes.saturating_sub(28)),
        };
        let mut labels = [0; 4];
        let mut depth = 0;
        for entry in row.stack.into_iter().flatten() {
            labels[depth] = entry;
            depth += 1;
        }
        let content = self.messages.get(&(row.flow, row.seq));
        let (transport, payload, ends) = match content {
            None => (transport, payload, [from, to]),
            Some(signalled_message) => {
                let options: &[u8] = if signalled_message.alert { &ALERT } else { &[] };
                let message = Transport::Message(
                    signalled_message.protocol,
                    &signalled_message.octets,
                    options,
                );
                (message, 0, signalled_message.ends.map(address))
            }
        };
        let frame = Frame {
            stations: [mac_address(link.from), mac_address(link.to)],
            labels: &labels[..depth],
            traffic_class: row.traffic_class,
            ttl: row.ttl,
            id: row.packet as u16,
            addresses: order_ends(ends),
            ports,
            transport,
            payload: payload as usize,
        };
        frame.write(out)
    }

    /// The window scales, which a reader cannot know without the set-up of the connections.
    fn describe_window_scales(&self) -> String {
        let mut text = String::new();
        for flow in &self.flows {
            if let Some(shift @ 1..) = flow.tcp.as_ref().map(TcpConnection::shift) {
                let _ = write!(text, "\nflow {}: window scale {shift}", flow.name);
            }
        }
        text
    }
}

impl TcpConnection {
    /// Minimum shift by which the window fits its field (RFC 7323 section 2.3).
    fn shift(&self) -> u32 {
        (0..MAX_WINDOW_SHIFT)
            .find(|shift| self.window_bytes >> shift <= 65_535)
            .unwrap_or(MAX_WINDOW_SHIFT)
    }
}

/// The TCP header: the first byte of a stream is number 1, as after a SYN numbered 0.
fn segment(row: &Row, tcp: &TcpConnection, headers: u32, created_at: u64) -> TcpHeader {
    let mss = u64::from(tcp.mss_bytes);
    let byte = |segment: u32| (1 + u64::from(segment) * mss) as u32;
    let window = (tcp.window_bytes >> tcp.shift()).min(65_535) as u16;
    let room = headers.saturating_sub(20) as usize;
    let micros = |ns: u64| (ns / 1000) as u32;
    let stamps = (tcp.stamps && room >= 32).then(|| (micros(created_at), micros(row.echo_ns)));
    let acknowledges = row.reverse || !row.syn;
    let numbers = if row.syn {
        (0, u32::from(acknowledges))
    } else if row.reverse {
        (1, (1 + row.ack_bytes) as u32)
    } else {
        (byte(row.seq), 1)
    };
    let edges = |block: [u32; 2]| if block == [0, 0] { block } else { block.map(byte) };
    TcpHeader {
        seq: numbers.0,
        ack: numbers.1,
        ece: row.ece,
        cwr: row.cwr,
        syn: row.syn,
        acknowledges,
        window,
        stamps,
        sack: row.sack.map(edges),
        room,
    }
}

/// 10.x.y.z of a node, the last octet neither 0 nor 255.
fn address(node: u32) -> [u8; 4] {
    if node == u32::MAX {
        return [224, 0, 0, 2];
    }
    let (rest, last) = (node / 254, node % 254 + 1);
    [10, (rest >> 8) as u8, rest as u8, last as u8]
}

/// A locally administered Ethernet address of a node (IEEE 802 section 8).
fn mac_address(node: u32) -> [u8; 6] {
    let [a, b, c, d] = (node + 1).to_be_bytes();
    [2, 0, a, b, c, d]
}
