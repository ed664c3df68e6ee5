//! Westwood+: Reno's growth; after a loss the window is the amount delivered in the minimum round trip.
//!
//! Source: Mascolo et al. 2001, Grieco and Mascolo 2004 (`rfc.rs`); Linux 6.1, `net/ipv4/tcp_westwood.c`
//! (`linux.rs`).

mod linux;
mod rfc;

use super::{Congestion, ConnectionView, ReductionCause, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};
use trunkline_units::Span;

/// Westwood has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WestwoodConfig {}

/// Of two filters, each new value counts an eighth.
const FILTER_WEIGHT: u32 = 8;
const MIN_FILTER_STEP: Span = 50_000_000;
/// Round trip before a sample.
const FIRST_RTT: Span = 20_000_000_000;

#[derive(Clone, Debug)]
pub(in crate::tcp) enum Westwood {
    Rfc(rfc::Westwood),
    Linux(linux::Westwood),
}

use Westwood::{Linux, Rfc};

impl Westwood {
    pub(super) fn new(_config: &WestwoodConfig, tcp: &TcpConfig) -> Self {
        if tcp.linux {
            Linux(linux::Westwood::new(tcp.mss_bytes))
        } else {
            Rfc(rfc::Westwood::new())
        }
    }
}

impl Congestion for Westwood {
    fn on_measured_ack(&mut self, _window: &mut Window, view: &ConnectionView) {
        match self {
            Rfc(westwood) => westwood.on_measured_ack(view),
            Linux(westwood) => westwood.on_measured_ack(view),
        }
    }

    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let left = window.start_slowly(f64::from(view.acked));
        if left > 0.0 {
            window.open(left, window.cwnd);
        }
    }

    fn reduce_window(&mut self, _window: &Window, size: f64, cause: ReductionCause) -> f64 {
        match self {
            Rfc(westwood) => westwood.reduce_window(size),
            Linux(westwood) => westwood.reduce_window(size, cause),
        }
    }

    fn on_recovery_end(&mut self, window: &mut Window) {
        if let Linux(westwood) = self {
            window.ssthresh = westwood.delivered();
            window.cwnd = window.ssthresh;
        }
    }
}
