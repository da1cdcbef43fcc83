//! Home folders: their mix on the wire, users with schedules, and unsupported targets.

use std::process::Output;

use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::{Samba, Scratch, Share};
use serde_json::Value;

use crate::{available, instant, report_of};

fn plimsoll(arguments: &[&str]) -> Output {
    output(crate::plimsoll().args(arguments).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

/// The report on standard output.
fn report(arguments: &[&str]) -> Value {
    report_of(crate::plimsoll().args(arguments).env("PLIMSOLL_PASSWORD", Samba::PASSWORD))
}

/// Requests of these procedures, % of all.
fn share(wire: &Value, names: &[&str]) -> f64 {
    let (mut all, mut some) = (0.0, 0.0);
    for row in wire["operations"].as_array().unwrap() {
        let count = row["count"].as_f64().unwrap();
        // A subcommand's requests stand in its command's row too.
        all += if row["parent"].is_null() { count } else { 0.0 };
        some += if names.contains(&row["procedure"].as_str().unwrap()) { count } else { 0.0 };
    }
    100.0 * some / all
}

/// A table: its names of requests, their names on the wire, their share in %.
type Table = [(&'static str, &'static [&'static str], f64)];

const OF_2025: &Table = &[
    ("Create", &["CREATE"], 22.0),
    ("Close", &["CLOSE"], 19.0),
    ("Read", &["READ"], 14.0),
    ("QueryInfo", &["QUERY_INFO"], 13.0),
    ("QueryDirectory", &["QUERY_DIRECTORY"], 10.0),
    ("Write", &["WRITE"], 7.0),
    ("Ioctl", &["IOCTL"], 4.0),
    ("SessionSetup", &["SESSION_SETUP"], 3.0),
    ("TreeConnect", &["TREE_CONNECT"], 2.0),
];

const OF_2008: &Table = &[
    ("Create", &["CREATE"], 24.0),
    ("Close", &["CLOSE"], 20.0),
    ("Ioctl", &["IOCTL", "QUERY_INFO FILESYSTEM"], 19.0),
    ("TreeConnect", &["TREE_CONNECT", "TREE_DISCONNECT"], 13.0),
    ("Read", &["READ"], 7.0),
    ("Write", &["WRITE"], 5.0),
    ("Find", &["QUERY_DIRECTORY"], 4.0),
];

/// Iterations of a run that ended.
fn iterations(ran: &Value) -> u64 {
    let rows = ran["levels"][0]["iterations"].as_array().unwrap().iter();
    rows.map(|kind| kind["ended"].as_u64().unwrap()).sum()
}

/// Runs a workload with a few users who start often, and holds what went over the wire in the measured phase, as `analyze`
/// counts it in a tap, to its table: within a point.
fn measured(workload: &str, table: &Table) -> Option<Value> {
    let samba = crate::samba(&[])?;
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let scratch = Scratch::new("home-folders");
    let tap = scratch.path().join("tap.pcapng");
    let tap = tap.to_str().unwrap();
    let load = ["--users", "24", "--every", "1s", "--warmup", "1s", "--duration", "20s", "--timeout", "60s"];
    let more = ["--json", "-", "-q", "--tap", tap, "--remove-files"];
    let run = || report(&[&["run", workload, "--target", &target][..], &load, &more].concat());
    // After a stall at its end, a run has too few iterations for the table.
    let ran = std::iter::repeat_with(run).take(3).find(|ran| iterations(ran) > 400);
    let Some(ran) = ran else { panic!("of 480 iterations not even 400 end, three times") };
    let level = &ran["levels"][0];
    assert_eq!(level["failures"].as_array().map(Vec::len), Some(0), "{}", level["failures"]);
    let users = &level["users"];
    assert_eq!((&users["users"], &users["due"], &users["failed"]), (&24.into(), &480.into(), &0.into()), "{users}");
    let [from, to] = ["first_ns", "last_ns"].map(|end| instant(&level["span"][end]));
    let wire = report(&["analyze", tap, "--from", &from, "--to", &to, "--json", "-", "-q"]);
    let seen: Vec<_> =
        table.iter().map(|(name, procedures, wanted)| (name, share(&wire, procedures), wanted)).collect();
    // A download of 6 MiB is 96 reads of 2008: so few downloads have another share of them than many.
    let most = |name: &str| if (workload, name) == ("home-folders-2008", "Read") { 2.0 } else { 1.0 };
    let far = |(name, seen, wanted): &&(&&str, f64, &f64)| (seen - *wanted).abs() > most(name);
    assert_eq!(seen.iter().find(far), None, "{workload}: {seen:?}");
    Some(wire)
}

/// Mean data of a request that was answered, kB at full size.
fn mean_kb(wire: &Value, procedure: &str) -> f64 {
    let row = wire["operations"].as_array().unwrap().iter().find(|row| row["procedure"] == procedure).unwrap();
    row["payload_bytes"].as_f64().unwrap() / row["answered"].as_f64().unwrap() / SCALE / 1e3
}

/// The default scale of file sizes.
const SCALE: f64 = 0.02;

#[test]
fn the_mix_on_the_wire_is_that_of_the_table() {
    let _ = measured("home-folders", OF_2025);
}

#[test]
fn the_mix_of_2008_on_the_wire_is_that_of_its_table() {
    let Some(wire) = measured("home-folders-2008", OF_2008) else { return };
    // McKee and Eswaraprasad: reads of about 40 K on average, writes of about 61 K.
    let (read, write) = (mean_kb(&wire, "READ"), mean_kb(&wire, "WRITE"));
    assert!((36.0..45.0).contains(&read) && (57.0..66.0).contains(&write), "read {read} kB, write {write} kB");
}

/// Sizes of files and requests follow the parameter.
#[test]
fn the_scale_is_a_parameter() {
    let load = ["--users", "1", "--every", "100ms", "--warmup", "0s", "--duration", "1s", "--target", "embedded:smb"];
    let written = |scale: &str| {
        let ran = report(&[&["run", "home-folders-2008", "--json", "-", "-q", "--set", scale][..], &load].concat());
        // One user: its data are those of all.
        let number = |name: &str| ran["levels"][0][name].as_f64().unwrap();
        let all = number("read_bytes_per_s") + number("write_bytes_per_s");
        assert_eq!(ran["levels"][0]["users"]["bytes_per_s"].as_f64(), Some(all));
        let parameters = ran["run"]["parameters"].as_array().unwrap().clone();
        let shown = parameters.iter().find(|one| one["name"] == "scale").unwrap()["value"].clone();
        let sizes: Vec<u64> = ran["levels"][0]["operations"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["procedure"] == "WRITE")
            .map(|row| row["payload_bytes"].as_u64().unwrap() / row["answered"].as_u64().unwrap())
            .collect();
        (shown, sizes[0])
    };
    let ((small, few), (whole, many)) = (written("scale=0.1"), written("scale=1"));
    assert_eq!((small, whole), ("0.1".into(), "1".into()));
    assert!(few <= 6_554 && many > few && many <= 65_536, "{few} and {many} bytes a write");
}

/// The same scenarios with and without leases: cached attributes are not requested, and no action fails because of it.
#[test]
fn leases_spare_requests() {
    let Some(samba) = available(Samba::start(&[])) else { return };
    let target = format!("smb://{}@{}/{}", Samba::USER, samba.address(), Share::Data.name());
    let ran = |caching: &str| {
        let caching = format!("caching={caching}");
        let load = ["--users", "6", "--every", "500ms", "--warmup", "0s", "--duration", "5s", "--timeout", "60s"];
        let fixed = ["run", "home-folders", "--target", &target, "--set", &caching, "--json", "-", "-q"];
        let level = report(&[&fixed[..], &load].concat())["levels"][0].clone();
        assert_eq!(
            (&level["users"]["failed"], level["failures"].as_array().map(Vec::len)),
            (&0.into(), Some(0)),
            "{level}"
        );
        (level["generator"]["requests_avoided"].as_u64().unwrap(), share(&level, &["QUERY_INFO"]))
    };
    let (none, kept) = (ran("none"), ran("lease-cached"));
    assert_eq!(none.0, 0);
    assert!(kept.0 > 0 && kept.1 < none.1 - 1.0, "{kept:?} beside {none:?}");
}

#[test]
fn what_needs_smb_or_a_connection_alone_says_so() {
    let refused = |more: &[&str], wanted: &str| {
        let output = plimsoll(&[&["run", "home-folders", "--users", "2", "--every", "1s"][..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{said}");
    };
    refused(&["--target", "embedded:nfs"], "uses the SMB-only step `");
    refused(&["--target", "file:///tmp"], "uses the SMB-only step `");
    refused(&["--target", "embedded:smb", "--depth", "2"], "use one connection per client");
    refused(&["--target", "embedded:smb", "--clients-per-connection", "2"], "use one connection per client");
}

/// Iterations of 300 ms, one due every 100 ms: on any machine every one is late. A user's first one is late because it takes too long,
/// later ones because the previous one did.
#[test]
fn users_who_cannot_keep_their_schedules_are_an_overload() {
    let scratch = Scratch::new("overload");
    let file = scratch.path().join("slow.toml");
    let text = "name = \"slow\"\ndescription = \"\"\n[files]\ncount = 4\ndirectories = 0\ndepth = 1\nsize = \"1KiB\"\n\
                [[iterations]]\nname = \"a long look\"\non = \"file\"\nsteps = [\"getattr\", { think = \"300ms\" }, \"getattr\"]\n";
    std::fs::write(&file, text).unwrap();
    let load = ["--users", "2", "--every", "100ms", "--warmup", "0s", "--duration", "1s", "--target", "embedded:nfs"];
    let run = |more: &[&str]| plimsoll(&[&["run", file.to_str().unwrap()][..], &load, more].concat());
    let ran = run(&["--json", "-", "-q"]);
    let ran = crate::only_side(&ran.stdout);
    let (users, kind) = (&ran["levels"][0]["users"], &ran["levels"][0]["iterations"][0]);
    assert_eq!(
        (&users["users"], &users["due"], &users["late"], &users["failed"]),
        (&2.into(), &20.into(), &20.into(), &0.into())
    );
    assert_eq!((users["overload"].as_f64(), kind["name"].as_str()), (Some(1.0), Some("a long look")));
    assert_eq!((kind["late"].as_u64(), kind["late_from_before"].as_u64()), (Some(20), Some(18)), "{kind}");
    // Ten consecutive iterations of each user.
    assert!(users["duration_s"].as_f64() >= Some(3.0), "{users}");
    assert!(kind["overrun_max_s"].as_f64() >= kind["overrun_mean_s"].as_f64() && kind["mean_s"].as_f64() >= Some(0.3));
    let shown = String::from_utf8(run(&["--full"]).stdout).unwrap();
    let table = ["Users  Overload  Iterations/s  Failed  Failed [%]  Duration [ms]", "100.0%", "a long look"];
    assert!(table.iter().all(|part| shown.contains(part)), "{shown}");
}

/// Each client logs on before the measured phase and off after it; these requests are in no other number.
#[test]
fn logons_outside_of_the_phase_are_numbers_of_their_own() {
    let load = ["--clients", "3", "--warmup", "0s", "--duration", "300ms", "--target", "embedded:smb"];
    let ran = report(&[&["run", "getattr", "--json", "-", "-q"][..], &load].concat());
    let level = &ran["levels"][0];
    let requests = level["session_requests"].as_array().unwrap();
    let of = |name: &str, phase: &str| {
        let row = requests.iter().find(|row| row["procedure"] == name).unwrap();
        assert_eq!((&row[phase]["errors"], &row[phase]["unanswered"]), (&0.into(), &0.into()), "{row}");
        row[phase]["requests"].as_u64().unwrap()
    };
    let counts =
        [of("NEGOTIATE", "before"), of("SESSION_SETUP", "before"), of("TREE_CONNECT", "before"), of("LOGOFF", "after")];
    assert_eq!(counts, [3, 6, 3, 3], "{requests:?}");
    assert_eq!([of("SESSION_SETUP", "after"), of("LOGOFF", "before")], [0, 0]);
    let measured = level["operations"].as_array().unwrap();
    assert!(measured.iter().all(|row| row["group"] != "Session"), "{measured:?}");
}
