//! A URL taken apart.
//!
//! Spec: RFC 3986 3 (parts and escapes), RFC 6874 (IPv6 zones)

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use plimsoll_wire::rpc::Protection;
use zeroize::Zeroizing;

use super::query::{addresses, options};
use super::{
    Embedded, NFS_PORT, NfsTarget, NfsVersion, PORTMAP_PORT, SMB_PORT, Server, SmbTarget, Target, TargetError,
};
use crate::credentials::Credentials;
use crate::secret::Secret;

/// The longest name of a share or part of a path, bytes (NAME_MAX; MS-FSCC 2.1.5.3 counts 255 characters).
const LONGEST_PART: usize = 255;
/// Schemes of other services. An error names only these, because another word may be a part of a password.
const OTHER_SCHEMES: [&str; 10] = ["http", "https", "ftp", "ftps", "sftp", "dav", "davs", "afp", "iscsi", "s3"];
/// The longest path, bytes (PATH_MAX; MNTPATHLEN is 1,024, which servers go beyond).
const LONGEST_PATH: usize = 4096;

const fn wrong(part: &'static str, problem: &'static str) -> TargetError {
    TargetError::Part { part, problem }
}

impl Target {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// What is wrong with it. The message repeats nothing of it.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        if url.starts_with(r"\\") || url.starts_with("//") {
            return unc(url);
        }
        let (scheme, rest) = url.split_once(':').ok_or(TargetError::Form)?;
        match (scheme.to_ascii_lowercase().as_str(), rest) {
            ("embedded", "smb") => Ok(Target::Embedded(Embedded::Smb)),
            ("embedded", nfs) if nfs == "nfs" || nfs.starts_with("nfs?") => embedded_nfs(nfs.get(4..).unwrap_or("")),
            ("file", rest) => path(rest.strip_prefix("//").ok_or(TargetError::Form)?),
            ("smb" | "cifs", rest) => smb(&Parts::of(rest)?),
            ("nfs", rest) => nfs(&Parts::of(rest)?),
            ("embedded", rest) if !rest.starts_with('/') => Err(TargetError::Scheme("embedded:".to_owned())),
            _ => export(url),
        }
    }
}

/// `\\server\share\path`, as Windows writes it, or `//server/share/path`, as mount.cifs does. Such a name has no user.
fn unc(text: &str) -> Result<Target, TargetError> {
    if text.contains(['@', '%', '?', '#']) {
        return Err(wrong("UNC name", r"cannot contain '@', '%', '?' or '#': write smb://user@server/share/path"));
    }
    smb(&Parts::of(&text.replace('\\', "/"))?)
}

/// `host:/export`, as mount.nfs writes it, IPv6 addresses in brackets.
fn export(text: &str) -> Result<Target, TargetError> {
    let (host, path) = text.split_once(":/").ok_or(TargetError::Form)?;
    let scheme = matches!(host.to_ascii_lowercase().as_str(), "smb" | "cifs" | "nfs" | "file" | "http" | "https");
    let drive = host.len() == 1 && host.chars().all(|letter| letter.is_ascii_alphabetic());
    if let Some(other) = OTHER_SCHEMES.iter().find(|other| path.starts_with('/') && other.eq_ignore_ascii_case(host)) {
        return Err(TargetError::Scheme(format!("{other}://")));
    }
    if scheme || drive || path.starts_with('/') {
        return Err(TargetError::Form);
    }
    if text.contains(['@', '%', '?', '#', '\\']) {
        let problem = r"cannot contain '@', '%', '?', '#' or '\': write nfs://host/export?OPTIONS";
        return Err(wrong("HOST:/EXPORT", problem));
    }
    nfs(&Parts::of(&format!("//{host}/{path}"))?)
}

