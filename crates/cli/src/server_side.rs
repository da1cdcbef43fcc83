//! `--server-pid`, `--server-metrics`: the flags.

use plimsoll_experiment::server_side::{ServerMetrics, ServerSideWatch};

use crate::secrecy;

/// Where the server's own numbers come from, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerSideFlags {
    /// Show the server's processor and disk at each level: the process with this number on this machine, and its children
    #[arg(long, value_name = "PID", conflicts_with = "server_metrics")]
    server_pid: Option<u32>,
    /// The same, and its network, from the server's Prometheus node_exporter or windows_exporter (http://server:9100/metrics)
    #[arg(long, value_name = "URL")]
    server_metrics: Option<String>,
}

impl ServerSideFlags {
    /// Where they come from, if they are wanted.
    pub(crate) fn metrics(&self) -> Option<ServerMetrics> {
        let exporter = self
            .server_metrics
            .as_ref()
            .map(|url| ServerMetrics::Exporter { url: url.clone(), shown: secrecy::in_word(url).into_owned() });
        self.server_pid.map(ServerMetrics::Process).or(exporter)
    }

    /// Begins to look, where that is wanted.
    ///
    /// # Errors
    /// There is nothing to look at.
    pub(crate) fn watch(&self) -> anyhow::Result<Option<ServerSideWatch>> {
        self.metrics().as_ref().map(ServerSideWatch::start).transpose()
    }
}
