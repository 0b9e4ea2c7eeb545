//! `cluster`, `parallel` and `serial`: what each makes of its children's answers.

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::{Acknowledgement, Command, Node, Reply, Reports};
use crate::script::tree::Keyword;

/// When what follows begins: a reading of this host's monotonic clock that is ahead, in nanoseconds.
pub type NextStart = std::sync::Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// A node with children.
pub struct Branch {
    name: String,
    kind: Keyword,
    children: Vec<Child>,
    next_start: NextStart,
}

struct Child {
    node: Box<dyn Node>,
    /// It was asked to set up, so that it may have something to be freed.
    is_begun: bool,
    /// It has failed.
    is_out: bool,
}

impl Branch {
    /// A node of `children`, in the order of the script. Of a serial one, those behind the first begin at a `next_start`.
    pub fn new(name: impl Into<String>, kind: Keyword, children: Vec<Box<dyn Node>>, next_start: NextStart) -> Branch {
        let child = |node| Child { node, is_begun: false, is_out: false };
        Branch { name: name.into(), kind, children: children.into_iter().map(child).collect(), next_start }
    }

    /// A node that is taken up again where it was left, for what it has found.
    pub fn taken_up(mut self) -> Branch {
        self.children.iter_mut().for_each(|child| child.is_begun = true);
        self
    }

    /// Asks the children that take part, all at once. Those that fail are out; of a cluster, all are as soon as one is.
    async fn ask_all(&mut self, command: Command, reports: &Reports) -> Reply {
        let is_cluster = self.kind == Keyword::Cluster;
        let mut answers: Vec<(usize, Reply)> = Vec::new();
        {
            let taking_part = self.children.iter_mut().enumerate().filter(|(_, child)| !child.is_out);
            let mut asked: FuturesUnordered<_> =
                taking_part.map(|(at, child)| async move { (at, child.ask(command, reports).await) }).collect();
            while let Some(answer) = asked.next().await {
                let has_failed = answer.1.is_err();
                answers.push(answer);
                if has_failed && is_cluster {
                    // The others' answers are not waited for.
                    break;
                }
            }
        }
        answers.sort_by_key(|(at, _)| *at);
        let (mut all, mut failures) = (Acknowledgement::default(), Vec::new());
        for (at, answer) in answers {
            match answer {
                Ok(mut acknowledged) => {
                    all.said.append(&mut acknowledged.said);
                    all.failed.append(&mut acknowledged.failed);
                }
                Err(mut failed) => {
                    self.children[at].is_out = true;
                    failures.append(&mut failed);
                }
            }
        }
        if failures.is_empty() {
            return Ok(all);
        }
        if is_cluster {
            let mut killed = self.ask_begun(Command::Kill, reports).await;
            self.children.iter_mut().for_each(|child| child.is_out = true);
            failures.splice(0..0, all.failed);
            failures.append(&mut killed.failed);
            return Err(failures);
        }
        all.failed.append(&mut failures);
        Ok(all)
    }

    /// Asks everything that was begun, whether it failed or not: what fails now fails nobody.
    async fn ask_begun(&mut self, command: Command, reports: &Reports) -> Acknowledgement {
        let begun = self.children.iter_mut().filter(|child| child.is_begun || child.is_out);
        let asked: Vec<_> = begun
            .map(|child| async move {
                let was_out = child.is_out;
                (was_out, child.ask(command, reports).await)
            })
            .collect();
        let mut all = Acknowledgement::default();
        for (was_out, answer) in futures_util::future::join_all(asked).await {
            match answer {
                Ok(mut acknowledged) => {
                    all.said.append(&mut acknowledged.said);
                    all.failed.append(&mut acknowledged.failed);
                }
                // What has failed before has said so.
                Err(mut failures) if !was_out => all.failed.append(&mut failures),
                Err(_) => {}
            }
        }
        all
    }

    /// The children of a serial one after the other, each from open to close.
    async fn run_in_turn(&mut self, start_ns: Option<u64>, reports: &Reports) -> Reply {
        let mut all = Acknowledgement::default();
        let mut agreed = Some(start_ns);
        for child in self.children.iter_mut().filter(|child| !child.is_out) {
            for command in [Command::Open, Command::Run { start_ns: None }, Command::Finish, Command::Close] {
                let command = match command {
                    // The first begins when it was agreed; the others after the one before was closed.
                    Command::Run { .. } => {
                        Command::Run { start_ns: agreed.take().unwrap_or_else(|| (self.next_start)()) }
                    }
                    other => other,
                };
                match child.ask(command, reports).await {
                    Ok(mut acknowledged) => {
                        all.said.append(&mut acknowledged.said);
                        all.failed.append(&mut acknowledged.failed);
                    }
                    Err(mut failures) => {
                        child.is_out = true;
                        all.failed.append(&mut failures);
                        break;
                    }
                }
            }
        }
        Ok(all)
    }
}

impl Child {
    async fn ask(&mut self, command: Command, reports: &Reports) -> Reply {
        self.is_begun |= command == Command::Setup;
        let answer = self.node.command(command, reports).await;
        if matches!(command, Command::Teardown | Command::Reset) {
            self.is_begun = false;
        }
        if command == Command::Reset && answer.is_ok() {
            self.is_out = false;
        }
        answer
    }
}

#[tonic::async_trait]
impl Node for Branch {
    fn name(&self) -> &str {
        &self.name
    }

    async fn command(&mut self, command: Command, reports: &Reports) -> Reply {
        match (command, self.kind) {
            (Command::Open | Command::Finish | Command::Close, Keyword::Serial) => Ok(Acknowledgement::default()),
            (Command::Run { start_ns }, Keyword::Serial) => self.run_in_turn(start_ns, reports).await,
            (Command::Setup | Command::Open | Command::Run { .. } | Command::Finish | Command::Close, _) => {
                self.ask_all(command, reports).await
            }
            // What is neither part of the transfer nor can fail it.
            _ => Ok(self.ask_begun(command, reports).await),
        }
    }
}
