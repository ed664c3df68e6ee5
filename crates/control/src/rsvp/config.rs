//! RSVP-TE in the compiled network.

use super::message::DesiredProtection;
use serde::{Deserialize, Serialize};
use trunkline_units::Span;

/// Signalling of the network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RsvpConfig {
    /// Flow that its messages are counted under.
    pub flow: u32,
    /// Mean time between refreshes, R of RFC 2205 section 3.7 [ns, > 0].
    pub refresh_ns: u64,
    /// K of RFC 2205 section 3.7: refreshes that may be lost [>= 1].
    pub multiplier: u32,
    /// Time a node takes for each message, one at a time [ns].
    pub processing_ns: u64,
    /// Reliable delivery (RFC 2961 section 6): first interval before a message is sent again
    /// [ns]; none = messages are sent once.
    pub resend_ns: Option<u64>,
    /// Increment of the interval to the next resend, Delta: it is 1 + Delta times the last [>= 0].
    pub resend_increment: f64,
    /// Times a message is sent without being acknowledged [>= 1].
    pub resend_limit: u32,
    /// Summary refresh (RFC 2961 section 5) in place of full messages; needs `resend_ns`.
    pub summary: bool,
    /// Interval of hellos (RFC 3209 section 5) [ns]; none = there are none.
    pub hello_ns: Option<u64>,
    /// From an error to the next attempt of the head [ns].
    pub retry_ns: u64,
    /// Routes a head tries at once, each around the links that refused (crankback) [>= 1].
    pub attempts: u32,
    /// From a change of a link to its news in the database that all heads share [ns]; none = OSPF
    /// brings them to the database of each.
    pub flooding_ns: Option<u64>,
    /// Minimum change of the unreserved bandwidth of a link that is flooded, over its reservable
    /// bandwidth.
    #[serde(default)]
    pub flooding_threshold: f64,
    /// A path that is moved is set up anew before the old one is torn down.
    pub make_before_break: bool,
    /// From the use of the new path to the tear of the old one [ns].
    pub cleanup_ns: u64,
    /// Preempted paths are moved before they are torn down (RFC 5712); for how long they may
    /// stay [ns]; none = hard preemption.
    pub soft_ns: Option<u64>,
    /// Interval at which heads compute better routes [ns].
    pub reoptimise_ns: Option<u64>,
    /// Packets of a path that is down are discarded; else IP routing takes them.
    pub discard: bool,
    /// Bandwidth that may be reserved, by link [bit/s].
    pub reservable: Vec<u64>,
    /// `DiffServ`-aware traffic engineering; by default all paths are of class type 0.
    #[serde(default)]
    pub class_types: ClassTypes,
    /// Further attributes of each link that heads know; empty where no path asks for it.
    #[serde(default)]
    pub attributes: Vec<Attributes>,
    /// Paths that are set up, by index.
    pub sessions: Vec<Session>,
    /// Orders of operators, in order of time.
    #[serde(default)]
    pub orders: Vec<Order>,
    /// Processes of random requests.
    #[serde(default)]
    pub requests: Vec<Requests>,
}

impl RsvpConfig {
    /// The shortest time in which something follows from a message that has arrived [ns].
    #[must_use]
    pub fn handling_time(&self) -> Span {
        // A message around a failure is passed on when it arrives.
        if self.has_tunnels() {
            0
        } else {
            self.processing_ns
        }
    }

    /// Whether messages may ride in bypass tunnels.
    #[must_use]
    pub fn has_tunnels(&self) -> bool {
        self.sessions.iter().any(|session| !session.around.is_empty())
    }

    /// At multiples of these times heads read how many bytes have entered paths [ns].
    #[must_use]
    pub fn sample_intervals(&self) -> Vec<Span> {
        let automatic = self.sessions.iter().filter_map(|session| session.auto_bandwidth.as_ref());
        let mut intervals: Vec<Span> = automatic.map(|auto| auto.sample_ns).collect();
        intervals.sort_unstable();
        intervals.dedup();
        intervals
    }
}

/// A path that is signalled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// Index of the path.
    pub path: u32,
    /// Reserved bandwidth [bit/s].
    pub bandwidth_bit_s: u64,
    /// Setup priority [0..8], 0 is the strongest.
    pub setup: u8,
    /// Holding priority [0..=setup].
    pub hold: u8,
    /// Class type of its reservation [0..8] (RFC 4124).
    #[serde(default)]
    pub class_type: u8,
    /// When its head begins; none = at an order [ns].
    pub start_ns: Option<u64>,
    /// Whether the head computes routes; else it only uses the first one and those it is given.
    pub dynamic: bool,
    /// Links of its first route.
    pub route: Vec<u32>,
    /// Whether its head computes a route from the first attempt on: `route` is one that it may find.
    #[serde(default)]
    pub computed: bool,
    /// Constraints of the routes that its head computes, besides bandwidth.
    #[serde(default)]
    pub constraints: Option<Constraints>,
    /// Label actions of the nodes of the first route, from head to tail.
    pub hops: Vec<Hop>,
    /// Classes that ride it, bound at the head while it is up.
    pub classes: Vec<Binding>,
    /// It counts as one hop in the TTL of its packets.
    pub pipe: bool,
    /// `DiffServ` of its label where it is put on, and taken off.
    pub diffserv: [Option<u32>; 2],
    /// Local protection that it requests (RFC 4090).
    #[serde(default)]
    pub protection: Option<Protection>,
    /// Links that it protects as a bypass tunnel; empty: it is none.
    #[serde(default)]
    pub around: Vec<u32>,
    /// Automatic bandwidth.
    #[serde(default)]
    pub auto_bandwidth: Option<AutoBandwidth>,
}

