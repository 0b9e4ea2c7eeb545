//! Thresholds, and what is done when one is passed: a program is run, or a URL is called.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use flowloom_core::time::Duration as Span;
use flowloom_store::monitor::{Kind, MILLIONTHS, SampleRow, Series};
use serde::Serialize;

use crate::clock::{Bell, Moment};
use crate::http;
use crate::query::bits_of;
use crate::registry::{Alert, matches};

/// Actions that run at the same time, at most.
const MOST_RUNNING: usize = 8;

/// Actions that wait for others, at most. The oldest are reported as failed when there are more.
const MOST_WAITING: usize = 256;

/// An action that takes longer is ended.
const MOST_TIME: Duration = Duration::from_secs(30);

/// A threshold that was passed, or is no longer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Raised {
    /// The threshold.
    pub alert: String,
    /// `raised` or `cleared`.
    pub state: State,
    /// The target.
    pub target: String,
    /// The port.
    pub port: String,
    /// The counter.
    pub counter: String,
    /// The rate in units per second, or the value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// Whether it is a rate or a value.
    #[serde(skip)]
    pub kind: Kind,
    /// When, in nanoseconds since 1970 UTC.
    pub time_ns: u64,
}

/// Whether a threshold was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was.
    Raised,
    /// It is no longer.
    Cleared,
}

impl State {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            State::Raised => "raised",
            State::Cleared => "cleared",
        }
    }
}

/// All thresholds.
pub(crate) struct Alerts {
    rules: Vec<Arc<Alert>>,
    /// What of each series is watched.
    watched: BTreeMap<u32, (Series, Vec<Watch>)>,
    /// What is to be done, the oldest first.
    waiting: VecDeque<(Doing, Raised)>,
    /// What is being done.
    running: BTreeSet<Doing>,
    done: (Sender<Ended>, Receiver<Ended>),
    /// Actions that were given up, and why.
    given_up: Vec<(usize, String)>,
}

/// Of which threshold and series an action is. Those of both the same run in their order.
type Doing = (usize, u32);

/// An action that ended, and why it failed.
type Ended = (Doing, Option<String>);

/// A series as one threshold sees it.
struct Watch {
    rule: usize,
    /// When it was passed, in nanoseconds since 1970 UTC; `None` while it is not.
    since_ns: Option<u64>,
    is_raised: bool,
}

impl Alerts {
    pub(crate) fn new(rules: &[Alert]) -> Alerts {
        let rules = rules.iter().cloned().map(Arc::new).collect();
        let (watched, waiting, running, given_up) = Default::default();
        Alerts { rules, watched, waiting, running, done: channel(), given_up }
    }

    /// A series is there.
    pub(crate) fn defined(&mut self, series: &Series) {
        let is_meant = |rule: &Alert| {
            rule.counter == series.counter && matches(&rule.target, &series.target) && matches(&rule.port, &series.port)
        };
        let rules = self.rules.iter().enumerate().filter(|(_, rule)| is_meant(rule));
        let watches: Vec<Watch> = rules.map(|(rule, _)| Watch { rule, since_ns: None, is_raised: false }).collect();
        if !watches.is_empty() {
            self.watched.insert(series.id, (series.clone(), watches));
        }
    }

    /// Samples came: thresholds that they pass act.
    pub(crate) fn sampled(
        &mut self,
        time_ns: u64,
        span_ns: u64,
        samples: &[(u32, u64)],
        report: &mut dyn FnMut(&Raised),
    ) {
        if self.watched.is_empty() {
            return;
        }
        let mut acts = Vec::new();
        for (series, amount) in samples {
            let Some((series, watches)) = self.watched.get_mut(series) else { continue };
            let sample = SampleRow { series: series.id, time_ns, span_ns, amount: *amount };
            let value = sample.millionths(series.kind) as f64 / MILLIONTHS as f64;
            for watch in watches {
                let rule = &self.rules[watch.rule];
                if let Some(state) = watch.see(rule, series, (time_ns, span_ns), value) {
                    acts.push(((watch.rule, series.id), raised(rule, series, time_ns, value, state)));
                }
            }
        }
        for (doing, raised) in acts {
            report(&raised);
            self.waiting.push_back((doing, raised));
            if self.waiting.len() > MOST_WAITING
                && let Some(((rule, _), _)) = self.waiting.pop_front()
            {
                self.given_up.push((rule, format!("{MOST_WAITING} actions are waiting already")));
            }
        }
        self.start();
    }

