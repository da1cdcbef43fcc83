//! Whether the data that clients read came from where the workload says, by the server's disk counters.

use plimsoll_report::collect::run::RecordedFacts;

/// `source=disk` holds from this part of the data that clients read on: the rest may be what clients read twice.
const FROM_DISK: f64 = 0.9;
/// `source=cache` holds up to this part: others may read disks, too.
const FROM_CACHE: f64 = 0.1;

/// Counters are looked at every half second, and taken to grow evenly in between: so many seconds of reading may count for the phase that
/// do not belong to it, or the other way round, s.
const EDGES_S: f64 = 1.0;
/// They tell nothing of a phase of which this part may be wrong.
const UNSURE: f64 = 0.5;

/// What to say of a level whose data came from elsewhere, or nobody knows where from; `None` where it is as the workload says.
pub(crate) fn caution(about: &RecordedFacts, seconds: f64) -> Option<String> {
    let claimed = about.claimed_source.as_deref()?;
    let read = about.answered.map_or(0, |answered| answered.read_bytes) as f64;
    // Of several workloads at the same time nobody knows whose data came from disks.
    let is_shared = about.facts.share.as_ref().is_some_and(|share| !share.beside.is_empty());
    if read <= 0.0 || seconds <= 0.0 || is_shared {
        return None;
    }
    let Some(disk) = about.facts.server.as_ref().and_then(|server| server.disk_read_bytes_per_s) else {
        return Some(format!(
            "source={claimed} was not checked, because the server's disk counters are missing; give --server-pid or \
            --server-metrics"
        ));
    };
    let share = disk * seconds / read;
    let (percent, unsure) = (share * 100.0, EDGES_S / seconds);
    if unsure > UNSURE {
        return Some(format!(
            "source={claimed} was not checked, because the measured phase is shorter than 2 s; use a longer --duration"
        ));
    }
    match claimed {
        "disk" if share + unsure < FROM_DISK => Some(format!(
            "source=disk, but the server's disks read only {percent:.0} % of the data that clients read; the rest came from the \
            server's cache; use larger files (--set size=…), or empty the cache before each level (--on-phase)"
        )),
        "cache" if share - unsure > FROM_CACHE => Some(format!(
            "source=cache, but the server's disks read {percent:.0} % of the data that clients read; use smaller files, or a \
            longer warm-up"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::collect::run::Answered;
    use plimsoll_report::findings::{LevelFacts, ServerSide, WorkloadShare};

    use super::*;

    fn level(claimed: Option<&str>, disk: Option<f64>) -> RecordedFacts {
        let answered = Some(Answered { requests: 100, read_bytes: 1_000_000, written_bytes: 0 });
        let server = Some(ServerSide { disk_read_bytes_per_s: disk, ..ServerSide::default() });
        let facts = LevelFacts { server, ..LevelFacts::default() };
        RecordedFacts { facts, claimed_source: claimed.map(str::to_owned), answered, ..RecordedFacts::default() }
    }

    /// Clients read 1 MB in 20 s; 5 % of it may be wrong.
    #[test]
    fn what_contradicts_a_workload_is_said() {
        let said = |claimed, disk| caution(&level(Some(claimed), Some(disk)), 20.0);
        assert_eq!((said("disk", 50_000.0), said("disk", 43_000.0), said("disk", 90_000.0)), (None, None, None));
        assert!(said("disk", 42_000.0).unwrap().contains("read only 84 % of the data"));
        assert!(said("disk", 0.0).unwrap().contains("read only 0 % of the data"));
        assert_eq!((said("cache", 0.0), said("cache", 7_000.0)), (None, None));
        assert!(said("cache", 8_000.0).unwrap().contains("read 16 % of the data"));
    }

    /// At the ends of a short phase reads count that were made outside.
    #[test]
    fn a_phase_that_is_too_short_is_not_judged() {
        let said = |seconds| caution(&level(Some("disk"), Some(0.0)), seconds).unwrap();
        assert!(said(1.9).contains("shorter than 2 s") && said(2.0).contains("read only 0 %"));
    }

    #[test]
    fn without_counters_it_is_not_checked_and_without_a_claim_nothing_is_said() {
        assert!(caution(&level(Some("disk"), None), 20.0).unwrap().contains("was not checked"));
        assert_eq!(caution(&level(None, Some(0.0)), 20.0), None);
        let share = Some(WorkloadShare { beside: vec!["mixed".to_owned()], ..WorkloadShare::default() });
        let mut beside = level(Some("disk"), Some(0.0));
        beside.facts.share = share;
        assert_eq!(caution(&beside, 20.0), None, "others read, too");
    }
}
