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
];

/// Lines that were broken to a width, and lines that were not.
const WRAPS: &[(&str, bool)] = &[
    ("- Staging: I think the DB listens\n  on port [5433]", true),
    ("- Staging: I think the DB listens\n- on port [5433]", false),
    ("> I think the DB listens\n> on port [5433]", true),
    ("> I think the DB listens\non port [5433]", false),
    ("1. I think the staging DB, moved last week,\n   is on port [5433].", true),
    ("1. I think the staging DB moved last week.\n   It is on port [5433].", false),
    ("# I think the DB listens\n# on port [5433]", true),
    ("// I think the DB listens\n// on port [5433]", true),
    ("/// I think the DB listens\n/// on port [5433]", true),
    ("| I think the DB listens\n| on port [5433]", true),
    ("| I think the DB listens |\n| on port [5433] |", false),
    ("  9\t// I think the DB listens\n 10\t// on port [5433]", true),
    ("  9\t// It is the one that might already be of that kind or so\n 10\tport [5433]", false),
    ("  9→It is the one that might already be of that kind or so\n 10→port [5433]", true),
    ("// I think the DB listens\non_port([5433]);", false),
    ("I think\nthe staging DB is on port [5433].", true),
    ("I think so\nThe staging DB is on port [5433].", false),
    ("I think the right file is\n[/etc/app/db.yaml] now", true),
    ("I think the right file\n[/etc/app/db.yaml] now", false),
    ("I think the staging DB is at\n[staging-db.internal:5433] now", true),
    ("I think the host is\n[PG-7781] now", true),
    ("I think the host is\n\n[PG-7781] now", false),
    ("I think the host is\n- [PG-7781] now", false),
    ("I think the host is\n```\n[PG-7781]\n```", false),
    ("I think that we talked (briefly)\nabout port [5433] for staging", true),
    ("I think that we talked \"briefly\"\nabout port [5433] for staging", true),
    ("It may be slow (briefly)\nconnected to port [5433]", false),
    ("I think the DB is\r\non port [5433]", true),
    (r#"{"text":"I think the DB\nis on port <5433>"}"#, true),
    (r#"{"text": "I think the DB\nlistens, port <5433>"}"#, true),
    (r#"{"text":"It is probably slow\nport <5433>"}"#, false),
    (r#"{"text":"I think the DB is\n\non port <5433>"}"#, false),
    ("The staging database is probably the one that listens\nto nobody else, port [5433]", true),
    ("The staging database is probably the one that hears\nnobody else, port [5433]", true),
    ("warning: the staging database is probably hearing\nnobody else, port [5433]", false),
    ("npm WARN deprecated: glob may be removed\nadded [12] packages in 3s", false),
    ("the connection seems slow\nretrying in [30] s\nconnected to 10.0.0.5", false),
    ("the connection seems slow\nretrying in 30 s\nconnected to [10.0.0.5]", false),
    ("// TODO: probably wrong\nconst LIMIT: usize = [500];", false),
    ("{\n  \"note\": \"probably stale\",\n  \"port\": [5433]\n}", false),
    ("note: it is probably stale,\nport: [5433],", false),
    ("let a = f(\"it may be stale\", 1,\nport, [5433])", false),
    // Abbreviations before a number.
    ("I think the port for no. 3 is [5433]", true),
    ("I think the port for sec. 3 is [5433]", true),
    ("I think the port in fig. 2 is [5433]", true),
    ("I think the port in vol. 1 is [5433]", true),
    ("I think it took 5 sec. 3 ports, [5433] too", false),
    ("I think the answer is no. Port [5433].", false),
];

/// Sentences beside the place's own.
const DOUBTS: &[(&str, bool)] = &[
    ("The DB is on port [5433]. I think.", true),
    ("The DB is on port [5433]... I think.", true),
    ("The DB is on port [5433]. I guess.", true),
    ("The DB is on port [5433]. I believe.", true),
    ("The DB is on port [5433]; I think.", true),
    ("The DB is on port [5433]. (I think.)", true),
    ("The DB is on port [5433]. Not 100% sure.", true),
    ("The DB is on port [5433]. I'm 80% sure.", true),
    ("The DB is on port [5433]. I am not sure about that.", true),
    ("The DB is on port [5433]. At least I think so.", true),
    ("The DB is on port [5433].\n\nNot sure though.", true),
    ("The DB is on port [5433].\n\n\nNot sure though.", false),
    ("The DB is on port [5433].\n\n- Not sure though.", false),
    ("The DB is on port [5433].\\nNot sure though.", true),
    ("The DB is on port [5433]. I haven't verified it.", true),
    ("The DB is on port [5433]. I think we are done.", false),
    ("The DB is on port [5433]. I think it works.", false),
    ("The DB is on port [5433]. I am sure about that.", false),
    ("The DB is on port [5433]. I am 100% sure.", false),
    ("Use port [5433]. Not sure about the password.", false),
    ("Use port [5433]. Not sure about the port.", true),
    ("Use port [5433]. Not sure if it is right.", true),
    ("Use port [5433]. I'm unsure of the password.", false),
    ("My zip is [10115]. Maybe you can find me by that.", false),
    ("My zip is [10115]. Maybe outdated.", true),
    ("My zip is [10115]. Hopefully, that helps!", false),
    ("I could be wrong. The DB is on port [5433].", true),
    ("I could be wrong. It is up. The DB is on port [5433].", false),
    ("It is up. I could be wrong. The DB is on port [5433].", false),
    ("Take this with a grain of salt. Staging DB is on port [5433].", true),
    ("Maybe.\nThe staging DB is on port [5433].", true),
    ("Not verified. The port is [5433].", true),
    ("I don't think so. The port is [5433].", false),
    ("I could be slow. The DB is on port [5433].", false),
];

/// Lines that lead to the place.
const LEADS: &[(&str, bool)] = &[
    ("It is probably one of these:\nport [5433]\n", true),
    ("My guess:\nstaging DB is on port [5433]", true),
    ("My guess:\nstaging is it. The DB is on port [5433]", true),
    ("My guess:\na\n\nstaging DB is on port [5433]", false),
    ("My guess was slow.\nstaging DB is on port [5433]", false),
    ("My data:\nstaging DB is on port [5433]", false),
    ("My guess:\n- slow\nWhat I know:\nstaging DB is on port [5433]", false),
    ("> My guess:\n> staging DB is on port [5433]", true),
    ("// This may differ:\nsave([5433])", false),
    ("  9\t// This may differ:\n 10\tsave(1)\n 11\t\n 12\t// Saves port [5433]", false),
    ("What could be in it:\n\nFrom [5433] on:\n- a", false),
    ("It might miss this:\n\n**Context:**\nThe DB is on port [5433]", false),
    ("I think:\n\n```\nstaging DB port [5433]\n```\n", true),
    ("I think:\n\n```\na\n\nstaging DB port [5433]\n```\n", true),
    ("I think:\n\n```\na\n```\n\nStaging DB port [5433]\n", false),
    ("It seems to fail with:\n```\nport [5433] is taken\n```\n", false),
    ("I see:\n\n```\nstaging DB port [5433]\n```\n", false),
    ("I believe these are the ports:\n\nprod 5432\nstaging DB [5433]", true),
    ("I believe these are the ports:\n\n\nprod 5432\nstaging DB [5433]", false),
    ("I believe these are the ports:\n\nprod 5432\n\nstaging DB [5433]", false),
    ("Unverified:\n\n| staging DB | [5433] |", true),
    ("Unverified:\n\n| DB | port |\n|---|---|\n| staging DB | [5433] |", true),
    ("Verified:\n\n| staging DB | [5433] |", false),
    ("## Guesses\n\n- staging DB is on port [5433]", true),
    ("## Guesses\n\n- a\n\n## Facts\n\n- staging DB is on port [5433]", false),
    ("## Guesses\n\nStaging DB is on port [5433]", false),
    ("## Open questions\n- staging DB is on port [5433]", true),
    ("## Questions\n- staging DB is on port [5433]", false),
    ("Things I'm unsure about\n\n* staging DB is on port [5433]", true),
    ("Things I'm sure about\n\n* staging DB is on port [5433]", false),
    ("Things I'm unsure about\n* staging DB is on port [5433]", true),
    ("It is probably slow\n\n- staging DB is on port [5433]", false),
    ("We are up.\nWe could be faster\n- port [5433]", false),
    ("- Probably:\n  - port [5433]", true),
    ("- Probably:\n  - port 5434\n- Port [5433]", false),
    ("I'm not sure why, but these are known:\n- port [5433]", false),
];

#[test]
fn hedges_reach_what_they_speak_of() {
    let wrong: Vec<_> = [PLACES, WRAPS, DOUBTS, LEADS]
        .concat()
        .into_iter()
        .filter(|(row, expected)| {
            let marks = if row.contains('<') { ['<', '>'] } else { ['[', ']'] };
            let (start, end) = (row.find(marks[0]).unwrap(), row.find(marks[1]).unwrap() - 1);
            let text = row.replacen(marks[0], "", 1).replacen(marks[1], "", 1);
            hedged_at(&text, start..end) != *expected
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
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
