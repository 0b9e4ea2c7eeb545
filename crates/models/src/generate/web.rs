//! Users who read pages: SURGE's (Barford and Crovella 1998) and Mah's (1997), of HTTP before 2000.
//!
//! A page is a number of objects, each a request and a response. After a page its user reads. What is known of SURGE's page is that an
//! *active* OFF time lies between its objects and an *inactive* one after it.

use std::sync::Arc;

use flowloom_core::distribution::{Distribution, DistributionError, Law, Rounding};
use flowloom_core::keys::Quantity;
use flowloom_core::rng::{Purpose, Source, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ends::{Ends, Impossible, MOST_ADUS, MOST_BYTES, MOST_SOURCES, Merged, Talk, sources};
use super::histogram::{Read, histogram};
use super::tcplib::{TableError, tabled};

/// Whose users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Browsing {
    /// SURGE's (Barford and Crovella 1998): laws fitted to logs of 1995.
    Surge,
    /// Mah's (1997): measured histograms of 1995, of which there are tables in ns-2.
    Mah,
}

/// What is one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connection {
    /// An object, as in HTTP/1.0.
    PerObject,
    /// A page: all its objects, one after the other.
    PerPage,
    /// All pages that a user reads at a server, one after the other.
    PerServer,
}

/// Users who read pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Web {
    /// Model of the users: SURGE, or that of Mah.
    pub browsing: Browsing,
    /// Number of users.
    #[schemars(range(min = 1, max = MOST_SOURCES))]
    pub users: u32,
    /// What is one connection. HTTP/1.0, of which both models are, has one per object.
    #[serde(default = "per_object")]
    pub connection: Connection,
    /// How fast responses are taken to come where the next connection begins when the last is over: a vector has a start of its own, and
    /// cannot wait for another.
    #[serde(default = "speed")]
    #[schemars(extend("not" = { "const": "unlimited" }))]
    pub speed: Quantity<Rate>,
    /// Bytes of a request, of SURGE, which has published none. The default is the mean of Mah's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub request_bytes: Option<u32>,
    /// Largest response, in bytes: SURGE's files have an almost infinite mean (a tail index of 1.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub largest_bytes: Option<u64>,
    /// Of Mah's: the folder with ns-2's tables `HttpReplyLength.cdf` and so on. Without it their summaries are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<String>,
    /// Its connections; users are the initiators.
    #[serde(default)]
    pub ends: Ends,
    /// What the tables say, once they were read.
    #[serde(skip)]
    laws: Option<Laws>,
}

fn per_object() -> Connection {
    Connection::PerObject
}

fn speed() -> Quantity<Rate> {
    Quantity::of("10mbit")
}

/// The mean of Mah's 4,100 requests, in bytes.
const REQUEST: u32 = 337;

/// HTTP's.
const PORT: u16 = 80;

/// The laws of a model.
#[derive(Clone, Debug, PartialEq)]
struct Laws {
    /// Bytes of a request.
    request: Distribution,
    /// Bytes of a response.
    response: Distribution,
    /// Objects of a page.
    objects: Distribution,
    /// Seconds from an object to the next of its page; `None`: those after the first are asked for at once.
    active: Option<Distribution>,
    /// Seconds from a page to the next.
    think: Distribution,
    /// Pages until the user goes to another server; `None`: there is one.
    stay: Option<Distribution>,
}

/// SURGE's parameters, as Barford and Crovella 1998 and its citations give them (table 2).
mod surge {
    /// Of sizes in the body: mean and standard deviation of the natural logarithm of bytes.
    pub const BODY: (f64, f64) = (9.357, 1.318);
    /// Share of the body.
    pub const BODY_SHARE: f64 = 0.93;
    /// Of sizes in the tail: smallest, in bytes, and tail index.
    pub const TAIL: (f64, f64) = (133_000.0, 1.1);
    /// Of objects of a page: smallest and tail index.
    pub const OBJECTS: (f64, f64) = (1.0, 2.43);
    /// Of active OFF times: Weibull scale in seconds, and shape.
    pub const ACTIVE: (f64, f64) = (1.46, 0.382);
    /// Of inactive OFF times: Pareto's smallest, in seconds, and tail index.
    pub const INACTIVE: (f64, f64) = (1.0, 1.5);
}

