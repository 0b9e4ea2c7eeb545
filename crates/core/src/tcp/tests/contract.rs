//! The endpoint keeps the calling contract.

use super::pair::Pair;
use crate::contract::{Machine, check};
use crate::rng::{Purpose, Stream};
use crate::tcp::congestion::{Algorithm, WindowRules};
use crate::tcp::{Config, Endpoint, Limits, Sack, Segment};
use crate::time::{Duration, Time};

enum Input {
    Segment(Segment),
    Write(u64),
    Close,
    Abort,
}

struct Driven {
    endpoint: Endpoint,
    config: Config,
}

impl Machine for Driven {
    type Input = Input;
    type Output = Segment;

    fn input(&mut self, now: Time, input: &Input) {
        match input {
            Input::Segment(segment) => self.endpoint.handle_segment(now, segment, &self.config),
            Input::Write(bytes) => self.endpoint.write(*bytes),
            Input::Close => self.endpoint.close(),
            Input::Abort => self.endpoint.abort(),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now, &self.config);
    }

    fn poll(&mut self, now: Time) -> Option<Segment> {
        // A timestamp is the time of sending, late as it may be.
        let segment = self.endpoint.poll_transmit(now, &self.config)?;
        Some(Segment { timestamps: None, ..segment })
    }

    fn next_timeout(&self) -> Option<Time> {
        self.endpoint.next_timeout()
    }
}

/// What arrives at `end` of a connection with data both ways over a path that loses 5 %.
fn arrivals(end: usize, seed: u64, config: &Config) -> Vec<(Time, Input)> {
    let mut pair = Pair::new(config.clone(), [Limits::default(); 2], Duration::from_millis(30));
    let mut stream = Stream::new(seed, Purpose::Loss, 0);
    pair.pipe = Some(Box::new(move |_, _| if stream.below(100) < 5 { Vec::new() } else { vec![Duration::ZERO] }));
    pair.ends[0].write(50_000);
    pair.ends[1].write(200_000);
    pair.ends.iter_mut().for_each(Endpoint::close);
    pair.kick();
    pair.run_until(Time::ZERO + Duration::from_secs(1_000));
    let arrived = pair.arrived.iter().filter(|arrival| arrival.1 == end);
    arrived.map(|&(time, _, segment)| (time, Input::Segment(segment))).collect()
}

fn drive(end: usize, extra: Input, at: Time, seed: u64, config: &Config, patience: Duration) {
    let mut inputs = vec![(Time::ZERO, Input::Write([50_000, 200_000][end]))];
    inputs.extend(arrivals(end, seed, config));
    let place = inputs.partition_point(|input| input.0 <= at);
    inputs.insert(place, (at, extra));
    let make = || {
        let config = config.clone();
        let endpoint = match end {
            0 => Endpoint::connect(&config, Limits::default()),
            _ => Endpoint::listen(&config, Limits::default()),
        };
        Driven { endpoint, config }
    };
    check(make, &inputs, patience);
}

#[test]
fn endpoint_keeps_the_contract() {
    let plain = Config::default();
    let sack = Config { sack: Sack::WithDuplicates, limited_transmit: true, ..plain.clone() };
    let rack = Config { rack: true, timestamps: true, quick_acks: 16, ..sack.clone() };
    let paced = Config { pacing: true, ..rack.clone() };
    let bursts = Config { bursts: true, window_rules: WindowRules::Linux, ..rack.clone() };
    let paced_bursts = Config { bursts: true, ..paced.clone() };
    let rated_bursts = Config { congestion: Algorithm::Bbr, ..bursts.clone() };
    let rated = Config { congestion: Algorithm::Bbr, ..rack.clone() };
    // Less than the shortest time from a timeout to the next, 1 s, and from there to a delayed acknowledgement or a probe.
    let long = Duration::from_millis(50);
    // Less than from a paced segment to the delayed acknowledgement that it would carry if it left late.
    let short = Duration::from_micros(20);
    let patient = [plain, sack, rack, bursts].map(|config| (config, long));
    let impatient = [paced, paced_bursts, rated, rated_bursts].map(|config| (config, short));
    for (config, patience) in patient.into_iter().chain(impatient) {
        for seed in 0..10 {
            for end in 0..2 {
                drive(end, Input::Close, Time::ZERO + Duration::from_millis(1), seed, &config, patience);
                drive(end, Input::Abort, Time::ZERO + Duration::from_millis(700), seed, &config, patience);
            }
        }
    }
}
