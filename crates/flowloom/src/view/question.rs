//! What can be asked: the path and query of a URL, read with bounds.

use std::borrow::Cow;
use std::ops::Range;

use flowloom_core::time::Duration;
use flowloom_monitor::MOST_LAGS;
use flowloom_store::monitor::{date_ns, utc_ns};
use percent_encoding::percent_decode_str;

use crate::error::{Error, nearest};

/// Points of each series in an answer, at most.
pub const MOST_POINTS: usize = 4_000;

/// Series of one question at most.
pub const MOST_SERIES: usize = 32;

/// Runs of one comparison at most.
pub const MOST_RUNS: usize = 32;

/// Characters of a query at most.
const MOST_LETTERS: usize = 8_192;

/// Fields of a query at most.
const MOST_FIELDS: usize = 128;

/// The longest period, in days.
const MOST_DAYS: u64 = 400;

/// A day in nanoseconds.
const DAY: u64 = 86_400_000_000_000;

/// Series of a monitor in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The folder of the monitor.
    pub monitor: String,
    /// The numbers of the series.
    pub series: Vec<u32>,
    /// The period, in nanoseconds since 1970 UTC.
    pub period_ns: Range<u64>,
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// What there is: `/api/folders`.
    Folders,
    /// The series of a monitor: `/api/monitor`.
    Monitor {
        /// The folder of the monitor, as the list of folders has it.
        monitor: String,
    },
    /// Series in a period: `/api/period`, and `/api/period.csv`.
    Period {
        /// Which.
        span: Span,
        /// Points of each, at most.
        points: usize,
        /// The width of the intervals of the percentile.
        percentile_ns: Option<u64>,
        /// Whether the series are added too.
        sum: bool,
        /// Whether the answer is CSV.
        csv: bool,
    },
    /// Days at a glance: `/api/days`.
    Days {
        /// Which.
        span: Span,
        /// How long after midnight UTC days begin, in nanoseconds.
        offset_ns: i64,
        /// When each of them begins, in order, where clocks change; empty if the offset says it.
        days_ns: Vec<u64>,
    },
    /// How far two series go together: `/api/correlation`.
    Correlation {
        /// Which: two series.
        span: Span,
        /// The width of the bins.
        width_ns: u64,
        /// Bins to shift by, to each side.
        lags: u64,
    },
    /// Times above a threshold: `/api/bursts`.
    Bursts {
        /// Which: one series.
        span: Span,
        /// The threshold in millionths of a unit (per second).
        above: u64,
    },
    /// Runs and notes as periods: `/api/marks`.
    Marks {
        /// The period, in nanoseconds since 1970 UTC.
        period_ns: Range<u64>,
    },
    /// Sites and links with their load: `/api/map`.
    Map {
        /// The registry.
        registry: String,
        /// The folder of the monitor.
        monitor: String,
        /// The period of the load, in nanoseconds since 1970 UTC.
        period_ns: Range<u64>,
        /// As of when the topology is.
        at_ns: u64,
    },
    /// Runs: `/api/runs`.
    Runs {
        /// Words that all must be found; empty for all.
        search: String,
        /// A tag that it must have.
        tag: Option<String>,
    },
    /// One run: `/api/run`.
    Run {
        /// The folder of the run, as the list of runs has it.
        run: String,
    },
    /// Runs beside each other, as `flowloom compare`: `/api/compare`.
    Compare {
        /// The folders of the runs, the reference first.
        runs: Vec<String>,
    },
    /// Runs under way: `/api/running`.
    Running,
    /// One of them, followed to its end: `/api/events`.
    Follow {
        /// The folder of the run, as the list of runs under way has it.
        run: String,
    },
    /// A sweep: `/api/sweep`.
    Sweep {
        /// The folder of the sweep, as the list of folders has it.
        sweep: String,
    },
    /// The report of a run or sweep, a page: `/report`.
    Report {
        /// The folder of the run or the sweep.
        folder: String,
    },
}

/// The paths that are answered.
const PATHS: [&str; 15] = [
    "/api/folders",
    "/api/monitor",
    "/api/period",
    "/api/period.csv",
    "/api/days",
    "/api/correlation",
    "/api/bursts",
    "/api/marks",
    "/api/map",
    "/api/runs",
    "/api/run",
    "/api/running",
    "/api/events",
    "/api/compare",
    "/api/sweep",
];

impl Question {
    /// Reads the path and the query of a URL. `None`: nothing has this path.
    ///
    /// # Errors
    /// A field is missing, unknown, given twice, or cannot be.
    pub fn parse(path: &str, query: &str) -> Option<Result<Question, Error>> {
        let is_known = PATHS.contains(&path) || path == "/report";
        is_known.then(|| {
            let mut fields = Fields::read(query)?;
            let question = read(path, &mut fields)?;
            fields.end()?;
            Ok(question)
        })
    }
}

