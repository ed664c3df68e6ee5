//! Messages of RSVP-TE: their keys and contents; `encoding.rs` has their octets.

use super::admission::Reservation;
use std::ops::RangeInclusive;
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

/// Label for: send it unlabelled (RFC 3032 section 2.1).
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
/// `DiffServ`-aware TE error (RFC 4124 section 6.5): the class type and the setup priority do not
/// form a configured TE-class.
pub const NO_TE_CLASS_OF_SETUP: Error = (32, 4);
/// The same of the class type and the holding priority.
pub const NO_TE_CLASS_OF_HOLD: Error = (32, 5);
/// The same of both priorities.
pub const NO_TE_CLASS: Error = (32, 6);
/// Reroute, request for soft preemption (RFC 5711 section 3, RFC 5712 section 9).
pub const SOFT_PREEMPTED: Error = (34, 1);

/// Key of the state of a path at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathKey {
    /// Session: tunnel ID.
    pub session: u32,
    /// LSP ID.
    pub lsp: u16,
    /// Node whose address is in the SENDER_TEMPLATE: the head, or the first node of a detour (RFC 4090
    /// section 6.1.1, sender template-specific).
    pub sender: u32,
}

impl PathKey {
    /// The first that there can be of a session.
    #[must_use]
    pub fn first(session: u32) -> Self {
        Self { session, lsp: 0, sender: 0 }
    }

    /// The last that there can be of a session.
    #[must_use]
    pub fn last(session: u32) -> Self {
        Self { session, lsp: u16::MAX, sender: u32::MAX }
    }

    /// Keys of a path's states at a node, for every sender.
    pub fn of_senders(self, node: u32) -> RangeInclusive<(u32, Self)> {
        (node, Self { sender: 0, ..self })..=(node, Self { sender: u32::MAX, ..self })
    }
}

/// Local protection that a Path requests (RFC 4090 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesiredProtection {
    /// By detours; else by bypass tunnels.
    pub one_to_one: bool,
    /// Around the next node, where that is possible.
    pub node: bool,
    /// With the bandwidth of the path.
    pub bandwidth: bool,
}

/// The DETOUR object of a path (RFC 4090 section 4.2).
#[derive(Clone, Debug)]
pub struct Detour {
    /// Nodes that repair by it, each with the node that it avoids there.
    pub pairs: Arc<[(u32, u32)]>,
    /// Links of the path that is protected, behind the node where the two merge.
    pub beyond: Arc<[u32]>,
}

/// A node in the RECORD_ROUTE of a Resv: its protection and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedHop {
    /// Node.
    pub node: u32,
    /// Flags of RFC 4090 section 4.4: [`AVAILABLE`], [`IN_USE`], ...
    pub flags: u8,
    /// Label that it advertised to the node before.
    pub label: u32,
}

/// Local protection is available.
pub const AVAILABLE: u8 = 1;
/// Local protection is in use.
pub const IN_USE: u8 = 2;
/// The backup has the bandwidth of the path.
pub const BANDWIDTH: u8 = 4;
/// The backup avoids the next node.
pub const NODE: u8 = 8;

/// The backup of a repaired path, for its messages.
#[derive(Clone, Debug)]
pub struct BypassTunnel {
    /// Node that has repaired the path (PLR).
    pub plr: u32,
    /// Node where it joins the path again (MP).
    pub mp: u32,
    /// Its place on the route.
    pub hop: usize,
    /// Links from the one node back to the other.
    pub back: Arc<[u32]>,
}

impl BypassTunnel {
    /// The sender in the Path messages that pass it (RFC 4090 section 6.4.3).
    #[must_use]
    pub fn sender(&self, request: &PathRequest) -> u32 {
        other_sender(self.plr, request.head)
    }
}

/// Bit of a sender with another address of the node.
pub const ALIAS_BIT: u32 = 1 << 31;

/// The sender of messages of a node for a path whose head is `head`: its address; the head uses a second
/// one, since the senders must differ (RFC 4090 section 6.1.1).
#[must_use]
pub fn other_sender(node: u32, head: u32) -> u32 {
    if node == head {
        node | ALIAS_BIT
    } else {
        node
    }
}

/// Content of a Path that is the same along the path.
#[derive(Clone, Debug)]
pub struct PathRequest {
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
    /// Class type.
    pub class_type: u8,
    /// Name of the session.
    pub name: Arc<str>,
    /// Local protection.
    pub desired: Option<DesiredProtection>,
    /// Of a detour: the elements that it avoids.
    pub detour: Option<Detour>,
}

impl PathRequest {
    /// Its request to a link.
    #[must_use]
    pub fn requested_reservation(&self) -> Reservation {
        let Self { class_type, setup, bandwidth, .. } = *self;
        Reservation { class_type, priority: setup, bandwidth }
    }

    /// Its holding on a link that has admitted it.
    #[must_use]
    pub fn held_reservation(&self) -> Reservation {
        Reservation { priority: self.hold, ..self.requested_reservation() }
    }

    /// The local protection that nodes give it: a detour has none itself.
    #[must_use]
    pub fn protection(&self) -> Option<DesiredProtection> {
        self.desired.filter(|_| self.detour.is_none())
    }
}

/// A message between two neighbours.
#[derive(Clone, Debug)]
pub struct RsvpMessage {
    /// Kind.
    pub kind: Kind,
    /// State it is about.
    pub key: PathKey,
    /// The request; none in messages between neighbours alone (Ack, Srefresh, Hello).
    pub request: Option<Arc<PathRequest>>,
    /// Place in the route of the node it is sent to: links before it.
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
    /// A PathErr removes the state of the path at each node (RFC 3473 section 4.4).
    pub removes: bool,
    /// Of a Resv: the nodes that it has passed, the last one first.
    pub record: Vec<RecordedHop>,
    /// It passes, or answers one that has passed, the backup of a failure.
    pub tunnel: Option<Arc<BypassTunnel>>,
    /// Remaining links on its way back to the PLR.
    pub via: Vec<u32>,
}

impl RsvpMessage {
    /// A message about a path.
    #[must_use]
    pub fn for_path(kind: Kind, key: PathKey, request: Arc<PathRequest>, hop: usize) -> Self {
        Self { request: Some(request), key, hop, ..Self::between(kind) }
    }

    /// A message between neighbours.
    #[must_use]
    pub fn between(kind: Kind) -> Self {
        Self {
            kind,
            key: PathKey::first(0),
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
            record: Vec::new(),
            tunnel: None,
            via: Vec::new(),
        }
    }

    /// Whether it bears the router alert option: it is addressed to the tail (RFC 2205 section
    /// 3.1.3).
    #[must_use]
    pub fn has_alert(&self) -> bool {
        matches!(self.kind, Kind::Path | Kind::PathTear)
    }
}
