//! `watch --netns`: the packets are those of another network namespace, and the page is where the watch was started.

use std::io::{Read, Write};
use std::net::TcpStream;

use plimsoll_testkit::command::{LIMIT, Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

use crate::plimsoll;

const SERVER: &str = "127.0.0.1:2049";

/// Requests a page from here, and returns the start of the response.
fn status_of(page: &str) -> String {
    let (host, path) = page.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut status = [0; 15];
    stream.read_exact(&mut status).unwrap();
    String::from_utf8_lossy(&status).into_owned()
}

#[test]
fn the_packets_are_from_inside_a_namespace_and_the_page_is_outside() {
    let _alone = crate::alone();
    let Some(network) = crate::available(Namespace::new()) else { return };
    let (scratch, namespace) = (Scratch::new("watch-netns"), network.path());
    let mut serve = plimsoll();
    serve.args(["serve", "nfs", "--listen", SERVER]);
    let mut serving = network.within(|| Running::start(&mut serve)).unwrap();
    let target = serving.first_line();
    let mut watch = plimsoll();
    watch.args(["watch", "lo", "--netns", &namespace, "--lines", "--browser", "--json", "watch.json"]);
    let mut watching = Running::start(watch.current_dir(scratch.path())).unwrap();
    let ended = watching.wait_until(|watching| watching.said()[1].contains(" in a browser"));
    let said = watching.said()[1].clone();
    assert!(ended.is_none() && said.contains(&format!("capturing lo in network namespace {namespace};")), "{said}");
    let page = said.split("plimsoll: open ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(status_of(page), "HTTP/1.1 200 OK");
    let mut load = plimsoll();
    load.args(["run", "mixed", "--rate", "200", "--warmup", "0s", "--duration", "1s", "--quiet", "--target", &target]);
    let ended = network.within(|| output(&mut load));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    watching.signal(Signal::INT);
    let ended = watching.end();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    // The loopback outside has the same number and address.
    let unknown = format!("/sys does not show network namespace {namespace}");
    assert_eq!(said.matches(&unknown).count(), 1, "{said}");
    let report = crate::only_side(&std::fs::read(scratch.path().join("watch.json")).unwrap());
    assert_eq!(report["name"], format!("interface lo in network namespace {namespace}"));
    assert!(report["unseen"]["paired"].as_u64() > Some(100), "{}", report["unseen"]);
    serving.signal(Signal::INT);
    assert!(serving.end().status.success());
}
