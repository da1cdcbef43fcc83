//! Names of rows in tables.

use crate::findings::OperationRow;

/// A row's name in a table under its protocol's header: the name in the netbench report, otherwise the standard's; of a subcommand
/// without its command's, indented.
pub(super) fn name(row: &OperationRow) -> String {
    match &row.parent {
        Some(_) => format!("  {}", own_name(row)),
        None => own_name(row).to_owned(),
    }
}

/// A group's name in a table: subgroups of Other are indented, without their "Other.".
pub(super) fn group_name(row: &OperationRow) -> String {
    match row.group.split_once('.') {
        Some((_, subgroup)) => format!("  {subgroup}"),
        None => row.group.clone(),
    }
}

pub(super) fn several_protocols(rows: &[OperationRow]) -> bool {
    rows.windows(2).any(|pair| pair[0].protocol != pair[1].protocol)
}

/// A row's name where it stands alone: `Transaction2 (Find_First)`, with the protocol where there are several.
pub(super) fn full_name(row: &OperationRow, rows: &[OperationRow]) -> String {
    let own = match &row.parent {
        Some(parent) => {
            let command = rows
                .iter()
                .find(|other| other.parent.is_none() && other.protocol == row.protocol && &other.procedure == parent);
            format!("{} ({})", command.map_or(parent.as_str(), own_name), own_name(row))
        }
        None => own_name(row).to_owned(),
    };
    if several_protocols(rows) { format!("{} {own}", row.protocol) } else { own }
}

/// The standard's name of a row where it stands alone, with the protocol where there are several.
pub(super) fn standard_name(row: &OperationRow, rows: &[OperationRow]) -> String {
    match several_protocols(rows) {
        true => format!("{} {}", row.protocol, row.procedure),
        false => row.procedure.clone(),
    }
}

fn own_name(row: &OperationRow) -> &str {
    if let Some(seed) = &row.netbench_name {
        return seed;
    }
    let standard = row.procedure.as_str();
    row.parent.as_deref().and_then(|parent| standard.strip_prefix(parent)).map_or(standard, str::trim_start)
}
