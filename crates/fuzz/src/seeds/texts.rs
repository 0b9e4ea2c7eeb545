//! What people write.

use flowloom::Experiment;

/// Experiment files: one with every key, some with what an experiment may say besides, and an empty one.
pub fn experiments() -> Vec<Vec<u8>> {
    let all = toml::to_string(&Experiment::default()).expect("an experiment can be written");
    let other = "title = \"busy hour\"\n[workload]\nsource = \"a.parquet\"\nlead-in = false\n\
        [network.bottleneck]\nrate = \"105%\"\ndelay = \"1.5ms\"\nqueue = { kind = \"drop-tail\", limit = \"64KiB\" }\n\
        [tcp]\ndelayed-ack = \"off\"\n[measure]\nduration = \"10min\"\nwindow = [\"1min\", \"9min\"]\n[run]\nseeds = [1, 2]\n";
    let path = "[network.bottleneck]\ntrace = { from-left = \"a.up\", from-right = \"a.down\" }\n\
        policer = { rate = \"10mbit\", burst = \"32k\" }\n[network.path]\nloss = \"1%\"\nduplicate = \"0.1%\"\n\
        reorder = { share = \"1%\", gap = 5, late = \"2ms\" }\njitter = { kind = \"normal\", mean = \"5ms\", sd = \"1ms\" }\n\
        from-right = { loss = { kind = \"gilbert-elliott\", p = \"1%\", r = \"25%\", 1-h = \"90%\" }, jitter-keeps-order = false }\n\
        [[network.delay-box]]\nfrom = \"left\"\nport = 443\ndelay = { kind = \"lognormal\", median = \"64ms\", mean = \"101ms\" }\n\
        loss = \"measured\"\n[[network.delay-box]]\nrate = { kind = \"empirical\", values = [[\"1mbit\", 0.5], [\"9mbit\", 0.5]] }\n";
    let sources = "[[sources]]\nname = \"ftp\"\nkind = \"bulk\"\ncount = 3\nbytes = { kind = \"pareto\", min = \"10k\", shape = 1.2 }\n\
        tcp = { congestion = \"cubic\" }\n[[sources]]\nname = \"v\"\nkind = \"on-off\"\nrate = \"2mbit\"\non = \"1s\"\noff = \"2s\"\n\
        [[tcp.classes]]\nname = \"bbr\"\nshare = \"50%\"\ntcp = { profile = \"linux\" }\n[measure]\ntcp-trace = [3, 4]\n";
    let model = "[workload]\nmodel = { kind = \"netspec\", tables = \"t\", sources = [{ traffic = { type = \"burst\", blocksize = 9, \
        period = { function = \"telnetPktInterarrival\", max = 1e9 } }, protocol = \"udp\", ends = { rtt = \"10ms\" } }] }\n";
    let changes = "[workload]\nsource = \"a.parquet\"\nstructure = \"a-t-b\"\nwindow = \"16k\"\nloss = \"measured\"\nprefill = \"5s\"\n\
        rtt = { kind = \"paths\", paths = 30, trim = \"1%\", quantum = \"2ms\", place = \"left\" }\ndatagrams = \"as-seen\"\n\
        load = { method = \"blocks\", factor = 1.5, block = \"30s\", duration = \"10min\", shuffle = \"50ms\" }\n";
    let laws = "[workload]\nmodel = { kind = \"exchanges\", connections-per-second = 3.0, rtt-ms = 40, request-bytes = { kind = \"truncated\", \
        min = 1.0, max = 50.0, of = { kind = \"mixture\", parts = [{ weight = 0.5, of = { kind = \"empirical\", values = [[9.0, 0.5], \
        [3.0, 0.5]] } }, { weight = 0.5, of = { kind = \"weibull\", scale = 3.0, shape = 0.5 } }] } }, response-bytes = \
        { kind = \"log-log\", points = [[-6.0, 16.0], [-1.0, 11.0], [0.0, 8.0]] } }\n[measure]\nduration = \"9s\"\n";
    let web = "[workload]\nmodel = { kind = \"packmime\", rate = 24.1, reverse-rate = 22.9, clouds = 5, http = \"1.1\" }\n\
        rtt = { kind = \"uniform\", min = \"10ms\", max = \"0.2s\" }\n[measure]\nduration = \"9s\"\n";
    [&all[..], other, path, sources, model, changes, laws, web, ""].map(|text| text.as_bytes().to_vec()).into()
}

/// Rules files: one with every key, a short and an empty one.
pub fn rules() -> Vec<Vec<u8>> {
    let all = "[[rule]]\nname = \"tail\"\nmetric = \"response_time\"\nstatistic = \"p99.9\"\nverdict = \"same\"\nmax-ks = 0.05\n\
        max-tolerant-ks = 0.02\nmax-ratio = 1.1\nmin-ratio = 0.9\nmax = \"20ms\"\nmin = \"1us\"\ncannot-tell = \"pass\"\n\
        [[rule]]\nmetric = \"goodput\"\nmin = \"9.5mbit\"\n[[rule]]\nmetric = \"queue_from_left\"\nmax = 350\n";
    [all, "[[rule]]\nmetric = \"duration\"\nverdict = \"different\"\n", ""].map(|text| text.as_bytes().to_vec()).into()
}

