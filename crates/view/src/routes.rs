//! A request into a response.

use std::convert::Infallible;
use std::sync::Arc;

use flowloom::view::{Answer, Question, Shelf, StopRequest};
use flowloom::{Error, ErrorKind};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::events;
use crate::guard::{Guard, Passed, Refused};
use crate::pages::{PAGES, Page, TOKEN_PLACE};

/// The body of a response: whole, or a stream of events.
pub(crate) type Body = BoxBody<Bytes, Infallible>;

const JSON: &str = "application/json; charset=utf-8";

/// Scripts and styles are files of this server, and nothing else is loaded or asked.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A report has a policy of its own inside, with the hashes of its script and style. Someone else may have written it: it is of no origin, so
/// that it can ask this server nothing, and it can load nothing.
const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; \
                             style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
                             frame-ancestors 'none'";

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

/// What answers need.
pub(crate) struct Routes {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) guard: Guard,
    /// Questions that are answered at the same time.
    pub(crate) places: Semaphore,
    /// Streams at the same time.
    pub(crate) streams: Arc<Semaphore>,
}

impl Routes {
    /// The response to a request.
    pub(crate) async fn respond(&self, request: &Parts) -> Response<Body> {
        let mut response = match self.guard.check(request) {
            Err(Refused { status, why }) => {
                // Whoever has no token has no connection to keep either.
                let mut response = refusal(status, why, None);
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                response
            }
            Ok(Passed::ByLink) => self.take_token(),
            Ok(Passed::In) => self.answer(request).await,
            Ok(Passed::Stop) => self.stop(request).await,
        };
        if request.method == Method::HEAD {
            *response.body_mut() = whole(Bytes::new());
        }
        let headers = response.headers_mut();
        headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
        response
    }

    /// Puts the token of a link into a cookie, and takes it out of the URL.
    fn take_token(&self) -> Response<Body> {
        let mut response = of(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Bytes::new());
        let cookie = self
            .guard
            .token()
            .map(|token| format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.guard.cookie()));
        if let Some(Ok(value)) = cookie.map(HeaderValue::try_from) {
            response.headers_mut().insert(SET_COOKIE, value);
        }
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
        response
    }

    async fn answer(&self, request: &Parts) -> Response<Body> {
        let path = request.uri.path();
        if let Some(page) = PAGES.iter().find(|page| page.path == path) {
            let mut response = of(StatusCode::OK, page.kind, self.bytes_of(page));
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            return response;
        }
        let question = match Question::parse(path, request.uri.query().unwrap_or_default()) {
            None => return refusal(StatusCode::NOT_FOUND, "there is no such page", None),
            Some(Err(error)) => return failure(&error),
            Some(Ok(Question::Follow { run })) => return self.follow(run).await,
            Some(Ok(question)) => question,
        };
        self.ask(move |shelf| shelf.answer(&question)).await
    }

    /// Asks a run to stop.
    async fn stop(&self, request: &Parts) -> Response<Body> {
        match StopRequest::parse(request.uri.query().unwrap_or_default()) {
            Err(error) => failure(&error),
            Ok(stop) => self.ask(move |shelf| shelf.stop(&stop)).await,
        }
    }

    /// The bytes of a page. The one that a browser opens has the token in it.
    fn bytes_of(&self, page: &Page) -> Bytes {
        match std::str::from_utf8(page.bytes) {
            Ok(text) if page.path == "/" => text.replace(TOKEN_PLACE, self.guard.page_token()).into(),
            _ => Bytes::from_static(page.bytes),
        }
    }

    /// News of a run until it ends.
    async fn follow(&self, run: String) -> Response<Body> {
        let Ok(place) = Arc::clone(&self.streams).try_acquire_owned() else {
            let why = "as many runs as possible are followed: close another page";
            return refusal(StatusCode::SERVICE_UNAVAILABLE, why, None);
        };
        let (shelf, asked) = (Arc::clone(&self.shelf), run.clone());
        let followed = match tokio::task::spawn_blocking(move || shelf.follow(&asked)).await {
            Ok(Ok(Some(followed))) => followed,
            Ok(Ok(None)) => {
                return refusal(StatusCode::NOT_FOUND, &format!("there is no run under way {run:?}"), None);
            }
            Ok(Err(error)) => return failure(&error),
            Err(_) => return refusal(StatusCode::INTERNAL_SERVER_ERROR, "the answer failed", None),
        };
        let mut response = Response::new(events::stream(Arc::clone(&self.shelf), followed, place));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response
    }

    /// What the folders say, once there is a place for it.
    async fn ask(&self, asked: impl FnOnce(&Shelf) -> Result<Answer, Error> + Send + 'static) -> Response<Body> {
        let Ok(place) = self.places.acquire().await else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server ends", None);
        };
        let shelf = Arc::clone(&self.shelf);
        let answered = tokio::task::spawn_blocking(move || asked(&shelf)).await;
        drop(place);
        match answered {
            Ok(Ok(answer)) => told(answer),
            Ok(Err(error)) => failure(&error),
            Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "the answer failed", None),
        }
    }
}

fn told(answer: Answer) -> Response<Body> {
    match answer {
        Answer::Json(bytes) => of(StatusCode::OK, JSON, bytes.into()),
        Answer::Csv(text) => {
            let mut response = of(StatusCode::OK, "text/csv; charset=utf-8", text.into());
            let name = HeaderValue::from_static("attachment; filename=\"counters.csv\"");
            response.headers_mut().insert(CONTENT_DISPOSITION, name);
            response
        }
        Answer::Report(bytes) => {
            let mut response = of(StatusCode::OK, "text/html; charset=utf-8", bytes.into());
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
            response
        }
        Answer::Nothing(why) => refusal(StatusCode::NOT_FOUND, &why, None),
        Answer::Forbidden(why) => refusal(StatusCode::FORBIDDEN, &why, None),
    }
}

/// What went wrong with an answer: the question, or what is stored.
fn failure(error: &Error) -> Response<Body> {
    let status = match error.kind {
        ErrorKind::Usage => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refusal(status, &error.cause, error.hint.as_deref())
}

fn refusal(status: StatusCode, why: &str, hint: Option<&str>) -> Response<Body> {
    let body = json!({ "error": why, "hint": hint }).to_string();
    let mut response = of(status, JSON, body.into());
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

fn of(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).boxed()
}
