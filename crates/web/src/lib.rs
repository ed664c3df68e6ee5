//! The engine as a WebAssembly module for pages: a network's JSON in, tables out.
//!
//! A page writes the JSON where [`reserve`] says, calls [`run`] and reads the answer at
//! [`answer_start`]. The one import, `env.report_progress`, takes the share of the run that is over.
#![allow(unsafe_code)] // Functions that a page calls by name, and the one it offers, are foreign.

use std::cell::RefCell;
use trunkline_engine::{Network, Table};

#[link(wasm_import_module = "env")]
extern "C" {
    fn report_progress(share: f64);
}

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a network's JSON of `length` bytes; where to write it.
#[no_mangle]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Runs the network that was written with `seed`; whether it came to its end.
///
/// The answer of a run: a 32-bit length, a JSON list of `[table, rows, [[column, kind], ...]]` of that
/// length, padding to 8 bytes, then the columns, 8 bytes a value. Otherwise the answer is the reason in
/// UTF-8.
#[no_mangle]
pub extern "C" fn run(seed: u64) -> bool {
    std::panic::set_hook(Box::new(|panic| write_answer(panic.to_string().into_bytes())));
    let outcome = REQUEST.with_borrow(|request| simulate(request, seed));
    let ended = outcome.is_ok();
    write_answer(outcome.unwrap_or_else(String::into_bytes));
    ended
}

/// Where the answer begins.
#[no_mangle]
pub extern "C" fn answer_start() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// Bytes of the answer.
#[no_mangle]
pub extern "C" fn answer_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}

fn write_answer(bytes: Vec<u8>) {
    ANSWER.with_borrow_mut(|answer| *answer = bytes);
}

fn simulate(request: &[u8], seed: u64) -> Result<Vec<u8>, String> {
    let network: Network =
        serde_json::from_slice(request).map_err(|error| format!("network: {error}"))?;
    let end = network.run.duration_ns as f64;
    let watch = |now: u64| {
        // SAFETY: the page passes a function of one number, which keeps nothing.
        unsafe { report_progress(now as f64 / end) };
        false
    };
    let tables = trunkline_engine::run_watched(&network, seed, &watch)
        .map_err(|failure| failure.to_string())?;
    Ok(encode(&tables))
}

fn encode(tables: &[Table]) -> Vec<u8> {
    let columns = || tables.iter().flat_map(|table| &table.columns);
    let heads: Vec<_> = tables
        .iter()
        .map(|table| {
            let rows = table.columns.first().map_or(0, |(_, column)| column.len());
            let kinds: Vec<_> =
                table.columns.iter().map(|(name, column)| (*name, column.kind())).collect();
            (table.name, rows, kinds)
        })
        .collect();
    let head = serde_json::to_vec(&heads).unwrap_or_default();
    let mut answer = Vec::with_capacity(head.len() + 16);
    answer.extend((head.len() as u32).to_le_bytes());
    answer.extend(&head);
    answer.resize(answer.len().next_multiple_of(8), 0);
    for (_, column) in columns() {
        answer.extend(column.bytes().1);
    }
    answer
}
