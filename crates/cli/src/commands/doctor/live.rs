//! What live runs can do here: each thing is tried, not guessed.

use std::borrow::Cow;

use flowloom::live::host::ipv6::NoIpv6;
use flowloom::live::host::limits::{CpuTimes, Limits, clock_source, load_average, sleep_latency};
use flowloom::live::host::namespace::enter_user_namespace;
use flowloom::live::host::settings::available_algorithms;
use flowloom::live::host::testbed::{Choice, PathDevice, Testbed};

use super::{Capability, State};
use flowloom::Stopwatch;

/// Sleeps of 100 us that are measured.
const SAMPLES: usize = 300;

/// Enters a user namespace if this is not root: to be called while the process has one thread.
pub fn capabilities() -> Vec<Capability> {
    let before = CpuTimes::now();
    let mut all = vec![privilege()];
    let (testbed, over_ipv6) = testbed();
    all.extend([testbed, ipv6(over_ipv6), congestion(), descriptors(), wake_ups(), time_source()]);
    let while_here = before.and_then(|before| Ok(CpuTimes::now()?.since(&before)));
    all.push(load(while_here.ok()));
    all
}

fn privilege() -> Capability {
    let (state, found, remedy) = match enter_user_namespace() {
        Ok(false) => (State::Ok, "root".to_owned(), None),
        Ok(true) => (State::Ok, "not root, but a user namespace is to be had".to_owned(), None),
        Err(error) => (State::Missing, error.to_string(), Some("run as root".into())),
    };
    Capability { name: "namespaces", state, found, means: "live runs make their own networks".into(), remedy }
}

/// The testbed, and whether connections can run over IPv6 in it; `None` if there is no testbed.
fn testbed() -> (Capability, Option<Result<(), NoIpv6>>) {
    const MEANS: &str = "live runs send real packets between two sides of their own, which no packet leaves";
    let watch = Stopwatch::start();
    let mut over_ipv6 = None;
    let (state, found, remedy) = match Testbed::build(&Choice::default()) {
        Err(error) => (State::Missing, error.to_string(), Some("run in the simulator: `flowloom run --on sim`".into())),
        Ok((testbed, devices)) => {
            over_ipv6 = Some(testbed.no_ipv6.clone().map_or(Ok(()), Err));
            let devices = match devices {
                [PathDevice::Tun(_), _] => "TUN devices",
                [PathDevice::PacketSocket(_), _] => "packet sockets",
            };
            let milliseconds = watch.nanos().div_ceil(1_000_000);
            let warnings: Vec<String> = testbed.warnings.iter().map(ToString::to_string).collect();
            if warnings.is_empty() {
                (State::Ok, format!("made of {devices} in {milliseconds} ms"), None)
            } else {
                (State::Limited, format!("made of {devices}, but {}", warnings.join("; ")), None)
            }
        }
    };
    (Capability { name: "testbed", state, found, means: MEANS.into(), remedy }, over_ipv6)
}

fn ipv6(tried: Option<Result<(), NoIpv6>>) -> Capability {
    let (state, found) = match &tried {
        Some(Ok(())) => (State::Ok, "connections can run over it".to_owned()),
        Some(Err(why)) => (State::Limited, why.to_string()),
        None => (State::Limited, "not tried, since there is no testbed".to_owned()),
    };
    let means = match &tried {
        Some(Err(_)) => "live runs send what was captured over IPv6 over IPv4, and count 20 bytes more for each packet",
        _ => "live runs send what was captured over IPv6 over IPv6",
    };
    let remedy = match tried {
        Some(Err(NoIpv6::Kernel)) => Some("start a kernel that has it without ipv6.disable=1".into()),
        Some(Err(_)) => Some("allow IPv6 in new network namespaces".into()),
        _ => None,
    };
    Capability { name: "ipv6", state, found, means: means.into(), remedy }
}

fn congestion() -> Capability {
    let names = available_algorithms();
    let usual = ["reno", "cubic"].iter().all(|name| names.iter().any(|known| known == name));
    Capability {
        name: "congestion",
        state: if usual { State::Ok } else { State::Limited },
        found: if names.is_empty() { "unknown".to_owned() } else { names.join(", ") },
        means: "a live run can have these congestion controls, and those that the kernel can load".into(),
        remedy: (!usual).then_some("modprobe tcp_cubic".into()),
    }
}

fn descriptors() -> Capability {
    let limits = Limits::of_this_host();
    let connections = limits.connections();
    let workers = limits.workers(connections);
    let short = connections < 1_000;
    let means = match workers {
        Some(workers) => format!(
            "with the memory there is, a live run can have {connections} connections open at once, with {workers} \
             worker process{} on each side",
            if workers == 1 { "" } else { "es" }
        ),
        None => "too few for live runs".to_owned(),
    };
    Capability {
        name: "descriptors",
        state: if short { State::Limited } else { State::Ok },
        found: format!("{} a process", limits.descriptors),
        means: means.into(),
        remedy: short.then_some("raise the hard limit: `ulimit -Hn`, or LimitNOFILE= of the service".into()),
    }
}

fn wake_ups() -> Capability {
    let late = sleep_latency(SAMPLES);
    let [half, most] = [0.5, 0.99].map(|share| late.quantile(share).as_nanos() / 1_000);
    let poor = most > 1_000;
    Capability {
        name: "wake-ups",
        state: if poor { State::Limited } else { State::Ok },
        found: format!("{half} us late (median), {most} us (p99)"),
        means: "live runs deliver packets as late as this, and a little more under load".into(),
        remedy: poor.then_some("stop what else runs here; a virtual machine may have a busy host".into()),
    }
}

fn time_source() -> Capability {
    let name = clock_source();
    // The others are read by a system call, and slowly.
    let quick = name
        .as_deref()
        .is_none_or(|name| matches!(name, "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page"));
    Capability {
        name: "clock",
        state: if quick { State::Ok } else { State::Limited },
        found: name.unwrap_or_else(|| "unknown".to_owned()),
        means: if quick { "reading the time is cheap" } else { "reading the time costs a live run a part of its rate" }
            .into(),
        remedy: None,
    }
}

fn load(while_here: Option<CpuTimes>) -> Capability {
    let processors = Limits::of_this_host().processors;
    let average = load_average();
    let steal = while_here.map_or(0.0, |times| times.steal());
    let busy = average.is_some_and(|average| average > processors as f64 / 2.0) || steal > 0.02;
    let average: Cow<'static, str> = average.map_or("unknown".into(), |average| format!("{average:.2}").into());
    Capability {
        name: "load",
        state: if busy { State::Limited } else { State::Ok },
        found: format!("{average} on {processors} processors, {:.0} % stolen", 100.0 * steal),
        means: "what else runs makes live runs late; each says by how much".into(),
        remedy: busy.then_some("wait until it is over, or lower the scale of the run".into()),
    }
}
