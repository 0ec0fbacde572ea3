//! What the process has used so far, as Linux tells; zero elsewhere.

/// Clock ticks per second of `/proc`: fixed at 100 in the kernel's user interface (`USER_HZ`).
const TICK_MS: u64 = 10;

/// User and system CPU time in milliseconds (proc(5), `/proc/self/stat`, fields 14 and 15).
pub(crate) fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses and may hold spaces.
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|it| it.parse::<u64>().ok());
    ticks.sum::<u64>() * TICK_MS
}

/// Largest resident set in bytes (proc(5), `/proc/self/status`, `VmHWM`).
pub(crate) fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("");
    line.split_whitespace().next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0) * 1024
}
