//! Probes: reads counters and states in steps of time. A run without probes has no such events.

use crate::clock::Clock;
use crate::hosts::{FlowAgents, Hosts};
use crate::link::Port;
use crate::measurements::Measurements;
use crate::network::{self, Measure};
use crate::observer::Observer;
use trunkline_units::SECOND;

/// Probes of a run and their records.
#[derive(Clone, Debug, Default)]
pub struct ProbeSampler {
    /// None: another region has it.
    probes: Vec<Option<network::Probe>>,
    /// Value of each probe's counter at its last sample.
    last: Vec<u64>,
    /// Packets behind each mean at its last sample.
    last_count: Vec<u64>,
    /// Probe of each sample.
    pub probe: Vec<i64>,
    /// Time of each sample [ns].
    pub time: Vec<i64>,
    /// Value of each sample.
    pub value: Vec<f64>,
}

impl ProbeSampler {
    /// No records yet.
    #[must_use]
    pub fn new(probes: &[network::Probe]) -> Self {
        Self {
            probes: probes.iter().cloned().map(Some).collect(),
            last: vec![0; probes.len()],
            last_count: vec![0; probes.len()],
            ..Self::default()
        }
    }

    /// Adds the samples of another region.
    pub(crate) fn join(&mut self, part: &Self) {
        self.probe.extend(&part.probe);
        self.time.extend(&part.time);
        self.value.extend(&part.value);
    }

    /// Samples as one region would have taken them: by time, and by probe at one instant.
    pub(crate) fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.time.len()).collect();
        order.sort_unstable_by_key(|&row| (self.time[row], self.probe[row]));
        self.probe = order.iter().map(|&row| self.probe[row]).collect();
        self.time = order.iter().map(|&row| self.time[row]).collect();
        self.value = order.iter().map(|&row| self.value[row]).collect();
    }
}

/// Flow and probe of each that asks for the greatest delay, of which none is known.
pub(crate) fn watched_delays(probes: &[network::Probe]) -> Vec<(u32, u32, u64)> {
    let greatest = |(_, probe): &(u32, &network::Probe)| probe.measure == Measure::DelayMax;
    let watched = (0..).zip(probes).filter(greatest);
    watched.map(|(index, probe)| (probe.target, index, 0)).collect()
}

impl ProbeSampler {
    /// The node where a probe's counter or state is: a port's is its near end, a sender's its
    /// source, all else is counted where packets end.
    fn node_of<O: Observer>(hosts: &Hosts<O>, probe: &network::Probe) -> u32 {
        let target = probe.target as usize;
        match probe.measure {
            Measure::QueuePackets
            | Measure::QueueBytes
            | Measure::QueueAverage
            | Measure::Utilisation
            | Measure::Drops
            | Measure::Marks => hosts.plane.ports.from[target],
            Measure::Cwnd
            | Measure::Ssthresh
            | Measure::Srtt
            | Measure::Rtt
            | Measure::Rto
            | Measure::PacingRate
            | Measure::Inflight
            | Measure::State
            | Measure::Transfers => hosts.flows[target].src,
            Measure::Throughput | Measure::Goodput | Measure::Delay | Measure::DelayMax => {
                hosts.flows[target].dst
            }
        }
    }

    /// Schedules the first sample of each probe.
    pub(crate) fn arm(&self, clock: &mut Clock) {
        for (index, probe) in (0..).zip(&self.probes) {
            if let Some(probe) = probe {
                clock.schedule(clock.sources.probes + index, probe.step_ns);
            }
        }
    }

    /// Keeps the probes of some nodes only, before any is armed.
    pub(crate) fn keep_probes<O: Observer>(&mut self, hosts: &Hosts<O>, of: impl Fn(u32) -> bool) {
        for index in 0..self.probes.len() {
            let elsewhere = |probe: &network::Probe| !of(Self::node_of(hosts, probe));
            if self.probes[index].as_ref().is_some_and(elsewhere) {
                self.probes[index] = None;
            }
        }
    }

    /// Takes one sample and arms the next.
    pub(crate) fn sample<O: Observer>(&mut self, hosts: &mut Hosts<O>, index: u32) {
        let Some(probe) = self.probes[index as usize].clone() else { return };
        let value = self.read_probe(hosts, &probe, index as usize);
        self.probe.push(i64::from(index));
        self.time.push(hosts.plane.clock.now as i64);
        self.value.push(value);
        let clock = &mut hosts.plane.clock;
        clock.schedule(clock.sources.probes + index, clock.now + probe.step_ns);
    }

    /// Takes the samples that are due when the run ends.
    pub(crate) fn sample_last<O: Observer>(&mut self, hosts: &mut Hosts<O>) {
        for index in 0..self.probes.len() {
            let probe = self.probes[index].as_ref();
            if probe.is_some_and(|probe| hosts.plane.clock.now % probe.step_ns == 0) {
                self.sample(hosts, index as u32);
            }
        }
    }

