//! A queue for the tests of AQMs: constant overload of a FIFO with an unlimited buffer.

use super::{ActiveQueueManagement, Arrival, QueueBacklog, Verdict};
use std::collections::VecDeque;
use trunkline_units::{RandomStream, Time};

/// Steady state of an overload.
pub(crate) struct Overload {
    /// Mean of the AQM's average over the second half.
    pub average: f64,
    /// Share of each precedence's packets that was signalled or refused in the second half.
    pub dropped: Vec<f64>,
    /// Mean of `average_of` each precedence over the second half.
    pub averages: Vec<f64>,
}

/// Offers `packets` packets of 1000 B, each of a precedence drawn from `precedences`, at constant
/// gaps and `load` times the 8 Mbit/s of the port.
pub(crate) fn overload(
    aqm: impl ActiveQueueManagement,
    load: f64,
    precedences: &[u8],
    packets: u32,
) -> Overload {
    let mut choice = RandomStream::new(9, "test", "precedence");
    let arrivals = (0..packets).map(|index| {
        let precedence = precedences[choice.below(precedences.len() as u64) as usize];
        ((f64::from(index) * SERVICE as f64 / load) as Time, precedence)
    });
    settle(aqm, arrivals.collect(), 9)
}

/// Offers two streams of 1000 B packets, of precedences 0 and 1, each 5 Mbit/s with gaps uniform on
/// 0.5..1.5 of their mean, for 320 s: the traffic of ns-2's CBR source with `random_ 1`.
pub(crate) fn two_streams(aqm: impl ActiveQueueManagement, seed: u64) -> Overload {
    let mut arrivals = Vec::new();
    for precedence in 0..2 {
        let mut gaps = RandomStream::new(seed, "test", ["gaps 0", "gaps 1"][precedence]);
        let mut at = 100_000 * (precedence as Time + 1);
        while at < 320_000_000_000 {
            arrivals.push((at, precedence as u8));
            at += (1.6e6 * (0.5 + gaps.uniform())) as Time;
        }
    }
    arrivals.sort_unstable();
    settle(aqm, arrivals, seed)
}

/// Time to send a packet.
const SERVICE: Time = 1_000_000;

/// A port of 8 Mbit/s with an unlimited queue; only waiting packets count.
fn settle(mut aqm: impl ActiveQueueManagement, arrivals: Vec<(Time, u8)>, seed: u64) -> Overload {
    let mut random = RandomStream::new(seed, "test", "aqm");
    let levels = usize::from(arrivals.iter().map(|arrival| arrival.1).max().expect("a packet")) + 1;
    let mut queue: VecDeque<u8> = VecDeque::new();
    let mut busy_until = None;
    let (mut offered, mut dropped) = (vec![0.0; levels], vec![0.0; levels]);
    let (mut total, mut totals, mut samples) = (0.0, vec![0.0; levels], 0.0);
    for (index, &(now, precedence)) in arrivals.iter().enumerate() {
        while let Some(end) = busy_until.filter(|&end| end <= now) {
            match queue.pop_front() {
                Some(precedence) => {
                    aqm.on_departure(end, 1000, precedence, backlog(queue.len()));
                    busy_until = Some(end + SERVICE);
                }
                None => {
                    aqm.on_idle(end);
                    busy_until = None;
                }
            }
        }
        let level = usize::from(precedence);
        let arrival = Arrival { now, bytes: 1000, precedence, backlog: backlog(queue.len()) };
        let verdict = aqm.on_arrival(&arrival, &mut random);
        if verdict == Verdict::Pass {
            aqm.on_enqueue(1000, precedence);
            if busy_until.is_none() {
                aqm.on_departure(now, 1000, precedence, QueueBacklog::default());
                busy_until = Some(now + SERVICE);
            } else {
                queue.push_back(precedence);
            }
        }
        if index >= arrivals.len() / 2 {
            offered[level] += 1.0;
            if verdict != Verdict::Pass {
                dropped[level] += 1.0;
            }
            samples += 1.0;
            total += aqm.average().unwrap_or(0.0);
            for (level, sum) in totals.iter_mut().enumerate() {
                *sum += aqm.average_of(level as u8).unwrap_or(0.0);
            }
        }
    }
    Overload {
        average: total / samples,
        dropped: dropped.iter().zip(&offered).map(|(dropped, offered)| dropped / offered).collect(),
        averages: totals.iter().map(|total| total / samples).collect(),
    }
}

fn backlog(packets: usize) -> QueueBacklog {
    QueueBacklog { packets: packets as u32, bytes: packets as u64 * 1000 }
}
