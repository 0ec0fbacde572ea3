//! Single values as JSON (Iceberg spec, Appendix D, "JSON single-value serialization").

use iceberg::spec::{PrimitiveLiteral, PrimitiveType};
use serde_json::{Number, Value};

const MICROS_PER_SECOND: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// `literal` in JSON, written as a value of `data_type` where that fits it and by its own kind otherwise. `None` for a
/// literal that has no value.
///
/// Integers and floats are widened, so that a tuple reads the same before and after a promotion of its column.
pub(crate) fn to_json(data_type: Option<&PrimitiveType>, literal: &PrimitiveLiteral) -> Option<Value> {
    Some(match literal {
        PrimitiveLiteral::Boolean(value) => Value::Bool(*value),
        PrimitiveLiteral::Int(value) => match data_type {
            Some(PrimitiveType::Date) => Value::String(date(i64::from(*value))),
            _ => Value::from(*value),
        },
        PrimitiveLiteral::Long(value) => long(data_type, *value),
        PrimitiveLiteral::Float(value) => float(f64::from(value.0)),
        PrimitiveLiteral::Double(value) => float(value.0),
        PrimitiveLiteral::String(value) => Value::String(value.clone()),
        PrimitiveLiteral::Binary(value) => Value::String(hex(value)),
        PrimitiveLiteral::UInt128(value) => Value::String(uuid::Uuid::from_u128(*value).to_string()),
        PrimitiveLiteral::Int128(value) => match data_type {
            Some(PrimitiveType::Decimal { scale, .. }) => Value::String(decimal(*value, *scale)),
            _ => Value::String(value.to_string()),
        },
        PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin => return None,
    })
}

fn long(data_type: Option<&PrimitiveType>, value: i64) -> Value {
    Value::String(match data_type {
        Some(PrimitiveType::Time) => time(value, MICROS_PER_SECOND),
        Some(PrimitiveType::Timestamp) => timestamp(value, MICROS_PER_SECOND),
        Some(PrimitiveType::Timestamptz) => timestamp(value, MICROS_PER_SECOND) + "+00:00",
        Some(PrimitiveType::TimestampNs) => timestamp(value, NANOS_PER_SECOND),
        Some(PrimitiveType::TimestamptzNs) => timestamp(value, NANOS_PER_SECOND) + "+00:00",
        _ => return Value::from(value),
    })
}

fn float(value: f64) -> Value {
    // JSON numbers have no NaN and no infinities, and most parsers read -0.0 as 0.
    if value.is_nan() {
        "NaN".into()
    } else if value == f64::INFINITY {
        "Infinity".into()
    } else if value == f64::NEG_INFINITY {
        "-Infinity".into()
    } else if value == 0.0 && value.is_sign_negative() {
        "-0.0".into()
    } else {
        Number::from_f64(value).map_or(Value::Null, Value::Number)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An unscaled value with its decimal point, all digits of the scale kept: 1420 at scale 2 is `14.20`.
pub(crate) fn decimal(unscaled: i128, scale: u32) -> String {
    let scale = scale as usize;
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// Days since 1970-01-01 as `YYYY-MM-DD`, in the proleptic Gregorian calendar.
pub fn date(days: i64) -> String {
    // Counted in 400-year eras that start on a 1 March, so that the leap day is the last day of its year.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(value: i64, units_per_second: i64) -> String {
    let (seconds, fraction) = (value.div_euclid(units_per_second), value.rem_euclid(units_per_second));
    let width = units_per_second.ilog10() as usize;
    format!("{:02}:{:02}:{:02}.{fraction:0width$}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

fn timestamp(value: i64, units_per_second: i64) -> String {
    let units_per_day = units_per_second * SECONDS_PER_DAY;
    let day = date(value.div_euclid(units_per_day));
    format!("{day}T{}", time(value.rem_euclid(units_per_day), units_per_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(data_type: PrimitiveType, literal: PrimitiveLiteral) -> Value {
        to_json(Some(&data_type), &literal).unwrap()
    }

    // The examples of the spec's table, Appendix D.
    #[test]
    fn values_are_written_as_the_spec_shows() {
        use PrimitiveLiteral::{Binary, Int, Int128, Long, UInt128};
        assert_eq!(json(PrimitiveType::Date, Int(17_486)), "2017-11-16");
        assert_eq!(json(PrimitiveType::Time, Long(81_068_123_456)), "22:31:08.123456");
        let micros = 17_486 * SECONDS_PER_DAY * MICROS_PER_SECOND + 81_068_123_456;
        assert_eq!(json(PrimitiveType::Timestamp, Long(micros)), "2017-11-16T22:31:08.123456");
        assert_eq!(json(PrimitiveType::Timestamptz, Long(micros)), "2017-11-16T22:31:08.123456+00:00");
        let nanos = micros * 1_000 + 789;
        assert_eq!(json(PrimitiveType::TimestampNs, Long(nanos)), "2017-11-16T22:31:08.123456789");
        assert_eq!(json(PrimitiveType::TimestamptzNs, Long(nanos)), "2017-11-16T22:31:08.123456789+00:00");
        let uuid = 0xf79c_3e09_677c_4bbd_a479_3f34_9cb7_85e7;
        assert_eq!(json(PrimitiveType::Uuid, UInt128(uuid)), "f79c3e09-677c-4bbd-a479-3f349cb785e7");
        assert_eq!(json(PrimitiveType::Fixed(4), Binary(vec![0, 1, 2, 255])), "000102ff");
        assert_eq!(json(PrimitiveType::Decimal { precision: 9, scale: 2 }, Int128(1_420)), "14.20");
    }

    #[test]
    fn dates_before_the_epoch_and_leap_days_are_right() {
        for (days, text) in [(-1, "1969-12-31"), (0, "1970-01-01"), (11_016, "2000-02-29"), (-719_468, "0000-03-01")] {
            assert_eq!(date(days), text);
        }
        assert_eq!(timestamp(-1, MICROS_PER_SECOND), "1969-12-31T23:59:59.999999");
    }

    #[test]
    fn the_extremes_of_every_kind_are_written_without_a_panic() {
        for value in [i64::MIN, i64::MAX] {
            for data_type in [PrimitiveType::Time, PrimitiveType::Timestamp, PrimitiveType::TimestamptzNs] {
                json(data_type, PrimitiveLiteral::Long(value));
            }
        }
        json(PrimitiveType::Date, PrimitiveLiteral::Int(i32::MIN));
        json(PrimitiveType::Decimal { precision: 38, scale: 38 }, PrimitiveLiteral::Int128(i128::MIN));
    }

    #[test]
    fn decimals_keep_sign_and_digits() {
        for (unscaled, scale, text) in [(-5, 2, "-0.05"), (0, 2, "0.00"), (7, 0, "7"), (123_456, 3, "123.456")] {
            assert_eq!(decimal(unscaled, scale), text);
        }
    }

    #[test]
    fn floats_that_json_numbers_cannot_carry_are_strings() {
        for (value, text) in
            [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity"), (-0.0, "-0.0")]
        {
            assert_eq!(float(value), text);
        }
        assert_eq!(float(0.5), 0.5);
        assert_eq!(float(0.0), 0.0);
    }
}
