//! Codes of bookings and orders, and the numbers that stand in addresses and names.

use lacuna_core::text::AnchorKind::{self, *};
use lacuna_core::text::{Held, anchors, identifiers};

/// A line, and its anchors.
const LINES: &[(&str, &[(AnchorKind, &str)])] = &[
    // Codes were no anchors: any could be told for any other.
    (
        "The reservations D1EW9B, M05KNL and 35V5SM.",
        &[(RequestId, "D1EW9B"), (RequestId, "M05KNL"), (RequestId, "35V5SM")],
    ),
    ("Order #W2378157 is on its way.", &[(RequestId, "W2378157")]),
    ("Reservation HXDUBJ is cancelled.", &[(RequestId, "HXDUBJ")]),
    ("The reservations HXDUBJ", &[(RequestId, "HXDUBJ")]),
    ("The confirmation code is HXDUBJ.", &[(RequestId, "HXDUBJ")]),
    ("Order ID: HXDUBJ; the code `HXDUBJ`", &[(RequestId, "HXDUBJ"), (RequestId, "HXDUBJ")]),
    (r#"{"reservation_id": "HXDUBJ"}"#, &[(Identifier, "reservation_id"), (RequestId, "HXDUBJ")]),
    (r#"{\"orderId\":\"HXDUBJ\"}"#, &[(Identifier, "orderId"), (RequestId, "HXDUBJ")]),
    (r#"{"code":"D1EW9B"}"#, &[(RequestId, "D1EW9B")]),
    (r#"{"state":"HXDUBJ"}"#, &[(Quote, "HXDUBJ")]),
    // Words in capitals are none, nor are acronyms, sizes and units.
    ("The order SHOULD be PENDING and the code CANNOT pass.", &[]),
    ("A WARNING about JSONPATH, a valid HXDUBJ, THREADS and GRAPHQL.", &[]),
    ("BASE64 over 100GBPS in 24HOURS, COVID19, SHA256.", &[(Number, "100GBPS")]),
    (
        "a 3320x864 picture, 640X480, 2x2",
        &[(Number, "3320"), (Number, "864"), (Number, "640"), (Number, "480")],
    ),
];

#[test]
fn codes_are_anchors_where_they_are_codes() {
    for (line, expected) in LINES {
        let found: Vec<_> = anchors(line).map(|anchor| (anchor.kind, anchor.of(line))).collect();
        assert_eq!(found, *expected, "in {line:?}");
    }
}

#[test]
fn a_source_names_the_codes_of_its_values() {
    let text = r#"{"reservation_id": "HXDUBJ", "flights": [{"order": "D1EW9B"}]}"#;
    let found: Vec<_> = identifiers(text).map(|(_, a)| (a.kind, a.of(text))).collect();
    assert_eq!(
        found,
        [(Identifier, "reservation_id"), (RequestId, "HXDUBJ"), (RequestId, "D1EW9B")]
    );
}

#[test]
fn a_code_is_held_whole() {
    for (source, code, expected) in [
        (r#"{"reservation_id": "HXDUBJ"}"#, "HXDUBJ", true),
        ("my booking is hxdubj", "HXDUBJ", true),
        ("HXDUBJ", "HXDUBK", false),
        ("D1EW9B", "D1EW9C", false),
        ("D1EW9BX", "D1EW9B", false),
        ("#W2378157", "W2378157", true),
        ("#W2378157", "W2378156", false),
    ] {
        assert_eq!(Held::of(source).holds(RequestId, code), expected, "{code} in {source}");
    }
}
