//! `plimsoll gate BASELINE… -- run …`: a candidate that is measured now is judged as its recording would be.

use std::path::Path;
use std::time::Duration;

use plimsoll_testkit::servers::Scratch;

use crate::gate::{SHORT, decided, server};

use crate::output_in;

const CONDITION: [&str; 2] = ["--fail-if", "getattr.mean > +100%"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Recordings of three runs on a server.
fn baseline(folder: &Path, target: &str) {
    for name in ["monday", "tuesday", "wednesday"] {
        let run = [&["run", "getattr", "--target", target, "--record", name, "-q"][..], &SHORT].concat();
        let ended = output_in(folder, &run);
        // The machine may be too busy for valid numbers.
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", text(&ended.stderr));
    }
}

#[test]
fn a_candidate_measured_now_is_judged_as_its_recording_would_be() {
    let scratch = Scratch::new("gate-run");
    let [(_a, _old, old), (_b, _new, new)] = [1, 30].map(|ms| server(Duration::from_millis(ms)));
    baseline(scratch.path(), &old);
    let gate = [&["gate", "monday", "tuesday", "wednesday"][..], &CONDITION].concat();
    let run = [&["--", "run", "getattr", "--target", &new, "--record", "thursday"][..], &SHORT].concat();
    let measured = output_in(scratch.path(), &[&gate[..], &["--junit", "gate.xml"], &run].concat());
    let again = output_in(scratch.path(), &[&gate[..], &["--", "thursday"]].concat());
    let [first, second] = [&measured, &again].map(|ended| text(&ended.stdout));
    assert!(matches!(measured.status.code(), Some(1 | 4)), "{first}{}", text(&measured.stderr));
    assert_eq!((measured.status.code(), &first), (again.status.code(), &second));
    assert_eq!(decided(&String::from_utf8_lossy(&measured.stdout)).len(), 1, "{first}");
    assert!(first.contains(": 3 of the baseline, 1 of the candidate"), "{first}");
    assert!(first.contains("! The sides were not measured alternately (in the order A B B A)"), "{first}");
    if measured.status.code() == Some(1) {
        assert!(first.starts_with("FAILED: 1 of 1 condition, from recorded runs"), "{first}");
        assert!(first.contains("failed from 3 and 1 recordings"), "{first}");
        let junit = std::fs::read_to_string(scratch.path().join("gate.xml")).unwrap();
        assert!(junit.contains("failures=\"1\""), "{junit}");
    }
    // The baseline's own run again, on the same server. On a busy machine a millisecond may become three, but not fifty.
    let baseline = ["gate", "monday", "tuesday", "wednesday", "--fail-if", "getattr.mean > +5000%"];
    let again = ["--", "run", "--from", "monday", "--record", "friday"];
    let same = output_in(scratch.path(), &[&baseline[..], &again].concat());
    assert!(matches!(same.status.code(), Some(0 | 4)), "{}{}", text(&same.stdout), text(&same.stderr));
}

#[test]
fn another_load_or_load_generator_is_refused_before_anything_is_measured() {
    let scratch = Scratch::new("gate-run-refused");
    let (_embedded, _proxy, target) = server(Duration::from_millis(1));
    baseline(scratch.path(), &target);
    let recordings = ["monday", "tuesday", "wednesday"];
    let refused = |before: &[&str], after: &[&str]| {
        let run = ["--", "run", "getattr", "--target", &target, "--warmup", "20ms", "--duration", "200ms"];
        let all = [&["gate"][..], before, &CONDITION, &run, &["--clients", "2"], after].concat();
        let ended = output_in(scratch.path(), &all);
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(!scratch.path().join("today").exists(), "nothing was measured: {said}");
        said
    };
    let load = ["--think", "5ms", "--depth", "1"];
    let said = refused(&recordings, &["--record", "monday", "--overwrite"]);
    assert!(said.contains("the recording would replace the input"), "{said}");
    let recorded = [&load[..], &["--record", "today"]].concat();
    let said = refused(&recordings, &load);
    assert!(said.contains("-- run: add --record DIR"), "{said}");
    let said = refused(&recordings, &["--think", "6ms", "--depth", "1", "--record", "today"]);
    assert!(
        said.contains("monday: gate cannot measure a candidate against this baseline: at 2 clients its plan.load."),
        "{said}"
    );
    assert!(said.contains(" is 5000000, not 6000000; record the baseline again"), "{said}");
    let said = refused(&recordings, &[&recorded[..], &["--levels", "1,2,4"]].concat());
    assert!(said.contains("it has no level 1 client"), "{said}");
    let said = refused(&recordings, &[&recorded[..], &["--threads", "many"]].concat());
    assert!(said.contains("-- run: invalid value 'many' for '--threads"), "{said}");
    let said = refused(&[&recordings[..], &["--budget", "1m"]].concat(), &recorded);
    assert!(said.contains("--budget: without effect, because the command after `--` defines the load"), "{said}");
    let said = refused(&["nfs://server/export"], &recorded);
    assert!(said.contains("nfs://server/export: not a recording; give recordings of the baseline"), "{said}");
    let said = refused(&recordings, &[&recorded[..], &["--continue"]].concat());
    assert!(said.contains("--continue: gate measures the candidate from the start"), "{said}");
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/planted/healthy-samba.pcap.zst");
    let analyzed =
        output_in(scratch.path(), &["analyze", &capture.display().to_string(), "--record", "captured", "-q"]);
    assert!(analyzed.status.success(), "{}", text(&analyzed.stderr));
    let said = refused(&["monday", "captured"], &recorded);
    assert!(
        said.contains(
            "captured: gate cannot measure a candidate against this baseline: the baseline was made from captures"
        ),
        "{said}"
    );
    let manifest = scratch.path().join("tuesday/manifest.json");
    let mut kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&manifest).unwrap()).unwrap();
    kept["machine"]["kernel"] = "2.6.32".into();
    std::fs::write(&manifest, kept.to_string()).unwrap();
    let said = refused(&recordings, &recorded);
    assert!(
        said.contains("tuesday: gate cannot measure") && said.contains("kernel 2.6.32, this machine has"),
        "{said}"
    );
}
