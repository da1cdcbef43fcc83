//! Runs over TCP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use plimsoll_drive::engine::{Plan, Watch, run};
use plimsoll_model::Transaction;
use plimsoll_workload::{Load, Pause, Phases};

use super::toy::{Do, Toys, answer, head};

/// Answers requests until the client closes. The thread ends with the process.
pub(crate) fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer_all(stream));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    while let Ok(count) = stream.read(&mut chunk) {
        if count == 0 {
            return;
        }
        bytes.extend_from_slice(&chunk[..count]);
        let mut replies = Vec::new();
        while let Some((length, id, word)) = head(&bytes).filter(|(length, ..)| bytes.len() >= *length) {
            bytes.drain(..length);
            replies.extend(answer(id, word).unwrap_or_default());
        }
        if stream.write_all(&replies).is_err() {
            return;
        }
    }
}

fn milliseconds(warmup: u64, measured: u64) -> Phases {
    Phases {
        connect_ns: 60_000_000_000,
        warmup_ns: warmup * 1_000_000,
        measured_ns: Some(measured * 1_000_000),
        drain_ns: 60_000_000_000,
    }
}

#[test]
fn clients_on_several_threads_log_on_work_and_log_off() {
    let mut toys = Toys::new(&[Do::Null, Do::Read(100), Do::ReadData(200_000), Do::Read(2_000_000), Do::IterationOver]);
    toys.address = Some(serve());
    toys.log_on = true;
    let mut plan = Plan::new(Load::Closed { clients: 6, think: Pause::None });
    (plan.depth, plan.threads, plan.level) = (3, 2, 1);
    plan.phases = milliseconds(20, 200);
    let ran = run(&plan, &toys, |_| Vec::<Transaction>::new(), &Watch::new(), None).unwrap();
    assert_eq!((ran.sinks.len(), ran.clients.len()), (2, 6));
    let measured = ran.sinks.iter().flatten().filter(|transaction| transaction.level.is_some()).count() as u64;
    let counted: u64 = ran.clients.iter().map(|tally| tally.actions).sum();
    assert_eq!(counted, measured);
    assert!(ran.clients.iter().all(|tally| tally.connected && tally.error_count() == 0), "{:?}", ran.clients);
    assert!(ran.clients.iter().all(|tally| tally.errors_outside.is_empty()), "{:?}", ran.clients);
    assert_eq!(ran.generator.left_rudely, 0);
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(count(&toys.seen.begun), count(&toys.seen.done));
    let kept = toys
        .seen
        .ends
        .lock()
        .unwrap()
        .iter()
        .filter(|end| matches!(end.2, Ok(plimsoll_client::Reply::Read { bytes: 200_000 })))
        .count();
    assert_eq!(count(&toys.seen.data), kept as u64 * 200_000);
    for transaction in ran.sinks.iter().flatten() {
        let timeline = &transaction.timeline;
        let order = [timeline.request_first, timeline.request_last, timeline.response_first, timeline.response_last];
        assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{timeline:?}");
        assert!(timeline.intended.is_none_or(|intended| intended <= order[0].unwrap()), "{timeline:?}");
    }
}
