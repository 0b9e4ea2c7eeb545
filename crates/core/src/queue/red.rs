//! RED, random early detection (Floyd and Jacobson 1993), with the gentle variant (Floyd 2000).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::admission::{Admit, Arrival, Verdict};
use super::packet::Packet;
use super::parameters::{FULL_PACKET_BYTES, ParameterError};
use crate::record::DropReason;
use crate::rng::Stream;
use crate::units::{Limit, Rate};

/// Parameters of [`Red`]. Defaults are those of Floyd's "RED: Discussions of Setting Parameters" (1997, 2000), not gentle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedParams {
    /// What may wait at all.
    pub limit: Limit,
    /// No signal while the average is below this.
    pub min: Limit,
    /// From this on every packet is signalled; with `gentle` from twice this on. In the unit of `min`, and not below it. In
    /// bytes, the probability of a packet is in proportion to its size. With `min` equal to `max` and a `weight` of 1 it is the
    /// step marking of Alizadeh et al. 2010, section 3.1.
    pub max: Limit,
    /// Probability at `max`.
    pub max_p: f64,
    /// Weight of a new sample in the average, the paper's w_q.
    pub weight: f64,
    /// Between `max` and twice `max` the probability rises from `max_p` to 1.
    pub gentle: bool,
    /// Size of the packets that the average ages by while the line is idle, in bytes.
    pub mean_packet: u32,
    /// Marks instead of early drops.
    pub ecn: bool,
    /// With `ecn`, what becomes of ECN-capable packets while the average is above the range.
    pub above_max: AboveMax,
}

/// What becomes of ECN-capable packets while RED's average is above its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AboveMax {
    /// They are marked, as Linux does unless `harddrop` is set. DCTCP needs it.
    #[default]
    Mark,
    /// They are dropped, as RFC 3168 recommends (section 7) so that marks are no shelter from heavy congestion.
    Drop,
}

impl Default for RedParams {
    fn default() -> RedParams {
        RedParams {
            limit: Limit::Packets(65_000),
            min: Limit::Packets(5),
            max: Limit::Packets(15),
            max_p: 0.1,
            weight: 0.002,
            gentle: false,
            mean_packet: 500,
            ecn: false,
            above_max: AboveMax::default(),
        }
    }
}

impl RedParams {
    /// All parameters that are wrong.
    pub(super) fn problems(&self) -> Vec<ParameterError> {
        let mut found = self.problems_of_any_limit();
        // Another limit may be enough.
        if !found.iter().any(|problem| problem.key == "limit") {
            found.extend(ParameterError::check_threshold("max", self.max, self.limit).err());
        }
        found
    }

    /// As [`Self::problems`], but the queue may be full below the upper threshold.
    fn problems_of_any_limit(&self) -> Vec<ParameterError> {
        ParameterError::all([
            ParameterError::check_limit(self.limit),
            ParameterError::check_probability("max-p", self.max_p),
            ParameterError::check_probability("weight", self.weight),
            ParameterError::check_above_zero("mean-packet", u64::from(self.mean_packet)),
            self.check_thresholds(),
        ])
    }

    fn check_thresholds(&self) -> Result<(), ParameterError> {
        match (self.min, self.max) {
            (Limit::Packets(min), Limit::Packets(max)) | (Limit::Bytes(min), Limit::Bytes(max)) => {
                ParameterError::check_above_zero("min", min)?;
                if min > max {
                    let problem = format!("of {} must not be above max of {}", self.min, self.max);
                    return Err(ParameterError::new("min", problem));
                }
                Ok(())
            }
            _ => {
                let problem = format!("of {} has not the unit of min, {}", self.max, self.min);
                Err(ParameterError::new("max", problem))
            }
        }
    }
}

/// Random early detection: the average queue says how likely an arriving packet is dropped or marked.
#[derive(Debug)]
pub struct Red {
    params: RedParams,
    stream: Stream,
    /// Seconds to transmit a packet of the mean size.
    packet_time: f64,
    average: f64,
    /// Packets since the last signal within the range, -1 below it.
    count: i64,
}

