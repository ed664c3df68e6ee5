//! Effect of tables that do not fit together: packets end, runs end.

use super::*;
use trunkline_engine::network::{Ilm, Nhlfe};
use trunkline_engine::RunError;
use trunkline_packet::Cause;

/// RFC 3031 section 3.18: a packet with a label that has no entry is discarded, not guessed at.
#[test]
fn rfc3031_s3_18_an_unknown_label_ends_the_packet_at_that_lsr() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
    lab.network.ilm.retain(|entry| entry.label != 101);
    let run = lab.run(1);
    assert_eq!((run.drops(Cause::NoLabel), run.flow(0, "packets_delivered")), (100, 0.0));
    assert_eq!(run.table("drops").int("node"), [2]);
}

/// A label of another node means nothing here, though it is in that node's map.
#[test]
fn rfc3031_s3_14_label_maps_belong_to_one_node() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    lab.network.nhlfe[0].push = vec![102]; // b is sent the label that d chose
    assert_eq!(lab.run(1).drops(Cause::NoLabel), 100);
}

fn looping(delay_ns: u64, rate_bit_s: u64, ttl: Ttl) -> Lab {
    let mut lab = Lab::chain(&["a", "b", "c"], rate_bit_s, delay_ns);
    lab.flow("flow", "a", "c", cbr(MBIT, BYTES));
    lab.network.flows[0].stop_ns = Some(400 * MS);
    lab.carry(0, &tunnel(&["a", "b", "c"], Removal::Ultimate, ttl));
    // c sends what it should pop back to b under the label b knows, for ever.
    let back = lab.between("c", "b");
    let entry = lab.network.ilm.iter().find(|entry| entry.node == 2).expect("c's label").nhlfe;
    lab.network.nhlfe[entry as usize] =
        Nhlfe { link: Some(back), pop: true, push: vec![100], ttl, ..Nhlfe::default() };
    lab.lasting(0, SECOND);
    lab
}

/// RFC 3031 section 3.23: TTL ends label loops. 64 at `a`: 64 links, then expiry. A pipe's label
/// starts at 255.
#[test]
fn rfc3031_s3_23_a_label_loop_is_ended_by_the_ttl() {
    for (model, hops) in [(Ttl::Uniform, 64.0), (Ttl::Pipe, 255.0)] {
        let run = looping(0, GBIT, model).run(1);
        assert_eq!((run.drops(Cause::TtlExpired), run.flow(0, "packets_delivered")), (100, 0.0));
        assert_eq!(run.summary("packet_hops"), 100.0 * hops, "{model:?}");
    }
}

/// The same where a hop takes no time at all (500 B at 10 Tbit/s are 0.4 ns): it ends all the same.
#[test]
fn a_label_loop_that_takes_no_time_is_ended_by_the_ttl() {
    let run = looping(0, 10_000 * GBIT, Ttl::Pipe).run(1);
    assert_eq!(run.drops(Cause::TtlExpired), 100);
}

/// An NHLFE that swaps and looks again here would never let go of the packet.
#[test]
fn an_nhlfe_without_a_link_that_pushes_is_refused() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    for (pop, push) in [(true, vec![100]), (false, vec![100]), (false, vec![])] {
        let mut wrong = Lab { network: lab.network.clone() };
        let entry = Nhlfe { pop, push, ..Nhlfe::default() };
        let nhlfe = wrong.nhlfe(entry);
        wrong.network.ilm[0] = Ilm { node: 1, label: 100, nhlfe };
        match wrong.try_run(1) {
            Err(RunError::Invalid(why)) => assert!(why.contains("without a link"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Labels have 20 bits and a stack four places: more is refused before the run.
#[test]
fn labels_and_pushes_out_of_range_are_refused() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    for (push, needle) in [(vec![1 << 20], "1048575"), (vec![20, 21, 22, 23, 24], "at most 4")] {
        let mut wrong = Lab { network: lab.network.clone() };
        wrong.network.nhlfe[0].push = push;
        match wrong.try_run(1) {
            Err(RunError::Invalid(why)) => assert!(why.contains(needle), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}

/// A fifth label does not fit: the packet is lost where it would be pushed, the run continues.
#[test]
fn a_push_on_a_full_stack_ends_the_packet() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    lab.network.nhlfe[0].push = vec![50, 51, 52, 100];
    let at_b = lab.network.ilm[0].nhlfe as usize;
    lab.network.nhlfe[at_b].push = vec![101, 102];
    let run = lab.run(1);
    assert_eq!((run.drops(Cause::TooBig), run.flow(0, "packets_delivered")), (100, 0.0));
    assert_eq!(run.table("drops").int("node"), [1]);
}

/// No route and no path: dropped where it stands, with that cause.
#[test]
fn a_packet_without_a_route_is_dropped_at_its_source() {
    let mut lab = row();
    lab.network.links.retain(|link| link.name != "c->d");
    let run = lab.run(1);
    assert_eq!(run.drops(Cause::NoRoute), 100);
    assert_eq!(run.table("drops").int("node"), [0]);
}
