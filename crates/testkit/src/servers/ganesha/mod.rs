//! NFS-Ganesha with its own configuration and exports.

mod counters;
mod export;
mod portmapper;
mod program;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::command::output;

use super::{ATTEMPTS, Kdc, Scratch, Unavailable, answers, connects, free_port, program_exists};
use counters::{Bus, counted};
use portmapper::{one_at_a_time, start_rpcbind};
use program::Program;

pub use export::Export;

/// Ganesha on ports of loopback. Ended, with everything it wrote, when dropped.
#[derive(Debug)]
pub struct Ganesha {
    program: Program,
    scratch: Scratch,
    nfs: u16,
    mount: u16,
    small: bool,
    process: Option<Child>,
    /// Held from a crash to the next start, which then waits for no other Ganesha's.
    turn: Option<File>,
    /// A private D-Bus, on which it publishes its counters.
    bus: Option<Bus>,
    /// The realm whose tickets it takes, and no others' calls.
    kerberos: Option<Realm>,
    /// After a restart it waits this number of seconds for its clients to reclaim their state.
    grace_s: Option<u32>,
    /// The minor versions of NFS 4 that it offers.
    minor_versions: &'static str,
}

/// The files of a Kerberos server.
#[derive(Clone, Debug)]
struct Realm {
    keytab: PathBuf,
    configuration: PathBuf,
}

const ALL_MINOR_VERSIONS: &str = "0, 1, 2";

impl Ganesha {
    /// Bytes of the file system behind [`Export::Small`].
    pub const SMALL: u64 = 1 << 20;

    /// Starts Ganesha and waits until it answers.
    ///
    /// # Errors
    /// This machine has no Ganesha or no rpcbind, or we may not start them.
    ///
    /// # Panics
    /// It was started and does not answer: the message has its log.
    pub fn start() -> Result<Self, Unavailable> {
        Self::start_with(false, None, None, ALL_MINOR_VERSIONS)
    }

    /// The same, for calls with the tickets of a realm: [`Export::Data`] takes krb5, krb5i and krb5p, and [`Export::ReadOnly`] krb5p alone.
    pub fn start_with_kerberos(kdc: &Kdc) -> Result<Self, Unavailable> {
        Self::start_with(
            false,
            None,
            Some(Realm { keytab: kdc.keytab(), configuration: kdc.configuration() }),
            ALL_MINOR_VERSIONS,
        )
    }

    /// The same with counters, which it publishes on a private D-Bus ([`Ganesha::bus`]).
    pub fn start_counting() -> Result<Self, Unavailable> {
        if !program_exists("dbus-daemon") || !program_exists("dbus-send") {
            return Err(Unavailable("needs dbus-daemon and dbus-send (Debian: dbus)"));
        }
        Self::start_with(true, None, None, ALL_MINOR_VERSIONS)
    }

    /// The same, with a grace period of at most `seconds` after each start.
    pub fn start_with_grace(seconds: u32) -> Result<Self, Unavailable> {
        Self::start_with(false, Some(seconds), None, ALL_MINOR_VERSIONS)
    }

    /// The same, with only these minor versions of NFS 4, e.g. `0, 1`.
    pub fn start_offering(minor_versions: &'static str) -> Result<Self, Unavailable> {
        Self::start_with(false, None, None, minor_versions)
    }

