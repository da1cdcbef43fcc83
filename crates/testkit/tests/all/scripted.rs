//! The scripted server, over real connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_testkit::rpc;
use plimsoll_testkit::servers::scripted::{Answered, EXPORT, Latency, Script, Scripted};

const MS: Duration = Duration::from_millis(1);

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    // No test waits for ever.
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

fn null(xid: u32) -> Vec<u8> {
    rpc::record(&rpc::call(xid, rpc::NFS, 3, 0, &[]))
}

/// The xids of `count` answers without results.
fn xids(stream: &mut TcpStream, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 28 * count];
    stream.read_exact(&mut bytes).unwrap();
    bytes.chunks(28).map(|answer| u32::from_be_bytes(answer[4..8].try_into().unwrap())).collect()
}

/// No answer is sent before its time. How much later depends on the machine, so this is not tested.
fn none_early(answered: &[Answered], count: usize) {
    assert_eq!(answered.len(), count);
    assert!(answered.iter().all(|call| call.sent >= call.due));
}

#[test]
fn each_call_is_answered_at_its_own_time() {
    let latency = Latency::TwoHumps { low: 5 * MS, high: 300 * MS, share: 0.5 };
    let server = Scripted::start(Script::parallel(latency)).unwrap();
    let mut stream = connect(server.address());
    let calls: Vec<u8> = (0..100).flat_map(null).collect();
    stream.write_all(&calls).unwrap();
    let mut came = xids(&mut stream, 100);
    assert!(!came.is_sorted(), "the slow ones are overtaken");
    came.sort_unstable();
    assert_eq!(came, (0..100).collect::<Vec<u32>>());
    none_early(&server.stop().unwrap(), 100);
}

#[test]
fn a_queue_keeps_its_order() {
    let server = Scripted::start(Script::queue(Latency::Exponential { mean: MS })).unwrap();
    let mut stream = connect(server.address());
    let calls: Vec<u8> = (0..100).flat_map(null).collect();
    stream.write_all(&calls).unwrap();
    assert!(xids(&mut stream, 100).is_sorted());
    let answered = server.stop().unwrap();
    assert!(answered.is_sorted_by_key(|call| call.due));
    none_early(&answered, 100);
}

#[test]
fn many_connections_at_once() {
    let server = Scripted::start(Script::parallel(Latency::Constant(20 * MS))).unwrap();
    let mut streams: Vec<TcpStream> = (0..64).map(|_| connect(server.address())).collect();
    for (xid, stream) in streams.iter_mut().enumerate() {
        stream.write_all(&[null(xid as u32), null(xid as u32 + 1000)].concat()).unwrap();
    }
    for (xid, stream) in streams.iter_mut().enumerate() {
        assert_eq!(xids(stream, 2), [xid as u32, xid as u32 + 1000]);
    }
    // Other clients are not affected by one that breaks the rules, or one that disconnects with outstanding calls.
    let mut rude = connect(server.address());
    rude.write_all(&[0xff; 64]).unwrap();
    assert_eq!(rude.read(&mut [0]).unwrap_or(0), 0);
    let mut leaves = connect(server.address());
    leaves.write_all(&null(1)).unwrap();
    drop(leaves);
    streams[0].write_all(&null(5)).unwrap();
    assert_eq!(xids(&mut streams[0], 1), [5]);
    let answered = server.stop().unwrap();
    // The client that leaves may have got its answer before.
    none_early(&answered, answered.len().clamp(129, 130));
}

#[test]
fn libnfs_mounts_and_reads_it() {
    let server = Scripted::start(Script::parallel(Latency::Constant(MS))).unwrap();
    let port = server.address().port();
    let url = format!("nfs://127.0.0.1{EXPORT}/any?nfsport={port}&mountport={port}&version=3");
    let mut command = Command::new("nfs-cat");
    let Ok(mut child) = command.arg(&url).stdout(Stdio::piped()).spawn() else {
        return plimsoll_testkit::skip("needs nfs-cat (Debian: libnfs-utils)");
    };
    // The file is longer than anybody wants to wait for.
    let mut zeros = vec![1; 3 << 20];
    child.stdout.take().unwrap().read_exact(&mut zeros).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(zeros.iter().all(|byte| *byte == 0));
}
