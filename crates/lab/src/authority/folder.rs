//! The authority's folder, which is also the first controller's: invitations, what was issued, what is revoked.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use rcgen::{Issuer, KeyPair, PublicKeyData};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use super::credentials::{AUTHORITY, Credentials, MOST_BYTES, Parts, REVOKED};
use super::enrolment::{Answer, Request};
use super::error::{DAY_S, Error};
use super::identity::{Certified, Identity, LabId, Name, Role, lab_of};
use super::token::Token;
use super::{files, issue};

/// The authority's key.
const AUTHORITY_KEY: &str = "authority-key.pem";
/// A file for each invitation that nobody has come by, named by the hash of its secret.
const INVITATIONS: &str = "invitations";
/// Those that were used.
const USED: &str = "used";
/// A line for each certificate.
const ISSUED: &str = "issued.jsonl";
/// Whoever changes something holds this.
const LOCK: &str = "lock";

/// How long members' certificates count, unless said otherwise.
pub const MEMBER_DAYS: i64 = 365;
/// How long an invitation counts, unless said otherwise.
pub const INVITATION_S: i64 = 3600;

/// The private certificate authority of a lab.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    lab: LabId,
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// An invitation, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// What the one who comes will be called.
    pub name: Name,
    /// And be.
    pub role: Role,
    /// Until when it may come, in seconds since 1970.
    pub until_unix_s: i64,
    /// How long its certificate will count, in days.
    pub certificate_days: i64,
}

/// A certificate that was issued, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Issued {
    name: Name,
    role: Role,
    serial: String,
    issued_unix_s: i64,
    not_after_unix_s: i64,
}

impl Authority {
    /// Makes the folder of a new lab, with an authority and a controller called "controller".
    ///
    /// # Errors
    /// If there is something at `folder`, or it cannot be written; then there is nothing of it.
    pub fn init(folder: &Path, lab_name: &str, now_unix_s: i64) -> Result<Authority, Error> {
        let (key, own_key) = (issue::new_key()?, issue::new_key()?);
        let authority = issue::authority(&key, lab_name, now_unix_s)?;
        let lab = LabId::of_key(&key.subject_public_key_info());
        let name = "controller".parse().map_err(Error::Refused)?;
        let identity = Identity { lab, role: Role::Controller, name };
        let authority_key_pem = key.serialize_pem();
        let issuer = Issuer::from_ca_cert_der(authority.der(), key).map_err(|error| Error::form("authority", error))?;
        let own = issue::member(&issuer, &own_key, &identity, now_unix_s, MEMBER_DAYS * DAY_S)?;
        let revocations = issue::revocations(&issuer, 1, &[], now_unix_s)?;
        files::create_folder(folder, |folder| {
            Parts {
                certificate_pem: &own.pem(),
                key: &own_key,
                authority_pem: &authority.pem(),
                revocations: &revocations,
            }
            .write(folder)?;
            files::write_new(&folder.join(AUTHORITY_KEY), authority_key_pem.as_bytes())?;
            files::write_new(&folder.join(LOCK), b"")?;
            files::write_new(&folder.join(ISSUED), line(&issued(own.der(), now_unix_s)?)?.as_bytes())?;
            files::private_folder(&folder.join(INVITATIONS))?;
            files::private_folder(&folder.join(USED))
        })?;
        Authority::open(folder)
    }

