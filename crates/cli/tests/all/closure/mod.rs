//! The closure test: a server is driven through a tap, the tap's capture is observed, and both lists of transactions
//! must be the same, one for one: every action of every client, over loopback against every server that this machine has, and
//! over memory, under a virtual clock, against the embedded ones.

mod compare;
mod memory;
mod tour;

use std::sync::Arc;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Work};
use plimsoll_drive::engine::{EngineError, EngineResult, Plan, Watch, run, run_on};
use plimsoll_drive::tap::Tap;
use plimsoll_model::{Names, Transaction};
use plimsoll_observe::Observer;
use plimsoll_observe::capture::{Captures, Input};
use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};
use plimsoll_workload::{Load, Pause, Phases};

use crate::available;

/// Clients, each with its own connection, and the queue depth of each: actions overlap on the wire.
const CLIENTS: u32 = 3;
const DEPTH: u32 = 4;

/// Every transaction of a drive, as the client and as the tap saw it.
struct Both {
    driven: Vec<Transaction>,
    observed: Vec<Transaction>,
}

/// Over loopback, on two threads.
fn drive(target: &str, wishes: &ConnectOptions) -> Both {
    driven(target, wishes, 2, |plan, work| run(plan, work, |_| Vec::new(), &Watch::new(), None))
}

/// Over memory: one thread, so that there is one clock.
fn drive_in_memory(kind: Kind, server: &Embedded, target: &str) -> Both {
    let network = |_| Ok(memory::network(kind, server.address()));
    driven(target, &ConnectOptions::default(), 1, |plan, work| {
        run_on(plan, work, |_| Vec::new(), &Watch::new(), network, None)
    })
}

fn driven(
    target: &str,
    wishes: &ConnectOptions,
    threads: u32,
    run: impl FnOnce(&Plan, &Work<'_>) -> Result<EngineResult<Vec<Transaction>>, EngineError>,
) -> Both {
    let scratch = Scratch::new("closure");
    let file = scratch.path().join("tap.pcapng");
    let tap = Arc::new(Tap::new(std::fs::File::create(&file).unwrap()).unwrap());
    let mut names = Names::default();
    let server = connect::open(&Target::parse(target).unwrap(), wishes, &mut names).unwrap();
    let scenarios = Box::new(|client, slot, _| tour::scenario(client, slot));
    let work = Work { server: &*server, scenarios, names: Arc::new(names) };
    let phases = Phases { warmup_ns: 0, measured_ns: None, ..Phases::default() };
    let load = Load::Closed { clients: CLIENTS, think: Pause::None };
    let plan = Plan { depth: DEPTH, phases, tap: Some(Arc::clone(&tap)), threads, ..Plan::new(load) };
    let ran = run(&plan, &work).unwrap();
    tap.finish().unwrap();
    let errors: Vec<_> = ran.clients.iter().flat_map(|client| &client.errors).collect();
    assert!(errors.iter().all(|(cause, _)| tour::EXPECTED.contains(cause)), "{target}: {errors:?}");
    Both { driven: ran.sinks.concat(), observed: observe(&file) }
}

fn observe(file: &std::path::Path) -> Vec<Transaction> {
    let mut captures = Captures::open(vec![Input::File(file.to_owned())]).unwrap();
    let mut observer = Observer::new(Vec::new());
    while let Some(frame) = captures.next().unwrap() {
        observer.frame(&frame);
    }
    observer.finish().sink
}

/// The protocols of the embedded servers: the minor version of NFS 4, and how many kinds of requests the tour has at least.
const EMBEDDED: [(Kind, Option<u32>, usize); 4] =
    [(Kind::Smb, None, 20), (Kind::Nfs, None, 15), (Kind::Nfs, Some(1), 25), (Kind::Nfs, Some(2), 25)];

fn target(server: &Embedded, minor: Option<u32>) -> String {
    minor.map_or_else(|| server.target(), |minor| server.target_of_4(minor, None))
}

#[test]
fn against_the_embedded_servers() {
    for (kind, minor, least) in EMBEDDED {
        let server = Embedded::start(kind, Options::default()).unwrap();
        compare::same(&drive(&target(&server, minor), &ConnectOptions::default()), least);
    }
}

/// More requests than slots: requests wait for slots, and each row is still that of the wire.
#[test]
fn against_the_embedded_server_with_few_slots() {
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    compare::same(&drive(&server.target_of_4(1, Some(2)), &ConnectOptions::default()), 25);
}

#[test]
fn over_memory_with_times_equal_to_the_nanosecond() {
    for (kind, minor, least) in EMBEDDED {
        let server = Embedded::start(kind, Options::default()).unwrap();
        let both = drive_in_memory(kind, &server, &target(&server, minor));
        compare::same(&both, least);
        // The clock is virtual: an answer takes exactly the network's time, whatever the machine does.
        let times =
            both.observed.iter().filter_map(|seen| Some((seen.timeline.request_last?, seen.timeline.response_first?)));
        let times: Vec<i64> = times.map(|(sent, answered)| answered - sent).collect();
        assert_eq!(times.iter().min(), Some(&memory::LATENCY), "of {} answers", times.len());
    }
}

#[test]
fn against_samba_in_every_dialect() {
    let Some(samba) = available(Samba::start(&[])) else { return };
    let (user, address, share) = (Samba::USER, samba.address(), Share::Data.name());
    let target = format!("smb://{user}:{}@{address}/{share}", Samba::PASSWORD.replace(' ', "%20"));
    for dialect in plimsoll_client::smb2::Dialect::ALL {
        compare::same(
            &drive(&target, &ConnectOptions { dialects: dialect..=dialect, ..ConnectOptions::default() }),
            22,
        );
    }
}

#[test]
fn against_ganesha_in_every_version() {
    let Some(ganesha) = available(Ganesha::start()) else { return };
    compare::same(&drive(&ganesha.target(Export::Data), &ConnectOptions::default()), 19);
    // 4.0 has no SEQUENCE, but confirms opens.
    compare::same(&drive(&ganesha.target_of(Export::Data, "4.0"), &ConnectOptions::default()), 25);
    for (version, slots) in [("4.1", 64), ("4.2", 64), ("4.1", 2)] {
        let target = format!("{}&slots={slots}", ganesha.target_of(Export::Data, version));
        compare::same(&drive(&target, &ConnectOptions::default()), 25);
    }
}
