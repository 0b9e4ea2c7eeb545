//! What single PackMime variables are distributed as (methods F.2-F.5). `tables/LICENSE` says where the tables come from.

use flowloom_core::distribution::{Distribution, Law, normal_below};

/// A curve through points with rising x: straight between them, and on with the first and last slope outside.
#[derive(Clone, Debug)]
pub(super) struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Through the points of a table: lines of x and y, after one that names them.
    fn table(text: &str) -> Curve {
        let point = |line: &str| {
            let (x, y) = line.split_once(',')?;
            Some((x.trim().parse().ok()?, y.trim().parse().ok()?))
        };
        Curve::new(text.lines().skip(1).filter_map(point).collect())
    }

    /// Through at least two points.
    pub(super) fn new(points: Vec<(f64, f64)>) -> Curve {
        debug_assert!(points.len() >= 2 && points.is_sorted_by(|a, b| a.0 < b.0));
        Curve(points)
    }

    /// What it goes through.
    #[cfg(test)]
    pub(super) fn points(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// The y at `x`.
    pub(super) fn at(&self, x: f64) -> f64 {
        let right = self.0.partition_point(|point| point.0 <= x).clamp(1, self.0.len() - 1);
        let ((x0, y0), (x1, y1)) = (self.0[right - 1], self.0[right]);
        y0 + (y1 - y0) * ((x - x0) / (x1 - x0))
    }
}

/// A place in a distribution: the share of values below it, and of those above. Kept apart, because tails are told by the
/// second where the first is 1 but for rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) below: f64,
    pub(super) above: f64,
}

impl Place {
    /// Of a standard normal variable's value.
    pub(super) fn of(z: f64) -> Place {
        Place { below: normal_below(z), above: normal_below(-z) }
    }

    /// With the share `u` below it, in [0, 1).
    pub(super) fn at(u: f64) -> Place {
        Place { below: u, above: 1.0 - u }
    }
}

/// Marginals that are tables.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Bytes by the share below, of the lower half.
    pub(super) request_low: Curve,
    /// Binary logarithm of bytes by that of the share above, of the upper half.
    pub(super) request_high: Curve,
    /// Bytes by the share below.
    pub(super) validation: Curve,
    /// Binary logarithm of bytes by that of the share above.
    pub(super) download: Curve,
    /// Fifth root of ms by the decimal logarithm of the share above, negative.
    pub(super) client_rtt: Curve,
    /// Cube root of ms by the same.
    pub(super) server_rtt: Curve,
}

impl Tables {
    /// The published ones.
    pub(super) fn new() -> Tables {
        Tables {
            request_low: Curve::table(include_str!("tables/req_size_low_half.csv")),
            request_high: Curve::table(include_str!("tables/req_size_high_half.csv")),
            validation: Curve::table(include_str!("tables/rsp_size_cache_validation.csv")),
            download: Curve::table(include_str!("tables/rsp_size_download.csv")),
            client_rtt: Curve::table(include_str!("tables/rtt_short.csv")),
            server_rtt: Curve::table(include_str!("tables/rtt_long.csv")),
        }
    }

    /// Bytes of a request (methods F.4).
    pub(super) fn request(&self, place: Place) -> f64 {
        if place.below <= 0.5 {
            self.request_low.at(2.0 * place.below)
        } else {
            libm::exp2(self.request_high.at(libm::log2(2.0 * place.above)))
        }
    }

    /// Bytes of the answer to a cache validation (methods F.3).
    pub(super) fn validation(&self, place: Place) -> f64 {
        self.validation.at(place.below)
    }

    /// Bytes of a file (methods F.3).
    pub(super) fn download(&self, place: Place) -> f64 {
        libm::exp2(self.download.at(libm::log2(place.above)))
    }

    /// Round-trip time between the clients and the link, in ms (methods F.5).
    pub(super) fn client_rtt(&self, place: Place) -> f64 {
        let root = self.client_rtt.at(-libm::log10(place.above));
        let square = root * root;
        square * square * root
    }

    /// Round-trip time between the servers and the link, in ms (methods F.5).
    pub(super) fn server_rtt(&self, place: Place) -> f64 {
        let root = self.server_rtt.at(-libm::log10(place.above));
        root * root * root
    }
}

/// The logistic curve to the base 2, of which the model's numbers depend on the rate.
pub(super) fn logistic(v: f64) -> f64 {
    let odds = libm::exp2(v);
    odds / (1.0 + odds)
}

/// A number that follows the rate of new connections per second: logistic(`at_one` + `slope` log2(rate)).
#[derive(Clone, Copy, Debug)]
pub(super) struct OfRate {
    at_one: f64,
    slope: f64,
}

impl OfRate {
    /// Of the model's two numbers.
    pub(super) const fn new(at_one: f64, slope: f64) -> OfRate {
        OfRate { at_one, slope }
    }

    /// At this rate.
    pub(super) fn at(self, rate: f64) -> f64 {
        logistic(self.at_one + self.slope * libm::log2(rate))
    }
}

/// Seconds between new connections, whose mean is 1 / `rate` (methods F.2).
pub(super) fn gaps(rate: f64) -> Distribution {
    let shape = OfRate::new(0.352, 0.388).at(rate);
    weibull(shape, 1.0 / (rate * libm::tgamma(1.0 + 1.0 / shape)))
}

/// Lengths of runs of answers to cache validations, and of files, before they are rounded up (methods F.3).
pub(super) fn runs(rate: f64) -> [Distribution; 2] {
    [weibull(OfRate::new(0.718, 0.357).at(rate), 0.775), weibull(OfRate::new(1.293, 0.316).at(rate), 3.11)]
}

/// Longest time a server takes, in seconds.
pub(super) const MAX_SERVER_DELAY: f64 = 0.1;

/// How much a server would do in a second, of which its delay is the inverse (methods F.5).
pub(super) fn server_speed() -> Distribution {
    weibull(0.63, 305.0)
}

pub(super) fn weibull(shape: f64, scale: f64) -> Distribution {
    Distribution::new(Law::Weibull { shape, scale })
        .unwrap_or_else(|error| unreachable!("parameters in range: {error}"))
}
