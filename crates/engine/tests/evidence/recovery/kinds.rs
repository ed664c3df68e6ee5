//! 1+1, facility bypass, detour and restoration.

use super::bench::{times, Bench};
use crate::support::{tcp, MS, SECOND};
use trunkline_agent::tcp::{TcpConfig, Variant};
use trunkline_engine::network::recovery::{Detection, ProtectionKind, Switch};
use trunkline_engine::network::{Agent, Ilm, Nhlfe, Path};
use trunkline_engine::observer::Event;
use trunkline_packet::Cause;

fn entry_at(bench: &mut Bench, node: &str, label: u32) -> u32 {
    let node = bench.lab.node(node);
    let entries = &bench.lab.network.ilm;
    let found = entries.iter().find(|entry| entry.node == node && entry.label == label);
    found.expect("the path has this label").nhlfe
}

/// S sends a copy over each path, and T selects those of one; it notices a failure after 10 ms.
fn with_both_copies() -> Bench {
    let mut bench = Bench::new();
    let (working, backup) = (entry_at(&mut bench, "T", 102), entry_at(&mut bench, "T", 203));
    let (a, b, tail) = (bench.working.1, bench.backup.1, bench.lab.node("T"));
    let protection = bench.protect(Detection::Fixed { delay_ns: 10 * MS });
    protection.kind = ProtectionKind::OnePlusOne;
    protection.node = tail;
    protection.bridge = Some(Switch { entry: a, alternative: b });
    protection.switches = vec![Switch { entry: working, alternative: backup }];
    bench
}

/// Both copies travel; T selects. The working path fails at 1 s at A-B, T notices itself when the
/// set 10 ms are over: lost are the packets that would have come over the working path until then,
/// less those whose other copy came later.
#[test]
fn one_plus_one_sends_two_copies_and_selects_one() {
    let mut bench = with_both_copies();
    let cut = bench.both("A", "B");
    bench.lab.fail("cut", cut, &[(SECOND, 0)]);
    let outcome = bench.lab.run(1);
    let paths = outcome.table("paths");
    assert_eq!(paths.int("packets"), [5000, 5000]);
    assert_eq!(outcome.summary("packets_copied") as i64, 5000);
    // Working copies sent up to 986 ms pass the cut (t + 12.008 ms): 494 arrive and are selected. T
    // switches at 1.010 s; a backup copy sent at t comes at t + 24.016 ms: selected from 986 ms on,
    // and there by 10 s up to 9974 ms: numbers 493 to 4987, 4495 copies. That of 986 ms comes twice.
    assert_eq!(outcome.flow(bench.flow, "packets_delivered") as i64, 494 + 4495);
    // Still under way: 12 of those, and the working copies of 9994, 9996 and 9998 ms before the cut.
    assert_eq!(outcome.summary("packets_inside_after") as i64, 12 + 3);
    // Copies not selected: backup copies that came before 1.010 s: sent up to 984 ms, 493.
    assert_eq!(outcome.drops(Cause::Unselected), 493);
}

/// The same for acknowledgements alone, of segments from T to S: each is copied, and one of two is not selected.
#[test]
fn one_plus_one_copies_acknowledgements_too() {
    let mut bench = with_both_copies();
    bench.lab.network.flows.clear();
    let config = TcpConfig { size_bytes: Some(100_000), ..tcp(Variant::Sack) };
    let flow = bench.lab.flow("tcp", "T", "S", Agent::Tcp(config));
    bench.lab.network.flows[flow].fec_reverse = 1;
    let outcome = bench.lab.run(1);
    assert_eq!(outcome.flow(flow, "acks_sent"), 100.0);
    assert_eq!(outcome.flow(flow, "goodput_bytes"), 100_000.0);
    assert_eq!(outcome.summary("packets_copied"), 100.0);
    assert_eq!(outcome.drops(Cause::Unselected), 100);
}

