//! Which requests are answered at all.
//!
//! A page of another site can make a browser ask a server on this host, and can let a name of its own lead here (DNS rebinding). So the
//! `Host` of a request must be an address, or a name that was given; its `Origin`, if it has one, must be this server. The only request that
//! changes something, that a run stop, must have an `Origin` and the token of the page.

use std::net::{IpAddr, SocketAddr};

use flowloom::view::StopRequest;
use hyper::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use subtle::ConstantTimeEq;

/// Characters of a token at least.
pub const LEAST_TOKEN: usize = 16;

/// The header in which pages send the token that is in them.
pub(crate) const PAGE_TOKEN: HeaderName = HeaderName::from_static("flowloom-page-token");

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// What a request must have.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
    /// Names by which the server is asked beside its addresses, in small letters.
    names: Vec<String>,
    token: Option<String>,
    /// The token that is in the pages.
    page_token: String,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) why: &'static str,
}

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// It is answered.
    In,
    /// It asks a run to stop, and may.
    Stop,
    /// It has the token in its URL, which goes into a cookie.
    ByLink,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, names: &[String], token: Option<String>, page_token: String) -> Guard {
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Guard { address, names, token, page_token }
    }

    /// The token that pages send when they ask for more than an answer.
    pub(crate) fn page_token(&self) -> &str {
        &self.page_token
    }

    /// The name of the cookie: other servers of this host get it too.
    pub(crate) fn cookie(&self) -> String {
        format!("flowloom-view-{}", self.address.port())
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether a request is answered.
    pub(crate) fn check(&self, request: &Parts) -> Result<Passed, Refused> {
        let refused = |status, why| Err(Refused { status, why });
        let is_stop = request.method == Method::POST && request.uri.path() == StopRequest::PATH;
        if request.method != Method::GET && request.method != Method::HEAD && !is_stop {
            return refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is possible");
        }
        let Some(host) = only(&request.headers, HOST) else {
            return refused(StatusCode::FORBIDDEN, "the request names no host, or several");
        };
        // Of a proxy's request the URL names the host too.
        let asked = request.uri.authority().map(|authority| authority.as_str());
        if !self.is_own(host) || !asked.is_none_or(|asked| self.is_own(asked)) {
            return refused(StatusCode::FORBIDDEN, "the request names another host: --host adds a name");
        }
        if request.headers.contains_key(ORIGIN) {
            let is_own = only(&request.headers, ORIGIN)
                .and_then(|origin| origin.strip_prefix("http://"))
                .is_some_and(|origin| origin.eq_ignore_ascii_case(host));
            if !is_own {
                return refused(StatusCode::FORBIDDEN, "the request comes from a page of another origin");
            }
        }
        let text = |name| request.headers.get(name).map(|value| value.as_bytes());
        let is_foreign = text(FETCH_SITE).is_some_and(|site| site != b"same-origin" && site != b"none");
        if is_foreign && text(FETCH_MODE) != Some(b"navigate") {
            return refused(StatusCode::FORBIDDEN, "the request comes from a page of another site");
        }
        let passed = self.admit(request)?;
        if !is_stop {
            return Ok(passed);
        }
        // A page of another origin can send neither.
        if !request.headers.contains_key(ORIGIN) {
            return refused(StatusCode::FORBIDDEN, "the request names no origin");
        }
        let is_of_page = |given: &str| bool::from(given.as_bytes().ct_eq(self.page_token.as_bytes()));
        if !only(&request.headers, PAGE_TOKEN).is_some_and(is_of_page) {
            return refused(StatusCode::FORBIDDEN, "the token of the page is missing or old: load the page again");
        }
        Ok(Passed::Stop)
    }

    fn admit(&self, request: &Parts) -> Result<Passed, Refused> {
        let Some(token) = &self.token else { return Ok(Passed::In) };
        let is_it = |given: &str| bool::from(given.as_bytes().ct_eq(token.as_bytes()));
        // A link that is opened again leaves the address bar as well.
        let in_link = request.uri.query().and_then(|query| query.strip_prefix("token="));
        if request.uri.path() == "/" && in_link.is_some_and(is_it) {
            return Ok(Passed::ByLink);
        }
        let bearer = only(&request.headers, AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let prefix = self.cookie() + "=";
        let cookies = request.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let in_cookie = cookies.flat_map(|all| all.split("; ")).filter_map(|one| one.strip_prefix(&prefix)).any(is_it);
        if bearer.is_some_and(is_it) || in_cookie {
            return Ok(Passed::In);
        }
        Err(Refused { status: StatusCode::UNAUTHORIZED, why: "the token is missing: open the link that was printed" })
    }

    /// Whether `host`, perhaps with a port, is this server. An address cannot be rebound, a name can.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) && !self.is_named(host) {
            return false;
        }
        let name = name.to_ascii_lowercase();
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        let own = self.address.ip();
        match bare.parse::<IpAddr>() {
            Ok(ip) => ip == own || own.is_unspecified() || own.is_loopback() && ip.is_loopback(),
            Err(_) => own.is_loopback() && name == "localhost" || self.is_named(&name) || self.is_named(host),
        }
    }

    /// Whether a name was given, perhaps with the port of a proxy.
    fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The value of a header that is there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str, names: &[&str], token: Option<&str>) -> Guard {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Guard::new(address.parse().unwrap(), &names, token.map(str::to_owned), "fedcba9876543210".to_owned())
    }

    fn asked(guard: &Guard, url: &str, headers: &[(&str, &str)]) -> Result<Passed, u16> {
        let mut request = hyper::Request::get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        guard.check(&parts).map_err(|refused| refused.status.as_u16())
    }

    #[test]
    fn hosts_are_own_addresses_and_given_names() {
        let here = guard("127.0.0.1:8000", &["lab.example", "lab.example:443"], None);
        for host in [
            "127.0.0.1:8000",
            "localhost:8000",
            "LocalHost:8000",
            "[::1]:8000",
            "lab.example:8000",
            "lab.example",
            "LAB.example:443",
        ] {
            assert_eq!(asked(&here, "/", &[("host", host)]), Ok(Passed::In), "{host}");
        }
        for host in [
            "evil.example:8000",
            "127.0.0.1",
            "127.0.0.1:8001",
            "localhost",
            "localhost.evil.example:8000",
            "10.0.0.1:8000",
            "lab.example:444",
            "",
            ":8000",
            "127.0.0.1:8000:8000",
        ] {
            assert_eq!(asked(&here, "/", &[("host", host)]), Err(403), "{host}");
        }
        assert_eq!(asked(&here, "/", &[]), Err(403));
        assert_eq!(asked(&here, "/", &[("host", "127.0.0.1:8000"), ("host", "evil.example")]), Err(403));
        assert_eq!(asked(&here, "http://evil.example/", &[("host", "127.0.0.1:8000")]), Err(403));
        let everywhere = guard("0.0.0.0:8000", &[], None);
        assert_eq!(asked(&everywhere, "/", &[("host", "192.0.2.1:8000")]), Ok(Passed::In));
        assert_eq!(asked(&everywhere, "/", &[("host", "localhost:8000")]), Err(403));
        let there = guard("192.0.2.1:80", &[], None);
        assert_eq!(asked(&there, "/", &[("host", "192.0.2.1")]), Ok(Passed::In));
        assert_eq!(asked(&there, "/", &[("host", "192.0.2.2")]), Err(403));
    }

    #[test]
    fn pages_of_other_origins_get_nothing() {
        let guard = guard("127.0.0.1:8000", &[], None);
        let host = ("host", "127.0.0.1:8000");
        for (origin, answer) in [
            ("http://127.0.0.1:8000", Ok(Passed::In)),
            ("http://127.0.0.1:9000", Err(403)),
            ("https://127.0.0.1:8000", Err(403)),
            ("http://evil.example", Err(403)),
            ("null", Err(403)),
            ("", Err(403)),
        ] {
            assert_eq!(asked(&guard, "/api/folders", &[host, ("origin", origin)]), answer, "{origin}");
        }
        for (site, mode, answer) in [
            ("same-origin", "cors", Ok(Passed::In)),
            ("none", "navigate", Ok(Passed::In)),
            ("cross-site", "navigate", Ok(Passed::In)),
            ("cross-site", "no-cors", Err(403)),
            ("same-site", "cors", Err(403)),
        ] {
            let headers = [host, ("sec-fetch-site", site), ("sec-fetch-mode", mode)];
            assert_eq!(asked(&guard, "/api/folders", &headers), answer, "{site} {mode}");
        }
    }

    #[test]
    fn a_run_is_stopped_by_own_pages_only() {
        let guard = guard("127.0.0.1:8000", &[], None);
        let post = |path: &str, headers: &[(&str, &str)]| {
            let mut request = hyper::Request::post(path).header("host", "127.0.0.1:8000");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            guard.check(&parts).map_err(|refused| refused.status.as_u16())
        };
        let own = ("origin", "http://127.0.0.1:8000");
        let token = ("flowloom-page-token", "fedcba9876543210");
        assert_eq!(post("/api/stop?run=0/a", &[own, token]), Ok(Passed::Stop));
        for headers in [
            &[own][..],
            &[token],
            &[own, ("flowloom-page-token", "fedcba9876543211")],
            &[own, ("flowloom-page-token", "")],
            &[("origin", "http://evil.example"), token],
            &[("origin", "null"), token],
            &[own, token, token],
            &[own, token, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")],
        ] {
            assert_eq!(post("/api/stop?run=0/a", headers), Err(403), "{headers:?}");
        }
        for path in ["/", "/api/folders", "/api/stop/", "/api/events?run=0/a"] {
            assert_eq!(post(path, &[own, token]), Err(405), "{path}");
        }
    }

    #[test]
    fn a_token_comes_by_header_cookie_or_once_by_link() {
        let guard = guard("0.0.0.0:8000", &[], Some("0123456789abcdef"));
        let host = ("host", "192.0.2.1:8000");
        assert_eq!(asked(&guard, "/", &[host]), Err(401));
        assert_eq!(asked(&guard, "/", &[host, ("authorization", "Bearer 0123456789abcdef")]), Ok(Passed::In));
        assert_eq!(asked(&guard, "/", &[host, ("authorization", "Bearer 0123456789abcdeg")]), Err(401));
        assert_eq!(asked(&guard, "/", &[host, ("cookie", "a=b; flowloom-view-8000=0123456789abcdef")]), Ok(Passed::In));
        assert_eq!(asked(&guard, "/", &[host, ("cookie", "flowloom-view-8001=0123456789abcdef")]), Err(401));
        assert_eq!(asked(&guard, "/?token=0123456789abcdef", &[host]), Ok(Passed::ByLink));
        let cookie = ("cookie", "flowloom-view-8000=0123456789abcdef");
        assert_eq!(asked(&guard, "/?token=0123456789abcdef", &[host, cookie]), Ok(Passed::ByLink));
        assert_eq!(asked(&guard, "/?token=", &[host]), Err(401));
        assert_eq!(asked(&guard, "/api/folders?token=0123456789abcdef", &[host]), Err(401));
    }
}
