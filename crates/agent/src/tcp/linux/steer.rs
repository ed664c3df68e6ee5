//! Input of the congestion control from an acknowledgement.
//!
//! Source: Linux 6.1 (`tcp_clean_rtx_queue`: the round trip of the segment that was delivered last;
//! `tcp_cong_control`, `tcp_update_pacing_rate`).

use super::{AckSummary, Phase, Sender};
use crate::tcp::congestion::ConnectionView;
use crate::tcp::send_pace::AckContext;
use crate::tcp::Ack;
use trunkline_units::{RandomStream, Time};

impl Sender {
    /// Passes an acknowledgement to the control, with the round trip of the segment delivered last.
    #[cold]
    pub(super) fn measure(&mut self, acked: u32, summary: &AckSummary, now: Time) {
        let view = ConnectionView {
            now,
            acked,
            una: self.una,
            next: self.next,
            rtt: summary.trip.map(|us| us * 1_000),
            srtt: self.estimator.srtt().unwrap_or(0) * 1_000,
            echo: summary.echo,
        };
        self.control.on_measured_ack(&mut self.window, &view);
    }

    /// Window and pace of a control that steers, and the pace of others that have one.
    pub(super) fn apply_steering(&mut self, ack: &Ack, now: Time, random: &mut RandomStream) {
        let Some(pace) = self.pace.as_mut() else { return };
        let known = AckContext {
            now,
            srtt: self.estimator.srtt().unwrap_or(0) * 1_000,
            in_flight: self.queue.in_flight(),
            out: self.queue.len(),
            recovering: self.phase == Phase::Recovery,
            timed_out: self.phase == Phase::Loss,
        };
        let lost = &mut self.queue.found_lost;
        pace.update_after_ack(ack, &known, lost, (&mut self.control, &mut self.window), random);
    }
}
