//! Time to live: RFC 3443 worked by hand on a row of five nodes, a to e, IP TTL 64 at `a`.

use super::*;
use trunkline_packet::Cause;

/// Without labels every router counts one: 64 on the first link, 61 on the last.
#[test]
fn rfc1812_s5_3_1_every_router_counts_the_ttl_down() {
    let run = row().trace(1);
    assert_eq!(ttls_by_link(&run, 4), [[64], [63], [62], [61]]);
}

/// RFC 3443 section 3.1: the label takes the IP TTL, every LSR counts it down, and the value goes
/// back into the IP header at the pop. The penultimate LSR `d` writes 61: as without labels.
#[test]
fn rfc3443_s3_1_uniform_with_php_counts_every_hop() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
    let run = lab.trace(1);
    assert_eq!(ttls_by_link(&run, 4), [vec![64, 64], vec![63, 64], vec![62, 64], vec![61]]);
}

/// Popped at `e` itself: the label arrives with 61; `e` counts it down as it pops (oTTL - 1).
#[test]
fn rfc3443_s3_1_uniform_without_php_writes_the_label_ttl_back_at_the_egress() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    let run = lab.trace(1);
    assert_eq!(ttls_by_link(&run, 4), [[64, 64], [63, 64], [62, 64], [61, 64]]);
    assert_eq!(run.delivered(0)[0].1.ttl, 60);
}

/// RFC 3443 section 3.2 and 3.3: the label starts at 255 and its TTL never reaches the IP header.
#[test]
fn rfc3443_s3_3_pipe_leaves_the_ip_ttl_alone() {
    for (removal, last) in [
        (Removal::Penultimate, vec![64]),
        (Removal::Ultimate, vec![252, 64]),
        (Removal::ExplicitNull, vec![252, 64]),
    ] {
        let mut lab = row();
        lab.carry(0, &tunnel(&ROUTE, removal, Ttl::Pipe));
        let run = lab.trace(1);
        assert_eq!(ttls_by_link(&run, 4), [vec![255, 64], vec![254, 64], vec![253, 64], last]);
        assert_eq!(run.delivered(0)[0].1.ttl, 64);
    }
}

/// A tunnel inside the network, b to d. Uniform: as without labels. Pipe: the tunnel with its
/// egress is one hop: b counts, c does not, d does not as penultimate (`d` pops) but as router.
#[test]
fn rfc3443_s3_a_tunnel_inside_counts_as_its_hops_or_as_one() {
    let inside = ["b", "c", "d"];
    let mut uniform = row();
    uniform.carry(0, &tunnel(&inside, Removal::Ultimate, Ttl::Uniform));
    let run = uniform.trace(1);
    // b: 64 - 1 = 63 into the label; c: 62; d: 61, popped and forwarded, counted once.
    assert_eq!(ttls_by_link(&run, 4), [vec![64], vec![63, 63], vec![62, 63], vec![61]]);

    let mut pipe = row();
    pipe.carry(0, &tunnel(&inside, Removal::Ultimate, Ttl::Pipe));
    let run = pipe.trace(1);
    // b: 63 below a label of 255; c: 254; d pops and forwards by IP: 62.
    assert_eq!(ttls_by_link(&run, 4), [vec![64], vec![255, 63], vec![254, 63], vec![62]]);

    let mut popped = row();
    popped.carry(0, &tunnel(&inside, Removal::Penultimate, Ttl::Pipe));
    let run = popped.trace(1);
    // c pops and leaves 63; d counts as a router.
    assert_eq!(ttls_by_link(&run, 4), [vec![64], vec![255, 63], vec![63], vec![62]]);
}

/// A short IP TTL ends in a uniform tunnel at the LSR that would make it zero, and crosses a pipe.
#[test]
fn rfc3443_s3_a_short_ttl_ends_inside_a_uniform_tunnel_and_crosses_a_pipe() {
    for (model, node) in [(Ttl::Uniform, Some(2)), (Ttl::Pipe, None)] {
        let mut lab = row();
        lab.network.flows[0].ttl = 2; // a sends 2, b would send 1, c would make it 0
        lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, model));
        let run = lab.run(1);
        let expired = run.drops(Cause::TtlExpired);
        assert_eq!(expired, if node.is_some() { 100 } else { 0 }, "{model:?}");
        assert_eq!(run.flow(0, "packets_delivered"), 100.0 - expired as f64);
        if let Some(node) = node {
            assert_eq!(run.table("drops").int("node"), [node]);
        }
    }
}

/// RFC 1812 section 5.3.1: the destination takes a packet whatever its TTL; a router discards one
/// it would forward with 0. Four links need a TTL of 4 at the source.
#[test]
fn rfc1812_s5_3_1_a_ttl_of_the_number_of_links_just_arrives() {
    for (ttl, delivered) in [(4, 100.0), (3, 0.0)] {
        let mut lab = row();
        lab.network.flows[0].ttl = ttl;
        let run = lab.run(1);
        assert_eq!(run.flow(0, "packets_delivered"), delivered, "TTL {ttl}");
        assert_eq!(run.drops(Cause::TtlExpired) as f64, 100.0 - delivered);
    }
}
