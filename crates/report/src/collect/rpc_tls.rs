//! RPC over TLS: the connections, and a sentence about them.

use plimsoll_model::{Coverage, RpcTlsConnection as One};

use super::counts::plural;
use crate::findings::{Findings, RpcTls, RpcTlsConnection};
use crate::text::size;

/// Connections named in the sentence.
const NAMED: usize = 3;

/// `None` where there is none.
pub(super) fn rpc_tls(coverage: &Coverage) -> Option<RpcTls> {
    let found = Some(&coverage.rpc_tls).filter(|found| found.connections > 0)?;
    let ([request_records, response_records], [request_bytes, response_bytes]) = (found.records, found.bytes);
    Some(RpcTls {
        connections: found.connections,
        request_records,
        response_records,
        request_bytes,
        response_bytes,
        requests: found.requests,
        named: found.named.iter().map(connection).collect(),
    })
}

fn connection(one: &One) -> RpcTlsConnection {
    let ([request_records, response_records], [request_bytes, response_bytes]) = (one.records, one.bytes);
    RpcTlsConnection {
        client: one.client.to_string(),
        server: one.server.to_string(),
        request_records,
        response_records,
        request_bytes,
        response_bytes,
    }
}

/// Why operations are missing, and the remedy.
pub(super) fn reason(findings: &Findings) -> Option<String> {
    let found = findings.rpc_tls.as_ref()?;
    let named: Vec<String> =
        found.named.iter().take(NAMED).map(|one| format!("{} to {}", one.client, one.server)).collect();
    let more = found.connections.saturating_sub(named.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "{connections} RPC over TLS (RFC 9289), which Plimsoll does not decrypt ({clients}{more}). Clients sent {sent} \
        ({sent_size} in total) and received {received} ({received_size} in total): about {requests}. If Plimsoll made the load, run it \
        with --tap FILE and analyze this file, which has the decrypted messages. Otherwise capture a mount without xprtsec=tls.",
        connections = if found.connections == 1 {
            "1 connection uses".to_owned()
        } else {
            format!("{} use", plural(found.connections, "connection"))
        },
        clients = named.join(", "),
        sent = plural(found.request_records, "TLS record"),
        sent_size = size(found.request_bytes),
        received = plural(found.response_records, "record"),
        received_size = size(found.response_bytes),
        requests = plural(found.requests, "request")
    ))
}
