use plimsoll_testkit::command::output;

use super::plimsoll;

fn said(arguments: &[&str]) -> String {
    String::from_utf8(output(&mut plimsoll(arguments, &[])).stdout).unwrap()
}

#[test]
fn the_version_is_short_or_long() {
    let short = format!("plimsoll {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(said(&["-V"]), short);
    let long = said(&["--version"]);
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, short.trim()));
    assert!(lines[1].starts_with("commit: ") && lines[2].starts_with("features: "), "{long}");
    let expected = if cfg!(debug_assertions) { "not recorded" } else { "" };
    assert!(lines[1].contains(expected));
}
