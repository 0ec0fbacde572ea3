//! From SQL text to a predicate bound to columns.

use iceberg::spec::{NestedFieldRef, PrimitiveType, Schema, StructType, Type};
use sqlparser::{
    ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value},
    dialect::GenericDialect,
    parser::Parser,
    tokenizer::Token,
};

use super::{Column, Comparison, Predicate, Test, literal::Literal};
use crate::error::{Error, Result};

pub(super) fn parse(sql: &str, schema: &Schema) -> Result<Predicate> {
    let syntax = |e| invalid(format!("{sql:?} is not an SQL predicate: {e}"));
    let mut parser = Parser::new(&GenericDialect {}).try_with_sql(sql).map_err(syntax)?;
    let expr = parser.parse_expr().map_err(syntax)?;
    match parser.peek_token().token {
        Token::EOF => Binder { schema }.bind(&expr, false),
        token => Err(invalid(format!("{sql:?} is not an SQL predicate: {token} comes after its end"))),
    }
}

pub(super) fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("where: {reason}"))
}

struct Binder<'a> {
    schema: &'a Schema,
}

impl Binder<'_> {
    /// The predicate of `expr`, or of its negation.
    fn bind(&self, expr: &Expr, negated: bool) -> Result<Predicate> {
        match expr {
            Expr::Nested(inner) => self.bind(inner, negated),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.bind(expr, !negated),
            Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } => {
                let parts =
                    operands(expr, op).into_iter().map(|part| self.bind(part, negated)).collect::<Result<_>>()?;
                // De Morgan: the negation of a conjunction is the disjunction of the negations.
                Ok(if (*op == BinaryOperator::And) == negated { Predicate::Any(parts) } else { Predicate::All(parts) })
            }
            Expr::BinaryOp { left, op, right } => self.comparison(left, op, right, negated),
            Expr::IsNull(inner) => self.null_test(inner, !negated),
            Expr::IsNotNull(inner) => self.null_test(inner, negated),
            Expr::InList { expr, list, negated: not } => self.in_list(expr, list, negated != *not),
            Expr::Between { expr, negated: not, low, high } => {
                let below = self.comparison(expr, &BinaryOperator::GtEq, low, negated != *not)?;
                let above = self.comparison(expr, &BinaryOperator::LtEq, high, negated != *not)?;
                let parts = vec![below, above];
                Ok(if negated != *not { Predicate::Any(parts) } else { Predicate::All(parts) })
            }
            Expr::Like { negated: not, any: false, expr, pattern, escape_char: None } => {
                self.like(expr, pattern, negated != *not)
            }
            Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => {
                Ok(Predicate::Constant((value.value == Value::Boolean(true)) != negated))
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self.flag(expr, negated),
            _ => Err(unsupported(expr)),
        }
    }

    fn comparison(&self, left: &Expr, op: &BinaryOperator, right: &Expr, negated: bool) -> Result<Predicate> {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        let (column, literal, flipped) = match (self.column(left)?, self.column(right)?) {
            (Some(column), None) => (column, Literal::new(right)?, false),
            (None, Some(column)) => (column, Literal::new(left)?, true),
            _ => return Err(invalid(format!("{left} {op} {right} does not compare a column with a literal"))),
        };
        // `None` stands for "not equal".
        let comparison = match (op, negated) {
            (BinaryOperator::Eq, false) | (BinaryOperator::NotEq, true) => Some(Equal),
            (BinaryOperator::NotEq, false) | (BinaryOperator::Eq, true) => None,
            (BinaryOperator::Lt, false) | (BinaryOperator::GtEq, true) => Some(if flipped { Greater } else { Less }),
            (BinaryOperator::LtEq, false) | (BinaryOperator::Gt, true) => {
                Some(if flipped { GreaterOrEqual } else { LessOrEqual })
            }
            (BinaryOperator::Gt, false) | (BinaryOperator::LtEq, true) => Some(if flipped { Less } else { Greater }),
            (BinaryOperator::GtEq, false) | (BinaryOperator::Lt, true) => {
                Some(if flipped { LessOrEqual } else { GreaterOrEqual })
            }
            _ => return Err(invalid(format!("operator {op} is not supported; use =, <>, <, <=, > or >="))),
        };
        let Some(value) = literal.value_for(&column)? else { return Ok(Predicate::Constant(false)) };
        let test = comparison.map_or(Test::NotNull, |comparison| Test::Compare(comparison, value));
        Ok(Predicate::Test(column, test))
    }

    fn null_test(&self, expr: &Expr, wants_null: bool) -> Result<Predicate> {
        let test = if wants_null { Test::IsNull } else { Test::NotNull };
        Ok(Predicate::Test(self.required_column(expr)?, test))
    }

    fn in_list(&self, expr: &Expr, list: &[Expr], negated: bool) -> Result<Predicate> {
        let column = self.required_column(expr)?;
        let values = list.iter().map(|item| Literal::new(item)?.value_for(&column)).collect::<Result<Vec<_>>>()?;
        if negated {
            // Beside a NULL, nothing is known to be outside the list.
            let with_null = values.iter().any(Option::is_none);
            return Ok(if with_null { Predicate::Constant(false) } else { Predicate::Test(column, Test::NotNull) });
        }
        Ok(Predicate::Test(column, Test::In(values.into_iter().flatten().collect())))
    }

    fn like(&self, expr: &Expr, pattern: &Expr, negated: bool) -> Result<Predicate> {
        let column = self.required_column(expr)?;
        if column.data_type != PrimitiveType::String {
            return Err(invalid(format!("LIKE needs a string column; {} is a {}", column.name, column.data_type)));
        }
        let literal = Literal::new(pattern)?;
        let Some(pattern) = literal.text() else { return Ok(Predicate::Constant(false)) };
        let prefix = pattern.strip_suffix('%');
        if prefix.unwrap_or(pattern).contains(['%', '_', '\\']) {
            return Err(invalid(format!("LIKE '{pattern}' is not supported; only a prefix followed by % is")));
        }
        Ok(match (negated, prefix) {
            (true, _) => Predicate::Test(column, Test::NotNull),
            (false, Some(prefix)) => Predicate::Test(column, Test::StartsWith(prefix.to_owned())),
            (false, None) => {
                let value = iceberg::spec::Datum::string(pattern);
                Predicate::Test(column, Test::Compare(Comparison::Equal, value))
            }
        })
    }

    /// A boolean column used as a predicate.
    fn flag(&self, expr: &Expr, negated: bool) -> Result<Predicate> {
        let column = self.required_column(expr)?;
        if column.data_type != PrimitiveType::Boolean {
            return Err(invalid(format!("column {} is a {}, not a predicate", column.name, column.data_type)));
        }
        let value = iceberg::spec::Datum::bool(!negated);
        Ok(Predicate::Test(column, Test::Compare(Comparison::Equal, value)))
    }

    fn required_column(&self, expr: &Expr) -> Result<Column> {
        self.column(expr)?.ok_or_else(|| invalid(format!("{expr} is not a column")))
    }

    /// The column that `expr` names; `None` when it names none.
    fn column(&self, expr: &Expr) -> Result<Option<Column>> {
        match expr {
            Expr::Nested(inner) => self.column(inner),
            Expr::Identifier(name) => self.resolve(std::slice::from_ref(name)).map(Some),
            Expr::CompoundIdentifier(path) => self.resolve(path).map(Some),
            _ => Ok(None),
        }
    }

    fn resolve(&self, path: &[Ident]) -> Result<Column> {
        let name = path.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        let mut fields = self.schema.as_struct();
        let mut parts = path.iter().peekable();
        while let Some(part) = parts.next() {
            let field = find(fields, &part.value, &name)?;
            match (field.field_type.as_ref(), parts.peek()) {
                (Type::Struct(inner), Some(_)) => fields = inner,
                (Type::Primitive(data_type), None) => {
                    return Ok(Column { id: field.id, name, data_type: data_type.clone() });
                }
                (_, Some(next)) => return Err(invalid(format!("{} has no field {next}", field.name))),
                (_, None) => {
                    return Err(invalid(format!("column {name} is nested; only its primitive fields compare")));
                }
            }
        }
        Err(invalid(format!("there is no column {name}")))
    }
}

