//! Flags of the load.

use std::time::Duration;

use plimsoll_experiment::{LevelList, LoadOptions};
use plimsoll_workload::{Arrivals, Pause};

/// Load, as flags; the workload supplies the rest.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadFlags {
    /// Number of simulated clients, each with its own connection and session [default: from the workload]. Without
    /// --rate, a client starts its next operation when the previous one ends
    #[arg(long, value_name = "COUNT")]
    pub(crate) clients: Option<u32>,
    /// Number of users; each starts one iteration per --every interval, even when the server falls behind
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["rate", "clients", "think"])]
    pub(crate) users: Option<u32>,
    /// Iterations to start per second, over all clients, e.g. 500; the rate does not drop when the server falls behind
    #[arg(long, value_name = "PER_SECOND", conflicts_with = "think")]
    pub(crate) rate: Option<f64>,
    /// Queue depth: maximum number of outstanding operations per client, over all its connections [default: from the workload]
    #[arg(long, value_name = "COUNT")]
    pub(crate) depth: Option<u32>,
    /// Load levels to run in order: clients (with --users: users; with --rate: iterations/s), e.g. 1,2,4 or 1..15 or
    /// 1..64*2 (doubling) or 100..1000/100 (steps of 100). Levels of clients need no --clients
    #[arg(long, value_name = "LIST")]
    pub(crate) levels: Option<LevelList>,
    /// Length of each measured phase, e.g. 30s [default: from the workload]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Unmeasured load before each measured phase, e.g. 5s [default: from the workload]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) warmup: Option<Duration>,
    /// Think time of a client between iterations: 10ms, exponential:10ms (mean 10 ms) or 5ms..20ms (uniform)
    #[arg(long, value_name = "TIME")]
    pub(crate) think: Option<Pause>,
    /// Mean time between the starts of one user's iterations, e.g. 11s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) every: Option<Duration>,
    /// Spacing of intended starts: constant or poisson [default: from a workload with a schedule, otherwise constant]
    #[arg(long, value_name = "HOW")]
    pub(crate) arrivals: Option<Arrivals>,
    /// TCP connections per client, like the mount option nconnect. --depth is the total over a client's connections, and must be
    /// at least COUNT
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) connections: u32,
    /// TCP connections per SMB session (multichannel): each request goes to the connection with the fewest credits in
    /// use. SMB 3 only, 1 to 64; the server must offer multichannel
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) channels: u32,
    /// Number of clients that share one connection and session
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) clients_per_connection: u32,
    /// Number of load threads; 0 means one per core (with file:// targets: one per client)
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub(crate) threads: u32,
    /// Keep the CPUs out of idle states, for a lower wake-up latency: one thread per CPU spins with scheduling policy
    /// SCHED_IDLE. If --server-metrics reads this host, these threads count as CPU use
    #[arg(long)]
    pub(crate) no_cpu_idle: bool,
    /// Timeout for a request, and for connecting and logging on, e.g. 10s; the report counts timeouts
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Name of the set of files that the workload uses on the share; concurrent runs need different names
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) file_set: Option<String>,
    /// Seed of the random number generator
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl LoadFlags {
    /// What they ask for.
    pub(crate) fn options(&self) -> LoadOptions {
        LoadOptions {
            clients: self.clients,
            users: self.users,
            rate: self.rate,
            depth: self.depth,
            levels: self.levels.clone(),
            duration: self.duration,
            warmup: self.warmup,
            think: self.think,
            every: self.every,
            arrivals: self.arrivals,
            connections: self.connections,
            channels: self.channels,
            clients_per_connection: self.clients_per_connection,
            threads: self.threads,
            no_cpu_idle: self.no_cpu_idle,
            timeout: self.timeout,
            seed: self.seed,
        }
    }
}

/// Maximum length of the name of a file set, characters.
const LONGEST_NAME: usize = 40;

fn parse_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected 1 to {LONGEST_NAME} letters, digits, '-' or '_'")),
    }
}
