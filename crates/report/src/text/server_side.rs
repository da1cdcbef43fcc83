//! What the server said of itself, a line a load level.

use std::fmt;

use super::page::{Page, Role};
use super::run::optional;
use super::table::Table;
use super::units::{significant, time};
use crate::findings::Findings;

/// The table; nothing where nobody asked the server.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let Some(source) = findings.remote_stages().find_map(|stage| stage.server.as_ref()).map(|server| &server.source)
    else {
        return Ok(());
    };
    page.heading("What the server said of itself (MB/s):")?;
    page.blank()?;
    let mut table = Table::new();
    table.head(&["Level", "Cores", "CPU/op", "Disk read", "written", "Net in", "Net out"]);
    let mut missing = Vec::new();
    for stage in findings.remote_stages() {
        let Some(server) = &stage.server else { continue };
        let rate = |bytes: Option<f64>| optional(bytes, |bytes| significant(bytes / 1e6));
        table.row(vec![
            stage.words(),
            optional(server.cores_busy, significant),
            optional(server.cpu_per_operation_s, time),
            rate(server.disk_read_bytes_per_s),
            rate(server.disk_write_bytes_per_s),
            rate(server.received_bytes_per_s),
            rate(server.sent_bytes_per_s),
        ]);
        missing.extend(server.why_missing.as_ref().map(|why| format!("{}: {why}", stage.words())));
    }
    page.table(&table)?;
    page.paragraph(Role::Quiet, "", &format!("From {source}."))?;
    missing.iter().try_for_each(|why| page.paragraph(Role::Bad, "", why))
}
