//! The table holds together, and says what Table 1 of Swartz (1997) says.

use std::collections::HashSet;

use super::*;
use crate::{Group, Operation};

#[test]
fn codes_and_names_are_unique() {
    let (mut codes, mut names) = (HashSet::new(), HashSet::new());
    for procedure in Procedure::all() {
        let row = procedure.row();
        assert!(codes.insert((row.protocol, row.code, row.sub)), "{row:?}");
        assert!(names.insert(procedure.name_with_protocol()), "{row:?}");
    }
}

#[test]
fn servers_send_callbacks() {
    let names = Procedure::all().filter(|one| one.row().protocol == Protocol::Nlm && one.is_callback());
    let names: Vec<String> = names.map(Procedure::name).collect();
    assert_eq!(names, ["GRANTED", "GRANTED_MSG", "TEST_RES", "LOCK_RES", "CANCEL_RES", "UNLOCK_RES"]);
    let is_callback = |protocol: Protocol| Procedure::of(protocol, 4).is_callback();
    assert!(is_callback(Protocol::Nfs4Callback) && !is_callback(Protocol::Nfs4) && !is_callback(Protocol::Nfs3));
}

#[test]
fn every_row_is_reached_by_its_numbers() {
    for procedure in Procedure::all() {
        let row = procedure.row();
        let found = match row.sub {
            None if row.code & row::ON_PIPE != 0 && !procedure.is_unknown() => {
                Procedure::of(row.protocol, row.code & !row::ON_PIPE).on_pipe()
            }
            None => Procedure::of(row.protocol, row.code),
            Some(sub) => Procedure::of_sub(row.protocol, row.code, sub),
        };
        assert_eq!(found, procedure, "{row:?}");
        assert_eq!(row.code == u16::MAX, procedure.is_unknown());
        assert!(procedure.command().row().sub.is_none());
    }
}

#[test]
fn the_table_is_in_the_order_of_its_protocols_and_each_has_one_unknown_row() {
    let order: Vec<_> = Procedure::all().map(|p| p.row().protocol).collect();
    assert!(order.is_sorted());
    for protocol in Protocol::ALL {
        let unknown = Procedure::all().filter(|p| p.is_unknown() && p.row().protocol == protocol).count();
        assert_eq!(unknown, 1, "{protocol:?}");
        assert!(Procedure::of(protocol, 0xF3).is_unknown());
        assert!(Procedure::of(protocol, 10_044).is_unknown());
    }
}

#[test]
fn an_unnamed_subcommand_is_its_command() {
    assert_eq!(Procedure::of_sub(Protocol::Smb1, 0x32, 0x77).name(), "TRANSACTION2");
    assert_eq!(Procedure::of_sub(Protocol::Smb2, 0x11, 1 << 8 | 200).name(), "SET_INFO");
    assert_eq!(Procedure::of_sub(Protocol::Nfs3, 1, 1).name(), "GETATTR");
    assert_eq!(Procedure::smb2_ioctl(0x0009_FFFC).name(), "IOCTL");
    assert_eq!(Procedure::smb2_ioctl(0x0039_0008).name(), "IOCTL");
}

/// Control codes: MS-SMB2 2.2.31, MS-FSCC 2.3.
#[test]
fn control_codes_have_their_names() {
    for (code, name) in [
        (0x0011_C017, "IOCTL PIPE_TRANSCEIVE"),
        (0x0011_0018, "IOCTL PIPE_WAIT"),
        (0x0011_400C, "IOCTL PIPE_PEEK"),
        (0x0006_0194, "IOCTL DFS_GET_REFERRALS"),
        (0x0006_01B0, "IOCTL DFS_GET_REFERRALS_EX"),
        (0x0014_0204, "IOCTL VALIDATE_NEGOTIATE_INFO"),
        (0x0014_0078, "IOCTL SRV_REQUEST_RESUME_KEY"),
        (0x0014_40F2, "IOCTL SRV_COPYCHUNK"),
        (0x0014_80F2, "IOCTL SRV_COPYCHUNK_WRITE"),
        (0x0014_01FC, "IOCTL QUERY_NETWORK_INTERFACE_INFO"),
        (0x0009_00C0, "IOCTL CREATE_OR_GET_OBJECT_ID"),
        (0x0009_4264, "IOCTL OFFLOAD_READ"),
        (0x0009_8268, "IOCTL OFFLOAD_WRITE"),
        (0x0009_8344, "IOCTL DUPLICATE_EXTENTS_TO_FILE"),
    ] {
        assert_eq!(Procedure::smb2_ioctl(code).name(), name, "{code:#x}");
    }
}

#[test]
fn calls_to_the_operating_system_have_rows() {
    assert_eq!(Procedure::of_call(FileCall::Null).name(), "fstat of the root");
    assert_eq!(Procedure::of_call(FileCall::CopyRange).name(), "copy_file_range");
    assert_eq!(Procedure::of_call(FileCall::Unlink).row().operation, Operation::Remove);
}

