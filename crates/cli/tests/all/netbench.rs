//! The experiment of Swartz (1997) in a shortened form: a load file at several loads on two servers, throughput and response times
//! against clients, Appendix A's report of each data point, and all points of both servers on one page.

use std::fs;
use std::path::Path;

use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::output_in;

const GROUPS: [&str; 4] = ["Open/Close", "Other", "Read", "Write"];

/// Runs `plimsoll` in a folder, and returns its output. A busy machine may make a level INVALID.
fn plimsoll(folder: &Path, arguments: &[&str]) -> String {
    let ended = output_in(folder, arguments);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{arguments:?}: {said}");
    String::from_utf8(ended.stdout).unwrap()
}

/// Plays our own load file over and over with one and with two clients.
fn sweep(folder: &Path, target: &str, recording: &str) -> (String, Value) {
    let loadfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/tests/loadfiles/netbench.load");
    let text =
        format!("name = \"short\"\ndescription = \"a test\"\n[replay]\nloadfile = {:?}\n", loadfile.to_str().unwrap());
    fs::write(folder.join("short.toml"), text).unwrap();
    let load = ["--levels", "1,2", "--think", "5ms", "--warmup", "100ms", "--duration", "1200ms"];
    let outputs = ["--record", recording, "--json", "run.json", "--html", "run.html", "--full"];
    let said = plimsoll(folder, &[&["sweep", "short.toml", "--target", target][..], &load, &outputs].concat());
    (said, crate::only_side(&fs::read(folder.join("run.json")).unwrap()))
}

/// The lines of a report from one that begins with `from` on.
fn below<'a>(text: &'a str, from: &str) -> Vec<&'a str> {
    text.lines().skip_while(|line| !line.starts_with(from)).collect()
}

#[test]
fn a_load_file_against_clients_on_two_servers() {
    let scratch = Scratch::new("netbench");
    let folder = scratch.path();
    let (said, report) = sweep(folder, "embedded:smb", "smb");
    // Figures 2 and 3 as tables: data in both units, and each group's mean response time.
    let curve = below(&said, "Load curve (mean response time of each group");
    assert!(GROUPS.iter().chain(&["Mbit/s"]).all(|column| curve[2].contains(column)), "{said}");
    assert!(said.contains("MB/s"), "{said}");
    let page = fs::read_to_string(folder.join("run.html")).unwrap();
    for part in ["data-chart=\"load-data\"", "data-chart=\"load-groups\"", "Mbit/s", "load-groups-caption"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<details>").count(), 2, "a report a data point");

    let appendix = plimsoll(folder, &["report", "smb", "--appendix-a"]);
    let levels = report["levels"].as_array().unwrap();
    assert_eq!((levels.len(), appendix.matches("Response times per group").count()), (2, 2), "{appendix}");
    for level in levels {
        let load_name = level["load_name"].as_str().unwrap();
        let own = below(&appendix, &format!("* embedded:smb - {load_name} *"));
        let counted = own.iter().find(|line| line.starts_with("Requests:")).unwrap();
        assert!(counted.contains(&level["count"].to_string()), "{counted} {load_name}");
        for row in
            level["groups"].as_array().unwrap().iter().filter(|row| GROUPS.contains(&row["group"].as_str().unwrap()))
        {
            let name = row["group"].as_str().unwrap();
            let line = own.iter().skip_while(|line| !line.starts_with("Groups:")).find(|line| line.starts_with(name));
            let count = line.and_then(|line| line.split_whitespace().nth(1));
            assert_eq!(count, Some(row["count"].to_string().as_str()), "{name} of {load_name}");
        }
    }

    sweep(folder, "embedded:nfs", "nfs");
    let compact = plimsoll(folder, &["compare", "smb", "nfs", "--compact", "--html", "both.html"]);
    let table = below(&compact, "Level ");
    assert!(GROUPS.iter().chain(&["op/s", "MB/s", "Mbit/s"]).all(|column| table[0].contains(column)), "{compact}");
    // A wide row has its level on a line of its own.
    let rows = table[1..].iter();
    let sides = rows.filter_map(|row| row.split_whitespace().take(3).find(|word| ["A", "B"].contains(word)));
    let sides: Vec<&str> = sides.take(4).collect();
    assert_eq!(sides, ["A", "B", "A", "B"], "{compact}");
    let page = fs::read_to_string(folder.join("both.html")).unwrap();
    for part in ["data-chart=\"points-data\"", "data-chart=\"points-read\"", "class=\"points\""] {
        assert!(page.contains(part), "{part}");
    }
}
