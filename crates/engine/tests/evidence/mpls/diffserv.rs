//! Differentiated Services on label-switched paths: RFC 3270 worked by hand on a to e.

use super::*;
use trunkline_engine::network::{
    Class, Classifier, DiffServ, Ilm, Nhlfe, PortConfig, Tunnel as Model,
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

/// RFC 3270 section 4.4.1 and RFC 2597: in an L-LSP of AF1 the label tells the class, TC 1, 2
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

/// Two classes at the port of a link, row 0 all in class 0, row 1 as said; counted.
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

/// RFC 5462: TC has three bits. A network written by hand is refused with the number it holds.
#[test]
fn rfc5462_a_tc_above_7_is_refused() {
    let mut lab = row();
    lab.carry(0, &tunnel(&ROUTE, Removal::Ultimate, Ttl::Uniform));
    let mut maps = e_lsp(Model::Uniform);
    maps.tc_of_dscp[0] = 8;
    mark(&mut lab, maps);
    let refusal = lab.try_run(1).expect_err("TC 8").to_string();
    assert_eq!(refusal, "invalid network: diffserv 0: TC 8 is above 7");
}
