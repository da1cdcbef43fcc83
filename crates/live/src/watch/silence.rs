//! The time before the first packet.

use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use plimsoll_observe::capture::interface::FILE_SERVER_PORTS;

use crate::Silence;

/// The packets that a watch waits for.
pub struct FirstPacket {
    begun: Instant,
    /// The text before and after the time.
    text: (String, String),
}

impl FirstPacket {
    /// Of this interface, with these ports beside the usual ones and this expression; or of a pipe or files.
    pub fn new(interface: Option<&str>, sources: &[PathBuf], (ports, filter): (&[u16], Option<&str>)) -> Self {
        let text = match (interface, filter) {
            (Some(name), Some(filter)) => {
                (format!("No packets on {name} that match --filter '{filter}'"), ": check the filter".to_owned())
            }
            (Some(name), None) => {
                let ports = FILE_SERVER_PORTS.iter().chain(ports).map(u16::to_string).collect::<Vec<_>>();
                let after = format!(" (ports {}): check --port", ports.join(", "));
                (format!("No packets of a file server on {name}"), after)
            }
            (None, _) => (format!("No packets from {}", named(sources)), String::new()),
        };
        Self { begun: Instant::now(), text }
    }

    /// That none has come so far.
    pub(super) fn silence(&self) -> Silence {
        let (seconds, (before, after)) = (self.begun.elapsed().as_secs(), &self.text);
        Silence { text: format!("{before} for {seconds} s{after}"), seconds }
    }
}

fn named(sources: &[PathBuf]) -> String {
    let name = |source: &PathBuf| match source.display().to_string() {
        dash if dash == "-" => "standard input".to_owned(),
        path => path,
    };
    sources.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The time of this machine, ns since the Unix epoch: without packets there is no other.
pub(super) fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_is_said_with_what_to_check() {
        let text = |filter| FirstPacket::new(Some("eth1"), &[], (&[4450], filter)).silence().text;
        let by_port = "No packets of a file server on eth1 for 0 s (ports 445, 139, 2049, 111, 4450): check --port";
        assert_eq!(text(None), by_port);
        let by_filter = "No packets on eth1 that match --filter 'host 10.0.0.7' for 0 s: check the filter";
        assert_eq!(text(Some("host 10.0.0.7")), by_filter);
        assert_eq!(
            FirstPacket::new(None, &["-".into()], (&[], None)).silence().text,
            "No packets from standard input for 0 s"
        );
    }
}
