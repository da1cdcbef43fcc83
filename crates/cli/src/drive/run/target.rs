//! Flags of the target.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plimsoll_client::smb2::{Dialect, Requirement};
use plimsoll_client::target::{Embedded, PASSWORD_VARIABLE, Target};
use plimsoll_client::tls::{Trust, authorities};

use plimsoll_drive::connect::{ConnectOptions, find_version};
use plimsoll_experiment::{ResolvedTarget, RunSpec, ServerSpec, refused_target};
use plimsoll_results::Usage;

use super::auth::AuthFlags;
use crate::shell;

/// Flags of the target.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct TargetFlags {
    /// The targets.
    #[arg(long, value_name = "URL", default_value = "embedded:smb", help = format!("{TARGETS}. Repeat this option to drive several servers of one protocol; Plimsoll assigns the clients to the servers in turn"))]
    target: Vec<String>,
    /// The file of the password.
    #[arg(long, value_name = "FILE", help = PASSWORD_FILE)]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    auth: AuthFlags,
    #[command(flatten)]
    connect_options: WishFlags,
}

/// Help text of a password file.
pub(crate) const PASSWORD_FILE: &str = "File whose first line is the password [default: the password in the target URL, otherwise the \
     environment variable PLIMSOLL_PASSWORD]";

/// Help text of a target.
pub(crate) const TARGETS: &str = "Server to drive: smb://user@host[:port]/share[/path] (also cifs:// and \\\\host\\share; with --channels, ?addresses=IP,IP gives the addresses of the further connections [default: the server's list]), \
     nfs://host[:port]/export[?OPTIONS] (also host:/export), file:///path, embedded:smb or embedded:nfs[?version=3|4.1|4.2] (default: 3). OPTIONS, joined with &: \
     version=3|4.0|4.1|4.2 (default: the highest that the server speaks; 3 with mountport or portmapport), slots=NUMBER (per session, with 4.1 and 4.2), delegations=yes (read delegations, with 4.1 and 4.2), resvport (source ports below 1024), xprtsec=tls (RPC over TLS, see --tls-ca), sec=krb5|krb5i|krb5p (Kerberos: nfs://user@host/export, in builds with that feature), mountport=PORT, portmapport=PORT";

/// Requirements on a server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct WishFlags {
    /// Use only this SMB dialect: 2.0.2, 2.1, 3.0, 3.0.2 or 3.1.1
    #[arg(long, value_name = "VERSION", value_parser = parse_dialect)]
    dialect: Option<Dialect>,
    /// Require SMB signing
    #[arg(long)]
    signing: bool,
    /// Require SMB encryption
    #[arg(long)]
    encryption: bool,
    /// PEM file of the certificate authorities that are trusted for RPC over TLS [default: those of this system]
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Do not verify the server's certificate for RPC over TLS
    #[arg(long, conflicts_with = "tls_ca")]
    tls_insecure: bool,
}

impl TargetFlags {
    /// These values, as if they were given as flags.
    pub(crate) fn new(
        target: String,
        password_file: Option<PathBuf>,
        auth: AuthFlags,
        connect_options: WishFlags,
    ) -> Self {
        Self { target: vec![target], password_file, auth, connect_options }
    }

