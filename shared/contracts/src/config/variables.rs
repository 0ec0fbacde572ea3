//! `${NAME}` in a text stands for an environment variable; `$${` is a plain `${`.

/// Looks a variable up by name.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A text whose variables cannot be filled in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum VariableError {
    #[error("${{{0}}} stands for an environment variable that is not set, or empty")]
    Unset(String),
    #[error("${{ stands for an environment variable, and what follows is no name with a closing brace")]
    Syntax,
}

impl VariableError {
    /// What to do.
    pub(super) fn help(&self) -> String {
        match self {
            Self::Unset(name) => format!("set {name} where Firn starts"),
            Self::Syntax => "write ${NAME} with letters, digits and underscores, or $${ for a plain ${".to_owned(),
        }
    }
}

/// `text` with the values of its variables.
pub(super) fn expand(text: &str, variables: Variables<'_>) -> Result<String, VariableError> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (rest.get(..at).unwrap_or(""), rest.get(at + 2..).unwrap_or(""));
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = after;
            continue;
        }
        let (name, after) = after.split_once('}').filter(|(name, _)| is_name(name)).ok_or(VariableError::Syntax)?;
        let value = variables(name).filter(|value| !value.is_empty());
        expanded.push_str(before);
        expanded.push_str(&value.ok_or_else(|| VariableError::Unset(name.to_owned()))?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// A name by POSIX: letters, digits and underscores, no digit first.
fn is_name(name: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
    name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') && name.chars().all(is_part)
}
