//! The path in virtual time, between two devices that are queues: what it does to packets, to the nanosecond.

mod driver;

use flowloom_core::time::Duration;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};

use flowloom_core::path::{Impairments, LossModel, PacketList};
use flowloom_core::queue::{CodelParams, Discipline, StepParams, StepPoint};
use flowloom_core::record::{DropReason, DropRecord};
use flowloom_core::units::{Limit, Probability};
use flowloom_core::wire::{Ecn, Flags};
use flowloom_core::workload::{
    ConnectionVector, Endpoint, IpVersion, LinkSide, LostSegment, PerSide, Protocol, Side, SynAnswer, SynRepeat,
};
use flowloom_sim::{AsCaptured, Class};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::conversation::Conversation;
use super::frame::tests::{Make, make, verify_tcp};
use super::frame::{Frame, Transport};
use super::*;
use crate::addresses;

/// The kernel's side of a device.
#[derive(Debug, Default)]
struct Kernel {
    /// What it sends, and when.
    sends: VecDeque<(Time, Vec<u8>)>,
    /// What it was given, and when.
    got: Vec<(Time, Vec<u8>)>,
    /// How many more packets it has room for.
    room: Option<usize>,
}

#[derive(Debug)]
struct Fake {
    kernel: Rc<RefCell<Kernel>>,
    now: Rc<Cell<Time>>,
    nothing: File,
}

impl Fake {
    fn new(now: &Rc<Cell<Time>>) -> (Fake, Rc<RefCell<Kernel>>) {
        let kernel = Rc::<RefCell<Kernel>>::default();
        let nothing = File::open("/dev/null").unwrap();
        (Fake { kernel: Rc::clone(&kernel), now: Rc::clone(now), nothing }, kernel)
    }
}

impl AsFd for Fake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.nothing.as_fd()
    }
}

impl Device for Fake {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let mut kernel = self.kernel.borrow_mut();
        if kernel.sends.front().is_none_or(|(at, _)| *at > self.now.get()) {
            return Ok(None);
        }
        let (_, packet) = kernel.sends.pop_front().unwrap();
        let length = packet.len().min(into.len());
        into[..length].copy_from_slice(&packet[..length]);
        Ok(Some(length))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        let mut kernel = self.kernel.borrow_mut();
        if kernel.room == Some(0) {
            return Ok(false);
        }
        kernel.room = kernel.room.map(|room| room - 1);
        kernel.got.push((self.now.get(), packet.to_vec()));
        Ok(true)
    }
}

/// What came of a path between two kernels.
struct Received {
    left: Vec<(Time, Vec<u8>)>,
    right: Vec<(Time, Vec<u8>)>,
    report: EmulatorReport,
    outputs: Vec<Output>,
}

impl Received {
    fn drops(&self) -> Vec<DropRecord> {
        let records = self.outputs.iter().filter_map(|output| match output {
            Output::Records(records) => Some(records),
            Output::Closed(..) | Output::State(_) => None,
        });
        let drops = records.flatten().filter_map(|record| match record {
            Kept::Dropped(drop) => Some(*drop),
            _ => None,
        });
        drops.collect()
    }

    /// Sequence and acknowledgement numbers of packets from the left, as they passed the monitor.
    fn numbers(&self) -> Vec<(u32, u32)> {
        let records = self.outputs.iter().filter_map(|output| match output {
            Output::Records(records) => Some(records),
            Output::Closed(..) | Output::State(_) => None,
        });
        let packets = records.flatten().filter_map(|record| match record {
            Kept::Packet(0, packet) => Some((packet.sequence, packet.acknowledgement)),
            _ => None,
        });
        packets.collect()
    }

    fn closed(&self) -> Vec<(Serial, flowloom_sim::Closed)> {
        let closed = self.outputs.iter().filter_map(|output| match output {
            Output::Closed(serial, closed) => Some((*serial, (**closed).clone())),
            Output::Records(_) | Output::State(_) => None,
        });
        closed.collect()
    }
}

/// A path that is driven by hand, in virtual time.
struct Bench {
    config: Config,
    settings: Settings,
    orders: Vec<(Time, Command)>,
    sends: [Vec<(Time, Vec<u8>)>; 2],
    /// Room of the right kernel, and when it has any amount.
    room: Option<(usize, Time)>,
}

impl Bench {
    fn new(config: Config) -> Bench {
        Bench { config, settings: Settings::default(), orders: Vec::new(), sends: Default::default(), room: None }
    }

    fn send(&mut self, side: LinkSide, at: Time, packet: Vec<u8>) {
        self.sends[side as usize].push((at, packet));
    }

