//! Closed loop: players that fetch a film chunk by chunk and choose the bit rate of each.
//!
//! Source: Huang et al., "A buffer-based approach to rate adaptation", SIGCOMM 2014 (BBA-0: a line
//! from the lowest to the highest rate between reservoir and cushion); Jiang et al., "Improving
//! fairness, efficiency, and stability in HTTP-based adaptive video streaming with FESTIVE",
//! CoNEXT 2012 (harmonic mean of past throughputs).
//! Differs: BBA-0 stays at its rate until the line crosses the next rate of the ladder, up or down, as
//! in the paper; the rate rule takes the highest rate below the mean, with no margin. Each chunk has its
//! own connection. Absent: chunks of variable size, abandoned chunks, seeking.

use super::{Request, Rule, VideoConfig};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_units::{RandomStream, Span, Time, NEVER, SECOND};

/// Throughputs that the rate rule remembers.
const REMEMBERED_THROUGHPUTS: usize = 5;

/// Playback of a viewer so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viewing {
    /// When the player requested its first chunk; none before it.
    pub began: Option<Time>,
    /// From then to the first picture; none before it.
    pub start_up: Option<Span>,
    /// Times that it ran dry after that.
    pub stalls: u64,
    /// Time in stalls, a stall under way included.
    pub stalled: Span,
    /// Chunks that are there.
    pub chunks: u64,
    /// Sum of their bit rates [bit/s].
    pub rates: u64,
    /// Chunks of another rate than the one before.
    pub switches: u64,
}

#[derive(Clone, Debug)]
struct Player {
    viewing: Viewing,
    /// Film in the buffer when it was looked at last [ns], and whether it plays.
    buffer: Span,
    looked: Time,
    playing: bool,
    rate: usize,
    requested_at: Time,
    /// Throughputs of the last chunks [bit/s].
    past: Vec<f64>,
}