/// What the average asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Region {
    Below,
    /// The probability before packets are counted, the paper's p_b.
    Within(f64),
    Above,
}

impl Red {
    /// An empty queue before a line of `rate`.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: RedParams, rate: Rate, stream: Stream) -> Result<Red, ParameterError> {
        ParameterError::first(params.problems())?;
        Red::of_any_limit(params, rate, stream)
    }

    /// As [`Self::new`], but the queue may be full below the upper threshold.
    pub(super) fn of_any_limit(params: RedParams, rate: Rate, stream: Stream) -> Result<Red, ParameterError> {
        ParameterError::first(params.problems_of_any_limit())?;
        let packet_time = rate.bits_per_second().map_or(0.0, |bits| 8.0 * f64::from(params.mean_packet) / bits as f64);
        Ok(Red { params, stream, packet_time, average: 0.0, count: -1 })
    }

    /// The average queue, in the unit of the thresholds.
    pub const fn average(&self) -> f64 {
        self.average
    }

    /// The probability at the upper threshold.
    pub const fn max_p(&self) -> f64 {
        self.params.max_p
    }

    pub(super) fn set_max_p(&mut self, max_p: f64) {
        self.params.max_p = max_p;
    }

    /// The thresholds as numbers.
    pub(super) fn thresholds(&self) -> (f64, f64) {
        let number = |limit| match limit {
            Limit::Packets(n) | Limit::Bytes(n) => n as f64,
        };
        (number(self.params.min), number(self.params.max))
    }

    fn update_average(&mut self, arrival: &Arrival) {
        let weight = self.params.weight;
        match arrival.idle_since {
            // As if that many packets had found the queue empty. Nothing waits before an idle line.
            Some(since) if self.packet_time > 0.0 => {
                let packets = arrival.now.since(since).as_secs_f64() / self.packet_time;
                self.average *= libm::pow(1.0 - weight, packets);
            }
            Some(_) => self.average = 0.0,
            None => {
                let length = arrival.waiting.in_unit_of(self.params.min) as f64;
                self.average += weight * (length - self.average);
            }
        }
    }

    fn region(&self) -> Region {
        let ((min, max), max_p, average) = (self.thresholds(), self.params.max_p, self.average);
        if average < min {
            Region::Below
        } else if average < max {
            Region::Within(max_p * (average - min) / (max - min))
        } else if self.params.gentle && average < 2.0 * max {
            Region::Within(max_p + (1.0 - max_p) * (average - max) / max)
        } else {
            Region::Above
        }
    }

    /// Whether a packet is signalled within the range. Counting the packets since the last signal spaces signals evenly: the
    /// gaps are uniform in 1 to 1/p_b - 1 packets, as the paper's figure 2 counts the arriving packet too.
    fn strikes(&mut self, probability: f64, packet: &Packet) -> bool {
        self.count += 1;
        let probability = match self.params.min {
            Limit::Packets(_) => probability,
            Limit::Bytes(_) => probability * f64::from(packet.bytes) / f64::from(FULL_PACKET_BYTES),
        };
        let left = 1.0 - self.count as f64 * probability;
        // Also when nothing is left, and then for certain.
        self.stream.uniform() * left < probability
    }
}

