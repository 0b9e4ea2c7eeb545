//! Speed of virtual-circuit internetworks: 180 simulated seconds of five FTP conversations over one link (Caceres 1992, methods G.5).
//!
//! `cargo run --release -p flowloom-sim --example circuits`
//!
//! CPU seconds of one core, the least of five runs; the original took 2,000 s. Prints only: the aim is 0.1 s.

use std::error::Error;

use flowloom_core::cell::{Cutting, Discard, FlowControl, Lifetime, Mapping, Order, Traffic, TransportConfig};
use flowloom_core::model::Distribution;
use flowloom_core::model::generate::tcplib::{Application, summarised};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_sim::cells::{Config, Host, Link, Node, Role, Route, Router, Switch, run};
use loads::cpu_seconds;

mod loads;

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    for (name, mapping) in [("a circuit each", Mapping::PerConversation), ("one circuit", Mapping::PerType)] {
        let config = config(mapping)?;
        let (mut best, mut counts) = (f64::INFINITY, (0, 0));
        for _ in 0..RUNS {
            let before = cpu_seconds();
            let results = run(&config, &mut ())?;
            best = best.min(cpu_seconds() - before);
            counts = (results.cells, results.events);
        }
        let (cells, events) = counts;
        println!(
            "{name:<16} {best:.3} CPU s (aim 0.1), {cells} cells, {events} events, {:.0} ns an event",
            1e9 * best / events as f64
        );
    }
    Ok(())
}

fn config(mapping: Mapping) -> Result<Config, Box<dyn Error>> {
    let router = Router {
        mapping,
        packet_order: Order::Fifo,
        cell_order: Order::RoundRobin,
        room: None,
        discard: Discard::Tail,
        lifetime: Lifetime::Permanent,
        window: None,
        peak_rate: None,
        look_every: Duration::from_millis(100),
    };
    let rate: Rate = "1500kbit".parse()?;
    let link = |a, b, delay| Link { ends: [a, b], rate, delay: Duration::from_micros(delay) };
    let switch = Switch { cell_order: Order::RoundRobin, room: None, discard: Discard::Tail };
    let mut config = Config {
        cutting: Cutting::new(48, 0, false).ok_or("cells have a payload")?,
        smallest_packet: 48,
        nodes: vec![Node::Router(router.clone()), Node::Switch(switch), Node::Router(router)],
        links: vec![link(0, 1, 22_500), link(1, 2, 0)],
        routes: Vec::new(),
        seed: 1,
        warm_up: Duration::ZERO,
        regeneration: None,
        end: Duration::from_secs(180),
        look_every: Duration::from_millis(100),
        checkpoint_every: None,
    };
    let transport =
        TransportConfig { flow_control: FlowControl::SlowStart, window_limit: 128, retransmit: true, max_packet: 512 };
    for _ in 0..5 {
        let laws = Application::Ftp.laws(|table| Ok::<_, Box<dyn Error>>(summarised(table))).ok_or("no mix")??;
        let role = Role::Source {
            traffic: Traffic::Application(laws),
            between_s: Distribution::constant(0.0)?,
            kind: 0,
            transport,
        };
        let host = config.nodes.len();
        config.nodes.extend([Node::Host(Host { role }), Node::Host(Host { role: Role::Sink })]);
        config.links.extend([link(host, 0, 0), link(2, host + 1, 0)]);
        config.routes.push(Route { nodes: vec![host, 0, 1, 2, host + 1] });
    }
    Ok(config)
}
