//! Routing and signalling protocols without input or output: time and messages in, messages,
//! timers and changes of the forwarding tables out.
//!
//! A protocol is one state machine for all nodes, with separate state for each node. It reaches the
//! network through a [`NetworkPlane`], is woken at the time it returns, and receives each message that
//! arrives and each change of a link that a node notices.

pub mod ldp;
pub mod ospf;
pub mod rsvp;
pub mod timers;

use std::sync::Arc;
use trunkline_units::Time;

/// A one-way link in routing and signalling.
#[derive(Clone, Copy, Debug)]
pub struct SignalledLink {
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// Cost.
    pub metric: u64,
    /// Capacity [bit/s].
    pub rate_bit_s: u64,
    /// The link of the other direction; messages upstream take it.
    pub reverse: Option<u32>,
}

/// A message of any protocol.
#[derive(Clone, Debug)]
pub enum Message {
    /// LDP.
    Ldp(ldp::LdpMessage),
    /// OSPF.
    Ospf(ospf::OspfMessage),
    /// RSVP-TE.
    Rsvp(rsvp::RsvpMessage),
}

/// A message that leaves a node.
#[derive(Clone, Debug)]
pub struct OutgoingMessage {
    /// Its content, handed to the node at the far end of the link.
    pub message: Message,
    /// Content of the IP packet behind the IP header.
    pub octets: Vec<u8>,
    /// IP header with its options [B].
    pub header_bytes: u16,
    /// Protocol number of the IP header.
    pub protocol: u8,
    /// Nodes whose addresses the IP header bears: source and destination, or [`ALL_ROUTERS`].
    pub ends: [u32; 2],
    /// Its kind: index into the protocol's names.
    pub kind: u8,
}

/// A forwarding entry that signalling makes: at most one label off and two on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardingEntry {
    /// Link to send on; none: the packet is looked up again here.
    pub link: Option<u32>,
    /// Whether the top label is taken off.
    pub pop: bool,
    /// Label put on below the last one: that of a path in a tunnel.
    pub inner: Option<u32>,
    /// Label put on.
    pub push: Option<u32>,
    /// Whether the path counts as one hop in the TTL of its packets (RFC 3443).
    pub pipe: bool,
    /// `DiffServ` of the label put on, and of the one taken off: indices of the network.
    pub diffserv: [Option<u32>; 2],
    /// Path it belongs to.
    pub path: u32,
    /// No packet passes: packets are lost as `switching`.
    pub closed: bool,
}

/// An event of a label-switched path, for the table `signalling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignallingRow {
    /// Kind of event: index into [`rsvp::EVENTS`].
    pub event: u8,
    /// Session: index among those of the network, then the requests in the order of arrival.
    pub session: u32,
    /// Request process of the session.
    pub process: Option<u32>,
    /// LSP ID.
    pub lsp: u16,
    /// Node where it happened.
    pub node: u32,
    /// Link it concerns.
    pub link: Option<u32>,
    /// Bandwidth requested [bit/s].
    pub bandwidth: u64,
    /// Of `up`: time since the request [ns]; of an error: code * 65536 + value.
    pub value: Option<u64>,
}

/// How a node forwards the packets of a FEC by LDP, labelled or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelBinding {
    /// The node.
    pub node: u32,
    /// Node that the packets go to.
    pub fec: u32,
    /// The label that it has advertised to its neighbours.
    pub label: u32,
    /// Link and the label that the neighbour there has advertised: 3 is implicit null; none = no label.
    pub hop: Option<(u32, u32)>,
}

/// News of a link for the databases of traffic engineering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkNews {
    /// Whether it is up.
    Up(bool),
    /// Its unreserved bandwidth by priority [bit/s].
    Unreserved(Arc<[u64; 8]>),
}

/// A notice of one protocol to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolNotice {
    /// The routes of a node have changed.
    Routes {
        /// The node.
        node: u32,
    },
    /// The LDP session of a node with a neighbour has come up or ended.
    Session {
        /// The node.
        node: u32,
        /// The neighbour.
        peer: u32,
        /// Distinguishes the two.
        up: bool,
    },
    /// The unreserved bandwidth of a link has changed.
    Unreserved {
        /// The link.
        link: u32,
        /// By priority [bit/s].
        bandwidth: Arc<[u64; 8]>,
    },
    /// A node has learnt news of a link.
    Learnt {
        /// The node.
        node: u32,
        /// The link.
        link: u32,
        /// The change.
        news: LinkNews,
    },
}

