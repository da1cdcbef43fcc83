//! The connections of a session with several connections, and the selection of one for each message.
//!
//! The first connection is the client's own; another one takes its place when it is lost, so that there is always a first.
//!
//! Spec: MS-SMB2 3.2.1.3 (Session.ChannelList), 3.2.4.1.7

use std::net::{IpAddr, SocketAddr};

use plimsoll_wire::smb2::ioctl::fsctl::Interface;

use super::connection::keys::SessionKeys;
use super::connection::preauth::Preauth;
use super::connection::{Connection, Outgoing};
use super::logon::Logon;
use super::request_kind::RequestKind;

/// The connections of a session besides the first.
#[derive(Debug)]
pub(super) struct Channels {
    /// Channel `n` at `n - 1`.
    pub(super) others: Vec<Channel>,
    /// Keys of the session's last logon: they sign each binding, and all channels encrypt with them.
    pub(super) keys: Option<SessionKeys>,
    /// Addresses of the server according to its list, that of the first connection first; empty without a list.
    addresses: Vec<IpAddr>,
    /// The place of the first connection in the order of addresses; 0: the target's address.
    pub(super) first_place: u32,
    /// ChannelSequence.
    pub(super) sequence: u16,
    /// Number of bindings so far: each has a separate range of nonces.
    pub(super) bindings: u32,
    /// Requests that were sent again.
    pub(super) sent_again: u64,
    /// From connections that have ended.
    pub(super) unmatched_responses: u64,
}

/// Another connection of the session.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) connection: Connection,
    pub(super) state: ChannelState,
    /// Its place in the order of addresses: its number, until a connection with another address changes places with it.
    pub(super) place: u32,
    /// Its last message came encrypted with the session's key, which proves more than a signature.
    pub(super) came_sealed: bool,
    /// Over its NEGOTIATE: another logon on it begins with that.
    pub(super) preauth: Preauth,
    /// There while it is being bound.
    pub(super) logon: Option<Box<Logon>>,
}

/// How far a connection of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChannelState {
    /// There is none.
    Absent,
    /// It is being bound to the session.
    Binding,
    /// Requests can be sent.
    Bound,
}

impl Channels {
    /// A session with this number of connections, of which only the first exists; `blank` creates the others.
    pub(super) fn new(count: u32, blank: impl Fn() -> Connection) -> Self {
        let other = |place| Channel {
            connection: blank(),
            state: ChannelState::Absent,
            place,
            came_sealed: false,
            preauth: Preauth::new(),
            logon: None,
        };
        Self {
            others: (1..count).map(other).collect(),
            keys: None,
            addresses: Vec::new(),
            first_place: 0,
            sequence: 0,
            bindings: 0,
            sent_again: 0,
            unmatched_responses: 0,
        }
    }

    /// The connection of this number, from 1.
    pub(super) fn get(&self, channel: u32) -> Option<&Channel> {
        self.others.get((channel as usize).checked_sub(1)?)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, channel: u32) -> Option<&mut Channel> {
        self.others.get_mut((channel as usize).checked_sub(1)?)
    }

    /// Those that requests can be sent on, with their numbers.
    pub(super) fn bound(&self) -> impl Iterator<Item = (u32, &Connection)> {
        let bound = (1..).zip(&self.others).filter(|(_, channel)| channel.state == ChannelState::Bound);
        bound.map(|(number, channel)| (number, &channel.connection))
    }

    /// The channel for a message that costs this number of credits: of the channels with enough credits, those with the fewest in use,
    /// or with at most one such message more, are equal. The one of them that has carried least so far is chosen: otherwise the channel
    /// that answers fastest would get every next request.
    pub(super) fn choose(&self, first: &Connection, charge: u32) -> u32 {
        let able = || {
            let all = std::iter::once((0, first)).chain(self.bound());
            all.map(|(channel, connection)| (channel, &connection.credits)).filter(|(_, it)| it.available() >= charge)
        };
        let most = able().map(|(_, credits)| credits.in_use()).min().unwrap_or(0).saturating_add(charge);
        let equal = able().filter(|(_, credits)| credits.in_use() <= most);
        equal.min_by_key(|(_, credits)| credits.carried()).map_or(0, |(channel, _)| channel)
    }

