//! Processor time by function: a flame graph and tables.

use super::drawn;
use super::table::scrolled;
use super::units::{UNKNOWN, count, percent};
use super::untrusted::Untrusted;
use crate::findings::Findings;
use crate::findings::profile::{KERNEL, Profile, SAMPLING, StackFrame, shown};
use crate::tables;
use maud::{Markup, html};

/// Functions in the table; the JSON report has more.
const SHOWN: usize = 30;
/// Width of a flame graph in its own units, and height of a frame.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
/// A frame that is less wide has no name in it.
const NAMED: f64 = 24.0;

/// Figure and tables of each side; empty if not requested.
pub(super) fn section(findings: &Findings) -> Vec<Markup> {
    let calls = findings.run.as_ref().and_then(|run| run.calls.as_deref());
    let profiles = calls.map_or(&[][..], |calls| &calls.profiles);
    profiles
        .iter()
        .filter(|profile| profile.samples() > 0)
        .flat_map(|one| [vec![flame(one)], drawn::draw(tables::kinds(one)), vec![functions(one)]].concat())
        .collect()
}

fn flame(profile: &Profile) -> Markup {
    let deepest = f64::from(profile.frames.iter().map(|frame| frame.depth).max().unwrap_or(0));
    let height = (deepest + 1.0) * ROW;
    let (samples, id) = (profile.samples(), profile.id());
    let summary = format!("Flame graph of the {}: {}", profile.side, profile.unknown());
    html! {
        figure.flame aria-labelledby={ "flame-" (id) } {
            figcaption {
                h3 id={ "flame-" (id) } { "Flame graph of the " (Untrusted(&profile.side)) }
                p {
                    "CPU time in the measured phases: " (count(samples)) " samples (" (profile.samples_per_s)
                    " per second of CPU time). Each frame stands for a function. Its width is the share of samples in this function and in the \
                    functions that it called. The frames of called functions are above the frame of their caller. The lowest row has one frame \
                    for each kind of call that the breakdown measured. Point at a frame to see the name of the function. "
                    (profile.unknown()) " " (SAMPLING)
                }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(Untrusted(&summary)) {
                @for (frame, left) in profile.frames.iter().zip(lefts(&profile.frames)) {
                    (rectangle(frame, left / samples as f64 * WIDTH, samples, (deepest - f64::from(frame.depth)) * ROW))
                }
            }
            ul.legend {
                @for (color, words) in [(7, "call"), (0, "program and libraries"), (1, "kernel"), (4, "no symbol")] {
                    li { i class={ "swatch s" (color) } {} (words) }
                }
            }
        }
    }
}

/// Samples to the left of each frame: those of frames before it at the same depth, below the same frame.
fn lefts(frames: &[StackFrame]) -> Vec<f64> {
    // Of each depth the place where the next frame begins.
    let mut next: Vec<u64> = vec![0];
    let mut all = Vec::with_capacity(frames.len());
    for frame in frames {
        let depth = usize::try_from(frame.depth).unwrap_or(usize::MAX).min(next.len() - 1);
        let left = next.get(depth).copied().unwrap_or(0);
        next.truncate(depth);
        next.extend([left.saturating_add(frame.samples), left]);
        all.push(left as f64);
    }
    all
}

fn rectangle(frame: &StackFrame, x: f64, samples: u64, y: f64) -> Markup {
    let share = frame.samples as f64 / samples as f64;
    let (width, name) = (share * WIDTH, shown(frame.name.as_deref()));
    let color = match (frame.depth, &frame.name, frame.module.as_deref()) {
        (0, ..) => 7,
        (_, None, _) => 4,
        (_, _, Some(KERNEL)) => 1,
        _ => 0,
    };
    html! {
        svg class={ "s" (color) } x=(format!("{x:.1}")) y=(format!("{y:.0}")) width=(format!("{width:.1}")) height=(ROW) {
            title {
                (Untrusted(name)) @if let Some(module) = &frame.module { " (" (Untrusted(module)) ")" }
                ": " (count(frame.samples)) " samples, " (percent(share))
            }
            rect width="100%" height="100%" {}
            @if width >= NAMED { text x="3" y="12.5" { (Untrusted(name)) } }
        }
    }
}

fn functions(profile: &Profile) -> Markup {
    let caption = format!("profile-functions-{}", profile.id());
    html! {
        (scrolled(&caption, "", html! {
            "CPU time of the " (Untrusted(&profile.side)) " (" (Untrusted(&profile.processes)) ") by function: percentage of the perf \
            samples of each call. A function's samples exclude those in the functions that it called. " (profile.unknown())
        }, html! {
            thead { tr {
                th scope="col" { "Function" } th.text scope="col" { "Module" }
                @for call in &profile.calls { th scope="col" { (Untrusted(&call.call)) } }
            } }
            tbody { @for function in profile.functions.iter().take(SHOWN) {
                tr {
                    th scope="row" { (Untrusted(shown(function.name.as_deref()))) }
                    td.text { (Untrusted(shown_module(function.module.as_deref()))) }
                    (shares(profile, &function.samples))
                }
            } }
        }))
    }
}

fn shown_module(module: Option<&str>) -> &str {
    module.unwrap_or(UNKNOWN)
}

fn shares(profile: &Profile, samples: &[u64]) -> Markup {
    let share =
        |part: u64, whole: u64| if whole == 0 { UNKNOWN.to_owned() } else { percent(part as f64 / whole as f64) };
    html! { @for (part, call) in samples.iter().zip(&profile.calls) { td { (share(*part, call.samples)) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(depth: u32, samples: u64) -> StackFrame {
        StackFrame { depth, samples, ..StackFrame::default() }
    }

    #[test]
    fn frames_begin_where_the_one_before_them_ends() {
        let frames =
            [(0, 10), (1, 4), (2, 4), (1, 3), (2, 1), (0, 5), (1, 5)].map(|(depth, samples)| frame(depth, samples));
        assert_eq!(lefts(&frames), [0.0, 0.0, 0.0, 4.0, 4.0, 10.0, 10.0]);
        // A damaged recording draws nonsense, and nothing worse.
        assert_eq!(lefts(&[frame(u32::MAX, 1), frame(7, 2)]), [0.0, 0.0]);
    }
}