    /// Runs until the end of the window, waking when the path asks for it, when a packet comes before that, or late by `late`.
    fn run(&self, late: Duration) -> Received {
        let now = Rc::new(Cell::new(Time::ZERO));
        let (mut devices, kernels): (Vec<_>, Vec<_>) = (0..2).map(|_| Fake::new(&now)).unzip();
        let mut devices = [devices.remove(0), devices.remove(0)];
        for (kernel, sends) in kernels.iter().zip(&self.sends) {
            kernel.borrow_mut().sends = sends.iter().cloned().collect();
        }
        if let Some((room, _)) = self.room {
            kernels[1].borrow_mut().room = Some(room);
        }
        let (out, outputs): (_, Receiver<Output>) = channel();
        let mut recorder = Forward::new(out);
        let end = Time::ZERO + self.config.window;
        let mut path = Path::new(&self.config, self.settings, &mut devices, &mut recorder).unwrap();
        let mut orders = self.orders.iter().cloned().peekable();
        while now.get() < end {
            while let Some((_, command)) = orders.next_if(|order| order.0 <= now.get()) {
                match command {
                    Command::Open(serial, classed) => path.open(serial, classed),
                    Command::Close(serial) => path.close(now.get(), serial),
                    Command::Stop { .. } => {}
                }
            }
            if self.room.is_some_and(|(_, at)| at <= now.get()) {
                kernels[1].borrow_mut().room = None;
            }
            let wake = path.step(|| now.get()).unwrap();
            let packet = kernels.iter().filter_map(|kernel| Some(kernel.borrow().sends.front()?.0)).min();
            let order = orders.peek().map(|order| order.0);
            let next = match wake {
                Wake::At(time) => time,
                Wake::By(time) => [Some(time), packet, order].into_iter().flatten().min().unwrap(),
                Wake::WithPacket => [Some(end), packet, order].into_iter().flatten().min().unwrap(),
            };
            assert!(next >= now.get(), "it never wants to have been woken before");
            now.set((next + late).max(now.get()).min(end));
        }
        let report = path.finish(end, false).unwrap();
        recorder.flush().unwrap();
        drop(recorder);
        let [left, right] = [0, 1].map(|side: usize| std::mem::take(&mut kernels[side].borrow_mut().got));
        assert_eq!(report.unaccounted(), 0);
        Received { left, right, report, outputs: outputs.iter().collect() }
    }
}

const NONE: Duration = Duration::ZERO;

fn micros(n: u64) -> Time {
    Time::ZERO + Duration::from_micros(n)
}

/// 8 Mbit/s, 1 us a byte; 2 ms.
fn line() -> Config {
    let mut config = Config::new("8mbit".parse().unwrap(), Duration::from_millis(500));
    config.record_packets = true;
    config.bottleneck.delay = Duration::from_millis(2);
    config
}

/// A probe of so many bytes on the link, from the left.
fn probe(bytes: usize) -> Make<'static> {
    let hosts = [LinkSide::Left, LinkSide::Right].map(addresses::host);
    Make { from: (hosts[0], 33_000), to: (hosts[1], 7), payload: bytes - 42, ..make() }
}