impl Admit for Red {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        self.update_average(arrival);
        let verdict = match self.region() {
            Region::Below => {
                self.count = -1;
                Verdict::Take
            }
            Region::Within(probability) if self.strikes(probability, packet) => {
                self.count = 0;
                Verdict::signal(packet, self.params.ecn)
            }
            Region::Within(_) => Verdict::Take,
            Region::Above => {
                self.count = 0;
                Verdict::signal(packet, self.params.ecn && self.params.above_max == AboveMax::Mark)
            }
        };
        if !matches!(verdict, Verdict::Drop(_)) && !arrival.has_room(self.params.limit, packet) {
            self.count = 0;
            return Verdict::Drop(DropReason::QueueFull);
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{arrival, at, capable, stream};
    use crate::time::{Duration, Time};

    fn red(params: RedParams) -> Red {
        Red::new(params, "1mbit".parse().unwrap(), stream()).unwrap()
    }

    #[test]
    fn the_average_follows_the_queue_and_ages_while_the_line_is_idle() {
        let mut red = red(RedParams { weight: 0.1, ..RedParams::default() });
        let expected = [0.0, 1.0, 2.9, 5.61, 8.049, 10.2441];
        for (length, expected) in [0, 10, 20, 30, 30, 30].into_iter().zip(expected) {
            red.update_average(&arrival(at(0), length));
            assert!((red.average - expected).abs() < 1e-12, "{} instead of {expected}", red.average);
        }
        // 10 ms are 2.5 packets of 500 bytes at 1 Mbit/s.
        let idle = Arrival { now: at(110), start: at(110), waiting: Default::default(), idle_since: Some(at(100)) };
        red.update_average(&idle);
        assert!((red.average - 7.871_909_324_583_007).abs() < 1e-9, "{}", red.average);
    }

    #[test]
    fn the_drop_curve() {
        let curve = |gentle, average| {
            let mut red = red(RedParams { gentle, ..RedParams::default() });
            red.average = average;
            match red.region() {
                Region::Below => 0.0,
                Region::Within(probability) => (probability * 1e9).round() / 1e9,
                Region::Above => 1.0,
            }
        };
        for (average, plain, gentle) in [
            (0.0, 0.0, 0.0),
            (4.999, 0.0, 0.0),
            (5.0, 0.0, 0.0),
            (7.5, 0.025, 0.025),
            (10.0, 0.05, 0.05),
            (14.9, 0.099, 0.099),
            (15.0, 1.0, 0.1),
            (20.0, 1.0, 0.4),
            (29.9, 1.0, 0.994),
            (30.0, 1.0, 1.0),
        ] {
            assert_eq!((curve(false, average), curve(true, average)), (plain, gentle), "at {average}");
        }
    }

    /// Section 7 of the paper: with p_b constant, gaps between signals are uniform in 1 to 1/p_b - 1 packets.
    #[test]
    fn signals_are_spaced_uniformly() {
        let mut red = red(RedParams { ecn: true, ..RedParams::default() });
        red.average = 10.0;
        let (mut gaps, mut gap) = ([0u32; 21], 0);
        for _ in 0..200_000 {
            gap += 1;
            match red.arrive(&capable(1_000), &arrival(Time::ZERO, 10)) {
                Verdict::Mark => {
                    gaps[gap] += 1;
                    gap = 0;
                }
                verdict => assert_eq!(verdict, Verdict::Take),
            }
        }
        let total: u32 = gaps.iter().sum();
        // The mean gap is 10 packets, each of the 19 gaps as frequent as the others: 1,053 times, with a deviation of 32.
        assert!((19_700..20_300).contains(&total), "{total}");
        assert!(gaps[1..20].iter().all(|count| (920..1_190).contains(count)) && gaps[20] == 0, "{gaps:?}");
    }

    #[test]
    fn in_bytes_small_packets_are_signalled_less() {
        let params = RedParams { min: Limit::Bytes(5_000), max: Limit::Bytes(15_000), ..RedParams::default() };
        let signals = |bytes| {
            let mut red = red(params);
            red.average = 10_000.0;
            let verdicts = (0..50_000).map(|_| red.arrive(&Packet::new(bytes), &arrival(Time::ZERO, 10)));
            verdicts.filter(|verdict| *verdict == Verdict::Drop(DropReason::Early)).count()
        };
        // Mean gaps of 20 / 2 and of 20 * 1,514 / 40 / 2 packets.
        assert!((4_880..5_120).contains(&signals(1_514)), "{}", signals(1_514));
        assert!((110..155).contains(&signals(40)), "{}", signals(40));
    }

    /// The verdict on `packet` that finds `length` packets at this average, which stays.
    fn verdict_at(params: RedParams, average: f64, length: u64, packet: Packet) -> Verdict {
        let mut red = red(RedParams { weight: 1e-9, ..params });
        red.average = average;
        red.arrive(&packet, &arrival(at(0), length))
    }

    #[test]
    fn marks_and_drops_by_region_and_ecn() {
        use AboveMax::{Drop, Mark};
        const EARLY: Verdict = Verdict::Drop(DropReason::Early);
        const FULL: Verdict = Verdict::Drop(DropReason::QueueFull);
        let params = RedParams { ecn: true, max_p: 1.0, limit: Limit::Packets(20), ..RedParams::default() };
        let gentle = RedParams { gentle: true, ..params };
        for (stated, above_max, average, length, ect, not_ect) in [
            (params, Mark, 4.9, 10, Verdict::Take, Verdict::Take),
            (params, Mark, 14.999_999, 10, Verdict::Mark, EARLY),
            (params, Drop, 14.999_999, 10, Verdict::Mark, EARLY),
            (params, Mark, 15.1, 10, Verdict::Mark, EARLY),
            (params, Drop, 15.1, 10, EARLY, EARLY),
            (gentle, Mark, 29.999_999, 10, Verdict::Mark, EARLY),
            (gentle, Drop, 29.999_999, 10, Verdict::Mark, EARLY),
            (gentle, Mark, 30.1, 10, Verdict::Mark, EARLY),
            (gentle, Drop, 30.1, 10, EARLY, EARLY),
            (params, Mark, 14.999_999, 20, FULL, EARLY),
            (params, Mark, 15.1, 20, FULL, EARLY),
            (params, Drop, 15.1, 20, EARLY, EARLY),
            (params, Mark, 4.9, 20, FULL, FULL),
        ] {
            let stated = RedParams { above_max, ..stated };
            let seen = [capable(1_000), Packet::new(1_000)].map(|packet| verdict_at(stated, average, length, packet));
            assert_eq!(seen, [ect, not_ect], "{above_max:?}, average {average}, {length} wait");
            let deaf = verdict_at(RedParams { ecn: false, ..stated }, average, length, capable(1_000));
            assert_eq!(deaf, not_ect, "without ecn: average {average}, {length} wait");
        }
    }

    /// Alizadeh et al. 2010, section 3.1: both thresholds at K, and the queue in place of its average.
    #[test]
    fn equal_thresholds_and_no_average_are_a_step() {
        let k = Limit::Packets(7);
        let params = RedParams { min: k, max: k, weight: 1.0, ecn: true, ..RedParams::default() };
        let mut red = red(params);
        let step = crate::queue::StepParams { threshold: k, ..Default::default() };
        let mut step = crate::queue::StepEnqueue::new(step).unwrap();
        for length in [0, 6, 7, 8, 3, 7, 6, 100, 1] {
            let seen = red.arrive(&capable(1_000), &arrival(at(0), length));
            assert_eq!(seen, if length < 7 { Verdict::Take } else { Verdict::Mark }, "{length}");
            assert_eq!(seen, step.arrive(&capable(1_000), &arrival(at(0), length)), "{length}");
        }
        let idle = Arrival { now: at(9), start: at(9), waiting: Default::default(), idle_since: Some(at(8)) };
        assert_eq!((red.arrive(&capable(1_000), &idle), red.average), (Verdict::Take, 0.0));
    }

    #[test]
    fn a_long_idle_line_forgets() {
        let mut red = red(RedParams::default());
        red.average = 1e6;
        let now = Time::ZERO + Duration::from_secs(3_600);
        red.update_average(&Arrival { now, start: now, waiting: Default::default(), idle_since: Some(Time::ZERO) });
        assert_eq!(red.average, 0.0);
    }
}
