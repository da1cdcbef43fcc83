//! Steps and think times, whose types read themselves: what they read.

use std::borrow::Cow;

use plimsoll_client::operation::OperationKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::file_step::FileStep;
use crate::program::word;
use crate::quantity::Time;
use crate::text::{StepText, StepWithOptions, Think, ThinkTable};

impl JsonSchema for StepText {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let own = [
            ("create", "Creates the iteration's own file"),
            ("recreate", "Creates the iteration's own file again, which truncates the file; the file must be closed"),
        ];
        let own = own.into_iter().map(|(word, does)| json!({ "const": word, "description": does }));
        let operations = OperationKind::ALL.iter().filter(|kind| word(**kind).is_ok());
        let words = operations.map(|kind| json!({ "const": kind, "description": does(*kind) }));
        let words: Vec<Value> = own.chain(words).collect();
        let [options, on_file] = [generator.subschema_for::<StepWithOptions>(), generator.subschema_for::<FileStep>()];
        json_schema!({
            "description": "One step of an iteration: a word, or a table with one key",
            "examples": ["getattr", { "read": { "size": "64KiB", "whole": true } }],
            "anyOf": [{ "oneOf": words }, options, on_file],
        })
    }
}

/// What a step that is a word alone does.
fn does(kind: OperationKind) -> &'static str {
    use OperationKind as Kind;
    match kind {
        Kind::Null => "Sends an empty request (SMB ECHO, NFS NULL)",
        Kind::Fsinfo => "Queries the size and free space of the file system",
        Kind::ConnectShare => {
            "Connects to the share a second time (SMB TREE_CONNECT); later steps use the new tree connection (SMB only)"
        }
        Kind::DisconnectShare => {
            "Closes the second tree connection (SMB TREE_DISCONNECT); later steps use the first tree connection again (SMB only)"
        }
        Kind::LogOn => "Logs the user on a second time; later steps belong to the new session (SMB only)",
        Kind::LogOff => "Ends the second session; later steps belong to the first session again (SMB only)",
        Kind::Lookup => {
            "Looks up the name in its directory (NFS: LOOKUP; SMB: CREATE with access to attributes, then CLOSE)"
        }
        Kind::Getattr => "Queries the attributes by path",
        Kind::Access => {
            "Asks which access the server would grant (NFS: ACCESS; SMB: CREATE with MAXIMUM_ALLOWED, then CLOSE)"
        }
        Kind::List => "Lists the whole directory",
        Kind::ListNames => "Lists only the names in the directory (NFS: READDIR; SMB and file://: the same as list)",
        Kind::Mkdir => "Creates the iteration's own directory",
        Kind::Rmdir => "Removes the iteration's own directory",
        Kind::Remove => "Removes the iteration's own file",
        Kind::Readlink => "Reads the symbolic link",
        Kind::Close => "Closes the file",
        Kind::Flush => "Makes written data durable (SMB FLUSH, NFS COMMIT, fsync)",
        Kind::GetattrOpen => "Queries the attributes of the open file",
        Kind::Open => "Opens the file",
        Kind::Rename => "Renames the iteration's own file",
        Kind::Setattr => "Sets the permission bits (SMB: the timestamps)",
        Kind::Find => "Searches the directory for the file's name",
        Kind::Copy => {
            "Creates a file in the same directory, copies the file to it on the server (SMB FSCTL_SRV_COPYCHUNK, NFS 4.2 COPY, \
            copy_file_range), then closes and removes the copy. Copies at most the first 4 GiB minus 64 KiB, and skips empty files"
        }
        Kind::Clone => {
            "Like copy, but clones the whole file (no limit of 4 GiB), so that both files share the data (NFS 4.2 CLONE only)"
        }
        _ => "",
    }
}

/// What a user may write for a pause.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what ThinkVisitor reads")]
enum Written {
    /// Always the same time.
    Constant(Time),
    Drawn(ThinkTable),
}

impl JsonSchema for Think {
    fn schema_name() -> Cow<'static, str> {
        "Think".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Written::json_schema(generator);
        schema.insert("description".into(), "A pause, or a distribution of pauses".into());
        schema.insert("examples".into(), json!(["10ms", { "exponential": "10ms" }]));
        schema
    }
}
