//! The servers that all clients talk to: Samba and NFS-Ganesha, with the same file.

use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_client::target::Target;
use plimsoll_drive::connect::{self, ConnectOptions, Connector};
use plimsoll_model::Names;
use plimsoll_testkit::servers::{Export, Ganesha, Samba, Scratch, Share};

use crate::compare::content;
use crate::operation::{BIG_FILE, BIG_SIZE, Case, FILE, SIZE};
use crate::stream::EMPTY;

/// Starts both, says where they are, and ends them when standard input does: for a look at one client with a profiler.
pub fn keep() -> Result<(), Box<dyn Error>> {
    let servers = Servers::start()?;
    println!("{}", servers.target(Case::SmbRead1));
    println!("{}", servers.target(Case::SmbMultichannelRead8k));
    println!("{}", servers.target(Case::NfsGetattr));
    println!("{}", servers.libnfs_url());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

/// Both servers.
pub struct Servers {
    samba: Samba,
    ganesha: Ganesha,
    scratch: Scratch,
}

impl Servers {
    /// Starts them.
    pub fn start() -> Result<Self, Box<dyn Error>> {
        let samba = Samba::start(&Samba::MULTICHANNEL).map_err(|missing| missing.to_string())?;
        let ganesha = Ganesha::start().map_err(|missing| missing.to_string())?;
        let folders = [samba.folder(Share::Guest), samba.folder(Share::Data), ganesha.folder(Export::Data)];
        for folder in folders.into_iter().flatten() {
            std::fs::write(folder.join(FILE), content())?;
        }
        Ok(Self { samba, ganesha, scratch: Scratch::new("cost") })
    }

    /// A folder for build outputs.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The target's URL for Plimsoll. SMB clients with one connection log on as guests. A guest's session has no key, with which further
    /// connections are bound to it, so clients with several log on with the account. No session is signed.
    pub fn target(&self, operation: Case) -> String {
        if operation.channels() > 1 {
            format!("smb://{}@{}/{}", Samba::USER, self.samba.address(), Share::Data.name())
        } else if operation.is_smb() {
            format!("smb://{}@{}/{}", self.user(), self.samba.address(), self.share())
        } else if operation.has_session() {
            self.ganesha.target_of(Export::Data, "4.1")
        } else {
            self.ganesha.target(Export::Data)
        }
    }

    /// Where Samba listens.
    pub fn smb_address(&self) -> SocketAddr {
        self.samba.address()
    }

    /// Samba's share.
    pub fn share(&self) -> &'static str {
        Share::Guest.name()
    }

    /// The user who logs on to it.
    pub fn user(&self) -> &'static str {
        "Guest"
    }

    /// The password.
    pub fn password(&self) -> &'static str {
        ""
    }

    /// The export as libnfs writes it.
    pub fn libnfs_url(&self) -> String {
        self.ganesha.libnfs_url(Export::Data, "").trim_end_matches('/').replace("/?", "?")
    }

    /// A file of the export as libnfs writes it.
    pub fn libnfs_file(&self, file: &str) -> String {
        self.ganesha.libnfs_url(Export::Data, file)
    }

    /// Puts a big file into both, which stays in the cache where it was written; and an empty one.
    pub fn add_big_file(&self) -> Result<(), Box<dyn Error>> {
        let folders = [self.samba.folder(Share::Guest), self.ganesha.folder(Export::Data)];
        let mut first: Option<PathBuf> = None;
        for folder in folders.into_iter().flatten() {
            std::fs::write(folder.join(EMPTY), "")?;
            let file = folder.join(BIG_FILE);
            match &first {
                // One copy in the cache is enough for both.
                Some(first) => std::fs::hard_link(first, &file)?,
                None => {
                    let mut writer = std::fs::File::create(&file)?;
                    (0..BIG_SIZE / SIZE).try_for_each(|_| writer.write_all(&content()))?;
                    first = Some(file);
                }
            }
        }
        Ok(())
    }

    /// Processor time that the server of an operation has taken so far, with the processes that it started.
    pub fn cpu(&self, operation: Case) -> Result<Duration, Box<dyn Error>> {
        let leader = if operation.is_smb() { self.samba.process_id() } else { self.ganesha.process_id() };
        cpu_of(leader.ok_or("the server has ended")?, operation.is_smb())
    }
}

/// The server at a target's URL.
pub fn connector(operation: Case, url: &str, names: &mut Names) -> Result<Box<dyn Connector>, Box<dyn Error>> {
    let target = if operation.channels() > 1 { with_password(url)? } else { Target::parse(url)? };
    Ok(connect::open(&target, &ConnectOptions::default(), names)?)
}

/// A target, with the account's password.
pub fn with_password(url: &str) -> Result<Target, Box<dyn Error>> {
    let mut target = Target::parse(url)?;
    target.find_password(None, Some(Samba::PASSWORD.into()))?;
    Ok(target)
}

/// Processor time that a process has taken so far; with `group`, also that of the processes in the group that it leads.
pub fn cpu_of(leader: u32, group: bool) -> Result<Duration, Box<dyn Error>> {
    let leader = leader.to_string();
    let mut ticks = 0;
    for process in std::fs::read_dir("/proc")? {
        let Ok(stat) = std::fs::read_to_string(process?.path().join("stat")) else { continue };
        // proc(5): after the name in parentheses: state, ppid, pgrp, … utime and stime are fields 14 and 15, and those of ended
        // children 16 and 17.
        let Some((_, fields)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = fields.split(' ').collect();
        let own = stat.split(' ').next() == Some(&leader);
        if own || (group && fields.get(2) == Some(&leader.as_str())) {
            let times = fields.get(11..if own { 15 } else { 13 }).unwrap_or_default();
            ticks += times.iter().filter_map(|time| time.parse::<u64>().ok()).sum::<u64>();
        }
    }
    let a_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64(ticks as f64 / a_second as f64))
}
