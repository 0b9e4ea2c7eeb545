//! Vectors in the forms of other tools.

use flowloom::core::workload::{ConnectionVector, Evidence, Host, LinkSide, Pattern, Protocol};
use flowloom::store::formats::tmix::{Assumptions, Spelling, TmixWriter};
use flowloom::store::formats::{Rows, csv_table, json_lines};
use flowloom::store::workload::WorkloadFacts;
use flowloom::time::Duration;

use super::stored::vectors;
/// Tmix in both spellings: by hand with every kind of line, and as written of the made capture.
pub fn tmix() -> Vec<Vec<u8>> {
    let original = "# tcvec format version 2\nSEQ 1000 3 1 7\nm 1460 536\nw 65535 5840\nr 20000\nl 0 0.01\n> 300\nt 12\n\
        < 5000\nt 500000\n> 1\nt 0\n< 2\nt 9\nSEQ 2000 2 1 8\nw 1 2\nr 3\nl 0 0\n< 9\nt 1\n> 10\nt 600000\n> 11\n\
        CONC 5000 2 1 1 9\nw 8192 8192\nr 100\nl 0.5 0\nc> 222\nt> 62436302\nc< 726\nt< 5\nc> 16\nt> 725\n";
    let alternate = "S 1000 2 1 7\nm 1460 536\nw 65535 5840\nr 20000\nl 0 0.01\nI 0 0 300\nA 0 12 5000\nI 0 500000 7\n\
        I 600000 0 8\nI 1 0 0\nC 5000 2 1 1 9\nw 8192 8192\nr 100\nl 0.5 0\nI 0 0 222\nA 0 0 726\nI 62436302 0 16\n\
        I 725 0 0\nA 5 0 0\n";
    // A comment that begins like the head of conn.log.
    let comment = ["#set_separator\tfor nothing\n", original].concat();
    let mut all = vec![original.as_bytes().to_vec(), alternate.as_bytes().to_vec(), comment.into_bytes()];
    for spelling in [Spelling::Original, Spelling::Alternate] {
        let assumptions = Assumptions { rtt: Duration::from_millis(1) };
        let mut writer = TmixWriter::new(Vec::new(), spelling, assumptions).expect("memory");
        vectors().iter().for_each(|vector| writer.write(vector).expect("memory"));
        all.push(writer.finish().expect("memory").0);
    }
    all
}

/// conn.log in TSV, as several pasted together and with other separators.
pub fn zeek_tsv() -> Vec<Vec<u8>> {
    let usual = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
        #fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\t\
        conn_state\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\n\
        #types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tcount\tstring\tcount\t\
        count\tcount\tcount\n\
        1500000002.500000\tC1\t10.0.0.2\t40000\t192.0.2.9\t80\ttcp\thttp\t0.5\t120\t4000\tSF\t0\tShADadFf\t6\t440\t5\t4268\n\
        1500000001.000000\tC2\t2001:db8::1\t40001\t2001:db8::9\t53\tudp\tdns\t0.01\t40\t90\tSF\t0\tDd\t1\t88\t1\t138\n\
        1500000003.000000\tC3\t10.0.0.2\t8\t192.0.2.9\t0\ticmp\t-\t-\t-\t-\tOTH\t0\t-\t1\t84\t0\t0\n#close\t2014-04-03-10-08-28\n";
    let other = "#separator ,\n#set_separator,;\n#path,conn\n#fields,ts,proto,orig_bytes,resp_bytes\n2.5,tcp,1,2\n";
    vec![usual.as_bytes().to_vec(), other.as_bytes().to_vec(), [usual, other].concat().into_bytes()]
}

/// conn.log in JSON, with each way to write a time.
pub fn zeek_json() -> Vec<Vec<u8>> {
    let row = |ts: &str| {
        format!(
            "{{\"_path\":\"conn\",\"ts\":{ts},\"uid\":\"C\",\"id.orig_h\":\"10.0.0.2\",\"id.orig_p\":40000,\
             \"id.resp_h\":\"192.0.2.9\",\"id.resp_p\":443,\"proto\":\"tcp\",\"duration\":0.5,\"orig_bytes\":120,\
             \"resp_bytes\":4000,\"conn_state\":\"RSTO\",\"missed_bytes\":1,\"history\":\"ShADadR\",\"orig_pkts\":6,\
             \"orig_ip_bytes\":440,\"resp_pkts\":5,\"resp_ip_bytes\":4268}}\n"
        )
    };
    ["1575413096.05", "1575413096052", "\"2019-12-03T22:44:56.052279Z\""]
        .map(|ts| row(ts).repeat(2).into_bytes())
        .into()
}

/// Vectors that have something in every column.
fn full() -> Vec<ConnectionVector> {
    let mut all = vectors();
    let evidences = [Evidence::Packets, Evidence::VectorFile, Evidence::FlowRecord, Evidence::Model];
    for (vector, evidence) in all.iter_mut().zip(evidences.into_iter().cycle()) {
        vector.evidence = evidence;
        vector.initiator_side = LinkSide::Right;
        vector.ends.initiator.host = Some(Host::Number(3));
        vector.ends.acceptor.host = Some(Host::Address([192, 0, 2, 1].into()));
        vector.ends.acceptor.stated_loss_ppm = Some(10_000);
    }
    if let Some(last) = all.last_mut() {
        (last.protocol, last.pattern) = (Protocol::Quic, Pattern::Concurrent);
    }
    all
}

/// CSV, with rows and without.
pub fn csv() -> Vec<Vec<u8>> {
    let file = |vectors: &[ConnectionVector]| {
        let mut writer = csv_table::CsvWriter::new(Vec::new(), Rows::Connections).expect("memory");
        vectors.iter().for_each(|vector| writer.write(vector).expect("memory"));
        writer.finish().expect("memory").0
    };
    vec![file(&full()), file(&[])]
}

/// JSON lines, with rows and without.
pub fn json_lines() -> Vec<Vec<u8>> {
    let file = |vectors: &[ConnectionVector]| {
        let facts = WorkloadFacts { connections: vectors.len() as u64, ..WorkloadFacts::default() };
        let mut writer = json_lines::JsonLinesWriter::new(Vec::new(), &facts).expect("memory");
        vectors.iter().for_each(|vector| writer.write(vector).expect("memory"));
        writer.finish().expect("memory").0
    };
    vec![file(&full()), file(&[])]
}
