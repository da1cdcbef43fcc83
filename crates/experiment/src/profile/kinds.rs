//! The kind of work in a sample, by the innermost function on its stack that tells.

use super::script::Frame;

/// What a processor did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Own code and libraries: for a server the protocol.
    Program,
    /// The kernel: sockets, TCP/IP and network devices.
    Network,
    /// The kernel: file systems, their cache, disks.
    Files,
    /// The kernel: scheduling, wake-ups, locks, memory, and what the lists below do not name.
    OtherKernel,
    /// The kernel, without any symbol.
    Unknown,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] = [Kind::Program, Kind::Network, Kind::Files, Kind::OtherKernel, Kind::Unknown];

    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Program => "program",
            Kind::Network => "kernel: network",
            Kind::Files => "kernel: files",
            Kind::OtherKernel => "kernel: other",
            Kind::Unknown => "kernel: no symbol",
        }
    }

    /// The kind of a stack, innermost frame first.
    pub(super) fn of(stack: &[Frame]) -> Kind {
        let kernel = || stack.iter().take_while(|frame| frame.kernel);
        if kernel().next().is_none() {
            return Kind::Program;
        }
        let names = || kernel().filter_map(|frame| frame.symbol.as_deref());
        match names().find_map(by_name) {
            Some(kind) => kind,
            None if names().next().is_some() => Kind::OtherKernel,
            None => Kind::Unknown,
        }
    }
}

/// Beginnings of names of Linux, without underscores in front, separated by spaces.
const NETWORK: &str = "\
    tcp_ udp_ inet_ inet6_ ip_ ip6_ ipv4_ ipv6_ sock_ sk_ skb_ sys_send sys_recv netif_ net_rx_ dev_queue_xmit \
    dev_hard_start_xmit loopback_ napi_ process_backlog nf_ virtnet_ start_xmit x64_sys_sendmsg x64_sys_sendto \
    x64_sys_recvmsg x64_sys_recvfrom";
const FILES: &str = "\
    vfs_ filemap_ ext4_ xfs_ btrfs_ f2fs_ ovl_ fuse_ shmem_ jbd2_ page_cache_ readahead generic_file_ \
    generic_perform_write generic_write_ iomap_ blk_ blkdev_ bio_ submit_bio folio_mark_ do_filp_open path_openat \
    path_lookup link_path_walk walk_component lookup_ filename_ d_lookup dput do_sys_open do_statx iterate_dir \
    notify_change posix_acl_ x64_sys_pread x64_sys_pwrite x64_sys_fstat x64_sys_newfstat x64_sys_openat x64_sys_close \
    virtblk_ nvme_ scsi_ posix_lock_ fcntl_";
/// The same calls as for files, but on events, pipes, sockets and locks.
const OTHER: &str = "\
    eventfd_ ep_ do_epoll_ pipe_ anon_pipe_ unix_ timerfd_ signalfd_ futex_ do_futex";

fn by_name(name: &str) -> Option<Kind> {
    let name = name.trim_start_matches('_');
    let begins = |list: &str| list.split_ascii_whitespace().any(|start| name.starts_with(start));
    match () {
        () if begins(OTHER) => Some(Kind::OtherKernel),
        () if begins(NETWORK) => Some(Kind::Network),
        () if begins(FILES) => Some(Kind::Files),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(names: &[&str]) -> Kind {
        let frame = |name: &&str| {
            let (kernel, name) = name.strip_prefix("k:").map_or((false, *name), |name| (true, name));
            Frame { symbol: (!name.is_empty()).then(|| name.to_owned()), module: None, kernel }
        };
        Kind::of(&names.iter().map(frame).collect::<Vec<_>>())
    }

    #[test]
    fn the_innermost_function_that_tells_decides() {
        assert_eq!(kind(&["memcpy", "smbd_smb2_read"]), Kind::Program);
        assert_eq!(kind(&[]), Kind::Program);
        assert_eq!(kind(&["k:copy_page_to_iter", "k:filemap_read", "k:vfs_read", "pread64"]), Kind::Files);
        // A read from a socket goes through the same call as a read from a file.
        assert_eq!(kind(&["k:tcp_recvmsg_locked", "k:sock_read_iter", "k:vfs_read", "readv"]), Kind::Network);
        assert_eq!(kind(&["k:try_to_wake_up", "k:sock_def_readable", "k:tcp_rcv_established"]), Kind::Network);
        // The last word of a line of the lists, and the first of the next one.
        for (name, expected) in [("x64_sys_close", Kind::Files), ("virtblk_done", Kind::Files)] {
            assert_eq!(kind(&[&format!("k:{name}")]), expected, "{name}");
        }
        assert_eq!(kind(&["k:eventfd_write", "k:vfs_write", "write"]), Kind::OtherKernel);
        assert_eq!(kind(&["k:__schedule", "k:schedule", "k:do_syscall_64"]), Kind::OtherKernel);
        assert_eq!(kind(&["k:", "k:", "read"]), Kind::Unknown);
        // The kernel's part of the stack alone decides.
        assert_eq!(kind(&["k:__schedule", "tcp_of_a_program"]), Kind::OtherKernel);
    }
}
