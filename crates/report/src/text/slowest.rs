//! Single operations to examine in Wireshark: the slowest, and those without an answer.

use super::page::{Page, Role};
use super::units::TimeScale;
use crate::findings::{Findings, Slow};
use crate::{instant, safe};
use std::fmt;

pub(super) fn slowest(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    if findings.slowest.is_empty() {
        return Ok(());
    }
    page.heading("Slowest operations (the last line of each is a Wireshark display filter):")?;
    list(page, findings, &findings.slowest, Some(""))
}

pub(super) fn unanswered(page: &mut Page<'_>, findings: &Findings) -> fmt::Result {
    if findings.unanswered.is_empty() {
        return Ok(());
    }
    // The client of a run stops waiting at the timeout: an age at the end of the run says nothing.
    if findings.run.is_some() {
        page.heading("Requests without a response:")?;
        return list(page, findings, &findings.unanswered, None);
    }
    page.heading("Requests without a captured response, and their age at the end of the capture:")?;
    list(page, findings, &findings.unanswered, Some("age: "))
}

/// `before_time` precedes each time; without it there are no times.
fn list(page: &mut Page<'_>, findings: &Findings, entries: &[Slow], before_time: Option<&str>) -> fmt::Result {
    for (i, slow) in entries.iter().enumerate() {
        let lead = format!("{:>4}. ", i + 1);
        page.blank()?;
        page.paragraph(Role::Plain, &lead, &facts(slow, findings, page.scale(), before_time))?;
        let indent = " ".repeat(lead.len());
        page.paragraph(Role::Plain, &indent, &format!("{} to {}", slow.client, slow.server))?;
        let room = page.width().saturating_sub(lead.len() + 6);
        for (what, value) in [("share", &slow.share), ("path", &slow.path), ("user", &slow.user)] {
            if let Some(value) = value {
                page.line(&format!("{indent}{what:<5} {}", safe::fit_path(value, room)))?;
            }
        }
        if !slow.display_filter.is_empty() {
            let filter = page.paint(Role::Quiet, &safe::for_terminal(&slow.display_filter));
            page.line(&format!("{indent}{filter}"))?;
        }
    }
    Ok(())
}

fn facts(slow: &Slow, findings: &Findings, scale: TimeScale, before_time: Option<&str>) -> String {
    let time = |seconds| scale.with_unit(seconds);
    let mut facts = format!("{} {}", slow.protocol, slow.procedure);
    if let Some(before) = before_time {
        let mut response = time(slow.headline_s(findings.headline));
        if findings.headline.is_from_intended() && slow.response_time_from_intended_s.is_some() {
            response.push_str(&format!(" from the intended start (uncorrected: {}),", time(slow.response_time_s)));
        }
        facts = format!("{before}{response} {facts}");
    }
    if let Some(service) = slow.service_time_s {
        facts.push_str(&format!(", service {}", time(service)));
    }
    if let Some(status) = &slow.status {
        facts.push_str(&format!(", {status}"));
    }
    match (slow.request_frame, slow.response_frame) {
        (Some(request), Some(response)) => facts.push_str(&format!(", frames {request} to {response}")),
        (Some(frame), None) => facts.push_str(&format!(", frame {frame}")),
        (None, Some(frame)) => facts.push_str(&format!(", answered in frame {frame}")),
        (None, None) => {}
    }
    facts.push_str(&format!(", {}", instant::microsecond(slow.at_ns)));
    facts
}
