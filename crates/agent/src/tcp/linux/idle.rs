//! An application that writes and pauses, and what its pauses do to the window.
//!
//! Source: Linux 6.1 (`tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`, `tcp_cwnd_validate`,
//! `tcp_cwnd_application_limited`, `tcp_rate_check_app_limited`). Differs: each write ends with a segment of
//! its own, as with TCP_NODELAY where nothing waits.

use super::timer::TICK_NS;
use super::{Phase, Sender};
use crate::tcp::application::{AfterIdle, Application};
use crate::tcp::TcpConfig;
use trunkline_units::Time;

impl Sender {
    /// Data come by [`Sender::write`]; the first are `bytes`.
    pub fn accept_writes(&mut self, config: &TcpConfig, bytes: u64) {
        self.application = Some(Box::new(Application::new(config)));
        self.add_write(bytes);
    }

    fn add_write(&mut self, bytes: u64) {
        let Some(application) = self.application.as_mut() else { return };
        application.ends.forget_below(self.una);
        self.end = application.ends.add(bytes);
        self.writer.extend(self.end);
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64, now: Time) {
        if self.application.as_ref().is_some_and(|application| !application.started) {
            return self.add_write(bytes);
        }
        if self.next >= self.end {
            self.note_application_limit();
        }
        self.restart_after_idle(now);
        self.add_write(bytes);
        self.send_and_write(now);
    }

    /// The application writes when nothing waits to be sent (`tcp_rate_check_app_limited`).
    pub(super) fn note_application_limit(&mut self) {
        let in_flight = self.queue.in_flight();
        let repaired = self.queue.lost <= self.queue.resent_count;
        if let Some(pace) = self.pace.as_mut().filter(|_| repaired) {
            pace.limit_by_application(in_flight, self.window.cwnd);
        }
    }

    /// The window falls by half for each timeout without sending, to the first window.
    fn restart_after_idle(&mut self, now: Time) {
        let threshold = self.current_ssthresh();
        let Some(application) = self.application.as_mut() else { return };
        let restarts = application.after_idle == AfterIdle::Restart && !self.control.steers();
        if !restarts || self.queue.len() > 0 || self.next == 0 {
            return;
        }
        let rto = self.estimator.rto() as i64;
        let mut idle = (now / TICK_NS) as i64 - (self.sent_at / TICK_NS) as i64;
        if idle <= rto {
            return;
        }
        let mut cwnd = self.window.cwnd as u32;
        let least = cwnd.min(application.initial_window as u32);
        idle -= rto;
        while idle > 0 && cwnd > least {
            cwnd >>= 1;
            idle -= rto;
        }
        self.window.ssthresh = threshold;
        self.window.cwnd = f64::from(cwnd.max(least));
        application.unfilled_since = now;
        application.most_out = 0;
    }

    /// Something was sent, or the window is full: a window that the application has not filled for a
    /// timeout falls half way to what it used.
    #[cold]
    pub(super) fn validate_use(&mut self, full: bool, now: Time) {
        let (threshold, out) = (self.current_ssthresh(), self.queue.len());
        let rto = self.estimator.rto();
        let Some(application) = self.application.as_mut() else { return };
        if full {
            (application.most_out, application.unfilled_since) = (0, now);
            return;
        }
        application.most_out = application.most_out.max(out);
        let late = now / TICK_NS >= application.unfilled_since / TICK_NS + rto;
        let restarts = application.after_idle == AfterIdle::Restart && !self.control.steers();
        if !restarts || !late {
            return;
        }
        let used = application.most_out.max(application.initial_window as u32);
        let cwnd = self.window.cwnd as u32;
        if self.phase == Phase::Open && used < cwnd && !self.writer.is_full() {
            self.window.ssthresh = threshold;
            self.window.cwnd = f64::from((cwnd + used) / 2);
        }
        (application.most_out, application.unfilled_since) = (0, now);
    }

    /// IP datagram of a segment [B].
    pub(super) fn datagram_bytes(&mut self, seq: u32) -> u16 {
        match (self.sizes.full_bytes(seq), &self.application) {
            (_, Some(application)) => application.datagram_bytes(seq),
            (Some(bytes), None) => bytes,
            (None, None) => self.sizes.last_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::tests::plain;

    /// Linux 6.1, `tcp_slow_start_after_idle_check` and `tcp_cwnd_restart`: more than a timeout after the last
    /// segment the window falls by half, and again for each timeout, to the first window; not while something
    /// is outstanding, before the first segment, or where pauses do nothing.
    #[test]
    fn tcp_cwnd_restart_halves_for_each_timeout_while_nothing_is_outstanding() {
        for (timeouts, outstanding, next, after_idle, cwnd) in [
            (1, 0, 5, AfterIdle::Restart, 80.0),
            (3, 0, 5, AfterIdle::Restart, 20.0),
            (9, 0, 5, AfterIdle::Restart, 10.0),
            (9, 1, 5, AfterIdle::Restart, 80.0),
            (9, 0, 0, AfterIdle::Restart, 80.0),
            (9, 0, 5, AfterIdle::Keep, 80.0),
        ] {
            let config = TcpConfig { linux: true, after_idle, ..plain() };
            let mut sender = Sender::new(&config);
            sender.application = Some(Box::new(Application::new(&config)));
            // Long after the start a tick is as long as at it.
            let sent_at = 1_000_000 * TICK_NS;
            (sender.next, sender.sent_at, sender.window.cwnd) = (next, sent_at, 80.0);
            (0..outstanding).for_each(|_| sender.queue.push(0));
            let rto = sender.estimator.rto();
            sender.restart_after_idle(sent_at + timeouts * rto * TICK_NS);
            assert_eq!(sender.window.cwnd, cwnd, "{timeouts} {outstanding} {next} {after_idle:?}");
        }
    }
}
