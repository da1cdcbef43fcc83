//! Where servers and clients meet: a bridge in namespaces of our own, or the loopback interface.

use std::env;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::{Outcome, process};

/// Set in the copy of this program that runs in private namespaces.
const INSIDE: &str = "PLIMSOLL_RECORD_INSIDE";
/// Added to a well-known port on the loopback interface, where the port itself may be taken or forbidden.
const HIGH: u16 = 40_000;
/// The most clients: their addresses end in 101 to 200.
const MOST_CLIENTS: u64 = 100;
/// The features of a network card that would put packets of 64 KiB and unset checksums into a capture.
const OFFLOADS: [&str; 8] = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"];

/// A server's side and the clients' sides of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network {
    /// A bridge; every client is a network namespace with a separate address.
    Bridge,
    /// The loopback interface: one address, packets of up to 64 KiB.
    Loopback,
}

/// Runs this program again in private namespaces and returns its result; None if it is there already, or cannot get there.
pub(crate) fn enter() -> Option<Outcome> {
    if env::var_os(INSIDE).is_some() || !can_unshare() {
        return None;
    }
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(error) => return Some(Err(error.to_string())),
    };
    let mut command = unshare();
    command.arg(program).args(env::args_os().skip(1)).env(INSIDE, "1");
    // The copy of ourselves has already said why.
    Some(match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(String::new()),
        Err(error) => Err(error.to_string()),
    })
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command
}

fn can_unshare() -> bool {
    process::output(unshare().args(["ip", "link", "add", "name", "try", "type", "bridge"])).is_ok()
}

impl Network {
    /// Creates the network for `clients` clients.
    pub(crate) fn open(clients: u64) -> Result<Self, String> {
        if !(1..=MOST_CLIENTS).contains(&clients) {
            return Err(format!("{clients} clients: one to {MOST_CLIENTS} can be made"));
        }
        if env::var_os(INSIDE).is_none() {
            println!(
                "record: not root, or no namespaces: the loopback interface, where packets are as large as 64 KiB"
            );
            return Ok(Self::Loopback);
        }
        // Names of namespaces, process ids and sockets of services live in /run: ours is not the machine's.
        set_up("mount", "-t tmpfs plimsoll /run")?;
        set_up("ip", "link set dev lo up")?;
        set_up("ip", "link add name server type bridge")?;
        set_up("ip", "addr add 10.77.0.1/24 dev server")?;
        set_up("ip", "link set dev server up")?;
        for client in 0..clients {
            add_client(client)?;
        }
        without_offloads(Command::new("ethtool"), "server");
        Ok(Self::Bridge)
    }

    /// The interface on which everything can be seen.
    pub(crate) fn interface(self) -> &'static str {
        match self {
            Self::Bridge => "server",
            Self::Loopback if cfg!(target_os = "macos") => "lo0",
            Self::Loopback => "lo",
        }
    }

    /// Where the server of a well-known port listens.
    pub(crate) fn server(self, port: u16) -> SocketAddr {
        let (address, port) = match self {
            Self::Bridge => (Ipv4Addr::new(10, 77, 0, 1), port),
            Self::Loopback => (Ipv4Addr::LOCALHOST, port.saturating_add(HIGH)),
        };
        SocketAddr::new(IpAddr::V4(address), port)
    }

    /// A program that runs where a client (from 0) is.
    pub(crate) fn at_client(self, client: u64, program: &str) -> Command {
        let mut command = match self {
            Self::Loopback => Command::new(program),
            Self::Bridge => in_client(client, program),
        };
        // smbtorture sends signals to its whole group of processes: to start, and to give up.
        command.process_group(0);
        command
    }
}

fn add_client(client: u64) -> Outcome {
    let name = name(client);
    set_up("ip", &format!("netns add {name}"))?;
    set_up("ip", &format!("link add name {name} type veth peer name eth0 netns {name}"))?;
    set_up("ip", &format!("link set dev {name} master server up"))?;
    set_up("ip", &format!("-n {name} addr add 10.77.0.{}/24 dev eth0", client.saturating_add(101)))?;
    set_up("ip", &format!("-n {name} link set dev eth0 up"))?;
    set_up("ip", &format!("-n {name} link set dev lo up"))?;
    without_offloads(Command::new("ethtool"), &name);
    without_offloads(in_client(client, "ethtool"), "eth0");
    Ok(())
}

fn in_client(client: u64, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &name(client), program]);
    command
}

fn name(client: u64) -> String {
    format!("client{}", client.saturating_add(1))
}

fn without_offloads(mut ethtool: Command, interface: &str) {
    if process::output(ethtool.args(["-K", interface]).args(OFFLOADS)).is_err() {
        println!("record: no ethtool: the capture may have packets of 64 KiB and wrong checksums ({interface})");
    }
}

fn set_up(program: &str, arguments: &str) -> Outcome {
    process::output(Command::new(program).args(arguments.split(' '))).map(drop)
}
