//! ECN at the receiver: what is agreed, and how marks are echoed (RFC 3168 section 6.1, RFC 8257 section 3.2).

use super::transcript::Transcript;
use crate::tcp::congestion::{Algorithm, DctcpParameters, WindowRules};
use crate::tcp::{Config, EcnEcho, Limits};

fn listen(ecn: EcnEcho) -> Transcript {
    Transcript::listen(Config { ecn, ..Config::default() }, Limits::default()).play(
        "0.000 < SEW 0:1 mss 1460 ws 7
         0.000 > SE. 0:1 ack 1 mss 1460 ws 0
         0.100 < .   1:1 ack 1",
    )
}

#[test]
fn it_takes_both_ends_to_agree() {
    let off = Config::default();
    Transcript::listen(off.clone(), Limits::default()).play(
        "0.000 < SEW 0:1 mss 1460 ws 7
         0.000 > S.  0:1 ack 1 mss 1460 ws 0",
    );
    let on = Config { ecn: EcnEcho::UntilAnswered, ..off };
    for (answer, next) in [("S. ", ""), ("SEW.", "")] {
        // A peer that reflects both flags does not understand them (RFC 3168 section 6.1.1).
        Transcript::connect(on.clone(), Limits::default()).play(&format!(
            "0.000 > SEW 0:1 mss 1460 ws 0
             0.100 < {answer} 0:1 ack 1 mss 1460 ws 7
             0.100 > .   1:1 ack 1
             0.200 ! write 10
             0.200 > P.  1:11 ack 1 {next}
             0.300 < .   1:101 ack 11 ce
             0.400 > .   11:11 ack 101"
        ));
    }
}

#[test]
fn a_mark_is_echoed_until_it_is_answered() {
    listen(EcnEcho::UntilAnswered).play(
        "0.200 < .   1:1461 ack 1 ect0
         0.200 < .   1461:2921 ack 1 ce
         0.200 > .E  1:1 ack 2921
         0.210 < .   2921:4381 ack 1 ect0
         0.210 < .   4381:5841 ack 1 ect0
         0.210 > .E  1:1 ack 5841
         0.220 < .W  5841:7301 ack 1 ect0
         0.220 < .   7301:8761 ack 1 ect0
         0.220 > .   1:1 ack 8761
         0.230 < .W  8761:10221 ack 1 ce
         0.330 > .E  1:1 ack 10221",
    );
}

/// RFC 8257 section 3.2: where marks begin or end, what came before is acknowledged as it was, and the segment that brought the
/// change at once; between changes every second segment is.
#[test]
fn each_acknowledgement_tells_of_one_kind_of_segment() {
    listen(EcnEcho::EachMark).play(
        "0.200 < .   1:1461 ack 1 ect0
         0.210 < .   1461:2921 ack 1 ce
         0.210 > .   1:1 ack 1461
         0.210 > .E  1:1 ack 2921
         0.220 < .   2921:4381 ack 1 ce
         0.230 < .   4381:5841 ack 1 ce
         0.230 > .E  1:1 ack 5841
         0.240 < .   5841:7301 ack 1 ect0
         0.240 > .   1:1 ack 7301
         0.250 < .   7301:8761 ack 1 ect0
         0.350 > .   1:1 ack 8761
         0.360 < .   8761:10221 ack 1 ce
         0.360 > .E  1:1 ack 10221
         0.370 < .   10221:11681 ack 1 ce
         0.380 < .   11681:13141 ack 1 ect0
         0.380 > .E  1:1 ack 11681
         0.380 > .   1:1 ack 13141",
    );
}

/// RFC 3168 sections 6.1.1, 6.1.4 and 6.1.5: SYNs, acknowledgements and retransmissions are not ECN-capable. In Linux they are if the
/// congestion control is DCTCP, on both sides (`tcp_ca_needs_ecn`), and only then.
#[test]
fn every_segment_of_dctcp_in_linux_is_capable() {
    let dctcp = Algorithm::Dctcp(DctcpParameters::default());
    for (window_rules, ecn, ect) in [
        (WindowRules::Linux, EcnEcho::EachMark, "ect0"),
        (WindowRules::Linux, EcnEcho::UntilAnswered, ""),
        (WindowRules::Rfc, EcnEcho::EachMark, ""),
    ] {
        let config = Config { congestion: dctcp.clone(), window_rules, ecn, ..Config::default() };
        Transcript::connect(config.clone(), Limits::default()).play(&format!(
            "0.000 > SEW 0:1 mss 1460 ws 0 {ect}
             0.100 < SE. 0:1 ack 1 mss 1460 ws 7
             0.100 > .   1:1 ack 1 {ect}
             0.200 ! write 1000
             0.200 > P.  1:1001 ack 1 ect0
             1.200 > P.  1:1001 ack 1 {ect}
             1.300 < .   1:1461 ack 1001 ect0
             1.310 < .   1461:2921 ack 1001 ect0
             1.310 > .   1001:1001 ack 2921 {ect}
             1.320 ! close
             1.320 > F.  1001:1002 ack 2921 {ect}"
        ));
        Transcript::listen(config, Limits::default()).play(&format!(
            "0.000 < SEW 0:1 mss 1460 ws 7
             0.000 > SE. 0:1 ack 1 mss 1460 ws 0 {ect}
             0.100 < .   1:1 ack 1"
        ));
    }
    // A peer without ECN ends it for all that follows the SYN.
    let config =
        Config { congestion: dctcp, window_rules: WindowRules::Linux, ecn: EcnEcho::EachMark, ..Config::default() };
    Transcript::connect(config, Limits::default()).play(
        "0.000 > SEW 0:1 mss 1460 ws 0 ect0
         0.100 < S.  0:1 ack 1 mss 1460 ws 7
         0.100 > .   1:1 ack 1
         0.200 ! write 1000
         0.200 > P.  1:1001 ack 1",
    );
}
