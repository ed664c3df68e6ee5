//! Differentiated Services on label-switched paths: RFC 3270 worked by hand on a to e.

use super::*;
use trunkline_engine::network::{
    Class, Classifier, DiffServ, Ilm, Network, Nhlfe, PortConfig, Tunnel as Model,
};
use trunkline_port::sched::{PriorityShare, SchedulerConfig};

const EF: u8 = 46;
const AF11: u8 = 10;
const AF12: u8 = 12;
const AF13: u8 = 14;
const CS1: u8 = 8;

/// An E-LSP: EF 5, AF11 1, AF12 2, AF13 3, everything else 0.
fn e_lsp(tunnel: Model) -> DiffServ {
    let mut maps = DiffServ {
        tc_of_dscp: vec![0; 64],
        tc_of_tc: (0..8).collect(),
        dscp_of_tc: vec![None; 8],
        tc_below: (0..8).collect(),
        tunnel,
    };
    maps.dscp_of_tc[0] = Some(0);
    for (dscp, tc) in [(EF, 5), (AF11, 1), (AF12, 2), (AF13, 3)] {
        maps.tc_of_dscp[usize::from(dscp)] = tc;
        maps.dscp_of_tc[usize::from(tc)] = Some(dscp);
    }
    maps
}

/// Lets every entry of the lab's path push and pop by these maps.
fn mark(lab: &mut Lab, maps: DiffServ) {
    lab.network.diffserv.push(maps);
    for entry in &mut lab.network.nhlfe {
        entry.push_diffserv = vec![(!entry.pop).then_some(0)];
        entry.pop_diffserv = (entry.pop && entry.push.is_empty()).then_some(0);
    }
}

/// TC by link (None without a label) and DSCP at the far host.
fn seen(lab: &Lab) -> ([Option<u8>; 4], u8) {
    let run = lab.trace(1);
    let tc = |link: u32| run.arrived(0, 2 * link)[0].1.labels.top().map(|top| top.tc());
    ([tc(0), tc(1), tc(2), tc(3)], run.delivered(0)[0].1.dscp)
}

/// One row of the table: the packet comes with DSCP `dscp`, `b` sets its TC to `inside` (as a
/// conditioner of the LSP would), and it goes out with `out`.
struct Case {
    model: Model,
    removal: Removal,
    dscp: u8,
    inside: Option<u8>,
    out: u8,
}

/// RFC 3270 section 2.6: what the LSP did to the TC shows outside in the uniform model alone, with
/// and without PHP. `None`: nothing happened inside, TC is that of the DSCP.
#[test]
fn rfc3270_s2_6_the_dscp_that_comes_out_by_model_and_php() {
    use Model::{Pipe, ShortPipe, Uniform};
    use Removal::{Penultimate, Ultimate};
    let case = |model, removal, dscp, inside, out| Case { model, removal, dscp, inside, out };
    let table = [
        // Nothing happens inside: every model gives back what came.
        case(Uniform, Ultimate, AF11, None, AF11),
        case(Uniform, Penultimate, AF11, None, AF11),
        case(Pipe, Ultimate, AF11, None, AF11),
        case(ShortPipe, Ultimate, AF11, None, AF11),
        case(ShortPipe, Penultimate, AF11, None, AF11),
        // AF11 (TC 1) is demoted to AF13 (TC 3) inside.
        case(Uniform, Ultimate, AF11, Some(3), AF13),
        case(Uniform, Penultimate, AF11, Some(3), AF13),
        case(Pipe, Ultimate, AF11, Some(3), AF11),
        case(ShortPipe, Ultimate, AF11, Some(3), AF11),
        case(ShortPipe, Penultimate, AF11, Some(3), AF11),
        // CS1 has no TC of its own: it travels as TC 0, default. Uniform makes it default for good.
        case(Uniform, Penultimate, CS1, None, 0),
        case(ShortPipe, Penultimate, CS1, None, CS1),
        // TC 7 means no PHB: there is nothing to write.
        case(Uniform, Penultimate, EF, Some(7), EF),
    ];
    for (row_number, Case { model, removal, dscp, inside, out }) in table.into_iter().enumerate() {
        let mut lab = row();
        lab.network.flows[0].dscp = dscp;
        lab.carry(0, &tunnel(&ROUTE, removal, Ttl::Uniform));
        let last = if removal == Removal::Penultimate { None } else { Some(()) };
        let mut maps = e_lsp(model);
        let tc = maps.tc_of_dscp[usize::from(dscp)];
        if let Some(demoted) = inside {
            maps.tc_of_dscp[usize::from(dscp)] = demoted;
        }
        mark(&mut lab, maps);
        let tc = Some(inside.unwrap_or(tc));
        let wanted = ([tc, tc, tc, last.and(tc)], out);
        assert_eq!(seen(&lab), wanted, "row {row_number}");
    }
}

