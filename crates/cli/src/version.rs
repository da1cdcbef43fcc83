//! `--version`: which build this is.

/// Used by the build script.
#[cfg(test)]
#[path = "../build/commit.rs"]
mod commit;

/// The long form, behind the name of the command: version, commit, features.
pub(crate) fn long(has_kerberos: bool) -> &'static str {
    match has_kerberos {
        true => concat!(env!("CARGO_PKG_VERSION"), "\ncommit: ", env!("PLIMSOLL_BUILD_COMMIT"), "\nfeatures: kerberos"),
        false => concat!(
            env!("CARGO_PKG_VERSION"),
            "\ncommit: ",
            env!("PLIMSOLL_BUILD_COMMIT"),
            "\nfeatures: none (without kerberos)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::commit;

    /// The layouts that git leaves behind: a branch as a file, packed, a commit without branch, a linked working tree.
    #[test]
    fn the_commit_is_read_from_the_repository() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let folder = plimsoll_testkit::servers::Scratch::new("commit");
        let (tree, git) = (folder.path().join("a/b"), folder.path().join(".git"));
        let write = |name: &str, text: &str| {
            let file = git.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let read = |from: &std::path::Path| commit::commit(from).map(|(commit, _)| commit);
        fs::create_dir_all(&tree).unwrap();
        assert_ne!(read(&tree).as_deref(), Some(id), "there is no repository yet");
        write("HEAD", "ref: refs/heads/one\n");
        assert_eq!(read(&tree), None, "a branch without a commit");
        write("packed-refs", &format!("# pack-refs with: peeled\n{id} refs/heads/one\n"));
        assert_eq!(read(&tree).as_deref(), Some(id));
        let other = id.replace('0', "f");
        write("refs/heads/one", &format!("{other}\n"));
        assert_eq!(read(&tree).as_deref(), Some(other.as_str()), "a file outweighs what was packed");
        write("HEAD", id);
        assert_eq!(read(&tree).as_deref(), Some(id));
        write("worktrees/w/HEAD", "ref: refs/heads/one\n");
        write("worktrees/w/commondir", "../..\n");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", git.join("worktrees/w").display())).unwrap();
        assert_eq!(read(&tree).as_deref(), Some(other.as_str()));
        write("refs/heads/one", "no commit\n");
        assert_eq!(read(&tree), None);
    }
}