#[test]
fn only_what_always_waits_is_long_lived() {
    let long_lived: Vec<_> = Procedure::all().filter(|p| p.row().long_lived).map(|p| p.name()).collect();
    let smb1 = ["PIPE_READ", "TRANSACTION WAIT_NMPIPE", "PIPE_READ_ANDX", "NT_TRANSACT NOTIFY_CHANGE"];
    assert_eq!(long_lived, [&smb1[..], &["PIPE_READ", "IOCTL PIPE_WAIT", "CHANGE_NOTIFY"]].concat());
}

#[test]
fn the_asynchronous_part_of_a_raw_write_has_its_row() {
    assert_eq!(Procedure::write_raw_async().name(), "WRITE_RAW async portion");
}

#[test]
fn pipes_carry_no_file_data_and_what_is_not_known_is_in_no_group_of_the_known() {
    for (protocol, code) in [(Protocol::Smb1, 0x2E), (Protocol::Smb1, 0x2F), (Protocol::Smb2, 8), (Protocol::Smb2, 9)] {
        let row = Procedure::of(protocol, code).on_pipe().row();
        assert_eq!(
            (row.group, row.carries_data, row.long_lived),
            (Group::Session, false, row.name.contains("READ")),
            "{row:?}"
        );
    }
    assert_eq!(Procedure::of(Protocol::Smb2, 5).on_pipe().name(), "CREATE");
    for (protocol, code) in [(Protocol::Smb1, 0x32), (Protocol::Smb1, 0xA0), (Protocol::Smb2, 0x11)] {
        assert_eq!(Procedure::of(protocol, code).row().group, Group::Unknown);
    }
    assert_eq!(Procedure::smb2_ioctl_cut().row().group, Group::Unknown);
}

#[test]
fn smb2_subcommands_mean_what_they_do() {
    for (command, sub, operation, group) in [
        (0x11, 0x10A, Operation::Rename, Group::Directory),
        (0x11, 0x10D, Operation::Remove, Group::Directory),
        (0x11, 0x140, Operation::Remove, Group::Directory),
        (0x11, 0x114, Operation::SetAttributes, Group::Attributes),
        (0x11, 0x300, Operation::SetAttributes, Group::Attributes),
        (0x10, 2, Operation::FileSystemInfo, Group::Attributes),
    ] {
        let row = Procedure::of_sub(Protocol::Smb2, command, sub).row();
        assert_eq!((row.sub, row.operation, row.group), (Some(sub), operation, group));
    }
}

/// Table 1 of Swartz (1997) row by row, with the subgroups that its Appendix A's sums imply. Not here: `Find_First2`, the
/// same command as `Find_First`, and `Get_Ext_Attribute`, which no SMB1 command is called.
#[test]
fn groups_are_those_of_seed_1() {
    let directory = "Check_Directory, Create_Directory, Delete_File, Find_Close2, Rename_File, Delete_Directory, \
        Find_First, Find_Next";
    let attributes = "Get_File_Attributes, Get_File_Attributes2, Set_File_Attributes, Set_File_Attributes2, \
        Get_FS_Info, Get_Path_Info, Get_File_Info, Set_File_Info";
    for (group, names) in [
        (Group::Read, "Read+X"),
        (Group::Write, "Flush_File, Write_Bytes, Write_Raw, Write+X, async portion"),
        (Group::OpenClose, "Close_File, NT_Create+X, Open+X"),
        (Group::Locking, "Locking+X"),
        (Group::Directory, directory),
        (Group::Attributes, attributes),
    ] {
        let mut expected: Vec<_> = names.split(", ").collect();
        let named = |p: &Procedure| p.row().group == group && p.row().netbench_name.is_some();
        let mut found: Vec<_> = Procedure::all().filter(named).filter_map(|p| p.row().netbench_name).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{group:?}");
    }
}

/// Appendix A's counts, summed by our groups, give its groups' counts.
#[test]
fn appendix_a_adds_up() {
    let counts = [
        ("Check_Directory", 235),
        ("Close_File", 1412),
        ("Delete_File", 269),
        ("Find_Close2", 474),
        ("Flush_File", 65),
        ("Get_File_Attributes", 2062),
        ("Get_File_Attributes2", 1264),
        ("Locking+X", 289),
        ("Open+X", 1863),
        ("Read+X", 8735),
        ("Rename_File", 41),
        ("Set_File_Attributes", 1),
        ("Find_First", 469),
        ("Find_Next", 266),
        ("Get_FS_Info", 85),
        ("Write_Bytes", 5716),
        ("Write_Raw", 261),
    ];
    let sum = |wanted: fn(Group) -> bool| -> u32 {
        let group = |name| Procedure::all().find(|p| p.row().netbench_name == Some(name)).unwrap().row().group;
        counts.iter().filter(|(name, _)| wanted(group(name))).map(|(_, count)| count).sum()
    };
    assert_eq!(sum(|g| g == Group::OpenClose), 3275);
    assert_eq!(sum(Group::is_other), 5455);
    assert_eq!(sum(|g| g == Group::Attributes), 3412);
    assert_eq!(sum(|g| g == Group::Directory), 1754);
    assert_eq!(sum(|g| g == Group::Locking), 289);
    assert_eq!(sum(|g| g == Group::Read), 8735);
    assert_eq!(sum(|g| g == Group::Write), 6042);
}
