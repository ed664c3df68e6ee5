//! The smallest network with a queue: one link, a way back, and a diary.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use trunkline_agent::tcp::{
    Ack, AckFields, CongestionConfig, DelayedAck, Receiver, Segment, Sender, State, TcpConfig,
    Variant,
};
use trunkline_packet::arena::SackBlocks;
use trunkline_units::{RandomStream, Time, TransmissionClock, NEVER, SECOND};

pub const MS: u64 = 1_000_000;

/// The next segment of a sender whose host has an idle link of unlimited rate.
pub fn take_segment(sender: &mut Sender, now: Time) -> Option<Segment> {
    let segment = sender.next_segment(now)?;
    sender.leave_host();
    Some(segment)
}

/// 1000 B segments with 40 B of headers, timers as in ns-2, everything optional off.
pub fn config(variant: Variant) -> TcpConfig {
    TcpConfig {
        variant,
        new_reno_impatient: false,
        partial_ack_resets: false,
        mss_bytes: 1000,
        header_bytes: 40,
        ack_bytes: 40,
        size_bytes: None,
        window_packets: 1000,
        initial_window: 2.0,
        initial_ssthresh: None,
        rto_initial_ns: 3 * SECOND,
        rto_min_ns: 200 * MS,
        rto_max_ns: 60 * SECOND,
        tick_ns: 10 * MS,
        timestamps: false,
        delayed_ack: None,
        limited_transmit: false,
        dup_acks: 3,
        send_overhead_ns: 0,
        ecn: false,
        count_segments: false,
        linux: false,
        connect: false,
        receive_buffer: None,
        send_buffer_bytes: None,
        after_idle: Default::default(),
        congestion: CongestionConfig::default(),
        pacing: false,
    }
}

/// Acknowledges every second segment, after 100 ms at the latest.
pub const EVERY_SECOND: Option<DelayedAck> =
    Some(DelayedAck { timeout_ns: 100 * MS, every: 2, quick: 0 });

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive { seq: u32, push: bool, sent_at: Time, ce: bool, cwr: bool },
    Acknowledge { ack: u32, echo: Time, ece: bool, ace: u8, sack: SackBlocks, window: u32 },
    SenderTimer,
    ReceiverTimer,
}

/// Treatment of the `n`-th segment by the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Carry,
    Lose,
    Mark,
    Late(u64),
    Twice,
}

pub struct Pipe {
    pub now: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    pub random: RandomStream,
    /// Every segment sent, with the time.
    pub sent: Vec<(Time, Segment)>,
    /// Every segment lost, by its fate or for want of room in the queue.
    pub dropped: Vec<(Time, u32)>,
    /// Every acknowledgement that left the receiver.
    pub acks: Vec<(Time, AckFields, SackBlocks)>,
    /// Highest number of segments unacknowledged at once.
    pub peak_flight: u32,
    /// By how much that was above the congestion window when no loss was being repaired.
    pub peak_excess: f64,
    pub fate: Box<dyn FnMut(&Segment) -> Fate>,
    pub lose_ack: Box<dyn FnMut(u32) -> bool>,
    /// Segments that wait for the link do so in the sender's host, which hears when each leaves.
    pub waits_in_host: bool,
    /// The link marks a segment that finds so many waiting.
    pub marks_from: usize,
    link: TransmissionClock,
    free_at: Option<Time>,
    waiting: VecDeque<Time>, // when each waiting segment's service starts
    limit: usize,
    delay: u64,
    delay_back: u64,
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    top: u32,
    /// First segment the sender holds unacknowledged.
    pub acked: u32,
}

impl Pipe {
    /// A link of `rate` [bit/s] and `delay` [ns] whose queue holds `limit` segments; the way back
    /// has the same delay and adds the time of the acknowledgement's own transmission.
    pub fn new(config: &TcpConfig, rate: u64, delay: u64, limit: usize) -> Self {
        Self {
            now: 0,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            random: RandomStream::new(1, "pipe", "test"),
            sent: vec![],
            dropped: vec![],
            acks: vec![],
            peak_flight: 0,
            peak_excess: f64::MIN,
            fate: Box::new(|_| Fate::Carry),
            lose_ack: Box::new(|_| false),
            waits_in_host: false,
            marks_from: usize::MAX,
            link: TransmissionClock::new(rate),
            free_at: None,
            waiting: VecDeque::new(),
            limit,
            delay,
            delay_back: delay + u64::from(config.ack_bytes) * 8 * SECOND / rate,
            heap: BinaryHeap::new(),
            order: 0,
            top: 0,
            acked: 0,
        }
    }

    /// A link so fast that a window arrives as one, 50 ms away: a round trip is 100 ms.
    pub fn long(config: &TcpConfig) -> Self {
        Self::new(config, 10_000_000_000_000, 50 * MS, usize::MAX)
    }

    pub fn start(mut self) -> Self {
        self.sender.start(0);
        self.pump();
        self
    }

    /// Starts it with an application that writes, so many bytes first.
    pub fn start_writing(mut self, config: &TcpConfig, bytes: u64) -> Self {
        self.sender.accept_writes(config, bytes);
        self.receiver.expect_write(bytes);
        self.start()
    }

