//! `cargo xtask setup`: optional programs for tests, benches and the demonstration.
//!
//! As root on Debian missing ones are installed; elsewhere they are named, with the tests that will be skipped without them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, process, workspace};

/// A Debian package, a program that shows whether it is installed, and the tests that are skipped without it.
struct Package {
    name: &'static str,
    program: &'static str,
    used_for: &'static str,
}

const fn package(name: &'static str, program: &'static str, used_for: &'static str) -> Package {
    Package { name, program, used_for }
}

impl Package {
    fn is_here(&self) -> bool {
        // Debian's Python has no virtual environments by default, and no separate program shows whether it does.
        let makes_environments = || process::output(Command::new("python3").args(["-c", "import ensurepip"])).is_ok();
        process::find(self.program).is_some() && (self.name != "python3-venv" || makes_environments())
    }
}

const PACKAGES: [Package; 27] = [
    package("tshark", "tshark", "comparing pairs and speed with Wireshark's"),
    package("tcpdump", "tcpdump", "recording captures"),
    package("iproute2", "ip", "network interfaces of a test's own"),
    package("samba", "smbd", "driving a real SMB server, and captures of it"),
    package("samba-testsuite", "smbtorture", "the NetBench load"),
    package("smbclient", "smbclient", "a real SMB client"),
    package("linux-perf", "perf", "profiles of servers"),
    package("krb5-kdc", "krb5kdc", "Kerberos logons (cargo xtask kerberos)"),
    package("krb5-admin-server", "kadmin.local", "Kerberos logons (cargo xtask kerberos)"),
    package("nfs-ganesha", "ganesha.nfsd", "driving a real NFS server"),
    package("dbus", "dbus-daemon", "what NFS-Ganesha has counted"),
    package("rpcbind", "rpcbind", "the port mapper that NFS-Ganesha registers with"),
    package("libnfs-utils", "nfs-cp", "a real NFS client"),
    package("nfstrace", "nfstrace", "comparing speed with nfstrace's"),
    package("zsh", "zsh", "reading the completions for zsh"),
    package("fish", "fish", "reading the completions for fish"),
    package("groff-base", "groff", "reading the manual pages"),
    package("less", "less", "leaving a pager early"),
    package("dbench", "dbench", "the dbench load"),
    package("chromium", "chromium", "trying the HTML report in a browser"),
    package("pngquant", "pngquant", "small files of pictures (cargo xtask pictures)"),
    package("zstd", "zstd", "making compressed captures"),
    package("prometheus", "prometheus", "collecting the metrics of a watch"),
    package("tmux", "tmux", "the screen of a watch in a terminal"),
    package("time", "time", "measuring peak memory"),
    package("python3-venv", "python3", "reading our tables from Python"),
    package("mmdebstrap", "mmdebstrap", "trying the README on a bare Debian (cargo xtask newcomer)"),
];

/// Parts of the programs above that Debian packages separately: the file systems that NFS-Ganesha can export, and the build dependencies
/// of a program with libnfs (`cargo xtask bench --cost`).
const COMPANIONS: [(&str, &[&str]); 2] =
    [("nfs-ganesha", &["nfs-ganesha-vfs", "nfs-ganesha-mem"]), ("libnfs-utils", &["libnfs-dev"])];

/// Python modules with which a test reads our tables.
const PYTHON_MODULES: [&str; 5] = ["datafusion", "duckdb", "pandas", "prometheus_client", "pyarrow"];

/// Installs missing programs if it may. Never fails: programs that stay missing are named.
pub(crate) fn run() -> Outcome {
    let missing: Vec<&Package> = PACKAGES.iter().filter(|package| !package.is_here()).collect();
    if !missing.is_empty() && process::find("apt-get").is_some() && is_root() {
        install(&missing);
    }
    let missing: Vec<&Package> = missing.into_iter().filter(|package| !package.is_here()).collect();
    for package in &missing {
        println!("setup: {} is missing; skipped without it: {}", package.program, package.used_for);
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
        println!("setup: on Debian: apt-get install {}", names.join(" "));
    }
    if let Err(error) = make_python() {
        println!(
            "setup: no Python with {}; skipped without it: reading our tables from Python",
            PYTHON_MODULES.join(", ")
        );
        println!("setup: {}", error.lines().last().unwrap_or_default());
    }
    Ok(())
}

fn with_companions(name: &'static str) -> Vec<&'static str> {
    let companions = COMPANIONS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, companions)| companions);
    [&[name], companions].concat()
}

/// An interpreter that has the modules, once made by [`run`].
pub(crate) fn python() -> Option<PathBuf> {
    let complete = fs::read_to_string(python_folder().join("complete"));
    complete.is_ok_and(|modules| modules == PYTHON_MODULES.join(" ")).then(|| python_folder().join("bin/python"))
}

fn install(missing: &[&Package]) {
    let names: Vec<&str> = missing.iter().flat_map(|package| with_companions(package.name)).collect();
    if let Err(error) = process::run(apt_get(&["update", "-qq"]).stdout(Stdio::null())) {
        println!("setup: {error}");
    }
    if apt_install(&names).is_ok() {
        return;
    }
    // A package that this release does not have must not prevent the others.
    for name in names {
        if let Err(error) = apt_install(&[name]) {
            println!("setup: {error}");
        }
    }
}

fn apt_install(names: &[&str]) -> Outcome {
    process::run(apt_get(&["install", "-qq", "--yes", "--no-install-recommends"]).args(names).stdout(Stdio::null()))
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    // Another apt may be at work on a fresh machine.
    command.args(["-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2"]).args(arguments);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

/// Whether we may install packages and start servers.
pub(crate) fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn python_folder() -> PathBuf {
    workspace::target().join("python")
}

/// A virtual environment of our own: nothing is installed into the system's Python.
fn make_python() -> Outcome {
    if python().is_some() {
        return Ok(());
    }
    let folder = python_folder();
    process::output(Command::new("python3").args(["-m", "venv"]).arg(&folder).stdin(Stdio::null()))?;
    println!("setup: installing {} into {}", PYTHON_MODULES.join(", "), shown(&folder));
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]);
    process::output(pip.args(PYTHON_MODULES).stdin(Stdio::null()))?;
    fs::write(folder.join("complete"), PYTHON_MODULES.join(" ")).map_err(|error| error.to_string())
}

fn shown(folder: &Path) -> String {
    folder.strip_prefix(workspace::root()).unwrap_or(folder).display().to_string()
}
