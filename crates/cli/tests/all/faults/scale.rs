//! Many users at once.

use super::command::run;

/// The file descriptors of 500 connections and their server ends in one process exceed the limit of many shells.
#[test]
fn five_hundred_users_and_none_starves() {
    let load = ["--users", "500", "--every", "2s", "--warmup", "1s", "--duration", "6s"];
    for target in ["embedded:smb", "embedded:nfs"] {
        let ended = run(&[&["getattr", "--target", target][..], &load].concat());
        assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.said);
        let level = ended.level();
        assert_eq!(
            (&level["clients"], &level["fairness"]["starved"]),
            (&500.into(), &0.into()),
            "{}",
            level["fairness"]
        );
        assert_eq!(level["failures"].as_array().unwrap().len(), 0, "{}", level["failures"]);
        assert!(level["fairness"]["jain"].as_f64().unwrap() > 0.5);
        // Each its own session on its own connection.
        let clients: std::collections::HashSet<String> = ended.rows().iter().map(|row| row["client"].clone()).collect();
        assert_eq!(clients.len(), 500);
    }
}
