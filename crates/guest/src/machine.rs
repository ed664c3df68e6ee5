//! The agent as the first process of a guest.

use crate::archive::Archive;
use crate::sys::process;
use std::fs::{self, File};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

/// Where the orders and the schedules lie.
const ORDERS_FILE: &str = "/trunkline/orders";
const SCHEDULES_FILE: &str = "/trunkline";
/// Modules to load before the run, and those of the result channel to load after it, by number and name.
const MODULES: &str = "/modules";
const MODULES_AFTER: &str = "/modules-after";
/// The result channel: a host's folder where there is one, a port of a virtual console otherwise.
const FOLDER: &str = "/result";
const PORT: &str = "/dev/vport0p1";

/// Does the orders, hands back the results and turns the machine off.
pub fn run_machine() -> ! {
    let done = catch_unwind(AssertUnwindSafe(run_orders));
    match done {
        Ok(Ok(())) => println!("trunkline: done"),
        Ok(Err(why)) => println!("trunkline: fault: {why}"),
        Err(_) => println!("trunkline: fault: the agent panicked"),
    }
    process::power_off();
}

fn run_orders() -> Result<(), String> {
    std::env::set_var("PATH", "/bin");
    std::env::set_var("LD_LIBRARY_PATH", "/lib");
    for (source, target, kind) in [
        ("dev", "/dev", "devtmpfs"),
        ("proc", "/proc", "proc"),
        ("sys", "/sys", "sysfs"),
        ("tmp", "/tmp", "tmpfs"),
    ] {
        let mounted = process::mount_on(source, target, kind, "");
        // A kernel without devtmpfs has the console from the image, which is all we need then.
        if kind != "devtmpfs" {
            mounted.map_err(|why| format!("mount {target}: {why}"))?;
        }
    }
    // The folder in which the host started the kernel: its option `hostfs=.`.
    let folder = process::mount_on("none", FOLDER, "hostfs", "result").is_ok();
    load_modules(MODULES)?;
    println!("trunkline: ready");
    let mut archive = Archive::default();
    // User-mode Linux has its seed from the host.
    crate::run_orders_file(ORDERS_FILE, SCHEDULES_FILE, !folder, &mut archive)?;
    println!("trunkline: handing back");
    if folder {
        return write_results(&archive, &format!("{FOLDER}/archive"), true);
    }
    load_modules(MODULES_AFTER)?;
    for _ in 0..100 {
        if fs::metadata(PORT).is_ok() {
            return write_results(&archive, PORT, false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{PORT} does not appear"))
}

fn write_results(archive: &Archive, path: &str, create: bool) -> Result<(), String> {
    let open = || -> io::Result<()> {
        let file = File::options().write(true).create(create).open(path)?;
        archive.write(&mut io::BufWriter::with_capacity(1 << 16, file))
    };
    open().map_err(|why| format!("{path}: {why}"))
}

/// Loads the modules of a folder in the order of their names.
fn load_modules(folder: &str) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut paths: Vec<_> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        let loaded = File::open(&path).and_then(|file| process::load_module(&file));
        loaded.map_err(|why| format!("module {}: {why}", path.display()))?;
    }
    Ok(())
}
