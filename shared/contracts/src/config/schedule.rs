//! Times of day: cron expressions and time zones.

use std::{fmt, str::FromStr};

use chrono::{NaiveDate, NaiveDateTime};
use chrono_tz::Tz;
use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use serde::{Serialize, Serializer};

use super::block::Block;

/// Runs looked at for the shortest pause between two: more than a year of daily ones.
const RUNS_LOOKED_AT: usize = 400;
/// Characters of a cron expression, at most: none that is meant needs more, and the work of reading one grows with it.
const LENGTH_MAX: usize = 200;

/// A cron expression of five fields: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday), as in crontab(5).
#[derive(Clone)]
pub struct Schedule {
    text: String,
    cron: Cron,
}

impl Schedule {
    /// The expression, ready to be asked for times in a zone.
    #[must_use]
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The shortest time between two runs in seconds, where no clock is turned back; `None` when there are no two.
    #[must_use]
    pub fn shortest_pause_s(&self) -> Option<u64> {
        let mut times = self.cron.iter_after(start()?).take(RUNS_LOOKED_AT);
        let mut last = times.next()?;
        let mut shortest: Option<u64> = None;
        for time in times {
            let pause = u64::try_from((time - last).num_seconds()).unwrap_or(0);
            shortest = Some(shortest.map_or(pause, |it| it.min(pause)));
            last = time;
        }
        shortest
    }
}

/// Any Monday at midnight.
fn start() -> Option<NaiveDateTime> {
    NaiveDate::from_ymd_opt(2024, 1, 1).and_then(|day| day.and_hms_opt(0, 0, 0))
}

/// A text that is no cron expression, or one that never comes true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Not five fields, or fields that crontab(5) does not have.
    #[error("is no cron expression ({0})")]
    Syntax(String),
    /// Such as 30 February.
    #[error("is a time that never comes")]
    Never,
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || " *,-/#".contains(it);
        let fields = text.split_whitespace().count();
        if text.len() > LENGTH_MAX || !text.chars().all(is_plain) || fields != 5 {
            return Err(ScheduleError::Syntax("five fields, such as 0 2 * * * for two o'clock every day".to_owned()));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|error| ScheduleError::Syntax(error.to_string()))?;
        let start = start().ok_or(ScheduleError::Never)?;
        cron.find_next_occurrence(&start, true).map_err(|_| ScheduleError::Never)?;
        Ok(Self { text: text.to_owned(), cron })
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.text)
    }
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// What to do about a broken cron expression.
const CRON_HELP: &str = "write minute, hour, day, month and weekday as in crontab, such as \"0 2 * * *\"";

/// The cron expression at `key`.
pub(super) fn schedule(block: &mut Block<'_>, key: &str) -> Option<Schedule> {
    block.parsed(key, |text| text.parse().map_err(|error: ScheduleError| (error.to_string(), CRON_HELP.to_owned())))
}

/// The time zone at `time_zone`, by its name in the IANA database.
pub(super) fn time_zone(block: &mut Block<'_>) -> Tz {
    let help = "write a name of the IANA time zone database, such as \"UTC\" or \"Europe/Berlin\"";
    let read = |text: &str| text.parse().map_err(|_| ("is no time zone".to_owned(), help.to_owned()));
    block.parsed("time_zone", read).unwrap_or(Tz::UTC)
}

/// Time zones serialise by name.
pub(super) fn zone_name<S: Serializer>(zone: &Tz, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(zone.name())
}