/// RFC 3270 section 4.4.1 and RFC 2597: in an L-LSP of AF1 the label gives the class, TC 1, 2
/// and 3 the drop precedence. The port of b-c has a class for the label's row, and the precedence
/// comes from the TC column.
#[test]
fn rfc3270_s4_4_1_an_l_lsp_tells_af11_af12_af13_by_tc_1_2_3() {
    for (dscp, tc, precedence) in [(AF11, 1, 0), (AF12, 2, 1), (AF13, 3, 2)] {
        let mut lab = row();
        lab.network.flows[0].dscp = dscp;
        lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
        mark(&mut lab, e_lsp(Model::ShortPipe));
        classify_at(&mut lab, 2, |row| {
            for tc in 1..4u16 {
                row[64 + usize::from(tc)] = [1, tc - 1];
            }
        });
        let entry = lab.network.ilm[0].nhlfe;
        lab.network.nhlfe[entry as usize].row = Some(1);
        assert_eq!(seen(&lab), ([Some(tc); 4], dscp));
        let run = lab.run(1);
        let table = run.table("accounts");
        assert_eq!(table.int("class"), [1], "the class of the label");
        assert_eq!(table.int("precedence"), [precedence]);
    }
}

/// Two classes at the port of a link, row 0 all in class 0, row 1 as given; counted.
fn classify_at(lab: &mut Lab, link: usize, fill: impl Fn(&mut Vec<[u16; 2]>)) {
    let plain = lab.network.ports[lab.network.links[link].port as usize].clone();
    let class = |name: &str| Class { name: name.into(), ..plain.classes[0].clone() };
    let mut row = vec![[0, 0]; 72];
    fill(&mut row);
    lab.network.ports.push(PortConfig {
        name: "phb".into(),
        classifier: Classifier { rows: vec![vec![[0, 0]; 72], row], flow_rows: vec![] },
        classes: vec![class("rest"), class("af1")],
        scheduler: SchedulerConfig::Priority { shares: vec![PriorityShare { priority: 0 }; 2] },
        ecn_in_mpls: false,
    });
    lab.network.links[link].port = lab.network.ports.len() as u32 - 1;
    lab.network.links[link].account = true;
}

/// RFC 3270 section 2.6.2: the egress of a pipe (`d`) forwards by the PHB of the LSP, EF, into the
/// class of DSCP 46, while the packet keeps DSCP 0; a short pipe forwards by the packet's own.
#[test]
fn rfc3270_s2_6_2_the_egress_of_a_pipe_forwards_by_the_phb_of_the_lsp() {
    for (model, class) in [(Model::Pipe, 1), (Model::ShortPipe, 0)] {
        let mut lab = row();
        lab.carry(0, &tunnel(&["a", "b", "c", "d"], Removal::Ultimate, Ttl::Pipe));
        let mut maps = e_lsp(model);
        maps.tc_of_dscp[0] = 5; // the provider sends this customer's default as EF
        mark(&mut lab, maps);
        classify_at(&mut lab, 6, |_| {});
        let ports = lab.network.ports.len();
        lab.network.ports[ports - 1].classifier.rows[0][usize::from(EF)] = [1, 0];
        assert_eq!(seen(&lab), ([Some(5), Some(5), Some(5), None], 0));
        assert_eq!(lab.run(1).table("accounts").int("class"), [class], "{model:?}");
    }
}

/// Two tunnels, each with its own model. The outer one (b to d) demotes TC 1 to TC 3: a uniform
/// one leaves 3 on the inner label, a short pipe the 1 that was there. The inner is uniform.
#[test]
fn rfc3270_s2_6_stacked_tunnels_each_have_their_own_model() {
    for (outer, below, out) in [(Model::Uniform, 3, AF13), (Model::ShortPipe, 1, AF11)] {
        let mut lab = row();
        lab.network.flows[0].dscp = AF11;
        lab.carry(0, &tunnel(&ROUTE, Removal::Penultimate, Ttl::Uniform));
        mark(&mut lab, e_lsp(Model::Uniform));
        let mut demoting = e_lsp(outer);
        demoting.tc_of_tc[1] = 3;
        lab.network.diffserv.push(demoting);
        // b swaps 100 for 101 and pushes 900; c takes 900 off and looks at 101.
        let at_b = lab.network.ilm[0].nhlfe as usize;
        lab.network.nhlfe[at_b].push.push(900);
        lab.network.nhlfe[at_b].push_diffserv = vec![None, Some(1)];
        let pop = lab.nhlfe(Nhlfe { pop: true, pop_diffserv: Some(1), ..Nhlfe::default() });
        let c = lab.node("c");
        lab.network.ilm.push(Ilm { node: c, label: 900, nhlfe: pop });
        assert_eq!(seen(&lab), ([Some(1), Some(3), Some(below), None], out), "{outer:?}");
    }
}

