//! Whether a workload can be done on a target at all: said before anything is sent.

use plimsoll_client::reserved;
use plimsoll_client::smb2::Dialect;
use plimsoll_client::target::{NfsTarget, NfsVersion, SmbTarget, Target};
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_workload::Workload;

use super::level_spec::LevelSpec;
use super::parameters::{LoadParameter, Variant};
use plimsoll_results::Usage;

/// # Errors
/// The workload has steps that the target's protocol lacks, or its connections would have to serve several at a time that
/// must have them alone, or they are more than there are source ports to have.
pub(super) fn check(
    workload: &Workload,
    target: &Target,
    connect_options: &ConnectOptions,
    level_specs: &[LevelSpec],
) -> Result<(), Usage> {
    let smb = matches!(target, Target::Smb(_));
    if let (Some(step), false) = (workload.smb_alone(), smb) {
        let name = workload.name();
        return Err(Usage(format!("workload {name} uses the SMB-only step `{step}`; give an smb:// target")));
    }
    check_version(workload, target)?;
    let alone =
        level_specs.iter().all(|level_spec| level_spec.plan.depth == 1 && level_spec.plan.clients_per_connection == 1);
    if workload.wants_its_connection_alone() && !alone {
        let name = workload.name();
        return Err(Usage(format!(
            "workload {name} logs on within its iterations: use one connection per client (--clients-per-connection 1) and --depth 1"
        )));
    }
    if let Some(level_spec) = level_specs.iter().find(|level_spec| level_spec.plan.channels > 1) {
        let (channels, newest) = (level_spec.plan.channels, *connect_options.dialects.end());
        if !smb {
            return Err(Usage(format!(
                "--channels {channels}: only smb:// targets have channels (SMB multichannel); remove --channels, or use --connections"
            )));
        }
        if newest < Dialect::V300 {
            return Err(Usage(format!(
                "--channels {channels}: SMB {} has no multichannel, which SMB 3.0 introduced; remove --channels or --dialect",
                newest.name()
            )));
        }
    }
    check_addresses(target, level_specs)?;
    let shared = level_specs.iter().find(|level_spec| level_spec.plan.connections > 1);
    if let (Target::Nfs(NfsTarget { delegations: true, .. }), Some(level_spec)) = (target, shared) {
        let connections = level_spec.plan.connections;
        return Err(Usage(format!(
            "--connections {connections}: delegations need one connection per client; remove delegations=yes from the target, or remove --connections"
        )));
    }
    check_session_slots(target, connect_options.slots, level_specs)?;
    let most = level_specs.iter().map(|level_spec| level_spec.plan.connections_in_all()).max().unwrap_or(0);
    let reserved = matches!(target, Target::Nfs(target) if target.reserved_port);
    if reserved && most > reserved::PORTS.into() {
        return Err(Usage(format!(
            "{most} connections with resvport need {most} source ports below 1024, but there are only {}: use fewer clients, or share \
             connections with --clients-per-connection",
            reserved::PORTS
        )));
    }
    Ok(())
}

/// # Errors
/// Clients of several targets would share a connection: they rotate over the targets, and a connection has only one.
pub(super) fn check_targets(count: usize, level_specs: &[LevelSpec]) -> Result<(), Usage> {
    let shared =
        level_specs.iter().map(|level_spec| level_spec.plan.clients_per_connection).find(|&clients| clients > 1);
    match shared {
        Some(clients) if count > 1 => Err(Usage(format!(
            "--clients-per-connection {clients}: each client of a run with several targets needs its own connection; remove \
             --clients-per-connection, or start a separate run for each target"
        ))),
        _ => Ok(()),
    }
}

/// Refuses a varied parameter that the target lacks, and sessions with fewer slots than connections.
///
/// # Errors
/// The target lacks it, or there are fewer slots.
pub fn check_slots(variant: &Variant, level_specs: &[LevelSpec], target: &Target) -> Result<(), Usage> {
    let has_slots = matches!(target, Target::Nfs(nfs) if nfs.has_sessions());
    let slots = match variant.load {
        Some((LoadParameter::Slots, _)) if !has_slots => {
            return Err(Usage("--vary slots needs a target nfs://host/export?version=4.1 (or 4.2)".to_owned()));
        }
        Some((LoadParameter::Slots, slots)) => Some(slots),
        _ => None,
    };
    check_session_slots(target, slots, level_specs)
}

/// Refuses a session with fewer slots than connections: each connection uses separate slots, so Plimsoll would have to request more than the
/// user asked for. `slots` overrides the target's.
fn check_session_slots(target: &Target, slots: Option<u32>, level_specs: &[LevelSpec]) -> Result<(), Usage> {
    let Target::Nfs(NfsTarget { slots: of_target, .. }) = target else { return Ok(()) };
    let most = level_specs.iter().map(|level_spec| level_spec.plan.connections).max().unwrap_or(1);
    match slots.or(*of_target) {
        Some(slots) if slots < most => Err(Usage(format!(
            "slots={slots}: each of the {most} connections needs a slot; give slots={most} or more, or fewer connections"
        ))),
        _ => Ok(()),
    }
}

