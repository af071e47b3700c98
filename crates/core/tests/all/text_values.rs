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
        ("1.2M", Number, "1.2 million", true),
        ("1.2 million", Number, "1.2M", true),
        ("4.5M requests", Number, "4,500,000", true),
        ("4.5M requests", Number, "4.5", true),
        ("3B", Number, "3 billion", true),
        ("3B", Number, "3 million", false),
        ("1.2m", Number, "1.2 million", false),
        ("1.2MB", Number, "1.2 million", false),
        ("512M", Number, "512 MB", true),
        ("25kB", Number, "25000", false),
        ("1 million", Number, "1 billion", false),
        ("1 millionaire", Number, "1000000", false),
    ]);
    let line = "1 million rows, 2 millions, 25k, 3 thousand";
    let found: Vec<_> = anchors(line).map(|anchor| anchor.of(line)).collect();
    assert_eq!(found, ["1 million", "2", "25k", "3 thousand"]);
}

#[test]
fn durations_in_two_units_are_numbers() {
    check(&[
        ("took 1h30m", Number, "1h", true),
        ("took 1h30m", Number, "30 minutes", true),
        ("took 1h 30m", Number, "30m", true),
        ("took 1d2h3m4.5s", Number, "4.5", true),
        ("real\t0m12.345s", Number, "12.345s", true),
        ("real\t0m12.345s", Number, "345", false),
        ("5ms30µs", Number, "30", true),
        ("1m30h", Number, "30", false),
        ("1h30", Number, "30", false),
    ]);
    let line = "1h30m, 1h30m15s, ~2m0s, 1h30m-long, req-1h30m, 1h30x";
    let found: Vec<_> = anchors(line).map(|anchor| anchor.of(line)).collect();
    let durations = ["1h", "30m", "1h", "30m", "15s", "2m", "0s", "1h", "30m"];
    assert_eq!(found[..9], durations);
    assert_eq!(found[9..], ["req-1h30m"]);
}

#[test]
fn sources_support_numbers_before_letters() {
    check(&[
        ("4.1it/s", Number, "4.1", true),
        ("4.1it/s", Number, "1", false),
        ("30req/s", Number, "30", true),
        ("12ab", Number, "12", false),
        ("8f41c0d", Number, "8", false),
        ("2fa", Number, "2", false),
        ("30req5", Number, "30", false),
        ("req-30xy", Number, "30", false),
    ]);
    assert_eq!(anchors("30req/s and 3D").count(), 0);
}

#[test]
fn versions_support_their_beginnings() {
    check(&[
        ("v6.0.0-alpha.2", Version, "v6.0.0-alpha.2", true),
        ("v6.0.0-alpha.2", Number, "2", true),
        ("v6.0.0-alpha.2", Version, "v6.0", true),
        ("v6.0.0-alpha.2", Version, "6.0.0", false),
        ("Python 3.12.4", Number, "3.12", true),
        ("Python 3.12.4", Version, "v3.12", true),
        ("Python 3.12.4", Number, "3", true),
        ("Python 3.12", Number, "3", true),
        ("1.23.0", Number, "1.23", true),
        ("go1.24.3", Version, "1.24.3", true),
        ("go1.24.3", Number, "1.24", true),
        ("1.24.3", Version, "go1.24.3", false),
        ("PostgreSQL 15.4", Number, "15", true),
        ("took 15.4", Number, "15", false),
        ("15.4 ms", Number, "15", false),
        ("1.23", Number, "1.2", false),
        ("1.23.0", Number, "1.2", false),
        ("1.23.4", Version, "1.2.3", false),
        ("v1.23", Version, "v1.2", false),
        ("v1.2", Version, "v1.23", false),
        ("1.2.3", Number, "2", false),
    ]);
    let line = "go1.24.3 and python3.11";
    let found: Vec<_> = anchors(line).map(|anchor| anchor.of(line)).collect();
    assert_eq!(found, ["1.24.3", "3.11"]);
}

#[test]
fn numbers_stand_in_addresses_and_sizes() {
    check(&[
        ("https://github.com/o/r/pull/68", Number, "68", true),
        ("https://github.com/o/r/pull/68.", Number, "68", true),
        ("https://github.com/o/r/issues/1234#issuecomment-9", Number, "1234", true),
        ("https://github.com/o/r/pull/68/files?w=1", Number, "68", true),
        ("https://h.example/1.2.3/x", Number, "2", false),
        ("https://h.example/a68/x", Number, "68", false),
        ("o/r/issues/1234", Number, "1234", true),
        ("/repos/o/r/pull/68", Number, "68", true),
        ("/var/log/5433", Number, "5433", false),
        ("foo.go#L42", Number, "42", true),
        ("https://github.com/o/r/blob/main/foo.go#L10-L20", Number, "20", true),
        ("https://github.com/o/r/blob/main/foo.go#L10-L20", Number, "10", true),
        ("foo.go:42", Number, "42", true),
        ("foo.goL42", Number, "42", false),
        ("3320x864", Number, "3320", true),
        ("3320x864", Number, "864", true),
        ("2x4 grid", Number, "4", true),
        ("0x864", Number, "864", false),
    ]);
}
