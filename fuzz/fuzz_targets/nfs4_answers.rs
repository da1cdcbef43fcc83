//! Every answer of NFSv4, as a client reads it: the first bytes tell which operations were asked for, and how much was dropped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::nfs::v4::read_plus::Segment;
use plimsoll_wire::nfs::v4::{Done, Reply};
use plimsoll_wire::xdr::Malformed;

/// Operations that a client sends.
const OPERATIONS: [u32; 38] = [
    3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 18, 20, 22, 24, 25, 26, 27, 28, 29, 30, 34, 35, 36, 38, 42, 43, 44, 53,
    57, 58, 59, 60, 62, 68, 69, 71,
];

fn read(asked: &[u8], bytes: &[u8], dropped: usize) -> Result<(), Malformed> {
    let mut reply = Reply::parse(bytes, bytes.len() + dropped)?;
    for &which in asked {
        let code = OPERATIONS[usize::from(which) % OPERATIONS.len()];
        let Some(answered) = reply.next(code)? else { break };
        assert!(answered.status == 0 || answered.result == Done::Nothing);
        match answered.result {
            Done::Data(data) => assert!(data.kept.len() <= bytes.len()),
            Done::Page(page) => {
                // A second reading must end at the same entry.
                assert_eq!(page.entries().last().map(|entry| entry.cookie), page.cookie);
            }
            Done::Contents(contents) => {
                for (offset, count) in [(0, 1 << 20), (100, 100), (u64::MAX - 9, 9)] {
                    let mut pieces = 0;
                    let read = contents.read(offset, count, |piece| {
                        pieces += match piece {
                            Segment::Data { bytes, .. } => bytes.len() as u64,
                            Segment::Hole { length, .. } => length,
                        };
                    });
                    assert!(read.is_err() || read == Ok(pieces as u32) && pieces <= count.into());
                }
            }
            _ => {}
        }
    }
    reply.end()
}

fuzz_target!(|data: &[u8]| {
    let [a, b, c, d, dropped, bytes @ ..] = data else { return };
    // Whether it is read or refused is the parser's: no panic, no memory without bound.
    let _ = std::hint::black_box(read(&[*a, *b, *c, *d], bytes, usize::from(*dropped)));
});
