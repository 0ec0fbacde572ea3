//! How the outputs of a rewrite may be arranged, as configuration says it.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Serialize, Serializer};

/// `binpack | sort | zorder(a,b)`, with `!` for "always": `sort` means that a table may be sorted once trials show a gain,
/// `sort!` that it always is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrategySetting {
    /// The arrangement.
    pub arrangement: Arrangement,
    /// Whether it is used without having shown a gain. Always false for bin-packing, which has nothing to show.
    pub always: bool,
}

/// How rows are arranged in the outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Sizes and deletes only.
    #[default]
    Binpack,
    /// The table's sort order.
    Sort,
    /// Z-order of these columns, each once.
    Zorder(Vec<String>),
}

/// A text that names no strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    /// Another word.
    #[error("is no strategy")]
    Unknown,
    /// `zorder()`, or an empty column.
    #[error("needs the columns of the z-order, as in zorder(a,b)")]
    NoColumns,
    /// A column named twice.
    #[error("names a column twice")]
    Twice,
}

impl FromStr for StrategySetting {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let text = text.trim();
        let (text, always) = text.strip_suffix('!').map_or((text, false), |text| (text.trim_end(), true));
        let arrangement = match text.to_ascii_lowercase().as_str() {
            "binpack" => Arrangement::Binpack,
            "sort" => Arrangement::Sort,
            lower if lower.starts_with("zorder") => zorder(text.get("zorder".len()..).unwrap_or(""))?,
            _ => return Err(StrategyError::Unknown),
        };
        let always = always && arrangement != Arrangement::Binpack;
        Ok(Self { arrangement, always })
    }
}

fn zorder(columns: &str) -> Result<Arrangement, StrategyError> {
    let inner = columns.trim().strip_prefix('(').and_then(|it| it.strip_suffix(')')).ok_or(StrategyError::NoColumns)?;
    let columns: Vec<String> = inner.split(',').map(|column| column.trim().to_owned()).collect();
    if columns.iter().any(|column| column.is_empty() || column.contains(['(', ')'])) {
        return Err(StrategyError::NoColumns);
    }
    let distinct: BTreeSet<&String> = columns.iter().collect();
    if distinct.len() == columns.len() { Ok(Arrangement::Zorder(columns)) } else { Err(StrategyError::Twice) }
}

impl fmt::Display for StrategySetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.arrangement {
            Arrangement::Binpack => f.write_str("binpack")?,
            Arrangement::Sort => f.write_str("sort")?,
            Arrangement::Zorder(columns) => write!(f, "zorder({})", columns.join(","))?,
        }
        f.write_str(if self.always { "!" } else { "" })
    }
}

impl Serialize for StrategySetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