/// The parts of `//authority/path?query`, as they stand in the URL.
struct Parts<'a> {
    user: Option<&'a str>,
    host: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    fn of(rest: &'a str) -> Result<Self, TargetError> {
        let rest = rest.strip_prefix("//").ok_or(TargetError::Form)?;
        if rest.contains('#') {
            return Err(wrong("'#'", "must be written as %23"));
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if rest.contains('@') {
            // Most likely a password with a / or ? in it: what seems to be the host and the path then holds its parts.
            let problem = "must be written as %40; in a password, write '/' as %2F and '?' as %3F";
            return Err(wrong("'@' after a '/' or '?'", problem));
        }
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Ok(Self { user, host, path, query })
    }

    /// The parts of the path, decoded. Empty ones and a `.` name nothing.
    fn names(&self, separators: &[char]) -> Result<Vec<String>, TargetError> {
        if self.path.len() > LONGEST_PATH {
            return Err(wrong("path", "is longer than 4,096 bytes"));
        }
        let parts = self.path.split('/').filter(|part| !part.is_empty() && *part != ".");
        parts.map(|part| name(part, separators)).collect()
    }
}

fn name(part: &str, separators: &[char]) -> Result<String, TargetError> {
    let name = decoded(part, "path")?;
    if *name == ".." {
        return Err(wrong("path", "must not contain .."));
    }
    if name.contains(separators) || name.contains(char::is_control) {
        return Err(wrong(
            "path",
            "has a name that contains a separator or a control character; separate names with '/'",
        ));
    }
    if name.len() > LONGEST_PART {
        return Err(wrong("path", "has a name of more than 255 bytes"));
    }
    Ok(name.to_string())
}

fn smb(parts: &Parts<'_>) -> Result<Target, TargetError> {
    let addresses = addresses(parts.query)?;
    let server = server(parts.host, SMB_PORT)?;
    let mut names = parts.names(&['/', '\\'])?.into_iter();
    let share = names.next().ok_or(wrong("share", "is missing: smb://host/share"))?;
    let path = names.collect::<Vec<_>>().join("/");
    let credentials = parts.user.map_or_else(|| Ok(Credentials::anonymous()), credentials)?;
    Ok(Target::Smb(SmbTarget { server, share, path, credentials, accounts: Vec::new(), addresses }))
}

/// `user`, `user:password`, `DOMAIN;user:password`, `DOMAIN\user:password`.
fn credentials(text: &str) -> Result<Credentials, TargetError> {
    let (account, password) = match text.split_once(':') {
        Some((account, password)) => (account, Some(password)),
        None => (text, None),
    };
    let account = decoded(account, "user")?;
    let (domain, user) = account.split_once([';', '\\']).unwrap_or(("", &account));
    if user.is_empty() {
        return Err(wrong("user", "is empty; remove '@' to log on anonymously"));
    }
    if account.contains(char::is_control) {
        return Err(wrong("user", "contains a control character"));
    }
    let password = password.map(|text| decoded(text, "password")).transpose()?;
    let password = password.map_or_else(Secret::default, |text| Secret::new(text.to_string()));
    Ok(Credentials { domain: domain.to_owned(), user: user.to_owned(), password })
}

