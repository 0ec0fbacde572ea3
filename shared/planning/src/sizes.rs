//! How many files some bytes should make (rewrite rules B.5).

use model::CompactionOptions;

/// The files that `size_bytes` of input should become, at least 1.
///
/// With target T, minimum m and write limit W = T + (M − T) / 2: below T one file. Otherwise the remainder after whole targets
/// gets a file of its own if that file is no candidate again (above m); else it is spread over the others if they stay below
/// both 1.1 T and W; else it gets a file of its own all the same.
#[must_use]
pub fn expected_output_files(size_bytes: u64, options: &CompactionOptions) -> u64 {
    let target = options.target_file_size_bytes.max(1);
    let whole = size_bytes / target;
    if whole == 0 {
        return 1;
    }
    let remainder = size_bytes % target;
    if remainder == 0 {
        return whole;
    }
    if remainder > options.min_file_size_bytes {
        return whole + 1;
    }
    let share = size_bytes / whole;
    let below_tenth_over = u128::from(share) * 10 < u128::from(target) * 11;
    if below_tenth_over && share < write_limit(options) { whole } else { whole + 1 }
}

/// W: the size that a writer may reach without making a candidate again.
fn write_limit(options: &CompactionOptions) -> u64 {
    let target = options.target_file_size_bytes;
    target.saturating_add(options.max_file_size_bytes.saturating_sub(target) / 2)
}
