//! Samba's smbd with its own configuration, accounts and shares.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{ATTEMPTS, Scratch, Unavailable, answers, connects, free_port, program_exists};

/// A share of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// For the user, to read and write.
    Data,
    /// The same for clients without an account; in another folder.
    Guest,
    /// For the user, to read alone.
    ReadOnly,
    /// For the user, on a file system of [`Samba::SMALL`] bytes. Not there where it could not be mounted.
    Small,
}

impl Share {
    const ALL: [Share; 4] = [Share::Data, Share::Guest, Share::ReadOnly, Share::Small];

    /// Its name on the server.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Share::Data => "data",
            Share::Guest => "guest",
            Share::ReadOnly => "readonly",
            Share::Small => "small",
        }
    }

    fn settings(self) -> &'static str {
        match self {
            Share::Data | Share::Small => "read only = no\n",
            Share::Guest => "read only = no\nguest ok = yes\n",
            Share::ReadOnly => "read only = yes\n",
        }
    }
}

/// smbd on a port of loopback. Ended, with everything it started and wrote, when dropped.
#[derive(Debug)]
pub struct Samba {
    scratch: Scratch,
    port: u16,
    settings: String,
    small: bool,
    process: Option<Child>,
}

impl Samba {
    /// The account.
    pub const USER: &str = "plimsoll";
    /// Its password.
    pub const PASSWORD: &str = "Load-line 7";
    /// Bytes of the file system behind [`Share::Small`].
    pub const SMALL: u64 = 1 << 20;

    /// Settings for SMB multichannel: an interface of loopback that claims RSS, which Samba requires of interfaces that it offers for
    /// further connections.
    pub const MULTICHANNEL: [&str; 2] =
        [r#"interfaces = "127.0.0.1;capability=RSS,speed=1000000000""#, "server multi channel support = yes"];

    /// Starts smbd with further lines for `[global]` (`server signing = mandatory`) and waits until it answers.
    ///
    /// # Errors
    /// This machine has no smbd, or we may not start it.
    ///
    /// # Panics
    /// It was started and does not answer: the message has its log.
    pub fn start(settings: &[&str]) -> Result<Self, Unavailable> {
        if !program_exists("smbd") || !program_exists("smbpasswd") {
            return Err(Unavailable("needs smbd (Debian: samba)"));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Unavailable("needs root, to start smbd"));
        }
        let mut scratch = Scratch::new("samba");
        let small = scratch.small_file_system(Share::Small.name(), Self::SMALL).is_some();
        let settings = settings.iter().map(|line| format!("{line}\n")).collect();
        // smbpasswd reads the same file, and takes no port 0.
        let mut samba = Self { scratch, port: 1, settings, small, process: None };
        samba.prepare();
        // If another program takes the port before smbd does, smbd ends at once.
        let answered = (0..ATTEMPTS).any(|_| {
            samba.port = free_port().expect("loopback has free ports");
            samba.launch()
        });
        assert!(answered, "smbd does not answer:\n{}", samba.log());
        Ok(samba)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The folder behind a share, or `None` where the share is not there.
    #[must_use]
    pub fn folder(&self, share: Share) -> Option<PathBuf> {
        (share != Share::Small || self.small).then(|| self.scratch.path().join(share.name()))
    }

    /// The process id of the smbd that listens, while it runs.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Ends smbd and the processes that serve its connections at once, as a crash would.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // It leads a process group, which contains all processes that it starts.
        if let Some(group) = Pid::from_raw(process.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = process.wait();
    }

    /// Starts it again on the same port.
    ///
    /// # Panics
    /// It does not answer.
    pub fn restart(&mut self) {
        self.kill();
        let answered = (0..ATTEMPTS).any(|_| self.launch());
        assert!(answered, "smbd does not answer after a restart:\n{}", self.log());
    }

    /// What smbd wrote to its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        let folder = self.scratch.path().join("log");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        files
            .filter_map(|file| std::fs::read(file.path()).ok())
            .fold(String::new(), |log, bytes| log + &String::from_utf8_lossy(&bytes))
    }

    /// How often each of smbd's counters of requests (`smb2_read_count`) has counted so far; `None` where smbstatus is missing
    /// or smbd does not count. It counts with `smbd profiling level = count`, and tells a moment later.
    #[must_use]
    pub fn counts(&self) -> Option<Vec<(String, i64)>> {
        let mut command = Command::new("smbstatus");
        command.args(["--profile", "--configfile"]).arg(self.configuration()).stdin(Stdio::null());
        let output = command.output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let counter = |line: &str| {
            let (name, count) = line.split_once(':')?;
            let counts = name.starts_with("smb2_") && name.ends_with("_count");
            counts.then(|| Some((name.to_owned(), count.trim().parse().ok()?))).flatten()
        };
        let counts: Vec<(String, i64)> = text.lines().filter_map(counter).collect();
        (!counts.is_empty()).then_some(counts)
    }

