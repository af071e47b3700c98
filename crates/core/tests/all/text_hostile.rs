//! Texts that are made to hurt: much of one thing each. What is asserted is what is found; that
//! the tests end at all shows that the work is linear.

use lacuna_core::text::AnchorKind::{self, *};
use lacuna_core::text::{
    Held, LONGEST_ANCHOR, anchors, content_words, forms, hedge, hedged_at, occurrences,
    sentence_around, sentences,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// For the things that texts are mostly made to hurt with.
const SIZE: usize = 10 << 20;

/// For all others, and for every pass: enough for a pass that is not linear to take minutes.
const SMALLER: usize = 256 << 10;

fn long(piece: &str) -> String {
    piece.repeat(SMALLER / piece.len())
}

/// Every pass over a text; gives the anchors' count and the forms'.
fn all_passes(text: &str) -> (usize, usize) {
    let middle = (0..4).map(|at| text.len() / 2 + at).find(|at| text.is_char_boundary(*at));
    let around = sentence_around(text, middle.unwrap()..middle.unwrap());
    assert!(around.len() <= 2_000);
    let sentences: Vec<_> = sentences(text).collect();
    assert!(sentences.windows(2).all(|pair| pair[0].end <= pair[1].start));
    assert_eq!(hedge(text), None);
    let _ = content_words(text).count();
    for kind in [Path, Quote, Identifier] {
        assert_eq!(occurrences(text, kind, "not/there at all").count(), 0);
    }
    (anchors(text).count(), forms(text).count())
}

#[test]
fn one_thing_without_end_is_skipped() {
    for piece in [
        "a", "A", "0", "é", "e\u{301}", ".", "-", "_", "a/", "/", "../", "a.", "a-", "a_", "a::",
        "a:", "@", "a@", "1.", "1:", "0x", "\u{301}", "\\", "\\\\", "~", "+", "a1", "\u{200b}",
        "=", "://", "http://", "测",
    ] {
        let text = long(piece);
        assert_eq!(all_passes(&text), (0, 0), "{piece:?}");
    }
}

#[test]
fn marks_without_end_open_nothing() {
    for piece in [
        "\"", "'", "`", "``", "\"\"", "“", "”", "«", "$", "${", "\\\"", "\\n", "\\u001b", "\u{1b}",
        "\u{1b}[", "(", "[", "{", ",", ";", " ", "\n", "! ", "? ", ". ", "\" ", "` ", "“ ", "$ ",
    ] {
        let text = long(piece);
        assert_eq!(all_passes(&text), (0, 0), "{piece:?}");
    }
}

#[test]
fn ten_mebibytes_of_one_thing() {
    let pieces = ["a", "0", ".", "-", "\"", "`", "a/", "e\u{301}", "“x ", "' "];
    let counts = pieces.map(|piece| anchors(&piece.repeat(SIZE / piece.len())).count());
    assert_eq!(counts, [0; 10]);
    let text = "`x y` ".repeat(SIZE / 6);
    assert_eq!(anchors(&text).count(), SIZE / 6);
}

#[test]
fn many_small_anchors_are_all_found() {
    // Piece, anchors in it, forms in it.
    for (piece, found, formed) in [
        ("1 ", 1, 1),
        ("1,000, ", 1, 1),
        ("a/b.rs ", 1, 2),
        ("`x y` ", 1, 1),
        ("\"abc\" ", 1, 1),
        ("“abc” ", 1, 1),
        ("h.com:80 ", 2, 3),
        ("http://h.io/x ", 1, 5),
        ("a_b ", 1, 1),
        ("2026-11-30 ", 1, 5),
        ("\n1. x", 0, 1),
        ("\n$ ls", 1, 1),
    ] {
        let count = SMALLER / piece.len();
        let text = long(piece);
        assert_eq!(all_passes(&text), (found * count, formed * count), "{piece:?}");
    }
}

#[test]
fn unterminated_quotes_give_what_stands_in_them() {
    for open in ["\"", "'", "`", "“", "«"] {
        let text = format!("{open}{} 5433", long("x "));
        assert_eq!(anchors(&text).map(|a| a.of(&text)).collect::<Vec<_>>(), ["5433"], "{open:?}");
    }
    // Each mark opens a quote that the next line would have to close.
    let text = long("“x\n«y\n\"z\n`w\n");
    assert_eq!(all_passes(&text), (0, 0));
}

#[test]
fn the_longest_anchor_is_bounded() {
    let path = |length: usize| format!("see /{}x.rs", "a/".repeat((length - 5) / 2));
    let text = path(LONGEST_ANCHOR);
    assert_eq!(anchors(&text).count(), 1);
    let text = path(LONGEST_ANCHOR + 2);
    assert_eq!(anchors(&text).count(), 0);
    let url = format!("https://ex.com/{}", long("a/?"));
    assert!(anchors(&url).all(|anchor| anchor.end - anchor.start <= LONGEST_ANCHOR));
    for piece in [
        "http://a/",
        "a.rs.",
        ".a",
        "_a",
        "-a",
        "a::b_",
        "1.2.3-",
        "1.",
        "1.1k",
        "x.y_",
        "@a/",
        "(a.b)",
    ] {
        let text = format!("{} ", piece.repeat(LONGEST_ANCHOR / piece.len())).repeat(256);
        assert!(forms(&text).count() < text.len(), "{piece:?}");
        assert!(anchors(&text).all(|anchor| anchor.end - anchor.start <= LONGEST_ANCHOR));
    }
}

#[test]
fn phrases_without_end_are_read_once() {
    // Piece, anchors in it.
    for (piece, found) in [
        ("5 April ", 1),
        ("May 5, ", 1),
        ("6 pm-", 1),
        ("5 May 6 pm ", 2),
        ("1 million ", 1),
        ("Nov 30 09:12:44 2026 ", 3),
        ("1h30m ", 2),
        ("1m", 0),
        ("order ABCDEF ", 1),
        ("code is ", 0),
        ("x#L4-L5 ", 0),
        ("6:30-7:00 ", 2),
        ("I think ` but ", 0),
        ("maybe\n", 0),
        ("I\\n", 0),
        ("> # // | I\n", 0),
        ("I think:\n\n", 0),
        ("- a:\n", 0),
        ("(?) ", 0),
        ("not sure. ", 0),
    ] {
        let text = long(piece);
        assert_eq!(anchors(&text).count(), found * (SMALLER / piece.len()), "{piece:?}");
        assert!(forms(&text).count() <= 2 * text.len(), "{piece:?}");
        for place in [0, text.len() / 2, text.len()] {
            hedged_at(&text, place..place);
        }
        assert!(sentences(&text).count() <= text.len(), "{piece:?}");
    }
}

#[test]
fn searching_a_row_of_one_letter_is_linear() {
    let text = long("a");
    assert_eq!(occurrences(&text, Identifier, &"a".repeat(LONGEST_ANCHOR)).count(), 0);
    let text = long("-");
    let found = occurrences(&text, Quote, &"-".repeat(LONGEST_ANCHOR)).count();
    assert_eq!(found, text.len() / LONGEST_ANCHOR);
    let text = format!("one{}two", long(" "));
    let found: Vec<_> = occurrences(&text, Quote, "one two").map(|at| at.len()).collect();
    assert_eq!(found, [text.len()]);
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "src/main.rs", "a_b", "fooBar", "5433", "1,200", "0.5", "v1.2", "1.2.3", "req-8f41",
            "localhost:5433", "https://ex.com/a?b=1", "2026-11-30T10:00:00Z", "14:05", "ENOENT",
            "25M", "1h30m", "4.1it/s", "Nov 30 09:12:44 2026", "`run it`", "\"a quote\"", "a@b.com", "C:\\x\\y.txt", "8f41c0d", "word", "three", "--flag",
            "$HOME", "a::b", "f()", "10.0.0.1", "..", "'it is'", "“x y z”", "e.g.", "ABC-12",
        ]).prop_map(str::to_string),
        3 => prop::sample::select(vec![
            " ", " ", "\n", ".", ",", ":", "/", "-", "_", "\"", "'", "`", "(", ")", "\\", "\\n", "=", "@",
            "“", "”", "é", "测", "\u{301}", "$", "+", "~", "; ", ". ",
        ]).prop_map(str::to_string),
        1 => "\\PC{0,6}",
    ]
}

