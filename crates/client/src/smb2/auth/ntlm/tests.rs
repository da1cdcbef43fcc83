//! The specification's example, logons against an acceptor of our own and Samba's, and tokens that are no good.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::super::Secret;
use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn user(domain: &str, user: &str, password: &str) -> Credentials {
    Credentials { domain: domain.into(), user: user.into(), password: Secret::new(password.into()) }
}

fn randomness() -> Randomness {
    Randomness { client_challenge: [0xAA; 8], session_key: Zeroizing::new([0x55; 16]) }
}

/// MS-NLMP 4.2.1 and 4.2.4: the values that every example has in common.
mod spec {
    pub(super) const CHALLENGE: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF];
    pub(super) const TARGET_INFO: &str = "02000c0044006f006d00610069006e0001000c00530065007200760065007200";
    pub(super) const FLAGS: u32 = 0xE28A_8233;
}

/// MS-NLMP 4.2.4.1.1, 4.2.4.1.3, 4.2.4.2.1, 4.2.4.2.2, 4.2.4.2.3.
#[test]
fn the_sums_are_those_of_the_specification() {
    let key = response::password_key(&user("Domain", "User", "Password"));
    assert_eq!(key[..], hex("0c868a403bfd7a93a3001ef22ef02e3f"));
    let info = TargetInfo::complete(&hex(spec::TARGET_INFO), &[]).unwrap();
    let temp = response::temp(0, &[0xAA; 8], &info.pairs);
    let expected = format!("01010000000000000000000000000000aaaaaaaaaaaaaaaa00000000{}{:016}", spec::TARGET_INFO, 0);
    assert_eq!(temp, hex(&expected));
    let proof = response::proof(&key, &spec::CHALLENGE, &temp);
    assert_eq!(proof[..], hex("68cd0ab851e51c96aabc927bebef6a1c"));
    let lm = response::lm_response(&key, &spec::CHALLENGE, &[0xAA; 8]);
    assert_eq!(lm, hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa"));
    let base = response::base_key(&key, &proof);
    assert_eq!(base[..], hex("8de40ccadbc14a82f15cb0ad0de95ca3"));
    let mut sent = [0x55; 16];
    rc4(&base[..], &mut sent);
    assert_eq!(sent[..], hex("c5dad2544fc9799094ce1ce90bc9d03e"));
}

/// MS-NLMP 4.2.4.4: GSS_WrapEx of "Plaintext".
#[test]
fn signatures_are_those_of_the_specification() {
    let mut sealed = utf16("Plaintext");
    let signed = sealed.clone();
    let mac = Side::Client.sign(&Zeroizing::new([0x55; 16]), spec::FLAGS, &signed, &mut sealed);
    assert_eq!(sealed, hex("54e50165bf1936dc996020c1811b0f06fb5f"));
    assert_eq!(mac[..], hex("010000007fb38ec5c55d497600000000"));
}

/// A CHALLENGE with these flags and target information.
fn challenge(flags: u32, target_info: &[u8]) -> Vec<u8> {
    let length = u16::try_from(target_info.len()).unwrap().to_le_bytes();
    let flags = flags.to_le_bytes();
    let head = [&b"NTLMSSP\0\x02\0\0\0\0\0\0\0\x38\0\0\0"[..], &flags, &spec::CHALLENGE, &[0; 8]].concat();
    [&head[..], &length, &length, &56_u32.to_le_bytes(), &[0; 8], target_info].concat()
}

fn timed() -> Vec<u8> {
    [&hex(spec::TARGET_INFO)[..], &hex("070008000102030405060708"), &[0; 4]].concat()
}

/// A server's token: negState, mechanism, and further fields.
fn answer(state: u8, token: &[u8], proof: &[u8]) -> Vec<u8> {
    let element = |tag: u8, content: &[u8]| -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82][..], &length, content].concat()
    };
    let mut fields = element(0xA0, &element(0x0A, &[state]));
    fields.extend(element(0xA1, &element(0x06, &hex("2b06010401823702020a"))));
    if !token.is_empty() {
        fields.extend(element(0xA2, &element(0x04, token)));
    }
    if !proof.is_empty() {
        fields.extend(element(0xA3, &element(0x04, proof)));
    }
    element(0xA1, &element(0x30, &fields))
}

