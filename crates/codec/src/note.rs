//! Signed notes as C2SP describes them (`c2sp.org/signed-note`): a text, and behind a blank line who
//! signed it, with Ed25519.
//!
//! ```text
//! text, one line or more
//!
//! — <name> <base64 of key id (4 bytes) and signature (64 bytes)>
//! ```
//!
//! A key id is the first half of eight bytes of SHA-256 over `name`, a newline, the byte 1 and the
//! public key: it tells keys apart and vouches for nothing. A verifier is written
//! `<name>+<key id, hex>+<base64 of 1 and the public key>`, a signer `PRIVATE+KEY+` and the same with
//! the seed, as other tools for notes write them.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The signature algorithm, as it stands in front of every key.
const ED25519: u8 = 1;
const KEY: usize = 32;
const KEY_ID: usize = 4;
const SIGNATURE: usize = 64;
const PRIVATE: &str = "PRIVATE+KEY+";
/// What a line of a signature begins with: an em dash.
const DASH: &str = "\u{2014} ";
/// The most signatures of one note that are looked at.
const SIGNATURES: usize = 100;

/// A text that is no note, or no key of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text has another form.
    #[error("this is no signed note: {0}")]
    Form(&'static str),
    /// The key has another form, or its parts do not belong together.
    #[error("this is no key of signed notes ({0}): it reads <name>+<8 hex digits>+<base64>")]
    Key(&'static str),
}

/// Who may sign notes: a name and a secret key.
pub struct NoteSigner {
    verifier: NoteVerifier,
    key: SigningKey,
}

/// Who is believed to have signed a note: a name and a public key.
#[derive(Clone, PartialEq, Eq)]
pub struct NoteVerifier {
    name: String,
    id: [u8; KEY_ID],
    key: VerifyingKey,
}

/// A line of signature, not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// The name of the key.
    pub name: String,
    /// The id of the key.
    pub id: [u8; KEY_ID],
    signature: Vec<u8>,
}

/// A note, taken apart. Nothing about it is believed until [`SignedNote::trust`] says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    /// The text with its last newline.
    pub text: String,
    /// Its signatures.
    pub signatures: Vec<Signature>,
}

/// What a note's signatures are worth to somebody who believes some keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust<'a> {
    /// This key has signed it, and none of those that are believed is contradicted.
    Signed(&'a NoteVerifier),
    /// It names a key that is believed, whose signature it is not.
    Forged(&'a NoteVerifier),
    /// No key that is believed has signed it.
    Unknown,
}

impl NoteSigner {
    /// A signer of this name from 32 bytes that nobody can guess.
    pub fn new(name: &str, seed: &[u8; KEY]) -> Result<Self, NoteError> {
        let key = SigningKey::from_bytes(seed);
        Ok(Self { verifier: NoteVerifier::new(name, key.verifying_key())?, key })
    }

    /// The public half.
    pub fn verifier(&self) -> &NoteVerifier {
        &self.verifier
    }

    /// The note that signs this text, which ends with a newline.
    pub fn sign(&self, text: &str) -> String {
        debug_assert!(text.ends_with('\n') && !text.contains("\n\n\u{2014}"));
        let signature = self.key.sign(text.as_bytes()).to_vec();
        let NoteVerifier { name, id, .. } = self.verifier.clone();
        let signatures = vec![Signature { name, id, signature }];
        SignedNote { text: text.to_owned(), signatures }.to_string()
    }

    /// The text that keeps the secret key.
    pub fn encode(&self) -> Zeroizing<String> {
        let mut secret = Zeroizing::new([ED25519; 1 + KEY]);
        secret[1..].copy_from_slice(self.key.as_bytes());
        let (name, id) = (&self.verifier.name, hex(self.verifier.id));
        let encoded = Zeroizing::new(BASE64_STANDARD.encode(secret.as_slice()));
        Zeroizing::new(format!("{PRIVATE}{name}+{id}+{}", encoded.as_str()))
    }

    /// Reads such a text.
    pub fn decode(text: &str) -> Result<Self, NoteError> {
        let rest = text.trim_end_matches('\n').strip_prefix(PRIVATE);
        let (name, id, seed) = parts(rest.ok_or(NoteError::Key("it is not a private one"))?)?;
        let signer = Self::new(name, &seed)?;
        if signer.verifier.id != id {
            return Err(NoteError::Key("its id is that of another key"));
        }
        Ok(signer)
    }
}

impl fmt::Debug for NoteSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoteSigner({})", self.verifier)
    }
}

impl NoteVerifier {
    fn new(name: &str, key: VerifyingKey) -> Result<Self, NoteError> {
        if name.is_empty() || name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
        {
            return Err(NoteError::Key("its name is empty or has a space or a plus in it"));
        }
        let hash = Sha256::new()
            .chain_update(name)
            .chain_update([b'\n', ED25519])
            .chain_update(key.as_bytes())
            .finalize();
        let mut id = [0; KEY_ID];
        id.copy_from_slice(&hash[..KEY_ID]);
        Ok(Self { name: name.to_owned(), id, key })
    }

    /// The name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this line names this key.
    fn is_named_by(&self, signature: &Signature) -> bool {
        self.name == signature.name && self.id == signature.id
    }

