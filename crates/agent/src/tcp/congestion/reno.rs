//! Reno: one segment more for each acknowledged in slow start, one per window afterwards; a loss, a mark
//! or a timeout halves.
//!
//! Source: RFC 5681 section 3.1, RFC 3465 (by segments), RFC 3168 section 6.1.2; the arithmetic is in
//! `window.rs`.

use super::{Congestion, ConnectionView, ReductionCause, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};

/// Reno has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenoConfig {}

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Reno;

impl Reno {
    pub(super) fn new(_config: &RenoConfig, _tcp: &TcpConfig) -> Self {
        Self
    }
}

impl Congestion for Reno {
    #[inline]
    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let left = window.start_slowly(f64::from(view.acked));
        if left > 0.0 {
            window.open(left, window.cwnd);
        }
    }

    #[inline]
    fn reduce_window(&mut self, _window: &Window, size: f64, _cause: ReductionCause) -> f64 {
        size / 2.0
    }

    /// In full segments, as in ns-2 and the kernel.
    #[inline]
    fn threshold(left: f64) -> f64 {
        left.trunc().max(2.0)
    }
}
