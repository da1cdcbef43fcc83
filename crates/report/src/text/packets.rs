//! The head of the report: title, verdict, packet counts as in Appendix A, elapsed time, clock.

use super::page::{Page, Role};
use super::table::Table;
use super::units::{NONE, bytes, clock_face, hundred_thousandths, percent_of, percentage, time};
use crate::collect::missing;
use crate::findings::{Findings, Span, Validity, Verdict};
use crate::instant::Zone;
use crate::{safe, shares};
use std::fmt;

pub(super) fn title(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    let inputs = &findings.source.inputs;
    let name = match inputs.as_slice() {
        [] => "no input".to_owned(),
        [only] if only == "-" => "standard input".to_owned(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    };
    banner(page, &safe::fit_path(&name, page.width().saturating_sub(4)), &findings.validity)?;
    if findings.validity.verdict != Verdict::Valid {
        return Ok(());
    }
    let (role, word) = labelled(Verdict::Valid);
    page.blank()?;
    page.paragraph(role, "", word)
}

/// A name that fits, in stars, and what speaks against the numbers below it.
pub(super) fn banner(page: &mut Page<'_>, name: &str, validity: &Validity) -> fmt::Result {
    let rule = "*".repeat(safe::columns(name) + 4);
    page.line(&rule)?;
    let name = page.paint(Role::Heading, name);
    page.line(&format!("* {name} *"))?;
    page.line(&rule)?;
    if validity.verdict == Verdict::Valid {
        return Ok(());
    }
    page.blank()?;
    if validity.reasons.is_empty() {
        let (role, word) = labelled(validity.verdict);
        page.paragraph(role, "", word)?;
    }
    for (verdict, reason) in validity.each_reason() {
        let (role, word) = labelled(verdict);
        page.paragraph(role, &format!("{word}: "), reason)?;
    }
    Ok(())
}

pub(super) fn labelled(verdict: Verdict) -> (Role, &'static str) {
    match verdict {
        Verdict::Valid => (Role::Plain, "VALID"),
        Verdict::Partial => (Role::Caution, "PARTIAL"),
        Verdict::Invalid => (Role::Bad, "INVALID"),
    }
}

pub(super) fn draw(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    page.blank()?;
    // A run looks at no packets, and a table of transactions has none.
    if findings.run.is_none() && (findings.packets.total > 0 || findings.operations.is_empty()) {
        page.table(&counts(findings))?;
        page.blank()?;
    }
    if let (Some(first), Some(last)) = (findings.span.first_ns, findings.span.last_ns) {
        page.paragraph(Role::Plain, "", &format!("From {}", Zone::shown().span(first, last)))?;
    }
    elapsed(page, &findings.span)?;
    page.paragraph(Role::Plain, "", &clock(findings))?;
    let source = &findings.source;
    if !source.filters.is_empty() {
        page.paragraph(Role::Plain, "Filters: ", &source.filter_words())?;
    }
    if !findings.warnings.is_empty() {
        page.heading("Warnings:")?;
        for warning in &findings.warnings {
            page.paragraph(Role::Plain, "  - ", warning)?;
        }
    }
    Ok(())
}

/// The time from the first to the last packet, in the format of Swartz (1997), Appendix A.
pub(super) fn elapsed(page: &mut Page<'_>, span: &Span) -> fmt::Result {
    match span.elapsed_s {
        Some(elapsed) => {
            let (whole, fraction) = hundred_thousandths(elapsed);
            let text = format!("Elapsed time: {} ({whole}.{fraction:05} seconds)", clock_face(elapsed));
            page.paragraph(Role::Plain, "", &text)
        }
        None => page.line(&format!("Elapsed time: {NONE}")),
    }
}

/// The bases of the shares are Appendix A's: packets for packets, commands for their parts, continued commands for
/// theirs. Counts that it does not have are in the last lines of each block.
fn counts(findings: &Findings) -> Table {
    let p = &findings.packets;
    let mut table = Table::new().left(3);
    let mut row = |indent: usize, name: &str, count: u64, share: String, note: &str| {
        let name = format!("{}{name}", "  ".repeat(indent));
        table.row(vec![name, count.to_string(), share, note.to_owned()]);
    };
    let of_all = |count| percent_of(count, p.total);
    let [data, ack, repeated, udp, other] = parts([p.tcp_data, p.ack_only, p.ack_repeated, p.udp, p.other], p.total);
    row(0, "Packets:", p.total, String::new(), "");
    row(1, "IP/TCP:", p.tcp_data, data, "with data");
    row(1, "IP/TCP Ack:", p.ack_only, ack, "without data");
    row(1, "IP/TCP UAk:", p.ack_repeated, repeated, "repeated acknowledgement");
    for (name, count, share) in [("UDP:", p.udp, udp), ("other:", p.other, other)] {
        if count > 0 {
            row(1, name, count, share, "");
        }
    }
    row(1, "retrans:", p.retransmitted, of_all(p.retransmitted), "");
    if let Some((estimate, _)) = missing::dropped_packets(findings) {
        row(1, "dropped:", estimate, String::new(), "with data, estimated");
    }
    for (name, count, note) in
        [("out of order:", p.out_of_order, ""), ("truncated:", p.truncated, "cut by the snap length")]
    {
        if count > 0 {
            row(1, name, count, of_all(count), note);
        }
    }
    row(0, "Continue:", p.continued, of_all(p.continued), "continuing a message");
    row(0, "Commands:", p.commands, of_all(p.commands), "client to server");
    let continued = p.command_continued_sync.saturating_add(p.command_continued_async);
    let [first, carried_on, ack, retry] =
        parts([p.command_first, continued, p.command_ack, p.command_retry], p.commands);
    let [sync, unanswered] = parts([p.command_continued_sync, p.command_continued_async], continued);
    row(1, first_label(findings), p.command_first, first, "beginning a request");
    row(1, "continue:", continued, carried_on, "");
    row(2, "sync:", p.command_continued_sync, sync, "of continue");
    row(2, "async:", p.command_continued_async, unanswered, "of continue");
    row(1, "TCP ack:", p.command_ack, ack, "");
    row(1, "TCP retry:", p.command_retry, retry, "");
    row(0, "Connections:", findings.connections, String::new(), "with file-server traffic");
    if findings.one_way > 0 {
        row(0, "One-way:", findings.one_way, String::new(), "breaks, cancels");
    }
    table.row(vec![
        "Bytes:".to_owned(),
        bytes(p.wire_bytes),
        String::new(),
        format!("on the wire, {} captured", bytes(p.captured_bytes)),
    ]);
    table
}

/// Percentages of counts that are parts of a whole.
fn parts<const N: usize>(counts: [u64; N], whole: u64) -> [String; N] {
    let mut shown = shares::of_counts(counts, whole).into_iter();
    counts.map(|_| percentage(shown.next().flatten()))
}

/// "SMB" as in Appendix A, if the requests are SMB.
fn first_label(findings: &Findings) -> &'static str {
    let smb = |protocol: &str| protocol.starts_with("SMB");
    let rows = || findings.operations.iter().chain(&findings.long_lived);
    match (rows().any(|row| smb(&row.protocol)), rows().any(|row| !smb(&row.protocol))) {
        (true, true) => "SMB, RPC:",
        (false, true) => "RPC:",
        _ => "SMB:",
    }
}

fn clock(findings: &Findings) -> String {
    let mut text = match findings.clock.granularity_s {
        None => "Clock granularity: not known (too few packets).".to_owned(),
        Some(step) if findings.clock.at_most => format!("Clock granularity: {} or finer.", time(step)),
        Some(step) => format!("Clock granularity: {}.", time(step)),
    };
    if findings.source.vantage == "client" {
        text.push_str(" The times were taken at the client's socket, with the client's clock.");
    }
    match findings.clock.backward_steps {
        0 => {}
        1 => text.push_str(" The timestamps go back by more than 100 ms in 1 place."),
        n => text.push_str(&format!(" The timestamps go back by more than 100 ms in {n} places.")),
    }
    text
}
