//! Foreign bytes, mutated: nothing panics, and nothing that was signed is believed once a bit of it is another.

use flowloom_lab::agent::limits::{DEFAULT, Limits};
use flowloom_lab::authority::enrolment::{Answer, Request, join, new_key};
use flowloom_lab::authority::folder::{INVITATION_S, Invitation};
use flowloom_lab::authority::identity::{Certified, Role};
use flowloom_lab::authority::statement::{Kind, sign, verify};
use flowloom_lab::authority::token::Token;
use flowloom_lab::clock::{Clock, HostClock};
use flowloom_lab::rpc::Signed;

use crate::common::Lab;

/// Changes bytes as they come: the same in every run.
struct Mutator(u64);

impl Mutator {
    fn next(&mut self, below: usize) -> usize {
        // xorshift (Marsaglia 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    /// Another than `from`: bits flipped, bytes put in, taken out or cut off.
    fn mutated(&mut self, from: &[u8]) -> Vec<u8> {
        let mut bytes = from.to_vec();
        while bytes == from {
            for _ in 0..=self.next(3) {
                let at = self.next(bytes.len());
                match self.next(5) {
                    0 if !bytes.is_empty() => bytes.truncate(at),
                    1 if !bytes.is_empty() => drop(bytes.remove(at)),
                    2 => bytes.insert(at, self.next(256) as u8),
                    _ if !bytes.is_empty() => bytes[at] ^= 1 << self.next(8),
                    _ => {}
                }
            }
        }
        bytes
    }

    fn text(&mut self, from: &str) -> String {
        String::from_utf8_lossy(&self.mutated(from.as_bytes())).into_owned()
    }
}

#[test]
fn tokens_and_limits_are_read_whatever_they_are() {
    let lab = Lab::new();
    let invitation = Invitation {
        name: "east".parse().unwrap(),
        role: Role::Agent,
        until_unix_s: HostClock.unix_s() + INVITATION_S,
        certificate_days: 1,
    };
    let token = lab.authority.invite(&invitation, Some("[2001:db8::1]:42011".to_owned())).unwrap().to_string();
    let mut mutator = Mutator(1);
    let (mut tokens, mut limits) = (0, 0);
    for _ in 0..20_000 {
        tokens += u32::from(mutator.text(&token).parse::<Token>().is_ok());
        limits += u32::from(Limits::parse(&mutator.text(DEFAULT)).is_ok());
    }
    // Some are still tokens, of another lab or with another secret, and limits with another comment or number.
    assert!(tokens > 0 && tokens < 20_000 && limits > 0 && limits < 20_000, "{tokens}, {limits}");
}

#[test]
fn only_what_was_signed_lets_in() {
    let lab = Lab::new();
    let mut mutator = Mutator(2);
    let now = HostClock.unix_s();
    let invitation = Invitation {
        name: "east".parse().unwrap(),
        role: Role::Agent,
        until_unix_s: now + INVITATION_S,
        certificate_days: 1,
    };
    let token = lab.authority.invite(&invitation, None).unwrap();
    let key = new_key().unwrap();
    let request = serde_json::to_string(&Request::new(&token, &key).unwrap()).unwrap();
    let mut admitted = None;
    for _ in 0..3_000 {
        let Ok(request) = serde_json::from_str::<Request>(&mutator.text(&request)) else { continue };
        // What JSON allows without meaning another request, such as a space, lets in as the request does; once.
        if let Ok((who, answer)) = lab.authority.admit(&request, now) {
            assert!(admitted.is_none(), "a token counts once");
            assert_eq!(who.name.as_str(), "east");
            admitted = Some(answer);
        }
    }
    let answer = match admitted {
        Some(answer) => answer,
        None => lab.authority.admit(&serde_json::from_str(&request).unwrap(), now).unwrap().1,
    };
    let answer = serde_json::to_string(&answer).unwrap();
    for at in 0..3_000 {
        let Ok(answer) = serde_json::from_str::<Answer>(&mutator.text(&answer)) else { continue };
        let folder = lab.place.path().join(format!("member-{at}"));
        match join(&folder, &token.authority, &key, &answer, &[], now) {
            Ok(who) => assert_eq!((who.name.as_str(), who.role), ("east", Role::Agent)),
            Err(_) => assert!(!folder.exists(), "nothing half-made is left"),
        }
    }
}

#[test]
fn statements_certificates_and_revocations_are_believed_whole_or_not_at_all() {
    let lab = Lab::new();
    let caller = lab.controller();
    let (own, trust) = (&caller.own, &caller.trust);
    let now = HostClock.unix_s();
    let signed = sign(own, Kind::Consent, b"any statement".to_vec()).unwrap();
    assert!(verify(trust, Kind::Consent, &signed, now).is_ok());
    let mut mutator = Mutator(3);
    for at in 0..3_000 {
        let mut other = signed.clone();
        let Signed { statement, signature, certificate } = &mut other;
        let part = [statement, signature, certificate].into_iter().nth(at % 3).unwrap();
        *part = mutator.mutated(part);
        assert!(verify(trust, Kind::Consent, &other, now).is_err(), "{other:?}");
        // Reading alone believes nothing; it must not panic.
        let _ = Certified::read(&mutator.mutated(&signed.certificate));
        let list = mutator.mutated(trust.revocations());
        assert!(!matches!(trust.newer(&list), Ok(Some(_))), "{list:?}");
    }
}
