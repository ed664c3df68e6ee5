//! Diaries of connections are as pinned: each segment, each acknowledgement, and the state of both ends.
//!
//! Whether they are right other tests judge, by sources outside this project. These notice what changes
//! where nobody looks: each recovery with each control goes through losses, reordering, outages, marks,
//! pauses and a policer, with options that a generator draws. `TRUNKLINE_PIN=1` before
//! `cargo test -p trunkline-agent --test tcp pinned` rewrites the table; `CHANGELOG.md` then says why.

use crate::pipe::{config, Fate, Pipe, MS};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Mutex;
use trunkline_agent::tcp::{
    AfterIdle, Bbr3Config, BbrConfig, CongestionConfig, CubicConfig, DctcpConfig, DelayedAck,
    OpenedConnection, PragueConfig, ReceiveBufferConfig, RenoConfig, SlowStart, TcpConfig, Variant,
    VegasConfig, WestwoodConfig,
};
use trunkline_units::{RandomStream, Time, SECOND};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tcp/pinned-diaries.csv");
static REWRITING: Mutex<()> = Mutex::new(());
const STEP: Time = 5 * MS;

/// What happens to segments on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Road {
    Drops,
    Reorders,
    Outages,
    Marks,
    Pauses,
    Polices,
}

const ROADS: [Road; 6] =
    [Road::Drops, Road::Reorders, Road::Outages, Road::Marks, Road::Pauses, Road::Polices];

/// FNV-1a: short, and the same on every platform.
struct Digest(u64);

