//! Samples of the measured phases, by function and by stack. Memory is bounded, whatever the sampled programs contain.

use std::cmp::Reverse;
use std::collections::HashMap;

use plimsoll_report::findings::profile::{KERNEL, Profile, ProfiledCall, ProfiledFunction, ProfiledKind, StackFrame};

use super::Span;
use super::kinds::Kind;
use super::script::{Frame, Sample};

/// Maximum number of functions; a server with all its libraries and the kernel shows some hundred.
const MOST_FUNCTIONS: usize = 20_000;
/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 200;
/// Maximum number of nodes of the tree of stacks. A stack that needs more ends at its last known frame.
const MOST_NODES: usize = 200_000;
/// Functions in a report.
const REPORTED: usize = 100;
/// A frame with a smaller part of all samples (1/n) is not in a report: less than a pixel.
const SMALLEST: u64 = 1000;
/// Frames in a report; a profile with few samples has many frames of one sample.
const MOST_FRAMES: usize = 10_000;

/// Index of a function.
type FunctionId = usize;

/// Samples of one side.
pub(super) struct Folded<'s> {
    spans: &'s [Span],
    calls: Vec<CallSamples>,
    functions: Vec<Function>,
    by_name: HashMap<(Option<String>, Option<String>), FunctionId>,
    nodes: Vec<Node>,
    /// By parent and function.
    children: HashMap<(usize, FunctionId), usize>,
    in_kernel: u64,
    /// Samples whose stack or function is beyond a limit.
    beyond: u64,
}

/// Samples of one call.
#[derive(Clone, Debug, Default)]
struct CallSamples {
    samples: u64,
    without_symbol: u64,
    kinds: [u64; Kind::ALL.len()],
}

struct Function {
    name: Option<String>,
    module: Option<String>,
    samples: Vec<u64>,
}

/// A node of the tree of stacks. The first ones are the calls.
struct Node {
    function: Option<FunctionId>,
    samples: u64,
}

impl<'s> Folded<'s> {
    pub(super) fn new(spans: &'s [Span]) -> Self {
        let nodes = spans.iter().map(|_| Node { function: None, samples: 0 }).collect();
        let (functions, by_name, children) = (Vec::new(), HashMap::new(), HashMap::new());
        let calls = vec![CallSamples::default(); spans.len()];
        Self { spans, calls, functions, by_name, nodes, children, in_kernel: 0, beyond: 0 }
    }

    /// Counts a sample, unless it is outside of the phases.
    pub(super) fn add(&mut self, sample: &Sample) {
        let inside = |span: &Span| span.span_ns.0 <= sample.head.at_ns && sample.head.at_ns < span.span_ns.1;
        let Some(call) = self.spans.iter().position(inside) else { return };
        let kind = Kind::of(&sample.stack);
        let nothing = Frame { symbol: None, module: None, kernel: false };
        let own = sample.stack.first().unwrap_or(&nothing);
        self.in_kernel += u64::from(own.kernel);
        if let Some(counted) = self.calls.get_mut(call) {
            counted.samples += 1;
            counted.without_symbol += u64::from(own.symbol.is_none());
            if let Some(count) = counted.kinds.get_mut(kind as usize) {
                *count += 1;
            }
        }
        let own = self.function(own);
        if let Some(samples) = own.and_then(|own| self.functions.get_mut(own)?.samples.get_mut(call)) {
            *samples += 1;
        }
        let whole = self.descend(call, &sample.stack);
        self.beyond += u64::from(own.is_none() || !whole);
    }

    /// Adds a stack below a call; whether all of it has room.
    fn descend(&mut self, call: usize, stack: &[Frame]) -> bool {
        let mut at = call;
        self.count(at);
        for frame in stack.iter().rev() {
            let Some(function) = self.function(frame) else { return false };
            let child = match self.children.get(&(at, function)) {
                Some(child) => *child,
                None if self.nodes.len() >= MOST_NODES => return false,
                None => {
                    self.nodes.push(Node { function: Some(function), samples: 0 });
                    self.children.insert((at, function), self.nodes.len() - 1);
                    self.nodes.len() - 1
                }
            };
            at = child;
            self.count(at);
        }
        true
    }

