//! A server's guarantees to its clients. If one server signs, or writes to its disk before it responds, and the other does not, a ranking
//! by speed would be unfair.

use serde::{Deserialize, Serialize};

/// How durable data are before a WRITE is answered (RFC 1813 3.3.7), least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// In the server's memory until a COMMIT.
    Unstable,
    /// The data are on stable storage.
    DataSync,
    /// Data and attributes are on stable storage.
    FileSync,
}

crate::words! {
    Durability,
    "Every durability, least first.",
    "As RFC 1813 writes it.":
    Unstable "UNSTABLE", DataSync "DATA_SYNC", FileSync "FILE_SYNC"
}

/// Answers to WRITEs that asked for one durability and got one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// The client's request.
    pub asked: Durability,
    /// The server's answer.
    pub answered: Durability,
    /// How many.
    pub count: u64,
}

/// A server's guarantees as its clients saw them. Null means unknown, or that the protocol does not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guarantees {
    /// Protocol and dialect: shown, for an older dialect by itself guarantees no less.
    pub dialect: Option<String>,
    /// Algorithm of the signatures; "none" where messages are not signed.
    pub signing: Option<String>,
    /// Cipher; "none" where messages are not encrypted.
    pub encryption: Option<String>,
    /// Opens that asked for an oplock or a lease.
    pub caching_asked: Option<u64>,
    /// Opens among these that got one, of any kind.
    pub caching_granted: Option<u64>,
    /// WRITEs by durability; empty where there was none, or the protocol does not say.
    pub writes: Vec<Writes>,
    /// Times that the write verifier of a file changed between two responses: the server restarted, and may have lost unstable
    /// writes. Null without a verifier.
    pub verifier_changes: Option<u64>,
}

/// A guarantee in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guaranteed {
    /// Its subject.
    pub name: &'static str,
    /// The guarantee in words.
    pub words: String,
    /// Terms that another side must share for a ranking; empty if it may differ.
    pub terms: Vec<String>,
}

impl Guarantees {
    /// Counts an answered WRITE.
    pub fn wrote(&mut self, asked: Durability, answered: Durability) {
        self.add_writes(Writes { asked, answered, count: 1 });
    }

    /// Counts a write verifier, which may be another one than before.
    pub fn saw_verifier(&mut self, changed: bool) {
        sum(&mut self.verifier_changes, Some(u64::from(changed)));
    }

    fn add_writes(&mut self, more: Writes) {
        match self.writes.iter_mut().find(|known| (known.asked, known.answered) == (more.asked, more.answered)) {
            Some(known) => known.count = known.count.saturating_add(more.count),
            None => {
                self.writes.push(more);
                self.writes.sort_by_key(|writes| (writes.asked, writes.answered));
            }
        }
    }

    /// Adds the observations of other clients of the same server, or of another level.
    pub fn merge(&mut self, other: &Self) {
        join(&mut self.dialect, other.dialect.as_deref());
        join(&mut self.signing, other.signing.as_deref());
        join(&mut self.encryption, other.encryption.as_deref());
        sum(&mut self.caching_asked, other.caching_asked);
        sum(&mut self.caching_granted, other.caching_granted);
        sum(&mut self.verifier_changes, other.verifier_changes);
        other.writes.iter().for_each(|writes| self.add_writes(*writes));
    }

    /// Everything that is known, in the order in which reports show it.
    #[must_use]
    pub fn entries(&self) -> Vec<Guaranteed> {
        let plain =
            |name, words: &Option<String>| words.clone().map(|words| Guaranteed { name, words, terms: Vec::new() });
        let protected = |name, words: &Option<String>| {
            let words = words.clone()?;
            // Which algorithm it is matters to speed, not to whether there is a signature.
            let terms = vec![if words == NONE { "no" } else { "yes" }.to_owned()];
            Some(Guaranteed { name, words, terms })
        };
        let entries = [
            plain("Dialect", &self.dialect),
            protected("Signing", &self.signing),
            protected("Encryption", &self.encryption),
            self.caching(),
            self.durable_writes(),
            self.verifiers(),
        ];
        entries.into_iter().flatten().collect()
    }

    fn caching(&self) -> Option<Guaranteed> {
        let (asked, granted) = self.caching_asked.zip(self.caching_granted)?;
        let (words, terms) = match (asked, granted) {
            (0, _) => ("no lease or oplock requested".to_owned(), Vec::new()),
            (asked, 0) => {
                (format!("leases or oplocks granted: 0 of {asked} requested"), vec!["not granted".to_owned()])
            }
            (asked, granted) => {
                (format!("leases or oplocks granted: {granted} of {asked} requested"), vec!["granted".to_owned()])
            }
        };
        Some(Guaranteed { name: "Caching", words, terms })
    }

    fn durable_writes(&self) -> Option<Guaranteed> {
        let words = |one: &Writes| format!("{} answered {}: {}", one.asked.label(), one.answered.label(), one.count);
        let words: Vec<String> = self.writes.iter().map(words).collect();
        let terms = self.writes.iter().map(|one| format!("{} answered {}", one.asked.label(), one.answered.label()));
        let terms = terms.collect();
        (!words.is_empty()).then(|| Guaranteed { name: "WRITE asked", words: words.join(", "), terms })
    }

