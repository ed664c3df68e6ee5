//! CUBIC: the window follows a cubic of the time since the last reduction, or Reno where that is faster.
//!
//! Source: RFC 9438 (`rfc.rs`); Linux 6.1, `net/ipv4/tcp_cubic.c` (`linux.rs`). How slow start ends:
//! `../hystart.rs`.

mod linux;
mod rfc;

use super::{Congestion, ConnectionView, Growth, ReductionCause, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};
use trunkline_units::{Span, Time};

/// How slow start ends, a loss or mark apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStart {
    /// At the threshold only.
    #[default]
    Standard,
    /// Linux's HyStart: a train of acknowledgements, or a longer round trip.
    Hystart,
    /// RFC 9406.
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
}

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CubicConfig {
    /// How slow start ends.
    #[serde(default)]
    pub slow_start: SlowStart,
}

#[derive(Clone, Debug)]
pub(in crate::tcp) enum Cubic {
    Rfc(rfc::Cubic),
    Linux(linux::Cubic),
}

use Cubic::{Linux, Rfc};

macro_rules! dispatch {
    ($self:ident, $cubic:ident => $answer:expr) => {
        match $self {
            Rfc($cubic) => $answer,
            Linux($cubic) => $answer,
        }
    };
}

impl Cubic {
    pub(super) fn new(config: &CubicConfig, tcp: &TcpConfig) -> Self {
        if tcp.linux {
            Linux(linux::Cubic::new(config.slow_start, tcp.is_paced()))
        } else {
            Rfc(rfc::Cubic::new(config.slow_start, tcp.is_paced()))
        }
    }
}

impl Congestion for Cubic {
    fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        dispatch!(self, cubic => cubic.on_measured_ack(window, view));
    }

    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        debug_assert_eq!(window.growth == Growth::Linux, matches!(self, Linux(_)));
        dispatch!(self, cubic => cubic.on_new_ack(window, view));
    }

    fn reduce_window(&mut self, window: &Window, size: f64, cause: ReductionCause) -> f64 {
        dispatch!(self, cubic => cubic.reduce_window(window, size, cause))
    }

    fn on_resume(&mut self, idle: Span, now: Time) {
        dispatch!(self, cubic => cubic.resumed(idle, now));
    }
}
