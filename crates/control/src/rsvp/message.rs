//! Messages of RSVP-TE and their octets.
//!
//! Source: RFC 2205 appendix A (common header, SESSION, RSVP_HOP, TIME_VALUES, ERROR_SPEC, STYLE,
//! FLOWSPEC, SENDER_TSPEC), RFC 2210 section 3 (token bucket), RFC 3209 section 4 (LABEL,
//! LABEL_REQUEST, ERO, SESSION_ATTRIBUTE, LSP_TUNNEL_IPv4) and 5 (HELLO), RFC 2961 sections 4 and 5
//! (MESSAGE_ID, its acknowledgement, summary refresh).
//! Differs: the token bucket's depth and the policed sizes are those of the mean rate and IPv4.
//! Absent: RECORD_ROUTE, INTEGRITY, POLICY_DATA, Bundle.

use crate::{address, Line};
use std::sync::Arc;

/// Kinds of message; the numbers are those of the common header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Path = 1,
    Resv = 2,
    PathErr = 3,
    ResvErr = 4,
    PathTear = 5,
    ResvTear = 6,
    Ack = 13,
    Srefresh = 15,
    Hello = 20,
}

/// Names of kinds, by number.
pub const KINDS: [&str; 21] = [
    "",
    "path",
    "resv",
    "path-err",
    "resv-err",
    "path-tear",
    "resv-tear",
    "resv-conf",
    "",
    "",
    "",
    "",
    "bundle",
    "ack",
    "",
    "srefresh",
    "",
    "",
    "",
    "",
    "hello",
];

/// Label that says: send it unlabelled (RFC 3032 section 2.1).
pub const IMPLICIT_NULL: u32 = 3;

/// An error: code and value of RFC 2205 appendix B and RFC 3209 section 7.3.
pub type Error = (u8, u16);
/// Admission control failure, requested bandwidth unavailable.
pub const NO_BANDWIDTH: Error = (1, 2);
/// Policy control failure, flow was preempted.
pub const PREEMPTED: Error = (2, 5);
/// Routing problem, no route available toward destination.
pub const NO_ROUTE: Error = (24, 5);
/// Notify, tunnel locally repaired.
pub const REPAIRED: Error = (25, 3);
/// Reroute, request for soft preemption (RFC 5711 section 3, RFC 5712 section 9).
pub const SOFT_PREEMPTED: Error = (34, 1);

/// What identifies the state of a path at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Session: tunnel ID.
    pub session: u32,
    /// LSP ID.
    pub lsp: u16,
}

/// What a Path asks for, the same along the whole path.
#[derive(Clone, Debug)]
pub struct Request {
    /// Links from head to tail.
    pub route: Arc<[u32]>,
    /// First node.
    pub head: u32,
    /// Last node.
    pub tail: u32,
    /// Bandwidth [bit/s].
    pub bandwidth: u64,
    /// Setup priority.
    pub setup: u8,
    /// Holding priority.
    pub hold: u8,
    /// Name of the session.
    pub name: Arc<str>,
}

/// A message between two neighbours.
#[derive(Clone, Debug)]
pub struct Message {
    /// Kind.
    pub kind: Kind,
    /// State it is about.
    pub key: Key,
    /// The request; none in messages between neighbours alone (Ack, Srefresh, Hello).
    pub request: Option<Arc<Request>>,
    /// Place of the node it goes to in the route: links before it.
    pub hop: usize,
    /// Label of a Resv.
    pub label: u32,
    /// Error, and the node and link it is about.
    pub error: Option<(Error, u32, u32)>,
    /// Message ID, acknowledgement wanted.
    pub id: Option<u32>,
    /// IDs acknowledged.
    pub acks: Vec<u32>,
    /// IDs that the receiver does not know (RFC 2961 section 5.4).
    pub nacks: Vec<u32>,
    /// IDs that a summary refreshes.
    pub list: Vec<u32>,
    /// Hello: whether it answers, and the instances of source and destination.
    pub hello: Option<(bool, u32, u32)>,
    /// A PathErr takes the state of the path away as it goes (RFC 3473 section 4.4).
    pub removes: bool,
}

impl Message {
    /// A message about a path.
    #[must_use]
    pub fn of(kind: Kind, key: Key, request: Arc<Request>, hop: usize) -> Self {
        Self { request: Some(request), key, hop, ..Self::between(kind) }
    }

    /// A message between neighbours.
    #[must_use]
    pub fn between(kind: Kind) -> Self {
        Self {
            kind,
            key: Key { session: 0, lsp: 0 },
            request: None,
            hop: 0,
            label: IMPLICIT_NULL,
            error: None,
            id: None,
            acks: Vec::new(),
            nacks: Vec::new(),
            list: Vec::new(),
            hello: None,
            removes: false,
        }
    }

    /// Whether it bears the router alert option: it is addressed to the tail (RFC 2205 section
    /// 3.1.3).
    #[must_use]
    pub fn has_alert(&self) -> bool {
        matches!(self.kind, Kind::Path | Kind::PathTear)
    }

