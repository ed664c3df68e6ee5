//! A sender driven by hand: acknowledgements in, segment numbers out.

use crate::pipe::take_segment;
use trunkline_agent::tcp::{Ack, Sender, TcpConfig};
use trunkline_units::{RandomStream, Time};

pub struct Hand {
    pub sender: Sender,
    pub now: Time,
    window: u32, // that acknowledgements offer where they do not say [B]
    random: RandomStream,
}

impl Hand {
    /// Starts a sender at time 0 and returns what it sends first.
    pub fn start(config: &TcpConfig) -> (Self, Vec<u32>) {
        let mut sender = Sender::new(config);
        sender.start(0);
        let window = config.window_packets * config.mss_bytes;
        let mut hand =
            Self { sender, now: 0, window, random: RandomStream::new(1, "hand", "test") };
        let first = hand.poll();
        (hand, first)
    }

    fn poll(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| take_segment(&mut self.sender, self.now)).map(|s| s.seq).collect()
    }

    /// Acknowledges all below `ack`; returns what is sent in answer.
    pub fn ack(&mut self, ack: u32) -> Vec<u32> {
        self.full(&Ack { ack, ..Ack::default() })
    }

    /// Acknowledges with SACK blocks.
    pub fn sack(&mut self, ack: u32, blocks: &[[u32; 2]]) -> Vec<u32> {
        let mut sack = [[0; 2]; 3];
        sack[..blocks.len()].copy_from_slice(blocks);
        self.full(&Ack { ack, sack, ..Ack::default() })
    }

    /// Acknowledges with ECN-Echo.
    pub fn ece(&mut self, ack: u32) -> Vec<u32> {
        self.full(&Ack { ack, ece: true, ..Ack::default() })
    }

    pub fn full(&mut self, ack: &Ack) -> Vec<u32> {
        let window = if ack.window == 0 { self.window } else { ack.window };
        self.sender.on_ack(&Ack { window, ..*ack }, self.now, &mut self.random);
        self.poll()
    }

    /// Lets the timer run out.
    pub fn expire(&mut self) -> Vec<u32> {
        self.now = self.sender.timer();
        self.sender.on_timer(self.now, &mut self.random);
        self.poll()
    }
}
