//! MIT's krb5kdc with its own realm.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{ATTEMPTS, Ganesha, Samba, Scratch, Unavailable, answers, connects, free_port, program_exists};

/// krb5kdc on a port of loopback, with Samba's account and keys for the names of two services, SMB's and NFS'. Ended, with everything that it
/// wrote, when dropped.
#[derive(Debug)]
pub struct Kdc {
    scratch: Scratch,
    port: u16,
    process: Option<Child>,
}

impl Kdc {
    /// The realm.
    pub const REALM: &str = "PLIMSOLL.TEST";
    /// The names that a server with [`Kdc::samba_settings`] has a key for: clients of Samba take no ticket for `localhost`.
    pub const SERVERS: [&str; 2] = ["localhost", "files.plimsoll.test"];
    /// A server that the realm knows, but whose key no program has.
    pub const WITHOUT_KEYTAB: &str = "other.plimsoll.test";

    /// Makes the realm, starts krb5kdc and waits until it answers.
    ///
    /// # Errors
    /// This machine has no krb5kdc.
    ///
    /// # Panics
    /// It was started and does not answer: the message has its log.
    pub fn start() -> Result<Self, Unavailable> {
        if !program_exists("krb5kdc") || !program_exists("kdb5_util") {
            return Err(Unavailable("needs krb5kdc (Debian: krb5-kdc)"));
        }
        if !program_exists("kadmin.local") {
            return Err(Unavailable("needs kadmin.local (Debian: krb5-admin-server)"));
        }
        let mut kdc = Self { scratch: Scratch::new("kdc"), port: 0, process: None };
        kdc.configure();
        kdc.make_realm();
        // If another program takes the port before krb5kdc does, krb5kdc ends at once.
        let answered = (0..ATTEMPTS).any(|_| {
            kdc.port = free_port().expect("loopback has free ports");
            kdc.configure();
            kdc.launch()
        });
        assert!(answered, "krb5kdc does not answer:\n{}", kdc.log());
        Ok(kdc)
    }

    /// The same with a Samba that takes its tickets.
    pub fn start_with_samba() -> Result<(Self, Samba), Unavailable> {
        let kdc = Self::start()?;
        let samba = Samba::start(&kdc.samba_settings().each_ref().map(String::as_str))?;
        Ok((kdc, samba))
    }

    /// The same with a Ganesha that takes its tickets, and no others' calls.
    pub fn start_with_ganesha() -> Result<(Self, Ganesha), Unavailable> {
        let kdc = Self::start()?;
        let ganesha = Ganesha::start_with_kerberos(&kdc)?;
        Ok((kdc, ganesha))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// A client's `krb5.conf`.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.scratch.path().join("krb5.conf")
    }

    /// Lines for `[global]` with which Samba takes tickets.
    #[must_use]
    pub fn samba_settings(&self) -> [String; 3] {
        [
            format!("realm = {}", Self::REALM),
            "kerberos method = dedicated keytab".to_owned(),
            format!("dedicated keytab file = {}", self.keytab().display()),
        ]
    }

    /// The keys of the servers.
    #[must_use]
    pub fn keytab(&self) -> PathBuf {
        self.scratch.path().join("keytab")
    }

    /// How many tickets it gave out so far: for accounts, and for services.
    #[must_use]
    pub fn issued(&self) -> (usize, usize) {
        let log = self.log();
        let count = |what| log.lines().filter(|line| line.contains(what) && line.contains(": ISSUE:")).count();
        (count("AS_REQ"), count("TGS_REQ"))
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }

    fn configure(&self) {
        let (home, port, realm) = (self.scratch.path().display(), self.port, Self::REALM);
        let client = format!(
            "[libdefaults]\n default_realm = {realm}\n dns_lookup_kdc = false\n rdns = false\n\
             [realms]\n {realm} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
        );
        // Samba takes no PAC (what Windows says of an account) where it is no domain's member.
        let server = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
             [realms]\n {realm} = {{\n  database_name = {home}/principal\n  key_stash_file = {home}/stash\n\
             \x20 acl_file = {home}/acl\n  disable_pac = true\n  default_principal_flags = +preauth\n\
             \x20 supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal\n }}\n\
             [logging]\n kdc = FILE:{home}/log\n"
        );
        std::fs::write(self.configuration(), client).expect("a scratch folder can be written to");
        std::fs::write(self.scratch.path().join("kdc.conf"), server).expect("a scratch folder can be written to");
    }

    fn make_realm(&self) {
        self.run("kdb5_util", &["create", "-s", "-P", "a key that protects nothing"]);
        let keytab = self.keytab();
        let user = format!("addprinc -pw \"{}\" {}", Samba::PASSWORD, Samba::USER);
        self.run("kadmin.local", &["-q", &user]);
        for server in Self::SERVERS.into_iter().chain([Self::WITHOUT_KEYTAB]) {
            self.run("kadmin.local", &["-q", &format!("addprinc -randkey cifs/{server}")]);
            self.run("kadmin.local", &["-q", &format!("addprinc -randkey nfs/{server}")]);
        }
        for server in Self::SERVERS {
            self.run("kadmin.local", &["-q", &format!("ktadd -k {} cifs/{server}", keytab.display())]);
            self.run("kadmin.local", &["-q", &format!("ktadd -k {} nfs/{server}", keytab.display())]);
        }
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program);
        let output = command.args(["-r", Self::REALM]).args(arguments).stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("KRB5_CONFIG", self.configuration());
        command.env("KRB5_KDC_PROFILE", self.scratch.path().join("kdc.conf"));
        command
    }

    /// Starts it and waits until it answers; false where it ended instead.
    fn launch(&mut self) -> bool {
        let output =
            |name: &str| File::create(self.scratch.path().join(name)).expect("a scratch folder can be written to");
        let (out, errors) = (output("stdout"), output("stderr"));
        let mut command = self.command("krb5kdc");
        command.arg("-n").stdin(Stdio::null()).stdout(out).stderr(errors);
        let mut process = command.spawn().expect("krb5kdc starts");
        let answered = answers(&mut process, || connects(self.port));
        self.process = Some(process);
        if !answered {
            self.end();
        }
        answered
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        self.end();
    }
}
