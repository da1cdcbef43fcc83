//! The user of an NTLMSSP logon, in the security buffers of SMB1 and SMB2.

use std::net::IpAddr;

use plimsoll_model::{HostNameFrom, Sink, Symbol};

use super::Output;

/// The user of an NTLMSSP logon, as `DOMAIN\user`. Also notes the host name that the client at `from` claims.
pub(super) fn user<S: Sink>(blob: &[u8], from: IpAddr, output: &mut Output<S>) -> Symbol {
    let Some(logon) = plimsoll_wire::ntlmssp::Authenticate::find(blob) else { return Symbol::NONE };
    if let Some(workstation) = logon.workstation() {
        output.names.hosts.learn(from, &workstation.to_string(), HostNameFrom::Logon);
    }
    if logon.is_anonymous() == Some(true) {
        return output.names.intern("[anonymous]");
    }
    let Some(user) = logon.user() else { return Symbol::NONE };
    match logon.domain() {
        Some(domain) if !domain.is_empty() => output.names.intern(&format!("{domain}\\{user}")),
        _ => output.names.intern(&user.to_string()),
    }
}
