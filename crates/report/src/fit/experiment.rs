//! An experiment with the laws that were fitted to a workload.

use std::fmt::Write as _;

use flowloom_core::units::three_digits;

use super::written::rounded;
use super::{FitVariable, Fitted, FittedVariable};
use crate::metric::Unit;
use crate::words::{counted, thousands};

/// A variable that the model needs has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no values of {}, which the model needs", .0.name())]
pub struct Unwritable(pub FitVariable);

/// A law whose mean is farther than this from that of the values is not written, as a share of it: the load of the experiment follows
/// from means.
const NEAR_MEAN: f64 = 0.1;

/// An experiment that draws exchanges from the laws proposed for `fitted`, of all variables: those that have a request, as many in a second
/// as in the time for which the input was observed, each in a connection of its own, in a Poisson process. What the model has no place for
/// stands in comments.
///
/// # Errors
/// A variable without values, of those that the model cannot do without; an input that does not say how long it was observed, or of which
/// no connection has a request.
pub fn experiment(fitted: &Fitted) -> Result<String, Unwritable> {
    let find = |wanted| fitted.variables.iter().find(|one| one.variable == wanted);
    let need = |wanted| find(wanted).ok_or(Unwritable(wanted));
    need(FitVariable::Epochs)?;
    let requests = need(FitVariable::RequestBytes)?;
    let exchanges = fitted.exchanges.as_ref().ok_or(Unwritable(FitVariable::ResponseBytes))?;
    let responses = &exchanges.answers;
    if responses.max < 1.0 {
        return Err(Unwritable(FitVariable::ResponseBytes));
    }
    let seconds = fitted.observed_ns.ok_or(Unwritable(FitVariable::Interarrival))? as f64 / 1e9;
    let rate = exchanges.count as f64 / seconds;
    let name =
        fitted.name.as_ref().map_or_else(String::new, |name| format!(" in {}", name.replace(char::is_control, "?")));
    let mut text = format!(
        "# What flowloom fit found{name}: {} with {} exchanges that have a request,\n\
         # in the {} for which it was observed. {} % of the payload of the connections is in them.\n\
         # Each exchange is a connection of its own here, and connections start in a Poisson process.\n\n\
         [workload.model]\nkind = \"exchanges\"\nconnections-per-second = {:?}\n",
        counted(fitted.connections, "TCP connection"),
        thousands(exchanges.count),
        Unit::Time.show(seconds * 1e9),
        three_digits(100.0 * exchanges.payload_share),
        rounded(rate)
    );
    let mut write = |key: &str, of: &FittedVariable| _ = writeln!(text, "{key} = {}", written(of));
    write("request-bytes", requests);
    write("response-bytes", responses);
    find(FitVariable::ThinkTime).into_iter().for_each(|think| write("think-ms", think));
    write("rtt-ms", need(FitVariable::Rtt)?);
    if let Some(window) = find(FitVariable::InitiatorWindow) {
        let _ = writeln!(text, "window-bytes = {:.0}  # the median of the initiators' windows", window.median.max(1.0));
    }
    let _ = writeln!(text, "from-left = {}", three_digits(fitted.from_left));
    let _ = writeln!(text, "\n[measure]\nduration = \"{}s\"", seconds.ceil().max(1.0));
    let used = [FitVariable::RequestBytes, FitVariable::ResponseBytes, FitVariable::ThinkTime, FitVariable::Rtt];
    let mut others = fitted.variables.iter().filter(|one| !used.contains(&one.variable)).peekable();
    if others.peek().is_some() {
        text.push_str("\n# Laws that this model has no key for:\n");
    }
    for one in others {
        let _ = writeln!(text, "# {} = {}{}", one.name, one.proposed.numbers, remark(one));
    }
    Ok(text)
}

