//! Where the time of calls goes, made by hand.

use plimsoll_report::findings::calls::*;

fn part(name: &str, seconds: Option<f64>, how: PartSource, adds: bool) -> CallPart {
    CallPart { part: name.into(), seconds, how, why: format!("why {name} <is>"), adds, over_above_s: None }
}

fn phase(call: &str, local: bool, outstanding: u32) -> CallPhase {
    let alone = outstanding == 1;
    let mut parts = vec![
        part("client CPU", Some(20e-6), PartSource::Measured, true),
        part("client wait", Some(80e-6), PartSource::Measured, !alone),
    ];
    if !local {
        parts.push(part("network", Some(10e-6), PartSource::Measured, alone));
        parts.push(part("server CPU", None, PartSource::Missing, false));
    }
    if alone {
        parts.push(part("remainder", Some(if local { 80e-6 } else { 70e-6 }), PartSource::Inferred, true));
    }
    CallPhase {
        level: u64::from(outstanding),
        call: call.into(),
        local,
        calls: 20_000,
        outstanding,
        whole_s: 100e-6,
        response_s: Some(95e-6),
        client_busy: 0.2,
        server_cores_busy: (!local).then_some(0.25),
        from_disk: (!alone).then_some(0.5),
        disk_reads_per_s: (!alone).then_some(120.0),
        above: (!alone).then(|| "getattr".into()),
        over_above_s: (!alone).then_some(-5e-6),
        parts,
    }
}

/// A remote and a local phase, and one of several calls at a time.
pub(crate) fn calls() -> Calls {
    Calls {
        phases: vec![phase("getattr", false, 1), phase("ahead", false, 8), phase("getattr", true, 1)],
        beside_local: vec![LocalCall { call: "getattr".into(), remote_s: 95e-6, local_s: 1e-6 }],
        requests: vec![PathRequests {
            call: "getattr".into(),
            path: "a/b".into(),
            depth: 2,
            first: Some(3.0),
            again: Some(1.0),
            first_s: Some(0.0035),
            again_s: Some(0.0012),
            local_s: Some(0.000002),
            procedures: vec!["LOOKUP".into(), "LOOKUP".into(), "GETATTR".into()],
        }],
        counters: vec![ServerCounter {
            name: "smb2_read".into(),
            count: 12_345,
            mean_s: Some(12e-6),
            waiting_mean_s: Some(2e-6),
        }],
        profiles: vec![super::profile::profile()],
        missing: vec!["no <b>luck</b>".into()],
    }
}
