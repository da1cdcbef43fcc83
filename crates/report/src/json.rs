//! A report as JSON: `plimsoll.report/2`, described by `schemas/plimsoll.report.2.schema.json`.
//!
//! Text from captures is unchanged; the serialiser escapes control characters, so the file itself cannot control a terminal, but a
//! program that prints a decoded name must escape it.

mod captured;

use crate::findings::Report;
use crate::findings::history::History;
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

/// Writes a report, and a newline at the end. Fails only where `out` does.
pub fn write(report: &Report, layout: Layout, out: impl io::Write) -> io::Result<()> {
    match captured::without_generator(report)? {
        Some(report) => document(&report, layout, out),
        None => document(report, layout, out),
    }
}

/// Writes a history in the same way (`schemas/plimsoll.history.1.schema.json`).
pub fn write_history(history: &History, layout: Layout, out: impl io::Write) -> io::Result<()> {
    document(history, layout, out)
}

fn document(document: &impl Serialize, layout: Layout, mut out: impl io::Write) -> io::Result<()> {
    match layout {
        Layout::Compact => serde_json::to_writer(&mut out, document)?,
        Layout::Pretty => serde_json::to_writer_pretty(&mut out, document)?,
    }
    out.write_all(b"\n")
}