fn backwards(make: Make<'_>) -> Make<'_> {
    Make { from: make.to, to: make.from, ..make }
}

fn times(packets: &[(Time, Vec<u8>)]) -> Vec<u64> {
    packets.iter().map(|packet| packet.0.as_nanos() / 1_000).collect()
}

#[test]
fn probes_meet_rate_delay_and_queue_limit() {
    let mut bench = Bench::new(line());
    bench.config.bottleneck.queue = Discipline::DropTail(Limit::Packets(3));
    // Six at once: one on the line, three wait, two are dropped. One comes back.
    (0..6).for_each(|_| bench.send(LinkSide::Left, micros(10_000), probe(1_000).udp()));
    bench.send(LinkSide::Right, micros(20_000), backwards(probe(100)).udp());
    let came = bench.run(NONE);
    assert_eq!(times(&came.right), [13_000, 14_000, 15_000, 16_000]);
    assert_eq!(times(&came.left), [22_100]);
    assert_eq!(came.left[0].1, backwards(probe(100)).udp(), "it is as it was sent");
    let drops: Vec<_> = came.drops().iter().map(|drop| (drop.time, drop.bytes, drop.reason)).collect();
    assert_eq!(drops, [(micros(10_000), 1_000, DropReason::QueueFull); 2]);
    let [left, right] = came.report.devices;
    assert_eq!((left.read_packets, left.written_packets, right.written_packets), (6, 1, 4));
    assert_eq!(came.report.lateness.max(), Duration::from_micros(1), "which stands for none");
}

#[test]
fn a_thread_that_is_late_is_late_with_packets_and_never_in_what_it_decides() {
    let mut bench = Bench::new(line());
    bench.config.bottleneck.queue =
        Discipline::Codel(CodelParams { limit: Limit::Packets(40), ..CodelParams::default() });
    bench.config.path[0].loss = LossModel::Bernoulli(Probability::new(0.02).unwrap());
    for n in 0..400 {
        bench.send(LinkSide::Left, micros(900 * n), probe(1_000).udp());
    }
    let (exact, late) = (bench.run(NONE), bench.run(Duration::from_micros(777)));
    assert!(late.report.lateness.quantile(0.5) > Duration::from_micros(100));
    assert!(exact.drops().len() > 5);
    // Packets were stamped later, so that they met the queue at other times; as many passed.
    assert_eq!(late.report.network.directions[0].sent, 400);
    // Stamped alike, they meet the same: they wait in the device, and the step comes late only to hand them on.
    let mut stamped = Bench::new(bench.config.clone());
    stamped.settings.tick = Duration::from_millis(5);
    for n in 0..85 {
        stamped.send(LinkSide::Left, micros(5_000 * n), probe(1_000).udp());
        stamped.send(LinkSide::Left, micros(5_000 * n), probe(3_900).udp());
    }
    stamped.settings.room = 5_000;
    let (coarse, fine) = (stamped.run(NONE), {
        stamped.settings.tick = Duration::from_micros(10);
        stamped.run(NONE)
    });
    assert_eq!(coarse.drops(), fine.drops());
    assert_eq!(coarse.report.network, fine.report.network);
    let packets = |came: &Received| came.right.iter().map(|packet| packet.1.clone()).collect::<Vec<_>>();
    assert_eq!(packets(&coarse), packets(&fine));
    assert!(times(&coarse.right) != times(&fine.right));
}

#[test]
fn losses_copies_and_strangers_are_accounted_for() {
    let mut bench = Bench::new(line());
    bench.config.path[0] = Impairments {
        loss: LossModel::List(PacketList::new([(2, 3)]).unwrap()),
        duplicate: Probability::new(1.0).unwrap(),
        ..Impairments::default()
    };
    for n in 0..5 {
        bench.send(LinkSide::Left, micros(10_000 * n), Make { sequence: n as u32, ..probe(100 + n as usize) }.udp());
    }
    // Not IP; from nowhere; from the other side; to nobody's connection; between a reserved address and another; a program's over IPv6;
    // cut short.
    let unknown = make();
    let wrong = [
        vec![0x50; 60],
        Make { from: (Ipv4Addr::new(10, 0, 0, 1), 9), ..probe(100) }.udp(),
        backwards(probe(100)).udp(),
        unknown.tcp(),
        Make { to: probe(100).to, ..unknown }.tcp(),
        Make { version: IpVersion::V6, ..probe(100) }.udp(),
        probe(100).udp()[..50].to_vec(),
    ];
    wrong.into_iter().for_each(|packet| bench.send(LinkSide::Left, micros(60_000), packet));
    bench.send(LinkSide::Left, micros(70_000), Make { payload: 0, ..probe(100) }.icmp());
    let came = bench.run(NONE);
    let lengths: Vec<_> = came.right.iter().map(|packet| packet.1.len() + 14).collect();
    assert_eq!(lengths, [100, 100, 103, 103, 104, 104, 42, 42], "the second and third are lost, the rest comes twice");
    let [left, right] = came.report.devices;
    assert_eq!((left.read_packets, left.strangers, left.malformed), (13, 6, 1));
    assert_eq!((right.written_packets, came.report.network.directions[0].lost.total()), (8, 2));
    assert_eq!(came.drops().iter().filter(|drop| drop.reason == DropReason::Loss).count(), 2);
}

#[test]
fn a_full_device_gets_its_packets_later_and_in_order() {
    let mut bench = Bench::new(line());
    for n in 0..20_u64 {
        bench.send(LinkSide::Left, micros(1_000 * n), probe(100 + n as usize).udp());
    }
    bench.room = Some((4, micros(50_000)));
    let came = bench.run(NONE);
    let lengths: Vec<_> = came.right.iter().map(|packet| packet.1.len() + 14).collect();
    assert_eq!(lengths, (100..120).collect::<Vec<_>>());
    assert!(came.report.devices[1].full > 100, "it was asked again with every tick");
    assert!(came.report.lateness.max() > Duration::from_millis(40));
    bench.room = Some((4, micros(1_000_000)));
    let came = bench.run(NONE);
    assert_eq!((came.right.len(), came.report.devices[1].unwritten), (4, 16), "to the end");
}

#[test]
fn an_idle_path_waits_and_a_busy_one_goes_by_ticks() {
    let now = Rc::new(Cell::new(micros(1_050)));
    let ((one, kernel), (other, _)) = (Fake::new(&now), Fake::new(&now));
    let (mut devices, config) = ([one, other], line());
    let (out, _outputs) = channel();
    let mut recorder = Forward::new(out);
    let mut path = Path::new(&config, Settings::default(), &mut devices, &mut recorder).unwrap();
    assert_eq!(path.step(|| now.get()).unwrap(), Wake::WithPacket);
    kernel.borrow_mut().sends.push_back((micros(0), probe(150).udp()));
    assert_eq!(path.step(|| now.get()).unwrap(), Wake::At(micros(1_100)));
    now.set(micros(1_100));
    let Wake::By(next) = path.step(|| now.get()).unwrap() else { panic!() };
    assert!(next > micros(1_100) && next <= micros(3_200), "{next:?}");
    now.set(micros(3_200));
    assert_eq!(path.step(|| now.get()).unwrap(), Wake::At(micros(3_300)));
    now.set(micros(3_300));
    assert_eq!(path.step(|| now.get()).unwrap(), Wake::WithPacket);
    (0..200).for_each(|_| kernel.borrow_mut().sends.push_back((micros(0), probe(150).udp())));
    assert_eq!(path.step(|| now.get()).unwrap(), Wake::At(micros(3_300)), "more is waiting to be read");
}

#[test]
fn a_thread_that_comes_very_late_reads_between_what_is_due() {
    let now = Rc::new(Cell::new(micros(0)));
    let ((one, kernel), (other, there)) = (Fake::new(&now), Fake::new(&now));
    let (mut devices, mut config) = ([one, other], line());
    config.bottleneck.rate = "10gbit".parse().unwrap();
    let (out, _outputs) = channel();
    let mut recorder = Forward::new(out);
    let mut path = Path::new(&config, Settings::default(), &mut devices, &mut recorder).unwrap();
    (0..1_000).for_each(|_| kernel.borrow_mut().sends.push_back((micros(0), probe(150).udp())));
    while path.step(|| now.get()).unwrap() == Wake::At(micros(0)) {}
    now.set(micros(100_000));
    let mut written = Vec::new();
    for n in 0..5 {
        kernel.borrow_mut().sends.push_back((micros(0), probe(150).udp()));
        assert_eq!(path.step(|| now.get()).unwrap() == Wake::At(micros(100_000)), n < 3, "more is due");
        assert!(kernel.borrow().sends.is_empty());
        written.push(there.borrow().got.len());
    }
    assert_eq!(written, [256, 512, 768, 1_000, 1_000]);
}

/// What becomes of datagrams of a flow that was announced, 20 ms each way across a line of 8 Mbit/s: the rate, the delay, the queue limit
/// and the loss of the model and nothing else.
#[test]
fn datagrams_of_a_flow_meet_rate_delay_loss_and_queue_limit() {
    let limited = |config: &mut Config| config.bottleneck.queue = Discipline::DropTail(Limit::Packets(3));
    let lossy = |config: &mut Config| config.path[0].loss = LossModel::List(PacketList::new([(2, 3)]).unwrap());
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Config), &'a [(u64, usize)], &'a [u64]);
    let cases: [Case<'_>; 5] = [
        // Sent when, of how many bytes on the link; come when.
        ("delay", &|_| {}, &[(10_000, 100), (20_000, 1_514)], &[30_100, 41_514]),
        ("rate", &|_| {}, &[(10_000, 1_000); 5], &[31_000, 32_000, 33_000, 34_000, 35_000]),
        ("queue limit", &limited, &[(10_000, 1_000); 6], &[31_000, 32_000, 33_000, 34_000]),
        ("loss", &lossy, &[(10_000, 500), (20_000, 500), (30_000, 500), (40_000, 500)], &[30_500, 60_500]),
        (
            "the same as its class",
            &|config| config.bottleneck.delay = Duration::from_millis(5),
            &[(0, 1_000)],
            &[21_000],
        ),
    ];
    let flow = |protocol| ConnectionVector {
        id: 9,
        protocol,
        stated_rtt: Some(Duration::from_millis(40)),
        ..ConnectionVector::default()
    };
    for ((what, change, sent, came), protocol) in
        cases.into_iter().flat_map(|case| [(case, Protocol::Udp), (case, Protocol::Quic)])
    {
        let mut bench = Bench::new(line());
        change(&mut bench.config);
        bench.orders.push((Time::ZERO, Command::Open(4, Box::new(flow(protocol).into()))));
        let [there, back] = ends(4);
        for &(at, bytes) in sent {
            bench.send(LinkSide::Left, micros(at), Make { payload: bytes - 42, ..there.clone() }.udp());
        }
        bench.send(LinkSide::Right, micros(100_000), Make { payload: 58, ..back.clone() }.udp());
        // Neither a segment between its addresses nor a datagram after its end is its.
        bench.send(LinkSide::Left, micros(110_000), there.tcp());
        bench.orders.push((micros(150_000), Command::Close(4)));
        bench.send(LinkSide::Left, micros(300_000), Make { payload: 58, ..there.clone() }.udp());
        let run = bench.run(NONE);
        assert_eq!(times(&run.right), came, "{what}");
        assert_eq!(times(&run.left), [120_100], "{what}, back");
        let [left, right] = run.report.devices;
        assert_eq!((left.strangers, right.strangers), (2, 0), "{what}");
        let from = &run.report.network.directions[0];
        assert_eq!(from.sent, sent.len() as u64);
        assert_eq!(from.delivered + from.lost.total() + from.dropped.total(), from.sent, "{what}");
        assert_eq!(run.drops().len() + came.len(), sent.len());
        assert!(run.drops().iter().all(|drop| drop.connection == 9));
        let payload: usize = run.right.iter().map(|packet| packet.1.len() - 28).sum();
        assert_eq!(from.carried.bytes, (payload + 42 * came.len()) as u64, "sizes are what they were");
        let [(4, closed)] = &run.closed()[..] else { panic!("{what}") };
        assert_eq!((closed.id, closed.rtt, &closed.monitor), (9, Duration::from_millis(40), &None));
    }
}