fn nfs(parts: &Parts<'_>) -> Result<Target, TargetError> {
    let credentials = parts.user.map_or_else(|| Ok(Credentials::anonymous()), credentials)?;
    let server = server(parts.host, NFS_PORT)?;
    let names = parts.names(&['/'])?;
    if !parts.path.starts_with('/') {
        return Err(wrong("export", "is missing: nfs://host/export"));
    }
    let export = format!("/{}", names.join("/"));
    let (mount_port, portmap_port, reserved_port, tls) = (None, PORTMAP_PORT, false, false);
    let (version, version_found, slots, delegations) = (None, false, None, false);
    let security = None;
    let mut target = NfsTarget {
        server,
        export,
        version,
        version_found,
        slots,
        delegations,
        mount_port,
        portmap_port,
        reserved_port,
        tls,
        security,
        credentials,
    };
    for (key, value) in options(parts.query)? {
        match key {
            "version" => {
                let known = NfsVersion::ALL.into_iter().find(|version| version.name() == value);
                target.version = Some(known.ok_or(wrong("version", "must be 3, 4.0, 4.1 or 4.2"))?);
            }
            "slots" => target.slots = Some(slot_count(value)?),
            "delegations" => target.delegations = wants_delegations(value)?,
            "mountport" => target.mount_port = Some(port(value, "mountport")?),
            "portmapport" => target.portmap_port = port(value, "portmapport")?,
            "resvport" if value.is_empty() => target.reserved_port = true,
            "xprtsec" => target.tls = transport(value)?,
            "sec" => target.security = security_flavor(value)?,
            "addresses" => return Err(wrong("option addresses", "is only for smb:// (with --channels); remove it")),
            _ => {
                return Err(wrong(
                    "options after '?'",
                    "must be among version=3|4.0|4.1|4.2, slots=NUMBER, delegations=yes|no, mountport=PORT, portmapport=PORT, resvport, \
                    xprtsec=tls|none and sec=sys|krb5|krb5i|krb5p",
                ));
            }
        }
    }
    if target.security.is_none() && parts.user.is_some() {
        return Err(wrong(
            "user",
            "is not allowed for nfs:// without Kerberos, because NFS then sends the numeric user ID of the plimsoll process: remove the user, or add ?sec=krb5",
        ));
    }
    if target.security.is_some() && target.credentials.user.is_empty() {
        return Err(wrong("user", "is missing: Kerberos needs a user, e.g. nfs://user@host/export?sec=krb5"));
    }
    version_of_options(&mut target)?;
    Ok(Target::Nfs(target))
}

/// The options of `embedded:nfs`.
fn embedded_nfs(query: &str) -> Result<Target, TargetError> {
    let (mut version, mut slots, mut delegations) = (None, None, false);
    for (key, value) in options(query)? {
        match key {
            "version" => {
                let spoken = NfsVersion::ALL.into_iter().filter(|version| *version != NfsVersion::V40);
                let known = spoken.into_iter().find(|version| version.name() == value);
                version = Some(known.ok_or(wrong("version", "must be 3, 4.1 or 4.2, the versions of embedded:nfs"))?);
            }
            "slots" => slots = Some(slot_count(value)?),
            "delegations" => delegations = wants_delegations(value)?,
            _ => {
                let known = "must be among version=3|4.1|4.2, slots=NUMBER and delegations=yes|no";
                return Err(wrong("options after '?'", known));
            }
        }
    }
    if slots.is_some() && !version.is_some_and(NfsVersion::has_sessions) {
        return Err(wrong("slots", "need NFS 4.1 or 4.2: give version=4.1 or version=4.2, or remove slots"));
    }
    if delegations && !version.is_some_and(NfsVersion::has_sessions) {
        return Err(NO_DELEGATIONS);
    }
    Ok(Target::Embedded(Embedded::Nfs { version, slots, delegations }))
}

/// MOUNT and the portmapper belong to version 3, slots to versions with sessions. Where no version is given, their options choose it.
fn version_of_options(target: &mut NfsTarget) -> Result<(), TargetError> {
    let of_3 = target.mount_port.is_some() || target.portmap_port != PORTMAP_PORT;
    let version = target.version.or_else(|| of_3.then_some(NfsVersion::V3));
    match version {
        Some(version) if target.slots.is_some() && !version.has_sessions() => {
            Err(wrong("slots", "need NFS 4.1 or 4.2: give version=4.1 or version=4.2, or remove slots"))
        }
        Some(version) if target.delegations && !version.has_sessions() => Err(NO_DELEGATIONS),
        Some(NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42) if of_3 => {
            Err(wrong("mountport and portmapport", "apply only to NFS 3: remove these options, or give version=3"))
        }
        _ => {
            target.version = version;
            Ok(())
        }
    }
}

/// As nfs(5) has it. Our own certificates are not supported.
fn transport(security: &str) -> Result<bool, TargetError> {
    match security {
        "none" => Ok(false),
        "tls" => Ok(true),
        _ => Err(wrong("xprtsec", "must be tls or none")),
    }
}

