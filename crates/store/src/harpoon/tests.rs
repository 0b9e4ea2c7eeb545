use std::fs;
use std::path::Path;

use flowloom_models::generate::InitiatorSide;
use flowloom_models::generate::harpoon::{Block, Personality, Plugin};
use proptest::prelude::*;

use super::*;

/// All that is documented, of which much in odd ways.
const WHOLE: &str = r#"<?xml version="1.0"?>
<!-- a comment -->
<harpoon_plugins>
  <plugin name="C" objfile="tcp_plugin.@SHLIB_EXT@" maxthreads="7" personality ="client">
    <active_sessions> 1 2
      3 </active_sessions>>
    <interconnection_times type="numeric">0.5 <!-- and --> 1e1</interconnection_times>
    <tcp_mss> 536 </tcp_mss>
    <ip_tos> 4 </ip_tos>
    <virtual_users type="user_defined"> 10 </virtual_users>
    <client_side type="property"> right </client_side>
    <wondrous a="1"><inner/></wondrous>
    <address_pool name="client_src_pool"><address ipv4="10.0.0.0/24" port="0"/></address_pool>
    <address_pool name="client_dst_pool">
      <address port="80" ipv4="10.0.1.1"></address>
      <address ipv4="10.0.1.1/32" port="80" />
    </address_pool>
    <address_pool name="moon"><address ipv4="10.0.0.1" port="0"/></address_pool>
    hello
  </plugin>
  <plugin objfile="x.so" maxthreads="1" name="S" colour="red"><file_sizes> 10 20 </file_sizes>
    <address_pool name="server_pool"><address ipv4="0.0.0.0" port="80"/></address_pool></plugin>
</harpoon_plugins>
"#;

fn block(text: &str, port: u16) -> Block {
    Block { port, ..text.parse().unwrap() }
}

#[test]
fn all_that_is_documented_is_read_and_the_rest_is_said() {
    let config = read(WHOLE.as_bytes()).unwrap();
    let [client, server] = &config.plugins[..] else { panic!("{config:?}") };
    let wanted = Plugin {
        name: "C".into(),
        object: "tcp_plugin.@SHLIB_EXT@".into(),
        threads: 7,
        personality: Personality::Client,
        place: "config:4".into(),
        interconnection_times: vec![0.5, 10.0],
        active_sessions: vec![1, 2, 3],
        sources: vec![block("10.0.0.0/24", 0)],
        destinations: vec![block("10.0.1.1/32", 80); 2],
        settings: [("tcp_mss".to_owned(), vec![536.0]), ("virtual_users".to_owned(), vec![10.0])].into(),
        client_side: Some(InitiatorSide::Right),
        ..Plugin::default()
    };
    assert_eq!(*client, wanted);
    assert_eq!((&server.file_sizes[..], server.personality), (&[10.0, 20.0][..], Personality::Unknown));
    assert_eq!(server.servers, [block("0.0.0.0/32", 80)]);
    assert_eq!(
        config.remarks,
        [
            "config:9: element ip_tos of plugin C has no use here and is left out",
            "config:12: element wondrous of plugin C is not known and is left out",
            "config:18: address_pool \"moon\" is not known and is left out",
            "config:18: the text \"hello\" is in no element and is left out",
            "config:21: attribute colour of a plugin is not known and is left out",
        ]
    );
}

#[test]
fn what_is_written_is_read_again() {
    let mut config = read(WHOLE.as_bytes()).unwrap();
    config.plugins[1].file_sizes = (0..1_000).map(f64::from).collect();
    config.plugins[0].name = "a <&\"name'".to_owned();
    let write_out = |plugins: &[Plugin]| {
        let mut out = Vec::new();
        write(plugins, &mut out).unwrap();
        out
    };
    let once = write_out(&config.plugins);
    let again = read(&once).unwrap();
    assert!(again.remarks.is_empty(), "{:?}", again.remarks);
    let without_places = |plugins: Vec<Plugin>| {
        plugins.into_iter().map(|plugin| Plugin { place: String::new(), ..plugin }).collect::<Vec<_>>()
    };
    assert_eq!(write_out(&again.plugins), once);
    assert_eq!(without_places(again.plugins), without_places(config.plugins));
    // Harpoon takes a number only when a blank follows.
    let text = String::from_utf8(once).unwrap();
    for end in ["</file_sizes>", "</active_sessions>", "</interconnection_times>", "</tcp_mss>", "</client_side>"] {
        assert!(text.contains(&format!(" {end}")) || text.contains(&format!("\n{end}")), "{end}: {text}");
    }
}

