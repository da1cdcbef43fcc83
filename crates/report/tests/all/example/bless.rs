//! Files that tests hold the output to, rewritten on request.

use std::path::Path;

/// Fails where the file differs from `text`; writes it instead under `PLIMSOLL_BLESS=1`.
pub(crate) fn hold(path: &Path, text: &str, test: &str) {
    if std::env::var_os("PLIMSOLL_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, text).unwrap();
        return;
    }
    let held = std::fs::read_to_string(path).unwrap_or_default();
    if held != text {
        let line = held.lines().zip(text.lines()).position(|(a, b)| a != b);
        let line = line.unwrap_or_else(|| held.lines().count().min(text.lines().count()));
        panic!(
            "{} differs from line {}:\n  held: {:?}\n  now:  {:?}\nIf the change is meant: PLIMSOLL_BLESS=1 cargo test -p plimsoll-report {test}",
            path.display(),
            line + 1,
            held.lines().nth(line),
            text.lines().nth(line),
        );
    }
}