    fn count(&mut self, node: usize) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.samples += 1;
        }
    }

    /// The function of a frame; `None` beyond the limit.
    fn function(&mut self, frame: &Frame) -> Option<FunctionId> {
        let cut = |name: &str| name.chars().take(LONGEST_NAME).collect::<String>();
        let module = match &frame.module {
            _ if frame.kernel => Some(KERNEL.to_owned()),
            Some(path) => path.rsplit('/').next().map(cut),
            None => None,
        };
        let key = (frame.symbol.as_deref().map(cut), module);
        if let Some(known) = self.by_name.get(&key) {
            return Some(*known);
        }
        if self.functions.len() >= MOST_FUNCTIONS {
            return None;
        }
        let (name, module) = key.clone();
        self.functions.push(Function { name, module, samples: vec![0; self.spans.len()] });
        self.by_name.insert(key, self.functions.len() - 1);
        Some(self.functions.len() - 1)
    }

    /// As a report has it; `missing` gets sentences about what is not in it.
    pub(super) fn profile(
        mut self,
        side: &str,
        processes: &str,
        samples_per_s: u32,
        missing: &mut Vec<String>,
    ) -> Profile {
        let samples: u64 = self.calls.iter().map(|call| call.samples).sum();
        match () {
            () if samples == 0 => missing.push(format!("profile of the {side}: no sample in the measured phases")),
            () if self.in_kernel == 0 => missing.push(format!(
                "profile of the {side}: no sample is in the kernel, because perf may not sample the kernel; run as root, or set \
                sysctl kernel.perf_event_paranoid to 1 or less"
            )),
            () => {}
        }
        if self.beyond > 0 {
            let beyond = self.beyond;
            missing.push(format!(
                "profile of the {side}: {beyond} samples lack their function or part of their stack, because Plimsoll stores only a limited number of functions and stack frames"
            ));
        }
        let least = self.least(samples / SMALLEST);
        if least > samples / SMALLEST {
            missing.push(format!(
                "flame graph of the {side}: frames with {least} or fewer samples are not drawn, because there are too many frames"
            ));
        }
        let frames = self.frames(least);
        let kinds = if self.in_kernel > 0 { self.kinds() } else { Vec::new() };
        let calls = self.spans.iter().zip(&self.calls).map(|(span, call)| ProfiledCall {
            call: span.call.clone(),
            samples: call.samples,
            without_symbol: call.without_symbol,
        });
        let calls = calls.collect();
        let all = self.functions.drain(..).map(|Function { name, module, samples }| ProfiledFunction {
            name,
            module,
            samples,
        });
        let mut functions: Vec<ProfiledFunction> = all.filter(|function| function.all() > 0).collect();
        functions.sort_by(|a, b| b.all().cmp(&a.all()).then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module))));
        functions.truncate(REPORTED);
        let other_functions = samples - functions.iter().map(ProfiledFunction::all).sum::<u64>();
        let (side, processes) = (side.to_owned(), processes.to_owned());
        Profile { side, processes, samples_per_s, calls, kinds, functions, other_functions, frames }
    }

    fn kinds(&self) -> Vec<ProfiledKind> {
        let of = |kind: Kind| ProfiledKind {
            kind: kind.words().to_owned(),
            samples: self.calls.iter().map(|call| call.kinds.get(kind as usize).copied().unwrap_or(0)).collect(),
        };
        let mut kinds: Vec<ProfiledKind> = Kind::ALL.into_iter().map(of).collect();
        // Only a kernel that hides its symbols has samples of the last kind.
        kinds.pop_if(|unknown| unknown.samples.iter().all(|samples| *samples == 0));
        kinds
    }

    /// `least`, or more if that leaves too many frames with more samples.
    fn least(&self, least: u64) -> u64 {
        let mut samples: Vec<u64> =
            self.children.values().filter_map(|node| Some(self.nodes.get(*node)?.samples)).collect();
        samples.sort_unstable_by_key(|samples| Reverse(*samples));
        samples.get(MOST_FRAMES).map_or(least, |next| least.max(*next))
    }

    /// The tree, depth first, of frames with more samples than `least`; of the frames above a frame those with the most samples first.
    fn frames(&self, least: u64) -> Vec<StackFrame> {
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        let large = |node: usize| self.nodes.get(node).is_some_and(|node| node.samples > least);
        self.children.iter().filter(|(_, node)| large(**node)).for_each(|((parent, _), node)| {
            below.entry(*parent).or_default().push(*node);
        });
        let function = |node: usize| self.functions.get(self.nodes.get(node)?.function?);
        let name = |node: usize| function(node).map(|function| (&function.name, &function.module));
        let samples = |node: usize| self.nodes.get(node).map_or(0, |node| node.samples);
        let mut frames = Vec::new();
        let mut next: Vec<(usize, u32)> = (0..self.spans.len()).rev().map(|call| (call, 0)).collect();
        while let Some((node, depth)) = next.pop() {
            let (name_of, module) = match self.spans.get(node) {
                Some(span) => (Some(span.call.clone()), None),
                None => {
                    function(node).map_or((None, None), |function| (function.name.clone(), function.module.clone()))
                }
            };
            frames.push(StackFrame { depth, name: name_of, module, samples: samples(node) });
            let mut above = below.remove(&node).unwrap_or_default();
            // The first one is taken last.
            above.sort_by(|a, b| samples(*a).cmp(&samples(*b)).then_with(|| name(*b).cmp(&name(*a))));
            next.extend(above.into_iter().map(|node| (node, depth + 1)));
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::super::heads::Head;
    use super::*;

    fn spans() -> [Span; 2] {
        [("null", (0, 10)), ("read", (20, 30))].map(|(call, span_ns)| Span { call: call.to_owned(), span_ns })
    }

    fn frame(name: &str) -> Frame {
        let (kernel, name) = name.strip_prefix("k:").map_or((false, name), |name| (true, name));
        let module = Some(if kernel { "[kernel.kallsyms]" } else { "/usr/sbin/smbd" }.to_owned());
        Frame { symbol: (!name.is_empty()).then(|| name.to_owned()), module, kernel }
    }

    /// A sample; its stack has the outermost function first.
    fn sample(at_ns: i64, stack: &[&str]) -> Sample {
        Sample {
            head: Head { process: 1, thread: 1, at_ns },
            is_load: false,
            stack: stack.iter().rev().map(|name| frame(name)).collect(),
        }
    }

    #[test]
    fn samples_become_functions_kinds_and_stacks() {
        let spans = spans();
        let mut folded = Folded::new(&spans);
        let stacks: [(i64, &[&str]); 6] = [
            (0, &["main", "reply"]),
            (9, &["main", "reply", "k:tcp_sendmsg"]),
            (20, &["main", "pread", "k:vfs_read"]),
            (21, &["main", "pread", "k:vfs_read"]),
            (22, &["main", ""]),
            (29, &["main"]),
        ];
        stacks.iter().for_each(|(at_ns, stack)| folded.add(&sample(*at_ns, stack)));
        [-1, 10, 19, 30].iter().for_each(|at_ns| folded.add(&sample(*at_ns, &["main"])));
        let mut missing = Vec::new();
        let profile = folded.profile("server", "process 1", 499, &mut missing);
        assert_eq!(missing, Vec::<String>::new());
        let calls: Vec<(&str, u64, u64)> =
            profile.calls.iter().map(|call| (call.call.as_str(), call.samples, call.without_symbol)).collect();
        assert_eq!(calls, [("null", 2, 0), ("read", 4, 1)]);
        let kinds: Vec<(&str, &[u64])> =
            profile.kinds.iter().map(|kind| (kind.kind.as_str(), &kind.samples[..])).collect();
        assert_eq!(
            kinds,
            [
                ("program", &[1, 2][..]),
                ("kernel: network", &[1, 0]),
                ("kernel: files", &[0, 2]),
                ("kernel: other", &[0, 0])
            ]
        );
        let functions: Vec<_> = profile
            .functions
            .iter()
            .map(|one| (one.name.as_deref(), one.module.as_deref(), &one.samples[..]))
            .collect();
        let smbd = Some("smbd");
        let expected = [
            (Some("vfs_read"), Some(KERNEL), &[0, 2][..]),
            (None, smbd, &[0, 1]),
            (Some("main"), smbd, &[0, 1]),
            (Some("reply"), smbd, &[1, 0]),
            (Some("tcp_sendmsg"), Some(KERNEL), &[1, 0]),
        ];
        assert_eq!((functions, profile.other_functions), (expected.to_vec(), 0));
        let frames: Vec<_> = profile.frames.iter().map(|one| (one.depth, one.name.as_deref(), one.samples)).collect();
        let expected = [
            (0, Some("null"), 2),
            (1, Some("main"), 2),
            (2, Some("reply"), 2),
            (3, Some("tcp_sendmsg"), 1),
            (0, Some("read"), 4),
            (1, Some("main"), 4),
            (2, Some("pread"), 2),
            (3, Some("vfs_read"), 2),
            (2, None, 1),
        ];
        assert_eq!(frames, expected);
        assert_eq!(profile.unknown(), "1 of 6 samples (16.7 %) are in functions without a symbol.");
    }

    #[test]
    fn what_perf_does_not_show_is_said() {
        let spans = spans();
        let missing = |samples: &[Sample]| {
            let (mut folded, mut missing) = (Folded::new(&spans), Vec::new());
            samples.iter().for_each(|sample| folded.add(sample));
            let profile = folded.profile("server", "process 1", 499, &mut missing);
            assert!(profile.kinds.is_empty());
            missing
        };
        assert!(missing(&[]).iter().any(|why| why.contains("no sample in the measured phases")));
        assert!(missing(&[sample(1, &["main"])]).iter().any(|why| why.contains("no sample is in the kernel")));
        assert_eq!(missing(&[sample(1, &[])]).len(), 1, "a sample without a stack counts");
    }

    #[test]
    fn hostile_programs_do_not_take_memory_without_end() {
        let spans = spans();
        let mut folded = Folded::new(&spans);
        let long = "x".repeat(4_000);
        // Stacks of 200 functions each, no two alike.
        for number in 0..1_200 {
            let names: Vec<String> = (0..200).map(|level| format!("{number} {level} {long}")).collect();
            folded.add(&sample(1, &names.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        assert_eq!(folded.functions.len(), MOST_FUNCTIONS);
        assert!(folded.nodes.len() <= MOST_NODES);
        assert!(
            folded
                .functions
                .iter()
                .all(|function| function.name.as_ref().is_some_and(|name| name.len() == LONGEST_NAME))
        );
        let mut missing = Vec::new();
        let profile = folded.profile("server", "process 1", 499, &mut missing);
        assert_eq!((profile.samples(), profile.functions.len()), (1_200, REPORTED));
        // More than 1,000 samples: frames of one sample are too small to be shown.
        assert_eq!(profile.frames.len(), 2);
        assert_eq!(profile.functions.iter().map(ProfiledFunction::all).sum::<u64>() + profile.other_functions, 1_200);
        assert!(
            missing.iter().any(|why| why.contains("1100 samples lack their function or part of their stack")),
            "{missing:?}"
        );
    }

    #[test]
    fn few_samples_with_many_frames_make_no_large_page() {
        let spans = spans();
        let frames = |stacks: usize| {
            let (mut folded, mut missing) = (Folded::new(&spans), Vec::new());
            for number in 0..stacks {
                let names: Vec<String> = (0..99).map(|level| format!("{number} {level}")).collect();
                let names = std::iter::once("main").chain(names.iter().map(String::as_str));
                folded.add(&sample(1, &names.collect::<Vec<_>>()));
            }
            let profile = folded.profile("server", "process 1", 499, &mut missing);
            missing.retain(|why| !why.contains("no sample is in the kernel"));
            (profile.frames.len(), missing)
        };
        assert_eq!(frames(100), (2 + 1 + 9_900, Vec::new()));
        let least = "flame graph of the server: frames with 1 or fewer samples are not drawn, because there are too many frames";
        assert_eq!(frames(200), (2 + 1, vec![least.to_owned()]));
    }
}
