//! A link for the tests of schedulers: queues, a transmitter, and rules that every scheduler obeys.

use super::{ClassHeads, Discipline, SchedulerChoice};
use std::collections::VecDeque;
use trunkline_units::{Time, TransmissionClock};

/// A packet offered to the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Time,
    pub class: u16,
    pub bytes: u32,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub id: usize,
    pub class: u16,
    pub bytes: u32,
    pub at: Time,
    pub start: Time,
    pub end: Time,
}

/// Arrivals from (us, class, bytes).
pub(crate) fn arrivals(trace: &[(u64, u16, u32)]) -> Vec<Arrival> {
    trace.iter().map(|&(us, class, bytes)| Arrival { at: us * 1000, class, bytes }).collect()
}

struct Queues(Vec<VecDeque<(usize, u32)>>);

impl ClassHeads for Queues {
    fn head(&mut self, class: u16) -> Option<u32> {
        self.0[usize::from(class)].front().map(|&(_, bytes)| bytes)
    }
}

/// Class `i` always has a packet of `self.0[i]` bytes.
pub(crate) struct Endless<'a>(pub &'a [u32]);

impl ClassHeads for Endless<'_> {
    fn head(&mut self, class: u16) -> Option<u32> {
        Some(self.0[usize::from(class)])
    }
}

/// Bytes each class sends in `packets` packets when all are always backlogged.
pub(crate) fn saturated(mut sched: impl Discipline, sizes: &[u32], packets: usize) -> Vec<u64> {
    let mut sent = vec![0; sizes.len()];
    for (class, &bytes) in sizes.iter().enumerate() {
        sched.on_enqueue(class as u16, bytes, true, 0);
    }
    for _ in 0..packets {
        let SchedulerChoice::Class(class) = sched.choose(&mut Endless(sizes), 0) else {
            panic!("a backlogged, unshaped scheduler sends");
        };
        let bytes = sizes[usize::from(class)];
        sent[usize::from(class)] += u64::from(bytes);
        sched.on_enqueue(class, bytes, false, 0);
        sched.on_dequeue(class, bytes, false, 0);
    }
    sent
}

/// Sends `trace` (in time order) over a link of `rate_bit_s`, one packet at a time.
pub(crate) fn serve(
    mut sched: impl Discipline,
    rate_bit_s: u64,
    classes: usize,
    trace: &[Arrival],
) -> Vec<Sent> {
    let mut queues = Queues(vec![VecDeque::new(); classes]);
    let mut line = TransmissionClock::new(rate_bit_s);
    let mut sent = Vec::new();
    let (mut next, mut now) = (0, 0);
    loop {
        while next < trace.len() && trace[next].at <= now {
            let Arrival { at, class, bytes } = trace[next];
            let queue = &mut queues.0[usize::from(class)];
            queue.push_back((next, bytes));
            let was_empty = queue.len() == 1;
            sched.on_enqueue(class, bytes, was_empty, at);
            next += 1;
        }
        match sched.choose(&mut queues, now) {
            SchedulerChoice::Class(class) => {
                let queue = &mut queues.0[usize::from(class)];
                let (id, bytes) = queue.pop_front().expect("a chosen class has a packet");
                let now_empty = queue.is_empty();
                sched.on_dequeue(class, bytes, now_empty, now);
                let start = now;
                now += line.span(bytes);
                sent.push(Sent { id, class, bytes, at: trace[id].at, start, end: now });
            }
            SchedulerChoice::Wait(until) => {
                assert!(until > now, "a wait ends after now");
                now = trace.get(next).map_or(until, |arrival| arrival.at.min(until));
            }
            SchedulerChoice::Idle => {
                assert!(queues.0.iter().all(VecDeque::is_empty), "idle with a packet queued");
                match trace.get(next) {
                    Some(arrival) => now = arrival.at,
                    None => return sent,
                }
            }
        }
    }
}

/// Properties of a work-conserving scheduler: each packet is sent once, in order within its
/// class, and the line is idle only while no packet is queued.
pub(crate) fn check_work_conserving(trace: &[Arrival], sent: &[Sent], classes: usize) {
    assert_eq!(sent.len(), trace.len(), "every packet is sent");
    for class in 0..classes {
        let ids: Vec<_> = sent
            .iter()
            .filter(|sent| usize::from(sent.class) == class)
            .map(|sent| sent.id)
            .collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "order within class {class}");
    }
    // A work-conserving line is busy whenever work is present, whatever the order: its departure
    // times are those of a FIFO with the same arrivals when all packets have one size.
    let mut free = 0;
    for (index, packet) in sent.iter().enumerate() {
        if packet.start > free {
            let waiting = trace.iter().enumerate().any(|(id, arrival)| {
                arrival.at < packet.start && !sent[..index].iter().any(|earlier| earlier.id == id)
            });
            assert!(!waiting, "the line was idle at {free} with a packet queued");
        }
        free = packet.end;
    }
}

/// The property test of every work-conserving scheduler; takes `|classes: usize| scheduler`.
macro_rules! proptest_discipline {
    ($build:expr) => {
        proptest::proptest! {
            #[test]
            fn it_conserves_packets_order_and_work(
                classes in 1usize..6,
                steps in proptest::collection::vec((0u64..3_000, 0u16..6, 40u32..1500), 1..120),
            ) {
                use crate::sched::test_link::{check_work_conserving, serve, Arrival};
                let mut at = 0;
                let trace: Vec<Arrival> = steps
                    .iter()
                    .map(|&(gap_us, class, bytes)| {
                        at += gap_us * 1000;
                        Arrival { at, class: class % classes as u16, bytes }
                    })
                    .collect();
                let build: fn(usize) -> _ = $build;
                let sent = serve(build(classes), 8_000_000, classes, &trace);
                check_work_conserving(&trace, &sent, classes);
            }
        }
    };
}
pub(crate) use proptest_discipline;

/// `packets` packets of 1000 B at time 0 for each of `classes`.
pub(crate) fn backlog(classes: &[u16], packets: usize) -> Vec<Arrival> {
    let class = |&class| std::iter::repeat_n(Arrival { at: 0, class, bytes: 1000 }, packets);
    classes.iter().flat_map(class).collect()
}

/// Mean rate of each class between two times [bit/s]; times in seconds.
pub(crate) fn throughput(sent: &[Sent], classes: usize, from: f64, until: f64) -> Vec<f64> {
    let mut rates = vec![0.0; classes];
    for packet in sent {
        let start = packet.start as f64 / 1e9;
        if (from..until).contains(&start) {
            rates[usize::from(packet.class)] += f64::from(packet.bytes) * 8.0 / (until - from);
        }
    }
    rates
}