/// Players of one flow.
#[derive(Clone, Debug)]
pub struct Video {
    config: VideoConfig,
    players: Vec<Player>,
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Video {
    /// Players that begin at `start` and a uniform random time below the spread.
    #[must_use]
    pub fn new(config: &VideoConfig, start: Time, mut times: RandomStream) -> Self {
        let player = Player {
            viewing: Viewing::default(),
            buffer: 0,
            looked: 0,
            playing: false,
            rate: 0,
            requested_at: 0,
            past: Vec::new(),
        };
        let mut due = BinaryHeap::new();
        for number in 0..config.players {
            due.push(Reverse((start + times.below(config.spread_ns.max(1)), number)));
        }
        Self { config: config.clone(), players: vec![player; config.players as usize], due }
    }

    /// When the next player requests a chunk; [`NEVER`] while all wait for one.
    #[must_use]
    pub fn next_at(&self) -> Time {
        self.due.peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// The time of [`Video::next_at`] has come: returns the request for a chunk.
    pub fn on_timer(&mut self, now: Time) -> Option<Request> {
        let Reverse((_, number)) = self.due.pop()?;
        let rate = self.choose(number as usize, now);
        let player = &mut self.players[number as usize];
        if player.viewing.chunks == 0 {
            (player.viewing.began, player.looked) = (Some(now), now);
        } else {
            player.viewing.switches += u64::from(rate != player.rate);
        }
        (player.rate, player.requested_at) = (rate, now);
        Some(Request { user: number, bytes: self.chunk_bytes(rate) })
    }

    /// The chunk of a player has arrived: it requests the next when there is room.
    pub fn on_object(&mut self, number: u32, now: Time) {
        let (chunk, room) = (self.config.chunk_ns, self.config.buffer_ns);
        let bits = 8.0 * self.chunk_bytes(self.players[number as usize].rate) as f64;
        let player = &mut self.players[number as usize];
        player.advance_playback(now);
        player.buffer += chunk;
        player.viewing.chunks += 1;
        player.viewing.rates += self.config.ladder_bit_s[player.rate];
        if player.past.len() == REMEMBERED_THROUGHPUTS {
            player.past.remove(0);
        }
        player.past.push(bits * SECOND as f64 / (now - player.requested_at).max(1) as f64);
        if !player.playing && player.buffer >= self.config.start_ns {
            player.playing = true;
            let began = player.viewing.began.unwrap_or(now);
            player.viewing.start_up.get_or_insert(now - began);
        }
        // A chunk is requested when it will fit.
        let wait = (player.buffer + chunk).saturating_sub(room);
        self.due.push(Reverse((now + wait, number)));
    }

    /// Playback of every viewer until `now`.
    pub fn viewings(&self, now: Time) -> impl Iterator<Item = Viewing> + '_ {
        self.players.iter().map(move |player| {
            let mut player = player.clone();
            player.advance_playback(now);
            player.viewing
        })
    }

    fn chunk_bytes(&self, rate: usize) -> u64 {
        chunk_bytes(self.config.ladder_bit_s[rate], self.config.chunk_ns)
    }

    /// The rate of the next chunk.
    fn choose(&mut self, number: usize, now: Time) -> usize {
        let player = &mut self.players[number];
        if player.viewing.chunks == 0 {
            return 0;
        }
        player.advance_playback(now);
        let ladder = &self.config.ladder_bit_s;
        let highest =
            |limit: f64| ladder.iter().rposition(|rate| *rate as f64 <= limit).unwrap_or(0);
        match self.config.rule {
            Rule::Rate => {
                let inverse: f64 = player.past.iter().map(|rate| 1.0 / rate).sum();
                highest(player.past.len() as f64 / inverse)
            }
            Rule::Buffer { reservoir_ns, cushion_ns } => {
                let (low, high) = (ladder[0] as f64, ladder[ladder.len() - 1] as f64);
                let above = player.buffer.saturating_sub(reservoir_ns) as f64;
                let line = low + (high - low) * (above / cushion_ns.max(1) as f64).min(1.0);
                let now_at = player.rate;
                let up = ladder.get(now_at + 1).map_or(high, |rate| *rate as f64);
                let down = if now_at > 0 { ladder[now_at - 1] as f64 } else { low };
                if line >= up || line <= down {
                    highest(line)
                } else {
                    now_at
                }
            }
        }
    }
}

/// Size of a chunk of a rate [bit/s], at least 1 B.
#[must_use]
pub fn chunk_bytes(rate: u64, chunk_ns: Span) -> u64 {
    let bits = u128::from(rate) * u128::from(chunk_ns);
    u64::try_from(bits / 8 / u128::from(SECOND)).unwrap_or(u64::MAX).max(1)
}

impl Player {
    /// Plays on to `now`.
    fn advance_playback(&mut self, now: Time) {
        let passed = now - self.looked;
        self.looked = now;
        if !self.playing {
            self.viewing.stalled += if self.viewing.start_up.is_some() { passed } else { 0 };
            return;
        }
        if passed < self.buffer {
            self.buffer -= passed;
            return;
        }
        self.viewing.stalls += u64::from(passed > self.buffer);
        self.viewing.stalled += passed - self.buffer;
        self.playing = passed == self.buffer;
        self.buffer = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video(rule: Rule) -> Video {
        let config = VideoConfig {
            players: 1,
            chunk_ns: 4 * SECOND,
            ladder_bit_s: vec![1_000_000, 2_000_000, 4_000_000],
            buffer_ns: 20 * SECOND,
            start_ns: 4 * SECOND,
            rule,
            spread_ns: 0,
        };
        Video::new(&config, 0, RandomStream::new(1, "flows[v]", "times"))
    }

    /// Fetches chunks over a link of `rate` bit/s until `end`; the rate of each in Mbit/s.
    fn watch(video: &mut Video, rate: u64, end: Time) -> Vec<u64> {
        let mut seen = vec![];
        while video.next_at() < end {
            let at = video.next_at();
            let request = video.on_timer(at).expect("one is due");
            seen.push(2 * request.bytes / 1_000_000);
            video.on_object(0, at + 8 * request.bytes * SECOND / rate);
        }
        seen
    }

    /// 3 Mbit/s: the first chunk of 4 s at 1 Mbit/s takes 4/3 s, when it begins to play; then always 2
    /// Mbit/s, the highest rate below, and nothing stalls. Each of these takes 8/3 s and brings 4 s, so
    /// the buffer fills to 20 s, and a chunk is requested every 4 s.
    #[test]
    fn the_rate_rule_takes_the_highest_rate_below_a_constant_one() {
        let mut video = video(Rule::Rate);
        let seen = watch(&mut video, 3_000_000, 200 * SECOND);
        assert_eq!(seen[0], 1);
        assert!(seen[1..].iter().all(|rate| *rate == 2), "{seen:?}");
        let viewing = video.viewings(200 * SECOND).next().expect("one player");
        assert_eq!(viewing.start_up, Some(1_333_333_333));
        assert_eq!((viewing.stalls, viewing.stalled, viewing.switches), (0, 0, 1));
        // Of 200 s, 198.67 s were played and 16 to 20 s are in the buffer: 54 chunks of 4 s.
        assert!((53..=55).contains(&viewing.chunks), "{viewing:?}");
    }

    /// 0.5 Mbit/s and a lowest rate of 1 Mbit/s: a chunk of 4 s comes every 8 s. It plays from 8 s on
    /// and stalls for 4 s before each of the others: by 88 s ten stalls, 40 s. The buffer never
    /// has more than a chunk, which is the reservoir of the buffer rule.
    #[test]
    fn a_link_below_the_lowest_rate_stalls_half_of_the_time() {
        for rule in [Rule::Rate, Rule::Buffer { reservoir_ns: 4 * SECOND, cushion_ns: 8 * SECOND }]
        {
            let mut video = video(rule);
            let seen = watch(&mut video, 500_000, 88 * SECOND);
            assert!(seen.iter().all(|rate| *rate == 1), "{seen:?}");
            let viewing = video.viewings(88 * SECOND).next().expect("one player");
            assert_eq!(viewing.start_up, Some(8 * SECOND));
            assert_eq!((viewing.stalls, viewing.stalled), (10, 40 * SECOND));
        }
    }

    /// BBA-0 with a reservoir of 4 s and a cushion of 8 s: 1 Mbit/s at 4 s and below, 4 Mbit/s at 12 s;
    /// 2 Mbit/s where the line crosses it, from 4 + 8/3 = 6.67 s on. At 100 Mbit/s chunks come almost at
    /// once: buffers of 0, 4, 8 and 12 s give 1, 1, 2 and 4 Mbit/s.
    #[test]
    fn the_buffer_rule_follows_its_line() {
        let rule = Rule::Buffer { reservoir_ns: 4 * SECOND, cushion_ns: 8 * SECOND };
        let seen = watch(&mut video(rule), 100_000_000, SECOND);
        assert_eq!(seen[..3], [1, 1, 2]);
        assert!(seen[3..].iter().all(|rate| *rate == 2 || *rate == 4), "{seen:?}");
        assert_eq!(seen.last(), Some(&4));
    }

    fn with_ladder(rule: Rule, ladder_bit_s: &[u64]) -> Video {
        let mut video = video(rule);
        video.config.ladder_bit_s = ladder_bit_s.to_vec();
        video
    }

    /// The harmonic mean of the last five throughputs: of 1 and 3 Mbit/s it is 1.5 Mbit/s, of 3 Mbit/s five times
    /// 3 Mbit/s. The highest rate up to it is taken.
    #[test]
    fn the_rate_rule_takes_the_harmonic_mean_of_five_throughputs() {
        let mut video =
            with_ladder(Rule::Rate, &[100_000, 1_450_000, 1_550_000, 2_950_000, 3_050_000]);
        let mut seen = vec![];
        for mbit_s in [1, 3, 3, 3, 3, 3] {
            let at = video.next_at();
            let bits = 8 * video.on_timer(at).expect("one is due").bytes;
            video.on_object(0, at + bits * 1000 / mbit_s);
            seen.push(video.choose(0, at + bits * 1000 / mbit_s));
        }
        // 2 / (1 + 1/3), 3 / (1 + 2/3), 4 / 2, 5 / (1 + 4/3) = 2.14.
        assert_eq!(seen, [0, 1, 2, 2, 2, 3]);
        let viewing = video.viewings(video.next_at()).next().expect("one player");
        assert_eq!(viewing.rates, 100_000 * 2 + 1_450_000 + 1_550_000 * 3);
        assert_eq!((viewing.chunks, viewing.switches), (6, 2));
    }

    /// BBA-0 (section 4.1): a reservoir of 4 s and a cushion of 8 s, rates of 1, 2 and 4 Mbit/s. The line is at 2 at
    /// 4 + 8 / 3 s and at 4 at 12 s. A rate stays until the line is at the next rate up or down.
    #[test]
    fn the_buffer_rule_stays_at_its_rate_until_the_line_crosses_the_next() {
        let rule = Rule::Buffer { reservoir_ns: 4 * SECOND, cushion_ns: 8 * SECOND };
        let crossing = 4 * SECOND + 8 * SECOND / 3 + 1; // the first nanosecond at 2 Mbit/s
        for (rate, buffer, chosen) in [
            (0, 0, 0),
            (0, crossing - 2, 0),
            (0, crossing, 1),
            (0, 12 * SECOND, 2),
            (1, 4 * SECOND, 0),
            (1, 4 * SECOND + 1, 1),
            (1, 12 * SECOND - 1, 1),
            (1, 12 * SECOND, 2),
            (2, 20 * SECOND, 2),
            (2, crossing, 2),
            (2, crossing - 2, 0),
        ] {
            let mut video = video(rule);
            video.players[0] = Player { buffer, rate, ..video.players[0].clone() };
            video.players[0].viewing.chunks = 1;
            assert_eq!(video.choose(0, 0), chosen, "{rate} {buffer}");
        }
    }

    /// A buffer of 4 s that plays: after 3 s there is 1 s; after 4 s it is empty and has not stalled, for the next
    /// chunk may come at that moment; after 5 s it has stalled for 1 s.
    #[test]
    fn a_player_stalls_when_time_passes_without_a_buffer() {
        for (passed, buffer, stalls, stalled, plays) in
            [(3, 1, 0, 0, true), (4, 0, 0, 0, true), (5, 0, 1, 1, false)]
        {
            let mut player = video(Rule::Rate).players[0].clone();
            (player.buffer, player.playing, player.looked) = (4 * SECOND, true, SECOND);
            player.viewing.start_up = Some(0);
            player.advance_playback(SECOND + passed * SECOND);
            assert_eq!((player.buffer, player.playing), (buffer * SECOND, plays), "{passed}");
            assert_eq!((player.viewing.stalls, player.viewing.stalled), (stalls, stalled * SECOND));
            player.advance_playback(8 * SECOND);
            assert_eq!(player.viewing.stalled, 3 * SECOND, "{passed}");
        }
    }
}
