//! The life of a lab's members: invited, enrolled, expired, revoked.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use flowloom_lab::authority::admission::{Admission, Asked, ask};
use flowloom_lab::authority::credentials::Credentials;
use flowloom_lab::authority::enrolment::{Pending, Request, join, new_key};
use flowloom_lab::authority::folder::{Authority, INVITATION_S, Invitation, MEMBER_DAYS};
use flowloom_lab::authority::identity::Role;
use flowloom_lab::authority::statement::{self, Kind};
use flowloom_lab::authority::token::Token;
use flowloom_lab::authority::{DAY_S, Error};
use tempfile::TempDir;

/// 2026-01-01.
const NOW: i64 = 1_767_225_600;

fn lab() -> (TempDir, Authority) {
    let place = tempfile::tempdir().unwrap();
    let authority = Authority::init(&place.path().join("lab"), "test", NOW).unwrap();
    (place, authority)
}

fn invitation(name: &str) -> Invitation {
    Invitation {
        name: name.parse().unwrap(),
        role: Role::Agent,
        until_unix_s: NOW + INVITATION_S,
        certificate_days: MEMBER_DAYS,
    }
}

fn enrol(authority: &Authority, token: &Token, folder: &Path, now: i64) -> Result<Credentials, Error> {
    let key = new_key()?;
    let (_, answer) = authority.admit(&Request::new(token, &key)?, now)?;
    join(folder, &token.authority, &key, &answer, &[], now)?;
    Credentials::load(folder)
}

