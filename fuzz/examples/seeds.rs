//! Writes the first inputs of every target into `corpus/`, from the test kit's builders: `cargo run --example seeds`.

use std::io::Write;
use std::path::Path;

use plimsoll_testkit::{
    Link, Side, Tcp, Traffic, nbss, pcap_big_endian_micros, rpc,
    smb1::{self, ECHO, NEGOTIATE, NT_CREATE_ANDX, READ_ANDX, READ_RAW, TRANSACTION2, WRITE_ANDX, WRITE_RAW},
    smb2,
};

type Written = std::io::Result<()>;

fn main() -> Written {
    captures()?;
    frames()?;
    save("smb1", "exchange", &exchange(&smb1_messages(), 4))?;
    save("smb2", "exchange", &exchange(&smb2_messages(), 6))?;
    save("rpc", "exchange", &exchange(&rpc_messages(), 0))?;
    procedures()?;
    tunnels()?;
    nfs4_client()?;
    nfs4_server()?;
    // `arbitrary` reads a script out of any bytes.
    let plain: Vec<u8> = (0..600u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    save("stream", "spread", &plain)?;
    save("stream", "small", &plain.iter().map(|byte| byte & 3).collect::<Vec<_>>())
}

fn save(target: &str, name: &str, bytes: &[u8]) -> Written {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)
}

/// Headers of each encapsulation, each before a sound frame (control byte 1) or a sound IP packet (2).
fn tunnels() -> Written {
    let all: [(&str, &[(u8, &[u8])]); 9] = [
        ("vxlan", &[(1, &[8, 0, 0, 0, 0, 1, 2, 0]), (33, &[0x88, 0, 0, 7, 0, 1, 2, 0])]),
        ("geneve", &[(1, &[1, 0, 0x65, 0x58, 0, 0, 9, 0, 1, 2, 3, 0]), (6, &[0, 0, 8, 0, 0, 0, 9, 0])]),
        ("gre", &[(2, &[0, 0, 8, 0]), (1, &[0xb0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2])]),
        ("erspan", &[(1, &[]), (33, &[0x10, 5, 0, 7, 0, 0, 0, 1]), (65, &[0x20, 5, 0, 7, 0, 0, 0, 1, 0, 0, 0, 0])]),
        ("mpls", &[(2, &[0, 1, 1, 64]), (1, &[0, 1, 1, 64, 0, 0, 0, 0]), (33, &[0, 1, 0, 64, 0, 2, 1, 64])]),
        ("pppoe", &[(2, &[0x11, 0, 0, 1, 0, 0, 0, 0x21]), (34, &[0x11, 0, 0, 1, 0, 0, 0, 0x21])]),
        ("ppp", &[(2, &[0xff, 3, 0, 0x21]), (34, &[0x0f, 0, 8, 0]), (66, &[0x0f, 0, 8, 0]), (98, &[0, 3, 0, 0x21])]),
        ("ip_in_ip", &[(2, &[]), (6, &[]), (18, &[])]),
        ("ethertypes", &[(2, &[0, 7, 8, 0]), (65, &[0, 0, 0, 9]), (98, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0])]),
    ];
    for (target, headers) in all {
        let packet = |&(control, header): &(u8, &[u8])| [&[control, header.len() as u8], header].concat();
        let bytes: Vec<u8> = (0..6).flat_map(|_| headers.iter().flat_map(packet)).collect();
        save(target, "sound", &bytes)?;
    }
    Ok(())
}

type Said = (Side, Vec<u8>);

