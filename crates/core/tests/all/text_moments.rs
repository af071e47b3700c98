//! Dates and times of day, however they are written: which are anchors, and what holds them.

use lacuna_core::text::AnchorKind::{self, *};
use lacuna_core::text::{Held, anchors};

/// A claim, and its anchors.
const CLAIMS: &[(&str, &[(AnchorKind, &str)])] = &[
    // A date in words was several numbers, and its month was nothing.
    ("He was born on 5 April 1990.", &[(Time, "5 April 1990")]),
    ("Born April 5, 1990 in Rome.", &[(Time, "April 5, 1990")]),
    ("Since Apr 5 it fails.", &[(Time, "Apr 5")]),
    ("Since Sept. 5th it fails.", &[(Time, "Sept. 5th")]),
    ("The 17 May flight, and the May 17th one.", &[(Time, "17 May"), (Time, "May 17th")]),
    ("on the 3rd of May, 2024", &[(Time, "3rd of May, 2024")]),
    ("May 17 is the deadline.", &[(Time, "May 17")]),
    ("from May 16-19", &[(Time, "May 16"), (Number, "19")]),
    ("On 17 May 2024 the", &[(Time, "17 May 2024")]),
    ("on April 5 10,000 rows", &[(Time, "April 5"), (Number, "10,000")]),
    ("on Nov 30 09:12:44 2026", &[(Time, "Nov 30"), (Time, "09:12:44"), (Number, "2026")]),
    // A verb is no month.
    ("may 3 retries fail", &[(Number, "3")]),
    ("May 3 retries fail?", &[(Number, "3")]),
    ("Done. March 5 miles north.", &[(Number, "5")]),
    ("In May 2026 we shipped.", &[(Number, "2026")]),
    ("May 32 files", &[(Number, "32")]),
    ("May 10,000 users come", &[(Number, "10,000")]),
    ("Maybe 5 of them; Marcus 5; Junes 5", &[(Number, "5"), (Number, "5"), (Number, "5")]),
    ("a June 5% rise", &[(Number, "5")]),
    // Halves of the day.
    ("at 6am, 6 AM or 6:00 a.m. sharp", &[(Time, "6am"), (Time, "6 AM"), (Time, "6:00 a.m.")]),
    ("from 7:00 PM to 7pm", &[(Time, "7:00 PM"), (Time, "7pm")]),
    ("The 6 ambient lights, 7 pmx, 13 pm", &[(Number, "6"), (Number, "7"), (Number, "13")]),
    (
        "open 6 pm-8 pm, 6:30-8:00 pm, 7:00-8:30",
        &[
            (Time, "6 pm"),
            (Time, "8 pm"),
            (Time, "6:30"),
            (Time, "8:00 pm"),
            (Time, "7:00"),
            (Time, "8:30"),
        ],
    ),
    ("at 14:05 pm and 0:30am, not 14 pm", &[(Time, "14:05 pm"), (Time, "0:30am"), (Number, "14")]),
    ("I met 3 America fans", &[(Number, "3")]),
];

#[test]
fn moments_in_words_are_anchors() {
    for (line, expected) in CLAIMS {
        let found: Vec<_> = anchors(line).map(|anchor| (anchor.kind, anchor.of(line))).collect();
        assert_eq!(found, *expected, "in {line:?}");
    }
}