/// A connection from the left, 10 ms from the monitor on either side.
fn connection(window: [u64; 2], mss: u16) -> ConnectionVector {
    let end = |window| Endpoint {
        min_transit: Some(Duration::from_millis(20)),
        max_window: Some(window),
        mss: Some(mss),
        syn_seen: true,
        window_scale: Some(14),
        ..Endpoint::default()
    };
    ConnectionVector {
        id: 77,
        ends: PerSide { initiator: end(window[0]), acceptor: end(window[1]) },
        ..Default::default()
    }
}

/// The two ends of connection `serial`, as they write headers.
fn ends(serial: Serial) -> [Make<'static>; 2] {
    let (initiator, acceptor) = addresses::of_connection(serial, LinkSide::Left);
    let there = Make { from: (initiator, 40_000), to: (acceptor, 5_001), ..make() };
    [there.clone(), backwards(there)]
}

fn options(mss: u16, shift: Option<u8>) -> Vec<u8> {
    let [high, low] = mss.to_be_bytes();
    // The scale at an odd place behind SACK-permitted and timestamps, as Linux writes it.
    let scale = shift.map_or([1, 1, 1, 1], |shift| [1, 3, 3, shift]);
    [&[2, 4, high, low, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0][..], &scale].concat()
}

fn tcp(packet: &[u8]) -> super::frame::Tcp {
    verify_tcp(packet);
    match Frame::read(packet).unwrap().transport {
        Transport::Tcp(tcp) => tcp,
        _ => panic!("no segment"),
    }
}

/// SACK-permitted, timestamps and window scale in a SYN as it leaves the emulator, its ECN flags, and what it counts beyond the
/// bytes of its options.
fn offered(conversation: &mut Conversation, sender: Side, make: &Make<'_>) -> ([bool; 3], u8, i16) {
    let mut packet = make.tcp();
    let frame = Frame::read(&packet).unwrap();
    let taken = conversation.take(sender, &frame, &mut packet);
    let left = tcp(&packet);
    let options = [left.sack_permitted.is_some(), left.timestamps_at.is_some(), left.window_scale.is_some()];
    assert_eq!(taken.segment.sack_permitted, options[0]);
    assert_eq!(taken.segment.timestamps.is_some(), options[1]);
    assert_eq!(taken.segment.window_scale.is_some(), options[2]);
    (options, left.flags.0 & (Flags::ECE | Flags::CWR), taken.extra)
}

