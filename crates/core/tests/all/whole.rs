//! What a summary is refused for as a whole: its text, its size, its place in the window.

use lacuna_core::{ClaimOrigin as O, CopyEvidence, NewSpan, SummaryStatus};

use crate::scenario::{id, ids, spans};
use crate::telling::{
    claim, enforced, enforced_in, honest, plain, plain_citing, refused, tell, tell_one, user,
};

fn sized(name: &str, tokens: u32) -> NewSpan {
    NewSpan { tokens: Some(tokens), ..user(name, "The build is green.") }
}

/// A summary of `covers` that takes this many tokens and says nothing wrong.
fn of_tokens(covers: &[&str], tokens: usize) -> lacuna_core::Summarize {
    tell(covers, &"x".repeat(4 * tokens), vec![claim("Noted.", O::UserSaid, &covers[..1])])
}

#[test]
fn empty_summary() {
    let s = enforced(spans(&["a"]));
    let noted = || claim("Something was noted.", O::Inferred, &["a"]);
    let says = ["its text is empty", "prune them without a summary"];
    for blank in ["", " ", "\n\t \u{a0}"] {
        refused(&s, tell(&["a"], blank, vec![noted()]), &["empty_summary -"], &says);
        refused(&s, tell(&["a"], blank, vec![]), &["empty_summary -"], &says);
    }
    let says = ["it claims nothing", "as claims with origin and sources"];
    refused(&s, tell(&["a"], "Something was noted.", vec![]), &["empty_summary -"], &says);
    honest(&s, tell(&["a"], ".", vec![noted()]));
}

/// A claim without words claims nothing.
#[test]
fn empty_claims() {
    let s = enforced(spans(&["a"]));
    for blank in ["", " \n"] {
        let reply = s.clone().tell(tell(&["a"], "Noted.", vec![claim(blank, O::Inferred, &["a"])]));
        assert_eq!(reply.status, SummaryStatus::Rejected, "{blank:?}");
    }
}

#[test]
fn summary_grew() {
    let s = enforced(vec![sized("a", 10), sized("b", 5)]);
    let says = ["it takes 11 tokens", "what it covers 10", "shorten it, or cover more"];
    refused(&s, of_tokens(&["a"], 11), &["summary_grew -"], &says);
    honest(&s, of_tokens(&["a"], 10));
    honest(&s, of_tokens(&["a", "b"], 15));
    refused(&s, of_tokens(&["b", "a"], 16), &["summary_grew -"], &["what it covers 15"]);
    // A byte more is a token more.
    let mut longer = of_tokens(&["a"], 10);
    longer.text.push('x');
    longer.digest = lacuna_core::Digest::of(longer.text.as_bytes());
    refused(&s, longer, &["summary_grew -"], &["it takes 11 tokens"]);
}

/// A span that is named twice is there once.
#[test]
fn summary_grew_over_spans_named_twice() {
    let s = enforced(vec![sized("a", 10)]);
    refused(&s, of_tokens(&["a", "a"], 11), &["summary_grew -"], &["what it covers 10"]);
}

/// Otherwise the same twice is the same once.
#[test]
fn covers_that_name_a_span_twice() {
    let mut s = enforced(spans(&["a", "b"]));
    let reply = s.told(plain_citing("S", &["a", "b", "a"], &["a", "a"]));
    assert_eq!((reply.depth, reply.attempts_left), (1, 3));
    s.audited_by("auditor", "S", &["a", "b"], true);
    s.prune(crate::scenario::replace(&["a", "b"], "S"));
    assert_eq!(s.window(), "summary(S: a b)");
}

