//! Numbers by their value, versions by their beginnings, and the numbers that stand in names.

use lacuna_core::text::AnchorKind::{self, *};
use lacuna_core::text::{Held, anchors};

fn check(rows: &[(&str, AnchorKind, &str, bool)]) {
    for (source, kind, anchor, expected) in rows {
        for text in [source.to_string(), format!("and then, {source}\nand so on")] {
            let held = Held::of(&text);
            assert_eq!(held.holds(*kind, anchor), *expected, "{kind} {anchor:?} in {text:?}");
        }
    }
}

#[test]
fn zeros_after_the_point_do_not_matter() {
    check(&[
        ("255.0", Number, "255", true),
        ("88.0%", Number, "88", true),
        ("costs 100.00", Number, "$100", true),
        ("costs 100", Number, "100.00", true),
        ("0.50", Number, "0.5", true),
        ("0.5", Number, "0.50", true),
        (".50", Number, "0.5", true),
        ("1,500.10", Number, "1500.1", true),
        ("0.0", Number, "0", true),
        ("0.05", Number, "0.5", false),
        ("100", Number, "1", false),
        ("10", Number, "1.0", false),
        ("1.05", Number, "1.5", false),
        ("1e10", Number, "1e1", false),
    ]);
}

#[test]
fn thousands_and_millions_in_words() {
    check(&[
        ("25k", Number, "25,000", true),
        ("25,000", Number, "25k", true),
        ("25K rows", Number, "25000", true),
        ("1.5k", Number, "1500", true),
        ("0.5k", Number, "500", true),
        ("1.2345k", Number, "1234.5", true),
        ("25k", Number, "25", true),
        ("1000000", Number, "1 million", true),
        ("2.5 million", Number, "2,500,000", true),
        ("2.5 million", Number, "2.5", true),
        ("3 billion", Number, "3000000000", true),
        ("25k", Number, "2500", false),
        ("25kB", Number, "25000", false),
        ("1 million", Number, "1 billion", false),
        ("1 millionaire", Number, "1000000", false),
    ]);
    let line = "1 million rows, 2 millions, 25k, 3 thousand";
    let found: Vec<_> = anchors(line).map(|anchor| anchor.of(line)).collect();
    assert_eq!(found, ["1 million", "2", "25k", "3 thousand"]);
}
