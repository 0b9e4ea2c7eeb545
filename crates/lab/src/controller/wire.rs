//! What the control tree says, as messages: both ends of an edge use it.

use super::times::{AgentRun, LeafRun, Offset, Times};
use crate::clock::exchange::Bounds;
use crate::control::{Acknowledgement, Command, Failure, Said};
use crate::rpc::phase::Kind;
use crate::rpc::{self, AgentClock, Below, Interval, LeafTimes};

/// Of each kind so many things are said in one message.
const MOST_AT_ONCE: usize = 1_000;

/// How a command is called on an edge.
pub(crate) fn kind(command: Command) -> Kind {
    match command {
        Command::Setup => Kind::Setup,
        Command::Open => Kind::Open,
        Command::Run { .. } => Kind::Run,
        Command::Finish => Kind::Finish,
        Command::Close => Kind::Close,
        Command::Teardown => Kind::Teardown,
        Command::Report => Kind::Report,
        Command::Reset => Kind::Reset,
        Command::Kill => Kind::Kill,
        Command::Parameters => Kind::Parameters,
        Command::Config => Kind::Config,
    }
}

/// What is called so; a run is one at once.
pub(crate) fn command(kind: Kind) -> Option<Command> {
    Some(match kind {
        Kind::Unspecified => return None,
        Kind::Setup => Command::Setup,
        Kind::Open => Command::Open,
        Kind::Run => Command::Run { start_ns: None },
        Kind::Finish => Command::Finish,
        Kind::Close => Command::Close,
        Kind::Teardown => Command::Teardown,
        Kind::Report => Command::Report,
        Kind::Reset => Command::Reset,
        Kind::Kill => Command::Kill,
        Kind::Parameters => Command::Parameters,
        Kind::Config => Command::Config,
    })
}

/// What was said, and who failed.
pub(crate) fn of_words(words: Acknowledgement) -> Below {
    let said = words.said.into_iter().map(|Said { node, text }| rpc::Said { node, text });
    let failed = words.failed.into_iter().map(|Failure { node, command, text }| rpc::Failed {
        node,
        command: kind(command).into(),
        text,
    });
    Below { said: said.collect(), failed: failed.collect(), ..Below::default() }
}

/// The same from a message. What has failed at nothing that is known has at what was asked.
pub(crate) fn words(below: &mut Below, asked: Command) -> Acknowledgement {
    let said = below.said.drain(..).map(|rpc::Said { node, text }| Said { node, text }).collect();
    let failed = below.failed.drain(..).map(|failed| Failure {
        command: command(failed.command()).unwrap_or(asked),
        node: failed.node,
        text: failed.text,
    });
    Acknowledgement { said, failed: failed.collect() }
}

/// What is known of leaves and agents.
pub(crate) fn of_times(times: Times) -> Below {
    let interval = |(low_ns, high_ns): (i64, i64)| Interval { low_ns, high_ns };
    let leaves = times.leaves.into_iter().map(|leaf| LeafTimes {
        node: leaf.node,
        agent: leaf.agent,
        meant_ns: leaf.meant_ns,
        started: leaf.started_ns.map(interval),
        ended: leaf.ended_ns.map(interval),
    });
    let agents = times.agents.into_iter().map(|run| {
        let [before, after] = run.offset.map(|offset| {
            offset.map(|Offset { at_ns, bounds }| rpc::Offset {
                at_ns,
                offset: Some(interval((bounds.low_ns, bounds.high_ns))),
            })
        });
        let (agent, address, parent) = (run.agent, run.address, run.parent.unwrap_or_default());
        AgentClock { agent, address, parent, before, after, steps: run.clock_steps }
    });
    Below { leaves: leaves.collect(), agents: agents.collect(), ..Below::default() }
}

/// The same from messages.
pub(crate) fn times(leaves: Vec<LeafTimes>, agents: Vec<AgentClock>) -> Times {
    // Turned round it is no interval: nothing is known.
    let pair = |Interval { low_ns, high_ns }: Interval| (low_ns <= high_ns).then_some((low_ns, high_ns));
    let offset = |one: rpc::Offset| {
        let (low_ns, high_ns) = pair(one.offset?)?;
        Some(Offset { at_ns: one.at_ns, bounds: Bounds { low_ns, high_ns } })
    };
    let leaves = leaves.into_iter().map(|leaf| LeafRun {
        node: leaf.node,
        agent: leaf.agent,
        meant_ns: leaf.meant_ns,
        started_ns: leaf.started.and_then(pair),
        ended_ns: leaf.ended.and_then(pair),
    });
    let agents = agents.into_iter().map(|run| AgentRun {
        agent: run.agent,
        address: run.address,
        parent: Some(run.parent).filter(|parent| !parent.is_empty()),
        offset: [run.before.and_then(offset), run.after.and_then(offset)],
        clock_steps: run.steps,
    });
    Times { leaves: leaves.collect(), agents: agents.collect() }
}

/// In messages that are not too long.
pub(crate) fn pieces(mut below: Below) -> impl Iterator<Item = Below> {
    fn some<T>(all: &mut Vec<T>) -> Vec<T> {
        let rest = all.split_off(all.len().min(MOST_AT_ONCE));
        std::mem::replace(all, rest)
    }
    std::iter::from_fn(move || {
        let piece = Below {
            said: some(&mut below.said),
            failed: some(&mut below.failed),
            leaves: some(&mut below.leaves),
            agents: some(&mut below.agents),
        };
        (piece != Below::default()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_comes_out_as_it_went_in() {
        for at in 0..=11 {
            let kind_of = Kind::try_from(at).unwrap();
            assert_eq!(command(kind_of).map_or(Kind::Unspecified, kind), kind_of);
        }
        let offset = Some(Offset { at_ns: 3, bounds: Bounds { low_ns: -4, high_ns: 5 } });
        let times_of = Times {
            leaves: (0..2_500)
                .map(|at| LeafRun {
                    node: format!("leaf {at}"),
                    agent: "a".to_owned(),
                    meant_ns: (at % 2 == 0).then_some(at),
                    started_ns: Some((at, at + 1)),
                    ended_ns: None,
                })
                .collect(),
            agents: vec![AgentRun {
                agent: "a".to_owned(),
                address: "h:1".to_owned(),
                parent: None,
                offset: [offset, None],
                clock_steps: 2,
            }],
        };
        let all: Vec<Below> = pieces(of_times(times_of.clone())).collect();
        assert_eq!(all.iter().map(|piece| piece.leaves.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
        let leaves = all.iter().flat_map(|piece| piece.leaves.clone()).collect();
        let agents = all.iter().flat_map(|piece| piece.agents.clone()).collect();
        assert_eq!(times(leaves, agents), times_of);
        let failure = Failure { node: "n".to_owned(), command: Command::Open, text: "t".to_owned() };
        let said = Said { node: "m".to_owned(), text: "s".to_owned() };
        let both = Acknowledgement { said: vec![said], failed: vec![failure] };
        assert_eq!(words(&mut of_words(both.clone()), Command::Kill), both);
        assert_eq!(pieces(Below::default()).count(), 0);
    }
}
