//! The paths that a file names, and the names that it exports.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::tokens;

/// A module of a crate: its names from the crate's root down.
pub(super) type Path = Vec<String>;

/// A module's references to other modules.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Names for other paths: its imports.
    pub(super) imports: BTreeMap<String, Import>,
    /// Modules of which it imports everything.
    pub(super) globs: Vec<Path>,
    /// Paths in its code.
    pub(super) paths: Vec<Path>,
    /// The words in its code that are no paths' ends, methods or imports.
    words: BTreeSet<String>,
    /// Names that it defines.
    defined: BTreeSet<String>,
}

impl Module {
    /// Whether a name may come from here where everything of it is imported.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.defined.contains(name) || self.imports.contains_key(name)
    }
}

/// What stands before the name of an item.
const ITEMS: [&str; 9] = ["const", "enum", "fn", "macro_rules", "static", "struct", "trait", "type", "union"];

/// An imported path.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) path: Path,
    /// The name is for the module's own code: it does not only pass it on.
    pub(super) used: bool,
}

/// The modules in a file: its own and those in braces.
pub(super) fn modules(own: &Path, text: &str) -> Vec<(Path, Module)> {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, at: 0 };
    let mut modules = Vec::new();
    reader.module(own.clone(), &mut modules);
    for (_, module) in &mut modules {
        let Module { imports, words, .. } = module;
        for (name, import) in imports {
            import.used |= words.contains(name);
        }
    }
    modules
}

struct Reader<'a> {
    tokens: &'a [&'a str],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek(0);
        self.at += 1;
        token
    }

    /// Reads until the brace that closes the module.
    fn module(&mut self, path: Path, modules: &mut Vec<(Path, Module)>) {
        let mut module = Module::default();
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match (self.peek(0), self.peek(2)) {
                ("#", _) if self.is_for_tests() => self.skip_item(),
                ("use", _) => self.import(&mut module),
                ("mod", "{") => {
                    self.at += 1;
                    let inner = [path.as_slice(), &[self.next().to_owned()]].concat();
                    self.at += 1;
                    self.module(inner, modules);
                }
                // A module that is only declared does not use the child.
                ("mod", ";") => self.at += 3,
                ("{", _) => (self.at, depth) = (self.at + 1, depth + 1),
                ("}", _) if depth == 0 => break,
                ("}", _) => (self.at, depth) = (self.at + 1, depth - 1),
                _ => self.code(&mut module),
            }
        }
        self.at += 1;
        modules.push((path, module));
    }

    /// At `#[cfg(test)]`.
    fn is_for_tests(&self) -> bool {
        ["[", "cfg", "(", "test", ")", "]"].iter().enumerate().all(|(i, token)| self.peek(i + 1) == *token)
    }

    /// Skips to the end of the item: its semicolon, or its closing brace.
    fn skip_item(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            match self.next() {
                "{" | "(" | "[" => depth += 1,
                "}" if depth == 1 => return,
                "}" if depth == 0 => {
                    self.at -= 1;
                    return;
                }
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                ";" if depth == 0 => return,
                _ => {}
            }
        }
    }

    fn import(&mut self, module: &mut Module) {
        let private = self.at == 0 || self.tokens[self.at - 1] != "pub";
        self.at += 1;
        // A path that begins with `::` is of another crate.
        if self.peek(0) != "::" {
            self.tree(&Vec::new(), private, module);
        }
    }

    /// One tree of a `use`: a name, a group, or everything.
    fn tree(&mut self, before: &Path, used: bool, module: &mut Module) {
        let mut path = before.clone();
        loop {
            match self.next() {
                "{" => {
                    while !["}", ""].contains(&self.peek(0)) {
                        self.tree(&path, used, module);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    module.globs.push(path);
                    return;
                }
                "self" if !path.is_empty() => {}
                word => path.push(word.to_owned()),
            }
            if self.peek(0) == "::" {
                self.at += 1;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if self.peek(0) == "as" {
                self.at += 1;
                name = self.next().to_owned();
            }
            module.imports.insert(name, Import { path, used });
            return;
        }
    }

    /// One word or sign of code, or a path.
    fn code(&mut self, module: &mut Module) {
        let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        // `a.b::<C>()` is no path, nor is the rest of `<A as B>::c`.
        let goes_on = self.at > 0 && [".", "::"].contains(&self.tokens[self.at - 1]);
        let first = self.next();
        if !is_name(first) {
            return;
        }
        if !goes_on {
            module.words.insert(first.to_owned());
        }
        if ITEMS.contains(&first) && is_name(self.peek(0)) {
            module.defined.insert(self.peek(0).to_owned());
        }
        let mut path = vec![first.to_owned()];
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        if path.len() > 1 && !goes_on {
            module.paths.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Module {
        let mut modules = modules(&Vec::new(), text);
        assert_eq!(modules.len(), 1);
        modules.remove(0).1
    }

    #[test]
    fn groups_and_renamed_imports_are_read() {
        let module = only(
            "use super::{a::{self, B}, c as d};\nmod e;\npub use e::{F, e};\nuse g::*;\nfn h() { B::new(); d(); }\n",
        );
        let imports = module.imports.iter().map(|(name, import)| (name.as_str(), import.path.join("::"), import.used));
        let expected = [
            ("B", "super::a::B", true),
            ("F", "e::F", false),
            ("a", "super::a", true),
            ("d", "super::c", true),
            ("e", "e::e", false),
        ];
        assert_eq!(imports.collect::<Vec<_>>(), expected.map(|(name, path, used)| (name, path.to_owned(), used)));
        assert_eq!(module.globs, [["g"]]);
    }

    #[test]
    fn paths_of_code_are_read_and_those_of_tests_are_not() {
        let text = "#[cfg(test)]\nuse super::a::B;\nfn c(d: super::e::F) { d.g::<H>(); i::j(); }\n#[cfg(test)]\nmod t { use k::L; }\n";
        let module = only(text);
        assert!(module.imports.is_empty());
        assert_eq!(module.paths, [vec!["super", "e", "F"], vec!["i", "j"]]);
    }

    #[test]
    fn a_module_in_braces_has_its_own_paths() {
        let found = modules(&vec!["a".to_owned()], "fn f() { super::g(); }\nmod b { use super::C; }\n");
        let names: Vec<_> = found.iter().map(|(path, module)| (path.join("::"), module.imports.len())).collect();
        assert_eq!(names, [("a::b".to_owned(), 1), ("a".to_owned(), 0)]);
    }
}
