//! The page as text: untrusted names stay text, there are no external references, the numbers are those of the findings.

mod charts;
mod experiments;
mod runs;
mod sizes;
mod summary;

use crate::html_synthetic::{NASTY, busy, compared, compared_in_full, invalid, points, run};
use plimsoll_report::collect::repeats::repeats;
use plimsoll_report::findings::comparison::ComparedLevel;
use plimsoll_report::findings::{
    ClientRow, FailureCount, Findings, LevelFacts, LoadLevel, Reason, Report, Run, ServerSide, Users, Validity,
};
use plimsoll_report::text::{Section, Sections, Style};
use plimsoll_report::{html, text};
use serde_json::Value;

/// The page without its scripts and its data: the markup for an HTML parser.
fn markup(page: &str) -> String {
    let mut markup = String::new();
    let mut rest = page;
    while let Some(start) = rest.find("<script") {
        let (before, script) = rest.split_at(start);
        markup.push_str(before);
        rest = script.split_once("</script>").expect("every script ends").1;
    }
    markup.push_str(rest);
    markup
}

fn embedded(page: &str) -> &str {
    let start = "<script type=\"application/json\" id=\"findings\">";
    page.split_once(start).expect("the data are there").1.split_once("</script>").expect("and end").0
}

/// A run of two curves whose levels have the same words, as with `--vary`.
fn varied() -> Findings {
    let mut findings = run();
    for level in &mut findings.levels {
        level.facts.load_name = format!("{} clients", level.facts.clients);
        level.facts.curve =
            level.facts.curve.as_ref().map(|name| format!("block={}", if name == "SMB" { "1kB" } else { "30kB" }));
    }
    findings.curves = plimsoll_report::collect::curves::curves(&findings.levels);
    findings
}

#[test]
fn hostile_names_stay_text() {
    let page = crate::page(&busy());
    let markup = markup(&page);
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
    // Four elements: findings, charts, the library, our script. A name that got through would add one.
    assert_eq!(page.matches("</script>").count(), 4);
    for raw in ["<img", "onerror=alert(2)>", "<!--", "' onmouseover='alert(3)\""] {
        assert!(!markup.contains(raw), "{raw} is in the markup");
    }
    for shown in [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&quot;&gt;&lt;img src=x onerror=alert(2)&gt;",
        "&lt;/script&gt;&lt;script&gt;alert(4)//",
        "invoice\\u{202e}fdp.exe",
        "\\u{1b}[31mred\\u{85}\\u{2028}\\u{2029}\\u{200b}line\\u{a}break",
        "&amp;lt;b&amp;gt; {{7*7}}",
        "طلب\\u{2069} наряд 注文",
    ] {
        assert!(markup.contains(shown), "{shown} is not shown");
    }
    let acting = |c: &char| matches!(c, '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    assert_eq!(page.chars().find(acting), None, "a character that acts is in the page");
}

#[test]
fn names_in_runs_and_comparisons_stay_text() {
    let comparison = html::page(&compared_in_full([busy(), run()])).unwrap();
    for (page, facts) in [(crate::page(&run()), true), (comparison, true), (html::compact(&compared()).unwrap(), false)]
    {
        let markup = markup(&page);
        assert_eq!(page.matches("</script>").count(), 4);
        assert!(!markup.contains("<img") && markup.contains("&quot;&gt;&lt;img src=x onerror=alert(2)&gt;"));
        assert!(!page.contains('\u{202e}') && markup.contains("invoice\\u{202e}fdp.exe") == facts);
    }
}

#[test]
fn attributes_hold_whatever_a_name_holds() {
    let mut findings = busy();
    for (row, name) in findings.groups.iter_mut().zip(NASTY) {
        row.group = name.into();
    }
    for map in &mut findings.heat_maps {
        map.group = NASTY[1].into();
    }
    findings.source.tool = NASTY[1].into();
    let markup = markup(&crate::page(&findings));
    assert!(!markup.contains("<img"));
    assert!(markup.contains("aria-label=\"Latency heat map, &quot;&gt;&lt;img"));
}

#[test]
fn data_come_back_as_they_were() {
    for findings in [busy(), invalid()] {
        let page = crate::page(&findings);
        let data = embedded(&page);
        assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<Report>(data).unwrap().only(), Some(&findings));
    }
}