/// 1,000 tokens with 150 in reserve: 850 may be used.
#[test]
fn reserve_breached() {
    let full = |rest| enforced_in(1_000, vec![sized("a", 100), sized("rest", rest)]);
    let s = full(800);
    assert!(s.state().budget().over);
    let says = ["reserve of 150 tokens", "shorten it by 1 tokens", "or cover more"];
    refused(&s, of_tokens(&["a"], 51), &["reserve_breached -"], &says);
    honest(&s, of_tokens(&["a"], 50));
    refused(&s, of_tokens(&["a"], 60), &["reserve_breached -"], &["shorten it by 10 tokens"]);
    // With more covered the same text is short enough.
    honest(&s, of_tokens(&["a", "rest"], 60));
    // Where no text would be short enough it is not the text's fault.
    honest(&full(851), of_tokens(&["a"], 60));
    honest(&full(750), of_tokens(&["a"], 100));
}

#[test]
fn reserve_breached_by_spans_named_twice() {
    let s = enforced_in(1_000, vec![sized("a", 100), sized("rest", 800)]);
    refused(&s, of_tokens(&["a", "a"], 51), &["reserve_breached -"], &["by 1 tokens"]);
}

/// The tags that the window prints behind the text take room as well.
#[test]
fn reserve_breached_by_tags() {
    let s = enforced_in(1_000, vec![sized("a", 100), sized("rest", 800)]);
    let tagged = |words: &str| tell(&["a"], "Noted.", vec![claim(words, O::Hedged, &["a"])]);
    honest(&s, tagged("Noted."));
    refused(&s, tagged(&"noted ".repeat(40)), &["reserve_breached -"], &["reserve of 150 tokens"]);
}

/// What is covered but stands outside the window frees nothing.
#[test]
fn reserve_counts_what_stands() {
    let outside = NewSpan { in_window: false, ..sized("out", 100) };
    let s = enforced_in(1_000, vec![outside, sized("a", 100), sized("rest", 800)]);
    refused(&s, of_tokens(&["out", "a"], 51), &["reserve_breached -"], &["by 1 tokens"]);
}

/// The text is held to the spans as the claims are: nothing is told between them.
#[test]
fn the_text_says_what_stands_nowhere() {
    let s = enforced(vec![
        user("a", "The staging DB is on port 5433."),
        user("b", "Use /etc/lacuna.toml."),
    ]);
    let text =
        |text: &str| tell(&["a"], text, vec![claim("It is on port 5433.", O::UserSaid, &["a"])]);
    let says = ["the text says “6000”", "neither in a claim nor in a covered span", "leave it out"];
    refused(&s, text("It is on port 6000."), &["anchor_not_in_source - \"6000\""], &says);
    honest(&s, text("It is on port 5433."));
    // `b` is neither covered nor cited.
    let path = ["anchor_not_in_source - \"/etc/lacuna.toml\""];
    refused(&s, text("Port 5433, in /etc/lacuna.toml."), &path, &[]);
    let mut covering = text("Port 5433, in /etc/lacuna.toml.");
    covering.covers = ids(&["a", "b"]);
    honest(&s, covering);
    // An author counts, and says when.
    honest(&s, text("Two of 3 steps are done; it is on port 5433."));
    // The session's own names need no source.
    honest(&s, text("See S and a; it is on port 5433."));
}

/// A span that cannot be read holds nothing: else one withheld span would free every word.
#[test]
fn the_text_over_unreadable_spans() {
    let mut s =
        enforced(vec![user("a", "The staging DB is on port 5433."), user("b", "Port 6000.")]);
    let text = tell(&["a", "b"], "On 5433 and 6000.", vec![claim("On 5433.", O::UserSaid, &["a"])]);
    honest(&s, text.clone());
    s.evidence.insert(id("b"), CopyEvidence::missing("gone"));
    refused(&s, text, &["anchor_not_in_source - \"6000\""], &[]);
}

