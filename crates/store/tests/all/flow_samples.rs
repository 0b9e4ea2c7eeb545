//! The payloads of 92 export datagrams of real exporters, decoded, and counted against tshark.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flowloom_needs::{Need, shared, skip};
use flowloom_store::capture::Input;
use flowloom_store::flows::{FlowError, FlowFacts, FlowRecord, Options, Reader};

/// What a file adds to what was read before it in its stream.
struct Expected {
    file: &'static str,
    /// Flow records, options records, other data records.
    records: [u64; 3],
    templates: u64,
    /// Data sets without a template.
    missing: u64,
    /// Octets and packets of the flow records, as the first direction counts them.
    counts: [u64; 2],
}

const fn sample(file: &'static str, records: [u64; 3], templates: u64, missing: u64, counts: [u64; 2]) -> Expected {
    Expected { file, records, templates, missing, counts }
}

/// The streams: files of one exporter, templates first. Records, octets and packets are those that tshark 4.0's dissector
/// of cflow counts, [`TSHARK_DIFFERS`] aside; with tshark at hand, they are counted anew.
#[rustfmt::skip]
const STREAMS: &[&[Expected]] = &[
    &[
        sample("ipfix.dat", [12, 1, 0], 3, 0, [13_279, 54]),
    ],
    &[
        sample("ipfix_test_barracuda_tpl.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("ipfix_test_barracuda_data256.dat", [8, 0, 0], 0, 0, [388, 4]),
    ],
    &[
        sample("ipfix_test_barracuda_extended_uniflow_tpl256.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("ipfix_test_barracuda_extended_uniflow_data256.dat", [2, 0, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("ipfix_test_ixia_tpldata256.dat", [1, 0, 0], 3, 0, [360, 4]),
    ],
    &[
        sample("ipfix_test_ixia_tpldata271.dat", [2, 0, 0], 3, 0, [132, 2]),
    ],
    &[
        sample("ipfix_test_juniper_mx240_junos151r6s3_opttpl512.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("ipfix_test_juniper_mx240_junos151r6s3_data512.dat", [0, 1, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("ipfix_test_mikrotik_tpl.dat", [0, 0, 0], 2, 0, [0, 0]),
        sample("ipfix_test_mikrotik_data258.dat", [28, 0, 0], 0, 0, [95_010, 208]),
        sample("ipfix_test_mikrotik_data259.dat", [18, 0, 0], 0, 0, [8_225, 45]),
    ],
    &[
        sample("ipfix_test_netscaler_tpl.dat", [0, 0, 0], 7, 0, [0, 0]),
        sample("ipfix_test_netscaler_data.dat", [3, 0, 0], 0, 1, [3_106, 5]),
    ],
    &[
        sample("ipfix_test_nokia_bras_tpl.dat", [0, 0, 0], 2, 0, [0, 0]),
        sample("ipfix_test_nokia_bras_data256.dat", [1, 0, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("ipfix_test_openbsd_pflow_tpl.dat", [0, 0, 0], 2, 0, [0, 0]),
        sample("ipfix_test_openbsd_pflow_data.dat", [26, 0, 0], 0, 0, [99_323, 209]),
    ],
    &[
        sample("ipfix_test_procera_tpl52935.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("ipfix_test_procera_data52935.dat", [8, 0, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("ipfix_test_viptela_tpl257.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("ipfix_test_viptela_data257.dat", [1, 0, 0], 0, 0, [775, 8]),
    ],
    &[
        sample("ipfix_test_vmware_vds_tpl.dat", [0, 0, 0], 13, 0, [0, 0]),
        sample("ipfix_test_vmware_vds_data264.dat", [1, 0, 0], 0, 0, [100, 2]),
        sample("ipfix_test_vmware_vds_data266.dat", [2, 0, 0], 0, 0, [458, 2]),
        sample("ipfix_test_vmware_vds_data266_267.dat", [2, 0, 0], 0, 0, [248, 4]),
    ],
    &[
        sample("ipfix_test_yaf_tpl45841.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("ipfix_test_yaf_tpls_option_tpl.dat", [0, 0, 0], 14, 0, [0, 0]),
        sample("ipfix_test_yaf_data45841.dat", [1, 0, 0], 0, 0, [132, 2]),
        sample("ipfix_test_yaf_data45873.dat", [1, 0, 0], 0, 0, [172, 4]),
        sample("ipfix_test_yaf_data53248.dat", [0, 1, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("netflow5.dat", [30, 0, 0], 0, 0, [18_684, 230]),
    ],
    &[
        sample("netflow5_test_juniper_mx80.dat", [29, 0, 0], 0, 0, [3_989, 31]),
    ],
    &[
        sample("netflow5_test_microtik.dat", [30, 0, 0], 0, 0, [40_812, 160]),
    ],
    &[
        sample("netflow9_cisco_asr1001x_tpl259.dat", [25, 0, 0], 1, 0, [38_255, 124]),
    ],
    &[
        sample("netflow9_test_0length_fields_tpl_data.dat", [10, 0, 0], 2, 0, [64, 2]),
    ],
    &[
        sample("netflow9_test_cisco_1941K9.dat", [29, 0, 0], 1, 0, [70_258, 370]),
    ],
    &[
        sample("netflow9_test_cisco_aci_tpl256-258.dat", [0, 0, 0], 3, 0, [0, 0]),
        sample("netflow9_test_cisco_aci_data256.dat", [3, 0, 0], 0, 0, [297, 6]),
    ],
    &[
        sample("netflow9_test_cisco_asa_1_tpl.dat", [0, 0, 0], 13, 0, [0, 0]),
        sample("netflow9_test_cisco_asa_1_data.dat", [14, 0, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("netflow9_test_cisco_asa_2_tpl_26x.dat", [0, 0, 0], 16, 0, [0, 0]),
        sample("netflow9_test_cisco_asa_2_tpl_27x.dat", [0, 0, 0], 14, 0, [0, 0]),
        sample("netflow9_test_cisco_asa_2_data.dat", [19, 0, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("netflow9_test_cisco_asr9k_opttpl256.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_asr9k_opttpl257.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_asr9k_opttpl334.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_asr9k_tpl260.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_asr9k_tpl266.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_asr9k_data256.dat", [0, 19, 0], 0, 0, [0, 0]),
        sample("netflow9_test_cisco_asr9k_data260.dat", [21, 0, 0], 0, 0, [208_031, 531]),
    ],
    &[
        sample("netflow9_test_cisco_nbar_opttpl260.dat", [0, 15, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_nbar_tpl262.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_cisco_nbar_data262.dat", [5, 0, 0], 0, 0, [3_064, 40]),
    ],
    &[
        sample("netflow9_test_cisco_wlc_tpl.dat", [0, 0, 0], 2, 0, [0, 0]),
        sample("netflow9_test_cisco_wlc_data261.dat", [0, 0, 19], 0, 0, [0, 0]),
    ],
    &[
        sample("netflow9_test_cisco_wlc_8510_tpl_262.dat", [0, 0, 0], 4, 0, [0, 0]),
    ],
    &[
        sample("netflow9_test_field_layer2segmentid_tpl.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_field_layer2segmentid_data.dat", [1, 0, 0], 0, 0, [52, 1]),
    ],
    &[
        sample("netflow9_test_fortigate_fortios_521_tpl.dat", [0, 0, 0], 5, 0, [0, 0]),
        sample("netflow9_test_fortigate_fortios_521_data256.dat", [0, 1, 0], 0, 0, [0, 0]),
        sample("netflow9_test_fortigate_fortios_521_data257.dat", [1, 0, 0], 0, 0, [152, 3]),
    ],
    &[
        sample("netflow9_test_fortigate_fortios_542_appid_tpl258-269.dat", [0, 0, 0], 14, 0, [0, 0]),
        sample("netflow9_test_fortigate_fortios_542_appid_data258_262.dat", [17, 0, 0], 0, 0, [29_492, 105]),
    ],
    &[
        sample("netflow9_test_h3c_tpl3281.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_h3c_data3281.dat", [16, 0, 0], 0, 0, [8_729_687, 6_113]),
    ],
    &[
        sample("netflow9_test_h3c_netstream_varstring_tpl3281.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_h3c_netstream_varstring_data3281.dat", [1, 0, 0], 0, 0, [702, 9]),
    ],
    &[
        sample("netflow9_test_huawei_netstream_tpl.dat", [0, 0, 0], 1, 0, [0, 0]),
        sample("netflow9_test_huawei_netstream_data.dat", [1, 0, 0], 0, 0, [200, 4]),
    ],
    &[
        sample("netflow9_test_invalid01.dat", [2, 1, 0], 3, 0, [194, 2]),
    ],
    &[
        sample("netflow9_test_iptnetflow_reduced_size_encoding_tpldata260.dat", [12, 0, 0], 1, 6, [7_598, 74]),
    ],
    &[
        sample("netflow9_test_juniper_srx_tplopt.dat", [0, 1, 0], 2, 0, [0, 0]),
    ],
    &[
        sample("netflow9_test_macaddr_tpl.dat", [0, 1, 0], 3, 0, [0, 0]),
        sample("netflow9_test_macaddr_data.dat", [29, 0, 0], 0, 0, [0, 0]),
    ],
    &[
        sample("netflow9_test_nprobe_tpl.dat", [0, 1, 0], 3, 0, [0, 0]),
        sample("netflow9_test_nprobe_data.dat", [1, 0, 0], 0, 0, [200, 2]),
    ],
    &[
        sample("netflow9_test_nprobe_dpi.dat", [1, 0, 0], 1, 0, [82, 1]),
    ],
    &[
        sample("netflow9_test_paloalto_81_tpl256-263.dat", [0, 0, 0], 8, 0, [0, 0]),
        sample("netflow9_test_paloalto_81_data257_1flowset_in_large_zerofilled_packet.dat", [1, 0, 0], 0, 0, [363, 3]),
    ],
    &[
        sample("netflow9_test_paloalto_panos_tpl.dat", [0, 0, 0], 8, 0, [0, 0]),
        sample("netflow9_test_paloalto_panos_data.dat", [8, 0, 0], 0, 0, [617, 8]),
    ],
    &[
        sample("netflow9_test_softflowd_tpl_data.dat", [7, 0, 0], 2, 0, [1_128, 13]),
    ],
    &[
        sample("netflow9_test_streamcore_tpl_data256.dat", [2, 0, 0], 6, 0, [300, 7]),
    ],
    &[
        sample("netflow9_test_streamcore_tpl_data260.dat", [2, 0, 0], 6, 0, [6_995, 21]),
    ],
    &[
        sample("netflow9_test_ubnt_edgerouter_tpl.dat", [0, 0, 0], 4, 0, [0, 0]),
        sample("netflow9_test_ubnt_edgerouter_data1024.dat", [8, 0, 0], 0, 0, [15_783, 82]),
        sample("netflow9_test_ubnt_edgerouter_data1025.dat", [8, 0, 0], 0, 0, [4_635, 32]),
    ],
    &[
        sample("netflow9_test_unknown_tpl266_292_data.dat", [2, 0, 0], 4, 0, [310, 2]),
    ],
    &[
        sample("netflow9_test_valid01.dat", [7, 0, 0], 2, 0, [1_128, 13]),
    ],
];

/// Files whose first message cannot be believed, and what is said.
const REFUSED: [(&str, &str); 2] = [
    (
        "netflow5_test_invalid01.dat",
        "message 1 at byte 2: a NetFlow v5 header claims 55582 records; no datagram holds more than 1364",
    ),
    (
        "netflow5_test_invalid02.dat",
        "message 1 at byte 0: the file ends 6384 bytes before the end of a NetFlow v5 message of at least 7848",
    ),
];

/// What tshark counts of a file: records of all kinds, octets and packets.
type Counted = [u64; 3];

/// Where tshark counts something else, and who is right.
#[rustfmt::skip]
const TSHARK_DIFFERS: [(&str, Counted, &str); 7] = [
    ("ipfix_test_yaf_data45841.dat", [1, 0, 0], "it has totals (85, 86), to which tshark gives another name"),
    ("ipfix_test_yaf_data45873.dat", [1, 0, 0], "the same"),
    ("netflow5_test_invalid01.dat", [30, 3_685_383_960, 529_620], "its header claims 55,582 records: we refuse it, tshark shows those that fit"),
    ("netflow5_test_invalid02.dat", [30, 7_452_936_707, 8_336_652_083], "its header claims 163 records: we refuse it, tshark shows those that fit"),
    ("netflow9_test_cisco_wlc_data261.dat", [19, 142_991_108, 133_708], "counters of wireless clients, without addresses: no flows"),
    (
        "netflow9_test_h3c_data3281.dat", [1, 1_027_087, 697],
        "its template has an IPv4 address of 2 bytes, at which tshark gives up; we skip the field. The header says 16, as we do",
    ),
    (
        "netflow9_test_invalid01.dat", [0, 0, 0],
        "its header counts 2, its sets hold three templates and three records; tshark stops after two sets, we read all",
    ),
];

fn folder() -> Option<PathBuf> {
    shared("store: NetFlow samples", "flows/netflow")
}

/// The records of `files`, read as one stream.
fn read(folder: &Path, files: &[&str]) -> Result<(Vec<FlowRecord>, FlowFacts), FlowError> {
    let inputs: Vec<Input> = files.iter().map(|file| Input::File(folder.join(file))).collect();
    let mut reader = Reader::open(&inputs, Options::default())?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record()? {
        records.push(record);
    }
    Ok((records, reader.facts().clone()))
}

#[test]
fn every_sample_has_the_records_it_should() {
    let Some(folder) = folder() else { return };
    let mut read_files = 0;
    for stream in STREAMS {
        let files: Vec<&str> = stream.iter().map(|expected| expected.file).collect();
        let mut before = FlowFacts::default();
        let mut seen = 0;
        for (index, expected) in stream.iter().enumerate() {
            let (records, facts) = read(&folder, &files[..=index]).unwrap_or_else(|error| panic!("{error}"));
            let found = [
                facts.records.total() - before.records.total(),
                facts.options_records - before.options_records,
                facts.other_records - before.other_records,
            ];
            assert_eq!(found, expected.records, "{}: flow, options and other records", expected.file);
            assert_eq!(facts.templates - before.templates, expected.templates, "{}: templates", expected.file);
            let missing = facts.sets_without_template - before.sets_without_template;
            assert_eq!(missing, expected.missing, "{}: sets without template", expected.file);
            let count = |of: fn(&FlowRecord) -> Option<u64>| records[seen..].iter().filter_map(of).sum::<u64>();
            let counts = [count(|record| record.forward.octets), count(|record| record.forward.packets)];
            assert_eq!(counts, expected.counts, "{}: octets and packets", expected.file);
            assert_eq!(facts.problems, [], "{}", expected.file);
            seen = records.len();
            before = facts;
            read_files += 1;
        }
    }
    for (file, said) in REFUSED {
        let error = read(&folder, &[file]).expect_err("it is not believed").to_string();
        assert!(error.ends_with(said), "{error}");
        read_files += 1;
    }
    let there = fs::read_dir(&folder).expect("the folder can be read").count();
    assert_eq!(read_files, there, "a sample is not in the table");
}

/// A file's messages, as the datagrams they were: tshark expects one message in each.
fn messages(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let number = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let length = match rest[1] {
            5 => 24 + 48 * number,
            10 => number,
            _ => rest.len(),
        };
        let (message, behind) = rest.split_at(length.min(rest.len()));
        messages.push(message);
        rest = behind;
    }
    messages
}

/// `payload` in a UDP datagram from `port` to port 2055 in an IPv4 packet.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = |headers: usize| ((headers + payload.len()) as u16).to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend(length(28));
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(port.to_be_bytes());
    packet.extend(2_055u16.to_be_bytes());
    packet.extend(length(8));
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// What tshark counts in each packet of a capture of datagrams to port 2055.
fn tshark(capture: &Path) -> Option<Vec<Counted>> {
    let run = Command::new("tshark").arg("-r").arg(capture).args(["-d", "udp.port==2055,cflow", "-V"]).output();
    let text = match run {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => panic!("tshark failed: {}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => {
            skip("store: NetFlow samples", Need::TSHARK);
            return None;
        }
    };
    let mut counts: Vec<Counted> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Frame ") {
            counts.push([0; 3]);
        }
        let Some([records, octets, packets]) = counts.last_mut() else { continue };
        let value = |name: &str| line.trim().strip_prefix(name).and_then(|value| value.parse::<u64>().ok());
        *octets += value("Octets: ").unwrap_or_default();
        *packets += value("Packets: ").unwrap_or_default();
        let mut words = line.split_whitespace();
        let numbered = matches!(words.next(), Some("Flow" | "pdu"))
            && words.next().is_some_and(|word| word.split('/').all(|number| number.parse::<u64>().is_ok()));
        *records += u64::from(numbered && line.starts_with("    "));
    }
    Some(counts)
}

/// A pcap file of packets that begin with their IP header.
fn write_capture<'a>(path: &Path, packets: impl Iterator<Item = &'a [u8]>) {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 262_144, 101] {
        file.extend(word.to_le_bytes());
    }
    for (second, packet) in (0u32..).zip(packets) {
        let length = packet.len() as u32;
        for word in [second, 0, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    fs::write(path, file).expect("the capture can be written");
}

#[test]
fn tshark_counts_the_same_records_octets_and_packets() {
    let Some(folder) = folder() else { return };
    let scratch = tempfile::tempdir().expect("a temporary folder can be made");
    let capture = scratch.path().join("export.pcap");
    let refused = REFUSED.map(|(file, _)| sample(file, [0; 3], 0, 0, [0; 2]));
    let streams = STREAMS.iter().copied().chain(refused.chunks(1));
    let mut packets = Vec::new();
    let mut expected = Vec::new();
    // A stream has a port of its own: to tshark it is an exporter of its own.
    for (port, stream) in (40_000..).zip(streams) {
        for sample in stream {
            let bytes = fs::read(folder.join(sample.file)).expect("the sample can be read");
            packets.extend(messages(&bytes).into_iter().map(|message| (expected.len(), datagram(port, message))));
            let [octets, packets] = sample.counts;
            expected.push((sample.file, [sample.records.iter().sum(), octets, packets]));
        }
    }
    write_capture(&capture, packets.iter().map(|(_, packet)| &packet[..]));
    let Some(counts) = tshark(&capture) else { return };
    assert_eq!(counts.len(), packets.len(), "tshark shows every packet");
    let mut theirs: Vec<Counted> = vec![[0; 3]; expected.len()];
    for ((file, _), counted) in packets.iter().zip(counts) {
        theirs[*file].iter_mut().zip(counted).for_each(|(all, more)| *all += more);
    }
    let different = expected.iter().zip(theirs).filter(|((_, ours), theirs)| ours != theirs);
    let mut different: Vec<_> = different.map(|((file, _), theirs)| (*file, theirs)).collect();
    different.sort_unstable();
    assert_eq!(different, TSHARK_DIFFERS.map(|(file, theirs, _)| (file, theirs)), "named differences");
}
