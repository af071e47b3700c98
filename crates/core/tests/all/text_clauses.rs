//! Which hedges reach a place: `[` and `]` stand around it.

use lacuna_core::text::{hedge, hedged_at};

/// A text with a place, and whether what stands there is said with a reserve.
const PLACES: &[(&str, bool)] = &[
    ("I think it is [5433].", true),
    ("It is [5433].", false),
    ("It is [5433]. I think we should retry.", false),
    // A hedge before `but` was taken for one of what follows.
    ("I'm not sure about the reservation ID, but my user ID is [sophia_silva_7557].", false),
    ("I'm not sure about [D1EW9B], but my user ID is sophia_silva_7557.", true),
    ("It might be slow; the port is [5433].", false),
    ("Maybe the cache but surely port [5433].", false),
    ("It is on [5433], but I'm not sure.", true),
    ("It is on [5433] but that might change.", true),
    ("I think it is nothing but [5433].", true),
    ("It might break not only A but also [5433].", true),
    ("I know A, but I think it is [5433].", true),
    // Prose that was broken to a width goes on in the next line.
    ("I think the staging database is\non port [5433] today.", true),
    ("I think that the staging database is on port\n[5433].", true),
    ("The database is on port [5433],\nthough I'm not sure of it.", true),
    ("I think that it is slow, and\nthat is a pity, and\nport [5433] is used", true),
    ("It is probably slow\n\nport [5433] is used", false),
    ("It is probably slow.\nport [5433] is used", false),
    ("It is probably slow\nPort [5433] is used", false),
    ("It is probably slow\n2. port [5433] is used", false),
    ("It is probably slow\n    port [5433] is used", false),
    ("warning: this may be unused\nerror: port [5433] is taken", false),
    ("| it may | be slow | often\nport [5433]", false),
    // Items inherit from the line above their list.
    ("It is probably one of these:\n- port 5433\n- port [5434]\n", true),
    ("Possible ports, not verified:\n\n1. 5433\n   more of it\n2. [5434]\n", true),
    ("**It might be:**\n* [5433]", true),
    ("The ports are:\n- 5433\n- [5434]\n", false),
    ("It is probably slow.\n- port [5433]\n", false),
    ("It is probably one of these:\nport [5433]\n", false),
    ("It is probably one of these:\n- a\n\nDone.\n- [5433]\n", false),
    // A short sentence behind it doubts it.
    ("The port is [5433]. Not verified.", true),
    ("The port is [5433]. I'm not sure.", true),
    ("The port is [5433]. I’m not sure, though.", true),
    ("The port is [5433]. It might be outdated.", true),
    ("The port is [5433]. Just a guess.", true),
    ("The port is [5433]; I'm not sure.", true),
    ("The port is [5433]. Unconfirmed.", true),
    ("The port is [5433]. I think so.", true),
    ("The port is [5433]. It might be port 5434.", false),
    ("The port is [5433]. It looks like a good day.", false),
    ("The port is [5433]. It might take a good while until the whole build is done.", false),
    ("The port is [5433].\n\nNot verified.", false),
    ("- The port is [5433].\n- Not verified.", false),
    ("The port is [5433]. Is it unclear?", false),
    ("Not verified. The port is [5433].", false),
];

#[test]
fn hedges_reach_what_they_speak_of() {
    for (row, expected) in PLACES {
        let (start, end) = (row.find('[').unwrap(), row.find(']').unwrap() - 1);
        let text = row.replacen('[', "", 1).replacen(']', "", 1);
        assert_eq!(hedged_at(&text, start..end), *expected, "in {row:?}");
    }
}

#[test]
fn a_place_outside_the_text_is_moved_into_it() {
    assert!(hedged_at("I think so", 100..200));
    assert!(!hedged_at("", 0..0));
    assert!(!hedged_at("é", 1..1));
}

#[test]
fn code_and_permissions_do_not_hedge() {
    for sentence in [
        "if unlikely(x) { return; }",
        "if (unlikely(!page))",
        "struct Branch { likely: bool, taken: u8 }",
        "likely: true",
        "let maybe = 5;",
        "maybe=5",
        "Set `maybe x` and `it might be so` there.",
        "The flag may be used twice and may be omitted.",
        "It looks like you passed a string.",
    ] {
        let found = hedge(sentence).map(|range| &sentence[range]);
        assert_eq!(found, None, "in {sentence:?}");
    }
    for (sentence, words) in [
        ("Most likely: the cache.", "likely"),
        ("Probably: yes", "Probably"),
        ("Maybe (5433).", "Maybe"),
        ("It's `a` and maybe `b`.", "maybe"),
        ("It`s maybe 5433.", "maybe"),
        ("It may be broken.", "may"),
        ("It looks like an error.", "looks like"),
        ("The delay could come from the cache.", "could come from"),
        ("This suggests a race.", "This suggests"),
        ("A potential cause is the cache.", "A potential cause"),
        ("My best bet is 5433.", "My best bet"),
        ("I'd estimate 30 ms.", "I'd estimate"),
        ("Hypothesis: the cache is stale.", "Hypothesis:"),
        ("My hypothesis is 5433.", "My hypothesis"),
    ] {
        let found = hedge(sentence).map(|range| &sentence[range]);
        assert_eq!(found, Some(words), "in {sentence:?}");
    }
}

#[test]
fn a_place_is_looked_around_with_a_bound() {
    let lines = "- a b c\n".repeat(1 << 17);
    let text = format!("It is probably one of these:\n{lines}");
    for at in (0..text.len()).step_by(997) {
        hedged_at(&text, at..at + 1);
    }
    assert!(!hedged_at(&text, text.len() - 3..text.len() - 2));
}