#[test]
fn nothing_outside_is_referred_to() {
    let page = crate::page(&busy());
    let markup = markup(&page);
    for attribute in
        [" src=", " srcset=", " action=", " data=", "<iframe", "<object", "<embed", "<base", "@import", "url("]
    {
        // Names full of markup are shown with their quotes escaped, never as an attribute of ours.
        let ours = markup.replace("&lt;img src=x onerror", "");
        assert!(!ours.contains(attribute), "{attribute}");
    }
    for part in markup.split(" href=\"").skip(1) {
        assert!(part.starts_with('#') || part.starts_with("data:"), "{}", &part[..40.min(part.len())]);
    }
    assert!(!markup.contains("https://"));
    // The only address is the name of the SVG vocabulary in the icon, which is not loaded.
    assert_eq!(markup.matches("http://").count(), markup.matches("xmlns='http://www.w3.org/2000/svg'").count());
    let policy = "content=\"default-src 'none'; script-src 'sha256-";
    assert!(markup.contains(policy) && !markup.contains("unsafe-eval"));
}

#[test]
fn numbers_are_those_of_the_findings() {
    let findings = busy();
    let markup = markup(&crate::page(&findings));
    let read = findings.operations.iter().find(|row| row.procedure == "READ_ANDX").unwrap();
    let line = markup.split("<th scope=\"row\">READ_ANDX").nth(1).unwrap().split("</tr>").next().unwrap();
    let cells: Vec<&str> =
        line.split("<td").skip(1).map(|cell| cell.split('>').nth(1).unwrap().trim_end_matches("</td")).collect();
    let times = read.response_time.unwrap();
    let plain = |cell: &str| cell.replace(',', "").parse::<f64>().unwrap();
    let expected = [
        times.min_s,
        times.max_s,
        times.p50_s,
        times.mean_s,
        times.stddev_s.unwrap(),
        times.p90_s,
        times.p95_s,
        times.p99_s,
        times.p999_s,
    ];
    assert_eq!(plain(cells[0]), read.count as f64);
    assert_eq!(plain(cells[3]), read.errors as f64);
    for (cell, s) in cells[5..14].iter().zip(expected) {
        assert!((plain(cell) - s * 1e3).abs() <= 0.0005, "{cell} is not {s} s");
    }
}

#[test]
fn a_request_is_counted_once() {
    let findings = busy();
    let markup = markup(&crate::page(&findings));
    let once = findings.operations.iter().filter(|row| row.parent.is_none());
    let tile = markup.split("<dt>Operations</dt><dd><strong>").nth(1).unwrap().split('<').next().unwrap();
    assert_eq!(tile.replace(',', "").parse::<u64>().unwrap(), once.map(|row| row.count).sum::<u64>());
    assert!(findings.operations.iter().any(|row| row.parent.is_some()), "there are subcommands to count twice");
}

#[test]
fn validity_is_said_first() {
    let valid = markup(&crate::page(&busy()));
    assert!(valid.contains("<p class=\"stamp valid\">Valid</p>") && !valid.contains("must not be used"));
    let not = markup(&crate::page(&invalid()));
    assert!(not.contains("<p class=\"stamp invalid\">Invalid</p>"));
    assert!(not.contains("62 % of the packets were dropped by the capture."));
}

#[test]
fn invalid_numbers_that_are_named_as_reliable_may_be_used() {
    let page = |reason: &str| {
        let mut findings = run();
        findings.validity = Validity::of([Reason::invalid(reason)]);
        findings.levels.iter_mut().for_each(|level| level.facts.validity = findings.validity.clone());
        markup(&crate::page(&findings))
    };
    let late = page("the load generator was late; p50, p90 are reliable");
    assert!(late.contains("Use only the numbers that are named as reliable here"));
    assert!(!late.contains("These numbers must not be used."));
    assert!(page("no action succeeded").contains("These numbers must not be used."));
}

