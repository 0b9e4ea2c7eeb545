//! The answer on a terminal, in lines of at most a given width.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use crate::metric::Unit;
use crate::text::wrap_at;
use crate::words::{counted, separator};

use super::answer::{Column, SweepAnswer, VariantAnswer};
use super::decision::Decision;
use super::effects::Matters;

/// Narrower terminals are written for as if they had this width.
const LEAST_WIDTH: usize = 60;

/// Characters before the values of a line with a name.
const NAME: usize = 10;

/// The answer for lines of at most `width` characters.
pub fn sweep_text(answer: &SweepAnswer, width: usize) -> String {
    let width = width.max(LEAST_WIDTH);
    let mut text = String::new();
    wrapped(&mut text, "", &answer.sentence, width);
    text.push('\n');
    table(&mut text, answer, width);
    text.push('\n');
    if let Some(baseline) = &answer.baseline {
        let [compared, same] = baseline.compared_metrics;
        let why = match baseline.reasons.first() {
            Some(reason) => format!(", farthest {reason}"),
            None => String::new(),
        };
        let told = format!(
            "fidelity to the capture {} ({same} of {compared} metrics the same{why}; {} replayed once without a bottleneck)",
            baseline.fidelity,
            counted(baseline.connections, "connection")
        );
        wrapped(&mut text, "baseline", &told, width);
    }
    if !answer.feedback.is_empty() {
        wrapped(&mut text, "bytes", &answer.feedback, width);
    }
    if !answer.workload.is_empty() {
        wrapped(&mut text, "workload", &answer.workload, width);
    }
    wrapped(&mut text, "link", &answer.link, width);
    wrapped(&mut text, "runs", &runs(answer), width);
    for told in axes(answer) {
        wrapped(&mut text, "axis", &told, width);
    }
    for (runs, why) in answer.missing_by_reason() {
        wrapped(&mut text, "missing", &format!("{runs}: {why}"), width);
    }
    warnings(&mut text, answer, width);
    text
}

/// Warnings told on a terminal, at most; the page has all of them, and whole.
const MOST_WARNINGS: usize = 3;

/// The beginning of each warning, in a line.
fn warnings(text: &mut String, answer: &SweepAnswer, width: usize) {
    let (shown, more) = answer.warnings.split_at(answer.warnings.len().min(MOST_WARNINGS));
    for told in shown {
        let whole: Vec<char> = told.warning.chars().collect();
        let room = width - NAME;
        let line: String = match whole.len() <= room {
            true => whole.iter().collect(),
            false => whole[..room - 3].iter().chain(&['.'; 3]).collect(),
        };
        let _ = writeln!(text, "{:NAME$}{line}", "warning");
    }
    if !more.is_empty() {
        let _ = writeln!(text, "{:NAME$}{} more", "", counted(more.len() as u64, "warning"));
    }
}

/// How many runs there were, and what they are worth.
fn runs(answer: &SweepAnswer) -> String {
    let all: usize = answer.variants.iter().map(|variant| variant.seeds).sum();
    let bad = |is: fn(&VariantAnswer) -> bool| {
        let names: Vec<&str> =
            answer.variants.iter().filter(|variant| is(variant)).map(|variant| variant.name.as_str()).collect();
        names.join(separator(&names))
    };
    let (invalid, doubtful) = (bad(VariantAnswer::is_invalid), bad(VariantAnswer::is_doubtful));
    let degraded = bad(VariantAnswer::is_degraded);
    let mut told = counted(all as u64, "run");
    match (invalid.is_empty(), doubtful.is_empty() && degraded.is_empty()) {
        (true, true) => told.push_str(", all accounted for and plausible"),
        (false, _) => _ = write!(told, "; INVALID: {invalid}"),
        (true, false) => {}
    }
    if !degraded.is_empty() {
        let _ = write!(told, "; DEGRADED: {degraded}");
    }
    if !doubtful.is_empty() {
        let _ = write!(told, "; doubtful: {doubtful}");
    }
    let looks: Vec<String> = answer.looks.iter().map(|look| look.seeds.to_string()).collect();
    let taken = answer.looks.iter().filter(|look| look.taken).count();
    let looked = match looks.len() {
        1 if answer.missing.is_empty() => counted(answer.looks[0].seeds as u64, "seed") + " each",
        1 => format!("{} of {} seeds in all variants", answer.common_seeds, looks[0]),
        planned => format!("look {taken} of {planned} planned ones (at {} seeds)", looks.join(", ")),
    };
    let intervals = if answer.has_intervals() { format!(", intervals {}", answer.confidence()) } else { String::new() };
    let _ = write!(told, "; {looked}{intervals}");
    told
}