/// Refuses addresses for further connections of a session in a run without such connections. With `--vary channels=1,2,4` they are for the
/// other load curves.
fn check_addresses(target: &Target, level_specs: &[LevelSpec]) -> Result<(), Usage> {
    let Target::Smb(SmbTarget { addresses, .. }) = target else { return Ok(()) };
    let varies = |spec: &LevelSpec| spec.parameter.as_ref().is_some_and(|varied| varied.name == "channels");
    if addresses.is_empty() || level_specs.iter().any(|spec| spec.plan.channels > 1 || varies(spec)) {
        return Ok(());
    }
    let why = "?addresses= in the target: needs --channels 2 or more; give --channels 2, or remove ?addresses=";
    Err(Usage(why.to_owned()))
}

/// Operations that NFS has from version 4.2 on.
fn check_version(workload: &Workload, target: &Target) -> Result<(), Usage> {
    let name = workload.name();
    let older = match target {
        Target::Nfs(NfsTarget { version, .. }) => version.filter(|version| *version != NfsVersion::V42),
        _ => {
            return workload.nfs_4_2_alone().map_or(Ok(()), |step| {
                Err(Usage(format!(
                    "workload {name} uses the step `{step}`, which only NFS 4.2 has; give an nfs:// target with version=4.2"
                )))
            });
        }
    };
    let step = workload.nfs_4_2_alone().or(workload.copies().then_some("copy"));
    match (older, step) {
        (Some(version), Some(step)) => Err(Usage(format!(
            "workload {name} uses the step `{step}`, which NFS has only from version 4.2 on, but the target has version {}; give \
             version=4.2 in the target (the server must support this version)",
            version.name()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_workload::Parameter;

    use super::*;
    use crate::load_options::LoadOptions;

    #[test]
    fn clients_of_several_targets_share_no_connection() {
        let workload = Workload::find("getattr").unwrap();
        let levels = |clients_per_connection| {
            LoadOptions { clients_per_connection, ..LoadOptions::default() }.levels(workload.defaults()).unwrap()
        };
        assert!(check_targets(2, &levels(1)).is_ok() && check_targets(1, &levels(2)).is_ok());
        let error = check_targets(2, &levels(2)).unwrap_err().to_string();
        assert!(error.starts_with("--clients-per-connection 2: "), "{error}");
    }

    #[test]
    fn channels_need_a_dialect_that_has_them() {
        let workload = Workload::find("getattr").unwrap();
        let level_specs = LoadOptions { channels: 2, ..LoadOptions::default() }.levels(workload.defaults()).unwrap();
        let said = |target: &str, dialects| {
            let connect_options = ConnectOptions { dialects, ..ConnectOptions::default() };
            let checked = check(&workload, &Target::parse(target).unwrap(), &connect_options, &level_specs);
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(said("smb://h/s", Dialect::V202..=Dialect::V210).contains("SMB 2.1 has no multichannel"));
        assert!(said("nfs://h/e", Dialect::V202..=Dialect::V311).contains("only smb:// targets"));
        assert_eq!(said("smb://h/s", Dialect::V202..=Dialect::V311), "");
    }

    #[test]
    fn addresses_need_channels() {
        let workload = Workload::find("getattr").unwrap();
        let said = |target: &str, channels: u32, varied: Option<&str>| {
            let mut level_specs =
                LoadOptions { channels, ..LoadOptions::default() }.levels(workload.defaults()).unwrap();
            let named = |name: &str| Parameter { name: name.to_owned(), value: channels.to_string() };
            level_specs.iter_mut().for_each(|level_spec| level_spec.parameter = varied.map(named));
            let (target, connect_options) = (Target::parse(target).unwrap(), ConnectOptions::default());
            let checked = check(&workload, &target, &connect_options, &level_specs);
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let given = "smb://h/s?addresses=10.0.0.1";
        assert!(said(given, 1, None).contains("needs --channels 2 or more; give --channels 2, or remove"));
        assert!(said(given, 1, Some("depth")).contains("needs --channels 2 or more"));
        let fine = [said(given, 2, None), said(given, 1, Some("channels")), said("smb://h/s", 1, None)];
        assert_eq!(fine, ["", "", ""]);
    }

    #[test]
    fn each_connection_of_a_session_needs_a_slot() {
        let workload = Workload::find("getattr").unwrap();
        let options = LoadOptions { connections: 4, depth: Some(8), ..LoadOptions::default() };
        let level_specs = options.levels(workload.defaults()).unwrap();
        let said = |target: &str, slots| {
            let connect_options = ConnectOptions { slots, ..ConnectOptions::default() };
            let checked = check(&workload, &Target::parse(target).unwrap(), &connect_options, &level_specs);
            checked.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let expected =
            "slots=1: each of the 4 connections needs a slot; give slots=4 or more, or fewer connections".to_owned();
        assert_eq!(said("nfs://h/e?version=4.1&slots=1", None), expected);
        assert_eq!(said("nfs://h/e?slots=8", Some(1)), expected, "the varied value counts");
        for (target, slots) in [("nfs://h/e?slots=1", Some(4)), ("nfs://h/e?slots=4", None), ("nfs://h/e", None)] {
            assert_eq!(said(target, slots), "");
        }
    }
}
