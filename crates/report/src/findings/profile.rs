//! Processor time by function: samples of the kernel's profiler.

use serde::{Deserialize, Serialize};

/// The samples of one side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// `server`, `client`, or `client and server` if both are in one process.
    pub side: String,
    /// The processes in words.
    pub processes: String,
    /// Samples of each processor that the side uses, 1/s.
    pub samples_per_s: u32,
    /// Its calls, in the order in which they ran.
    pub calls: Vec<ProfiledCall>,
    /// What the processor did. Empty if the samples do not show the kernel.
    pub kinds: Vec<ProfiledKind>,
    /// The functions with the most samples.
    pub functions: Vec<ProfiledFunction>,
    /// Samples in other functions.
    pub other_functions: u64,
    /// Stacks as a tree, depth first: a frame is followed by the frames that it called. The frames of depth 0 are the calls.
    pub frames: Vec<StackFrame>,
}

/// A call and its samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledCall {
    /// The call in words.
    pub call: String,
    /// Samples in its measured phase.
    pub samples: u64,
    /// Those in functions without a known name.
    pub without_symbol: u64,
}

/// A kind of work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledKind {
    /// In words.
    pub kind: String,
    /// Samples of each call.
    pub samples: Vec<u64>,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledFunction {
    /// Its name; null: all functions of the module without a known name.
    pub name: Option<String>,
    /// The program, library or `kernel` that contains it; null if unknown.
    pub module: Option<String>,
    /// Samples of each call in the function itself, without functions that it called.
    pub samples: Vec<u64>,
}

/// A function on stacks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StackFrame {
    /// Frames below it.
    pub depth: u32,
    /// As in [`ProfiledFunction`]; of a frame of depth 0 the call.
    pub name: Option<String>,
    /// As in [`ProfiledFunction`].
    pub module: Option<String>,
    /// Samples in it and in all that it called.
    pub samples: u64,
}

/// The effect of samples on the times of a breakdown.
pub const SAMPLING: &str =
    "perf took samples in the remote and the local phases, so their times are longer than without --profile.";

/// Name of the module of functions of the kernel.
pub const KERNEL: &str = "kernel";

impl Profile {
    /// Samples of all calls.
    pub fn samples(&self) -> u64 {
        self.calls.iter().map(|call| call.samples).sum()
    }

    /// Samples of all calls without a known function.
    pub fn without_symbol(&self) -> u64 {
        self.calls.iter().map(|call| call.without_symbol).sum()
    }

    /// A word for identifiers of a page.
    pub(crate) fn id(&self) -> String {
        self.side.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    }

    /// How many samples have no known function, in a sentence.
    pub fn unknown(&self) -> String {
        let (unknown, all) = (self.without_symbol(), self.samples());
        let share = if all == 0 { 0.0 } else { unknown as f64 / all as f64 * 100.0 };
        format!("{unknown} of {all} samples ({share:.1} %) are in functions without a symbol.")
    }
}

impl ProfiledFunction {
    /// Samples of all calls.
    pub fn all(&self) -> u64 {
        self.samples.iter().sum()
    }
}

/// A name, or that there is none.
pub fn shown(name: Option<&str>) -> &str {
    name.unwrap_or("(no symbol)")
}
