//! `plimsoll anonymize`: the copy has the same numbers, and no name, address or data of the original.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_observe::capture::{Captures, Input};
use plimsoll_observe::packet::{self, Packet, ip_address};
use plimsoll_testkit::command::output;
use plimsoll_testkit::servers::Scratch;
use serde_json::Value;

use crate::output_of;

/// Columns that hold names, addresses, and numbers that are made from them.
const NAMES: [&str; 7] = ["client", "server", "share", "path", "user", "second_path", "file"];
/// Letters that make a name long enough not to occur by chance.
const LETTERS: usize = 6;
/// Words that the protocols have, and that are kept.
const WORDS: [&str; 15] = [
    "LANMAN", "MAILSLOT", "BROWSE", "NETLOGON", "SYSVOL", "SRVSVC", "WKSSVC", "LSARPC", "MDSSVC", "NTSVCS", "SVCCTL",
    "WINREG", "SPOOLSS", "NETDFS", "EVENTLOG",
];

/// Published captures of this many bytes or more are read only with `PLIMSOLL_EXACT=1`.
const LARGE: u64 = 4 << 20;

fn is_exact() -> bool {
    std::env::var_os("PLIMSOLL_EXACT").is_some()
}

/// The captures of the project. Without `PLIMSOLL_EXACT=1` only every fourth with a planted cause, because they resemble each other.
pub(crate) fn own_captures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut planted = captures_in(&[root.join("planted")]);
    // Its diagnosis is about DNS, of which a copy has nothing.
    planted.retain(|path| !path.ends_with("dead-dns.pcap.zst"));
    let step = if is_exact() { 1 } else { 4 };
    let others = captures_in(&["netbench-samba", "nfs-ganesha", "smb2-samba"].map(|name| root.join(name)));
    let captures: Vec<PathBuf> = planted.into_iter().step_by(step).chain(others).collect();
    assert!(captures.len() >= 10, "{captures:?}");
    captures
}

/// Published captures; none, with a printed reason, if they are missing.
pub(crate) fn shared_captures() -> Vec<PathBuf> {
    let Some(shared) = plimsoll_testkit::shared_captures() else { return Vec::new() };
    let mut captures = captures_in(&[shared]);
    captures.retain(|path| is_exact() || std::fs::metadata(path).unwrap().len() < LARGE);
    assert!(captures.len() >= 28, "{captures:?}");
    captures
}

fn captures_in(folders: &[PathBuf]) -> Vec<PathBuf> {
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    let is_capture = |path: &PathBuf| {
        let name = path.display().to_string();
        [".pcap", ".pcapng", ".cap", ".pcap.zst"].iter().any(|end| name.ends_with(end))
    };
    files.retain(is_capture);
    files.sort();
    files
}

/// Rows of a CSV file without line breaks in its fields.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let (mut row, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    rows
}

/// What `analyze` says of a capture: its exit code, the transactions, and the report.
fn analyzed(capture: &Path, scratch: &Path) -> (Option<i32>, Vec<Vec<String>>, Value) {
    let [table, report] = ["table.csv", "report.json"].map(|name| scratch.join(name));
    let [capture, table_name, report_name] = [capture, &table, &report].map(|path| path.to_str().unwrap());
    let flags = ["analyze", capture, "--quiet", "--transactions", table_name, "--json", report_name];
    let done = output_of(&flags);
    let text = std::fs::read_to_string(&table).unwrap_or_else(|_| panic!("{capture}: {done:?}"));
    (done.status.code(), rows(&text), serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap())
}

/// Names as numbers, in the order in which they come first; none stays none.
fn without_names(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut known: HashMap<(usize, String), usize> = HashMap::new();
    let is_name: Vec<bool> = rows[0].iter().map(|column| NAMES.contains(&column.as_str())).collect();
    let mut number = |(at, field): (usize, &String)| match is_name[at] && !field.is_empty() {
        true => {
            let next = known.len();
            known.entry((at, field.clone())).or_insert(next).to_string()
        }
        false => field.clone(),
    };
    let body = rows[1..].iter().map(|row| row.iter().enumerate().map(&mut number).collect());
    std::iter::once(rows[0].clone()).chain(body).collect()
}