fn asked() -> Ntlm {
    let mut logon = Ntlm::new(user("Domain", "User", "Password"), randomness(), 0).target("cifs/Server");
    logon.next(None).unwrap();
    logon
}

/// The parts of an AUTHENTICATE message.
fn part(message: &[u8], at: usize) -> &[u8] {
    let number =
        |at: usize, len: usize| message[at..at + len].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let start = number(at + 4, 4);
    &message[start..start + number(at, 2)]
}

/// The checks of a server that knows the password (3.2.5.1.2).
#[test]
fn a_server_that_knows_the_password_is_content() {
    let mut logon = Ntlm::new(user("Domain", "User", "Password"), randomness(), 0).target("cifs/Server");
    let first = logon.next(None).unwrap();
    assert!(logon.session_key().is_none());
    let at = first.windows(7).position(|window| window == b"NTLMSSP").unwrap();
    let negotiate = first[at..].to_vec();
    let challenge = challenge(spec::FLAGS, &timed());
    let second = logon.next(Some(&answer(1, &challenge, &[]))).unwrap();
    let read = spnego::answer(Mechanism::Ntlm, &second).unwrap();
    let mut message = read.token.unwrap().to_vec();

    let proof = part(&message, 20);
    let (proof, temp) = proof.split_at(16);
    let key = response::password_key(&user("Domain", "User", "Password"));
    assert_eq!(hmac(&key[..], &[&spec::CHALLENGE, temp])[..], *proof);
    assert_eq!(temp[8..16], hex("0102030405060708"), "the server's time");
    let pairs = &temp[28..];
    assert!(pairs.starts_with(&hex(spec::TARGET_INFO)));
    assert!(pairs.windows(8).any(|window| window == hex("0600040002000000")), "says that there is a MIC");
    assert!(pairs.windows(22).any(|window| window == utf16("cifs/Server")));
    assert_eq!(part(&message, 12), [0; 24], "no LM response beside a time");

    let mut exported = part(&message, 52).to_vec();
    rc4(&hmac(&key[..], &[proof])[..], &mut exported);
    assert_eq!(exported, [0x55; 16]);
    let mic = message[72..88].to_vec();
    message[72..88].fill(0);
    assert_eq!(hmac(&exported, &[&negotiate, &challenge, &message])[..], mic);
    let exported = Zeroizing::new([0x55; 16]);
    assert_eq!(read.proof, Some(&Side::Client.proof(&exported, spec::FLAGS)[..]));
    assert!(logon.session_key().is_some());

    let proof = Side::Server.proof(&exported, spec::FLAGS);
    logon.finish(&answer(0, &[], &proof)).unwrap();
    logon.finish(&answer(0, &[], &[])).unwrap();
    logon.finish(&[]).unwrap();
    let mut wrong = proof;
    wrong[4] ^= 1;
    assert_eq!(logon.finish(&answer(0, &[], &wrong)), Err(AuthError::BadProof));
    assert!(logon.session_key().is_none(), "a logon that failed has no key");
}

#[test]
fn without_time_or_key_exchange_it_is_the_older_way() {
    let mut logon = asked();
    let challenge = challenge(spec::FLAGS & !flags::KEY_EXCHANGE, &[&hex(spec::TARGET_INFO)[..], &[0; 4]].concat());
    let token = logon.next(Some(&answer(1, &challenge, &[]))).unwrap();
    let message = spnego::answer(Mechanism::Ntlm, &token).unwrap().token.unwrap();
    assert_eq!(part(message, 52), b"");
    assert_eq!(message[72..88], [0; 16], "no MIC");
    assert_eq!(part(message, 12), hex("86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa"));
    // No other time than the Unix epoch is available.
    assert_eq!(part(message, 20)[24..32], EPOCH.to_le_bytes());
}

