//! Detectors: detection of a link failure by the node at its far end.
//!
//! Source: RFC 5880 section 6.8.4 (detection time), 6.8.7 (jitter); RFC 3209 section 5 (hello).
//! The packets of BFD and hello are not sent as traffic: each session computes when it sends, and which
//! packets its far end would have received. They are assumed to pass before all traffic and to be lost
//! with the link alone.
//! Absent: the three-way handshake that brings a BFD session up; a session counts as up again with the
//! first packet received.

use super::rerouting::LinkCondition;
use super::timeline::TimelineRow;
use super::{Recovery, RecoveryLink, RoutingReport, TimelineEvent};
use crate::clock::Clock;
use crate::data_plane::AnyDataPlane;
use crate::network::recovery::{Detection, Drain};
use crate::network::Network;
use std::collections::{BTreeSet, VecDeque};
use trunkline_units::{RandomStream, Span, Time, NEVER};

/// The receiver of a detector's notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetectionListener {
    /// A protection.
    Guard(u32),
    /// IP routing.
    Routing,
    /// The protocols of signalling.
    Control,
}

/// Detection of a link by one node.
#[derive(Clone, Debug)]
pub(crate) struct Detector {
    pub link: u32,
    /// Where it is.
    pub node: u32,
    pub listener: DetectionListener,
    session: DetectorState,
    pub known_down: bool,
    /// The link is drained: its repair is news although its failure may not be known.
    drained: bool,
    down_at: Time,
    up_at: Time,
    /// Notices in transit: when they arrive, and whether they report a failure.
    pub notices: VecDeque<(Time, bool)>,
}

#[derive(Clone, Debug)]
enum DetectorState {
    Timed { down: Span, up: Span },
    Hellos(Box<HelloTimes>),
}

/// Times at which a neighbour sends.
#[derive(Clone, Debug)]
struct HelloTimes {
    interval: Span,
    /// Maximum jitter of an interval, and its constant part [ns].
    jitter: Span,
    less: Span,
    /// From the last packet before a failure to the end of the timer that it started [ns].
    wait: i64,
    delay: Span,
    random: RandomStream,
    /// Last time of sending considered, and the one after it. Before the run, times are negative.
    previous: i64,
    next: i64,
}

impl HelloTimes {
    fn new(detection: Detection, link: &str, delay: Span, seed: u64) -> Option<Self> {
        let (interval, timeout, jitter, less) = match detection {
            // RFC 5880 section 6.8.7: an interval is reduced by up to 25 %; with a multiplier of 1
            // it is no more than 90 % and no less than 75 %.
            Detection::Bfd { interval_ns, multiplier: 1 } => {
                let jitter = u128::from(interval_ns) * 15 / 100;
                (interval_ns, interval_ns, jitter as Span, interval_ns.div_ceil(10))
            }
            Detection::Bfd { interval_ns, multiplier } => {
                let silence = interval_ns.saturating_mul(u64::from(multiplier));
                (interval_ns, silence, interval_ns / 4, 0)
            }
            Detection::Hello { interval_ns, timeout_ns } => (interval_ns, timeout_ns, 0, 0),
            Detection::Fixed { .. } | Detection::LossOfSignal { .. } => return None,
        };
        let mut random = RandomStream::new(seed, &format!("links[{link}]"), "hello");
        let next = random.below(interval) as i64;
        let previous = next - interval as i64;
        let wait = i64::try_from(delay.saturating_add(timeout)).unwrap_or(i64::MAX);
        Some(Self { interval, jitter, less, wait, delay, random, previous, next })
    }

    fn step(&mut self) {
        self.previous = self.next;
        let gap = self.interval - self.less - self.random.below(self.jitter + 1);
        self.next += gap.max(1) as i64;
    }

    /// When the timer runs out that the last packet received by `now` started.
    fn runs_out_at(&mut self, now: Time) -> Time {
        while self.next + self.delay as i64 <= now as i64 {
            self.step();
        }
        self.previous.saturating_add(self.wait).max(now as i64) as Time
    }

    /// When the first packet sent at `now` or later arrives.
    fn heard_at(&mut self, now: Time) -> Time {
        while self.next < now as i64 {
            self.step();
        }
        (self.next + self.delay as i64) as Time
    }
}