/// SYNs that the original sent in vain do not arrive, refused ones neither, nor data that it lost; what the kernel repeats does.
#[test]
fn what_the_original_lost_is_lost() {
    let mut bench = Bench::new(Config { window: Duration::from_secs(4), ..line() });
    bench.config.replay.losses = true;
    let mut vector = connection([65_535; 2], 1_460);
    let repeat = |wait, answer| SynRepeat { side: Side::Initiator, wait: Duration::from_millis(wait), answer };
    vector.syn_repeats = vec![repeat(1_030, SynAnswer::None), repeat(500, SynAnswer::Reset)];
    vector.losses.initiator = vec![LostSegment { after_bytes: 100, bytes: 100, ..LostSegment::default() }];
    bench.orders.push((Time::ZERO, Command::Open(3, Box::new(vector.into()))));
    let [initiator, acceptor] = ends(3);
    let options = options(1_460, Some(7));
    let syn = Make { flags: Flags::SYN, options: &options, acknowledgement: 0, ..initiator.clone() };
    for at in [10, 1_010, 2_010] {
        bench.send(LinkSide::Left, micros(1_000 * at), syn.tcp());
    }
    let number = initiator.sequence.wrapping_add(1);
    let (flags, acknowledgement) = (Flags::SYN | Flags::ACK, number);
    bench.send(
        LinkSide::Right,
        micros(2_100_000),
        Make { flags, acknowledgement, options: &options, ..acceptor.clone() }.tcp(),
    );
    let acknowledgement = acceptor.sequence.wrapping_add(1);
    let data =
        |after: u32| Make { sequence: number.wrapping_add(after), acknowledgement, payload: 100, ..initiator.clone() };
    for (at, after) in [(2_200, 0), (2_201, 100), (2_202, 200), (2_600, 100)] {
        bench.send(LinkSide::Left, micros(1_000 * at), data(after).tcp());
    }
    let came = bench.run(NONE);
    let arrived: Vec<u32> =
        came.right.iter().map(|packet| tcp(&packet.1).sequence.wrapping_sub(initiator.sequence)).collect();
    assert_eq!(arrived, [0, 1, 201, 101]);
    let drops: Vec<_> = came.drops().iter().map(|drop| drop.reason).collect();
    assert_eq!(drops, [DropReason::Loss; 3]);
    let [(3, closed)] = &came.closed()[..] else { panic!() };
    let monitor = closed.monitor.as_ref().unwrap();
    let waits: Vec<_> = monitor.syn_repeats.iter().map(|repeat| (repeat.wait, repeat.answer)).collect();
    assert_eq!(waits, [(Duration::from_secs(1), SynAnswer::None); 2], "the kernel's times");
}

#[test]
fn options_that_not_both_ends_offered_are_taken_out() {
    let class = Class { as_captured: AsCaptured::ALL, ..Class::default() };
    let options = options(1_460, Some(7));
    let [there, back] = ends(0);
    let syn = Make { flags: Flags::SYN | Flags::ECE | Flags::CWR, options: &options, ..there };
    let syn_ack = Make { flags: Flags::SYN | Flags::ACK | Flags::ECE, options: &options, ..back };
    let known = |vector: &mut ConnectionVector, side: Side, [sack, timestamps, ecn]: [bool; 3]| {
        let end = &mut vector.ends[side];
        (end.sack, end.timestamps, end.ecn) = (Some(sack), Some(timestamps), Some(ecn));
    };
    // All of it, by both.
    let mut vector = connection([65_535; 2], 1_460);
    Side::BOTH.into_iter().for_each(|side| known(&mut vector, side, [true; 3]));
    let mut conversation = Conversation::of(&vector, &class);
    assert_eq!(offered(&mut conversation, Side::Initiator, &syn), ([true; 3], Flags::ECE | Flags::CWR, 0));
    assert_eq!(offered(&mut conversation, Side::Acceptor, &syn_ack), ([true; 3], Flags::ECE, 0));
    // Timestamps by the initiator alone, which its SYN took 12 bytes for; and over IPv6, carried in IPv4.
    known(&mut vector, Side::Acceptor, [true, false, false]);
    vector.ip_version = Some(IpVersion::V6);
    let mut conversation = Conversation::of(&vector, &class);
    assert_eq!(offered(&mut conversation, Side::Initiator, &syn), ([true, false, true], 0, 20 + 8));
    assert_eq!(offered(&mut conversation, Side::Acceptor, &syn_ack), ([true, false, true], 0, 20));
    // Nothing by either: the class says nothing of them, either.
    let mut conversation = Conversation::of(&vector, &Class { as_captured: AsCaptured::default(), ..class.clone() });
    assert_eq!(offered(&mut conversation, Side::Initiator, &syn), ([false, false, true], 0, 0));
}