/// An action of a router in routing, for the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutingEvent {
    /// It originated a router-LSA.
    Originated,
    /// It originated an LSA of traffic engineering.
    Offered,
    /// It got to know a newer LSA.
    Learnt,
    /// It computed its routes.
    Computed,
    /// It put routes into use that differ from those before.
    Rerouted,
    /// Its LDP session with a neighbour came up.
    SessionUp,
    /// Its LDP session with a neighbour ended.
    SessionDown,
    /// It put labels of LDP into use that differ from those before.
    Relabelled,
}

/// The network as a protocol sees it.
pub trait NetworkPlane {
    /// The time.
    fn now(&self) -> Time;
    /// Sends a message out of the near end of a link.
    fn send(&mut self, link: u32, message: OutgoingMessage);
    /// Sends a message by a forwarding entry of a node into a path, to the far end of `link`.
    fn tunnel(&mut self, entry: u32, link: u32, message: OutgoingMessage);
    /// Adds a forwarding entry; its index.
    fn install(&mut self, entry: ForwardingEntry) -> u32;
    /// Adds a set of entries that share the packets bound to it; returns its index.
    fn install_set(&mut self, entries: &[u32]) -> u32;
    /// Removes an entry or a set without bindings.
    fn withdraw(&mut self, entry: u32);
    /// Binds an incoming label at a node (ILM), or unbinds it.
    fn bind_label(&mut self, node: u32, label: u32, entry: Option<u32>);
    /// Binds a forwarding equivalence class at a node (FTN), or unbinds it; no DSCP = all.
    fn bind_class(&mut self, node: u32, fec: u16, dscps: &[u8], entry: Option<u32>);
    /// Sets the next hops of IP routing at a node; none = unreachable.
    fn set_routes(&mut self, node: u32, destination: u32, links: &[u32]);
    /// The next hops of IP routing at a node.
    fn routes(&self, node: u32, destination: u32) -> Vec<u32>;
    /// Bytes that have entered a path so far.
    fn path_bytes(&self, path: u32) -> u64;
    /// Records an action of a router in routing.
    fn record_routing_event(&mut self, moment: RoutingEvent, node: u32, link: Option<u32>);
    /// Sends a notice to the other protocols.
    fn notify_protocols(&mut self, notice: ProtocolNotice);
    /// Records labels that a node takes into use.
    fn record_labels(&mut self, row: LabelBinding);
    /// Records an event.
    fn record_row(&mut self, row: SignallingRow);
}

/// The protocols of a run.
#[derive(Debug)]
pub enum Protocol {
    /// LDP.
    Ldp(Box<ldp::Ldp>),
    /// OSPF.
    Ospf(Box<ospf::Ospf>),
    /// RSVP-TE.
    Rsvp(Box<rsvp::Rsvp>),
}

impl Protocol {
    /// Index of the flow that its messages are counted under.
    #[must_use]
    pub fn flow(&self) -> u32 {
        match self {
            Self::Ldp(protocol) => protocol.config.flow,
            Self::Ospf(protocol) => protocol.config.flow,
            Self::Rsvp(protocol) => protocol.config.flow,
        }
    }

    /// Begins at time 0.
    pub fn start(&mut self, plane: &mut dyn NetworkPlane) {
        match self {
            Self::Ldp(protocol) => protocol.start(plane),
            Self::Ospf(protocol) => protocol.start(plane),
            Self::Rsvp(protocol) => protocol.start(plane),
        }
    }

    /// When it wants to be woken next; `NEVER` if not.
    #[must_use]
    pub fn due(&self) -> Time {
        match self {
            Self::Ldp(protocol) => protocol.due(),
            Self::Ospf(protocol) => protocol.due(),
            Self::Rsvp(protocol) => protocol.due(),
        }
    }

