//! OSPF in the compiled network.

use serde::{Deserialize, Serialize};

/// OSPF in all nodes, in one area.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OspfConfig {
    /// Flow that its messages are counted under.
    pub flow: u32,
    /// Time a node takes to handle and pass on an update [ns].
    pub processing_ns: u64,
    /// `RxmtInterval`: an update that is not acknowledged is sent again after it [ns, > 0].
    pub resend_ns: u64,
    /// `MinLSInterval`: a node originates its LSA again after it at the earliest [ns].
    pub lsa_interval_ns: u64,
    /// `MinLSArrival`: an LSA that follows the one before earlier is discarded [ns].
    pub lsa_arrival_ns: u64,
    /// Traffic engineering attributes that nodes advertise (RFC 3630), by link; none = no such LSAs.
    #[serde(default)]
    pub te: Option<Vec<LinkTe>>,
    /// Interval of hellos [ns]; none = none are sent.
    pub hello_ns: Option<u64>,
    /// `RouterDeadInterval` [ns, > `hello_ns`].
    pub dead_ns: u64,
    /// From a change of the database to the computation of routes.
    pub spf: SpfDelay,
    /// Time that the computation takes [ns].
    pub compute_ns: u64,
    /// From the end of the computation to the routes' use, by node [ns].
    pub fib_update_ns: Vec<u64>,
    /// After the loss of a link of a router's own: from its new routes to their use (RFC 8333:
    /// `ULOOP_DELAY_DOWN_TIMER`) [ns].
    #[serde(default)]
    pub local_delay_ns: u64,
    /// All next hops of equal cost are used.
    pub multipath: bool,
    /// A link whose LDP session has ended has the largest metric until it is up again (RFC 5443).
    #[serde(default)]
    pub ldp_sync: bool,
}

/// A link in traffic engineering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkTe {
    /// Traffic engineering metric.
    pub metric: u32,
    /// Maximum reservable bandwidth [bit/s].
    pub reservable_bit_s: u64,
    /// Unreserved bandwidth of each TE-class while nothing is reserved (RFC 4124 section 4.2); none =
    /// all of it at every priority [bit/s].
    #[serde(default)]
    pub unreserved_bit_s: Option<[u64; 8]>,
    /// Administrative groups, a bit each.
    pub colours: u32,
}

/// How the computation of routes is delayed when changes follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SpfDelay {
    /// Exponential back-off, as in most routers.
    Backoff {
        /// From the first change to the computation [ns].
        initial_ns: u64,
        /// From one computation to the next; doubled each time [ns].
        second_ns: u64,
        /// The longest such interval; twice as long without a change, and it starts anew [ns].
        maximum_ns: u64,
    },
    /// RFC 8405 section 3.
    Rfc8405 {
        /// `INITIAL_SPF_DELAY` [ns].
        initial_ns: u64,
        /// `SHORT_SPF_DELAY` [ns].
        short_ns: u64,
        /// `LONG_SPF_DELAY` [ns].
        long_ns: u64,
        /// `TIME_TO_LEARN_INTERVAL` [ns].
        learn_ns: u64,
        /// `HOLDDOWN_INTERVAL` [ns].
        hold_down_ns: u64,
    },
}
