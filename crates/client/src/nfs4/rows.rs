//! The rows of a compound: one for the whole, and one for each operation with a result, as in a capture of the traffic.
//!
//! One of them is counted: the operation that the compound is about, also where the server did not get to it.

use plimsoll_model::{Asked, FileIdentity, Outcome};

use super::client::Nfs4Client;
use super::request_context::RequestContext;
use super::results::Results;
use super::shapes::{self, LONGEST, Shape};
use crate::calls::{Call, Ending};
use crate::client::Events;
use crate::operation::Tag;

impl Nfs4Client {
    /// Reports a call that ended. `results` come from the response; without a response, every operation ends like the whole.
    pub(super) fn report(
        &self,
        call: &Call<RequestContext>,
        operation: Option<Tag>,
        results: Option<&Results>,
        ending: &Ending,
        events: &mut dyn Events,
    ) {
        let shape = call.context.operations();
        if shape.is_empty() {
            return events.transaction(operation, &mut self.connection.transaction(call, ending));
        }
        let principal = usize::from(call.context.principal);
        let about = shape.get(principal).map_or(call.procedure, |&main| shapes::procedure(main));
        let outcome = ending.outcome.with_status(about, ending.status);
        // One for all rows, because it is long. Each sets the fields that differ.
        let mut row = self.connection.transaction(call, &Ending { outcome, ..*ending });
        let (request_bytes, response_bytes, asked, server) =
            (row.request_bytes, row.response_bytes, row.asked, row.server.ip);
        let (files, current) = files(shape, call.context.files, results.and_then(|results| results.file));
        let on_server = |file: Option<FileIdentity>| file.map(|file| file.on(server));
        // The row of the whole has the file of the last operation.
        let file = match ending.status.and(files.get(shape.len() - 1)) {
            Some(last) => *last,
            None => current,
        };
        row.counted = false;
        row.asked = Asked { file: on_server(file), ..Asked::default() };
        events.transaction(operation, &mut row);
        (row.request_bytes, row.response_bytes) = (None, None);
        for (place, &code) in shape.iter().enumerate() {
            let counted = place == principal;
            let (status, own) = match results.and_then(|results| results.of(place)) {
                Some(0) => (Some(0), Outcome::Succeeded),
                Some(status) => (Some(status), Outcome::Refused),
                None if results.is_none() || counted => (ending.status, ending.outcome),
                None => continue,
            };
            let procedure = shapes::procedure(code);
            row.asked.file = on_server(files.get(place).copied().flatten());
            row.procedure = procedure;
            // A compound has at most LONGEST operations.
            row.compound_position = Some(place as u16);
            (row.status, row.outcome) = (status, own.with_status(procedure, status));
            row.payload_bytes = payload(shape, place, call, results);
            if counted {
                row.counted = true;
                row.asked = Asked { file: row.asked.file, ..asked };
                (row.request_bytes, row.response_bytes) = (request_bytes, response_bytes);
            }
            events.transaction(operation, &mut row);
            if counted {
                row.counted = false;
                row.asked = Asked::default();
                (row.request_bytes, row.response_bytes) = (None, None);
            }
        }
    }
}

/// The file of each operation, and the current file at the end. `given` has the files of the handles in the call; `found` is the file whose
/// handle the server returned (by LOOKUP, OPEN, CREATE or PUTROOTFH).
fn files(
    shape: Shape,
    given: [Option<FileIdentity>; 2],
    found: Option<FileIdentity>,
) -> ([Option<FileIdentity>; LONGEST], Option<FileIdentity>) {
    let mut given = given.into_iter();
    let (mut current, mut saved) = (None, None);
    let mut files = [None; LONGEST];
    for (file, &operation) in files.iter_mut().zip(shape) {
        match operation {
            shapes::PUTFH => current = given.next().flatten(),
            shapes::PUTROOTFH | shapes::LOOKUP | shapes::CREATE => current = found,
            // Opened by its name.
            shapes::OPEN if shape.contains(&shapes::GETFH) => current = found,
            shapes::SAVEFH => saved = current,
            _ => {}
        }
        *file = match operation {
            // The file with the renamed name is unknown.
            shapes::RENAME => None,
            shapes::LINK => saved,
            _ => current,
        };
    }
    (files, current)
}

/// File data of an operation: in the response of an executed READ, or in the request of a WRITE, as much of it as the server wrote. Both
/// are the last operation of their compounds.
fn payload(shape: Shape, place: usize, call: &Call<RequestContext>, results: Option<&Results>) -> Option<u64> {
    let last = place + 1 == shape.len();
    results.and_then(|results| results.payload).or(call.payload_bytes).filter(|_| last)
}
