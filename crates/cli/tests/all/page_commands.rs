//! The command that a page shows beside its filters gives the numbers that the page shows. Needs Chromium.

use std::process::Command;

use plimsoll_testkit::browser::Browser;
use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::workspace;
use serde_json::{Value, json};

/// Runs a command line as a shell would.
fn shell(line: &str) -> Vec<u8> {
    let line = line.replacen("plimsoll", env!("CARGO_BIN_EXE_plimsoll"), 1);
    let output = output(Command::new("sh").args(["-c", &line]).current_dir(workspace()));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The page's numbers for all requests that its filters select.
fn shown(browser: &mut Browser) -> Value {
    browser.value(
        "Object.fromEntries(Array.from(document.querySelectorAll('[data-part=total] [data-number]')).map(e => \
         [e.dataset.number, Number(e.querySelector('data').value)]))",
    )
}

/// Sums over the operations of a report; of one alone its response times, too.
fn compare(shown: &Value, side: &Value, error: f64, line: &str) {
    let rows: Vec<&Value> =
        side["operations"].as_array().unwrap().iter().filter(|row| row["parent"].is_null()).collect();
    let sum = |number: &str| -> f64 { rows.iter().map(|row| row[number].as_f64().unwrap()).sum() };
    assert!(sum("count") > 0.0, "{line}");
    for (name, exact) in [("count", sum("count")), ("errors", sum("errors")), ("bytes", sum("payload_bytes"))] {
        assert_eq!(shown[name], exact, "{name} of {line}");
    }
    assert!((shown["waited"].as_f64().unwrap() / 1e9 - sum("waited_s")).abs() < 1e-9, "{line}");
    let longest = rows.iter().filter_map(|row| row["response_time"]["max_s"].as_f64()).fold(0.0, f64::max);
    assert_eq!(shown["max"].as_f64().unwrap() / 1e9, longest, "{line}");
    if let [row] = rows[..] {
        for (name, field) in [("p50", "p50_s"), ("p95", "p95_s"), ("p99", "p99_s")] {
            let (found, exact) = (shown[name].as_f64().unwrap() / 1e9, row["response_time"][field].as_f64().unwrap());
            assert!((found / exact - 1.0).abs() <= error + 2e-3, "{name} {found} for {exact}: {line}");
        }
    }
}

/// Opens the page of a capture, and compares it with the output of its command after each of `steps`.
fn follow(name: &str, capture: &str, steps: &[&str]) {
    let Some(mut browser) = Browser::start(name) else { return };
    let scratch = Scratch::new(name);
    let page = scratch.path().join("page.html");
    shell(&format!("plimsoll analyze {capture} --quiet --html {}", page.display()));
    browser.open(&std::fs::read_to_string(&page).unwrap());
    let error = browser.value("cube.about.error").as_f64().unwrap();
    for step in steps {
        match step.split_once('=') {
            Some((table, key)) => browser.click(&format!(
                "Array.from(document.querySelectorAll('[data-part=table-{table}] button')).find(b => b.dataset.key === {})",
                json!(key)
            )),
            None => {
                let (x, y) = browser.middle("document.querySelector('[data-part=heat] canvas')");
                browser.drag((x - 200.0, y), (x + 250.0, y));
            }
        }
        browser.next_frame();
        let line = browser.value("document.querySelector('[data-part=command] code').textContent");
        let line = format!("{} --quiet --json -", line.as_str().unwrap());
        compare(&shown(&mut browser), &crate::only_side(&shell(&line)), error, &line);
    }
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn of_an_smb1_capture() {
    follow(
        "page-smb1",
        "captures/netbench-samba/capture.pcap.zst",
        &["operation=remove", "status=STATUS_SHARING_VIOLATION", "client=10.77.0.103", "time"],
    );
}

#[test]
fn of_shares() {
    follow(
        "page-shares",
        "captures/netbench-samba/capture.pcap.zst",
        &[r"share=\\10.77.0.1\STATION3", "operation=write"],
    );
}

#[test]
fn of_an_nfs_capture() {
    follow("page-nfs", "captures/nfs-ganesha/capture.pcap.zst", &["operation=read", "time", "status=NFS3_OK"]);
}
