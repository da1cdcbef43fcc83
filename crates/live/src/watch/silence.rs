//! The time before the first packet, and after the last one of a pipe.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_observe::capture::interface::FILE_SERVER_PORTS;
use plimsoll_report::Zone;

use crate::Silence;

/// Time without a packet of a pipe after which the views say so.
const PAUSE: Duration = Duration::from_secs(2);

/// The packets that a watch waits for.
pub struct FirstPacket {
    begun: Instant,
    input: String,
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
        let input = interface.map_or_else(|| named(sources), str::to_owned);
        Self { begun: Instant::now(), input, text }
    }

    /// That none has come so far.
    pub(super) fn silence(&self) -> Silence {
        let (seconds, (before, after)) = (self.begun.elapsed().as_secs(), &self.text);
        Silence { text: format!("{before} for {seconds} s{after}"), seconds, is_first: true }
    }

    /// That none has come for this time: the last one is of `last_ns`. The text stays the same, because a page receives it once.
    pub(super) fn stopped(&self, last_ns: i64, since: Duration) -> Option<Silence> {
        let (input, last) = (&self.input, Zone::shown().second(last_ns));
        let text = || {
            format!(
                "No packets from {input} since {last}: the server or the input is silent; the number of waiting requests is unknown"
            )
        };
        (since >= PAUSE).then(|| Silence { text: text(), seconds: since.as_secs(), is_first: false })
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

    #[test]
    fn a_pipe_without_packets_may_be_held_up() {
        let packets = FirstPacket::new(None, &["-".into()], (&[], None));
        let stopped = |seconds| packets.stopped(1_700_000_000_000_000_000, Duration::from_secs(seconds));
        assert!(stopped(1).is_none(), "usual");
        let (first, later) = (stopped(2).unwrap(), stopped(9).unwrap());
        assert!(first.text.starts_with("No packets from standard input since 2023-11-14 22:13:20"), "{}", first.text);
        assert_eq!((first.text, first.seconds, first.is_first), (later.text, 2, later.is_first));
        assert_eq!((later.seconds, later.is_first), (9, false));
    }
}
