//! The Python module `trunkline._core`: networks in, tables out. No logic lives here.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Duration;
use trunkline_engine::{Failure, Network, Table};

fn parse(network: &str) -> PyResult<Network> {
    serde_json::from_str(network)
        .map_err(|error| PyValueError::new_err(format!("network: {error}")))
}

fn raise(failure: &Failure) -> PyErr {
    match failure {
        Failure::Interrupted => PyKeyboardInterrupt::new_err(()),
        Failure::Invalid(_) => PyValueError::new_err(failure.to_string()),
        Failure::Storm { .. } | Failure::Conservation(_) => {
            PyRuntimeError::new_err(failure.to_string())
        }
    }
}

/// Tables as `{table: {column: (element type, little-endian bytes)}}`.
fn to_python<'py>(py: Python<'py>, tables: &[Table]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for table in tables {
        let columns = PyDict::new(py);
        for (name, column) in &table.columns {
            let (kind, bytes) = column.bytes();
            columns.set_item(name, (kind, PyBytes::new(py, &bytes)))?;
        }
        result.set_item(table.name, columns)?;
    }
    Ok(result)
}

/// Runs a network once with `seed`.
#[pyfunction]
fn run<'py>(py: Python<'py>, network: &str, seed: u64) -> PyResult<Bound<'py, PyDict>> {
    let network = parse(network)?;
    let signalled = || Python::attach(|py| py.check_signals().is_err());
    let tables = py
        .detach(|| trunkline_engine::run(&network, seed, &signalled))
        .map_err(|failure| raise(&failure))?;
    to_python(py, &tables)
}

/// Runs a network once per seed on `threads` threads; the results come in the order of the seeds.
/// `progress`, if given, is called with the number of runs done.
#[pyfunction]
#[pyo3(signature = (network, seeds, threads, progress=None))]
fn run_many<'py>(
    py: Python<'py>,
    network: &str,
    seeds: Vec<u64>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let network = parse(network)?;
    let networks = vec![&network; seeds.len()];
    run_jobs(py, &networks, &seeds, threads, progress)
}

/// Runs each network with the seed beside it on `threads` threads; results come in order.
#[pyfunction]
#[pyo3(signature = (networks, seeds, threads, progress=None))]
fn run_grid<'py>(
    py: Python<'py>,
    networks: Vec<String>,
    seeds: Vec<u64>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    if networks.len() != seeds.len() {
        return Err(PyValueError::new_err("one seed per network is needed"));
    }
    let networks = networks.iter().map(|text| parse(text)).collect::<PyResult<Vec<_>>>()?;
    let references: Vec<&Network> = networks.iter().collect();
    run_jobs(py, &references, &seeds, threads, progress)
}

type Outcome = Result<Vec<Table>, Failure>;

fn run_jobs<'py>(
    py: Python<'py>,
    networks: &[&Network],
    seeds: &[u64],
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let outcomes: Vec<Mutex<Option<Outcome>>> = seeds.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some(&seed) = seeds.get(job) else { return };
            let asked = || stop.load(Ordering::Relaxed);
            let outcome = trunkline_engine::run(networks[job], seed, &asked);
            if outcome.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            *outcomes[job].lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                Some(outcome);
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    let supervised = py.detach(|| {
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads.clamp(1, seeds.len().max(1))).map(|_| scope.spawn(work)).collect();
            let mut told = 0;
            // Signals and progress belong to the interpreter's thread, which is this one.
            let result = loop {
                let finished = workers.iter().all(std::thread::ScopedJoinHandle::is_finished);
                let count = done.load(Ordering::Relaxed);
                let spoken = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(callback) if count > told => callback.call1(py, (count,)).map(|_| ()),
                        _ => Ok(()),
                    }
                });
                told = count;
                if spoken.is_err() || finished {
                    stop.store(true, Ordering::Relaxed);
                    break spoken;
                }
                std::thread::park_timeout(Duration::from_millis(10));
            };
            result
        })
    });
    supervised?;
    let mut results = Vec::with_capacity(seeds.len());
    let mut failure = None;
    for outcome in outcomes {
        match outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(Ok(tables)) => results.push(to_python(py, &tables)?),
            Some(Err(Failure::Interrupted)) | None => {}
            Some(Err(error)) => failure = failure.or(Some(error)),
        }
    }
    match failure {
        Some(failure) => Err(raise(&failure)),
        None if results.len() < seeds.len() => Err(raise(&Failure::Interrupted)),
        None => Ok(results),
    }
}

/// Next hops: for every node and destination of a flow, the link index, or -1 for none.
#[pyfunction]
fn routes(network: &str) -> PyResult<Vec<(u32, u32, i64)>> {
    let network = parse(network)?;
    Ok(trunkline_engine::routes(&network))
}

/// Names of the causes in the drops table, by number.
#[pyfunction]
fn causes() -> Vec<&'static str> {
    trunkline_engine::results::causes()
}

/// Names of the events in the timeline table, by number.
#[pyfunction]
fn timeline_events() -> Vec<&'static str> {
    trunkline_engine::MOMENTS.to_vec()
}

/// Names of the events in the packets table, by number.
#[pyfunction]
fn packet_events() -> Vec<&'static str> {
    trunkline_engine::PACKET_EVENTS.to_vec()
}

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The engine.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)?;
    module.add_function(wrap_pyfunction!(run_grid, module)?)?;
    module.add_function(wrap_pyfunction!(routes, module)?)?;
    module.add_function(wrap_pyfunction!(causes, module)?)?;
    module.add_function(wrap_pyfunction!(timeline_events, module)?)?;
    module.add_function(wrap_pyfunction!(packet_events, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    Ok(())
}
