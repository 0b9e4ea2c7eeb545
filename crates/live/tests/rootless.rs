//! A testbed without root, in a user namespace, which a process can only enter before it has threads: so this is a program of its
//! own and no harness. As root it starts itself again as another user.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, thread};

use flowloom_live::addresses;
use flowloom_live::device::Device;
use flowloom_live::host::namespace::enter_user_namespace;
use flowloom_live::host::settings::Settings;
use flowloom_live::host::testbed::{Choice, Kind, PathDevice, Testbed};
use flowloom_sim::Class;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::geteuid;

const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    // `cargo test -- --list` and filters are of no use here.
    if geteuid().is_root() {
        return as_nobody();
    }
    if let Err(error) = enter_user_namespace() {
        eprintln!("skipped: {error}");
        return ExitCode::SUCCESS;
    }
    assert!(geteuid().is_root(), "it is root of its own namespace");
    crosses(Kind::Auto);
    crosses(Kind::PacketSocket);
    println!("test rootless ... ok");
    ExitCode::SUCCESS
}

/// Starts a copy of this program as another user, who may not be let into the folder where it is.
fn as_nobody() -> ExitCode {
    let folder = env::temp_dir().join(format!("flowloom-rootless-{}", std::process::id()));
    let copy = folder.join("rootless");
    fs::create_dir(&folder).unwrap();
    fs::copy(env::current_exe().unwrap(), &copy).unwrap();
    for path in [&folder, &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let status = Command::new(&copy).uid(NOBODY).gid(NOBODY).current_dir("/").status();
    fs::remove_dir_all(&folder).unwrap();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("as another user: {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("skipped: no process of another user can be started: {error}");
            ExitCode::SUCCESS
        }
    }
}

/// A megabyte crosses, with a congestion control that the host does not allow to others.
fn crosses(kind: Kind) {
    const BYTES: usize = 1_000_000;
    let linux = flowloom_core::tcp::Config::of(flowloom_core::tcp::Profile::Linux);
    let cubic = Settings::from_classes(&[Class { tcp: linux, ..Class::default() }]);
    let settings = match cubic {
        Ok((settings, _)) => settings,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let (mut testbed, mut devices) = Testbed::build(&Choice { kind, settings, ..Choice::default() }).unwrap();
    testbed.warnings.iter().for_each(|warning| eprintln!("{kind:?}: {warning}"));
    let right = Ipv4Addr::new(198, 19, 0, 1);
    let [left_side, right_side] = &testbed.namespaces;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| forward(&mut devices, &stop));
        let listener = right_side.within(|| TcpListener::bind((right, addresses::FIRST_PORT))).unwrap();
        let sink = scope.spawn(move || listener.accept().unwrap().0.read_to_end(&mut Vec::new()).unwrap());
        let mut connection = left_side.within(|| TcpStream::connect((right, addresses::FIRST_PORT))).unwrap();
        connection.write_all(&vec![1; BYTES]).unwrap();
        drop(connection);
        assert_eq!(sink.join().unwrap(), BYTES);
        stop.store(true, Ordering::Relaxed);
    });
    let counters = testbed.counters().unwrap();
    assert_eq!(counters.sides[0].device.sent_drops, 0);
}

fn forward(devices: &mut [PathDevice; 2], stop: &AtomicBool) {
    let mut buffer = [0; 2_048];
    while !stop.load(Ordering::Relaxed) {
        let mut ready = devices.each_ref().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
        poll(&mut ready, PollTimeout::from(50_u8)).unwrap();
        for from in [0, 1] {
            while let Some(length) = devices[from].read(&mut buffer).unwrap() {
                assert!(length <= 1_500);
                assert!(devices[1 - from].write(&buffer[..length]).unwrap());
            }
        }
    }
}
