//! On the captures in the shared folder, the set of pairs equals that of an independent oracle (tshark dissects, a script pairs), except
//! for the differences explained in `oracle/differences.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_model::{Protocol, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Input};
use plimsoll_testkit::{shared_captures, skip, workspace};

/// Captures cut short by a snaplen: tshark cannot put their messages together, so it names the frame of a
/// response's header where we know the frame that completed it.
const CUT_SHORT: &[&str] = &["nfs3-snaplen96-stalls.cap"];

/// Without `PLIMSOLL_EXACT=1` only these captures are read: those with differences or cut short, and one of each protocol; none is larger
/// than 4 MiB.
const SOME: [&str; 14] = [
    "nfs2-big-endian-pcap.pcap",
    "nfs3-acl.cap",
    "nfs3-snaplen96-stalls.cap",
    "nfs3-udp-duplicates.pcap",
    "nfs41-small.pcap",
    "smb1-andx-chains.pcap",
    "smb1-osx.pcap",
    "smb1-vlan-files.pcap",
    "smb2-async-read.pcap",
    "smb2-compound-delete.pcap",
    "smb2-compounds-loopback-linktype.pcap",
    "smb2-mixed.pcap",
    "smb2-one-packet-lost.pcap",
    "smb3-encrypted-midstream.pcap",
];

/// protocol family, id, frame that completed the request, frame that completed the response.
type Pair = (String, String, u64, u64);

/// A transaction as a pair, with the frame of the response's header instead of that which completed it where `to_header`.
fn pair(transaction: &Transaction, to_header: bool) -> Option<Pair> {
    let (family, id) = match transaction.procedure.row().protocol {
        Protocol::Smb1 => {
            let id = transaction.id.unwrap_or_default();
            ("smb1", format!("{}:{}", id >> 16, id & 0xffff))
        }
        Protocol::Smb2 => ("smb2", transaction.id.unwrap_or_default().to_string()),
        // NFSv4 operations have separate rows besides their compound's; the oracle knows only compounds.
        Protocol::Nfs4 | Protocol::Nfs4Callback if transaction.compound_position.is_some() => return None,
        _ => ("rpc", format!("0x{:08x}", transaction.id.unwrap_or_default())),
    };
    let frames = &transaction.frames;
    let response = if to_header { frames.response_first } else { frames.response_last };
    Some((family.to_owned(), id, frames.request_last?.get(), response?.get()))
}

fn observed(capture: &Path, to_header: bool) -> Vec<Pair> {
    let mut captures = Captures::open(vec![Input::File(capture.to_owned())]).expect("the capture opens");
    let mut observer = Observer::new(Vec::new());
    while let Some(frame) = captures.next().expect("the capture reads") {
        observer.frame(&frame);
    }
    let transactions = observer.finish().sink;
    let mut pairs: Vec<Pair> = transactions.iter().filter_map(|transaction| pair(transaction, to_header)).collect();
    pairs.sort();
    pairs
}

fn oracle(tool: &Path, capture: &Path) -> Vec<Pair> {
    let out = Command::new("python3").arg(tool).arg(capture).output().expect("the oracle starts");
    assert!(out.status.success(), "oracle: {}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("the oracle prints text");
    let mut pairs: Vec<Pair> = text
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let frame = |at: usize| fields[at].parse().expect("a frame number");
            (fields[0].to_owned(), fields[2].to_owned(), frame(4), frame(5))
        })
        .collect();
    pairs.sort();
    pairs
}

fn has_tshark() -> bool {
    Command::new("tshark").arg("--version").output().is_ok_and(|out| out.status.success())
}

#[test]
fn pairs_equal_the_oracles() {
    let Some(captures) = shared_captures() else { return };
    let tool = workspace().join("../shared/tools/tshark-oracle");
    if !has_tshark() {
        skip("needs tshark");
        return;
    }
    let files = some_of(&captures);
    let explained = explained(&files);
    let mut unexplained = Vec::new();
    for (name, file) in &files {
        let (ours, theirs) = (observed(file, CUT_SHORT.contains(&name.as_str())), oracle(&tool, file));
        let (our_set, their_set): (BTreeSet<_>, BTreeSet<_>) = (ours.iter().collect(), theirs.iter().collect());
        println!("{name}: {} pairs here, {} there", ours.len(), theirs.len());
        for pair in our_set.difference(&their_set) {
            unexplained.push(difference(name, "here", pair));
        }
        for pair in their_set.difference(&our_set) {
            unexplained.push(difference(name, "there", pair));
        }
    }
    let found: BTreeSet<String> = unexplained.into_iter().collect();
    let surprises: Vec<&String> = found.symmetric_difference(&explained).collect();
    for line in &surprises {
        println!("{line}");
    }
    assert!(
        surprises.is_empty(),
        "{} differences that the table does not explain, or no longer there",
        surprises.len()
    );
}

/// The names and places of the captures to read.
fn some_of(folder: &Path) -> BTreeMap<String, PathBuf> {
    let is_exact = std::env::var_os("PLIMSOLL_EXACT").is_some();
    let entries = std::fs::read_dir(folder).expect("the folder reads").map(|entry| entry.expect("an entry"));
    let named = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    let files: BTreeMap<String, PathBuf> =
        named.filter(|(name, _)| !name.ends_with(".md") && (is_exact || SOME.contains(&name.as_str()))).collect();
    let least = if is_exact { 30 } else { SOME.len() };
    assert!(files.len() >= least, "{files:?}");
    files
}

fn difference(capture: &str, side: &str, (protocol, id, request, response): &Pair) -> String {
    format!("{capture},{side},{protocol},{id},{request},{response}")
}

/// The table of differences of these captures, without their reasons.
fn explained(files: &BTreeMap<String, PathBuf>) -> BTreeSet<String> {
    let table = include_str!("../oracle/differences.csv");
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    let rows = rows.filter(|line| line.split(',').next().is_some_and(|capture| files.contains_key(capture)));
    rows.map(|line| line.splitn(7, ',').take(6).collect::<Vec<_>>().join(",")).collect()
}
