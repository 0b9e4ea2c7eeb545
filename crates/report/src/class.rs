//! Values by the kind of connection that they come from, and by where they were seen.

use flowloom_core::sketch::Sketch;
use flowloom_core::time::Duration;
use flowloom_core::workload::Pattern;
use flowloom_store::run_folder::Point;

use crate::statistics::Sample;

/// Payload bytes of a connection, both directions added (the size classes of Aikat 2010, table 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Less than 4 kB.
    Small,
    /// 4 kB and more, less than 1 MB.
    Medium,
    /// 1 MB and more.
    Large,
}

impl Size {
    pub(crate) fn of(bytes: u64) -> Size {
        match bytes {
            0..4_000 => Size::Small,
            4_000..1_000_000 => Size::Medium,
            _ => Size::Large,
        }
    }
}

/// What kind of connection a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Sequential or concurrent.
    pub pattern: Pattern,
    /// By payload.
    pub size: Size,
    /// Lost packets in the original, which the replay does not lose unless asked: also reported apart (methods M.7).
    pub lost_in_original: bool,
    /// Its close was seen in both worlds (methods M.4).
    pub closed_in_both: bool,
}

impl Class {
    /// How many there are.
    pub(crate) const COUNT: usize = 24;

    /// Its place among them.
    pub(crate) fn number(self) -> usize {
        let pattern = usize::from(self.pattern == Pattern::Concurrent);
        let [lost, closed] = [self.lost_in_original, self.closed_in_both].map(usize::from);
        (self.size as usize) << 3 | closed << 2 | pattern << 1 | lost
    }

    /// The class at a place.
    pub(crate) fn numbered(number: usize) -> Class {
        Class {
            pattern: if number & 2 == 0 { Pattern::Sequential } else { Pattern::Concurrent },
            size: [Size::Small, Size::Medium, Size::Large][(number >> 3).min(2)],
            lost_in_original: number & 1 == 1,
            closed_in_both: number & 4 != 0,
        }
    }

    /// Whether it finished in both worlds and lost nothing in the original (methods M.4).
    pub fn is_clean(self) -> bool {
        self.closed_in_both && !self.lost_in_original
    }
}

/// Values in the smallest unit of their metric by the kind of connection they come from, in bounded memory: an hour of a busy link
/// has a hundred million of them.
#[derive(Clone, Debug, Default)]
struct ByClass {
    known: [Sketch; Class::COUNT],
    /// Values that were not over when the run ended: the class, and what was seen of them.
    unfinished: Vec<(usize, f64)>,
}

impl ByClass {
    fn add(&mut self, value: u64, class: Class) {
        self.known[class.number()].add(value);
    }

    fn add_unfinished(&mut self, seen: Duration, class: Class) {
        self.unfinished.push((class.number(), seen.as_nanos() as f64));
    }

    /// Those of the kinds that `of` accepts.
    fn sample(&self, of: impl Fn(Class) -> bool) -> Sample {
        let accepted = self.known.iter().enumerate().filter(|(number, _)| of(Class::numbered(*number)));
        let mut all = Sketch::default();
        accepted.for_each(|(_, sketch)| all.add_all(sketch));
        let unfinished = self.unfinished.iter().filter(|(number, _)| of(Class::numbered(*number)));
        let unfinished: Vec<f64> = unfinished.map(|(_, seen)| *seen).collect();
        Sample::from(&all.empirical()).with_unfinished(&unfinished)
    }
}

/// Where values were seen. Original and monitor may be compared with each other, endpoints only between runs
/// (methods M.1).
#[derive(Clone, Debug, Default)]
pub(crate) struct PerPoint([ByClass; 3]);

impl PerPoint {
    pub(crate) fn add(&mut self, point: Point, value: u64, class: Class) {
        self.0[point as usize].add(value, class);
    }

    pub(crate) fn add_unfinished(&mut self, point: Point, seen: Duration, class: Class) {
        self.0[point as usize].add_unfinished(seen, class);
    }

    pub(crate) fn sample(&self, point: Point, of: impl Fn(Class) -> bool) -> Sample {
        self.0[point as usize].sample(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_told_apart() {
        let numbers = 0..Class::COUNT;
        assert!(numbers.clone().all(|number| Class::numbered(number).number() == number));
        let mut values = ByClass::default();
        numbers.for_each(|number| values.add(number as u64, Class::numbered(number)));
        let large = values.sample(|class| class.size == Size::Large);
        assert_eq!((large.len(), large.min(), large.max()), (8, Some(16.0), Some(23.0)));
        assert_eq!(values.sample(|_| true).len(), Class::COUNT);
    }

    #[test]
    fn values_of_several_kinds_make_the_sample_that_all_together_would() {
        let mut values = ByClass::default();
        let all: Vec<u64> = (0..300_000).map(|i: u64| 1_000_000 + i * 7_919 % 300_007).collect();
        for (value, number) in all.iter().zip((0..Class::COUNT).cycle()) {
            values.add(*value, Class::numbered(number));
        }
        let mut whole = Sketch::default();
        whole.extend(all.iter().copied());
        assert_eq!(values.sample(|_| true), Sample::from(&whole.empirical()));
        let exact = Sample::new(all.iter().map(|value| *value as f64));
        let sample = values.sample(|_| true);
        assert_eq!((sample.len(), sample.min(), sample.max()), (exact.len(), exact.min(), exact.max()));
        assert!((sample.mean().unwrap() - exact.mean().unwrap()).abs() < 1e-3);
        for p in [0.01, 0.5, 0.99] {
            let (found, exact) = (sample.quantile(p).unwrap(), exact.quantile(p).unwrap());
            assert!(found <= exact && exact - found <= exact / 2048.0, "q({p}): {found}, not {exact}");
        }
    }
}