/// Linux writes TC 0 at the push and at every swap (af_mpls.c, mpls_iptunnel.c): a TC that some
/// other router wrote is lost at the first swap. The push here writes EF's 5.
#[test]
fn linux_zeroes_the_tc_at_a_swap() {
    let mut lab = row();
    lab.network.flows[0].dscp = EF;
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    mark(&mut lab, e_lsp(Model::ShortPipe));
    let at_c = lab.network.ilm[1].nhlfe as usize;
    lab.network.nhlfe[at_c].zero_tc = true;
    assert_eq!(seen(&lab), ([Some(5), Some(5), Some(0), Some(0)], EF));
}

/// An FTN entry for some DSCPs of a class: AF11 takes the path, EF stays on IP.
#[test]
fn rfc3270_s2_2_the_ftn_chooses_the_lsp_by_the_behaviour_aggregate() {
    for (dscp, labels) in [(AF11, Some(1)), (EF, None)] {
        let mut lab = row();
        lab.network.flows[0].dscp = dscp;
        lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
        mark(&mut lab, e_lsp(Model::ShortPipe));
        lab.network.ftn[0].dscps = vec![AF11, AF12];
        assert_eq!(seen(&lab), ([labels; 4], dscp));
    }
}

/// Puts a TC or a DSCP into a network.
type SetValue = fn(&mut Network, u8);

/// A TC has three bits, a DSCP six. A network written by hand runs with the largest of each, and is refused
/// with the number that is one more.
#[test]
fn rfc5462_s1_a_tc_is_7_at_most_and_rfc2474_s3_a_dscp_63() {
    let cases: [(SetValue, u8, &str); 5] = [
        (|network, tc| network.diffserv[0].tc_of_dscp[0] = tc, 7, "diffserv 0: TC 8 is above 7"),
        (|network, tc| network.diffserv[0].tc_of_tc[7] = tc, 7, "diffserv 0: TC 8 is above 7"),
        (|network, tc| network.diffserv[0].tc_below[7] = tc, 7, "diffserv 0: TC 8 is above 7"),
        (
            |network, dscp| network.diffserv[0].dscp_of_tc[7] = Some(dscp),
            63,
            "diffserv 0: DSCP 64 is above 63",
        ),
        (
            |network, dscp| network.ftn[0].dscps = vec![dscp],
            63,
            "an FTN entry for DSCP 64, above 63",
        ),
    ];
    for (set, largest, why) in cases {
        let refusal = |value| {
            let mut lab = row();
            lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
            mark(&mut lab, e_lsp(Model::Uniform));
            set(&mut lab.network, value);
            lab.try_run(1).err().map(|error| error.to_string())
        };
        assert_eq!(refusal(largest), None);
        assert_eq!(refusal(largest + 1), Some(format!("invalid network: {why}")));
    }
}

/// Maps of the label at a depth, none of which is the identity, and no two of which are alike: TC by
/// DSCP and by TC, TC below and DSCP by TC, with one TC that means no PHB.
fn depth_maps(depth: u8, tunnel: Model) -> DiffServ {
    let tc = |factor: u8, plus: u8| move |from: u8| (factor.wrapping_mul(from) + plus + depth) % 8;
    DiffServ {
        tc_of_dscp: (0..64).map(tc(3, 1)).collect(),
        tc_of_tc: (0..8).map(tc(3, 2)).collect(),
        dscp_of_tc: (0..8)
            .map(|from| (from != 7 - depth).then_some((11 * from + 7 * depth + 2) % 64))
            .collect(),
        tc_below: (0..8).map(tc(5, 3)).collect(),
        tunnel,
    }
}

