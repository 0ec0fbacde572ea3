//! `[catalog]`: where tables are looked up, and how Firn proves who it is.

use std::{path::PathBuf, str::FromStr};

use serde::{Serialize, Serializer};

use super::block::Block;

/// `[catalog]`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Catalog {
    /// `uri`. None only when there is no configuration file: a file must name a catalog.
    pub uri: Option<CatalogUri>,
    /// `warehouse`: REST catalogs are asked for it at `/v1/config`.
    pub warehouse: Option<String>,
    /// `auth`: how requests to a REST catalog are authorised.
    pub auth: Auth,
}

/// How requests to a REST catalog are authorised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Not at all.
    #[default]
    None,
    /// OAuth2 client credentials (RFC 6749 §4.4) of `[maintenance.principal]`.
    Oauth2,
    /// AWS Signature Version 4 with the credentials of the AWS SDK's chain.
    Sigv4,
}

/// The address of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogUri {
    /// `sqlite:///abs/path/catalog.db[?name=NAME]`: the `iceberg_tables` layout of PyIceberg and Iceberg's JdbcCatalog.
    Sqlite {
        /// The absolute path of the file.
        path: PathBuf,
        /// The `catalog_name`, needed when the file holds several.
        name: Option<String>,
    },
    /// `https://host/path`: an Iceberg REST catalog. Holds no credentials, no query and no fragment.
    Rest(String),
}

/// An address that is none. The text quotes nothing of it, for it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogUriError {
    /// No scheme that Firn knows.
    #[error("is no catalog: write sqlite:///abs/path/catalog.db or https://host/iceberg")]
    Scheme,
    /// A relative path.
    #[error("the path must be absolute, with three slashes: sqlite:///abs/path/catalog.db")]
    RelativePath,
    /// A parameter other than `name`.
    #[error("the only parameter is name=CATALOG_NAME")]
    Parameter,
    /// A REST address without host, or with credentials, spaces, a query or a fragment.
    #[error("must be a host and a path, without credentials, spaces, query or fragment: https://host/iceberg")]
    Rest,
}

impl FromStr for CatalogUri {
    type Err = CatalogUriError;

    fn from_str(uri: &str) -> Result<Self, CatalogUriError> {
        if let Some(location) = uri.strip_prefix("sqlite://") {
            return sqlite(location);
        }
        if !is_web(uri) {
            return Err(CatalogUriError::Scheme);
        }
        if is_plain_web(uri) { Ok(Self::Rest(uri.to_owned())) } else { Err(CatalogUriError::Rest) }
    }
}

fn sqlite(location: &str) -> Result<CatalogUri, CatalogUriError> {
    let (path, query) = location.split_once('?').map_or((location, None), |(path, query)| (path, Some(query)));
    let name = match query.map(|it| it.split_once('=')) {
        None => None,
        Some(Some(("name", name))) if !name.is_empty() => Some(name.to_owned()),
        Some(_) => return Err(CatalogUriError::Parameter),
    };
    if !path.starts_with('/') {
        return Err(CatalogUriError::RelativePath);
    }
    Ok(CatalogUri::Sqlite { path: path.into(), name })
}

impl std::fmt::Display for CatalogUri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite { path, name: None } => write!(f, "sqlite://{}", path.display()),
            Self::Sqlite { path, name: Some(name) } => write!(f, "sqlite://{}?name={name}", path.display()),
            Self::Rest(uri) => f.write_str(uri),
        }
    }
}

impl Serialize for CatalogUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn is_web(uri: &str) -> bool {
    uri.starts_with("https://") || uri.starts_with("http://")
}

/// Whether `uri` is `http(s)://host[:port][/path]` and nothing more.
pub(super) fn is_plain_web(uri: &str) -> bool {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://")).unwrap_or("");
    let host = rest.split('/').next().unwrap_or("");
    !host.is_empty() && !rest.contains(|it: char| it == '@' || it == '?' || it == '#' || it.is_whitespace())
}

/// Whether what is sent to `uri` can be read on the way: plain HTTP to another machine.
pub(super) fn is_in_the_clear(uri: &str) -> bool {
    let Some(rest) = uri.strip_prefix("http://") else { return false };
    let authority = rest.split('/').next().unwrap_or("");
    let is_own = |host: &str| authority == host || authority.strip_prefix(host).is_some_and(|it| it.starts_with(':'));
    !["localhost", "127.0.0.1", "[::1]"].into_iter().any(is_own)
}

/// Reads the block; `uri` of the command line stands for the file's when it is given.
pub(super) fn read(mut block: Block<'_>, uri: Option<&CatalogUri>) -> Catalog {
    let has_uri = block.has("uri");
    let from_file = block.text("uri").and_then(|(node, text)| match text.meant.parse() {
        Ok(uri) => Some(uri),
        Err(error @ CatalogUriError::Rest | error @ CatalogUriError::Scheme) => {
            block.report.error(node, "cannot be used", error.to_string());
            None
        }
        Err(error) => {
            block.report.error(node, format!("{:?} cannot be used", text.written), error.to_string());
            None
        }
    });
    if !has_uri && uri.is_none() {
        block.missing(
            "uri",
            "write uri = \"sqlite:///abs/path/catalog.db\" or \"https://host/iceberg\" below [catalog]",
        );
    }
    let uri = uri.cloned().or(from_file);
    let warehouse = block.string("warehouse");
    let auth = auth(&mut block, uri.as_ref());
    if let (Some(CatalogUri::Sqlite { .. }), Some(node)) = (&uri, block.find("warehouse")) {
        block.report.warn(node, "is never used: only REST catalogs are asked for a warehouse", "remove it");
    }
    block.finish();
    Catalog { uri, warehouse, auth }
}

fn auth(block: &mut Block<'_>, uri: Option<&CatalogUri>) -> Auth {
    let choices = [("none", Auth::None), ("oauth2", Auth::Oauth2), ("sigv4", Auth::Sigv4)];
    let auth = block.choice("auth", Auth::None, &choices);
    let Some(node) = block.find("auth").filter(|_| auth != Auth::None) else { return auth };
    match uri {
        Some(CatalogUri::Sqlite { .. }) => {
            let problem = "an SQLite catalog is a file and authorises nobody";
            block.report.error(node, problem, "write auth = \"none\", or the uri of a REST catalog");
        }
        Some(CatalogUri::Rest(uri)) if auth == Auth::Oauth2 && is_in_the_clear(uri) => {
            block.report.error(node, "the token would travel unencrypted", "write the catalog's uri with https");
        }
        _ => {}
    }
    auth
}
