//! From plugins to populations: which server a client's sessions ask.

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;

use super::plugin::{Personality, Plugin, Traffic};
use super::pool::{Block, Pool};
use super::population::{Doing, MOST_POPULATIONS, Population};
use super::values::Values;
use super::{BITRATE, DATAGRAM_BYTES, Harpoon, INTERVAL};
use crate::generate::ends::{Ends, gap};
use crate::generate::on_off::check_payload;

/// The populations of `plugins`: one for each client, in their order.
pub fn populations(model: &mut Harpoon, plugins: &[Plugin]) -> Result<Vec<Population>, String> {
    let mut used = vec![false; plugins.len()];
    let mut populations = Vec::new();
    for (at, client) in plugins.iter().enumerate() {
        let Some(traffic) = Traffic::of_object(&client.object) else {
            let Plugin { place, name, object, .. } = client;
            model
                .remarks
                .push(format!("{place}: plugin {name} is left out: {object} is no traffic that is known here"));
            used[at] = true;
            continue;
        };
        if client.personality != Personality::Client {
            continue;
        }
        let server = server(plugins, client, traffic)?;
        (used[at], used[server]) = (true, true);
        let population = population(model, client, &plugins[server], traffic)
            .and_then(|population| population.check().map(|()| population))
            .map_err(|problem| format!("{}: plugin {}: {problem}", client.place, client.name))?;
        populations.push(population);
    }
    for (plugin, _) in plugins.iter().zip(used).filter(|(_, used)| !used) {
        let Plugin { place, name, .. } = plugin;
        model.remarks.push(match plugin.personality {
            Personality::Unknown => format!("{place}: plugin {name} is left out: it is neither client nor server"),
            Personality::Client | Personality::Server => {
                format!("{place}: plugin {name} is left out: no client asks it for anything")
            }
        });
    }
    match populations.len() {
        0 => Err("no plugin is a client whose traffic is known here: nothing would be sent".to_owned()),
        1..=MOST_POPULATIONS => Ok(populations),
        clients => Err(format!("{clients} clients are too many (at most {MOST_POPULATIONS})")),
    }
}

/// Which plugin serves `client`: of those of its traffic the one that has an address of its destinations, or the only one.
fn server(plugins: &[Plugin], client: &Plugin, traffic: Traffic) -> Result<usize, String> {
    let is_server = |plugin: &Plugin| {
        plugin.personality == Personality::Server && Traffic::of_object(&plugin.object) == Some(traffic)
    };
    let servers: Vec<usize> = (0..plugins.len()).filter(|at| is_server(&plugins[*at])).collect();
    let meets = |at: &&usize| {
        let of = &plugins[**at].servers;
        client.destinations.iter().any(|destination| of.iter().any(|server| server.meets(destination)))
    };
    if let Some(at) = servers.iter().find(meets) {
        return Ok(*at);
    }
    let Plugin { place, name, object, .. } = client;
    match servers[..] {
        [only] => Ok(only),
        [] => Err(format!(
            "{place}: plugin {name} has no server of {object} to ask, which would have the file sizes; give the server's \
                configuration too, as in config = [\"client.xml\", \"server.xml\"]"
        )),
        _ => Err(format!("{place}: plugin {name}: none of the {} servers has one of its destinations", servers.len())),
    }
}

fn population(model: &Harpoon, client: &Plugin, server: &Plugin, traffic: Traffic) -> Result<Population, String> {
    let list = |of: &Plugin, name: &str, list: &[f64], unit: f64| match list {
        [] => Err(format!("{name} of {} are missing", of.name)),
        list => Ok(Values::List(list.iter().map(|value| value * unit).collect(), model.lists)),
    };
    let setting = |name: &str, default: f64, most: f64| match client.setting(name).unwrap_or(default) {
        value if value >= 1.0 && value <= most => Ok(value),
        value => Err(format!("{name} of {value} is not possible: 1 to {most}")),
    };
    let gaps = || list(client, "interconnection_times", &client.interconnection_times, 1.0);
    let sizes = || list(server, "file_sizes", &server.file_sizes, 1.0);
    let ping_pong = |exponential, periods: &str| {
        let times = client.settings.get(periods).map_or(&[][..], Vec::as_slice);
        Ok::<Doing, String>(Doing::PingPong {
            users: setting("virtual_users", 1.0, f64::from(u32::MAX))? as u32,
            periods: list(client, periods, times, 1e-3)?,
            exponential,
            requests: list(client, "file_sizes", &client.file_sizes, 1.0)?,
            responses: sizes()?,
        })
    };
    let doing = match traffic {
        Traffic::Tcp => Doing::Files { gaps: gaps()?, sizes: sizes()?, transfer: model.transfer },
        Traffic::UdpConstant => {
            let payload = setting("datagram_size", f64::from(DATAGRAM_BYTES), 65_507.0)? as u32;
            check_payload("payload-bytes", payload)
                .map_err(|_| format!("datagram_size of {payload} would go in fragments"))?;
            let rate = Rate::from_bits_per_second(setting("bitrate", BITRATE as f64, 1e15)? as u64);
            let rate = rate.ok_or("bitrate of 0 sends nothing")?;
            Doing::Datagrams { gaps: gaps()?, sizes: sizes()?, payload, every: gap(payload, rate) }
        }
        Traffic::UdpPeriodic => ping_pong(false, "uniform_period")?,
        Traffic::UdpExponential => ping_pong(true, "expo_means")?,
    };
    if client.active_sessions.is_empty() {
        return Err("active_sessions are missing".to_owned());
    }
    let active = client.active_sessions.iter().map(|sessions| (*sessions).min(client.threads)).collect();
    let stated = client.setting("interval_duration").map(Duration::from_secs_f64);
    let given = model.interval.as_ref().map(|interval| interval.value);
    let pool = |what: &str, blocks: &[Block]| {
        Pool::new(blocks).ok_or_else(|| format!("the {what} pool has no address of a host"))
    };
    let mss = match client.setting("tcp_mss") {
        Some(mss) if !(1.0..=65_495.0).contains(&mss) => return Err(format!("tcp_mss of {mss} is not possible")),
        mss => mss.map(|mss| mss as u16),
    };
    Ok(Population {
        interval: given.or(stated).unwrap_or(INTERVAL),
        active: match model.active(active) {
            active if active.most() == 0 => return Err("active_sessions, or maxthreads, are 0".to_owned()),
            active => active,
        },
        doing,
        clients: pool("source", &client.sources)?,
        servers: pool("destination", &client.destinations)?,
        ends: Ends {
            mss: model.ends.mss.or(mss),
            initiators: client.client_side.unwrap_or(model.ends.initiators),
            ..model.ends.clone()
        },
    })
}
