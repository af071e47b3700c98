//! What a claim takes from its sources: quotes, numbers and names, and the hedges around them.

use lacuna_core::{ClaimOrigin as O, ClaimSource, NewSpan, Origin};

use crate::scenario::{Scenario, id, saying};
use crate::telling::{claim, enforced, from, honest, quoting, refused, tell, tell_one, tool, user};

const MISQUOTED: &[&str] = &["anchor_not_in_source 0 a"];

fn holding(content: &str) -> Scenario {
    enforced(vec![user("a", content)])
}

/// A claim of `a` that holds no anchor itself, with this quote.
fn quote(words: &str) -> lacuna_core::Summarize {
    tell_one(&["a"], quoting("The user spoke of the build.", O::UserSaid, "a", words))
}

#[test]
fn a_quote_occurs_in_its_source() {
    let s = holding("The build is green. Ship it on Friday.");
    let says = ["claim 0 quotes what does not stand in a", "quote it literally"];
    refused(&s, quote("The build is red."), MISQUOTED, &says);
    honest(&s, quote("The build is green."));
    honest(&s, quote("green. Ship"));
    // The letters, not the like.
    refused(&s, quote("the BUILD is green"), MISQUOTED, &says);
    refused(&s, quote("The build … on Friday."), MISQUOTED, &says);
    for blank in ["", "  \n"] {
        refused(&s, quote(blank), MISQUOTED, &says);
    }
}

#[test]
fn a_quote_with_typographic_signs_and_white_space() {
    let s = holding("\"It's the build\" - she said...\n\tthen\u{a0}left.  The  end");
    honest(&s, quote("“It’s the build” — she said… then left."));
    honest(&s, quote("said... then left. The end"));
    honest(&s, quote("  \"It's the build\"\n- she\tsaid "));
    refused(&s, quote("“It’s the build” she said"), MISQUOTED, &[]);
    let s = holding("„Grün“ – so steht’s da");
    honest(&s, quote("\"Grün\" - so steht's da"));
    honest(&s, quote("Grün"));
    refused(&s, quote("Grun"), MISQUOTED, &[]);
}

#[test]
fn a_quote_in_any_script() {
    let s = holding("ビルドは成功しました。テストは三つ失敗。👍 готово");
    for words in ["ビルドは成功", "失敗。👍", "👍 готово"] {
        honest(&s, quote(words));
    }
    refused(&s, quote("ビルドは失敗"), MISQUOTED, &[]);
}

/// Bytes that are no text hold no words.
#[test]
fn a_quote_in_a_binary_span() {
    let bytes: &[u8] = b"\xff\xfe green 5433";
    let s = enforced(vec![saying("a", bytes), user("b", "green, on port 5433")]);
    refused(&s, quote("green"), MISQUOTED, &["quotes what does not stand in a"]);
    honest(&s, tell_one(&["a"], claim("The user sent a picture.", O::UserSaid, &["a"])));
    let port = |spans: &[&str]| tell_one(&["a"], claim("It is on port 5433.", O::UserSaid, spans));
    refused(&s, port(&["a"]), &["anchor_not_in_source 0 \"5433\""], &["“5433”"]);
    honest(&s, port(&["a", "b"]));
}

#[test]
fn each_source_holds_its_own_quote() {
    let s = enforced(vec![user("a", "The build is green."), user("b", "Ship it on Friday.")]);
    let both = |a: &str, b: &str| {
        let mut claim = quoting("The user spoke of it.", O::UserSaid, "a", a);
        claim.sources.push(ClaimSource { span: id("b"), quote: Some(b.to_owned()) });
        tell_one(&["a", "b"], claim)
    };
    honest(&s, both("The build", "Ship it"));
    let crossed = ["anchor_not_in_source 0 a", "anchor_not_in_source 0 b"];
    refused(&s, both("Ship it", "The build"), &crossed, &["not stand in a"]);
    refused(&s, both("The build", "The build"), &["anchor_not_in_source 0 b"], &[]);
}

#[test]
fn an_anchor_stands_in_some_cited_span() {
    let s = enforced(vec![
        user("a", "The staging DB is on port 5433."),
        tool("b", "config: /etc/lacuna.toml"),
        user("c", "The build is green."),
    ]);
    let covers = ["a", "b", "c"];
    let says = |text: &str, spans: &[&str]| tell_one(&covers, claim(text, O::Inferred, spans));
    let swapped = ["claim 0 says “5432”", "stands in no span that it cites", "correct it, or cite"];
    refused(
        &s,
        says("It is on port 5432.", &["a"]),
        &["anchor_not_in_source 0 \"5432\""],
        &swapped,
    );
    honest(&s, says("It is on port 5433.", &["a"]));
    // To cover a span is not to cite it.
    refused(&s, says("It is on port 5433.", &["c"]), &["anchor_not_in_source 0 \"5433\""], &[]);
    let two = "It is on port 5433, set in /etc/lacuna.toml.";
    honest(&s, says(two, &["a", "b"]));
    let path = ["anchor_not_in_source 0 \"/etc/lacuna.toml\""];
    refused(&s, says(two, &["a", "c"]), &path, &["“/etc/lacuna.toml”"]);
    let neither =
        ["anchor_not_in_source 0 \"5433\"", "anchor_not_in_source 0 \"/etc/lacuna.toml\""];
    refused(&s, says(two, &["c"]), &neither, &[]);
    // The names of spans need no source.
    honest(&s, says("The user said so in a.", &["a"]));
}

