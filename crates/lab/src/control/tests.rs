//! Truth tables of methods J.2 and J.3.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex};

use super::*;
use crate::script::tree::Keyword;

/// What leaves were asked, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// A leaf that fails when it is asked to do one thing, and may need to be asked for others twice before it has done them.
struct Scripted {
    name: String,
    log: Log,
    fails_at: Option<Command>,
    /// How often it yields before it answers.
    slow: u32,
    says: &'static str,
}

#[tonic::async_trait]
impl Node for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    async fn command(&mut self, command: Command, reports: &Reports) -> Reply {
        self.log.lock().unwrap().push(format!("{} {command}", self.name));
        for _ in 0..self.slow {
            tokio::task::yield_now().await;
        }
        let name = || self.name.clone();
        let same = |one: Command| one.to_string() == command.to_string();
        if self.fails_at.is_some_and(same) {
            return Err(vec![Failure { node: name(), command, text: "no".to_owned() }]);
        }
        if command == Command::Report {
            let part = Part { node: name(), bytes: b"result".to_vec() };
            reports.send(part).await.unwrap();
        }
        self.log.lock().unwrap().push(format!("{} {command} done", self.name));
        let said =
            if self.says.is_empty() { Vec::new() } else { vec![Said { node: name(), text: self.says.to_owned() }] };
        Ok(Acknowledgement { said, failed: Vec::new() })
    }
}

fn leaf(name: &str, log: &Log, fails_at: Option<Command>) -> Box<dyn Node> {
    Box::new(Scripted { name: name.to_owned(), log: Arc::clone(log), fails_at, slow: 1, says: "" })
}

fn block(name: &str, kind: Keyword, children: Vec<Box<dyn Node>>) -> Box<dyn Node> {
    Box::new(branch(name, kind, children))
}

fn branch(name: &str, kind: Keyword, children: Vec<Box<dyn Node>>) -> Branch {
    Branch::new(name, kind, children, Arc::new(|| Some(9)))
}

const RUN: Command = Command::Run { start_ns: Some(7) };
const TRANSFER: [Command; 5] = [Command::Setup, Command::Open, RUN, Command::Finish, Command::Close];

/// All phases, as far as they go; the answers, and who reported.
fn experiment(top: &mut dyn Node) -> (Vec<Reply>, BTreeSet<String>) {
    on_one_thread(async {
        let (reports, mut came) = mpsc::channel(64);
        let mut answers = Vec::new();
        for command in TRANSFER {
            answers.push(top.command(command, &reports).await);
            if answers.last().is_some_and(Result::is_err) {
                break;
            }
        }
        for command in [Command::Report, Command::Teardown] {
            top.command(command, &reports).await.unwrap();
        }
        drop(reports);
        let mut reported = BTreeSet::new();
        while let Some(part) = came.recv().await {
            reported.insert(part.node);
        }
        (answers, reported)
    })
}

fn on_one_thread<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn place(log: &[String], what: &str) -> usize {
    log.iter().position(|one| one == what).unwrap_or_else(|| panic!("nobody did {what}: {log:?}"))
}

