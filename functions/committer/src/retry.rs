//! How often and how long: the table's `commit.retry.*` properties (Iceberg, "Table behavior properties").

use std::{collections::HashMap, time::Duration};

const NUM_RETRIES: (&str, u64) = ("commit.retry.num-retries", 4);
const MIN_WAIT_MS: (&str, u64) = ("commit.retry.min-wait-ms", 100);
const MAX_WAIT_MS: (&str, u64) = ("commit.retry.max-wait-ms", 60_000);

/// A table's retry policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Attempts after the first.
    pub(crate) retries_max: u64,
    min_wait_ms: u64,
    max_wait_ms: u64,
}

impl Policy {
    pub(crate) fn of(properties: &HashMap<String, String>) -> Self {
        let read = |(name, default): (&str, u64)| {
            properties.get(name).and_then(|value| value.trim().parse().ok()).unwrap_or(default)
        };
        Self { retries_max: read(NUM_RETRIES), min_wait_ms: read(MIN_WAIT_MS), max_wait_ms: read(MAX_WAIT_MS) }
    }

    /// The wait before retry number `retry`, from 1: doubling from the least to the most.
    pub(crate) fn wait(self, retry: u64) -> Duration {
        let doublings = u32::try_from(retry.saturating_sub(1)).unwrap_or(u32::MAX);
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        Duration::from_millis(self.min_wait_ms.saturating_mul(factor).min(self.max_wait_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_tables_own_limit() {
        let properties = HashMap::from([("commit.retry.max-wait-ms".to_owned(), "350".to_owned())]);
        let policy = Policy::of(&properties);
        assert_eq!(policy.retries_max, 4);
        let waits: Vec<u128> = (1..=4).map(|retry| policy.wait(retry).as_millis()).collect();
        assert_eq!(waits, [100, 200, 350, 350]);
        assert_eq!(policy.wait(u64::MAX).as_millis(), 350);
    }
}
