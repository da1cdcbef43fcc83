//! What NFS-Ganesha does that is no error of whoever drives it.

use serde_json::Value;

/// Listings that NFS-Ganesha failed because an entry went meanwhile: at most one in a hundred.
///
/// Its VFS backend reads the names of a directory, then looks each one up, and where one is gone by then it answers the whole
/// listing with NFS3ERR_NOENT or NFS3ERR_STALE, or those of version 4 (`read_dirents` in its `FSAL_VFS/handle.c`), though the directory is there.
pub(crate) fn lists_of_what_went(stage: &Value) -> u64 {
    let operations = stage["operations"].as_array().unwrap();
    let Some(list) = operations.iter().find(|row| row["operation"] == "list") else { return 0 };
    let went = |status: &&Value| {
        ["NFS3ERR_NOENT", "NFS3ERR_STALE", "NFS4ERR_NOENT", "NFS4ERR_STALE"].map(Value::from).contains(&status["name"])
    };
    let statuses = list["statuses"].as_array().unwrap().iter();
    let gone: u64 = statuses.filter(went).map(|status| status["count"].as_u64().unwrap()).sum();
    if gone <= 1 + list["count"].as_u64().unwrap() / 100 { gone } else { 0 }
}
