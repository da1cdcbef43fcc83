//! Keys of a table as people read them.

use plimsoll_console::shell;
use plimsoll_model::Names;
use plimsoll_report::safe::for_terminal;
use plimsoll_stats::live::live_dimension;
use plimsoll_stats::{Dimension, Key};

/// A key as it appears in the traffic, in the characters of the locale: escapes would move the columns of a row.
pub(super) fn name(key: &Key, names: &Names) -> String {
    shell::in_locale(in_traffic(key, names))
}

fn in_traffic(key: &Key, names: &Names) -> String {
    let unknown = || "(unknown)".to_owned();
    match *key {
        Key::Client(ip) => match names.hosts.name(ip) {
            Some(host) => format!("{ip} ({host})"),
            None => ip.to_string(),
        },
        Key::Operation(operation) => operation.label().to_owned(),
        // The same path exists in several shares.
        Key::Path(share, path) => {
            let share = names.text(share).map_or_else(String::new, |share| format!("{share} "));
            share + names.text(path).unwrap_or("(unknown)")
        }
        _ => key.name(names).map_or_else(unknown, str::to_owned),
    }
}

/// The name of a dimension in live views: the screen's key `f` and the page call a path a file.
pub(super) fn live_label(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Path => "file",
        other => other.label(),
    }
}

/// A key with its dimension, safe to print.
pub(super) fn within(key: &Key, names: &Names) -> String {
    let by = live_dimension(key).map_or("", live_label);
    format!("{by} {}", for_terminal(&name(key, names)))
}
