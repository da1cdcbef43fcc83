//! Access to live numbers over HTTP.

use std::net::{SocketAddr, TcpListener};

use plimsoll_console::shell;
use plimsoll_results::Usage;

use super::browser::Browser;
use super::http;
use super::metrics::Metrics;

/// What stands before the address of the page, which contains its token.
pub(super) const PAGE: &str = "Page: ";

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
    /// The addresses that were printed: a screen hides what was printed before it.
    pub addresses: Vec<String>,
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
            addresses: Vec::new(),
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
        let address = reachable(listener.local_addr()?);
        let (browser, path) = Browser::start(listener, self.allow_remote, input)?;
        // Printed even with --quiet, because the page cannot be opened without the address.
        shell::note(&format!("plimsoll: open http://{address}{path} in a browser"));
        self.addresses.push(format!("{PAGE}http://{address}{path}"));
        Ok(Some(browser))
    }

    /// Serves metrics of `input` if --metrics is given; `filters` are those in force, as the user wrote them.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn metrics(&mut self, input: &str, filters: &[String], quiet: bool) -> anyhow::Result<Option<Metrics>> {
        let Some(listener) = self.metrics.take() else { return Ok(None) };
        if !quiet {
            let address = reachable(listener.local_addr()?);
            shell::note(&format!("plimsoll: metrics at http://{address}/metrics"));
            self.addresses.push(format!("Metrics: http://{address}/metrics"));
        }
        Ok(Some(Metrics::start(listener, self.allow_remote, (input.to_owned(), filters.join(" ")))))
    }
}

/// The host and port for a URL. No other machine can open `0.0.0.0` or `[::]`, so the name of this machine stands in their place.
fn reachable(address: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    with_host(address, host.trim())
}

fn with_host(address: SocketAddr, host: &str) -> String {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if address.ip().is_unspecified() && !host.is_empty() && host.bytes().all(is_name) {
        format!("{host}:{}", address.port())
    } else {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_all_interfaces_is_shown_with_the_name_of_this_machine() {
        for (address, host, shown) in [
            ("0.0.0.0:8088", "fs1.example", "fs1.example:8088"),
            ("[::]:8088", "fs1", "fs1:8088"),
            ("127.0.0.1:8088", "fs1", "127.0.0.1:8088"),
            ("0.0.0.0:8088", "(none)", "0.0.0.0:8088"),
            ("0.0.0.0:8088", "", "0.0.0.0:8088"),
        ] {
            assert_eq!(with_host(address.parse().unwrap(), host), shown);
        }
    }
}
