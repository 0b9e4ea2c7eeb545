use flowloom_core::tcp;
use flowloom_core::tcp::congestion::Algorithm;
use flowloom_core::tcp::keys::Tcp;

use crate::experiment::Experiment;

/// What an experiment says in words is what the profile has in numbers; each key changes its own.
#[test]
fn profiles_fill_in_what_is_not_written() {
    let tcp = |text: &str| Experiment::parse(&format!("[tcp]\n{text}"), "x.toml").unwrap().tcp;
    for profile in ["plain", "rfc", "bsd-2008", "linux", "classic"] {
        let resolved = tcp(&format!("profile = \"{profile}\"\n"));
        assert_eq!(resolved.config(), tcp::Config::of(resolved.profile), "{profile}");
        assert_eq!(tcp(&toml::to_string(&resolved).unwrap()), resolved);
    }
    assert_eq!(tcp(""), Tcp::default());
    let mixed = tcp("profile = \"linux\"\ncongestion = \"bbr\"\nsack = \"off\"\ninitial-window = 3\n").config();
    assert_eq!((mixed.congestion, mixed.rack, mixed.quick_acks), (Algorithm::Bbr, false, 16));
    assert_eq!(mixed.initial_window, tcp::InitialWindow::Segments(3));
    assert_eq!(tcp("congestion = \"dctcp\"\n").config().ecn, tcp::EcnEcho::EachMark);
    let slow_start =
        |profile: &str| match tcp(&format!("profile = \"{profile}\"\ncongestion = \"cubic\"\n")).config().congestion {
            Algorithm::Cubic(parameters) => parameters.hystart,
            other => panic!("{other}"),
        };
    assert_eq!(["rfc", "classic"].map(slow_start), [true, false]);
    let sized = tcp("receive-buffer = \"128k\"\npayload-ratio = 0.63\n");
    let expected = tcp::ReceiveBuffer { bytes: 131_072, payload_ratio: 161 };
    assert_eq!(sized.config().receive_buffer, Some(expected));
    assert_eq!(tcp(&toml::to_string(&sized).unwrap()), sized);
    let words = Algorithm::all().map(|algorithm| tcp(&format!("congestion = \"{algorithm}\"\n")).config().congestion);
    assert_eq!(words, Algorithm::all());
}

#[test]
fn dctcp_gain_sets_the_shift() {
    let shift = |text: &str| {
        let tcp = Experiment::parse(&format!("[tcp]\ncongestion = \"dctcp\"\n{text}\n"), "x.toml").unwrap().tcp;
        assert_eq!(toml::from_str::<Tcp>(&toml::to_string(&tcp).unwrap()).unwrap(), tcp, "{text}");
        match tcp.config().congestion {
            Algorithm::Dctcp(parameters) => parameters.gain_shift,
            other => panic!("{other}"),
        }
    };
    assert_eq!(shift(""), 4, "RFC 8257 section 4.2");
    for (text, expected) in [("1/2", 1), ("1/16", 4), ("0.0625", 4), ("1/64", 6), ("1/1024", 10), ("0.0009765625", 10)]
    {
        assert_eq!(shift(&format!("dctcp-gain = \"{text}\"")), expected, "{text}");
    }
    let class = "[[tcp.classes]]\nname = \"a\"\nport = 1\n";
    let classes = |keys: &str| {
        let text = format!("[tcp]\ncongestion = \"dctcp\"\ndctcp-gain = \"1/32\"\n{class}tcp = {{ {keys} }}\n");
        let tcp = Experiment::parse(&text, "x.toml").unwrap().tcp;
        tcp.with(&tcp.classes[0].tcp).dctcp_gain.value.shift()
    };
    assert_eq!((classes("sack = \"on\""), classes("dctcp-gain = \"1/8\"")), (5, 3));
}

#[test]
fn impossible_dctcp_gains_are_rejected() {
    let texts = [
        "0", "1", "1/1", "2", "-0.5", "0.1", "1/3", "1/0", "1/2048", "1/-16", "1/16.0", "2/32", "nan", "inf", "", "16",
    ];
    for text in texts {
        let error = Experiment::parse(&format!("[tcp]\ndctcp-gain = \"{text}\"\n"), "x.toml").unwrap_err().to_string();
        let expected = "a power of two from 1/1024 to 1/2";
        assert!(error.contains(expected) && error.contains("x.toml:2"), "{text}: {error}");
    }
    let number = Experiment::parse("[tcp]\ndctcp-gain = 0.0625\n", "x.toml").unwrap_err().to_string();
    assert!(number.contains("x.toml:2"), "{number}");
}

#[test]
fn impossible_receive_buffers_are_rejected() {
    let check = |text: &str| Experiment::parse(&format!("[tcp]\n{text}\n"), "x.toml").map(|_| ());
    for possible in ["receive-buffer = \"4k\"", "receive-buffer = \"32m\"", "payload-ratio = 0.01"] {
        check(possible).unwrap();
    }
    for (wrong, part) in [
        ("receive-buffer = \"4095b\"", "between 4k and 32m"),
        ("receive-buffer = \"33m\"", "between 4k and 32m"),
        ("receive-buffer = \"100p\"", "a number of bytes"),
        ("receive-buffer = \"on\"", "a number of bytes"),
        ("payload-ratio = 0.0", "between 0.01 and 0.99"),
        ("payload-ratio = 1.0", "between 0.01 and 0.99"),
        ("payload-ratio = nan", "of NaN must be between 0.01 and 0.99"),
        ("[[tcp.classes]]\nname = \"a\"\nport = 1\ntcp = { payload-ratio = 2.0 }", "tcp.classes[0].tcp.payload-ratio"),
    ] {
        let error = check(wrong).unwrap_err().to_string();
        assert!(error.contains(part), "{wrong}: {error}");
    }
}
