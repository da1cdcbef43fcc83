//! `plimsoll run --auth` and `?sec=krb5`: with Kerberos built in, and without.

use std::process::{Command, Output};

use plimsoll_testkit::command;

fn plimsoll(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.env_remove("PLIMSOLL_PASSWORD").env_remove("KRB5_CONFIG").args(arguments);
    command::output(&mut command)
}

/// Refused at once, with words on standard error.
fn usage(arguments: &[&str], words: &str) {
    let output = plimsoll(&[&["run"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(words), "{arguments:?}: {said}");
}

#[test]
fn flags_that_make_no_sense() {
    usage(&["--auth", "basic"], "expected ntlm or kerberos");
    usage(&["--realm", "EXAMPLE.COM"], "--auth kerberos");
    usage(&["--kdc", "kdc.example.com"], "--auth kerberos");
    usage(&["--kdc", "a b"], "expected HOST or HOST:PORT");
}

#[cfg(not(feature = "kerberos"))]
#[test]
fn a_build_without_it_says_how_to_get_one() {
    usage(&["--target", "smb://u@h/s", "--auth", "kerberos"], "--features kerberos");
    for security in ["krb5", "krb5i", "krb5p"] {
        usage(&["--target", &format!("nfs://u@h/e?sec={security}")], "--features kerberos");
    }
}

#[cfg(feature = "kerberos")]
mod with_a_kdc {
    use std::path::Path;

    use plimsoll_testkit::servers::{Kdc, Samba, Share};
    use serde_json::Value;

    use super::*;
    use crate::available;

    fn realm() -> Option<(Kdc, Samba)> {
        available(Kdc::start_with_samba())
    }

    fn run(target: &str, password: &str, configuration: Option<&Path>, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command.args(["run", "mixed", "--target", target, "--auth", "kerberos", "--json", "-", "-q"]).args(more);
        command.args(["--duration", "400ms", "--warmup", "100ms", "--clients", "20"]);
        command.env("PLIMSOLL_PASSWORD", password).env_remove("KRB5_CONFIG");
        configuration.map(|file| command.env("KRB5_CONFIG", file));
        let output = command::output(&mut command);
        let said = [&output.stdout[..], &output.stderr].concat();
        assert!(!String::from_utf8_lossy(&said).contains("Load-line"), "the password is shown");
        output
    }

    #[test]
    fn a_workload_runs_with_one_ticket() {
        let Some((kdc, samba)) = realm() else { return };
        let (port, share) = (samba.address().port(), Share::Data.name());
        let plain = format!("smb://{}@localhost:{port}/{share}", Samba::USER);
        let at = kdc.address().to_string();
        let output = run(&plain, Samba::PASSWORD, None, &["--realm", Kdc::REALM, "--kdc", &at, "--encryption"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{said}\n{}", samba.log());
        let report: Value = crate::only_side(&output.stdout);
        let level = &report["levels"][0];
        assert_eq!((&level["errors"], level["clients"].as_u64()), (&Value::from(0), Some(20)), "{level:#}");
        assert_eq!(level["failures"].as_array().unwrap().len(), 0, "{}", level["failures"]);
        let facts = report["run"]["facts"].to_string();
        assert!(facts.contains("logged on with Kerberos") && facts.contains("encrypted"), "{facts}");
        assert_eq!(kdc.issued(), (1, 1), "{}", kdc.log());

        // The realm from the user, the KDC from krb5.conf.
        let whole = format!("smb://{}%40{}@localhost:{port}/{share}", Samba::USER, Kdc::REALM);
        let output = run(&whole, Samba::PASSWORD, Some(&kdc.configuration()), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{said}");
        assert_eq!(kdc.issued(), (2, 2), "{}", kdc.log());
    }

    #[test]
    fn nfs_runs_with_one_ticket_in_every_protection() {
        let Some((kdc, ganesha)) = available(Kdc::start_with_ganesha()) else { return };
        let (port, mount, at) = (ganesha.address().port(), ganesha.mount_port(), kdc.address().to_string());
        for (version, security) in [("3", "krb5"), ("4.0", "krb5i"), ("4.1", "krb5p"), ("4.2", "krb5")] {
            let mount = if version == "3" { format!("&mountport={mount}") } else { String::new() };
            let target = format!("nfs://{}@localhost:{port}/data?version={version}{mount}&sec={security}", Samba::USER);
            let (_, before) = kdc.issued();
            let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
            command.args([
                "run",
                "mixed",
                "--target",
                &target,
                "--realm",
                Kdc::REALM,
                "--kdc",
                &at,
                "--json",
                "-",
                "-q",
            ]);
            command.args(["--duration", "400ms", "--warmup", "100ms", "--clients", "20"]);
            command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD).env_remove("KRB5_CONFIG");
            let output = command::output(&mut command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 4)), "{version} {security}: {said}\n{}", ganesha.log());
            let report: Value = crate::only_side(&output.stdout);
            let level = &report["levels"][0];
            assert_eq!((&level["errors"], level["clients"].as_u64()), (&Value::from(0), Some(20)), "{level:#}");
            assert_eq!(level["failures"].as_array().unwrap().len(), 0, "{}", level["failures"]);
            let facts = report["run"]["facts"].to_string();
            assert!(facts.contains(&format!("Kerberos ({security})")), "{facts}");
            assert_eq!(kdc.issued().1, before + 1, "one ticket for 20 clients:\n{}", kdc.log());
        }
    }

    /// A connection has one context; from 4.1 on, the connections of a client share a session. More requests are outstanding than the
    /// sequence window of Ganesha has numbers (32).
    #[test]
    fn nfs_runs_over_several_connections_and_beyond_the_window() {
        let Some((kdc, ganesha)) = available(Kdc::start_with_ganesha()) else { return };
        let (port, mount, at) = (ganesha.address().port(), ganesha.mount_port(), kdc.address().to_string());
        for (version, security, connections) in [
            ("version=3", "krb5i", "4"),
            ("version=4.0", "krb5", "4"),
            ("version=4.1", "krb5p", "4"),
            ("", "krb5i", "4"),
            ("version=3", "krb5p", "1"),
            ("version=4.0", "krb5i", "1"),
            ("version=4.1", "krb5", "1"),
        ] {
            let mount = if version == "version=3" { format!("&mountport={mount}") } else { String::new() };
            let target = format!("nfs://{}@localhost:{port}/data?{version}{mount}&sec={security}", Samba::USER);
            let target = target.replace("?&", "?");
            let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
            command.args(["run", "random-read", "--target", &target, "--realm", Kdc::REALM, "--kdc", &at]);
            command.args(["--json", "-", "-q", "--connections", connections, "--clients", "3", "--depth", "64"]);
            command.args(["--duration", "2s", "--warmup", "100ms"]);
            command.env("PLIMSOLL_PASSWORD", Samba::PASSWORD).env_remove("KRB5_CONFIG");
            let output = command::output(&mut command);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 4)), "{target}: {said}\n{}", ganesha.log());
            let report: Value = crate::only_side(&output.stdout);
            let level = &report["levels"][0];
            assert_eq!((&level["errors"], level["clients"].as_u64()), (&Value::from(0), Some(3)), "{level:#}");
            assert_eq!(level["failures"].as_array().unwrap().len(), 0, "{target}: {}", level["failures"]);
            assert!(level["count"].as_u64().unwrap() > 0, "{level:#}");
            let facts = report["run"]["facts"].to_string();
            assert!(facts.contains(&format!("Kerberos ({security})")), "{facts}");
            assert_eq!(facts.contains("NFS 4.2"), version.is_empty(), "{facts}");
        }
    }

    #[test]
    fn without_a_ticket_nothing_runs() {
        let Some((kdc, samba)) = realm() else { return };
        let target = format!("smb://{}@localhost:{}/data", Samba::USER, samba.address().port());
        let at = kdc.address().to_string();
        for (password, kdc, words) in [
            ("Load-line 8", at.as_str(), Kdc::REALM),
            (Samba::PASSWORD, "127.0.0.1:1", "127.0.0.1:1"),
            ("", &at, "password"),
        ] {
            let output = run(&target, password, None, &["--realm", Kdc::REALM, "--kdc", kdc]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains(words), "{said}");
        }
        usage(&["--auth", "kerberos", "--target", "nfs://host/export"], "smb://");
        usage(&["--auth", "kerberos"], "smb://");
    }
}
