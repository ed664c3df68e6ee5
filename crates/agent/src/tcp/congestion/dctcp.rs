//! DCTCP: a mark reduces the window in proportion to the share of marked segments.
//!
//! Source: RFC 8257 sections 3.3 to 3.5, with g 1/16 and alpha 1 at first; under `linux` in the kernel's integers (Linux
//! 6.1.192, `dctcp_update_alpha`, `dctcp_ssthresh`, `dctcp_react_to_loss`): alpha in 1024ths, 0 below 16. A loss halves.
//! The share is of segments acknowledged, not of bytes; the receiver's part is in `receiver.rs`.

use super::{Congestion, ConnectionView, Growth, ReductionCause, Window};
use crate::tcp::TcpConfig;
use serde::{Deserialize, Serialize};

/// DCTCP has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DctcpConfig {}

/// Section 4.2: g, the weight of a window's share.
const GAIN: f64 = 1.0 / 16.0;
const GAIN_SHIFT: u32 = 4;
const ALPHA_ONE: u32 = 1024;

#[derive(Clone, Debug)]
pub(in crate::tcp) struct Dctcp {
    alpha: f64,      // integer 1024ths under Linux
    window_end: u32, // a window has been acknowledged when this is
    acked: u32,      // of this window
    acked_marked: u32,
}

impl Dctcp {
    pub(super) fn new(_config: &DctcpConfig, _tcp: &TcpConfig) -> Self {
        Self { alpha: 1.0, window_end: 0, acked: 0, acked_marked: 0 }
    }

    fn update(&mut self, growth: Growth) {
        if growth == Growth::Linux {
            let alpha = (self.alpha * f64::from(ALPHA_ONE)) as u32;
            let reduced_alpha = match alpha >> GAIN_SHIFT {
                0 => 0,
                part => alpha - part,
            };
            let share = (self.acked_marked << (10 - GAIN_SHIFT)) / self.acked.max(1);
            self.alpha = f64::from(reduced_alpha + share) / f64::from(ALPHA_ONE);
        // one at most
        } else if self.acked > 0 {
            let share = f64::from(self.acked_marked) / f64::from(self.acked);
            self.alpha += GAIN * (share - self.alpha);
        }
        (self.acked, self.acked_marked) = (0, 0);
    }
}

impl Congestion for Dctcp {
    /// Section 3.3 counts an acknowledgement before it may end a window of data, as the kernel does
    /// (`tcp_in_ack_event` after `tcp_clean_rtx_queue`; in 6.1 itself it came first).
    fn on_measured_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        self.acked += view.acked;
        self.acked_marked += if view.echo { view.acked } else { 0 };
        // The acknowledged segment lies beyond the window's end; the kernel begins the next
        // window there.
        let linux = window.growth == Growth::Linux;
        if view.una > self.window_end || (linux && view.una == self.window_end) {
            self.update(window.growth);
            self.window_end = view.next;
        }
    }

    fn on_new_ack(&mut self, window: &mut Window, view: &ConnectionView) {
        let left = window.start_slowly(f64::from(view.acked));
        if left > 0.0 {
            window.open(left, window.cwnd);
        }
    }

    fn reduce_window(&mut self, window: &Window, size: f64, cause: ReductionCause) -> f64 {
        match cause {
            // A loss as well, a probe's answer among them; see `on_recovery_start`.
            ReductionCause::Mark | ReductionCause::Loss if window.growth == Growth::Linux => {
                let alpha = (self.alpha * f64::from(ALPHA_ONE)) as u64;
                let cwnd = window.cwnd as u64;
                (cwnd - ((cwnd * alpha) >> 11)) as f64
            }
            ReductionCause::Mark => size * (1.0 - self.alpha / 2.0),
            ReductionCause::Loss | ReductionCause::Timeout => size / 2.0,
        }
    }

    /// Also where marks reduce the window already (`dctcp_state`).
    fn on_recovery_start(&mut self, window: &mut Window) {
        window.ssthresh = (window.cwnd / 2.0).trunc().max(2.0);
    }
}

#[cfg(test)]
mod rfc8257 {
    use super::*;

    fn window(growth: Growth) -> Window {
        Window { cwnd: 100.0, ssthresh: 50.0, cap: 1000, credit: 0, growth }
    }

    fn all_marked(growth: Growth, alpha: f64, windows: u32) -> Vec<f64> {
        let mut dctcp = Dctcp { alpha, window_end: 0, acked: 0, acked_marked: 0 };
        (0..windows)
            .map(|each| {
                let view = ConnectionView {
                    una: 10 * each + 1,
                    next: 10 * (each + 1),
                    acked: 10,
                    echo: true,
                    ..ConnectionView::default()
                };
                dctcp.on_measured_ack(&mut window(growth), &view);
                dctcp.alpha
            })
            .collect()
    }

    /// All marked, from 0: 1 - (15/16)^n = 0.0625, 0.121094, 0.176025, 0.227523.
    #[test]
    fn s3_3_alpha_is_a_mean_with_weight_a_sixteenth() {
        let seen = all_marked(Growth::Segments, 0.0, 4);
        for (alpha, expected) in seen.iter().zip([0.0625, 0.121_094, 0.176_025, 0.227_523]) {
            assert!((alpha - expected).abs() < 1e-6, "{seen:?}");
        }
    }

