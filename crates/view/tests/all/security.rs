//! What is refused: other hosts and origins, other methods, other folders, requests without the token; and bounds.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use flowloom_view::{LEAST_TOKEN, MOST_CONNECTIONS, Server};

use super::support::{Place, SCRIPT, get, get_with, send};

#[test]
fn hosts_of_others_are_refused() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let port = address.port();
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        assert_eq!(get_with(address, "/api/folders", &[("host", &host)]).status, 200, "{host}");
    }
    for host in [
        format!("evil.example:{port}"),
        "evil.example".to_owned(),
        format!("127.0.0.1.evil.example:{port}"),
        "127.0.0.1:1".to_owned(),
    ] {
        for target in ["/", "/api/folders", "/main.js", "/report?folder=0/runs/office"] {
            let answer = get_with(address, target, &[("host", &host)]);
            assert_eq!(answer.status, 403, "{host} {target}");
            assert!(!answer.body.contains("counters"), "{}", answer.body);
        }
    }
    // A request to a proxy names the host in its target.
    let proxied =
        format!("GET http://evil.example/api/folders HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    assert_eq!(send(address, proxied.as_bytes()).status, 403);
    assert_eq!(send(address, b"GET /api/folders HTTP/1.0\r\n\r\n").status, 403);
    let two = format!("GET / HTTP/1.1\r\nhost: {address}\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
    assert_eq!(send(address, two.as_bytes()).status, 403);
}

#[test]
fn pages_of_other_origins_are_refused() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let own = format!("http://{address}");
    assert_eq!(get_with(address, "/api/folders", &[("origin", &own)]).status, 200);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "file://"] {
        assert_eq!(get_with(address, "/api/folders", &[("origin", origin)]).status, 403, "{origin}");
    }
    let headers = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
    assert_eq!(get_with(address, "/api/folders", &headers).status, 403);
    // No answer may be read by other origins, whatever they send.
    assert!(!get(address, "/api/folders").head.to_ascii_lowercase().contains("access-control"));
}

#[test]
fn nothing_outside_the_folders_is_read() {
    let place = Place::new();
    let shown = place.folder.path().join("shown");
    std::os::unix::fs::symlink(place.folder.path(), shown.join("up")).unwrap();
    std::os::unix::fs::symlink(place.folder.path().join("secret"), shown.join("runs/report.html")).unwrap();
    let server = place.serve();
    let address = server.address();
    for path in [
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/shown/../../secret",
        "//etc/passwd",
        "/vendor/../../secret",
        "/vendor/%2e%2e/%2e%2e/Cargo.toml",
        "/secret",
        "/notes.toml",
        "/vendor/",
        "/vendor",
        "/api",
        "/api/",
        "/api/folders/..",
        "/.",
        "/report.html",
    ] {
        let answer = get(address, path);
        assert!([400, 404].contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.body.contains("a secret"), "{path}");
    }
    for folder in [
        "..",
        "0/..",
        "0/../secret",
        "0/runs/office/../../../secret",
        "0%2Fruns%2Foffice%2F..%2F..",
        "/etc",
        "%2Fetc%2Fpasswd",
        "0/up",
        "0/up/shown/runs/office",
        "0/notes.toml",
        "0",
    ] {
        for question in
            ["/report?folder=", "/api/run?run=", "/api/monitor?monitor=", "/api/sweep?sweep=", "/api/compare?run="]
        {
            let answer = get(address, &format!("{question}{folder}"));
            assert_eq!(answer.status, 404, "{question}{folder}: {answer:?}");
        }
    }
    assert_eq!(get(address, "/api/run?run=0/runs/office").status, 200);
    assert_eq!(get(address, "/api/run?run=%30%2Fruns%2Foffice").status, 200);
    assert_eq!(get(address, "/api/run?run=0/runs/office%00").status, 400);
}