/// Something that is asked for and is no question: a run is to stop. Its path is [`StopRequest::PATH`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopRequest {
    /// The folder of the run.
    pub run: String,
}

impl StopRequest {
    /// The path that it is posted to.
    pub const PATH: &str = "/api/stop";

    /// Reads the query of a URL.
    ///
    /// # Errors
    /// A field is missing, unknown, given twice, or cannot be.
    pub fn parse(query: &str) -> Result<StopRequest, Error> {
        let mut fields = Fields::read(query)?;
        let request = StopRequest { run: fields.one("run")? };
        fields.end()?;
        Ok(request)
    }
}

fn read(path: &str, fields: &mut Fields<'_>) -> Result<Question, Error> {
    Ok(match path {
        "/api/folders" => Question::Folders,
        "/api/monitor" => Question::Monitor { monitor: fields.one("monitor")? },
        "/api/period" | "/api/period.csv" => Question::Period {
            span: span(fields, MOST_SERIES)?,
            points: fields.number("points", 1..=MOST_POINTS as u64)?.unwrap_or(1_000) as usize,
            percentile_ns: fields.duration("percentile")?,
            sum: path == "/api/period" && fields.flag("sum")?,
            csv: path.ends_with(".csv"),
        },
        "/api/days" => {
            let span = span(fields, MOST_SERIES)?;
            let minutes = fields.signed("offset", -1_440..=1_440)?.unwrap_or(0);
            let days_ns =
                fields.all("day").iter().map(|text| time("day", text)).collect::<Result<Vec<u64>, Error>>()?;
            if !days_ns.is_sorted_by(|one, next| one < next)
                || days_ns.first().is_some_and(|day| *day > span.period_ns.start)
            {
                return Err(Error::usage(
                    "day: days begin one after the other, the first one before the period or with it",
                ));
            }
            Question::Days { span, offset_ns: minutes * 60_000_000_000, days_ns }
        }
        "/api/correlation" => {
            let span = span(fields, 2)?;
            if span.series.len() != 2 {
                return Err(Error::usage("a correlation is of two series").hint("give series twice"));
            }
            let length = span.period_ns.end - span.period_ns.start;
            Question::Correlation {
                width_ns: fields.duration("width")?.unwrap_or(length / 500).max(1),
                lags: fields.number("lags", 0..=MOST_LAGS)?.unwrap_or(30),
                span,
            }
        }
        "/api/bursts" => {
            let above = fields.one("above")?;
            let value: Option<f64> = above.parse().ok().filter(|value| (0.0..=9e12).contains(value));
            let wrong = || Error::usage(format_args!("above: {above:?} is no number of units from 0 to 9e12"));
            Question::Bursts { above: (value.ok_or_else(wrong)? * 1e6).round() as u64, span: span(fields, 1)? }
        }
        "/api/marks" => Question::Marks { period_ns: period(fields)? },
        "/api/map" => {
            let period_ns = period(fields)?;
            let at_ns = fields.time("at")?.unwrap_or(period_ns.end);
            Question::Map { registry: fields.one("registry")?, monitor: fields.one("monitor")?, period_ns, at_ns }
        }
        "/api/runs" => {
            Question::Runs { search: fields.maybe("search")?.unwrap_or_default(), tag: fields.maybe("tag")? }
        }
        "/api/run" => Question::Run { run: fields.one("run")? },
        "/api/running" => Question::Running,
        "/api/events" => Question::Follow { run: fields.one("run")? },
        "/api/compare" => {
            let runs = fields.all("run");
            if runs.is_empty() || runs.len() > MOST_RUNS {
                return Err(Error::usage(format_args!("1 to {MOST_RUNS} runs can be compared, not {}", runs.len())));
            }
            Question::Compare { runs }
        }
        "/api/sweep" => Question::Sweep { sweep: fields.one("sweep")? },
        _ => Question::Report { folder: fields.one("folder")? },
    })
}

fn span(fields: &mut Fields<'_>, most: usize) -> Result<Span, Error> {
    let monitor = fields.one("monitor")?;
    let number = |text: String| {
        text.parse().map_err(|_| Error::usage(format_args!("series: {text:?} is no number of a series")))
    };
    let mut series = fields.all("series").into_iter().map(number).collect::<Result<Vec<u32>, _>>()?;
    let mut known = std::collections::BTreeSet::new();
    series.retain(|one| known.insert(*one));
    if series.is_empty() || series.len() > most {
        return Err(Error::usage(format_args!("1 to {most} series can be asked for at once, not {}", series.len())));
    }
    Ok(Span { monitor, series, period_ns: period(fields)? })
}

