//! Codes that name one booking, order or customer: capitals and digits without a system.

/// How long such a code is.
const LENGTH: std::ops::RangeInclusive<usize> = 6..=8;

/// How far a label is looked for before a code, in bytes.
const REACH: usize = 40;

/// Words in capitals that are said loudly behind a label, or are a state of what it labels.
const LOUD: &[&[u8]] = &[
    b"ALWAYS",
    b"ANOTHER",
    b"BEFORE",
    b"BLOCKED",
    b"CANCELED",
    b"CANNOT",
    b"CREATED",
    b"DEFAULT",
    b"DELETED",
    b"EXPIRED",
    b"FAILED",
    b"FAILURE",
    b"INSTEAD",
    b"INVALID",
    b"MISSING",
    b"NUMBER",
    b"OBJECT",
    b"PASSED",
    b"PENDING",
    b"PLEASE",
    b"PRESENT",
    b"RECEIVED",
    b"REJECTED",
    b"REQUIRED",
    b"RETURNED",
    b"RETURNS",
    b"REVIEW",
    b"SHIPPED",
    b"SHOULD",
    b"STATUS",
    b"STRING",
    b"SUCCESS",
    b"TIMEOUT",
    b"UNKNOWN",
    b"UNLESS",
    b"UPDATED",
    b"WARNING",
    b"WITHIN",
    b"WITHOUT",
];

const LABELS: &[&[u8]] = &[
    b"booking",
    b"code",
    b"confirmation",
    b"id",
    b"locator",
    b"order",
    b"pnr",
    b"record",
    b"reference",
    b"reservation",
    b"ticket",
    b"voucher",
];

fn is_one_of(list: &[&[u8]], word: &[u8]) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}

/// Whether these capitals and digits are such a code: `D1EW9B`, `35V5SM`, `W2378157`. A number
/// before its unit (`100GBPS`) and a size (`640X480`) are none.
pub(super) fn is_booking(bytes: &[u8]) -> bool {
    let spelled = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    if !LENGTH.contains(&bytes.len()) || !bytes.iter().all(spelled) {
        return false;
    }
    let turns = bytes.windows(2).filter(|w| w[0].is_ascii_digit() != w[1].is_ascii_digit()).count();
    let number_first = bytes[0].is_ascii_digit();
    turns >= if number_first { 2 } else { 1 } && sides(bytes).is_none()
}

/// The length of the first side of a size, `3320x864`.
pub(super) fn sides(bytes: &[u8]) -> Option<usize> {
    let first = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let second = bytes.get(first + 1..).filter(|_| matches!(bytes[first], b'x' | b'X'))?;
    let sized = (1..=5).contains(&first) && (1..=5).contains(&second.len());
    (sized && second.iter().all(u8::is_ascii_digit)).then_some(first)
}

/// Whether the capitals that stand here are a code, since a label before them says so: `reservation
/// HXDUBJ`, `"reservation_id": "HXDUBJ"`, `Order ID is HXDUBJ`.
pub(super) fn is_labelled(bytes: &[u8], start: usize, end: usize) -> bool {
    if !LENGTH.contains(&(end - start)) || is_one_of(LOUD, &bytes[start..end]) {
        return false;
    }
    let mut head = &bytes[start.saturating_sub(REACH)..start];
    for _ in 0..2 {
        let marks = head.iter().rev().take_while(|b| b" \"'`:=#([*\\".contains(b)).count();
        head = &head[..head.len() - marks];
        let length =
            head.iter().rev().take_while(|b| b.is_ascii_alphabetic() || **b == b'_').count();
        let word = &head[head.len() - length..];
        if marks == 0 || word.is_empty() {
            return false;
        }
        let label = last_part(word);
        if is_one_of(LABELS, label.strip_suffix(b"s").unwrap_or(label)) {
            return true;
        }
        if !is_one_of(&[b"is", b"was", b"number", b"no"], word) {
            return false;
        }
        head = &head[..head.len() - length];
    }
    false
}

/// The last of the words that a name joins: `id` of `order_id` and of `orderId`.
fn last_part(name: &[u8]) -> &[u8] {
    let begins = |at: &usize| {
        let (before, first) = (name[at - 1], name[*at]);
        before == b'_' || (before.is_ascii_lowercase() && first.is_ascii_uppercase())
    };
    &name[(1..name.len()).rev().find(begins).unwrap_or(0)..]
}
