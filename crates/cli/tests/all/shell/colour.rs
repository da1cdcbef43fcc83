use plimsoll_testkit::command::output;
use plimsoll_testkit::terminal::session;

use super::{CAPTURE, analysed, line, plimsoll};

const ESCAPE: &str = "\x1b[";

/// Whether a text selects a colour. The progress of a slow analysis moves the cursor, which is no colour.
fn has_colour(text: &str) -> bool {
    text.split(ESCAPE)
        .skip(1)
        .any(|rest| rest.trim_start_matches(|at: char| at.is_ascii_digit() || at == ';').starts_with('m'))
}

#[test]
fn moving_the_cursor_is_no_colour() {
    assert!(has_colour("one \x1b[1;31mtwo\x1b[0m"));
    assert!(!has_colour("\r\x1b[2Kreading\x1b[1A\x1b[2K mm"));
}

#[test]
fn a_terminal_gets_colour_unless_somebody_says_no() {
    let coloured =
        |arguments: &[&str], environment: &[(&str, &str)]| has_colour(&analysed(80, arguments, environment).text());
    for (arguments, environment, expected) in [
        (&[][..], &[][..], true),
        (&["--color", "auto"], &[], true),
        (&["--color", "never"], &[], false),
        (&[], &[("NO_COLOR", "1")], false),
        (&[], &[("NO_COLOR", "")], true),
        (&[], &[("CLICOLOR", "0")], false),
        (&[], &[("TERM", "dumb")], false),
        // A flag is said for this command, a variable for all.
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color=never"], &[("CLICOLOR_FORCE", "1")], false),
    ] {
        assert_eq!(coloured(arguments, environment), expected, "{arguments:?} {environment:?}");
    }
}

#[test]
fn a_pipe_gets_colour_only_where_it_is_asked_for() {
    for (arguments, environment, expected) in [
        (&[][..], &[][..], false),
        (&["--color", "auto"], &[], false),
        (&["--color", "always"], &[], true),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
    ] {
        let done = output(&mut plimsoll(&[&["analyze", CAPTURE], arguments].concat(), environment));
        let text = String::from_utf8(done.stdout).unwrap();
        assert_eq!(has_colour(&text), expected, "{arguments:?} {environment:?}");
    }
    // In a terminal as well: what goes through a pipe is for a program.
    let piped = session(&mut line("$PLIMSOLL analyze $CAPTURE | cat", &[]), 80, "");
    assert!(!has_colour(&piped.text()));
}

/// Without colour the output is otherwise unchanged.
#[test]
fn colour_is_emphasis_alone() {
    let [plain, coloured] = ["never", "always"].map(|when| {
        let done = output(&mut plimsoll(&["analyze", CAPTURE, "--full", "--color", when], &[]));
        String::from_utf8(done.stdout).unwrap()
    });
    let mut stripped = String::new();
    let mut pieces = coloured.split(ESCAPE);
    stripped.push_str(pieces.next().unwrap());
    pieces.for_each(|piece| stripped.push_str(piece.split_once('m').unwrap().1));
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (stripped, plain) = (lines(&stripped), lines(&plain));
    assert_eq!(stripped.iter().zip(&plain).find(|(a, b)| a != b), None);
    assert_eq!(stripped.len(), plain.len());
}

#[test]
fn help_and_errors_follow_the_flag() {
    for (arguments, code) in [(&["analyze", "--help"][..], 0), (&["analyze", "--no-such-flag"], 2)] {
        for (when, expected) in [("auto", true), ("always", true), ("never", false)] {
            let session = session(&mut plimsoll(&[arguments, &["--color", when]].concat(), &[]), 80, "");
            assert_eq!(session.status.code(), Some(code));
            // clap handles `--help` before later arguments; the flag counts even so.
            assert_eq!(has_colour(&session.text()), expected, "{arguments:?} {when}: {}", session.text());
        }
    }
}
