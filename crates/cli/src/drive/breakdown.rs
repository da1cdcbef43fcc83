//! `plimsoll breakdown`: where the time of a call goes.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_analysis::read_capture;
use plimsoll_experiment::breakdown::{BreakdownSpec, CallSpec, measure};

use crate::drive::run::{AuthFlags, PASSWORD_FILE, TARGETS, TargetFlags, WishFlags};
use crate::drive::server_side::ServerSideFlags;
use crate::exit::{Done, first_error};
use crate::flags::about::AboutFlags;
use crate::flags::output::Output;
use plimsoll_console::output_file::Files;
use plimsoll_live::RunMonitor;
use plimsoll_workload::nanoseconds;

const EXAMPLES: &str = "Examples:
  plimsoll breakdown smb://user@server/share
  plimsoll breakdown nfs://nas/export --server-metrics http://nas:9100/metrics
  plimsoll breakdown file:///mnt/share --capture mount.pcap";

/// Makes the same calls (such as getattr and read) on a server and in a local directory, and shows how much of a call's
/// time the client, the network, the server and the disk take. The report marks each part as measured or inferred.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[arg(value_name = "TARGET", help = TARGETS)]
    target: String,
    #[arg(long, value_name = "FILE", help_heading = "Server", help = PASSWORD_FILE)]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    connect_options: WishFlags,
    #[command(flatten)]
    server_side: ServerSideFlags,
    /// For file:// targets: capture file in which Plimsoll counts the NFS or SMB requests per system call. tcpdump must write this file
    /// during the run (tcpdump -U -w FILE), with all packets of the mount's connection
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    capture: Option<PathBuf>,
    /// Show which functions of client and server take CPU time: perf takes samples of this process and of the process of
    /// --server-pid. Sampling slows the calls. perf writes copies of stacks, which may contain secrets, to a temporary folder
    #[arg(long, help_heading = "Server")]
    profile: bool,
    #[command(flatten)]
    calls: CallFlags,
    /// Delete the workload's files at the end, also after Ctrl-C [default: leave them for the next run]
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    #[command(flatten)]
    about: AboutFlags,
    #[command(flatten)]
    output: Output,
}

/// How calls are made, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Calls")]
struct CallFlags {
    /// Minimum number of calls in each measured phase
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    /// Length of each measured phase, e.g. 5s. A phase with fewer than --calls calls is repeated with a longer duration
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "2s")]
    duration: Duration,
    /// Unmeasured load before each measured phase, e.g. 5s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "1s")]
    warmup: Duration,
    /// Size of each read, e.g. 64KiB
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    block: String,
    /// Total size of the files in each read phase, e.g. 4GiB. Files that fit into the server's memory are read from the
    /// server's cache
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    size: String,
    /// Number of outstanding reads in the read-ahead phase; with file:// targets, the kernel decides
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=64))]
    ahead: u32,
    /// Local directory in which Plimsoll makes the same calls, for comparison, e.g. file:///var/tmp/x [default: a temporary directory]
    #[arg(long, value_name = "URL")]
    local: Option<String>,
    /// Shell command that empties the server's cache; runs before each read phase
    #[arg(long, value_name = "COMMAND")]
    empty_caches: Option<String>,
    /// Timeout for a request, e.g. 10s; the report counts timeouts
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    timeout: Duration,
    /// Seed of the random number generator
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

impl CallFlags {
    fn spec(&self) -> CallSpec {
        CallSpec {
            calls: self.calls,
            measured_ns: nanoseconds(self.duration),
            warmup_ns: nanoseconds(self.warmup),
            block: self.block.clone(),
            size: self.size.clone(),
            ahead: self.ahead,
            empty_caches: self.empty_caches.clone(),
            timeout_ns: nanoseconds(self.timeout),
            seed: self.seed,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let inputs = arguments.capture.iter().chain(&arguments.server_side.samba_conf).chain(&arguments.password_file);
    let inputs = inputs.map(PathBuf::as_path).chain(arguments.auth.accounts()).chain(arguments.about.files());
    let output = arguments.output.open(&mut Files::reading(inputs))?;
    let calls = arguments.calls.spec();
    calls.check()?;
    let Arguments { target, password_file, auth, connect_options, .. } = &arguments;
    let flags = TargetFlags::new(target.clone(), password_file.clone(), auth.clone(), connect_options.clone());
    let target = flags.choose(arguments.calls.timeout)?;
    let spec = BreakdownSpec {
        counters: arguments.server_side.counters(&target)?,
        target,
        connect_options: flags.connect_options(),
        local: arguments.calls.local.clone(),
        calls,
        server_metrics: arguments.server_side.metrics(),
        profile: arguments.profile,
        remove_files: arguments.remove_files,
        about: arguments.about.read()?,
    };
    let terminal = RunMonitor::new(arguments.output.quiet);
    let (findings, besides) = match &arguments.capture {
        Some(capture) => measure(&spec, &terminal, Some(&|spans| read_capture(capture, spans)))?,
        None => measure(&spec, &terminal, None)?,
    };
    let done = Done::with(&findings.validity, output.prints());
    first_error([output.write(&findings.into()), besides])?;
    Ok(done)
}