/// As nfs(5) has it.
fn security_flavor(security: &str) -> Result<Option<Protection>, TargetError> {
    match Protection::ALL.into_iter().find(|flavor| flavor.kerberos_name() == security) {
        Some(flavor) if !cfg!(feature = "kerberos") => Err(TargetError::Kerberos(flavor.kerberos_name())),
        Some(flavor) => Ok(Some(flavor)),
        None if security == "sys" => Ok(None),
        None => Err(wrong("sec", "must be sys, krb5, krb5i or krb5p")),
    }
}

/// Without a session the server would call the client over another connection, which Plimsoll does not offer.
const NO_DELEGATIONS: TargetError =
    wrong("delegations", "need NFS 4.1 or 4.2: give version=4.1 or version=4.2, or remove delegations");

fn wants_delegations(value: &str) -> Result<bool, TargetError> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(wrong("delegations", "must be yes or no")),
    }
}

fn slot_count(digits: &str) -> Result<u32, TargetError> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| plain && (1..=4_096).contains(number));
    number.ok_or(wrong("slots", "must be a number from 1 to 4096"))
}

fn path(rest: &str) -> Result<Target, TargetError> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(wrong("path", "must be absolute: file:///mounted/path, with three '/'"));
    }
    if path.contains(['?', '#']) {
        return Err(wrong("path", "contains '?' or '#'; write '?' as %3F and '#' as %23"));
    }
    check_escapes(path, "path")?;
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    if bytes.contains(&0) || bytes.len() > LONGEST_PATH {
        return Err(wrong("path", "must be at most 4,096 bytes long, without a zero byte"));
    }
    Ok(Target::Path(PathBuf::from(OsString::from_vec(bytes))))
}

impl Server {
    /// Takes `host`, `host:port`, `[IPv6]` or `[IPv6]:port` apart.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, usual_port: u16) -> Result<Self, TargetError> {
        server(text, usual_port)
    }
}

/// `host`, `host:port`, `[IPv6]`, `[IPv6]:port`.
fn server(text: &str, usual: u16) -> Result<Server, TargetError> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or(wrong("host", "lacks ']' after the IPv6 address"))?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let bracketed = text.starts_with('[');
    let port = match rest.strip_prefix(':') {
        Some(digits) => port(digits, "port")?,
        None if rest.is_empty() => usual,
        None => return Err(wrong("port", "must be separated from the host by ':'")),
    };
    let host = decoded(host, "host")?.to_string();
    let is_ipv6 = |host: &str| {
        let address = host.split_once('%').map_or(host, |(address, _)| address);
        address.parse::<std::net::Ipv6Addr>().is_ok()
    };
    if host.is_empty() {
        return Err(wrong("host", "is missing"));
    }
    if bracketed && !is_ipv6(&host) {
        return Err(wrong("host", "has no IPv6 address between its brackets"));
    }
    if !bracketed && host.contains(|c: char| c.is_control() || c.is_whitespace() || "[]<>\"\\^`{|}/%:@".contains(c)) {
        return Err(wrong("host", "contains a character that is invalid in host names"));
    }
    Ok(Server { host, port })
}

fn port(digits: &str, part: &'static str) -> Result<u16, TargetError> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| plain && *number != 0);
    number.ok_or(wrong(part, "must be a number from 1 to 65535; in a password, write '/' as %2F and '@' as %40"))
}

fn decoded(text: &str, part: &'static str) -> Result<Zeroizing<String>, TargetError> {
    check_escapes(text, part)?;
    let bytes = Zeroizing::new(percent_decode_str(text).collect::<Vec<u8>>());
    let text = std::str::from_utf8(&bytes).map_err(|_| wrong(part, "is not valid UTF-8 after decoding its escapes"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn check_escapes(text: &str, part: &'static str) -> Result<(), TargetError> {
    let mut pieces = text.split('%');
    let _ = pieces.next();
    let is_escape = |piece: &str| piece.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let problem = "has a '%' that is not followed by two hexadecimal digits; write a literal '%' as %25";
    if pieces.all(is_escape) { Ok(()) } else { Err(wrong(part, problem)) }
}