    fn start_with(
        counting: bool,
        grace_s: Option<u32>,
        kerberos: Option<Realm>,
        minor_versions: &'static str,
    ) -> Result<Self, Unavailable> {
        let program = Program::find()?;
        if !program_exists("rpcbind") {
            return Err(Unavailable("needs rpcbind"));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Unavailable("needs root, to start ganesha.nfsd"));
        }
        start_rpcbind();
        let mut scratch = Scratch::new("ganesha");
        for export in Export::ALL {
            let folder = scratch.folder(export.folder());
            if kerberos.is_some() {
                // This machine has no users with the names of the realm, so Ganesha maps them to `nobody`.
                let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
                std::fs::set_permissions(folder, everybody).expect("a scratch folder is ours");
            }
        }
        let small = scratch.small_file_system(Export::Small.folder(), Self::SMALL).is_some();
        let bus = counting.then(|| Bus::start(&scratch));
        let (nfs, mount, process, turn) = (0, 0, None, None);
        let mut ganesha =
            Self { program, scratch, nfs, mount, small, process, turn, bus, kerberos, grace_s, minor_versions };
        // If another program takes the port before Ganesha does, Ganesha ends at once.
        let answered = (0..ATTEMPTS).any(|_| {
            ganesha.nfs = free_port().expect("loopback has free ports");
            ganesha.mount = free_port().expect("loopback has free ports");
            ganesha.launch()
        });
        assert!(answered, "ganesha.nfsd does not answer:\n{}", ganesha.log());
        Ok(ganesha)
    }

    /// Its version, e.g. `4.3`.
    ///
    /// # Panics
    /// It does not say.
    #[must_use]
    pub fn version(&self) -> String {
        self.program.version()
    }

    /// Where NFS listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.nfs).into()
    }

    /// How often it was asked for each NFSv3 procedure since its start, by its names for them; `None` where it does not count.
    ///
    /// # Panics
    /// It does not tell.
    #[must_use]
    pub fn counts(&self) -> Option<BTreeMap<String, i64>> {
        let mut command = Command::new("dbus-send");
        command.env("DBUS_SYSTEM_BUS_ADDRESS", self.bus()?).args(["--system", "--print-reply"]);
        command.args(["--dest=org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr"]);
        let answer = output(command.arg("org.ganesha.nfsd.exportstats.GetFULLV3Stats"));
        assert!(answer.status.success(), "dbus-send: {}", String::from_utf8_lossy(&answer.stderr));
        Some(counted(&String::from_utf8_lossy(&answer.stdout)))
    }

    /// The address of the D-Bus with its counters, if it has counters.
    #[must_use]
    pub fn bus(&self) -> Option<&str> {
        self.bus.as_ref().map(|bus| bus.address.as_str())
    }

    /// The port of MOUNT.
    #[must_use]
    pub fn mount_port(&self) -> u16 {
        self.mount
    }

    /// The folder behind an export, or `None` where there is none.
    #[must_use]
    pub fn folder(&self, export: Export) -> Option<PathBuf> {
        let there = export != Export::Memory && (export != Export::Small || self.small);
        there.then(|| self.scratch.path().join(export.folder()))
    }

    /// An export's URL as Plimsoll writes it.
    #[must_use]
    pub fn target(&self, export: Export) -> String {
        format!("nfs://{}{}?version=3&mountport={}", self.address(), export.path(), self.mount)
    }

    /// The same in version 4.0, 4.1 or 4.2.
    #[must_use]
    pub fn target_of(&self, export: Export, version: &str) -> String {
        format!("nfs://{}{}?version={version}", self.address(), export.path())
    }

    /// The URL of a file of an export as libnfs writes it.
    #[must_use]
    pub fn libnfs_url(&self, export: Export, file: &str) -> String {
        let (path, nfs, mount) = (export.path(), self.nfs, self.mount);
        format!("nfs://127.0.0.1{path}/{file}?version=3&nfsport={nfs}&mountport={mount}")
    }

    /// Its process id, while it runs.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Ends it as [`Ganesha::kill`] does, while no other Ganesha starts: [`Ganesha::restart`] then waits for none.
    pub fn crash(&mut self) {
        self.turn.get_or_insert_with(one_at_a_time);
        self.kill();
    }

    /// Starts it again on the same ports. While another Ganesha starts, it still serves.
    ///
    /// # Panics
    /// It does not answer.
    pub fn restart(&mut self) {
        self.crash();
        let answered = (0..ATTEMPTS).any(|_| self.launch());
        assert!(answered, "ganesha.nfsd does not answer after a restart:\n{}", self.log());
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.scratch.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn write_configuration(&self) -> PathBuf {
        let home = self.scratch.path().display();
        let Self { nfs, mount, bus, minor_versions, .. } = self;
        let (count, backends) = (bus.is_some(), self.program.setting());
        let grace = match self.grace_s {
            None => "Graceless = true;".to_owned(),
            // No lease may outlive the grace period.
            Some(seconds) => format!("Grace_Period = {seconds}; Lease_Lifetime = {seconds};"),
        };
        let mut text = format!(
            "NFS_CORE_PARAM {{ Enable_NFS_Stats = {count}; Enable_FULLV3_Stats = {count}; NFS_Port = {nfs}; MNT_Port = {mount}; Bind_addr = 127.0.0.1; Protocols = 3, 4;\n\
             Enable_NLM = false; Enable_RQUOTA = false; mount_path_pseudo = true; {backends} }}\n\
             NFSV4 {{ {grace} Minor_Versions = {minor_versions}; RecoveryRoot = \"{home}/recovery\"; }}\n\
             LOG {{ Default_Log_Level = EVENT; }}\n"
        );
        let realm = |Realm { keytab, .. }: &Realm| {
            let keytab = keytab.display();
            format!(
                "NFS_KRB5 {{ PrincipalName = nfs; KeytabPath = {keytab}; CCacheDir = {home}; Active_krb5 = true; }}\n"
            )
        };
        text += &self.kerberos.as_ref().map(realm).unwrap_or_default();
        let there = Export::ALL.into_iter().filter(|export| *export != Export::Small || self.small);
        for (number, export) in (1..).zip(there) {
            let (folder, path, settings) = (export.folder(), export.path(), export.settings());
            let security = match (&self.kerberos, export) {
                (None, _) => "sys",
                (Some(_), Export::ReadOnly) => "krb5p",
                (Some(_), _) => "krb5, krb5i, krb5p",
            };
            text += &format!(
                "EXPORT {{ Export_Id = {number}; Filesystem_Id = {number}.{number}; Path = {home}/{folder}; Pseudo = {path};\n\
                 Squash = No_Root_Squash; SecType = {security}; Protocols = 3, 4; Transports = TCP; {settings} }}\n"
            );
        }
        let file = self.scratch.path().join("ganesha.conf");
        std::fs::write(&file, text).expect("a scratch folder can be written to");
        file
    }

    /// Starts it and waits until it answers; false where it ended instead.
    fn launch(&mut self) -> bool {
        let _alone = self.turn.take().unwrap_or_else(one_at_a_time);
        let home = self.scratch.path();
        // Removes the log of the previous start.
        let _ = std::fs::remove_file(home.join("log"));
        let stdio = || File::create(home.join("output")).map_or_else(|_| Stdio::null(), Stdio::from);
        let mut command = self.program.command();
        command.arg("-F").arg("-f").arg(self.write_configuration()).arg("-L").arg(home.join("log"));
        command.arg("-p").arg(home.join("pid")).stdin(Stdio::null()).stdout(stdio()).stderr(stdio());
        if let Some(bus) = self.bus() {
            command.env("DBUS_SYSTEM_BUS_ADDRESS", bus);
        }
        if let Some(realm) = &self.kerberos {
            command.env("KRB5_CONFIG", &realm.configuration).env("KRB5_KTNAME", &realm.keytab);
        }
        let mut process = command.spawn().expect("ganesha.nfsd starts");
        // It listens before it serves: only the log tells.
        let serves = || self.log().contains("NFS SERVER INITIALIZED") && connects(self.nfs) && connects(self.mount);
        let answered = answers(&mut process, serves);
        self.process = Some(process);
        if !answered {
            self.kill();
        }
        answered
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        self.kill();
    }
}