fn smb2_messages() -> Vec<Said> {
    use Side::{Client, Server};
    let file = smb2::file(5);
    let lock = smb2::request(smb2::command::LOCK, 5).body(&[48, 0, 1, 0]);
    let interim = smb2::response(smb2::command::LOCK, 5, smb2::PENDING).asynchronous(77);
    let last = smb2::response(smb2::command::LOCK, 5, 0).asynchronous(77);
    let broken = smb2::response(18, u64::MAX, 0).body(&[24; 24]);
    vec![
        (Client, smb2::request(smb2::command::NEGOTIATE, 0).body(&[36; 36]).bytes()),
        (Server, smb2::response(smb2::command::NEGOTIATE, 0, 0).body(&[65; 64]).bytes()),
        (Client, smb2::create(1, "folder\\file.txt").bytes()),
        (Server, smb2::created(1, file).bytes()),
        (Client, smb2::read(2, file, 64).bytes()),
        (Server, smb2::read_answer(2, &[0x5a; 64]).bytes()),
        (Client, smb2::write(3, file, &[0x5a; 64]).bytes()),
        (Server, smb2::written(3, 64).bytes()),
        (Client, smb2::compound(&[smb2::echo(8), smb2::read(9, file, 8).related(), smb2::close(10, file).related()])),
        (Server, smb2::compound(&[smb2::echoed(8), smb2::read_answer(9, b"12345678"), smb2::closed(10)])),
        (Client, lock.bytes()),
        (Server, interim.bytes()),
        (Server, broken.bytes()),
        (Server, last.bytes()),
        (Client, smb2::request(smb2::command::CANCEL, 5).bytes()),
    ]
}

fn smb1_messages() -> Vec<Said> {
    use Side::{Client, Server};
    let (pid, mid) = (0x1234, 64);
    let andx = |rest: &[u16]| [&[0xff, 0], rest].concat();
    let names = b"\x02NT LM 0.12\0";
    vec![
        (Client, smb1::request(NEGOTIATE, pid, 1).data(names).bytes()),
        (Server, smb1::response(NEGOTIATE, pid, 1).words(&[0; 17]).bytes()),
        (Client, smb1::request(ECHO, pid, mid).words(&[1]).data(b"e").bytes()),
        (Server, smb1::response(ECHO, pid, mid).words(&[1]).data(b"e").bytes()),
        (Client, smb1::request(NT_CREATE_ANDX, pid, mid).words(&andx(&[0; 22])).data(b"\\file\0").bytes()),
        (Server, smb1::response(NT_CREATE_ANDX, pid, mid).words(&andx(&[0; 32])).bytes()),
        (Client, smb1::request(READ_ANDX, pid, mid).words(&andx(&[1, 0, 0, 8, 8, 0, 0, 0, 0, 0])).bytes()),
        (
            Server,
            smb1::response(READ_ANDX, pid, mid)
                .words(&andx(&[0, 0, 0, 8, 59, 0, 0, 0, 0, 0]))
                .data(b"12345678")
                .bytes(),
        ),
        (
            Client,
            smb1::request(WRITE_ANDX, pid, mid)
                .words(&andx(&[1, 0, 0, 0, 0, 0, 0, 0, 8, 63, 0, 0]))
                .data(b"12345678")
                .bytes(),
        ),
        (Server, smb1::response(WRITE_ANDX, pid, mid).words(&andx(&[8, 0, 0, 0])).bytes()),
        (Client, smb1::request(READ_RAW, pid, mid).words(&[1, 0, 0, 8, 0, 0, 0, 0]).bytes()),
        (
            Client,
            smb1::request(WRITE_RAW, pid, mid).words(&[1, 16, 0, 0, 0, 0, 0, 1, 0, 8, 59, 0]).data(b"12345678").bytes(),
        ),
        (Server, smb1::response(WRITE_RAW, pid, mid).words(&[0xffff]).bytes()),
        (
            Client,
            smb1::request(TRANSACTION2, pid, mid)
                .words(&[6, 0, 2, 40, 0, 0, 0, 0, 0, 6, 68, 0, 0, 1, 5])
                .data(b"\0\0\0\x01\x01\0\0\0\0")
                .bytes(),
        ),
        (
            Server,
            smb1::response(TRANSACTION2, pid, mid)
                .words(&[2, 4, 0, 2, 56, 0, 4, 60, 0, 0])
                .data(b"\0\0\0\0\0\0\0\0\0")
                .bytes(),
        ),
    ]
}

