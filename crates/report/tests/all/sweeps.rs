//! Answers of sweeps over made-up runs, whose truth is known.

use flowloom_report::statistics::Looks;
use flowloom_report::sweep::{
    Absent, Cell, Curve, Decision, Grid, GridAxis, Matters, Objective, SweepAnswer, Variant, sweep_text,
};
use flowloom_report::verdict::Accounted;

const THROUGHPUT: &str = "throughput_mean_mbps.down";

/// The variants of all values of `axes` that `keeps` has, each with the cells of seeds 1 to 5 that `cell` makes.
fn grid(
    axes: &[(&str, &[&str])],
    keeps: impl Fn(&[usize]) -> bool,
    cell: impl Fn(&[usize], u64) -> Option<Vec<(&'static str, f64)>>,
) -> Grid {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for (_, values) in axes {
        all = all.iter().flat_map(|points| (0..values.len()).map(|point| [&points[..], &[point]].concat())).collect();
    }
    let of_seed = |points: &[usize], seed: u64| match cell(points, seed) {
        Some(numbers) => Ok(Cell::made_up(seed, numbers.into_iter().map(|(name, value)| (name.to_owned(), value)))),
        None => Err(Absent { seed, why: "it failed".to_owned() }),
    };
    let variant = |points: Vec<usize>| Variant {
        name: points.iter().zip(axes).map(|(point, (_, values))| values[*point]).collect::<Vec<_>>().join(", "),
        cells: (1..=5).map(|seed| of_seed(&points, seed)).collect(),
        points,
    };
    let axis = |(name, values): &(&str, &[&str])| GridAxis {
        name: (*name).to_owned(),
        points: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    Grid {
        variants: all.into_iter().filter(|points| keeps(points)).map(variant).collect(),
        axes: axes.iter().map(axis).collect(),
        objective: Objective::named(Objective::USUAL).unwrap(),
        margin: 0.05,
        looks: Looks::once(5),
        look: 0,
        baseline: None,
        is_one_draw: false,
    }
}

const QUEUES: (&str, &[&str]) = ("queue", &["drop-tail", "codel"]);

/// 300 ms and 100 ms, with the throughput that `of` gives.
fn two(of: impl Fn(usize, u64) -> f64) -> Grid {
    grid(
        &[QUEUES],
        |_| true,
        |points, seed| {
            let response = [300.0, 100.0][points[0]] + seed as f64;
            Some(vec![("response_time_p50_ms", response), (THROUGHPUT, of(points[0], seed))])
        },
    )
}

#[test]
fn throughput_is_only_told_where_it_is_shown_to_differ() {
    let seeds =
        |a: [f64; 5]| move |queue: usize, seed: u64| if queue == 0 { 10.0 } else { 10.0 * a[seed as usize - 1] };
    for (ratios, told) in [
        ([0.8, 1.3, 0.9, 1.4, 1.0], "; throughput is not shown to differ."),
        ([1.2, 1.21, 1.22, 1.2, 1.21], "; throughput 20.8 % more."),
        ([0.5, 0.51, 0.52, 0.5, 0.51], "; throughput 49.2 % less."),
        ([1.01, 1.0, 0.99, 1.0, 1.01], "; throughput is the same."),
    ] {
        let sentence = SweepAnswer::of(&two(seeds(ratios))).sentence;
        assert!(sentence.starts_with("codel has the shortest responses") && sentence.ends_with(told), "{sentence}");
    }
}

/// The control is best: the other in the sentence is the worst, and named.
#[test]
fn throughput_beside_the_worst_names_it() {
    let axes: [(&str, &[&str]); 1] = [("queue", &["drop-tail", "codel", "pie, limit=9p"])];
    let grid = grid(
        &axes,
        |_| true,
        |points, seed| {
            let response = [100.0, 300.0, 900.0][points[0]] + seed as f64;
            Some(vec![
                ("response_time_p50_ms", response),
                (THROUGHPUT, [2.0, 3.0, 1.0][points[0]] + 0.001 * seed as f64),
            ])
        },
    );
    let sentence = SweepAnswer::of(&grid).sentence;
    assert!(sentence.contains("(pie, limit=9p 903 ms)"), "{sentence}");
    assert!(sentence.ends_with("; throughput 99.7 % more than with pie, limit=9p."), "{sentence}");
}

#[test]
fn a_variant_that_is_invalid_is_not_best() {
    let mut grid = two(|_, seed| seed as f64);
    assert!(matches!(SweepAnswer::of(&grid).decision, Decision::Best { variant: 1, .. }));
    if let Ok(cell) = &mut grid.variants[1].cells[3] {
        cell.verdict.accounted.word = Accounted::Invalid;
    }
    let answer = SweepAnswer::of(&grid);
    assert_eq!(answer.sentence, "Which variant is best is not known: there are INVALID runs of codel.");
    assert!(!sweep_text(&answer, 80).contains("best\n"));
}

#[test]
fn warnings_say_whose_numbers_they_have() {
    let mut grid = two(|_, seed| seed as f64);
    let mut warn = |variant: usize, seed: usize, warning: &str| {
        if let Ok(cell) = &mut grid.variants[variant].cells[seed] {
            cell.warnings.push(warning.to_owned());
        }
    };
    warn(0, 1, "the queue held up to 1.9 s");
    warn(0, 4, "the queue held up to 3.4 s");
    warn(1, 0, "22.0 % were dropped");
    warn(0, 0, "27.9 % were dropped");
    warn(0, 0, "all alike");
    warn(1, 2, "all alike");
    let told: Vec<(String, usize)> =
        SweepAnswer::of(&grid).warnings.into_iter().map(|told| (told.warning, told.variants.len())).collect();
    assert_eq!(told[0], ("in drop-tail with seed 1, and alike in others: 27.9 % were dropped".to_owned(), 0));
    assert_eq!(told[1], ("all alike".to_owned(), 0));
    assert_eq!(told[2], ("with seed 2, and alike with others: the queue held up to 1.9 s".to_owned(), 1));
}

#[test]
fn intervals_that_end_at_zero_are_shown_whole() {
    let at = [0.096, 0.222, 0.274, 5.909, 0.354];
    let answer = SweepAnswer::of(&two(|_, seed| at[seed as usize - 1]));
    let text = sweep_text(&answer, 160);
    assert!(text.contains("1.37 Mbit/s [0 bit/s, 4.52 Mbit/s]"), "{text}");
    assert!(!text.contains("165%"), "{text}");
    // The mean of values that are all one has none.
    let answer = SweepAnswer::of(&two(|_, _| 8.0));
    assert_eq!(answer.variants[0].metrics[THROUGHPUT].interval, None);
}

/// Times are sums of what each axis adds; a combination is left out.
#[test]
fn pairs_are_compared_over_the_same_values_of_the_other_axes() {
    let axes: [(&str, &[&str]); 3] = [("a", &["a0", "a1"]), ("b", &["b0", "b1"]), ("delay", &["10 ms", "100 ms"])];
    let times = |points: &[usize], seed: u64| {
        let delay = [10.0, 100.0][points[2]];
        Some(vec![("response_time_p50_ms", 2.0 * delay * [1.0, 1.5][points[0]] * (1.0 + 0.01 * seed as f64))])
    };
    let answer = SweepAnswer::of(&grid(&axes, |points| points != [1, 1, 1], times));
    let pair = answer.effects.interactions.iter().find(|pair| pair.axes == ["a", "b"]).unwrap();
    let departure = pair.departure.unwrap();
    assert!((departure - 1.0).abs() < 1e-9, "{departure}");
    let means: Vec<f64> = pair.means.iter().flatten().map(|mean| mean.unwrap() / 1.03).collect();
    assert!(
        means.iter().zip([20.0, 20.0, 30.0, 30.0]).all(|(mean, true_mean)| (mean - true_mean).abs() < 1e-9),
        "{means:?}"
    );
    // No value of the third axis is in all pairs: there is nothing to compare over.
    let answer = SweepAnswer::of(&grid(&axes, |points| points != [1, 1, 1] && points != [0, 0, 0], times));
    let pair = answer.effects.interactions.iter().find(|pair| pair.axes == ["a", "b"]).unwrap();
    assert!(pair.departure.is_none() && pair.means.iter().flatten().all(Option::is_none), "{pair:?}");
}

/// A queue is six times as fast at 105 % and alike at 2000 %, where alone all three queues are.
#[test]
fn an_axis_matters_where_a_combination_is_left_out() {
    let axes: [(&str, &[&str]); 2] = [("queue", &["drop-tail", "pie", "fq-codel"]), ("rate", &["2000%", "105%"])];
    let times = |points: &[usize], seed: u64| {
        let time = if points[1] == 0 { 100.0 } else { [960.0, 300.0, 160.0][points[0]] };
        Some(vec![("response_time_p50_ms", time * (1.0 + 0.01 * ((seed + points[0] as u64) % 5) as f64))])
    };
    let effects = SweepAnswer::of(&grid(&axes, |points| points != [1, 1], times)).effects;
    let queue = &effects.axes[0];
    assert_eq!((queue.axis.as_str(), queue.matters), ("queue", Matters::Yes));
    let ratios: Vec<f64> = queue.levels.iter().map(|level| level.ratio.unwrap()).collect();
    // The geometric mean of 1 and 160 / 960.
    assert!((ratios[0] - 1.0).abs() < 0.02 && (ratios[1] - 0.408).abs() < 0.02, "{ratios:?}");
}

/// Each queue is ten times as fast at one of the rates.
#[test]
fn effects_that_cancel_are_told() {
    let axes: [(&str, &[&str]); 2] = [("queue", &["drop-tail", "pie"]), ("rate", &["90%", "105%"])];
    let times = |points: &[usize], seed: u64| {
        let time = if points[0] == points[1] { 100.0 } else { 1_000.0 };
        Some(vec![("response_time_p50_ms", time * (1.0 + 0.01 * ((3 * seed + points[0] as u64) % 5) as f64))])
    };
    let answer = SweepAnswer::of(&grid(&axes, |_| true, times));
    assert_eq!(answer.effects.axes[0].matters, Matters::InParts);
    let text = sweep_text(&answer, 120);
    assert!(text.contains("of the first value in the mean, and it differs by the values of other axes"), "{text}");
}

#[test]
fn pictures_are_over_seeds_that_all_variants_have() {
    let mut grid = grid(
        &[QUEUES],
        |_| true,
        |points, seed| (points[0] == 0 || seed != 3).then(|| vec![("response_time_p50_ms", 100.0 * seed as f64)]),
    );
    for variant in &mut grid.variants {
        for cell in variant.cells.iter_mut().flatten() {
            let quantiles = Curve::probabilities().map(|_| 100.0 * cell.seed as f64).collect();
            cell.curves.insert("response_time_ms".to_owned(), Curve { quantiles, n: 1 });
        }
    }
    let seeds: Vec<u64> = grid.alike(&grid.variants[0]).iter().map(|cell| cell.seed).collect();
    assert_eq!(seeds, [1, 2, 4, 5]);
    let answer = SweepAnswer::of(&grid);
    let [control, codel] = [0, 1].map(|place| answer.variants[place].metrics["response_time_p50_ms"].mean);
    assert_eq!((control, codel), (300.0, 300.0));
    let picture = flowloom_report::plot::offers_of_sweep(&grid, &answer);
    let picture = picture.into_iter().find(|offer| offer.name == "response-ccdf").unwrap().picture.unwrap();
    assert!(picture.csv().lines().skip(1).all(|line| line.contains(",300")), "{}", picture.csv());
}
