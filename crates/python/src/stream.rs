//! Many runs on several threads: jobs are pulled from an iterator, outcomes handed back one by one.

use pyo3::prelude::*;
use pyo3::types::PyIterator;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use trunkline_engine::panic::catch_panic;
use trunkline_engine::{Network, RunError, Table};

/// Time between two checks of signals and memory.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Reasons for runs to stop before their end.
const KEEP_RUNNING: u8 = 0;
const INTERRUPT: u8 = 1;
const MEMORY: u8 = 2;

struct Job {
    number: usize,
    network: String,
    seed: u64,
}

/// Tables, or the kind of failure and its message.
type Outcome = Result<Vec<Table>, (&'static str, String)>;

/// State that the threads share.
struct RunQueue {
    jobs: Mutex<Receiver<Job>>,
    stop: AtomicU8,
    limit_time: Option<Duration>,
    threads_a_run: usize,
}

/// Runs every (network, seed) of `jobs` on `threads` threads.
///
/// `ended` is called for each with its number, in the order in which they end: the number, and
/// either `None` and the tables, or the kind of failure (`invalid`, `storm`, `conservation`,
/// `panic`, `time`, `memory`) and a text. A run over `limit_time_s` is stopped, others continue. When
/// the process holds more than `limit_memory` bytes, the runs under way are stopped and no other
/// is begun. `tick`, if given, is called every 10 ms or so. Each run may take `threads_a_run`
/// threads itself, which changes how soon it ends and nothing else. Where the system starts fewer
/// threads than asked for, the runs only take longer; `few` is then called once with their number
/// and the reason.
///
/// # Errors
/// Whatever `jobs`, `ended`, `tick` and `few` raise, and an interrupt; the runs under way are
/// stopped. The system's own error if it does not start a single thread.
#[pyfunction]
#[pyo3(signature = (
    jobs, threads, ended, tick=None, limit_time_s=None, limit_memory=None, threads_a_run=1, few=None
))]
#[allow(clippy::too_many_arguments)] // Python names them.
pub fn run_stream(
    py: Python<'_>,
    jobs: &Bound<'_, PyAny>,
    threads: usize,
    ended: Py<PyAny>,
    tick: Option<Py<PyAny>>,
    limit_time_s: Option<f64>,
    limit_memory: Option<u64>,
    threads_a_run: usize,
    few: Option<Py<PyAny>>,
) -> PyResult<()> {
    let jobs = jobs.try_iter()?.unbind();
    let threads = threads.max(1);
    // Enough jobs are queued that no thread waits while the interpreter handles an outcome.
    let (feed, fed) = sync_channel(2 * threads);
    let (sender, receiver) = sync_channel(2 * threads);
    let shared = RunQueue {
        jobs: Mutex::new(fed),
        stop: AtomicU8::new(KEEP_RUNNING),
        limit_time: limit_time_s.and_then(|limit| Duration::try_from_secs_f64(limit).ok()),
        threads_a_run,
    };
    let (shared, receiver) = (&shared, Mutex::new(receiver));
    py.detach(|| {
        std::thread::scope(|scope| {
            let mut lack = None;
            for number in 0..threads {
                let sender = sender.clone();
                let started = std::thread::Builder::new()
                    .name(format!("run-{number}"))
                    .spawn_scoped(scope, move || run_jobs(shared, &sender));
                if let Err(error) = started {
                    lack = Some((number, error));
                    break;
                }
            }
            drop(sender);
            match (lack, few) {
                (Some((0, error)), _) => return Err(error.into()),
                (Some((started, error)), Some(few)) => {
                    let called = Python::attach(|py| few.call1(py, (started, error.to_string())));
                    if let Err(raised) = called {
                        shared.stop.store(INTERRUPT, Ordering::Relaxed);
                        return Err(raised);
                    }
                }
                _ => {}
            }
            let mut host =
                InterpreterHost { jobs, ended, tick, limit_memory, begun: 0, waiting: None };
            let receiver = receiver.into_inner().unwrap_or_else(PoisonError::into_inner);
            let result = host.serve(shared, feed, &receiver);
            if result.is_err() {
                shared.stop.store(INTERRUPT, Ordering::Relaxed);
            }
            result
        })
    })
}

/// A thread: runs job after job until there is none, or the receiver is gone.
fn run_jobs(shared: &RunQueue, outcomes: &SyncSender<(usize, Outcome)>) {
    loop {
        let job = shared.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        if shared.stop.load(Ordering::Relaxed) == KEEP_RUNNING {
            let outcome = catch_panic(|| run(shared, &job)).unwrap_or_else(|why| {
                Err(("panic", format!("the engine stopped: {why}; this is a fault of trunkline")))
            });
            if outcomes.send((job.number, outcome)).is_err() {
                return;
            }
        }
    }
}