#[track_caller]
fn well_formed(text: &str) -> Vec<(AnchorKind, String)> {
    let mut last = 0;
    let mut found = Vec::new();
    for anchor in anchors(text) {
        assert!(anchor.start < anchor.end && anchor.start >= last, "{anchor:?} in {text:?}");
        assert!(anchor.end - anchor.start <= LONGEST_ANCHOR);
        let words = text.get(anchor.start..anchor.end);
        found.push((anchor.kind, words.unwrap_or_else(|| panic!("{anchor:?} in {text:?}")).into()));
        last = anchor.start;
    }
    for (_, anchor) in forms(text) {
        assert!(anchor.start < anchor.end && text.get(anchor.start..anchor.end).is_some());
    }
    found
}

/// proptest prints the seed and the smallest text of a failure.
#[test]
fn a_text_holds_its_own_anchors_alone_and_among_others() {
    let strategy = prop::collection::vec(piece(), 0..12);
    TestRunner::default()
        .run(&strategy, |pieces| {
            let text = pieces.concat();
            let found = well_formed(&text);
            let among = format!("Before it, 7 words.\n{text}\nAfter it (more).");
            let (alone, joined) = (Held::of(&text), Held::of(&among));
            for (kind, words) in &found {
                prop_assert!(alone.holds(*kind, words), "{kind} {words:?} in {text:?}");
                prop_assert!(joined.holds(*kind, words), "{kind} {words:?} in {among:?}");
                let places: Vec<_> = occurrences(&text, *kind, words).collect();
                prop_assert!(places.windows(2).all(|pair| pair[0].start <= pair[1].start));
                prop_assert!(places.iter().all(|place| text.get(place.clone()).is_some()));
            }
            for range in sentences(&text) {
                prop_assert!(text.get(range.clone()).is_some_and(|s| !s.trim().is_empty()));
                let _ = hedge(&text[range.clone()]);
                let around = sentence_around(&text, range.start..range.start);
                prop_assert!(text.get(around).is_some());
            }
            Ok(())
        })
        .unwrap();
}
