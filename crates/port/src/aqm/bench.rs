//! A queue for the tests of AQMs: constant overload of a FIFO with an unlimited buffer.

use super::{Arrival, Backlog, Policy, Verdict};
use std::collections::VecDeque;
use trunkline_units::{Stream, Time};

/// What an overload settled at.
pub(crate) struct Overload {
    /// Mean of the policy's average over the second half.
    pub average: f64,
    /// Share of each precedence's packets that was signalled or refused in the second half.
    pub dropped: Vec<f64>,
    /// Mean of `average_of` each precedence over the second half.
    pub averages: Vec<f64>,
}

/// Offers `packets` packets of 1000 B, of the `precedences` in turn (drawn at random), at `load`
/// times the 8 Mbit/s of the port. Only waiting packets count.
pub(crate) fn overload(
    mut aqm: impl Policy,
    load: f64,
    precedences: &[u8],
    packets: u32,
) -> Overload {
    const SERVICE: Time = 1_000_000;
    let mut random = Stream::new(9, "test", "aqm");
    let mut choice = Stream::new(9, "test", "precedence");
    let levels = usize::from(*precedences.iter().max().expect("a precedence")) + 1;
    let mut queue: VecDeque<u8> = VecDeque::new();
    let mut busy_until = None;
    let (mut offered, mut dropped) = (vec![0.0; levels], vec![0.0; levels]);
    let (mut total, mut totals, mut samples) = (0.0, vec![0.0; levels], 0.0);
    for index in 0..packets {
        let now = (f64::from(index) * SERVICE as f64 / load) as Time;
        while let Some(end) = busy_until.filter(|&end| end <= now) {
            match queue.pop_front() {
                Some(precedence) => {
                    let packets = queue.len() as u32;
                    let left = Backlog { packets, bytes: u64::from(packets) * 1000 };
                    aqm.on_departure(end, 1000, precedence, left);
                    busy_until = Some(end + SERVICE);
                }
                None => {
                    aqm.on_idle(end);
                    busy_until = None;
                }
            }
        }
        let precedence = precedences[choice.below(precedences.len() as u64) as usize];
        let level = usize::from(precedence);
        let waiting = queue.len() as u32;
        let backlog = Backlog { packets: waiting, bytes: u64::from(waiting) * 1000 };
        let verdict =
            aqm.on_arrival(&Arrival { now, bytes: 1000, precedence, backlog }, &mut random);
        if verdict == Verdict::Pass {
            aqm.on_enqueue(1000, precedence);
            if busy_until.is_none() {
                aqm.on_departure(now, 1000, precedence, Backlog::default());
                busy_until = Some(now + SERVICE);
            } else {
                queue.push_back(precedence);
            }
        }
        if index >= packets / 2 {
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