    /// In 1024ths, each step less a sixteenth rounded down and 64 more: 64, 124, 181, 234, 284.
    #[test]
    fn linux_alpha_in_integer_1024ths() {
        let seen: Vec<f64> = all_marked(Growth::Linux, 0.0, 5).iter().map(|a| a * 1024.0).collect();
        assert_eq!(seen, [64.0, 124.0, 181.0, 234.0, 284.0]);
    }

    /// A recorded start of the kernel (6.1.192, `TCP_CC_INFO`): ten segments sent, the first acknowledged without a
    /// mark, 960 of 1024; the nine others one by one, all marked: 960 - 60 + 64 * 9 / 9 = 964. Then three of eight,
    /// the last two in the acknowledgement that ends the window: 964 - 60 + 64 * 3 / 8 = 928.
    #[test]
    fn linux_the_acknowledgement_that_ends_a_window_counts_in_it() {
        let mut dctcp = Dctcp { alpha: 1.0, window_end: 0, acked: 0, acked_marked: 0 };
        let mut alpha = vec![];
        let singly = (1..=10).map(|una| (una, 1, una > 1));
        let then = [(11, 1, false), (12, 1, true), (13, 1, true), (14, 1, true)];
        let last = [(15, 1, false), (16, 1, false), (18, 2, false)];
        for (una, acked, echo) in singly.chain(then).chain(last) {
            let next = if una == 1 { 10 } else { 17 };
            let view = ConnectionView { una, next, acked, echo, ..ConnectionView::default() };
            dctcp.on_measured_ack(&mut window(Growth::Linux), &view);
            alpha.push((dctcp.alpha * 1024.0) as u32);
        }
        alpha.dedup();
        assert_eq!(alpha, [960, 964, 928]);
    }

    /// Nine unmarked and one marked, which ends the window: 1 - 1/16 + 0.1 / 16 = 0.94375.
    #[test]
    fn s3_3_the_acknowledgement_that_ends_a_window_counts_in_it() {
        let mut dctcp = Dctcp { alpha: 1.0, window_end: 9, acked: 0, acked_marked: 0 };
        for una in 1..=10 {
            let view = ConnectionView {
                una,
                next: 20,
                acked: 1,
                echo: una == 10,
                ..ConnectionView::default()
            };
            dctcp.on_measured_ack(&mut window(Growth::Segments), &view);
        }
        assert!((dctcp.alpha - 0.94375).abs() < 1e-12, "{}", dctcp.alpha);
    }

    /// alpha 1/4: 100 leave 87.5, in the kernel 100 - (100 * 256 >> 11) = 88; a loss leaves 50.
    #[test]
    fn s3_3_a_mark_takes_half_of_alpha_and_s3_5_a_loss_half() {
        for (growth, left) in [(Growth::Segments, 87.5), (Growth::Linux, 88.0)] {
            let mut dctcp = Dctcp { alpha: 0.25, window_end: 0, acked: 0, acked_marked: 0 };
            let mut window = window(growth);
            assert_eq!(dctcp.reduce_window(&window, 100.0, ReductionCause::Mark), left);
            let after_loss = dctcp.reduce_window(&window, 100.0, ReductionCause::Loss);
            dctcp.on_recovery_start(&mut window);
            let is_linux = growth == Growth::Linux;
            assert_eq!(if is_linux { window.ssthresh } else { after_loss }, 50.0);
        }
    }

    /// No mark for a long time: below 16 1024ths alpha is 0 (`min_not_zero`).
    #[test]
    fn linux_a_small_alpha_vanishes() {
        let mut dctcp = Dctcp { alpha: 15.0 / 1024.0, window_end: 0, acked: 5, acked_marked: 0 };
        dctcp.update(Growth::Linux);
        assert_eq!(dctcp.alpha, 0.0);
    }

    /// `dctcp_update_alpha` in 1024ths: from 1024 a sixteenth, 64, off, and the share of marks in 64ths: none of 64
    /// marked 960, all 1024, half 992.
    #[test]
    fn linux_dctcp_update_alpha_in_1024ths() {
        for (acked_marked, alpha) in [(0, 960.0), (64, 1024.0), (32, 992.0), (1, 961.0)] {
            let mut dctcp = Dctcp { alpha: 1.0, window_end: 0, acked: 64, acked_marked };
            dctcp.update(Growth::Linux);
            assert_eq!(dctcp.alpha, alpha / 1024.0, "{acked_marked}");
        }
    }

    /// `dctcp_ssthresh`: with all marked, alpha 1024 of 1024, half of any window is left.
    #[test]
    fn linux_dctcp_ssthresh_all_marked_leaves_half() {
        let mut dctcp = Dctcp { alpha: 1.0, window_end: 0, acked: 0, acked_marked: 0 };
        let window = Window { cwnd: 4096.0, ..window(Growth::Linux) };
        assert_eq!(dctcp.reduce_window(&window, 4096.0, ReductionCause::Mark), 2048.0);
    }
}