    fn read_probe<O: Observer>(
        &mut self,
        hosts: &mut Hosts<O>,
        probe: &network::Probe,
        index: usize,
    ) -> f64 {
        let target = probe.target as usize;
        match probe.measure {
            Measure::Throughput => {
                let bytes = hosts.plane.measured.deliveries[target].totals.bytes;
                self.rate(index, 8 * bytes, probe.step_ns)
            }
            Measure::Goodput => {
                let bytes = hosts.goodput_bytes(target);
                self.rate(index, 8 * bytes, probe.step_ns)
            }
            Measure::Delay => self.mean_delay(&hosts.plane.measured, index, target),
            Measure::DelayMax => Self::max_delay(&mut hosts.plane.measured, index),
            Measure::Cwnd
            | Measure::Ssthresh
            | Measure::Srtt
            | Measure::Rtt
            | Measure::Rto
            | Measure::PacingRate
            | Measure::Inflight
            | Measure::State => Self::tcp_state(hosts, probe),
            Measure::Transfers => match hosts.flows[target].agents {
                FlowAgents::Transfers(workload) => hosts.workloads.open_in(workload) as f64,
                _ => f64::NAN,
            },
            Measure::QueuePackets | Measure::QueueBytes => {
                hosts.plane.drain_link(target);
                let link = &hosts.plane.ports.links[target];
                let backlog = match (&link.port, probe.class) {
                    _ if probe.precedence.is_some() => {
                        link.waiting_with_precedence(probe.class, probe.precedence)
                    }
                    (Port::Classful(port), Some(class)) => port.class_backlog(class),
                    _ => link.waiting(),
                };
                if probe.measure == Measure::QueuePackets {
                    f64::from(backlog.packets)
                } else {
                    backlog.bytes as f64
                }
            }
            Measure::QueueAverage => {
                let class = probe.class.unwrap_or(0);
                hosts.plane.ports.links[target].average(class, probe.precedence).unwrap_or(f64::NAN)
            }
            Measure::Utilisation => {
                let (_, bytes) = hosts.plane.departed(target);
                let rate = self.rate(index, 8 * bytes, probe.step_ns);
                rate / hosts.plane.ports.capacity[target] as f64
            }
            Measure::Drops => {
                let dropped = hosts.plane.dropped_at(target);
                self.rate(index, dropped, probe.step_ns)
            }
            Measure::Marks => {
                let marked = hosts.plane.measured.marks.of_link(probe.target);
                self.rate(index, marked, probe.step_ns)
            }
        }
    }

    /// The counters of links and delays restart from zero now: keeps the current step complete.
    pub(crate) fn rebase<O: Observer>(&mut self, hosts: &mut Hosts<O>) {
        for index in 0..self.probes.len() {
            let Some(probe) = &self.probes[index] else { continue };
            let target = probe.target as usize;
            let counter = match probe.measure {
                Measure::Utilisation => 8 * hosts.plane.departed(target).1,
                Measure::Drops => hosts.plane.dropped_at(target),
                Measure::Marks => hosts.plane.measured.marks.of_link(probe.target),
                Measure::Delay => {
                    let count = hosts.plane.measured.deliveries[target].delays.count;
                    let last = &mut self.last_count[index];
                    *last = last.wrapping_sub(count);
                    hosts.plane.measured.deliveries[target].delays.sum
                }
                _ => continue,
            };
            self.last[index] = self.last[index].wrapping_sub(counter);
        }
    }

    /// Mean rate of a growing counter over the step that ends now [1/s].
    fn rate(&mut self, index: usize, counter: u64, step: u64) -> f64 {
        let before = std::mem::replace(&mut self.last[index], counter);
        counter.wrapping_sub(before) as f64 * SECOND as f64 / step as f64
    }

    /// Mean one-way delay of the packets delivered in the step that ends now [s].
    fn mean_delay(&mut self, measured: &Measurements, index: usize, flow: usize) -> f64 {
        let delay = &measured.deliveries[flow].delays;
        let sum = delay.sum.wrapping_sub(std::mem::replace(&mut self.last[index], delay.sum));
        let last_count = std::mem::replace(&mut self.last_count[index], delay.count);
        sum as f64 / delay.count.wrapping_sub(last_count) as f64 / SECOND as f64
    }

    /// Greatest one-way delay in the step that ends now [s].
    fn max_delay(measured: &mut Measurements, index: usize) -> f64 {
        let mut watched = measured.watched_delays.iter_mut();
        let Some((.., max)) = watched.find(|(_, probe, _)| *probe as usize == index) else {
            return f64::NAN;
        };
        match std::mem::take(max) {
            0 => f64::NAN,
            delay => delay as f64 / SECOND as f64,
        }
    }

    fn tcp_state<O: Observer>(hosts: &Hosts<O>, probe: &network::Probe) -> f64 {
        let agent = match hosts.flows[probe.target as usize].agents {
            FlowAgents::Tcp(agent) => Some(agent as usize),
            // The one connection that is kept, once it is open.
            FlowAgents::Transfers(workload) => hosts.agents_of(workload).next(),
            _ => None,
        };
        let Some(sender) = agent.map(|agent| &hosts.senders[agent]) else { return f64::NAN };
        match probe.measure {
            Measure::Cwnd => sender.cwnd(),
            Measure::Ssthresh => sender.ssthresh(),
            Measure::State => f64::from(sender.state() as u8),
            Measure::Rtt => sender.rtt().map_or(f64::NAN, |rtt| rtt / SECOND as f64),
            Measure::PacingRate => {
                sender.pacing_rate().map_or(f64::NAN, |bytes_per_s| 8.0 * bytes_per_s as f64)
            }
            Measure::Inflight => f64::from(sender.in_flight()),
            Measure::Rto => sender.rto() as f64 / SECOND as f64,
            _ => sender.srtt().map_or(f64::NAN, |srtt| srtt / SECOND as f64),
        }
    }
}
