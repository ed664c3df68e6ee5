//! The window of an application that pauses.
//!
//! Source: RFC 5681 section 4.1, RFC 9438 section 5.8, RFC 7661 sections 4.3 and 4.4; `application.rs`.

use super::{Phase, Sender};
use crate::tcp::application::{AfterIdle, Application};
use crate::tcp::congestion::CongestionConfig;
use crate::tcp::{Ack, TcpConfig};
use trunkline_units::{RandomStream, Span, Time, SECOND};

/// RFC 7661 section 4.4: a window that is not used is kept for five minutes.
const KEPT_FOR: Span = 300 * SECOND;

impl Sender {
    /// Data come by [`Sender::write`]; the first are `bytes`.
    pub fn accept_writes(&mut self, config: &TcpConfig, bytes: u64) {
        self.application = Some(Box::new(Application::new(config)));
        self.add_write(bytes);
        // Each acknowledgement shows whether the application used the window.
        self.measures = true;
        self.grows_by_use = matches!(config.congestion, CongestionConfig::Cubic(_));
    }

    /// The application writes. Poll [`Sender::next_segment`] after it.
    pub fn write(&mut self, bytes: u64, now: Time, random: &mut RandomStream) {
        if self.application.as_ref().is_some_and(|application| !application.started) {
            return self.add_write(bytes);
        }
        let waits = self.next < self.end;
        let (in_flight, window) = (self.in_flight(), self.window.cwnd);
        if let Some(pace) = self.pace.as_mut().filter(|_| !waits) {
            pace.limit_by_application(in_flight, window);
        }
        if self.una == self.max {
            self.resume(now);
        }
        self.add_write(bytes);
        self.plan_sends(now, random);
    }

    fn add_write(&mut self, bytes: u64) {
        let Some(application) = self.application.as_mut() else { return };
        application.ends.forget_below(self.una);
        self.end = application.ends.add(bytes);
        self.sizes.total = application.ends.first().unwrap_or(u32::MAX);
    }

    /// The connection is open.
    pub(super) fn start_application(&mut self, now: Time) {
        if let Some(application) = self.application.as_mut() {
            (application.started, application.paused_to) = (true, now);
        }
    }

    /// Nothing is outstanding.
    fn resume(&mut self, now: Time) {
        self.validate(now);
        let Some(application) = self.application.as_mut() else { return };
        let Some(sent_at) = application.sent_at else { return };
        let idle = now - std::mem::replace(&mut application.paused_to, now);
        self.control.on_resume(idle, now);
        let restarts = application.after_idle == AfterIdle::Restart && !self.control.steers();
        if restarts && now - sent_at > self.rto.current() {
            self.window.cwnd = self.window.cwnd.min(application.initial_window);
        }
    }

    /// RFC 7661 section 4.3: validated is a window of which half was used. Section 4.4.3: one that was not for five
    /// minutes is halved.
    fn validate(&mut self, now: Time) {
        let srtt = self.rto.srtt().unwrap_or(0.0) as Span;
        let Some(application) = self.application.as_mut() else { return };
        if application.after_idle != AfterIdle::Validate {
            return;
        }
        let window = &mut self.window;
        let used = application.usage.acked_in_round_trip(srtt, now);
        application.used = used;
        if used.is_none_or(|used| used >= window.cwnd / 2.0) {
            application.unvalidated_since = None;
            return;
        }
        let since = *application.unvalidated_since.get_or_insert(now);
        if now - since > KEPT_FOR {
            window.ssthresh = window.ssthresh.max(0.75 * window.cwnd);
            window.cwnd = (window.cwnd / 2.0).max(application.initial_window);
            application.unvalidated_since = Some(now);
        }
    }

    /// RFC 7661 section 4.4.2: a loss reduces what was used of a window that is not validated.
    pub(super) fn used_window(&mut self, size: f64) -> f64 {
        let flight = f64::from(self.max - self.una);
        let Some(application) = self.application.as_mut() else { return size };
        if application.unvalidated_since.is_none() {
            return size;
        }
        application.usage.forget();
        size.min(application.used.map_or(size, |used| used.max(flight)))
    }

    /// Whether the window must not grow: RFC 7661 section 4.4.1, or that of CUBIC (RFC 9438 section 5.8).
    fn holds_growth(&self) -> bool {
        let Some(application) = self.application.as_ref() else { return false };
        if application.after_idle == AfterIdle::Validate {
            return application.unvalidated_since.is_some();
        }
        self.grows_by_use && self.next >= self.end && self.max - self.una < self.window.cwnd as u32
    }

    /// An acknowledgement for data that an application writes.
    pub(super) fn process_ack_of_writes(
        &mut self,
        ack: &Ack,
        now: Time,
        random: &mut RandomStream,
    ) {
        let srtt = self.rto.srtt().unwrap_or(0.0) as Span;
        let open = self.phase == Phase::Open;
        if let Some(application) = self.application.as_mut().filter(|_| open) {
            application.usage.on_ack(ack.ack, srtt, now);
        }
        self.validate(now);
        let held = (open && self.holds_growth()).then(|| (self.window, self.control.clone()));
        self.process_ack(ack, now, random);
        let Some(application) = self.application.as_mut() else { return };
        let since = now - std::mem::replace(&mut application.paused_to, now);
        let Some((window, control)) = held else { return };
        if self.phase == Phase::Open && self.window.cwnd >= window.cwnd {
            (self.window.cwnd, self.control) = (window.cwnd, control);
            self.control.on_resume(since, now);
            self.limit = self.window_end();
        }
    }

    /// Length of a segment that may end a write [B].
    #[cold]
    pub(super) fn last_bytes(&mut self, seq: u32, now: Time) -> u16 {
        let Some(application) = self.application.as_mut() else { return self.sizes.last_bytes() };
        if application.ends.is_end(seq) {
            application.sent_at = Some(now);
        }
        application.datagram_bytes(seq)
    }

    /// The end of a write is acknowledged: the next may be what is not full.
    #[cold]
    pub(super) fn pass_write(&mut self) -> bool {
        let Some(application) = self.application.as_mut() else { return false };
        application.ends.forget_below(self.una);
        self.sizes.total = application.ends.first().unwrap_or(u32::MAX);
        true
    }
}