    /// What the channel with the least traffic so far has carried, in credits.
    pub(super) fn least_carried(&self, first: &Connection) -> u64 {
        let others = self.bound().map(|(_, connection)| connection.credits.carried());
        others.fold(first.credits.carried(), u64::min)
    }

    /// Takes the fastest RSS interfaces with the address family of `given` from the server's list. If the list lacks `given`, the server is
    /// behind NAT or a proxy, and the list is not used. ksmbd lists 0.0.0.0 for an interface without an IPv4 address: a connection to
    /// 0.0.0.0 would reach this machine.
    pub(super) fn learn_addresses(&mut self, interfaces: &[Interface], given: IpAddr) {
        let is_usable = |ip: IpAddr| ip.is_ipv4() == given.is_ipv4() && !ip.is_unspecified();
        let same = |one: &&Interface| one.address.is_some_and(is_usable);
        let known = interfaces.iter().filter(same).any(|one| one.address == Some(given));
        let rank = |one: &Interface| (one.rss, one.speed);
        let best = interfaces.iter().filter(same).map(rank).max();
        let of_best = interfaces.iter().filter(same).filter(|one| Some(rank(one)) == best);
        let mut addresses: Vec<IpAddr> = of_best.filter_map(|one| one.address).filter(|_| known).collect();
        addresses.sort_unstable();
        addresses.dedup();
        if let Some(place) = addresses.iter().position(|ip| *ip == given) {
            addresses.rotate_left(place);
        }
        self.addresses = addresses;
    }

    /// Address for a place in the order of addresses, in turn; `None`: the target's address.
    pub(super) fn address(&self, place: u32, port: u16) -> Option<SocketAddr> {
        let at = (place as usize).checked_rem(self.addresses.len())?;
        self.addresses.get(at).map(|ip| SocketAddr::new(*ip, port))
    }
}

/// Whether a message concerns the whole session. Such messages use the first connection.
pub(super) fn is_of_the_session(outgoing: &Outgoing) -> bool {
    outgoing.members.iter().any(|member| {
        let kind = member.kind;
        kind.is_outside_of_shares() && kind != RequestKind::Echo
            || matches!(kind, RequestKind::TreeConnect | RequestKind::TreeDisconnect | RequestKind::Validate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_addresses_are_taken_if_the_given_one_is_known() {
        let ip = |last: u8| IpAddr::from([10, 0, 0, last]);
        let of = |last, rss, speed| Interface { index: 1, rss, speed, address: Some(ip(last)) };
        let six = Interface { index: 1, rss: true, speed: 99, address: Some("fe80::1".parse().unwrap()) };
        let none = Interface { index: 2, rss: true, speed: 10, address: Some(IpAddr::from([0_u8; 4])) };
        let all = [of(1, true, 9), of(2, true, 10), of(3, true, 10), of(4, false, 50), six, none];
        let of_server = |interfaces: &[Interface], given| {
            let mut channels = Channels::new(1, || unreachable!());
            channels.learn_addresses(interfaces, given);
            (0..3).map(|channel| channels.address(channel, 445).map(|address| address.ip())).collect::<Vec<_>>()
        };
        assert_eq!(of_server(&all, ip(3)), [ip(3), ip(2), ip(3)].map(Some), "the given one first");
        assert_eq!(of_server(&all, ip(1)), [ip(2), ip(3), ip(2)].map(Some), "a slow one is given");
        assert_eq!(of_server(&all, ip(9)), [None; 3], "behind something");
        assert_eq!(of_server(&[], ip(9)), [None; 3]);
    }
}