/// The law to write, with a remark: the proposed one, or the values themselves if its mean is not theirs.
fn written(variable: &FittedVariable) -> String {
    let law = variable.laws.iter().find(|law| law.kind == variable.proposed.kind);
    let is_far = |mean: f64| (mean / variable.mean - 1.0).abs() > NEAR_MEAN;
    let Some(law) = law.filter(|law| law.mean.is_none_or(is_far)) else {
        return variable.proposed.numbers.clone() + &remark(variable);
    };
    let mean = law.mean.map_or_else(|| "infinite".to_owned(), |mean| variable.variable.unit().show(mean));
    let own = variable.variable.unit().show(variable.mean);
    format!(
        "{}  # the values themselves: {}, KS {}, has a mean of {mean} instead of {own}",
        variable.empirical(),
        law.kind,
        three_digits(law.ks)
    )
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
    use flowloom_core::time::{Duration, Time};
    use flowloom_core::workload::{Adu, ConnectionVector, Pattern, Side};

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
        (fitter.exchanges, fitter.answers) = (4, of(&[7_000]));
        fitter.set_observed(Duration::from_secs(2));
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
        let about = "# What flowloom fit found in a?b.pcap: 0 TCP connections with 4 exchanges that have a request,\n";
        assert!(text.starts_with(about), "{text}");
        assert!(text.contains("\n# epochs = { kind = \"empirical\", values = [[1, 0.5], [3, 0.5]] }\n"), "{text}");
    }

    /// A connection that starts in this second, with ADUs of so many bytes, and a round trip of 40 ms.
    fn connection(second: u64, adus: &[(Side, u64)]) -> ConnectionVector {
        let adu =
            |&(side, bytes)| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
        ConnectionVector {
            start: Time::ZERO + Duration::from_secs(second),
            stated_rtt: Some(Duration::from_millis(40)),
            adus: adus.iter().map(adu).collect(),
            ..ConnectionVector::default()
        }
    }

    fn table(vectors: &[ConnectionVector], observed: u64) -> (toml::Table, String) {
        let mut fitter = Fitter::default();
        fitter.set_observed(Duration::from_secs(observed));
        vectors.iter().for_each(|vector| fitter.add(vector));
        let text = experiment(&fitter.finish(None, &FitVariable::ALL)).unwrap();
        (text.parse().unwrap(), text)
    }

    /// Ten exchanges in 20 s, though all starts are within 9 s; five banners are no exchanges, and five requests have no answer.
    #[test]
    fn rate_is_of_requests_and_of_the_observed_time() {
        let (client, server) = (Side::Initiator, Side::Acceptor);
        let with_banner = |at| connection(at, &[(server, 1_000), (client, 100), (server, 3_000)]);
        let unanswered = |at| connection(at, &[(client, 100)]);
        let vectors: Vec<_> = (0..10).map(|at| if at % 2 == 0 { with_banner(at) } else { unanswered(at) }).collect();
        let (table, text) = table(&vectors, 20);
        let model = &table["workload"]["model"];
        assert_eq!(model["connections-per-second"].as_float(), Some(0.5), "{text}");
        let answers = &model["response-bytes"]["values"];
        assert_eq!([&answers[0], &answers[1]].map(|one| one[0].as_integer()), [Some(0), Some(3_000)], "{text}");
        assert_eq!([&answers[0], &answers[1]].map(|one| one[1].as_float()), [Some(0.5); 2], "{text}");
        assert!(text.contains("10 exchanges that have a request,\n# in the 20.0 s for which"), "{text}");
        // 16,000 of 21,000 bytes.
        assert!(text.contains(" 76.2 % of the payload of the connections is in them."), "{text}");
    }

    /// No connection ends that takes turns: the experiment would hold none of its bytes.
    #[test]
    fn concurrent_connections_are_no_exchanges() {
        let one = connection(0, &[(Side::Initiator, 100), (Side::Acceptor, 3_000)]);
        let concurrent = ConnectionVector { pattern: Pattern::Concurrent, ..one.clone() };
        let (_, text) = table(&[one, concurrent], 10);
        assert!(
            text.contains("2 TCP connections with 1 exchanges") && text.contains("50.0 % of the payload"),
            "{text}"
        );
    }

    /// Values of a Pareto distribution without a variance: the most likely one has another mean than they have.
    #[test]
    fn a_law_with_another_mean_is_not_written() {
        let size = |at: u64| (1_000.0 * libm::pow(1.0 - (at as f64 + 0.5) / 400.0, -1.0 / 1.1)) as u64;
        let vectors: Vec<_> =
            (0..400).map(|at| connection(at, &[(Side::Initiator, 100), (Side::Acceptor, size(at))])).collect();
        let mean = (0..400).map(size).sum::<u64>() as f64 / 400.0;
        let (table, text) = table(&vectors, 400);
        let law = &table["workload"]["model"]["response-bytes"];
        assert_eq!(law["kind"].as_str(), Some("empirical"), "{text}");
        let law: flowloom_core::distribution::Distribution = law.clone().try_into().unwrap();
        assert!((law.mean().unwrap() / mean - 1.0).abs() < 0.001, "{text}");
        assert!(text.contains("pareto, KS ") && text.contains(" instead of "), "{text}");
    }
}
