//! The subjects of statuses: the directory that they concern, and the client that filled a disk.

use plimsoll_model::{StatusFamily, Symbol};
use plimsoll_stats::tallies::RefusedPath;

use super::{Evidence, Meaning, Sum, percent};
use crate::text::size;

/// Minimum fraction of a client's writes among all writes until the disk was full, for the client that filled it.
const MOSTLY: f64 = 0.5;
/// Minimum amount of its writes, as a multiple of any other client's.
const LEADS: f64 = 2.0;
/// Paths of a directory that is named.
const PATHS_LEAST: usize = 2;

/// The sentences.
pub(super) fn of(evidence: &Evidence<'_>, meaning: &Meaning, sum: &Sum<'_>) -> String {
    let directory = directory(evidence, meaning, sum).unwrap_or_default();
    let writer = writer(evidence, meaning).unwrap_or_default();
    format!("{directory}{writer}")
}

/// The directory that all refused paths are in, where there are several and all are known.
fn directory(evidence: &Evidence<'_>, meaning: &Meaning, sum: &Sum<'_>) -> Option<String> {
    let is_of = |row: &RefusedPath| {
        StatusFamily::of(row.protocol, row.status)
            .is_some_and(|family| meaning.statuses.contains(&(family, row.status)))
    };
    let rows: Vec<RefusedPath> = evidence.tallies?.refused_paths().into_iter().filter(is_of).collect();
    let share = rows.first()?.share;
    let paths: Option<Vec<&str>> = rows.iter().map(|row| evidence.names.text(row.path)).collect();
    let mut paths = paths?;
    // Here one member of a compound is counted, there each member.
    let are_all = rows.iter().map(|row| row.count).sum::<u64>() >= sum.count;
    paths.sort_unstable();
    paths.dedup();
    if !are_all || paths.len() < PATHS_LEAST || rows.iter().any(|row| row.share != share) {
        return None;
    }
    let directory = common(&paths)?;
    let on = match evidence.names.text(share).filter(|_| share != Symbol::NONE) {
        Some(share) if sum.rows.iter().any(|row| row.share != rows[0].share) => format!(" on share {share}"),
        _ => String::new(),
    };
    Some(format!(" All paths are in the directory {directory}{on}."))
}

/// The lowest directory that contains (or is) all paths.
fn common<'p>(paths: &[&'p str]) -> Option<&'p str> {
    let (first, rest) = paths.split_first()?;
    let is_within = |end: usize, path: &str| {
        path.as_bytes().get(..end) == first.as_bytes().get(..end)
            && path.as_bytes().get(end).is_none_or(|byte| matches!(byte, b'/' | b'\\'))
    };
    let separators = first.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'/' | b'\\')).map(|(at, _)| at);
    let ends = separators.chain([first.len()]);
    let end = ends.filter(|&end| end > 0 && rest.iter().all(|path| is_within(end, path))).max()?;
    first.get(..end).filter(|directory| !directory.trim_matches(['/', '\\', '.']).is_empty())
}

/// The client with most of the writes until the storage was full.
fn writer(evidence: &Evidence<'_>, meaning: &Meaning) -> Option<String> {
    let full = evidence.tallies?.full()?;
    let is_about_space = meaning.statuses.contains(&(StatusFamily::Nfs, 28));
    let all: u64 = full.written.iter().map(|(_, bytes)| bytes).sum();
    let &(client, bytes) =
        full.written.first().filter(|_| is_about_space && evidence.findings.source.filters.is_empty())?;
    let part = bytes as f64 / all.max(1) as f64;
    let second = full.written.get(1)?.1 as f64;
    (part >= MOSTLY && bytes as f64 >= LEADS * second).then(|| {
        format!(
            " In this capture, client {client} had written the most data ({share} of {data}) before server {server} sent the first \
            of these responses.",
            share = percent(part),
            data = size(all),
            server = full.server
        )
    })
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn the_lowest_directory_of_all_paths_is_found() {
        assert_eq!(common(&[r"a\secret\1", r"a\secret\2", r"a\secret\sub\3"]), Some(r"a\secret"));
        assert_eq!(common(&["/x/data", "/x/data/1"]), Some("/x/data"));
        assert_eq!(common(&["/x/data/1", "/x/database/1"]), Some("/x"));
        assert_eq!(common(&["/x/1", "/y/1"]), None, "the root is no directory worth naming");
        assert_eq!(common(&["a", "b"]), None);
    }
}