fn run(shared: &RunQueue, job: &Job) -> Outcome {
    let network: Network = serde_json::from_str(&job.network)
        .map_err(|error| ("invalid", format!("network: {error}")))?;
    let began = Instant::now();
    let late = || shared.limit_time.is_some_and(|limit| began.elapsed() > limit);
    let should_stop = || shared.stop.load(Ordering::Relaxed) != KEEP_RUNNING || late();
    trunkline_engine::run_on_threads(&network, job.seed, shared.threads_a_run, &should_stop)
        .map_err(|failure| {
            let kind = match &failure {
                RunError::Invalid(_) => "invalid",
                RunError::Storm { .. } => "storm",
                RunError::Conservation(_) => "conservation",
                RunError::Panic { .. } => "panic",
                RunError::Interrupted { .. } => match shared.stop.load(Ordering::Relaxed) {
                    KEEP_RUNNING => "time",
                    MEMORY => "memory",
                    _ => "interrupt",
                },
            };
            (kind, failure.to_string())
        })
}

/// The side of the interpreter, which runs on the caller's thread.
struct InterpreterHost {
    jobs: Py<PyIterator>,
    ended: Py<PyAny>,
    tick: Option<Py<PyAny>>,
    limit_memory: Option<u64>,
    begun: usize,
    /// A job for which there was no place in the queue.
    waiting: Option<Job>,
}

impl InterpreterHost {
    fn serve(
        &mut self,
        shared: &RunQueue,
        feed: SyncSender<Job>,
        outcomes: &Receiver<(usize, Outcome)>,
    ) -> PyResult<()> {
        let mut feed = Some(feed);
        let mut looked = Instant::now();
        loop {
            if let Some(open) = &feed {
                let over = shared.stop.load(Ordering::Relaxed) != KEEP_RUNNING;
                if over || self.queue_jobs(open)? {
                    feed = None;
                }
            }
            match outcomes.recv_timeout(SIGNAL_CHECK_INTERVAL) {
                Ok((number, outcome)) => self.end(number, outcome)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if looked.elapsed() >= SIGNAL_CHECK_INTERVAL {
                looked = Instant::now();
                self.check_signals_and_memory(shared)?;
            }
        }
    }

    /// Hands out jobs while the queue has room; whether there are no more.
    fn queue_jobs(&mut self, feed: &SyncSender<Job>) -> PyResult<bool> {
        loop {
            let job = match self.waiting.take() {
                Some(job) => job,
                None => match self.next()? {
                    Some(job) => job,
                    None => return Ok(true),
                },
            };
            match feed.try_send(job) {
                Ok(()) => {}
                Err(TrySendError::Full(job)) => {
                    self.waiting = Some(job);
                    return Ok(false);
                }
                Err(TrySendError::Disconnected(_)) => return Ok(true),
            }
        }
    }

    fn next(&mut self) -> PyResult<Option<Job>> {
        let number = self.begun;
        let job = Python::attach(|py| {
            let Some(job) = self.jobs.bind(py).clone().next() else { return Ok(None) };
            job?.extract().map(Some)
        })?;
        self.begun += usize::from(job.is_some());
        Ok(job.map(|(network, seed)| Job { number, network, seed }))
    }

    fn end(&self, number: usize, outcome: Outcome) -> PyResult<()> {
        Python::attach(|py| {
            match outcome {
                Ok(tables) => {
                    let tables = crate::to_python(py, &tables)?;
                    self.ended.call1(py, (number, py.None(), tables))?;
                }
                Err((kind, text)) => {
                    self.ended.call1(py, (number, kind, text))?;
                }
            }
            Ok(())
        })
    }

    fn check_signals_and_memory(&self, shared: &RunQueue) -> PyResult<()> {
        if let Some(limit) = self.limit_memory {
            if resident_memory().is_some_and(|held| held > limit) {
                let _ = shared.stop.compare_exchange(
                    KEEP_RUNNING,
                    MEMORY,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
        }
        Python::attach(|py| {
            py.check_signals()?;
            self.tick.as_ref().map_or(Ok(()), |tick| tick.call0(py).map(|_| ()))
        })
    }
}

/// Resident memory of this process [bytes]; None where the system does not report it.
fn resident_memory() -> Option<u64> {
    let status_text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status_text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
