//! Every answer of NFSv3, MOUNT, portmap and ONC RPC itself, as a client reads it: the first byte tells which.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::nfs::{mount, portmap, v3};
use plimsoll_wire::rpc::Verdict;

fuzz_target!(|data: &[u8]| {
    let [which, more, bytes @ ..] = data else { return };
    // Whether it is read or refused is the parser's: no panic, no memory without bound.
    let read = match which % 22 {
        0 => v3::null::parse(bytes).is_ok(),
        1 => v3::getattr::parse(bytes).is_ok(),
        2 => v3::setattr::parse(bytes).is_ok(),
        3 => v3::lookup::parse(bytes).is_ok(),
        4 => v3::access::parse(bytes).is_ok(),
        5 => v3::readlink::parse(bytes).is_ok(),
        6 => v3::read::parse(bytes, bytes.len() + usize::from(*more))
            .is_ok_and(|answer| matches!(answer, v3::Answer::Done(data) if data.kept.len() <= bytes.len())),
        7 => v3::write::parse(bytes).is_ok(),
        8 => v3::create::parse(bytes).is_ok(),
        9 | 10 => v3::remove::parse(bytes).is_ok(),
        11 => v3::rename::parse(bytes).is_ok(),
        12 => v3::link::parse(bytes).is_ok(),
        13 => v3::readdir::parse(bytes, |entry| assert!(entry.name.len() <= bytes.len())).is_ok(),
        14 => v3::readdirplus::parse(bytes, |entry| assert!(entry.name.len() <= bytes.len())).is_ok(),
        15 => v3::fsstat::parse(bytes).is_ok(),
        16 => v3::fsinfo::parse(bytes).is_ok(),
        17 => v3::commit::parse(bytes).is_ok(),
        18 => mount::parse_mounted(bytes).is_ok(),
        19 => mount::parse_nothing(bytes).is_ok(),
        20 => portmap::parse_port(bytes).is_ok(),
        _ => Verdict::parse(bytes).is_ok(),
    };
    std::hint::black_box(read);
});
