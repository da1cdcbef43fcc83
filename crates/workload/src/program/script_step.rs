//! One step: what it does, compiled from its text.

use plimsoll_client::operation::OperationKind as Kind;

use crate::distribution::Sizes;
use crate::file_step::{FileStep, LARGEST_OWN};
use crate::fileset::is_of_a_set;
use crate::quantity::{Scale, Size};
use crate::text::{At, PlainStep, ReadText, StepText, StepWithOptions, Subject, WriteText};

/// Maximum size of a request, bytes: servers accept 1 to 8 MiB, and clients split larger ones.
const LARGEST_REQUEST: u64 = 16 << 20;
/// The most slots that read one file together.
const DEEPEST_AHEAD: u32 = 1024;

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScriptStep {
    /// Makes the slot's own file.
    Create,
    /// Creates the closed file again, which truncates it.
    Recreate,
    /// An operation on the iteration's subject without parameters.
    Operation(Kind),
    Read(Transfer),
    Write(Transfer),
    /// An operation on the open file, with options.
    OnFile(FileStep),
    /// Asks for one of the iteration's names that shall not be there.
    Probe(usize),
    Think(u64),
}

/// A sequence of reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Bytes a request.
    pub(crate) size: u32,
    pub(crate) at: At,
    pub(crate) amount: Amount,
    /// One in this number of blocks of a sequence; the slot's number selects the first.
    pub(crate) every: u32,
    /// A sequence that goes on where the slot's last one of its kind on this file ended.
    pub(crate) goes_on: bool,
    /// Written data is durable when the answer comes.
    pub(crate) stable: bool,
    /// By READ_PLUS.
    pub(crate) plus: bool,
}

/// How much is transferred.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    /// This number of requests.
    Count(u32),
    /// The file from its beginning to its end.
    Whole,
    /// This number of bytes from the beginning (of the slot's private file), from one of the iteration's totals.
    Total(usize),
}

/// What steps say in words.
pub(super) struct Texts {
    pub(super) totals: Vec<Sizes>,
    pub(super) names: Vec<String>,
}

pub(super) fn script_step(step: &StepText, on: Subject, scale: Scale, texts: &mut Texts) -> Result<ScriptStep, String> {
    let with = match step {
        StepText::Plain(PlainStep::Create) => return Ok(ScriptStep::Create),
        StepText::Plain(PlainStep::Recreate) => return Ok(ScriptStep::Recreate),
        StepText::Plain(PlainStep::Operation(kind)) => {
            let unknown = || "unknown step (docs/workload-reference.md lists all)".to_owned();
            return does(*kind).map(|_| ScriptStep::Operation(*kind)).ok_or_else(unknown);
        }
        StepText::OnFile(step) => return step.compile(scale).map(ScriptStep::OnFile),
        StepText::WithOptions(with) => with,
    };
    Ok(match &**with {
        StepWithOptions::Read(read) => ScriptStep::Read(scaled(read_of(read, on)?, scale)),
        StepWithOptions::Write(write) => ScriptStep::Write(scaled(write_of(write, on, &mut texts.totals)?, scale)),
        StepWithOptions::Probe(name) => {
            let sound = !name.is_empty() && !name.contains(['/', '\\']) && !name.contains(char::is_control);
            if !sound || is_of_a_set(name) {
                let problem = "expected a name without '/', '\\' or control characters; names of file sets such as \"f1\", \
                    \"own-f-1\" and \"manifest.txt\" are reserved";
                return Err(problem.to_owned());
            }
            texts.names.push(name.clone());
            ScriptStep::Probe(texts.names.len() - 1)
        }
        StepWithOptions::Think(time) => ScriptStep::Think(time.0),
        StepWithOptions::Repeat(_) => return Err("expected a step, found a loop".to_owned()),
    })
}

/// What a step that is a word alone does. `None`: the operation is no such step.
pub(crate) fn does(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Null => "Sends an empty request (SMB ECHO, NFS NULL)",
        Kind::Fsinfo => "Queries the size and free space of the file system",
        Kind::ConnectShare => {
            "Connects to the share a second time (SMB TREE_CONNECT); later steps use the new tree connection (SMB only)"
        }
        Kind::DisconnectShare => {
            "Closes the second tree connection (SMB TREE_DISCONNECT); later steps use the first tree connection again (SMB only)"
        }
        Kind::LogOn => "Logs the user on a second time; later steps belong to the new session (SMB only)",
        Kind::LogOff => "Ends the second session; later steps belong to the first session again (SMB only)",
        Kind::Lookup => {
            "Looks up the name in its directory (NFS: LOOKUP; SMB: CREATE with access to attributes, then CLOSE)"
        }
        Kind::Getattr => "Queries the attributes by path",
        Kind::Access => {
            "Asks which access the server would grant (NFS: ACCESS; SMB: CREATE with MAXIMUM_ALLOWED, then CLOSE)"
        }
        Kind::List => "Lists the whole directory",
        Kind::ListNames => "Lists only the names in the directory (NFS: READDIR; SMB and file://: the same as list)",
        Kind::Mkdir => "Creates the iteration's own directory",
        Kind::Rmdir => "Removes the iteration's own directory",
        Kind::Remove => "Removes the iteration's own file",
        Kind::Readlink => "Reads the symbolic link",
        Kind::Close => "Closes the file",
        Kind::Flush => "Makes written data durable (SMB FLUSH, NFS COMMIT, fsync)",
        Kind::GetattrOpen => "Queries the attributes of the open file",
        Kind::Open => "Opens the file",
        Kind::Rename => "Renames the iteration's own file",
        Kind::Setattr => "Sets the permission bits (SMB: the timestamps)",
        Kind::Find => "Searches the directory for the file's name",
        Kind::Copy => {
            "Creates a file in the same directory, copies the file to it on the server (SMB FSCTL_SRV_COPYCHUNK, NFS 4.2 COPY, \
            copy_file_range), then closes and removes the copy. Copies at most the first 4 GiB minus 64 KiB, and skips empty files"
        }
        Kind::Clone => {
            "Like copy, but clones the whole file (no limit of 4 GiB), so that both files share the data (NFS 4.2 CLONE only)"
        }
        _ => return None,
    })
}

