//! 10,000 NFSv4.1 clients with a session each, in memory: what a client takes, and that none starves. In a separate test binary, because it
//! counts every allocation.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may stop where it stands, and prints its figures")]

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_client::nfs4::{Nfs4Client, Nfs4Options};
use plimsoll_client::operation::{Access, Caching, Disposition, Done, Operation, Reply};
use plimsoll_client::{Client, Composed, FileKey};
use plimsoll_drive::engine::{ConnectionInfo, Plan, ServerAccess, Setup, Watch, run_on};
use plimsoll_drive::network::memory::{Accept, Delivery, Memory, Reply as Answer};
use plimsoll_model::{Names, Symbol};
use plimsoll_testkit::heap::Heap;
use plimsoll_testkit::{nfs4, rpc};
use plimsoll_wire::rpc::Caller;
use plimsoll_workload::scenario::{Scenario, ScenarioStep, Verdict};
use plimsoll_workload::{Arrivals, Load, Phases};

#[global_allocator]
static HEAP: Heap = Heap::new();

const CLIENTS: u32 = 10_000;
/// What a client may take, with its session, its open file and its part of the engine and of the network in memory, bytes.
const MOST: usize = 32 << 10;
const SECOND: u64 = 1_000_000_000;
const CREATE_SESSION: u32 = 43;
/// Place of the granted number of slots in the results of CREATE_SESSION, bytes.
const FORE_SLOTS: usize = 64;
/// As many as Linux requests.
const SLOTS: u32 = 64;

/// Opens a file once; an iteration asks for the attributes of another one, and reads.
#[derive(Default)]
struct User {
    file: Option<FileKey>,
    step: u32,
    path: String,
}

impl Scenario for User {
    fn next(&mut self) -> ScenarioStep<'_> {
        let (access, caching, disposition) = (Access::Read, Caching::None, Disposition::Open);
        let Some(file) = self.file else {
            let open = Operation::Open { path: "folder/open", access, disposition, caching };
            return ScenarioStep::Act(open, Symbol::NONE);
        };
        self.step += 1;
        match self.step % 3 {
            1 => {
                self.path = format!("folder/file{}", self.step);
                ScenarioStep::Act(Operation::Getattr { path: &self.path }, Symbol::NONE)
            }
            2 => ScenarioStep::Act(Operation::Read { file, offset: 0, length: 8_192, keep: false }, Symbol::NONE),
            _ => ScenarioStep::IterationOver,
        }
    }

    fn done(&mut self, done: &Done) -> Verdict {
        if let Ok(Reply::Opened { file, .. }) = done.result {
            self.file = Some(file);
        }
        Verdict::AsAnswered
    }

    fn reconnected(&mut self) {
        self.file = None;
    }
}

struct Users {
    options: Arc<Nfs4Options>,
    names: Names,
}

impl ServerAccess for Users {
    fn address(&self) -> Option<SocketAddr> {
        Some(([10, 0, 0, 1], 2049).into())
    }

    fn client(&self, info: &ConnectionInfo) -> Box<dyn Client> {
        let name = format!("{}.0", info.client_index);
        let identity = info.identity(Symbol::NONE, Symbol::NONE);
        Box::new(Composed::new(Nfs4Client::new(Arc::clone(&self.options), identity, Some(&name))))
    }
}

impl Setup for Users {
    fn server(&self) -> &dyn ServerAccess {
        self
    }

    fn scenario(&self, _: u32, _: u32, _: u64) -> Box<dyn Scenario> {
        Box::new(User::default())
    }

    fn names(&self) -> &Names {
        &self.names
    }
}

/// Every connection is answered after 0.1 ms.
fn network() -> Memory {
    Memory::new(1_700_000_000 * SECOND as i64, |_, _, _| {
        let serve = |at: i64, bytes: &[u8], replies: &mut Vec<Answer>| {
            // A request is sent in one piece.
            for call in nfs4::sent(bytes).0 {
                let mut results = call.fine();
                if call.operations == [CREATE_SESSION] {
                    results[FORE_SLOTS..FORE_SLOTS + 4].copy_from_slice(&SLOTS.to_be_bytes());
                }
                let answer = rpc::record(&rpc::reply(call.xid, &results));
                replies.push(Answer { at: at + 100_000, what: Delivery::Bytes(answer) });
            }
        };
        Accept::Serve(Box::new(serve), 50_000)
    })
}

#[test]
fn ten_thousand_clients_take_little_memory_and_none_starves() {
    let options = Arc::new(Nfs4Options::new("/export", 1, &Caller::Nobody).unwrap());
    let users = Users { options, names: Names::with_limit(0) };
    let load = Load::Partly { users: CLIENTS, every_ns: 5 * SECOND, arrivals: Arrivals::Constant };
    let phases = Phases { warmup_ns: SECOND, measured_ns: Some(10 * SECOND), ..Phases::default() };
    let plan = Plan { phases, threads: 1, level: 0, ..Plan::new(load) };
    let run = || run_on(&plan, &users, |_| (), &Watch::new(), |_| Ok(network()), None).unwrap();
    let (peak, ran) = HEAP.peak(run);
    let each = peak / CLIENTS as usize;
    let served = ran.clients.iter().map(|client| client.actions);
    let (least, most) = (served.clone().min().unwrap(), served.clone().max().unwrap());
    let all: u64 = served.sum();
    println!("{CLIENTS} clients: {each} bytes each, {all} actions, least {least} and most {most} per client");
    assert_eq!(ran.clients.len(), CLIENTS as usize);
    assert!(least > 0, "a client completed nothing");
    assert!(ran.clients.iter().all(|client| client.errors.is_empty() && client.connection_failures.is_empty()));
    assert!(each <= MOST, "{each} bytes per client");
}
