//! REM, random exponential marking (Athuraliya, Low, Li and Yin 2001): a price for the line that sums how much the queue
//! and the rate exceed what they should be, and a probability exponential in the price.

use super::admission::{Admit, Arrival, Verdict};
use super::packet::{Backlog, Packet};
use super::parameters::ParameterError;
use super::periodic::Periodic;
use crate::record::DropReason;
use crate::rng::Stream;
use crate::time::{Duration, Time};
use crate::units::Limit;

/// Parameters of [`Rem`]; defaults are those of the paper's simulations, the interval that of ns-2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemParams {
    /// What may wait at all.
    pub limit: Limit,
    /// The queue to hold, in packets: the paper's b*.
    pub target: u64,
    /// How fast the price moves, per packet: the paper's gamma.
    pub gamma: f64,
    /// What the queue counts against the rate: the paper's alpha.
    pub alpha: f64,
    /// Base of the probability 1 - phi^-price, above 1.
    pub phi: f64,
    /// How often the price is updated.
    pub interval: Duration,
    /// Marks instead of early drops.
    pub ecn: bool,
}

impl Default for RemParams {
    fn default() -> RemParams {
        RemParams {
            limit: Limit::Packets(65_000),
            target: 20,
            gamma: 0.001,
            alpha: 0.1,
            phi: 1.001,
            interval: Duration::from_millis(2),
            ecn: false,
        }
    }
}

/// The largest base of the probability: a price of 1 gives 90 % already.
const MOST_PHI: f64 = 10.0;

/// A price from the queue alone: the change of the queue stands for the excess of the rate.
#[derive(Debug)]
pub struct Rem {
    params: RemParams,
    stream: Stream,
    timer: Periodic,
    price: f64,
    /// What the price makes of it; kept, as the price changes more seldom than packets come.
    probability: f64,
    /// Packets at the last update.
    last: u64,
}

impl Rem {
    /// An empty queue.
    ///
    /// # Errors
    /// The first parameter that is wrong.
    pub fn new(params: RemParams, stream: Stream) -> Result<Rem, ParameterError> {
        ParameterError::check_limit(params.limit)?;
        ParameterError::check_above_zero("target", params.target)?;
        ParameterError::check_threshold("target", Limit::Packets(params.target), params.limit)?;
        ParameterError::check_coefficient("gamma", params.gamma)?;
        ParameterError::check_probability("alpha", params.alpha)?;
        ParameterError::check_interval("interval", params.interval)?;
        if !(params.phi > 1.0 && params.phi <= MOST_PHI) {
            return Err(ParameterError::new(
                "phi",
                format!("of {} must be above 1 and at most {MOST_PHI}", params.phi),
            ));
        }
        Ok(Rem { params, stream, timer: Periodic::new(params.interval), price: 0.0, probability: 0.0, last: 0 })
    }

    /// The price.
    pub const fn price(&self) -> f64 {
        self.price
    }

    /// The probability with which an arriving packet is marked or dropped.
    pub const fn probability(&self) -> f64 {
        self.probability
    }
}

impl Admit for Rem {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        if !arrival.has_room(self.params.limit, packet) {
            Verdict::Drop(DropReason::QueueFull)
        } else {
            Verdict::signal_with(self.probability, &mut self.stream, packet, self.params.ecn)
        }
    }

    fn advance(&mut self, until: Time, waiting: Backlog) {
        let Rem { params, timer, price, probability, last, .. } = self;
        let before = *price;
        timer.run(until, || {
            let (queue, before) = (waiting.packets as f64, *last as f64);
            let mismatch = queue - (1.0 - params.alpha) * before - params.alpha * params.target as f64;
            let next = (*price + params.gamma * mismatch).max(0.0);
            let changed = (next, waiting.packets) != (*price, *last);
            (*price, *last) = (next, waiting.packets);
            changed
        });
        if *price != before {
            *probability = 1.0 - libm::pow(params.phi, -*price);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{arrival, at, backlog, capable, stream};

    #[test]
    fn the_price_and_the_probability_it_makes() {
        let mut queue = Rem::new(RemParams::default(), stream()).unwrap();
        let prices = [0.018, 0.048, 0.051, 0.044, 0.006, 0.004];
        let probabilities = [
            1.799_084_415_8e-5,
            4.797_486_515_7e-5,
            5.097_321_780_9e-5,
            4.397_704_763_7e-5,
            5.996_984_016_5e-6,
            3.997_993_340_4e-6,
        ];
        for ((n, length), (price, probability)) in
            (1..).zip([20, 50, 50, 40, 0, 0]).zip(prices.into_iter().zip(probabilities))
        {
            queue.advance(at(2 * n - 1), backlog(999));
            queue.advance(at(2 * n), backlog(length));
            assert!((queue.price - price).abs() < 1e-12, "update {n}: {}", queue.price);
            assert!((queue.probability() - probability).abs() < 1e-14, "update {n}: {}", queue.probability());
        }
        queue.advance(at(1_000_000), backlog(0));
        assert_eq!((queue.price, queue.probability()), (0.0, 0.0));
    }

    #[test]
    fn marks_what_can_be_marked() {
        let mut queue = Rem::new(RemParams { gamma: 1_000.0, ecn: true, ..RemParams::default() }, stream()).unwrap();
        queue.advance(at(1_000), backlog(400));
        assert_eq!(queue.arrive(&capable(1_000), &arrival(at(1_000), 400)), Verdict::Mark);
        assert_eq!(queue.arrive(&Packet::new(1_000), &arrival(at(1_000), 400)), Verdict::Drop(DropReason::Early));
    }
}