/// Each number of a report with the place where it stands, lists in any order (names sort them). Estimates of re-use sample files by their
/// names: docs/io.md.
fn numbers(value: &Value, place: &str, found: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "working_set") {
                numbers(value, &format!("{place}.{name}"), found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| numbers(value, place, found)),
        Value::Number(_) | Value::Bool(_) => *found.entry(format!("{place} {value}")).or_default() += 1,
        Value::Null | Value::String(_) => {}
    }
}

/// The names in a table, as parts of paths.
fn names(rows: &[Vec<String>]) -> BTreeSet<String> {
    let text = |at: &usize| ["share", "path", "user", "second_path"].contains(&rows[0][*at].as_str());
    let columns: Vec<usize> = (0..rows[0].len()).filter(text).collect();
    let fields = rows[1..].iter().flat_map(|row| columns.iter().map(|at| row[*at].as_str()));
    // An unknown file has a number in brackets.
    let parts = fields.filter(|field| !field.starts_with('[')).flat_map(|field| field.split(['/', '\\']));
    // Extensions stay.
    let stems = parts.map(|part| part.rsplit_once('.').map_or(part, |(stem, _)| stem).to_owned());
    let letters = |stem: &String| stem.chars().filter(char::is_ascii_alphabetic).count() >= LETTERS;
    stems
        .filter(|stem| stem.is_ascii())
        .filter(letters)
        .filter(|stem| !WORDS.iter().any(|word| word.eq_ignore_ascii_case(stem)))
        .collect()
}

/// The addresses of all packets, but those that name no host.
fn addresses(capture: &Path) -> BTreeSet<IpAddr> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())]).unwrap();
    let mut found = BTreeSet::new();
    while let Some(frame) = captures.next().unwrap() {
        let ends = match packet::decode(frame.link, frame.captured, frame.original_len) {
            Packet::Tcp(path, _) | Packet::Udp(path, ..) => [path.source, path.destination],
            Packet::Fragment(fragment) => [fragment.piece.source, fragment.piece.destination],
            _ => continue,
        };
        found.extend(ends.map(ip_address));
    }
    found.retain(|ip| match ip {
        IpAddr::V4(ip) => ip.octets()[0] < 224 && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_multicast() && !ip.is_unspecified(),
    });
    found
}

/// The text in a file, in lower case: single-byte, and UTF-16 at even and odd offsets; other bytes become blanks.
struct Texts {
    texts: [String; 3],
    /// The sequences of four letters that occur.
    grams: Vec<bool>,
}

/// Letters that are looked up at once.
const GRAM: usize = 4;

fn gram(letters: &[u8]) -> Option<usize> {
    let number = |sum: usize, letter: &u8| letter.is_ascii_lowercase().then(|| sum * 26 + usize::from(letter - b'a'));
    letters.iter().try_fold(0, number)
}

impl Texts {
    fn of(bytes: &[u8]) -> Self {
        let letter = |byte: u8| char::from(if byte.is_ascii_graphic() { byte.to_ascii_lowercase() } else { b' ' });
        let wide = |bytes: &[u8]| {
            let units = bytes.chunks_exact(2);
            units.map(|unit| letter(if unit[1] == 0 { unit[0] } else { 0 })).collect()
        };
        let texts = [bytes.iter().map(|byte| letter(*byte)).collect::<String>(), wide(bytes), wide(&bytes[1..])];
        let mut grams = vec![false; 26_usize.pow(GRAM as u32)];
        for found in texts.iter().flat_map(|text| text.as_bytes().windows(GRAM)).filter_map(gram) {
            grams[found] = true;
        }
        Self { texts, grams }
    }

    fn hold(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let mut parts = name.as_bytes().windows(GRAM).filter_map(gram);
        parts.all(|part| self.grams[part]) && self.texts.iter().any(|text| text.contains(&name))
    }
}

