//! The slowest requests, one line each: time, duration, client, request, and frame number.

use super::super::page::Page;
use super::super::table::Table;
use super::super::units::TimeScale;
use crate::findings::{Findings, Slow};
use crate::instant::Zone;
use crate::safe;
use std::fmt;

/// Widest client: an IPv4 address; of a longer one the middle is left out.
const CLIENT: usize = 16;
/// With fewer columns only the identification of a request fits.
const NARROW: usize = 64;

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings, count: usize) -> fmt::Result {
    let slowest: Vec<&Slow> = findings.slowest.iter().take(count).collect();
    let Some(first) = slowest.first() else { return Ok(()) };
    let scale = page.scale();
    let zone = Zone::shown();
    let (day, name) = zone.day(first.at_ns);
    let one_day = slowest.iter().all(|slow| zone.day(slow.at_ns) == (day.clone(), name.clone()));
    let when = if one_day { format!(" on {day}, times {name}") } else { String::new() };
    page.heading(&format!("Slowest requests{when} (response time{} in {}):", findings.headline.words(), scale.unit()))?;
    page.table(&table(page.width(), &slowest, findings, scale, one_day))
}

fn table(width: usize, slowest: &[&Slow], findings: &Findings, scale: TimeScale, one_day: bool) -> Table {
    let zone = Zone::shown();
    let frames = slowest.iter().any(|slow| slow.request_frame.is_some() || slow.response_frame.is_some());
    let rows: Vec<(Vec<String>, &Slow)> = slowest
        .iter()
        .map(|slow| {
            let when = if one_day { zone.time_of_day(slow.at_ns) } else { zone.second(slow.at_ns) };
            let mut cells = vec![when, scale.show(slow.headline_s(findings.headline))];
            if width >= NARROW {
                cells.push(safe::fit_middle(host(&slow.client), CLIENT));
                let frame = slow.request_frame.or(slow.response_frame);
                cells.extend(frames.then(|| frame.map_or_else(String::new, |frame| frame.to_string())));
            }
            (cells, *slow)
        })
        .collect();
    let mut head = vec!["Sent", "Response"];
    if width >= NARROW {
        head.push("Client");
        head.extend(frames.then_some("Frame"));
    }
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(column)).map(|cell| safe::columns(cell));
        cells.chain(head.get(column).map(|name| name.len())).max().unwrap_or(0) + 2
    };
    let room = width.saturating_sub((0..head.len()).map(widest).sum());
    let mut table = Table::new().left(2).left(head.len());
    head.push("Request");
    table.head(&head);
    for (mut cells, slow) in rows {
        cells.push(request(slow, room));
        table.row(cells);
    }
    table
}

/// An address without its port.
fn host(client: &str) -> &str {
    client.rsplit_once(':').map_or(client, |(host, _)| host.trim_start_matches('[').trim_end_matches(']'))
}

/// The operation and its file.
fn request(slow: &Slow, room: usize) -> String {
    let procedure = safe::fit(&slow.procedure, room);
    let left = room.saturating_sub(safe::columns(&procedure) + 1);
    // Alone, a share would read like a file, or as if the request were about the whole share.
    let subject = match (&slow.path, &slow.share) {
        (Some(path), _) => safe::fit_middle(path, left),
        (None, Some(share)) if is_of_shares(&slow.procedure) => safe::fit_middle(&format!("share {share}"), left),
        (None, Some(share)) => without_path(share, left),
        (None, None) => return procedure,
    };
    if left > 1 { format!("{procedure} {subject}") } else { procedure }
}

/// That the path is not known, and the share; where there is no room, a part of the share's name, or none.
fn without_path(share: &str, room: usize) -> String {
    /// Columns of the words around a share.
    const AROUND: usize = "(path unknown, share )".len();
    /// Columns of a share's name at least.
    const SHARE: usize = 6;
    match room.checked_sub(AROUND).filter(|left| *left >= SHARE) {
        Some(left) => format!("(path unknown, share {})", safe::fit_middle(share, left)),
        None => safe::fit_middle("(path unknown)", room),
    }
}

/// Whether requests of this procedure are about a share or its file system, and not about a path.
fn is_of_shares(procedure: &str) -> bool {
    let words =
        ["TREE_", "MNT", "QUERY_FS_", "SET_FS_", "FILESYSTEM", "QUERY_INFORMATION_DISK", "LOGOFF", "SESSION_SETUP"];
    words.iter().any(|word| procedure.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_about_an_unknown_path_stay_whole() {
        let slow = |procedure: &str| Slow {
            procedure: procedure.to_owned(),
            share: Some("192.168.0.1:/home/girlich/export".to_owned()),
            ..Slow::default()
        };
        let of = |procedure, room| request(&slow(procedure), room);
        assert_eq!(of("READ", 80), "READ (path unknown, share 192.168.0.1:/home/girlich/export)");
        let cut = of("READ", 40);
        assert!(cut.starts_with("READ (path unknown, share ") && cut.ends_with("export)"), "{cut}");
        assert_eq!(safe::columns(&cut), 40);
        assert_eq!(of("READ", 24), "READ (path unknown)");
        assert_eq!(of("MNT", 80), "MNT share 192.168.0.1:/home/girlich/export", "it is its subject");
    }
}
