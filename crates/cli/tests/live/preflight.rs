//! What a host has not is said before anything is sent, in one message, and nothing is left.

use std::process::Command;

use crate::support::{Bench, Said};
use crate::{can_run, demo, experiment, one_run};

/// A live run on a host that is made like this: a script, which starts the program with `"$@"`.
fn refused(host: &str, more: &str) -> Said {
    let bench = Bench::new();
    bench.file("x.toml", (experiment(&demo(), "20s") + more).as_bytes());
    let mut command = Command::new("unshare");
    command
        .current_dir(bench.path("."))
        .args(["--mount", "sh", "-c", host, "sh"])
        .arg(assert_cmd::cargo::cargo_bin("flowloom"));
    let output = command.args(["run", "x.toml", "--on", "live", "-o", "run"]).output().unwrap();
    assert_eq!(bench.names(), ["x.toml"]);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let said = Said { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
    assert_eq!(said.err.matches("error:").count(), 1, "one message: {}", said.err);
    said
}

/// Hides the node of TUN devices.
const NO_TUN: &str = "mount -t tmpfs none /dev/net && ";

#[test]
fn a_host_without_descriptors_is_refused() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    refused("exec prlimit --nofile=1000:1000 \"$@\"", "").failed(1, &["1000 descriptors", "ulimit", "--duration"]);
}

#[test]
fn a_host_without_memory_is_refused() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let host = "mount -t tmpfs none /mnt && echo 'MemAvailable: 50 kB' > /mnt/meminfo && mount --bind /mnt/meminfo /proc/meminfo && \
                exec \"$@\"";
    refused(host, "").failed(1, &["connections would be open at once", "room for 2", "memory are free"]);
}

#[test]
fn a_host_that_can_carry_no_packets_is_refused() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let host = format!("{NO_TUN} exec setpriv --inh-caps=-net_raw --bounding-set=-net_raw \"$@\"");
    refused(&host, "").failed(1, &["opening a packet socket", "not permitted", "doctor"]);
}

#[test]
fn a_host_without_tun_devices_is_refused_where_they_are_asked_for() {
    if !can_run() {
        return;
    }
    let _run = one_run();
    let host = format!("{NO_TUN} exec \"$@\"");
    refused(&host, "[live]\ndevices = \"tun\"\n").failed(1, &["/dev/net/tun cannot be used", "doctor"]);
}
