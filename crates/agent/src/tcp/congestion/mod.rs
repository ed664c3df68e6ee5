//! Congestion control: how a window opens, and its size after a loss or a mark. Loss recovery, in `rfc/`
//! and `linux/`, finds the losses and calls the control.
//!
//! A control is one file with one type, and one line in [`controls!`]. Both stacks use it; their
//! arithmetics differ, and [`Window`] has both.

use super::rate_sample::{LostSegment, RateSample};
use super::TcpConfig;
use serde::{Deserialize, Serialize};
use trunkline_units::{RandomStream, Span, Time};

mod bbr;
mod bbr3;
mod cubic;
mod dctcp;
mod hystart;
pub(in crate::tcp) mod prague;
mod reno;
mod vegas;
mod westwood;
mod window;

pub use bbr::BbrConfig;
pub use bbr3::Bbr3Config;
pub use cubic::{CubicConfig, SlowStart};
pub use dctcp::DctcpConfig;
pub use prague::PragueConfig;
pub use reno::RenoConfig;
pub use vegas::VegasConfig;
pub use westwood::WestwoodConfig;
pub(super) use window::{Growth, Window};

/// Why a window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReductionCause {
    /// Duplicate or selective acknowledgements showed a loss.
    Loss,
    /// An ECN-Echo (RFC 3168 section 6.1.2).
    Mark,
    /// The retransmission timer ran out.
    Timeout,
}

/// State of the connection that a control needs, without the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionView {
    pub now: Time,
    /// Segments that the acknowledgement delivered.
    pub acked: u32,
    /// First segment not acknowledged (SND.UNA).
    pub una: u32,
    /// Next segment to send for the first time (SND.NXT).
    pub next: u32,
    /// Round trip that this acknowledgement timed [ns].
    pub rtt: Option<Span>,
    /// Smoothed round trip [ns]; 0 without a sample.
    pub srtt: Span,
    /// It carries ECN-Echo.
    pub echo: bool,
}

/// Decision of a control that steers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SteeringDecision {
    /// Pace [B/s].
    pub rate: u64,
    /// The network holds less than the path could take, so samples of the rate are low.
    pub limited: bool,
}

/// A control of congestion.
pub(super) trait Congestion {
    /// The receiver has counted this many marks, modulo 8 (accurate ECN). Returns the number of new
    /// marks; none: the control does not count marks.
    fn on_marks_counted(&mut self, _count: u8) -> Option<u32> {
        None
    }
    /// An acknowledgement covers new data; its round trip is known and the window not yet changed.
    fn on_measured_ack(&mut self, _window: &mut Window, _view: &ConnectionView) {}
    /// New data were acknowledged outside of recovery: the window may open.
    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView);
    /// Remainder of `size` segments, a window or a flight [segments].
    fn reduce_window(&mut self, window: &Window, size: f64, cause: ReductionCause) -> f64;
    /// A loss is repaired from now on; the window may have been reduced for it, or for a mark before (Linux).
    fn on_recovery_start(&mut self, _window: &mut Window) {}
    /// Everything that was outstanding when the window was reduced is acknowledged (Linux).
    fn on_recovery_end(&mut self, _window: &mut Window) {}
    /// No segment is lost or doubtful any more; the next segment sent is `next` (Linux).
    fn on_open(&mut self, _next: u32) {}
    /// The last reduction was needless; before it the window was `prior` [segments].
    fn undo_reduction(&mut self, window: &mut Window, prior: f64) {
        window.cwnd = window.cwnd.max(prior);
    }
    /// Threshold of slow start under the RFCs where `left` segments are left.
    fn threshold(left: f64) -> f64 {
        left.max(2.0)
    }
    /// The connection sends again; nothing was outstanding for `idle`.
    fn on_resume(&mut self, _idle: Span, _now: Time) {}
    /// The application had nothing to send, and sends again. Returns the pace [B/s] (controls that steer).
    fn on_restart(&mut self, _window: &mut Window, _now: Time) -> u64 {
        0
    }
    /// The first segments are sent; the handshake took `rtt` [us]. Returns the pace for them [B/s]; 0:
    /// none yet.
    fn on_established(&mut self, _window: &Window, _rtt: Option<Span>, _now: Time) -> u64 {
        0
    }
    /// Sets window and pace itself at every acknowledgement, also while a loss is repaired.
    const STEERS: bool = false;
    /// Sets the window by a sample of the rate, and returns the pace.
    fn steer(
        &mut self,
        _window: &mut Window,
        _now: &RateSample,
        _random: &mut RandomStream,
    ) -> SteeringDecision {
        SteeringDecision::default()
    }
    /// A segment was found lost, before [`Congestion::steer`]; `delivered` segments since the start
    /// (controls that steer).
    fn on_lost(&mut self, _window: &mut Window, _segment: &LostSegment, _delivered: u64) {}
}