/// A flow of each DSCP from `a` over `b` to `e`; `a` pushes labels 101, 102, ... with the maps of their
/// depths, the last on top, and `b` pops the `popped` topmost.
fn stacked(depth: u8, popped: u8, model: Model) -> Lab {
    let mut lab = Lab::chain(&ROUTE, 10 * MBIT, MS);
    for dscp in 0..64 {
        let flow = lab.flow(&format!("dscp{dscp}"), "a", "e", schedule(&[(0, BYTES)]));
        lab.network.flows[flow].dscp = dscp;
        lab.network.flows[flow].fec = 1;
    }
    lab.lasting(0, SECOND);
    let (path, _) = lab.tunnel(&tunnel(&["a", "b"], Removal::Penultimate, Ttl::Uniform));
    let labels: Vec<u32> = (1..=depth).map(|depth| 100 + u32::from(depth)).collect();
    lab.network.diffserv = (1..=depth).map(|depth| depth_maps(depth, model)).collect();
    let (link, b) = (lab.between("a", "b"), lab.node("b"));
    let push = lab.nhlfe(Nhlfe {
        link: Some(link),
        push: labels.clone(),
        push_diffserv: (0..u32::from(depth)).map(Some).collect(),
        ttl: Ttl::Uniform,
        path,
        ..Nhlfe::default()
    });
    lab.bind("a", 1, push);
    for index in (0..depth).rev().take(usize::from(popped)) {
        let pop = Nhlfe { pop: true, pop_diffserv: Some(index.into()), path, ..Nhlfe::default() };
        let nhlfe = lab.nhlfe(pop);
        lab.network.ilm.push(Ilm { node: b, label: labels[usize::from(index)], nhlfe });
    }
    // The label left on top, if any, is swapped towards `c`, and popped there without a map.
    if popped < depth {
        let (link, c) = (lab.between("b", "c"), lab.node("c"));
        let swap = Nhlfe { link: Some(link), pop: true, push: vec![200], path, ..Nhlfe::default() };
        let label = labels[usize::from(depth - popped - 1)];
        for (node, label, entry) in
            [(b, label, swap), (c, 200, Nhlfe { pop: true, path, ..Nhlfe::default() })]
        {
            let nhlfe = lab.nhlfe(entry);
            lab.network.ilm.push(Ilm { node, label, nhlfe });
        }
    }
    lab
}

/// TCs that `a` writes on a packet of a DSCP, the first pushed first: the map of DSCPs, then maps of TCs.
fn tcs_pushed(lab: &Lab, dscp: u8) -> Vec<u8> {
    let mut tcs: Vec<u8> = Vec::new();
    for maps in &lab.network.diffserv {
        let tc = match tcs.last() {
            None => maps.tc_of_dscp[usize::from(dscp)],
            Some(&below) => maps.tc_of_tc[usize::from(below)],
        };
        tcs.push(tc);
    }
    tcs
}

/// RFC 3270 sections 2.6.2 and 2.6.3, 3.2 to 3.5: every DSCP through every model and every depth of one
/// to four labels, all of them popped by `b`, step by step: a uniform label gives its TC to the label
/// below by its map, and the last one its PHB to the header; a TC without a PHB leaves the header; pipes
/// change nothing. The class of `b`'s port, bit by bit, is that of the DSCP that comes out, and that of
/// the PHB of the last label at the end of a pipe.
#[test]
fn rfc3270_s2_6_every_dscp_model_and_depth_by_the_maps() {
    for model in [Model::Uniform, Model::Pipe, Model::ShortPipe] {
        for depth in 1..=4 {
            let mut lab = stacked(depth, depth, model);
            let mut classes = [0i64; 64];
            classify_at(&mut lab, 2, |_| {});
            let port = lab.network.ports.len() - 1;
            for bit in 0..6 {
                for dscp in 0..64u16 {
                    lab.network.ports[port].classifier.rows[0][usize::from(dscp)] =
                        [dscp >> bit & 1, 0];
                }
                let run = lab.run(1);
                let table = run.table("accounts");
                for (flow, class) in table.int("flow").iter().zip(table.int("class")) {
                    classes[*flow as usize] |= class << bit;
                }
            }
            let run = lab.trace(1);
            for dscp in 0..64u8 {
                let mut tcs = tcs_pushed(&lab, dscp);
                let flow = usize::from(dscp);
                let labels = &run.arrived(flow, 0)[0].1.labels;
                let seen: Vec<u8> = labels.iter().map(|entry| entry.tc()).collect();
                let wanted: Vec<u8> = tcs.iter().rev().copied().collect();
                assert_eq!(seen, wanted, "{model:?}, depth {depth}, DSCP {dscp}: pushed");
                while tcs.len() > 1 {
                    let outer = tcs.pop().unwrap();
                    if model == Model::Uniform {
                        let maps = &lab.network.diffserv[tcs.len()];
                        *tcs.last_mut().unwrap() = maps.tc_below[usize::from(outer)];
                    }
                }
                let phb = lab.network.diffserv[0].dscp_of_tc[usize::from(tcs[0])];
                let (out, class) = match model {
                    Model::Uniform => (phb.unwrap_or(dscp), phb.unwrap_or(dscp)),
                    Model::Pipe => (dscp, phb.unwrap_or(dscp)),
                    Model::ShortPipe => (dscp, dscp),
                };
                let delivered = run.delivered(flow)[0].1.dscp;
                assert_eq!(delivered, out, "{model:?}, depth {depth}, DSCP {dscp}: delivered");
                let place = format!("{model:?}, depth {depth}, DSCP {dscp}: class at b");
                assert_eq!(classes[flow], i64::from(class), "{place}");
            }
        }
    }
}

