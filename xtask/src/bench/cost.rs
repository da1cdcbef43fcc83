//! The client's cost of an operation: a separate program (`benches/cost`), to keep other client libraries out of Plimsoll's dependencies.

use crate::{Outcome, process, setup, workspace};

/// Why it cannot be measured here, if it cannot.
pub(crate) fn missing() -> Option<String> {
    let absent: Vec<&str> = NEEDED.iter().filter(|(name, _)| process::find(name).is_none()).map(|row| row.1).collect();
    match absent.as_slice() {
        [] if setup::is_root() => None,
        [] => Some("needs root, to start smbd and NFS-Ganesha".to_owned()),
        absent => Some(format!("needs {} (`cargo xtask setup`)", absent.join(", "))),
    }
}

/// Programs that it starts, and their Debian packages.
const NEEDED: [(&str, &str); 4] = [
    ("smbd", "samba"),
    ("smbclient", "smbclient"),
    ("ganesha.nfsd", "nfs-ganesha nfs-ganesha-vfs"),
    ("nfs-cat", "libnfs-utils"),
];

/// The client compared with other clients, with all operations or only these. With Kerberos it is another build, and all operations
/// include those with krb5p.
pub(crate) fn run(rounds: usize, only: &[String], kerberos: bool) -> Outcome {
    let features: &[&str] = if kerberos { &["--features", "kerberos"] } else { &[] };
    let rounds = rounds.to_string();
    let only = only.iter().flat_map(|operation| ["--only", operation]);
    start(features, &["--rounds", &rounds].into_iter().chain(only).collect::<Vec<_>>())
}

/// What signing, encryption, TLS and Kerberos cost: docs/protection-cost.md.
pub(crate) fn protection(rounds: usize) -> Outcome {
    start(&["--features", "kerberos"], &["--protection", "--rounds", &rounds.to_string()])
}

/// Builds the program for release, in a separate folder, and runs it.
fn start(features: &[&str], arguments: &[&str]) -> Outcome {
    let (source, target) = (workspace::root().join("benches/cost"), workspace::root().join("target/cost"));
    let mut build = process::cargo(&["build", "--release", "--manifest-path"]);
    build.arg(source.join("Cargo.toml")).arg("--target-dir").arg(&target).args(features);
    process::run(&mut build)?;
    process::run(std::process::Command::new(target.join("release/plimsoll-cost")).args(arguments))
}
