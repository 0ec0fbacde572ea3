//! Parquet data files as the table's properties want them, with the metrics that their manifest entries claim.
