//! A Samba server of our own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::folder::Folder;
use super::network::Network;
use super::running::Running;
use crate::process;

/// The user whom clients log on as: made for the recording, worth nothing elsewhere.
pub(crate) const USER: &str = "sara%plimsoll";
/// The name of the share of all.
const SHARE: &str = "share";

/// A Samba server at work.
#[derive(Debug)]
pub(crate) struct Samba {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Stored here because it ends with us.
    _smbd: Running,
}

impl Samba {
    /// Starts a server with its state, the share of all and a share for each client in a folder.
    pub(crate) fn start(network: Network, folder: &Folder, clients: u64) -> Result<Self, String> {
        let address = network.server(445);
        let state = folder.make("samba")?;
        let unix_user = process::output(Command::new("id").arg("-un"))?;
        let unix_user = unix_user.trim();
        let users = folder.write("users", format!("{unix_user} = sara\n"))?;
        let settings = [
            ("interfaces", network.interface().to_owned()),
            ("bind interfaces only", "yes".to_owned()),
            ("smb ports", address.port().to_string()),
            ("disable netbios", "yes".to_owned()),
            ("netbios name", "FILESERVER".to_owned()),
            ("server role", "standalone server".to_owned()),
            ("server min protocol", "NT1".to_owned()),
            ("map to guest", "Bad User".to_owned()),
            ("guest account", unix_user.to_owned()),
            ("username map", users.display().to_string()),
            ("passdb backend", format!("tdbsam:{}", state.join("passdb.tdb").display())),
            ("log level", "0".to_owned()),
            ("log file", state.join("log").display().to_string()),
            ("load printers", "no".to_owned()),
            ("disable spoolss", "yes".to_owned()),
            ("printcap name", "/dev/null".to_owned()),
            ("unix extensions", "no".to_owned()),
            ("kernel change notify", "no".to_owned()),
        ];
        let folders = ["lock", "state", "cache", "pid"].map(|what| (format!("{what} directory"), &state));
        let mut text = "[global]\n".to_owned();
        for (key, value) in settings {
            text.push_str(&format!("{key} = {value}\n"));
        }
        for (key, value) in folders {
            text.push_str(&format!("{key} = {}\n", value.display()));
        }
        text.push_str(&format!("private dir = {0}\nncalrpc dir = {0}/ncalrpc\n", state.display()));
        for share in std::iter::once(SHARE.to_owned()).chain((0..clients).map(share_of)) {
            let path = folder.make_public(&share)?;
            text.push_str(&format!("[{share}]\npath = {}\nguest ok = yes\nread only = no\n", path.display()));
        }
        let configuration = folder.write("smb.conf", text)?;
        add_user(&configuration, unix_user, folder)?;
        let mut command = Command::new(process::find("smbd").ok_or("no smbd: install samba")?);
        command.arg("--foreground").arg("--debug-stdout").arg("-s").arg(&configuration);
        let mut smbd = Running::start("smbd", &mut command, &folder.path().join("smbd.log"))?;
        smbd.wait_until_answers(address, Duration::from_secs(20))?;
        Ok(Self { address, _smbd: smbd })
    }

    /// The share of all, as `//address/share`.
    pub(crate) fn share(&self) -> String {
        format!("//{}/{SHARE}", self.address.ip())
    }

    pub(crate) fn share_of(&self, client: u64) -> String {
        format!("//{}/{}", self.address.ip(), share_of(client))
    }
}

fn share_of(client: u64) -> String {
    format!("client{}", client.saturating_add(1))
}

fn add_user(configuration: &PathBuf, unix_user: &str, folder: &Folder) -> Result<(), String> {
    let mut command = Command::new("pdbedit");
    command.arg("-s").arg(configuration).args(["-a", "-t", "-u", unix_user]).stdout(Stdio::null());
    let log = folder.path().join("pdbedit.log");
    let password = USER.split('%').next_back().unwrap_or_default();
    let input = format!("{password}\n{password}\n");
    let mut pdbedit = Running::start_with_input("pdbedit", &mut command, &log, &input)?;
    let (status, said) = pdbedit.wait(Duration::from_secs(20))?;
    if status.success() { Ok(()) } else { Err(format!("pdbedit: {status}\n{said}")) }
}
