//! Where things are: addresses, hosts, paths.

use crate::text::letters::{
    AT, COLON, DASH, DIGIT, LETTERS, LOWER, PLUS, TILDE, UNDER, UPPER, classes,
};
use crate::text::lists::{is_extension, is_folder, is_label, is_top_level};
use crate::text::shape::extension;

/// Whether these bytes are an IPv4 address.
pub(super) fn ip(bytes: &[u8]) -> bool {
    let mut count = 0;
    bytes.len() >= 7
        && bytes.len() <= 15
        && bytes.split(|b| *b == b'.').all(|part| {
            count += 1;
            (1..=3).contains(&part.len())
                && part.iter().all(u8::is_ascii_digit)
                && part.iter().fold(0u32, |value, b| value * 10 + u32::from(b - b'0')) < 256
        })
        && count == 4
}

/// Whether these bytes are an IPv6 or a hardware address.
pub(super) fn ip6(bytes: &[u8]) -> bool {
    if bytes.len() < 3 || bytes.len() > 45 {
        return false;
    }
    let (mut groups, mut pairs, mut empty, mut digits) = (0, 0, 0, false);
    for group in bytes.split(|b| *b == b':') {
        if group.len() > 4 || !group.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        groups += 1;
        pairs += usize::from(group.len() == 2);
        empty += usize::from(group.is_empty());
        digits |= group.iter().any(u8::is_ascii_digit);
    }
    let short = (3..=8).contains(&groups) && (1..=2).contains(&empty) && digits;
    // `a1::b2` may be a name of Rust; an address begins with a whole group.
    let whole = bytes.starts_with(b"::") || bytes.iter().position(|b| *b == b':') == Some(4);
    (groups == 8 && empty == 0) || (groups == 6 && pairs == 6) || (short && whole)
}

/// Whether these bytes are a mail address.
pub(super) fn email(bytes: &[u8]) -> bool {
    let Some(at) = bytes.iter().position(|b| *b == b'@') else { return false };
    let (local, domain) = (&bytes[..at], &bytes[at + 1..]);
    let spelled = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-');
    let Some(top) = extension(domain) else { return false };
    !local.is_empty()
        && bytes.len() <= 254
        && local.iter().all(spelled)
        && classes(domain) & (AT | COLON) == 0
        && top.len() >= 2
        && top.iter().all(u8::is_ascii_alphabetic)
        && labels(domain)
}

/// Whether these bytes are labels of the domain name system, joined by dots.
fn labels(bytes: &[u8]) -> bool {
    bytes.split(|b| *b == b'.').all(|label| {
        !label.is_empty()
            && label.len() < 64
            && label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
            && label[0] != b'-'
    })
}

/// Whether these bytes are a host's name, known by its top-level domain.
pub(super) fn is_host(bytes: &[u8]) -> bool {
    let Some(top) = extension(bytes) else { return false };
    bytes.len() <= 253
        && !top.iter().any(u8::is_ascii_uppercase)
        && is_top_level(top)
        && bytes.len() > top.len() + 1
        && labels(bytes)
}

/// The place of the colon in `host:port`.
///
/// A name without a dot counts if the port has four digits or five, and the name is none that
/// programs print before other numbers, such as `line:1204`.
pub(super) fn port_of(bytes: &[u8]) -> Option<usize> {
    let colon = bytes.iter().rposition(|b| *b == b':')?;
    let (host, port) = (&bytes[..colon], &bytes[colon + 1..]);
    let numbered = (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit);
    if !numbered || host.contains(&b':') {
        return None;
    }
    let plain = port.len() >= 4
        && host.len() >= 2
        && host[0].is_ascii_lowercase()
        && classes(host) & !(LETTERS | DIGIT | DASH) == 0
        && classes(host) & UPPER == 0
        && labels(host)
        && !is_label(host);
    let named = host.eq_ignore_ascii_case(b"localhost") || ip(host) || is_host(host);
    (named || plain).then_some(colon)
}

/// Whether a run with slashes is data in base64: long, of all kinds of letters, with a sign that paths
/// rarely have, or with a stretch that no name has.
pub(super) fn is_base64(bytes: &[u8], all: u16) -> bool {
    const MIXED: u16 = LOWER | UPPER | DIGIT;
    let stretch = |part: &[u8]| {
        part.len() >= 32
            && classes(part) & MIXED == MIXED
            && part.iter().all(u8::is_ascii_alphanumeric)
    };
    bytes.len() >= 40
        && all & MIXED == MIXED
        && (all & (PLUS | TILDE) != 0
            || bytes.split(|b| *b == b'/').any(stretch) && extension(bytes).is_none())
}

/// Whether a run with slashes is a path. Words that are joined by slashes mostly are not.
pub(super) fn is_path(bytes: &[u8], all: u16) -> bool {
    let slash = |b: &u8| matches!(b, b'/' | b'\\');
    // `CI/CD` are no folders.
    let folder = |part: &[u8]| is_folder(part) && !part.iter().any(u8::is_ascii_uppercase);
    let wordy = |part: &[u8]| part.iter().any(|b| b.is_ascii_alphanumeric() || !b.is_ascii());
    let rooted = match bytes {
        [b'/' | b'\\', rest @ ..] => {
            let first = rest.split(slash).find(|part| !part.is_empty()).unwrap_or_default();
            // `/s` is a unit's half, `/2` a fraction's.
            first.len() >= 2 && first.iter().any(|b| b.is_ascii_alphabetic() || !b.is_ascii())
        }
        [b'.', b'/' | b'\\', rest @ ..] | [b'.', b'.', b'/' | b'\\', rest @ ..] => wordy(rest),
        [b'~', b'/', rest @ ..] => wordy(rest),
        _ => false,
    };
    if rooted {
        return true;
    }
    let mut parts = bytes.split(slash).filter(|part| !part.is_empty());
    let Some(first) = parts.next() else { return false };
    let (mut count, mut last, mut hidden) = (1, first, false);
    for part in parts {
        count += 1;
        hidden |= part.len() > 2 && part[0] == b'.' && part[1].is_ascii_alphabetic();
        last = part;
    }
    if !first.iter().any(u8::is_ascii_alphabetic) && first[0].is_ascii() {
        return false;
    }
    // `main.rs/lib.rs` are two files.
    let alternatives = extension(first).is_some_and(is_extension);
    if count < 2 {
        // `src/`, as folders are named.
        return bytes.last().is_some_and(slash) && (folder(first) || all & UNDER != 0);
    }
    !alternatives
        && (folder(first)
            || hidden
            || is_host(first)
            || extension(last).is_some_and(is_extension)
            || (count >= 3 && all & UNDER != 0)
            || count >= 5)
}
