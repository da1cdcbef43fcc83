//! What a turn does, step by step, checked before anything is sent.

use std::ops::Range;

use toml::Spanned;

use super::distribution::{Pick, Sizes};
use super::quantity::Size;
use super::text::{At, ReadText, StepText, Subject, TurnText, WriteText};

/// The most steps of a turn, loops unrolled.
const MOST_STEPS: usize = 10_000;
/// How deep loops may stand in loops.
const DEEPEST: u32 = 8;
/// The largest request, bytes: servers take 1 to 8 MiB, clients cut what is more.
const LARGEST_REQUEST: u64 = 16 << 20;
/// The largest file that a lane writes for itself, bytes.
const LARGEST_OWN: u64 = 1 << 40;

/// One kind of turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) name: String,
    pub(super) weight: u32,
    pub(super) on: Subject,
    pub(super) pick: Pick,
    pub(super) steps: Vec<Op>,
    /// Sizes that [`Amount::Total`] draws from.
    pub(super) totals: Vec<Sizes>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Create,
    /// Once more over itself, closed as it is: emptied.
    Recreate,
    Open,
    Close,
    Read(Transfer),
    Write(Transfer),
    Flush,
    Truncate(u64),
    Lookup,
    ReadLink,
    GetAttributes,
    GetAttributesOfOpen,
    SetAttributes,
    Access,
    List,
    ListNames,
    MakeDirectory,
    RemoveDirectory,
    Remove,
    Rename,
    FileSystemInfo,
    Null,
    Think(u64),
}

/// A sequence of reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// Bytes a request.
    pub(super) size: u32,
    pub(super) at: At,
    pub(super) amount: Amount,
    /// Written data is durable when the answer comes.
    pub(super) stable: bool,
}

/// How much is transferred.
#[derive(Clone, Copy, Debug)]
pub(super) enum Amount {
    /// So many requests.
    Count(u32),
    /// The file from its beginning to its end.
    Whole,
    /// So many bytes from its beginning on (of the lane's own file), as one of the turn's totals says.
    Total(usize),
}

/// What is wrong, and where.
pub(super) type Wrong = (Range<usize>, String);

impl Turn {
    pub(super) fn compile(text: &Spanned<TurnText>) -> Result<Self, Wrong> {
        let turn = text.get_ref();
        let (mut steps, mut totals) = (Vec::new(), Vec::new());
        let mut state = State::default();
        unroll(&turn.steps, 0, &mut |step| {
            if steps.len() >= MOST_STEPS {
                return Err((step.span(), format!("a turn may have {MOST_STEPS} steps, loops unrolled")));
            }
            let op = op(step.get_ref(), turn.on, &mut totals).map_err(|problem| (step.span(), problem))?;
            state.after(&op, turn.on).map_err(|problem| (step.span(), problem.to_owned()))?;
            steps.push(op);
            Ok(())
        })?;
        if steps.is_empty() {
            return Err((text.span(), "the turn has no steps".to_owned()));
        }
        if turn.on == Subject::Own && state.thing != Thing::Nothing {
            let problem = "the turn leaves its own file or directory behind: end it with \"remove\" or \"rmdir\"";
            return Err((text.span(), problem.to_owned()));
        }
        Ok(Self { name: turn.name.clone(), weight: turn.weight, on: turn.on, pick: turn.pick, steps, totals })
    }

    /// Whether it opens files of the set to write to them.
    pub(super) fn writes_to_the_set(&self) -> bool {
        self.on == Subject::File && self.steps.iter().any(|op| matches!(op, Op::Write(_) | Op::Flush))
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
        let StepText::Repeat(repeat) = step.get_ref() else {
            take(step)?;
            continue;
        };
        if depth == DEEPEST {
            return Err((step.span(), format!("loops may stand {DEEPEST} deep")));
        }
        if repeat.times == 0 || repeat.times as usize > MOST_STEPS || repeat.steps.is_empty() {
            return Err((step.span(), format!("a loop needs steps, and times from 1 to {MOST_STEPS}")));
        }
        for _ in 0..repeat.times {
            unroll(&repeat.steps, depth + 1, take)?;
        }
    }
    Ok(())
}

fn op(step: &StepText, on: Subject, totals: &mut Vec<Sizes>) -> Result<Op, String> {
    Ok(match step {
        StepText::Create => Op::Create,
        StepText::Recreate => Op::Recreate,
        StepText::Open => Op::Open,
        StepText::Close => Op::Close,
        StepText::Read(read) => Op::Read(read_of(read)?),
        StepText::Write(write) => Op::Write(write_of(write, on, totals)?),
        StepText::Flush => Op::Flush,
        StepText::Truncate(size) if size.0 <= LARGEST_OWN => Op::Truncate(size.0),
        StepText::Truncate(_) => return Err(format!("a file may have {}", Size(LARGEST_OWN))),
        StepText::Lookup => Op::Lookup,
        StepText::Readlink => Op::ReadLink,
        StepText::Getattr => Op::GetAttributes,
        StepText::GetattrOpen => Op::GetAttributesOfOpen,
        StepText::Setattr => Op::SetAttributes,
        StepText::Access => Op::Access,
        StepText::List => Op::List,
        StepText::ListNames => Op::ListNames,
        StepText::Mkdir => Op::MakeDirectory,
        StepText::Rmdir => Op::RemoveDirectory,
        StepText::Remove => Op::Remove,
        StepText::Rename => Op::Rename,
        StepText::Fsinfo => Op::FileSystemInfo,
        StepText::Null => Op::Null,
        StepText::Think(time) => Op::Think(time.0),
        StepText::Repeat(_) => return Err("a loop stands where a step should".to_owned()),
    })
}

