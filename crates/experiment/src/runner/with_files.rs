//! Makes the workload's files before a run, and removes them after it.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_drive::connect::{Connector, Lease};
use plimsoll_model::Names;
use plimsoll_results::all_of;

use super::Runner;
use super::prepared_target::{Place, PreparedTarget};
use crate::file_preparation::{Files, Maker};
use crate::levels::Levels;

impl Runner<'_> {
    /// Does `work` with the files in place and leases on them, where they are wanted; it is told whether the files are ready: where somebody
    /// stops the run, they may not be.
    ///
    /// # Errors
    /// The files could not be made, or the error of `work`.
    pub(crate) fn with_files(
        &self,
        prepared: &PreparedTarget,
        names: &Arc<Names>,
        work: impl FnOnce(&[Lease], bool) -> anyhow::Result<Levels>,
    ) -> anyhow::Result<Levels> {
        self.monitor.catch()?;
        let PreparedTarget { places, maker, .. } = prepared;
        let (monitor, timeout_ns) = (self.monitor, self.timeout_ns);
        let for_files: Vec<Arc<dyn Connector>> =
            places.iter().map(|place| place.server.for_files().unwrap_or_else(|| Arc::clone(&place.server))).collect();
        let files = |(place, server): (&Place, _)| Files {
            server,
            set: Arc::clone(&place.set),
            shared: place.shared,
            maker: *maker,
            names: Arc::clone(names),
            monitor,
            timeout_ns,
        };
        let of = |place: usize| places.get(place).filter(|_| places.len() > 1).map(|place| place.shown.clone());
        let files: Vec<Files<'_>> = places.iter().zip(&for_files).map(files).collect();
        let mut found = Vec::new();
        for (place, files) in files.iter().enumerate() {
            found.push(match files.look() {
                // A stopped preparation is not a failure, whatever its error.
                Err(_) if monitor.stopped() => return Ok(Levels { stopped: true, ..Levels::default() }),
                found => named(found, of(place))?,
            });
        }
        let Leases { leases, own, notes } = leases_on(&files, places)?;
        // Of targets that show the same directory, the first works on the files of all.
        let files: Vec<_> = files.iter().zip(found).enumerate().filter(|(place, _)| own.contains(place)).collect();
        let made = files.iter().try_for_each(|(place, (files, found))| named(files.make(*found), of(*place)));
        let files = || files.iter().map(|(_, (files, _))| *files);
        let ready = match made {
            Err(_) if monitor.stopped() => Ok(false),
            made => made.map(|()| true),
        };
        let ran = ready.and_then(|ready| work(&leases, ready));
        let shared = places.iter().any(|place| place.shared);
        let may_hang = ran.as_ref().is_ok_and(Levels::server_may_hang);
        // After any end: removes created files, and releases the set.
        let removed = match () {
            () if monitor.abandoned() => Ok(()),
            () if self.remove_files => all_of(files().map(|files| files.remove(may_hang))),
            // Other parts may still be working: the next run removes the files.
            () if *maker != Maker::This => Ok(()),
            () if shared && self.workload.makes_its_own() && ran.as_ref().is_ok_and(|ran| !ran.ran.is_empty()) => {
                all_of(files().map(|files| files.remove_leftovers(may_hang)))
            }
            () => Ok(()),
        };
        let mut levels = match ran {
            Ok(levels) => levels,
            Err(error) => return all_of([Err(error), removed]).map(|()| Levels::default()),
        };
        match removed {
            Err(error) if !self.remove_files => levels.notes.push(format!("{error:#}")),
            removed => levels.besides = all_of([levels.besides, removed]),
        }
        levels.notes.extend(notes);
        for lease in leases {
            levels.notes.extend(lease.note.clone());
            levels.notes.extend(lease.release(|| self.patience(may_hang)).err());
        }
        Ok(levels)
    }

    /// How long to wait at the end for a server that does not answer: a short time if the user has stopped the run, or it `may_hang`.
    fn patience(&self, may_hang: bool) -> Option<Duration> {
        match () {
            () if self.monitor.abandoned() => Some(Duration::from_millis(500)),
            () if self.monitor.stopped() || may_hang => Some(Duration::from_secs(2)),
            () => None,
        }
    }
}

/// The leases on the file sets of several targets.
#[derive(Default)]
struct Leases {
    leases: Vec<Lease>,
    /// The targets with a set of their own: all but those that show the directory of an earlier one, such as the nodes of a cluster.
    own: Vec<usize>,
    /// Which targets share a set.
    notes: Vec<String>,
}

fn leases_on(files: &[Files<'_>], places: &[Place]) -> anyhow::Result<Leases> {
    let mut all = Leases::default();
    // The targets of the leases.
    let mut of = Vec::new();
    for (at, (files, place)) in files.iter().zip(places).enumerate() {
        let lease = match files.lease() {
            Ok(lease) => lease,
            Err(error) => {
                let same = all.leases.iter().position(|lease| lease.is_of(&error)).and_then(|lease| of.get(lease));
                let Some(first) = same.and_then(|first: &usize| places.get(*first)) else {
                    return named(Err(error.into()), Some(place.shown.clone()).filter(|_| places.len() > 1));
                };
                let (first, this) = (&first.shown, &place.shown);
                all.notes.push(format!("{this} shows the same directory as {first}: both use one file set"));
                continue;
            }
        };
        of.extend(lease.is_some().then_some(at));
        all.leases.extend(lease);
        all.own.push(at);
    }
    Ok(all)
}

/// With the name of its target, where there are several. The name alone would be left out of messages, which begin with all names.
fn named<T>(result: anyhow::Result<T>, shown: Option<String>) -> anyhow::Result<T> {
    match (result, shown) {
        (Err(error), Some(shown)) => Err(error.context(format!("target {shown}"))),
        (result, _) => result,
    }
}
