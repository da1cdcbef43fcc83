//! An interface that is removed while it is watched, as a VLAN or the interface of a container may be.

use std::process::Command;

use plimsoll_testkit::command::{Running, output};
use plimsoll_testkit::namespace::Namespace;
use plimsoll_testkit::servers::Scratch;
use rustix::process::Signal;

use crate::plimsoll;

const SERVER: &str = "10.92.1.2:2049";

#[test]
fn the_capture_of_an_interface_that_is_removed_ends_early() {
    let _alone = crate::alone();
    let Some(server) = crate::available(Namespace::new()) else { return };
    let Some(client) = crate::available(Namespace::new()) else { return };
    server.ip(&format!("link add port type veth peer name port netns {}", client.path()));
    for (place, address) in [(&server, "10.92.1.2/24"), (&client, "10.92.1.1/24")] {
        place.ip("link set dev port up");
        place.ip(&format!("address add {address} dev port"));
    }
    let scratch = Scratch::new("watch-removed");
    let mut serve = plimsoll();
    serve.args(["serve", "nfs", "--listen", SERVER, "--allow-remote"]);
    let mut serving = server.within(|| Running::start(&mut serve)).unwrap();
    let target = serving.first_line();
    let in_folder = |arguments: &[&str]| {
        let mut command: Command = plimsoll();
        command.args(arguments).current_dir(scratch.path());
        command
    };
    let mut watch = in_folder(&["watch", "port", "--lines", "--save", "ring", "--record", "R", "--json", "watch.json"]);
    let mut watching = server.within(|| Running::start(&mut watch)).unwrap();
    let ended = watching.wait_until(|running| running.said()[1].contains("capturing"));
    assert_eq!(ended, None, "{:?}", watching.said());
    let mut load = in_folder(&["run", "mixed", "--rate", "200", "--warmup", "0s", "--duration", "1s", "--quiet"]);
    let ended = client.within(|| output(load.args(["--target", &target])));
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:?}");
    server.ip("link del dev port");
    // Nobody stops it.
    let ended = watching.end();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("plimsoll: port was removed: the capture ended at 20"), "{said}");
    assert!(!said.contains("the watch continues"), "{said}");
    // The recording and the saved packets say it too.
    let reports = ["report R --json report.json -q", "analyze ring --json analyze.json -q"];
    for arguments in reports {
        let ended = output(&mut in_folder(&arguments.split(' ').collect::<Vec<_>>()));
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
    for name in ["watch.json", "report.json", "analyze.json"] {
        let report = crate::only_side(&std::fs::read(scratch.path().join(name)).unwrap());
        let validity = &report["validity"];
        assert_eq!(validity["verdict"], "partial", "{name}: {validity}");
        let reason = "The network interface was removed during the capture, so the capture ended early.";
        assert!(validity["reasons"].as_array().unwrap().iter().any(|one| one == reason), "{name}: {validity}");
        assert!(!report["unseen"]["share_missing"].is_null(), "{name}: the packets until then are there");
    }
    serving.signal(Signal::INT);
    assert!(serving.end().status.success());
}
