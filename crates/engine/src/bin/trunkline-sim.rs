//! Runs a compiled network from a file, without Python: `trunkline-sim NETWORK.json [SEED [THREADS]]`.
//!
//! Prints the tables as one JSON object, for benchmarks and for driving the engine from elsewhere.

use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::{BufWriter, Write};
use std::process::ExitCode;
use trunkline_engine::{Column, Network, Table};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: trunkline-sim NETWORK.json [SEED [THREADS]]")?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let network: Network =
        serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    drop(text);
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
    let tables = trunkline_engine::run_on_threads(&network, seed, threads, &|| false)
        .map_err(|failure| failure.to_string())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut writer = serde_json::Serializer::new(&mut out);
    writer
        .collect_map(tables.iter().map(|table| (table.name, Columns(table))))
        .map_err(|error| error.to_string())?;
    writeln!(out).and_then(|()| out.flush()).map_err(|error| error.to_string())
}

/// Columns by name, written one value after the other.
struct Columns<'a>(&'a Table);

impl Serialize for Columns<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.columns.len()))?;
        for (name, column) in &self.0.columns {
            match column {
                Column::I64(values) => map.serialize_entry(name, values)?,
                Column::F64(values) => map.serialize_entry(name, values)?,
            }
        }
        map.end()
    }
}
