//! The network paths to clients, a row each.

use std::fmt;

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, bytes};
use crate::collect::plural;
use crate::findings::{ClientPathRow, Findings, RoundTripTimes};

/// The table; nothing where no packets were seen.
pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    if findings.client_paths.is_empty() {
        return Ok(());
    }
    page.heading("Network paths to clients:")?;
    let mut table = Table::new().left(0);
    table.head(&["Client", "Round trip", "median", "To server", "median", "Bytes/s to it", "from it", "Resent"]);
    for path in &findings.client_paths {
        table.row(cells(path));
    }
    page.table(&table)?;
    if findings.client_paths_left_out > 0 {
        let more = plural(findings.client_paths_left_out, "client");
        page.paragraph(Role::Plain, "", &format!("And {more} with shorter round trips."))?;
    }
    page.paragraph(
        Role::Plain,
        "",
        "Round trip: shortest time from the capture point to the client and back, from TCP handshakes and immediate acknowledgements. \
        To server: the same for the server. Median: median over all timed segments, including those with delayed acknowledgements. \
        All times are in milliseconds. Bytes/s: rate while the sender had more to send.",
    )
}

fn cells(path: &ClientPathRow) -> Vec<String> {
    let time = |s: Option<f64>| s.map_or_else(|| NONE.to_owned(), |s| format!("{:.3}", s * 1e3));
    let both = |times: RoundTripTimes| [time(times.least_s), time(times.median_s)];
    let rate = |per_s: Option<f64>| per_s.map_or_else(|| NONE.to_owned(), |per_s| bytes(per_s as u64));
    let [least, median] = both(path.to_client);
    let [server, server_median] = both(path.to_server);
    vec![
        path.client.clone(),
        least,
        median,
        server,
        server_median,
        rate(path.bytes_per_s_to_client),
        rate(path.bytes_per_s_to_server),
        path.retransmitted.to_string(),
    ]
}
