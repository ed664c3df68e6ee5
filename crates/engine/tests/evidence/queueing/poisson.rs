//! M/G/1: Poisson arrivals, one server, no limit.

use super::*;

/// Mean wait by Pollaczek and Khinchine: W = lambda E[S^2] / (2 (1 - rho)) [ns].
/// Source: Kleinrock, Queueing Systems I (1975), eq. 5.70.
fn pollaczek_khinchine(rho: f64, mean: f64, second_moment: f64) -> f64 {
    rho / mean * second_moment / (2.0 * (1.0 - rho))
}

/// M/D/1: E[S^2] = S^2, so W = rho S / (2 (1 - rho)): 0.25 ms at 1/3, 4.5 ms at 0.9.
#[test]
fn pollaczek_khinchine_m_d_1_mean_wait() {
    for (rho, seconds, narrow) in
        [(0.2, 200, 0.02), (0.5, 200, 0.02), (0.7, 200, 0.02), (0.8, 300, 0.02), (0.9, 500, 0.03)]
    {
        let mut lab = offered(rho, FIXED, fifo(UNLIMITED));
        lab.lasting(5 * SECOND, seconds * SECOND);
        let [wait] = replicate(&lab, 16, |run| [run.port(0, "wait_mean_ns")]);
        wait.assert_theory(pollaczek_khinchine(rho, SERVICE, SERVICE * SERVICE), narrow);
    }
}

/// M/M/1: E[S^2] = 2 S^2, so W = rho S / (1 - rho): 4 ms at 0.8, twice that of M/D/1.
#[test]
fn pollaczek_khinchine_m_m_1_mean_wait() {
    let mut lab = offered(0.8, EXPONENTIAL, fifo(UNLIMITED));
    lab.lasting(5 * SECOND, 500 * SECOND);
    let [wait] = replicate(&lab, 16, |run| [run.port(0, "wait_mean_ns")]);
    wait.assert_theory(pollaczek_khinchine(0.8, SERVICE, 2.0 * SERVICE * SERVICE), 0.03);
}

/// M/G/1 with 100 B and 1900 B in equal shares: S = 0.1 or 1.9 ms, E[S] = 1 ms,
/// E[S^2] = (0.01 + 3.61) / 2 = 1.81 ms^2; at rho = 0.75, W = 0.75 * 1.81 / 0.5 = 2.715 ms.
#[test]
fn pollaczek_khinchine_m_g_1_of_two_sizes_mean_wait() {
    let mut lab = offered(0.75, sizes(&[100, 1900]), fifo(UNLIMITED));
    lab.lasting(5 * SECOND, 300 * SECOND);
    let [wait] = replicate(&lab, 16, |run| [run.port(0, "wait_mean_ns")]);
    assert!((pollaczek_khinchine(0.75, SERVICE, 1.81e12) - 2.715e6).abs() < 1.0);
    wait.assert_theory(2.715e6, 0.025);
}

/// Erlang's law of the wait in M/D/1: P(W <= t) = (1 - rho) sum_{j=0}^{t/D}
/// (rho (j - t/D))^j / j! e^{-rho (j - t/D)}. The columns of delay quantiles must agree: at each
/// quantile's value, less service, the law gives the quantile's share.
/// Source: Erlang (1909); Tijms, A First Course in Stochastic Models (2003), eq. 9.6.4.
#[test]
fn erlang_1909_m_d_1_quantiles_of_the_wait() {
    let rho = 0.7;
    let law = |wait: f64| {
        let x = wait / SERVICE;
        let terms = (0..=x as i32).map(|j| {
            let load = rho * (f64::from(j) - x);
            let power: f64 = (1..=j).map(|i| load / f64::from(i)).product();
            power * (-load).exp()
        });
        (1.0 - rho) * terms.sum::<f64>()
    };
    let mut lab = offered(rho, FIXED, fifo(UNLIMITED));
    lab.lasting(5 * SECOND, 300 * SECOND);
    let delays = replicate(&lab, 16, |run| {
        ["delay_p50_ns", "delay_p90_ns", "delay_p99_ns"].map(|column| run.flow(0, column))
    });
    for (delay, share) in delays.iter().zip([0.5, 0.9, 0.99]) {
        assert!(delay.half < 0.02 * delay.mean, "{delay:?}");
        // A column's value is the upper end of its bucket, up to 1/64 above the exact one.
        let low = (delay.mean - delay.half) * 64.0 / 65.0;
        let high = delay.mean + delay.half;
        assert!(law(low - SERVICE) <= share, "{share}: {delay:?}");
        assert!(law(high - SERVICE) >= share, "{share}: {delay:?}");
    }
}

/// The sum of independent Poisson processes is one: 4 flows of rho = 0.2 wait as one of 0.8, and
/// a flow's own packets wait as all do (PASTA; Wolff 1982).
#[test]
fn superposition_of_poisson_flows_waits_as_one_and_each_flow_alike() {
    let mut lab = Lab::server(RATE, fifo(UNLIMITED));
    for flow in ["w", "x", "y", "z"] {
        lab.flow(flow, "a", "b", poisson(RATE / 5, FIXED));
    }
    lab.lasting(5 * SECOND, 300 * SECOND);
    let theory = pollaczek_khinchine(0.8, SERVICE, SERVICE * SERVICE);
    let [wait, delay] =
        replicate(&lab, 16, |run| [run.port(0, "wait_mean_ns"), run.flow(2, "delay_mean_ns")]);
    wait.assert_theory(theory, 0.03);
    delay.assert_theory(theory + SERVICE, 0.03);
}
