//! Transfers that come and go, as the compiled network has them.

use serde::{Deserialize, Serialize};
use trunkline_agent::workload::{OpenConfig, PagesConfig, VideoConfig};

/// A flow's transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// The process that opens them.
    pub opened: Opened,
    /// Upper ends of the bins of sizes that results have [B], rising; one more holds the larger.
    pub bins_bytes: Vec<u64>,
    /// Whether to record each transfer, besides the bins.
    pub record: bool,
    /// Connections stay open for the next transfer.
    #[serde(default)]
    pub kept: bool,
}

/// The process that opens transfers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Opened {
    /// They arrive by themselves.
    Arrivals(OpenConfig),
    /// Users fetch pages: the flow carries the objects.
    Pages {
        /// Behaviour of users.
        users: PagesConfig,
        /// Flow that carries the requests, from the users' node to the server's.
        requests: u32,
        /// Size of a request [B, > 0].
        request_bytes: u64,
    },
    /// Players fetch films: the flow carries the chunks.
    Video {
        /// Behaviour of players.
        players: VideoConfig,
        /// Flow that carries the requests, from the players' node to the server's.
        requests: u32,
        /// Size of a request [B, > 0].
        request_bytes: u64,
    },
    /// The pages or films of another flow, whose requests these are.
    Requests,
}
