//! An experiment with the laws that were fitted to a workload.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use super::{FitVariable, Fitted, FittedVariable};
use crate::words::{counted, thousands};

/// A variable that the model needs has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no values of {}, which the model needs", .0.name())]
pub struct Unwritable(pub FitVariable);

/// The keys of the model `exchanges` that are laws, with the variables that they are of.
const LAWS: [(&str, FitVariable, bool); 4] = [
    ("request-bytes", FitVariable::RequestBytes, true),
    ("response-bytes", FitVariable::ResponseBytes, true),
    ("think-ms", FitVariable::ThinkTime, false),
    ("rtt-ms", FitVariable::Rtt, true),
];

/// An experiment that draws exchanges from the laws proposed for `fitted`, of all variables: as many in a second as in the workload, each in
/// a connection of its own, in a Poisson process. What the model has no place for stands in comments.
///
/// # Errors
/// A variable without values, of those that the model cannot do without.
pub fn experiment(fitted: &Fitted) -> Result<String, Unwritable> {
    let find = |wanted| fitted.variables.iter().find(|one| one.variable == wanted);
    let need = |wanted| find(wanted).ok_or(Unwritable(wanted));
    let epochs = need(FitVariable::Epochs)?;
    let exchanges = epochs.n as f64 * epochs.mean;
    let gaps = need(FitVariable::Interarrival)?;
    let seconds = gaps.n as f64 * gaps.mean / 1e9;
    if !(seconds > 0.0 && exchanges > 0.0) {
        return Err(Unwritable(FitVariable::Interarrival));
    }
    let name =
        fitted.name.as_ref().map_or_else(String::new, |name| format!(" in {}", name.replace(char::is_control, "?")));
    let mut text = format!(
        "# What flowloom fit found{name}: {} with {} exchanges.\n\
         # Each exchange is a connection of its own here, and connections start in a Poisson process.\n\n\
         [workload.model]\nkind = \"exchanges\"\nconnections-per-second = {}\n",
        counted(fitted.connections, "TCP connection"),
        thousands(exchanges.round() as u64),
        three_digits(exchanges / seconds)
    );
    for (key, variable, is_needed) in LAWS {
        match find(variable) {
            Some(found) => _ = writeln!(text, "{key} = {}{}", found.proposed.numbers, remark(found)),
            None if is_needed => return Err(Unwritable(variable)),
            None => {}
        }
    }
    if let Some(window) = find(FitVariable::InitiatorWindow) {
        let _ = writeln!(text, "window-bytes = {:.0}  # the median of the initiators' windows", window.median.max(1.0));
    }
    let _ = writeln!(text, "from-left = {}", three_digits(fitted.from_left));
    let _ = writeln!(text, "\n[measure]\nduration = \"{}s\"", seconds.ceil().max(1.0));
    let mut others =
        fitted.variables.iter().filter(|one| LAWS.iter().all(|(_, used, _)| *used != one.variable)).peekable();
    if others.peek().is_some() {
        text.push_str("\n# Laws that this model has no key for:\n");
    }
    for one in others {
        let _ = writeln!(text, "# {} = {}{}", one.name, one.proposed.numbers, remark(one));
    }
    Ok(text)
}

/// How well the law describes the values, as a comment.
fn remark(variable: &FittedVariable) -> String {
    let proposed = variable.laws.iter().find(|law| law.kind == variable.proposed.kind);
    match (proposed, variable.laws.first()) {
        (Some(law), _) => format!("  # KS {}", three_digits(law.ks)),
        (None, Some(nearest)) => {
            let mean = if nearest.mean.is_none() { ", without a mean" } else { "" };
            format!("  # no law fits: {} is nearest, KS {}{mean}", nearest.kind, three_digits(nearest.ks))
        }
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::sketch::Sketch;

    use super::*;
    use crate::fit::Fitter;

    #[test]
    fn missing_variables_are_named() {
        let mut fitter = Fitter::default();
        let of = |values: &[u64]| {
            let mut sketch = Sketch::default();
            sketch.extend(values.iter().copied());
            sketch
        };
        fitter.sketches.insert(FitVariable::Epochs, of(&[1, 3]));
        fitter.sketches.insert(FitVariable::Interarrival, of(&[2_000_000_000]));
        fitter.sketches.insert(FitVariable::RequestBytes, of(&[100, 200, 300, 400]));
        fitter.sketches.insert(FitVariable::ResponseBytes, of(&[7_000]));
        let fitted = fitter.clone().finish(None, &FitVariable::ALL);
        assert_eq!(experiment(&fitted), Err(Unwritable(FitVariable::Rtt)));
        assert_eq!(Unwritable(FitVariable::Rtt).to_string(), "no values of rtt, which the model needs");
        fitter.sketches.insert(FitVariable::Rtt, of(&[40_000_000]));
        let text = experiment(&fitter.finish(Some("a\nb.pcap".to_owned()), &FitVariable::ALL)).unwrap();
        // Four exchanges in two seconds.
        let table: toml::Table = text.parse().unwrap();
        let model = &table["workload"]["model"];
        assert_eq!(model["connections-per-second"].as_float(), Some(2.0), "{text}");
        assert_eq!(model["rtt-ms"]["values"][0][0].as_integer(), Some(40), "{text}");
        assert_eq!(table["measure"]["duration"].as_str(), Some("2s"));
        assert!(
            text.starts_with("# What flowloom fit found in a?b.pcap: 0 TCP connections with 4 exchanges.\n"),
            "{text}"
        );
        assert!(text.contains("\n# epochs = { kind = \"empirical\", values = [[1, 0.5], [3, 0.5]] }\n"), "{text}");
    }
}
