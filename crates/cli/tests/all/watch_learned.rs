//! A watch captures a server at a port that no filter knows before a portmapper names it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::rpc;
use plimsoll_testkit::servers::Scratch;
use plimsoll_testkit::terminal::start;
use rustix::process::Signal;
use serde_json::Value;

use crate::{available, plimsoll};

const SERVER: &str = "127.0.0.1:12049";
const PORTMAPPER: &str = "127.0.0.1:111";
/// The server's port, as the results of GETPORT and of GETADDR.
const PORT: u32 = 12_049;
const ADDRESS: &[u8] = b"127.0.0.1.47.17";

/// Answers as rpcbind: GETPORT over TCP, GETADDR over UDP. Its threads end with the test's process.
fn start_portmapper(network: &Namespace) {
    network.within(|| {
        let (streams, datagrams) = (TcpListener::bind(PORTMAPPER).unwrap(), UdpSocket::bind(PORTMAPPER).unwrap());
        std::thread::spawn(move || streams.incoming().for_each(|stream| _ = answer(stream.unwrap())));
        std::thread::spawn(move || {
            let mut call = [0; 512];
            while let Ok((_, client)) = datagrams.recv_from(&mut call) {
                datagrams.send_to(&rpc::reply(xid(&call), &rpc::opaque(ADDRESS)), client).unwrap();
            }
        });
    });
}

/// Answers the calls of a connection.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark)?;
        let mut call = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        stream.read_exact(&mut call)?;
        stream.write_all(&rpc::record(&rpc::reply(xid(&call), &rpc::words(&[PORT]))))?;
    }
}

fn xid(call: &[u8]) -> u32 {
    u32::from_be_bytes(*call.first_chunk().unwrap())
}

/// Asks the portmapper for the port of NFS, in version 4 of its protocol.
fn ask_for_nfs() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let names = [rpc::opaque(b"tcp"), rpc::opaque(b"127.0.0.1.0.111"), rpc::opaque(b"")].concat();
    let call = rpc::call(7, 100_000, 4, 3, &[rpc::words(&[rpc::NFS, 3]), names].concat());
    socket.send_to(&call, PORTMAPPER).unwrap();
    assert!(socket.recv(&mut [0; 512]).unwrap() > 24);
}

/// A watch in the namespace of a server with a portmapper.
struct Watched {
    network: Namespace,
    scratch: Scratch,
    serving: Running,
    /// The server's target, without a port of MOUNT.
    target: String,
    watching: Running,
}

impl Watched {
    /// `None` where this user may not capture.
    fn start(arguments: &[&str]) -> Option<Self> {
        let network = available(Namespace::new())?;
        start_portmapper(&network);
        let scratch = Scratch::new("watch-learned");
        let mut serve = plimsoll();
        serve.args(["serve", "nfs", "--listen", SERVER]);
        let mut serving = network.within(|| Running::start(&mut serve)).unwrap();
        let target = serving.first_line().split('?').next().unwrap().to_owned();
        let mut watch = plimsoll();
        watch.args(["watch", "lo", "--lines", "--utc"]).args(arguments);
        watch.arg("--json").arg(scratch.path().join("watch.json"));
        let mut watching = network.within(|| Running::start(&mut watch)).unwrap();
        let ended = watching.wait_until(|watching| watching.said()[1].contains("capturing lo"));
        assert_eq!(ended, None, "{:?}", watching.said());
        Some(Self { network, scratch, serving, target, watching })
    }

    /// Waits until the watch has said this.
    fn wait_for(&mut self, text: &str) {
        let ended = self.watching.wait_until(|watching| watching.said()[1].contains(text));
        assert_eq!(ended, None, "{text}: {:?}", self.watching.said());
    }

    /// Loads the server for this long, and ends the watch. What it said, and its report.
    fn end(self, options: &str, duration: &str) -> (String, Value) {
        let Self { network, scratch, serving, target, watching } = self;
        let mut load = plimsoll();
        load.args(["run", "mixed", "--rate", "200", "--warmup", "0s", "--duration", duration, "--quiet"]);
        load.args(["--target", &format!("{target}?version=3{options}")]);
        let ended = network.within(|| output(&mut load));
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
        watching.signal(Signal::INT);
        let ended = watching.end();
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&ended.stderr));
        serving.signal(Signal::INT);
        assert!(serving.end().status.success());
        let report = crate::only_side(&std::fs::read(scratch.path().join("watch.json")).unwrap());
        (String::from_utf8_lossy(&ended.stderr).into_owned(), report)
    }
}

/// Number of requests in the rows of a protocol.
fn requests(report: &Value, protocol: &str) -> u64 {
    let rows = report["operations"].as_array().unwrap().iter();
    rows.filter(|row| row["protocol"] == protocol).map(|row| row["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_port_is_captured_once_a_portmapper_has_named_it() {
    let _alone = crate::alone();
    let Some(mut watched) = Watched::start(&[]) else { return };
    watched.network.within(ask_for_nfs);
    watched.wait_for("portmapper of 127.0.0.1: also capturing port 12049 (NFS)");
    let (said, report) = watched.end(&format!("&mountport={PORT}"), "2s");
    assert_eq!(said.matches("also capturing").count(), 1, "{said}");
    // Everything came after the port was known: nothing is missing.
    assert_eq!(report["validity"]["verdict"], "valid", "{:#}", report["validity"]);
    assert!(requests(&report, "NFS3") > 200 && requests(&report, "MOUNT") > 0, "{:#}", report["operations"]);
}

#[test]
fn the_client_that_asks_is_captured_from_soon_after_the_answer_on() {
    let _alone = crate::alone();
    let Some(watched) = Watched::start(&[]) else { return };
    // The watch may read the answer seconds later, where it has to wait for a processor.
    let (said, report) = watched.end("", "6s");
    assert!(said.contains("portmapper of 127.0.0.1: also capturing port 12049 (MOUNT)"), "{said}");
    assert!(requests(&report, "NFS3") > 100 && requests(&report, "PORTMAP") > 0, "{:#}", report["operations"]);
}

#[test]
fn a_screen_shows_the_port_and_prints_it_again_when_it_closes() {
    let Some(network) = available(Namespace::new()) else { return };
    start_portmapper(&network);
    let mut command = plimsoll();
    command.args(["watch", "lo", "--utc"]).env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
    let mut watching = network.within(|| start(&mut command, (100, 30)));
    let contains = |bytes: &[u8], text: &str| String::from_utf8_lossy(bytes).contains(text);
    watching.wait_until(|bytes| contains(bytes, "capturing lo"));
    network.within(ask_for_nfs);
    const SAYS: &str = "portmapper of 127.0.0.1: also capturing port 12049 (NFS)";
    watching.wait_until(|bytes| contains(bytes, SAYS));
    watching.type_keys("q");
    assert!(watching.end().success());
    let bytes = watching.bytes();
    let text = String::from_utf8_lossy(&bytes);
    let (_, behind) = text.rsplit_once("\x1b[?1049l").expect("the screen is closed");
    assert!(behind.contains(SAYS), "{text}");
}

#[test]
fn an_expression_alone_decides_what_passes() {
    let _alone = crate::alone();
    let Some(watched) = Watched::start(&["--filter", "port 111"]) else { return };
    watched.network.within(ask_for_nfs);
    let (said, report) = watched.end("", "2s");
    assert!(!said.contains("also capturing"), "{said}");
    assert_eq!((requests(&report, "NFS3"), requests(&report, "MOUNT")), (0, 0), "{:#}", report["operations"]);
    assert!(requests(&report, "PORTMAP") > 1, "{:#}", report["operations"]);
}
