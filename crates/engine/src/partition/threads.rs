//! The threads of a run: a region each, in step by windows.

use super::cut;
use super::join::join_regions;
use super::region::RegionLetter;
use super::spin_barrier::SpinBarrier;
use crate::clock::WINDOW_SOURCE;
use crate::control::MessageNews;
use crate::network::signalling::Signalling;
use crate::network::{Agent, Flow, Link, Network, Opened};
use crate::observer::{EventOrder, Observer, Trace, WaitHistograms};
use crate::panic::catch_panic;
use crate::simulation::{RunError, Simulation};
use crate::tables::Table;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::{Mutex, PoisonError};
use trunkline_agent::udp::{Arrivals, UdpConfig};
use trunkline_control::rsvp::RsvpConfig;
use trunkline_units::{Span, Time};

/// Maximum number of regions of a run.
const MAX_REGIONS: usize = 64;

/// Tests whether to stop, from any thread.
pub type StopCheck<'a> = &'a (dyn Fn() -> bool + Sync);

/// Runs `network` with `seed` to its end on at most `threads` threads: as many as a cut into
/// regions is worth, which for most networks is one. The results do not depend on it.
///
/// # Errors
/// See [`RunError`].
pub fn run_on_threads(
    network: &Network,
    seed: u64,
    threads: usize,
    interrupted: StopCheck<'_>,
) -> Result<Vec<Table>, RunError> {
    crate::build::check_indices(network)?;
    if let Some(look_ahead) = LookAhead::find_for(network) {
        let (nodes, window) = (network.nodes.len(), network.run.duration_ns.min(look_ahead.span));
        if let Some(of_node) =
            cut::cut_network(nodes, &network.links, window, threads.min(MAX_REGIONS))
        {
            return run_cut(network, seed, &of_node, interrupted);
        }
    }
    crate::run(network, seed, &|| interrupted())
}

/// Runs `network` with `seed` to its end, each node in the region that `of_node` gives it and each
/// region on a separate thread. The results are those of [`crate::run`].
///
/// # Errors
/// See [`RunError`]; a network that cannot be cut this way is invalid.
pub fn run_cut(
    network: &Network,
    seed: u64,
    of_node: &[u8],
    interrupted: StopCheck<'_>,
) -> Result<Vec<Table>, RunError> {
    let invalid = |why: &str| Err(RunError::Invalid(why.into()));
    crate::build::check_indices(network)?;
    let Some(LookAhead { span, news }) =
        LookAhead::find_for(network).filter(|_| of_node.len() == network.nodes.len())
    else {
        return invalid("the regions are not of its nodes, or it cannot be cut");
    };
    let region = |node: u32| of_node[node as usize];
    let crossing = network.links.iter().filter(|link| region(link.from) != region(link.to));
    let window =
        crossing.map(|link| link.delay_ns).min().unwrap_or(network.run.duration_ns).min(span);
    if window == 0 {
        return invalid(
            "a link between two regions has no delay, or messages are not known in time",
        );
    }
    let regions = 1 + usize::from(of_node.iter().copied().max().unwrap_or(0));
    let rsvp = network.signalling.as_ref().and_then(|signalling| signalling.rsvp.as_ref());
    let counts_read_every = &rsvp.map(RsvpConfig::sample_intervals).unwrap_or_default()[..];
    let cut = RegionCut { of_node, window, news, counts_read_every };
    if network.run.trace {
        return run_observed::<Trace>(network, seed, regions, cut, interrupted);
    }
    if network.run.waits {
        return run_observed::<WaitHistograms>(network, seed, regions, cut, interrupted);
    }
    run_observed::<EventOrder>(network, seed, regions, cut, interrupted)
}

fn run_observed<O: Observer>(
    network: &Network,
    seed: u64,
    regions: usize,
    cut: RegionCut<'_>,
    interrupted: StopCheck<'_>,
) -> Result<Vec<Table>, RunError> {
    match run_regions::<O>(network, seed, regions, cut, interrupted) {
        Some(parts) => join_regions(all_or_first_failure(parts)?, cut.of_node),
        None => crate::run(network, seed, &|| interrupted()),
    }
}

/// A cut: the region of each node, and how far a region may run before it hears of the others.
#[derive(Clone, Copy)]
struct RegionCut<'a> {
    of_node: &'a [u8],
    window: Span,
    news: MessageNews,
    /// At multiples of these times a protocol reads counts of packets, which regions then add up.
    counts_read_every: &'a [Span],
}

impl RegionCut<'_> {
    /// The end of the window that begins at a time.
    fn end_of_window(&self, from: Time) -> Time {
        let reads = self.counts_read_every.iter().map(|interval| (from / interval + 1) * interval);
        reads.fold(from + self.window, Time::min)
    }

    /// Whether a protocol reads counts at a time.
    fn reads_counts_at(&self, at: Time) -> bool {
        self.counts_read_every.iter().any(|interval| at % interval == 0)
    }
}

/// How far a region may run before it hears of messages of protocols.
#[derive(Clone, Copy)]
struct LookAhead {
    span: Span,
    news: MessageNews,
}

