//! The memory of a program's start is given back. One test in its own process: other tests would read pages meanwhile, or give them back.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use plimsoll_console::memory::settle_down;

/// Resident pages of files, kB: the code and constants that were used.
fn resident() -> u64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").expect("the kernel has sums of mappings");
    let field = |name: &str| -> Option<u64> {
        let line = rollup.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    field("Rss:").zip(field("Anonymous:")).map(|(all, anonymous)| all - anonymous).expect("both sums")
}

#[test]
fn the_program_goes_on_without_the_pages_of_its_start() {
    // Code and constants are used before and behind.
    let text = |n: usize| format!("{:>8.3} {n:x}", 1.5);
    assert_eq!(text(255), "   1.500 ff");
    // The first call reads the code of this function itself.
    resident();
    let before = resident();
    settle_down();
    let behind = resident();
    assert!(behind < before, "{before} kB before, {behind} kB behind");
    assert_eq!(text(254), "   1.500 fe");
}