fn read_of(read: &ReadText) -> Result<Transfer, String> {
    let amount = match (read.count, read.whole) {
        (Some(_), true) => return Err("say count or whole, not both".to_owned()),
        (Some(0), false) => return Err("count must be at least 1".to_owned()),
        (Some(count), false) => Amount::Count(count),
        (None, true) => Amount::Whole,
        (None, false) => Amount::Count(1),
    };
    transfer(read.size, read.at, amount, false)
}

fn write_of(write: &WriteText, on: Subject, totals: &mut Vec<Sizes>) -> Result<Transfer, String> {
    let amount = match (write.count, write.whole, &write.total) {
        (Some(0), false, None) => return Err("count must be at least 1".to_owned()),
        (Some(count), false, None) => Amount::Count(count),
        (None, true, None) => Amount::Whole,
        (None, false, Some(_)) => Amount::Total(totals.len()),
        (None, false, None) => Amount::Count(1),
        _ => return Err("say one of count, whole and total".to_owned()),
    };
    if on == Subject::Own && write.at != At::Sequential {
        return Err("the lane's own files are written from their beginning on: at = \"sequential\"".to_owned());
    }
    if let Some(total) = &write.total {
        if on != Subject::Own {
            return Err(
                "total is for the lane's own files; those of the set keep their size: say whole or count".into()
            );
        }
        if total.most() > LARGEST_OWN {
            return Err(format!("a file may have {}", Size(LARGEST_OWN)));
        }
        totals.push(total.clone());
    }
    transfer(write.size, write.at, amount, write.stable)
}

fn transfer(size: Size, at: At, amount: Amount, stable: bool) -> Result<Transfer, String> {
    if !(1..=LARGEST_REQUEST).contains(&size.0) {
        return Err(format!("a request may be of 1B to {}", Size(LARGEST_REQUEST)));
    }
    if !matches!(amount, Amount::Count(_)) && at != At::Sequential {
        return Err("only at = \"sequential\" goes with whole and total".to_owned());
    }
    let size = u32::try_from(size.0).map_err(|error| error.to_string())?;
    Ok(Transfer { size, at, amount, stable })
}

/// What the turn has made so far.
#[derive(Default)]
struct State {
    thing: Thing,
    open: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Thing {
    #[default]
    Nothing,
    File,
    Directory,
}

impl State {
    /// Takes a step, or says why it cannot be taken here.
    fn after(&mut self, op: &Op, on: Subject) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        match (on, op) {
            (_, Op::List | Op::ListNames | Op::FileSystemInfo | Op::Null | Op::Think(_)) => Ok(()),
            (Subject::File | Subject::Directory, Op::Lookup | Op::GetAttributes | Op::Access) => Ok(()),
            (Subject::Link, Op::Lookup | Op::ReadLink) => Ok(()),
            (Subject::Link, _) => Err("links of the set are looked up and read, and no more"),
            (Subject::File, Op::SetAttributes) => Ok(()),
            (Subject::File, Op::Open | Op::Close | Op::Read(_) | Op::Write(_)) => {
                self.open = !matches!(op, Op::Close);
                Ok(())
            }
            (Subject::File, Op::Flush | Op::GetAttributesOfOpen) => needs(self.open, "the file is not open here"),
            (Subject::File, _) => Err("files of the set stay as they are: this needs on = \"own\""),
            (Subject::Directory, _) => Err("this needs on = \"file\", \"link\" or \"own\""),
            (Subject::Own, op) => self.after_own(op),
        }
    }

    fn after_own(&mut self, op: &Op) -> Result<(), &'static str> {
        let needs = |condition: bool, problem| if condition { Ok(()) } else { Err(problem) };
        match op {
            Op::Create | Op::MakeDirectory => {
                needs(self.thing == Thing::Nothing, "the lane's own file or directory is there already")?;
                self.open = matches!(op, Op::Create);
                self.thing = if self.open { Thing::File } else { Thing::Directory };
            }
            Op::Open | Op::Recreate => {
                needs(self.thing == Thing::File && !self.open, "there is no closed file of the lane's own here")?;
                self.open = true;
            }
            Op::Close => {
                needs(self.open, "the lane's own file is not open here")?;
                self.open = false;
            }
            Op::Read(_) | Op::Write(_) | Op::Flush | Op::Truncate(_) | Op::GetAttributesOfOpen => {
                needs(self.open, "the lane's own file is not open here: \"create\" or \"open\" it")?;
            }
            Op::ReadLink => return Err("this needs on = \"link\""),
            Op::Remove | Op::Rename if self.open => return Err("\"close\" the file first"),
            Op::Remove => {
                needs(self.thing == Thing::File, "there is no file of the lane's own here")?;
                self.thing = Thing::Nothing;
            }
            Op::RemoveDirectory => {
                needs(self.thing == Thing::Directory, "there is no directory of the lane's own here")?;
                self.thing = Thing::Nothing;
            }
            _ => {
                needs(self.thing != Thing::Nothing, "the lane has nothing of its own here: \"create\" or \"mkdir\" it")?
            }
        }
        Ok(())
    }
}
