//! The steps of an iteration, checked before any request is sent.

use std::ops::Range;

use plimsoll_client::operation::OperationKind as Kind;
use toml::Spanned;

use self::ScriptStep::Operation as Op;
use super::distribution::{Pick, Sizes};
use super::file_step::{FileStep, LARGEST_OWN};
use super::fileset::is_of_a_set;
use super::quantity::{Scale, Size};
use super::text::{At, IterationText, PlainStep, ReadText, SAY_MORE, StepText, StepWithOptions, Subject, WriteText};

/// The most steps of an iteration, loops unrolled.
const MOST_STEPS: usize = 10_000;
/// How deep loops may stand in loops.
const DEEPEST: u32 = 8;
/// Maximum size of a request, bytes: servers accept 1 to 8 MiB, and clients split larger ones.
const LARGEST_REQUEST: u64 = 16 << 20;
/// The most slots that read one file together.
const DEEPEST_AHEAD: u32 = 1024;

/// One kind of iteration.
#[derive(Clone, Debug)]
pub(super) struct IterationKind {
    pub(super) name: String,
    pub(super) weight: u32,
    pub(super) on: Subject,
    pub(super) pick: Pick,
    pub(super) steps: Vec<ScriptStep>,
    /// Size distributions of [`Amount::Total`], and their scale.
    pub(super) totals: Vec<Sizes>,
    pub(super) scale: Scale,
    /// Names that [`ScriptStep::Probe`] asks for.
    pub(super) names: Vec<String>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptStep {
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
pub(super) struct Transfer {
    /// Bytes a request.
    pub(super) size: u32,
    pub(super) at: At,
    pub(super) amount: Amount,
    /// One in this number of blocks of a sequence; the slot's number selects the first.
    pub(super) every: u32,
    /// A sequence that goes on where the slot's last one of its kind on this file ended.
    pub(super) goes_on: bool,
    /// Written data is durable when the answer comes.
    pub(super) stable: bool,
    /// By READ_PLUS.
    pub(super) plus: bool,
}

/// How much is transferred.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    /// This number of requests.
    Count(u32),
    /// The file from its beginning to its end.
    Whole,
    /// This number of bytes from the beginning (of the slot's private file), from one of the iteration's totals.
    Total(usize),
}

/// The place of an error, and its description.
pub(super) type Wrong = (Range<usize>, String);

impl IterationKind {
    /// An iteration, sizes in it times `scale`.
    pub(super) fn compile(text: &Spanned<IterationText>, scale: Scale) -> Result<Self, Wrong> {
        let iteration = text.get_ref();
        let mut steps = Vec::new();
        let mut texts = Texts { totals: Vec::new(), names: Vec::new() };
        let mut state = State::default();
        unroll(&iteration.steps, 0, &mut |step| {
            if steps.len() >= MOST_STEPS {
                return Err((
                    step.span(),
                    format!("too many steps: the limit is {MOST_STEPS} per iteration, with loops unrolled"),
                ));
            }
            let op = script_step(step.get_ref(), iteration.on, scale, &mut texts)
                .map_err(|problem| (step.span(), problem))?;
            state.after(&op, iteration.on).map_err(|problem| (step.span(), problem.to_owned()))?;
            steps.push(op);
            Ok(())
        })?;
        let Texts { totals, names } = texts;
        if steps.is_empty() {
            return Err((text.span(), "the iteration has no steps".to_owned()));
        }
        if iteration.on == Subject::Own && state.thing != Thing::Nothing {
            let problem =
                "the iteration does not delete its own file or directory: end it with \"remove\" or \"rmdir\"";
            return Err((text.span(), problem.to_owned()));
        }
        if state.connected || state.logged_on {
            let problem =
                "the iteration does not end its share connection or session: add \"disconnect-share\" or \"log-off\"";
            return Err((text.span(), problem.to_owned()));
        }
        let (name, weight) = (iteration.name.clone(), iteration.weight);
        Ok(Self { name, weight, on: iteration.on, pick: iteration.pick, steps, totals, scale, names })
    }

