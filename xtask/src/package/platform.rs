//! What is packaged for: operating system and processor, how its program is built, and how it is run on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Format, files};
use crate::{Outcome, process};

/// An operating system with a processor.
#[derive(Debug)]
pub(super) struct Platform {
    /// Rust's name of it.
    pub(super) target: &'static str,
    /// Debian's and the OCI's name of the processor.
    pub(super) architecture: &'static str,
    /// The program's file name.
    pub(super) program: &'static str,
    pub(super) formats: &'static [Format],
    /// Programs and files that it takes to build it or run it here, each with its Debian package.
    pub(super) needs: &'static [(&'static str, &'static str)],
    /// What rustc is told besides.
    pub(super) rustflags: &'static [&'static str],
    runner: Runner,
}

/// How its programs run on this machine.
#[derive(Debug)]
enum Runner {
    Directly,
    Wine,
}

/// Debian installs it outside of the search path.
const WINE: &str = "/usr/lib/wine/wine64";

/// Rust's name of the first.
pub(super) const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// A static program: it runs on every Linux of this processor, whatever C library is there.
const LINUX: Platform = Platform {
    target: STATIC_TARGET,
    architecture: "amd64",
    program: "plimsoll",
    formats: &super::FORMATS,
    needs: &[("musl-gcc", "musl-tools")],
    rustflags: &[],
    runner: Runner::Directly,
};

/// What reads captures and recordings.
const WINDOWS: Platform = Platform {
    target: "x86_64-pc-windows-gnu",
    program: "plimsoll.exe",
    formats: &super::FORMATS_WINDOWS,
    needs: &[("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"), (WINE, "wine64"), ("zip", "zip")],
    // Or no two builds would be the same.
    rustflags: &["-Clink-arg=-Wl,--no-insert-timestamp"],
    runner: Runner::Wine,
    ..LINUX
};

/// All platforms. The first one's program runs here directly: the others must give the same reports.
pub(super) static PLATFORMS: [Platform; 2] = [LINUX, WINDOWS];

/// Whether Rust can build for it.
pub(super) fn has_libraries(target: &str) -> bool {
    let folder = process::output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

impl Platform {
    /// What is missing to build and run it; `None` where nothing is.
    pub(super) fn missing(&self) -> Option<String> {
        let target = self.target;
        let missing = self.needs.iter().find(|(program, _)| process::find(program).is_none());
        if let Some((program, package)) = missing {
            return Some(format!("needs {program} (Debian package {package})"));
        }
        (!has_libraries(target)).then(|| format!("needs Rust's libraries for {target}: rustup target add {target}"))
    }

    /// Whether it runs here as fast as anywhere.
    pub(super) fn is_native(&self) -> bool {
        matches!(self.runner, Runner::Directly)
    }

    /// A command that runs one of its programs.
    pub(super) fn command(&self, program: &Path, scratch: &Path) -> Command {
        let mut command = match self.runner {
            Runner::Directly => Command::new(program),
            Runner::Wine => {
                let mut command = Command::new(WINE);
                command.arg(program).env("WINEPREFIX", scratch.join("wine")).env("WINEARCH", "win64");
                // Standard error is the program's alone.
                command.env("WINEDEBUG", "-all");
                command
            }
        };
        command.stdin(Stdio::null());
        command
    }

    /// Before its programs run for the first time: Wine needs a folder, and a library that Debian's lacks.
    pub(super) fn prepare(&self, program: &Path, scratch: &Path) -> Outcome {
        if !matches!(self.runner, Runner::Wine) {
            return Ok(());
        }
        random_numbers(program.parent().unwrap_or(scratch), scratch)?;
        // The first start makes the folder, and says so.
        process::output(self.command(program, scratch).arg("--version")).map(drop)
    }
}

/// Rust's standard library gets random numbers from `ProcessPrng` of bcryptprimitives.dll, which Windows 10 has and Wine 8 does not. For
/// trials only.
const RANDOM_NUMBERS: &str = "\
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, (ULONG)length); }
";

/// Builds that library beside a program.
fn random_numbers(folder: &Path, scratch: &Path) -> Outcome {
    let (source, library): (PathBuf, PathBuf) = (scratch.join("random.c"), folder.join("bcryptprimitives.dll"));
    files::write(&source, RANDOM_NUMBERS)?;
    let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
    process::output(compiler.args(["-shared", "-o"]).arg(library).arg(source).arg("-ladvapi32")).map(drop)
}
