//! The packet trace of a run, as far as a capture needs it: links, flows, messages, events.

use std::collections::BTreeMap;

/// A one-way link.
#[derive(Clone, Debug)]
pub struct CapturedLink {
    /// Its name.
    pub name: String,
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// Rate [bit/s].
    pub rate_bit_s: u64,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct CapturedFlow {
    /// Its name.
    pub name: String,
    /// Nodes of source and sink.
    pub ends: [u32; 2],
    /// Bytes of headers in a data packet's size.
    pub header_bytes: u32,
    /// Of TCP.
    pub tcp: Option<TcpConnection>,
    /// Whether its packets are echo requests and replies of ICMP.
    pub icmp: bool,
}

/// Values for the headers of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub struct TcpConnection {
    /// Payload of a full segment [B].
    pub mss_bytes: u32,
    /// Size of an acknowledgement [B].
    pub ack_bytes: u32,
    /// Window that the receiver advertises [B].
    pub window_bytes: u64,
    /// Whether segments bear time stamps.
    pub stamps: bool,
}

/// A place to capture at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Index of the link.
    pub link: u32,
    /// The end where packets arrive; else the one they leave from.
    pub far: bool,
}

/// An event, as far as a capture needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// The packet came into being.
    Made,
    /// It joined a queue.
    Queued,
    /// It arrived at the far end of a link.
    Arrived,
    /// It was dropped.
    Dropped,
    /// Anything else.
    Other,
}

/// One event of a packet, and the packet at that time.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// When [ns].
    pub at_ns: u64,
    /// Kind of event.
    pub event: PacketEvent,
    /// Number of the packet.
    pub packet: u64,
    /// Index of the flow.
    pub flow: u32,
    /// Whether it is an acknowledgement.
    pub reverse: bool,
    /// Index of the link, where there is one.
    pub link: Option<u32>,
    /// Index of the class among the names of classes.
    pub class: Option<u32>,
    /// Index of the cause among the names of causes.
    pub cause: Option<u32>,
    /// From joining the queue to the first bit sent, if that came [ns].
    pub wait_ns: Option<u64>,
    /// IP header and all above [B].
    pub ip_bytes: u32,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// TTL.
    pub ttl: u8,
    /// Label stack from the top.
    pub stack: [Option<u32>; 4],
    /// Number of the segment or datagram; of the reply to an echo request that of the request.
    pub seq: u32,
    /// Next byte the receiver expects.
    pub ack_bytes: u64,
    /// ECN-Echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Opens the connection.
    pub syn: bool,
    /// When the segment it answers was sent [ns].
    pub echo_ns: u64,
    /// SACK blocks in segments.
    pub sack: [[u32; 2]; 3],
}

/// A message of routing or signalling as on the wire.
#[derive(Clone, Debug)]
pub struct Content {
    /// Nodes whose addresses the IP header bears; [`u32::MAX`] is all routers, 224.0.0.2.
    pub ends: [u32; 2],
    /// Protocol number of the IP header.
    pub protocol: u8,
    /// Whether it bears the router alert option (RFC 2113).
    pub alert: bool,
    /// Bytes behind the IP header.
    pub octets: Vec<u8>,
}

/// A trace and the names in it.
#[derive(Clone, Debug, Default)]
pub struct PacketTrace {
    /// Links by index.
    pub links: Vec<CapturedLink>,
    /// Flows by index.
    pub flows: Vec<CapturedFlow>,
    /// Classes by index.
    pub classes: Vec<String>,
    /// Causes of drops by index.
    pub causes: Vec<String>,
    /// Messages by flow and number.
    pub messages: BTreeMap<(u32, u32), Content>,
    /// Events in order of time.
    pub rows: Vec<Row>,
}
