//! `cargo xtask record WHAT`: records captures of real servers and clients.
//!
//! As root on Linux everything runs in private namespaces: a server and several clients with separate addresses, on a bridge with packets
//! of 1,500 bytes, and no process outlives the command. Elsewhere it uses the loopback interface and high ports.

mod capture;
mod folder;
mod load;
mod netbench;
mod network;
mod nfs;
pub(crate) mod replicate;
pub(crate) mod running;
mod samba;
mod smb2;

use std::path::PathBuf;

use crate::Outcome;

/// What is recorded.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum What {
    /// Record NetBench (smbtorture's bench.nbench, SMB1) on Samba
    Netbench(netbench::Arguments),
    /// Record a few operations of many kinds with SMB 2.1 and 3.1.1 on Samba: files, compounds, breaks, notifies, locks,
    /// cancels
    Smb2 {
        /// Capture to write
        output: PathBuf,
    },
    /// Record a large number of SMB 3.1.1 operations of several clients on Samba
    Smb2Ops(smb2::Arguments),
    /// Record a few operations of many kinds with NFSv3 and NFSv4 on NFS-Ganesha; needs root
    Nfs {
        /// Capture to write
        output: PathBuf,
    },
    /// Record two clients that write large files with NFSv3 on NFS-Ganesha; needs root
    NfsWrites {
        /// Capture to write
        output: PathBuf,
    },
    /// Write copies of a capture one after the other, each with different client ports
    Replicate {
        /// Capture to read
        input: PathBuf,
        /// Capture to write
        output: PathBuf,
        /// Number of copies
        #[arg(long, default_value_t = 10)]
        copies: u64,
        /// Interleave the packets of all copies instead of writing one copy after the other
        #[arg(long)]
        interleave: bool,
    },
}

/// Records what is asked for.
pub(crate) fn run(what: What) -> Outcome {
    match what {
        What::Netbench(arguments) => inside(|| netbench::run(&arguments)),
        What::Smb2 { output } => inside(|| smb2::tour(&output)),
        What::Smb2Ops(arguments) => inside(|| smb2::operations(&arguments)),
        What::Nfs { output } => inside(|| nfs::run(&output)),
        What::NfsWrites { output } => inside(|| nfs::writes(&output)),
        What::Replicate { input, output, copies, interleave } => replicate::write(&input, &output, copies, interleave),
    }
}

/// Runs in private namespaces if possible, otherwise here.
fn inside(record: impl FnOnce() -> Outcome) -> Outcome {
    network::enter().unwrap_or_else(record)
}