#[test]
fn every_fault_has_its_line() {
    let inside = |text: &str| {
        format!(
            "<harpoon_plugins>\n<plugin name='C' objfile='x' maxthreads='1'>\n{text}\n</plugin>\n</harpoon_plugins>"
        )
    };
    let plugin = |attributes: &str| format!("<harpoon_plugins>\n<plugin {attributes}/></harpoon_plugins>");
    for (text, wanted) in [
        (String::new(), "config:1: no plugin in it"),
        ("<harpoon_plugins/>\n".into(), "config:2: no plugin in it"),
        ("\n<html></html>".into(), "config:2: <html> begins no configuration of Harpoon; expected <harpoon_plugins>"),
        ("<harpoon_plugins>\n<plugin".into(), "config:2: "),
        ("<harpoon_plugins>\n".into(), "config:2: the file ends within harpoon_plugins"),
        ("<harpoon_plugins>\n</plugin>".into(), "config:2: "),
        (plugin("objfile='x' maxthreads='1'"), "config:2: a plugin without name"),
        (plugin("name='C' maxthreads='1'"), "config:2: a plugin without objfile"),
        (plugin("name='C' objfile='x'"), "config:2: a plugin without maxthreads"),
        (plugin("name='C' objfile='x' maxthreads='-1'"), "config:2: maxthreads \"-1\"; expected a whole number"),
        (plugin("name='C' objfile='x' maxthreads='1' personality='both'"), "config:2: personality \"both\""),
        (plugin("name='C' name='D' objfile='x' maxthreads='1'"), "config:2: "),
        (plugin("name='&what;' objfile='x' maxthreads='1'"), "config:2: "),
        (inside("<file_sizes> 1\n-2 </file_sizes>"), "config:4: \"-2\" in file_sizes; expected whole numbers of bytes"),
        (inside("<file_sizes> 1.5 </file_sizes>"), "config:3: \"1.5\" in file_sizes"),
        (inside("<file_sizes> 1e13 </file_sizes>"), "config:3: \"1e13\" in file_sizes"),
        (inside("<file_sizes> 1 &lt; </file_sizes>"), "config:3: file_sizes has more than text in it"),
        (inside("<file_sizes> 1 <b/> </file_sizes>"), "config:3: file_sizes has more than text in it"),
        (inside("<file_sizes> 1"), "config:4: "),
        (inside("<interconnection_times> NaN </interconnection_times>"), "config:3: \"NaN\" in interconnection_times"),
        (inside("<interconnection_times> inf </interconnection_times>"), "config:3: \"inf\" in interconnection_times"),
        (inside("<active_sessions> 1\n\n0.5 </active_sessions>"), "config:5: \"0.5\" in active_sessions"),
        (inside("<bitrate> fast </bitrate>"), "config:3: \"fast\" in bitrate"),
        (inside("<client_side> up </client_side>"), "config:3: client_side is neither; expected left or right"),
        (
            inside("<address_pool name='server_pool'>\n<address ipv4='::1'/></address_pool>"),
            "config:4: ipv4: \"::1\" is no",
        ),
        (
            inside("<address_pool name='server_pool'><address ipv4='10.0.0.1' port='99999'/></address_pool>"),
            "config:3: port \"99999\"; expected a whole number up to 65535",
        ),
        (
            inside("<address_pool name='server_pool'><host/></address_pool>"),
            "config:3: element host in an address_pool",
        ),
        (inside("<config_file> x.xml </config_file>"), "config:3: config_file in a text that is no file"),
    ] {
        let message = read(text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with(wanted), "{message}, not {wanted}, of {text}");
    }
    let message = read(b"<harpoon_plugins>\n\xff").unwrap_err().to_string();
    assert!(message.starts_with("config:2: this is not UTF-8"), "{message}");
}

#[test]
fn remarks_are_bounded() {
    let unknown = "<a></a>".repeat(1_000);
    let text =
        format!("<harpoon_plugins><plugin name='C' objfile='x' maxthreads='1'>{unknown}</plugin></harpoon_plugins>");
    let remarks = read(text.as_bytes()).unwrap().remarks;
    assert_eq!((remarks.len(), remarks[32].as_str()), (33, "968 more elements are left out"));
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn files_are_taken_in() {
    let client = "<plugin name='C' objfile='x' maxthreads='1'><config_file> lists/gaps.xml </config_file></plugin>";
    let folder = folder(&[
        (
            "all.xml",
            "<harpoon_plugins>\n<config_file>client.xml</config_file><config_file>server.xml</config_file></harpoon_plugins>",
        ),
        ("client.xml", client),
        ("server.xml", "<harpoon_plugins><plugin name='S' objfile='x' maxthreads='1'/></harpoon_plugins>"),
        ("lists/gaps.xml", "<interconnection_times> 1 2 </interconnection_times><config_file>more.xml</config_file>"),
        ("lists/more.xml", "<interconnection_times> 3 </interconnection_times>"),
    ]);
    let config = open(&folder.path().join("all.xml")).unwrap();
    let names: Vec<_> = config.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["C", "S"]);
    assert_eq!(config.plugins[0].interconnection_times, [1.0, 2.0, 3.0]);
    assert!(config.plugins[0].place.ends_with("client.xml:1"), "{}", config.plugins[0].place);
}

