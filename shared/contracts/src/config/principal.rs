//! `[maintenance.principal]`: who Firn is when it maintains tables, apart from every person and engine.

use serde::Serialize;

use super::{
    block::Block,
    catalog::{is_in_the_clear, is_plain_web},
    secret::Secret,
};

/// `[maintenance.principal]`: OAuth2 client credentials (RFC 6749 §4.4). The rewriter never reads them.
#[derive(Clone, Debug, Serialize)]
pub struct Principal {
    /// `token_endpoint`.
    pub token_endpoint: String,
    /// `client_id`.
    pub client_id: String,
    /// `client_secret`.
    pub client_secret: ClientSecret,
    /// `scope`: what the token is for, as the identity provider names it.
    pub scope: Option<String>,
}

/// Where the client secret comes from.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ClientSecret {
    /// The value, from a `${VARIABLE}` of the environment.
    Value(Secret),
    /// The ARN of a secret in AWS Secrets Manager, read when a token is needed.
    SecretsManager(String),
}

pub(super) fn read(mut block: Block<'_>) -> Option<Principal> {
    if !block.exists() {
        return None;
    }
    for key in ["token_endpoint", "client_id", "client_secret"] {
        if !block.has(key) {
            block.missing(key, "a principal has a token_endpoint, a client_id and a client_secret");
        }
    }
    let token_endpoint = token_endpoint(&mut block);
    let client_id = block.string("client_id");
    let client_secret = client_secret(&mut block);
    let scope = block.string("scope");
    block.finish();
    Some(Principal { token_endpoint: token_endpoint?, client_id: client_id?, client_secret: client_secret?, scope })
}

fn token_endpoint(block: &mut Block<'_>) -> Option<String> {
    let (node, text) = block.text("token_endpoint")?;
    let help = "write it as https://host/path, without credentials, query or fragment";
    if !is_plain_web(&text.meant) {
        block.report.error(node, "is no address of a token endpoint", help);
        return None;
    }
    if is_in_the_clear(&text.meant) {
        block.report.error(node, "the secret would travel unencrypted", help);
        return None;
    }
    Some(text.meant.clone())
}

fn client_secret(block: &mut Block<'_>) -> Option<ClientSecret> {
    let (node, text) = block.text("client_secret")?;
    if is_secrets_manager(&text.meant) {
        return Some(ClientSecret::SecretsManager(text.meant.clone()));
    }
    if text.written == text.meant {
        let help = "write ${NAME} of an environment variable, or the ARN of a secret in AWS Secrets Manager";
        block.report.warn(node, "stands in the file for everybody who can read it", help);
    }
    Some(ClientSecret::Value(Secret::new(text.meant.clone())))
}

/// `arn:PARTITION:secretsmanager:REGION:ACCOUNT:secret:NAME`.
fn is_secrets_manager(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(7, ':').collect();
    matches!(parts.as_slice(), ["arn", _, "secretsmanager", _, _, "secret", name] if !name.is_empty())
}

/// Warns when the principal of `block` is one of the `interactive` ids: what Firn may do, they could do.
pub(super) fn check_interactive(mut block: Block<'_>, interactive: &[String]) {
    if let Some((node, text)) = block.text("client_id")
        && interactive.contains(&text.meant)
    {
        let problem = format!("{:?} also stands in [interactive] client_ids", text.written);
        block.report.warn(node, problem, "give Firn a client id that no person and no engine uses");
    }
}