    /// Its octets behind the IP header, as sent from `from` to `to` on a link.
    #[must_use]
    pub fn octets(&self, lines: &[Line], from: u32, refresh_ns: u64) -> Vec<u8> {
        let mut out = Octets(vec![0x10, self.kind as u8, 0, 0, 255, 0, 0, 0]);
        self.ids(&mut out);
        if let Some(request) = &self.request {
            self.body(request, &mut out, lines, from, refresh_ns);
        }
        if let Some((answer, source, destination)) = self.hello {
            out.object(22, 1 + u8::from(answer), &words(&[source, destination]));
        }
        out.close()
    }

    fn ids(&self, out: &mut Octets) {
        for id in &self.acks {
            out.object(24, 1, &words(&[0, *id]));
        }
        for id in &self.nacks {
            out.object(24, 2, &words(&[0, *id]));
        }
        if let Some(id) = self.id {
            out.object(23, 1, &words(&[1 << 24, id]));
        }
        if !self.list.is_empty() {
            let mut all = vec![0];
            all.extend_from_slice(&self.list);
            out.object(25, 1, &words(&all));
        }
    }

    fn body(&self, its: &Request, out: &mut Octets, lines: &[Line], from: u32, refresh_ns: u64) {
        let (head, tail) = (address(its.head), address(its.tail));
        let mut session = tail.to_vec();
        session.extend_from_slice(&[0, 0]);
        session.extend_from_slice(&(self.key.session as u16).to_be_bytes());
        session.extend_from_slice(&head);
        out.object(1, 7, &session);
        let mut template = head.to_vec();
        template.extend_from_slice(&[0, 0]);
        template.extend_from_slice(&self.key.lsp.to_be_bytes());
        let mut hop = address(from).to_vec();
        hop.extend_from_slice(&[0; 4]);
        let bears_hop = !matches!(self.kind, Kind::PathErr);
        if bears_hop {
            out.object(3, 1, &hop);
        }
        if let Some((error, node, _)) = self.error {
            let mut spec = address(node).to_vec();
            spec.extend_from_slice(&[if self.removes { 4 } else { 0 }, error.0]);
            spec.extend_from_slice(&error.1.to_be_bytes());
            out.object(6, 1, &spec);
        }
        if matches!(self.kind, Kind::Path | Kind::Resv) {
            out.object(5, 1, &words(&[(refresh_ns / 1_000_000) as u32]));
        }
        match self.kind {
            Kind::Path => {
                let hops = its.route[self.hop.saturating_sub(1)..].iter();
                let ero = |link: &u32| {
                    let mut item = vec![1, 8];
                    item.extend_from_slice(&address(lines[*link as usize].to));
                    item.extend_from_slice(&[32, 0]);
                    item
                };
                out.object(20, 1, &hops.flat_map(ero).collect::<Vec<u8>>());
                out.object(19, 1, &words(&[0x0800]));
                out.object(207, 7, &attribute(its));
                out.object(11, 7, &template);
                out.object(12, 2, &bucket(1, its.bandwidth));
            }
            Kind::Resv | Kind::ResvErr => {
                out.object(8, 1, &words(&[0x12]));
                out.object(9, 2, &bucket(5, its.bandwidth));
                out.object(10, 7, &template);
                if self.kind == Kind::Resv {
                    out.object(16, 1, &words(&[self.label]));
                }
            }
            Kind::ResvTear => {
                out.object(8, 1, &words(&[0x12]));
                out.object(10, 7, &template);
            }
            _ => {
                out.object(11, 7, &template);
                out.object(12, 2, &bucket(1, its.bandwidth));
            }
        }
    }
}

/// SESSION_ATTRIBUTE without affinities: priorities, "SE style desired", name padded to words.
fn attribute(its: &Request) -> Vec<u8> {
    let name = &its.name.as_bytes()[..its.name.len().min(64)];
    let mut body = vec![its.setup, its.hold, 4, name.len() as u8];
    body.extend_from_slice(name);
    body.resize(body.len().next_multiple_of(4), 0);
    body
}

/// A token bucket of the mean rate in bytes per second, for the service with this number.
fn bucket(service: u8, bandwidth: u64) -> Vec<u8> {
    let rate = (bandwidth as f32 / 8.0).to_bits();
    let head = u32::from(service) << 24 | 6;
    words(&[7, head, 127 << 24 | 5, rate, rate, rate, 20, 1500])
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// A message being written.
struct Octets(Vec<u8>);

impl Octets {
    fn object(&mut self, class: u8, kind: u8, body: &[u8]) {
        self.0.extend_from_slice(&(body.len() as u16 + 4).to_be_bytes());
        self.0.extend_from_slice(&[class, kind]);
        self.0.extend_from_slice(body);
    }

    /// Fills in length and checksum (RFC 1071).
    fn close(mut self) -> Vec<u8> {
        let length = (self.0.len() as u16).to_be_bytes();
        self.0[6..8].copy_from_slice(&length);
        let pair = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair[1]);
        let mut sum: u32 = self.0.chunks_exact(2).map(pair).sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let sum = (!(sum as u16)).to_be_bytes();
        self.0[2..4].copy_from_slice(&sum);
        self.0
    }
}
