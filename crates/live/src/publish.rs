//! Access to live numbers over HTTP.

use plimsoll_console::shell;
use plimsoll_results::Usage;

use super::browser::Browser;
use super::http;
use super::metrics::Metrics;

/// Flags for access over HTTP.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Serve sums as OpenMetrics text at this `HOST:PORT`.
    pub metrics: Option<String>,
    /// Show live numbers in a browser.
    pub browser: bool,
    /// `HOST:PORT` of its page.
    pub listen: String,
    /// Allow addresses that other machines can reach.
    pub allow_remote: bool,
}

impl Publish {
    /// Shows `input` in browsers if --browser is given.
    ///
    /// # Errors
    /// The address is not free, or not one of this machine.
    pub fn browser(&self, input: &str) -> anyhow::Result<Option<Browser>> {
        if self.allow_remote && self.metrics.is_none() && !self.browser {
            return Err(Usage("--allow-remote requires --metrics or --browser".to_owned()).into());
        }
        if !self.browser {
            return Ok(None);
        }
        let listener = http::listen("--listen", &self.listen, self.allow_remote)?;
        let address = listener.local_addr()?;
        let (browser, path) = Browser::start(listener, self.allow_remote, input)?;
        // Printed even with --quiet, because the page cannot be opened without the address.
        shell::note(&format!("plimsoll: open http://{address}{path} in a browser"));
        Ok(Some(browser))
    }

    /// Serves metrics if --metrics is given.
    ///
    /// # Errors
    /// The address is not free, or not one of this machine.
    pub fn metrics(&self, input: &str, quiet: bool) -> anyhow::Result<Option<Metrics>> {
        let Some(address) = &self.metrics else { return Ok(None) };
        let listener = http::listen("--metrics", address, self.allow_remote)?;
        if !quiet {
            shell::note(&format!("plimsoll: metrics at http://{}/metrics", listener.local_addr()?));
        }
        Ok(Some(Metrics::start(listener, self.allow_remote, input.to_owned())))
    }
}