    /// Runs smbclient's commands (separated by `;`) in a share, as the user.
    ///
    /// # Panics
    /// There is no smbclient.
    #[must_use]
    pub fn smbclient(&self, share: Share, commands: &str) -> Output {
        let login = self.scratch.path().join("login");
        let text = format!("username = {}\npassword = {}\n", Self::USER, Self::PASSWORD);
        std::fs::write(&login, text).expect("a scratch folder can be written to");
        let target = format!("//127.0.0.1/{}", share.name());
        let mut command = Command::new("smbclient");
        command.arg(format!("--configfile={}", self.configuration().display())).arg(target);
        command.args(["--port", &self.port.to_string(), "--authentication-file"]).arg(login).args(["-c", commands]);
        command.output().expect("smbclient (Debian: smbclient)")
    }

    /// Its smb.conf, which programs of Samba's that look at it need.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.scratch.path().join("smb.conf")
    }

    /// Folders and the account.
    fn prepare(&self) {
        for folder in ["private", "state", "log"] {
            let _ = self.scratch.folder(folder);
        }
        for share in Share::ALL {
            let folder = self.scratch.folder(share.name());
            let everybody = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(folder, everybody).expect("a scratch folder is ours");
        }
        // The account is root's under another name, so that no account of the system has to be made. A ticket of the realm
        // comes as one of the workgroup.
        std::fs::write(self.user_map(), format!("root = {0} PLIMSOLL\\{0}\n", Self::USER))
            .expect("a scratch folder can be written to");
        self.write_configuration();
        self.set_password("root", Self::PASSWORD);
    }

    /// Makes accounts, and gives them as a file for `--accounts` has them. Each is a user of Debian's under another name, several
    /// the same one.
    #[must_use]
    pub fn accounts(&self, count: usize) -> String {
        const USERS: [&str; 7] = ["daemon", "bin", "sys", "games", "man", "mail", "news"];
        let mut map = std::fs::read_to_string(self.user_map()).expect("it was written");
        let mut accounts = String::new();
        for (number, user) in (0..count).zip(USERS.iter().cycle()) {
            // Writing to a String does not fail.
            let _ = writeln!(map, "{user} = account{number}");
            let _ = writeln!(accounts, "account{number}:of {user}: 7");
        }
        std::fs::write(self.user_map(), map).expect("a scratch folder is ours");
        USERS.iter().take(count).for_each(|user| self.set_password(user, &format!("of {user}: 7")));
        accounts
    }

    fn user_map(&self) -> PathBuf {
        self.scratch.path().join("users")
    }

    fn set_password(&self, user: &str, password: &str) {
        let mut command = Command::new("smbpasswd");
        command.arg("-c").arg(self.configuration()).args(["-s", "-a", user]);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("smbpasswd starts");
        let twice = format!("{password}\n{password}\n");
        process.stdin.take().expect("a pipe").write_all(twice.as_bytes()).expect("smbpasswd reads");
        let output = process.wait_with_output().expect("smbpasswd ends");
        assert!(output.status.success(), "smbpasswd: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn write_configuration(&self) {
        let home = self.scratch.path().display();
        let port = self.port;
        let mut text = format!(
            "[global]\n\
             workgroup = PLIMSOLL\nnetbios name = PLIMSOLL\nserver role = standalone server\n\
             smb ports = {port}\ninterfaces = lo\nbind interfaces only = yes\ndisable netbios = yes\n\
             private dir = {home}/private\nlock directory = {home}/state\nstate directory = {home}/state\n\
             cache directory = {home}/state\npid directory = {home}/state\nncalrpc dir = {home}/state/ncalrpc\n\
             passdb backend = tdbsam:{home}/private/passdb.tdb\nusername map = {home}/users\n\
             map to guest = Bad User\nguest account = nobody\n\
             log file = {home}/log/smbd\nmax log size = 0\n\
             load printers = no\nprinting = bsd\nprintcap name = /dev/null\ndisable spoolss = yes\n\
             store dos attributes = no\nea support = no\nserver min protocol = SMB2_02\n{}",
            self.settings
        );
        for share in Share::ALL {
            let (name, settings) = (share.name(), share.settings());
            // Writing to a String does not fail.
            let _ = write!(text, "[{name}]\npath = {home}/{name}\n{settings}");
        }
        std::fs::write(self.configuration(), text).expect("a scratch folder can be written to");
    }

    /// Starts it and waits until it answers; false where it ended instead.
    fn launch(&mut self) -> bool {
        self.write_configuration();
        let errors = self.file("log/stderr");
        let mut command = Command::new("smbd");
        command.args(["--foreground", "--no-process-group", "--configfile"]).arg(self.configuration());
        command.process_group(0).stdin(Stdio::null()).stdout(self.file("log/stdout")).stderr(errors);
        let mut process = command.spawn().expect("smbd starts");
        let answered = answers(&mut process, || connects(self.port));
        self.process = Some(process);
        if !answered {
            self.kill();
        }
        answered
    }

    fn file(&self, name: &str) -> File {
        let path: &Path = self.scratch.path();
        File::options().create(true).append(true).open(path.join(name)).expect("a scratch folder can be written to")
    }
}

impl Drop for Samba {
    fn drop(&mut self) {
        self.kill();
    }
}
