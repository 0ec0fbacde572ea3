//! Sums of what manifests claim.

/// The sum of `counts`, at most `u64::MAX`: a manifest may claim any number, and none may end a run.
#[must_use]
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sum_of_absurd_counts_is_the_largest_number() {
        assert_eq!(super::total([1, 2]), 3);
        assert_eq!(super::total([u64::MAX, 2]), u64::MAX);
    }
}