#[test]
fn copies_have_the_same_numbers_and_no_name_or_address() {
    let names = searched(&own_captures(), "anonymize-own");
    assert!(names > 200, "{names} names");
}

#[test]
fn so_have_those_of_shared_captures() {
    let captures = shared_captures();
    let names = searched(&captures, "anonymize-shared");
    assert!(captures.is_empty() || names > 100, "{names} names");
}

/// Compares each capture with its copy; how many names were searched for.
fn searched(captures: &[PathBuf], name: &str) -> usize {
    let scratch = Scratch::new(name);
    let (folder, key) = (scratch.path(), scratch.path().join("key"));
    std::fs::write(&key, "a secret of enough bytes").unwrap();
    let copy = folder.join("copy.pcapng");
    let mut searched = 0;
    for capture in captures {
        let [from, to, key] = [capture, &copy, &key].map(|path| path.to_str().unwrap());
        let done = output_of(&["anonymize", from, to, "--key", key, "--quiet"]);
        assert!(done.status.success() && done.stdout.is_empty(), "{from}: {done:?}");
        let [(code, table, report), (copied_code, copied_table, copied_report)] =
            [capture, &copy].map(|path| analyzed(path, folder));
        assert_eq!(code, copied_code, "{from}");
        for (row, copied) in without_names(&table).iter().zip(without_names(&copied_table)) {
            assert_eq!(*row, copied, "{from}");
        }
        assert_eq!(table.len(), copied_table.len(), "{from}");
        let [mut found, mut copied] = [BTreeMap::new(), BTreeMap::new()];
        numbers(&report, "", &mut found);
        numbers(&copied_report, "", &mut copied);
        assert_eq!(found, copied, "{from}");
        let texts = Texts::of(&std::fs::read(&copy).unwrap());
        for name in names(&table) {
            searched += 1;
            assert!(!texts.hold(&name), "{from}: {name}");
        }
        let original = addresses(capture);
        let copied = addresses(&copy);
        let passed: Vec<_> = copied.intersection(&original).collect();
        assert!(passed.is_empty(), "{from}: {passed:?}");
        for address in original {
            let text = address.to_string();
            assert!(text.len() < LETTERS || !texts.hold(&text), "{from}: {text}");
        }
    }
    searched
}

/// tshark as a second opinion: all checksums are right. It reads all copies as one file, because it starts slowly. Without
/// `PLIMSOLL_EXACT=1`, only every second capture is copied.
#[test]
fn copies_have_right_checksums() {
    if Command::new("tshark").arg("-v").output().is_err() {
        return crate::skip("needs tshark");
    }
    let scratch = Scratch::new("anonymize-checksums");
    let step = if is_exact() { 1 } else { 2 };
    let mut originals: Vec<PathBuf> = own_captures().into_iter().chain(shared_captures()).step_by(step).collect();
    originals.retain(|path| std::fs::metadata(path).unwrap().len() < 1 << 20);
    let mut copies = Vec::new();
    for (number, capture) in originals.iter().enumerate() {
        let copy = scratch.path().join(format!("{number}.pcap"));
        let [from, to] = [capture, &copy].map(|path| path.to_str().unwrap());
        assert!(output_of(&["anonymize", from, to, "--quiet"]).status.success(), "{from}");
        copies.push(copy);
    }
    let all = scratch.path().join("all.pcapng");
    let merged = output(Command::new("mergecap").arg("-a").arg("-w").arg(&all).args(&copies));
    assert!(merged.status.success(), "{merged:?}");
    let wrong = wrong_checksums(&all);
    let of = |copy: &PathBuf| (!wrong.is_empty()).then(|| wrong_checksums(copy)).filter(|wrong| !wrong.is_empty());
    let found: Vec<_> = originals.iter().zip(&copies).filter_map(|(from, copy)| Some((from, of(copy)?))).collect();
    assert!(wrong.is_empty(), "frames {wrong} of all copies: {found:?}");
}

