//! From the keys of a queue to the discipline of the simulator.

use super::super::adaptive_red::AdaptiveRedParams;
use super::super::blue::BlueParams;
use super::super::codel::CodelParams;
use super::super::discipline::Discipline;
use super::super::fq_codel::FqCodelParams;
use super::super::pi::PiParams;
use super::super::pie::PieParams;
use super::super::red::RedParams;
use super::super::rem::RemParams;
use super::super::step::StepParams;
use crate::queue::parameters::FULL_PACKET_BYTES;
use crate::time::Duration;
use crate::units::Limit;

use super::{Queue, QueueKind, Target};
use crate::keys::{KeyError, Quantity};

fn given<T: Copy>(quantity: &Option<Quantity<T>>, default: T) -> T {
    quantity.as_ref().map_or(default, |quantity| quantity.value)
}

impl Queue {
    /// The simulator's, not checked beyond what its types say.
    pub(super) fn stated(&self) -> Result<Discipline, KeyError> {
        let limit = self.limit().value;
        match self.kind {
            QueueKind::DropTail => Ok(Discipline::DropTail(limit)),
            QueueKind::HeadDrop => Ok(Discipline::HeadDrop(limit)),
            QueueKind::Step => self.step(limit),
            QueueKind::Red => self.red(limit),
            QueueKind::AdaptiveRed => self.adaptive_red(limit),
            QueueKind::Blue => self.blue(limit),
            QueueKind::Pi => self.pi(limit),
            QueueKind::Rem => self.rem(limit),
            QueueKind::Pie => self.pie(limit),
            QueueKind::Codel => self.codel(limit),
            QueueKind::FqCodel => self.fq_codel(limit),
            QueueKind::Drr => {
                let quantum = self.quantum.unwrap_or(FULL_PACKET_BYTES);
                Ok(Discipline::DeficitRoundRobin { limit, quantum })
            }
            QueueKind::RoundRobin => Ok(Discipline::RoundRobin(limit)),
            QueueKind::Priority => Ok(Discipline::Priority { limit, bands: self.bands.unwrap_or(3) }),
        }
    }

    fn step(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = StepParams::default();
        Ok(Discipline::Step(StepParams {
            limit,
            threshold: given(&self.threshold, default.threshold),
            at: self.at.unwrap_or(default.at),
        }))
    }

    fn red(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = RedParams::default();
        Ok(Discipline::Red(RedParams {
            limit,
            min: given(&self.min, default.min),
            max: given(&self.max, default.max),
            max_p: self.max_p.unwrap_or(default.max_p),
            weight: self.weight.unwrap_or(default.weight),
            gentle: self.gentle.unwrap_or(default.gentle),
            mean_packet: self.mean_packet.unwrap_or(default.mean_packet),
            ecn: self.ecn.unwrap_or(default.ecn),
            above_max: self.above_max.unwrap_or(default.above_max),
        }))
    }

    fn adaptive_red(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = AdaptiveRedParams::default();
        let min = match self.min.as_ref().map(|min| min.value) {
            None => None,
            Some(Limit::Packets(packets)) => Some(packets),
            Some(Limit::Bytes(_)) => {
                return Err(KeyError::new("min", "of adaptive-red is a number of packets, like 5p"));
            }
        };
        Ok(Discipline::AdaptiveRed(AdaptiveRedParams {
            limit,
            target_delay: self.delay(default.target_delay)?,
            min,
            weight: self.weight,
            max_p: self.max_p.unwrap_or(default.max_p),
            interval: given(&self.interval, default.interval),
            increment: self.increment.unwrap_or(default.increment),
            decrease: self.decrease.unwrap_or(default.decrease),
            mean_packet: self.mean_packet.unwrap_or(default.mean_packet),
            ecn: self.ecn.unwrap_or(default.ecn),
            above_max: self.above_max.unwrap_or(default.above_max),
        }))
    }

    fn blue(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = BlueParams::default();
        Ok(Discipline::Blue(BlueParams {
            limit,
            threshold: self.threshold.as_ref().map(|threshold| threshold.value),
            freeze_time: given(&self.freeze_time, default.freeze_time),
            increment: self.increment.unwrap_or(default.increment),
            decrement: self.decrement.unwrap_or(default.decrement),
            ecn: self.ecn.unwrap_or(default.ecn),
        }))
    }

    fn pi(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = PiParams::default();
        Ok(Discipline::Pi(PiParams {
            limit,
            target: self.length(default.target)?,
            a: self.a.unwrap_or(default.a),
            b: self.b.unwrap_or(default.b),
            frequency: self.frequency.unwrap_or(default.frequency),
            ecn: self.ecn.unwrap_or(default.ecn),
        }))
    }

    fn rem(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = RemParams::default();
        Ok(Discipline::Rem(RemParams {
            limit,
            target: self.length(default.target)?,
            gamma: self.gamma.unwrap_or(default.gamma),
            alpha: self.alpha.unwrap_or(default.alpha),
            phi: self.phi.unwrap_or(default.phi),
            interval: given(&self.interval, default.interval),
            ecn: self.ecn.unwrap_or(default.ecn),
        }))
    }

    fn pie(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = PieParams::default();
        Ok(Discipline::Pie(PieParams {
            limit,
            target: self.delay(default.target)?,
            interval: given(&self.interval, default.interval),
            alpha: self.alpha.unwrap_or(default.alpha),
            beta: self.beta.unwrap_or(default.beta),
            max_burst: given(&self.max_burst, default.max_burst),
            estimator: self.estimator.unwrap_or(default.estimator),
            derandomise: self.derandomise.unwrap_or(default.derandomise),
            rest: self.rest.unwrap_or(default.rest),
            ecn: self.ecn.unwrap_or(default.ecn),
            ecn_threshold: self.ecn_threshold.unwrap_or(default.ecn_threshold),
        }))
    }

    fn codel(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = CodelParams::default();
        Ok(Discipline::Codel(CodelParams {
            limit,
            target: self.delay(default.target)?,
            interval: given(&self.interval, default.interval),
            mtu: self.mtu.unwrap_or(default.mtu),
            ecn: self.ecn.unwrap_or(default.ecn),
            ce_threshold: self.ce_threshold.as_ref().map(|threshold| threshold.value),
        }))
    }

    fn fq_codel(&self, limit: Limit) -> Result<Discipline, KeyError> {
        let default = FqCodelParams::default();
        Ok(Discipline::FqCodel(FqCodelParams {
            limit,
            memory: self.memory.as_ref().map_or(default.memory, |memory| memory.value.0),
            flows: self.flows.unwrap_or(default.flows),
            quantum: self.quantum.unwrap_or(default.quantum),
            target: self.delay(default.target)?,
            interval: given(&self.interval, default.interval),
            mtu: self.mtu.unwrap_or(default.mtu),
            ecn: self.ecn.unwrap_or(default.ecn),
            ce_threshold: self.ce_threshold.as_ref().map(|threshold| threshold.value),
        }))
    }

    fn delay(&self, default: Duration) -> Result<Duration, KeyError> {
        match given(&self.target, Target::Delay(default)) {
            Target::Delay(delay) => Ok(delay),
            Target::Packets(_) => {
                Err(KeyError::new("target", format!("of {} is a delay, like 15ms", self.kind.name())))
            }
        }
    }

    fn length(&self, default: u64) -> Result<u64, KeyError> {
        match given(&self.target, Target::Packets(default)) {
            Target::Packets(packets) => Ok(packets),
            Target::Delay(_) => {
                Err(KeyError::new("target", format!("of {} is a number of packets, like 200p", self.kind.name())))
            }
        }
    }
}
