//! The parsed and checked text of a workload.

use aws_lc_rs::digest::{Context, SHA256};
use plimsoll_client::operation::Caching;
use toml::Spanned;

use crate::hexadecimal::hexadecimal;
use crate::{DataSource, Defaults, Parameter};
use crate::{deck, fileset, program, quantity, replay, text};

/// The longest name, characters: file sets are called after it.
const LONGEST_NAME: usize = 40;
/// The most kinds of iterations.
const MAX_ITERATION_KINDS: usize = 1000;
/// The most files that a slot keeps open.
const MOST_KEPT: u32 = 1000;

/// A parsed and checked workload.
#[derive(Debug)]
pub(crate) struct CheckedWorkload {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) text: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) digest: String,
    pub(crate) files: text::Files,
    pub(crate) defaults: Defaults,
    /// Files that a slot keeps open from iteration to iteration; 0: opens and closes in each.
    pub(crate) keep_open: usize,
    /// Reads that keep and verify their data, 0 to 1.
    pub(crate) verify: f64,
    pub(crate) caching: Caching,
    pub(crate) source: DataSource,
    pub(crate) iterations: Vec<program::IterationKind>,
    /// Whether any iteration writes to files of the set.
    pub(crate) writes_to_the_set: bool,
    /// Sums of the iterations' weights up to each.
    pub(crate) weights: Vec<u64>,
    /// Where iterations are dealt and not drawn.
    pub(crate) deck: Option<deck::Deck>,
    /// The first slot of a client looks everything up before its first iteration.
    pub(crate) look_up_first: bool,
    /// A load file in place of iterations.
    pub(crate) replay: Option<replay::Replay>,
}

impl CheckedWorkload {
    pub(crate) fn check(text: text::Text, whole: &str, replay: Option<replay::Replay>) -> Result<Self, program::Wrong> {
        let name = checked_name(&text.name)?;
        if text.description.get_ref().contains(char::is_control) {
            let problem = "\"description\": expected a single line without control characters";
            return Err((text.description.span(), problem.to_owned()));
        }
        let files = files(text.files, replay.is_some())?;
        fileset::check(files.get_ref()).map_err(|problem| (files.span(), problem))?;
        let mut defaults = match &text.load {
            Some(load) => Defaults::of(load.get_ref()).map_err(|problem| (load.span(), problem))?,
            None => Defaults::of(&text::Load::default()).map_err(|problem| (0..0, problem))?,
        };
        if replay.as_ref().is_some_and(|replay| replay.plays.is_some()) {
            // It ends by itself.
            (defaults.phases.warmup_ns, defaults.phases.measured_ns) = (0, None);
        }
        if let (Some(script), Some(_)) = (&text.script, &replay) {
            return Err((
                script.span(),
                "[script] applies only to [[iterations]], but this workload has [replay]: remove [script]".to_owned(),
            ));
        }
        let script = text.script.map(Spanned::into_inner).unwrap_or_default();
        let keep_open = match &script.keep_open {
            Some(kept) if *kept.get_ref() > MOST_KEPT => {
                return Err((kept.span(), format!("\"keep_open\": expected at most {MOST_KEPT} files")));
            }
            kept => kept.as_ref().map_or(0, |kept| *kept.get_ref()),
        };
        let iterations = compile_iterations(&text.iterations, files.get_ref().scale, script.keep_open.as_ref())?;
        let weights: Vec<u64> = iterations
            .iter()
            .scan(0, |sum, iteration| {
                *sum += u64::from(iteration.weight);
                Some(*sum)
            })
            .collect();
        match (text.iterations.first(), &replay) {
            (Some(iteration), Some(_)) => {
                let problem = "[replay] and [[iterations]] cannot be combined: remove one of them";
                return Err((iteration.span(), problem.to_owned()));
            }
            (_, None) => check_iterations(&iterations, &weights, &files)?,
            (None, Some(_)) => {}
        }
        let deck = match script.order {
            text::Order::Random => None,
            text::Order::Shuffled => Some(deck::Deck::new(&iterations).map_err(|problem| (0..0, problem))?),
        };
        Ok(Self {
            name,
            description: text.description.get_ref().clone(),
            text: whole.to_owned(),
            parameters: Vec::new(),
            digest: digest_of(whole, replay.as_ref()),
            files: files.into_inner(),
            defaults,
            keep_open: keep_open as usize,
            verify: script.verify.map_or(0.0, |share| share.0),
            caching: script.caching,
            source: script.source,
            writes_to_the_set: iterations.iter().any(program::IterationKind::writes_to_the_set),
            iterations,
            weights,
            deck,
            look_up_first: script.look_up_first,
            replay,
        })
    }
}