    fn has_signed(&self, text: &str, signature: &Signature) -> bool {
        let bytes = <&[u8; SIGNATURE]>::try_from(signature.signature.as_slice());
        bytes.is_ok_and(|bytes| {
            let signature = ed25519_dalek::Signature::from_bytes(bytes);
            self.key.verify_strict(text.as_bytes(), &signature).is_ok()
        })
    }
}

impl fmt::Display for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = [ED25519; 1 + KEY];
        key[1..].copy_from_slice(self.key.as_bytes());
        write!(f, "{}+{}+{}", self.name, hex(self.id), BASE64_STANDARD.encode(key))
    }
}

impl fmt::Debug for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for NoteVerifier {
    type Err = NoteError;
    fn from_str(text: &str) -> Result<Self, NoteError> {
        if text.starts_with(PRIVATE) {
            return Err(NoteError::Key("it is a private one: never show it to anybody"));
        }
        let (name, id, key) = parts(text.trim())?;
        let key = VerifyingKey::from_bytes(&key)
            .map_err(|_| NoteError::Key("its bytes are no public key"))?;
        let verifier = Self::new(name, key)?;
        if verifier.id != id {
            return Err(NoteError::Key("its id is that of another key"));
        }
        Ok(verifier)
    }
}

impl SignedNote {
    /// Every note of a text: they stand one behind the other.
    pub fn all(text: &str) -> Result<Vec<Self>, NoteError> {
        if text.chars().any(|c| c.is_ascii_control() && c != '\n') {
            return Err(NoteError::Form("it holds control characters"));
        }
        let mut notes: Vec<Self> = Vec::new();
        let (mut body, mut signed) = (String::new(), false);
        for line in text.split_inclusive('\n') {
            let signs = line.starts_with(DASH) && (signed || body.ends_with("\n\n"));
            match (signs, notes.last_mut()) {
                (true, Some(note)) if signed => note.sign(line)?,
                (true, _) => {
                    // Without the blank line, which is part of nothing.
                    body.pop();
                    let text = std::mem::take(&mut body).trim_start_matches('\n').to_owned();
                    if text.is_empty() {
                        return Err(NoteError::Form("a signature without a text"));
                    }
                    let mut note = Self { text, signatures: Vec::new() };
                    note.sign(line)?;
                    notes.push(note);
                }
                (false, _) => body.push_str(line),
            }
            signed = signs;
        }
        if !body.trim().is_empty() {
            return Err(NoteError::Form("a text without a signature behind it"));
        }
        if notes.is_empty() {
            return Err(NoteError::Form("there is nothing signed in it"));
        }
        Ok(notes)
    }

    fn sign(&mut self, line: &str) -> Result<(), NoteError> {
        let broken = NoteError::Form("a line of signature is not what it should be");
        let line = line.strip_suffix('\n').ok_or(NoteError::Form("its last line has no end"))?;
        let (name, encoded) =
            line.strip_prefix(DASH).and_then(|l| l.split_once(' ')).ok_or(broken.clone())?;
        let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| broken.clone())?;
        let (id, signature) = bytes.split_first_chunk::<KEY_ID>().ok_or(broken.clone())?;
        if name.is_empty() || signature.is_empty() || self.signatures.len() >= SIGNATURES {
            return Err(broken);
        }
        let (name, signature) = (name.to_owned(), signature.to_vec());
        self.signatures.push(Signature { name, id: *id, signature });
        Ok(())
    }

    /// What its signatures are worth to somebody who believes these keys. Signatures of others count for
    /// nothing; one wrong signature of a key that is believed makes all of them worthless.
    pub fn trust<'a>(&self, keys: &'a [NoteVerifier]) -> Trust<'a> {
        let mut trust = Trust::Unknown;
        for signature in &self.signatures {
            let Some(key) = keys.iter().find(|key| key.is_named_by(signature)) else { continue };
            if !key.has_signed(&self.text, signature) {
                return Trust::Forged(key);
            }
            if trust == Trust::Unknown {
                trust = Trust::Signed(key);
            }
        }
        trust
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|Signature { name, id, signature }| {
            let bytes = [id.as_slice(), signature].concat();
            writeln!(f, "{DASH}{name} {}", BASE64_STANDARD.encode(bytes))
        })
    }
}

/// The bytes of a key, secret or not.
type Bytes = Zeroizing<[u8; KEY]>;

/// The parts of a key: name, id, and the bytes behind the algorithm.
fn parts(text: &str) -> Result<(&str, [u8; KEY_ID], Bytes), NoteError> {
    let mut parts = text.splitn(3, '+');
    let missing = NoteError::Key("a part is missing");
    let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(missing);
    };
    let id = u32::from_str_radix(id, 16).ok().filter(|_| id.len() == 2 * KEY_ID);
    let id = id.ok_or(NoteError::Key("its id is not 8 hex digits"))?.to_be_bytes();
    let bytes = BASE64_STANDARD.decode(key).map(Zeroizing::new);
    let bytes = bytes.map_err(|_| NoteError::Key("its last part is no base64"))?;
    match bytes.split_first() {
        Some((&ED25519, key)) => {
            let key = <[u8; KEY]>::try_from(key).map(Zeroizing::new);
            Ok((name, id, key.map_err(|_| NoteError::Key("it is not 32 bytes long"))?))
        }
        _ => Err(NoteError::Key("it is of another algorithm than Ed25519")),
    }
}

fn hex(id: [u8; KEY_ID]) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}
