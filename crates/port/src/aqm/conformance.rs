//! Rules that every AQM obeys, run over every variant of `AqmConfig`.

use super::{ActiveQueueManagement, Aqm, AqmConfig, Arrival, QueueBacklog, Verdict};
use super::{Curve, MredConfig, Spacing};
use proptest::prelude::*;
use std::collections::VecDeque;
use trunkline_units::RandomStream;

/// A configuration of each kind, as the compiled network writes it.
const CONFIGS: [&str; 14] = [
    r#"{"kind":"drop-tail"}"#,
    r#"{"kind":"precedence-drop-tail","limits_packets":[20,10],"counted":"own"}"#,
    r#"{"kind":"red","min_th":5.0,"max_th":15.0,"max_p":0.1,"w_q":0.1,"gentle":true,"unit":"packets","mean_packet_bytes":500,"spacing":"uniform"}"#,
    r#"{"kind":"wred","precedences":[{"min_th":5.0,"max_th":15.0,"max_p":0.1},{"min_th":2.0,"max_th":5.0,"max_p":0.5}],"w_q":0.1,"gentle":false,"mean_packet_bytes":500,"spacing":"ns2-diffserv"}"#,
    r#"{"kind":"rio-c","precedences":[{"min_th":5.0,"max_th":15.0,"max_p":0.1},{"min_th":2.0,"max_th":5.0,"max_p":0.5}],"w_q":0.1,"gentle":false,"mean_packet_bytes":500,"spacing":"ns2"}"#,
    r#"{"kind":"rio-d","precedences":[{"min_th":5.0,"max_th":15.0,"max_p":0.1},{"min_th":2.0,"max_th":5.0,"max_p":0.5}],"w_q":0.1,"gentle":false,"mean_packet_bytes":500,"spacing":"geometric"}"#,
    r#"{"kind":"red-linux","parameters":{"min_bytes":3000,"max_bytes":9000,"avpkt_bytes":500,"burst_packets":10,"bandwidth_bit_s":8000000,"probability":0.1},"age":"plog","harddrop":false,"idle_ageing":true}"#,
    r#"{"kind":"gred","dps":[{"dp":1,"limit_bytes":10000,"prio":1,"parameters":{"min_bytes":3000,"max_bytes":9000,"avpkt_bytes":500,"burst_packets":10,"bandwidth_bit_s":8000000,"probability":0.1}}],"default_dp":1,"grio":true,"age":"max-p","harddrop":false}"#,
    r#"{"kind":"codel","target_ns":5000000,"interval_ns":100000000,"mtu_bytes":1500,"ce_threshold_ns":null,"arithmetic":"linux"}"#,
    r#"{"kind":"pie","target_ns":15000000,"tupdate_ns":15000000,"alpha":0.125,"beta":1.25,"burst_ns":150000000,"mtu_bytes":1500,"arithmetic":"linux"}"#,
    r#"{"kind":"cobalt","target_ns":5000000,"interval_ns":100000000,"mtu_time_ns":1000000}"#,
    r#"{"kind":"blue","threshold":10,"unit":"packets","increment":0.02,"decrement":0.002,"freeze_ns":10000000}"#,
    r#"{"kind":"step","threshold":3000,"unit":"bytes"}"#,
    r#"{"kind":"dualpi2","target_ns":15000000,"tupdate_ns":16000000,"alpha":0.16,"beta":3.2,"coupling":2.0,"step_ns":1000000,"protection":0.1,"mtu_bytes":1500}"#,
];

fn configs() -> impl Iterator<Item = AqmConfig> {
    CONFIGS.iter().map(|text| serde_json::from_str(text).unwrap())
}

/// Index in `CONFIGS`; a new variant does not compile until it has one.
fn index(config: &AqmConfig) -> usize {
    match config {
        AqmConfig::DropTail(_) => 0,
        AqmConfig::PrecedenceDropTail(_) => 1,
        AqmConfig::Red(_) => 2,
        AqmConfig::Wred(_) => 3,
        AqmConfig::RioC(_) => 4,
        AqmConfig::RioD(_) => 5,
        AqmConfig::RedLinux(_) => 6,
        AqmConfig::Gred(_) => 7,
        AqmConfig::Codel(_) => 8,
        AqmConfig::Pie(_) => 9,
        AqmConfig::Cobalt(_) => 10,
        AqmConfig::Blue(_) => 11,
        AqmConfig::Step(_) => 12,
        AqmConfig::Dualpi2(_) => 13,
    }
}