    fn verifiers(&self) -> Option<Guaranteed> {
        let changes = self.verifier_changes?;
        let words = match changes {
            0 => "did not change".to_owned(),
            1 => "changed once".to_owned(),
            _ => format!("changed {changes} times"),
        };
        let terms = vec![if changes == 0 { "same" } else { "changed" }.to_owned()];
        Some(Guaranteed { name: "Write verifier", words, terms })
    }

    /// Guarantees that both sides have and that differ. Durability is compared for the requests that both sides made: a request of one
    /// side alone is a property of the workload.
    #[must_use]
    pub fn unlike(&self, other: &Self) -> Vec<&'static str> {
        let theirs = other.entries();
        let unlike = |ours: &Guaranteed| {
            let theirs = theirs.iter().find(|one| one.name == ours.name)?;
            let differ = match ours.name {
                "WRITE asked" => self.writes_unlike(other),
                _ => !ours.terms.is_empty() && !theirs.terms.is_empty() && ours.terms != theirs.terms,
            };
            differ.then_some(ours.name)
        };
        self.entries().iter().filter_map(unlike).collect()
    }

    /// A guarantee is what holds of every answer: the weakest.
    fn writes_unlike(&self, other: &Self) -> bool {
        let weakest =
            |of: &Self, asked| of.writes.iter().filter(|one| one.asked == asked).map(|one| one.answered).min();
        Durability::ALL
            .into_iter()
            .any(|asked| weakest(self, asked).zip(weakest(other, asked)).is_some_and(|(ours, theirs)| ours != theirs))
    }
}

/// What stands where there is no signature or encryption.
pub const NONE: &str = "none";

fn join(known: &mut Option<String>, other: Option<&str>) {
    match (known.as_mut(), other) {
        (None, other) => *known = other.map(str::to_owned),
        (Some(known), Some(other)) if !known.split(", ").any(|one| one == other) => {
            known.push_str(", ");
            known.push_str(other);
        }
        _ => {}
    }
}

fn sum(known: &mut Option<u64>, other: Option<u64>) {
    if let Some(other) = other {
        *known = Some(known.unwrap_or(0).saturating_add(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Durability::{FileSync, Unstable};

    fn signed(how: &str) -> Guarantees {
        Guarantees { signing: Some(how.to_owned()), dialect: Some("SMB 3.1.1".to_owned()), ..Guarantees::default() }
    }

    fn wrote(all: &[(Durability, Durability)]) -> Guarantees {
        let mut found = Guarantees::default();
        all.iter().for_each(|&(asked, answered)| found.wrote(asked, answered));
        found
    }

    #[test]
    fn signed_and_unsigned_are_unlike_and_algorithms_are_not() {
        assert_eq!(signed("none").unlike(&signed("AES-GMAC")), ["Signing"]);
        assert!(signed("HMAC-SHA256").unlike(&signed("AES-GMAC")).is_empty());
        assert!(signed("none").unlike(&Guarantees::default()).is_empty(), "not known on one side");
        let older = Guarantees { dialect: Some("SMB 2.1".to_owned()), ..signed("none") };
        assert!(older.unlike(&signed("none")).is_empty(), "a dialect guarantees nothing by itself");
    }

    #[test]
    fn writes_are_compared_for_what_both_asked_for() {
        let plain = wrote(&[(Unstable, Unstable), (Unstable, Unstable)]);
        assert_eq!(plain.entries()[0].words, "UNSTABLE answered UNSTABLE: 2");
        assert_eq!(plain.unlike(&wrote(&[(Unstable, FileSync)])), ["WRITE asked"]);
        assert!(plain.unlike(&wrote(&[(FileSync, FileSync)])).is_empty(), "the workload asked for something else");
        assert!(plain.unlike(&wrote(&[(Unstable, Unstable), (FileSync, FileSync)])).is_empty());
        assert!(plain.unlike(&wrote(&[(Unstable, Unstable), (Unstable, FileSync)])).is_empty(), "the weakest counts");
    }

    #[test]
    fn caching_and_verifiers() {
        let caching = |asked, granted| Guarantees {
            caching_asked: Some(asked),
            caching_granted: Some(granted),
            ..Guarantees::default()
        };
        assert_eq!(caching(9, 0).unlike(&caching(9, 8)), ["Caching"]);
        assert!(caching(9, 1).unlike(&caching(9, 8)).is_empty() && caching(0, 0).unlike(&caching(9, 8)).is_empty());
        let changed = |count| Guarantees { verifier_changes: Some(count), ..Guarantees::default() };
        assert_eq!(changed(0).unlike(&changed(2)), ["Write verifier"]);
        assert!(changed(1).unlike(&changed(2)).is_empty());
    }

    #[test]
    fn levels_add_up() {
        let mut all = Guarantees { verifier_changes: Some(1), ..signed("none") };
        all.merge(&Guarantees { verifier_changes: Some(2), ..wrote(&[(Unstable, Unstable)]) });
        all.merge(&signed("AES-GMAC"));
        assert_eq!((all.signing.as_deref(), all.verifier_changes), (Some("none, AES-GMAC"), Some(3)));
        assert_eq!(all.writes.len(), 1);
    }
}
