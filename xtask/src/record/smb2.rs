//! SMB 2 and 3 on Samba, by smbclient and smbtorture.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::capture::Capture;
use super::folder::Folder;
use super::network::Network;
use super::running::Running;
use super::samba::{Samba, USER};
use crate::Outcome;

/// How many operations.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Capture to write
    output: PathBuf,
    /// Number of clients, each with a separate address
    #[arg(long, default_value_t = 4)]
    clients: u64,
    /// Duration of each smbtorture bench in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Number of files that each client creates and reads
    #[arg(long, default_value_t = 500)]
    files: u64,
}

/// Time limit of a client.
const LIMIT: Duration = Duration::from_secs(300);
/// Time limit of a lesson: those that end at all need five seconds.
const LESSON_LIMIT: Duration = Duration::from_secs(40);
/// A user's file operations, in smbclient's commands. In braces: the client's private folder.
const FILES: &str = "\
mkdir {}; cd {}; put load.bin one.bin; put load.bin two.bin; ls; allinfo one.bin; get one.bin back.bin; \
rename two.bin three.bin; setmode three.bin +r; setmode three.bin -r; stat three.bin; mkdir inner; cd inner; \
put small.txt a.txt; ls *.txt; get missing.txt; del a.txt; cd ..; rmdir inner; del *.bin; cd ..; rmdir {}; du; volume";
/// Tests of smbtorture for what smbclient does not do; each is a protocol lesson of a second or less.
const LESSONS: [&str; 14] = [
    "smb2.compound.related1",
    "smb2.compound.related3",
    "smb2.compound.unrelated1",
    "smb2.compound.create-write-close",
    "smb2.compound_async.flush_close",
    "smb2.oplock.batch1",
    "smb2.oplock.exclusive2",
    "smb2.lease.break",
    "smb2.lease.upgrade",
    "smb2.notify.dir",
    "smb2.notify.close",
    "smb2.lock.async",
    "smb2.lock.cancel",
    "smb2.lock.errorcode",
];

/// Those that a client of SMB 2.1 goes through too.
const LESSONS_OF_2_1: [&str; 5] = [
    "smb2.compound.related3",
    "smb2.compound.unrelated1",
    "smb2.oplock.batch1",
    "smb2.lease.break",
    "smb2.lock.cancel",
];

/// A server, a network and a capture of its traffic.
struct Stage {
    network: Network,
    folder: Folder,
    samba: Samba,
    capture: Capture,
}

impl Stage {
    fn open(clients: u64, output: &Path) -> Result<Self, String> {
        let network = Network::open(clients)?;
        let folder = Folder::new()?;
        folder.write("load.bin", [b'p'; 150_000])?;
        folder.write("small.txt", "what a file server may carry\n")?;
        let samba = Samba::start(network, &folder, 0)?;
        let filter = format!("tcp port {}", samba.address.port());
        let capture = Capture::start(network, &folder, &filter, output)?;
        Ok(Self { network, folder, samba, capture })
    }

    fn start(&self, client: u64, program: &str, protocol: &str, rest: &[&str]) -> Result<Running, String> {
        let mut command = self.network.at_client(client, program);
        let port = self.samba.address.port().to_string();
        command.arg(self.samba.share()).args(["-p", &port, "-U", USER, "-m", protocol]);
        command.args(rest).current_dir(self.folder.path());
        let log = self.folder.path().join(format!("{program}{client}.log"));
        Running::start(program, &mut command, &log)
    }

    fn finish(self) -> Outcome {
        self.capture.finish()
    }
}

/// Records a little of everything: SMB 3.1.1 by one client and SMB 2.1 by another.
pub(crate) fn tour(output: &Path) -> Outcome {
    let stage = Stage::open(2, output)?;
    // With SMB 2.1, smbtorture 4.17 aborts in its first lesson, and waits forever in others.
    let few = LESSONS_OF_2_1.as_slice();
    for (client, protocol, lessons) in [(0, "SMB3_11", LESSONS.as_slice()), (1, "SMB2_10", few)] {
        let script = FILES.replace("{}", &format!("user{client}"));
        let (_, said) = stage.start(client, "smbclient", protocol, &["-c", &script])?.wait(LIMIT)?;
        println!("record: smbclient -m {protocol}: {} lines", said.lines().count());
        for lesson in lessons {
            let mut torture = stage.start(client, "smbtorture", protocol, &[lesson])?;
            let Ok((status, said)) = torture.wait(LESSON_LIMIT) else {
                println!("record: {lesson} -m {protocol}: given up");
                continue;
            };
            // The capture records Samba's answers, whether or not they are the ones that the test expects.
            let reason = said.lines().find(|line| line.starts_with("failure:") || line.starts_with("skip:"));
            println!("record: {lesson} -m {protocol}: {status} {}", reason.unwrap_or_default());
        }
    }
    stage.finish()
}

/// Records many operations: files by smbclient, then smbtorture's benches, by several clients at a time.
pub(crate) fn operations(arguments: &Arguments) -> Outcome {
    let clients = arguments.clients;
    let stage = Stage::open(clients, &arguments.output)?;
    let mut running = Vec::new();
    for client in 0..clients {
        let script = many_files(client, arguments.files);
        running.push(stage.start(client, "smbclient", "SMB3_11", &["-c", &script])?);
    }
    finish_all(running)?;
    let limit = arguments.seconds.to_string();
    let benches = ["smb2.bench.oplock1", "smb2.bench.path-contention-shared", "smb2.bench.echo"];
    for bench in benches {
        let mut running = Vec::new();
        for client in 0..clients {
            running.push(stage.start(client, "smbtorture", "SMB3_11", &[bench, "-t", &limit])?);
        }
        finish_all(running)?;
    }
    stage.finish()
}

fn many_files(client: u64, files: u64) -> String {
    let mut script = format!("mkdir many{client}; cd many{client}");
    for file in 0..files {
        script.push_str(&format!("; put small.txt f{file}.txt; get f{file}.txt back{client}.txt"));
        if file % 4 == 0 {
            script.push_str(&format!("; rename f{file}.txt g{file}.txt; allinfo g{file}.txt; del g{file}.txt"));
        }
    }
    script.push_str("; ls; del *; cd ..; rmdir many");
    script.push_str(&client.to_string());
    script
}

fn finish_all(running: Vec<Running>) -> Outcome {
    for mut program in running {
        let (status, said) = program.wait(LIMIT)?;
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        println!("record: {status}: {last}");
    }
    Ok(())
}
