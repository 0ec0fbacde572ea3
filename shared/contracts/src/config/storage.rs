//! `[storage]`: S3 beyond what the AWS SDK reads from its own environment.

use serde::Serialize;

use super::{block::Block, catalog::is_plain_web};

/// `[storage]`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Storage {
    /// `endpoint`: the address of an S3-compatible service; AWS unless set.
    pub endpoint: Option<String>,
    /// `region`; the AWS SDK's own unless set.
    pub region: Option<String>,
    /// `path_style`: buckets in the path instead of the host name; false unless set.
    pub path_style: bool,
}

pub(super) fn read(mut block: Block<'_>) -> Storage {
    let endpoint = block.text("endpoint").and_then(|(node, text)| {
        let is_usable = is_plain_web(&text.meant);
        if !is_usable {
            let help = "write it as https://host, without credentials, query or fragment";
            block.report.error(node, "is no address of a service", help);
        }
        is_usable.then(|| text.meant.clone())
    });
    let storage = Storage { endpoint, region: block.string("region"), path_style: block.flag("path_style", false) };
    block.finish();
    storage
}