    /// The value of a series is unknown for a while: nobody knows whether it stayed beyond a threshold.
    pub(crate) fn gap(&mut self, series: u32) {
        let Some((_, watches)) = self.watched.get_mut(&series) else { return };
        watches.iter_mut().for_each(|watch| watch.since_ns = None);
    }

    /// Reports the actions that failed since this was last called.
    pub(crate) fn finished(&mut self, failed: &mut dyn FnMut(&str, String)) {
        while let Ok((doing, problem)) = self.done.1.try_recv() {
            self.running.remove(&doing);
            self.given_up.extend(problem.map(|problem| (doing.0, problem)));
        }
        self.start();
        for (rule, problem) in self.given_up.drain(..) {
            failed(&self.rules[rule].name, problem);
        }
    }

    /// Reports the actions that nobody will run any longer.
    pub(crate) fn end(&mut self, failed: &mut dyn FnMut(&str, String)) {
        self.finished(failed);
        for ((rule, _), _) in self.waiting.drain(..) {
            failed(&self.rules[rule].name, "the monitor ended before it was run".to_owned());
        }
    }

    /// Runs what waits, as far as there is room and no action before it is of the same threshold and series.
    fn start(&mut self) {
        let mut at = 0;
        while self.running.len() < MOST_RUNNING
            && let Some((doing, _)) = self.waiting.get(at)
        {
            if self.running.contains(doing) {
                at += 1;
            } else if let Some((doing, raised)) = self.waiting.remove(at) {
                self.running.insert(doing);
                self.act(doing, raised);
            }
        }
    }

    fn act(&mut self, doing: Doing, raised: Raised) {
        let (ended, rule) = (self.done.0.clone(), Arc::clone(&self.rules[doing.0]));
        let act = move || {
            let run = if rule.command.is_empty() { Ok(()) } else { run(&rule.command, &raised, MOST_TIME) };
            let called = rule.url.as_ref().map_or(Ok(()), |url| call(url, &raised));
            let _ = ended.send((doing, run.and(called).err()));
        };
        if let Err(error) = thread::Builder::new().name("alert".to_owned()).spawn(act) {
            let _ = self.done.0.send((doing, Some(error.to_string())));
        }
    }
}

impl Watch {
    /// What the threshold makes of a sample; `None` if nothing changes.
    fn see(&mut self, rule: &Alert, series: &Series, (time_ns, span_ns): (u64, u64), value: f64) -> Option<State> {
        if !is_passed(rule, series, value) {
            self.since_ns = None;
            return std::mem::take(&mut self.is_raised).then_some(State::Cleared);
        }
        let since = *self.since_ns.get_or_insert(time_ns.saturating_sub(span_ns));
        let lasts = rule.lasts.as_ref().map_or(Span::ZERO, |lasts| lasts.value).as_nanos();
        let is_new = !self.is_raised && time_ns.saturating_sub(since) >= lasts;
        self.is_raised |= is_new;
        is_new.then_some(State::Raised)
    }
}

fn is_passed(rule: &Alert, series: &Series, value: f64) -> bool {
    let rate = |bound: &Option<flowloom_core::keys::Quantity<flowloom_core::units::Rate>>| {
        // A value is no rate.
        let per_unit = bits_of(&series.unit).filter(|_| series.kind == Kind::Counter)?;
        Some(bound.as_ref()?.value.bits_per_second()? as f64 / per_unit as f64)
    };
    rule.above.or_else(|| rate(&rule.rate_above)).is_some_and(|bound| value > bound)
        || rule.below.or_else(|| rate(&rule.rate_below)).is_some_and(|bound| value < bound)
}

fn raised(rule: &Alert, series: &Series, time_ns: u64, value: f64, state: State) -> Raised {
    let alert = rule.name.clone();
    let Series { target, port, counter, unit, kind, .. } = series.clone();
    Raised { alert, state, target, port, counter, value, unit, kind, time_ns }
}