    /// Opens a folder that [`Authority::init`] made.
    ///
    /// # Errors
    /// If it is none, or its files do not belong together.
    pub fn open(folder: &Path) -> Result<Authority, Error> {
        let read = |name: &str| {
            String::from_utf8(files::read(&folder.join(name), MOST_BYTES)?)
                .map_err(|error| Error::form(folder.join(name).display().to_string(), error))
        };
        let certificate_pem = read(AUTHORITY)?;
        let form = |error: &dyn ToString| Error::form(folder.display().to_string(), error.to_string());
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes()).map_err(|error| form(&error))?;
        let key = KeyPair::from_pem(&read(AUTHORITY_KEY)?).map_err(|error| form(&error))?;
        let lab = lab_of(&certificate)?;
        if LabId::of_key(&key.subject_public_key_info()) != lab {
            return Err(form(&format!("{AUTHORITY_KEY} is not the key of {AUTHORITY}")));
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|error| form(&error))?;
        Ok(Authority { folder: folder.to_owned(), lab, certificate, certificate_pem, issuer })
    }

    /// Which lab it is.
    pub fn lab(&self) -> LabId {
        self.lab
    }

    /// The authority's certificate.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The controller's own credentials.
    ///
    /// # Errors
    /// As [`Credentials::load`].
    pub fn credentials(&self) -> Result<Credentials, Error> {
        Credentials::load(&self.folder)
    }

    /// Invites somebody; the token is for them alone, and what is kept of it is a hash.
    ///
    /// # Errors
    /// If the invitation cannot be written.
    pub fn invite(&self, invitation: &Invitation, address: Option<String>) -> Result<Token, Error> {
        let token = Token { authority: Token::fingerprint(&self.certificate), secret: issue::random()?, address };
        let kept = serde_json::to_vec(invitation).map_err(|error| Error::form("invitation", error))?;
        files::write_new(&self.invitation(INVITATIONS, &Token::hash(&token.secret)), &kept)?;
        Ok(token)
    }

    /// Invitations that still count.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn invited(&self, now_unix_s: i64) -> Result<Vec<Invitation>, Error> {
        let folder = self.folder.join(INVITATIONS);
        let mut invited = Vec::new();
        for entry in fs::read_dir(&folder).map_err(Error::file(&folder))? {
            let path = entry.map_err(Error::file(&folder))?.path();
            invited.push(read_invitation(&path)?);
        }
        invited.retain(|invitation| now_unix_s < invitation.until_unix_s);
        invited.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(invited)
    }

    /// Lets in whoever asks with a token that counts: it counts no longer, and there is a certificate over the key that was sent.
    ///
    /// # Errors
    /// If the token is of another lab, unknown, used or expired, or the key is none.
    pub fn admit(&self, request: &Request, now_unix_s: i64) -> Result<(Identity, Answer), Error> {
        let _lock = self.lock()?;
        let secret = request.secret()?;
        if request.authority()? != Token::fingerprint(&self.certificate) {
            return Err(Error::Refused("the token is of another lab".to_owned()));
        }
        let hash = Token::hash(&secret);
        let (waiting, used) = (self.invitation(INVITATIONS, &hash), self.invitation(USED, &hash));
        if used.exists() {
            return Err(Error::Refused("the token has been used: each counts once".to_owned()));
        }
        if !waiting.exists() {
            return Err(Error::Refused("the token is not known here".to_owned()));
        }
        let invitation = read_invitation(&waiting)?;
        if now_unix_s >= invitation.until_unix_s {
            return Err(Error::Refused(format!("the token of {} has expired: invite again", invitation.name)));
        }
        let key = request.public_key()?;
        // From here on it is used, whatever becomes of the answer.
        fs::rename(&waiting, &used).map_err(Error::file(&waiting))?;
        let identity = Identity { lab: self.lab, role: invitation.role, name: invitation.name };
        let certificate = self.issue(&identity, &key, now_unix_s, invitation.certificate_days * DAY_S)?;
        let revocations = files::read(&self.folder.join(REVOKED), MOST_BYTES)?;
        Ok((identity, Answer::new(certificate, self.certificate_pem.clone(), &revocations)))
    }

    /// Makes every certificate of `name` count no longer, and says how many those are.
    ///
    /// # Errors
    /// If no certificate of that name was issued, or the list cannot be written.
    pub fn revoke(&self, name: &Name, now_unix_s: i64) -> Result<usize, Error> {
        let _lock = self.lock()?;
        let path = self.folder.join(REVOKED);
        let bytes = files::read(&path, MOST_BYTES)?;
        let (_, list) =
            CertificateRevocationList::from_der(&bytes).map_err(|error| Error::form("list of revocations", error))?;
        let number = list.crl_number().and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
        let mut revoked: Vec<issue::Revoked> = list
            .iter_revoked_certificates()
            .map(|one| issue::Revoked {
                serial: one.raw_serial().to_vec(),
                revoked_unix_s: one.revocation_date.timestamp(),
            })
            .collect();
        let before = revoked.len();
        let of_name: Vec<Issued> = self.issued()?.into_iter().filter(|issued| issued.name == *name).collect();
        if of_name.is_empty() {
            return Err(Error::Refused(format!("no certificate of {name} was issued here")));
        }
        for issued in of_name {
            let serial = unhex(&issued.serial)
                .ok_or_else(|| Error::form(ISSUED, format!("{:?} is no number", issued.serial)))?;
            if revoked.iter().all(|one| one.serial != serial) {
                revoked.push(issue::Revoked { serial, revoked_unix_s: now_unix_s });
            }
        }
        let added = revoked.len() - before;
        if added > 0 {
            files::replace(&path, &issue::revocations(&self.issuer, number + 1, &revoked, now_unix_s)?)?;
        }
        Ok(added)
    }

    fn issue(
        &self,
        identity: &Identity,
        key: &impl PublicKeyData,
        now_unix_s: i64,
        valid_s: i64,
    ) -> Result<String, Error> {
        let certificate = issue::member(&self.issuer, key, identity, now_unix_s, valid_s)?;
        let path = self.folder.join(ISSUED);
        let line = line(&issued(certificate.der(), now_unix_s)?)?;
        // What is not written down could not be revoked: first the line, then the certificate.
        let append = || {
            let mut file = OpenOptions::new().append(true).mode(0o600).open(&path)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()
        };
        append().map_err(Error::file(&path))?;
        Ok(certificate.pem())
    }

    fn issued(&self) -> Result<Vec<Issued>, Error> {
        let path = self.folder.join(ISSUED);
        let bytes = files::read(&path, MOST_BYTES)?;
        let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        lines
            .map(|(i, line)| {
                serde_json::from_slice(line)
                    .map_err(|error| Error::form(format!("{}:{}", path.display(), i + 1), error))
            })
            .collect()
    }

    fn invitation(&self, folder: &str, hash: &str) -> PathBuf {
        self.folder.join(folder).join(format!("{hash}.json"))
    }

    fn lock(&self) -> Result<Flock<File>, Error> {
        let path = self.folder.join(LOCK);
        let lock = File::open(&path).map_err(Error::file(&path))?;
        Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| Error::file(&path)(error.into()))
    }
}

fn issued(certificate: &[u8], now_unix_s: i64) -> Result<Issued, Error> {
    let Certified { identity, serial, not_after_unix_s, .. } = Certified::read(certificate)?;
    let serial = serial.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Issued { name: identity.name, role: identity.role, serial, issued_unix_s: now_unix_s, not_after_unix_s })
}

fn line(issued: &Issued) -> Result<String, Error> {
    Ok(serde_json::to_string(issued).map_err(|error| Error::form("certificate", error))? + "\n")
}

fn read_invitation(path: &Path) -> Result<Invitation, Error> {
    let bytes = files::read(path, 4096)?;
    serde_json::from_slice(&bytes).map_err(|error| Error::form(path.display().to_string(), error))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}