/// A bypass A-C-D-B around A-B: on its links a packet carries two labels, elsewhere one.
fn with_bypass(detour: bool) -> (Bench, Vec<u32>) {
    let mut bench = Bench::new();
    let links: Vec<u32> = [["A", "C"], ["D", "B"]]
        .map(|pair| bench.lab.duplex(pair[0], pair[1], 8_000_000, 5 * MS).0)
        .into();
    let middle = bench.lab.between("C", "D");
    let route = vec![links[0], middle, links[1]];
    bench.lab.network.paths.push(Path {
        name: "bypass".into(),
        links: route.clone(),
        account: false,
    });
    let (c, d) = (bench.lab.node("C"), bench.lab.node("D"));
    let swap = |link: u32, label: Option<u32>| Nhlfe {
        link: Some(link),
        pop: true,
        push: label.into_iter().collect(),
        path: 2,
        ..Nhlfe::default()
    };
    // The working path's label from A to B is 101. A facility bypass pushes 300 upon it, and D
    // takes the outer label off; a detour has labels of its own, and D swaps back to 101.
    let push = if detour { vec![300] } else { vec![101, 300] };
    let at_a = bench.lab.nhlfe(Nhlfe { push, ..swap(links[0], None) });
    let at_c = bench.lab.nhlfe(swap(middle, Some(301)));
    let at_d = bench.lab.nhlfe(swap(links[1], detour.then_some(101)));
    bench.lab.network.ilm.push(Ilm { node: c, label: 300, nhlfe: at_c });
    bench.lab.network.ilm.push(Ilm { node: d, label: 301, nhlfe: at_d });
    let cut = bench.both("A", "B");
    bench.lab.fail("cut", cut, &[(SECOND, 0)]);
    let (entry, point) = (entry_at(&mut bench, "A", 100), bench.lab.node("A"));
    let watched = bench.lab.between("A", "B");
    let protection = bench.protect(Detection::LossOfSignal { delay_ns: 10 * MS });
    protection.kind = if detour { ProtectionKind::Detour } else { ProtectionKind::FacilityBypass };
    protection.node = point;
    protection.watches = vec![watched];
    protection.switches = vec![Switch { entry, alternative: at_a }];
    (bench, route)
}

#[test]
fn rfc4090_s3_2_a_facility_bypass_adds_exactly_one_label_on_its_links() {
    let (bench, route) = with_bypass(false);
    let outcome = bench.lab.trace(1);
    let mut seen = 0;
    for line in &outcome.lines {
        let Event::Arrived { link } = line.event else { continue };
        let expected = match route.iter().position(|of| *of == link) {
            Some(2) => 1, // the last but one of the bypass takes the outer label off
            Some(_) => 2,
            None => 1,
        };
        assert_eq!(line.packet.labels.depth(), expected, "on link {link}");
        seen += u32::from(expected == 2);
    }
    assert!(seen > 4000);
    // A notices by itself after 10 ms: no notification. Lost: on A-B at 1 s, 3 packets (sent 988,
    // 990, 992 ms), and those that came to A between 1.000 and 1.010 s: sent at t, they are at A at
    // t + 6.004 ms: 994, ... 1002 ms, 5 (the next, of 1004 ms, comes at 1010.004 ms).
    assert_eq!(times(&outcome, "switched"), [SECOND + 10 * MS]);
    assert_eq!(outcome.flow(bench.flow, "packets_dropped") as i64, 3 + 5);
}

#[test]
fn rfc4090_s3_1_a_detour_keeps_the_depth_of_the_label_stack() {
    let (bench, route) = with_bypass(true);
    let outcome = bench.lab.trace(1);
    let on_detour = outcome.lines.iter().filter(|line| {
        matches!(line.event, Event::Arrived { link } if route.contains(&link))
            && line.packet.labels.depth() == 1
    });
    assert!(on_detour.count() > 3 * 4000);
    assert_eq!(outcome.flow(bench.flow, "packets_dropped") as i64, 3 + 5);
}

