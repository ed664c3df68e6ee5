//! Compiles the agent of the Linux engine, which the module carries along as bytes.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let source = here.join(trunkline_guest::SOURCE);
    let folder = source.parent().expect("a file lies in a folder");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let agent = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("guest-agent");
    let linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    // Linked with its libraries it starts on any Linux; where the C library has no archive to link
    // with, the guest's image takes the libraries along.
    if linux && (compile(&source, &agent, true) || compile(&source, &agent, false)) {
        return;
    }
    if linux {
        println!("cargo::warning=the agent of the Linux engine does not compile here: left out");
        // A file that is never there: the next build tries again.
        println!("cargo::rerun-if-changed=absent");
    }
    std::fs::write(&agent, []).expect("the build folder can be written");
}

fn compile(source: &PathBuf, agent: &PathBuf, linked_in: bool) -> bool {
    let sign = if linked_in { '+' } else { '-' };
    let mut command = Command::new(env::var_os("RUSTC").expect("cargo sets it"));
    command
        .args(["--edition", "2021", "--crate-name", "trunkline_agent", "--crate-type", "bin"])
        .args([
            "-C",
            "opt-level=2",
            "-C",
            "codegen-units=4",
            "-C",
            "strip=symbols",
            "-A",
            "warnings",
        ])
        .arg("-C")
        .arg(format!("target-feature={sign}crt-static"))
        .args(["--target".into(), env::var_os("TARGET").expect("cargo sets it")])
        .arg("-o")
        .arg(agent)
        .arg(source);
    // The linker that cargo links the module with, where it is not the compiler's own.
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut argument = std::ffi::OsString::from("linker=");
        argument.push(linker);
        command.arg("-C").arg(argument);
    }
    command.output().is_ok_and(|output| output.status.success())
}