#[test]
fn packets_of_a_connection_have_its_version_of_ip_and_no_other() {
    for (version, ipv6, carried) in [
        (IpVersion::V4, true, IpVersion::V4),
        (IpVersion::V6, true, IpVersion::V6),
        (IpVersion::V6, false, IpVersion::V4),
    ] {
        let mut bench = Bench::new(line());
        bench.config.classes[0].as_captured = AsCaptured::ALL;
        bench.settings.ipv6 = ipv6;
        for (serial, protocol) in [(1, Protocol::Tcp), (2, Protocol::Udp)] {
            let vector = ConnectionVector { ip_version: Some(version), protocol, ..connection([65_535; 2], 1_460) };
            bench.orders.push((Time::ZERO, Command::Open(serial, Box::new(vector.into()))));
        }
        let segment = Make { payload: 100, ..ends(1)[0].clone() };
        let datagram = Make { payload: 100, ..ends(2)[0].clone() };
        for (n, version) in [IpVersion::V4, IpVersion::V6].into_iter().enumerate() {
            bench.send(LinkSide::Left, micros(5_000 * n as u64), Make { version, ..segment.clone() }.tcp());
            bench.send(LinkSide::Left, micros(5_000 * n as u64), Make { version, ..datagram.clone() }.udp());
        }
        let came = bench.run(NONE);
        let versions: Vec<_> = came.right.iter().map(|packet| Frame::read(&packet.1).unwrap().version).collect();
        assert_eq!(versions, [carried; 2]);
        assert_eq!(came.report.devices[0].strangers, 2, "the other version");
        // Ethernet, IP and TCP or UDP, however they were carried.
        let bytes = 2 * (14 + u64::from(version.header_bytes()) + 100) + 20 + 8;
        let records = came.outputs.iter().filter_map(|output| match output {
            Output::Records(records) => Some(records),
            Output::Closed(..) | Output::State(_) => None,
        });
        let crossed = records.flatten().map(|kept| match kept {
            Kept::Throughput(bin) => bin.carried.bytes,
            _ => 0,
        });
        assert_eq!(crossed.sum::<u64>(), bytes, "{version:?} carried in {carried:?}");
    }
}

#[test]
fn windows_and_segment_sizes_are_the_vectors_and_checksums_right() {
    for (kernel, window, wanted) in [
        (Some(10), 8_192, 8_192),
        (Some(10), 16_384, 16_384),
        (Some(10), 65_535, 65_535),
        (Some(10), 1 << 20, 1 << 20),
        (Some(7), 65_535 << 4, 65_535 << 4),
        (None, 1 << 20, 65_535),
    ] {
        let mut bench = Bench::new(line());
        bench.orders.push((Time::ZERO, Command::Open(3, Box::new(connection([window, 8_192], 1_000).into()))));
        let [initiator, acceptor] = ends(3);
        // Both count from the same number.
        let next = |make: &Make<'static>| {
            let number = make.sequence.wrapping_add(1);
            Make { sequence: number, acknowledgement: number, ..make.clone() }
        };
        let (after, answered) = (next(&initiator), next(&acceptor));
        let (syn, synack) = (options(1_460, kernel), options(536, kernel));
        let first = Make { flags: Flags::SYN, options: &syn, window: 64_240, acknowledgement: 0, ..initiator.clone() };
        bench.send(LinkSide::Left, micros(10_000), first.tcp());
        let (flags, acknowledgement) = (Flags::SYN | Flags::ACK, after.sequence);
        bench.send(
            LinkSide::Right,
            micros(60_000),
            Make { flags, acknowledgement, options: &synack, window: 65_535, ..acceptor.clone() }.tcp(),
        );
        bench.send(LinkSide::Left, micros(110_000), Make { window: 65_535, payload: 11, ..after.clone() }.tcp());
        bench.send(LinkSide::Left, micros(120_000), Make { window: 3, ..after.clone() }.tcp());
        bench.send(LinkSide::Right, micros(160_000), Make { window: 60_000, payload: 5, ..answered.clone() }.tcp());
        let came = bench.run(NONE);
        let [seen, data, small] = [0, 1, 2].map(|n| tcp(&came.right[n].1));
        assert_eq!(seen.mss.map(|mss| mss.1.get()), Some(1_000));
        assert_eq!(seen.window_scale.is_some(), kernel.is_some());
        assert_eq!(u64::from(seen.window), window.min(64_240), "of a SYN, not scaled");
        let shift = seen.window_scale.map_or(0, |scale| scale.1);
        assert_eq!(u64::from(data.window) << shift, wanted, "{kernel:?}");
        assert_eq!((u64::from(small.window) << shift), 3 << kernel.unwrap_or(0));
        assert_eq!(data.payload_bytes, 11);
        let [answer, last] = [0, 1].map(|n| tcp(&came.left[n].1));
        assert_eq!((answer.mss.map(|mss| mss.1.get()), answer.window), (Some(536), 8_192), "what asks for less stays");
        assert_eq!(u64::from(last.window) << answer.window_scale.map_or(0, |scale| scale.1), 8_192);
        assert_eq!(came.left[1].1[40..], (0..5).collect::<Vec<u8>>());
        // The monitor saw what the other end saw.
        let [(3, closed)] = &came.closed()[..] else { panic!() };
        let monitor = closed.monitor.as_ref().unwrap();
        assert_eq!((closed.id, closed.rtt, monitor.id), (77, Duration::from_millis(40), 77));
        assert_eq!((monitor.window(Side::Initiator), monitor.window(Side::Acceptor)), (Some(wanted), Some(8_192)));
        assert_eq!((monitor.bytes(Side::Initiator), monitor.bytes(Side::Acceptor)), (11, 5));
        assert_eq!(monitor.ends.initiator.mss, Some(1_000));
    }
}

