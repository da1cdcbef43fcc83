//! The engine's own cost: client CPU per operation compared with a bare loop of the same system calls, and memory and fairness with
//! 10,000 clients. The server is a second process of this program.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench")]

#[allow(dead_code, reason = "parts that tests use")]
#[path = "../tests/all/engine/toy.rs"]
mod toy;

use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use plimsoll_drive::engine::{EngineResult, Plan, Watch, run};
use plimsoll_drive::network::tcp::Tcp;
use plimsoll_drive::network::{ConnectionKey, Network, Take};
use plimsoll_workload::{Load, Pause, Phases};
use rustix::event::epoll;

use crate::toy::{Do, HEAD, NOTHING, Toys, answer, head, message};

fn main() {
    if std::env::args().any(|argument| argument == "serve") {
        return serve();
    }
    for depth in [1, 32] {
        // Several interleaved rounds, because the machine's speed varies.
        for _ in 0..3 {
            let (mut child, to) = server();
            let bare = bare_loop(to, depth);
            let engine = engine(to, depth);
            println!("depth {depth}: bare {bare:.2} µs, engine {engine:.2} µs an operation ({:.2} ×)", engine / bare);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    many_clients();
}

/// A server in a separate process.
fn server() -> (Child, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap()).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().parse().unwrap())
}

/// Answers on any number of connections.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 4096).unwrap();
    println!("{}", listener.local_addr().unwrap());
    let queue = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&queue, &listener, epoll::EventData::new_u64(u64::MAX), epoll::EventFlags::IN).unwrap();
    let mut streams: Vec<Option<(TcpStream, Vec<u8>)>> = Vec::new();
    let mut events = Vec::with_capacity(64);
    let mut chunk = vec![0; 64 << 10];
    loop {
        events.clear();
        epoll::wait(&queue, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let key = event.data.u64();
            if key == u64::MAX {
                let (stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                let data = epoll::EventData::new_u64(streams.len() as u64);
                epoll::add(&queue, &stream, data, epoll::EventFlags::IN).unwrap();
                streams.push(Some((stream, Vec::new())));
                continue;
            }
            let Some((stream, bytes)) = &mut streams[key as usize] else { continue };
            let count = stream.read(&mut chunk).unwrap_or(0);
            if count == 0 {
                streams[key as usize] = None;
                continue;
            }
            bytes.extend_from_slice(&chunk[..count]);
            let mut replies = Vec::new();
            while let Some((length, id, word)) = head(bytes).filter(|(length, ..)| bytes.len() >= *length) {
                bytes.drain(..length);
                replies.extend(answer(id, word).unwrap_or_default());
            }
            let _ = stream.write_all(&replies);
        }
    }
}

fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Client CPU per operation of a bare loop (wait, receive, send), µs.
fn bare_loop(to: SocketAddr, depth: usize) -> f64 {
    let mut net = Tcp::new(false).unwrap();
    let key = ConnectionKey(0);
    let mut ready = Vec::new();
    net.connect(key, to).unwrap();
    net.wait(None, &mut ready).unwrap();
    net.want_writable(key, false).unwrap();
    let request = message(1, NOTHING, 0).repeat(depth);
    let mut buffer = vec![0; 256 << 10];
    net.send(key, &[IoSlice::new(&request)]).unwrap();
    let (mut done, mut begin) = (0, (0, 0));
    while done < 400_000 {
        if begin.0 == 0 && done > 40_000 {
            begin = (done, cpu_ns());
        }
        ready.clear();
        net.wait(None, &mut ready).unwrap();
        match net.receive(key, &mut buffer, Take::AtOnce) {
            Ok(received) => {
                net.send(key, &[IoSlice::new(&request[..received.bytes])]).unwrap();
                done += received.bytes / HEAD;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    (cpu_ns() - begin.1) as f64 / (done - begin.0) as f64 / 1e3
}

fn toys(to: SocketAddr) -> Toys {
    let mut toys = Toys::new(&[Do::Null, Do::IterationOver]);
    toys.address = Some(to);
    toys.quiet = true;
    toys
}

fn plan(clients: u32, think: Pause, seconds: u64) -> Plan {
    let phases = Phases { warmup_ns: 500_000_000, measured_ns: Some(seconds * 1_000_000_000), ..Phases::default() };
    Plan { phases, threads: 1, level: 0, ..Plan::new(Load::Closed { clients, think }) }
}

/// Client CPU of an operation, µs, through the engine.
fn engine(to: SocketAddr, depth: usize) -> f64 {
    let plan = Plan { depth: depth as u32, ..plan(1, Pause::None, 3) };
    let ran = run(&plan, &toys(to), |_| (), &Watch::new(), None).unwrap();
    let cpu = ran.generator.workers[0];
    (cpu.user_ns + cpu.system_ns) as f64 / actions(&ran) as f64 / 1e3
}

fn actions<S>(ran: &EngineResult<S>) -> u64 {
    ran.clients.iter().map(|tally| tally.actions).sum()
}

/// Bytes of memory that this process has.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn many_clients() {
    let (mut child, to) = server();
    let before = resident();
    let mut toys = toys(to);
    toys.log_on = true;
    let ran = run(&plan(10_000, Pause::Exponential(1_000_000_000), 10), &toys, |_| (), &Watch::new(), None).unwrap();
    let starved = ran.clients.iter().filter(|tally| tally.starved()).count();
    let each = (resident() - before) / 10_000;
    println!("10,000 clients: {} actions, {starved} starved, {each} B of memory each at the most", actions(&ran));
    println!("{:?}", ran.generator);
    child.kill().unwrap();
    child.wait().unwrap();
}