/// Runs a program. What happened is in its environment, so that no name becomes an argument.
fn run(command: &[String], raised: &Raised, most: Duration) -> Result<(), String> {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .env("FLOWLOOM_ALERT_NAME", &raised.alert)
        .env("FLOWLOOM_ALERT_STATE", raised.state.name())
        .env("FLOWLOOM_ALERT_TARGET", &raised.target)
        .env("FLOWLOOM_ALERT_PORT", raised.port.replace('\0', ""))
        .env("FLOWLOOM_ALERT_COUNTER", &raised.counter)
        .env("FLOWLOOM_ALERT_VALUE", raised.value.to_string())
        .env("FLOWLOOM_ALERT_UNIT", &raised.unit)
        .env("FLOWLOOM_ALERT_TIME_NS", raised.time_ns.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Its children end with it.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{}: {error}", command[0]))?;
    let end = Moment::now().monotonic_ns + most.as_nanos() as u64;
    let pause = Bell::default();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{}: {status}", command[0])),
            Ok(None) if Moment::now().monotonic_ns < end => {
                pause.wait_until(Moment::now().monotonic_ns + 20_000_000);
            }
            Ok(None) => {
                let group = nix::unistd::Pid::from_raw(child.id() as i32);
                let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
                let _ = child.wait();
                return Err(format!("{}: it took more than {} s", command[0], most.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Sends what happened as JSON. An error does not tell the URL, of which a part may be a secret.
fn call(url: &str, raised: &Raised) -> Result<(), String> {
    let text = serde_json::to_string(raised).map_err(|error| error.to_string())?;
    let sent = http::client(MOST_TIME).post(url).content_type("application/json").send(text);
    sent.map(drop).map_err(|error| http::problem(&error))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    const S: u64 = 1_000_000_000;

    fn alert(keys: &str) -> Alert {
        toml::from_str(&format!("name = \"busy\"\ncounter = \"in\"\n{keys}")).unwrap()
    }

    fn series() -> Series {
        Series {
            id: 7,
            target: "core".to_owned(),
            port: "eth0".to_owned(),
            counter: "in".to_owned(),
            unit: "octets".to_owned(),
            kind: Kind::Counter,
            interval_ns: S,
        }
    }

    /// The states that octets per second, one sample a second, lead to.
    fn states(keys: &str, rates: &[u64]) -> Vec<(u64, State)> {
        let mut alerts = Alerts::new(&[alert(keys)]);
        alerts.defined(&series());
        let mut found = Vec::new();
        for (second, rate) in (1..).zip(rates) {
            alerts.sampled(second * S, S, &[(7, *rate), (8, 1 << 40)], &mut |raised| {
                found.push((raised.time_ns / S, raised.state));
            });
        }
        found
    }

    #[test]
    fn thresholds_are_passed_and_left() {
        use State::{Cleared, Raised};
        let rates = [0, 200, 200, 0, 200, 200, 200, 200, 100];
        assert_eq!(states("above = 100", &rates), [(2, Raised), (4, Cleared), (5, Raised), (9, Cleared)]);
        assert_eq!(states("above = 100\nlasts = \"3s\"", &rates), [(7, Raised), (9, Cleared)]);
        assert_eq!(states("rate-above = \"1kbit\"", &rates)[0], (2, Raised));
        assert_eq!(states("rate-above = \"2kbit\"", &rates), []);
        assert_eq!(states("below = 100", &rates)[..2], [(1, Raised), (2, Cleared)]);
        assert_eq!(states("port = \"wlan*\"\nabove = 0", &rates), []);
    }

    #[test]
    fn programs_find_what_happened_in_their_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("said");
        let script = format!("echo $FLOWLOOM_ALERT_NAME $FLOWLOOM_ALERT_PORT > {}", file.display());
        let command = ["sh", "-c", &script].map(str::to_owned);
        let raised =
            raised(&alert("above = 1"), &Series { port: "$(date)".to_owned(), ..series() }, 1, 2.0, State::Raised);
        run(&command, &raised, MOST_TIME).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "busy $(date)\n");
        assert!(run(&["false".to_owned()], &raised, MOST_TIME).unwrap_err().starts_with("false: exit status"));
        assert!(run(&["/none".to_owned()], &raised, MOST_TIME).unwrap_err().starts_with("/none: No such file"));
    }

    #[test]
    fn values_have_no_rates() {
        let mut alerts = Alerts::new(&[alert("rate-above = \"1kbit\"")]);
        alerts.defined(&Series { kind: Kind::Gauge, ..series() });
        alerts.sampled(S, S, &[(7, 1 << 40)], &mut |raised| panic!("{raised:?}"));
    }

    /// Waits until nothing is left to do: what failed.
    fn done(alerts: &mut Alerts) -> Vec<String> {
        let mut failed = Vec::new();
        while !alerts.running.is_empty() || !alerts.waiting.is_empty() {
            Bell::default().wait_until(Moment::now().monotonic_ns + 10_000_000);
            alerts.finished(&mut |_, problem| failed.push(problem));
        }
        failed
    }

    #[test]
    fn cleared_comes_after_raised() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("said");
        // Raising takes longer than clearing.
        let script = format!(
            "test $FLOWLOOM_ALERT_STATE = cleared || sleep 0.3; echo $FLOWLOOM_ALERT_STATE >> {}",
            file.display()
        );
        let keys = format!("above = 100\ncommand = [\"sh\", \"-c\", \"{script}\"]");
        let mut alerts = Alerts::new(&[alert(&keys)]);
        alerts.defined(&series());
        for (second, rate) in (1..).zip([200, 0, 200, 0]) {
            alerts.sampled(second * S, S, &[(7, rate)], &mut |_| {});
        }
        assert_eq!(done(&mut alerts), [""; 0]);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "raised\ncleared\nraised\ncleared\n");
    }

    #[test]
    fn more_actions_than_run_at_once_wait() {
        let folder = tempfile::tempdir().unwrap();
        let keys = format!("above = 100\ncommand = [\"mktemp\", \"-p\", \"{}\"]", folder.path().display());
        let mut alerts = Alerts::new(&[alert(&keys)]);
        let ids = 0..3 * MOST_RUNNING as u32;
        ids.clone().for_each(|id| alerts.defined(&Series { id, ..series() }));
        let samples: Vec<(u32, u64)> = ids.map(|id| (id, 200)).collect();
        alerts.sampled(S, S, &samples, &mut |_| {});
        assert_eq!(alerts.running.len(), MOST_RUNNING);
        assert_eq!(done(&mut alerts), [""; 0]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3 * MOST_RUNNING);
    }

    #[test]
    fn what_lasts_is_known_all_the_time() {
        // Two seconds above, ten of which nobody knows, and one above.
        let mut alerts = Alerts::new(&[alert("above = 100\nlasts = \"3s\"")]);
        alerts.defined(&series());
        let mut found = Vec::new();
        for second in [1, 2, 13, 14, 15] {
            if second == 13 {
                alerts.gap(7);
            }
            alerts.sampled(second * S, S, &[(7, 200)], &mut |raised| found.push(raised.time_ns / S));
        }
        assert_eq!(found, [15]);
    }

    #[test]
    fn a_program_ends_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lives");
        // The child of a child would write long after the shell was ended.
        let script = format!("(sleep 2; echo > {}) & wait", file.display());
        let command = ["sh", "-c", &script].map(str::to_owned);
        let raised = raised(&alert("above = 1"), &series(), 1, 2.0, State::Raised);
        let ended = run(&command, &raised, Duration::from_millis(200)).unwrap_err();
        assert!(ended.contains("it took more than"), "{ended}");
        Bell::default().wait_until(Moment::now().monotonic_ns + 2_500_000_000);
        assert!(!file.exists());
    }

    #[test]
    fn urls_get_what_happened_as_json() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hush", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            ["204 No Content", "500 Oh"].map(|status| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut text = Vec::new();
                while !text.ends_with(b"}") {
                    let mut block = [0; 1_024];
                    let read = stream.read(&mut block).unwrap();
                    text.extend(&block[..read]);
                }
                write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
                String::from_utf8(text).unwrap()
            })
        });
        let raised = raised(&alert("above = 1"), &series(), 5, 2.5, State::Raised);
        call(&url, &raised).unwrap();
        assert_eq!(call(&url, &raised).unwrap_err(), "its URL answered with 500");
        let asked = server.join().unwrap();
        assert!(asked[0].starts_with("POST /hush HTTP/1.1\r\n"), "{}", asked[0]);
        let json = "{\"alert\":\"busy\",\"state\":\"raised\",\"target\":\"core\",\"port\":\"eth0\",\"counter\":\"in\",\"value\":2.5,\
                    \"unit\":\"octets\",\"time_ns\":5}";
        assert!(asked[0].ends_with(json), "{}", asked[0]);
        assert!(!call(&url, &raised).unwrap_err().contains("hush"));
    }
}
