//! Probes: reads counters and states in steps of time. A run without probes has no such events.

use crate::link::Port;
use crate::network::{self, Measure};
use crate::simulation::{AnySimulation, FlowAgents};
use trunkline_units::SECOND;

/// Probes of a run and their records.
#[derive(Clone, Debug, Default)]
pub struct ProbeSampler {
    /// None: another region has it.
    probes: Vec<Option<network::Probe>>,
    /// Value of each probe's counter at its last sample.
    last: Vec<u64>,
    /// Flow, probe, and the greatest delay since it last looked [ns].
    pub(crate) watched: Vec<(u32, u32, u64)>,
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
        let greatest = |(_, probe): &(u32, &network::Probe)| probe.measure == Measure::DelayMax;
        let watched = (0..).zip(probes).filter(greatest);
        let watched = watched.map(|(index, probe)| (probe.target, index, 0)).collect();
        Self {
            watched,
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

impl AnySimulation {
    /// The node where a probe's counter or state is: a port's is its near end, a sender's its
    /// source, all else is counted where packets end.
    fn node_of(&self, probe: &network::Probe) -> u32 {
        let target = probe.target as usize;
        match probe.measure {
            Measure::QueuePackets
            | Measure::QueueBytes
            | Measure::QueueAverage
            | Measure::Utilisation
            | Measure::Drops
            | Measure::Marks => self.link_from[target],
            Measure::Cwnd
            | Measure::Ssthresh
            | Measure::Srtt
            | Measure::Rtt
            | Measure::Rto
            | Measure::PacingRate
            | Measure::Inflight
            | Measure::State
            | Measure::Transfers => self.flows[target].src,
            Measure::Throughput | Measure::Goodput | Measure::Delay | Measure::DelayMax => {
                self.flows[target].dst
            }
        }
    }

    /// Schedules the first sample of each probe.
    pub(crate) fn arm_probes(&mut self) {
        for (index, probe) in (0..).zip(&self.sampler.probes) {
            if let Some(probe) = probe {
                self.calendar.schedule(self.sources.probes + index, probe.step_ns);
            }
        }
    }

    /// Keeps the probes of some nodes only, before any is armed.
    pub(crate) fn keep_probes(&mut self, of: impl Fn(u32) -> bool) {
        for index in 0..self.sampler.probes.len() {
            let elsewhere = |probe: &network::Probe| !of(self.node_of(probe));
            if self.sampler.probes[index].as_ref().is_some_and(elsewhere) {
                self.sampler.probes[index] = None;
            }
        }
    }

    /// Takes one sample and arms the next.
    pub(crate) fn sample(&mut self, index: u32) {
        let Some(probe) = self.sampler.probes[index as usize].clone() else { return };
        let value = self.read_probe(&probe, index as usize);
        self.sampler.probe.push(i64::from(index));
        self.sampler.time.push(self.now as i64);
        self.sampler.value.push(value);
        self.calendar.schedule(self.sources.probes + index, self.now + probe.step_ns);
    }

    /// Takes the samples that are due when the run ends.
    pub(crate) fn sample_last(&mut self) {
        for index in 0..self.sampler.probes.len() {
            let probe = self.sampler.probes[index].as_ref();
            if probe.is_some_and(|probe| self.now % probe.step_ns == 0) {
                self.sample(index as u32);
            }
        }
    }

    fn read_probe(&mut self, probe: &network::Probe, index: usize) -> f64 {
        let target = probe.target as usize;
        match probe.measure {
            Measure::Throughput => {
                let bytes = self.totals[target].delivered_bytes;
                self.rate(index, 8 * bytes, probe.step_ns)
            }
            Measure::Goodput => {
                let bytes = self.goodput_bytes(target);
                self.rate(index, 8 * bytes, probe.step_ns)
            }
            Measure::Delay => self.mean_delay(index, target),
            Measure::DelayMax => self.max_delay(index),
            Measure::Cwnd
            | Measure::Ssthresh
            | Measure::Srtt
            | Measure::Rtt
            | Measure::Rto
            | Measure::PacingRate
            | Measure::Inflight
            | Measure::State => self.tcp_state(probe),
            Measure::Transfers => match self.flows[target].agents {
                FlowAgents::Transfers(workload) => self.workloads.open_in(workload) as f64,
                _ => f64::NAN,
            },
            Measure::QueuePackets | Measure::QueueBytes => {
                self.drain_link(target);
                let link = &self.links[target];
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
                self.links[target].average(class, probe.precedence).unwrap_or(f64::NAN)
            }
            Measure::Utilisation => {
                let (_, bytes) = self.departed(target);
                let rate = self.rate(index, 8 * bytes, probe.step_ns);
                rate / self.capacity[target] as f64
            }
            Measure::Drops => {
                let dropped = self.dropped_at(target);
                self.rate(index, dropped, probe.step_ns)
            }
            Measure::Marks => {
                let marked = self.marks.of_link(probe.target);
                self.rate(index, marked, probe.step_ns)
            }
        }
    }

    /// The counters of links and delays restart from zero now: keeps the current step complete.
    pub(crate) fn rebase_probes(&mut self) {
        for index in 0..self.sampler.probes.len() {
            let Some(probe) = &self.sampler.probes[index] else { continue };
            let target = probe.target as usize;
            let counter = match probe.measure {
                Measure::Utilisation => 8 * self.departed(target).1,
                Measure::Drops => self.dropped_at(target),
                Measure::Marks => self.marks.of_link(probe.target),
                Measure::Delay => {
                    let count = self.delays[target].count;
                    let last = &mut self.sampler.last_count[index];
                    *last = last.wrapping_sub(count);
                    self.delays[target].sum
                }
                _ => continue,
            };
            self.sampler.last[index] = self.sampler.last[index].wrapping_sub(counter);
        }
    }

    /// Mean rate of a growing counter over the step that ends now [1/s].
    fn rate(&mut self, index: usize, counter: u64, step: u64) -> f64 {
        let before = std::mem::replace(&mut self.sampler.last[index], counter);
        counter.wrapping_sub(before) as f64 * SECOND as f64 / step as f64
    }

    /// Mean one-way delay of the packets delivered in the step that ends now [s].
    fn mean_delay(&mut self, index: usize, flow: usize) -> f64 {
        let delay = &self.delays[flow];
        let sum =
            delay.sum.wrapping_sub(std::mem::replace(&mut self.sampler.last[index], delay.sum));
        let last_count = std::mem::replace(&mut self.sampler.last_count[index], delay.count);
        sum as f64 / delay.count.wrapping_sub(last_count) as f64 / SECOND as f64
    }

    /// Notes the delay of a packet for the probes that ask for the greatest.
    #[cold]
    pub(crate) fn note_delay(&mut self, flow: u32, delay: u64) {
        for (of, _, max) in &mut self.sampler.watched {
            if *of == flow {
                *max = delay.max(*max);
            }
        }
    }

    /// Greatest one-way delay in the step that ends now [s].
    fn max_delay(&mut self, index: usize) -> f64 {
        let mut watched = self.sampler.watched.iter_mut();
        let Some((.., max)) = watched.find(|(_, probe, _)| *probe as usize == index) else {
            return f64::NAN;
        };
        match std::mem::take(max) {
            0 => f64::NAN,
            delay => delay as f64 / SECOND as f64,
        }
    }

    fn tcp_state(&self, probe: &network::Probe) -> f64 {
        let agent = match self.flows[probe.target as usize].agents {
            FlowAgents::Tcp(agent) => Some(agent as usize),
            // The one connection that is kept, once it is open.
            FlowAgents::Transfers(workload) => self.agents_of(workload).next(),
            _ => None,
        };
        let Some(sender) = agent.map(|agent| &self.senders[agent]) else { return f64::NAN };
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