fn rpc_messages() -> Vec<Said> {
    use Side::{Client, Server};
    let handle = b"handle-of-20-bytes..";
    let found = [rpc::words(&[0]), rpc::opaque(handle), rpc::words(&[0, 0])].concat();
    let put = (22, rpc::opaque(handle));
    vec![
        (Client, rpc::call(1, rpc::MOUNT, 3, 1, &rpc::opaque(b"/export"))),
        (Server, rpc::reply(1, &[rpc::words(&[0]), rpc::opaque(handle), rpc::words(&[1, 1])].concat())),
        (Client, rpc::lookup(2, handle, "file.txt")),
        (Server, rpc::reply(2, &found)),
        (Client, rpc::read(3, handle, 8)),
        (Client, rpc::write(4, handle, b"12345678")),
        (Server, rpc::read_reply(3, b"12345678")),
        (Server, rpc::reply(4, &rpc::words(&[0, 0, 0, 8, 2, 1, 1]))),
        (
            Client,
            rpc::compound(5, 1, &[put.clone(), (15, rpc::opaque(b"name")), (10, vec![]), (9, rpc::words(&[1, 0]))]),
        ),
        (
            Server,
            rpc::compound_reply(5, &[(22, vec![]), (15, vec![]), (10, rpc::opaque(handle)), (9, rpc::words(&[0, 0]))]),
        ),
        (Client, rpc::getattr(6, handle)),
        (Client, rpc::getattr(6, handle)),
        (Server, rpc::reply(6, &rpc::words(&[70]))),
    ]
}

/// As `exchange` in the library reads it; the first `skip` bytes of each message are those that the target adds.
fn exchange(messages: &[Said], skip: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (from, message) in messages {
        let message = &message[skip..];
        bytes.extend([(message.len() >> 8) as u8 * 16 + *from as u8, message.len() as u8]);
        bytes.extend(message);
    }
    bytes
}

fn traffic(link: Link, messages: &[Said], frame: fn(&[u8]) -> Vec<u8>, port: u16) -> Traffic {
    let (mut traffic, mut tcp) = (Traffic::new(link), Tcp::between_ports(1000, port));
    traffic.all(&tcp.handshake());
    for (from, message) in messages {
        traffic.send(&mut tcp, *from, &frame(message));
    }
    let ends = (([10, 0, 0, 3], 800).into(), ([10, 0, 0, 4], 2049).into());
    traffic.udp(ends.0, ends.1, &rpc::write(9, b"handle", &[1; 100]), Some(64));
    traffic.vlans = vec![7, 8];
    let ends = ((std::net::Ipv6Addr::LOCALHOST, 800).into(), (std::net::Ipv6Addr::UNSPECIFIED, 2049).into());
    traffic.udp(ends.0, ends.1, &rpc::getattr(9, b"handle"), Some(64));
    traffic.udp(ends.1, ends.0, &rpc::reply(9, &rpc::words(&[70])), None);
    traffic.tcp(&tcp.fin(Side::Client));
    traffic.tcp(&tcp.rst(Side::Server));
    traffic
}

/// As the target `observer` reads them.
fn frames() -> Written {
    for (number, link) in Link::ALL.into_iter().enumerate() {
        let traffic = match number % 2 {
            0 => traffic(link, &smb2_messages(), nbss, 445),
            _ => traffic(link, &rpc_messages(), rpc::record, 2049),
        };
        let first = match link {
            Link::RawIp => 5,
            _ => [Link::Ethernet, Link::Cooked1, Link::Cooked2, Link::Null]
                .iter()
                .position(|&one| one == link)
                .unwrap_or(0) as u8,
        };
        let mut bytes = vec![first];
        for frame in &traffic.frames {
            bytes.extend([1, 0]);
            bytes.extend((frame.bytes.len() as u16).to_le_bytes());
            bytes.extend(&frame.bytes);
        }
        save("observer", &format!("{link:?}").to_lowercase(), &bytes)?;
    }
    Ok(())
}

