//! SQL literals as values of a column.

use iceberg::spec::{Datum, PrimitiveType};
use sqlparser::ast::{Expr, UnaryOperator, Value};

use super::{Column, parse::invalid};
use crate::error::Result;

/// A literal before it is known which column it is compared with.
pub(super) enum Literal {
    Null,
    Boolean(bool),
    Number(String),
    Text(String),
}

impl Literal {
    /// The literal that `expr` is: plain, signed, or with a type in front (`DATE '…'`, `CAST('…' AS …)`), which the
    /// column decides anyway.
    pub(super) fn new(expr: &Expr) -> Result<Self> {
        match expr {
            Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => Self::new(inner),
            Expr::TypedString(typed) => Self::of_value(&typed.value.value, expr),
            Expr::Value(value) => Self::of_value(&value.value, expr),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => match Self::new(inner)? {
                Self::Number(digits) if !digits.starts_with('-') => Ok(Self::Number(format!("-{digits}"))),
                _ => Err(invalid(format!("{expr} is not a literal"))),
            },
            Expr::UnaryOp { op: UnaryOperator::Plus, expr: inner } => Self::new(inner),
            _ => Err(invalid(format!("{expr} is not a literal"))),
        }
    }

    fn of_value(value: &Value, expr: &Expr) -> Result<Self> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Boolean(value) => Ok(Self::Boolean(*value)),
            Value::Number(digits, _) => Ok(Self::Number(digits.clone())),
            Value::SingleQuotedString(text) => Ok(Self::Text(text.clone())),
            Value::HexStringLiteral(digits) => Ok(Self::Text(digits.clone())),
            _ => Err(invalid(format!("{expr} is not a literal that a column compares with"))),
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The literal as a value of `column`; `None` for NULL.
    pub(super) fn value_for(&self, column: &Column) -> Result<Option<Datum>> {
        let (text, quoted) = match self {
            Self::Null => return Ok(None),
            Self::Boolean(value) => (if *value { "true" } else { "false" }, false),
            Self::Number(digits) => (digits.as_str(), false),
            Self::Text(text) => (text.as_str(), true),
        };
        let is_number = matches!(self, Self::Number(_));
        let value = match &column.data_type {
            PrimitiveType::Boolean if !is_number => text.to_lowercase().parse().ok().map(Datum::bool::<bool>),
            PrimitiveType::String if quoted => Some(Datum::string(text)),
            data_type if is_number == is_numeric(data_type) || quoted => parse(data_type, text.trim()),
            _ => None,
        };
        let quote = if quoted { "'" } else { "" };
        let fits = value.ok_or_else(|| {
            invalid(format!("{quote}{text}{quote} is not a {} like column {}", column.data_type, column.name))
        });
        fits.map(Some)
    }
}

fn is_numeric(data_type: &PrimitiveType) -> bool {
    use PrimitiveType::{Decimal, Double, Float, Int, Long};
    matches!(data_type, Int | Long | Float | Double | Decimal { .. })
}

fn parse(data_type: &PrimitiveType, text: &str) -> Option<Datum> {
    match data_type {
        PrimitiveType::Int => text.parse().ok().map(Datum::int::<i32>),
        PrimitiveType::Long => text.parse().ok().map(Datum::long::<i64>),
        PrimitiveType::Float => text.parse().ok().filter(|v: &f32| !v.is_nan()).map(Datum::float::<f32>),
        PrimitiveType::Double => text.parse().ok().filter(|v: &f64| !v.is_nan()).map(Datum::double::<f64>),
        PrimitiveType::Decimal { scale, .. } => {
            let unscaled = unscaled(text, *scale)?;
            Datum::try_from_bytes(&unscaled.to_be_bytes(), data_type.clone()).ok()
        }
        PrimitiveType::Date => Datum::date_from_str(text).ok(),
        PrimitiveType::Time => Datum::time_from_str(text).ok(),
        PrimitiveType::Timestamp | PrimitiveType::TimestampNs => {
            let text = with_time(text);
            let zoned = text.rfind(['Z', '+', '-']).is_some_and(|at| text.find('T').is_some_and(|time| at > time));
            let value = if zoned { None } else { Datum::timestamp_from_str(&text).ok() };
            value.and_then(|value| to_precision(data_type, value, &text))
        }
        PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs => {
            let text = with_time(text);
            let value = Datum::timestamptz_from_str(&text).or_else(|_| Datum::timestamptz_from_str(format!("{text}Z")));
            to_precision(data_type, value.ok()?, &text)
        }
        PrimitiveType::Uuid => Datum::uuid_from_str(text).ok(),
        PrimitiveType::Fixed(size) => {
            let bytes = bytes_of_hex(text)?;
            (bytes.len() as u64 == *size).then(|| Datum::fixed(bytes))
        }
        PrimitiveType::Binary => bytes_of_hex(text).map(Datum::binary),
        PrimitiveType::Boolean | PrimitiveType::String => None,
    }
}

/// The unscaled value of a decimal; `None` when it has more digits than the scale keeps.
fn unscaled(text: &str, scale: u32) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = (scale as usize).checked_sub(fraction.len())?;
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{whole}{fraction}{}", "0".repeat(zeros)).parse().ok()
}

/// A date alone is its midnight; SQL separates date and time by a blank, ISO 8601 by a T.
fn with_time(text: &str) -> String {
    if text.len() == "2024-01-31".len() { format!("{text}T00:00:00") } else { text.replacen(' ', "T", 1) }
}

/// `micros`, read from `text`, in the unit of the column.
fn to_precision(data_type: &PrimitiveType, micros: Datum, text: &str) -> Option<Datum> {
    let iceberg::spec::PrimitiveLiteral::Long(value) = *micros.literal() else { return None };
    let nanos = || {
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        let digits = fraction.chars().take_while(char::is_ascii_digit).skip(6).take(3);
        let below_micros: i64 = format!("{:0<3}", digits.collect::<String>()).parse().ok()?;
        value.checked_mul(1_000)?.checked_add(below_micros)
    };
    match data_type {
        PrimitiveType::TimestampNs => nanos().map(Datum::timestamp_nanos),
        PrimitiveType::TimestamptzNs => nanos().map(Datum::timestamptz_nanos),
        _ => Some(micros),
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}
