//! Findings as JSON: `plimsoll.report/1`, described by `schemas/plimsoll.report.1.schema.json`, and comparisons:
//! `plimsoll.comparison/1`, described by `schemas/plimsoll.comparison.1.schema.json`.
//!
//! Text from captures is kept as it is; the serialiser escapes control characters, so the file itself acts on no
//! terminal by ESC, but a program that prints a decoded name must make it safe itself.

use serde::Serialize;
use std::io;

/// How the JSON is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// On one line.
    Compact,
    /// Indented, for people.
    Pretty,
}

/// Writes findings ([`crate::findings::Findings`] or a [`crate::findings::comparison::Comparison`]), and a newline at the
/// end. Fails only where `out` does.
pub fn write(findings: &impl Serialize, layout: Layout, mut out: impl io::Write) -> io::Result<()> {
    match layout {
        Layout::Compact => serde_json::to_writer(&mut out, findings)?,
        Layout::Pretty => serde_json::to_writer_pretty(&mut out, findings)?,
    }
    out.write_all(b"\n")
}