/// A table of ns-2's distribution by the name of its file, with points of it. The data are Bruce Mah's; the module they come with was
/// developed by the MASH Research Group at the University of California Berkeley.
type Points = (&'static str, [(f64, f64); 12]);

const MAH: [Points; 5] = [
    (
        "HttpConnections",
        [
            (1.0, 0.0),
            (1.0, 0.5),
            (2.389, 0.75),
            (5.711, 0.9),
            (8.988, 0.95),
            (11.45, 0.97),
            (15.01, 0.98),
            (18.11, 0.99),
            (19.7, 0.995),
            (31.0, 0.998),
            (51.46, 0.999),
            (65.0, 1.0),
        ],
    ),
    (
        "HttpReplyLength",
        [
            (0.0, 0.0),
            (102.8, 0.05),
            (109.2, 0.1),
            (560.0, 0.25),
            (2_112.0, 0.5),
            (4_797.0, 0.75),
            (12_580.0, 0.9),
            (23_330.0, 0.95),
            (47_760.0, 0.98),
            (67_380.0, 0.99),
            (477_900.0, 0.999),
            (1_636_039.0, 1.0),
        ],
    ),
    (
        "HttpRequestLength",
        [
            (0.0, 0.0),
            (117.1, 0.01),
            (134.3, 0.05),
            (147.4, 0.1),
            (203.4, 0.25),
            (230.8, 0.5),
            (281.5, 0.75),
            (1_057.0, 0.9),
            (1_079.0, 0.95),
            (1_134.0, 0.99),
            (1_190.0, 0.999),
            (1_373.0, 1.0),
        ],
    ),
    (
        "HttpServerStay",
        [
            (1.0, 0.0),
            (1.0, 0.25),
            (1.855, 0.5),
            (4.517, 0.75),
            (8.267, 0.9),
            (12.35, 0.95),
            (14.51, 0.97),
            (15.68, 0.98),
            (19.04, 0.99),
            (25.55, 0.995),
            (52.01, 0.999),
            (54.0, 1.0),
        ],
    ),
    (
        "HttpThinkTime",
        [
            (1.005, 0.0),
            (1.58, 0.05),
            (2.209, 0.1),
            (5.155, 0.25),
            (16.19, 0.5),
            (61.5, 0.75),
            (782.1, 0.9),
            (5_965.0, 0.95),
            (16_210.0, 0.97),
            (27_320.0, 0.98),
            (61_430.0, 0.99),
            (86_394.941, 1.0),
        ],
    ),
];

impl Laws {
    fn surge(request: u32) -> Result<Laws, DistributionError> {
        let pareto = |(min, shape)| Law::Pareto { min, shape };
        let (mu, sigma) = surge::BODY;
        let sizes = vec![
            (surge::BODY_SHARE, Law::LognormalMuSigma { mu, sigma }),
            (1.0 - surge::BODY_SHARE, pareto(surge::TAIL)),
        ];
        let (scale, shape) = surge::ACTIVE;
        Ok(Laws {
            request: Distribution::constant(f64::from(request))?,
            response: Distribution::new(Law::Mixture(sizes))?,
            objects: whole(pareto(surge::OBJECTS), Rounding::Down)?,
            active: Some(Distribution::new(Law::Weibull { shape, scale })?),
            think: Distribution::new(pareto(surge::INACTIVE))?,
            stay: None,
        })
    }

    /// Mah's, of which `law` knows each by the name of its table.
    fn mah<E>(mut law: impl FnMut(&'static str) -> Result<Distribution, E>) -> Result<Laws, E> {
        let whole = |law: Distribution| whole(law.law().clone(), Rounding::Up).unwrap_or(law);
        Ok(Laws {
            request: law("HttpRequestLength")?,
            response: law("HttpReplyLength")?,
            objects: whole(law("HttpConnections")?),
            active: None,
            think: law("HttpThinkTime")?,
            stay: Some(whole(law("HttpServerStay")?)),
        })
    }
}

/// A law of counts.
fn whole(of: Law, to: Rounding) -> Result<Distribution, DistributionError> {
    Distribution::new(Law::Rounded { of: Box::new(of), to })
}

/// A count, one at least.
fn count(law: &Distribution, u: f64) -> u64 {
    law.quantile(u).clamp(1.0, (MOST_ADUS / 2) as f64) as u64
}

impl Web {
    /// Users of a model, with a connection per object.
    pub fn new(browsing: Browsing, users: u32) -> Web {
        Web {
            browsing,
            users,
            connection: per_object(),
            speed: speed(),
            request_bytes: None,
            largest_bytes: None,
            tables: None,
            ends: Ends::default(),
            laws: None,
        }
    }

    /// Takes its laws from ns-2's tables, by their names without an ending: `HttpReplyLength`.
    ///
    /// # Errors
    /// The reader's, or a table that is no cumulative histogram.
    pub fn read_tables<E>(&mut self, read: Read<'_, E>) -> Result<(), TableError<E>> {
        self.laws = Some(Laws::mah(|table| tabled(read, table))?);
        Ok(())
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check(&self) -> Result<(), Impossible> {
        sources("users", self.users)?;
        if self.request_bytes == Some(0) || self.largest_bytes == Some(0) {
            let key = if self.request_bytes == Some(0) { "request-bytes" } else { "largest-bytes" };
            return Err(Impossible::new(key, "of 0 asks for nothing"));
        }
        match self.browsing {
            Browsing::Surge if self.tables.is_some() => Err(Impossible::new("tables", "are of browsing = \"mah\"")),
            Browsing::Mah if self.request_bytes.is_some() => {
                Err(Impossible::new("request-bytes", "is of browsing = \"surge\""))
            }
            _ if self.speed.value.bits_per_second().is_none() => Err(Impossible::new("speed", "must have a limit")),
            _ => self.ends.check(),
        }
    }

    fn laws(&self) -> Laws {
        let points = |table| {
            let (_, rows) = MAH.into_iter().find(|(name, _)| *name == table).expect("a table of Mah's");
            histogram(rows.to_vec())
        };
        match (&self.laws, self.browsing) {
            (Some(laws), _) => laws.clone(),
            (None, Browsing::Surge) => Laws::surge(self.request_bytes.unwrap_or(REQUEST)).expect("published laws"),
            (None, Browsing::Mah) => Laws::mah(points).expect("points that rise"),
        }
    }

    /// What its users ask for in `duration`.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let model = Arc::new((self.clone(), self.laws()));
        Merged::new((0..u64::from(self.users)).map(move |number| User::new(model.clone(), seed, number, duration)))
    }

    /// How long an object of a connection takes, and its handshake where it is new.
    fn takes(&self, bytes: f64, is_new: bool) -> Duration {
        let speed = self.speed.value.bits_per_second().unwrap_or(u64::MAX);
        let rtt = self.ends.rtt.as_ref().map_or(Duration::ZERO, |rtt| rtt.value);
        rtt * (1 + u64::from(is_new)) + Duration::from_secs_f64(8.0 * bytes / speed as f64)
    }
}

/// An object of a page.
#[derive(Clone, Copy, Debug)]
struct Object {
    request: f64,
    response: f64,
    /// From the object before it, or from what was read before its page.
    after: Duration,
}

/// One user.
struct User {
    model: Arc<(Web, Laws)>,
    seed: u64,
    number: u64,
    /// Pages so far.
    pages: u64,
    /// Connections so far.
    connections: u64,
    /// When the next page is asked for.
    now: Time,
    end: Time,
    thinks: Stream,
    stays: Stream,
    /// Of a page whose objects have connections of their own: those that are to come, and when.
    rest: std::collections::VecDeque<(Time, Object)>,
}

impl User {
    fn new(model: Arc<(Web, Laws)>, seed: u64, number: u64, duration: Duration) -> User {
        let stream = |purpose| Source(number, 0).stream(seed, purpose);
        // Users do not all begin at once: each begins within a time of reading.
        let mut phases = stream(Purpose::Phases);
        let first = model.1.think.quantile(phases.uniform()) * phases.uniform();
        User {
            seed,
            number,
            pages: 0,
            connections: 0,
            now: Time::ZERO + Duration::from_secs_f64(first),
            end: Time::ZERO + duration,
            thinks: stream(Purpose::SessionGaps),
            stays: stream(Purpose::Stays),
            rest: std::collections::VecDeque::new(),
            model,
        }
    }

    /// The objects of the next page.
    fn page(&mut self) -> Vec<Object> {
        let (model, laws) = &*self.model;
        let stream = |purpose| Source(self.number, self.pages).stream(self.seed, purpose);
        let (mut requests, mut responses, mut gaps) =
            (stream(Purpose::Handshakes), stream(Purpose::ItemBytes), stream(Purpose::Gaps));
        let objects = count(&laws.objects, stream(Purpose::Items).uniform());
        self.pages += 1;
        (0..objects)
            .map(|object| {
                let after = laws.active.as_ref().filter(|_| object > 0).map(|law| law.quantile(gaps.uniform()));
                Object {
                    request: laws.request.quantile(requests.uniform()),
                    response: laws
                        .response
                        .quantile(responses.uniform())
                        .min(model.largest_bytes.unwrap_or(MOST_BYTES) as f64),
                    after: Duration::from_secs_f64(after.unwrap_or_default()),
                }
            })
            .collect()
    }

    /// How long the user reads.
    fn think(&mut self) -> Duration {
        let u = self.thinks.uniform();
        Duration::from_secs_f64(self.model.1.think.quantile(u)).max(Duration::from_nanos(1))
    }

    fn talk(&mut self, at: Time) -> Talk {
        let source = Source(self.number, self.connections);
        self.connections += 1;
        Talk::new(&self.model.0.ends, at, Some(PORT), source)
    }

    /// Adds a page to a connection; how long it takes.
    fn read(&mut self, talk: &mut Talk, is_new: bool) -> Duration {
        let mut takes = Duration::ZERO;
        for (at, object) in self.page().into_iter().enumerate() {
            talk.wait(object.after);
            ask(talk, object);
            takes += object.after + self.model.0.takes(object.response, is_new && at == 0);
        }
        takes
    }

    /// Lays out the objects of a page that have connections of their own; the page is over when the last is.
    fn spread(&mut self) {
        let (page, model) = (self.page(), self.model.clone());
        let (mut at, mut over) = (self.now, self.now);
        for (number, object) in page.into_iter().enumerate() {
            at += object.after;
            self.rest.push_back((at, object));
            let done = at + model.0.takes(object.response, true);
            over = over.max(done);
            // Those after the first wait for it, and for one another where the model has a time between them.
            if number == 0 || model.1.active.is_some() {
                at = done;
            }
        }
        self.now = over;
        let think = self.think();
        self.now += think;
    }
}

/// Adds an object.
fn ask(talk: &mut Talk, object: Object) {
    talk.send(Side::Initiator, object.request);
    talk.send(Side::Acceptor, object.response);
}

impl Iterator for User {
    type Item = ConnectionVector;

    fn next(&mut self) -> Option<ConnectionVector> {
        let connection = self.model.0.connection;
        if connection == Connection::PerObject {
            if self.rest.is_empty() && self.now < self.end {
                self.spread();
            }
            let (at, object) = self.rest.pop_front().filter(|(at, _)| *at < self.end)?;
            let mut talk = self.talk(at);
            ask(&mut talk, object);
            return talk.close(Side::Acceptor);
        }
        if self.now >= self.end {
            return None;
        }
        let mut talk = self.talk(self.now);
        let stays = self.stays.uniform();
        let stay = self.model.1.stay.as_ref().map_or(u64::MAX, |stay| count(stay, stays));
        let pages = if connection == Connection::PerPage { 1 } else { stay };
        for page in 0..pages {
            let takes = self.read(&mut talk, page == 0);
            self.now += takes;
            let think = self.think();
            self.now += think;
            if self.now >= self.end || talk.len() >= MOST_ADUS {
                break;
            }
            if page + 1 < pages {
                talk.wait(think);
            }
        }
        talk.close(Side::Initiator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(model: &Web, seconds: u64) -> Vec<ConnectionVector> {
        model.check().unwrap();
        model.vectors(1, Duration::from_secs(seconds)).collect()
    }

    /// What the parameters say, computed by hand.
    #[test]
    fn surge_has_its_laws() {
        let laws = Laws::surge(REQUEST).unwrap();
        let close = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-3, "{found}, not {wanted}");
        // Inactive: (1 - u)^(-1 / 1.5); active: 1.46 (-ln(1 - u))^(1 / 0.382).
        close(laws.think.quantile(0.9), 10.0_f64.powf(1.0 / 1.5));
        close(laws.active.as_ref().unwrap().quantile(0.5), 1.46 * std::f64::consts::LN_2.powf(1.0 / 0.382));
        // One object up to 1 - 2^-2.43.
        let one = 1.0 - 2.0_f64.powf(-2.43);
        assert_eq!([one - 0.01, one + 0.01].map(|u| count(&laws.objects, u)), [1, 2]);
        // Above a MB there is the tail and 0.02 % of the body.
        let tail = 0.07 * (133_000.0_f64 / 1e6).powf(1.1);
        let body = 0.93 * 0.5 * libm::erfc(((1e6_f64).ln() - 9.357) / 1.318 / 2.0_f64.sqrt());
        close(laws.response.ccdf(1e6), tail + body);
    }

    /// Means of the points are near those of the tables, whose quantiles they are.
    #[test]
    fn mahs_points_have_about_the_means_of_the_tables() {
        for (name, mean) in [
            ("HttpConnections", 2.84),
            ("HttpReplyLength", 7_231.0),
            ("HttpRequestLength", 337.3),
            ("HttpServerStay", 4.01),
            ("HttpThinkTime", 1_804.0),
        ] {
            let (_, points) = MAH.into_iter().find(|(table, _)| *table == name).unwrap();
            let found = histogram(points.to_vec()).unwrap().mean().unwrap();
            assert!((found / mean - 1.0).abs() < 0.2, "{name}: {found}, not {mean}");
        }
    }

    #[test]
    fn an_object_is_a_request_and_a_response() {
        for browsing in [Browsing::Surge, Browsing::Mah] {
            let found = vectors(&Web::new(browsing, 50), 300);
            assert!(found.len() > 500, "{}", found.len());
            assert!(found.windows(2).all(|pair| pair[0].start <= pair[1].start && pair[0].id + 1 == pair[1].id));
            for vector in &found {
                let sides: Vec<Side> = vector.adus.iter().map(|adu| adu.side).collect();
                assert_eq!(sides, [Side::Initiator, Side::Acceptor]);
                assert_eq!(vector.ends.acceptor.port, Some(80));
            }
            let mut sizes: Vec<u64> = found.iter().map(|vector| vector.bytes(Side::Acceptor)).collect();
            sizes.sort_unstable();
            let median = sizes[sizes.len() / 2] as f64;
            // Of SURGE the median of the mixture: a share 0.5 / 0.93 of the body, a little more than its median.
            let wanted = if browsing == Browsing::Surge { 13_100.0 } else { 2_112.0 };
            assert!((median / wanted - 1.0).abs() < 0.15, "{browsing:?}: {median}");
        }
    }

    /// The same pages in more or fewer connections: within a page its objects, within a stay its pages.
    #[test]
    fn connections_carry_objects_pages_or_stays() {
        for browsing in [Browsing::Surge, Browsing::Mah] {
            let of = |connection| vectors(&Web { connection, ..Web::new(browsing, 30) }, 120);
            let [objects, pages, stays] = [Connection::PerObject, Connection::PerPage, Connection::PerServer].map(of);
            assert!(objects.len() > pages.len() && pages.len() > stays.len(), "{browsing:?}");
            // The first page of a user is the same.
            let first = |vectors: &[ConnectionVector]| {
                let of_user = vectors.iter().find(|vector| vector.label.unwrap().subset == 7).unwrap();
                (of_user.start, of_user.adus[0].bytes, of_user.adus[1].bytes)
            };
            assert_eq!((first(&objects), first(&pages)), (first(&pages), first(&stays)));
            if browsing == Browsing::Surge {
                assert!(stays.len() <= 30, "there is one server");
            }
        }
    }

    /// Mah's objects after the first are asked for at once when it has come; SURGE's one by one.
    #[test]
    fn objects_of_a_page_in_time() {
        let ends = || Ends { rtt: Some(Quantity::of("100ms")), ..Ends::default() };
        let starts = |browsing| {
            let found = vectors(&Web { ends: ends(), speed: Quantity::of("100mbit"), ..Web::new(browsing, 200) }, 60);
            let mut of_users: Vec<Vec<Time>> = vec![Vec::new(); 200];
            found.iter().for_each(|vector| of_users[vector.label.unwrap().subset as usize].push(vector.start));
            of_users
        };
        let at_once = |users: Vec<Vec<Time>>| {
            users.iter().flat_map(|starts| starts.windows(2)).filter(|pair| pair[0] == pair[1]).count()
        };
        assert!(at_once(starts(Browsing::Mah)) > 50);
        assert_eq!(at_once(starts(Browsing::Surge)), 0);
    }

    #[test]
    fn tables_take_the_place_of_points() {
        let mut model = Web::new(Browsing::Mah, 1);
        model
            .read_tables::<()>(&mut |table| Ok(vec![(if table == "HttpReplyLength" { 9.0 } else { 2.0 }, 1.0)]))
            .unwrap();
        let found = vectors(&Web { connection: Connection::PerServer, ..model }, 60);
        // Two pages of two objects at each server, two seconds apart.
        assert_eq!(found[0].adus.iter().map(|adu| adu.bytes).collect::<Vec<_>>(), [2, 9, 2, 9, 2, 9, 2, 9]);
        assert!(found.len() > 10);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let problem = |model: Web| model.check().unwrap_err().to_string();
        let surge = || Web::new(Browsing::Surge, 1);
        assert_eq!(problem(Web { tables: Some("x".into()), ..surge() }), "tables are of browsing = \"mah\"");
        assert_eq!(problem(Web { largest_bytes: Some(0), ..surge() }), "largest-bytes of 0 asks for nothing");
        let mah = Web { request_bytes: Some(1), ..Web::new(Browsing::Mah, 1) };
        assert_eq!(problem(mah), "request-bytes is of browsing = \"surge\"");
    }
}