/// Each minor version: files are opened, locked, read and written; then a session is lost, the server restarts with a grace period, and a
/// connection is lost.
fn nfs4_client() -> Written {
    let work = [0, 0, 2, 0, 2, 0, 0, 9, 2, 0, 0, 4, 0, 6, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0];
    let losses: [(&str, &[u8]); 5] = [
        ("restart", &[10, 0, 0, 8, 11, 0, 5, 0, 0, 2, 5, 0, 0, 4, 2, 0, 2, 0, 5, 0, 2, 0, 2, 0]),
        ("session", &[0, 8, 0, 12, 5, 0, 0, 2, 5, 0, 0, 3, 2, 0, 2, 0, 12, 0]),
        ("connection", &[0, 4, 0, 6, 10, 0, 11, 0, 2, 0, 14, 1, 10, 0, 13, 0, 11, 0, 2, 0]),
        ("late", &[0, 4, 13, 0, 0, 17, 5, 1, 1, 0, 12, 0, 9, 1, 30, 7, 9, 0]),
        ("leave", &[2, 0, 2, 0, 2, 0, 2, 0, 15, 0, 2, 0, 15, 1]),
    ];
    for minor in 0..3u8 {
        for (name, loss) in losses {
            save("nfs4_client", &format!("4.{minor}-{name}"), &[&[minor][..], &work[..], loss].concat())?;
        }
    }
    Ok(())
}

/// A step of the target `nfs4_server`, with operations and their arguments.
fn step(control: u8, place: u8, operations: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let bytes: Vec<u8> =
        operations.iter().flat_map(|(code, arguments)| [rpc::words(&[*code]), arguments.clone()].concat()).collect();
    [vec![control | operations.len() as u8, place, (bytes.len() / 4) as u8], bytes].concat()
}

/// Files and names, locks and ranges of files, and calls without a session.
fn nfs4_server() -> Written {
    let (words, opaque) = (rpc::words, rpc::opaque);
    let write = [words(&[0, 0, 0, 0, 0, 0, 2]), opaque(b"content")].concat();
    let files = [
        step(0x40, 3, &[(38, write), (25, words(&[0, 0, 0, 0, 0, 0, 100])), (9, words(&[1, 0x10]))]),
        step(0x80, 2, &[(6, [words(&[2]), opaque(b"folder"), words(&[0, 0])].concat()), (10, Vec::new())]),
        step(0, 2, &[(26, words(&[0, 0, 0, 0, 500, 1_000, 1, 0x10]))]),
        step(0, 2, &[(32, Vec::new()), (29, [opaque(b"file"), opaque(b"moved")].concat())]),
        step(0x20, 2, &[(28, opaque(b"folder"))]),
    ];
    // The state ID of the OPEN before it: RFC 8881 16.2.3.1.2.
    let lock = [words(&[2, 0, 0, 0, 0, 9, 1, 0, 1, 0, 0, 0, 0, 0, 0]), opaque(b"locker")].concat();
    let ranges = [(59, words(&[1, 0, 0, 0, 0, 0, 0, 4_096])), (69, words(&[1, 0, 0, 0, 0, 0, 1]))];
    let state = [
        step(0x40, 3, &[(12, lock), (14, words(&[2, 0, 1, 0, 0, 0, 0, 0, 0, 9]))]),
        step(0, 3, &[(4, words(&[0, 1, 0, 0, 0]))]),
        step(0, 3, &ranges),
        step(0, 3, &[(68, words(&[1, 0, 0, 0, 0, 0, 100]))]),
    ];
    let channel = [0, 1 << 20, 1 << 20, 1_024, 8, 4, 0];
    let create = [words(&[0, 2, 1, 0]), words(&channel), words(&channel), words(&[1, 1, 0])].concat();
    let null = rpc::call(9, 100_003, 4, 0, &[]);
    let sessions = [
        step(0x10, 0, &[(42, [words(&[1, 1]), opaque(b"other"), words(&[0, 0, 0])].concat())]),
        step(0x10, 0, &[(43, create)]),
        [vec![0x18, 0, (null.len() / 4) as u8], null].concat(),
    ];
    for minor in 1..3u8 {
        for (name, steps) in [("files", files.concat()), ("state", state.concat()), ("sessions", sessions.concat())] {
            save("nfs4_server", &format!("4.{minor}-{name}"), &[vec![minor - 1], steps].concat())?;
        }
    }
    Ok(())
}

