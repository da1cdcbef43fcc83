//! Which clients, connections and slots are whose.
//!
//! What shares connections stays together: a unit is one client with its connections, or one connection with its
//! clients. Units are dealt out to the workers one by one, so that worker and place follow from the number alone. Where several
//! processes drive parts of a plan, units are dealt out to the parts first: unit `u` of `k` parts belongs to part `u % k`. Of a part
//! with `w` workers, worker `i` has every `k·w`th unit from `part + i·k` on.

use plimsoll_client::operation::Tag;

use super::Plan;

/// One worker's units of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerPartition {
    worker: u32,
    workers: u32,
    clients: u32,
    depth: u32,
    connections_per_client: u32,
    clients_per_connection: u32,
}

impl WorkerPartition {
    /// Of the `workers` of this process, the worker `worker`.
    pub(crate) fn new(plan: &Plan, worker: u32, workers: u32) -> Self {
        let (first, step) = dealt(plan);
        Self {
            worker: first + worker * step,
            workers: workers * step,
            clients: plan.load.clients(),
            depth: plan.depth,
            connections_per_client: plan.connections,
            clients_per_connection: plan.clients_per_connection,
        }
    }

    /// Units of a plan, of all parts.
    pub(crate) fn units_of_all(plan: &Plan) -> u32 {
        plan.load.clients().div_ceil(plan.clients_per_connection.max(1))
    }

    /// Units of this process: there is no use in more workers.
    pub(crate) fn units(plan: &Plan) -> u32 {
        let (first, step) = dealt(plan);
        Self::units_of_all(plan).saturating_sub(first).div_ceil(step)
    }

    /// Which worker a client belongs to.
    pub(crate) fn is_mine(&self, client_index: u32) -> bool {
        remainder(quotient(client_index, self.clients_per_connection), self.workers) == self.worker
    }

    /// Our clients, in order.
    pub(crate) fn clients(&self) -> impl Iterator<Item = u32> + use<> {
        let this = *self;
        (0..this.clients).filter(move |&client_index| this.is_mine(client_index))
    }

    /// How many connections are ours.
    pub(crate) fn connections(&self) -> u32 {
        let units = self.clients.div_ceil(self.clients_per_connection);
        units.saturating_sub(self.worker).div_ceil(self.workers) * self.connections_per_client
    }

    /// The number in the whole run of one of our connections.
    pub(crate) fn number(&self, connection: u32) -> u32 {
        let unit = self.worker + connection / self.connections_per_client * self.workers;
        unit * self.connections_per_client + connection % self.connections_per_client
    }

    /// The first client of one of our connections, and which of the client's connections it is.
    pub(crate) fn owner(&self, connection: u32) -> (u32, u32) {
        let unit = self.worker + connection / self.connections_per_client * self.workers;
        (unit * self.clients_per_connection, connection % self.connections_per_client)
    }

    /// Our clients (counted from our first) that use one of our connections.
    pub(crate) fn clients_of(&self, connection: u32) -> std::ops::Range<u32> {
        let first = connection / self.connections_per_client * self.clients_per_connection;
        let (global, _) = self.owner(connection);
        first..first + self.clients_per_connection.min(self.clients - global)
    }

    /// Our slots that use one of our connections.
    pub(crate) fn slots_of(&self, connection: u32) -> impl Iterator<Item = usize> + use<> {
        let this = *self;
        let nth = (connection % this.connections_per_client) as usize;
        let step = this.connections_per_client as usize;
        self.clients_of(connection).flat_map(move |client_index| {
            let first = client_index as usize * this.depth as usize;
            (nth..this.depth as usize).step_by(step).map(move |slot| first + slot)
        })
    }

    /// The connection that a slot uses.
    pub(crate) fn connection(&self, slot: usize) -> u32 {
        let slot = slot as u32;
        if self.connections_per_client == 1 {
            return quotient(quotient(slot, self.depth), self.clients_per_connection);
        }
        let (client_index, nth) = (slot / self.depth, slot % self.depth);
        quotient(client_index, self.clients_per_connection) * self.connections_per_client
            + nth % self.connections_per_client
    }

    /// Our client (counted from our first) that a slot belongs to.
    pub(crate) fn client_index(&self, slot: usize) -> usize {
        quotient(slot as u32, self.depth) as usize
    }

    /// The number in the whole run of one of our clients.
    pub(crate) fn client_number(&self, client_index: usize) -> u32 {
        let client_index = client_index as u32;
        let unit = quotient(client_index, self.clients_per_connection) * self.workers + self.worker;
        unit * self.clients_per_connection + remainder(client_index, self.clients_per_connection)
    }