/// FJ93 fig. 2 for the models of several precedences, 1 ms a packet, weight 1/2. 20 packets: 10; 20 again while
/// the queue is busy, whatever the time: 15; empty from 8 ms on, next arrival at 10.5 ms: m = 2 and the arrival
/// itself, 15 / 8.
#[test]
fn fj93_fig2_the_average_ages_from_when_no_packet_is_left() {
    let curve = Curve { min_th: 100.0, max_th: 200.0, max_p: 0.1 };
    let config = MredConfig {
        precedences: vec![curve],
        w_q: 0.5,
        gentle: false,
        mean_packet_bytes: 1000,
        spacing: Spacing::Uniform,
    };
    for config in [
        AqmConfig::Wred(config.clone()),
        AqmConfig::RioC(config.clone()),
        AqmConfig::RioD(config.clone()),
    ] {
        let mut aqm = Aqm::new(&config, 8_000_000).unwrap();
        let mut random = RandomStream::new(1, "test", "conform");
        let backlog = |packets: u32| QueueBacklog { packets, bytes: u64::from(packets) * 1000 };
        let counts_itself = !matches!(config, AqmConfig::Wred(_));
        for _ in 0..if counts_itself { 20 } else { 0 } {
            aqm.on_enqueue(1000, 0);
        }
        let mut arrive = |aqm: &mut Aqm, now, packets| {
            let backlog = backlog(packets);
            aqm.on_arrival(&Arrival { now, bytes: 1000, precedence: 0, backlog }, &mut random);
            aqm.average()
        };
        assert_eq!(arrive(&mut aqm, 0, 20), Some(10.0));
        if !counts_itself {
            aqm.on_enqueue(1000, 0);
        }
        assert_eq!(arrive(&mut aqm, 5_000_000, 20), Some(15.0));
        for left in (0..20).rev() {
            aqm.on_departure(7_000_000 + u64::from(left == 0) * 1_000_000, 1000, 0, backlog(left));
        }
        assert_eq!(arrive(&mut aqm, 10_500_000, 0), Some(15.0 / 8.0), "{config:?}");
    }
}

#[test]
fn each_kind_reads_back_from_its_own_text_and_refuses_an_unknown_key() {
    for (at, config) in configs().enumerate() {
        assert_eq!(index(&config), at);
        assert_eq!(serde_json::to_string(&config).unwrap(), CONFIGS[at]);
        let strange = CONFIGS[at].replacen('}', r#","limt":1}"#, 1);
        assert!(serde_json::from_str::<AqmConfig>(&strange).is_err(), "{strange}");
    }
}

/// Sends packets of (gap [us], bytes, precedence) through a queue of 8 Mbit/s; returns the verdicts.
fn verdicts(config: &AqmConfig, train: &[(u64, u32, u8)]) -> Vec<Verdict> {
    let mut aqm = Aqm::new(config, 8_000_000).unwrap();
    let mut random = RandomStream::new(1, "test", "conform");
    let mut queue: VecDeque<(u32, u8)> = VecDeque::new();
    let (mut now, mut free_at, mut busy) = (0, 0, false);
    let mut verdicts = Vec::new();
    let backlog = |queue: &VecDeque<(u32, u8)>| QueueBacklog {
        packets: queue.len() as u32,
        bytes: queue.iter().map(|packet| u64::from(packet.0)).sum(),
    };
    for &(gap, bytes, precedence) in train {
        now += gap * 1000;
        while busy && free_at <= now {
            if let Some((bytes, precedence)) = queue.pop_front() {
                aqm.on_departure(free_at, bytes, precedence, backlog(&queue));
                free_at += u64::from(bytes) * 1000;
            } else {
                busy = false;
                aqm.on_idle(free_at);
            }
        }
        let arrival = Arrival { now, bytes, precedence, backlog: backlog(&queue) };
        let verdict = aqm.on_arrival(&arrival, &mut random);
        if verdict == Verdict::Pass {
            aqm.on_enqueue(bytes, precedence);
            if busy {
                queue.push_back((bytes, precedence));
            } else {
                aqm.on_departure(now, bytes, precedence, QueueBacklog::default());
                (busy, free_at) = (true, now + u64::from(bytes) * 1000);
            }
        }
        if let Some(average) = aqm.average() {
            assert!(average.is_finite() && average >= 0.0, "{average}");
        }
        verdicts.push(verdict);
    }
    verdicts
}

proptest! {
    /// Same seed, same verdicts; averages stay finite and not negative for any arrivals.
    #[test]
    fn verdicts_repeat_and_averages_stay_sound(
        train in prop::collection::vec((0u64..2_000, 40u32..1500, 0u8..18), 1..300),
    ) {
        for config in configs() {
            prop_assert_eq!(verdicts(&config, &train), verdicts(&config, &train));
        }
    }

    /// A packet that finds the line idle, after a silence long enough to forget, is never dropped.
    #[test]
    fn an_idle_queue_drops_nothing(
        train in prop::collection::vec((2_000u64..50_000, 40u32..1500, 0u8..2), 1..100),
    ) {
        for config in configs() {
            prop_assert!(verdicts(&config, &train).iter().all(|verdict| *verdict == Verdict::Pass));
        }
    }
}

/// The average falls further on an idle link, also where arrivals are dropped there one by one: at 200
/// ms, 400 packet times of 500 B, each step multiplies it by 0.998^401 = 0.45, so the four steps from
/// above 15 to below 2 are past at the last ten arrivals. GRED is left out: Linux's forgets the time.
#[test]
fn fj93_fig2_drops_on_an_idle_link_do_not_stop_the_ageing() {
    let slow = |text: &str| {
        let text = text.replace("\"w_q\":0.1", "\"w_q\":0.002");
        text.replace("\"burst_packets\":10", "\"burst_packets\":200")
    };
    for text in &CONFIGS[2..7] {
        let config: AqmConfig = serde_json::from_str(&slow(text)).unwrap();
        for precedence in [0, 1] {
            let overload = [(125, 500, precedence); 8000];
            let silence = [(200_000, 500, precedence); 20];
            let results = verdicts(&config, &[&overload[..], &silence[..]].concat());
            assert!(results[..8000].iter().any(|each| *each != Verdict::Pass), "{text}");
            assert!(
                results[8010..].iter().all(|each| *each == Verdict::Pass),
                "{text} {precedence}"
            );
        }
    }
}
