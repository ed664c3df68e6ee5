//! Failures and recovery in the compiled network: failures and their times, detection, and the
//! forwarding entries that take over.
//!
//! Terms: RFC 3469 (framework of MPLS recovery), RFC 4090 (local repair), RFC 4427.

use serde::{Deserialize, Serialize};

/// Everything about failures; empty by default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recovery {
    /// Failures.
    pub failures: Vec<Failure>,
    /// Protections of label-switched paths.
    pub protections: Vec<Protection>,
    /// Whether IP routing adapts to failures; none = its routes stay.
    pub rerouting: Option<Rerouting>,
}

/// Links that fail together: one link, both directions of it, all links of a node, or a
/// shared-risk group.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Its name.
    pub name: String,
    /// One-way links that go down together.
    pub links: Vec<u32>,
    /// The failure is that of a node (arrivals at its ports are then lost as `node_down`).
    pub node: bool,
    /// When.
    pub outages: Outages,
    /// Traffic leaves the links before the first outage, which is planned.
    #[serde(default)]
    pub drain: Option<Drain>,
}

/// How traffic leaves links that will be taken out of service, while they still carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// When it begins [ns, before the first outage].
    pub at_ns: u64,
    /// Routers advertise the largest metric (RFC 6987 section 2), until the link is repaired.
    pub by_metric: bool,
    /// Protections of paths switch, make before break.
    pub by_switch: bool,
}

/// When something is down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outages {
    /// At given times.
    Fixed {
        /// In order, without overlap.
        at: Vec<Outage>,
    },
    /// An alternating renewal process with exponential times up and down.
    Random {
        /// Mean time up [ns, > 0].
        mtbf_ns: u64,
        /// Mean time down [ns, > 0].
        mttr_ns: u64,
    },
}

/// One outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// When it begins [ns].
    pub failed_ns: u64,
    /// When it ends [ns, > `failed_ns`]; none = never.
    pub repaired_ns: Option<u64>,
}

/// How a failure is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Detection {
    /// The repairing node learns of the failure after this time, and of the repair at once: a set time,
    /// without notification.
    Fixed {
        /// From failure to knowledge [ns].
        delay_ns: u64,
    },
    /// The node at the far end of the link detects the loss and the return of the signal.
    LossOfSignal {
        /// Time for which the signal must be lost, or back, to count [ns].
        delay_ns: u64,
    },
    /// BFD in asynchronous mode (RFC 5880 section 6.8).
    Bfd {
        /// Agreed interval between control packets [ns, > 0].
        interval_ns: u64,
        /// Detection multiplier [>= 1].
        multiplier: u32,
    },
    /// RSVP hello (RFC 3209 section 5).
    Hello {
        /// Hello interval [ns, > 0].
        interval_ns: u64,
        /// Silence after which the neighbour counts as lost [ns, >= `interval_ns`]; RFC 3209
        /// section 5.3 has 3.5 intervals.
        timeout_ns: u64,
    },
}

/// Kinds of protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtectionKind {
    /// 1:1: a pre-established path takes over at the head (RFC 3469 section 2.2.1).
    Backup,
    /// 1+1: both paths always carry the traffic, the tail selects.
    OnePlusOne,
    /// Local repair through a tunnel around a link or node (RFC 4090 section 3.2).
    FacilityBypass,
    /// Local repair by a separate path to the tail or merge point (RFC 4090 section 3.1).
    Detour,
    /// A path computed and signalled after the failure.
    Restoration,
}

/// Two forwarding entries of one node: the one in use, and the one that takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// NHLFE of the working path.
    pub entry: u32,
    /// NHLFE used in its place; for `restoration`, where it is computed, the same as `entry`.
    pub alternative: u32,
}

/// The protection of a path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protection {
    /// Its name.
    pub name: String,
    /// Working path.
    pub path: u32,
    /// Kind.
    pub kind: ProtectionKind,
    /// Node that switches: the head, the point of local repair, or the tail that selects.
    pub node: u32,
    /// Links of the working path whose failure is repaired.
    pub watches: Vec<u32>,
    /// Entries that change when it switches. `one-plus-one`: entries at the tail that take the
    /// working (`entry`) and the other (`alternative`) copy off.
    pub switches: Vec<Switch>,
    /// `one-plus-one`: entries at the head that send the two copies.
    pub bridge: Option<Switch>,
    /// How failures are noticed.
    pub detection: Detection,
    /// Time a node takes to handle a notification or signalling message [ns].
    pub processing_ns: u64,
    /// From the notification to the decision to switch [ns].
    pub hold_off_ns: u64,
    /// Computation of a new path [ns] (`restoration`).
    pub compute_ns: u64,
    /// From the decision to the switch [ns].
    pub switch_ns: u64,
    /// Whether traffic reverts when the working path is repaired.
    pub revertive: bool,
    /// From the notice of the repair to the decision to go back [ns].
    pub wait_to_restore_ns: u64,
    /// Reversion leaves no gap; else no packet passes for `switch_ns`.
    pub make_before_break: bool,
}

/// Link-state routing that follows failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rerouting {
    /// How failures are noticed.
    pub detection: Detection,
    /// Time a node takes to handle and pass on a link-state update [ns].
    pub processing_ns: u64,
    /// From an update's arrival to the node's new routes [ns].
    pub spf_delay_ns: u64,
}