impl LookAhead {
    /// That of a network; none if it cannot be cut.
    ///
    /// Packets may touch only the state of one node. Of connections that users keep a sender takes one that is
    /// idle, which it is once its receiver has all data, in another place; of interactive media it reads what a
    /// report covers where that is stored, with the receiver.
    fn find_for(network: &Network) -> Option<Self> {
        let mut transfers = network.flows.iter().filter_map(|flow| flow.transfers.as_deref());
        if transfers.any(|all| all.kept && !matches!(all.opened, Opened::Arrivals(_))) {
            return None;
        }
        if network.flows.iter().any(is_of_media) {
            return None;
        }
        let handling = network.signalling.as_ref().map_or(Span::MAX, handling_time);
        let mut probes = network.probes.iter().filter(|probe| probe.measure.is_of_flow());
        if probes.any(|probe| is_of_messages(&network.flows[probe.target as usize])) {
            return None;
        }
        let flight = shortest_flight(network);
        Some(match flight > handling {
            true => Self { span: flight, news: MessageNews::OnDeparture },
            false => Self { span: handling, news: MessageNews::OnArrival },
        })
    }
}

fn is_of_messages(flow: &Flow) -> bool {
    matches!(*flow.agent, Agent::Control(_))
}

fn is_of_media(flow: &Flow) -> bool {
    matches!(&*flow.agent, Agent::Udp(UdpConfig { arrivals: Arrivals::Media(_), .. }))
}

/// The shortest time in which something follows from a message that has arrived. Hellos and acknowledgements take
/// none.
fn handling_time(signalling: &Signalling) -> Span {
    if signalling.ldp.is_some() || signalling.ospf.is_some() {
        return 0;
    }
    signalling.rsvp.as_ref().map_or(Span::MAX, RsvpConfig::handling_time)
}

/// The shortest time from which it is certain that a message will arrive until it does: 0 if a wire may lose it or
/// something at its end may hold it back.
fn shortest_flight(network: &Network) -> Span {
    let is_certain = |link: &Link| {
        link.loss == 0.0
            && link.scripted.is_empty()
            && link.reorder.is_none()
            && link.ingress.is_none()
    };
    let is_slow = network.nodes.iter().any(|node| node.processing.is_some());
    let rsvp = network.signalling.as_ref().and_then(|signalling| signalling.rsvp.as_ref());
    if is_slow && rsvp.is_some_and(RsvpConfig::has_tunnels) {
        // Labelled messages are forwarded as other packets are.
        return 0;
    }
    let flights = network.links.iter();
    flights.map(|link| if is_certain(link) { link.delay_ns } else { 0 }).min().unwrap_or(0)
}

/// How a region ended: its state, or why it failed.
type RegionOutcome<O> = Result<Simulation<O>, RunError>;

/// Runs every region; none if the threads could not be had.
fn run_regions<O: Observer>(
    network: &Network,
    seed: u64,
    regions: usize,
    cut: RegionCut<'_>,
    interrupted: StopCheck<'_>,
) -> Option<Vec<RegionOutcome<O>>> {
    let meeting = RegionBarrier {
        barrier: SpinBarrier::new(regions),
        failed: [AtomicBool::new(false), AtomicBool::new(false)],
        letters: (0..2 * regions * regions).map(|_| Mutex::default()).collect(),
        regions,
    };
    let meeting = &meeting;
    let fib = &crate::build::initial_routes(network);
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        let mut starts = Vec::new();
        for region in 0..regions {
            let (start, wait): (_, Receiver<()>) = channel();
            let work = move || {
                // No thread begins unless all can: a barrier waits for ever for a missing one.
                wait.recv().ok()?;
                let built = catch_panic(|| {
                    let mut observer = O::default();
                    observer.on_start(network.run.warmup_ns);
                    let mut simulation =
                        Simulation::new_unarmed(network, seed, observer, fib.clone())?;
                    let (of_node, region) = (cut.of_node, region as u8);
                    let plane = &mut simulation.hosts.plane;
                    let announces = cut.news == MessageNews::OnDeparture;
                    plane.restrict_to_region(of_node, region, meeting.regions, announces);
                    let Simulation { sampler, hosts, control, .. } = &mut simulation;
                    if let Some(control) = control {
                        control.restrict_to_region(cut.news);
                    }
                    sampler.keep_probes(hosts, |node| of_node[node as usize] == region);
                    simulation.choose_visits(network);
                    simulation.arm(network);
                    Ok(simulation)
                });
                let built = built.unwrap_or_else(|why| Err(RunError::Panic { at: 0, why }));
                Some(serve(built, meeting, network, region, cut, interrupted))
            };
            let thread = std::thread::Builder::new().name(format!("region-{region}"));
            match thread.spawn_scoped(scope, work) {
                Ok(worker) => workers.push(worker),
                Err(_) => return None,
            }
            starts.push(start);
        }
        for start in &starts {
            start.send(()).ok();
        }
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect()
    })
}