/// What stands behind a `but` is not doubted before it.
#[test]
fn a_hedge_before_but_was_taken_for_one_of_what_follows() {
    for (said, told) in [
        ("I'm not sure about the code, but my id is 7557.", "The id is 7557."),
        ("Not sure why, but the job exits with 137.", "The job exits with 137."),
        ("No idea why but build 4411 fails with E0502.", "Build 4411 fails with E0502."),
    ] {
        honest(&holding(said), tell_one(&["a"], claim(told, O::UserSaid, &["a"])));
    }
    let dropped = ["hedge_dropped 0 a"];
    for (said, told) in [
        ("I'm not sure about code 4711, but my id is 7557.", "The code is 4711."),
        ("My id is 7557, but I'm not sure.", "The id is 7557."),
    ] {
        refused(&holding(said), tell_one(&["a"], claim(told, O::UserSaid, &["a"])), &dropped, &[]);
    }
}

/// What a claim puts into a user's mouth stands in a user's span.
#[test]
fn a_claim_tells_what_a_user_said() {
    let s = enforced(vec![
        tool("t", "port=5433"),
        user("u", "The port is 5433, as I said."),
        from(Origin::Model, "m", "The port is 5433."),
    ]);
    let says =
        |text: &str, origin, span: &str| tell_one(&["t", "u", "m"], claim(text, origin, &[span]));
    let words = "The user confirmed that the port is 5433.";
    let sentence = ["tells what a user said, but t is of origin tool: cite the user's span"];
    refused(&s, says(words, O::ToolOutput, "t"), &["origin_upgraded 0 t"], &sentence);
    refused(&s, says(words, O::Inferred, "m"), &["origin_upgraded 0 m"], &[]);
    refused(
        &s,
        says("The user has explicitly said 5433.", O::ToolOutput, "t"),
        &["origin_upgraded 0 t"],
        &[],
    );
    honest(&s, says(words, O::UserSaid, "u"));
    honest(&s, says("The port is 5433.", O::ToolOutput, "t"));
    honest(&s, says("The user table says 5433.", O::ToolOutput, "t"));
    honest(&s, says("What the user said is an inference of port 5433.", O::Inferred, "u"));
}

/// A piece of a longer number is another number.
#[test]
fn a_part_of_an_anchor_is_another() {
    let s = holding("Request req_7f3a91c2 took 15433 ms on 10.0.0.12.");
    let says = |text: &str| tell_one(&["a"], claim(text, O::UserSaid, &["a"]));
    refused(&s, says("It took 5433 ms."), &["anchor_not_in_source 0 \"5433 ms\""], &[]);
    refused(&s, says("It ran on 10.0.0.1."), &["anchor_not_in_source 0 \"10.0.0.1\""], &[]);
    honest(&s, says("Request req_7f3a91c2 ran on 10.0.0.12 for 15433 ms."));
}

/// Places are counted in bytes, and never in the middle of a letter.
#[test]
fn an_anchor_beside_letters_of_other_scripts() {
    let s = holding("ステージングDBはポート5433です。");
    let says = |text: &str| tell_one(&["a"], claim(text, O::UserSaid, &["a"]));
    honest(&s, says("ポートは5433です。"));
    let found = ["anchor_not_in_source 0 \"6000\""];
    refused(&s, says("ポートは6000です。"), &found, &["“6000”"]);
    refused(&s, says("Порт — 6000 🚀"), &found, &["“6000”"]);
}

/// A long anchor is repeated shortened, and whole letters of it.
#[test]
fn a_sentence_repeats_long_words_cut() {
    let s = holding("The build is green.");
    let path = format!("/srv/{}", "überlang/".repeat(20));
    let summarize = tell_one(&["a"], claim(&format!("See {path}x."), O::UserSaid, &["a"]));
    let (found, said) = crate::telling::tried(&s, &summarize);
    assert!(!found.is_empty() && found.iter().all(|f| f.starts_with("anchor_not_in_source 0")));
    assert!(said[0].len() < 300 && said[0].contains("…”"), "{}", said[0]);
}