/// As the target `nfs` reads them.
fn procedures() -> Written {
    for (program, version, highest) in [(0, 2, 5), (1, 2, 17), (1, 3, 21), (2, 3, 5), (3, 4, 23), (4, 3, 4)] {
        let mut bytes = Vec::new();
        for procedure in 0..=highest {
            let arguments = [rpc::opaque(b"handle12"), rpc::opaque(b"name"), rpc::words(&[0, 8, 8, 0])].concat();
            let results = [rpc::words(&[0]), rpc::opaque(b"handle12"), rpc::words(&[0, 0, 8, 1])].concat();
            bytes.extend([program, version, procedure, (arguments.len() / 4) as u8, 0, (results.len() / 4) as u8]);
            bytes.extend(arguments);
            bytes.extend(results);
        }
        save("nfs", &format!("program{program}-version{version}"), &bytes)?;
    }
    let mut bytes = Vec::new();
    for code in 3..=75u32 {
        let arguments =
            [rpc::opaque(b""), rpc::words(&[1, 2, 22]), rpc::opaque(b"handle12"), rpc::words(&[code, 0, 0, 0])]
                .concat();
        let results = [rpc::words(&[0]), rpc::opaque(b""), rpc::words(&[2, 22, 0, code, 0, 0, 0, 0])].concat();
        bytes.extend([1, 4, 1, (arguments.len() / 4) as u8, 0, (results.len() / 4) as u8]);
        bytes.extend(arguments);
        bytes.extend(results);
    }
    save("nfs", "compounds", &bytes)
}

fn captures() -> Written {
    let said = rpc_messages();
    let traffic = traffic(Link::Ethernet, &said[..4], rpc::record, 2049);
    let pcap = traffic.pcap();
    save("capture", "pcap", &pcap)?;
    save("capture", "pcap-big-endian", &pcap_big_endian_micros(Link::Ethernet, &traffic.frames[..3]))?;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&pcap)?;
    save("capture", "pcap.gz", &gzip.finish()?)?;
    save("capture", "pcap.zst", &zstd::bulk::compress(&pcap, 3)?)?;
    save("capture", "pcapng", &pcapng(&traffic))?;
    save("capture", "snoop", &snoop(&traffic))?;
    // Two headers that lead to the parsers of other formats.
    save("capture", "netxray", &[b"XCP\x00002.002\0".as_slice(), &[0; 200]].concat())?;
    save("capture", "netmon", &[b"GMBU\x00\x02\x01\x00".as_slice(), &[0; 200]].concat())
}

/// A section with an interface, and an enhanced packet block for each frame.
fn pcapng(traffic: &Traffic) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let len = 12 + body.len().next_multiple_of(4) as u32;
        file.extend(kind.to_le_bytes());
        file.extend(len.to_le_bytes());
        file.extend(body);
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend(len.to_le_bytes());
    };
    block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    block(1, &[1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    for frame in &traffic.frames {
        let time = frame.time_ns as u64;
        let words = [0, (time >> 32) as u32, time as u32, frame.bytes.len() as u32, frame.original_len];
        let head: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        block(6, &[head.as_slice(), &frame.bytes].concat());
    }
    block(5, &[0; 12]);
    file
}

/// RFC 1761.
fn snoop(traffic: &Traffic) -> Vec<u8> {
    let mut file = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
    for frame in &traffic.frames {
        let len = frame.bytes.len() as u32;
        let record = 24 + len.next_multiple_of(4);
        for word in [frame.original_len, len, record, 0, (frame.time_ns / 1_000_000_000) as u32, 0] {
            file.extend(word.to_be_bytes());
        }
        file.extend(&frame.bytes);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}
