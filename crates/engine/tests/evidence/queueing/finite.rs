//! Finite room: M/M/1/K and M/D/1/K, K packets in the system, the one in service included.

use super::*;
use trunkline_packet::Cause;

/// Loss and mean wait [ns] of the packets let in, from the probabilities that n are in the system
/// (0..=K): an arrival is lost when it finds K (PASTA); Little's law over the queue gives the wait.
fn from_states(probability: &[f64], rho: f64) -> (f64, f64) {
    let loss = *probability.last().expect("K + 1 states");
    let waiting: f64 = (1..).zip(&probability[1..]).map(|(n, p)| f64::from(n - 1) * p).sum();
    (loss, waiting / (rho / SERVICE * (1.0 - loss)))
}

/// M/M/1/K: p_n proportional to rho^n. Source: Kleinrock, Queueing Systems I (1975), section 3.6.
fn m_m_1_k(rho: f64, k: usize) -> (f64, f64) {
    let weights: Vec<f64> = (0..=k as i32).map(|n| rho.powi(n)).collect();
    let total: f64 = weights.iter().sum();
    from_states(&weights.iter().map(|w| w / total).collect::<Vec<_>>(), rho)
}

/// M/D/1/K by the chain embedded at departures: with a_j = e^-rho rho^j / j! arrivals in a service,
/// pi_(j+1) a_0 = pi_j - pi_0 a_j - sum_{i=1}^{j} pi_i a_(j-i+1), j < K - 1, scaled to sum 1 over
/// 0..K; then p_n = pi_n / (pi_0 + rho) and p_K = 1 - 1 / (pi_0 + rho).
/// Source: Gross & Harris, Fundamentals of Queueing Theory, section 5.1.7.
fn m_d_1_k(rho: f64, k: usize) -> (f64, f64) {
    let mut arrivals = vec![(-rho).exp()];
    for j in 1..=k {
        arrivals.push(arrivals[j - 1] * rho / j as f64);
    }
    let mut pi = vec![1.0];
    for j in 0..k - 1 {
        let through: f64 = (1..=j).map(|i| pi[i] * arrivals[j - i + 1]).sum();
        pi.push((pi[j] - pi[0] * arrivals[j] - through) / arrivals[0]);
    }
    let total: f64 = pi.iter().sum();
    let busy = pi[0] / total + rho;
    let mut states: Vec<f64> = pi.iter().map(|p| p / total / busy).collect();
    states.push(1.0 - 1.0 / busy);
    from_states(&states, rho)
}

/// K = 1 is Erlang's loss system, p = rho / (1 + rho) whatever the service law; a large K at low
/// load is the unlimited queue: checks of the formulas themselves.
#[test]
fn the_formulas_agree_with_their_known_limits() {
    for law in [m_m_1_k, m_d_1_k] {
        let (loss, wait) = law(0.6, 1);
        assert!((loss - 0.6 / 1.6).abs() < 1e-12 && wait.abs() < 1e-6, "{loss} {wait}");
    }
    let (loss, wait) = m_d_1_k(0.5, 60);
    assert!(loss < 1e-12 && (wait - 0.5 * SERVICE).abs() < 1.0, "{loss} {wait}");
}

fn compare(size: &Size, rho: f64, k: u32, counts_in_service: bool, theory: (f64, f64)) {
    // A limit that counts waiting packets only leaves room for one more, in service.
    let limit = if counts_in_service { k } else { k - 1 };
    let mut lab = offered(rho, size.clone(), fifo(queue(limit, counts_in_service)));
    lab.lasting(2 * SECOND, 200 * SECOND);
    let [loss, wait] = replicate(&lab, 12, |run| {
        let loss = run.port(0, "packets_dropped") / run.port(0, "packets_offered");
        [loss, run.port(0, "wait_mean_ns")]
    });
    loss.assert_theory(theory.0, 0.05);
    if k > 1 {
        wait.assert_theory(theory.1, 0.03);
    } else {
        assert_eq!(wait.mean, 0.0);
    }
}

#[test]
fn kleinrock_m_m_1_k_loss_and_mean_wait() {
    for (rho, k) in [(0.8, 5), (0.95, 10), (1.3, 8)] {
        compare(&EXPONENTIAL, rho, k, true, m_m_1_k(rho, k as usize));
    }
}

#[test]
fn gross_harris_m_d_1_k_loss_and_mean_wait() {
    for (rho, k) in [(0.6, 1), (0.8, 3), (0.95, 10), (1.2, 6)] {
        compare(&FIXED, rho, k, true, m_d_1_k(rho, k as usize));
    }
}

#[test]
fn gross_harris_m_d_1_k_holds_where_the_limit_counts_waiting_packets_only() {
    for (rho, k) in [(0.6, 1), (0.9, 5)] {
        compare(&FIXED, rho, k, false, m_d_1_k(rho, k as usize));
    }
}

/// The two conventions are one system: K counted with the packet in service is K - 1 without it,
/// packet by packet.
#[test]
fn a_limit_of_k_in_the_system_equals_one_of_k_minus_1_waiting() {
    for size in [FIXED, EXPONENTIAL] {
        let mut with = offered(0.9, size.clone(), fifo(queue(4, true)));
        let mut without = offered(0.9, size, fifo(queue(3, false)));
        with.lasting(SECOND, 20 * SECOND);
        without.lasting(SECOND, 20 * SECOND);
        let (with, without) = (with.run(1), without.run(1));
        assert!(with.bits(&[]) == without.bits(&[]));
        assert!(with.drops(Cause::QueueFull) > 100, "the limit was met");
    }
}

/// Bytes: 3000 B counted with the packet in service hold 3 packets of 1000 B, 2999 B hold 2.
#[test]
fn a_limit_in_bytes_holds_whole_packets() {
    for (limit_bytes, k) in [(3000, 3), (2999, 2)] {
        let port = fifo(trunkline_engine::network::Queue {
            limit_bytes: Some(limit_bytes),
            counts_in_service: true,
            ..UNLIMITED
        });
        let mut bytes = offered(0.9, FIXED, port);
        let mut packets = offered(0.9, FIXED, fifo(queue(k, true)));
        bytes.lasting(0, 20 * SECOND);
        packets.lasting(0, 20 * SECOND);
        let (bytes, packets) = (bytes.run(1), packets.run(1));
        assert!(bytes.bits(&[]) == packets.bits(&[]), "{limit_bytes} B");
        assert!(bytes.drops(Cause::QueueFull) > 1000, "the limit was met");
    }
}