#[test]
fn sequence_numbers_go_round() {
    let mut bench = Bench::new(Config { window: Duration::from_secs(30), ..line() });
    bench.config.bottleneck.rate = "10gbit".parse().unwrap();
    bench.orders.push((Time::ZERO, Command::Open(0, Box::new(connection([65_535; 2], 1_460).into()))));
    let [initiator, acceptor] = ends(0);
    let first = u32::MAX - 100;
    let syn = Make { flags: Flags::SYN, sequence: first, acknowledgement: 0, ..initiator.clone() };
    bench.send(LinkSide::Left, micros(0), syn.tcp());
    let synack = Make {
        flags: Flags::SYN | Flags::ACK,
        sequence: 7,
        acknowledgement: first.wrapping_add(1),
        ..acceptor.clone()
    };
    bench.send(LinkSide::Right, micros(50_000), synack.tcp());
    // 9.3 GB, in steps of just under 2 GiB as seen by the path: over 2^32 twice, and one of them again.
    let mut sequence = first.wrapping_add(1);
    for n in 0..5_u64 {
        let data = Make { sequence, acknowledgement: 8, payload: 1_000, ..initiator.clone() };
        bench.send(LinkSide::Left, micros(1_000_000 * (n + 1)), data.tcp());
        if n == 3 {
            bench.send(LinkSide::Left, micros(1_000_000 * (n + 1) + 500_000), data.tcp());
        }
        sequence = sequence.wrapping_add((1 << 31) - 5_000);
    }
    bench.orders.push((micros(7_000_000), Command::Close(0)));
    let came = bench.run(NONE);
    assert_eq!(came.right.len(), 7);
    let sent: Vec<u32> = came.right.iter().map(|packet| tcp(&packet.1).sequence).collect();
    assert_eq!(came.numbers(), sent.iter().map(|sent| (*sent, if *sent == first { 0 } else { 8 })).collect::<Vec<_>>());
    assert_eq!(sent, bench.sends[0].iter().map(|packet| tcp(&packet.1).sequence).collect::<Vec<_>>());
    let carried: u64 = came
        .outputs
        .iter()
        .filter_map(|output| match output {
            Output::Records(records) => Some(records),
            Output::Closed(..) | Output::State(_) => None,
        })
        .flatten()
        .map(|record| match record {
            Kept::Throughput(bin) => bin.carried.payload_bytes,
            _ => 0,
        })
        .sum();
    assert_eq!(carried, 5_000, "a segment that comes again carries nothing new");
    let is_over = |output: &Output| matches!(output, Output::Closed(0, _));
    assert_eq!(came.outputs.iter().filter(|output| is_over(output)).count(), 1);
}

#[test]
fn a_connection_without_packets_has_a_path_all_the_same() {
    let mut bench = Bench::new(line());
    for serial in [9, 8, 10] {
        bench.orders.push((Time::ZERO, Command::Open(serial, Box::new(connection([8_192; 2], 536).into()))));
    }
    bench.settings.linger = Duration::from_millis(30);
    bench.orders.push((micros(5_000), Command::Close(9)));
    bench.orders.push((micros(5_000), Command::Close(11)));
    let came = bench.run(NONE);
    let closed: Vec<_> =
        came.closed().into_iter().map(|(serial, closed)| (serial, closed.rtt, closed.monitor)).collect();
    assert_eq!(closed, [9, 8, 10].map(|serial| (serial, Duration::from_millis(40), None)));
}