/// Boxes keep the sender small; a control without state takes none.
macro_rules! controls {
    ($($(#[$doc:meta])* $variant:ident($control:ty, $config:ty)),+ $(,)?) => {
        /// Configuration of a congestion control: the `kind` key names the variant.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum CongestionConfig { $($(#[$doc])* $variant($config)),+ }

        /// Any congestion control, dispatched by one match.
        #[derive(Clone, Debug)]
        pub(super) enum Control { $($(#[$doc])* $variant(Box<$control>)),+ }

        impl Control {
            pub(super) fn new(tcp: &TcpConfig) -> Self {
                match &tcp.congestion {
                    $(CongestionConfig::$variant(config) => {
                        Self::$variant(Box::new(<$control>::new(config, tcp)))
                    }),+
                }
            }

            /// See [`Congestion::on_marks_counted`].
            pub(super) fn on_marks_counted(&mut self, count: u8) -> Option<u32> {
                match self { $(Self::$variant(control) => control.on_marks_counted(count)),+ }
            }

            /// See [`Congestion::on_measured_ack`].
            pub(super) fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
                match self { $(Self::$variant(control) => control.on_measured_ack(window, view)),+ }
            }

            /// See [`Congestion::threshold`].
            pub(super) fn threshold(&self, left: f64) -> f64 {
                match self { $(Self::$variant(_) => <$control>::threshold(left)),+ }
            }

            /// See [`Congestion::on_resume`].
            pub(super) fn on_resume(&mut self, idle: Span, now: Time) {
                match self { $(Self::$variant(control) => control.on_resume(idle, now)),+ }
            }

            /// See [`Congestion::on_established`].
            pub(super) fn on_established(&mut self, window: &Window, rtt: Option<Span>, now: Time) -> u64 {
                match self { $(Self::$variant(control) => control.on_established(window, rtt, now)),+ }
            }

            /// See [`Congestion::STEERS`].
            #[inline]
            pub(super) fn steers(&self) -> bool {
                match self { $(Self::$variant(_) => <$control>::STEERS),+ }
            }

            /// See [`Congestion::steer`].
            pub(super) fn steer(
                &mut self,
                window: &mut Window,
                now: &RateSample,
                random: &mut RandomStream,
            ) -> SteeringDecision {
                match self { $(Self::$variant(control) => control.steer(window, now, random)),+ }
            }

            /// See [`Congestion::on_restart`].
            pub(super) fn on_restart(&mut self, window: &mut Window, now: Time) -> u64 {
                match self { $(Self::$variant(control) => control.on_restart(window, now)),+ }
            }

            /// See [`Congestion::on_lost`].
            pub(super) fn on_lost(&mut self, window: &mut Window, segment: &LostSegment, delivered: u64) {
                match self { $(Self::$variant(control) => control.on_lost(window, segment, delivered)),+ }
            }

            /// See [`Congestion::on_new_ack`]; `view` is looked at by those who need it.
            #[inline]
            pub(super) fn on_new_ack(&mut self, window: &mut Window, view: impl FnOnce() -> ConnectionView) {
                match self { $(Self::$variant(control) => control.on_new_ack(window, &view())),+ }
            }

            /// See [`Congestion::reduce_window`].
            pub(super) fn reduce_window(&mut self, window: &Window, size: f64, cause: ReductionCause) -> f64 {
                match self { $(Self::$variant(control) => control.reduce_window(window, size, cause)),+ }
            }

            /// See [`Congestion::on_recovery_start`].
            pub(super) fn on_recovery_start(&mut self, window: &mut Window) {
                match self { $(Self::$variant(control) => control.on_recovery_start(window)),+ }
            }

            /// See [`Congestion::on_recovery_end`].
            pub(super) fn on_recovery_end(&mut self, window: &mut Window) {
                match self { $(Self::$variant(control) => control.on_recovery_end(window)),+ }
            }

            /// See [`Congestion::on_open`].
            pub(super) fn on_open(&mut self, next: u32) {
                match self { $(Self::$variant(control) => control.on_open(next)),+ }
            }

            /// See [`Congestion::undo_reduction`].
            pub(super) fn undo_reduction(&mut self, window: &mut Window, prior: f64) {
                match self { $(Self::$variant(control) => control.undo_reduction(window, prior)),+ }
            }
        }
    };
}

controls! {
    /// RFC 5681: one segment more a round trip, half of it after a loss.
    Reno(reno::Reno, RenoConfig),
    /// RFC 9438: a window that follows a cubic of time.
    Cubic(cubic::Cubic, CubicConfig),
    /// BBR version 1: the rate and the round trip of the path, each measured while the other rests.
    Bbr(bbr::Bbr, BbrConfig),
    /// BBR version 3: the same with bounds that losses and marks set.
    Bbr3(bbr3::Bbr3, Bbr3Config),
    /// RFC 8257: a reduction in proportion to the share of marks.
    Dctcp(dctcp::Dctcp, DctcpConfig),
    /// TCP Prague: DCTCP's answer with accurate ECN.
    Prague(prague::Prague, PragueConfig),
    /// Brakmo and Peterson 1995: two to four segments in the queue.
    Vegas(vegas::Vegas, VegasConfig),
    /// Mascolo et al. 2001: after a loss the window is the amount delivered in a round trip.
    Westwood(westwood::Westwood, WestwoodConfig),
}

impl Default for CongestionConfig {
    fn default() -> Self {
        Self::Reno(RenoConfig {})
    }
}

impl CongestionConfig {
    /// Whether every acknowledgement is measured before it moves the window.
    pub(super) fn measures(&self) -> bool {
        !matches!(self, Self::Reno(_) | Self::Bbr(_) | Self::Bbr3(_))
    }

    /// Whether it needs marks to know of a queue.
    #[must_use]
    pub fn needs_ecn(&self) -> bool {
        matches!(self, Self::Dctcp(_) | Self::Prague(_))
    }

    /// Whether the receiver echoes each mark, and every packet may be marked (RFC 8257).
    #[must_use]
    pub fn needs_exact_echo(&self) -> bool {
        matches!(self, Self::Dctcp(_) | Self::Prague(_) | Self::Bbr3(_))
    }

    /// Whether the receiver counts marks (RFC 9768), and packets are ECT(1) (RFC 9331).
    #[must_use]
    pub fn counts_marks(&self) -> bool {
        matches!(self, Self::Prague(_))
    }

    /// Whether it sets window and pace itself, by samples of the rate.
    #[must_use]
    pub fn steers(&self) -> bool {
        matches!(self, Self::Bbr(_) | Self::Bbr3(_))
    }
}
