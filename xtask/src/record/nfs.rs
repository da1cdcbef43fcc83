//! NFSv3 and NFSv4 on Ganesha, by libnfs' programs.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::capture::Capture;
use super::folder::Folder;
use super::network::Network;
use super::running::Running;
use crate::{Outcome, process};

/// Time limit of a client.
const LIMIT: Duration = Duration::from_secs(60);
/// Files that each client writes in `writes`, and their size, bytes.
const FILES: usize = 3;
const FILE: usize = 2 << 20;

/// Records two clients, each with both versions.
pub(crate) fn run(output: &Path) -> Outcome {
    let network = open()?;
    let folder = Folder::new()?;
    let load = folder.write("load.bin", [b'n'; 200_000])?;
    let medium = folder.write("medium.bin", [b'm'; 1_000])?;
    let small = folder.write("small.txt", "what a file server may carry\n")?;
    let _servers = start_servers(network, &folder)?;
    let capture = Capture::start(network, &folder, "tcp or udp", output)?;
    for (client, version) in [(0, 3), (1, 3), (0, 4), (1, 4)] {
        let url = |path: &str| format!("nfs://{}/files{path}?version={version}", network.server(2049).ip());
        let user = format!("/user{client}/v{version}");
        let (one, two) = (url(&format!("{user}.bin")), url(&format!("{user}.txt")));
        let back = folder.path().join(format!("back{client}{version}.bin"));
        let said = |program: &str, rest: &[&str]| in_client(network, &folder, client, program, rest);
        said("nfs-ls", &[&url("/")])?;
        // nfs-cp of libnfs 4.0 writes 1,000 bytes to Ganesha 4.3 over NFSv4, and fails with 4,000 and more; why is not known.
        said("nfs-cp", &[text(if version == 3 { &load } else { &medium })?, &one])?;
        said("nfs-cp", &[text(&small)?, &two])?;
        said("nfs-cp", &[&one, text(&back)?])?;
        said("nfs-cat", &[&two])?;
        said("nfs-cat", &[&url("/user0/missing")])?;
        said("nfs-ls", &["-R", &url("/")])?;
    }
    capture.finish()
}

/// Records two clients that write large files with NFSv3 at the same time.
pub(crate) fn writes(output: &Path) -> Outcome {
    let network = open()?;
    let folder = Folder::new()?;
    // The same byte again and again, so that the compressed capture is small.
    let file = folder.write("film.bin", vec![b'f'; FILE])?;
    let _servers = start_servers(network, &folder)?;
    let capture = Capture::start(network, &folder, "tcp or udp", output)?;
    let (folder, file) = (&folder, text(&file)?);
    let write_all = |client: u64| {
        let url = |number: usize| {
            format!("nfs://{}/files/user{client}/film{number}.bin?version=3", network.server(2049).ip())
        };
        (0..FILES).try_for_each(|number| in_client(network, folder, client, "nfs-cp", &[file, &url(number)]))
    };
    std::thread::scope(|scope| {
        let clients = [0, 1].map(|client| scope.spawn(move || write_all(client)));
        clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked".to_owned())?)
    })?;
    capture.finish()
}

fn open() -> Result<Network, String> {
    match Network::open(2)? {
        Network::Loopback => {
            Err("Ganesha and rpcbind need ports of their own: root and namespaces are needed".to_owned())
        }
        network @ Network::Bridge => Ok(network),
    }
}

/// Portmapper and server, which end when they go out of scope.
fn start_servers(network: Network, folder: &Folder) -> Result<[Running; 2], String> {
    let mut rpcbind = Command::new(process::find("rpcbind").ok_or("no rpcbind")?);
    let mut rpcbind = Running::start("rpcbind", rpcbind.arg("-f"), &folder.path().join("rpcbind.log"))?;
    rpcbind.wait_until_answers(network.server(111), Duration::from_secs(10))?;
    let mut ganesha = start_ganesha(folder)?;
    ganesha.wait_until_answers(network.server(2049), Duration::from_secs(30))?;
    Ok([rpcbind, ganesha])
}

/// Runs a client; prints how it ended, since a refusal is worth recording too.
fn in_client(network: Network, folder: &Folder, client: u64, program: &str, rest: &[&str]) -> Outcome {
    let mut command = network.at_client(client, program);
    let log = folder.path().join(format!("client{client}.log"));
    let (status, said) = Running::start(program, command.args(rest), &log)?.wait(LIMIT)?;
    let last = said.lines().last().unwrap_or_default();
    println!("record: client {client}: {program} {}: {status}: {}", rest.join(" "), last.get(..100).unwrap_or(last));
    Ok(())
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{}: not text", path.display()))
}

fn start_ganesha(folder: &Folder) -> Result<Running, String> {
    let files = folder.make_public("files")?;
    for user in ["files/user0", "files/user1"] {
        folder.make_public(user)?;
        folder.write(&format!("{user}/notes.txt"), "notes\n")?;
    }
    let state = folder.make("ganesha")?;
    let configuration = format!(
        "NFS_CORE_PARAM {{ Protocols = 3,4; Enable_NLM = false; Enable_RQUOTA = false; }}\n\
         NFSv4 {{ Graceless = true; RecoveryRoot = {state}; }}\n\
         EXPORT {{ Export_Id = 1; Path = {files}; Pseudo = /files; Tag = files; Access_Type = RW; Squash = None;\n\
         SecType = sys; Transports = TCP, UDP; Protocols = 3,4; FSAL {{ Name = VFS; }} }}\n\
         NFS_CORE_PARAM {{ mount_path_pseudo = true; }}\n",
        state = state.display(),
        files = files.display()
    );
    let configuration = folder.write("ganesha.conf", configuration)?;
    let mut command = Command::new(process::find("ganesha.nfsd").ok_or("no ganesha.nfsd: install nfs-ganesha")?);
    command.arg("-F").arg("-f").arg(configuration).arg("-p").arg(state.join("pid"));
    command.args(["-L", "STDOUT", "-N", "NIV_EVENT"]);
    Running::start("ganesha.nfsd", &mut command, &folder.path().join("ganesha.log"))
}