/// Class types of reservations (RFC 4124), and the bounds on them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassTypes {
    /// TE-classes, in the order in which their unreserved bandwidth is advertised [1..=8].
    pub te_classes: Vec<TeClass>,
    /// Bounds on each link besides its reservable bandwidth; empty: there are none.
    pub bounds: Vec<Vec<ClassTypeBound>>,
}

impl Default for ClassTypes {
    fn default() -> Self {
        let te_class = |priority| TeClass { class_type: 0, priority };
        Self { te_classes: (0..8).map(te_class).collect(), bounds: Vec::new() }
    }
}

/// A class type with a preemption priority (RFC 4124 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeClass {
    /// Class type [0..8].
    pub class_type: u8,
    /// Priority [0..8].
    pub priority: u8,
}

/// The most that some class types may reserve together: a bandwidth constraint of RFC 4125 or 4127.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassTypeBound {
    /// Class types.
    pub class_types: Vec<u8>,
    /// Bandwidth [bit/s].
    pub bit_s: u64,
}

/// Attributes that a link advertises for traffic engineering (RFC 3630, RFC 4203).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attributes {
    /// TE metric.
    pub metric: u64,
    /// Propagation delay [ns].
    pub delay_ns: u64,
    /// Shared risk link groups, by number.
    pub risks: Vec<u32>,
}

/// Constraints of a computed route; all but the first three keys need `attributes`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraints {
    /// Links that it may not use, for their colours, or because others must be apart from it.
    pub barred: Vec<u32>,
    /// Nodes to pass, in this order.
    pub via: Vec<u32>,
    /// Maximum number of links.
    pub max_hops: Option<u32>,
    /// Greatest sum of delays [ns].
    pub max_delay_ns: Option<u64>,
    /// The quantity that it minimises.
    pub minimise: Minimise,
    /// Paths that it shares nothing with.
    pub apart: Vec<Apart>,
}

/// Cost of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Minimise {
    /// Metric of routing.
    #[default]
    Igp,
    /// TE metric.
    Te,
    /// Propagation delay.
    Delay,
}

/// A path that another shares nothing with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apart {
    /// Index into `sessions`.
    pub session: u32,
    /// Elements that are not shared.
    pub from: Shared,
}

/// Elements that two paths may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shared {
    /// Links, in either direction.
    Link,
    /// Links, and the nodes between the ends.
    Node,
    /// Links, and risks of links.
    Risk,
}

/// Local protection of a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protection {
    /// Each node has its own detour; else nodes use the bypass tunnels that begin there.
    pub one_to_one: bool,
    /// The backup avoids the next node, where that is possible.
    pub node: bool,
    /// Detours reserve the bandwidth of the path.
    pub bandwidth: bool,
    /// Nodes compute the detours that are missing in `detours`.
    pub computed: bool,
    /// Links of given detours, each from a node of the first route to a later one.
    pub detours: Vec<Vec<u32>>,
}

impl Protection {
    /// The protection that a Path requests for it.
    #[must_use]
    pub fn desired(&self) -> DesiredProtection {
        DesiredProtection {
            one_to_one: self.one_to_one,
            node: self.node,
            bandwidth: self.bandwidth,
        }
    }
}

/// A node of a first route.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Incoming label; none: no label, or implicit null at the tail.
    pub label: Option<u32>,
    /// Its forwarding entry: index into the network's `nhlfe`.
    pub entry: Option<u32>,
}

/// A forwarding equivalence class at the head.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Class.
    pub fec: u16,
    /// DSCPs; empty = all.
    pub dscps: Vec<u8>,
}

/// Automatic bandwidth (the words of RFC 8733).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoBandwidth {
    /// Interval of samples [ns, > 0].
    pub sample_ns: u64,
    /// Interval of adjustments [ns, >= `sample_ns`].
    pub adjust_ns: u64,
    /// Minimum change that is signalled, as a share of the reservation.
    pub threshold: f64,
    /// Minimum bandwidth [bit/s].
    pub minimum_bit_s: u64,
    /// Largest bandwidth [bit/s].
    pub maximum_bit_s: u64,
}

/// Something an operator does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// When [ns].
    pub at_ns: u64,
    /// Session: index into `sessions`.
    pub session: u32,
    /// The action.
    pub action: Action,
}

/// An action of an operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// Sets the path up.
    SetUp {},
    /// Tears it down.
    Tear {},
    /// Moves it.
    Move {
        /// Links of the new route; none = the shortest one that has room.
        route: Option<Vec<u32>>,
    },
    /// Reserves another bandwidth.
    Resize {
        /// Bandwidth [bit/s].
        bandwidth_bit_s: u64,
    },
}

/// A random process of requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Its name.
    pub name: String,
    /// First node.
    pub head: u32,
    /// Last node.
    pub tail: u32,
    /// Bandwidth of each [bit/s].
    pub bandwidth_bit_s: u64,
    /// Setup priority.
    pub setup: u8,
    /// Holding priority.
    pub hold: u8,
    /// Mean time between requests, exponential [ns, > 0].
    pub every_ns: u64,
    /// Mean time a path is held, exponential [ns, > 0].
    pub holding_ns: u64,
    /// Links of their route; none = the shortest one that has room.
    pub route: Option<Vec<u32>>,
}
