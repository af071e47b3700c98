//! The shapes of names and numbers.

use crate::text::lists::{is_name, is_unit};

/// What follows the last dot.
pub(super) fn extension(bytes: &[u8]) -> Option<&[u8]> {
    let dot = bytes.iter().rposition(|b| *b == b'.')?;
    (dot > 0 && dot + 1 < bytes.len()).then(|| &bytes[dot + 1..])
}

pub(super) fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| b.is_ascii_digit()).count()
}

pub(super) fn all_digits(bytes: &[u8]) -> bool {
    !bytes.is_empty() && digits(bytes) == bytes.len()
}

pub(super) fn all_letters(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|b| b.is_ascii_alphabetic() || !b.is_ascii())
}

/// The length of the digits, the separators and the decimals that a number begins with, without its
/// unit. 0 if these bytes begin with no number.
pub(super) fn number_length(bytes: &[u8]) -> usize {
    if let [b'0', b'x' | b'X', rest @ ..] = bytes {
        let hex = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        return if hex == 0 { 1 } else { hex + 2 };
    }
    let mut end = digits(bytes);
    if end == 0 {
        return 0;
    }
    if end <= 3 {
        while matches!(bytes.get(end), Some(b',' | b'_')) && digits(&bytes[end + 1..]) == 3 {
            end += 4;
        }
    }
    if bytes.get(end) == Some(&b'.') {
        let decimals = digits(&bytes[end + 1..]);
        end += if decimals > 0 { decimals + 1 } else { 0 };
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let power = digits(&bytes[(end + 1 + sign).min(bytes.len())..]);
        end += if power > 0 { 1 + sign + power } else { 0 };
    }
    end
}

/// Whether these bytes are a number, perhaps with a unit.
pub(super) fn is_number(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b".").unwrap_or(bytes);
    let length = number_length(bytes);
    length > 0 && (length == bytes.len() || is_unit(&bytes[length..]))
}

/// Whether these bytes are a version: `v` and numbers, three numbers, or two with a marked end.
pub(super) fn is_version(bytes: &[u8]) -> bool {
    let marked = matches!(bytes, [b'v' | b'V', b'0'..=b'9', ..]);
    let rest = &bytes[usize::from(marked)..];
    let mut end = digits(rest);
    let mut dots = 0;
    if end == 0 {
        return false;
    }
    while rest.get(end) == Some(&b'.') {
        let more = digits(&rest[end + 1..]);
        if more == 0 {
            break;
        }
        end += more + 1;
        dots += 1;
    }
    let tail = &rest[end..];
    let plain = tail.is_empty() && (marked || dots >= 2);
    let open = matches!(tail, b".x" | b".X" | b".*") && (marked || dots >= 1);
    let bare = tail.strip_prefix(b"-").or(tail.strip_prefix(b".")).unwrap_or(tail);
    let word = bare.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let known = matches!(
        bare[..word].to_ascii_lowercase().as_slice(),
        b"alpha"
            | b"beta"
            | b"rc"
            | b"pre"
            | b"preview"
            | b"dev"
            | b"post"
            | b"snapshot"
            | b"a"
            | b"b"
            | b"canary"
            | b"nightly"
    );
    let spelled = tail.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+'));
    let numbered = bare.len() > word || word > 2;
    let built = dots >= 2 && matches!(tail, [b'+', _, ..] | [b'-', b'0'..=b'9', ..]);
    plain || open || (spelled && ((known && numbered && dots >= 1) || built))
}

/// The units of durations, the longest time first.
#[rustfmt::skip]
const DURATIONS: &[&[u8]] = &[
    b"w", b"d", b"h", b"m", b"s", b"ms", "µs".as_bytes(), "μs".as_bytes(), b"us", b"ns",
];

/// The length of a number and its unit, with which a duration begins, and the unit's row: `30m` of
/// `30m5s`.
pub(super) fn piece_of_duration(bytes: &[u8]) -> Option<(usize, usize)> {
    let number = number_length(bytes);
    let unit = bytes[number..].iter().take(4).take_while(|b| !b.is_ascii_digit()).count();
    let unit = &bytes[number..number + unit];
    let row = DURATIONS.iter().position(|known| *known == unit).filter(|_| number > 0)?;
    Some((number + unit.len(), row))
}