/// A source, a claim's anchor, and whether the source holds it.
const ROWS: &[(&str, AnchorKind, &str, bool)] = &[
    // A full date in any writing holds it in any other.
    ("1990-04-05", Time, "5 April 1990", true),
    ("1990-04-05", Time, "April 5, 1990", true),
    ("1990-04-05", Time, "April 5th, 1990", true),
    ("1990/04/05", Time, "Apr 5 1990", true),
    ("05.04.1990", Time, "5 April 1990", true),
    ("04/05/1990", Time, "5 April 1990", true),
    ("04/05/1990", Time, "04/05/1990", true),
    ("5 April 1990", Time, "1990-04-05", true),
    ("April 5, 1990", Time, "1990/04/05", true),
    ("2026-01-07T10:00:00Z", Time, "7 January 2026", true),
    ("07/Jan/2026:10:00:00", Time, "January 7, 2026", true),
    ("07/Jan/2026:10:00:00 +0000", Time, "2026-01-07", true),
    ("07/Jan/2026:10:00:00", Time, "2026-01-07T10:00", true),
    ("20260107T100000Z", Time, "2026-01-07", true),
    // As `date` and git write it.
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "2026-11-30", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "30 November 2026", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "Nov 30 2026", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "Nov 30", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "09:12", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "09:12:44", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Number, "2026", true),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "2025-11-30", false),
    ("Date:   Mon Nov 30 09:12:44 2026 +0100", Time, "09:12:45", false),
    ("Mon Nov 30 09:12:44 UTC 2026", Time, "2026-11-30", true),
    ("Mon Nov 30 09:12:44 PM UTC 2026", Time, "2026-11-30", true),
    ("Mon Nov 30 09:12:44 PM UTC 2026", Time, "21:12", true),
    ("[Mon Nov 30 09:12:44.123456 2026] [error]", Time, "2026-11-30", true),
    ("Mon Nov  3 09:12:44 UTC 2026", Time, "2026-11-03", true),
    ("Nov 30 09:12:44 host sshd 2026", Time, "2026-11-30", false),
    (r#"{"d":"Mon Nov 30 09:12:44 CEST 2026\nby"}"#, Time, "2026-11-30", true),
    ("It was built Nov 30 09:12:44 2026.", Time, "2026-11-30", true),
    ("Nov 30 09:12:44 2026..5433", Time, "2026-11-30", false),
    ("Nov 30 09:12:44 2026ms", Time, "2026-11-30", false),
    // Without its year, and its parts as numbers.
    ("1990-04-05", Time, "April 5", true),
    ("2026-05-17T10:00:00Z", Time, "May 17th", true),
    ("2026-05-17T10:00:00Z", Time, "17 May", true),
    ("17/May/2026:10:00:00", Time, "May 17", true),
    ("Mar  5 10:00:01 host sshd", Time, "March 5", true),
    ("5 April 1990", Number, "1990", true),
    ("5 April 1990", Number, "5", true),
    ("1990-04-05", Number, "1990", true),
    ("1990-04-05", Number, "5", true),
    ("1990-04-05", Number, "4", false),
    ("2026-11-30", Time, "2026-11", true),
    // Another day, another month, a year that nobody said.
    ("May 17", Time, "June 17", false),
    ("2026-05-17", Time, "June 17", false),
    ("2026-05-17", Time, "May 18", false),
    ("2026-05-17", Time, "17 May 2025", false),
    ("May 17", Time, "17 May 2025", false),
    ("17 May and 5 June", Time, "17 June", false),
    // Times of day, by hour and minute in 24 h.
    ("06:00:00", Time, "6am", true),
    ("06:00:00", Time, "6:00", true),
    ("06:00:00", Time, "6:00 a.m.", true),
    ("6am", Time, "06:00:00", true),
    ("6am", Time, "06:00", true),
    ("6 AM", Time, "6:00", true),
    ("6:00 a.m.", Time, "6am", true),
    ("19:00", Time, "7:00 PM", true),
    ("19:00", Time, "7pm", true),
    ("7:00 PM", Time, "19:00", true),
    ("7 pm", Time, "19:00:00", true),
    ("2026-01-07T19:30:00Z", Time, "7:30 PM", true),
    ("12:15 AM", Time, "00:15", true),
    ("12pm", Time, "12:00", true),
    ("14:05:31", Time, "14:05", true),
    ("14:05:31", Time, "2:05 pm", true),
    ("2:05:31 PM", Time, "14:05", true),
    ("7pm", Number, "7", true),
    // Without a half it is held by both.
    ("07:00", Time, "7:00", true),
    ("7:00 PM", Time, "7:00", true),
    ("7:00", Time, "07:00", true),
    ("6-8 pm", Time, "8 PM", true),
    ("6:30-8:00 pm", Time, "20:00", true),
    ("10 am-2 pm", Time, "14:00", true),
    ("14:05 pm", Time, "2:05 PM", true),
    // Seconds that a claim gives count; so does the half.
    ("14:05:31", Time, "14:05:00", false),
    ("14:05:31", Time, "14:05:32", false),
    ("14:05", Time, "14:05:31", false),
    ("7:00 PM", Time, "7:00 AM", false),
    ("7:00 PM", Time, "07:00", false),
    ("19:00", Time, "7am", false),
    ("7:00", Time, "7 PM", false),
    ("6:30", Time, "6am", false),
    // Fractions and zones.
    ("10:00:00.500Z", Time, "10:00:00.5", true),
    ("10:00:00,500", Time, "10:00:00.5", true),
    ("10:00:00.5", Time, "10:00:00.6", false),
    ("2026-11-30T10:00:00+00:00", Time, "2026-11-30T10:00:00Z", true),
    ("2026-11-30T10:00:00+02:00", Time, "2026-11-30T10:00:00Z", false),
    ("2026-11-30T10:00:00", Time, "2026-11-30T10:00:00Z", false),
];

#[test]
fn moments_are_held_by_what_they_say() {
    for (source, kind, anchor, expected) in ROWS {
        for text in [source.to_string(), format!("and then, {source}\nand so on")] {
            let held = Held::of(&text);
            assert_eq!(held.holds(*kind, anchor), *expected, "{kind} {anchor:?} in {text:?}");
        }
    }
}
