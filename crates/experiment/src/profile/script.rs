//! The output of `perf script -F pid,tid,time,ip,sym,dso`: a line for each sample, a line for each frame of its stack, an empty line.
//!
//! Names come from the programs that were sampled, so they may contain anything. Lines, stacks and names are bounded.

use std::io::{BufRead, Read as _};

use super::heads::{Head, Heads};

/// Fields of `perf script`.
pub(super) const FIELDS: &str = "pid,tid,time,ip,sym,dso";

/// Maximum length of a line, bytes; longer ones are cut. C++ has names of several thousand.
const LONGEST_LINE: u64 = 4096;
/// Maximum number of frames of a stack; the outermost ones are dropped. The kernel records 127 by default.
const DEEPEST: usize = 256;

/// A function on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its name, if known.
    pub(super) symbol: Option<String>,
    /// The file that contains it, if known.
    pub(super) module: Option<String>,
    pub(super) kernel: bool,
}

/// A sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) head: Head,
    /// Of a thread that makes load.
    pub(super) is_load: bool,
    /// The function that ran first, then its callers.
    pub(super) stack: Vec<Frame>,
}

/// Samples from the output of `perf script`.
pub(super) struct Samples<'h, R> {
    lines: Lines<R>,
    heads: &'h mut Heads,
    skipped: u64,
}

impl<'h, R: BufRead> Samples<'h, R> {
    /// Those of `heads`.
    pub(super) fn new(from: R, heads: &'h mut Heads) -> Self {
        Self { lines: Lines::new(from), heads, skipped: 0 }
    }

    /// Lines so far that are neither a sample nor a frame.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next sample.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Sample>> {
        let mut sample = loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let known = head(&line).filter(|(name, _)| name.is_empty()).map(|(_, head)| head);
            match known.and_then(|head| Some((head, self.heads.found(&head)?))) {
                Some((head, is_load)) => break Sample { head, is_load, stack: Vec::new() },
                None if line.is_empty() => {}
                None => self.skipped += 1,
            }
        };
        while let Some(line) = self.lines.next()? {
            if line.is_empty() {
                break;
            }
            match frame(&line) {
                Some(frame) if sample.stack.len() < DEEPEST => sample.stack.push(frame),
                Some(_) => {}
                None => self.skipped += 1,
            }
        }
        Ok(Some(sample))
    }
}

/// Lines of perf's output; long ones are cut.
pub(super) struct Lines<R> {
    from: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, line: Vec::new() }
    }

    /// The next line without its end.
    pub(super) fn next(&mut self) -> std::io::Result<Option<String>> {
        self.line.clear();
        let read = self.from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            self.from.skip_until(b'\n')?;
        }
        Ok(Some(String::from_utf8_lossy(&self.line).into_owned()))
    }
}

/// `4711/4712 1795800073.058790547:`, and in front of it the name of the thread if it was asked for.
pub(super) fn head(line: &str) -> Option<(&str, Head)> {
    let (rest, time) = line.trim_ascii().rsplit_once(' ')?;
    // Short numbers are padded.
    let rest = rest.trim_ascii_end();
    let (name, ids) = rest.rsplit_once(' ').unwrap_or(("", rest));
    let (process, thread) = ids.split_once('/')?;
    let (seconds, nanoseconds) = time.strip_suffix(':')?.split_once('.')?;
    if nanoseconds.len() != 9 {
        return None;
    }
    let at_ns = seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds.parse().ok()?)?;
    Some((name.trim_ascii(), Head { process: process.parse().ok()?, thread: thread.parse().ok()?, at_ns }))
}

