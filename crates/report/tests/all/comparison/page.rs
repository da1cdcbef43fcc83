//! A page of a comparison says the same as its text.

use super::*;

/// The cells of the rows of all operations together, without their markup.
fn cells_of_all(page: &str) -> Vec<Vec<String>> {
    let table = page.split_once("id=\"level-0-caption\"").unwrap().1.split_once("</table>").unwrap().0;
    let plain = |cell: &str| cell.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect::<String>();
    let rows = table.split("<tr>").skip(2).map(|row| {
        let cells = row.split_inclusive("</t").map(plain).filter(|cell| !cell.is_empty());
        cells.collect::<Vec<String>>()
    });
    rows.filter(|cells| cells.first().is_some_and(|name| name == "All")).collect()
}

/// A verdict as both print it.
fn words(metric: &ComparedMetric) -> String {
    let Some(found) = &metric.differences[0] else { return "cannot tell".to_owned() };
    let mark = if found.holm_significant { " *" } else { "" };
    format!("{}{mark}", found.verdict.label())
}

#[test]
fn a_page_and_a_text_have_the_same_verdicts_and_differences() {
    let short = MeasuredRun { span_ns: (0, S), ..run(1000, 1) };
    let other = run(1100, 5);
    for baseline in [run(1000, 1), short] {
        let found = compared(vec![baseline], vec![other.clone()], Order::Apart);
        let text = to_string(&found, &Style::plain(160));
        let rows = cells_of_all(&html::page(&found).unwrap());
        let all = of(&found).levels[0].rows.iter().find(|row| row.scope == "all").unwrap();
        assert_eq!(rows.len(), all.metrics.len(), "{rows:?}");
        for (metric, cells) in all.metrics.iter().zip(&rows) {
            assert_eq!(cells.last(), Some(&words(metric)), "{cells:?}");
            let label = match metric.metric.as_str() {
                "throughput" => "op/s",
                "bytes" => "MB/s",
                other => other,
            };
            let mut lines = text.lines().skip_while(|line| line.trim() != "All operations");
            let line = lines.find(|line| line.split_whitespace().next() == Some(label)).unwrap();
            assert!(line.trim_end().ends_with(&words(metric)), "{line}: {}", words(metric));
        }
    }
    let found = compared(vec![run(1000, 1)], vec![other], Order::Apart);
    let page = html::page(&found).unwrap();
    let errors = cells_of_all(&page).pop().unwrap();
    assert_eq!((errors[1].as_str(), errors[6].as_str()), ("errors", "+4.0 pt"), "{errors:?}");
    assert!(errors[7].contains(" pt to +") && errors[8] == "worse *", "{errors:?}");
    assert!(page.contains("*: significant after Holm's correction"), "the mark is explained");
}