/// The head knows at once, computes for 4 ms and signals over S-C-D-E-T: 4 hops there and back of
/// 5 ms and 1 ms of processing, 48 ms. Switched at 1.052 s.
#[test]
fn restoration_takes_computation_and_signalling_there_and_back() {
    let mut bench = Bench::new();
    let cut = bench.both("A", "B");
    bench.lab.fail("cut", cut, &[(SECOND, 0)]);
    let protection = bench.protect(Detection::Fixed { delay_ns: 0 });
    protection.kind = ProtectionKind::Restoration;
    protection.compute_ns = 4 * MS;
    protection.processing_ns = MS;
    let outcome = bench.lab.trace(1);
    assert_eq!(times(&outcome, "switched"), [SECOND + 52 * MS]);
    // Sent from 988 ms (in flight on A-B) until 1050 ms: 32.
    assert_eq!(outcome.flow(bench.flow, "packets_dropped") as i64, 32);
    let restored = outcome.lines.iter().filter(
        |line| matches!(line.event, Event::Arrived { link } if link == 6 && line.at > SECOND),
    );
    assert!(restored.clone().count() > 4000, "packets take S-C");
    assert!(restored.clone().all(|line| line.packet.labels.depth() == 1));
}

/// No other way than A-B while C-D is down as well; the head tries again when C-D is repaired.
#[test]
fn restoration_without_a_path_waits_for_a_repair() {
    let mut bench = Bench::new();
    let (cut, other) = (bench.both("A", "B"), bench.both("C", "D"));
    bench.lab.fail("cut", cut, &[(SECOND, 0)]);
    bench.lab.fail("other", other, &[(500 * MS, 2 * SECOND)]);
    bench.protect(Detection::Fixed { delay_ns: 0 }).kind = ProtectionKind::Restoration;
    let outcome = bench.lab.run(1);
    assert_eq!(times(&outcome, "no-path"), [SECOND]);
    // Signalling at 2 s: 4 hops there and back, 40 ms.
    assert_eq!(times(&outcome, "switched"), [2 * SECOND + 40 * MS]);
}

/// Local repair of A-B after 10 ms; the head, notified by A, waits 100 ms and takes the backup. Repaired
/// at 2 s: the point of local repair goes back once it knows, the head after its own wait of 50 ms.
#[test]
fn local_repair_bridges_the_time_until_the_head_has_switched() {
    let (mut bench, _) = with_bypass(false);
    let failures = &mut bench.lab.network.recovery.failures;
    let cut = failures.pop().expect("that of A-B").links;
    bench.lab.fail("cut", cut, &[(SECOND, 2 * SECOND)]);
    let protection = bench.protect(Detection::LossOfSignal { delay_ns: 10 * MS });
    protection.hold_off_ns = 100 * MS;
    protection.wait_to_restore_ns = 50 * MS;
    let outcome = bench.lab.run(1);
    // A at 1.010 s; the head knows at 1.015 s and switches at 1.115 s.
    assert_eq!(times(&outcome, "switched"), [SECOND + 10 * MS, SECOND + 115 * MS]);
    // No more is lost than by local repair alone: 3 in flight, 5 at A within 10 ms.
    assert_eq!(outcome.flow(bench.flow, "packets_dropped") as i64, 3 + 5);
    // Sent before 1.116 s on the working path, then on the backup until the head goes back.
    let back = times(&outcome, "reverted");
    // A sees its side well after 10 ms, and hears 5 ms later that B's is.
    assert_eq!(back[0], 2 * SECOND + 15 * MS);
    let switched_over = (back[1] - (SECOND + 115 * MS)) / (2 * MS);
    let on_backup = outcome.table("paths").int("packets")[1];
    assert!(on_backup.abs_diff(switched_over as i64) <= 1, "{on_backup} {switched_over}");
}