/// `ffffffff816b974b ksys_read ([kernel.kallsyms])`
fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim_ascii_start().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (symbol, module) = match rest.strip_suffix(')') {
        Some(rest) => {
            let rest = rest.strip_suffix(" (deleted)").unwrap_or(rest);
            // Names of functions and of files may have parentheses.
            let begin = rest.rfind(if rest.ends_with(']') { " ([" } else { " (/" }).or_else(|| rest.rfind(" ("))?;
            (rest.get(..begin)?, rest.get(begin + 2..)?)
        }
        // A line that was cut.
        None => (rest, ""),
    };
    let known = |text: &str| (!matches!(text, "" | "[unknown]")).then(|| text.to_owned());
    // The upper half of the address space is the kernel's.
    Some(Frame { symbol: known(symbol), module: known(module), kernel: address >> 63 == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As perf 6.1 prints it.
    const PRINTED: &str = "13977/13978 1795800073.058790547: \n\
        \tffffffff816dfdb6 __d_lookup_rcu ([kernel.kallsyms])\n\
        \t           f82ad read (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
        \t          1b95fd [unknown] (/usr/bin/perl)\n\
        \t           1234f ns::f(int, char (*)()) (/opt/a (b)/c (deleted))\n\
        \t    7fffa2d27b30 [unknown] ([unknown])\n\
        \n\
        \x20   1/1     1795800073.061867289: \n\
        \n";

    fn all(text: &[u8]) -> (Vec<Sample>, u64) {
        // perf has taken all samples that these texts seem to have.
        let mut heads = Heads::read(text).unwrap();
        found_of(text, &mut heads)
    }

    fn found_of(text: &[u8], heads: &mut Heads) -> (Vec<Sample>, u64) {
        let mut samples = Samples::new(text, heads);
        let mut found = Vec::new();
        while let Some(sample) = samples.next().unwrap() {
            found.push(sample);
        }
        (found, samples.skipped())
    }

    fn known(symbol: &str, module: &str, kernel: bool) -> Frame {
        Frame { symbol: Some(symbol.to_owned()), module: Some(module.to_owned()), kernel }
    }

    #[test]
    fn samples_and_their_stacks_are_read() {
        let (samples, skipped) = all(PRINTED.as_bytes());
        let [first, second] = &samples[..] else { panic!("{samples:?}") };
        assert_eq!(
            (first.head, first.is_load, skipped),
            (Head { process: 13977, thread: 13978, at_ns: 1_795_800_073_058_790_547 }, false, 0)
        );
        let unknown = |module: Option<&str>| Frame { symbol: None, module: module.map(str::to_owned), kernel: false };
        let stack = [
            known("__d_lookup_rcu", "[kernel.kallsyms]", true),
            known("read", "/usr/lib/x86_64-linux-gnu/libc.so.6", false),
            unknown(Some("/usr/bin/perl")),
            known("ns::f(int, char (*)())", "/opt/a (b)/c", false),
            unknown(None),
        ];
        assert_eq!(first.stack, stack);
        assert_eq!((second.head.process, second.stack.len()), (1, 0));
    }

    #[test]
    fn hostile_names_neither_stop_it_nor_take_memory() {
        let long = "x".repeat(1 << 20);
        let hostile = [
            format!("7/7 1.000000001: \n\t 1f {long} (/bin/x)\n\n").into_bytes(),
            b"7/7 1.000000002: \n\t 1f \x1b[2J\xff<script> (/bin/x)\n\nnonsense\n1/x 1.000000001:\n7/7 1.5:\n".to_vec(),
            b"7/7 99999999999999999999.000000001: \n7/7 9223372036854775807.999999999: \n".to_vec(),
            b"7/7 1.000000003: \n\t zz f (/bin/x)\n\t 1f\n".to_vec(),
            [b"\n8/8 1.000000004: \n".to_vec(), b"\t 1f f (/bin/x)\n".repeat(5_000)].concat(),
        ];
        let (samples, skipped) = all(&hostile.concat());
        assert_eq!(
            samples.iter().map(|sample| sample.head.at_ns).collect::<Vec<_>>(),
            [1, 2, 3, 4].map(|ns| 1_000_000_000 + ns)
        );
        assert_eq!(skipped, 7);
        let frame = |sample: usize| &samples[sample].stack[0];
        assert!(frame(0).symbol.as_ref().is_some_and(|name| name.len() < 4096) && frame(0).module.is_none());
        assert_eq!(frame(1).symbol.as_deref(), Some("\x1b[2J\u{fffd}<script>"), "the report makes it harmless");
        assert_eq!((samples[2].stack.len(), samples[3].stack.len()), (0, DEEPEST));
    }

    #[test]
    fn a_name_with_line_breaks_adds_no_sample() {
        let mut heads = Heads::read("  smbd 7/7 1.000000001: \n  smbd 7/7 1.000000002: \n".as_bytes()).unwrap();
        let forged = "7/7 1.000000001: \n\t 1f f\n\n7/7 1.000000009: \n\t 2f g (/bin/x)\n\n7/7 1.000000002: \n\n";
        let (samples, skipped) = found_of(forged.as_bytes(), &mut heads);
        assert_eq!(samples.iter().map(|sample| sample.head.at_ns).collect::<Vec<_>>(), [1_000_000_001, 1_000_000_002]);
        assert_eq!((skipped, heads.left()), (2, 0));
    }
}