fn period(fields: &mut Fields<'_>) -> Result<Range<u64>, Error> {
    let needed = |name: &str| Error::usage(format_args!("{name} is missing"));
    let from = fields.time("from")?.ok_or_else(|| needed("from"))?;
    let to = fields.time("to")?.ok_or_else(|| needed("to"))?;
    if from >= to {
        return Err(Error::usage("the period ends before it begins").hint("to must be later than from"));
    }
    if to - from > MOST_DAYS * 10 * DAY {
        return Err(Error::usage(format_args!("the period is longer than {} days", MOST_DAYS * 10)));
    }
    Ok(from..to)
}

/// The fields of a query, each taken once.
struct Fields<'a> {
    fields: Vec<(Cow<'a, str>, String)>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn read(query: &'a str) -> Result<Fields<'a>, Error> {
        if query.len() > MOST_LETTERS {
            return Err(Error::usage(format_args!("the query is longer than {MOST_LETTERS} characters")));
        }
        let mut fields = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            if fields.len() == MOST_FIELDS {
                return Err(Error::usage(format_args!("the query has more than {MOST_FIELDS} fields")));
            }
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let plain = value.replace('+', " ");
            let value = percent_decode_str(&plain).decode_utf8();
            let name = percent_decode_str(name).decode_utf8();
            match (name, value) {
                (Ok(name), Ok(value)) if !value.contains('\0') => fields.push((name, value.into_owned())),
                _ => return Err(Error::usage("the query is not UTF-8")),
            }
        }
        Ok(Fields { fields, asked: Vec::new() })
    }

    fn all(&mut self, name: &'static str) -> Vec<String> {
        self.asked.push(name);
        let (found, rest) = std::mem::take(&mut self.fields).into_iter().partition(|(known, _)| known == name);
        self.fields = rest;
        found.into_iter().map(|(_, value): (_, String)| value).collect()
    }

    fn maybe(&mut self, name: &'static str) -> Result<Option<String>, Error> {
        let mut found = self.all(name);
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => Err(Error::usage(format_args!("{name} is given more than once"))),
        }
    }

    fn one(&mut self, name: &'static str) -> Result<String, Error> {
        self.maybe(name)?.ok_or_else(|| Error::usage(format_args!("{name} is missing")))
    }

    fn signed(&mut self, name: &'static str, range: std::ops::RangeInclusive<i64>) -> Result<Option<i64>, Error> {
        let Some(text) = self.maybe(name)? else { return Ok(None) };
        let (least, most) = (range.start(), range.end());
        let wrong = || Error::usage(format_args!("{name}: {text:?} is no whole number from {least} to {most}"));
        text.parse().ok().filter(|number| range.contains(number)).map(Some).ok_or_else(wrong)
    }

    fn number(&mut self, name: &'static str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Error> {
        let range = *range.start() as i64..=*range.end() as i64;
        Ok(self.signed(name, range)?.map(|number| number as u64))
    }

    fn flag(&mut self, name: &'static str) -> Result<bool, Error> {
        match self.maybe(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Error::usage(format_args!("{name}: {other:?} is neither true nor false"))),
        }
    }

    fn duration(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        let Some(text) = self.maybe(name)? else { return Ok(None) };
        let length: Duration = text.parse().map_err(|error| Error::usage(format_args!("{name}: {error}")))?;
        match length.as_nanos() {
            0 => Err(Error::usage(format_args!("{name}: it must be longer than none"))),
            nanos => Ok(Some(nanos)),
        }
    }

    /// Nanoseconds since 1970 UTC, or a time in UTC as text.
    fn time(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        self.maybe(name)?.map(|text| time(name, &text)).transpose()
    }

    fn end(self) -> Result<(), Error> {
        let Some((name, _)) = self.fields.first() else { return Ok(()) };
        let error = Error::usage(format_args!("there is no field {name:?}"));
        Err(match nearest(name, &self.asked) {
            Some(meant) => error.hint(format_args!("did you mean {meant:?}?")),
            None => error,
        })
    }
}

/// Nanoseconds since 1970 UTC, or a time in UTC as text.
fn time(name: &str, text: &str) -> Result<u64, Error> {
    let nanos = match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => utc_ns(text).or_else(|| date_ns(text)),
    };
    let most = i64::MAX as u64;
    let wrong = || {
        Error::usage(format_args!("{name}: {text:?} is no time"))
            .hint("write 2026-11-27, 2026-11-27T10:00 or 2026-11-27T10:00:05 (UTC), or nanoseconds since 1970")
    };
    nanos.filter(|nanos| *nanos <= most).ok_or_else(wrong)
}
