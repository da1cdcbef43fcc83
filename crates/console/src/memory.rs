//! Memory that a program used for its start. docs/decisions/0038-memory.md

/// The allocator maps blocks of at least this size, in bytes, one by one; freed, they go back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_MAP_BYTES: libc::c_int = 128 << 10;

/// For a command that now reads for long and keeps little: large blocks that are freed from now on go back to the system at once, and so
/// does the code of the start, most of it for the arguments of the command.
pub fn settle_down() {
    give_back_code();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: sets a number, which the allocator itself would otherwise raise, in any thread, with each large block that is freed.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAP_BYTES) };
}

/// Between two phases of a command that have little in common: gives back what the allocator has free, and the code of the first phase.
pub fn give_back() {
    give_back_code();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the allocator gives back pages that nothing uses.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Gives back the memory of the program's code and constants that were used so far. What is used again comes back from the file by itself.
fn give_back_code() {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    code::give_back();
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod code {
    use std::ffi::{c_int, c_void};

    /// The breakpoints of a debugger stand in the pages that would be given back: under one, all stay.
    pub(super) fn give_back() {
        let status = std::fs::read_to_string("/proc/self/status");
        if status.is_ok_and(|status| status.contains("TracerPid:\t0\n")) {
            // SAFETY: the callback has the signature that is asked for, and uses what it is given during the call only.
            unsafe { libc::dl_iterate_phdr(Some(give_back_object), std::ptr::null_mut()) };
        }
    }

    /// Gives back the pages of the program or a library that are never written.
    unsafe extern "C" fn give_back_object(object: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        // SAFETY: the loader gives an object that lives as long as the call, and the length of its table of headers.
        let (base, headers) = unsafe {
            let object = &*object;
            (object.dlpi_addr, std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)))
        };
        // SAFETY: the headers are those of an object at this address.
        if headers
            .iter()
            .any(|header| header.p_type == libc::PT_DYNAMIC && unsafe { has_text_relocations(base, header) })
        {
            return GO_ON;
        }
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let Ok(page) = u64::try_from(page) else { return GO_ON };
        let never_written =
            |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0;
        for header in headers.iter().filter(never_written) {
            let from = base + header.p_vaddr;
            let start = from - from % page;
            let len = (from + header.p_memsz - start) as usize;
            // SAFETY: pages of a mapped file that were never written: a later read finds the same bytes. (Written segments begin on other
            // pages.) If the call fails, that costs only memory.
            let _ = unsafe { libc::madvise(start as *mut c_void, len, libc::MADV_DONTNEED) };
        }
        GO_ON
    }

    /// Whether the loader wrote addresses into code.
    unsafe fn has_text_relocations(base: u64, dynamic: &libc::Elf64_Phdr) -> bool {
        const ENTRY_BYTES: u64 = 16;
        const DT_TEXTREL: u64 = 22;
        const DT_FLAGS: u64 = 30;
        const DF_TEXTREL: u64 = 4;
        let entries = (base + dynamic.p_vaddr) as *const [u64; 2];
        // SAFETY: the section is in memory as long as its object, and its header has its size.
        let entries = unsafe { std::slice::from_raw_parts(entries, (dynamic.p_memsz / ENTRY_BYTES) as usize) };
        let is_one = |&[tag, value]: &[u64; 2]| tag == DT_TEXTREL || tag == DT_FLAGS && value & DF_TEXTREL != 0;
        entries.iter().take_while(|[tag, _]| *tag != 0).any(is_one)
    }
}
