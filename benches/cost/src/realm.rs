//! The servers of the rows with krb5p: a KDC, and an NFS-Ganesha that takes its tickets.

use std::error::Error;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use plimsoll_client::smb2::auth;
use plimsoll_client::target::Server;
use plimsoll_testkit::servers::{Export, Ganesha, Kdc, Samba};

/// The environment variable with the KDC's address, for Plimsoll's client.
const KDC: &str = "PLIMSOLL_COST_KDC";

/// Both servers, and the ticket of the account for MIT's library.
pub struct Realm {
    pub ganesha: Ganesha,
    environment: [(&'static str, OsString); 3],
    _kdc: Kdc,
}

impl Realm {
    /// Starts both, and gets the ticket into a file in `folder`.
    pub fn start(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let kdc = Kdc::start().map_err(|missing| missing.to_string())?;
        let ganesha = Ganesha::start_with_kerberos(&kdc).map_err(|missing| missing.to_string())?;
        let cache = [OsString::from("FILE:"), folder.join("tickets").into_os_string()].into_iter().collect();
        let environment = [
            ("KRB5_CONFIG", kdc.configuration().into_os_string()),
            ("KRB5CCNAME", cache),
            (KDC, kdc.address().to_string().into()),
        ];
        let mut kinit = Command::new("kinit");
        kinit.envs(environment.clone()).arg(format!("{}@{}", Samba::USER, Kdc::REALM));
        let kinit = kinit.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut kinit = kinit.map_err(|error| format!("kinit (Debian: krb5-user): {error}"))?;
        let mut password = kinit.stdin.take().ok_or("no pipe")?;
        writeln!(password, "{}", Samba::PASSWORD)?;
        drop(password);
        let status = kinit.wait()?;
        if !status.success() {
            return Err(format!("kinit: {status}").into());
        }
        Ok(Self { ganesha, environment, _kdc: kdc })
    }

    /// The target's URL.
    pub fn target(&self) -> String {
        let (port, path, mount) = (self.ganesha.address().port(), Export::Data.path(), self.ganesha.mount_port());
        format!("nfs://{}@localhost:{port}{path}?version=3&mountport={mount}&sec=krb5p", Samba::USER)
    }

    /// What its clients read from the environment.
    pub fn environment(&self) -> &[(&'static str, OsString)] {
        &self.environment
    }
}

/// The realm that the environment names, for Plimsoll's client.
pub fn of_environment() -> Result<auth::Realm, Box<dyn Error>> {
    let address: std::net::SocketAddr = std::env::var(KDC).map_err(|error| format!("{KDC}: {error}"))?.parse()?;
    let kdc = Server { host: address.ip().to_string(), port: address.port() };
    Ok(auth::Realm { name: Some(Kdc::REALM.to_owned()), kdc: Some(kdc) })
}
