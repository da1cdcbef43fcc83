use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;

fn system() -> FileSystem {
    FileSystem::new(64 << 20).unwrap()
}

fn file(system: &FileSystem, within: &Arc<Node>, name: &str) -> Arc<Node> {
    system.make(within, name.as_bytes(), New::File, &Change::default()).unwrap()
}

fn directory(system: &FileSystem, within: &Arc<Node>, name: &str) -> Arc<Node> {
    system.make(within, name.as_bytes(), New::Directory, &Change::default()).unwrap()
}

fn names(within: &Arc<Node>) -> BTreeSet<String> {
    let (mut names, mut cookie) = (BTreeSet::new(), 0);
    while let Some(entry) = within.entry_after(cookie).unwrap() {
        cookie = entry.cookie;
        assert!(names.insert(String::from_utf8(entry.name.to_vec()).unwrap()), "a name twice");
    }
    names
}

#[test]
fn an_open_file_outlives_its_name() {
    let system = system();
    let root = system.root();
    let open = file(&system, root, "a");
    open.write(0, b"kept").unwrap();
    system.remove(root, b"a").unwrap();
    assert_eq!(open.read(0, 9).unwrap(), (b"kept".to_vec(), true));
    open.write(4, b" on").unwrap();
    assert_eq!((open.stat().size, open.stat().links), (7, 0));
    assert_eq!(system.node(open.id()).unwrap_err(), Trouble::Stale);
    let (total, before) = system.space();
    drop(open);
    assert!(system.space().1 > before && system.space().1 < total);
}

#[test]
fn a_listing_shows_what_stays_once_while_others_come_and_go() {
    let system = system();
    let root = system.root();
    for number in 0..500 {
        file(&system, root, &format!("stays{number}"));
        file(&system, root, &format!("goes{number}"));
    }
    let (mut seen, mut cookie, mut step) = (Vec::new(), 0, 0);
    while let Some(entry) = root.entry_after(cookie).unwrap() {
        cookie = entry.cookie;
        seen.push(String::from_utf8(entry.name.to_vec()).unwrap());
        if step < 500 {
            system.remove(root, format!("goes{step}").as_bytes()).unwrap();
            file(&system, root, &format!("comes{step}"));
            step += 1;
        }
    }
    let stays: Vec<&String> = seen.iter().filter(|name| name.starts_with("stays")).collect();
    assert_eq!((stays.len(), stays.iter().collect::<BTreeSet<_>>().len()), (500, 500));
    assert_eq!(seen.len(), seen.iter().collect::<BTreeSet<_>>().len());
}

#[test]
fn names_are_checked() {
    let system = system();
    let root = system.root();
    let make = |name: &[u8]| system.make(root, name, New::File, &Change::default()).map(|_| ());
    for bad in [&b""[..], b".", b"..", b"a/b", b"a\0"] {
        assert_eq!(make(bad), Err(Trouble::InvalidName));
    }
    assert_eq!(make(&[b'x'; LONGEST_NAME + 1]), Err(Trouble::NameTooLong));
    assert_eq!(make(&[b'x'; LONGEST_NAME]), Ok(()));
    assert_eq!(make(&[b'x'; LONGEST_NAME]), Err(Trouble::Exists));
    assert_eq!(make("n\u{e4}me".as_bytes()), Ok(()));
    let link = system.make(root, b"link", New::Link(b"to there"), &Change::default()).unwrap();
    assert_eq!(link.text().unwrap(), b"to there");
    assert_eq!(link.write(0, b"x"), Err(Trouble::WrongKind));
    let text = [b'x'; LONGEST_LINK + 1];
    let long = system.make(root, b"long", New::Link(&text), &Change::default());
    assert_eq!(long.unwrap_err(), Trouble::NameTooLong);
}

#[test]
fn only_empty_directories_go() {
    let system = system();
    let root = system.root();
    let inside = directory(&system, root, "d");
    file(&system, &inside, "f");
    assert_eq!(system.remove(root, b"d"), Err(Trouble::NotEmpty));
    assert_eq!(system.remove(&inside, b"g"), Err(Trouble::NotFound));
    assert_eq!(root.stat().links, 3);
    system.remove(&inside, b"f").unwrap();
    system.remove(root, b"d").unwrap();
    assert_eq!(root.stat().links, 2);
    let late = system.make(&inside, b"late", New::File, &Change::default());
    assert_eq!(late.unwrap_err(), Trouble::Stale, "nothing is made in a directory that is gone");
}

#[test]
fn rename_replaces_what_it_may() {
    let system = system();
    let root = system.root();
    let (one, two) = (directory(&system, root, "one"), directory(&system, root, "two"));
    let moved = file(&system, &one, "a");
    let replaced = file(&system, &two, "b");
    let rename = |from: &Arc<Node>, name: &str, to: &Arc<Node>, new: &str, replace| {
        system.rename((from, name.as_bytes()), (to, new.as_bytes()), replace)
    };
    assert_eq!(rename(&one, "a", &two, "b", Replace::Never), Err(Trouble::Exists));
    assert_eq!(rename(&one, "a", root, "two", Replace::Files), Err(Trouble::IsADirectory));
    assert_eq!(rename(root, "one", &two, "b", Replace::Alike), Err(Trouble::NotADirectory));
    assert_eq!(rename(&one, "none", &two, "b", Replace::Alike), Err(Trouble::NotFound));
    rename(&one, "a", &two, "b", Replace::Files).unwrap();
    assert!(Arc::ptr_eq(&two.lookup(b"b").unwrap(), &moved));
    assert_eq!((replaced.stat().links, names(&one).len()), (0, 0));
    rename(&two, "b", &two, "b", Replace::Never).unwrap();
    rename(&two, "b", &two, "c", Replace::Never).unwrap();
    assert_eq!(names(&two), BTreeSet::from(["c".to_owned()]));
    assert_eq!(rename(root, "one", root, "two", Replace::Alike), Err(Trouble::NotEmpty));
    rename(root, "two", root, "one", Replace::Alike).unwrap();
    assert!(Arc::ptr_eq(&root.lookup(b"one").unwrap(), &two));
    assert_eq!(one.stat().links, 0);
}

