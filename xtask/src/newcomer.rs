//! `cargo xtask newcomer`: runs the README's commands literally, on a Debian with only the packages that the README requires.
//!
//! mmdebstrap creates the root: the minimal variant with a C compiler, git and certificates. Rust, `../shared` and a fresh clone of the
//! last commit are added by mounts and a private clone, in a mount namespace that ends with its last process.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process, setup, workspace};

/// Packages that the README requires besides Rust.
const PACKAGES: &str = "gcc,libc6-dev,git,ca-certificates";
/// The sections of the README that hold a newcomer's commands; the first block of each is run.
const SECTIONS: [&str; 2] = ["## Try it", "## Tests"];
/// Settings of this machine without which its network cannot be used; they name no tool that a newcomer would lack.
const NETWORK_FILES: [&str; 3] = ["etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"];
/// Where the port mapper takes registrations.
const RPCBIND: &str = "/run/rpcbind.sock";
const APT_FILES: [&str; 2] = ["etc/apt/sources.list.d/debian.sources", "etc/apt/sources.list"];

/// Runs the README's commands, or those given, each a line for the shell.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    for program in ["mmdebstrap", "unshare", "chroot"] {
        if process::find(program).is_none() {
            println!("SKIPPED: needs {program}");
            return Ok(());
        }
    }
    if !setup::is_root() {
        println!("SKIPPED: needs root, to mount and to change the root");
        return Ok(());
    }
    let commands = if arguments.is_empty() { readme_commands()? } else { arguments.to_vec() };
    let root = make_root()?;
    clone(&root)?;
    // Each command is tried, as a newcomer would; one that failed is named at the end.
    let failed: Vec<&str> =
        commands.iter().filter(|command| inside(&root, command).is_err()).map(String::as_str).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed on a bare Debian: {}", failed.join("; "))) }
}

/// The first block of shell commands of each section that a newcomer reads.
fn readme_commands() -> Result<Vec<String>, String> {
    let readme =
        fs::read_to_string(workspace::root().join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let mut commands = Vec::new();
    for section in SECTIONS {
        let found = first_block(&readme, section);
        commands.extend(found.ok_or(format!("README.md: no commands under {section:?}"))?);
    }
    Ok(commands)
}

fn first_block(text: &str, section: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().skip_while(|line| *line != section).skip_while(|line| *line != "```sh");
    lines.next()?;
    Some(lines.take_while(|line| *line != "```").map(str::to_owned).collect())
}

/// A fresh root.
fn make_root() -> Result<PathBuf, String> {
    let root = workspace::target().join("newcomer");
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    }
    let release = fs::read_to_string("/etc/os-release").map_err(|error| format!("/etc/os-release: {error}"))?;
    let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).ok_or("no Debian here")?;
    let mut make = Command::new("mmdebstrap");
    make.args(["--quiet", "--variant=minbase", "--include", PACKAGES, suite]).arg(&root);
    // The package sources that this machine uses.
    make.args(APT_FILES.iter().map(|file| Path::new("/").join(file)).filter(|file| file.is_file()));
    process::run(&mut make)?;
    for file in NETWORK_FILES {
        let (from, to) = (Path::new("/").join(file), root.join(file));
        fs::copy(&from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(root)
}

/// The last commit, as a newcomer clones it.
fn clone(root: &Path) -> Outcome {
    let project = root.join("srv/plimsoll");
    let mut clone = Command::new("git");
    process::run(clone.args(["clone", "--quiet", "--no-hardlinks"]).arg(workspace::root()).arg(project))
}

/// Runs a command in the root, in the clone.
fn inside(root: &Path, command: &str) -> Outcome {
    println!("\n== {command}");
    let rust = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let shared = workspace::root().join("../shared");
    let mut script = vec!["set -e".to_owned(), "mount --make-rprivate /".to_owned()];
    // Ganesha looks for an export's file system in the list of mounts, which has no entry for a mere folder.
    script.push("mount --bind \"$ROOT\" \"$ROOT\"".to_owned());
    let mut mount = |from: &str, to: &str| {
        script.push(format!("mkdir -p \"$ROOT/{to}\" && mount --rbind {from} \"$ROOT/{to}\""));
    };
    mount("/dev", "dev");
    mount("/sys", "sys");
    mount("\"$RUST\"", "opt/rust");
    if shared.is_dir() {
        mount("\"$SHARED\"", "srv/shared");
    }
    if has_port_mapper() {
        // The network is this machine's, and so is the port mapper of any Ganesha in the root: it takes programs from its socket alone.
        script.push(format!("touch \"$ROOT{RPCBIND}\" && mount --bind {RPCBIND} \"$ROOT{RPCBIND}\""));
    }
    script.push("mount -t proc proc \"$ROOT/proc\"".to_owned());
    let path = "/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let home = "HOME=/root LANG=C.UTF-8 CI=true CARGO_TERM_COLOR=never PIP_CERT=/etc/ssl/certs/ca-certificates.crt";
    script.push(format!(
        "exec chroot \"$ROOT\" /usr/bin/env -i {home} PATH={path} sh -c 'cd /srv/plimsoll && eval \"$1\"' sh \"$COMMAND\""
    ));
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]).arg(script.join("\n"));
    unshare.env("ROOT", root).env("RUST", rust.trim()).env("SHARED", shared).env("COMMAND", command);
    match unshare.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            println!("{command}: {status}");
            Err(status.to_string())
        }
        Err(error) => Err(format!("unshare: {error}")),
    }
}

/// Whether a port mapper runs on this machine.
fn has_port_mapper() -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, 111)).is_ok() && Path::new(RPCBIND).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_commands_for_a_newcomer() {
        let commands = readme_commands().unwrap();
        assert_eq!(commands.len(), SECTIONS.len(), "{commands:?}");
        assert!(commands[0].starts_with("cargo plimsoll analyze captures/"), "{commands:?}");
        assert_eq!(commands[1], "cargo xtask check");
    }

    #[test]
    fn a_block_ends_where_it_ends() {
        let text = "## A\n```sh\none\ntwo\n```\n## B\nnothing\n";
        assert_eq!(first_block(text, "## A").unwrap(), ["one", "two"]);
        assert_eq!(first_block(text, "## B"), None);
    }
}