fn refusal<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Refused(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn a_lab_is_private_and_not_replaced() {
    let (place, authority) = lab();
    let folder = place.path().join("lab");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in ["authority-key.pem", "key.pem", "certificate.pem", "issued.jsonl"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    let own = authority.credentials().unwrap();
    assert_eq!(own.identity().to_string(), "controller controller");
    assert_eq!(own.identity().lab, authority.lab());
    let before = fs::read(folder.join("authority-key.pem")).unwrap();
    assert!(refusal(Authority::init(&folder, "other", NOW)).contains("exists already"));
    assert_eq!(fs::read(folder.join("authority-key.pem")).unwrap(), before);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn tokens_count_once_in_time_and_in_their_lab() {
    let (place, authority) = lab();
    let token = authority.invite(&invitation("east"), None).unwrap();
    let secret_kept = fs::read_dir(place.path().join("lab/invitations")).unwrap().any(|entry| {
        let entry = entry.unwrap();
        let shown = entry.file_name().to_string_lossy().into_owned() + &fs::read_to_string(entry.path()).unwrap();
        shown.contains(&token.to_string())
    });
    assert!(!secret_kept, "what is kept of a token is a hash");
    let folder = place.path().join("east");
    let own = enrol(&authority, &token, &folder, NOW).unwrap();
    assert_eq!(own.identity().to_string(), "agent east");
    assert_eq!(own.not_after_unix_s(), NOW + MEMBER_DAYS * DAY_S);
    assert!(refusal(enrol(&authority, &token, &place.path().join("again"), NOW)).contains("has been used"));

    let late = authority.invite(&invitation("late"), None).unwrap();
    assert!(refusal(enrol(&authority, &late, &place.path().join("late"), NOW + INVITATION_S)).contains("expired"));

    let (_other_place, other) = lab();
    let foreign = other.invite(&invitation("spy"), None).unwrap();
    assert!(refusal(enrol(&authority, &foreign, &place.path().join("spy"), NOW)).contains("another lab"));
    // An answer of another lab than the token's is not believed either.
    let key = new_key().unwrap();
    let (_, answer) = other.admit(&Request::new(&foreign, &key).unwrap(), NOW).unwrap();
    assert!(
        refusal(join(&place.path().join("spy"), &token.authority, &key, &answer, &[], NOW)).contains("another lab")
    );
    let stranger = new_key().unwrap();
    assert!(
        refusal(join(&place.path().join("spy"), &foreign.authority, &stranger, &answer, &[], NOW))
            .contains("another key")
    );
    assert!(!place.path().join("spy").exists());
}

#[test]
fn enrolment_by_files() {
    let (place, authority) = lab();
    let token = authority.invite(&invitation("west"), None).unwrap();
    let folder = place.path().join("west");
    let pending = Pending::of(&folder);
    let request = serde_json::to_string(&pending.begin(&token).unwrap()).unwrap();
    let (_, answer) = authority.admit(&serde_json::from_str(&request).unwrap(), NOW).unwrap();
    let answer = serde_json::to_string(&answer).unwrap();
    assert!(!request.contains("PRIVATE") && !answer.contains("PRIVATE"));
    let who = pending.end(&folder, &serde_json::from_str(&answer).unwrap(), &[("limits.toml", "# none")], NOW).unwrap();
    assert_eq!(who.to_string(), "agent west");
    assert_eq!(fs::read_to_string(folder.join("limits.toml")).unwrap(), "# none");
    assert!(!place.path().join("west.pending").exists());
    Credentials::load(&folder).unwrap();
}

#[test]
fn expired_revoked_and_foreign_certificates_are_not_believed() {
    let (place, authority) = lab();
    let enrolled = |name: &str| {
        let token = authority.invite(&invitation(name), None).unwrap();
        enrol(&authority, &token, &place.path().join(name), NOW).unwrap()
    };
    let (east, west) = (enrolled("east"), enrolled("west"));
    let trust = east.trust();
    assert_eq!(trust.member(west.certificate(), NOW).unwrap().identity, *west.identity());
    assert!(refusal(trust.member(west.certificate(), NOW + 366 * DAY_S)).contains("expired"));
    assert!(refusal(trust.member(west.certificate(), NOW - DAY_S)).contains("later on"));
    assert_eq!(west.ends_soon(NOW + 300 * DAY_S), None);
    assert!(west.ends_soon(NOW + 340 * DAY_S).unwrap().contains("ends in 25 days"));
    assert!(west.ends_soon(NOW + 366 * DAY_S).unwrap().contains("has expired"));

    let (_place, other) = lab();
    let foreign = other.credentials().unwrap();
    assert!(refusal(trust.member(foreign.certificate(), NOW)).contains("another lab"));

    assert_eq!(authority.revoke(&"west".parse().unwrap(), NOW).unwrap(), 1);
    assert_eq!(authority.revoke(&"west".parse().unwrap(), NOW).unwrap(), 0);
    assert!(refusal(authority.revoke(&"nobody".parse().unwrap(), NOW)).contains("no certificate"));
    let lists = authority.credentials().unwrap().trust().revocations().to_vec();
    let newer = trust.newer(&lists).unwrap().expect("a newer list");
    assert!(refusal(newer.member(west.certificate(), NOW)).contains("revoked"));
    assert_eq!(newer.member(east.certificate(), NOW).unwrap().identity, *east.identity());
    assert!(newer.newer(trust.revocations()).unwrap().is_none(), "an older list changes nothing");
    assert!(newer.newer(foreign.trust().revocations()).is_err(), "another lab's list is none");
    for at in (0..lists.len()).step_by(7) {
        let mut bad = lists.clone();
        bad[at] ^= 0x10;
        assert!(!matches!(trust.newer(&bad), Ok(Some(_))), "a list with a changed byte counts");
    }
}

#[test]
fn statements_are_their_signers() {
    let (place, authority) = lab();
    let token = authority.invite(&invitation("east"), None).unwrap();
    let east = enrol(&authority, &token, &place.path().join("east"), NOW).unwrap();
    let own = authority.credentials().unwrap();
    let signed = statement::sign(&east, Kind::Consent, b"I agree".to_vec()).unwrap();
    let verify = |kind, signed: &_, now| statement::verify(own.trust(), kind, signed, now);
    assert_eq!(verify(Kind::Consent, &signed, NOW).unwrap().identity, *east.identity());
    assert!(verify(Kind::Delegation, &signed, NOW).is_err(), "another kind");
    assert!(verify(Kind::Consent, &signed, NOW + 400 * DAY_S).is_err(), "expired");
    let mut changed = signed.clone();
    changed.statement[0] ^= 1;
    assert!(verify(Kind::Consent, &changed, NOW).is_err());
    let mut stolen = signed.clone();
    stolen.certificate = own.certificate().to_vec();
    assert!(verify(Kind::Consent, &stolen, NOW).is_err());
    authority.revoke(&"east".parse().unwrap(), NOW).unwrap();
    let after = authority.credentials().unwrap();
    assert!(statement::verify(after.trust(), Kind::Consent, &signed, NOW).is_err(), "revoked");
}

/// The authority's clock is that of the tests; TLS reads the host's.
fn host_now() -> i64 {
    use flowloom_lab::clock::{Clock, HostClock};
    HostClock.unix_s()
}

#[tokio::test]
async fn enrolment_over_the_network() {
    let place = tempfile::tempdir().unwrap();
    let now = host_now();
    let authority = Arc::new(Authority::init(&place.path().join("lab"), "test", now).unwrap());
    let invited = Invitation { until_unix_s: now + INVITATION_S, ..invitation("north") };
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let admission = Admission::listen(Arc::clone(&authority), any).await.unwrap();
    let address = admission.address().unwrap().to_string();
    let seen: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let told = Arc::clone(&seen);
    let serving = tokio::spawn(async move {
        admission.serve(host_now, move |asked| told.lock().unwrap().push(asked)).await;
    });

    let token = authority.invite(&invited, Some(address.clone())).unwrap();
    let key = new_key().unwrap();
    let request = Request::new(&token, &key).unwrap();
    let answer = ask(&token, &address, &request).await.unwrap();
    let who = join(&place.path().join("north"), &token.authority, &key, &answer, &[], now).unwrap();
    assert_eq!(who.to_string(), "agent north");
    assert!(refusal(ask(&token, &address, &request).await).contains("has been used"));

    // Of whom the token does not speak, the one who comes asks nothing.
    let other = Authority::init(&place.path().join("other"), "other", now).unwrap();
    let foreign = other.invite(&invited, Some(address.clone())).unwrap();
    assert!(refusal(ask(&foreign, &address, &request).await).contains("nothing was sent"));
    serving.abort();
    let seen = seen.lock().unwrap();
    assert!(seen[0].outcome.is_ok() && seen[1].outcome.is_err(), "{seen:?}");
}
