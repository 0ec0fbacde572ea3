//! Catalogs