#[test]
fn nobody_has_no_key() {
    let mut logon = Ntlm::new(Credentials::anonymous(), randomness(), 0);
    logon.next(Some(&[])).unwrap();
    let token = logon.next(Some(&answer(1, &challenge(spec::FLAGS, &timed()), &[]))).unwrap();
    let message = spnego::answer(Mechanism::Ntlm, &token).unwrap().token.unwrap();
    assert_eq!(plimsoll_wire::ntlmssp::Authenticate::find(&token).unwrap().is_anonymous(), Some(true));
    assert_eq!((part(message, 12), part(message, 52)), (&[0_u8][..], &[][..]));
    assert!(logon.session_key().is_none());
    logon.finish(&answer(0, &[], &[])).unwrap();
    assert_eq!(logon.finish(&answer(0, &[], &[1; 16])), Err(AuthError::BadProof));
}

#[test]
fn what_goes_wrong_is_named_and_ends_the_logon() {
    let cases: [(Vec<u8>, AuthError); 6] = [
        (answer(2, &[], &[]), AuthError::Rejected),
        (answer(1, &[], &[]), AuthError::Malformed("no NTLM challenge")),
        (answer(1, b"NTLMSSP\0\x03\0\0\0", &[]), AuthError::Malformed("no NTLM challenge")),
        (vec![], AuthError::Malformed("no SPNEGO answer")),
        (answer(1, &challenge(spec::FLAGS & !flags::UNICODE, &timed()), &[]), AuthError::Missing("Unicode")),
        (
            answer(1, &challenge(spec::FLAGS & !flags::EXTENDED_SECURITY, &timed()), &[]),
            AuthError::Missing("extended session security"),
        ),
    ];
    for (token, error) in cases {
        let mut logon = asked();
        assert_eq!(logon.next(Some(&token)), Err(error));
        assert_eq!(logon.next(Some(&token)), Err(AuthError::OutOfTurn));
        assert_eq!(logon.finish(&[]), Err(AuthError::OutOfTurn));
    }
    let long = Ntlm::new(user(&"d".repeat(40_000), "User", "Password"), randomness(), 0);
    let mut long = Ntlm { step: AuthStep::Asked { negotiate: message::negotiate() }, ..long };
    let refused = long.next(Some(&answer(1, &challenge(spec::FLAGS, &timed()), &[])));
    assert_eq!(refused, Err(AuthError::TooLong("the domain's name")));
}

/// Assembled by hand from MS-SPNG 2.2.1: only NTLM, and the usual hint of servers. Then the same with another mechanism.
#[test]
fn a_server_without_ntlm_is_told_from_one_with() {
    let offer = "604806062b0601050502a03e303ca00e300c060a2b06010401823702020aa32a3028a0261b246e6f745f646566696e65645f696e5f\
                 5246433431373840706c656173655f69676e6f7265";
    let offer = hex(&offer.replace(' ', ""));
    let begin = || Ntlm::new(Credentials::guest(), randomness(), 0);
    assert!(begin().next(Some(&offer)).is_ok());
    let mut kerberos = offer.clone();
    kerberos[29] ^= 1;
    assert_eq!(begin().next(Some(&kerberos)), Err(AuthError::NotOffered("NTLM")));
    for cut in 1..offer.len() {
        assert_eq!(begin().next(Some(&offer[..cut])), Err(AuthError::Malformed("no SPNEGO offer")));
    }
}

#[test]
fn every_truncation_of_a_challenge_is_refused() {
    let whole = answer(1, &challenge(spec::FLAGS, &timed()), &[]);
    for cut in 0..whole.len() {
        assert!(asked().next(Some(&whole[..cut])).is_err(), "{cut}");
    }
    let challenge = challenge(spec::FLAGS, &timed());
    for cut in 0..challenge.len() {
        assert!(asked().next(Some(&answer(1, &challenge[..cut], &[]))).is_err(), "{cut}");
    }
}

