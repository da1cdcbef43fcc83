//! A packet socket: the system calls.
//!
//! Spec: packet(7); Linux' include/uapi/linux/if_packet.h

use std::ffi::{CStr, CString, c_int, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{sock_filter, socklen_t};

use super::filter;
use super::ring::{Ring, RingLayout};

/// From include/uapi/linux/if_packet.h; libc does not have it. Since Linux 4.20.
const PACKET_IGNORE_OUTGOING: c_int = 23;

/// The kernel's counters since the last query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelCounts {
    /// Packets that the filter let through and that found no room.
    pub(super) drops: u64,
    /// How often the ring became full.
    pub(super) freezes: u64,
}

/// The state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkState {
    /// The system has set it up.
    pub(super) is_up: bool,
    /// Packets can pass: it is up, and has a link. Loopback and interfaces without a link always have it; a tun interface has it while a
    /// program uses it.
    pub(super) has_carrier: bool,
}

/// An interface, as the network namespace of the socket has it now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BoundInterface {
    /// Its number. One that is removed and made again with the same name has another.
    pub(super) index: u64,
    pub(super) name: String,
    /// Its address in hexadecimal, as /sys shows it: 8 bytes of it at most, and none if the interface has no address.
    pub(super) address: String,
}

/// A packet socket.
#[derive(Debug)]
pub(super) struct PacketSocket {
    fd: OwnedFd,
    /// The kernel copies this many bytes of a packet at most.
    snap_length: u32,
}

impl PacketSocket {
    /// A socket that gets nothing before it is bound.
    ///
    /// # Errors
    /// Without CAP_NET_RAW.
    pub(super) fn open(snap_length: u32) -> io::Result<Self> {
        // SAFETY: takes numbers alone.
        let fd = checked(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: a new descriptor without another owner.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) }, snap_length })
    }

    /// Most bytes of a packet that are captured.
    pub(super) fn snap_length(&self) -> u32 {
        self.snap_length
    }

    /// From now on these packets alone get in.
    pub(super) fn filter(&self, program: &[sock_filter]) -> io::Result<()> {
        let program = filter::cut(program, self.snap_length);
        // The kernel reads through the pointer, and does not write.
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Ignores the packets that this machine sends: on loopback the socket receives each packet twice.
    pub(super) fn ignore_outgoing(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)
    }

    /// Makes the ring that packets go to.
    pub(super) fn ring(&self, layout: RingLayout) -> io::Result<Ring> {
        let version = libc::tpacket_versions::TPACKET_V3 as c_int;
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        self.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &layout.request())?;
        Ring::map(self, layout)
    }

    /// From now on packets of the interface come. The type of its hardware (ARPHRD_… in include/uapi/linux/if_arp.h).
    pub(super) fn bind(&self, index: c_uint) -> io::Result<u16> {
        // SAFETY: the structure contains only numbers, for which 0 is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        let len = size_of::<libc::sockaddr_ll>() as socklen_t;
        let to = std::ptr::from_ref(&address).cast::<libc::sockaddr>();
        // SAFETY: `address` is an address of `len` bytes, and lives longer than the call.
        checked(unsafe { libc::bind(self.fd.as_raw_fd(), to, len) })?;
        Ok(self.address()?.sll_hatype)
    }

    /// The address of the socket: the interface that it is bound to.
    fn address(&self) -> io::Result<libc::sockaddr_ll> {
        // SAFETY: the structure contains only numbers, for which 0 is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut len = size_of::<libc::sockaddr_ll>() as socklen_t;
        let to = std::ptr::from_mut(&mut address).cast::<libc::sockaddr>();
        // SAFETY: `address` has `len` bytes, which is the most that the kernel writes, and lives longer than the call.
        checked(unsafe { libc::getsockname(self.fd.as_raw_fd(), to, &raw mut len) })?;
        Ok(address)
    }

    /// The interface that the socket is bound to.
    ///
    /// # Errors
    /// It was removed: the kernel then ends the binding for good. No packet comes from an interface that is made again with the same name.
    pub(super) fn interface(&self) -> io::Result<BoundInterface> {
        let address = self.address()?;
        // -1 once the interface was removed.
        let number = address.sll_ifindex;
        let index = u64::try_from(number).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        // SAFETY: the structure contains only numbers, for which 0 is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_ifru.ifru_ifindex = number;
        // SAFETY: the kernel reads the number in `request` and writes the name there, before the call returns.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::SIOCGIFNAME as _, &raw mut request) })?;
        // SAFETY: the kernel has written a name that ends with 0.
        let name = unsafe { CStr::from_ptr(request.ifr_name.as_ptr()) }.to_string_lossy().into_owned();
        let bytes = address.sll_addr.iter().take(usize::from(address.sll_halen));
        let address = bytes.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
        Ok(BoundInterface { index, name, address })
    }

    /// The counters since the last call: the kernel resets them at each query.
    pub(super) fn take_counts(&self) -> io::Result<KernelCounts> {
        let counts: [c_uint; 3] = self.get(libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(KernelCounts { drops: u64::from(counts[1]), freezes: u64::from(counts[2]) })
    }

    /// The error since the last call: ENETDOWN if the interface went down.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        let error: [c_int; 1] = self.get(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((error[0] != 0).then(|| io::Error::from_raw_os_error(error[0])))
    }

    /// The state of the interface that the socket is bound to, whatever its name is now.
    ///
    /// # Errors
    /// It was removed.
    pub(super) fn state(&self) -> io::Result<LinkState> {
        loop {
            let name = self.interface()?.name;
            let state = self.state_of(&name);
            // Otherwise it was renamed in between, and another interface may have got its name.
            if self.interface()?.name == name {
                return state;
            }
        }
    }

    /// The state of the interface of this name.
    ///
    /// # Errors
    /// There is no such interface.
    pub(super) fn state_of(&self, name: &str) -> io::Result<LinkState> {
        // SAFETY: the structure contains only numbers, for which 0 is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The name of an interface fits, with a 0 behind it.
        let room = request.ifr_name.len() - 1;
        for (to, from) in request.ifr_name.iter_mut().take(room).zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: the kernel reads the name in `request` and writes the flags there, before the call returns.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) })?;
        // SAFETY: the call has written this field of the union.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        let is_set = |flag| c_int::from(flags) & flag != 0;
        Ok(LinkState { is_up: is_set(libc::IFF_UP), has_carrier: is_set(libc::IFF_RUNNING) })
    }

    fn set<T>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        let (at, len) = (std::ptr::from_ref(value).cast(), size_of::<T>() as socklen_t);
        // SAFETY: `value` has `len` bytes, which the kernel reads before the call returns.
        checked(unsafe { libc::setsockopt(self.fd.as_raw_fd(), level, option, at, len) }).map(drop)
    }

    fn get<T: Default + Copy, const N: usize>(&self, level: c_int, option: c_int) -> io::Result<[T; N]>
    where
        [T; N]: Default,
    {
        let mut value = <[T; N]>::default();
        let mut len = size_of::<[T; N]>() as socklen_t;
        let at = value.as_mut_ptr().cast();
        // SAFETY: there is room for `len` bytes, and callers ask for numbers alone.
        checked(unsafe { libc::getsockopt(self.fd.as_raw_fd(), level, option, at, &raw mut len) })?;
        Ok(value)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(super) fn interface_index(name: &str) -> io::Result<c_uint> {
    let name = CString::new(name)?;
    // SAFETY: a string that ends with 0.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
