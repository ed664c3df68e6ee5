//! Runs a compiled network from a file, without Python: `trunkline-sim NETWORK.json [SEED [THREADS]]`.
//!
//! Prints the tables as one JSON object, for benchmarks and for driving the engine from elsewhere.

use std::process::ExitCode;
use trunkline_engine::{Column, Network, Table};

fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<String, String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: trunkline-sim NETWORK.json [SEED [THREADS]]")?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let network: Network =
        serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let seed = match arguments.next() {
        Some(seed) => seed.parse().map_err(|_| format!("seed {seed}: a whole number is needed"))?,
        None => network.run.seed,
    };
    let threads = match arguments.next() {
        Some(threads) => {
            threads.parse().map_err(|_| format!("threads {threads}: a whole number"))?
        }
        None => 1,
    };
    let tables = trunkline_engine::run_on(&network, seed, threads, &|| false)
        .map_err(|failure| failure.to_string())?;
    let object: serde_json::Map<_, _> =
        tables.iter().map(|table| (table.name.to_owned(), columns(table))).collect();
    serde_json::to_string(&object).map_err(|error| error.to_string())
}

fn columns(table: &Table) -> serde_json::Value {
    let values = |column: &Column| match column {
        Column::I64(values) => serde_json::json!(values),
        Column::F64(values) => serde_json::json!(values),
    };
    table.columns.iter().map(|(name, column)| ((*name).to_owned(), values(column))).collect()
}
