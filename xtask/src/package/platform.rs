//! Target platforms: operating system and processor, the build, and how to run the program on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files;
use crate::{Outcome, process};

/// An operating system with a processor.
#[derive(Debug)]
pub(super) struct Platform {
    /// Rust's name of the target.
    pub(super) target: &'static str,
    /// Debian's and the OCI's name of the processor.
    pub(super) architecture: &'static str,
    /// RPM's and Python's name of the processor.
    pub(super) processor: &'static str,
    /// The program's file name.
    pub(super) program: &'static str,
    /// Programs and files that it takes to build it or run it here, each with its Debian package.
    pub(super) needs: &'static [(&'static str, &'static str)],
    /// Additional flags for rustc.
    pub(super) rustflags: &'static [&'static str],
    /// Environment of the C build.
    pub(super) environment: &'static [(&'static str, &'static str)],
    /// Removes the table of symbols that rustc leaves in the program.
    pub(super) strip: Option<&'static str>,
    /// Whether its programs need no library: they run in an empty root.
    pub(super) is_static: bool,
    runner: Runner,
}

/// How its programs run on this machine.
#[derive(Debug)]
enum Runner {
    Directly,
    Wine,
    /// Emulated by this program.
    Emulated(&'static str),
}

/// Debian installs it outside of the search path.
const WINE: &str = "/usr/lib/wine/wine64";
/// Runs programs of 64-bit ARM processors.
const QEMU_ARM: &str = "qemu-aarch64-static";

/// A static program: it runs on every Linux of this processor, with any C library.
const LINUX: Platform = Platform {
    target: "x86_64-unknown-linux-musl",
    architecture: "amd64",
    processor: "x86_64",
    program: "plimsoll",
    needs: &[("musl-gcc", "musl-tools")],
    rustflags: &[],
    environment: &[],
    strip: None,
    is_static: true,
    runner: Runner::Directly,
};

/// The program that the tests use, linked with this machine's libraries: only `cargo xtask check` packs it.
pub(super) static TESTED: Platform =
    Platform { target: "x86_64-unknown-linux-gnu", needs: &[("strip", "binutils")], is_static: false, ..LINUX };

/// The same for 64-bit ARM processors.
const LINUX_ARM: Platform = Platform {
    target: "aarch64-unknown-linux-musl",
    architecture: "arm64",
    processor: "aarch64",
    needs: &[
        ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        ("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
        (QEMU_ARM, "qemu-user-static"),
    ],
    // Rust has its own linker, and the C library in the libraries for this target.
    rustflags: &["-Clinker=rust-lld"],
    // The headers are glibc's: its checked functions and the compiler's helpers for atomics are not in musl.
    environment: &[
        ("CC_aarch64_unknown_linux_musl", "aarch64-linux-gnu-gcc"),
        ("AR_aarch64_unknown_linux_musl", "aarch64-linux-gnu-ar"),
        ("CFLAGS_aarch64_unknown_linux_musl", "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0 -mno-outline-atomics"),
    ],
    runner: Runner::Emulated(QEMU_ARM),
    ..LINUX
};

/// What reads captures and recordings.
const WINDOWS: Platform = Platform {
    target: "x86_64-pc-windows-gnu",
    program: "plimsoll.exe",
    needs: &[("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"), (WINE, "wine64"), ("zip", "zip")],
    // Or no two builds would be the same.
    rustflags: &["-Clink-arg=-Wl,--no-insert-timestamp"],
    // The table names temporary files of the build.
    strip: Some("x86_64-w64-mingw32-strip"),
    runner: Runner::Wine,
    ..LINUX
};

/// All platforms. The first one's program runs here directly: the others must give the same reports.
pub(super) static PLATFORMS: [Platform; 3] = [LINUX, LINUX_ARM, WINDOWS];

/// Whether Rust can build for it.
fn has_libraries(target: &str) -> bool {
    let folder = process::output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

impl Platform {
    /// The missing tools to build and run it; `None` if there are none.
    pub(super) fn missing(&self) -> Option<String> {
        let target = self.target;
        let missing = self.needs.iter().find(|(program, _)| process::find(program).is_none());
        if let Some((program, package)) = missing {
            return Some(format!("needs {program} (Debian package {package})"));
        }
        (!has_libraries(target)).then(|| format!("needs Rust's libraries for {target}: rustup target add {target}"))
    }

    pub(super) fn is_windows(&self) -> bool {
        matches!(self.runner, Runner::Wine)
    }

    /// Whether it runs here as fast as anywhere.
    pub(super) fn is_native(&self) -> bool {
        matches!(self.runner, Runner::Directly)
    }

    pub(super) fn command(&self, program: &Path, scratch: &Path) -> Command {
        let mut command = match self.runner {
            Runner::Directly => Command::new(program),
            Runner::Emulated(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(program);
                command
            }
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

    /// The emulator that its programs need in an otherwise empty root.
    pub(super) fn emulator(&self) -> Option<PathBuf> {
        match self.runner {
            Runner::Emulated(emulator) => process::find(emulator),
            Runner::Directly | Runner::Wine => None,
        }
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
