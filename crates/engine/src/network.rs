//! The compiled network: plain numbers and indices, the contract between language and engines.
//!
//! The scenario language compiles to this; `trunkline compile` prints it; provenance hashes its
//! canonical JSON. Every default is written out, so no field is optional for convenience: an `Option`
//! means that absence has a meaning of its own.

mod call;
pub(crate) mod diffserv;
mod echo;
mod probe;
mod processing;
mod queue;
pub mod recovery;
pub mod routing;
mod scripted;
mod shared_agents;
pub mod signalling;
mod transfers;

pub use call::{Call, DelayFormula};
pub use diffserv::{DiffServ, Tunnel};
pub use echo::{Echo, EchoProtocol};
pub use probe::{Measure, Probe};
pub use processing::Processing;
pub use queue::{FlowKey, Flows, Hosts, Overflow, Queue};
pub use recovery::Recovery;
pub use routing::{Ecmp, Routing};
pub use scripted::Scripted;
use serde::{Deserialize, Serialize};
pub use signalling::Signalling;
use std::sync::Arc;
pub use transfers::{Opened, Transfers};
use trunkline_agent::{tcp::TcpConfig, udp::UdpConfig};
use trunkline_port::meter::MeterConfig;
use trunkline_port::sched::SchedulerConfig;

/// Version of the format of networks: another one is refused.
pub const FORMAT: u32 = 2;

/// A network and its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Version of this format: [`FORMAT`].
    pub format: u32,
    /// Name of the scenario.
    pub name: String,
    /// Nodes, by index.
    pub nodes: Vec<Node>,
    /// One-way links, by index.
    pub links: Vec<Link>,
    /// Port configurations that links refer to.
    pub ports: Vec<PortConfig>,
    /// Conditioners that links refer to.
    #[serde(default)]
    pub conditioners: Vec<Conditioner>,
    /// Flows, by index.
    #[serde(deserialize_with = "shared_agents::flows")]
    pub flows: Vec<Flow>,
    /// Label-switched paths, by index (for results; forwarding reads the tables below).
    pub paths: Vec<Path>,
    /// FTN: at an ingress LSR, which NHLFE a forwarding equivalence class takes (RFC 3031 3.11).
    pub ftn: Vec<Ftn>,
    /// ILM: at an LSR, which NHLFE an incoming label takes (RFC 3031 3.11); with ECMP several of
    /// one label are a set (RFC 3031 3.10), as several of one class of the FTN are.
    pub ilm: Vec<Ilm>,
    /// Next hop label forwarding entries (RFC 3031 3.10), by index.
    pub nhlfe: Vec<Nhlfe>,
    /// Differentiated Services on label-switched paths; NHLFEs refer to it.
    #[serde(default)]
    pub diffserv: Vec<DiffServ>,
    /// Pairs of traffic classes: of a PHB, and of the same PHB with congestion experienced (RFC 5129);
    /// none = labels do not mark congestion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ecn_in_mpls: Vec<[u8; 2]>,
    /// Measurements to record.
    pub probes: Vec<Probe>,
    /// Failures and recovery.
    #[serde(default)]
    pub recovery: Recovery,
    /// How routers route.
    #[serde(default)]
    pub routing: Routing,
    /// Protocols that set up paths and routes during the run; none = there are none.
    #[serde(default)]
    pub signalling: Option<Signalling>,
    /// The run.
    pub run: Run,
}

/// A node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Time to forward a packet; none = no time.
    #[serde(default)]
    pub processing: Option<Processing>,
}

/// A share of the packets of a link that arrives late.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability of a packet to be late [0..1].
    pub share: f64,
    /// By how much [ns].
    pub by_ns: trunkline_units::Span,
}

/// A one-way link with the port that feeds it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// `from->to`, or the scenario's name and direction.
    pub name: String,
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// Capacity [bit/s, > 0].
    pub rate_bit_s: u64,
    /// Propagation delay [ns].
    pub delay_ns: u64,
    /// Link-layer bytes added to each packet [B].
    pub header_bytes: u32,
    /// Largest packet, label stack included, link header not [B].
    pub mtu_bytes: u32,
    /// Cost for shortest-path routing.
    pub metric: u64,
    /// Probability that a packet is lost on the wire [0..1].
    pub loss: f64,
    /// Packets that arrive late, so that others overtake them.
    #[serde(default)]
    pub reorder: Option<Reorder>,
    /// Packets that are lost on the wire by script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripted: Vec<Scripted>,
    /// Index into `ports`.
    pub port: u32,
    /// Conditioner at the near end, before the port's classifier: index into `conditioners`.
    #[serde(default)]
    pub conditioner: Option<u32>,
    /// Conditioner at the far end, before the packet is forwarded: index into `conditioners`.
    #[serde(default)]
    pub ingress: Option<u32>,
    /// Whether to account for the offered packets by flow, DSCP, colour and precedence.
    #[serde(default)]
    pub account: bool,
}

/// Traffic conditioning: the meter of each class of packets, and the action of each colour.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditioner {
    /// Its name in the scenario.
    pub name: String,
    /// Class 0 = not conditioned, class n = profile n - 1; precedences are not used.
    pub classifier: Classifier,
    /// Profiles, by index.
    pub profiles: Vec<Profile>,
}

/// A traffic profile (RFC 2475 section 2.3.2): a meter and an action for each colour.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The meter; each place with this conditioner has a separate one.
    pub meter: MeterConfig,
    /// For green, yellow and red.
    pub actions: [Action; 3],
}

/// The action on a packet of one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Drop it.
    pub drop: bool,
    /// Write this codepoint; none = leave it.
    pub dscp: Option<u8>,
}

