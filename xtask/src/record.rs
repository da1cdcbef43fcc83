//! `cargo xtask record WHAT`: captures of real servers and clients, recorded here.
//!
//! As root on Linux everything runs in namespaces of its own: a server and several clients with addresses of their own,
//! on a bridge with packets of 1,500 bytes, and nothing that was started outlives the command. Elsewhere it is the
//! loopback interface and high ports.

mod arguments;
mod capture;
mod folder;
mod load;
mod netbench;
mod network;
mod nfs;
mod replicate;
mod running;
mod samba;
mod smb2;

use crate::Outcome;

const USAGE: &str = "\
cargo xtask record WHAT [OPTION]... OUT.pcap

  netbench  [--clients 4] [--seconds 10] [--lines 0] [--rate 0] [--load FILE]
            NetBench (smbtorture's bench.nbench, SMB1) on Samba; --lines N: only the first lines of the load file,
            without what fills the disk (a client that is done begins again);
            --rate N: MB/s that a client aims at, 0 for as many as can be
  smb2      a tour of SMB 2.1 and 3.1.1 on Samba: files, compounds, breaks, notifies, locks, cancels
  smb2-ops  [--clients 4] [--seconds 10] [--files 500]
            very many SMB2 operations of several clients on Samba
  nfs       a tour of NFSv3 and NFSv4 on Ganesha (root only)
  replicate IN.pcap OUT.pcap [--copies 10] [--interleave]
            the same traffic again and again, each copy from client ports of its own, one after the other
";

/// Records what the first argument names.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let Some((what, rest)) = arguments.split_first() else {
        return Err(format!("what?\n\n{USAGE}"));
    };
    match what.as_str() {
        "netbench" => inside(arguments, || netbench::run(rest)),
        "smb2" => inside(arguments, || smb2::tour(rest)),
        "smb2-ops" => inside(arguments, || smb2::operations(rest)),
        "nfs" => inside(arguments, || nfs::run(rest)),
        "replicate" => replicate::run(rest),
        _ => Err(format!("nothing to record is called {what:?}\n\n{USAGE}")),
    }
}

/// Runs in namespaces of its own where that can be had, otherwise here.
fn inside(arguments: &[String], record: impl FnOnce() -> Outcome) -> Outcome {
    match network::enter(arguments) {
        Some(outcome) => outcome,
        None => record(),
    }
}
