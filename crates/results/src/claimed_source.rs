//! Whether the data that clients read came from where the workload says, by the server's disk counters.

use plimsoll_report::collect::run::About;

/// `source=disk` holds from this part of the data that clients read on: the rest may be what clients read twice.
const FROM_DISK: f64 = 0.9;
/// `source=cache` holds up to this part: others may read disks, too.
const FROM_CACHE: f64 = 0.1;

/// What to say of a level whose data came from elsewhere, or nobody knows where from; `None` where it is as the workload says.
pub(crate) fn caution(about: &About, seconds: f64) -> Option<String> {
    let claimed = about.claimed_source.as_deref()?;
    let read = about.answered.map_or(0, |answered| answered.read_bytes) as f64;
    // Of several workloads at the same time nobody knows whose data came from disks.
    let is_shared = about.share.as_ref().is_some_and(|share| !share.beside.is_empty());
    if read <= 0.0 || seconds <= 0.0 || is_shared {
        return None;
    }
    let Some(disk) = about.server.as_ref().and_then(|server| server.disk_read_bytes_per_s) else {
        return Some(format!(
            "source={claimed} was not checked, because the server's disk counters are missing: give --server-pid or \
            --server-metrics"
        ));
    };
    let share = disk * seconds / read;
    let percent = share * 100.0;
    match claimed {
        "disk" if share < FROM_DISK => Some(format!(
            "source=disk, but the server's disks read only {percent:.0} % of the data that clients read; the rest came from its \
            cache: use larger files (--set size=…), or empty the cache before each level (--on-phase)"
        )),
        "cache" if share > FROM_CACHE => Some(format!(
            "source=cache, but the server's disks read {percent:.0} % of the data that clients read: use smaller files, or a \
            longer warm-up"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_report::collect::run::Answered;
    use plimsoll_report::findings::{ServerSide, WorkloadShare};

    use super::*;

    fn level(claimed: Option<&str>, disk: Option<f64>) -> About {
        let answered = Some(Answered { requests: 100, read_bytes: 1_000_000, written_bytes: 0 });
        let server = Some(ServerSide { disk_read_bytes_per_s: disk, ..ServerSide::default() });
        About { claimed_source: claimed.map(str::to_owned), answered, server, ..About::default() }
    }

    /// Clients read 1 MB in 2 s.
    #[test]
    fn what_contradicts_a_workload_is_said() {
        let said = |claimed, disk| caution(&level(Some(claimed), Some(disk)), 2.0);
        assert_eq!((said("disk", 500_000.0), said("disk", 450_000.0), said("disk", 900_000.0)), (None, None, None));
        assert!(said("disk", 449_000.0).unwrap().contains("read only 90 % of the data"));
        assert!(said("disk", 0.0).unwrap().contains("read only 0 % of the data"));
        assert_eq!((said("cache", 0.0), said("cache", 50_000.0)), (None, None));
        assert!(said("cache", 60_000.0).unwrap().contains("read 12 % of the data"));
    }

    #[test]
    fn without_counters_it_is_not_checked_and_without_a_claim_nothing_is_said() {
        assert!(caution(&level(Some("disk"), None), 2.0).unwrap().contains("was not checked"));
        assert_eq!(caution(&level(None, Some(0.0)), 2.0), None);
        let share = Some(WorkloadShare { beside: vec!["mixed".to_owned()], ..WorkloadShare::default() });
        let beside = About { share, ..level(Some("disk"), Some(0.0)) };
        assert_eq!(caution(&beside, 2.0), None, "others read, too");
    }
}
