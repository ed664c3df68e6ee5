//! The Python module `trunkline._core`: networks in, tables out. No logic lives here.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use trunkline_engine::{Failure, Network, Table};

mod capture;
mod stream;

fn parse(network: &str) -> PyResult<Network> {
    serde_json::from_str(network)
        .map_err(|error| PyValueError::new_err(format!("network: {error}")))
}

fn raise(failure: &Failure) -> PyErr {
    match failure {
        Failure::Interrupted { .. } => PyKeyboardInterrupt::new_err(()),
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

/// Next hops: for every node and destination of a flow, the link index, or -1 for none.
#[pyfunction]
fn routes(network: &str) -> PyResult<Vec<(u32, u32, i64)>> {
    let network = parse(network)?;
    Ok(trunkline_engine::routes(&network))
}

/// The program of the Linux engine's agent; None where there is none for this platform.
#[pyfunction]
fn guest_agent(py: Python<'_>) -> Option<Bound<'_, PyBytes>> {
    let agent = include_bytes!(concat!(env!("OUT_DIR"), "/guest-agent"));
    (!agent.is_empty()).then(|| PyBytes::new(py, agent))
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
    module.add_function(wrap_pyfunction!(stream::run_stream, module)?)?;
    module.add_function(wrap_pyfunction!(routes, module)?)?;
    module.add_function(wrap_pyfunction!(guest_agent, module)?)?;
    module.add_function(wrap_pyfunction!(causes, module)?)?;
    module.add_function(wrap_pyfunction!(timeline_events, module)?)?;
    module.add_function(wrap_pyfunction!(packet_events, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(capture::write_capture, module)?)?;
    Ok(())
}