/// Configuration of a port: classifier, classes with their queues, scheduler.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    /// Its name in the scenario.
    pub name: String,
    /// Classifier of packets into classes.
    pub classifier: Classifier,
    /// Classes, by index; at least one.
    pub classes: Vec<Class>,
    /// Scheduler, and the share of each class.
    pub scheduler: SchedulerConfig,
    /// Whether labelled packets can be marked, by the network's pairs of traffic classes; else packets
    /// that would be marked are dropped.
    #[serde(default)]
    pub ecn_in_mpls: bool,
}

/// Maps a packet to a class and a drop precedence by two array look-ups.
///
/// The row is that of the NHLFE the packet was forwarded by, else of its flow, else row 0. The
/// column is the DSCP for an IP packet, 64 + TC for a labelled one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classifier {
    /// Rows of 72 `[class, precedence]` pairs: DSCP 0..64, then TC 0..8. Empty: all is class 0.
    pub rows: Vec<Vec<[u16; 2]>>,
    /// Row by direction of flow: `2 * flow` forward, `2 * flow + 1` acknowledgements. Empty: row 0.
    pub flow_rows: Vec<u16>,
}

/// A class of a port.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Its queue.
    pub queue: Queue,
}

/// A flow: an agent at `src`, its counterpart at `dst`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Node of the source.
    pub src: u32,
    /// Node of the sink.
    pub dst: u32,
    /// When the source starts [ns].
    pub start_ns: u64,
    /// When it stops sending new data [ns]; none = at the end of the run.
    pub stop_ns: Option<u64>,
    /// The start is delayed by a uniform random time below this [ns].
    pub start_jitter_ns: u64,
    /// DSCP of its packets, both ways.
    pub dscp: u8,
    /// IP time to live at the source.
    pub ttl: u8,
    /// Forwarding equivalence class of the data packets; 0 = none.
    pub fec: u16,
    /// Forwarding equivalence class of the acknowledgements; 0 = none.
    pub fec_reverse: u16,
    /// The source and sink; flows that are alike share it.
    pub agent: Arc<Agent>,
    /// Of TCP: the flow is no single connection but transfers that come and go, each a connection with
    /// the agent's parameters and a separate size.
    #[serde(default)]
    pub transfers: Option<Box<Transfers>>,
    /// Of UDP: the flow is a call.
    #[serde(default)]
    pub call: Option<Box<Call>>,
    /// Of UDP: the receiver answers each datagram.
    #[serde(default)]
    pub echo: Option<Box<Echo>>,
}

/// Kinds of agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum Agent {
    /// A TCP sender and its receiver.
    Tcp(TcpConfig),
    /// A UDP source and its sink.
    Udp(UdpConfig),
    /// Messages of a protocol of `signalling`; the network has one such flow for each of them, in
    /// the order of its keys.
    Control(Control),
}

/// A flow of routing or signalling messages; they go from neighbour to neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// IP header [B].
    pub header_bytes: u32,
}

/// A label-switched path.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Its name.
    pub name: String,
    /// Links it crosses, in order.
    pub links: Vec<u32>,
    /// Whether to account for the delay, loss and order of the data packets that ride it.
    #[serde(default)]
    pub account: bool,
}

/// FEC to NHLFE.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ftn {
    /// Ingress LSR.
    pub node: u32,
    /// Forwarding equivalence class, 1 or more.
    pub fec: u16,
    /// Index into `nhlfe`.
    pub nhlfe: u32,
    /// DSCPs of the packets it is for [0..64]; empty = all.
    #[serde(default)]
    pub dscps: Vec<u8>,
}

/// Incoming label map.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ilm {
    /// LSR.
    pub node: u32,
    /// Incoming label.
    pub label: u32,
    /// Index into `nhlfe`.
    pub nhlfe: u32,
}

/// Actions on the label stack, and the next hop of the packet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nhlfe {
    /// Link to send on; none = look the packet up again here (after a pop).
    pub link: Option<u32>,
    /// Whether the top label is taken off first.
    pub pop: bool,
    /// Labels put on, the one nearest the bottom first.
    pub push: Vec<u32>,
    /// How TTL passes between the layers (RFC 3443).
    pub ttl: Ttl,
    /// DiffServ of each label of `push`: index into the network's `diffserv`; none, or no entry:
    /// the class selector bits of the DSCP, or the TC of the label below.
    #[serde(default)]
    pub push_diffserv: Vec<Option<u32>>,
    /// DiffServ of the popped label: index into the network's `diffserv`; none: the label or header
    /// below is not changed.
    #[serde(default)]
    pub pop_diffserv: Option<u32>,
    /// Whether a swap writes TC 0 instead of keeping the TC (as Linux does).
    #[serde(default)]
    pub zero_tc: bool,
    /// Whether an entropy label and its indicator go under the labels put on (RFC 6790).
    #[serde(default)]
    pub entropy: bool,
    /// Row of the out-port's classifier for packets this entry forwards; none = by flow.
    pub row: Option<u16>,
    /// Path it belongs to.
    pub path: u32,
}

/// TTL models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ttl {
    /// TTL counts every hop, labelled or not (RFC 3443 section 3.1).
    #[default]
    Uniform,
    /// The tunnel is one hop to the inner header (RFC 3443 sections 3.2, 3.3).
    Pipe,
}

/// Length and seed of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Simulated time [ns].
    pub duration_ns: u64,
    /// Counters start here [ns].
    pub warmup_ns: u64,
    /// Seed.
    pub seed: u64,
    /// Whether to record every packet's events.
    pub trace: bool,
    /// Whether to count the waits at every port in histograms; a run that records events does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Whether to count what each flow delivers by DSCP, ECN field and TTL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delivered_marks: bool,
    /// Maximum number of events at one instant before the run is stopped as a zero-time loop.
    pub events_per_instant: u64,
}