    /// Serves the timers that are due.
    pub fn wake(&mut self, plane: &mut dyn NetworkPlane) {
        match self {
            Self::Ldp(protocol) => protocol.wake(plane),
            Self::Ospf(protocol) => protocol.wake(plane),
            Self::Rsvp(protocol) => protocol.wake(plane),
        }
    }

    /// A message has arrived over `link` at the node at its far end.
    pub fn receive(&mut self, link: u32, message: Message, plane: &mut dyn NetworkPlane) {
        match (self, message) {
            (Self::Ldp(protocol), Message::Ldp(message)) => protocol.receive(link, message, plane),
            (Self::Ospf(protocol), Message::Ospf(message)) => {
                protocol.receive(link, message, plane)
            }
            (Self::Rsvp(protocol), Message::Rsvp(message)) => {
                protocol.receive(link, message, plane)
            }
            _ => {}
        }
    }

    /// A node notices that one of its links has gone down or up.
    pub fn link_changed(&mut self, node: u32, link: u32, down: bool, plane: &mut dyn NetworkPlane) {
        match self {
            Self::Ldp(protocol) => protocol.link_changed(node, link, down, plane),
            Self::Ospf(protocol) => protocol.link_changed(node, link, down, plane),
            Self::Rsvp(protocol) => protocol.link_changed(node, link, down, plane),
        }
    }

    /// The node at the near end of a link drains it, or uses it again.
    pub fn drain_link(&mut self, link: u32, is_drained: bool, plane: &mut dyn NetworkPlane) {
        if let Self::Ospf(protocol) = self {
            protocol.drain_link(link, is_drained, plane);
        }
    }

    /// Handles a notice of another protocol.
    pub fn on_notice(&mut self, notice: &ProtocolNotice, plane: &mut dyn NetworkPlane) {
        match (self, notice) {
            (Self::Ldp(protocol), ProtocolNotice::Routes { node }) => {
                protocol.routes_changed(*node, plane)
            }
            (Self::Ospf(protocol), ProtocolNotice::Session { node, peer, up }) => {
                protocol.session_changed(*node, *peer, *up, plane);
            }
            (Self::Ospf(protocol), ProtocolNotice::Unreserved { link, bandwidth }) => {
                protocol.update_te_link(*link, bandwidth.clone(), plane);
            }
            (Self::Rsvp(protocol), ProtocolNotice::Learnt { node, link, news }) => {
                protocol.learn(*node, *link, news.clone());
            }
            _ => {}
        }
    }

    /// Checks the state at the end of a run.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Ldp(protocol) => protocol.check(),
            Self::Ospf(_) => Ok(()),
            Self::Rsvp(protocol) => protocol.check(),
        }
    }
}

/// Destination for all routers on a link.
pub const ALL_ROUTERS: u32 = u32::MAX;

/// IPv4 address of a node: 10.x.y.z, the last octet neither 0 nor 255; 224.0.0.2 of all routers.
#[must_use]
pub fn address(node: u32) -> [u8; 4] {
    if node == ALL_ROUTERS {
        return [224, 0, 0, 2];
    }
    let (rest, last) = (node / 254, node % 254 + 1);
    [10, (rest >> 8) as u8, rest as u8, last as u8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// RFC 1918 section 3: 10/8 is private. 70,000 nodes have addresses of their own there, whose last octet is
    /// neither 0 nor 255, as the addresses of a network and of its broadcast are; and they rise with the nodes,
    /// as LDP needs (RFC 5036 section 2.5.2). RFC 5036 section 3.5.2.1: hellos go to 224.0.0.2.
    #[test]
    fn rfc1918_s3_every_node_has_a_private_address_of_its_own() {
        let addresses: Vec<[u8; 4]> = (0..70_000).map(address).collect();
        assert!(addresses.windows(2).all(|pair| pair[0] < pair[1]));
        let last: BTreeSet<u8> = addresses.iter().map(|octets| octets[3]).collect();
        assert_eq!(last, (1..=254).collect());
        assert!(addresses.iter().all(|octets| octets[0] == 10));
        assert_eq!([addresses[253], addresses[254]], [[10, 0, 0, 254], [10, 0, 1, 1]]);
        assert_eq!(addresses[254 * 256], [10, 1, 0, 1]);
        assert_eq!(address(ALL_ROUTERS), [224, 0, 0, 2]);
    }
}
