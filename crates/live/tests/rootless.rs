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
use flowloom_needs::{Need, skip};
use flowloom_sim::Class;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::geteuid;

const NOBODY: u32 = 65_534;

/// The copy of this program that root starts has this argument.
const COPY: &str = "copy";

/// What the copy may lack. It may not be allowed to write to the record of skips, and exits with 77 and the place in this list.
const LACKS: [Need; 2] = [Need::USER_NAMESPACES, CUBIC];
const CUBIC: Need = Need::new("cubic", "modprobe tcp_cubic");

fn main() -> ExitCode {
    // `cargo test -- --list` and filters are of no use here.
    let is_copy = env::args().nth(1).as_deref() == Some(COPY);
    let done = if geteuid().is_root() { as_nobody() } else { in_user_namespace() };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(need) if is_copy => {
            let at = LACKS.iter().position(|lacks| lacks.what == need.what).expect("it is on the list");
            ExitCode::from(77 + at as u8)
        }
        Err(need) => {
            skip("live: testbed without root", need);
            ExitCode::SUCCESS
        }
    }
}

/// The test.
fn in_user_namespace() -> Result<(), Need> {
    if let Err(error) = enter_user_namespace() {
        eprintln!("{error}");
        return Err(Need::USER_NAMESPACES);
    }
    assert!(geteuid().is_root(), "it is root of its own namespace");
    crosses(Kind::Auto)?;
    crosses(Kind::PacketSocket)?;
    println!("test rootless ... ok");
    Ok(())
}

/// Starts a copy of this program as another user, who may not be let into the folder where it is.
fn as_nobody() -> Result<(), Need> {
    let folder = env::temp_dir().join(format!("flowloom-rootless-{}", std::process::id()));
    let copy = folder.join("rootless");
    fs::create_dir(&folder).unwrap();
    fs::copy(env::current_exe().unwrap(), &copy).unwrap();
    for path in [&folder, &copy] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let status = Command::new(&copy).arg(COPY).uid(NOBODY).gid(NOBODY).current_dir("/").status();
    fs::remove_dir_all(&folder).unwrap();
    match status.map(|status| status.code()) {
        Ok(Some(0)) => Ok(()),
        Ok(Some(code @ 77..=78)) => Err(LACKS[code as usize - 77]),
        Ok(code) => panic!("as another user: exit code {code:?}"),
        Err(error) => {
            eprintln!("{error}");
            Err(Need::OTHER_USERS)
        }
    }
}

/// A megabyte crosses, with a congestion control that the host does not allow to others.
fn crosses(kind: Kind) -> Result<(), Need> {
    const BYTES: usize = 1_000_000;
    let linux = flowloom_core::tcp::Config::of(flowloom_core::tcp::Profile::Linux);
    let cubic = Settings::from_classes(&[Class { tcp: linux, ..Class::default() }]);
    let (settings, _) = cubic.map_err(|error| {
        eprintln!("{error}");
        CUBIC
    })?;
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
    Ok(())
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
