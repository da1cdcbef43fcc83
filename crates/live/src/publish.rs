//! Access to live numbers over HTTP.

use std::net::TcpListener;

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

/// Addresses on which nothing answers yet: they are free, and no thread has begun.
#[derive(Debug)]
pub struct Listening {
    browser: Option<TcpListener>,
    metrics: Option<TcpListener>,
    allow_remote: bool,
}

impl Publish {
    /// Takes the addresses of --listen and --metrics.
    ///
    /// # Errors
    /// An address is not free, or not one of this machine.
    pub fn listen(&self) -> anyhow::Result<Listening> {
        let Self { metrics, browser, listen, allow_remote } = self;
        if *allow_remote && metrics.is_none() && !browser {
            return Err(Usage("--allow-remote requires --metrics or --browser".to_owned()).into());
        }
        Ok(Listening {
            browser: browser.then(|| http::listen("--listen", listen, *allow_remote)).transpose()?,
            metrics: metrics.as_ref().map(|at| http::listen("--metrics", at, *allow_remote)).transpose()?,
            allow_remote: *allow_remote,
        })
    }
}

impl Listening {
    /// Shows `input` in browsers if --browser is given.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn browser(&mut self, input: &str) -> anyhow::Result<Option<Browser>> {
        let Some(listener) = self.browser.take() else { return Ok(None) };
        let address = listener.local_addr()?;
        let (browser, path) = Browser::start(listener, self.allow_remote, input)?;
        // Printed even with --quiet, because the page cannot be opened without the address.
        shell::note(&format!("plimsoll: open http://{address}{path} in a browser"));
        Ok(Some(browser))
    }

    /// Serves metrics of `input` if --metrics is given; `filters` are those in force, as the user wrote them.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn metrics(&mut self, input: &str, filters: &[String], quiet: bool) -> anyhow::Result<Option<Metrics>> {
        let Some(listener) = self.metrics.take() else { return Ok(None) };
        if !quiet {
            shell::note(&format!("plimsoll: metrics at http://{}/metrics", listener.local_addr()?));
        }
        Ok(Some(Metrics::start(listener, self.allow_remote, (input.to_owned(), filters.join(" ")))))
    }
}
