//! Who may look over HTTP, as flags.

use super::browser::Browser;
use super::http;
use super::metrics::Metrics;
use crate::exit::Usage;
use crate::shell;

/// Who may look over HTTP, as flags.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PublishFlags {
    /// Serve sums by server, share, operation and client as OpenMetrics text at http://HOST:PORT/metrics, e.g. for
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

impl PublishFlags {
    /// Shows `input` in browsers, if that is wanted.
    pub(crate) fn browser(&self, input: &str) -> anyhow::Result<Option<Browser>> {
        if self.allow_remote && self.metrics.is_none() && !self.browser {
            return Err(Usage("--allow-remote applies to --metrics or --browser only".to_owned()).into());
        }
        if !self.browser {
            return Ok(None);
        }
        let listener = http::listen("--listen", &self.listen, self.allow_remote)?;
        let address = listener.local_addr()?;
        let (browser, path) = Browser::start(listener, self.allow_remote, input)?;
        // Without the address nobody could open the page, with --quiet either.
        shell::note(&format!("plimsoll: open http://{address}{path} in a browser"));
        Ok(Some(browser))
    }

    /// Serves metrics, if they are wanted.
    pub(crate) fn metrics(&self, input: &str, quiet: bool) -> anyhow::Result<Option<Metrics>> {
        let Some(address) = &self.metrics else { return Ok(None) };
        let listener = http::listen("--metrics", address, self.allow_remote)?;
        if !quiet {
            shell::note(&format!("plimsoll: metrics at http://{}/metrics", listener.local_addr()?));
        }
        Ok(Some(Metrics::start(listener, self.allow_remote, input.to_owned())))
    }
}
