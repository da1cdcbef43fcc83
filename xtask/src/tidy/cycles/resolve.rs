//! Resolves a path to the file that defines its item.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{self, Import, Module, Path};
use crate::tidy::source::Source;

/// For each file those that it uses.
pub(super) type Uses = BTreeMap<String, BTreeSet<String>>;

/// Maximum length of a chain of imports; longer ones are circular, which does not compile.
const HOPS: usize = 16;

/// The uses among the files of a crate.
pub(super) fn uses(folder: &str, files: &[&Source]) -> Uses {
    let tree = Tree::new(folder, files);
    let mut uses = Uses::new();
    for (path, (file, module)) in &tree.modules {
        let used = uses.entry(file.clone()).or_default();
        used.extend(tree.used_by(path, module));
        used.remove(file);
    }
    uses
}

/// The modules of a crate, each with its file.
struct Tree {
    modules: BTreeMap<Path, (String, Module)>,
}

/// The target of a path.
enum Target {
    Module(Path),
    /// Something in a module.
    Item(Path),
}

impl Tree {
    fn new(folder: &str, files: &[&Source]) -> Tree {
        let mut modules = BTreeMap::new();
        for source in files {
            let inner = source.path.strip_prefix(folder).and_then(|path| path.strip_prefix("src/"));
            let Some(stem) = inner.and_then(|path| path.strip_suffix(".rs")) else { continue };
            let mut own: Path = stem.split('/').map(str::to_owned).collect();
            if own.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
                own.pop();
            }
            for (path, module) in file::modules(&own, &source.text) {
                modules.insert(path, (source.path.clone(), module));
            }
        }
        Tree { modules }
    }

    fn used_by<'a>(&'a self, path: &'a Path, module: &'a Module) -> impl Iterator<Item = String> + 'a {
        let imports = module.imports.values().filter(|import| import.used).map(|import| &import.path);
        let named = imports.chain(&module.paths).filter_map(|named| {
            match self.target(path, named, HOPS)? {
                Target::Item(module) => Some(module),
                // Only the module: uses of its items have their own paths.
                Target::Module(_) => None,
            }
        });
        named.filter_map(|module| self.modules.get(&module).map(|(file, _)| file.clone()))
    }

    /// The target of a path in a module; `None` if it is outside of the crate.
    fn target(&self, from: &Path, path: &[String], hops: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = from.clone();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => {
                at.pop()?;
                while let Some((_, further)) = rest.split_first().filter(|(name, _)| *name == "super") {
                    at.pop()?;
                    rest = further;
                }
            }
            _ => rest = path,
        }
        let relative = rest.len() == path.len();
        self.descend(at, rest, relative, hops)
    }

    /// Follows names down from a module. A relative path may begin with the name of another crate.
    fn descend(&self, mut at: Path, names: &[String], relative: bool, hops: usize) -> Option<Target> {
        let hops = hops.checked_sub(1)?;
        for (i, name) in names.iter().enumerate() {
            let (_, module) = self.modules.get(&at)?;
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            let last = i + 1 == names.len();
            // A module and a function may share a name: what ends a path is rather the function.
            let import = module
                .imports
                .get(name)
                .filter(|import| import.path.last() != Some(name) || !self.leads_to(&at, import, &child));
            if let Some(import) = import.filter(|_| last || !self.modules.contains_key(&child)) {
                return match self.target(&at, &import.path, hops)? {
                    Target::Module(module) => self.descend(module, &names[i + 1..], false, hops),
                    item @ Target::Item(_) => Some(item),
                };
            }
            if self.modules.contains_key(&child) {
                at = child;
                continue;
            }
            if let Some(found) = self.through_globs(&at, module, &names[i..], hops) {
                return Some(found);
            }
            return (!relative || i > 0).then_some(Target::Item(at));
        }
        Some(Target::Module(at))
    }

    /// Whether the import is of the module itself, as in `use self::child`.
    fn leads_to(&self, at: &Path, import: &Import, child: &Path) -> bool {
        let plain: Vec<String> = import.path.iter().filter(|name| *name != "self").cloned().collect();
        [at.as_slice(), &plain].concat() == *child
    }

    /// The same where the name may come from a module of which everything is imported.
    fn through_globs(&self, at: &Path, module: &Module, names: &[String], hops: usize) -> Option<Target> {
        module.globs.iter().find_map(|glob| {
            let Target::Module(found) = self.target(at, glob, hops)? else { return None };
            let (_, other) = self.modules.get(&found)?;
            other.offers(names.first()?).then(|| self.descend(found, names, false, hops))?
        })
    }
}
