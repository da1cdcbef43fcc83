//! A mirror port: a watch of the copies reports the same as a watch of the interface itself.

use std::path::Path;
use std::process::{Command, Output};

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::{Scratch, Unavailable};
use rustix::process::Signal;
use serde_json::Value;

use crate::plimsoll;

const SERVER: &str = "10.92.0.2:2049";

/// A server's namespace, with the interface `port` to a client's and a copy of all its packets on `mirror`.
fn network() -> Result<[Namespace; 2], Unavailable> {
    let [server, client] = [Namespace::new()?, Namespace::new()?];
    server.ip(&format!("link add port type veth peer name port netns {}", client.path()));
    server.ip("link add copier type veth peer name mirror");
    ["port", "copier", "mirror"].into_iter().for_each(|name| server.ip(&format!("link set dev {name} up")));
    client.ip("link set dev port up");
    server.ip("address add 10.92.0.2/24 dev port");
    client.ip("address add 10.92.0.1/24 dev port");
    Ok([server, client])
}

/// Copies the packets that an interface receives and sends, like a switch for a mirror port.
fn mirror(server: &Namespace) -> Result<(), String> {
    let tc = |arguments: &str| {
        let ended = server.within(|| Command::new("tc").args(arguments.split(' ')).output());
        match ended {
            Ok(Output { status, .. }) if status.success() => Ok(()),
            Ok(ended) => {
                Err(format!("needs a kernel with tc mirred: {}", String::from_utf8_lossy(&ended.stderr).trim()))
            }
            Err(_) => Err("needs tc (Debian: iproute2)".to_owned()),
        }
    };
    tc("qdisc add dev port clsact")?;
    for hook in ["ingress", "egress"] {
        let filter = format!("filter add dev port {hook} protocol all u32 match u32 0 0");
        tc(&format!("{filter} action mirred egress mirror dev copier"))?;
    }
    Ok(())
}

fn watch(server: &Namespace, interface: &str, folder: &Path) -> Running {
    let mut command = plimsoll();
    command.args(["watch", interface, "--lines", "--utc", "--json"]).arg(folder.join(format!("{interface}.json")));
    let mut running = server.within(|| Running::start(&mut command)).unwrap();
    let ended = running.wait_until(|running| running.said()[1].contains("capturing"));
    assert_eq!(ended, None, "{:?}", running.said());
    running
}

/// Counts of packets that do not depend on their order: the kernel copies on several processors, and copies may overtake.
const PACKETS: [&str; 9] =
    ["total", "tcp", "tcp_data", "udp", "other", "wire_bytes", "captured_bytes", "missing_bytes", "dropped_at_least"];

/// What a report counts of packets.
fn packets(report: &Value) -> Vec<(&str, &Value)> {
    PACKETS.map(|name| (name, &report["packets"][name])).into()
}

/// What a report counts of each procedure: requests, and with answers errors and bytes as well.
fn procedures<'a>(report: &'a Value, columns: &[&str]) -> Vec<Vec<&'a Value>> {
    let rows = report["operations"].as_array().unwrap().iter();
    rows.map(|row| columns.iter().map(|&column| &row[column]).collect()).collect()
}

/// Responses that were copied before their requests: these operations have no response.
fn overtaken(report: &Value) -> u64 {
    let anomalies = report["anomalies"].as_array().unwrap().iter();
    let anomaly = anomalies.filter(|anomaly| anomaly["kind"] == "response_without_request");
    anomaly.map(|anomaly| anomaly["count"].as_u64().unwrap()).sum()
}

#[test]
fn a_mirror_port_has_the_counts_of_the_interface() {
    let _alone = crate::alone();
    let [server, client] = match network() {
        Ok(network) => network,
        Err(reason) => return crate::skip(reason),
    };
    if let Err(reason) = mirror(&server) {
        return crate::skip(reason);
    }
    let scratch = Scratch::new("watch-mirror");
    let mut serve = plimsoll();
    serve.args(["serve", "nfs", "--listen", SERVER, "--allow-remote"]);
    let mut serving = server.within(|| Running::start(&mut serve)).unwrap();
    let target = serving.first_line();
    let watching = ["port", "mirror"].map(|interface| watch(&server, interface, scratch.path()));
    let mut load = plimsoll();
    // Less data than a watch's buffer: neither watch loses packets, however slow the machine is.
    load.args(["run", "mixed", "--rate", "500", "--warmup", "0s", "--duration", "2s", "--quiet", "--target", &target]);
    let ended = client.within(|| output(&mut load));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    // Before the watches: the server may end a connection late, and one watch ends after the other.
    serving.signal(Signal::INT);
    assert!(serving.end().status.success());
    for watching in watching {
        watching.signal(Signal::INT);
        let ended = watching.end();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let [port, mirror] = ["port", "mirror"].map(|interface| {
        let report = std::fs::read(scratch.path().join(format!("{interface}.json"))).unwrap();
        crate::only_side(&report)
    });
    let paired = |report: &Value| report["unseen"]["paired"].as_u64().unwrap() + overtaken(report);
    assert_eq!((packets(&port), paired(&port)), (packets(&mirror), paired(&mirror)));
    let columns = ["procedure", "count", "errors", "payload_bytes", "wire_bytes"];
    let columns = if overtaken(&port) + overtaken(&mirror) == 0 { &columns[..] } else { &columns[..2] };
    let [port_rows, mirror_rows] = [&port, &mirror].map(|report| procedures(report, columns));
    assert_eq!(port_rows, mirror_rows);
    assert_eq!(port["packets"]["dropped_at_least"], 0, "{}", port["packets"]);
    assert!(port["unseen"]["paired"].as_u64() > Some(100), "{}", port["unseen"]);
    let mut rows = port["operations"].as_array().unwrap().iter();
    assert!(rows.any(|row| row["payload_bytes"].as_u64() > Some(100_000)), "data went over the interface");
}
