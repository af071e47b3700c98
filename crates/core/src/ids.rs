//! Names: tokens of the NATS subject, span ids, command ids, and the numbers the journal assigns.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} is not valid: use 1 to {max} characters of {alphabet}")]
pub struct InvalidName {
    /// What kind of name it was meant to be.
    pub what: &'static str,
    /// The first characters of what was given.
    pub given: String,
    /// The greatest length, in characters.
    pub max: usize,
    /// The characters allowed, as a regular-expression class.
    pub alphabet: &'static str,
}

fn check(
    what: &'static str,
    text: &str,
    max: usize,
    alphabet: &'static str,
    allowed: fn(u8) -> bool,
) -> Result<(), InvalidName> {
    if !text.is_empty() && text.len() <= max && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(InvalidName { what, given: text.chars().take(40).collect(), max, alphabet })
}

fn token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

fn span_byte(b: u8) -> bool {
    token_byte(b) || b == b'.' || b == b':'
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal, $alphabet:literal, $allowed:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        // By hand: long sessions hold many names, and none is to be copied twice.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Name;
                impl Visitor<'_> for Name {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Name)
            }
        }

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                check($what, text, $max, $alphabet, $allowed)?;
                Ok(Self(Arc::from(text)))
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }
    };
}

name! {
    /// A namespace of sessions; the first token of every subject.
    Tenant, "tenant", 64, "[A-Za-z0-9_-]", token_byte
}
name! {
    /// Who sends a command. The broker's permissions vouch for it.
    Principal, "principal", 64, "[A-Za-z0-9_-]", token_byte
}
name! {
    /// The name of one agent's context window within its tenant.
    SessionName, "session", 64, "[A-Za-z0-9_-]", token_byte
}
name! {
    /// A span's name within its session, given by the client or assigned (`s1`, `s2`, …).
    SpanId, "span id", 128, "[A-Za-z0-9_.:-]", span_byte
}

/// The idempotency key of a command within its session: 1 to 128 characters of any text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommandId(Arc<str>);

impl CommandId {
    /// The greatest length, in characters.
    pub const MAX_CHARS: usize = 128;

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key under which a session remembers this command: a 16-byte digest of the id.
    pub fn key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(self.0.as_bytes()).as_bytes()[..16]);
        key
    }
}

impl FromStr for CommandId {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        if text.is_empty() || text.chars().count() > Self::MAX_CHARS {
            return Err(InvalidName {
                what: "command_id",
                given: text.chars().take(40).collect(),
                max: Self::MAX_CHARS,
                alphabet: "any text",
            });
        }
        Ok(Self(Arc::from(text)))
    }
}

impl TryFrom<String> for CommandId {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<CommandId> for String {
    fn from(id: CommandId) -> String {
        id.0.as_ref().to_owned()
    }
}

/// A session's full name: the tenant and the name within it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionKey {
    /// The namespace.
    pub tenant: Tenant,
    /// The name within it.
    pub session: SessionName,
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.session)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A session's number: the journal `seq` of the event that opened it, so it needs no allocator.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct SessionNo(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_refuse_what_could_escape_a_subject_or_a_path() {
        for bad in ["", "a/b", "../x", "a b", "a.b", "a*", ">", "é", "a\0b", &"x".repeat(65)] {
            assert!(bad.parse::<SessionName>().is_err(), "{bad:?} was accepted");
        }
        assert_eq!("worker-1_A".parse::<Principal>().unwrap().as_str(), "worker-1_A");
        assert_eq!("a.b:c-d_1".parse::<SpanId>().unwrap().as_str(), "a.b:c-d_1");
        for bad in ["a@b", "a/b", "", &"x".repeat(129)] {
            assert!(bad.parse::<SpanId>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn command_ids_count_characters_not_bytes() {
        assert!("é".repeat(128).parse::<CommandId>().is_ok());
        assert!("é".repeat(129).parse::<CommandId>().is_err());
        assert!("".parse::<CommandId>().is_err());
    }
}
