//! The owner of a file set, as written in its lease.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Its first line.
const FIRST_LINE: &str = "plimsoll lease 1";
/// A lease that was not renewed for this time counts as abandoned, s.
pub(super) const ABANDONED_AFTER_S: u64 = 60;
/// Digits of an instant.
const DIGITS: usize = 20;
/// The longest host name that is kept, characters.
const LONGEST: usize = 64;

/// What no two users of file sets have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerId(u64);

/// The user of a file set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The name of its computer.
    pub host: String,
    /// Its process.
    pub process: u32,
    /// A random number: no two runs have the same.
    instance: u64,
    /// Where its process's number means something: the boot of a computer, and the container.
    home: String,
    /// When its process was started, ticks since the boot: numbers of processes are used again.
    started: u64,
    /// When it took the set, s since the Unix epoch by its own clock.
    pub taken_s: u64,
}

/// The content of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseText {
    pub(super) owner: Owner,
    /// Time of the last renewal, s since the Unix epoch.
    pub(super) renewed_s: u64,
}

/// Whether a file set is still in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Renewed this number of seconds ago.
    Live(u64),
    /// Its process is gone.
    Gone,
    /// Last renewed this number of seconds ago.
    Old(u64),
}

/// Seconds since the Unix epoch.
pub(super) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Owner {
    /// This process, from now on.
    pub(super) fn this() -> Self {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default().trim().to_owned();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned());
        let home = format!("{} {}", read("/proc/sys/kernel/random/boot_id"), namespace.unwrap_or_default());
        let host: String = read("/proc/sys/kernel/hostname").chars().take(LONGEST).collect();
        let process = std::process::id();
        let started = started(process).unwrap_or(0);
        Self { host, process, instance: random_number(), home, started, taken_s: now_s() }
    }

    /// What no other has.
    pub(super) fn id(&self) -> OwnerId {
        OwnerId(self.instance)
    }

    /// Whether it is the very same run.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.instance == other.instance
    }

    /// Whether it is on this computer, so that its process can be looked for.
    pub(super) fn is_at_home(&self, here: &Self) -> bool {
        self.home == here.home && self.home.len() > 1 && self.started > 0
    }

    /// The lease, renewed now. It is as long as it was before: it is written over itself.
    pub(super) fn lease(&self) -> String {
        let Self { host, process, instance, home, started, taken_s } = self;
        format!(
            "{FIRST_LINE}\nhost: {host}\nprocess: {process}\ninstance: {instance:016x}\nhome: {home}\nstarted: {started}\n\
             taken: {taken_s:0DIGITS$}\nrenewed: {:0DIGITS$}\n",
            now_s()
        )
    }
}

/// A number that is unique to this run.
pub(super) fn random_number() -> u64 {
    let mut bytes = [0; 8];
    if aws_lc_rs::rand::fill(&mut bytes).is_ok() {
        return u64::from_ne_bytes(bytes);
    }
    // Without the system's random numbers, uses values that differ between runs.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 ^ u64::from(std::process::id()) << 32
}

/// Start time of a process; `None` if it does not exist. Spec: proc_pid_stat(5), field 22
fn started(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let after = stat.rsplit_once(')')?.1;
    after.split_whitespace().nth(19)?.parse().ok()
}

impl LeaseText {
    /// Reads a lease; `None` if the text is not a (complete) lease.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut field =
            |name: &str| Some(lines.next()?.strip_prefix(name)?.strip_prefix(": ").unwrap_or("").to_owned());
        let host = field("host")?;
        let process = field("process")?.parse().ok()?;
        let instance = u64::from_str_radix(&field("instance")?, 16).ok()?;
        let home = field("home")?;
        let started = field("started")?.parse().ok()?;
        let taken_s = field("taken")?.parse().ok()?;
        // With missing digits the lease is still being written.
        let renewed_s = field("renewed").filter(|digits| digits.len() == DIGITS)?.parse().ok()?;
        Some(Self { owner: Owner { host, process, instance, home, started, taken_s }, renewed_s })
    }

    /// Whether its owner still uses the set, as seen from `here` at `now_s`.
    pub(super) fn state(&self, here: &Owner, now_s: u64) -> Use {
        if self.owner.is_at_home(here) && started(self.owner.process) != Some(self.owner.started) {
            return Use::Gone;
        }
        match now_s.saturating_sub(self.renewed_s) {
            age if age > ABANDONED_AFTER_S => Use::Old(age),
            age => Use::Live(age),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_reads_as_it_was_written_and_nothing_else_is_one() {
        let owner = Owner::this();
        let text = owner.lease();
        let read = LeaseText::parse(&text).unwrap();
        assert_eq!(read.owner, owner);
        assert!(read.owner.is(&owner) && !read.owner.is(&Owner::this()));
        assert_eq!(text.len(), owner.lease().len());
        for end in 0..text.len() - 1 {
            assert_eq!(LeaseText::parse(&text[..end]), None, "{end}");
        }
        assert_eq!(LeaseText::parse("something else\nhost: x\n"), None);
        assert_eq!(LeaseText::parse(""), None);
    }

    #[test]
    fn a_lease_is_live_gone_or_old() {
        let here = Owner::this();
        let lease = LeaseText::parse(&here.lease()).unwrap();
        let at = |age| lease.state(&here, lease.renewed_s + age);
        assert_eq!((at(0), at(60), at(61)), (Use::Live(0), Use::Live(60), Use::Old(61)));
        // The process has that number, and is another one.
        let mut other = lease.clone();
        other.owner.started += 1;
        assert_eq!(other.state(&here, lease.renewed_s), Use::Gone);
        // The state of a process on another computer is known only from its lease; that computer's clock may be ahead.
        other.owner.home = "elsewhere".to_owned();
        assert_eq!(other.state(&here, lease.renewed_s - 5), Use::Live(0));
    }
}
