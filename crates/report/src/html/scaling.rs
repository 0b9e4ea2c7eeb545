//! The logscale diagram of packets on the link, with the line whose slope gives the Hurst parameter (methods D.2, D.3).

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;

use super::figure::{Axis, Below, Figure, FittedLine, Kind, Line, Number, Points, Role, Table, View};
use super::figures::{Source, plain};
use super::provenance::Scope;
use crate::dependence::{HurstFit, OctaveEnergy, Scaling, ScalingWarning};
use crate::metric::Unit;
use crate::run::Arrivals;

/// Fewer octaves are no diagram.
const FEWEST: usize = 4;

/// What is known of one line.
struct Diagram<'a> {
    source: &'a Source<'a>,
    bin: Duration,
    /// Octaves with any energy.
    octaves: Vec<OctaveEnergy>,
    hurst: Option<HurstFit>,
    warnings: Vec<ScalingWarning>,
}

/// The figure; `None` if too little was recorded. Of several seeds the first is drawn: energies of different runs have no mean that
/// the interval would be of.
pub(super) fn figure(sources: &[Source<'_>], with_original: bool) -> Option<Figure> {
    // Energies are those of counts in bins: lines whose bins differ cannot be compared.
    let widths = || sources.iter().filter_map(|source| Some(source.first().arrivals(source.point)?.width));
    let common = widths().max()?;
    let is_joined = widths().any(|width| width != common);
    let diagrams: Vec<Diagram<'_>> =
        sources.iter().filter_map(|source| diagram(source, common)).filter(|one| one.octaves.len() >= FEWEST).collect();
    let first = diagrams.first()?;
    let left_out = left_out(sources, common);
    let bin = plain(&first.bin.to_string());
    let measured = first.source.first();
    let scope = Scope { with_original, window: measured.window, bin: measured.bin };
    let mut x = Axis::new(&format!("octave j, time scale 2^j × {bin}"), "count", false);
    x.whole = true;
    let told: Vec<String> = diagrams
        .iter()
        .map(|one| format!("{} {}", one.source.name, one.hurst.as_ref().map_or_else(|| "unknown".to_owned(), h_words)))
        .collect();
    let remark = diagrams.iter().find_map(|one| {
        let warning = one.warnings.first()?;
        Some(if diagrams.len() > 1 { format!(" {}: {warning}.", one.source.name) } else { format!(" {warning}.") })
    });
    Some(Figure {
        id: "logscale".to_owned(),
        kind: Kind::Octaves,
        title: "Long-range dependence: logscale diagram".to_owned(),
        view: View::Octaves,
        finding: format!(
            "H with 95 % interval: {}.{}{left_out}{}",
            told.join("; "),
            remark.unwrap_or_default(),
            if is_joined {
                format!(" Finer counts are joined to bins of {bin}, so that lines can be compared.")
            } else {
                String::new()
            }
        ),
        plural: "octaves",
        column: "energy_log2",
        x,
        y: Axis::new("log2 of the energy of packet counts", "count", false),
        start: Number(0.0),
        step: Number(first.bin.as_secs_f64()),
        lines: diagrams.iter().map(line).collect(),
        below: Below::Numbers(
            vec!["H", "95 % interval", "fitted scales", "p of the fit"],
            diagrams.iter().map(numbers).collect(),
        ),
        table: table(&diagrams),
        unit: Unit::Count,
        provenance: scope.throughput("packets", None, first.bin),
    })
}

/// Says which lines are missing, because their counts make no bins of `width`.
fn left_out(sources: &[Source<'_>], width: Duration) -> String {
    let told = sources.iter().filter_map(|source| {
        let arrivals = source.first().arrivals(source.point)?;
        let bins = [arrivals.width, width].map(|bin| plain(&bin.to_string()));
        let has_none = arrivals.joined(width).is_none();
        has_none.then(|| {
            let [own, common] = bins;
            format!(" {} has no line: its bins of {own} cannot be joined to bins of {common}.", source.name)
        })
    });
    told.collect()
}

/// That of counts in bins of `width`; `None` if those of `source` make no such bins.
fn diagram<'a>(source: &'a Source<'a>, width: Duration) -> Option<Diagram<'a>> {
    let Arrivals { packets, .. } = source.first().arrivals(source.point)?.joined(width)?;
    let counts: Vec<f64> = packets.iter().map(|count| f64::from(*count)).collect();
    let choice = source.variant.runs[0].facts.hurst;
    let scaling = Scaling::of(width, &counts, choice);
    let octaves = scaling.octaves.into_iter().filter(|octave| octave.energy_log2.is_some()).collect();
    Some(Diagram { source, bin: width, octaves, hurst: scaling.hurst, warnings: scaling.warnings })
}

/// `0.83 (0.79 to 0.87)`.
fn h_words(fit: &HurstFit) -> String {
    format!("{:.2} ({:.2} to {:.2})", fit.h, fit.interval.low, fit.interval.high)
}

fn line(diagram: &Diagram<'_>) -> Line {
    let octaves = &diagram.octaves;
    let number =
        |of: &dyn Fn(&OctaveEnergy) -> Option<f64>| octaves.iter().map(|one| Number(of(one).unwrap_or(0.0))).collect();
    let on_line = |fit: &HurstFit, octave: u32| Number(fit.intercept_log2 + (2.0 * fit.h - 1.0) * f64::from(octave));
    let fit = diagram.hurst.as_ref().map(|fit| FittedLine {
        from: fit.first_octave,
        from_energy: on_line(fit, fit.first_octave),
        to: fit.last_octave,
        to_energy: on_line(fit, fit.last_octave),
    });
    let points = Points::Octaves {
        octave: octaves.iter().map(|one| one.octave).collect(),
        energy: number(&|one| one.energy_log2),
        low: number(&|one| one.interval.map(|interval| interval.low)),
        high: number(&|one| one.interval.map(|interval| interval.high)),
        fit,
    };
    Line { name: diagram.source.name.clone(), role: diagram.source.role.clone(), smooth: false, points }
}

fn numbers(diagram: &Diagram<'_>) -> (Role, String, Vec<String>) {
    let cells = match &diagram.hurst {
        None => vec!["–".to_owned(); 4],
        Some(fit) => vec![
            format!("{:.3}", fit.h),
            format!("{:.3} to {:.3}", fit.interval.low, fit.interval.high),
            format!("{} to {}", Duration::from_nanos(fit.scales_ns[0]), Duration::from_nanos(fit.scales_ns[1])),
            fit.p.map_or_else(|| "–".to_owned(), three_digits),
        ],
    };
    (diagram.source.role.clone(), diagram.source.name.clone(), cells)
}

fn table(diagrams: &[Diagram<'_>]) -> Table {
    let mut head = vec!["octave".to_owned(), "time scale".to_owned()];
    for one in diagrams {
        let name = &one.source.name;
        head.extend([format!("{name}: energy, log2"), format!("{name}: 95 % interval"), format!("{name}: fitted")]);
    }
    let most = diagrams.iter().flat_map(|one| &one.octaves).map(|octave| octave.octave).max().unwrap_or(0);
    let row = |octave: u32| {
        let scale = Duration::from_nanos(diagrams[0].bin.as_nanos() << octave);
        let mut row = vec![octave.to_string(), scale.to_string()];
        for one in diagrams {
            let found = one.octaves.iter().find(|known| known.octave == octave);
            let energy =
                found.and_then(|known| known.energy_log2).map_or("–".to_owned(), |energy| format!("{energy:.3}"));
            let interval = found.and_then(|known| known.interval);
            let interval = interval.map_or("–".to_owned(), |range| format!("{:.3} to {:.3}", range.low, range.high));
            let fitted = one.hurst.as_ref().is_some_and(|fit| (fit.first_octave..=fit.last_octave).contains(&octave));
            row.extend([energy, interval, if fitted { "yes".to_owned() } else { "no".to_owned() }]);
        }
        row
    };
    Table { head, rows: (1..=most).map(row).collect() }
}
