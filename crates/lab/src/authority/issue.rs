//! Certificates and revocation lists, as X.509 has them (RFC 5280): P-256 keys, numbers of 128 random bits.

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationListParams, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData, RevocationReason,
    RevokedCertParams, SanType, SerialNumber, SigningKey,
};
use ring::rand::{SecureRandom, SystemRandom};
use time::OffsetDateTime;

use super::error::{DAY_S, Error};
use super::identity::Identity;

/// How long an authority lives.
const AUTHORITY_DAYS: i64 = 20 * 365;
/// Clocks of hosts differ: a certificate counts from a little before it was made.
const BACKDATED_S: i64 = 3600;

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::Refused("the system has no random numbers".to_owned()))?;
    Ok(bytes)
}

/// A new key.
pub(super) fn new_key() -> Result<KeyPair, Error> {
    KeyPair::generate().map_err(cannot)
}

/// The certificate of a new authority over `key`.
pub(super) fn authority(key: &KeyPair, lab_name: &str, now_unix_s: i64) -> Result<Certificate, Error> {
    let mut params = params(lab_name, now_unix_s, AUTHORITY_DAYS * DAY_S)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.self_signed(key).map_err(cannot)
}

/// The certificate of a member.
pub(super) fn member(
    issuer: &Issuer<'_, impl SigningKey>,
    key: &impl PublicKeyData,
    identity: &Identity,
    now_unix_s: i64,
    valid_s: i64,
) -> Result<Certificate, Error> {
    let mut params = params(identity.name.as_str(), now_unix_s, valid_s)?;
    let ia5 = |text: String| text.try_into().map_err(cannot);
    params.subject_alt_names =
        vec![SanType::URI(ia5(identity.uri())?), SanType::DnsName(ia5(identity.lab.dns_name())?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    params.signed_by(key, issuer).map_err(cannot)
}

/// One certificate that is no longer good.
pub(super) struct Revoked {
    pub serial: Vec<u8>,
    pub revoked_unix_s: i64,
}

/// The list of them, DER. The higher `number`, the newer the list.
pub(super) fn revocations(
    issuer: &Issuer<'_, impl SigningKey>,
    number: u64,
    revoked: &[Revoked],
    now_unix_s: i64,
) -> Result<Vec<u8>, Error> {
    let revoked_certs = revoked.iter().map(|one| {
        Ok(RevokedCertParams {
            serial_number: SerialNumber::from_slice(&one.serial),
            revocation_time: at(one.revoked_unix_s)?,
            reason_code: Some(RevocationReason::PrivilegeWithdrawn),
            invalidity_date: None,
        })
    });
    let list = CertificateRevocationListParams {
        this_update: at(now_unix_s - BACKDATED_S)?,
        // Lists come with each connection of a controller and are known apart by their number; none is expected by a date.
        next_update: at(now_unix_s + AUTHORITY_DAYS * DAY_S)?,
        crl_number: SerialNumber::from(number),
        issuing_distribution_point: None,
        revoked_certs: revoked_certs.collect::<Result<_, Error>>()?,
        key_identifier_method: KeyIdMethod::Sha256,
    };
    Ok(list.signed_by(issuer).map_err(cannot)?.der().to_vec())
}

fn params(common_name: &str, now_unix_s: i64, valid_s: i64) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, DnValue::Utf8String(common_name.to_owned()));
    let mut serial: [u8; 16] = random()?;
    // Positive, and as long in every certificate.
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.not_before = at(now_unix_s - BACKDATED_S)?;
    params.not_after = at(now_unix_s + valid_s)?;
    Ok(params)
}

fn at(unix_s: i64) -> Result<OffsetDateTime, Error> {
    OffsetDateTime::from_unix_timestamp(unix_s).map_err(|error| Error::form("time", error))
}

fn cannot(error: rcgen::Error) -> Error {
    Error::form("certificate", error)
}