#[test]
fn a_queue_that_marks_sets_the_mark_in_the_header() {
    let step = |at| Discipline::Step(StepParams { threshold: Limit::Packets(20), at, ..StepParams::default() });
    for (queue, version) in [
        (Discipline::Codel(CodelParams { ecn: true, ..CodelParams::default() }), IpVersion::V4),
        (
            Discipline::Codel(CodelParams { ce_threshold: Some(Duration::from_millis(20)), ..CodelParams::default() }),
            IpVersion::V6,
        ),
        (step(StepPoint::Enqueue), IpVersion::V4),
        (step(StepPoint::Dequeue), IpVersion::V6),
    ] {
        let mut bench = Bench::new(line());
        let law = matches!(&queue, Discipline::Codel(codel) if !codel.ecn);
        bench.config.bottleneck.queue = queue.clone();
        bench.config.window = Duration::from_secs(2);
        bench.config.classes[0].as_captured = AsCaptured::ALL;
        bench.settings.ipv6 = true;
        let vector = ConnectionVector { ip_version: Some(version), ..connection([65_535; 2], 1_460) };
        bench.orders.push((Time::ZERO, Command::Open(1, Box::new(vector.into()))));
        let [initiator, _] = ends(1);
        for n in 0..1_000 {
            // Every third packet cannot carry the mark, where nothing but marks is done.
            let ecn = if n % 3 == 0 && matches!(queue, Discipline::Step(_)) { Ecn::NotEct } else { Ecn::Ect0 };
            let data = Make { sequence: 500 + 946 * n, payload: 946, ecn, version, ..initiator.clone() };
            bench.send(LinkSide::Left, micros(900 * u64::from(n)), data.tcp());
        }
        let came = bench.run(NONE);
        let marked = came.right.iter().filter(|packet| Frame::read(&packet.1).unwrap().ecn == Ecn::Ce).count();
        assert!((5..900).contains(&marked), "{marked} by {queue:?}");
        came.right.iter().for_each(|packet| verify_tcp(&packet.1));
        // CoDel's law drops where it may not mark.
        let dropped = came.drops().len();
        assert!(came.right.len() + dropped == 1_000 && (dropped > 0) == law, "{dropped} by {queue:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(13), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes out of a device: packets of flows with some bytes changed, or anything.
    #[test]
    fn no_packet_breaks_the_path(
        packets in prop::collection::vec(
            (0..5_u8, 0..200_000_u64, prop::collection::vec((0..100_usize, any::<u8>()), 0..6), prop::collection::vec(any::<u8>(), 0..90)),
            1..60,
        ),
    ) {
        let mut bench = Bench::new(line());
        bench.config.path[1].duplicate = Probability::new(0.3).unwrap();
        bench.orders.push((Time::ZERO, Command::Open(2, Box::new(connection([8_192, 300_000], 900).into()))));
        let [initiator, acceptor] = ends(2);
        let syn = options(1_460, Some(7));
        let mut packets = packets;
        packets.sort_by_key(|packet| packet.1);
        for (kind, at, changes, bytes) in packets {
            let (side, mut packet) = match kind {
                0 => (LinkSide::Left, Make { flags: Flags::SYN, options: &syn, ..initiator.clone() }.tcp()),
                1 => (LinkSide::Right, Make { flags: Flags::SYN | Flags::ACK, options: &syn, ..acceptor.clone() }.tcp()),
                2 => (LinkSide::Left, Make { payload: 40, ..initiator.clone() }.tcp()),
                3 => (LinkSide::Right, backwards(probe(90)).udp()),
                _ => (LinkSide::Left, bytes),
            };
            for (at, value) in changes {
                if let Some(byte) = packet.get_mut(at) {
                    *byte = value;
                }
            }
            bench.send(side, micros(at), packet);
        }
        let came = bench.run(NONE);
        let read: u64 = came.report.devices.iter().map(|device| device.read_packets).sum();
        prop_assert_eq!(read as usize, bench.sends.iter().map(Vec::len).sum::<usize>());
    }
}

/// A device of a pair of sockets, which needs no privilege.
impl Device for std::os::unix::net::UnixDatagram {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.recv(into) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self.send(packet) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// In real time: nothing is early, nothing is lost, and an idle thread sleeps. How late it is is not asked.
#[test]
fn the_thread_hands_packets_on_when_they_are_due_and_sleeps_when_none_is() {
    use std::os::unix::net::UnixDatagram;
    let pair = || {
        let (kernel, device) = UnixDatagram::pair().unwrap();
        device.set_nonblocking(true).unwrap();
        kernel.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        (kernel, device)
    };
    let ((left, one), (right, other)) = (pair(), pair());
    let config = Config { window: Duration::from_secs(60), ..line() };
    let clock = Clock::starting_in(Duration::ZERO);
    let ((commands, orders), (out, outputs)) = (commands().unwrap(), channel());
    let emulator = Emulator::new(config, Settings::default(), [one, other], clock, orders, out);
    let thread = std::thread::spawn(move || emulator.run().0.unwrap());
    let mut room = [0; 2_048];
    for n in 0..20 {
        let packet = probe(100 + n).udp();
        let sent = clock.now();
        left.send(&packet).unwrap();
        let length = right.recv(&mut room).expect("it comes within seconds");
        assert!(clock.now().since(sent) >= Duration::from_micros(2_100 + n as u64), "it takes 2 ms and 1 us a byte");
        assert_eq!(room[..length], packet);
    }
    // Connections come and go without a packet, and the thread is told while it waits for nothing else.
    commands.send(Command::Open(5, Box::new(connection([8_192; 2], 536).into()))).unwrap();
    commands.clone().send(Command::Stop { interrupted: true }).unwrap();
    let report = thread.join().unwrap();
    assert_eq!((report.unaccounted(), report.devices[0].read_packets, report.devices[1].written_packets), (0, 20, 20));
    assert!(report.wakes < 20 * 40, "{} for 20 packets", report.wakes);
    let outputs: Vec<_> = outputs.iter().collect();
    let records = outputs.iter().flat_map(|output| match output {
        Output::Records(records) => &records[..],
        Output::Closed(..) | Output::State(_) => &[],
    });
    assert_eq!(records.filter(|record| matches!(record, Kept::Packet(0, _))).count(), 20);
    assert!(outputs.iter().any(|output| matches!(output, Output::Closed(5, _))));
    assert_eq!(commands.send(Command::Close(5)), Err(HungUp));
}

#[test]
fn a_device_that_is_gone_ends_the_thread_with_all_that_it_has() {
    use std::os::unix::net::UnixDatagram;
    let ((left, one), (right, other)) = (UnixDatagram::pair().unwrap(), UnixDatagram::pair().unwrap());
    [&one, &other].iter().for_each(|device| device.set_nonblocking(true).unwrap());
    let ((commands, orders), (out, outputs)) = (commands().unwrap(), channel());
    let config = Config { window: Duration::from_secs(60), ..line() };
    let emulator = Emulator::new(config, Settings::default(), [one, other], Clock::starting_in(NONE), orders, out);
    commands.send(Command::Open(5, Box::new(connection([8_192; 2], 536).into()))).unwrap();
    drop(right);
    for _ in 0..3 {
        left.send(&probe(100).udp()).unwrap();
    }
    let report = emulator.run().0.unwrap();
    let why = report.failed.as_ref().unwrap();
    assert!(why.contains("the device of the right side fails") && why.contains("os error"), "{why}");
    assert_eq!(report.unaccounted(), 0, "{report:?}");
    assert_eq!(report.devices[0].read_packets, 3);
    let outputs: Vec<_> = outputs.iter().collect();
    assert!(outputs.iter().any(|output| matches!(output, Output::Closed(5, _))));
    assert!(outputs.iter().any(|output| matches!(output, Output::Records(records) if !records.is_empty())));
}

#[test]
fn a_run_that_is_gone_stops_the_thread() {
    let (one, _kernel) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let (other, _kernel) = std::os::unix::net::UnixDatagram::pair().unwrap();
    [&one, &other].iter().for_each(|device| device.set_nonblocking(true).unwrap());
    let ((commands, orders), (out, _outputs)) = (commands().unwrap(), channel());
    let clock = Clock::starting_in(Duration::ZERO);
    let emulator = Emulator::new(line(), Settings::default(), [one, other], clock, orders, out);
    let thread = std::thread::spawn(move || emulator.run().0);
    drop(commands);
    assert_eq!(thread.join().unwrap().unwrap().unaccounted(), 0);
}