/// The name, if file sets can be called after it.
fn checked_name(name: &Spanned<String>) -> Result<String, program::Wrong> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let called = name.get_ref();
    if called.is_empty() || called.len() > LONGEST_NAME || !called.chars().all(plain) {
        let problem = format!("\"name\": expected 1 to {LONGEST_NAME} lower-case letters, digits or '-'");
        return Err((name.span(), problem));
    }
    Ok(called.clone())
}

/// Every iteration in all its variants. `kept`: files that stay open from iteration to iteration.
fn compile_iterations(
    texts: &[Spanned<text::IterationText>],
    scale: quantity::Scale,
    kept: Option<&Spanned<u32>>,
) -> Result<Vec<program::IterationKind>, program::Wrong> {
    let variants = texts.iter().map(|iteration| program::IterationKind::variants(iteration, scale));
    let iterations = variants.collect::<Result<Vec<_>, _>>()?.concat();
    if let Some(kept) = kept.filter(|kept| *kept.get_ref() > 0)
        && iterations.iter().any(program::IterationKind::uses_shares)
    {
        let problem = "\"keep_open\" must be 0, because iterations of this workload connect to the share or log on";
        return Err((kept.span(), problem.to_owned()));
    }
    Ok(iterations)
}

/// Whether there are iterations, and the files that they are about.
fn check_iterations(
    iterations: &[program::IterationKind],
    weights: &[u64],
    files: &Spanned<text::Files>,
) -> Result<(), program::Wrong> {
    if iterations.len() > MAX_ITERATION_KINDS || weights.last().is_none_or(|sum| *sum == 0) {
        let problem =
            format!("expected 1 to {MAX_ITERATION_KINDS} [[iterations]], at least one with a \"weight\" above 0");
        return Err((0..0, problem));
    }
    if files.get_ref().count == 0 && iterations.iter().any(program::IterationKind::needs_files) {
        return Err((
            files.span(),
            "iterations with on = \"file\" need files: give \"count\" a value above 0".to_owned(),
        ));
    }
    if files.get_ref().links == 0 && iterations.iter().any(program::IterationKind::needs_links) {
        return Err((
            files.span(),
            "iterations with on = \"link\" need links: give \"links\" a value above 0".to_owned(),
        ));
    }
    Ok(())
}

/// The files of a workload; a load file creates its own.
fn files(asked: Option<Spanned<text::Files>>, replay: bool) -> Result<Spanned<text::Files>, program::Wrong> {
    match (asked, replay) {
        (Some(files), true) => Err((files.span(), "[replay] creates its own files: remove [files]".to_owned())),
        (Some(files), false) => Ok(files),
        (None, true) => Ok(Spanned::new(0..0, text::Files::none())),
        (None, false) => Err((0..0, "missing field `files`: [[iterations]] need [files]".to_owned())),
    }
}

fn digest_of(text: &str, replay: Option<&replay::Replay>) -> String {
    let mut context = Context::new(&SHA256);
    context.update(text.as_bytes());
    if let Some(replay) = replay {
        context.update(replay.loadfile.as_ref());
    }
    hexadecimal(context.finish().as_ref())
}
