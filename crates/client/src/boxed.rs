//! A client whose protocol only its server knows.

use std::net::SocketAddr;

use plimsoll_model::Endpoint;

use super::{Arrived, Cause, Client, Events, Framing, NewChannel, Operation, Outbox, Ticket};

/// Methods that pass their arguments on to the boxed client.
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(fn $name(&self, $($argument: $type),*) $(-> $result)? {
            (**self).$name($($argument),*)
        })*
    };
}

/// The same for methods that change the client.
macro_rules! forward_mut {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            (**self).$name($($argument),*)
        })*
    };
}

impl<C: Client + ?Sized> Client for Box<C> {
    forward! {
        framing(channel: u32, head: &[u8]) -> Framing;
        over() -> Option<Cause>;
        wakes_at() -> i64;
        channel_address(channel: u32, failed: u32) -> Option<SocketAddr>;
        sent_again() -> u64;
        outstanding() -> usize;
        unmatched_responses() -> u64;
        requests_avoided() -> u64;
    }

    forward_mut! {
        connect(now: i64, out: &mut Outbox, events: &mut dyn Events);
        begin(operation: &Operation<'_>, ticket: Ticket, now: i64, out: &mut Outbox, events: &mut dyn Events);
        message(message: Arrived<'_>, out: &mut Outbox, events: &mut dyn Events);
        sent(channel: u32, through: u64, at: i64);
        broken(at: i64, cause: Cause, events: &mut dyn Events);
        suspend(at: i64, events: &mut dyn Events) -> bool;
        resume(local: Endpoint, connection: u32, now: i64, out: &mut Outbox, events: &mut dyn Events);
        overdue(before: i64, now: i64, events: &mut dyn Events);
        wake(now: i64, out: &mut Outbox, events: &mut dyn Events);
        channel_opened(new: &NewChannel, now: i64, out: &mut Outbox, events: &mut dyn Events);
        channel_lost(channel: u32, at: i64, out: &mut Outbox, events: &mut dyn Events);
        replace_first_channel(out: &mut Outbox) -> Option<u32>;
        leave(now: i64, out: &mut Outbox, events: &mut dyn Events);
    }
}
