//! NTLM, version 2 of its response alone.
//!
//! Spec: MS-NLMP 3.1.5.1, 3.4.5

mod message;
mod response;

use aws_lc_rs::constant_time;
use zeroize::Zeroizing;

use self::message::{Authenticate, Challenge, TargetInfo, flags};
use self::response::{Key, hmac, md5, rc4, utf16};
use super::spnego::Mechanism;
use super::{Auth, AuthError, Credentials, SessionKey, spnego};

/// Random values of a logon. Use a cryptographic generator for real logons.
#[derive(Clone)]
pub struct Randomness {
    /// ClientChallenge.
    pub client_challenge: [u8; 8],
    /// ExportedSessionKey, where the server agrees to exchange keys.
    pub session_key: Zeroizing<[u8; 16]>,
}

impl Randomness {
    /// Draws from a generator.
    #[must_use]
    pub fn draw(generator: &mut impl rand::CryptoRng) -> Self {
        let mut drawn = Self { client_challenge: [0; 8], session_key: Zeroizing::default() };
        generator.fill_bytes(&mut drawn.client_challenge);
        generator.fill_bytes(&mut drawn.session_key[..]);
        drawn
    }
}

/// An NTLM logon inside SPNEGO: NEGOTIATE, the server's CHALLENGE, AUTHENTICATE.
pub struct Ntlm {
    credentials: Credentials,
    randomness: Randomness,
    now: i64,
    target: String,
    step: AuthStep,
}

enum AuthStep {
    Begin,
    Asked {
        negotiate: Vec<u8>,
    },
    Answered {
        key: Option<SessionKey>,
        server_proof: Option<[u8; 16]>,
    },
    /// After an error.
    Over,
}

/// The client's workstation name in the server's log.
const WORKSTATION: &str = "PLIMSOLL";
/// 1601 to 1970, in 100 ns.
const EPOCH: i64 = 116_444_736_000_000_000;

impl Ntlm {
    /// A logon at `now`, ns since the Unix epoch; the time is used only if the server does not send its own.
    #[must_use]
    pub fn new(credentials: Credentials, randomness: Randomness, now: i64) -> Self {
        Self { credentials, randomness, now, target: String::new(), step: AuthStep::Begin }
    }

    /// Sets the service principal name (`cifs/server`), which some servers check.
    #[must_use]
    pub fn target(mut self, service: &str) -> Self {
        service.clone_into(&mut self.target);
        self
    }

    /// Builds AUTHENTICATE and the keys.
    fn answer(&self, negotiate: &[u8], token: &[u8]) -> Result<Answered, AuthError> {
        let challenge = Challenge::read(token)?;
        for (flag, what) in [(flags::UNICODE, "Unicode"), (flags::EXTENDED_SECURITY, "extended session security")] {
            if challenge.flags & flag == 0 {
                return Err(AuthError::Missing(what));
            }
        }
        let agreed = message::ASKED & challenge.flags;
        if self.credentials.is_anonymous() {
            return anonymous(agreed);
        }
        let info = TargetInfo::complete(challenge.target_info, &utf16(&self.target))?;
        let key = response::password_key(&self.credentials);
        let client_challenge = &self.randomness.client_challenge;
        let time = info.time.unwrap_or_else(|| (self.now / 100).saturating_add(EPOCH).cast_unsigned());
        let temp = response::temp(time, client_challenge, &info.pairs);
        let proof = response::proof(&key, &challenge.challenge, &temp);
        let base_key = response::base_key(&key, &proof);
        let (exported, mut sent) = match agreed & flags::KEY_EXCHANGE != 0 {
            true => (self.randomness.session_key.clone(), self.randomness.session_key.to_vec()),
            false => (base_key.clone(), Vec::new()),
        };
        rc4(&base_key[..], &mut sent);
        let lm_response = match info.time {
            Some(_) => vec![0; 24],
            None => response::lm_response(&key, &challenge.challenge, client_challenge),
        };
        let parts = Authenticate {
            flags: agreed,
            domain: &utf16(&self.credentials.domain),
            user: &utf16(&self.credentials.user),
            workstation: &utf16(WORKSTATION),
            lm_response: &lm_response,
            nt_response: &[&proof[..], &temp].concat(),
            session_key: &sent,
        };
        let mut message = parts.write()?;
        if info.time.is_some() {
            let mic = hmac(&exported[..], &[negotiate, token, &message]);
            message::put(&mut message, message::MIC, &mic[..]);
        }
        let proofs =
            (agreed & flags::SIGN != 0).then(|| [Side::Client, Side::Server].map(|side| side.proof(&exported, agreed)));
        Ok(Answered { message, key: SessionKey::new(&exported[..]), proofs })
    }
}

/// AUTHENTICATE and the keys.
struct Answered {
    message: Vec<u8>,
    key: Option<SessionKey>,
    /// The mechListMICs of client and server.
    proofs: Option<[[u8; 16]; 2]>,
}

