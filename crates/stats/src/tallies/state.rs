//! Sums for a diagnosis as bytes, and back.

use super::{MAX_PLACES, Tallies, cell, forgotten, locks, pauses, refusals};
use crate::state::{Counter, Reader, State, StateError, Writer};

impl State for Tallies {
    fn put(&self, out: &mut Writer) {
        self.places.put(out);
        self.course.put(out);
        self.paths.put(out);
        self.errors.put(out);
        self.answers.put(out);
        self.lock_waits().put(out);
        self.lock_refusals().put(out);
        self.absent.put(out);
        self.pauses.rows().to_vec().put(out);
        self.long.put(out);
        self.listings.put(out);
        self.refusals().put(out);
        self.refused_paths().put(out);
        self.forgotten().to_vec().put(out);
        self.durable.put(out);
        self.absent_at.put(out);
        self.left_out_ns.put(out);
        self.full.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut tallies = Self { places: State::take(from)?, ..Self::default() };
        tallies.course = State::take(from)?;
        tallies.paths = State::take(from)?;
        tallies.errors = State::take(from)?;
        tallies.answers = State::take(from)?;
        let (waits, refused) = (State::take(from)?, State::take(from)?);
        tallies.locks = locks::Locks::of(waits, refused).ok_or_else(|| from.no("locks"))?;
        tallies.absent = State::take(from)?;
        tallies.pauses = pauses::Pauses::of(State::take(from)?).ok_or_else(|| from.no("pauses"))?;
        tallies.long = State::take(from)?;
        tallies.listings = State::take(from)?;
        let (rows, paths) = (State::take(from)?, State::take(from)?);
        tallies.refusals = refusals::Refusals::of(rows, paths).ok_or_else(|| from.no("refusals"))?;
        tallies.sessions = forgotten::Sessions::of(State::take(from)?).ok_or_else(|| from.no("forgotten state"))?;
        tallies.durable = State::take(from)?;
        tallies.absent_at = State::take(from)?;
        tallies.left_out_ns = State::take(from)?;
        tallies.full = State::take(from)?;
        let places = tallies.places.iter().enumerate();
        tallies.numbers = places.map(|(number, place)| (place.key, number)).collect();
        let shares = tallies.places.iter().map(|place| tallies.pauses.number((place.key.server.ip, place.key.share)));
        tallies.shares = shares.collect();
        let sound = tallies.places.len() <= MAX_PLACES
            && tallies.numbers.len() == tallies.places.len()
            && tallies.durable.len() <= tallies.places.len()
            && tallies.absent_at.len() <= tallies.places.len()
            && Counter::all(&tallies.absent_at)
            && tallies.left_out_ns <= cell::MOST_NS;
        if sound { Ok(tallies) } else { Err(from.no("places")) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use plimsoll_model::{Names, Outcome, Procedure, Protocol, Symbol};
    use plimsoll_testkit::transaction;

    use super::*;
    use crate::accumulator::Sample;

    const MS: i64 = 1_000_000;
    const NOT_FOUND: u32 = 0xC000_0034;
    const LOGON_FAILURE: u32 = 0xC000_006D;

    fn ip(client: u32) -> IpAddr {
        Ipv4Addr::from_bits(10 << 24 | client).into()
    }

    fn record(tallies: &mut Tallies, code: u16, client: u32, status: u32, user: Symbol, took_ms: i64) {
        let procedure = Procedure::of(Protocol::Smb2, code);
        let mut t = transaction(procedure, 1_000_000 * MS, took_ms * MS);
        (t.client.ip, t.connection, t.user) = (ip(client), client, user);
        (t.status, t.outcome) = (Some(status), Outcome::of_status(procedure, status));
        tallies.record(&t, &Sample::of(&t, false, crate::Headline::ALL[0]));
    }

    fn read_back(tallies: &Tallies, names: &mut Names) -> Tallies {
        let mut out = Writer::default();
        tallies.put(&mut out);
        let bytes = out.with_names(names);
        Reader::with_names(&bytes, names).unwrap().last().unwrap()
    }

    #[test]
    fn missing_names_of_a_client_are_the_same_in_a_recording_and_in_a_sum() {
        let mut one = Tallies::default();
        for i in 0..10 {
            record(&mut one, 5, i % 2, if i < 7 { NOT_FOUND } else { 0 }, Symbol::NONE, 1);
        }
        let of = |tallies: &Tallies| [0, 1].map(|client| tallies.absent_at(|key| key.client == ip(client)));
        assert_eq!(of(&one), [4, 3]);
        let mut read = read_back(&one, &mut Names::default());
        assert_eq!(of(&read), [4, 3]);
        // The place of client 1 has another number there.
        let mut other = Tallies::default();
        record(&mut other, 5, 1, NOT_FOUND, Symbol::NONE, 1);
        read.merge(&other);
        assert_eq!(of(&read), [4, 4]);
        assert_eq!(read.absent_at(|_| true), read.absent().total().count);
    }

    #[test]
    fn accounts_that_cannot_log_on_stay_separate_in_a_recording() {
        let mut names = Names::default();
        let users = ["alice", "bob"].map(|user| names.intern(user));
        let mut tallies = Tallies::default();
        for user in users {
            record(&mut tallies, 1, 1, 0, user, 1);
            (0..3).for_each(|_| record(&mut tallies, 1, 1, LOGON_FAILURE, user, 1));
        }
        let read = read_back(&tallies, &mut names);
        assert_eq!(read.refusals(), tallies.refusals());
        let rows: Vec<(Symbol, u64)> = read.refusals().iter().map(|row| (row.user, row.same_path)).collect();
        assert_eq!(rows, users.map(|user| (user, 3)));
        let mut sum = Tallies::default();
        sum.merge(&read);
        assert_eq!(sum.refusals(), tallies.refusals());
    }

    #[test]
    fn waiting_at_places_that_are_left_out_is_a_part_of_all_waiting() {
        let mut tallies = Tallies::default();
        let places = u32::try_from(MAX_PLACES).unwrap();
        (0..=places).for_each(|client| record(&mut tallies, 8, client, 0, Symbol::NONE, 1));
        let all_ns = u64::from(places + 1) * MS.unsigned_abs();
        assert_eq!((tallies.places().len(), tallies.waited_ns()), (MAX_PLACES, all_ns));
        let mut read = read_back(&tallies, &mut Names::default());
        assert_eq!(read.waited_ns(), all_ns);
        let mut other = Tallies::default();
        record(&mut other, 8, places + 7, 0, Symbol::NONE, 2);
        read.merge(&other);
        assert_eq!(read.waited_ns(), all_ns + 2 * MS.unsigned_abs());
        other.merge(&tallies);
        assert_eq!(other.waited_ns(), all_ns + 2 * MS.unsigned_abs(), "in any order");
    }
}
