//! The page in a browser without a network: every chart drawn, zoom and series toggles work, nothing complained of.
//!
//! Needs Chromium; without one the tests say so and pass. `PLIMSOLL_SCREENSHOTS=DIR` keeps the page, pictures of it and a printout.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod html_synthetic;

use html_synthetic::{busy, invalid};
use plimsoll_report::findings::Findings;
use plimsoll_report::html;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Charts of a page that has all data.
const CHARTS: usize = 6;

#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found =
        names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()));
    if found.is_none() {
        println!("skipped: none of {} is installed", names.join(", "));
    }
    found
}

/// A folder of our own, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("plimsoll-html-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn page(&self, findings: &Findings) -> String {
        self.write(&html::page(findings).unwrap())
    }

    /// The page as a browser without scripts sees it. (Chromium itself needs scripts to dump or draw a page.)
    fn page_without_scripts(&self, findings: &Findings) -> String {
        self.write(&html::page(findings).unwrap().replace("<script>", "<script type=\"text/plain\">"))
    }

    fn write(&self, page: &str) -> String {
        let path = self.0.join("report.html");
        std::fs::write(&path, page).unwrap();
        format!("file://{}", path.display())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Chromium on `url` with no network to use: every name resolves to nothing, every proxy is closed.
fn run(browser: &str, scratch: &Scratch, flags: &[&str], url: &str) -> Output {
    let profile = format!("--user-data-dir={}", scratch.0.join("profile").display());
    Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--proxy-server=127.0.0.1:9",
            "--enable-logging=stderr",
            "--v=0",
        ])
        .arg(profile)
        .args(flags)
        .arg(url)
        .output()
        .unwrap()
}

/// What the page wrote on the console: Chromium logs each line with this word.
fn console(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

/// The value of an attribute of the root element in a dumped page.
fn root_attribute(dom: &str, name: &str) -> Option<String> {
    let root = dom.split_once("<html")?.1.split_once('>')?.0;
    Some(root.split_once(&format!("{name}=\""))?.1.split_once('"')?.0.to_owned())
}

fn selftest(findings: &Findings, name: &str, charts: usize, flags: &[&str]) {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new(name);
    let url = scratch.page(findings) + "#selftest";
    let flags: Vec<&str> = flags.iter().copied().chain(["--dump-dom", "--window-size=1360,1000"]).collect();
    let output = run(browser, &scratch, &flags, &url);
    let dom = String::from_utf8_lossy(&output.stdout);
    assert_eq!(console(&output), Vec::<String>::new(), "the console is silent");
    assert_eq!(root_attribute(&dom, "data-charts"), Some(format!("drawn:{charts}")));
    assert_eq!(root_attribute(&dom, "data-selftest"), Some(format!("passed:{charts}")));
    assert_eq!(root_attribute(&dom, "data-errors").as_deref(), Some("0"));
    assert_eq!(root_attribute(&dom, "data-violation"), None, "nothing was tried that the policy forbids");
    assert_eq!(dom.matches("<img").count(), 0, "no name became an element");
}

#[test]
fn all_charts_are_drawn_and_react() {
    selftest(&busy(), "light", CHARTS, &[]);
}

#[test]
fn all_charts_are_drawn_in_the_dark() {
    selftest(&busy(), "dark", CHARTS, &["--blink-settings=preferredColorScheme=0"]);
}

#[test]
fn what_is_missing_leaves_no_hole() {
    let mut findings = busy();
    findings.heat_maps.clear();
    findings.series = Default::default();
    selftest(&findings, "no-time", 2, &[]);

    findings.groups.clear();
    findings.operations.clear();
    selftest(&findings, "nothing", 0, &[]);
}

#[test]
fn numbers_at_the_edge_are_drawn() {
    let mut findings = busy();
    // A first row that begins at nought, times of nought, one operation in all.
    findings.heat_maps.truncate(1);
    findings.heat_maps[0].edges_s[0] = 0.0;
    findings.heat_maps[0].cells = vec![(0, 0, 1)];
    findings.groups.truncate(1);
    findings.groups[0].percentiles[0].value_s = 0.0;
    selftest(&findings, "edge", CHARTS, &[]);
}

#[test]
fn without_scripts_the_pictures_stand() {
    let Some(browser) = browser() else { return };
    let scratch = Scratch::new("no-scripts");
    let output = run(browser, &scratch, &["--dump-dom"], &scratch.page_without_scripts(&busy()));
    let dom = String::from_utf8_lossy(&output.stdout);
    assert_eq!(root_attribute(&dom, "data-charts"), None);
    assert_eq!(dom.matches("<canvas").count(), 0);
    assert_eq!(dom.matches("<svg viewBox=\"0 0 960 280\"").count(), CHARTS);
}

#[test]
fn pictures_for_the_documentation() {
    let (Some(browser), Some(folder)) = (browser(), std::env::var_os("PLIMSOLL_SCREENSHOTS")) else { return };
    let folder = Path::new(&folder);
    let scratch = Scratch::new("pictures");
    let shot = |findings: &Findings, name: &str, size: &str, flags: &[&str]| {
        let plain = name.contains("no-scripts");
        let url = if plain { scratch.page_without_scripts(findings) } else { scratch.page(findings) };
        let kind = if name.ends_with(".pdf") { "--no-pdf-header-footer --print-to-pdf" } else { "--screenshot" };
        let target = format!("={}", folder.join(name).display());
        let mut all: Vec<String> = kind.split(' ').map(str::to_owned).collect();
        all.last_mut().unwrap().push_str(&target);
        all.push(format!("--window-size={size}"));
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        run(browser, &scratch, &all.iter().map(String::as_str).collect::<Vec<_>>(), &url);
        assert!(folder.join(name).exists(), "{name}");
    };
    std::fs::write(folder.join("report.html"), html::page(&busy()).unwrap()).unwrap();
    let dark = ["--blink-settings=preferredColorScheme=0"];
    shot(&busy(), "report-light.png", "1360,2600", &[]);
    shot(&busy(), "report-dark.png", "1360,2600", &dark);
    shot(&invalid(), "report-invalid-narrow.png", "600,1600", &[]);
    shot(&busy(), "report-no-scripts.png", "1360,2600", &[]);
    shot(&busy(), "report-print.pdf", "1360,2600", &dark);
}
