use plimsoll_testkit::command::output;

use super::{CAPTURE, LARGE_CAPTURE, analysed, analysed_capture, plimsoll, screen};

/// The widest report.
const MOST: usize = 132;

fn width(line: &str) -> usize {
    line.chars().count()
}

/// Display filters and file names in commands are meant to be copied, and the terminal wraps standard error.
fn is_unbroken(line: &str) -> bool {
    ["More with", "frame.number", "tcp.stream", "smb2.", "smb.", "rpc.", "capture.pcap"]
        .iter()
        .any(|field| line.contains(field))
}

/// The visible rest of a line: a slow analysis first draws a progress bar in it, and clears it.
fn left(line: &str) -> &str {
    const CLEARED: &str = "\x1b[2K";
    let line = line.trim_end();
    line.rfind(CLEARED).map_or(line, |at| &line[at + CLEARED.len()..]).trim_start_matches('\r')
}

#[test]
fn a_report_is_as_wide_as_the_terminal() {
    let widest = |columns: u16, arguments: &[&str]| {
        let text = analysed(columns, &[&["--color", "never"], arguments].concat(), &[]).text();
        text.lines().map(left).filter(|line| !is_unbroken(line)).map(width).max().unwrap()
    };
    for arguments in [&[][..], &["--full"]] {
        let [narrow, at_80, at_120, at_200] = [40, 80, 120, 200].map(|columns| widest(columns, arguments));
        assert!(narrow <= 40 && at_80 <= 80 && at_120 <= 120 && at_200 <= MOST, "{narrow} {at_80} {at_120} {at_200}");
        assert!(at_80 > 70 && at_120 > 80, "the room is used: {at_80} {at_120}");
    }
}

/// A line that is as wide as the terminal must not leave an empty one behind it.
#[test]
fn on_the_screen_are_the_lines_of_the_report() {
    let session = analysed_capture(LARGE_CAPTURE, 80, &["--color", "never"], &[]);
    let lines: Vec<String> = session.text().lines().map(|line| left(line).trim_end().to_owned()).collect();
    let shown: Vec<String> = screen(&session, 80).into_iter().map(|row| row.trim_end().to_owned()).collect();
    if lines.iter().all(|line| width(line) <= 80) {
        assert_eq!(shown[..lines.len()], lines);
    }
}

#[test]
fn what_was_cleared_away_is_not_left() {
    assert_eq!(left("reading \x1b[2K\r50 %\r\x1b[2K  read  5 ms\r"), "  read  5 ms");
    assert_eq!(left("  read  5 ms\r"), "  read  5 ms");
}

#[test]
fn a_pipe_has_80_columns() {
    let done = output(&mut plimsoll(&["analyze", CAPTURE], &[("COLUMNS", "200")]));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.lines().filter(|line| !is_unbroken(line)).all(|line| width(line) <= 80));
}

#[test]
fn help_is_as_wide_as_the_terminal_and_at_most_100() {
    for (columns, most) in [(60, 60), (80, 80), (120, 100), (200, 100)] {
        for subcommand in ["analyze", "run", "capacity", "workloads", "completions"] {
            let mut command = plimsoll(&[subcommand, "--help"], &[]);
            let text = plimsoll_testkit::terminal::session(&mut command, columns, "");
            let rows = screen(&text, 400);
            // Examples are meant to be copied.
            let wide = |row: &&String| width(row.trim_end()) > most && !row.contains("plimsoll ");
            assert_eq!(rows.iter().find(wide), None, "{subcommand} {columns}");
        }
    }
}

#[test]
fn without_utf_8_there_is_ascii_and_the_columns_stay() {
    for environment in [[("LANG", "C"), ("LC_ALL", "")], [("LANG", "en_US.UTF-8"), ("LC_ALL", "C")]] {
        let [ascii, unicode] = [&environment[..], &[]]
            .map(|environment| analysed(80, &["--full", "--color", "never"], environment).text());
        assert!(ascii.is_ascii() && !unicode.is_ascii());
        let widths = |text: &str| text.lines().map(left).map(width).collect::<Vec<_>>();
        assert_eq!(widths(&ascii), widths(&unicode));
        let error = output(&mut plimsoll(&["analyze", "/nowhere/ä"], &environment));
        assert!(error.stderr.is_ascii() && !error.stderr.is_empty());
    }
}