    /// The variants of an iteration by weight: on the standing connection to the share, on a separate one, and with a separate logon.
    pub(super) fn variants(text: &Spanned<IterationText>, scale: Scale) -> Result<Vec<Self>, Wrong> {
        let iteration = Self::compile(text, scale)?;
        let around = |name: &str, weight: u32, before: &[ScriptStep], after: &[ScriptStep]| {
            // A slot's private object was removed, so it is closed.
            let left_open = matches!(iteration.on, Subject::File | Subject::Directory) && iteration.leaves_open();
            let close = left_open.then_some(Op(Kind::Close));
            let steps = before.iter().chain(&iteration.steps).chain(&close).chain(after).copied().collect();
            Self { name: format!("{}, {name}", iteration.name), weight, steps, ..iteration.clone() }
        };
        let IterationText { unmapped, with_logon, .. } = *text.get_ref();
        let mut all = Vec::new();
        if unmapped > 0 {
            all.push(around("unmapped", unmapped, &[Op(Kind::ConnectShare)], &[Op(Kind::DisconnectShare)]));
        }
        if with_logon > 0 {
            let (before, after) =
                ([Op(Kind::LogOn), Op(Kind::ConnectShare)], [Op(Kind::DisconnectShare), Op(Kind::LogOff)]);
            all.push(around("logging on", with_logon, &before, &after));
        }
        if all.iter().any(|_| iteration.uses_shares()) {
            let problem = "the fields \"unmapped\" and \"with_logon\" already add \"connect-share\" and \"log-on\": remove the fields or the steps";
            return Err((text.span(), problem.to_owned()));
        }
        all.insert(0, iteration);
        Ok(all)
    }

    /// Whether its last word on the file is not to close it.
    fn leaves_open(&self) -> bool {
        let touches = |op: &&ScriptStep| {
            matches!(
                op,
                Op(Kind::Open | Kind::Close | Kind::Copy | Kind::Clone) | ScriptStep::Read(_) | ScriptStep::Write(_)
            )
        };
        self.steps.iter().rev().find(touches).is_some_and(|op| !matches!(op, Op(Kind::Close)))
    }

    /// Whether it connects to the share or logs on.
    pub(super) fn uses_shares(&self) -> bool {
        self.steps.iter().any(|op| matches!(op, Op(Kind::ConnectShare | Kind::LogOn)))
    }

    /// The first step that SMB alone has.
    pub(super) fn smb_alone(&self) -> Option<&'static str> {
        self.steps.iter().find_map(|op| match op {
            ScriptStep::OnFile(step) => step.smb_alone(),
            Op(Kind::ConnectShare) => Some("connect-share"),
            Op(Kind::LogOn) => Some("log-on"),
            _ => None,
        })
    }

    /// The first step that only NFS 4.2 has.
    pub(super) fn nfs_4_2_alone(&self) -> Option<&'static str> {
        self.steps.iter().find_map(|op| match op {
            ScriptStep::OnFile(step) => step.nfs_4_2_alone(),
            ScriptStep::Read(Transfer { plus: true, .. }) => Some("read with plus = true"),
            Op(Kind::Clone) => Some("clone"),
            _ => None,
        })
    }

    /// Whether the server copies files.
    pub(super) fn copies(&self) -> bool {
        self.steps.iter().any(|op| matches!(op, Op(Kind::Copy | Kind::Clone)))
    }

    /// Whether it opens files of the set to write to them.
    pub(super) fn writes_to_the_set(&self) -> bool {
        self.on == Subject::File && self.steps.iter().any(|op| matches!(op, ScriptStep::Write(_) | Op(Kind::Flush)))
    }

    /// Whether it needs files of the set.
    pub(super) fn needs_files(&self) -> bool {
        self.on == Subject::File
    }

    /// Whether it needs links of the set.
    pub(super) fn needs_links(&self) -> bool {
        self.on == Subject::Link
    }
}