/// Specifications of VCSIM: every block and name, blocks that inherit, an empty one.
pub fn specifications() -> Vec<Vec<u8>> {
    let all = "ticks_per_sec 1e5 bytes_per_cell 48 header_bytes 5 padding 1 max_pkt_size 512 tables t // more\nseed 1 3 seed_end\n\
        timer log 1 checkpoint 2 regeneration 3 end 9 timer_end\nrouter router_id 1 vc_map per_type packet_queue fifo cell_queue \
        round_robin buffer_policy statistical buffer_size 9 discard early discard_threshold 4 dynamic_vc 1 idle_time .1 setup_time .2 \
        vc_window 30 peak_rate 1e5 meter_time .1 report 1 router_end router router_id 2 router_end\nswitch switch_id 3 cell_queue fifo \
        report 0 switch_end\nlink link_id 4 connects 1 3 speed 1.5e6 delay .02 link_end link connects 3 2 link_end\nhost host_id 5 \
        function source traffic_type misc flow_control fixed_window window_limit 8 retransmit 0 conv_arr_dist exponential conv_arr_mean 1 \
        conv_arr_std 1 conv_len_dist constant conv_len_mean 9 pkt_arr_dist exponential pkt_arr_mean .1 pkt_len_dist constant pkt_len_mean \
        80 host_end host host_id 6 function sink host_end\nlink connects 5 1 link_end link connects 2 6 link_end\nroute 5 1 3 2 6 \
        route_end\n";
    [all, "router router_id 1 router_end", ""].map(|text| text.as_bytes().to_vec()).into()
}

/// Scripts of the lab: one with everything that a leaf can be asked for, one with every kind of comment and extension, a short and an
/// empty one.
pub fn scripts() -> Vec<Vec<u8>> {
    let all = "serial ctl:42010 { parallel { cluster { test a { type = burst(blocksize = 125000, period = 10000, duration = 10); protocol = \
        tcp(window = 128K, tcpmtu = 1500, nodelay = on, rate = 1.5M); own = a:1; peer = [::1]:2; } test [::1] { type = sink(blocksize = 32K, \
        duration = 10); protocol = tcp; own = [::1]:2; peer = a:1; } } } cluster { test b { type = burstq(blocksize = ftpItemSize(min=8), \
        repeats = ftpNOfItems(min = 1), period = ftpSessionInterarrival(lambda=0.00001, min=1000), buffer = 256K, duration = 20,); protocol = \
        udp; own = 192.0.2.1:0; peer = b.example:9; } test { type = mpeg(frameRate = 25, gop = IBB, sceneLengthMean = 9, sceneMean = 9K, \
        sceneSd = 1, iWeight1 = 0.5, iWeight2 = -0.1, iSd = 4, pMean = 4, pSd = 1, bMean = 2, bSd = 1, duration = 2); protocol = tcp(mss = 9); \
        own = c:1; peer = d:1 } probe { x = -1.5e-3; } } }";
    let marked = "# a\n\n@let h = host-a; @let f = full(duration = 1, blocksize = 1); /* b\n c */\ncluster { // d\n  @include \"more.ns\"; # e\n\n  \
        test $h { own = ${h}1:42; type = $f; x = \"q\\\"\\\\\\n\"; ; y = 1\n }\n # f\n}\n";
    [all, marked, "parallel {}", ""].map(|text| text.as_bytes().to_vec()).into()
}

/// Scripts in TOML: one with everything, one that is included, an empty one.
pub fn toml_scripts() -> Vec<Vec<u8>> {
    let all = "block = \"cluster\"\naddress = \"ctl:42010\"\n[let]\nh = \"host-a\"\n[parameters]\nx = true\n[[children]]\nblock = \"test\"\naddress = \
        \"$h\"\n[children.parameters]\ntype = { full = { blocksize = 32768, duration = 1.5 } }\nprotocol = \"tcp\"\nown = \"$h:1\"\npeer = \"[::1]:2\"\nq = { \
        string = \"udp\" }\nr = \"two words\"\ns = { f = {} }\n[[children]]\ninclude = \"more.toml\"\n";
    let part = "[let]\na = 1\n[parameters]\nb = \"$a\"\n[[children]]\nblock = \"serial\"\n[[children.children]]\nblock = \"probe\"\n";
    [all, part, ""].map(|text| text.as_bytes().to_vec()).into()
}

/// Key files: 32 bytes, and as many in hexadecimal.
pub fn keys() -> Vec<Vec<u8>> {
    let key: Vec<u8> = (1..=32).collect();
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    vec![key, format!(" {digits}\n").into_bytes()]
}

/// Traces of links: rates that change, several opportunities in a millisecond, other ends of lines.
pub fn traces() -> Vec<Vec<u8>> {
    let even: String = (0..60).map(|ms| format!("{ms}\n")).collect();
    [&even[..], "5\n5\n5\n17\n120\n", "3\r\n7\r\n7\r\n31622400000"].map(|text| text.as_bytes().to_vec()).into()
}