#[test]
fn partial_numbers_need_not_be_incomplete() {
    let validity = Validity::of([Reason::partial("the load generator was late")]);
    let markup = markup(&crate::page(&Findings { validity, ..run() }));
    assert!(markup.contains("Some numbers are incomplete or not reliable.") && !markup.contains("data are missing"));
}

#[test]
fn the_rate_of_a_capture_counts_answered_requests() {
    let mut findings = busy();
    findings.operations.iter_mut().for_each(|row| row.answered = 0);
    let markup = markup(&crate::page(&findings));
    assert!(markup.contains("<small>0.0/s answered on average; 31 more wait by design</small>"));
}

/// A run has no capture, and its client stops waiting before the run ends.
#[test]
fn requests_without_a_response_have_no_age_in_a_run() {
    let unanswered = busy().unanswered;
    assert!(markup(&crate::page(&busy())).contains("Age, ms"));
    let of_a_run = markup(&crate::page(&Findings { unanswered, ..run() }));
    assert!(of_a_run.contains("Requests without a response.") && !of_a_run.contains("Age, ms"));
}

#[test]
fn each_reason_has_its_own_verdict() {
    let mut findings = run();
    let reasons = || [Reason::invalid("it was late"), Reason::partial("it was interrupted")];
    findings.validity = Validity::of(reasons());
    findings.levels[0].facts.validity = Validity::of(reasons().into_iter().skip(1));
    let markup = markup(&crate::page(&findings));
    assert!(markup.contains("<li>Invalid: it was late</li><li>Partial: it was interrupted</li>"));
    assert!(markup.contains("(partial)</summary><div class=\"notice\"><ul><li>Partial: it was interrupted</li>"));
}

#[test]
fn fairness_that_may_be_the_generators_is_marked() {
    let mut findings = run();
    assert!(!markup(&crate::page(&findings)).contains("The load generator, not the server, may cause the differences"));
    findings.levels.iter_mut().for_each(|level| level.facts.fairness.attributable = false);
    let markup = markup(&crate::page(&findings));
    assert!(markup.contains("* The load generator, not the server, may cause the differences"));
    let jain = findings
        .levels
        .iter()
        .find(|level| level.facts.fairness.clients > 1)
        .and_then(|level| level.facts.fairness.jain);
    assert!(markup.contains(&format!("<td>{:.3}*</td>", jain.unwrap())));
    assert!(markup.contains("At levels marked *"));
}

#[test]
fn tables_are_tables_to_a_screen_reader() {
    let markup = markup(&crate::page(&busy()));
    assert_eq!(markup.matches("<table").count(), markup.matches("<caption").count());
    assert_eq!(markup.matches("<th").count() - markup.matches("<thead").count(), markup.matches(" scope=\"").count());
    assert_eq!(markup.matches("class=\"chart\"").count(), 10);
    assert_eq!(markup.matches("<svg viewBox=\"0 0 960 290\" role=\"img\" aria-label=\"").count(), 10);
}

/// A number of the page, in the JSON's unit.
fn number(text: &str) -> f64 {
    let of = |unit: &str, factor: f64| Some(text.strip_suffix(unit)?.replace(',', "").parse::<f64>().unwrap() * factor);
    let units = [("/s", 1.0), (" ns", 1e-9), (" µs", 1e-6), (" ms", 1e-3), (" s", 1.0)];
    units.into_iter().find_map(|(unit, factor)| of(unit, factor)).unwrap_or_else(|| panic!("{text} has no unit"))
}

