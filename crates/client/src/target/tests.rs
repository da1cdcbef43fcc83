//! URLs as people write them, and as they mistype them.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;

use super::*;

fn smb(url: &str) -> SmbTarget {
    match Target::parse(url) {
        Ok(Target::Smb(target)) => target,
        other => panic!("{url}: {other:?}"),
    }
}

fn nfs(url: &str) -> NfsTarget {
    match Target::parse(url) {
        Ok(Target::Nfs(target)) => target,
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn an_smb_target_in_full() {
    let target = smb("smb://anna:s%3Acr%2Fet%40@files.example:1445/home/a%20b/c");
    assert_eq!(target.server, Server { host: "files.example".into(), port: 1445 });
    assert_eq!((target.share.as_str(), target.path.as_str()), ("home", "a b/c"));
    assert_eq!((target.credentials.user.as_str(), target.credentials.domain.as_str()), ("anna", ""));
    assert_eq!(target.credentials.password.expose(), "s:cr/et@");
}

#[test]
fn what_is_left_out_is_as_usual() {
    let target = smb("smb://host/share");
    assert_eq!((target.server.port, target.path.as_str()), (445, ""));
    assert!(target.credentials.is_anonymous());
    let target = nfs("nfs://host/");
    assert_eq!((target.server.port, target.export.as_str(), target.version), (2049, "/", None));
    assert_eq!((target.mount_port, target.portmap_port), (None, 111));
}

#[test]
fn users_have_domains() {
    for url in ["smb://WORK;anna:x@h/s", "smb://WORK\\anna:x@h/s", "smb://WORK%5Canna:x@h/s", "smb://WORK%3banna:x@h/s"]
    {
        let credentials = smb(url).credentials;
        assert_eq!((credentials.domain.as_str(), credentials.user.as_str()), ("WORK", "anna"), "{url}");
    }
    // A user principal name has its domain in itself.
    assert_eq!(smb("smb://anna%40work.example@h/s").credentials.user, "anna@work.example");
    assert_eq!(smb("smb://anna:p@ss:word@h/s").credentials.password.expose(), "p@ss:word");
}

#[test]
fn ipv6_stands_in_brackets() {
    assert_eq!(smb("smb://[::1]/s").server, Server { host: "::1".into(), port: 445 });
    assert_eq!(nfs("nfs://[fe80::2%25eth0]:12049/x").server, Server { host: "fe80::2%eth0".into(), port: 12049 });
    assert_eq!(nfs("nfs://[fe80::2%25eth0]:12049/x").server.to_string(), "[fe80::2%25eth0]:12049");
    assert_eq!(Server { host: "::1".into(), port: 7 }.resolve().unwrap(), ["[::1]:7".parse().unwrap()]);
}

#[test]
fn an_nfs_target_in_full() {
    let target = nfs("nfs://10.0.0.1:12049/export/a%3Fb?version=3&mountport=20048&portmapport=1111");
    assert_eq!((target.export.as_str(), target.mount_port, target.portmap_port), ("/export/a?b", Some(20048), 1111));
    assert!(!target.reserved_port && nfs("nfs://h/x?resvport").reserved_port);
    assert_eq!(Target::parse("nfs://h/x?resvport").unwrap().to_string(), "nfs://h:2049/x?resvport");
    assert_eq!(Target::parse("nfs://h/x").unwrap().to_string(), "nfs://h:2049/x");
}

#[test]
fn versions_of_nfs() {
    for (text, version, slots) in [
        ("nfs://h/x?version=4.0", Some(NfsVersion::V40), None),
        ("nfs://h/x?version=4.1", Some(NfsVersion::V41), None),
        ("nfs://h/x?vers=4.2&slots=8", Some(NfsVersion::V42), Some(8)),
        ("nfs://h/x?version=3", Some(NfsVersion::V3), None),
        ("nfs://h/x", None, None),
        ("nfs://h/x?slots=4", None, Some(4)),
        // Only version 3 has MOUNT.
        ("nfs://h/x?mountport=20048", Some(NfsVersion::V3), None),
        ("nfs://h/x?portmapport=1111", Some(NfsVersion::V3), None),
    ] {
        let target = nfs(text);
        assert_eq!((target.version, target.slots, target.version_found), (version, slots, false), "{text}");
        assert_eq!(nfs(&Target::Nfs(target).to_string()).version, version, "{text}");
    }
    assert_eq!(
        Target::parse("nfs://h/x?slots=8&version=4.2&resvport").unwrap().to_string(),
        "nfs://h:2049/x?version=4.2&slots=8&resvport"
    );
    let wants = "nfs://h:2049/x?version=4.1&delegations=yes";
    assert!(nfs(wants).delegations && Target::parse(wants).unwrap().to_string() == wants);
    assert!(nfs("nfs://h/x?delegations=yes").delegations, "the version is found by asking the server");
    assert_eq!(nfs("nfs://h/x?version=3&delegations=no").version, Some(NfsVersion::V3));
    for (wrong, says) in [
        ("nfs://h/x?version=4", "must be 3, 4.0, 4.1 or 4.2"),
        ("nfs://h/x?version=4.1&slots=2&slots=8", "option slots is given twice; give it once"),
        ("nfs://h/x?version=4.1&version=4.2", "option version is given twice"),
        ("nfs://h/x?vers=4.1&version=4.1", "option version is given twice"),
        ("nfs://h/x?resvport&resvport", "option resvport is given twice"),
        ("nfs://h/x?version=4.0&slots=4", "need NFS 4.1 or 4.2"),
        ("nfs://h/x?version=4.0&mountport=1", "apply only to NFS 3"),
        ("nfs://h/x?version=4.0&delegations=yes", "need NFS 4.1 or 4.2"),
        ("nfs://h/x?mountport=1&delegations=yes", "need NFS 4.1 or 4.2"),
        ("nfs://h/x?version=4.1&delegations", "must be yes or no"),
        ("nfs://h/x?version=4.1&slots=0", "from 1 to 4096"),
        ("nfs://h/x?version=4.1&slots=4097", "from 1 to 4096"),
        ("nfs://h/x?version=3&slots=4", "need NFS 4.1 or 4.2"),
        ("nfs://h/x?mountport=1&slots=4", "need NFS 4.1 or 4.2"),
        ("nfs://h/x?version=4.1&mountport=20048", "apply only to NFS 3"),
        ("nfs://h/x?version=4.2&portmapport=1111", "apply only to NFS 3"),
    ] {
        let error = Target::parse(wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}

#[test]
fn spellings_of_other_tools_mean_the_same() {
    for (other, ours) in [
        ("cifs://anna@h:1445/share/a", "smb://anna@h:1445/share/a"),
        ("CIFS://h/share", "smb://h/share"),
        (r"\\h\share\a b\c", "smb://h/share/a%20b/c"),
        (r"\\[::1]\share", "smb://[::1]/share"),
        ("//h/share/a", "smb://h/share/a"),
        (r"//h\share", "smb://h/share"),
        ("nas:/", "nfs://nas/"),
        ("nas:/export/a", "nfs://nas/export/a"),
        ("10.0.0.1:/export", "nfs://10.0.0.1/export"),
        ("[fe80::1]:/export", "nfs://[fe80::1]/export"),
    ] {
        let shown = |url: &str| Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}")).to_string();
        assert_eq!(shown(other), shown(ours), "{other}");
    }
}

/// One line, with the right spelling in it.
#[test]
fn what_is_none_is_corrected() {
    for (wrong, right) in [
        ("/mnt/share", "file:///path"),
        ("http://h/share", "smb://"),
        (r"\\h", "smb://host/share"),
        ("//user@h/share", "smb://user@server/share"),
        ("nas:/export?resvport", "nfs://host/export?OPTIONS"),
        ("nas:export", "host:/export"),
        (r"C:\data", "file:///path"),
        ("C:/data", "file:///path"),
    ] {
        let error = Target::parse(wrong).expect_err(wrong).to_string();
        assert!(error.contains(right) && !error.contains('\n'), "{wrong}: {error}");
    }
}

#[test]
fn paths_and_embedded_servers() {
    let path = |url: &str| match Target::parse(url) {
        Ok(Target::Path(path)) => path,
        other => panic!("{url}: {other:?}"),
    };
    assert_eq!(path("file:///mnt/a%20b/@x"), Path::new("/mnt/a b/@x"));
    assert_eq!(path("file://localhost/mnt"), Path::new("/mnt"));
    assert!(matches!(Target::parse("embedded:smb"), Ok(Target::Embedded(Embedded::Smb))));
    for (url, expected) in [
        ("embedded:nfs", Embedded::NFS),
        ("embedded:nfs?version=3", Embedded::Nfs { version: Some(NfsVersion::V3), slots: None, delegations: false }),
        ("embedded:nfs?version=4.1", Embedded::Nfs { version: Some(NfsVersion::V41), slots: None, delegations: false }),
        (
            "embedded:nfs?version=4.1&delegations=yes",
            Embedded::Nfs { version: Some(NfsVersion::V41), slots: None, delegations: true },
        ),
        (
            "embedded:nfs?version=4.2&slots=8",
            Embedded::Nfs { version: Some(NfsVersion::V42), slots: Some(8), delegations: false },
        ),
    ] {
        let target = Target::parse(url).unwrap();
        assert!(matches!(target, Target::Embedded(embedded) if embedded == expected), "{url}: {target:?}");
        assert_eq!(target.to_string(), url);
    }
    for (url, advice) in [
        ("embedded:nfs?version=4.0", "3, 4.1 or 4.2"),
        ("embedded:nfs?slots=8", "version=4.1"),
        ("embedded:nfs?delegations=yes", "version=4.1"),
        ("embedded:nfs?version=3&slots=8", "version=4.1"),
        ("embedded:nfs?version=4.1&slots=2&slots=8", "option slots is given twice"),
        ("embedded:nfs?resvport", "slots=NUMBER"),
        ("embedded:nfs/x", "embedded:nfs"),
    ] {
        let refusal = Target::parse(url).unwrap_err().to_string();
        assert!(refusal.contains(advice), "{url}: {refusal}");
    }
}

/// Each holds the word "geheim" where a password may have got to.
const MISTYPED: &str = r"
    geheim anna:geheim@host/share smb:anna:geheim@host/share smb:/anna:geheim@host/share cifs:anna:geheim@host/share
    cifs:/anna:geheim@host/share //anna:geheim@host/share \\anna:geheim@host\share //host:geheim/share /geheim
    anna:/geheim@host/share anna:/ge%2Fheim/geheim host:/export?geheim https:/geheim C:\geheim geheim://host/share
    embedded:geheim smb://anna:geheim@ smb://anna:geheim@/share smb://anna:geheim@host smb://anna:geheim@host/
    smb://anna:geheim@host:0/share smb://anna:geheim@host:65536/share smb://anna:geheim@host:+1/share
    smb://anna:geheim@host:smb/share smb://anna:geheim@[::1/share smb://anna:geheim@[::g]/share
    smb://anna:geheim@[::1]445/share smb://anna:geheim%@host/share smb://anna:geheim%f@host/share
    smb://anna:geheim%ff@host/share smb://:geheim@host/share smb://WORK;:geheim@host/share
    smb://anna:geheim/1@host/share smb://anna:445/geheim@host/share smb://anna:445/share?geheim@host/share
    smb://anna:445?geheim@host/share smb://anna:1#geheim@host/share smb://anna:geheim@host/share?x=1
    smb://anna:geheim@host/share/../up smb://anna:geheim@host/share/a%2Fb smb://anna:geheim@host/share/a%5Cb
    smb://anna:geheim@host/share/a%00b nfs://anna:geheim@host/export nfs://host:geheim/export nfs://host
    nfs://host?version=3 nfs://host/export?version=4 nfs://host/export?geheim=3 nfs://host/export?mountport=geheim
    nfs://host/export?mountport=0 nfs://host/export?resvport=geheim file://geheim/path file:geheim file:///a?geheim
    file:///a%0 file:///a%00b
";

#[test]
fn a_mistyped_target_is_refused_and_not_repeated() {
    for url in MISTYPED.split_whitespace().chain(["smb://anna:geheim@a b/share"]) {
        let error = Target::parse(url).expect_err(url);
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("geheim"), "{url}: {shown}");
    }
}

#[test]
fn an_unknown_scheme_is_named() {
    for (url, scheme) in
        [("http://geheim", "http://"), ("ftp://a:geheim@h/x", "ftp://"), ("embedded:geheim", "embedded:")]
    {
        let said = Target::parse(url).unwrap_err().to_string();
        assert!(said.starts_with(&format!("the target begins with \"{scheme}\": expected smb://")), "{said}");
        assert!(!said.contains("geheim"), "{said}");
    }
    let said = Target::parse("geheim://host/share").unwrap_err().to_string();
    assert!(said.starts_with("unknown target format: expected smb://"), "{said}");
    assert!(Target::parse("embedded:/export").is_ok(), "a host of this name");
}

#[test]
fn a_password_file_is_named_by_its_option() {
    let said = find("smb://u@h/s", Some(Path::new("/does/not/exist")), None).unwrap_err();
    assert!(said.starts_with("--password-file /does/not/exist: "), "{said}");
    assert!(
        find("smb://h/s", Some(Path::new("x")), None)
            .unwrap_err()
            .starts_with("--password-file: the target has no user")
    );
}

#[test]
fn no_password_is_shown() {
    let target = Target::parse("smb://W;anna:geheim@host:1/share/a%20%40b").unwrap();
    assert_eq!(target.to_string(), "smb://W;anna@host:1/share/a%20%40b");
    assert!(!format!("{target:?}").contains("geheim"));
}

fn find(url: &str, file: Option<&Path>, variable: Option<&str>) -> Result<String, String> {
    let mut target = Target::parse(url).unwrap();
    target.find_password(file, variable.map(Into::into)).map_err(|error| error.to_string())?;
    match target {
        Target::Smb(target) => Ok(target.credentials.password.expose().to_owned()),
        _ => Ok(String::new()),
    }
}

fn holding(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn a_password_comes_from_the_target_a_file_or_the_environment() {
    let file = holding(b"from file\r\nsecond line\n");
    let (file, variable) = (Some(file.path()), Some("from environment"));
    assert_eq!(find("smb://u:own@h/s", None, variable).unwrap(), "own");
    assert_eq!(find("smb://u@h/s", file, variable).unwrap(), "from file");
    let marked = holding(b"\xEF\xBB\xBFfrom file\n");
    assert_eq!(find("smb://u@h/s", Some(marked.path()), None).unwrap(), "from file", "a byte-order mark");
    assert_eq!(find("smb://u@h/s", None, variable).unwrap(), "from environment");
    assert_eq!(find("smb://u@h/s", None, None).unwrap(), "");
    // Nobody has no password, whatever stands in the environment; nor has NFS.
    assert_eq!(find("smb://h/s", None, variable).unwrap(), "");
    assert_eq!(find("nfs://h/s", None, variable).unwrap(), "");
    for url in ["smb://u:own@h/s", "smb://h/s", "nfs://h/s", "embedded:smb"] {
        assert!(find(url, file, None).is_err(), "{url}");
    }
}

#[test]
fn a_password_file_of_no_use_is_told_and_not_shown() {
    let long = vec![b'g'; 5000];
    for bytes in [&b"\ngeheim"[..], b"", b"geheim\xff\n", &long] {
        let file = holding(bytes);
        let error = find("smb://u@h/s", Some(file.path()), None).unwrap_err();
        assert!(error.contains(&file.path().display().to_string()), "{error}");
        assert!(!error.contains("geheim") && !error.contains("ggg"), "{error}");
    }
    assert!(find("smb://u@h/s", Some(Path::new("/does/not/exist")), None).is_err());
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(url in "\\PC*", scheme in "(smb|nfs|file)://") {
        let _ = Target::parse(&url);
        let _ = Target::parse(&format!("{scheme}{url}"));
    }

    #[test]
    fn what_is_shown_means_the_same(
        share in "[^/\\\\\\pC.]{1,20}", path in "[^/\\\\\\pC.]{1,20}", user in "[^;\\\\\\pC]{1,20}", port in 1_u16..,
    ) {
        let server = Server { host: "h".into(), port };
        let credentials = Credentials { user, ..Credentials::default() };
        let (accounts, addresses) = (Vec::new(), Vec::new());
        let target = Target::Smb(SmbTarget { server, share, path, credentials, accounts, addresses });
        let shown = target.to_string();
        let again = Target::parse(&shown).unwrap();
        prop_assert_eq!(format!("{:?}", target), format!("{:?}", again), "{}", shown);
    }
}

#[cfg(feature = "kerberos")]
#[test]
fn kerberos_is_an_option_of_nfs_and_needs_a_user() {
    for (name, protection) in ["krb5", "krb5i", "krb5p"].into_iter().zip(Protection::ALL) {
        let url = format!("nfs://anna%40WORK:geheim@h/x?version=4.1&sec={name}");
        let target = nfs(&url);
        assert_eq!((target.security, target.credentials.user.as_str()), (Some(protection), "anna@WORK"));
        let shown = Target::Nfs(target).to_string();
        assert_eq!(shown, format!("nfs://anna%40WORK@h:2049/x?version=4.1&sec={name}"));
    }
    let mut target = Target::parse("nfs://anna@h/x?sec=krb5p").unwrap();
    target.find_password(None, Some("geheim".into())).unwrap();
    let Target::Nfs(target) = target else { panic!("NFS") };
    assert_eq!(target.credentials.password.expose(), "geheim");
    let refused = |url: &str| Target::parse(url).unwrap_err().to_string();
    assert!(refused("nfs://h/x?sec=krb5").contains("nfs://user@host/export?sec=krb5"));
}

#[cfg(not(feature = "kerberos"))]
#[test]
fn a_build_without_kerberos_refuses_it() {
    for name in ["krb5", "krb5i", "krb5p"] {
        let said = Target::parse(&format!("nfs://anna@h/x?sec={name}")).unwrap_err().to_string();
        assert!(said.contains(name) && said.contains("--features kerberos"), "{said}");
    }
}

#[test]
fn calls_are_unprotected_unless_the_target_says_so() {
    assert_eq!(nfs("nfs://h/x?sec=sys").security, None);
    let refused = |url: &str| Target::parse(url).unwrap_err().to_string();
    assert!(refused("nfs://h/x?sec=geheim").contains("must be sys, krb5, krb5i or krb5p"));
    for url in ["nfs://anna@h/x", "nfs://anna:geheim@h/x?sec=sys"] {
        let said = refused(url);
        assert!(said.contains("without Kerberos") && !said.contains("geheim"), "{said}");
    }
}

#[test]
fn a_target_without_a_version_takes_that_of_the_same_recorded_target() {
    let taken = |ours: &str, theirs: &str| {
        let mut target = Target::parse(ours).unwrap();
        target.take_version(&Target::parse(theirs).unwrap());
        target.to_string()
    };
    let recorded = Target::parse("nfs://h/e?version=4.1").unwrap().to_string();
    assert_eq!(taken("nfs://h/e", &recorded), recorded);
    for (ours, theirs) in [
        ("nfs://h/e?version=3", "nfs://h/e?version=4.1"),
        ("nfs://h/other", "nfs://h/e?version=4.1"),
        ("nfs://h/e", "nfs://other/e?version=4.1"),
        ("nfs://h/e", "nfs://h/e?version=4.1&delegations=yes"),
        ("smb://h/s", "nfs://h/s?version=4.1"),
    ] {
        assert_eq!(taken(ours, theirs), Target::parse(ours).unwrap().to_string(), "{theirs}");
    }
}
