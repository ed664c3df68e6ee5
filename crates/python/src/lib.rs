//! The Python module `trunkline._core`: networks in, tables out. No logic lives here.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use trunkline_engine::network::{Measure, FORMAT};
use trunkline_engine::{Cause, Colour, Ecn, Network, RunError, Table};

mod capture;
mod stream;

fn parse(network: &str) -> PyResult<Network> {
    serde_json::from_str(network).map_err(|error| {
        // A network of another format may have unknown keys: its format number explains more than the
        // first of them.
        let document = serde_json::from_str::<serde_json::Value>(network).ok();
        let format = document.and_then(|network| network.get("format")?.as_u64());
        let why = match format.filter(|format| *format != u64::from(FORMAT)) {
            Some(format_value) => {
                format!("its format is {format_value}; this version runs format {FORMAT}")
            }
            None => error.to_string(),
        };
        PyValueError::new_err(format!("network: {why}"))
    })
}

fn raise(failure: &RunError) -> PyErr {
    match failure {
        RunError::Interrupted { .. } => PyKeyboardInterrupt::new_err(()),
        RunError::Invalid(_) => PyValueError::new_err(failure.to_string()),
        RunError::Storm { .. } | RunError::Conservation(_) | RunError::Panic { .. } => {
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

/// Next hops: for every node and destination of a flow, the link index, or -1 for none.
#[pyfunction]
#[pyo3(signature = (network, to_all=false))]
fn routes(network: &str, to_all: bool) -> PyResult<Vec<(u32, u32, i64)>> {
    let network = parse(network)?;
    Ok(trunkline_engine::initial_next_hops(&network, to_all))
}

/// The program of the Linux engine's agent; None where there is none for this platform.
#[pyfunction]
fn guest_agent(py: Python<'_>) -> Option<Bound<'_, PyBytes>> {
    let agent = include_bytes!(concat!(env!("OUT_DIR"), "/guest-agent"));
    (!agent.is_empty()).then(|| PyBytes::new(py, agent))
}

/// Reads a network as strictly as a run does and writes all of it, defaults too: what the types in
/// Python are compared with.
#[pyfunction]
fn rewrite(network: &str) -> PyResult<String> {
    serde_json::to_string(&parse(network)?)
        .map_err(|error| PyValueError::new_err(format!("network: {error}")))
}

/// Lists of words by their numbers in the raw tables, and the measures of probes.
fn add_words(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let measures = |of_flow: bool| {
        let chosen = Measure::ALL.iter().filter(move |measure| measure.is_of_flow() == of_flow);
        let words =
            chosen.filter_map(|it| Some(serde_json::to_value(it).ok()?.as_str()?.to_owned()));
        PyTuple::new(py, words.collect::<Vec<_>>())
    };
    let causes: Vec<_> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    module.add("CAUSES", PyTuple::new(py, causes)?)?;
    module.add("TIMELINE_EVENTS", PyTuple::new(py, trunkline_engine::TIMELINE_EVENT_NAMES)?)?;
    module.add("SIGNALLING_EVENTS", PyTuple::new(py, trunkline_engine::SIGNALLING_EVENTS)?)?;
    module.add("LDP_KINDS", PyTuple::new(py, trunkline_engine::LDP_KINDS)?)?;
    module.add("OSPF_KINDS", PyTuple::new(py, trunkline_engine::OSPF_KINDS)?)?;
    module.add("RSVP_KINDS", PyTuple::new(py, trunkline_engine::RSVP_KINDS)?)?;
    module.add("PACKET_EVENTS", PyTuple::new(py, trunkline_engine::PACKET_EVENTS)?)?;
    module.add("COLOURS", PyTuple::new(py, Colour::NAMES)?)?;
    module.add("ECN", PyTuple::new(py, Ecn::NAMES)?)?;
    module.add("FLOW_MEASURES", measures(true)?)?;
    module.add("LINK_MEASURES", measures(false)?)
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
    module.add_function(wrap_pyfunction!(stream::run_stream, module)?)?;
    module.add_function(wrap_pyfunction!(routes, module)?)?;
    module.add_function(wrap_pyfunction!(rewrite, module)?)?;
    module.add_function(wrap_pyfunction!(guest_agent, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(capture::write_capture, module)?)?;
    add_words(module)
}
