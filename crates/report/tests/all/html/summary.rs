//! The numbers of the summary are those of the first screen, and unknown numbers are not 0.

use super::*;

/// The text without line breaks.
fn first_screen(findings: &Findings) -> String {
    let screen = text::screen(&findings.clone().into(), &Style::plain(80));
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A reader who divides the refused requests by the requests gets the percentage.
#[test]
fn a_page_and_a_first_screen_count_the_same_requests() {
    let mut findings = busy();
    findings.operations[0].refused = 1;
    let (screen, page) = (first_screen(&findings), markup(&crate::page(&findings)));
    assert!(screen.contains(" requests (and 31 that wait by design: --section long-lived)"), "{screen}");
    let requests = screen.split_once(" requests (and").unwrap().0.rsplit_once(' ').unwrap().1;
    assert!(page.contains("31 of them wait by design"));
    assert!(page.contains(&format!("of the {requests} other requests), failed: ")), "{requests}");
    findings.long_lived.clear();
    let (screen, page) = (first_screen(&findings), markup(&crate::page(&findings)));
    assert!(!screen.contains("by design") && page.contains(" of the requests), failed: "), "{screen}");
}

/// Encrypted requests may read, write and fail.
#[test]
fn a_capture_whose_messages_cannot_be_read_has_unknown_numbers() {
    let mut findings = busy();
    findings.groups.retain(|row| row.group != "Read");
    for row in &mut findings.operations {
        (row.errors, row.refused, row.failed, row.status_unknown, row.unanswered) = (0, 0, 0, 0, 0);
    }
    let numbers = |findings: &Findings| {
        let page = markup(&crate::page(findings));
        let tiles = page.split_once("<dl class=\"tiles\">").unwrap().1.split_once("</dl>").unwrap().0.to_owned();
        (page, tiles)
    };
    let (page, tiles) = numbers(&findings);
    assert!(tiles.contains("0 B in all") && page.contains("None of the other requests was refused"), "{tiles}");
    assert!(tiles.contains("<strong>0.6 %</strong>"), "{tiles}");
    findings.unseen.encrypted = 22;
    let unseen = &mut findings.unseen;
    (unseen.share_missing, unseen.share_missing_low) = (Some(0.815), Some(0.815));
    unseen.share_missing_high = Some(0.93);
    let (page, tiles) = numbers(&findings);
    assert!(!tiles.contains("0 B in all") && tiles.contains("some requests could not be read"), "{tiles}");
    assert_eq!(tiles.matches("<strong>unknown</strong>").count(), 3, "data read, errors, unanswered: {tiles}");
    assert!(tiles.contains("<strong>≥ 81.5 %</strong>"), "a lower bound: {tiles}");
    assert!(page.contains("None of the other requests that could be read was refused"));
}
