//! The flags of `watch`.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_observe::capture::MAX_PACKET_BYTES;

use crate::drive::parse_size;
use crate::exit::Usage;
use crate::flags::analysis::AnalysisFlags;
use crate::flags::live::PublishFlags;

const EXAMPLES: &str = "Examples:
  plimsoll watch eth0
  plimsoll watch eth0 --duration 10m --save packets --html report.html
  plimsoll watch lo --port 4450 --interval 10s
  ssh server tcpdump -i eth0 -U -w - port 2049 | plimsoll watch -

An interface needs CAP_NET_RAW. `plimsoll analyze packets` reads the saved packets.";

/// Captures a network interface, or reads a growing capture, and shows the response times of the file server live: on an
/// interactive screen in a terminal, otherwise in one line per interval. At the end (q, Ctrl-C, --duration) it prints the
/// report of `plimsoll analyze`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Network interface, e.g. eth0; or capture files, or a folder of them; or - for a capture from standard input. A name
    /// with a slash (./eth0) is always a file or folder
    #[arg(required = true, value_name = "INTERFACE|-|FILE")]
    pub(super) sources: Vec<PathBuf>,
    /// End after this time, e.g. 10m [default: at Ctrl-C; without the screen and --browser also at the end of the input]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(super) duration: Option<Duration>,
    /// Print one line per interval instead of the interactive view, even in a terminal
    #[arg(long)]
    pub(super) lines: bool,
    /// Time covered by each line, in whole seconds from 1s to 60s
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_seconds)]
    pub(super) interval: u64,
    #[command(flatten)]
    pub(super) publish: PublishFlags,
    #[command(flatten)]
    pub(super) capture: CaptureFlags,
    #[command(flatten)]
    pub(super) analysis: AnalysisFlags,
}

/// Flags for the capture of an interface.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Capture")]
pub(super) struct CaptureFlags {
    /// Capture in this network namespace: a name from 'ip netns list', or a path such as /proc/PID/ns/net; needs root
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) netns: Option<String>,
    /// Also capture this port of a file server (always captured: 445, 139, 2049, 111, and ports named by a portmapper during
    /// the watch); may be repeated
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Vec<u16>,
    /// Capture only packets that match this tcpdump expression, on any port, e.g. 'host 10.0.0.7'; needs tcpdump
    #[arg(long, value_name = "EXPRESSION", conflicts_with = "port")]
    pub(super) filter: Option<String>,
    /// Capture at most this many bytes of each packet, at least 96. A smaller number costs the watched machine less, but
    /// messages behind it are missing from the report [default: whole packets]
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = MAX_PACKET_BYTES,
        hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(i64::from(LEAST_SNAP)..=i64::from(MAX_PACKET_BYTES))
    )]
    pub(super) snap_length: u32,
    /// Size of the buffer for captured packets that Plimsoll has not analyzed yet
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = parse_size)]
    pub(super) buffer: u64,
    /// Save the captured packets as pcapng files in this folder, which must be empty or new
    #[arg(long, value_name = "DIR")]
    pub(super) save: Option<PathBuf>,
    /// Limit for the size of all saved files together; Plimsoll deletes the oldest files first
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = parse_size, requires = "save")]
    pub(super) save_size: u64,
    /// Delete a saved file when its last packet is older than this, e.g. 2h [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, requires = "save")]
    pub(super) save_time: Option<Duration>,
}

/// Headers of Ethernet, IP and TCP with options, and the first bytes of a message.
const LEAST_SNAP: u32 = 96;

fn parse_seconds(text: &str) -> Result<u64, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let whole = duration.subsec_nanos() == 0 && (1..=60).contains(&duration.as_secs());
    if whole { Ok(duration.as_secs()) } else { Err("expected whole seconds, from 1s to 60s".to_owned()) }
}

/// Refuses flags that apply only to interfaces.
pub(super) fn only_for_interfaces(flags: &CaptureFlags) -> Result<(), Usage> {
    let is_given = flags.netns.is_some() || flags.save.is_some() || !flags.port.is_empty() || flags.filter.is_some();
    if is_given || flags.snap_length != MAX_PACKET_BYTES {
        let why = "--netns, --save, --port, --filter and --snap-length apply only to a network interface; omit them \
            (to save the packets of a pipe: `| tee FILE | plimsoll watch -`)";
        return Err(Usage(why.to_owned()));
    }
    Ok(())
}
