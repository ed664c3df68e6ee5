//! The agent of the Linux engine: it builds a scenario's routers out of network namespaces, sends the
//! scenario's traffic through them and returns the measurements.
//!
//! In a guest it is the first process, `/init`: it mounts the file systems, loads the modules in
//! `/modules`, executes the orders of `/trunkline` and turns the machine off. On the host's own kernel
//! it is a child process, `trunkline-guest native ORDERS SCHEDULES RESULT`. In both cases the namespaces
//! have no names and end with the process, and no command runs in a shell.
//!
//! `trunkline-guest launch PROCESSOR PROGRAM ARGUMENTS` becomes a guest: on one processor (`-`: any), at
//! the same addresses each time, and never longer than its parent.

mod application;
mod archive;
mod batch;
mod daemons;
mod machine;
mod marks;
mod namespaces;
mod netlink;
mod orders;
mod prepared_changes;
mod run;
mod statistics;
mod sys;
mod tcp;
mod transfers;
mod udp;

use archive::Archive;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use sys::process;

fn main() -> ExitCode {
    if std::process::id() == 1 {
        machine::run_machine();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["native", orders, schedules, result] => run_native(orders, schedules, result),
        ["namespaces"] => test_namespaces(),
        ["launch", processor, program, ref rest @ ..] => {
            Err(exec_program(processor, program, rest))
        }
        _ => Err("usage: trunkline-guest native|namespaces|launch ...".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("trunkline: fault: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Does orders on the kernel that this process runs on.
fn run_native(orders: &str, schedules: &str, result: &str) -> Result<(), String> {
    process::die_with_parent().map_err(|why| why.to_string())?;
    namespaces()?;
    let mut archive = Archive::default();
    run_orders_file(orders, schedules, false, &mut archive)?;
    println!("trunkline: handing back");
    let mut file = fs::File::create(result).map_err(|why| format!("{result}: {why}"))?;
    archive.write(&mut file).map_err(|why| format!("{result}: {why}"))
}

/// Leaves the host's network for one of this process alone; without root, by a user namespace.
fn namespaces() -> Result<(), String> {
    process::new_network()
        .map_err(|why| format!("this kernel gives us no network namespace: {why}"))
}

/// Makes two namespaces and a link between them, to see whether this kernel lets us.
fn test_namespaces() -> Result<(), String> {
    namespaces()?;
    let text = "trunkline 1\nnode n0\nnode n1\n\
        link n0 l0a 02:00:00:00:00:01 n1 l0b 02:00:00:00:00:02\n";
    let orders = orders::GuestOrders::parse(text)?;
    let spaces = namespaces::NodeNamespaces::new(2).map_err(|why| format!("namespaces: {why}"))?;
    spaces.prepare(&orders)
}

/// Becomes a program; returns only why it did not.
fn exec_program(processor: &str, program: &str, arguments: &[&str]) -> String {
    let ready = || -> std::io::Result<()> {
        process::die_with_parent()?;
        process::leave_no_core()?;
        if let Ok(processor) = processor.parse() {
            process::stay_on(processor)?;
        }
        process::fix_addresses()
    };
    match ready() {
        Ok(()) => format!("{program}: {}", Command::new(program).args(arguments).exec()),
        Err(why) => format!("launch: {why}"),
    }
}

/// Executes the orders of a file; `seeded` is whether it may seed the kernel's random numbers.
fn run_orders_file(
    orders: &str,
    schedules: &str,
    seeded: bool,
    archive: &mut Archive,
) -> Result<(), String> {
    let text = fs::read_to_string(orders).map_err(|why| format!("{orders}: {why}"))?;
    let orders = orders::GuestOrders::parse(&text)?;
    if seeded {
        process::seed_random(orders.seed).map_err(|why| format!("seed: {why}"))?;
    }
    process::sharpen_timers().map_err(|why| why.to_string())?;
    let schedule = |name: &str| {
        let path = format!("{schedules}/{name}");
        fs::read(&path).map_err(|why| format!("{path}: {why}"))
    };
    run::run(orders, &schedule, archive)?;
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    archive.put("kernel", release.trim());
    Ok(())
}