#[test]
fn nothing_shows_the_password() {
    let shown = format!("{:?} {:#?}", asked(), user("d", "u", "Password"));
    assert!(!shown.contains("Password\"") && !shown.contains("0x55") && !shown.contains("85, 85"), "{shown}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
        let _ = Ntlm::new(Credentials::guest(), randomness(), 0).next(Some(&bytes));
        let _ = asked().next(Some(&bytes));
        let _ = asked().next(Some(&answer(1, &challenge(spec::FLAGS, &bytes), &[])));
        let _ = check_last(&bytes, None);
    }

    #[test]
    fn any_changed_challenge_is_read_without_harm(at: prop::sample::Index, to: u8) {
        let mut token = answer(1, &challenge(spec::FLAGS, &timed()), &[]);
        *at.get_mut(&mut token) = to;
        let _ = asked().next(Some(&token));
    }
}

/// A logon against Samba's acceptor, which gets the password; returns Samba's result.
fn samba(credentials: Credentials, password: &str) -> Option<Result<(), String>> {
    let mut server = Command::new("ntlm_auth")
        .args(["--helper-protocol=gss-spnego", "--password", password, "--option=ntlm auth=ntlmv2-only"])
        .args(["--configfile=/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut to = server.stdin.take().unwrap();
    let mut from = BufReader::new(server.stdout.take().unwrap());
    let mut ask = |verb: &str, token: &[u8]| {
        writeln!(to, "{verb} {}", base64(token)).unwrap();
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line.trim().to_owned()
    };
    let mut logon = Ntlm::new(credentials, randomness(), 1_700_000_000_000_000_000);
    let said = ask("YR", &logon.next(None).unwrap());
    let token = |rest: &str| rest.split(' ').next().filter(|token| *token != "*").map(unbase64).unwrap_or_default();
    let challenge = said.strip_prefix("TT ").map(token).ok_or(said.clone());
    let outcome = challenge.and_then(|challenge| {
        let said = ask("KK", &logon.next(Some(&challenge)).unwrap());
        let last = said.strip_prefix("AF ").map(token).ok_or(said.clone())?;
        assert!(spnego::answer(Mechanism::Ntlm, &last).unwrap().proof.is_some(), "Samba proves the mechanisms: {said}");
        logon.finish(&last).map_err(|error| error.to_string())
    });
    drop(to);
    server.wait().unwrap();
    Some(outcome)
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let digit = |group: &[u8], at: usize| {
        let bits = group.iter().chain(&[0; 2]).take(3).fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        if at > group.len() { '=' } else { char::from(DIGITS[bits >> (18 - 6 * at) & 63]) }
    };
    bytes.chunks(3).flat_map(|group| (0..4).map(move |at| digit(group, at))).collect()
}

fn unbase64(text: &str) -> Vec<u8> {
    let digits: Vec<usize> = text.bytes().filter_map(|digit| DIGITS.iter().position(|known| *known == digit)).collect();
    let group = |group: &[usize]| {
        let bits = group.iter().chain(&[0; 3]).take(4).fold(0, |sum, digit| sum << 6 | digit);
        bits.to_be_bytes()[5..4 + group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

/// Samba verifies the response, the MIC and the mechListMIC; the test verifies Samba's mechListMIC.
#[test]
fn samba_accepts_the_right_password_alone() {
    let Some(accepted) = samba(user("SAMBA", "Üser", "pässword €"), "pässword €") else {
        plimsoll_testkit::skip("needs ntlm_auth (Debian: winbind)");
        return;
    };
    assert_eq!(accepted, Ok(()));
    let refused = samba(user("SAMBA", "Üser", "pässword"), "pässword €").unwrap().unwrap_err();
    assert!(refused.starts_with("NA "), "{refused}");
}