/// What each axis does.
fn axes(answer: &SweepAnswer) -> Vec<String> {
    // Of a single axis the table says it.
    if answer.axes.len() < 2 {
        return Vec::new();
    }
    let of_axis = |effect: &super::effects::AxisEffect| {
        let level = |level: &super::effects::LevelEffect| match level.ratio {
            Some(ratio) => format!("{} {}x", level.level, three_digits(ratio)),
            None => format!("{} (no ratio)", level.level),
        };
        let levels: Vec<String> = effect.levels.iter().map(level).collect();
        match effect.matters {
            Matters::Yes => format!("{}: {} of the first value", effect.axis, levels.join(", ")),
            Matters::No => format!("{} does not matter (within {})", effect.axis, Unit::Share.show(answer.margin)),
            Matters::InParts => format!(
                "{}: {} of the first value in the mean, and it differs by the values of other axes",
                effect.axis,
                levels.join(", ")
            ),
            Matters::Undecided => {
                format!("{}: {} of the first value, not shown to differ", effect.axis, levels.join(", "))
            }
        }
    };
    answer.effects.axes.iter().map(of_axis).collect()
}

/// The variants, in blocks of as many columns as fit.
fn table(text: &mut String, answer: &SweepAnswer, width: usize) {
    let columns = answer.columns();
    let mark = |place: usize| match &answer.decision {
        Decision::Best { variant, .. } if *variant == place => "best",
        _ => "",
    };
    let names: Vec<String> = answer.variants.iter().map(|variant| variant.name.clone()).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let marked = if (0..names.len()).any(|place| !mark(place).is_empty()) { 6 } else { 0 };
    // Long names have lines of their own.
    let beside = longest + marked + 2 <= width / 2;
    let first = if beside { longest + marked } else { marked.max(2) };
    let with_interval = |column: &Column, place: usize| cell(answer, column, place, true);
    let plain = |column: &Column, place: usize| cell(answer, column, place, false);
    let widths = |cells: &dyn Fn(&Column, usize) -> String| -> Vec<usize> {
        let of = |column: &Column| {
            let cells = (0..names.len()).map(|place| cells(column, place).chars().count());
            cells.chain(column.head.map(str::len)).max().unwrap_or(0) + 2
        };
        columns.iter().map(of).collect()
    };
    let fits = |widths: &[usize]| first + widths.iter().sum::<usize>() <= width;
    let intervals = widths(&with_interval);
    let shown: &dyn Fn(&Column, usize) -> String = if fits(&intervals) { &with_interval } else { &plain };
    let widths = widths(shown);
    let mut from = 0;
    while from < columns.len() {
        let (mut to, mut used) = (from, first);
        while to < columns.len() && (to == from || used + widths[to] <= width) {
            used += widths[to];
            to += 1;
        }
        if from > 0 {
            text.push('\n');
        }
        for line in 0..2 {
            let mut row = " ".repeat(first);
            for column in from..to {
                let _ = write!(row, "{:>width$}", columns[column].head[line], width = widths[column]);
            }
            if !row.trim().is_empty() {
                let _ = writeln!(text, "{}", row.trim_end());
            }
        }
        for (place, name) in names.iter().enumerate() {
            let mut row = if beside {
                format!("{name:longest$}  {:<4}", mark(place)).chars().take(first).collect::<String>()
            } else {
                let _ = writeln!(text, "{name}");
                format!("{:first$}", mark(place))
            };
            for column in from..to {
                let _ = write!(row, "{:>width$}", shown(&columns[column], place), width = widths[column]);
            }
            let _ = writeln!(text, "{}", row.trim_end());
        }
        from = to;
    }
}

/// A value of a variant: `84.0 ms`, with an interval `84.0 ms ±5%`, or `84.0 ms [0, 200 ms]` where it ends at 0.
fn cell(answer: &SweepAnswer, column: &Column, place: usize, with_interval: bool) -> String {
    let Some(estimated) = answer.variants[place].metrics.get(&column.metric) else { return "-".to_owned() };
    let above = if estimated.is_lower_bound { "> " } else { "" };
    let value = format!("{above}{}", column.show(estimated.mean));
    match estimated.interval.filter(|_| with_interval && estimated.mean > 0.0) {
        Some(interval) if interval.low <= 0.0 => format!("{value} {}", column.show_interval(interval)),
        Some(interval) => {
            let half = 100.0 * 0.5 * (interval.high - interval.low) / estimated.mean;
            format!("{value} ±{half:.0}%")
        }
        None => value,
    }
}

/// `body` behind a name, in lines of at most `width` characters.
fn wrapped(text: &mut String, name: &str, body: &str, width: usize) {
    let head = if name.is_empty() { String::new() } else { format!("{name:NAME$}") };
    wrap_at(width, text, &head, body);
}
