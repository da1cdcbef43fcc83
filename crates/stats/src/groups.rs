//! The rows of sums.

use plimsoll_model::Group;
use serde::{Deserialize, Serialize};

/// A row of sums: a group, or the netbench report's "Other", which is the sum of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroupKey {
    /// One group.
    One(Group),
    /// Attributes, Directory and Locking together.
    Other,
}

impl GroupKey {
    /// All rows, in the order of the netbench report: "Other" before its parts.
    pub const ALL: [GroupKey; 10] = [
        GroupKey::One(Group::OpenClose),
        GroupKey::Other,
        GroupKey::One(Group::Attributes),
        GroupKey::One(Group::Directory),
        GroupKey::One(Group::Locking),
        GroupKey::One(Group::Read),
        GroupKey::One(Group::Write),
        GroupKey::One(Group::Session),
        GroupKey::One(Group::Compound),
        GroupKey::One(Group::Unknown),
    ];

    /// The word used in tables and files.
    pub fn label(self) -> &'static str {
        match self {
            GroupKey::One(group) => group.label(),
            GroupKey::Other => "Other",
        }
    }

    /// Whether the row includes a group.
    pub fn holds(self, group: Group) -> bool {
        match self {
            GroupKey::One(one) => one == group,
            GroupKey::Other => group.is_other(),
        }
    }
}
