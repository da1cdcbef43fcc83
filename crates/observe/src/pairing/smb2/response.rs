//! A response ends the wait of its request; an interim response moves the request to the table of all connections.

use plimsoll_model::{Anomaly, Endpoint, Outcome, Sink};
use plimsoll_wire::smb2::header::{self, Header};
use plimsoll_wire::smb2::{Command, status};

use super::asynchronous::AcrossChannels;
use super::{Part, Smb2, Smb2Shared, context, outcome};
use crate::pairing::{Answer, ConnectionContext, Output, Role, WaitingCount};

impl Smb2 {
    /// Takes a response, or a notification of a break.
    pub(super) fn response<S: Sink>(
        &mut self,
        part: &Part<'_, '_>,
        direction: usize,
        context: &ConnectionContext,
        shared: &mut Smb2Shared,
        output: &mut Output<S>,
    ) -> Role {
        let header = &part.member.header;
        if is_break_notification(header) {
            output.one_way += 1;
            let (server, holder) = (context.ends[direction].ip, context.ends[1 - direction].ip);
            output.breaks.notified((server, holder), context.connection, part.message.first.time_ns, part.member.bytes);
            return Role::OneWay;
        }
        let (key, _) = self.id(header, context, output);
        let status = header.status();
        let (connection, address) = (context.connection, context.ends[direction]);
        let origin = shared.names.origin(connection, address, header.session_id());
        let across = across_channels(header, origin.server);
        let is_interim = status == Some(status::STATUS_PENDING) && header.is_async();
        // A request for notifications waits for something to happen, often for hours: it is not counted as outstanding meanwhile.
        let ends = (header.command() == Command::ChangeNotify && header.is_async()) == is_interim;
        self.balance.response(header.credits(), part.message.first.time_ns, ends, context.to_client_ns);
        if is_interim {
            self.interim(key, across, part, context, shared, &mut output.waiting);
            return Role::Response;
        }
        let command = header.command_code();
        let (context, waiting) = match self.waiting.get_mut(key).map(|waiting| waiting.command == command) {
            Some(true) => (*context, self.waiting.remove(key, &mut output.waiting)),
            Some(false) => {
                output.anomalies.add(Anomaly::ResponseMismatch);
                (*context, None)
            }
            None => match across.and_then(|across| shared.release(across, connection, command)) {
                Some((context, waiting)) => (context, Some(waiting)),
                None => (*context, None),
            },
        };
        let mut answer = Answer::of(part.message, status, outcome(status));
        answer.bytes = Some(part.member.len as u64);
        let Some(mut waiting) = waiting else {
            // A server answers an encrypted request in clear only to refuse it. The request of another response may still come.
            let is_orphan = answer.outcome != Outcome::Refused
                || !self.sealed.answered_in_clear(part.message, part.position, &context, &mut shared.sealed);
            self.early.add((key, command), part.message.acknowledges, (answer, is_orphan), &mut output.early);
            context::forget_answered(part.member, connection, origin, &mut shared.names);
            if is_orphan {
                output.orphan(&context, direction);
            }
            return Role::Response;
        };
        output.breaks.responded(&context, &waiting.pending, part.message, part.member);
        context::note_response(&mut waiting, part.member, &context, &mut answer, &mut shared.names);
        if header.command() == Command::SessionSetup {
            context::note_server_name(part.member, context.ends[direction].ip, output);
            if status == Some(0) {
                shared.note_channel(connection, address, header.session_id());
            }
        }
        self.last.response(&waiting.pending, part.message, header.command() == Command::Echo);
        output.pair(&context, waiting.id, &waiting.pending, &answer);
        Role::Response
    }

    fn interim(
        &mut self,
        key: u64,
        across: Option<AcrossChannels>,
        part: &Part<'_, '_>,
        context: &ConnectionContext,
        shared: &mut Smb2Shared,
        all: &mut WaitingCount,
    ) {
        let Some(waiting) = self.waiting.get_mut(key) else { return };
        waiting.pending.interim.get_or_insert(part.message.first.time_ns);
        waiting.pending.long_lived |= waiting.may_wait;
        let Some(across) = across else { return };
        // A full table leaves the request where it is: only an answer on another channel would miss it.
        if shared.asynchronous.has_room(&across)
            && let Some(waiting) = self.waiting.remove(key, all)
        {
            shared.asynchronous.hold(across, *context, waiting);
        }
    }
}

/// The server tells the client that an oplock or lease was broken: a message without a request.
fn is_break_notification(header: &Header<'_>) -> bool {
    header.command() == Command::OplockBreak
        && header.message_id().map_or(header.message_id_low16() == u16::MAX, |id| id == header::UNSOLICITED)
}

/// Key of an asynchronous answer among all connections of its server, to whichever of its addresses.
fn across_channels(header: &Header<'_>, server: Endpoint) -> Option<AcrossChannels> {
    Some((server, header.session_id()?, header.async_id()?, header.message_id()?))
}