/// The numbers of the frames in which tshark finds a wrong checksum.
fn wrong_checksums(capture: &Path) -> String {
    let mut tshark = Command::new("tshark");
    for check in ["ip", "tcp", "udp"] {
        tshark.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    let wrong = "ip.checksum.status==0 || tcp.checksum.status==0 || udp.checksum.status==0";
    let found = output(tshark.arg("-r").arg(capture).args(["-Y", wrong, "-T", "fields", "-e", "frame.number"]));
    assert!(found.status.success(), "{}: {}", capture.display(), String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap()
}

#[test]
fn the_same_key_makes_the_same_copy_and_no_key_another_each_time() {
    let scratch = Scratch::new("anonymize-keys");
    let file = |name: &str| scratch.path().join(name).display().to_string();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/smb2-samba/capture.pcap.zst");
    std::fs::write(file("key"), [7; 16]).unwrap();
    let copied = |name: &str, flags: &[&str]| {
        let to = file(name);
        let done = output_of(&[&["anonymize", capture.to_str().unwrap(), &to], flags].concat());
        assert!(done.status.success(), "{done:?}");
        (std::fs::read(&to).unwrap(), String::from_utf8(done.stdout).unwrap())
    };
    let key = file("key");
    let (with_key, said) = copied("a", &["--key", &key]);
    assert!(said.contains(" packets. Messages of SMB 2 and 3: "), "{said}");
    assert_eq!(with_key, copied("b", &["--key", &key]).0);
    let [drawn, other] = ["c", "d"].map(|name| copied(name, &[]).0);
    assert!(drawn != other && drawn != with_key && drawn.len() == with_key.len());
}

#[test]
fn what_cannot_be_copied_is_refused() {
    let scratch = Scratch::new("anonymize-refused");
    let file = |name: &str| scratch.path().join(name).display().to_string();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/smb2-samba/capture.pcap.zst");
    let capture = capture.to_str().unwrap();
    std::fs::write(file("short"), "too short").unwrap();
    std::fs::write(file("text"), "no capture at all, by its first bytes").unwrap();
    let refused = |arguments: &[&str], code: i32, why: &str| {
        let done = output_of(&[&["anonymize"], arguments].concat());
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(code) && said.contains(why), "{arguments:?}: {said}");
    };
    refused(&["-", &file("out")], 2, "anonymize reads the capture twice, so the input must be a regular file");
    refused(&[capture, "-"], 2, "-: anonymize writes the copy to a file");
    assert!(!Path::new("-").exists(), "no file of this name is written");
    refused(&[capture, &file("out"), "--key", &file("short")], 2, "expected at least 16 bytes");
    refused(&[capture, &file("out"), "--key", &file("none")], 3, "cannot read");
    refused(&[capture, capture], 2, "the output would change the input");
    let said = output_of(&["anonymize", &file("text"), &file("out")]).stderr;
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("text: unknown capture format") && !said.contains("free some space"), "{said}");
    refused(&[&file("text"), &file("out")], 3, "");
    refused(&[&file("none"), &file("out")], 3, "");
    assert!(!Path::new(&file("out")).exists(), "nothing is left of a failure");
}

#[test]
fn the_copy_of_a_cut_capture_is_cut_too() {
    let scratch = Scratch::new("anonymize-cut");
    let file = |name: &str| scratch.path().join(name).display().to_string();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/smb2-samba/capture.pcap.zst");
    let whole = std::fs::read(capture).unwrap();
    std::fs::write(file("cut.pcap.zst"), &whole[..whole.len() / 2]).unwrap();
    let done = output_of(&["anonymize", &file("cut.pcap.zst"), &file("out.pcap")]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.contains("cut.pcap.zst: damaged after packet "), "{said}");
    let reasons = |name: &str| {
        let (code, _, report) = analyzed(Path::new(&file(name)), scratch.path());
        assert_eq!(code, Some(0));
        report["sides"][0]["validity"].clone()
    };
    let original = reasons("cut.pcap.zst");
    assert_eq!(original["verdict"], "partial");
    assert_eq!(reasons("out.pcap"), original);
}
