//! Captures as points of load curves: `plimsoll compare NAME@LOAD=FILE …`.

use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::{alone, output_of};

#[test]
fn captures_are_points_of_curves_as_load_levels_of_runs_are() {
    let _alone = alone();
    let scratch = Scratch::new("points");
    let file = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let mut points = Vec::new();
    for (name, clients) in [("old", "1"), ("old", "2"), ("old", "4"), ("new", "1"), ("new", "2"), ("new", "4")] {
        let capture = file(&format!("{name}{clients}.pcapng"));
        let mut run = vec!["run", "mixed", "--target", "embedded:smb", "--clients", clients, "--duration", "600ms"];
        // Each capture is read a dozen times.
        run.extend(["--warmup", "0s", "--think", "2ms", "--tap", &capture, "-q"]);
        let ran = output_of(&run);
        // The machine may be too busy for a valid run, but its capture is usable.
        assert!(matches!(ran.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ran.stderr));
        points.push(format!("{name}@{clients}={capture}"));
    }
    let mut compare = vec!["compare"];
    compare.extend(points.iter().map(String::as_str));
    let json = [&compare[..], &["--json", "-", "-q"]].concat();
    let compared = output_of(&json);
    assert_eq!(compared.status.code(), Some(0), "{}", String::from_utf8_lossy(&compared.stderr));
    let report: Value = serde_json::from_slice(&compared.stdout).unwrap();
    crate::held_to_schema(&report);
    // Such short captures may have no ranking.
    let stability = &report["comparison"]["ranking"]["stability"];
    assert!(stability.as_array().is_none_or(Vec::is_empty), "captures show no outages: {stability:#}");
    for (side, name) in report["sides"].as_array().unwrap().iter().zip(["old", "new"]) {
        assert_eq!((&side["name"], &side["kind"]), (&name.into(), &"capture".into()));
        let levels: Vec<&Value> = side["levels"].as_array().unwrap().iter().map(|level| &level["load_name"]).collect();
        assert_eq!(levels, ["1 client", "2 clients", "4 clients"]);
        let loads: Vec<f64> = side["curves"][0]["points"]
            .as_array()
            .unwrap()
            .iter()
            .map(|point| point["load"].as_f64().unwrap())
            .collect();
        assert_eq!(loads, [1.0, 2.0, 4.0]);
        for level in side["levels"].as_array().unwrap() {
            let mut unknown =
                "depth outstanding iterations_per_s generator fairness spread silence short_reads".split(' ');
            assert!(unknown.all(|name| level.get(name).is_some_and(Value::is_null)), "{level:#}");
        }
        // Each point is what `analyze` says of its capture.
        for (level, clients) in side["levels"].as_array().unwrap().iter().zip(["1", "2", "4"]) {
            let alone = output_of(&["analyze", &file(&format!("{name}{clients}.pcapng")), "--json", "-", "-q"]);
            let alone = crate::only_side(&alone.stdout);
            assert_eq!((&level["groups"], &level["span"]), (&alone["groups"], &alone["span"]), "{name}@{clients}");
        }
    }
    let utc = output_of(&[&compare[..], &["--utc", "--json", "-", "-q"]].concat());
    let utc: Value = serde_json::from_slice(&utc.stdout).unwrap();
    for side in utc["sides"].as_array().unwrap() {
        assert_eq!(side["source"]["options"], serde_json::json!(["--utc"]), "{}", side["name"]);
    }
    let run = output_of(&[&compare[..], &["--section", "run"]].concat());
    let run = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.contains("Load levels of captures"), "{run}");
    let compact = output_of(&[&compare[..], &["--compact"]].concat());
    let compact = String::from_utf8_lossy(&compact.stdout).into_owned();
    assert!(compact.contains("4 clients") && compact.contains("Mbit/s"), "{compact}");
    let page = file("page.html");
    assert_eq!(output_of(&[&compare[..], &["--html", &page, "-q"]].concat()).status.code(), Some(0));
    assert!(std::fs::read_to_string(&page).unwrap().contains("4 clients"));
}

#[test]
fn bad_points_are_errors_that_say_why() {
    for (arguments, code, why) in [
        (vec!["a@1=missing-1.pcap", "b@1=missing-2.pcap"], 3, "missing-1.pcap"),
        (vec!["a@1=x.pcap", "a@1=y.pcap", "b@1=z.pcap"], 2, "a@1: given twice"),
        (vec!["a@1=x.pcap", "y.pcap"], 2, "expected NAME@LOAD=FILE, as for the other inputs"),
        (vec!["a@x=x.pcap", "b@1=y.pcap"], 2, "expected NAME@LOAD=FILE"),
    ] {
        let compared = output_of(&[&["compare"], &arguments[..]].concat());
        let said = String::from_utf8_lossy(&compared.stderr).into_owned();
        assert_eq!((compared.status.code(), said.contains(why)), (Some(code), true), "{arguments:?}: {said}");
        assert_eq!(said.trim_end().lines().count(), 1, "{said}");
    }
}
