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
    /// As if a process had been named.
    pub(crate) fn of_process(pid: u32) -> Self {
        Self { server_pid: Some(pid), server_metrics: None }
    }

    /// Whether it is a process of this machine that is looked at.
    pub(crate) fn names_a_process(&self) -> bool {
        self.server_pid.is_some()
    }

    /// Whether anything is to be looked at.
    pub(crate) fn is_some(&self) -> bool {
        self.server_pid.is_some() || self.server_metrics.is_some()
    }

    /// Begins to look, where that is wanted.
    ///
    /// # Errors
    /// There is nothing to look at.
    pub(crate) fn watch(&self) -> anyhow::Result<Option<ServerSideWatch>> {
        let exporter = self
            .server_metrics
            .as_ref()
            .map(|url| ServerMetrics::Exporter { url: url.clone(), shown: secrecy::in_word(url).into_owned() });
        let metrics = self.server_pid.map(ServerMetrics::Process).or(exporter);
        metrics.map(|metrics| ServerSideWatch::start(&metrics)).transpose()
    }
}
