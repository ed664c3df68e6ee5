//! Congestion control: how a window opens, how much of it a loss or a mark leaves. Loss recovery, in
//! `rfc/` and `linux/`, finds the losses and asks here.
//!
//! A control is one file with one type, and one line in [`controls!`]. Both stacks ask it; their
//! arithmetics differ, and [`Window`] has both.

use serde::{Deserialize, Serialize};
use trunkline_units::Time;

mod reno;
mod window;

pub use reno::RenoConfig;
pub(super) use window::{Growth, Window};

/// Why a window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Duplicate or selective acknowledgements told of a loss.
    Loss,
    /// An ECN-Echo (RFC 3168 section 6.1.2).
    Mark,
    /// The retransmission timer ran out.
    Timeout,
}

/// What a control sees of its connection, its window apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Now; for controls that grow with time, which Reno does not.
    #[allow(dead_code)]
    pub now: Time,
    /// Segments that the acknowledgement delivered.
    pub acked: u32,
}

/// A control of congestion.
pub(super) trait Congestion {
    /// New data were acknowledged and nothing is being repaired: the window may open.
    fn acknowledged(&mut self, window: &mut Window, view: &View);
    /// What is left of `size` segments, a window or a flight [segments].
    fn reduced(&mut self, window: &Window, size: f64, cause: Cause) -> f64;
    /// The last reduction was needless; before it the window was `prior` [segments].
    fn undone(&mut self, window: &mut Window, prior: f64) {
        window.cwnd = window.cwnd.max(prior);
    }
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
            pub(super) fn new(config: &CongestionConfig) -> Self {
                match config {
                    $(CongestionConfig::$variant(config) => {
                        Self::$variant(Box::new(<$control>::new(config)))
                    }),+
                }
            }

            /// See [`Congestion::acknowledged`]; `view` is looked at by those who need it.
            #[inline]
            pub(super) fn acknowledged(&mut self, window: &mut Window, view: impl FnOnce() -> View) {
                match self { $(Self::$variant(control) => control.acknowledged(window, &view())),+ }
            }

            /// See [`Congestion::reduced`].
            pub(super) fn reduced(&mut self, window: &Window, size: f64, cause: Cause) -> f64 {
                match self { $(Self::$variant(control) => control.reduced(window, size, cause)),+ }
            }

            /// See [`Congestion::undone`].
            pub(super) fn undone(&mut self, window: &mut Window, prior: f64) {
                match self { $(Self::$variant(control) => control.undone(window, prior)),+ }
            }
        }
    };
}

controls! {
    /// RFC 5681: one segment more a round trip, half of it after a loss.
    Reno(reno::Reno, RenoConfig),
}

impl Default for CongestionConfig {
    fn default() -> Self {
        Self::Reno(RenoConfig {})
    }
}