fn scaled(transfer: Transfer, scale: Scale) -> Transfer {
    // A request is not made longer.
    Transfer { size: scale.of(transfer.size.into()) as u32, ..transfer }
}

fn read_of(read: &ReadText, on: Subject) -> Result<Transfer, String> {
    let amount = match (read.count, read.whole) {
        (Some(_), true) => return Err("\"count\" and \"whole\" cannot be combined: remove one of them".to_owned()),
        (Some(0), false) => return Err("\"count\" must be at least 1".to_owned()),
        (Some(count), false) => Amount::Count(count),
        (None, true) => Amount::Whole,
        (None, false) => Amount::Count(1),
    };
    if !(1..=DEEPEST_AHEAD).contains(&read.every) || read.every > 1 && read.at != At::Sequential {
        return Err(format!("\"every\" must be 1 to {DEEPEST_AHEAD}; a value above 1 also needs at = \"sequential\""));
    }
    let goes_on = goes_on(on, read.at, amount, read.from_start)?;
    let (every, plus) = (read.every, read.plus);
    Ok(Transfer { every, goes_on, plus, ..transfer(read.size, read.at, amount, false)? })
}

fn write_of(write: &WriteText, on: Subject, totals: &mut Vec<Sizes>) -> Result<Transfer, String> {
    let amount = match (write.count, write.whole, &write.total) {
        (Some(0), false, None) => return Err("\"count\" must be at least 1".to_owned()),
        (Some(count), false, None) => Amount::Count(count),
        (None, true, None) => Amount::Whole,
        (None, false, Some(_)) => Amount::Total(totals.len()),
        (None, false, None) => Amount::Count(1),
        _ => return Err("expected only one of \"count\", \"whole\" and \"total\"".to_owned()),
    };
    if on == Subject::Own && write.at != At::Sequential {
        return Err("writes with on = \"own\" start at the beginning of a new file: use at = \"sequential\"".to_owned());
    }
    if let Some(total) = &write.total {
        if on != Subject::Own {
            return Err(
                "\"total\" needs on = \"own\", because files of the file set have a fixed size: use \"whole\" or \"count\""
                    .into(),
            );
        }
        if total.most() > LARGEST_OWN {
            return Err(format!("\"total\" is too large: the limit is {}", Size(LARGEST_OWN)));
        }
        totals.push(total.clone());
    }
    let goes_on = goes_on(on, write.at, amount, write.from_start)?;
    Ok(Transfer { goes_on, ..transfer(write.size, write.at, amount, write.stable)? })
}

/// Whether a transfer begins where the last one ended: a sequence with a number of requests does, unless its text says otherwise. The
/// slot's private files are new each time, so there is no last transfer.
fn goes_on(on: Subject, at: At, amount: Amount, from_start: bool) -> Result<bool, String> {
    let sequence = on == Subject::File && at == At::Sequential && matches!(amount, Amount::Count(_));
    if from_start && !sequence {
        let problem = "\"from_start\" needs on = \"file\" and at = \"sequential\", and cannot be combined with \"whole\" or \"total\": remove \"from_start\"";
        return Err(problem.to_owned());
    }
    Ok(sequence && !from_start)
}

fn transfer(size: Size, at: At, amount: Amount, stable: bool) -> Result<Transfer, String> {
    if !(1..=LARGEST_REQUEST).contains(&size.0) {
        return Err(format!("\"size\": expected 1B to {}", Size(LARGEST_REQUEST)));
    }
    if !matches!(amount, Amount::Count(_)) && at != At::Sequential {
        return Err("\"whole\" and \"total\" need at = \"sequential\"".to_owned());
    }
    let size = u32::try_from(size.0).map_err(|error| error.to_string())?;
    Ok(Transfer { size, at, amount, every: 1, goes_on: false, stable, plus: false })
}