fn unroll(
    steps: &[Spanned<StepText>],
    depth: u32,
    take: &mut impl FnMut(&Spanned<StepText>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    for step in steps {
        let repeat = match step.get_ref() {
            StepText::WithOptions(with) => match &**with {
                StepWithOptions::Repeat(repeat) => Some(repeat),
                _ => None,
            },
            StepText::Plain(_) | StepText::OnFile(_) => None,
        };
        let Some(repeat) = repeat else {
            take(step)?;
            continue;
        };
        if depth == DEEPEST {
            return Err((step.span(), format!("loops are nested too deeply: the limit is {DEEPEST}")));
        }
        if repeat.times == 0 || repeat.times as usize > MOST_STEPS || repeat.steps.is_empty() {
            return Err((
                step.span(),
                format!("expected a loop with \"steps\", and with \"times\" from 1 to {MOST_STEPS}"),
            ));
        }
        for _ in 0..repeat.times {
            unroll(&repeat.steps, depth + 1, take)?;
        }
    }
    Ok(())
}

/// What steps say in words.
struct Texts {
    totals: Vec<Sizes>,
    names: Vec<String>,
}

/// The step of a text.
fn script_step(step: &StepText, on: Subject, scale: Scale, texts: &mut Texts) -> Result<ScriptStep, String> {
    let with = match step {
        StepText::Plain(PlainStep::Create) => return Ok(ScriptStep::Create),
        StepText::Plain(PlainStep::Recreate) => return Ok(ScriptStep::Recreate),
        StepText::Plain(PlainStep::Operation(kind)) => return word(*kind),
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

/// An operation that is written as a word alone.
pub(super) fn word(kind: Kind) -> Result<ScriptStep, String> {
    match kind {
        Kind::Open | Kind::Rename | Kind::Setattr | Kind::Find | Kind::Copy | Kind::Clone => Ok(Op(kind)),
        Kind::Watch => Err("unknown step (docs/workload-reference.md lists all)".to_owned()),
        kind if !kind.has_arguments() => Ok(Op(kind)),
        Kind::Read | Kind::Write => Err(SAY_MORE.to_owned()),
        _ => Err("unknown step (docs/workload-reference.md lists all)".to_owned()),
    }
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

/// Objects that the iteration has created so far.
#[derive(Default)]
struct State {
    thing: Thing,
    open: bool,
    connected: bool,
    logged_on: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Thing {
    #[default]
    Nothing,
    File,
    Directory,
}

/// A step needs the iteration's own file, open or closed.
const NO_OWN_FILE: &str = "the iteration has no file of its own at this step: add \"create\" before this step";

impl State {
    /// Takes a step, or says why it cannot be taken here.
    fn after(&mut self, op: &ScriptStep, on: Subject) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        match (on, op) {
            (_, Op(Kind::ConnectShare | Kind::DisconnectShare | Kind::LogOn | Kind::LogOff)) => self.after_share(op),
            (_, ScriptStep::Probe(_)) => Ok(()),
            (Subject::File | Subject::Directory | Subject::Own, ScriptStep::OnFile(step))
                if !step.changes_the_file() =>
            {
                needs(
                    self.open,
                    "nothing is open at this step: add \"open\" before this step, or \"create\" with on = \"own\"",
                )
            }
            (Subject::Directory, Op(Kind::Open | Kind::Close)) => {
                self.open = matches!(op, Op(Kind::Open));
                Ok(())
            }
            (Subject::File, Op(Kind::Find)) => Ok(()),
            (_, Op(Kind::List | Kind::ListNames | Kind::Fsinfo | Kind::Null) | ScriptStep::Think(_)) => Ok(()),
            (Subject::File | Subject::Directory, Op(Kind::Lookup | Kind::Getattr | Kind::Access)) => Ok(()),
            (Subject::Link, Op(Kind::Lookup | Kind::Readlink)) => Ok(()),
            (Subject::Link, _) => Err("on = \"link\" allows only \"lookup\" and \"readlink\""),
            (Subject::File, Op(Kind::Setattr)) => Ok(()),
            (
                Subject::File,
                Op(Kind::Open | Kind::Close | Kind::Copy | Kind::Clone) | ScriptStep::Read(_) | ScriptStep::Write(_),
            ) => {
                self.open = !matches!(op, Op(Kind::Close));
                Ok(())
            }
            (Subject::File, Op(Kind::Flush | Kind::GetattrOpen)) => {
                needs(self.open, "the file is not open at this step: add \"open\" before this step")
            }
            (Subject::File, Op(Kind::Readlink)) => Err("this step needs on = \"link\""),
            (Subject::File, _) => Err("this step would change files of the file set: use on = \"own\""),
            (Subject::Directory, _) => {
                Err("on = \"directory\" does not allow this step: use \"file\", \"link\" or \"own\"")
            }
            (Subject::Own, op) => self.after_own(op),
        }
    }

    /// Files belong to the share and the session that they were opened in.
    fn after_share(&mut self, op: &ScriptStep) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        needs(!self.open, "a file is still open: add \"close\" before this step")?;
        match op {
            Op(Kind::ConnectShare) => {
                needs(!self.connected, "the iteration is already connected to the share: remove this step")?
            }
            Op(Kind::DisconnectShare) => needs(
                self.connected,
                "the iteration is not connected to the share: add \"connect-share\" before this step",
            )?,
            Op(Kind::LogOn) => {
                needs(!self.logged_on && !self.connected, "expected a single \"log-on\", before \"connect-share\"")?
            }
            _ => {
                needs(self.logged_on, "the iteration has no session of its own: add \"log-on\" before this step")?;
                needs(!self.connected, "expected \"disconnect-share\" before \"log-off\"")?
            }
        }
        self.connected = matches!(op, Op(Kind::ConnectShare));
        self.logged_on = matches!(op, Op(Kind::LogOn)) || self.logged_on && !matches!(op, Op(Kind::LogOff));
        Ok(())
    }

    fn after_own(&mut self, op: &ScriptStep) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        match op {
            ScriptStep::Create | Op(Kind::Mkdir) => {
                needs(
                    self.thing == Thing::Nothing,
                    "the iteration already has its own file or directory: add \"remove\" or \"rmdir\" before this step",
                )?;
                self.open = matches!(op, ScriptStep::Create);
                self.thing = if self.open { Thing::File } else { Thing::Directory };
            }
            Op(Kind::Open) | ScriptStep::Recreate => {
                needs(
                    self.thing == Thing::File,
                    "the iteration has no file of its own at this step: add \"create\" and \"close\" before this step",
                )?;
                needs(!self.open, "the iteration's own file is still open: add \"close\" before this step")?;
                self.open = true;
            }
            Op(Kind::Close) => {
                needs(self.open, "the iteration's own file is not open at this step: remove this step")?;
                self.open = false;
            }
            ScriptStep::Read(_)
            | ScriptStep::Write(_)
            | ScriptStep::OnFile(_)
            | Op(Kind::Flush | Kind::GetattrOpen | Kind::Copy | Kind::Clone) => {
                needs(
                    self.open,
                    "the iteration's own file is not open at this step: add \"create\" or \"open\" before this step",
                )?;
            }
            Op(Kind::Find) => needs(self.thing == Thing::File, NO_OWN_FILE)?,
            Op(Kind::Readlink) => return Err("this step needs on = \"link\""),
            Op(Kind::Remove | Kind::Rename) if self.open => {
                return Err("the iteration's own file is still open: add \"close\" before this step");
            }
            Op(Kind::Remove) => {
                needs(self.thing == Thing::File, NO_OWN_FILE)?;
                self.thing = Thing::Nothing;
            }
            Op(Kind::Rmdir) => {
                needs(
                    self.thing == Thing::Directory,
                    "the iteration has no directory of its own at this step: add \"mkdir\" before this step",
                )?;
                self.thing = Thing::Nothing;
            }
            _ => needs(
                self.thing != Thing::Nothing,
                "the iteration has no file or directory of its own at this step: add \"create\" or \"mkdir\" before this step",
            )?,
        }
        Ok(())
    }
}