#[test]
fn a_cluster_that_fails_does_not_fail_its_parallel() {
    // methods J.3: a ok, b error at open; c ok, d ok.
    let log = Log::default();
    let one = block("one", Keyword::Cluster, vec![leaf("a", &log, None), leaf("b", &log, Some(Command::Open))]);
    let two = block("two", Keyword::Cluster, vec![leaf("c", &log, None), leaf("d", &log, None)]);
    let mut top = block("top", Keyword::Parallel, vec![one, two]);
    let (answers, reported) = experiment(top.as_mut());
    assert!(answers.iter().all(Result::is_ok) && answers.len() == 5, "{answers:?}");
    let failed = &answers[1].as_ref().unwrap().failed;
    assert_eq!(failed.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b: open: no"]);
    let log = log.lock().unwrap();
    for leaf in ["c", "d"] {
        assert!(place(&log, &format!("{leaf} run done")) < place(&log, &format!("{leaf} close done")));
    }
    for leaf in ["a", "b"] {
        assert!(place(&log, &format!("{leaf} open")) < place(&log, &format!("{leaf} kill")));
        assert!(!log.contains(&format!("{leaf} run")), "{log:?}");
    }
    assert_eq!(reported.len(), 4, "what a failed leaf has is asked for all the same");
    assert!(["a", "b", "c", "d"].iter().all(|leaf| log.contains(&format!("{leaf} teardown"))));
}

#[test]
fn a_cluster_at_the_top_fails_the_experiment() {
    let log = Log::default();
    let one = block("one", Keyword::Cluster, vec![leaf("a", &log, None), leaf("b", &log, Some(Command::Open))]);
    let two = block("two", Keyword::Cluster, vec![leaf("c", &log, None), leaf("d", &log, None)]);
    let mut top = block("top", Keyword::Cluster, vec![one, two]);
    let (answers, _) = experiment(top.as_mut());
    let failures = answers[1].as_ref().unwrap_err();
    assert_eq!(failures.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b: open: no"]);
    let log = log.lock().unwrap();
    assert!(["a", "b", "c", "d"].iter().all(|leaf| log.contains(&format!("{leaf} kill"))), "{log:?}");
}

#[test]
fn in_a_cluster_nobody_waits_for_those_that_are_slower_than_a_failure() {
    let log = Log::default();
    let slow = Scripted { name: "slow".to_owned(), log: Arc::clone(&log), fails_at: None, slow: 1_000_000, says: "" };
    let mut top = branch("top", Keyword::Cluster, vec![Box::new(slow), leaf("b", &log, Some(RUN))]);
    // The slow one is quick up to here.
    on_one_thread(async {
        let (reports, _came) = mpsc::channel(64);
        let failures = top.command(RUN, &reports).await.unwrap_err();
        assert_eq!(failures.len(), 1);
    });
    let log = log.lock().unwrap();
    assert!(!log.contains(&"slow run done".to_owned()), "{log:?}");
}

#[test]
fn what_cannot_be_killed_in_an_abandoned_cluster_is_told() {
    let log = Log::default();
    let children = vec![leaf("a", &log, Some(Command::Kill)), leaf("b", &log, Some(RUN))];
    let mut top = branch("top", Keyword::Cluster, children);
    on_one_thread(async {
        let (reports, _came) = mpsc::channel(1);
        top.command(Command::Setup, &reports).await.unwrap();
        let failures = top.command(RUN, &reports).await.unwrap_err();
        assert_eq!(failures.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b: run: no", "a: kill: no"]);
    });
}

#[test]
fn children_of_a_serial_block_follow_each_other() {
    for fails_at in [None, Some(RUN), Some(Command::Open), Some(Command::Setup)] {
        let log = Log::default();
        let children = vec![leaf("a", &log, None), leaf("b", &log, fails_at), leaf("c", &log, None)];
        let mut top = block("top", Keyword::Serial, children);
        let (answers, _) = experiment(top.as_mut());
        assert!(answers.iter().all(Result::is_ok));
        let failed: usize = answers.iter().map(|answer| answer.as_ref().unwrap().failed.len()).sum();
        assert_eq!(failed, usize::from(fails_at.is_some()));
        let log = log.lock().unwrap();
        // What cannot be had shows before anything runs.
        assert!(place(&log, "c setup done") < place(&log, "a open"));
        assert!(place(&log, "a close done") < place(&log, "c open"));
        if fails_at.is_none() {
            assert!(place(&log, "a close done") < place(&log, "b open"));
            assert!(place(&log, "b close done") < place(&log, "c open"));
        }
        assert_eq!(log.iter().filter(|one| *one == "c run done").count(), 1);
    }
}

#[test]
fn what_follows_in_a_serial_block_has_a_start_of_its_own() {
    struct Starts(Arc<Mutex<Vec<Option<u64>>>>);
    #[tonic::async_trait]
    impl Node for Starts {
        fn name(&self) -> &str {
            "starts"
        }
        async fn command(&mut self, command: Command, _: &Reports) -> Reply {
            if let Command::Run { start_ns } = command {
                self.0.lock().unwrap().push(start_ns);
            }
            Ok(Acknowledgement::default())
        }
    }
    let starts: Arc<Mutex<Vec<_>>> = Arc::default();
    let of = || Box::new(Starts(Arc::clone(&starts))) as Box<dyn Node>;
    let mut serial = block("serial", Keyword::Serial, vec![of(), of()]);
    let mut parallel = block("parallel", Keyword::Parallel, vec![of(), of()]);
    assert_eq!(serial.name(), "serial");
    for top in [&mut serial, &mut parallel] {
        experiment(top.as_mut());
    }
    assert_eq!(*starts.lock().unwrap(), [Some(7), Some(9), Some(7), Some(7)]);
}

#[test]
fn nothing_is_a_legal_block() {
    for kind in [Keyword::Cluster, Keyword::Parallel, Keyword::Serial] {
        let (answers, reported) = experiment(&mut branch("empty", kind, Vec::new()));
        assert!(answers.iter().all(|answer| *answer == Ok(Acknowledgement::default())));
        assert!(reported.is_empty());
    }
}

#[test]
fn what_leaves_say_comes_up_in_the_order_of_the_script() {
    let log = Log::default();
    let says = |name: &str, says, slow| {
        Box::new(Scripted { name: name.to_owned(), log: Arc::clone(&log), fails_at: None, slow, says }) as Box<dyn Node>
    };
    let mut top = block("top", Keyword::Parallel, vec![says("a", "late", 9), says("b", "early", 0)]);
    let (answers, _) = experiment(top.as_mut());
    let said: Vec<_> = answers[0].as_ref().unwrap().said.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(said, ["late", "early"]);
}

#[test]
fn those_that_failed_take_part_again_after_a_reset_only() {
    let log = Log::default();
    let mut top = block("top", Keyword::Parallel, vec![leaf("a", &log, Some(Command::Open)), leaf("b", &log, None)]);
    let (answers, _) = experiment(top.as_mut());
    assert_eq!(answers[1].as_ref().unwrap().failed.len(), 1);
    let setups = || log.lock().unwrap().iter().filter(|one| *one == "a setup").count();
    on_one_thread(async {
        let (reports, _came) = mpsc::channel(64);
        top.command(Command::Setup, &reports).await.unwrap();
        assert_eq!(setups(), 1);
        top.command(Command::Reset, &reports).await.unwrap();
        top.command(Command::Setup, &reports).await.unwrap();
        assert_eq!(setups(), 2);
    });
}