/// What spans state only with a hedge the text does not state flatly, unless a claim stands for it.
#[test]
fn the_text_drops_a_hedge() {
    let hedging = "I think the staging DB is on port 5433.";
    let marked = NewSpan { hedged: true, ..user("m", "The cache is on port 6379.") };
    let s = enforced(vec![user("a", hedging), user("b", "The build is green."), marked]);
    let green = || claim("The build is green.", O::UserSaid, &["b"]);
    let text = |text: &str| tell(&["a", "b", "m"], text, vec![green()]);
    let says = ["states “5433” flatly", "a only with a hedge", "make it a claim tagged hedged"];
    let flat = ["hedge_dropped - a \"5433\""];
    refused(&s, text("Green. The staging DB is on port 5433."), &flat, &says);
    let marked = ["hedge_dropped - m \"6379\""];
    refused(&s, text("Green. The cache is on port 6379."), &marked, &["“6379” flatly", "m only"]);
    honest(&s, text("Green. The staging DB is on port 5433, the user thinks."));
    honest(&s, text("Green. Perhaps port 6379."));
    honest(&s, text("Green. The staging DB has a port."));
    // The window prints the claim's tag behind the text.
    let mut claimed = text("Green. The staging DB is on port 5433.");
    claimed.claims.push(claim("The staging DB is on port 5433.", O::Hedged, &["a"]));
    honest(&s, claimed);
    // Some span says so without a hedge.
    let mut s = s;
    s.append(vec![user("c", "It is on port 5433.")]);
    let mut sure = text("Green. The staging DB is on port 5433.");
    sure.covers = ids(&["a", "b", "c"]);
    honest(&s, sure);
}

/// A sentence without anchors drops a hedge, too, where no claim tells it.
#[test]
fn the_text_drops_a_hedge_of_a_sentence_without_anchors() {
    let guess = "I think the login bug comes from the session cache. Fix it in src/login.rs.";
    let s = enforced(vec![user("a", guess), user("b", "The build is green.")]);
    let fix = || claim("Fix it in src/login.rs.", O::UserSaid, &["a"]);
    let text = |text: &str| tell(&["a", "b"], text, vec![fix()]);
    let flat = "The login bug comes from the session cache. Fix it in src/login.rs.";
    let found = ["hedge_dropped - a \"The login bug comes from the session cache.\""];
    refused(&s, text(flat), &found, &["keep the hedge, or make it a claim tagged hedged"]);
    honest(&s, text("The user suspects the session cache. Fix it in src/login.rs."));
    honest(&s, text("Perhaps the login bug comes from the session cache. Fix it in src/login.rs."));
    honest(&s, text("The login page was spoken of. Fix it in src/login.rs."));
    // The window prints the claim's tag behind the text.
    let mut claimed = text(flat);
    let told = "The login bug comes from the session cache.";
    claimed.claims.push(claim(told, O::Hedged, &["a"]));
    honest(&s, claimed);
    // A span that is marked hedges with every word.
    let mut s = s;
    s.append(vec![NewSpan {
        hedged: true,
        ..user("m", "The index is rebuilt by the nightly job.")
    }]);
    let mut marked = text("The index is rebuilt by the nightly job. Fix it in src/login.rs.");
    marked.covers = ids(&["a", "b", "m"]);
    let found = ["hedge_dropped - m \"The index is rebuilt by the nightly job.\""];
    refused(&s, marked, &found, &[]);
    // Some span says so without a hedge.
    s.append(vec![user("c", "The login bug does come from the session cache.")]);
    let mut sure = text(flat);
    sure.covers = ids(&["a", "b", "c"]);
    honest(&s, sure);
}

/// Findings are bounded, whatever is sent.
#[test]
fn no_summary_gets_more_findings_than_teach_its_author_something() {
    let s = enforced(spans(&["a"]));
    let claims = (0..1_000).map(|n| claim(&format!("Claim {n}."), O::Inferred, &[])).collect();
    let reply = s.clone().tell(tell(&["a"], "Noted.", claims));
    assert_eq!((reply.status, reply.findings.len()), (SummaryStatus::Rejected, 200));
    honest(&s, plain("S", &["a"]));
    honest(&s, tell_one(&["a"], claim("Noted.", O::UserSaid, &["a"])));
}