#[test]
fn files_that_cannot_be_taken_in_are_named() {
    let take = |name: &str| format!("<harpoon_plugins>\n\n<config_file>{name}</config_file></harpoon_plugins>");
    let many: String = (0..65).map(|_| "<config_file>empty.xml</config_file>").collect();
    let folder = folder(&[
        ("self.xml", &take("self.xml")),
        ("one.xml", &take("./other.xml")),
        ("other.xml", &take("one.xml")),
        ("up.xml", &take("../up.xml")),
        ("root.xml", &take("/etc/passwd")),
        ("nothing.xml", &take(" ")),
        ("missing.xml", &take("gone.xml")),
        ("folder.xml", &take(".")),
        ("empty.xml", ""),
        ("many.xml", &format!("<harpoon_plugins>{many}</harpoon_plugins>")),
    ]);
    let problem = |name: &str| {
        let message = open(&folder.path().join(name)).unwrap_err().to_string();
        message.replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(problem("self.xml"), "self.xml:3: config_file \"self.xml\" takes in itself");
    assert!(problem("one.xml").contains("takes in itself"), "{}", problem("one.xml"));
    for name in ["up.xml", "root.xml", "nothing.xml"] {
        assert!(problem(name).contains("expected a file beside this one or in a folder below"), "{}", problem(name));
    }
    assert!(
        problem("missing.xml").starts_with("missing.xml:3: config_file gone.xml: No such file"),
        "{}",
        problem("missing.xml")
    );
    assert!(problem("folder.xml").starts_with("folder.xml:3: config_file "), "{}", problem("folder.xml"));
    assert!(problem("many.xml").ends_with("more than 64 files in a configuration"), "{}", problem("many.xml"));
    assert!(problem("gone.xml").starts_with("gone.xml: cannot open"), "{}", problem("gone.xml"));
    let large = folder.path().join("large.xml");
    fs::File::create(&large).unwrap().set_len(65 << 20).unwrap();
    assert!(problem("large.xml").contains("larger than 64 MiB"), "{}", problem("large.xml"));
}

/// Harpoon's own examples, where they are.
#[test]
fn the_examples_of_harpoon_are_read() {
    let Some(folder) = flowloom_needs::shared("store: examples of Harpoon", "harpoon") else { return };
    let plugins = |name: &str| {
        let config = open(&folder.join(name)).unwrap();
        // A setting of a plugin that is left out anyway.
        let said = config.remarks.iter().all(|remark| remark.contains("element rcvbuf of plugin InfTcpServer"));
        assert!(said, "{name}: {:?}", config.remarks);
        config.plugins
    };
    for (name, of) in [
        ("tcp_client.xml.in", &["TcpClient"][..]),
        ("tcp_server.xml.in", &["TcpServer"]),
        ("inftcp_client.xml.in", &["InfTcpClient"]),
        ("inftcp_server.xml.in", &["InfTcpServer"]),
        ("udp_server.xml.in", &["UDPCBRserver", "UDPExposerver", "UDPPeriodicserver"]),
        ("dummy_plugin.xml.in", &["DummyServer", "DummyClient"]),
    ] {
        assert_eq!(plugins(name).iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>(), of, "{name}");
    }
    assert_eq!(plugins("tcp_client.xml.in")[0].interconnection_times, [0.1, 0.2, 0.3]);
    let big = &plugins("synth_tcpserver.xml")[0];
    assert_eq!((big.file_sizes.len(), big.threads), (100_000, 47));
    assert_eq!(big.file_sizes.iter().sum::<f64>(), 2_971_548_559.0);
    assert_eq!(Path::new(&big.place).file_name().unwrap(), "synth_tcpserver.xml:2");
}

proptest! {
    /// A byte of a configuration changed: it is read or refused, with a line.
    #[test]
    fn no_byte_makes_it_panic(at in 0..WHOLE.len(), byte: u8) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        bytes[at] = byte;
        if let Err(error) = read(&bytes) {
            prop_assert!(error.to_string().starts_with("config:"), "{error}");
        }
    }

    /// Numbers come out as they went in.
    #[test]
    fn numbers_keep_their_value(gaps in prop::collection::vec(0.0..1e9f64, 1..50), sizes in prop::collection::vec(0u64..=1 << 40, 1..50)) {
        let plugin = Plugin {
            name: "C".into(),
            object: "x".into(),
            interconnection_times: gaps,
            file_sizes: sizes.iter().map(|size| *size as f64).collect(),
            ..Plugin::default()
        };
        let mut out = Vec::new();
        write(std::slice::from_ref(&plugin), &mut out).unwrap();
        let read = read(&out).unwrap().plugins.remove(0);
        prop_assert_eq!(Plugin { place: String::new(), ..read }, plugin);
    }
}
