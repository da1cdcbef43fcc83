//! Writes the first inputs of the targets that read answers into `corpus/`: `cargo run --example answers`.
//!
//! SMB2 answers and logons come from our own capture of Samba, one of each command and status; the results of NFS
//! procedures are put together here.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_fuzz::STATUSES;
use plimsoll_testkit::rpc;
use plimsoll_wire::smb2::compound::Members;
use plimsoll_wire::smb2::{Command, header, session_setup};

type Written = std::io::Result<()>;

fn main() -> Written {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let capture = std::fs::read(root.join("captures/smb2-samba/capture.pcap.zst"))?;
    smb2(&zstd::stream::decode_all(capture.as_slice())?)?;
    nfs()
}

fn save(target: &str, name: &str, bytes: &[u8]) -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)
}

/// The answers that lie in one segment each, of a pcap of Ethernet frames.
fn smb2(capture: &[u8]) -> Written {
    let (mut seen, mut tokens) = (BTreeSet::new(), Vec::new());
    let mut rest = capture.get(24..).unwrap_or_default();
    while let Some((record, tail)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes([record[8], record[9], record[10], record[11]]) as usize;
        let (frame, tail) = tail.split_at(length.min(tail.len()));
        rest = tail;
        let Some(message) = frame.windows(4).position(|four| four == header::MAGIC).and_then(|at| frame.get(at..))
        else {
            continue;
        };
        for member in Members::new(message, message.len()) {
            let Some(status) = member.header.status() else { continue };
            let how = STATUSES.iter().position(|one| *one == status).unwrap_or(4) as u8;
            let command = member.header.command();
            tokens.extend(session_setup::Response::new(member.bytes).and_then(|view| view.security_buffer()));
            if seen.insert((command.code(), how)) {
                let (info_type, class) = match command {
                    Command::QueryDirectory => (0, 37),
                    _ => (1, 18),
                };
                let controls = [command.code() as u8, how, info_type, class, 0];
                let bytes = [&controls[..], member.header.body()].concat();
                save("smb2_answers", &format!("{:02}-{how}", command.code()), &bytes)?;
            }
        }
    }
    let logon = |tokens: &[&[u8]]| {
        let lengths = tokens.iter().map(|token| [&(token.len() as u16).to_le_bytes(), *token].concat());
        [vec![2], lengths.flatten().collect()].concat()
    };
    let (challenge, proof) = (tokens.first().copied().unwrap_or_default(), tokens.get(1).copied().unwrap_or_default());
    save("logon", "user", &logon(&[&[], challenge, proof]))?;
    save("logon", "twice", &logon(&[&[], challenge, challenge]))
}

/// As the target `nfs_answers` reads them: a parser's number, bytes not kept, results.
fn nfs() -> Written {
    let words = rpc::words;
    let attributes = words(&[1, 0o644, 1, 0, 0, 0, 9, 0, 9, 0, 0, 0, 1, 0, 2, 1, 0, 1, 0, 1, 0]);
    let there = [words(&[1]), attributes.clone()].concat();
    let changed = words(&[1, 0, 9, 1, 0, 1, 0, 0]);
    let handle = rpc::opaque(b"handle-of-20-bytes..");
    let entry = |more: &[u8]| [words(&[1, 0, 7]), rpc::opaque(b"name"), words(&[0, 3]), more.to_vec()].concat();
    let results: [Vec<u8>; 24] = [
        vec![],
        attributes,
        changed.clone(),
        [handle.clone(), there.clone(), words(&[0])].concat(),
        [there.clone(), words(&[0x1F])].concat(),
        [there.clone(), rpc::opaque(b"target")].concat(),
        [there.clone(), words(&[8, 1]), rpc::opaque(b"12345678")].concat(),
        [changed.clone(), words(&[8, 2, 1, 1])].concat(),
        [words(&[1]), handle.clone(), there.clone(), changed.clone()].concat(),
        changed.clone(),
        changed.clone(),
        [changed.clone(), changed.clone()].concat(),
        [there.clone(), changed.clone()].concat(),
        [there.clone(), words(&[0, 0]), entry(&[]), words(&[0, 1])].concat(),
        [there.clone(), words(&[0, 0]), entry(&[there.clone(), words(&[1]), handle.clone()].concat()), words(&[0, 1])]
            .concat(),
        [there.clone(), words(&[0, 9, 0, 8, 0, 7, 0, 6, 0, 5, 0, 4, 0])].concat(),
        [there.clone(), words(&[65_536, 65_536, 1, 65_536, 65_536, 1, 4096, 0, 1 << 20, 0, 1, 0x1B])].concat(),
        [there, words(&[255, 255, 1, 1, 0, 1])].concat(),
        [changed, words(&[1, 1])].concat(),
        [handle, words(&[1, 1])].concat(),
        vec![],
        [words(&[1]), rpc::opaque(b"/export"), words(&[1]), rpc::opaque(b"host"), words(&[0, 0])].concat(),
        words(&[2049]),
        rpc::reply(7, &words(&[0])),
    ];
    for (which, results) in results.into_iter().enumerate() {
        // NULL, what MOUNT and portmap say without a status, and RPC itself.
        let bare = matches!(which, 0 | 20..=23);
        let status = if bare { vec![] } else { words(&[0]) };
        save("nfs_answers", &format!("{which:02}"), &[vec![which as u8, 0], status, results].concat())?;
        if !bare {
            save("nfs_answers", &format!("{which:02}-refused"), &[vec![which as u8, 0], words(&[13, 0, 0])].concat())?;
        }
    }
    Ok(())
}
