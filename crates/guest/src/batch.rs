//! `ip` and `tc` over lines, in the namespace of the thread that starts them, without a shell.

use crate::sys::process;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Child, Command, Stdio};

/// A program that was started early and waits for its lines: its slow start is over before the lines are
/// due.
#[derive(Debug)]
pub struct CommandBatch {
    program: &'static str,
    lines: Vec<String>,
    child: Child,
    output: File,
    talk: File,
}

impl CommandBatch {
    /// Starts `ip`, `mpls` (which is `ip` too) or `tc`.
    ///
    /// # Errors
    /// It did not start.
    pub fn start(program: &'static str, options: &[&str]) -> Result<Self, String> {
        let start = || -> io::Result<Self> {
            let (output, talk) = (process::memory_file()?, process::memory_file()?);
            let (name, family) = name_program(program);
            let child = Command::new(name)
                .args(family)
                .args(options)
                .args(["-batch", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::from(output.try_clone()?))
                .stderr(Stdio::from(talk.try_clone()?))
                .spawn()?;
            Ok(Self { program, lines: Vec::new(), child, output, talk })
        };
        start().map_err(|why| format!("{program}: {why}"))
    }

    /// Runs its lines only while no other process has work.
    ///
    /// # Errors
    /// It has ended.
    pub fn put_last(self) -> Result<Self, String> {
        process::put_last(self.child.id()).map_err(|why| format!("{}: {why}", self.program))?;
        Ok(self)
    }

    /// Gives it its lines; it does them while this process waits for something else.
    ///
    /// # Errors
    /// It does not take them.
    pub fn send_lines(&mut self, lines: Vec<String>) -> Result<(), String> {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        self.lines = lines;
        let given = self.child.stdin.take().map_or(Ok(()), |mut to| to.write_all(text.as_bytes()));
        match given {
            // One that stopped at a line it refuses reads no further.
            Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
                Err(format!("{}: {why}", self.program))
            }
            _ => Ok(()),
        }
    }

    /// Waits for its end; returns its output.
    ///
    /// # Errors
    /// The first line that was refused, and the error message.
    pub fn finish(mut self) -> Result<String, String> {
        let mut finish = || -> io::Result<(bool, String, String)> {
            let done = self.child.wait()?.success();
            Ok((done, read_from_start(&mut self.output)?, read_from_start(&mut self.talk)?))
        };
        let (done, output, talk) = finish().map_err(|why| format!("{}: {why}", self.program))?;
        if done {
            return Ok(output);
        }
        // "Command failed -:3" counts lines from one.
        let number = talk.rsplit(':').next().and_then(|tail| tail.trim().parse::<usize>().ok());
        let line = number.and_then(|number| self.lines.get(number.wrapping_sub(1)));
        let error_lines: Vec<&str> =
            talk.lines().filter(|line| !line.starts_with("Command failed")).collect();
        let line = line.map_or("?", String::as_str);
        Err(format!("{} {line}: {}", self.program, error_lines.join("; ")))
    }
}

/// Runs a program over lines at once, if there are any.
///
/// # Errors
/// Those of [`CommandBatch`].
pub fn run_batch(program: &'static str, lines: &[String]) -> Result<(), String> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut started = CommandBatch::start(program, &[])?;
    started.send_lines(lines.to_vec())?;
    started.finish().map(drop)
}

/// Names the program and its first options: `mpls` is `ip` too.
pub fn name_program(program: &'static str) -> (&'static str, &'static [&'static str]) {
    if program == "mpls" {
        ("ip", &["-f", "mpls"])
    } else {
        (program, &[])
    }
}

/// Reads a file from its start.
pub fn read_from_start(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