/// RFC 3270 sections 2.6.2 and 2.6.3, a label left below: in the uniform model it has the TC of the map
/// of the label that went, and is classified by it; a short pipe leaves and classifies by its own; a pipe
/// leaves it, and classifies by the PHB of the label that went, or by its TC where that means none.
#[test]
fn rfc3270_s2_6_the_label_below_by_model_for_every_tc() {
    for model in [Model::Uniform, Model::Pipe, Model::ShortPipe] {
        for depth in 2..=4u8 {
            let mut lab = stacked(depth, 1, model);
            let mut columns = [0i64; 64];
            classify_at(&mut lab, 2, |_| {});
            let port = lab.network.ports.len() - 1;
            for bit in 0..7 {
                for column in 0..72u16 {
                    lab.network.ports[port].classifier.rows[0][usize::from(column)] =
                        [column >> bit & 1, 0];
                }
                let run = lab.run(1);
                let table = run.table("accounts");
                for (flow, class) in table.int("flow").iter().zip(table.int("class")) {
                    columns[*flow as usize] |= class << bit;
                }
            }
            let run = lab.trace(1);
            for dscp in 0..64u8 {
                let tcs = tcs_pushed(&lab, dscp);
                let (outer, below) = (tcs[tcs.len() - 1], tcs[tcs.len() - 2]);
                let maps = &lab.network.diffserv[tcs.len() - 1];
                let phb = maps.dscp_of_tc[usize::from(outer)];
                let (tc, column) = match model {
                    Model::Uniform => {
                        let tc = maps.tc_below[usize::from(outer)];
                        (tc, 64 + tc)
                    }
                    Model::Pipe => (below, phb.unwrap_or(64 + outer)),
                    Model::ShortPipe => (below, 64 + below),
                };
                let place = format!("{model:?}, depth {depth}, DSCP {dscp}");
                let top = run.arrived(usize::from(dscp), 2)[0].1.labels.top().unwrap();
                assert_eq!((top.label(), top.tc()), (200, tc), "{place}");
                assert_eq!(columns[usize::from(dscp)], i64::from(column), "{place}: column");
            }
        }
    }
}

/// RFC 3270 section 4.3 and 4.4, every TC: on an E-LSP the class and the precedence are the TC's in the
/// row of all labels; on an L-LSP the label's row has the class, and the TC chooses the precedence.
#[test]
fn rfc3270_s4_every_tc_of_an_e_lsp_and_of_an_l_lsp() {
    for dscp in 0..64u8 {
        for l_lsp in [false, true] {
            let mut lab = row();
            lab.network.flows[0].dscp = dscp;
            lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
            let maps = depth_maps(1, Model::ShortPipe);
            let tc = maps.tc_of_dscp[usize::from(dscp)];
            mark(&mut lab, maps);
            classify_at(&mut lab, 2, |row| {
                for tc in 0..8u16 {
                    row[64 + usize::from(tc)] = [1, tc % 3];
                }
            });
            let port = lab.network.ports.len() - 1;
            for tc in 0..8u16 {
                lab.network.ports[port].classifier.rows[0][64 + usize::from(tc)] =
                    [tc & 1, (tc + 1) % 3];
            }
            let swap = lab.network.ilm[0].nhlfe as usize;
            lab.network.nhlfe[swap].row = l_lsp.then_some(1);
            let run = lab.run(1);
            let table = run.table("accounts");
            let found = (table.int("class")[0], table.int("precedence")[0]);
            let tc = i64::from(tc);
            let wanted = if l_lsp { (1, tc % 3) } else { (tc & 1, (tc + 1) % 3) };
            assert_eq!(found, wanted, "DSCP {dscp}, L-LSP: {l_lsp}");
        }
    }
}
