//! Parquet data files as the table's properties want them, with the metrics that their manifest entries claim.

mod file;
mod floats;
mod metrics;
mod schema;
mod settings;
mod sink;
mod tune;

pub(crate) use file::{DataFileWriter, Layout, WriteError};
pub(crate) use settings::Settings;