/// The page's repeats equal those in the JSON, which are made from the levels.
#[test]
fn repeats_are_those_of_the_json() {
    let mut findings = run();
    let first = findings.levels[0].clone();
    findings.levels = (0..3u32)
        .map(|repeat| {
            let (mut level, times) = (first.clone(), 1.0 + f64::from(repeat) / 10.0);
            (level.number, level.facts.curve) = (repeat, Some(format!("repeat {}", repeat + 1)));
            level.operations_per_s *= times;
            level.response_time = level.response_time.map(|of| plimsoll_report::findings::Times {
                count: 1_000,
                mean_s: of.mean_s * times,
                p50_s: of.p50_s * times,
                p99_s: of.p99_s * times,
                ..of
            });
            level
        })
        .collect();
    findings.repeats = repeats(&findings.levels);
    let page = crate::page(&findings);
    let json: serde_json::Value = serde_json::from_str(embedded(&page)).unwrap();
    let level = &json["sides"][0]["repeats"][0];
    assert_eq!((&level["levels"], &level["valid"]), (&serde_json::json!([0, 1, 2]), &true.into()));
    let table =
        markup(&page).split("id=\"repeats-caption\"").nth(1).unwrap().split("</table>").next().unwrap().to_owned();
    let cells: Vec<&str> = table.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap()).collect();
    assert_eq!(cells[0], "3");
    let of = ["operations_per_s", "response_mean_s", "response_p50_s", "response_p99_s"];
    let from = [
        first.operations_per_s,
        first.response_time.unwrap().mean_s,
        first.response_time.unwrap().p50_s,
        first.response_time.unwrap().p99_s,
    ];
    for ((name, cell), one) in of.into_iter().zip(&cells[1..]).zip(from) {
        let spread = |field: &str| level[name][field].as_f64().unwrap();
        let half = level[name]["interval"]["high"].as_f64().unwrap() - spread("mean");
        let numbers: Vec<f64> = cell
            .trim_end_matches(')')
            .split(['±', '('])
            .flat_map(|part| part.split(" to "))
            .map(|text| number(text.trim()))
            .collect();
        for (shown, expected) in numbers.iter().zip([spread("mean"), half, spread("min"), spread("max")]) {
            // Three digits.
            assert!((shown / expected - 1.0).abs() < 0.006, "{name}: {shown} is not {expected}: {cell}");
        }
        assert_eq!(numbers.len(), 4);
        // Values of 1, 1.1 and 1.2 times a number: the deviation is a tenth of it, and Student's t with two degrees is 4.303.
        assert!((spread("mean") / one - 1.1).abs() < 1e-9 && (spread("max") / one - 1.2).abs() < 1e-9);
        assert!((half / one - 4.302_653 * 0.1 / 3f64.sqrt()).abs() < 1e-6, "{half} of {one}");
    }
    // The p99 of too few requests is too fast in each run.
    findings.levels[1].response_time.iter_mut().for_each(|times| times.count = 999);
    let few = repeats(&findings.levels).remove(0);
    assert!(few.response_p99_s.is_none() && few.response_p50_s.is_some(), "{few:?}");
    // Other values of the varied parameter are other levels, not repeats.
    for level in &mut findings.levels {
        level.facts.curve = Some(format!("block={}B, repeat 1", level.number));
    }
    assert!(repeats(&findings.levels).is_empty());
}

#[test]
fn odd_findings_make_a_page() {
    // No series, no maps; maps that begin at nought, have no cells, or cells outside their edges; times of nought.
    let mut findings = busy();
    findings.series = Default::default();
    findings.heat_maps.clear();
    assert!(!crate::page(&findings).contains("data-chart=\"heat\""));

    let mut findings = busy();
    findings.heat_maps[0].edges_s[0] = 0.0;
    findings.heat_maps[0].cells.push((u32::MAX, u32::MAX, u64::MAX));
    findings.heat_maps[1].cells.clear();
    findings.series.bin_s = 0.0;
    findings.span = Default::default();
    for row in findings.groups.iter_mut().chain(&mut findings.operations) {
        row.distribution.push(plimsoll_report::findings::Bucket { below_s: 0.0, count: u64::MAX });
        row.percentiles.insert(0, plimsoll_report::findings::PercentilePoint { percentile: 0.0, value_s: 0.0 });
        row.count = u64::MAX;
    }
    crate::page(&findings);
}
