//! RPC xids that a client uses again.

use plimsoll_model::{Anomaly, Outcome};
use plimsoll_testkit::{Link, Side, Tcp, Traffic, rpc};

use crate::conversation::observed;

const ACCESS: u32 = 4;
const XID: u32 = 7;

/// RFC 5531 9: xids differ only among calls that could be confused.
#[test]
fn a_call_with_another_procedure_is_no_copy_of_the_call_before() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    traffic.all(&tcp.handshake());
    let handle = [8; 32];
    let access = rpc::call(XID, rpc::NFS, 3, ACCESS, &[rpc::opaque(&handle), rpc::words(&[63])].concat());
    let calls = [(rpc::getattr(XID, &handle), rpc::words(&[0; 22])), (access, rpc::words(&[0, 0, 31]))];
    for (call, results) in calls.iter().cycle().take(20) {
        traffic.send(&mut tcp, Side::Client, &rpc::record(call));
        traffic.send(&mut tcp, Side::Server, &rpc::record(&rpc::reply(XID, results)));
    }
    let (copied, _) = &calls[1];
    traffic.send(&mut tcp, Side::Client, &rpc::record(copied));
    let observed = observed(&traffic);
    let anomalies = &observed.coverage.anomalies;
    assert_eq!((observed.sink.len(), anomalies.count(Anomaly::DuplicateRequest)), (20, 1));
    assert_eq!(anomalies.count(Anomaly::DuplicateResponse), 0);
}

#[test]
fn a_response_is_not_that_of_an_earlier_call_with_its_xid() {
    let (mut traffic, mut tcp) = (Traffic::new(Link::Ethernet), Tcp::between_ports(700, 2049));
    traffic.all(&tcp.handshake());
    let handle = [8; 32];
    traffic.send(&mut tcp, Side::Client, &rpc::record(&rpc::getattr(XID, &handle)));
    // The capture lacks its response.
    tcp.data(Side::Server, &rpc::record(&rpc::reply(XID, &rpc::words(&[0; 22]))));
    let access = rpc::call(XID, rpc::NFS, 3, ACCESS, &[rpc::opaque(&handle), rpc::words(&[63])].concat());
    traffic.exchange(&mut tcp, &rpc::record(&access), &rpc::record(&rpc::reply(XID, &rpc::words(&[0, 0, 31]))));
    let observed = observed(&traffic);
    let rows: Vec<_> = observed.sink.iter().map(|t| (t.procedure.row().name, t.outcome)).collect();
    assert_eq!(rows, [("GETATTR", Outcome::Unanswered), ("ACCESS", Outcome::Succeeded)]);
    let anomalies = &observed.coverage.anomalies;
    assert_eq!([Anomaly::IdReused, Anomaly::DuplicateRequest].map(|kind| anomalies.count(kind)), [1, 0]);
}
