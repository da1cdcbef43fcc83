//! Options of a recorded run that its targets do not use. Earlier versions accepted these; now they are refused.

use plimsoll_client::target::{Embedded, Target};

use super::run_spec::{RunSpec, ServerSpec};

impl RunSpec {
    /// Removes the server options that no target uses, and names them as flags.
    pub fn remove_unused_options(&mut self) -> Vec<String> {
        let (server, names) = self.used_server();
        self.server = server;
        names
    }

    /// The server options that a target uses, and the names of the others.
    pub(super) fn used_server(&self) -> (ServerSpec, Vec<String>) {
        let server = &self.server;
        let targets = if server.targets.is_empty() { std::slice::from_ref(&self.target) } else { &server.targets };
        // An unknown target may use any option.
        let is_any =
            |uses: fn(&Target) -> bool| targets.iter().any(|text| Target::parse(text).as_ref().map_or(true, uses));
        let smb = is_any(|target| matches!(target, Target::Smb(_) | Target::Embedded(Embedded::Smb)));
        let tls = is_any(|target| matches!(target, Target::Nfs(target) if target.tls));
        let used = ServerSpec {
            dialect: server.dialect.clone().filter(|_| smb),
            signing: server.signing && smb,
            encryption: server.encryption && smb,
            tls_ca: server.tls_ca.clone().filter(|_| tls),
            tls_insecure: server.tls_insecure && tls,
            ..server.clone()
        };
        let dialect = server.dialect.as_ref().filter(|_| used.dialect.is_none());
        let flags = [
            (server.signing != used.signing, "--signing"),
            (server.encryption != used.encryption, "--encryption"),
            (server.tls_ca != used.tls_ca, "--tls-ca"),
            (server.tls_insecure != used.tls_insecure, "--tls-insecure"),
        ];
        let names = flags.into_iter().filter(|(differs, _)| *differs).map(|(_, name)| name.to_owned());
        let names = dialect.map(|dialect| format!("--dialect {dialect}")).into_iter().chain(names).collect();
        (used, names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused(targets: &[&str]) -> (ServerSpec, String) {
        let server = ServerSpec {
            dialect: Some("3.0".to_owned()),
            signing: true,
            encryption: true,
            tls_insecure: true,
            targets: targets.iter().skip(1).map(|target| (*target).to_owned()).collect(),
            ..ServerSpec::default()
        };
        let mut spec = RunSpec::new(&plimsoll_workload::Workload::find("getattr").unwrap(), 1);
        (spec.target, spec.server) = (targets[0].to_owned(), server);
        let names = spec.remove_unused_options();
        assert_eq!(spec.remove_unused_options(), Vec::<String>::new());
        (spec.server, names.join(" "))
    }

    #[test]
    fn only_options_that_no_target_uses_are_removed() {
        let (server, names) = unused(&["embedded:nfs"]);
        assert_eq!(names, "--dialect 3.0 --signing --encryption --tls-insecure");
        assert_eq!(server, ServerSpec::default());
        assert_eq!(unused(&["file:///mnt"]).1, names);
        assert_eq!(unused(&["smb://h/s"]).1, "--tls-insecure");
        assert_eq!(unused(&["nfs://h/e?xprtsec=tls"]).1, "--dialect 3.0 --signing --encryption");
        assert_eq!(
            unused(&["several", "nfs://a/e", "nfs://b/e?xprtsec=tls"]).1,
            "--dialect 3.0 --signing --encryption"
        );
        assert_eq!(unused(&[""]).1, "", "an unknown target");
    }
}
