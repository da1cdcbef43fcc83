//! A server or several, with the workload's files on each.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use plimsoll_client::target::Target;
use plimsoll_client::tls::Tls;
use plimsoll_drive::connect::{self, ConnectOptions, Connector, Several, Work};
use plimsoll_model::Names;
use plimsoll_results::Usage;
use plimsoll_stats::Dimensions;
use plimsoll_workload::FileSet;

use super::Runner;
use crate::file_preparation::Maker;
use crate::level_spec::LevelSpec;
use crate::resolved_target::ResolvedTarget;

/// A server or several, and where the workload's files are on each.
pub struct PreparedTarget {
    /// The server, or all of them as one.
    pub server: Arc<dyn Connector>,
    /// Each server has files for its share of the clients.
    pub(super) places: Vec<Place>,
    /// Which process creates the files.
    pub(super) maker: Maker,
    /// The dimensions that reports distinguish: servers and accounts, if there are several.
    pub(super) by: Option<Dimensions>,
}

/// A server with files.
pub(super) struct Place {
    /// The target in messages.
    pub(super) shown: String,
    pub(super) server: Arc<dyn Connector>,
    pub(super) set: Arc<FileSet>,
    /// Whether other processes can reach it, too.
    pub(super) shared: bool,
}

impl Runner<'_> {
    /// Finds the server of a target. `names` takes everything that transactions will name.
    pub fn reach(
        &self,
        resolved: &ResolvedTarget,
        connect_options: &ConnectOptions,
        level_specs: &[LevelSpec],
        names: &mut Names,
    ) -> anyhow::Result<PreparedTarget> {
        let (timeout, directory_leases) = (Duration::from_nanos(self.timeout_ns), self.workload.caches_directories());
        let connect_options = ConnectOptions { timeout, directory_leases, ..connect_options.clone() };
        let clients = level_specs.iter().map(|level_spec| level_spec.plan.load.clients()).max().unwrap_or(1);
        crate::compatibility::check_targets(resolved.all().count(), level_specs)?;
        let mut places = Vec::new();
        for resolved in resolved.all() {
            crate::compatibility::check(self.workload, &resolved.target, &connect_options, level_specs)?;
            let shown = resolved.target.to_string();
            let server: Arc<dyn Connector> = Arc::from(connect::open(&resolved.target, &connect_options, names)?);
            let set = FileSet::called(self.file_set, self.workload, base(&resolved.target), clients, names)?;
            places.push(Place { shown, server, set: Arc::new(set), shared: !resolved.is_embedded() });
        }
        check_tls(&places)?;
        let maker = level_specs.first().map_or(Maker::This, |level_spec| Maker::of(&level_spec.plan));
        let server: Arc<dyn Connector> = match &places[..] {
            [place] => Arc::clone(&place.server),
            _ => {
                let servers = places.iter().map(|place| (place.shown.clone(), Arc::clone(&place.server)));
                Arc::new(Several::new(servers.collect()).context("no target")?)
            }
        };
        Ok(PreparedTarget { server, places, maker, by: resolved.distinguished_by() })
    }

    /// What clients do on these servers.
    pub(crate) fn work<'w>(&'w self, prepared: &'w PreparedTarget, names: Arc<Names>) -> Work<'w> {
        let scenarios = Box::new(|client, slot, seed| {
            let place = Several::place_of(client, prepared.places.len());
            // There is one at least.
            let set = prepared.places.get(place).map(|place| &place.set);
            set.map_or_else(
                || unreachable!("a target without a place"),
                |set| self.workload.scenario(set, client, slot, seed),
            )
        });
        Work { server: &*prepared.server, scenarios, names }
    }
}

/// # Errors
/// Two targets have the same address, but their connections differ in TLS. Connections take their TLS from the address.
fn check_tls(places: &[Place]) -> Result<(), Usage> {
    let tls = |place: &Place| -> Option<Arc<Tls>> { place.server.tls().into_iter().next().map(|(_, tls)| tls) };
    let differ = |one: &Place, other: &Place| match (tls(one), tls(other)) {
        (Some(one), Some(other)) => !one.is_like(&other),
        (one, other) => one.is_some() != other.is_some(),
    };
    for (number, one) in places.iter().enumerate() {
        let same_address = |other: &&Place| one.server.address() == other.server.address();
        if let Some(other) = places.iter().take(number).filter(same_address).find(|other| differ(one, other)) {
            return Err(Usage(format!(
                "targets with the same address must use the same TLS (host name and NFS version), or none: {} and {} differ; start a \
                 separate run for each",
                other.shown, one.shown
            )));
        }
    }
    Ok(())
}

/// The directory of the share or export that contains the files. For an export it is the mounted one.
pub(crate) fn base(target: &Target) -> &str {
    if let Target::Smb(target) = target { &target.path } else { "" }
}
