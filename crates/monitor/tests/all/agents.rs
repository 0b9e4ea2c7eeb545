//! The monitor against agents made for the test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use flowloom_monitor::snmp::oid::Oid;
use flowloom_monitor::snmp::session::{Access, Session, Trouble};
use flowloom_monitor::snmp::walk::walk;
use flowloom_monitor::{Agent, Bell, Moment, Offer, Registry};

use super::responder::{Answers, Objects, Responder, Value, switch};

fn agent(responder: &Responder) -> Agent {
    let text = format!("[[target]]\nname = \"a\"\naddresses = [\"{}\"]\ncommunity = \"public\"\n", responder.address);
    let registry: Registry = toml::from_str(&text).unwrap();
    let target = &registry.target[0];
    flowloom_monitor::agent(&registry, target, std::path::Path::new("")).unwrap().unwrap()
}

fn shared(objects: Objects) -> Arc<Mutex<Objects>> {
    Arc::new(Mutex::new(objects))
}

#[test]
fn all_ports_are_read_whatever_fits_into_an_answer() {
    for most in [1, 7, 100, 10_000] {
        let responder = Responder::start(shared(switch(53, 100, 7)), most);
        let mut agent = agent(&responder);
        let answer = agent.ask().unwrap();
        assert_eq!(answer.ports.len(), 53, "{most} values at once");
        assert!(answer.ports.iter().all(|port| port.readings.len() == 8));
        assert_eq!(answer.ports[0].speed.map(|speed| speed.bits_per_second), Some(1_000_000_000));
        assert_eq!(answer.uptime.map(|(ticks, _)| ticks), Some(10_000));
        assert!(answer.own_packets > 2);
        let offered = agent.offered().unwrap();
        assert_eq!((offered.offer, offered.ports.len()), (Offer::Wide, 53));
    }
}

#[test]
fn ports_without_wide_counters_have_narrow_ones() {
    for (missing, offer) in [(vec![2], Offer::Both), (vec![1, 2, 3], Offer::Narrow)] {
        let mut objects = switch(3, 100, 7);
        for port in &missing {
            for column in 6..=13 {
                objects.remove(&vec![1, 3, 6, 1, 2, 1, 31, 1, 1, 1, column, *port]);
            }
        }
        let responder = Responder::start(shared(objects), 50);
        let mut agent = agent(&responder);
        let answer = agent.ask().unwrap();
        assert_eq!((agent.offered().unwrap().offer, answer.ports.len()), (offer, 3));
        let is_narrow = |at: usize| format!("{:?}", answer.ports[at].readings[0]).contains("Bits32");
        assert_eq!((1..=3).filter(|port| is_narrow(port - 1)).map(|port| port as u32).collect::<Vec<_>>(), missing);
    }
}

/// An agent that names one index twice, for ever.
struct Circle;

impl Answers for Circle {
    fn get(&mut self, _: &[u32]) -> Option<Value> {
        Some(Value::Ticks(5))
    }

    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        // Columns of ifXTable have eleven arcs, those of ifTable ten.
        let column = if name.get(6) == Some(&31) { 11 } else { 10 };
        let column = &name[..name.len().min(column)];
        Some(([column, &[7]].concat(), Value::Count64(1)))
    }
}

#[test]
fn an_index_that_comes_twice_is_read_once() {
    let responder = Responder::start(Circle, 50);
    let mut agent = agent(&responder);
    let answer = agent.ask().unwrap();
    assert!(answer.ports.len() <= 1 && agent.offered().unwrap().is_disordered, "{:?}", answer.ports);
}

#[test]
fn of_two_rows_of_a_name_the_last_is_meant() {
    let mut objects = switch(2, 100, 7);
    objects.insert(vec![1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1, 1], Value::Text("ge-0/0/2".to_owned()));
    let responder = Responder::start(shared(objects.clone()), 100);
    let answer = agent(&responder).ask().unwrap();
    assert_eq!(answer.ports.iter().map(|port| port.index.as_str()).collect::<Vec<_>>(), ["2"]);
    // Unless that is down.
    objects.insert(vec![1, 3, 6, 1, 2, 1, 2, 2, 1, 8, 2], Value::Gauge(2));
    let responder = Responder::start(shared(objects), 100);
    let answer = agent(&responder).ask().unwrap();
    assert_eq!(answer.ports.iter().map(|port| port.index.as_str()).collect::<Vec<_>>(), ["1"]);
}

