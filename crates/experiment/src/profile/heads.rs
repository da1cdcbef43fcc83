//! Which samples perf took, from a `perf script` without names of functions and files. Those names come from the sampled programs: with line
//! breaks they could look like samples that perf never took.

use std::collections::HashMap;
use std::io::BufRead;

use super::script::{Lines, head};

/// Fields of `perf script` for this.
pub(super) const FIELDS: &str = "comm,pid,tid,time";
/// Maximum number of samples: more than two hours of a busy core.
const MOST: usize = 4_000_000;
/// Beginning of the names of threads that make load (`plimsoll_drive::engine`).
const LOAD: &str = "worker ";

/// What identifies a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Head {
    pub(super) process: u32,
    pub(super) thread: u32,
    /// ns since the Unix epoch.
    pub(super) at_ns: i64,
}

/// All samples that perf took, without their stacks.
#[derive(Debug, Default)]
pub(super) struct Heads {
    /// How many have this head, and whether the thread's name is that of a load thread.
    of: HashMap<Head, (u64, bool)>,
}

impl Heads {
    pub(super) fn read(from: impl BufRead) -> std::io::Result<Self> {
        let (mut heads, mut lines) = (Self::default(), Lines::new(from));
        while let Some(line) = lines.next()? {
            // The name of a thread may have a line break, too: it is cut before its head, which is complete.
            let Some((name, head)) = head(&line) else { continue };
            if heads.of.len() < MOST {
                heads.of.entry(head).or_insert((0, name.starts_with(LOAD))).0 += 1;
            }
        }
        Ok(heads)
    }

    /// Counts a sample as found. Returns whether a load thread was sampled; `None`: perf took no such sample, or it was found before.
    pub(super) fn found(&mut self, head: &Head) -> Option<bool> {
        let (left, is_load) = self.of.get_mut(head)?;
        *left = left.checked_sub(1)?;
        Some(*is_load)
    }

    /// Samples that were not found.
    pub(super) fn left(&self) -> u64 {
        self.of.values().map(|(left, _)| left).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As perf 6.1 prints it; the name of the third thread is `a b\n7/7 1.0:`.
    const PRINTED: &str = "        worker 0 20387/20456 1795800073.058790547: \n \
        worker 0 20387/20456 1795800073.058790547: \n        plimsoll 20387/20387 1795800073.061867289: \n    a b\n\
        7/7 1.0: 20387/20457 1795800073.061867290: \n";

    #[test]
    fn each_sample_is_found_once() {
        let mut heads = Heads::read(PRINTED.as_bytes()).unwrap();
        let head = |thread, ns: i64| Head { process: 20387, thread, at_ns: 1_795_800_073_000_000_000 + ns };
        assert_eq!(heads.left(), 4);
        let load = head(20456, 58_790_547);
        assert_eq!([(); 3].map(|()| heads.found(&load)), [Some(true), Some(true), None]);
        assert_eq!(heads.found(&head(20387, 61_867_289)), Some(false));
        assert_eq!(heads.found(&Head { process: 7, thread: 7, at_ns: 1_000_000_000 }), None);
        assert_eq!(heads.left(), 1);
        assert_eq!(heads.found(&head(20457, 61_867_290)), Some(false));
    }
}