/// Rates over time in their three forms, with comments and other ends of lines.
pub fn rates() -> Vec<Vec<u8>> {
    let cells: String = (0..40).map(|bin| format!("{},{}\n", f64::from(bin) * 0.01, 100 * (bin % 7))).collect();
    let cells = format!("# bins of 10 ms\nseconds,cells_per_second\n{cells}");
    [&cells[..], "seconds,bits_per_second\r\n0,1e6\r\n2.5,0\r\n", "cell_seconds\n0\n0.25\n0.25\n3e2"]
        .map(|text| text.as_bytes().to_vec())
        .into()
}

/// Results of iperf3, whole and as lines, and of flent.
pub fn results() -> Vec<Vec<u8>> {
    let interval = "{\"streams\":[{\"socket\":5,\"rtt\":1500}],\"sum\":{\"start\":0,\"end\":1.0,\"bytes\":1000,\"bits_per_second\":8e3,\
        \"retransmits\":2,\"omitted\":false},\"sum_bidir_reverse\":{\"end\":1,\"bits_per_second\":4000.5}}";
    let end = "{\"sum_sent\":{\"retransmits\":2},\"sum_received\":{}}";
    let start = "{\"version\":\"iperf 3.16\",\"test_start\":{\"protocol\":\"TCP\",\"reverse\":1}}";
    let flent = "{\"version\":4,\"metadata\":{\"NAME\":\"rrul\",\"TITLE\":null},\"x_values\":[0.0,0.2],\"results\":{\
        \"TCP upload BE\":[1.5,null],\"Ping (ms) ICMP\":[20,21],\"TCP upload::tcp_rtt\":[1,2]},\"raw_values\":{}}";
    [
        format!("{{\"start\":{start},\"intervals\":[{interval},{interval}],\"end\":{end}}}"),
        format!(
            "{{\"event\":\"start\",\"data\":{start}}}\n{{\"event\":\"interval\",\"data\":{interval}}}\n{{\"event\":\"end\",\"data\":{end}}}\n"
        ),
        flent.to_owned(),
    ]
    .map(String::into_bytes)
    .into()
}

/// Tables of distributions: with and without names of columns, with counts, with a step.
pub fn histograms() -> Vec<Vec<u8>> {
    let texts = [
        "value,cumprob\n3.000000,0.003000\n4.5,0.5\n4.5,0.75\n443,1.000000\n",
        "1 739 0.5\n2\t302 0.75\n65 1 1",
        "0,1\r\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

/// Histograms of datagram lengths: of data and of whole datagrams, with comments and blank lines.
pub fn lengths() -> Vec<Vec<u8>> {
    let texts = [
        "# lengths\nprotocol,data_bytes,count\ntcp,0,40\ntcp,512,10\n\nudp,40,4\n",
        "protocol,ip_bytes,count\r\ntcp,40,30\r\nudp,65535,1\r\n",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

/// Configurations of Harpoon: a client with its server, sources of datagrams, and what the format bears beside.
pub fn harpoon() -> Vec<Vec<u8>> {
    let pair = "<harpoon_plugins>\n<plugin name=\"C\" objfile=\"tcp_plugin.so\" maxthreads=\"9\" personality=\"client\">\
        <interconnection_times> 0.5 1 </interconnection_times><active_sessions> 2 3\n1 </active_sessions>\
        <interval_duration type=\"numeric\"> 5 </interval_duration><client_side type=\"property\"> right </client_side>\
        <address_pool name=\"client_source_pool\"><address ipv4=\"10.0.0.0/24\" port=\"0\"/></address_pool>\
        <address_pool name=\"client_dest_pool\"><address ipv4=\"10.0.1.1\" port=\"80\"/></address_pool></plugin>\n\
        <plugin name=\"S\" objfile=\"tcp_plugin.so\" maxthreads=\"9\" personality=\"server\"><file_sizes> 100 2e3 </file_sizes>\
        <address_pool name=\"server_pool\"><address ipv4=\"0.0.0.0\" port=\"80\"/></address_pool></plugin></harpoon_plugins>";
    let udp = pair.replace("tcp_plugin.so", "udpexpo_plugin.@SHLIB_EXT@").replace(
        "<active",
        "<virtual_users> 3 </virtual_users>><expo_means> 200 90 </expo_means><file_sizes> 40 </file_sizes><active",
    );
    let odd = "<?xml version=\"1.0\"?><!-- c --><harpoon_plugins><plugin name='&lt;' objfile='x' maxthreads='1'>\
        <config_file>a.xml</config_file><tcp_mss>9</tcp_mss><unknown><inner/>&amp;</unknown><![CDATA[x]]></plugin></harpoon_plugins>";
    [pair, &udp, odd].map(|text| text.as_bytes().to_vec()).into()
}

/// Address prefixes.
pub fn prefixes() -> Vec<Vec<u8>> {
    ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "::/0", "0.0.0.0/0"].map(|text| text.as_bytes().to_vec()).into()
}