/// An anonymous AUTHENTICATE: no response and no key, so no signatures.
fn anonymous(agreed: u32) -> Result<Answered, AuthError> {
    let keyed = flags::KEY_EXCHANGE | flags::SIGN | flags::SEAL | flags::ALWAYS_SIGN;
    let flags = agreed & !keyed | flags::ANONYMOUS;
    let parts = Authenticate { flags, workstation: &utf16(WORKSTATION), lm_response: &[0], ..Authenticate::default() };
    Ok(Answered { message: parts.write()?, key: None, proofs: None })
}

/// The side that signs.
#[derive(Clone, Copy, Debug)]
enum Side {
    Client,
    Server,
}

impl Side {
    /// The mechListMIC: the signature of sequence number 0 over the mechanisms.
    fn proof(self, exported: &Key, agreed: u32) -> [u8; 16] {
        self.sign(exported, agreed, &Mechanism::Ntlm.list(), &mut [])
    }

    /// MAC of this side's first message, `signed`, which comes `sealed` where it is not empty.
    fn sign(self, exported: &Key, agreed: u32, signed: &[u8], sealed: &mut [u8]) -> [u8; 16] {
        let way = match self {
            Self::Client => "client-to-server",
            Self::Server => "server-to-client",
        };
        let key = |what: &str, length: usize| {
            let magic = format!("session key to {way} {what} key magic constant\0");
            md5(&[exported.get(..length).unwrap_or_default(), magic.as_bytes()])
        };
        let strength = match agreed {
            _ if agreed & flags::STRONG != 0 => 16,
            _ if agreed & flags::MIDDLING != 0 => 7,
            _ => 5,
        };
        let sum = hmac(&key("signing", 16)[..], &[&[0; 4], signed]);
        // The cipher's stream runs on from the sealed bytes to their sum.
        let mut stream = sealed.to_vec();
        stream.extend(sum.iter().take(8));
        if agreed & flags::KEY_EXCHANGE != 0 || !sealed.is_empty() {
            rc4(&key("sealing", strength)[..], &mut stream);
        }
        let (done, sum) = stream.split_at(sealed.len());
        sealed.copy_from_slice(done);
        let mut signature = [0; 16];
        message::put(&mut signature, 0, &1_u32.to_le_bytes());
        message::put(&mut signature, 4, sum);
        signature
    }
}

impl Auth for Ntlm {
    fn next(&mut self, from_server: Option<&[u8]>) -> Result<Vec<u8>, AuthError> {
        // After a failure the logon is over: only success sets another step.
        match std::mem::replace(&mut self.step, AuthStep::Over) {
            AuthStep::Begin => {
                spnego::check_offer(Mechanism::Ntlm, from_server)?;
                let negotiate = message::negotiate();
                let token = spnego::first(Mechanism::Ntlm, &negotiate);
                self.step = AuthStep::Asked { negotiate };
                Ok(token)
            }
            AuthStep::Asked { negotiate } => {
                let answer = spnego::answer(Mechanism::Ntlm, from_server.unwrap_or_default())?;
                if answer.state == Some(spnego::State::Rejected) {
                    return Err(AuthError::Rejected);
                }
                let answered =
                    self.answer(&negotiate, answer.token.ok_or(AuthError::Malformed("no NTLM challenge"))?)?;
                let proof = answered.proofs.map(|[client, _]| client);
                let token = spnego::next(&answered.message, proof.as_ref().map(|proof| &proof[..]));
                let server_proof = answered.proofs.map(|[_, server]| server);
                self.step = AuthStep::Answered { key: answered.key, server_proof };
                Ok(token)
            }
            AuthStep::Answered { .. } | AuthStep::Over => Err(AuthError::OutOfTurn),
        }
    }

    fn finish(&mut self, from_server: &[u8]) -> Result<(), AuthError> {
        let AuthStep::Answered { server_proof, .. } = &self.step else { return Err(AuthError::OutOfTurn) };
        let checked = check_last(from_server, *server_proof);
        if checked.is_err() {
            self.step = AuthStep::Over;
        }
        checked
    }

    fn session_key(&self) -> Option<SessionKey> {
        match &self.step {
            AuthStep::Answered { key, .. } => key.clone(),
            AuthStep::Begin | AuthStep::Asked { .. } | AuthStep::Over => None,
        }
    }
}

/// In a successful response, the token and the proof of the mechanisms are optional, because dialect 3.1.1 proves the whole logon by the
/// response's signature. If they are present, they must be right.
fn check_last(token: &[u8], expected: Option<[u8; 16]>) -> Result<(), AuthError> {
    if token.is_empty() {
        return Ok(());
    }
    let answer = spnego::last(Mechanism::Ntlm, token)?;
    match (answer.proof, expected) {
        (Some(proof), Some(expected)) => {
            constant_time::verify_slices_are_equal(proof, &expected).map_err(|_| AuthError::BadProof)
        }
        // A proof by a key that was never agreed.
        (Some(_), None) => Err(AuthError::BadProof),
        (None, _) => Ok(()),
    }
}

impl std::fmt::Debug for Ntlm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ntlm").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