#[test]
fn only_get_is_possible() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "BREW"] {
        let request = format!(
            "{method} /api/folders HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let answer = send(address, request.as_bytes());
        assert!([400, 405].contains(&answer.status), "{method}: {answer:?}");
    }
    let head = send(address, format!("HEAD / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes());
    assert_eq!((head.status, &head.body[..]), (200, ""));
}

#[test]
fn a_token_is_needed_off_loopback() {
    let place = Place::new();
    let mut options = place.options();
    options.listen = "0.0.0.0:0".parse().unwrap();
    let server = Server::start(&options).unwrap();
    let address = format!("127.0.0.1:{}", server.address().port()).parse().unwrap();
    let link = server.link();
    let token = link.split_once("/?token=").unwrap().1;
    assert_eq!(token.len(), 32);
    for target in [
        "/",
        "/api/folders",
        "/main.js",
        "/report?folder=0/runs/office",
        "/?token=00000000000000000000000000000000",
        "/?token=",
    ] {
        let answer = get(address, target);
        assert_eq!(answer.status, 401, "{target}");
        assert!(!answer.body.contains(token) && !answer.head.contains(token));
    }
    let bearer = format!("Bearer {token}");
    assert_eq!(get_with(address, "/api/folders", &[("authorization", &bearer)]).status, 200);
    let entered = get(address, &format!("/?token={token}"));
    assert_eq!((entered.status, entered.header("location")), (303, "/"));
    let cookie = entered.header("set-cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(get_with(address, "/api/folders", &[("cookie", cookie)]).status, 200);
    // The token does not let another host or origin in.
    assert_eq!(get_with(address, "/api/folders", &[("cookie", cookie), ("host", "evil.example")]).status, 403);
    assert_eq!(get_with(address, "/api/folders", &[("cookie", cookie), ("origin", "http://evil.example")]).status, 403);
    // Two servers have two tokens, and a short one is refused.
    assert_ne!(Server::start(&options).unwrap().link().split_once('=').unwrap().1, token);
    options.token = Some("a".repeat(LEAST_TOKEN - 1));
    assert!(Server::start(&options).err().unwrap().to_string().contains("a token has 16"));
}

#[test]
fn no_script_but_the_own_is_possible() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    for target in ["/", "/main.js", "/api/folders", "/api/nothing", "/report?folder=0/x"] {
        let answer = get(address, target);
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"), "{target}: {policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{target}: {policy}");
        assert_eq!(
            (answer.header("x-content-type-options"), answer.header("referrer-policy")),
            ("nosniff", "no-referrer")
        );
    }
    let page = get(address, "/").body;
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains("onload"), "{page}");
    assert_eq!(page.matches("<script").count(), 1);
    // Names come as JSON, and errors say them as JSON too.
    let monitor = get(address, "/api/monitor?monitor=0/counters");
    assert_eq!(monitor.json()["series"][0]["port"], SCRIPT);
    assert!(monitor.header("content-type").starts_with("application/json"));
    let wrong = get(address, "/api/run?run=%3Cscript%3Ealert(1)%3C/script%3E");
    assert!(wrong.header("content-type").starts_with("application/json"), "{wrong:?}");
    // A report is of no origin, and can ask nothing.
    std::fs::write(place.folder.path().join("shown/runs/office/report.html"), "<script>fetch('/api/folders')</script>")
        .unwrap();
    let report = get(address, "/report?folder=0/runs/office");
    let policy = report.header("content-security-policy");
    assert!(policy.starts_with("sandbox allow-scripts allow-downloads; default-src 'none';"), "{policy}");
    assert!(!policy.contains("allow-same-origin") && !policy.contains("connect-src"), "{policy}");
}

#[test]
fn requests_have_bounds() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let long = format!("GET /{} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n", "a".repeat(100_000));
    assert!([0, 400, 414, 431].contains(&send(address, long.as_bytes()).status));
    let mut many = format!("GET / HTTP/1.1\r\nhost: {address}\r\n");
    (0..200).for_each(|number| many += &format!("x-{number}: 1\r\n"));
    assert!([0, 400, 431].contains(&send(address, (many + "\r\n").as_bytes()).status));
    let query = "a=1&".repeat(500);
    assert_eq!(get(address, &format!("/api/folders?{query}")).status, 400);
    assert_eq!(get(address, "/api/period?monitor=0/counters&series=1&from=1&to=2&points=100000").status, 400);
    // A body is not read.
    let body =
        format!("GET / HTTP/1.1\r\nhost: {address}\r\ncontent-length: 1000000000\r\nconnection: close\r\n\r\nabc");
    assert_eq!(send(address, body.as_bytes()).status, 200);
    assert!([0, 400].contains(&send(address, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").status));
}

#[test]
fn connections_beyond_the_bound_wait() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    // Each is answered once, so that it has its place, and stays.
    let mut held = Vec::new();
    for _ in 0..MOST_CONNECTIONS {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "HEAD / HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
        let mut byte = [0];
        std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
        held.push(stream);
    }
    let mut waiting = TcpStream::connect(address).unwrap();
    write!(waiting, "HEAD / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    waiting.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    let mut byte = [0];
    assert!(std::io::Read::read_exact(&mut waiting, &mut byte).is_err(), "it did not wait");
    drop(held.pop());
    waiting.set_read_timeout(None).unwrap();
    std::io::Read::read_exact(&mut waiting, &mut byte).unwrap();
    assert_eq!(&byte, b"H");
}

#[test]
fn clients_that_do_not_read_lose_their_places() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let request = format!("GET /vendor/uPlot.js HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let held: Vec<TcpStream> = (0..MOST_CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nonblocking(true).unwrap();
            // As many as there is room for.
            while stream.write_all(request.as_bytes()).is_ok() {}
            stream
        })
        .collect();
    let mut waiting = TcpStream::connect(address).unwrap();
    write!(waiting, "HEAD / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    // Long enough for a busy host; without an end of what stalls it is never answered.
    waiting.set_read_timeout(Some(std::time::Duration::from_secs(120))).unwrap();
    let mut byte = [0];
    std::io::Read::read_exact(&mut waiting, &mut byte).unwrap();
    assert_eq!(&byte, b"H");
    drop(held);
}

#[test]
fn it_ends_and_gives_the_port_back() {
    let place = Place::new();
    let server = place.serve();
    let address = server.address();
    let open = TcpStream::connect(address).unwrap();
    assert_eq!(get(address, "/").status, 200);
    drop(server);
    drop(open);
    assert!(TcpStream::connect(address).is_err());
    drop(TcpListener::bind(address));
    let mut options = place.options();
    options.folders = vec![place.folder.path().join("nowhere")];
    assert!(Server::start(&options).err().unwrap().to_string().contains("nowhere"));
}
