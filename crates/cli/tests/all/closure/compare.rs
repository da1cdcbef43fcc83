//! Whether two lists of transactions are the same.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{Asked, Endpoint, Outcome, Procedure, Symbol, Transaction};

use super::Both;

/// What names a request on the wire.
type Key = (Endpoint, Option<u64>, Option<u16>);

/// What both sides must say of a request alike.
#[derive(Debug, PartialEq)]
struct Facts {
    procedure: Procedure,
    server: Endpoint,
    session: Option<u64>,
    status: Option<u32>,
    outcome: Outcome,
    payload_bytes: Option<u64>,
    request_bytes: Option<u64>,
    response_bytes: Option<u64>,
    held: bool,
    /// File, byte range and open mode. A run does not know the second path.
    asked: Asked,
    /// First and last byte of the request and of the answer, ns: response times and service times are the same.
    instants: [Option<i64>; 4],
}

fn by_key(transactions: &[Transaction]) -> BTreeMap<Key, Facts> {
    let keyed = transactions.iter().map(|t| {
        let line = &t.timeline;
        let facts = Facts {
            procedure: t.procedure,
            server: t.server,
            session: t.session,
            status: t.status,
            outcome: t.outcome,
            payload_bytes: t.payload_bytes,
            request_bytes: t.request_bytes,
            response_bytes: t.response_bytes,
            held: t.long_lived,
            asked: Asked { second_path: Symbol::NONE, ..t.asked },
            instants: [line.request_first, line.request_last, line.response_first, line.response_last],
        };
        ((t.client, t.id, t.compound_position), facts)
    });
    let map: BTreeMap<Key, Facts> = keyed.collect();
    assert_eq!(map.len(), transactions.len(), "a request is there twice");
    map
}

/// Checks that both are equal, and have at least this number of kinds of requests.
pub(crate) fn same(both: &Both, least: usize) {
    let (driven, observed) = (by_key(&both.driven), by_key(&both.observed));
    for (key, facts) in &driven {
        let seen = observed.get(key).unwrap_or_else(|| panic!("not on the wire: {key:?} {facts:?}"));
        assert_eq!(facts, seen, "{key:?}");
    }
    // So it is not that all know nothing.
    let known = |of: fn(&Asked) -> bool| driven.values().filter(|facts| of(&facts.asked)).count();
    let [files, ranges, opens] = [
        known(|it| it.file.is_some()),
        known(|it| it.offset.zip(it.bytes).is_some()),
        known(|it| it.disposition.is_some()),
    ];
    assert!(files > driven.len() / 2 && ranges > 20 && opens >= 12, "{files} {ranges} {opens} of {}", driven.len());
    let unknown: Vec<_> = observed.iter().filter(|(key, _)| !driven.contains_key(key)).collect();
    assert!(unknown.is_empty(), "on the wire alone: {unknown:?}");
    let kinds: BTreeSet<String> = driven.values().map(|facts| facts.procedure.name()).collect();
    assert!(kinds.len() >= least, "only {}: {kinds:?}", kinds.len());
}
