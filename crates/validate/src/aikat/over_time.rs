//! When a run is steady: what begins, what is open, what waits and what passes in each second of it, from the first on.

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_report::steady::WarmUp;
use flowloom_store::run_folder::{RunFolder, TrafficPoint};

/// The bin of the series.
const SECOND: Duration = Duration::from_secs(1);

/// Times in seconds over which means of throughput are compared.
const SPANS: [usize; 2] = [60, 300];

/// Numbers of a run of this length: of each series when it has settled, and how many times as large its last third is as its first; of throughput
/// also how means over [`SPANS`] scatter. The queue and the throughput are those of packets from `side`.
///
/// # Errors
/// A table of the run cannot be read.
pub fn numbers(run: &RunFolder, side: LinkSide, length: Duration) -> Result<Vec<(String, f64)>, String> {
    let seconds = (length.as_nanos() / SECOND.as_nanos()) as usize;
    let (starts, presence) = of_connections(run, seconds)?;
    let queue = of_queue(run, side, seconds)?;
    let mut numbers = Vec::new();
    for (name, series) in [("starts", &starts), ("presence", &presence), ("queue", &queue)] {
        numbers.extend(steadiness(name, series));
    }
    if run.path().join("throughput.parquet").exists() {
        let throughput = of_throughput(run, side, seconds)?;
        numbers.extend(steadiness("throughput", &throughput));
        numbers.extend(
            SPANS.iter().filter_map(|span| Some((format!("throughput_cov_{span}s"), scatter(&throughput, *span)?))),
        );
    }
    Ok(numbers)
}

/// When `series` has settled, in seconds, and its last third over its first. A series that does not settle in its first half has half of its
/// length here.
fn steadiness(name: &str, series: &[f64]) -> Vec<(String, f64)> {
    let settled = WarmUp::of(series, SECOND).running_mean_ns;
    let half = series.len() as f64 / 2.0;
    let mut numbers = vec![(format!("settled_{name}_s"), settled.map_or(half, |nanos| nanos as f64 / 1e9))];
    let third = series.len() / 3;
    let (first, last) = (mean(&series[..third]), mean(&series[series.len() - third..]));
    if third > 0 && first > 0.0 {
        numbers.push((format!("last_over_first_third_{name}"), last / first));
    }
    numbers
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation (n - 1) of means over `span` values, as a share of the mean; `None` of fewer than two.
fn scatter(series: &[f64], span: usize) -> Option<f64> {
    let means: Vec<f64> = series.chunks_exact(span).map(mean).collect();
    let whole = mean(&means);
    let squares: f64 = means.iter().map(|of| (of - whole) * (of - whole)).sum();
    (means.len() > 1 && whole > 0.0).then(|| libm::sqrt(squares / (means.len() - 1) as f64) / whole)
}

fn second(time: Time) -> usize {
    (time.as_nanos() / SECOND.as_nanos()) as usize
}

/// How many connections begin in each second, and how many are open in it at some moment (methods C.4), at the monitor.
fn of_connections(run: &RunFolder, seconds: usize) -> Result<(Vec<f64>, Vec<f64>), String> {
    let (mut starts, mut changes) = (vec![0.0; seconds], vec![0.0; seconds + 1]);
    for row in run.connections().map_err(|error| error.to_string())? {
        let row = row.map_err(|error| error.to_string())?;
        let Some(start) = row.monitor_start.map(second).filter(|start| *start < seconds) else { continue };
        starts[start] += 1.0;
        changes[start] += 1.0;
        let end = row.monitor_end.map_or(seconds, |end| (second(end) + 1).min(seconds));
        changes[end.max(start)] -= 1.0;
    }
    Ok((starts, sums(&changes[..seconds])))
}

/// The sum of the values up to each.
fn sums(changes: &[f64]) -> Vec<f64> {
    changes
        .iter()
        .scan(0.0, |sum, change| {
            *sum += change;
            Some(*sum)
        })
        .collect()
}

/// Packets that wait, in the mean of each second.
fn of_queue(run: &RunFolder, side: LinkSide, seconds: usize) -> Result<Vec<f64>, String> {
    let interval = run.queue_interval().map_err(|error| error.to_string())?;
    let share = interval.as_secs_f64() / SECOND.as_secs_f64();
    let mut queue = vec![0.0; seconds];
    for sample in run.queue().map_err(|error| error.to_string())? {
        let sample = sample.map_err(|error| error.to_string())?;
        let at = second(sample.time);
        if sample.link <= 1 && sample.from == side && at < seconds {
            queue[at] += sample.packets as f64 * share;
        }
    }
    Ok(queue)
}

/// Bytes that arrive at the link in each second.
fn of_throughput(run: &RunFolder, side: LinkSide, seconds: usize) -> Result<Vec<f64>, String> {
    let mut bytes = vec![0.0; seconds];
    for row in run.throughput().map_err(|error| error.to_string())? {
        let row = row.map_err(|error| error.to_string())?;
        let at = second(row.start);
        if row.point == TrafficPoint::ReplayOffered && row.link <= 1 && row.from == side && at < seconds {
            bytes[at] += row.traffic.bytes as f64;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_settles_behind_its_rise() {
        // A rise of 120 s to 100, in half an hour: the running mean over three minutes is within 5 % from the end of the rise on at the latest.
        let rising: Vec<f64> = (0..1_800).map(|at| if at < 120 { f64::from(at) / 1.2 } else { 100.0 }).collect();
        let found = steadiness("x", &rising);
        assert_eq!(found[0].0, "settled_x_s");
        assert!((60.0..=215.0).contains(&found[0].1), "{found:?}");
        // 60 of 600 s are missing in the first third.
        let wanted = 100.0 / ((480.0 * 100.0 + 119.0 * 60.0 / 1.2) / 600.0);
        assert!((found[1].1 - wanted).abs() < 1e-9, "{found:?} {wanted}");
        let growing: Vec<f64> = (0..1_800).map(f64::from).collect();
        assert_eq!(steadiness("x", &growing)[0].1, 900.0);
    }

    #[test]
    fn means_of_blocks_scatter_by_hand() {
        // Blocks of two: 2, 4, 6 about 4; a deviation of 2.
        assert_eq!(scatter(&[1.0, 3.0, 4.0, 4.0, 5.0, 7.0, 9.0], 2), Some(0.5));
        assert_eq!(scatter(&[1.0, 3.0, 4.0], 2), None);
    }

    #[test]
    fn presence_is_the_sum_of_what_came_and_went() {
        assert_eq!(sums(&[1.0, 2.0, -1.0, 0.0, -2.0]), [1.0, 3.0, 2.0, 2.0, 0.0]);
    }
}
