//! Several classes: Cobham's waits and Kleinrock's conservation law.

use super::*;
use trunkline_engine::network::PortConfig;

/// Poisson flows by load and size, each its own class of `port`, in that order.
fn classes(port: PortConfig, loads: &[(f64, Size)]) -> Lab {
    let mut lab = Lab::server(RATE, port);
    for (index, (rho, size)) in loads.iter().enumerate() {
        let rate = (rho * RATE as f64) as u64;
        lab.flow(&format!("class{index}"), "a", "b", poisson(rate, size.clone()));
    }
    lab.class_per_flow(0);
    lab.lasting(5 * SECOND, 200 * SECOND);
    lab
}

/// W0 = sum lambda_i E[S_i^2] / 2 for fixed sizes: sum rho_i S_i / 2 [ns].
fn residual(loads: &[(f64, f64)]) -> f64 {
    loads.iter().map(|(rho, service)| rho * service / 2.0).sum()
}

/// Non-preemptive priority, class 1 first: W_i = W0 / ((1 - s_(i-1)) (1 - s_i)) with
/// s_i = rho_1 + ... + rho_i. Source: Cobham, Operations Research 2(1), 1954.
fn cobham(loads: &[(f64, f64)], class: usize) -> f64 {
    let sum = |n: usize| loads[..n].iter().map(|(rho, _)| rho).sum::<f64>();
    residual(loads) / ((1.0 - sum(class)) * (1.0 - sum(class + 1)))
}

/// Loads 0.2, 0.3, 0.3 of 1000 B: W0 = 0.8 * 1 / 2 = 0.4 ms; waits 0.4 / 0.8 = 0.5,
/// 0.4 / (0.8 * 0.5) = 1 and 0.4 / (0.5 * 0.2) = 4 ms.
#[test]
fn cobham_1954_three_classes_of_one_size() {
    let lab = classes(priority(3, &UNLIMITED), &[(0.2, FIXED), (0.3, FIXED), (0.3, FIXED)]);
    let loads = [(0.2, SERVICE), (0.3, SERVICE), (0.3, SERVICE)];
    let waits = replicate(&lab, 16, |run| [0, 1, 2].map(|i| run.class(0, i, "wait_mean_ns")));
    for (class, milliseconds) in [(0, 0.5), (1, 1.0), (2, 4.0)] {
        assert!((cobham(&loads, class) - milliseconds * 1e6).abs() < 1.0);
        waits[class].assert_theory(milliseconds * 1e6, 0.03);
    }
}

/// Small packets first: 200 B at 0.3 before 1500 B at 0.5. S = 0.2 and 1.5 ms,
/// W0 = (0.3 * 0.2 + 0.5 * 1.5) / 2 = 0.405 ms; waits 0.405 / 0.7 and 0.405 / (0.7 * 0.2).
#[test]
fn cobham_1954_two_classes_of_different_sizes() {
    let size = |bytes| Size::Fixed { bytes };
    let lab = classes(priority(2, &UNLIMITED), &[(0.3, size(200)), (0.5, size(1500))]);
    let loads = [(0.3, 0.2 * SERVICE), (0.5, 1.5 * SERVICE)];
    let waits = replicate(&lab, 12, |run| [0, 1].map(|i| run.class(0, i, "wait_mean_ns")));
    for (class, theory) in [(0, 0.405e6 / 0.7), (1, 0.405e6 / (0.7 * 0.2))] {
        assert!((cobham(&loads, class) - theory).abs() < 1.0);
        waits[class].assert_theory(theory, 0.03);
    }
}

/// No work-conserving, non-preemptive order changes sum rho_i W_i = rho W0 / (1 - rho).
/// 300, 1000 and 1500 B at 0.2, 0.25, 0.35: W0 = (0.06 + 0.25 + 0.525) / 2 = 0.4175 ms, and the
/// sum is 0.8 * 0.4175 / 0.2 = 1.67 ms. Source: Kleinrock, Queueing Systems II (1976), eq. 3.16.
#[test]
fn kleinrock_conservation_law_holds_for_priority_drr_and_wfq() {
    let size = |bytes| Size::Fixed { bytes };
    let loads = [(0.2, size(300)), (0.25, size(1000)), (0.35, size(1500))];
    for port in
        [priority(3, &UNLIMITED), drr(&[1500, 3000, 500], &UNLIMITED), wfq(&[3, 1, 2], &UNLIMITED)]
    {
        let name = port.name.clone();
        let lab = classes(port, &loads);
        let [sum] = replicate(&lab, 12, |run| {
            let term = |class: usize| loads[class].0 * run.class(0, class as u16, "wait_mean_ns");
            [(0..3).map(term).sum()]
        });
        println!("{name}: {sum:?}");
        sum.assert_theory(1.67e6, 0.04);
    }
}
