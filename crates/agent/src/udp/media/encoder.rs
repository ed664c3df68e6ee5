//! The encoder: a frame at each interval, of the size that the rate allows, and its packets in turn.
//!
//! Source: RFC 8698 section 5.2.2: the buffer between encoder and network lowers the encoder's rate and raises
//! that of sending (BETA_V, BETA_S). A rate ladder takes the highest rung that fits; padding fills the frame up
//! to the rate (RFC 3550 section 5.1), or a rate that follows what was received would never reach the next.

use super::MediaConfig;
use std::collections::VecDeque;
use trunkline_units::{Span, Time, NEVER, SECOND};

/// BETA_V and BETA_S of RFC 8698 figure 3.
const BUFFER_WEIGHT: f64 = 0.1;

/// A packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaPacket {
    /// Number of its frame.
    pub frame: u32,
    /// IP bytes.
    pub bytes: u16,
}

/// A frame as made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedFrame {
    /// When its picture was taken.
    pub captured_at: Time,
    /// Packets.
    pub packets: u32,
    /// Rate of the encoder [bit/s], without padding.
    pub rate_bit_s: u64,
}

/// Frames, and the buffer of packets that wait to be sent.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: MediaConfig,
    max_bit_s: u64,
    packet_bytes: u16, // the largest
    next_frame_at: Time,
    next_packet_at: Time,
    frames: u32,
    buffer: VecDeque<MediaPacket>,
    buffer_bytes: u64,
}

impl Encoder {
    /// An encoder of at most `max_bit_s`, packets of at most `packet_bytes`, and a first frame at `start`.
    #[must_use]
    pub fn new(config: &MediaConfig, max_bit_s: u64, packet_bytes: u16, start: Time) -> Self {
        Self {
            config: config.clone(),
            max_bit_s,
            packet_bytes,
            next_frame_at: start,
            next_packet_at: start,
            frames: 0,
            buffer: VecDeque::new(),
            buffer_bytes: 0,
        }
    }

    /// When a frame or a packet is due next.
    #[must_use]
    pub fn wakes_at(&self) -> Time {
        let packet_at = if self.buffer.is_empty() { NEVER } else { self.next_packet_at };
        self.next_frame_at.min(packet_at)
    }

    fn buffer_correction(&self) -> f64 {
        let frames_a_second = SECOND as f64 / self.config.frame_ns as f64;
        BUFFER_WEIGHT * 8.0 * self.buffer_bytes as f64 * frames_a_second
    }

    /// Rate of frames at a reference rate [bit/s], r_vin, and the encoder's part of it.
    #[must_use]
    pub fn choose_rates(&self, reference: f64) -> (u64, u64) {
        let wanted = (reference - self.buffer_correction()).max(self.config.min_bit_s as f64);
        let wanted = wanted as u64;
        let ladder = &self.config.ladder_bit_s;
        let fitting = ladder.iter().rev().find(|&&rung| rung <= wanted);
        let encoded = fitting.or(ladder.first()).copied().unwrap_or(wanted);
        (wanted.max(encoded), encoded)
    }

    /// Makes the frame that is due now, if one is.
    pub fn make_frame(&mut self, reference: f64, now: Time) -> Option<EncodedFrame> {
        if now < self.next_frame_at {
            return None;
        }
        let (sent_bit_s, rate_bit_s) = self.choose_rates(reference);
        let frame_bits = sent_bit_s as f64 * self.config.frame_ns as f64 / SECOND as f64;
        let bytes = ((frame_bits / 8.0) as u64).max(1);
        let packets = bytes.div_ceil(u64::from(self.packet_bytes));
        for index in 0..packets {
            // Shares of a frame that differ by a byte at most.
            let bytes = (bytes * (index + 1) / packets - bytes * index / packets) as u16;
            self.buffer.push_back(MediaPacket { frame: self.frames, bytes });
        }
        self.buffer_bytes += bytes;
        self.frames += 1;
        self.next_frame_at += self.config.frame_ns;
        Some(EncodedFrame { captured_at: now, packets: packets as u32, rate_bit_s })
    }

    /// Takes the packet that leaves now, if one does; the next follows at r_send.
    pub fn take_packet(&mut self, reference: f64, now: Time) -> Option<MediaPacket> {
        if now < self.next_packet_at {
            return None;
        }
        let packet = self.buffer.pop_front()?;
        let rate = (reference + self.buffer_correction()).min(self.max_bit_s as f64);
        self.buffer_bytes -= u64::from(packet.bytes);
        let gap = f64::from(packet.bytes) * 8.0 * SECOND as f64 / rate.max(1.0);
        self.next_packet_at = now + (gap as Span).max(1);
        Some(packet)
    }
}
