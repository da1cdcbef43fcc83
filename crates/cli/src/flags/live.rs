//! Flags of the live output of a watch or a run.

use std::sync::Arc;

use plimsoll_experiment::server_side::ServerSideWatch;
use plimsoll_live::{Publish, RunMonitor, Wanted};

/// Who may look over HTTP, as flags.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PublishFlags {
    /// Serve metrics per server, share, operation and client in OpenMetrics format at http://HOST:PORT/metrics, e.g. for
    /// Prometheus
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// Show live numbers in a browser. Plimsoll prints the address of the page, which contains a secret token
    #[arg(long)]
    browser: bool,
    /// Address of the page of --browser; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0", requires = "browser")]
    listen: String,
    /// Allow --metrics and --listen addresses that other machines can reach. Names of files and clients are then sent
    /// unencrypted
    #[arg(long)]
    allow_remote: bool,
}

/// Whether a run is shown while it goes on, as flags.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Live view")]
pub(crate) struct WatchFlags {
    /// Show live numbers during the run: an interactive screen in a terminal, otherwise one line per second
    #[arg(long, conflicts_with = "quiet")]
    watch: bool,
    #[command(flatten)]
    publish: PublishFlags,
}

impl PublishFlags {
    /// The outputs that they request.
    pub(crate) fn wanted(&self) -> Publish {
        let Self { metrics, browser, listen, allow_remote } = self.clone();
        Publish { metrics, browser, listen, allow_remote }
    }
}

impl WatchFlags {
    /// Shows a run, `input` in words, as wanted. `prints`: a report goes to standard output.
    pub(crate) fn monitor(
        &self,
        input: &str,
        (quiet, prints): (bool, bool),
        server: Option<&Arc<ServerSideWatch>>,
    ) -> anyhow::Result<RunMonitor> {
        let wanted = Wanted { watch: self.watch, publish: &self.publish.wanted(), quiet, prints };
        RunMonitor::watching(&wanted, input, server)
    }
}
