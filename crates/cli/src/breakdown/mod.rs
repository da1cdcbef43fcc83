//! `plimsoll breakdown`: where the time of a call goes.

mod captured;

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_experiment::breakdown::{BreakdownSpec, CallSpec, CounterSource, measure};

use crate::exit::{Done, first_error};
use crate::output::Output;
use crate::output_file::Files;
use crate::run::{AuthFlags, TARGETS, TargetFlags, Terminal, WishFlags};
use crate::server_side::ServerSideFlags;

const EXAMPLES: &str = "Examples:
  plimsoll breakdown smb://user@server/share
  plimsoll breakdown nfs://server/export --server-metrics http://server:9100/metrics
  plimsoll breakdown file:///mnt/share --capture mount.pcap";

/// Makes the same call again and again, on a server and in a local directory, and says where its time goes: client,
/// network, server, disk; what of that was measured, and what follows from it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[arg(value_name = "TARGET", help = TARGETS)]
    target: String,
    /// The password's file (else the environment's PLIMSOLL_PASSWORD, else the target's own)
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    connect_options: WishFlags,
    #[command(flatten)]
    server_side: ServerSideFlags,
    /// Show what Samba counted, too: its smb.conf, with `smbd profiling level = on` (or count) in it
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    samba_conf: Option<PathBuf>,
    /// The same of Ganesha: its D-Bus, `system` or an address (unix:path=/run/bus), with Enable_NFS_Stats and
    /// Enable_FULLV3_Stats in its NFS_CORE_PARAM
    #[arg(long, value_name = "BUS", help_heading = "Server", conflicts_with = "samba_conf")]
    ganesha_bus: Option<String>,
    /// Of a mounted directory: a capture of its client's connection that is being written meanwhile (tcpdump -U -w FILE), to
    /// count the requests that a call takes
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    capture: Option<PathBuf>,
    #[command(flatten)]
    calls: CallFlags,
    /// Delete the workload's files at the end, also after Ctrl-C (default: keep them for the next run)
    #[arg(long, help_heading = "Output")]
    remove_files: bool,
    #[command(flatten)]
    output: Output,
}

/// How calls are made, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Calls")]
struct CallFlags {
    /// Calls of each kind that are measured, at least
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    /// Length of each measured phase; a phase with fewer than --calls calls is repeated with a longer one
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "2s")]
    duration: Duration,
    /// Load before each measured phase that is not measured
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "1s")]
    warmup: Duration,
    /// Bytes per read
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    block: String,
    /// Bytes of the files that are read; files that fit the server's memory are read from its cache
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    size: String,
    /// Blocks outstanding while a file is read ahead (on mounted directories the kernel decides that)
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=64))]
    ahead: u32,
    /// Directory for the same calls without a server: file:///path [default: a temporary one]
    #[arg(long, value_name = "URL")]
    local: Option<String>,
    /// Shell command that empties the server's cache; run before each phase that reads
    #[arg(long, value_name = "COMMAND")]
    empty_caches: Option<String>,
    /// Timeout for a request; timeouts are counted
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    timeout: Duration,
    /// Seed of all random choices
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
    let inputs = arguments.capture.iter().chain(&arguments.samba_conf).chain(&arguments.password_file);
    let output = arguments.output.open(&mut Files::reading(inputs.map(PathBuf::as_path)))?;
    let calls = arguments.calls.spec();
    calls.check()?;
    let Arguments { target, password_file, auth, connect_options, .. } = &arguments;
    let flags = TargetFlags::new(target.clone(), password_file.clone(), auth.clone(), connect_options.clone());
    let spec = BreakdownSpec {
        target: flags.choose()?,
        connect_options: flags.connect_options(calls.seed ^ u64::from(std::process::id()) << 32),
        local: arguments.calls.local.clone(),
        calls,
        server_metrics: arguments.server_side.metrics(),
        counters: match (&arguments.samba_conf, &arguments.ganesha_bus) {
            (Some(configuration), _) => Some(CounterSource::Samba(configuration.clone())),
            (None, Some(bus)) => Some(CounterSource::Ganesha(bus.clone())),
            (None, None) => None,
        },
        remove_files: arguments.remove_files,
    };
    let terminal = Terminal::new(arguments.output.quiet);
    let (findings, besides) = match &arguments.capture {
        Some(capture) => measure(&spec, &terminal, Some(&|spans| captured::read(capture, spans)))?,
        None => measure(&spec, &terminal, None)?,
    };
    let done = Done::with(&findings.validity, output.prints());
    first_error([output.write(&findings.into()), besides])?;
    Ok(done)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
