//! Slurm on this machine alone: munged, slurmctld and slurmd with everything they need in one folder.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Variable;
use crate::process;
use crate::record::running::Running;

/// How long a daemon may take to start.
const START: Duration = Duration::from_secs(30);

/// The daemons; ended in this order.
pub(super) struct Slurm {
    configuration: PathBuf,
    _node: Running,
    _controller: Running,
    _munge: Running,
}

impl Slurm {
    pub(super) fn start(folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let at = |name: &str| folder.join(name);
        for name in ["state", "spool"] {
            fs::create_dir_all(at(name)).map_err(failed)?;
        }
        let munge = Self::munge(folder)?;
        let host = process::output(Command::new("hostname").arg("-s"))?;
        let ports = [free_port()?, free_port()?];
        let configuration = at("slurm.conf");
        fs::write(&configuration, text(folder, host.trim(), ports)).map_err(failed)?;
        let daemon = |name: &'static str| {
            let mut command = Command::new(process::find(name).ok_or_else(|| format!("needs {name}"))?);
            command.arg("-D").env("SLURM_CONF", &configuration);
            Running::start(name, &mut command, &at(&format!("{name}.out")))
        };
        let mut controller = daemon("slurmctld")?;
        controller.wait_until_answers(([127, 0, 0, 1], ports[0]).into(), START)?;
        let mut node = daemon("slurmd")?;
        node.wait_until_answers(([127, 0, 0, 1], ports[1]).into(), START)?;
        let slurm = Self { configuration, _node: node, _controller: controller, _munge: munge };
        slurm.wait_until_idle()?;
        Ok(slurm)
    }

    /// The variable that Slurm's commands read.
    pub(super) fn environment(&self) -> Variable {
        ("SLURM_CONF", self.configuration.clone())
    }

    fn munge(folder: &Path) -> Result<Running, String> {
        let at = |name: &str| folder.join(format!("munge.{name}")).display().to_string();
        let key = at("key");
        // Nobody else trusts it.
        fs::write(&key, [folder.display().to_string().repeat(40), key.clone()].concat())
            .map_err(|error| error.to_string())?;
        process::output(Command::new("chmod").args(["400", &key]))?;
        let munged = process::find("munged").ok_or("needs munged (Debian: munge)")?;
        let mut command = Command::new(munged);
        command.args(["--force", "--foreground", &format!("--key-file={key}")]);
        for name in ["socket", "pid-file", "log-file", "seed-file"] {
            command.arg(format!("--{name}={}", at(name.trim_end_matches("-file"))));
        }
        let mut munge = Running::start("munged", &mut command, &folder.join("munged.out"))?;
        let socket = PathBuf::from(at("socket"));
        munge.wait_until(START, "made no socket", |_| socket.exists())?;
        Ok(munge)
    }

    fn wait_until_idle(&self) -> Result<(), String> {
        for _ in 0..300 {
            let mut sinfo = Command::new("sinfo");
            let said = process::output(sinfo.args(["-h", "-o", "%t"]).env("SLURM_CONF", &self.configuration));
            if said.is_ok_and(|said| said.trim() == "idle") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("slurm: the node does not become idle".to_owned())
    }
}

/// A port that is free now.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    drop(listener);
    match TcpStream::connect(("127.0.0.1", port)) {
        Ok(_) => Err(format!("port {port} is taken")),
        Err(_) => Ok(port),
    }
}

fn text(folder: &Path, host: &str, [controller, node]: [u16; 2]) -> String {
    let folder = folder.display();
    format!(
        "ClusterName=plimsoll
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"
    )
}