    /// Input files of these flags.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.password_file.as_deref().into_iter().chain(self.auth.accounts());
        files.chain(self.connect_options.tls_ca.as_deref())
    }

    /// The target with its password, and with the highest version where it names none. Starts the server of an embedded target.
    pub(crate) fn choose(&self, timeout: Duration) -> anyhow::Result<ResolvedTarget> {
        self.choose_as_recorded(timeout, &[])
    }

    /// The same, but a target without a version gets the version of a `recorded` target that is otherwise equal.
    pub(crate) fn choose_as_recorded(&self, timeout: Duration, recorded: &[Target]) -> anyhow::Result<ResolvedTarget> {
        let options = ConnectOptions { timeout, ..self.connect_options() };
        let parse = |target: &String| Target::parse(target).map_err(|error| Usage(error.to_string()));
        let targets = self.target.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        self.connect_options.check(&targets)?;
        let mut resolved = targets.into_iter().map(|mut target| {
            recorded.iter().for_each(|recorded| target.take_version(recorded));
            self.resolve(target, &options)
        });
        let first = resolved.next().ok_or_else(|| Usage("--target: expected a URL".to_owned()))??;
        Ok(first.with_others(resolved.collect::<anyhow::Result<_>>()?)?)
    }

    fn resolve(&self, mut target: Target, options: &ConnectOptions) -> anyhow::Result<ResolvedTarget> {
        self.auth.check(&target)?;
        let variable = std::env::var_os(PASSWORD_VARIABLE);
        target.find_password(self.password_file.as_deref(), variable).map_err(refused_target)?;
        if let Some(file) = self.auth.accounts() {
            target.find_accounts(file).map_err(refused_target)?;
        }
        find_version(&mut target, options)?;
        ResolvedTarget::start(target)
    }

    /// Requirements on the server; they are the same for a whole recording.
    pub(crate) fn spec(&self) -> ServerSpec {
        let WishFlags { dialect, signing, encryption, ref tls_ca, tls_insecure } = self.connect_options;
        let dialect = dialect.map(|dialect| dialect.name().to_owned());
        // Absolute, because a repeated run reads the file again from any folder.
        let from_anywhere = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let accounts = self.auth.accounts().map(from_anywhere);
        let tls_ca = tls_ca.as_deref().map(from_anywhere);
        // The names of the targets are added later, without passwords.
        let (kerberos, targets) = (self.auth.spec(), Vec::new());
        ServerSpec { dialect, signing, encryption, kerberos, accounts, tls_ca, tls_insecure, targets }
    }

    /// The flags of the recorded run in this folder, without those that its target does not use; the password comes from the usual places.
    pub(crate) fn recorded(&self, run: &mut RunSpec, folder: &Path) -> Result<Self, Usage> {
        let unused = run.remove_unused_options();
        if !unused.is_empty() {
            let (folder, unused) = (folder.display(), unused.join(", "));
            shell::note(&format!(
                "plimsoll: --from {folder}: left out {unused}: this target does not use these options of the recorded run"
            ));
        }
        self.of(run)
    }

    fn of(&self, run: &RunSpec) -> Result<Self, Usage> {
        let ServerSpec { dialect, signing, encryption, kerberos, accounts, tls_ca, tls_insecure, targets } =
            &run.server;
        let dialect = dialect.as_deref().map(parse_dialect).transpose().map_err(Usage)?;
        let (signing, encryption, tls_insecure) = (*signing, *encryption, *tls_insecure);
        let connect_options = WishFlags { dialect, signing, encryption, tls_ca: tls_ca.clone(), tls_insecure };
        let accounts = self.auth.accounts().map(Path::to_owned).or_else(|| accounts.clone());
        let auth = AuthFlags::of(kerberos.as_ref(), accounts).map_err(Usage)?;
        let target = if targets.is_empty() { vec![run.target.clone()] } else { targets.clone() };
        Ok(Self { target, password_file: self.password_file.clone(), auth, connect_options })
    }

    /// Connection options.
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { kerberos: self.auth.realm(), ..self.connect_options.connect_options() }
    }
}

impl WishFlags {
    /// Whether each flag has an effect on a target, and none excludes another. A flag without effect would let the user believe in a
    /// protection that is not there.
    fn check(&self, targets: &[Target]) -> Result<(), Usage> {
        let of_smb = |target: &Target| matches!(target, Target::Smb(_) | Target::Embedded(Embedded::Smb));
        let over_tls = |target: &Target| matches!(target, Target::Nfs(target) if target.tls);
        let path = targets.iter().all(|target| matches!(target, Target::Path(_)));
        if !targets.iter().any(of_smb) {
            let dialect = self.dialect.map(|dialect| format!("--dialect {}", dialect.name()));
            let flags = [
                (self.signing.then(|| "--signing".to_owned()), "sec=krb5i"),
                (self.encryption.then(|| "--encryption".to_owned()), "xprtsec=tls or sec=krb5p"),
                (dialect, "version="),
            ];
            if let Some((flag, nfs)) = flags.into_iter().find_map(|(flag, nfs)| flag.map(|flag| (flag, nfs))) {
                let instead = match path {
                    true => "for a mounted directory, the options of the mount decide this".to_owned(),
                    false => format!("for NFS, use {nfs} in the target"),
                };
                return Err(Usage(format!("{flag}: only smb:// targets have this option; remove it ({instead})")));
            }
        }
        let tls = [("--tls-ca", self.tls_ca.is_some()), ("--tls-insecure", self.tls_insecure)];
        if let Some((flag, _)) = tls.iter().find(|(_, given)| *given && !targets.iter().any(over_tls)) {
            return Err(Usage(format!(
                "{flag}: only nfs:// targets with xprtsec=tls use certificates; add xprtsec=tls to the target, or remove {flag}"
            )));
        }
        match self.dialect.filter(|dialect| self.encryption && *dialect < Dialect::V300) {
            Some(dialect) => Err(Usage(format!(
                "--encryption: SMB {} has no encryption, which SMB 3.0 introduced; remove --encryption or --dialect",
                dialect.name()
            ))),
            None => Ok(()),
        }
    }

