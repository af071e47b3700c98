//! Reading requests: strict about form, with errors that name the place.

use lacuna_core::Digest;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::WireError;

/// The deepest nesting of a request.
pub const MAX_DEPTH: usize = 64;

/// Parses a request body. An empty body is `{}`; unknown fields, wrong types, duplicate keys,
/// unpaired surrogates and anything that is not UTF-8 are `bad_request`.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, WireError> {
    let body = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { body };
    let text = std::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        WireError::bad_request(format!(
            "the body is not UTF-8 from byte {at} on: send binary content as content_b64"
        ))
    })?;
    check_depth(body)?;
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(WireError::bad_request("the body is no JSON object: send one"));
    }
    serde_json::from_str(text).map_err(|error| {
        let text = error.to_string();
        let advice = if error.is_data() {
            "compare the request with its schema"
        } else if text.contains("hex escape") || text.contains("surrogate") {
            "an unpaired surrogate is no text, send such content as content_b64"
        } else {
            "send one JSON object"
        };
        WireError::bad_request(format!("{text}: {advice}"))
    })
}

/// Reads objects where the contract has objects. Derived readers would also take a list of the
/// fields in order, which nobody means to send.
pub(crate) mod object {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::value::MapAccessDeserializer;
    use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

    struct Object<T>(T);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct OnlyMaps<T>(PhantomData<T>);
            impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMaps<T> {
                type Value = Object<T>;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                    T::deserialize(MapAccessDeserializer::new(map)).map(Object)
                }
            }
            deserializer.deserialize_map(OnlyMaps(PhantomData))
        }
    }

    /// A list of objects.
    pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let objects = Vec::<Object<T>>::deserialize(deserializer)?;
        Ok(objects.into_iter().map(|Object(value)| value).collect())
    }

    /// An object, or null for none.
    pub(crate) fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let object = Option::<Object<T>>::deserialize(deserializer)?;
        Ok(object.map(|Object(value)| value))
    }

    /// A text or an object, each made into what they stand for.
    pub(crate) fn or_text<'de, D: Deserializer<'de>, T: Deserialize<'de>, R>(
        deserializer: D,
        text: fn(String) -> R,
        object: fn(T) -> R,
    ) -> Result<R, D::Error> {
        struct Either<T, R> {
            text: fn(String) -> R,
            object: fn(T) -> R,
        }
        impl<'de, T: Deserialize<'de>, R> Visitor<'de> for Either<T, R> {
            type Value = R;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sentence or an object")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<R, E> {
                Ok((self.text)(text.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(self.object)
            }
        }
        deserializer.deserialize_any(Either { text, object })
    }
}

/// Refuses nesting beyond [`MAX_DEPTH`] in one pass over the bytes, before anything recurses.
fn check_depth(body: &[u8]) -> Result<(), WireError> {
    // Text has few of them, and who opens few levels cannot be deep.
    let opening = body.iter().filter(|&&byte| byte == b'{' || byte == b'[').count();
    if opening <= MAX_DEPTH {
        return Ok(());
    }
    let (mut depth, mut string, mut escaped) = (0_usize, false, false);
    for &byte in body {
        match (string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => string = !string,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(WireError::bad_request(format!(
                        "the body nests deeper than {MAX_DEPTH} levels: flatten it"
                    )));
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// A short digest of what a command asks, to tell a resent request from another one under the same
/// `command_id`. `request` must come without its identity fields and contents; those enter as
/// digests, so that an upload sent again counts as the same request.
pub fn fingerprint(verb: &str, request: &impl Serialize, contents: &[Digest]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_derive_key("lacuna 2026-11 request v1");
    hasher.update(verb.as_bytes()).update(&[0]);
    // Writing to a hasher cannot fail, and requests have string keys only.
    if serde_json::to_writer(&mut hasher, request).is_err() {
        hasher.update(b"?");
    }
    for digest in contents {
        hasher.update(&digest.0);
    }
    let mut out = [0; 16];
    out.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::OpenRequest;

    fn nested(depth: usize) -> Vec<u8> {
        let mut body = b"{\"labels\":".to_vec();
        body.extend(std::iter::repeat_n(b'[', depth - 1));
        body
    }

    #[test]
    fn bad_bodies_are_refused_with_a_reason() {
        let message = |body: &[u8]| parse::<OpenRequest>(body).unwrap_err().message;
        assert!(message(b"{\"window_tokens\":\"1\"}").contains("invalid type"));
        assert!(message(b"{\"window_tokens\":1,\"x\":2}").contains("unknown field `x`"));
        assert!(message(b"{\"window_tokens\":1").contains("send one JSON object"));
        assert!(message(b"{\"window_tokens\":1}{}").contains("trailing"));
        assert!(message(b"[1]").contains("no JSON object"));
        assert!(message(b"").contains("missing field `window_tokens`"));
        assert!(message(b"\xff").contains("not UTF-8"));
        assert!(
            message(b"{\"labels\":{\"a\":\"\\ud800\"},\"window_tokens\":1}").contains("surrogate")
        );
        assert!(message(&nested(65)).contains("64 levels"));
        assert!(!message(&nested(64)).contains("64 levels"));
    }

    #[test]
    fn a_list_of_fields_is_no_object() {
        use crate::session::{AppendRequest, WindowRequest};
        assert!(parse::<WindowRequest>(b"[]").is_err());
        assert!(parse::<WindowRequest>(b"{\"at\":[1]}").is_err());
        assert!(parse::<WindowRequest>(b"{\"at\":{\"version\":1}}").is_ok());
        let span = b"{\"spans\":[[\"a\",\"user\",\"user\",null,\"text\"]]}";
        assert!(parse::<AppendRequest>(span).unwrap_err().message.contains("an object"));
    }

    #[test]
    fn brackets_in_strings_are_not_nesting() {
        let labels = "[".repeat(200) + "\\\"{";
        let body = format!("{{\"window_tokens\":1,\"labels\":{{\"a\":\"{labels}\"}}}}");
        assert!(parse::<OpenRequest>(body.as_bytes()).is_ok());
    }
}
