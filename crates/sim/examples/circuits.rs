//! Speed of virtual-circuit internetworks: 180 simulated seconds of five FTP conversations over one link (Caceres 1992, methods G.5).
//!
//! `cargo run --release -p flowloom-sim --example circuits`
//!
//! CPU seconds of one core, the least of five runs; the original took 2,000 s. Prints only: the aim is 0.1 s.

use std::error::Error;

use flowloom_core::cell::{Mapping, Order, Traffic, TransportConfig};
use flowloom_models::generate::tcplib::{Application, summarised};
use flowloom_sim::cells::{Config, Host, Router, run};
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
    let laws = Application::Ftp.laws(|table| Ok::<_, Box<dyn Error>>(summarised(table))).ok_or("no mix")??;
    let source = || Host::source(Traffic::Application(laws.clone()), 0, TransportConfig::STUDY);
    Ok(Config::study(&Router::new(mapping, Order::RoundRobin), "1500kbit".parse()?, (0..5).map(|_| source())))
}
