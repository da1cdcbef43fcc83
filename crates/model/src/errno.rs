//! Names of Linux errors: the statuses of file system calls. A recording has Linux's numbers on every operating system.
//!
//! Spec: POSIX.1-2024, Base Definitions, errno.h; Linux include/uapi/asm-generic/errno.h

/// The name of an error that calls on files give; `None` for those that they do not.
#[must_use]
pub fn errno_name(errno: u32) -> Option<&'static str> {
    NAMES.iter().find(|(number, _)| *number == errno).map(|(_, name)| *name)
}

const NAMES: &[(u32, &str)] = &[
    (0, "OK"),
    (1, "EPERM"),
    (2, "ENOENT"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (9, "EBADF"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (29, "ESPIPE"),
    (30, "EROFS"),
    (31, "EMLINK"),
    (32, "EPIPE"),
    (35, "EDEADLK"),
    (36, "ENAMETOOLONG"),
    (37, "ENOLCK"),
    (38, "ENOSYS"),
    (39, "ENOTEMPTY"),
    (40, "ELOOP"),
    (61, "ENODATA"),
    (62, "ETIME"),
    (67, "ENOLINK"),
    (70, "ECOMM"),
    (71, "EPROTO"),
    (75, "EOVERFLOW"),
    (95, "EOPNOTSUPP"),
    (100, "ENETDOWN"),
    (101, "ENETUNREACH"),
    (103, "ECONNABORTED"),
    (104, "ECONNRESET"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (112, "EHOSTDOWN"),
    (113, "EHOSTUNREACH"),
    (114, "EALREADY"),
    (116, "ESTALE"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
    (125, "ECANCELED"),
    (127, "EKEYEXPIRED"),
    (129, "EKEYREJECTED"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StatusFamily;

    #[test]
    fn the_table_of_outcomes_names_errors_as_the_system_does() {
        for rule in StatusFamily::Errno.rules() {
            assert_eq!(errno_name(rule.status), Some(rule.name), "{rule:?}");
        }
    }
}