fn find<'a>(fields: &'a StructType, part: &str, name: &str) -> Result<&'a NestedFieldRef> {
    let fields = fields.fields();
    if let Some(exact) = fields.iter().find(|field| field.name == part) {
        return Ok(exact);
    }
    let mut alike = fields.iter().filter(|field| field.name.to_lowercase() == part.to_lowercase());
    match (alike.next(), alike.next()) {
        (Some(field), None) => Ok(field),
        (Some(one), Some(other)) => {
            Err(invalid(format!("column {name} could be {} or {}: write its exact name", one.name, other.name)))
        }
        (None, _) => {
            let known = fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
            Err(invalid(format!("there is no column {name}; there are {known}")))
        }
    }
}

/// The operands of a chain of one operator. A loop, because chains can be long and nest to the left.
fn operands<'a>(mut expr: &'a Expr, chained: &BinaryOperator) -> Vec<&'a Expr> {
    let mut operands = Vec::new();
    while let Expr::BinaryOp { left, op, right } = expr
        && op == chained
    {
        operands.push(right.as_ref());
        expr = left;
    }
    operands.push(expr);
    operands.reverse();
    operands
}

fn unsupported(expr: &Expr) -> Error {
    invalid(format!(
        "{expr} is not supported; use comparisons, AND, OR, NOT, IN, BETWEEN, IS [NOT] NULL and LIKE 'prefix%'"
    ))
}
