//! Shares, paths and users by pattern, as .gitignore has them: `*` stays within a component, `**` does not.

use globset::{GlobBuilder, GlobMatcher};
use plimsoll_model::{Names, Protocol, Symbol};

use super::term::{Term, Terms};

/// A pattern. One without a slash is of the last component; one that ends in a slash is of everything below, too.
///
/// SMB does not distinguish upper and lower case, and a backslash separates components; elsewhere names are taken as they are.
#[derive(Clone, Debug)]
pub struct Pattern {
    smb: Vec<GlobMatcher>,
    other: Vec<GlobMatcher>,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is empty, or no pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        let of = |text: &str, is_smb: bool| {
            let slashes = if is_smb { text.replace('\\', "/") } else { text.to_owned() };
            let plain = slashes.trim_start_matches('/');
            let below = plain.strip_suffix('/');
            let name = below.unwrap_or(plain);
            let anchored = slashes.starts_with('/') || name.contains('/');
            let globs = match (anchored, below) {
                (true, None) => vec![name.to_owned()],
                (true, Some(_)) => vec![name.to_owned(), format!("{name}/**")],
                (false, None) => vec![format!("**/{name}")],
                (false, Some(_)) => vec![format!("**/{name}"), format!("**/{name}/**")],
            };
            globs.iter().map(|glob| matcher(glob, is_smb)).collect::<Result<Vec<_>, _>>()
        };
        if text.is_empty() {
            return Err("expected a pattern such as *.docx, projects/** or 'report 1.xls'".to_owned());
        }
        let read = |is_smb| of(text, is_smb).map_err(|error| format!("{text}: {error}"));
        Ok(Self { smb: read(true)?, other: read(false)? })
    }

    fn is_of(&self, text: &str, is_smb: bool) -> bool {
        if is_smb {
            let text = text.replace('\\', "/");
            let text = text.trim_start_matches('/');
            self.smb.iter().any(|glob| glob.is_match(text))
        } else {
            let text = text.trim_start_matches('/');
            self.other.iter().any(|glob| glob.is_match(text))
        }
    }
}

fn matcher(glob: &str, is_smb: bool) -> Result<GlobMatcher, globset::Error> {
    let mut builder = GlobBuilder::new(glob);
    builder.literal_separator(true).case_insensitive(is_smb).backslash_escape(!is_smb);
    builder.build().map(|glob| glob.compile_matcher())
}

/// The names that a filter lets through; each is looked at once.
#[derive(Clone, Debug)]
pub struct NameFilter {
    terms: Terms<Pattern>,
    /// Cached matches by symbol, for SMB and for other protocols.
    known: Vec<[Option<bool>; 2]>,
}

impl NameFilter {
    /// `None` without values: the filter then passes everything.
    pub fn of(all: &[Term<Pattern>]) -> Option<Self> {
        Some(Self { terms: Terms::of(all)?, known: Vec::new() })
    }

    #[inline]
    pub(super) fn pass(&mut self, symbol: Symbol, protocol: Protocol, names: &Names) -> bool {
        let is_smb = matches!(protocol, Protocol::Smb1 | Protocol::Smb2);
        let kept = self.known.get(symbol.index()).and_then(|both| both.get(usize::from(is_smb)).copied()?);
        kept.unwrap_or_else(|| self.look(symbol, is_smb, names))
    }

    #[cold]
    fn look(&mut self, symbol: Symbol, is_smb: bool, names: &Names) -> bool {
        let text = names.text(symbol);
        let passes = self.terms.pass(|pattern| text.is_some_and(|text| pattern.is_of(text, is_smb)));
        if self.known.len() <= symbol.index() {
            self.known.resize(symbol.index() + 1, [None; 2]);
        }
        if let Some(kept) = self.known.get_mut(symbol.index()).and_then(|both| both.get_mut(usize::from(is_smb))) {
            *kept = Some(passes);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smb(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern).unwrap().is_of(text, true)
    }

    fn nfs(pattern: &str, text: &str) -> bool {
        Pattern::parse(pattern).unwrap().is_of(text, false)
    }

    #[test]
    fn without_a_slash_it_is_the_last_component() {
        assert!(smb("*.DOCX", r"Projects\2026\plan.docx") && !smb("*.docx", r"plan.docx\x"));
        assert!(smb("data", r"\\10.0.0.1\Data") && !smb("data", r"\\10.0.0.1\data2"));
        assert!(smb("alice", r"CORP\Alice") && smb("alice", "alice") && smb("IPC$", r"\\f\IPC$"));
        assert!(nfs("*.c", "src/a.c") && !nfs("*.C", "src/a.c"), "NFS tells upper from lower case");
    }

    #[test]
    fn with_one_it_is_the_whole_path() {
        assert!(smb("projects/*", r"Projects\a") && !smb("projects/*", r"projects\a\b"));
        assert!(smb(r"projects\**", r"\projects\a\b") && !smb("a/*", r"projects\a\b"));
        assert!(nfs("/etc", "etc") && !nfs("/etc", "a/etc"));
        assert!(nfs("/export/home", "/export/home"));
    }

    #[test]
    fn a_folder_is_all_below_it() {
        assert!(smb("tmp/", r"a\tmp") && smb("tmp/", r"a\tmp\b\c") && !smb("tmp/", r"a\tmp2\b"));
        assert!(nfs("/a/tmp/", "a/tmp/b") && !nfs("/tmp/", "a/tmp/b"));
        assert!(Pattern::parse("a[").is_err() && Pattern::parse("").is_err());
    }

    #[test]
    fn a_name_is_looked_at_once_a_protocol() {
        let mut names = Names::default();
        let name = names.intern("A");
        let mut filter = NameFilter::of(&[Term::parse("a", Pattern::parse).unwrap()]).unwrap();
        for _ in 0..2 {
            assert!(filter.pass(name, Protocol::Smb2, &names) && !filter.pass(name, Protocol::Nfs3, &names));
            assert!(!filter.pass(Symbol::NONE, Protocol::Smb2, &names), "what is not known matches nothing");
        }
    }
}