impl Digest {
    fn add(&mut self, line: &str) {
        for byte in line.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn pick<T: Clone>(random: &mut RandomStream, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize].clone()
}

/// Controls that a recovery may have.
fn list_controls(variant: Variant, linux: bool) -> Vec<(&'static str, CongestionConfig)> {
    let slow_start = if linux { SlowStart::Hystart } else { SlowStart::HystartPlusPlus };
    let mut found = vec![
        ("reno", CongestionConfig::Reno(RenoConfig {})),
        ("cubic", CongestionConfig::Cubic(CubicConfig { slow_start })),
        ("plain cubic", CongestionConfig::Cubic(CubicConfig::default())),
        ("dctcp", CongestionConfig::Dctcp(DctcpConfig {})),
        ("vegas", CongestionConfig::Vegas(VegasConfig {})),
        ("westwood", CongestionConfig::Westwood(WestwoodConfig {})),
    ];
    if matches!(variant, Variant::Sack | Variant::Rack) {
        found.push(("bbr", CongestionConfig::Bbr(BbrConfig {})));
        found.push(("bbr3", CongestionConfig::Bbr3(Bbr3Config {})));
    }
    if !linux {
        found.push(("prague", CongestionConfig::Prague(PragueConfig {})));
    }
    found
}

/// A connection with options drawn at random, such as a scenario may have.
fn draw_config(
    variant: Variant,
    linux: bool,
    congestion: &CongestionConfig,
    road: Road,
    random: &mut RandomStream,
) -> TcpConfig {
    let coin = [true, false];
    let (steers, marked) = (congestion.steers(), congestion.needs_ecn());
    let timed = matches!(congestion, CongestionConfig::Vegas(_) | CongestionConfig::Prague(_))
        || *congestion
            == CongestionConfig::Cubic(CubicConfig { slow_start: SlowStart::HystartPlusPlus });
    let delayed = |timeout_ns, quick| {
        Some(DelayedAck { timeout_ns, every: 2, quick: if linux { 0 } else { quick } })
    };
    let after_idle = [AfterIdle::Restart, AfterIdle::Keep, AfterIdle::Validate];
    TcpConfig {
        linux,
        congestion: congestion.clone(),
        mss_bytes: pick(random, &[1460, 1000]),
        size_bytes: pick(random, &[None, None, Some(700_000), Some(730_001)])
            .filter(|_| road != Road::Pauses),
        window_packets: pick(random, &[1000, 1000, 200, 45]),
        initial_window: pick(random, &[10.0, 2.0, 3.0]),
        initial_ssthresh: pick(random, &[None, None, Some(12.0)]).filter(|_| !steers),
        rto_initial_ns: SECOND,
        rto_min_ns: pick(random, &[200 * MS, SECOND]),
        tick_ns: pick(random, &[1, 10 * MS]),
        timestamps: pick(random, &coin) || timed,
        delayed_ack: pick(random, &[None, delayed(40 * MS, 0), delayed(100 * MS, 5)]),
        limited_transmit: pick(random, &coin),
        dup_acks: pick(random, &[3, 3, 2, 5]),
        send_overhead_ns: pick(random, &[0, 0, 2 * MS]) * u64::from(!linux),
        ecn: pick(random, &coin) || marked,
        count_segments: pick(random, &coin),
        new_reno_impatient: pick(random, &coin),
        partial_ack_resets: pick(random, &coin),
        receive_buffer: pick(random, &[None, Some((131_072, 6_291_456)), Some((60_000, 300_000))])
            .filter(|_| linux)
            .map(|(initial_bytes, max_bytes)| ReceiveBufferConfig { initial_bytes, max_bytes }),
        send_buffer_bytes: pick(random, &[None, None, None, Some(90_000), Some(30_000)]),
        after_idle: pick(random, &after_idle[..if linux { 2 } else { 3 }]),
        pacing: pick(random, &[true, false, false]) || steers || congestion.counts_marks(),
        ..config(variant)
    }
}

/// Decides about each segment; the clock is that of the pipe, in whole steps.
fn make_fate(
    road: Road,
    mut random: RandomStream,
    clock: Rc<Cell<Time>>,
) -> Box<dyn FnMut(&trunkline_agent::tcp::Segment) -> Fate> {
    let (mut filled_at, mut tokens) = (0, 120_000.0);
    Box::new(move |segment| {
        let (now, draw) = (clock.get(), random.uniform());
        let within = |from, to| (from * MS..to * MS).contains(&now);
        match road {
            Road::Drops | Road::Pauses if draw < 0.006 => Fate::Lose,
            Road::Reorders if draw < 0.003 => Fate::Lose,
            Road::Reorders if draw < 0.02 => Fate::Late(random.below(30 * MS)),
            Road::Reorders if draw < 0.03 => Fate::Twice,
            Road::Outages if within(900, 1700) => Fate::Lose,
            Road::Outages if within(2500, 2900) => Fate::Late(2900 * MS - now),
            Road::Outages if draw < 0.001 => Fate::Lose,
            Road::Marks if draw < 0.001 => Fate::Lose,
            Road::Marks if draw < 0.004 => Fate::Mark,
            Road::Polices => {
                tokens = (tokens + (now - filled_at) as f64 * 300e3 / 1e9).min(120_000.0);
                filled_at = now;
                if tokens < f64::from(segment.ip_bytes) {
                    return Fate::Lose;
                }
                tokens -= f64::from(segment.ip_bytes);
                Fate::Carry
            }
            _ => Fate::Carry,
        }
    })
}

/// Floats to nine digits: a platform may round the last bit otherwise.
fn describe_state(pipe: &Pipe) -> String {
    let (sender, receiver) = (&pipe.sender, &pipe.receiver);
    format!(
        "{:.8e} {:.8e} {:.8e} {:.8e} {} {:?} {} {:?} {} {:?} {:?} {} {} {} {:?} {} {}\n",
        sender.cwnd(),
        sender.ssthresh(),
        sender.srtt().unwrap_or(-1.0),
        sender.rtt().unwrap_or(-1.0),
        sender.rto(),
        sender.pacing_rate(),
        sender.in_flight(),
        sender.state(),
        sender.timer(),
        sender.counters(),
        sender.finished_at(),
        receiver.timer(),
        receiver.goodput_bytes(),
        receiver.option_bytes(),
        receiver.details(),
        receiver.has_heard(),
        receiver.is_complete(),
    )
}

/// Runs a connection and digests its diary.
fn run_case(
    name: &str,
    variant: Variant,
    linux: bool,
    control: &CongestionConfig,
    road: Road,
) -> u64 {
    let mut random = RandomStream::new(1, name, "options");
    let config = draw_config(variant, linux, control, road, &mut random);
    let mut pipe = Pipe::new(&config, 6_000_000, 15 * MS, 30);
    let clock = Rc::new(Cell::new(0));
    pipe.fate = make_fate(road, RandomStream::new(1, name, "road"), clock.clone());
    let (mut back, back_clock) = (RandomStream::new(1, name, "way back"), clock.clone());
    pipe.lose_ack = Box::new(move |_| {
        let silent = (4000 * MS..4350 * MS).contains(&back_clock.get());
        road == Road::Outages && silent || back.uniform() < 0.01
    });
    pipe.waits_in_host = pick(&mut random, &[true, false]);
    if road == Road::Marks && config.ecn {
        pipe.marks_from = pick(&mut random, &[4, 15]);
    }
    if pick(&mut random, &[true, false]) {
        let retries = pick(&mut random, &[0, 0, 1, 2]);
        let rtt = (retries == 0).then_some(31 * MS);
        (0..retries).for_each(|_| pipe.sender.connect_again());
        pipe.sender.establish(&OpenedConnection { rtt, retries });
        pipe.receiver.establish(rtt);
    }
    let stops_at = pick(&mut random, &[3500 * MS, Time::MAX, Time::MAX]);
    let mut writes_at = if road == Road::Pauses { 300 * MS } else { Time::MAX };
    let mut pipe = match road {
        Road::Pauses => pipe.start_writing(&config, 20_000),
        _ => pipe.start(),
    };
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    // BBR looks for the least round trip every five or ten seconds.
    let end = if control.steers() { 12 * SECOND } else { 6 * SECOND };
    while pipe.now < end {
        clock.set(pipe.now);
        pipe.run(pipe.now + STEP);
        if pipe.now >= writes_at {
            let (most_bytes, longest) =
                (pick(&mut random, &[3_000, 150_000]), pick(&mut random, &[80 * MS, 900 * MS]));
            pipe.write(1 + random.below(most_bytes));
            writes_at = pipe.now + random.below(longest);
        }
        if pipe.now == stops_at {
            pipe.sender.stop(pipe.now);
        }
        digest.add(&describe_state(&pipe));
    }
    for entry in &pipe.sent {
        digest.add(&format!("{entry:?}\n"));
    }
    for entry in &pipe.acks {
        digest.add(&format!("{entry:?}\n"));
    }
    digest.0
}

fn read_table() -> BTreeMap<String, String> {
    let content = std::fs::read_to_string(TABLE).unwrap_or_default();
    let lines = content.lines().skip(1).filter_map(|line| line.rsplit_once(','));
    lines.map(|(name, digest)| (name.to_string(), digest.to_string())).collect()
}

/// Compares the diaries of a recovery with the table, or replaces its lines.
fn hold(recovery: &str, variant: Variant, linux: bool) {
    let mut found = BTreeMap::new();
    for (control_name, control) in list_controls(variant, linux) {
        for road in ROADS {
            let name = format!("{recovery} {control_name} {road:?}").to_lowercase();
            let digest = run_case(&name, variant, linux, &control, road);
            found.insert(name, format!("{digest:016x}"));
        }
    }
    let is_mine = |name: &str| name.starts_with(&format!("{recovery} "));
    if std::env::var_os("TRUNKLINE_PIN").is_some() {
        let _guard = REWRITING.lock().unwrap();
        let mut table = read_table();
        table.retain(|name, _| !is_mine(name));
        table.extend(found.clone());
        let lines = table.iter().map(|(name, digest)| format!("{name},{digest}\n"));
        std::fs::write(TABLE, format!("diary,digest\n{}", lines.collect::<String>())).unwrap();
    }
    let mut pinned = read_table();
    pinned.retain(|name, _| is_mine(name));
    assert_eq!(found, pinned);
}

#[test]
fn tahoe_is_as_pinned() {
    hold("tahoe", Variant::Tahoe, false);
}

#[test]
fn reno_is_as_pinned() {
    hold("reno", Variant::Reno, false);
}

#[test]
fn new_reno_is_as_pinned() {
    hold("new-reno", Variant::NewReno, false);
}

#[test]
fn sack_is_as_pinned() {
    hold("sack", Variant::Sack, false);
}

#[test]
fn rack_is_as_pinned() {
    hold("rack", Variant::Rack, false);
}

#[test]
fn new_reno_of_linux_is_as_pinned() {
    hold("linux-new-reno", Variant::NewReno, true);
}

#[test]
fn sack_of_linux_is_as_pinned() {
    hold("linux-sack", Variant::Sack, true);
}
