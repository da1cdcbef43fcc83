//! `--server-pid`, `--server-metrics`, `--samba-conf`, `--ganesha-bus`: the flags.

use plimsoll_client::target::Target;
use plimsoll_experiment::server_side::{ServerMetrics, ServerSideWatch, is_here};
use plimsoll_experiment::{ResolvedTarget, server_counters::CounterSource};

use plimsoll_console::secrecy;

/// Where the server's own numbers and counters come from, as flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerSideFlags {
    /// Show the CPU and disk use of the server process PID on this machine, and of its children, for each load level
    #[arg(long, value_name = "PID", conflicts_with = "server_metrics")]
    server_pid: Option<u32>,
    /// Show CPU, disk and network use of the server, read from its Prometheus node_exporter or windows_exporter, e.g.
    /// http://server:9100/metrics
    #[arg(long, value_name = "URL")]
    server_metrics: Option<String>,
    /// Report the counters of a Samba server on this machine, given its smb.conf; smb.conf must set `smbd profiling
    /// level` to `on` or `count`. Reading the counters takes 1 to 6 s before and after each level
    #[arg(long, value_name = "FILE")]
    pub(crate) samba_conf: Option<std::path::PathBuf>,
    /// Report the counters of an NFS-Ganesha server, given its D-Bus: `system`, or an address such as
    /// unix:path=/run/bus. Ganesha's NFS_CORE_PARAM block must enable Enable_NFS_Stats and Enable_FULLV3_Stats
    #[arg(long, value_name = "BUS", conflicts_with = "samba_conf")]
    ganesha_bus: Option<String>,
}

impl ServerSideFlags {
    /// Where they come from, if they are wanted.
    pub(crate) fn metrics(&self) -> Option<ServerMetrics> {
        let of = |url: &String| ServerMetrics::Exporter { url: url.clone(), shown: secrecy::in_word(url).into_owned() };
        self.server_pid.map(ServerMetrics::Process).or(self.server_metrics.as_ref().map(of))
    }

    /// Like [`Self::watch`], for a workload that states where its data come from. Without flags for the server's counters, and if the server
    /// is on this machine, it watches the disks of this machine.
    ///
    /// # Errors
    /// There is nothing to look at.
    pub(crate) fn watch_disks(&self, target: &Target) -> anyhow::Result<Option<ServerSideWatch>> {
        if self.metrics().is_some() || !is_here(target) {
            return self.watch();
        }
        // Then the report says that nothing was checked.
        Ok(ServerSideWatch::start(&ServerMetrics::Disks).ok())
    }

    /// Begins to look, where that is wanted.
    ///
    /// # Errors
    /// There is nothing to look at.
    pub(crate) fn watch(&self) -> anyhow::Result<Option<ServerSideWatch>> {
        self.metrics().as_ref().map(ServerSideWatch::start).transpose()
    }

    /// The source of the counters, if requested.
    pub(crate) fn counters(&self, resolved: &ResolvedTarget) -> anyhow::Result<Option<CounterSource>> {
        CounterSource::chosen(self.samba_conf.as_deref(), self.ganesha_bus.as_deref(), resolved)
    }
}