impl Detector {
    fn new(
        network: &Network,
        detection: Detection,
        place: (u32, u32),
        listener: DetectionListener,
        seed: u64,
    ) -> Self {
        let (link, node) = place;
        let line = &network.links[link as usize];
        let session = match detection {
            Detection::Fixed { delay_ns } => DetectorState::Timed { down: delay_ns, up: 0 },
            Detection::LossOfSignal { delay_ns } => {
                DetectorState::Timed { down: delay_ns, up: delay_ns }
            }
            Detection::Bfd { .. } | Detection::Hello { .. } => {
                match HelloTimes::new(detection, &line.name, line.delay_ns, seed) {
                    Some(hellos) => DetectorState::Hellos(Box::new(hellos)),
                    None => DetectorState::Timed { down: 0, up: 0 },
                }
            }
        };
        let (down_at, up_at) = (NEVER, NEVER);
        let notices = VecDeque::new();
        Self {
            link,
            node,
            listener,
            session,
            known_down: false,
            drained: false,
            down_at,
            up_at,
            notices,
        }
    }

    fn on_failed(&mut self, now: Time) {
        self.up_at = NEVER;
        if self.known_down || self.down_at != NEVER {
            return;
        }
        self.down_at = match &mut self.session {
            DetectorState::Timed { down, .. } => now + *down,
            DetectorState::Hellos(hellos) => hellos.runs_out_at(now),
        };
    }

    fn on_repaired(&mut self, now: Time) {
        match &mut self.session {
            DetectorState::Timed { up, .. } => {
                // A failure shorter than the time of detection was none.
                self.down_at = NEVER;
                self.up_at = if self.known_down || self.drained { now + *up } else { NEVER };
            }
            // A packet that arrives before the timer runs out stops it: seen when it arrives.
            DetectorState::Hellos(hellos) => self.up_at = hellos.heard_at(now),
        }
    }

    fn due(&self) -> Time {
        self.down_at.min(self.up_at)
    }

    /// Detection at `now`: a failure (`true`) or a repair, or no change.
    fn notice(&mut self, now: Time) -> Option<bool> {
        if self.up_at <= now {
            self.up_at = NEVER;
            self.down_at = NEVER;
            let was_drained = std::mem::take(&mut self.drained);
            return (std::mem::take(&mut self.known_down) || was_drained).then_some(false);
        }
        if self.down_at <= now {
            self.down_at = NEVER;
            self.known_down = true;
            return Some(true);
        }
        None
    }
}

/// The detectors of a run: for each protection those of the links it watches, at both ends of the
/// connection; for routing those of every link. Links that never fail need none.
pub(super) fn all_detectors(network: &Network, lines: &[RecoveryLink], seed: u64) -> Vec<Detector> {
    let config = &network.recovery;
    let failing: BTreeSet<u32> =
        config.failures.iter().flat_map(|failure| failure.links.iter().copied()).collect();
    let mut detectors = Vec::new();
    for (protection, index) in config.protections.iter().zip(0..) {
        let listener = DetectionListener::Guard(index);
        let mut add = |link: u32, node: u32| {
            if failing.contains(&link) {
                let place = (link, node);
                detectors.push(Detector::new(network, protection.detection, place, listener, seed));
            }
        };
        for &link in &protection.watches {
            let line = &lines[link as usize];
            if let Detection::Fixed { .. } = protection.detection {
                add(link, protection.node);
                continue;
            }
            add(link, line.to);
            // A node that no longer hears its neighbour takes both directions for failed.
            if let Some(reverse) = line.reverse {
                add(reverse, line.from);
            }
        }
    }
    if let Some(rerouting) = &config.rerouting {
        for &link in &failing {
            let line = &lines[link as usize];
            let fixed = matches!(rerouting.detection, Detection::Fixed { .. });
            let place = (link, if fixed { line.from } else { line.to });
            let detection = rerouting.detection;
            detectors.push(Detector::new(
                network,
                detection,
                place,
                DetectionListener::Routing,
                seed,
            ));
        }
    }
    if let Some(signalling) = &network.signalling {
        for &link in &failing {
            let place = (link, lines[link as usize].to);
            let detection = signalling.detection;
            detectors.push(Detector::new(
                network,
                detection,
                place,
                DetectionListener::Control,
                seed,
            ));
        }
    }
    detectors
}

impl Recovery {
    /// A link has gone down or come up: its detectors start to notice.
    pub(super) fn link_changed(&mut self, clock: &mut Clock, link: u32, down: bool) {
        let first = self.parts.detectors;
        for index in 0..self.detectors.len() {
            let detector = &mut self.detectors[index];
            if detector.link != link {
                continue;
            }
            if down {
                detector.on_failed(clock.now);
            } else {
                detector.on_repaired(clock.now);
            }
            let due = detector.due();
            clock.schedule_recovery(first + index as u32, due);
        }
    }

