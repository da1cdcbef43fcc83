//! Named pipes: their reads and writes carry remote procedure calls, not file data.
//!
//! The name of the share identifies them. If the capture began after the share was connected, the name of the pipe does, or the calls
//! themselves.
//!
//! Spec: MS-CIFS 2.2.1.1.3

use plimsoll_model::{Names, Symbol};
pub(super) use plimsoll_wire::pipe::is_call;

use super::Pending;

/// Pipes of Windows and Samba, and other well-known ones.
const NAMES: [&str; 27] = [
    "atsvc",
    "browser",
    "cert",
    "dnsserver",
    "efsrpc",
    "epmapper",
    "eventlog",
    "fssagentrpc",
    "initshutdown",
    "llsrpc",
    "lsarpc",
    "lsass",
    "mdssvc",
    "msftewds",
    "netdfs",
    "netlogon",
    "ntsvcs",
    "protected_storage",
    "rpcss",
    "samr",
    "spoolss",
    "srvsvc",
    "svcctl",
    "tapsrv",
    "trkwks",
    "winreg",
    "wkssvc",
];

/// Whether a read or write of `share` and `path` goes to a named pipe; `data` is the captured part of the data.
#[inline]
pub(super) fn is_pipe(share: Symbol, path: Symbol, data: &[u8], names: &Names) -> bool {
    match names.text(share) {
        Some(share) => is_pipe_share(share),
        None => names.text(path).is_some_and(is_pipe_name) || is_call(data),
    }
}

/// Marks a read or write as one of a pipe.
#[cold]
pub(super) fn mark(pending: &mut Pending) {
    pending.procedure = pending.procedure.on_pipe();
    pending.long_lived = pending.procedure.row().long_lived;
    pending.payload = None;
}

#[inline]
fn is_pipe_share(share: &str) -> bool {
    const PIPES: &[u8] = b"IPC$";
    let Some((before, end)) = share.as_bytes().split_last_chunk::<4>() else { return false };
    end.eq_ignore_ascii_case(PIPES) && before.last().is_none_or(|&last| last == b'\\')
}

pub(crate) fn is_pipe_name(path: &str) -> bool {
    let name = path.trim_start_matches('\\');
    let name = match name.get(..5) {
        Some(folder) if folder.eq_ignore_ascii_case("PIPE\\") => &name[5..],
        _ => name,
    };
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_are_known_by_share_by_name_and_by_what_is_written() {
        let mut names = Names::default();
        let [ipc, files, own, pipe, full, file] =
            [r"\\server\IPC$", r"\\server\files", r"\\server\MYIPC$", "lsarpc", r"\PIPE\srvsvc", "report.docx"]
                .map(|name| names.intern(name));
        let bind = [5, 0, 11, 3, 0x10, 0, 0, 0, 72, 0, 0, 0, 1, 0, 0, 0];
        let none = Symbol::NONE;
        assert!(is_pipe(ipc, file, b"", &names));
        assert!(!is_pipe(files, pipe, &bind, &names), "a file of that name on a share of files");
        assert!(!is_pipe(own, none, b"", &names));
        assert!(is_pipe(none, pipe, b"", &names) && is_pipe(none, full, b"", &names));
        assert!(!is_pipe(none, file, b"", &names) && !is_pipe(none, none, b"", &names));
        assert!(is_pipe(none, none, &bind, &names) && !is_pipe(none, none, &bind[..15], &names));
        assert!(!is_pipe(none, none, b"5 apples and 11 pears", &names));
    }
}