#[test]
fn no_directory_gets_into_itself_or_over_its_parent() {
    let system = system();
    let root = system.root();
    let top = directory(&system, root, "top");
    let middle = directory(&system, &top, "middle");
    let low = directory(&system, &middle, "low");
    for within in [&top, &middle, &low] {
        let result = system.rename((root, b"top"), (within, b"x"), Replace::Alike);
        assert_eq!(result, Err(Trouble::IntoItself));
    }
    for replace in [Replace::Never, Replace::Files, Replace::Alike] {
        assert!(system.rename((&middle, b"low"), (&top, b"middle"), replace).is_err());
    }
    system.rename((&middle, b"low"), (root, b"low"), Replace::Never).unwrap();
    system.rename((root, b"top"), (&low, b"top"), Replace::Never).unwrap();
    assert_eq!(system.rename((root, b"low"), (&middle, b"x"), Replace::Alike), Err(Trouble::IntoItself));
}

#[test]
fn memory_is_bounded_and_given_back() {
    let system = FileSystem::new(1 << 20).unwrap();
    let root = system.root();
    let mut made = 0;
    let full = loop {
        match system.make(root, format!("{made}").as_bytes(), New::File, &Change::default()) {
            Ok(_) => made += 1,
            Err(trouble) => break trouble,
        }
    };
    assert_eq!(full, Trouble::NoSpace);
    assert!((1000..2000).contains(&made), "names cost memory too: {made}");
    for number in 0..made {
        system.remove(root, format!("{number}").as_bytes()).unwrap();
    }
    let big = file(&system, root, "big");
    assert_eq!(big.write(0, &vec![1; 1 << 20]), Err(Trouble::NoSpace));
    big.write(0, &vec![1; 512 << 10]).unwrap();
    big.set(&Change { size: Some(0), ..Change::default() }).unwrap();
    big.write(100 << 10, &vec![2; 512 << 10]).unwrap();
    assert_eq!(big.read(0, 1).unwrap().0, [0], "what was cut off does not come back");
}

#[test]
fn a_further_name_is_paid_for_as_long_as_it_is_there() {
    let system = FileSystem::new(1 << 20).unwrap();
    let root = system.root();
    let node = file(&system, root, "0");
    let (_, free) = system.space();
    for number in 0..10_000 {
        system.link(&node, root, format!("{}", number + 1).as_bytes()).unwrap();
        assert!(system.space().1 < free);
        system.remove(root, format!("{number}").as_bytes()).unwrap();
        assert_eq!(system.space().1, free);
    }
}

#[test]
fn the_same_verifier_finds_its_own_file() {
    let system = system();
    let root = system.root();
    let node = system.make_once(root, b"x", [1; 8]).unwrap();
    assert!(Arc::ptr_eq(&system.make_once(root, b"x", [1; 8]).unwrap(), &node));
    assert_eq!(system.make_once(root, b"x", [2; 8]).unwrap_err(), Trouble::Exists);
}

/// Threads that make, rename across directories both ways and remove, at once: nothing hangs, nothing is lost or doubled.
#[test]
fn many_threads_at_once() {
    let system = system();
    let root = system.root();
    let homes: Vec<Arc<Node>> = (0..3).map(|number| directory(&system, root, &format!("d{number}"))).collect();
    std::thread::scope(|scope| {
        for thread in 0..6_usize {
            let (system, homes) = (&system, &homes);
            scope.spawn(move || {
                for round in 0..300_usize {
                    let (from, to) = (&homes[(thread + round) % 3], &homes[(thread * 2 + round / 2) % 3]);
                    let (name, new) = (format!("{thread}-{round}"), format!("{thread}-{round}-moved"));
                    let node = file(system, from, &name);
                    node.write(0, name.as_bytes()).unwrap();
                    system.rename((from, name.as_bytes()), (to, new.as_bytes()), Replace::Alike).unwrap();
                    let found = to.lookup(new.as_bytes()).unwrap();
                    assert_eq!(found.read(0, 99).unwrap().0, name.as_bytes());
                    // A directory that everybody makes, moves to and fro and removes.
                    let _ = system.make(from, b"shared", New::Directory, &Change::default());
                    let _ = system.rename((from, b"shared"), (to, b"shared"), Replace::Alike);
                    let _ = system.remove(to, b"shared");
                    if round % 2 == 0 {
                        system.remove(to, new.as_bytes()).unwrap();
                    }
                }
            });
        }
    });
    let left: usize = homes.iter().map(|home| names(home).iter().filter(|name| *name != "shared").count()).sum();
    assert_eq!(left, 6 * 150);
}

#[test]
fn a_deep_tree_is_dropped_without_a_deep_stack() {
    let system = FileSystem::new(1 << 30).unwrap();
    let mut at = Arc::clone(system.root());
    for _ in 0..30_000 {
        at = directory(&system, &at, "d");
    }
}