#[test]
fn ports_that_come_are_noticed() {
    let objects = shared(switch(2, 100, 7));
    let responder = Responder::start(Arc::clone(&objects), 100);
    let mut agent = agent(&responder);
    assert_eq!(agent.ask().unwrap().ports.len(), 2);
    *objects.lock().unwrap() = switch(5, 110, 9);
    // Their counters are read at once, what else is known of them the next time.
    assert_eq!(agent.ask().unwrap().ports.len(), 5);
    let answer = agent.ask().unwrap();
    assert!(answer.ports.iter().all(|port| port.speed.is_some_and(|speed| speed.bits_per_second == 1_000_000_000)));
    assert_eq!(agent.offered().unwrap().ports.len(), 5);
}

#[test]
fn a_second_address_is_asked_when_the_first_is_silent() {
    let responder = Responder::start(shared(switch(1, 100, 7)), 100);
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "timeout = \"50ms\"\nretries = 0\n[[target]]\nname = \"a\"\naddresses = [\"{}\", \"{}\"]\ncommunity = \"public\"\n",
        silent.local_addr().unwrap(),
        responder.address
    );
    let registry: Registry = toml::from_str(&text).unwrap();
    let target = &registry.target[0];
    let mut agent = flowloom_monitor::agent(&registry, target, std::path::Path::new("")).unwrap().unwrap();
    let start = flowloom_monitor::Moment::now();
    assert_eq!(agent.ask().unwrap().ports.len(), 1);
    assert_eq!(agent.address(), responder.address.to_string());
    // It goes on there, and waits for the silent one once.
    agent.ask().unwrap();
    let took = flowloom_monitor::Moment::now().since(&start);
    assert!(took < Duration::from_millis(900).as_nanos() as u64, "{took} ns");
}

#[test]
fn an_answer_that_comes_twice_costs_nothing() {
    let responder = Responder::with_copies(shared(switch(20, 100, 7)), 30, 2);
    let mut agent = agent(&responder);
    for _ in 0..5 {
        assert_eq!(agent.ask().unwrap().ports.len(), 20);
    }
}

#[test]
fn a_value_that_cannot_be_read_is_the_only_one_that_is_missing() {
    for most in [3, 14, 15, 100, 1_000] {
        let mut objects = switch(5, 100, 7);
        // A counter of nine bytes.
        let broken = [&[0x46, 9][..], &[1; 9]].concat();
        objects.insert(vec![1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6, 2], Value::Raw(broken));
        // That of 32 bits would stand in for it.
        objects.remove(&vec![1, 3, 6, 1, 2, 1, 2, 2, 1, 10, 2]);
        let responder = Responder::start(shared(objects), most);
        let mut agent = agent(&responder);
        let answer = agent.ask().unwrap();
        let has = |port: usize, counter: usize| format!("{:?}", answer.ports[port].readings[counter]) != "None";
        let into = (0..5).map(|port| has(port, 0)).collect::<Vec<_>>();
        assert_eq!(into, [true, false, true, true, true], "{most} values at once");
        assert!((0..5).all(|port| has(port, 1)));
        assert!(agent.unread() > 0);
    }
}

/// An agent that answers for so many objects at once at most, and for one of them never.
struct Narrow(Arc<Mutex<Objects>>, usize, Vec<u32>);

impl Answers for Narrow {
    fn get(&mut self, name: &[u32]) -> Option<Value> {
        self.0.get(name)
    }

    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        self.0.next(name)
    }

    fn refuses(&mut self, names: &[Vec<u32>]) -> u8 {
        match names.len() > self.1 {
            true => 1,
            false if names.contains(&self.2) => 5,
            false => 0,
        }
    }
}

#[test]
fn many_counters_are_asked_in_parts() {
    let own = |number: u32| vec![1, 3, 6, 1, 4, 1, 9999, number, 0];
    let mut objects = switch(3, 100, 7);
    objects.extend((1..=60).map(|number| (own(number), Value::Gauge(number))));
    let keys = |number| {
        format!("[[target.counter]]\nname = \"c{number}\"\noid = \"1.3.6.1.4.1.9999.{number}.0\"\nunit = \"x\"\n")
    };
    let counters: String = (1..=60).map(keys).collect();
    for (most, refused) in [(40, 0), (1, 0), (40, 17), (100, 60), (1, 1)] {
        let responder = Responder::start(Narrow(shared(objects.clone()), most, own(refused)), 50);
        let text = format!(
            "[[target]]\nname = \"a\"\naddresses = [\"{}\"]\ncommunity = \"public\"\n{counters}",
            responder.address
        );
        let registry: Registry = toml::from_str(&text).unwrap();
        let agent = flowloom_monitor::agent(&registry, &registry.target[0], std::path::Path::new(""));
        let mut agent = agent.unwrap().unwrap();
        for _ in 0..2 {
            let answer = agent.ask().unwrap();
            assert_eq!(answer.uptime.map(|(ticks, _)| ticks), Some(10_000));
            let found: Vec<String> = answer
                .ports
                .iter()
                .filter(|port| port.group > 0)
                .map(|port| format!("{:?}", port.readings[0]))
                .collect();
            let expected: Vec<String> =
                (1..=60).filter(|number| *number != refused).map(|number| format!("Value({number})")).collect();
            assert_eq!(found, expected, "{most} objects at once, but {refused}");
            assert_eq!(answer.ports.len(), 3 + expected.len());
        }
    }
}

