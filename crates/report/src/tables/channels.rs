//! Sessions with several connections, a line a connection: of captures, and of load levels.

use super::{Cell, Column, Note, Row, Table, Weight, prefix};
use crate::findings::{Channel, Channels, Findings, Generator, Session};
use crate::text::size;

/// The tables; none where no session has several connections.
pub(crate) fn channels(sides: &[Findings]) -> Vec<Table> {
    let mut tables = Vec::new();
    for side in sides {
        let prefix = prefix(sides, side);
        tables.extend(side.channels.as_ref().map(|found| table(found, &prefix, "", Counts::default())));
        for level in &side.levels {
            let counts = Counts::of(&level.facts.generator);
            let at = format!(", {}", level.words());
            tables.extend(level.channels.as_ref().map(|found| table(found, &prefix, &at, counts)));
        }
    }
    for (number, table) in tables.iter_mut().enumerate() {
        table.id = format!("channels-{number}");
    }
    tables
}

/// Counts of the load generator, whole run.
#[derive(Clone, Copy, Default)]
struct Counts {
    /// Connections lost while the session continued.
    lost: u64,
    /// Requests sent again.
    again: u64,
    /// Repeated bindings.
    repeated: u64,
    /// Connections that were not bound again.
    given_up: u64,
}

impl Counts {
    fn of(generator: &Generator) -> Self {
        let Generator { channels_lost, sent_again, bindings_repeated, channels_given_up, .. } = *generator;
        Self { lost: channels_lost, again: sent_again, repeated: bindings_repeated, given_up: channels_given_up }
    }
}

fn table(found: &Channels, prefix: &str, at: &str, counts: Counts) -> Table {
    Table {
        id: String::new(),
        title: format!("{prefix}Sessions with several connections{at}"),
        scaled: None,
        caption: format!(
            "{prefix}Sessions with several connections (SMB multichannel, NFSv4.1 trunking){at}, one row per connection: requests and their \
            share, file data, bytes of all messages, mean number of outstanding requests, and response times. Not counted: requests that \
            wait by design, and requests that set up the session."
        ),
        columns: columns![
            "Session and client": "Client", page "Server", "Requests", "Share", page "Errors", "Unanswered": "Unansw.",
            "File data": "Data", "Messages": "Wire", "Mean depth": "Depth", "Mean", "p95", "Max"
        ],
        rows: found
            .sessions
            .iter()
            .flat_map(|session| std::iter::once(head(session)).chain(session.channels.iter().map(row)))
            .collect(),
        notes: notes(found, counts),
    }
}

fn head(session: &Session) -> Row {
    let user = session.user.as_deref().map_or_else(String::new, |user| format!(" ({user})"));
    let sum = |of: fn(&Channel) -> Option<u64>| session.channels.iter().map(of).sum::<Option<u64>>();
    let count = |of: fn(&Channel) -> u64| session.channels.iter().map(of).sum::<u64>();
    let depth = session.channels.iter().map(|channel| channel.depth_mean).sum::<Option<f64>>();
    let none = || Cell::Time(None);
    Row {
        name: format!("{}{user}", session.id),
        invalid: false,
        cells: vec![
            none(),
            Cell::Count(count(|channel| channel.requests)),
            none(),
            Cell::Count(count(|channel| channel.errors)),
            Cell::Count(count(|channel| channel.unanswered)),
            bytes(sum(|channel| channel.data_bytes)),
            bytes(sum(|channel| channel.wire_bytes)),
            Cell::Number(depth, 2, ""),
            none(),
            none(),
            none(),
        ],
    }
}

fn row(channel: &Channel) -> Row {
    let idle = if channel.is_idle { " idle" } else { "" };
    Row {
        name: format!("  {}{idle}", channel.client),
        invalid: false,
        cells: vec![
            Cell::Words(channel.server.clone()),
            Cell::Count(channel.requests),
            Cell::Share(Some(channel.share)),
            Cell::Count(channel.errors),
            Cell::Count(channel.unanswered),
            bytes(channel.data_bytes),
            bytes(channel.wire_bytes),
            Cell::Number(channel.depth_mean, 2, ""),
            Cell::Time(channel.response_mean_s),
            Cell::Time(channel.response_p95_s),
            Cell::Time(channel.response_max_s),
        ],
    }
}

fn bytes(sum: Option<u64>) -> Cell {
    sum.map_or(Cell::Time(None), |sum| Cell::Words(size(sum)))
}

fn notes(found: &Channels, Counts { lost, again, repeated, given_up }: Counts) -> Vec<Note> {
    let plural = crate::collect::plural;
    let mut notes = Vec::new();
    if let Some(balance) = found.worst_balance {
        let text = format!(
            "In the most uneven session, the busiest connection had {balance:.2} times as many requests as the least busy one. Connections that \
            were in use for less than 90 % of the time are left out."
        );
        notes.push(Note::of(Weight::Plain, text));
    }
    if found.idle_channels > 0 {
        let text = format!(
            "{} idle (fewer requests than 1 % of the session's mean per connection).",
            plural(found.idle_channels, "connection") + if found.idle_channels == 1 { " was" } else { " were" }
        );
        notes.push(Note::of(Weight::Caution, text));
    }
    if lost > 0 {
        let text = format!(
            "{connections} lost while the session continued; {requests} sent again on the remaining connections (including the warm-up).",
            connections = plural(lost, "connection") + if lost == 1 { " was" } else { " were" },
            requests = plural(again, "request") + if again == 1 { " was" } else { " were" },
        );
        notes.push(Note::of(Weight::Caution, text));
    }
    if repeated > 0 {
        let text = format!(
            "{} repeated, because the server did not answer in time, sent an invalid response or closed the connection.",
            plural(repeated, "binding attempt") + if repeated == 1 { " was" } else { " were" },
        );
        notes.push(Note::of(Weight::Caution, text));
    }
    if given_up > 0 {
        let text = format!(
            "{} not bound again: {} continued on fewer connections.",
            plural(given_up, "lost connection") + if given_up == 1 { " was" } else { " were" },
            if given_up == 1 { "its session" } else { "their sessions" },
        );
        notes.push(Note::of(Weight::Caution, text));
    }
    let more = found.sessions_with_several.saturating_sub(found.sessions.len() as u64);
    if more > 0 {
        notes.push(Note::of(
            Weight::Plain,
            format!("Not listed: {} with several connections.", plural(more, "session")),
        ));
    }
    if found.requests_left_out > 0 {
        let text = format!(
            "The table does not include {} on further connections.",
            plural(found.requests_left_out, "request")
        );
        notes.push(Note::of(Weight::Caution, text));
    }
    notes.push(Note::quiet(
        "Wire: bytes of the request and response messages. Depth: mean number of outstanding requests (sum of the response times divided \
        by the elapsed time). Not counted: requests that wait by design, and requests that set up the session.",
    ));
    notes
}
