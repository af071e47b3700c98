//! What a text holds of an anchor that is written otherwise, and what it does not although the same
//! letters stand in it.

use lacuna_core::text::AnchorKind::{self, *};
use lacuna_core::text::{Held, content_words, form, occurrences, sentence_around, sentences};

/// A source, an anchor, and whether the source holds it.
const ROWS: &[(&str, AnchorKind, &str, bool)] = &[
    // Numbers: however they are written.
    ("took 1200 rows", Number, "1,200", true),
    ("took 1_200 rows", Number, "1,200", true),
    ("took 1,200 rows", Number, "1200", true),
    ("took 30 ms", Number, "30ms", true),
    ("took 30ms", Number, "30", true),
    ("grew by 50%", Number, "50", true),
    ("costs $1,500.75", Number, "1500.75", true),
    ("the 1st time", Number, "1", true),
    ("number 007", Number, "7", true),
    ("it is .5 now", Number, "0.5", true),
    ("three of them", Number, "3", true),
    ("Twenty of them", Number, "20", true),
    ("twelve", Number, "12", true),
    ("twenty-one", Number, "21", false),
    ("someone", Number, "1", false),
    ("port=5433", Number, "5433", true),
    (":5433", Number, "5433", true),
    ("localhost:5433", Number, "5433", true),
    ("[5433]", Number, "5433", true),
    ("[1,200]", Number, "200", true),
    ("f(1,200)", Number, "1", true),
    ("https://ex.com/a?b=1src/main.rs\\_5433", Number, "5433", true),
    (r#"{"port":"5433"}"#, Number, "5433", true),
    ("http://h.example:5433/x?y=42", Number, "5433", true),
    ("http://h.example:5433/x?y=42", Number, "42", true),
    ("src/file.rs:42:7", Number, "42", true),
    ("src/file.rs:42:7", Number, "7", true),
    ("exit code 1.", Number, "1", true),
    ("1. first", Number, "1", true),
    ("worker-3 died", Number, "3", true),
    ("protocol v2", Number, "2", true),
    ("python3.11", Number, "3.11", true),
    // Numbers: not a piece of something else.
    ("0.5", Number, "5", false),
    ("0.5", Number, "0", false),
    ("15", Number, "5", false),
    ("1,200", Number, "1", false),
    ("1,200 rows", Number, "200", false),
    ("(1,200 rows)", Number, "200", false),
    ("14:05", Number, "14", false),
    ("2026-11-30", Number, "11", false),
    ("req-8f41", Number, "8", false),
    ("8f41c0d", Number, "8", false),
    ("1.2.3", Number, "2", false),
    ("block_7", Number, "7", false),
    ("/var/log/5433/x", Number, "5433", false),
    ("10.0.0.1", Number, "10", false),
    ("3f2a1b4c-1234-4abc-8def-0123456789ab", Number, "1234", false),
    ("0.5 is", Number, "0.50", true),
    // Commands: not cut where a path goes on.
    ("ran `rm -rf /tmp/x`", Command, "rm -rf /", false),
    ("ran `rm -rf /`", Command, "rm -rf /", true),
    ("ran `cd /tmp && rm -rf x`", Command, "rm -rf x", true),
    // Paths: at the borders of components.
    ("/repo/src/main.rs:42", Path, "src/main.rs", true),
    ("/repo/src/main.rs:42", Path, "/repo/src", true),
    ("/repo/src/main.rs:42", Path, "repo/src", true),
    ("src/main.rs", Path, "main.rs", true),
    ("src/main.rs", Path, "./src/main.rs", true),
    ("src/main.rs", Path, "ain.rs", false),
    ("src/main.rs", Path, "c/main.rs", false),
    ("src/main.rs.bak", Path, "src/main.rs", false),
    ("src/not-main.rs", Path, "main.rs", false),
    (r"C:\repo\src\main.rs", Path, "src/main.rs", true),
    (r#"{"p":"C:\\repo\\src\\main.rs"}"#, Path, r"C:\repo\src\main.rs", true),
    ("SRC/Main.rs", Path, "src/main.rs", true),
    // Times: a source may say more.
    ("at 14:05:31", Time, "14:05", true),
    ("at 14:05:31", Time, "05:31", false),
    ("2026-11-30T10:00:00.5Z", Time, "2026-11-30", true),
    ("2026-11-30T10:00:00.5Z", Time, "10:00", true),
    ("2026-11-30T10:00:00.5Z", Time, "2026-11-30T10:00", true),
    ("2026/11/30", Time, "2026-11-30", true),
    ("2026-11-30", Time, "2026-11-03", false),
    // Versions and hashes.
    ("v1.2.3", Version, "1.2.3", true),
    ("mypy-1.2.3", Version, "v1.2.3", true),
    ("Python 3.11", Version, "v3.11", true),
    ("1.2.34", Version, "1.2.3", false),
    ("1.2.3.4", Version, "1.2.3", false),
    ("8f41c0d2aa77ae11bb22cc33dd44ee55ff667788", Hash, "8f41c0d2aa7", true),
    ("8f41c0d2aa77ae11bb22cc33dd44ee55ff667788", Hash, "667788a", false),
    ("8f41c0d", Hash, "8f41c0d2aa7", false),
    // Names.
    ("req-8f41c0d2-77ae", RequestId, "req-8f41c0d2", false),
    ("let snake_case = 1;", Identifier, "SNAKE_CASE", true),
    ("let snake_cases = 1;", Identifier, "snake_case", false),
    ("a::b::foo_bar(x)", Identifier, "foo_bar()", true),
    ("foo(x, y)", Identifier, "foo()", true),
    ("export PATH=/x", Identifier, "$PATH", true),
    ("api.example.com:443", Host, "example.com", true),
    ("api.example.com.evil.org", Host, "example.com", false),
    ("10.0.0.1:8080", Host, "10.0.0.1", true),
    ("https://ex.com/a/b?x=1", Url, "https://ex.com/a/b", true),
    ("https://ex.com/a/b?x=1", Url, "https://ex.com/", true),
    ("https://ex.com/a/b?x=1", Url, "http://ex.com/", false),
    ("https://ex.com/a/b?x=1", Host, "ex.com", true),
    ("ABC-12345", ErrorCode, "ABC-1234", false),
    ("fix/ABC-1234-login", ErrorCode, "abc-1234", true),
    // Quotes and commands: white space and typography do not matter.
    ("it  is\n done", Quote, "it is done", true),
    ("it’s “done”", Quote, "it's \"done\"", true),
    (r#"{"m":"say \"it is\ndone\" now"}"#, Quote, "say \"it is done\" now", true),
    ("reported", Quote, "port", false),
    ("run cargo  test -p core", Command, "cargo test -p core", true),
    ("run cargo test -p core", Command, "cargo test -p", true),
    ("run cargo test", Command, "cargo tests", false),
];

#[test]
fn a_source_holds_what_it_says_and_no_more() {
    for (source, kind, anchor, expected) in ROWS {
        let held = Held::of(source);
        assert_eq!(held.holds(*kind, anchor), *expected, "{kind} {anchor:?} in {source:?}");
        let among = format!("and then, {source}\nand so on");
        let held = Held::of(&among);
        assert_eq!(held.holds(*kind, anchor), *expected, "{kind} {anchor:?} in {among:?}");
    }
}

#[test]
fn forms_are_equal_by_meaning_and_apart_by_value() {
    assert_eq!(form(Number, "1,200"), form(Number, "1200ms"));
    assert_eq!(form(Version, "V1.2"), form(Version, "1.2"));
    assert_eq!(form(Path, "./a//b.rs"), form(Path, r"A\b.rs"));
    assert_eq!(form(Identifier, "main.rs"), form(Path, "main.rs"));
    assert_ne!(form(Number, "5433"), form(Quote, "5433"));
    assert_ne!(form(Number, "0.5"), form(Number, "5"));
    // A number of one digit had the form of the name before it.
    assert_ne!(form(Number, "2"), form(Version, "1"));
    let numbers: std::collections::HashSet<_> =
        (0..100_000).map(|n: u32| form(Number, &n.to_string())).collect();
    assert_eq!(numbers.len(), 100_000);
}

#[test]
fn occurrences_are_whole_words_in_order() {
    let text = "port, Port; report ports port-a (port) import_port";
    let found: Vec<_> = occurrences(text, Quote, "port").collect();
    assert_eq!(found, [0..4, 6..10, 25..29, 33..37]);
    let text = "5433 and :5433, not 54330 or 5433.5 but 5,433ms";
    let found: Vec<_> = occurrences(text, Number, "5433").map(|at| &text[at]).collect();
    assert_eq!(found, ["5433", "5433", "5,433ms"]);
    let text = "say  it\tis done. It is\n\ndone";
    let found: Vec<_> = occurrences(text, Quote, "it is done").map(|at| &text[at]).collect();
    assert_eq!(found, ["it\tis done", "It is\n\ndone"]);
    assert_eq!(occurrences("anything", Quote, "").count(), 0);
    let far = format!("{}snake_case{}", "x ".repeat(50_000), " y".repeat(50_000));
    let found: Vec<_> = occurrences(&far, Identifier, "SNAKE_CASE").map(|at| at.start).collect();
    assert_eq!(found, [100_000]);
}

/// Sentences in brackets; what stands between them is white space.
const SENTENCES: &[&str] = &[
    "[One is here.] [Two is there!] [Three?] [Four]",
    "[See e.g. the file a.b and 1.2, i.e. nothing etc. and more.] [Next.]",
    "[We use etc.] [Then more.]",
    "[It is at 10 a.m. today.] [The U.S. team left.]",
    "[Dr. Smith and Mr. A. Jones vs. the rest.] [End]",
    "[first line]\n[second line]\n\n[third; ][part two]",
    "[exit code 1.] [The next is 2.]",
    "[1. Install it.]\n[2. Run it.]",
    "[I think... the port is 5433.] [Yes... ][No.]",
    "[He said \"stop.\"] [Then (he left.)] [Then more.]",
    "[端口是5433。][可能不对！][是吗？]",
    "[line one\\n][line two\\n]",
    "[Call a.b(c). ][Then d.]",
];

#[test]
fn sentences_end_where_they_end() {
    for row in SENTENCES {
        let text: String = row.replace(['[', ']'], "");
        let expected: Vec<&str> = row
            .split('[')
            .skip(1)
            .map(|part| part.split(']').next().unwrap_or_default().trim())
            .collect();
        let found: Vec<_> = sentences(&text).map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{row}");
        for range in sentences(&text) {
            let middle =
                (range.start..range.end).find(|at| text.is_char_boundary(*at + 1)).unwrap();
            assert_eq!(sentence_around(&text, middle..middle + 1), range, "{row}");
        }
    }
}

#[test]
fn a_sentence_around_a_place_is_bounded() {
    let text = format!("{} here {}", "é".repeat(2_000), "é".repeat(2_000));
    let at = text.find("here").unwrap();
    let found = sentence_around(&text, at..at + 4);
    assert!(found.start <= at && found.end >= at + 4);
    assert!(at - found.start <= 1_000 && found.end - at - 4 <= 1_000);
    assert!(text.get(found).is_some());
    assert_eq!(sentence_around("short", 100..200), 0..5);
    assert_eq!(sentence_around("", 0..0), 0..0);
}

#[test]
fn content_words_are_what_is_left() {
    let words = |text| content_words(text).collect::<Vec<_>>();
    assert_eq!(
        words("The build is broken"),
        words("A BROKEN build").into_iter().rev().collect::<Vec<_>>()
    );
    assert_eq!(words("it was the of and"), []);
    assert_eq!(words("über Größe").len(), 2);
}
