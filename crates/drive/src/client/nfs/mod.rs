//! The NFS version 3 client, with portmap and MOUNT before it. Version 4.1 will stand beside it.