/// Whether these bytes are a duration in two units and more, the longer first: `1h30m`, `0m12.345s`.
pub(super) fn is_duration(bytes: &[u8]) -> bool {
    let (mut at, mut count, mut least) = (0, 0, 0);
    while let Some((length, row)) = piece_of_duration(&bytes[at..]).filter(|(_, row)| *row >= least)
    {
        (at, count, least) = (at + length, count + 1, row + 1);
    }
    count > 1 && at == bytes.len()
}

/// The length of the number in a number and then only letters that are no unit: `30req`. Not of what
/// may be a piece of an id (`12ab`) or is a name (`2fa`).
pub(super) fn counted(bytes: &[u8]) -> Option<usize> {
    let length = number_length(bytes);
    let letters = &bytes[length..];
    let counted = length > 0
        && letters.iter().all(u8::is_ascii_alphabetic)
        && !letters.iter().all(u8::is_ascii_hexdigit)
        && !bytes.starts_with(b"0x");
    (counted && !is_name(bytes)).then_some(length)
}

pub(super) fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

pub(super) fn is_hash(bytes: &[u8]) -> bool {
    let bytes = match bytes {
        [b'0', b'x' | b'X', rest @ ..] if rest.len() >= 6 => {
            return rest.iter().all(u8::is_ascii_hexdigit);
        }
        _ => bytes,
    };
    let number = bytes.iter().any(u8::is_ascii_digit);
    let letter = bytes.iter().any(u8::is_ascii_alphabetic);
    bytes.len() >= 7
        && bytes.iter().all(u8::is_ascii_hexdigit)
        && ((number && letter) || bytes.len() >= 32)
}

/// Whether these bytes are the code of an error: letters and digits as compilers number them, or
/// `42P01` as databases do.
pub(super) fn is_code(bytes: &[u8]) -> bool {
    let letters = bytes.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &bytes[letters..];
    ((1..=4).contains(&letters) && (3..=5).contains(&rest.len()) && all_digits(rest))
        || matches!(bytes, [b'0'..=b'9', b'0'..=b'9', b'P', b'0'..=b'9', b'0'..=b'9'])
}

/// Whether letters change from low to high inside a word, as in `fooBar` and `HTTPServer`, but not
/// as in `IDs` and `McCarthy`.
pub(super) fn has_humps(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"Mc") && bytes.len() > 2 && bytes[3..].iter().all(u8::is_ascii_lowercase)
    {
        return false;
    }
    let rises = bytes
        .windows(2)
        .any(|w| (w[0].is_ascii_lowercase() || w[0].is_ascii_digit()) && w[1].is_ascii_uppercase());
    let lower = bytes.iter().any(u8::is_ascii_lowercase);
    let falls = bytes.windows(4).any(|w| {
        w[..2].iter().all(u8::is_ascii_uppercase) && w[2..].iter().all(u8::is_ascii_lowercase)
    });
    lower && bytes.len() > 2 && (rises || falls)
}

/// Whether these are a name in letters and its version: `mypy-1.6.0`.
pub(super) fn all_of_version(bytes: &[u8]) -> bool {
    bytes.split(|b| *b == b'-').all(|piece| {
        all_letters(piece) || is_version(piece) || (is_number(piece) && piece.contains(&b'.'))
    })
}

/// What a piece of a name that is joined by dashes is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Word,
    Number,
    Mixed,
}

impl Piece {
    pub(super) fn of(bytes: &[u8]) -> Self {
        if all_letters(bytes) || is_name(bytes) {
            Self::Word
        } else if is_number(bytes) || is_duration(bytes) {
            Self::Number
        } else if matches!(bytes, [b'a'..=b'z' | b'A'..=b'Z', rest @ ..] if rest.len() < 3 && all_digits(rest))
        {
            // p99, q3, h1: words of prose.
            Self::Word
        } else {
            Self::Mixed
        }
    }
}