/// Where regions wait for each other and exchange packets.
struct RegionBarrier {
    barrier: SpinBarrier,
    /// By the window's parity: one barrier a window is enough, since no region can be two windows ahead
    /// of another.
    failed: [AtomicBool; 2],
    /// By parity too, by the region it is from and the region it is for.
    letters: Vec<Mutex<RegionLetter>>,
    regions: usize,
}

impl RegionBarrier {
    fn exchange(&self, parity: usize, from: usize, to: usize, own: &mut RegionLetter) {
        let place = (parity * self.regions + from) * self.regions + to;
        let mut letter = self.letters[place].lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *letter, own);
    }
}

/// Runs one region, window after window.
fn serve<O: Observer>(
    built: RegionOutcome<O>,
    meeting: &RegionBarrier,
    network: &Network,
    region: usize,
    cut: RegionCut<'_>,
    interrupted: StopCheck<'_>,
) -> RegionOutcome<O> {
    let mut state = built;
    let (mut until, mut parity) = (0, 0);
    let mut inbox = RegionLetter::default();
    let (mut delay_changes, mut connection_changes) = (Vec::new(), Vec::new());
    let mut ended_messages = Vec::new();
    while until < network.run.duration_ns {
        until = cut.end_of_window(until).min(network.run.duration_ns);
        let reads_counts = cut.reads_counts_at(until);
        state = state.and_then(|mut simulation| {
            simulation.hosts.plane.clock.schedule(WINDOW_SOURCE, until);
            simulation.run(&|_| interrupted()).map(|()| simulation)
        });
        match &mut state {
            Ok(simulation) => {
                simulation.hosts.report_connections();
                let control = simulation.control.as_mut();
                let ended =
                    control.map(|control| control.take_ended_messages()).unwrap_or_default();
                let counts = match reads_counts {
                    true => simulation.hosts.plane.tables.mpls.bytes_by_path(),
                    false => Vec::new(),
                };
                for to in 0..meeting.regions {
                    let letter = simulation.hosts.plane.write_letter(to);
                    letter.ended_messages.extend_from_slice(&ended);
                    letter.path_bytes.clone_from(&counts);
                    meeting.exchange(parity, region, to, letter);
                }
            }
            _ => meeting.failed[parity].store(true, Ordering::SeqCst),
        }
        meeting.barrier.wait();
        if meeting.failed[parity].load(Ordering::SeqCst) {
            break;
        }
        if let Ok(simulation) = &mut state {
            for from in 0..meeting.regions {
                meeting.exchange(parity, from, region, &mut inbox);
                simulation.hosts.plane.take_in(&mut inbox);
                simulation.hosts.take_connection_news(&mut inbox.connections);
                delay_changes.append(&mut inbox.delay_changes);
                connection_changes.append(&mut inbox.connections.changed);
                ended_messages.append(&mut inbox.ended_messages);
                if let Some(control) = simulation.control.as_mut().filter(|_| reads_counts) {
                    control.enter_path_bytes(from, region, &inbox.path_bytes);
                }
            }
            simulation.hosts.take_connection_changes(&mut connection_changes);
            simulation.take_ended_messages(&mut ended_messages);
            let measured = &mut simulation.hosts.plane.measured;
            if let Some(accounts) = &mut measured.path_accounts {
                accounts.smooth(&mut delay_changes, measured.at_warm_up.at);
            }
        }
        parity ^= 1;
    }
    state
}

/// The regions, or how the run failed: the earliest failure.
fn all_or_first_failure<O: Observer>(
    parts: Vec<RegionOutcome<O>>,
) -> Result<Vec<Simulation<O>>, RunError> {
    let (mut finished_regions, mut failures) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Ok(simulation) => finished_regions.push(simulation),
            Err(failure) => failures.push(failure),
        }
    }
    let Some(first) = failures.iter().min_by_key(|failure| failure.at()).cloned() else {
        return Ok(finished_regions);
    };
    let RunError::Interrupted { at, .. } = first else { return Err(first) };
    // Of an interrupted run all regions report their progress.
    let all = failures
        .into_iter()
        .chain(finished_regions.iter_mut().map(|region| region.interruption_error()));
    let (mut events, mut packets, mut queued) = (0, 0, 0);
    for failure in all {
        if let RunError::Interrupted { events: e, packets: p, queued: q, .. } = failure {
            (events, packets, queued) = (events + e, packets + p, queued + q);
        }
    }
    Err(RunError::Interrupted { at, events, packets, queued })
}

/// Calls `work` for each of `items`, divided over `threads` threads, and returns the results in their
/// order.
pub(crate) fn on_threads<I: Sync, V: Send>(
    threads: usize,
    items: &[I],
    work: impl Fn(&I) -> V + Sync,
) -> Vec<V> {
    let hand = &|first: usize| -> Vec<V> {
        items.iter().skip(first).step_by(threads).map(&work).collect()
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|first| scope.spawn(move || hand(first))).collect();
        let mut hands = vec![hand(0).into_iter()];
        for other in others {
            let done = other.join().unwrap_or_else(|panic| resume_unwind(panic));
            hands.push(done.into_iter());
        }
        (0..items.len()).filter_map(|item| hands[item % threads].next()).collect()
    })
}