/// An agent whose path loses some questions about many objects.
struct Lossy {
    objects: Arc<Mutex<Objects>>,
    /// Which of these questions are lost, by their numbers.
    lost: fn(u32) -> bool,
    asked: u32,
    /// Questions about several objects that were answered.
    answered: Arc<Mutex<u32>>,
}

impl Answers for Lossy {
    fn get(&mut self, name: &[u32]) -> Option<Value> {
        self.objects.get(name)
    }

    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        self.objects.next(name)
    }

    fn is_lost(&mut self, names: &[Vec<u32>]) -> bool {
        // Tables have a dozen columns at most.
        if names.len() < 20 {
            return false;
        }
        self.asked += 1;
        let is_lost = (self.lost)(self.asked);
        *self.answered.lock().unwrap() += u32::from(!is_lost);
        is_lost
    }
}

#[test]
fn a_burst_of_loss_makes_no_questions_small_for_good() {
    let own = |number: u32| vec![1, 3, 6, 1, 4, 1, 9999, number, 0];
    let mut objects = switch(1, 100, 7);
    objects.extend((1..=60).map(|number| (own(number), Value::Gauge(number))));
    let answered = Arc::new(Mutex::new(0));
    // Each answer costs one lost question, and the second is answered.
    let lossy =
        Lossy { objects: shared(objects), lost: |asked| asked % 2 == 1, asked: 0, answered: Arc::clone(&answered) };
    let responder = Responder::start(lossy, 50);
    let keys = |number| {
        format!("[[target.counter]]\nname = \"c{number}\"\noid = \"1.3.6.1.4.1.9999.{number}.0\"\nunit = \"x\"\n")
    };
    let counters: String = (1..=60).map(keys).collect();
    let text = format!(
        "timeout = \"50ms\"\nretries = 0\n[[target]]\nname = \"a\"\naddresses = [\"{}\"]\ncommunity = \"public\"\n{counters}",
        responder.address
    );
    let registry: Registry = toml::from_str(&text).unwrap();
    let agent = flowloom_monitor::agent(&registry, &registry.target[0], std::path::Path::new(""));
    let mut agent = agent.unwrap().unwrap();
    for number in 1..=7 {
        assert_eq!(agent.ask().unwrap().ports.len(), 61);
        assert_eq!(*answered.lock().unwrap(), number, "questions about all at once");
    }
}

/// An agent whose tables have no end.
struct Endless;

impl Answers for Endless {
    fn get(&mut self, _: &[u32]) -> Option<Value> {
        Some(Value::Ticks(5))
    }

    fn next(&mut self, name: &[u32]) -> Option<(Vec<u32>, Value)> {
        let column = if name.get(6) == Some(&31) { 11 } else { 10 };
        let last = name.get(column).map_or(1, |last| last + 1);
        Some(([&name[..name.len().min(column)], &[last]].concat(), Value::Count64(1)))
    }
}

#[test]
fn a_table_without_end_ends() {
    let responder = Responder::start(Endless, 3);
    let access = Access::Community("public".to_owned());
    let session = || Session::new(access.clone(), vec![responder.address.to_string()], Duration::from_secs(1), 0);
    let columns: [Oid; 1] = ["1.3.6.1.2.1.2.2.1.10".parse().unwrap()];
    let mut limited = session();
    limited.begin_within(Duration::from_millis(100).as_nanos() as u64);
    assert!(matches!(walk(&mut limited, &columns), Err(Trouble::Endless(_))));
    // The monitor ends meanwhile.
    let bell = Bell::default();
    let ringer = bell.clone();
    let thread = std::thread::spawn(move || {
        Bell::default().wait_until(Moment::now().monotonic_ns + 100_000_000);
        ringer.ring();
    });
    assert_eq!(walk(&mut session().with_bell(bell), &columns).unwrap_err(), Trouble::Stopped);
    thread.join().unwrap();
}
