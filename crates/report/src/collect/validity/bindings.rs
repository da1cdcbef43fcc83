//! Connections that clients wanted to add to a session.

use plimsoll_model::{Coverage, Unfinished, WaitEnd};

use super::super::counts::plural;
use super::NAMED;

/// A server that works responds to a binding within this time, ns: it may ask another server who the user is.
const BINDING_TAKES_NS: i64 = 2_000_000_000;

/// The connections that a client wanted to add to a session, and the server did not respond to. A capture that may lack the responses,
/// or ends too early for them, does not show this.
pub(super) fn unanswered(coverage: &Coverage) -> Option<String> {
    let had_time =
        |one: &Unfinished| one.end != WaitEnd::Capture || one.end_ns.saturating_sub(one.first_ns) >= BINDING_TAKES_NS;
    let was_seen = |one: &Unfinished| coverage.one_sided == 0 && !coverage.may_be_blind((one.first_ns, one.end_ns));
    let is_unanswered = |one: &&Unfinished| one.procedure.is_binding() && had_time(one) && was_seen(one);
    let unanswered = coverage.unfinished.iter().filter(is_unanswered);
    let mut named: Vec<String> = unanswered.map(|one| format!("{} to {}", one.client, one.server)).collect();
    let count = named.len();
    let at_least = if coverage.has_more_unfinished() { "at least " } else { "" };
    named.dedup();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (count > 0).then(|| {
        format!(
            "Binding unanswered: on {at_least}{} the server did not respond to the request that adds the connection to a session ({}{more}).",
            plural(count as u64, "connection"),
            named.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_model::{Endpoint, Procedure, Protocol, Symbol};

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A connection with a request at 1 s that had no response when its client ended it at 4 s.
    fn unfinished(client: u8, procedure: Procedure) -> Unfinished {
        Unfinished {
            server: Endpoint { ip: [10, 0, 1, 1].into(), port: 445 },
            client: [10, 0, 0, client].into(),
            end: WaitEnd::Client,
            end_ns: 4 * SECOND,
            responded_ns: None,
            requests: 1,
            first_ns: SECOND,
            last_ns: SECOND,
            is_acknowledged: true,
            procedure,
            share: Symbol::NONE,
            path: Symbol::NONE,
        }
    }

    fn capture(unfinished: Vec<Unfinished>) -> Coverage {
        Coverage { unfinished, ..Coverage::default() }
    }

    #[test]
    fn connections_with_an_unanswered_binding_are_named() {
        let (read, binding) = (Procedure::of(Protocol::Smb2, 8), Procedure::smb2_binding());
        assert_eq!(unanswered(&capture(vec![unfinished(1, read)])), None);
        let all = [(1, read), (2, binding), (2, binding), (3, binding)].map(|(client, of)| unfinished(client, of));
        let said = unanswered(&capture(all.to_vec())).unwrap();
        assert!(said.starts_with("Binding unanswered: on 3 connections the server"), "{said}");
        assert!(said.ends_with("(10.0.0.2 to 10.0.1.1:445, 10.0.0.3 to 10.0.1.1:445)."), "{said}");
        let many = unanswered(&capture(vec![unfinished(2, binding); Coverage::UNFINISHED])).unwrap();
        assert!(many.contains("on at least 1,024 connections the server"), "{many}");
    }

    #[test]
    fn a_capture_that_may_lack_the_response_does_not_show_an_unanswered_binding() {
        let one = unfinished(1, Procedure::smb2_binding());
        let is_said = |one: Unfinished, change: fn(&mut Coverage)| {
            let mut coverage = capture(vec![one]);
            change(&mut coverage);
            unanswered(&coverage).is_some()
        };
        assert!(is_said(one, |_| ()));
        assert!(!is_said(one, |coverage| coverage.one_sided = 1));
        assert!(!is_said(one, |coverage| coverage.downtime.begin(2 * SECOND)));
        let until = |end_ns| Unfinished { end: WaitEnd::Capture, end_ns, ..one };
        assert!(!is_said(until(SECOND + 1_000_000), |_| ()), "the capture ends 1 ms after the request");
        assert!(is_said(until(3 * SECOND), |_| ()));
        let gave_up = Unfinished { end: WaitEnd::Server, end_ns: SECOND + 1_000_000, ..one };
        assert!(is_said(gave_up, |_| ()), "the server ended the connection instead");
    }
}