#[test]
fn a_hedge_around_the_quote() {
    let s = holding("The build is green. I think the release is ready. Ship it.");
    let quoted =
        |origin, words| tell_one(&["a"], quoting("The user spoke of it.", origin, "a", words));
    let dropped = ["hedge_dropped 0 a"];
    refused(&s, quoted(O::UserSaid, "the release is ready"), &dropped, &["what a hedges"]);
    refused(&s, quoted(O::UserSaid, "green. I think the release"), &dropped, &[]);
    honest(&s, quoted(O::Hedged, "the release is ready"));
    honest(&s, quoted(O::UserSaid, "The build is green"));
    honest(&s, quoted(O::UserSaid, "Ship it"));
}

/// To quote with other white space is no way around the hedge.
#[test]
fn a_hedge_around_a_quote_with_other_white_space() {
    let s = holding("I think the release is\n  ready. Ship it.");
    let claim = quoting("The release is ready.", O::UserSaid, "a", "the release is ready");
    refused(&s, tell_one(&["a"], claim), &["hedge_dropped 0 a"], &[]);
}

/// What a claim says is hedged where the source says that, whatever else the claim quotes.
#[test]
fn a_quote_from_elsewhere_hides_no_hedge() {
    let s = holding("The staging DB is up. I think it is on port 5433.");
    let claim =
        quoting("The staging DB is on port 5433.", O::UserSaid, "a", "The staging DB is up");
    refused(&s, tell_one(&["a"], claim), &["hedge_dropped 0 a"], &[]);
}

/// A question states nothing: it makes no guess certain.
#[test]
fn a_question_does_not_settle_a_hedge() {
    let s = holding("I think the staging DB is on port 5433. Can you look at 5433?");
    let claim = claim("The staging DB is on port 5433.", O::UserSaid, &["a"]);
    refused(&s, tell_one(&["a"], claim), &["hedge_dropped 0 a"], &[]);
}

/// The name of a span is its client's choice, and proves nothing.
#[test]
fn a_span_named_like_an_anchor_is_no_source_for_it() {
    let s = enforced(vec![user("a", "The staging DB is up."), user("localhost:6000", "Noted.")]);
    let claim = claim("The staging DB is on localhost:6000.", O::UserSaid, &["a"]);
    let found = ["anchor_not_in_source 0 \"6000\""];
    refused(&s, tell_one(&["a"], claim), &found, &[]);
}

#[test]
fn one_of_several_anchors_is_hedged() {
    let s = holding("The staging DB is db-staging.internal. I think its port is 5433.");
    let says = |text: &str, origin| tell_one(&["a"], claim(text, origin, &["a"]));
    let both = "db-staging.internal listens on port 5433.";
    refused(&s, says(both, O::UserSaid), &["hedge_dropped 0 a"], &[]);
    honest(&s, says(both, O::Hedged));
    honest(&s, says("The staging DB is db-staging.internal.", O::UserSaid));
}

/// Words without an anchor or a quote: the sentence that speaks most like the claim decides.
#[test]
fn a_hedge_is_found_by_the_words_of_the_claim() {
    let s = holding("Maybe the cache loses sessions of users. The queue keeps every message.");
    let says = |text: &str| tell_one(&["a"], claim(text, O::UserSaid, &["a"]));
    refused(&s, says("The cache loses sessions."), &["hedge_dropped 0 a"], &[]);
    honest(&s, says("The queue keeps every message."));
    honest(&s, says("The user described the plan."));
}

/// A mark on the span holds in every language, and for bytes that are no text.
#[test]
fn a_marked_span_hedges_all_that_it_says() {
    let marked = |name, content: &[u8]| NewSpan { hedged: true, ..saying(name, content) };
    let s = enforced(vec![
        marked("ja", "ポートは5433です。".as_bytes()),
        marked("bin", b"\xff\xfe"),
        user("ru", "Кажется, порт 5433."),
    ]);
    let says = |origin, span: &str| {
        let text = if span == "bin" { "A picture came." } else { "It is on port 5433." };
        tell(&["ja", "bin", "ru"], "Noted.", vec![claim(text, origin, &[span])])
    };
    for span in ["ja", "bin"] {
        let expected = format!("hedge_dropped 0 {span}");
        refused(&s, says(O::UserSaid, span), &[&expected], &["tag it hedged"]);
        refused(&s, says(O::Inferred, span), &[&expected], &[]);
        honest(&s, says(O::Hedged, span));
    }
    // Unmarked and not in the table of hedges: nothing mechanical can tell.
    honest(&s, says(O::UserSaid, "ru"));
}

/// A tool's guess is a guess.
#[test]
fn a_tool_that_hedges() {
    let s = enforced(vec![tool("a", "warning: the disk is probably full\nexit status 1")]);
    let says = |text: &str, origin| tell_one(&["a"], claim(text, origin, &["a"]));
    refused(&s, says("The disk is full.", O::ToolOutput), &["hedge_dropped 0 a"], &[]);
    honest(&s, says("The disk is full.", O::Hedged));
}
