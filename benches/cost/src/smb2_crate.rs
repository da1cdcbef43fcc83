//! The same operations through the smb2 crate, by its cheapest interface (`Connection::execute`), on one thread.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use smb2::client::{Connection, Session, Tree};
use smb2::msg::read::{ReadRequest, SMB2_CHANNEL_NONE};
use smb2::types::{Command, FileId};

use crate::measured::{Measured, Watch};
use crate::operation::{Case, FILE, SIZE};

/// Performs `count` operations, `depth` of them at a time.
pub fn run(
    operation: Case,
    to: SocketAddr,
    share: &str,
    (user, password): (&str, &str),
    depth: usize,
    count: u64,
) -> Result<Measured, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::connect(&to.to_string(), Duration::from_secs(30)).await?;
        connection.negotiate().await?;
        let _session = Session::setup(&mut connection, user, password, "").await?;
        let tree = Arc::new(Tree::connect(&mut connection, share).await?);
        let file = tree.open_file(&mut connection, FILE).await?.0;
        several(operation, &connection, &tree, file, depth, count / 10).await?;
        let watch = Watch::start();
        several(operation, &connection, &tree, file, depth, count).await?;
        let measured = watch.stop(count);
        tree.close_handle(&mut connection, file).await?;
        Ok(measured)
    })
}

async fn several(
    operation: Case,
    connection: &Connection,
    tree: &Arc<Tree>,
    file: FileId,
    depth: usize,
    count: u64,
) -> Result<(), Box<dyn Error>> {
    let left = Arc::new(AtomicU64::new(count));
    let mut slots = Vec::new();
    for _ in 0..depth {
        let (mut connection, tree, left) = (connection.clone(), Arc::clone(tree), Arc::clone(&left));
        slots.push(tokio::spawn(async move {
            while let Ok(number) = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                one(operation, &mut connection, &tree, file, number).await?;
            }
            Ok::<(), smb2::Error>(())
        }));
    }
    for slot in slots {
        slot.await??;
    }
    Ok(())
}

async fn one(operation: Case, connection: &mut Connection, tree: &Tree, file: FileId, number: u64) -> smb2::Result<()> {
    if operation == Case::SmbCreateClose {
        let (file, _) = tree.open_file(connection, FILE).await?;
        return tree.close_handle(connection, file).await;
    }
    let length = operation.length();
    let request = ReadRequest {
        padding: 0x50,
        flags: 0,
        length,
        offset: number * u64::from(length) % SIZE,
        file_id: file,
        minimum_count: 0,
        channel: SMB2_CHANNEL_NONE,
        remaining_bytes: 0,
        read_channel_info: Vec::new(),
    };
    let frame = connection.execute(Command::Read, &request, Some(tree.tree_id)).await?;
    assert_eq!(frame.header.status, smb2::types::status::NtStatus::SUCCESS);
    Ok(())
}
