//! `plimsoll serve`: a server in memory until Ctrl-C.

use std::ffi::OsString;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use anyhow::Context;
use plimsoll_client::target::{PASSWORD_VARIABLE, password_in};
use plimsoll_serve::{Account, Embedded, Kind, Options, ServeError};

use crate::exit::{Done, Usage};
use crate::shell;

/// Default ports, which do not need root.
const SMB_PORT: u16 = 4450;
const NFS_PORT: u16 = 20_490;

/// Arguments of `plimsoll serve`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  plimsoll serve smb\n  plimsoll serve nfs --listen 127.0.0.1:0 --size 512MiB\n\nThe first line on standard output is the URL of the target, without the password.\n\
    The server stores all files in memory; they are lost when it exits."
)]
pub(crate) struct Arguments {
    /// Protocol to serve (nfs: versions 3, 4.1 and 4.2 on one port)
    #[arg(value_enum)]
    protocol: Protocol,
    /// Address and port to listen on; port 0 picks a free port [default: 127.0.0.1:4450 (smb), 127.0.0.1:20490 (nfs)]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Allow a --listen address that other machines can reach
    #[arg(long)]
    allow_remote: bool,
    /// User name for SMB logons, e.g. alice [default: anonymous logons only]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// File whose first line is the password [default: environment variable PLIMSOLL_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
    /// Name of the share or export
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    share: String,
    /// Maximum memory for file data, e.g. 512MiB or 4GiB; allocated as files grow
    #[arg(long, value_name = "BYTES", default_value = "4GiB", value_parser = parse_size)]
    size: u64,
    /// Number of server threads [default: one per core]
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Reject all writes and other changes
    #[arg(long)]
    read_only: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Protocol {
    Smb,
    Nfs,
}

impl Arguments {
    fn options(self) -> anyhow::Result<(Kind, Options)> {
        let (kind, port) = match self.protocol {
            Protocol::Smb => (Kind::Smb, SMB_PORT),
            Protocol::Nfs => (Kind::Nfs, NFS_PORT),
        };
        let account = match self.user {
            Some(user) => {
                let password = password(self.password_file.as_deref(), std::env::var_os(PASSWORD_VARIABLE))?;
                Some(Account::new(user, password))
            }
            None => None,
        };
        let usual = Options::default();
        let options = Options {
            listen: self.listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            allow_remote: self.allow_remote,
            account,
            share: self.share,
            threads: self.threads.unwrap_or(usual.threads),
            size: self.size,
            read_only: self.read_only,
        };
        Ok((kind, options))
    }
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let (kind, options) = arguments.options()?;
    let (interrupted, interruption) = mpsc::channel();
    let interrupt = move || {
        // A second signal has no receiver, and no effect.
        let _ = interrupted.send(());
    };
    ctrlc::set_handler(interrupt).context("cannot install the Ctrl-C handler")?;
    let open = kind == Kind::Nfs && options.allow_remote;
    let can = if options.read_only { "read" } else { "read and write" };
    let server = Embedded::start(kind, options).map_err(refused)?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", server.shown()).and_then(|()| out.flush()).context("standard output")?;
    if open {
        shell::note(&format!("NFS has no passwords: anyone who can reach this server can {can} its files."));
    }
    shell::note(&format!("{}\nPress Ctrl-C to stop the server; all files are then lost.", server.example()));
    interruption.recv().context("cannot wait for Ctrl-C")?;
    drop(server);
    Ok(Done::Normally)
}

/// Wrong options are usage errors; refusals of the system are not.
fn refused(error: ServeError) -> anyhow::Error {
    match error {
        ServeError::Listen { .. } | ServeError::Threads(_) | ServeError::Random(_) => error.into(),
        other => Usage(other.to_string()).into(),
    }
}

/// Password from the first line of a file, or from the environment.
fn password(file: Option<&Path>, variable: Option<OsString>) -> anyhow::Result<String> {
    if let Some(file) = file {
        return Ok(password_in(file)?.expose().to_owned());
    }
    let usage = |problem: &str| Usage(format!("--user: {problem}")).into();
    match variable.map(OsString::into_string) {
        Some(Ok(password)) => Ok(password),
        Some(Err(_)) => Err(usage("PLIMSOLL_PASSWORD is not valid UTF-8; use --password-file FILE")),
        None => Err(usage("missing password: give --password-file FILE or set PLIMSOLL_PASSWORD")),
    }
}

/// Bytes of a size as workloads write it, or of a number without a unit.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let bytes = match text.ends_with(|last: char| last.is_ascii_digit()) {
        true => plimsoll_workload::size(&format!("{text}B")),
        false => plimsoll_workload::size(text),
    };
    bytes.ok_or_else(|| "expected a size below 16EiB in bytes, KiB to TiB or kB to TB, e.g. 512MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!((parse_size("123"), parse_size("1KiB"), parse_size("7B")), (Ok(123), Ok(1024), Ok(7)));
        assert_eq!(parse_size("512MB"), Ok(512_000_000), "as in workload files");
        for wrong in ["", "GiB", "4G", "-1", "+1", "1.5", "1.5GiB", "99999999TiB", "18446744073709551616"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_user_needs_a_password_from_somewhere() {
        assert!(password(None, None).unwrap_err().is::<Usage>());
        assert_eq!(password(None, Some("secret".into())).unwrap(), "secret");
        assert!(password(Some(Path::new("/none/such")), Some("secret".into())).is_err());
    }

    #[test]
    fn a_password_file_is_read_as_that_of_a_target() {
        let scratch = plimsoll_testkit::servers::Scratch::new("serve-password");
        let found = |bytes: &str| password(Some(scratch.file("password", bytes).as_path()), None);
        assert_eq!(found("\u{FEFF}secret\r\n").unwrap(), "secret", "a byte-order mark");
        assert!(found("\nsecret\n").unwrap_err().to_string().contains("is empty"));
    }
}
