//! Values with where they stand: TOML with lines, key paths and variables filled in.

use std::{collections::BTreeMap, fmt};

use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

use super::{
    problem::{Problem, Report, Severity},
    variables::{Variables, expand},
};

/// A table of values by key.
pub(super) type Table = BTreeMap<String, Node>;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The line of the file, from 1; none for table properties.
    pub(super) line: Option<usize>,
    /// The whole path of its key, or the name of the table property.
    pub(super) key: String,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Flag(bool),
    Integer(i64),
    Decimal(f64),
    Text(Text),
    List(Vec<Node>),
    Table(Table),
    /// Dates and times, which no setting is.
    Time,
    /// What is known to be wrong and reported; readers take it for absent.
    Broken,
}

/// A text as its author wrote it and as it is meant.
#[derive(Clone)]
pub(super) struct Text {
    /// With variables by name: the only form that messages may show.
    pub(super) written: String,
    /// With the values of variables.
    pub(super) meant: String,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }
}

impl Node {
    /// What the value is, for people.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Flag(_) => "true or false",
            Value::Integer(_) => "a whole number",
            Value::Decimal(_) => "a number with a fraction",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Time => "a date or time",
            Value::Broken => "unreadable",
        }
    }
}

/// Parses a whole file. What is no TOML is one problem for each place, and then there is no table.
pub(super) fn parse(text: &str, variables: Variables<'_>, report: &mut Report) -> Option<Table> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let lines = Lines::new(text);
    for error in &errors {
        report.add(Problem {
            line: error.span().map(|span| lines.line(span.start)),
            key: String::new(),
            severity: Severity::Error,
            // Only the message: the error's `Display` quotes the line, which may hold a secret.
            problem: format!("this is no TOML: {}", error.message().replace('\n', ", ")),
            help: "correct the line; nothing else of the file was checked".to_owned(),
        });
    }
    errors.is_empty().then(|| {
        let mut reader = Reader { line: &|at| Some(lines.line(at)), variables: Some(variables), report };
        reader.table("", document.get_ref())
    })
}

/// A table property's text as a value: TOML when it reads as such, else text as it stands. Variables stay unfilled: owners of
/// tables must not read Firn's environment.
pub(super) fn from_property(name: &str, text: &str, report: &mut Report) -> Node {
    let mut reader = Reader { line: &|_| None, variables: None, report };
    let value = match DeValue::parse(text.trim()) {
        Ok(value) => reader.value(name, value.get_ref(), None),
        Err(_) => Value::Text(Text { written: text.to_owned(), meant: text.trim().to_owned() }),
    };
    Node { line: None, key: name.to_owned(), value }
}

struct Reader<'a> {
    line: &'a dyn Fn(usize) -> Option<usize>,
    variables: Option<Variables<'a>>,
    report: &'a mut Report,
}

impl Reader<'_> {
    fn table(&mut self, path: &str, table: &DeTable<'_>) -> Table {
        let mut nodes = Table::new();
        for (key, value) in table {
            let line = (self.line)(key.span().start);
            let path = join(path, key.get_ref());
            let value = self.value(&path, value.get_ref(), line);
            nodes.insert(key.get_ref().to_string(), Node { line, key: path, value });
        }
        nodes
    }

    fn value(&mut self, path: &str, value: &DeValue<'_>, line: Option<usize>) -> Value {
        match value {
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Integer(number) => integer(number).map_or_else(|| self.too_large(path, line), Value::Integer),
            DeValue::Float(number) => number.as_str().parse().map_or(Value::Broken, Value::Decimal),
            DeValue::String(text) => self.text(path, text, line),
            DeValue::Array(list) => Value::List(list.iter().map(|item| self.item(path, item)).collect()),
            DeValue::Table(table) => Value::Table(self.table(path, table)),
            DeValue::Datetime(_) => Value::Time,
        }
    }

    fn item(&mut self, path: &str, item: &Spanned<DeValue<'_>>) -> Node {
        let line = (self.line)(item.span().start);
        let value = self.value(path, item.get_ref(), line);
        Node { line, key: path.to_owned(), value }
    }

    fn text(&mut self, path: &str, written: &str, line: Option<usize>) -> Value {
        let meant = match self.variables.map(|variables| expand(written, variables)) {
            None => written.to_owned(),
            Some(Ok(meant)) => meant,
            Some(Err(error)) => return self.broken(path, line, error.to_string(), error.help()),
        };
        Value::Text(Text { written: written.to_owned(), meant })
    }

    fn too_large(&mut self, path: &str, line: Option<usize>) -> Value {
        self.broken(path, line, "the number is too large".to_owned(), format!("at most {} can be written", i64::MAX))
    }

    fn broken(&mut self, path: &str, line: Option<usize>, problem: String, help: String) -> Value {
        self.report.add(Problem { line, key: path.to_owned(), severity: Severity::Error, problem, help });
        Value::Broken
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// `key` below `path`, in quotes where TOML wants them.
pub(super) fn join(path: &str, key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-');
    let key = if is_bare { key.to_owned() } else { format!("{key:?}") };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// Where lines start.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line of byte `at`, from 1.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }
}