    fn connect_options(&self) -> ConnectOptions {
        let wish = |demanded| if demanded { Requirement::Demanded } else { Requirement::ServerDefault };
        let dialects = self.dialect.map_or(Dialect::V202..=Dialect::V311, |dialect| dialect..=dialect);
        let (signing, encryption) = (wish(self.signing), wish(self.encryption));
        let trust = if self.tls_insecure { Trust::Anyone } else { authorities(self.tls_ca.as_deref()) };
        ConnectOptions { dialects, signing, encryption, trust, ..ConnectOptions::default() }
    }
}

fn parse_dialect(text: &str) -> Result<Dialect, String> {
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == text).ok_or_else(|| {
        let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_passwords_in_the_order_of_their_use() {
        let mut target = Target::parse("smb://u:own@h/s").unwrap();
        target.find_password(None, Some("other".into())).unwrap();
        let Target::Smb(target) = target else { panic!("another target") };
        assert_eq!(target.credentials.password.expose(), "own");
        let [url, variable] = ["target URL", PASSWORD_VARIABLE].map(|source| PASSWORD_FILE.find(source));
        assert!(url.is_some() && url < variable, "{PASSWORD_FILE}");
    }

    fn refusal(flags: &WishFlags, target: &str) -> Option<String> {
        flags.check(&[Target::parse(target).unwrap()]).err().map(|error| error.to_string())
    }

    #[test]
    fn a_flag_without_effect_is_refused_with_what_has_it() {
        let (none, ca) = (WishFlags::default, || Some(PathBuf::from("ca.pem")));
        let signing = WishFlags { signing: true, ..none() };
        let encryption = WishFlags { encryption: true, ..none() };
        let dialect = WishFlags { dialect: Some(Dialect::V300), ..none() };
        let trust = WishFlags { tls_ca: ca(), ..none() };
        let insecure = WishFlags { tls_insecure: true, ..none() };
        for (flags, target, said) in [
            (&signing, "nfs://h/e", "use sec=krb5i"),
            (&encryption, "nfs://h/e?xprtsec=tls", "use xprtsec=tls or sec=krb5p"),
            (&encryption, "embedded:nfs", "--encryption"),
            (&dialect, "nfs://h/e", "use version="),
            (&dialect, "file:///mnt", "--dialect 3.0: only smb:// targets have this option; remove it (for a mounted"),
            (&trust, "nfs://h/e", "--tls-ca: only nfs:// targets with xprtsec=tls"),
            (&insecure, "smb://h/s", "--tls-insecure"),
            (&insecure, "file:///mnt", "--tls-insecure"),
        ] {
            let refused = refusal(flags, target).unwrap_or_default();
            assert!(refused.contains(said), "{target}: {refused}");
        }
        for (flags, target) in [
            (&signing, "smb://h/s"),
            (&encryption, "embedded:smb"),
            (&dialect, "smb://h/s"),
            (&trust, "nfs://h/e?xprtsec=tls"),
            (&none(), "file:///mnt"),
        ] {
            assert_eq!(refusal(flags, target), None, "{target}");
        }
        // One of several targets that can use it is enough.
        let both = ["nfs://a/e", "nfs://b/e?xprtsec=tls"].map(|target| Target::parse(target).unwrap());
        assert!(insecure.check(&both).is_ok());
    }

    #[test]
    fn a_dialect_without_encryption_is_refused_with_encryption() {
        let asked = |dialect| WishFlags { dialect: Some(dialect), encryption: true, ..WishFlags::default() };
        let refused = refusal(&asked(Dialect::V210), "smb://h/s").unwrap();
        assert!(refused.starts_with("--encryption: SMB 2.1 has no encryption"), "{refused}");
        assert_eq!(refusal(&asked(Dialect::V300), "smb://h/s"), None);
    }
}
