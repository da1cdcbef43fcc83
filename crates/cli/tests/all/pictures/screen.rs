//! The screen of a watch, as text in docs/watch.md.

use std::process::Command;
use std::time::SystemTime;

use plimsoll_testkit::command::Running;
use plimsoll_testkit::servers::{Samba, Share};
use plimsoll_testkit::tmux::Tmux;
use plimsoll_testkit::workspace;
use rustix::process::Signal;

use super::{WATCHED, commit, table};

/// Its name among the pictures.
pub(super) const NAME: &str = "watch-terminal";
const SIZE: (u16, u16) = (100, 36);
const PAGE: &str = "docs/watch.md";
/// The block of the page that it replaces, with the paragraph after it. A screen begins with these words.
const BEGINNING: &str = "```text\nplimsoll  ";
const CAPTION: &str = "\n```\n\n(";
const CAPTION_END: &str = ")\n";

/// Watches a Samba under load, and puts the screen into the page.
pub(super) fn make() {
    let samba = Samba::start(&[]).unwrap_or_else(|reason| panic!("{reason}"));
    let tmux = Tmux::start(SIZE).unwrap_or_else(|reason| panic!("{reason}"));
    let (program, address) = (crate::measured_program(), samba.address());
    tmux.type_line(&format!("{} watch lo --port {} --utc", program.display(), address.port()));
    tmux.wait_until("screen", |_| tmux.state("#{alternate_on}") == "1");
    let mut load = Command::new(&program);
    load.args(["run", "netbench", "--clients", "6", "--warmup", "0s", "--duration", "5m", "--quiet", "--target"]);
    load.arg(format!("smb://{}@{address}/{}", Samba::USER, Share::Data.name()));
    let mut load = Running::start(load.env("PLIMSOLL_PASSWORD", Samba::PASSWORD)).unwrap();
    std::thread::sleep(WATCHED);
    assert_eq!(load.wait_until(|_| true), None, "{:?}", load.said());
    let screen = tmux.screen();
    load.signal(Signal::INT);
    drop(load.end());
    let path = workspace().join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, with(&page, &screen, &caption())).unwrap();
}

fn caption() -> String {
    let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let machine = table::machine();
    let machine = machine.split(" and NFS-Ganesha").next().unwrap_or_default();
    let of = format!(
        "Samba under the NetBench load of 6 clients on {} UTC, commit `{}`.",
        at[..16].replace('T', " "),
        commit()
    );
    format!("{of}\nServer and load generator ran on one machine: {machine}.")
}

/// The page with another screen and caption.
fn with(page: &str, screen: &str, caption: &str) -> String {
    let (before, rest) = page.split_once(BEGINNING).unwrap_or_else(|| panic!("{PAGE} has no screen"));
    let (_, rest) = rest.split_once(CAPTION).unwrap_or_else(|| panic!("{PAGE}: the screen has no caption"));
    let (_, after) = rest.split_once(CAPTION_END).unwrap_or_else(|| panic!("{PAGE}: the caption has no end"));
    let screen: Vec<&str> = screen.trim_end().lines().map(str::trim_end).collect();
    format!("{before}```text\n{}{CAPTION}{caption}{CAPTION_END}{after}", screen.join("\n"))
}

#[test]
fn a_new_screen_replaces_the_old_one() {
    let page = "Text\n\n```text\nplimsoll  old\nrow\n```\n\n(old\ncaption)\n\nMore (text)\n";
    let new = with(page, "plimsoll  new  \nline\n\n", "of today");
    assert_eq!(new, "Text\n\n```text\nplimsoll  new\nline\n```\n\n(of today)\n\nMore (text)\n");
    assert_eq!(
        with(&std::fs::read_to_string(workspace().join(PAGE)).unwrap(), "x", "y").matches("\nx\n```\n\n(y)\n").count(),
        1
    );
}