    /// Those who would detect the failure of a link know of its drain at once.
    pub(super) fn drain_link(&mut self, plane: &mut AnyDataPlane, link: u32, drain: Drain) {
        self.lines[link as usize].is_drained = drain.by_switch;
        for index in 0..self.detectors.len() {
            let detector = &mut self.detectors[index];
            if detector.link != link {
                continue;
            }
            match detector.listener {
                DetectionListener::Guard(guard) if drain.by_switch => {
                    detector.known_down = true;
                    self.notify(&mut plane.clock, index, guard, true);
                }
                DetectionListener::Routing if drain.by_metric => {
                    detector.drained = true;
                    let node = detector.node;
                    self.flood(&mut plane.clock, link, node, LinkCondition::Drained);
                }
                _ => {}
            }
        }
        if drain.by_metric {
            self.reports.push(RoutingReport::Drain { link, is_drained: true });
        }
    }

    /// A detector's time is due.
    pub(super) fn detect(&mut self, plane: &mut AnyDataPlane, index: usize) {
        let now = plane.clock.now;
        let detector = &mut self.detectors[index];
        let noticed = detector.notice(now);
        let due = detector.due();
        let (link, node, listener) = (detector.link, detector.node, detector.listener);
        plane.clock.schedule_recovery(self.parts.detectors + index as u32, due);
        let Some(down) = noticed else { return };
        let moment = if down { TimelineEvent::Detected } else { TimelineEvent::RepairDetected };
        let protection = match listener {
            DetectionListener::Guard(guard) => Some(guard),
            DetectionListener::Routing | DetectionListener::Control => None,
        };
        self.timeline.rows.push(TimelineRow {
            at: now,
            moment,
            protection,
            link: Some(link),
            node: Some(node),
        });
        if protection.is_none() {
            self.judge_static_routes(plane, node, link, down);
        }
        match listener {
            DetectionListener::Guard(guard) => self.notify(&mut plane.clock, index, guard, down),
            DetectionListener::Routing => {
                let condition = if down { LinkCondition::Down } else { LinkCondition::Up };
                self.flood(&mut plane.clock, link, node, condition);
            }
            DetectionListener::Control => {
                self.reports.push(RoutingReport::LinkChange { node, link, down })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hellos(detection: Detection, seed: u64) -> HelloTimes {
        HelloTimes::new(detection, "a->b", 2_000_000, seed).expect("a session of hellos")
    }

    mod rfc5880 {
        use super::*;

        /// 10 ms x 3. The last packet arrived at most one interval before the failure, so the timer runs
        /// out between 20 and 30 ms after it, whatever the phase.
        #[test]
        fn s6_8_4_the_timer_runs_out_within_one_interval_below_the_detection_time() {
            let detection = Detection::Bfd { interval_ns: 10_000_000, multiplier: 3 };
            let (mut least, mut most) = (Time::MAX, 0);
            for seed in 0..500 {
                let failed_at = 1_000_000_000;
                let waited = hellos(detection, seed).runs_out_at(failed_at) - failed_at;
                assert!((20_000_000..=30_000_000).contains(&waited), "{waited}");
                (least, most) = (least.min(waited), most.max(waited));
            }
            assert!(least < 20_500_000 && most > 29_500_000, "{least}..{most} fills the range");
        }

        #[test]
        fn s6_8_7_gaps_are_75_to_100_percent_and_75_to_90_percent_with_a_multiplier_of_1() {
            for (multiplier, most) in [(3, 10_000_000), (1, 9_000_000)] {
                let detection = Detection::Bfd { interval_ns: 10_000_000, multiplier };
                let mut session = hellos(detection, 7);
                session.step();
                let mut sum = 0;
                for _ in 0..2000 {
                    session.step();
                    let gap = session.next - session.previous;
                    assert!((7_500_000..=most).contains(&gap), "{gap}");
                    sum += gap;
                }
                // Uniform: the mean is the middle; 2000 draws of a width w err by w / 155.
                let middle = (7_500_000 + most) / 2;
                assert!((sum / 2000 - middle).abs() < (most - 7_500_000) / 40, "{sum}");
            }
        }
    }

    mod rfc3209 {
        use super::*;

        /// 5 ms and 3.5 intervals = 17.5 ms of silence: 12.5 to 17.5 ms after the failure.
        #[test]
        fn s5_3_a_neighbour_is_lost_after_three_and_a_half_silent_intervals() {
            let detection = Detection::Hello { interval_ns: 5_000_000, timeout_ns: 17_500_000 };
            for seed in 0..200 {
                let mut session = hellos(detection, seed);
                let waited = session.runs_out_at(777_777_777) - 777_777_777;
                assert!((12_500_000..=17_500_000).contains(&waited), "{waited}");
            }
        }
    }
}
