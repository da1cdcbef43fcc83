//! The steps of an iteration, checked before any request is sent.
//!
//! Another step: its text in `text/iteration.rs`, its meaning in `script_step.rs`; `state.rs` decides where it is allowed. A step with
//! options on an open file is in `file_step.rs` alone.

mod script_step;
mod state;

use std::ops::Range;

use plimsoll_client::operation::OperationKind as Kind;
use toml::Spanned;

use self::ScriptStep::Operation as Op;
use self::script_step::{Texts, script_step};
use self::state::State;
use super::distribution::{Pick, Sizes};
use super::quantity::Scale;
use super::text::{IterationText, StepText, StepWithOptions, Subject};

pub(super) use self::script_step::{Amount, ScriptStep, Transfer, does};
pub(super) use self::state::OwnObject;

/// The most steps of an iteration, loops unrolled.
const MOST_STEPS: usize = 10_000;
/// How deep loops may stand in loops.
const DEEPEST: u32 = 8;

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
        if iteration.on == Subject::Own && state.object != OwnObject::Nothing {
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