    /// A slot's tag: its client's number above, its own below.
    pub(crate) fn tag(&self, slot: usize) -> Tag {
        let client_index = self.client_number(self.client_index(slot));
        Tag((u64::from(client_index) << 32) | u64::from(remainder(slot as u32, self.depth)))
    }

    /// The number in the whole run of the client that a request on one of our connections is from: that of its slot's tag. A request without
    /// a slot (logging on) is the client's where it alone has the connection.
    pub(crate) fn asks(&self, tag: Option<Tag>, connection: u32) -> Option<u32> {
        match tag {
            Some(tag) => Some((tag.0 >> 32) as u32),
            None => (self.clients_per_connection == 1).then(|| self.owner(connection).0),
        }
    }

    /// The slot of a tag, if it is one of ours.
    pub(crate) fn slot(&self, tag: Tag) -> Option<usize> {
        let (client_index, slot) = ((tag.0 >> 32) as u32, tag.0 as u32);
        if client_index >= self.clients || slot >= self.depth || !self.is_mine(client_index) {
            return None;
        }
        let unit = quotient(quotient(client_index, self.clients_per_connection), self.workers);
        let client_index = unit * self.clients_per_connection + remainder(client_index, self.clients_per_connection);
        Some(client_index as usize * self.depth as usize + slot as usize)
    }
}

/// `of / by`. The divisions of these numbers take longer than all else that is done with them, for each operation, and most are by 1.
#[inline]
fn quotient(of: u32, by: u32) -> u32 {
    if by == 1 { of } else { of / by }
}

/// `of % by`, likewise.
#[inline]
fn remainder(of: u32, by: u32) -> u32 {
    if by == 1 { 0 } else { of % by }
}

/// The first unit of this process, and the distance between its units.
fn dealt(plan: &Plan) -> (u32, u32) {
    plan.part.map_or((0, 1), |part| (part.number() - 1, part.parts()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plimsoll_workload::{Load, Pause};

    proptest! {
        #[test]
        fn everything_belongs_to_somebody_once(
            clients in 1u32..40, slots in 1u32..5, extra in 0u32..4, per in 1u32..6, workers in prop::array::uniform4(1u32..7),
            parts in 1u32..5,
        ) {
            let mut plan = Plan::new(Load::Closed { clients, think: Pause::None });
            plan.depth = slots;
            plan.connections = if per == 1 { 1 + extra.min(slots - 1) } else { 1 };
            plan.clients_per_connection = per;
            let units = WorkerPartition::units_of_all(&plan);
            let parts = parts.min(units);
            let (mut seen, mut connections, mut tags) = (Vec::new(), Vec::new(), Vec::new());
            // Each part has threads as it likes.
            let dealt = (1..=parts).zip(workers).flat_map(|(part, workers)| {
                let part = format!("{part}/{parts}").parse().ok().filter(|_| parts > 1);
                let plan = Plan { part, ..plan.clone() };
                let workers = workers.min(WorkerPartition::units(&plan));
                (0..workers).map(move |worker| WorkerPartition::new(&plan, worker, workers))
            });
            for partition in dealt {
                let mine: Vec<u32> = partition.clients().collect();
                for (at, &client_index) in mine.iter().enumerate() {
                    prop_assert_eq!(partition.client_number(at), client_index);
                    for nth in 0..slots {
                        let slot = at * slots as usize + nth as usize;
                        let tag = partition.tag(slot);
                        prop_assert_eq!(tag, Tag(u64::from(client_index) << 32 | u64::from(nth)));
                        prop_assert_eq!(partition.slot(tag), Some(slot));
                        prop_assert!(partition.slots_of(partition.connection(slot)).any(|other| other == slot));
                        tags.push(tag);
                    }
                }
                let of_connections: usize = (0..partition.connections()).map(|connection| partition.slots_of(connection).count()).sum();
                prop_assert_eq!(of_connections, mine.len() * slots as usize);
                for connection in 0..partition.connections() {
                    connections.push(partition.number(connection));
                    let (first, _) = partition.owner(connection);
                    prop_assert_eq!(partition.client_number(partition.clients_of(connection).start as usize), first);
                }
                seen.extend(mine);
            }
            seen.sort_unstable();
            connections.sort_unstable();
            tags.sort_unstable();
            tags.dedup();
            prop_assert_eq!(seen, (0..clients).collect::<Vec<_>>());
            prop_assert_eq!(connections, (0..units * plan.connections).collect::<Vec<_>>());
            prop_assert_eq!(tags.len(), (clients * slots) as usize);
        }
    }
}
