//! Which stations, connections and lanes are whose.
//!
//! What shares connections stays together: a unit is one station with its connections, or one connection with its
//! stations. Units are dealt out to the workers one by one, so that worker and place follow from the number alone.

use plimsoll_client::operation::Tag;

use super::Plan;

/// One worker's share of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    worker: u32,
    workers: u32,
    stations: u32,
    lanes: u32,
    connections: u32,
    per_connection: u32,
}

impl Share {
    /// Of `workers`, the worker `worker`.
    pub(crate) fn new(plan: &Plan, worker: u32, workers: u32) -> Self {
        Self {
            worker,
            workers,
            stations: plan.load.stations(),
            lanes: plan.lanes,
            connections: plan.connections,
            per_connection: plan.stations_per_connection,
        }
    }

    /// Units of a plan: there is no use in more workers.
    pub(crate) fn units(plan: &Plan) -> u32 {
        plan.load.stations().div_ceil(plan.stations_per_connection)
    }

    /// Connections of a plan.
    pub(crate) fn links_of(plan: &Plan) -> u32 {
        Self::units(plan) * plan.connections
    }

    /// Which worker a station belongs to.
    pub(crate) fn is_mine(&self, station: u32) -> bool {
        station / self.per_connection % self.workers == self.worker
    }

    /// Our stations, in order.
    pub(crate) fn stations(&self) -> impl Iterator<Item = u32> + use<> {
        let this = *self;
        (0..this.stations).filter(move |&station| this.is_mine(station))
    }

    /// How many connections are ours.
    pub(crate) fn links(&self) -> u32 {
        let units = self.stations.div_ceil(self.per_connection);
        units.saturating_sub(self.worker).div_ceil(self.workers) * self.connections
    }

    /// The number in the whole run of one of our connections.
    pub(crate) fn number(&self, link: u32) -> u32 {
        let unit = self.worker + link / self.connections * self.workers;
        unit * self.connections + link % self.connections
    }

    /// The first station of one of our connections, and which of the station's connections it is.
    pub(crate) fn owner(&self, link: u32) -> (u32, u32) {
        let unit = self.worker + link / self.connections * self.workers;
        (unit * self.per_connection, link % self.connections)
    }

    /// Our stations (counted from our first) that use one of our connections.
    pub(crate) fn stations_of(&self, link: u32) -> std::ops::Range<u32> {
        let first = link / self.connections * self.per_connection;
        let (global, _) = self.owner(link);
        first..first + self.per_connection.min(self.stations - global)
    }

    /// Our lanes that use one of our connections.
    pub(crate) fn lanes_of(&self, link: u32) -> impl Iterator<Item = usize> + use<> {
        let this = *self;
        let nth = (link % this.connections) as usize;
        let step = this.connections as usize;
        self.stations_of(link).flat_map(move |station| {
            let first = station as usize * this.lanes as usize;
            (nth..this.lanes as usize).step_by(step).map(move |lane| first + lane)
        })
    }

    /// The connection that a lane uses.
    pub(crate) fn link(&self, lane: usize) -> u32 {
        let (station, nth) = (lane as u32 / self.lanes, lane as u32 % self.lanes);
        station / self.per_connection * self.connections + nth % self.connections
    }

    /// Our station (counted from our first) that a lane belongs to.
    pub(crate) fn station(&self, lane: usize) -> usize {
        lane / self.lanes as usize
    }

    /// The number in the whole run of one of our stations.
    pub(crate) fn station_number(&self, station: usize) -> u32 {
        let unit = station as u32 / self.per_connection * self.workers + self.worker;
        unit * self.per_connection + station as u32 % self.per_connection
    }

    /// A lane's tag: its station's number above, its own below.
    pub(crate) fn tag(&self, lane: usize) -> Tag {
        let station = self.station_number(self.station(lane));
        Tag((u64::from(station) << 32) | (lane as u64 % u64::from(self.lanes)))
    }

    /// The lane of a tag, if it is one of ours.
    pub(crate) fn lane(&self, tag: Tag) -> Option<usize> {
        let (station, lane) = ((tag.0 >> 32) as u32, tag.0 as u32);
        if station >= self.stations || lane >= self.lanes || !self.is_mine(station) {
            return None;
        }
        let unit = station / self.per_connection / self.workers;
        let station = unit * self.per_connection + station % self.per_connection;
        Some(station as usize * self.lanes as usize + lane as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plimsoll_workload::{Load, Pause};

    proptest! {
        #[test]
        fn everything_belongs_to_somebody_once(
            stations in 1u32..40, lanes in 1u32..5, extra in 0u32..4, per in 1u32..6, workers in 1u32..7,
        ) {
            let mut plan = Plan::new(Load::Closed { stations, think: Pause::None });
            plan.lanes = lanes;
            plan.connections = if per == 1 { 1 + extra.min(lanes - 1) } else { 1 };
            plan.stations_per_connection = per;
            let workers = workers.min(Share::units(&plan));
            let (mut seen, mut links, mut tags) = (Vec::new(), Vec::new(), Vec::new());
            for worker in 0..workers {
                let share = Share::new(&plan, worker, workers);
                let mine: Vec<u32> = share.stations().collect();
                for (at, &station) in mine.iter().enumerate() {
                    prop_assert_eq!(share.station_number(at), station);
                    for nth in 0..lanes {
                        let lane = at * lanes as usize + nth as usize;
                        let tag = share.tag(lane);
                        prop_assert_eq!(tag, Tag(u64::from(station) << 32 | u64::from(nth)));
                        prop_assert_eq!(share.lane(tag), Some(lane));
                        prop_assert!(share.lanes_of(share.link(lane)).any(|other| other == lane));
                        tags.push(tag);
                    }
                }
                let of_links: usize = (0..share.links()).map(|link| share.lanes_of(link).count()).sum();
                prop_assert_eq!(of_links, mine.len() * lanes as usize);
                for link in 0..share.links() {
                    links.push(share.number(link));
                    let (first, _) = share.owner(link);
                    prop_assert_eq!(share.station_number(share.stations_of(link).start as usize), first);
                }
                seen.extend(mine);
            }
            seen.sort_unstable();
            links.sort_unstable();
            tags.sort_unstable();
            tags.dedup();
            prop_assert_eq!(seen, (0..stations).collect::<Vec<_>>());
            prop_assert_eq!(links, (0..Share::links_of(&plan)).collect::<Vec<_>>());
            prop_assert_eq!(tags.len(), (stations * lanes) as usize);
        }
    }
}