    /// The application writes so many bytes more.
    pub fn write(&mut self, bytes: u64) {
        self.receiver.expect_write(bytes);
        self.sender.write(bytes, self.now, &mut self.random);
        self.pump();
    }

    fn push(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.heap.push(Reverse((at, self.order, event)));
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.next_segment(self.now) {
            self.sent.push((self.now, segment));
            self.top = self.top.max(segment.seq + 1);
            let flight = self.top - self.acked;
            self.peak_flight = self.peak_flight.max(flight);
            let recovering = matches!(self.sender.state(), State::FastRecovery | State::Timeout);
            if !recovering && !segment.retransmission {
                self.peak_excess = self.peak_excess.max(f64::from(flight) - self.sender.cwnd());
            }
            match self.transmit(&segment) {
                Some(at) if self.waits_in_host => self.sender.leave_host_at(at),
                _ => {
                    self.sender.leave_host();
                }
            }
        }
        if self.sender.timer() != NEVER {
            self.push(self.sender.timer(), Event::SenderTimer);
        }
    }

    /// When its transmission starts; none if it is lost.
    fn transmit(&mut self, segment: &Segment) -> Option<Time> {
        let mut extra = 0;
        let mut copies = 1;
        let mut ce = false;
        match (self.fate)(segment) {
            Fate::Carry => {}
            Fate::Lose => {
                self.dropped.push((self.now, segment.seq));
                return None;
            }
            Fate::Mark => ce = true,
            Fate::Late(late) => extra = late,
            Fate::Twice => copies = 2,
        }
        // A segment that arrives as the link falls free still finds it busy: its arrival was
        // settled earlier, and events of one instant go in the order in which they were settled.
        while self.waiting.front().is_some_and(|starts| *starts < self.now) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= self.limit {
            self.dropped.push((self.now, segment.seq));
            return None;
        }
        ce |= self.waiting.len() >= self.marks_from;
        let starts = match self.free_at {
            Some(free_at) if free_at >= self.now => {
                self.waiting.push_back(free_at);
                free_at
            }
            _ => self.now,
        };
        let free_at = starts + self.link.span(u32::from(segment.ip_bytes));
        self.free_at = Some(free_at);
        for copy in 0..copies {
            let arrive = Event::Arrive {
                seq: segment.seq,
                push: segment.push,
                sent_at: self.now,
                ce,
                cwr: segment.cwr,
            };
            self.push(free_at + self.delay + extra + copy, arrive);
        }
        Some(starts)
    }

    fn acknowledge(&mut self) {
        let fields = self.receiver.ack(self.now);
        self.answer(fields);
    }

    fn answer(&mut self, fields: AckFields) {
        let sack = self.receiver.sack_blocks();
        self.acks.push((self.now, fields, sack));
        if !(self.lose_ack)(fields.ack) {
            let AckFields { ack, echo, ece } = fields;
            let (window, ace) =
                (self.receiver.details().window, self.receiver.marks().unwrap_or(0));
            self.push(
                self.now + self.delay_back,
                Event::Acknowledge { ack, echo, ece, ace, sack, window },
            );
        }
    }

    /// Runs until `end` or until nothing more can happen.
    pub fn run(&mut self, end: Time) {
        while self.heap.peek().is_some_and(|Reverse((at, ..))| *at <= end) {
            let Reverse((at, _, event)) = self.heap.pop().unwrap();
            self.now = at;
            self.handle(event);
        }
        self.now = end;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive { seq, push, sent_at, ce, cwr } => {
                let reply = self.receiver.on_segment(seq, push, sent_at, ce, cwr, self.now);
                if let Some(owed) = self.receiver.take_earlier_ack() {
                    self.answer(owed);
                }
                if reply {
                    self.acknowledge();
                } else {
                    self.push(self.receiver.timer(), Event::ReceiverTimer);
                }
            }
            Event::Acknowledge { ack, echo, ece, ace, sack, window } => {
                self.acked = self.acked.max(ack);
                self.sender.on_ack(
                    &Ack { ack, echo, ece, ace, sack, window },
                    self.now,
                    &mut self.random,
                );
                self.pump();
            }
            Event::SenderTimer if self.now >= self.sender.timer() => {
                self.sender.on_timer(self.now, &mut self.random);
                self.pump();
            }
            Event::ReceiverTimer if self.receiver.on_timer(self.now) => self.acknowledge(),
            Event::SenderTimer | Event::ReceiverTimer => {}
        }
    }

    /// Numbers of the segments sent in round trip `n` of a [`Pipe::long`], from 0.
    pub fn round(&self, n: u64) -> Vec<u32> {
        let within = self.sent.iter().filter(|(at, _)| (*at + MS) / (100 * MS) == n);
        within.map(|(_, segment)| segment.seq).collect()
    }

    /// Loses the first transmission of each of these segments.
    pub fn lose_once(mut self, seqs: &[u32]) -> Self {
        let mut left = seqs.to_vec();
        self.fate = Box::new(move |segment| match left.iter().position(|s| *s == segment.seq) {
            Some(index) => {
                left.remove(index);
                Fate::Lose
            }
            None => Fate::Carry,
        });
        self
    }
}
