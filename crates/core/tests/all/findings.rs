//! What a claim is refused for: for every finding the smallest case, what its sentence says to
//! change, and the nearest honest neighbour.

use lacuna_core::{ClaimOrigin as O, Content, CopyEvidence, Digest, NewSpan, Origin, Purpose};

use crate::scenario::{Scenario, call, drop_spans, id, replace, result, saying, withheld};
use crate::telling::{
    claim, enforced, from, honest, model, plain, plain_citing, refused, tell, tell_one, tool, user,
};

const GREEN: &str = "The build is green.";

fn green() -> Scenario {
    enforced(vec![user("a", GREEN), user("b", "text of b")])
}

#[test]
fn unsourced_claim() {
    let s = green();
    let bare = || claim(GREEN, O::UserSaid, &[]);
    refused(
        &s,
        tell_one(&["a"], bare()),
        &["unsourced_claim 0"],
        &["claim 0 cites nothing", "name the spans"],
    );
    let sourced = || claim(GREEN, O::UserSaid, &["a"]);
    honest(&s, tell_one(&["a"], sourced()));
    // Each claim by itself: a neighbour's source is not its own.
    let two = tell(&["a", "b"], GREEN, vec![sourced(), bare()]);
    refused(&s, two, &["unsourced_claim 1"], &["claim 1 cites nothing"]);
    for origin in [O::ToolOutput, O::Inferred, O::Hedged] {
        refused(&s, tell_one(&["a"], claim(GREEN, origin, &[])), &["unsourced_claim 0"], &[]);
    }
}

#[test]
fn unknown_source() {
    let s = green();
    let cites = |origin, spans: &[&str]| tell_one(&["a"], claim(GREEN, origin, spans));
    for origin in [O::UserSaid, O::ToolOutput, O::Inferred, O::Hedged] {
        let says = ["claim 0 cites ghost", "never recorded", "of the window or of covers"];
        refused(&s, cites(origin, &["ghost"]), &["unknown_source 0 ghost"], &says);
    }
    let both = ["unknown_source 0 ghost", "unknown_source 0 shade"];
    refused(&s, cites(O::UserSaid, &["ghost", "a", "shade"]), &both, &["cites ghost"]);
    honest(&s, cites(O::UserSaid, &["a"]));
}

/// Of an unknown or lost source nobody can say what it holds: no second finding on its account.
#[test]
fn what_an_unreadable_source_holds_is_no_finding() {
    let mut s = enforced(vec![user("a", "It is on port 5433."), user("lost", "On port 6000.")]);
    s.lose(&["lost"]);
    let says = |span| tell_one(&["a"], claim("It is on port 6000.", O::UserSaid, &[span]));
    refused(&s, says("ghost"), &["unknown_source 0 ghost"], &[]);
    refused(&s, says("lost"), &["source_unrecoverable 0 lost"], &[]);
    refused(&s, says("a"), &["anchor_not_in_source 0 \"6000\""], &[]);
}

#[test]
fn source_unrecoverable() {
    let mut s =
        enforced(vec![user("a", GREEN), user("lost", GREEN), withheld("key"), user("b", GREEN)]);
    s.lose(&["lost"]);
    let cites = |span| tell_one(&["a", span], claim(GREEN, O::UserSaid, &["a", span]));
    for span in ["lost", "key"] {
        let expected = format!("source_unrecoverable 0 {span}");
        let says = [&*format!("claim 0 cites {span}"), "cannot be read any more", "leave it out"];
        refused(&s, cites(span), &[&expected], &says);
        // To cover it is no lie as long as nothing is claimed of it.
        honest(&s, tell_one(&["a", span], claim(GREEN, O::UserSaid, &["a"])));
    }
    // Damage that nobody has reported yet, found while examining.
    let mut damaged = s.clone();
    damaged.evidence.insert(id("b"), CopyEvidence::missing("its stored copy is missing"));
    refused(&damaged, cites("b"), &["source_unrecoverable 0 b"], &["cites b"]);
    // Out of the window is not out of reach.
    s.prune(drop_spans(&["b"]));
    honest(&s, cites("b"));
}

/// A session in which `S` by the worker covers and cites `a`, and stands in its place.
fn compacted() -> Scenario {
    let mut s = enforced(vec![user("a", GREEN), user("b", GREEN), user("c", GREEN)]);
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], true);
    s.prune(replace(&["a", "b"], "S"));
    assert_eq!(s.window(), "summary(S: a b) c");
    s
}

#[test]
fn source_not_primary_while_primaries_live() {
    let s = compacted();
    let cites = |origin, spans: &[&str]| {
        plain_with("T", &["S", "c"], "Something was noted.", origin, spans)
    };
    for origin in [O::Inferred, O::Hedged, O::UserSaid, O::ToolOutput] {
        let says = ["claim 0 is second-hand", "the summary S", "cite them (a, b)"];
        refused(&s, cites(origin, &["S"]), &["source_not_primary 0 S"], &says);
    }
    honest(&s, cites(O::Inferred, &["S", "a"]));
    honest(&s, cites(O::UserSaid, &["a"]));
    // Not one of several: each claim goes back by itself.
    let mut two = cites(O::Inferred, &["a"]);
    two.claims.push(claim("Something was noted.", O::Inferred, &["S"]));
    refused(&s, two, &["source_not_primary 1 S"], &["claim 1 is second-hand"]);
}

fn plain_with(
    name: &str,
    covers: &[&str],
    text: &str,
    origin: O,
    cites: &[&str],
) -> lacuna_core::Summarize {
    crate::telling::tell_as(name, covers, text, vec![claim(text, origin, cites)])
}

/// Once all behind it is gone the summary is the only witness: then the claim says that it is
/// second-hand by being hedged.
#[test]
fn source_not_primary_after_the_primaries_are_lost() {
    let mut s = compacted();
    let cites = |origin| plain_with("T", &["S", "c"], "Something was noted.", origin, &["S"]);
    s.lose(&["a"]);
    let one_left = ["cite them (b)"];
    refused(&s, cites(O::Hedged), &["source_not_primary 0 S"], &one_left);
    s.lose(&["b"]);
    let says = ["second-hand", "rests on the summary S alone", "gone", "tag it hedged"];
    for origin in [O::Inferred, O::UserSaid, O::ToolOutput] {
        refused(&s, cites(origin), &["source_not_primary 0 S"], &says);
    }
    honest(&s, cites(O::Hedged));
    // What it takes from there must stand there.
    let anchored = plain_with("T", &["S"], "It is on port 5433.", O::Hedged, &["S"]);
    refused(&s, anchored, &["anchor_not_in_source 0 \"5433\""], &["“5433”"]);
}

/// A refused summary is nobody's evidence, not even of what is lost.
#[test]
fn a_refused_summary_is_no_source() {
    let mut s = enforced(vec![user("a", GREEN), user("c", GREEN)]);
    let refused_id = s.tell(crate::telling::wrong("S", &["a"])).summary;
    assert_eq!(refused_id, id("S:refused1"));
    let cites = |origin| plain_with("T", &["c"], "Something was noted.", origin, &["S:refused1"]);
    for origin in [O::Inferred, O::Hedged] {
        refused(&s, cites(origin), &["source_not_primary 0 S:refused1"], &["second-hand"]);
    }
    s.lose(&["a"]);
    refused(&s, cites(O::Hedged), &["source_not_primary 0 S:refused1"], &["leave it out"]);
    // The id that it asked for was left free, and names nothing.
    let by_asked = plain_with("T", &["c"], "Something was noted.", O::Inferred, &["S"]);
    refused(&s, by_asked, &["unknown_source 0 S"], &[]);
}

/// Strength: a user's and a tool's words each come from there only; a hedge from whoever hedges or
/// may speak for himself; an inference from anything.
#[test]
fn origin_upgraded() {
    let said = "The cache holds entries of users.";
    let origins = [
        ("u", Origin::User),
        ("t", Origin::Tool),
        ("m", Origin::Model),
        ("h", Origin::Harness),
        ("s", Origin::System),
    ];
    let spans = origins.map(|(name, origin)| from(origin, name, said));
    let s = enforced(spans.to_vec());
    let covers = ["u", "t", "m", "h", "s"];
    for (name, origin) in origins {
        for tag in [O::UserSaid, O::ToolOutput, O::Inferred, O::Hedged] {
            let allowed = match tag {
                O::UserSaid => origin == Origin::User,
                O::ToolOutput => origin == Origin::Tool,
                O::Inferred => true,
                O::Hedged => origin != Origin::Model,
            };
            let summarize = tell_one(&covers, claim(said, tag, &[name]));
            if allowed {
                honest(&s, summarize);
                continue;
            }
            let expected = format!("origin_upgraded 0 {name}");
            let says =
                [&*format!("claim 0 is tagged {tag}"), &format!("{name} is of origin {origin}")];
            refused(&s, summarize, &[&expected], &says);
        }
    }
}

/// A claim is as strong as its weakest source.
#[test]
fn origin_upgraded_by_one_source_of_several() {
    let said = "The cache holds entries of users.";
    let s = enforced(vec![user("u", said), user("v", said), tool("t", said), model("m", said)]);
    let cites = |tag, spans: &[&str]| tell_one(&["u", "v", "t", "m"], claim(said, tag, spans));
    honest(&s, cites(O::UserSaid, &["u", "v"]));
    let says = ["tag it by its weakest source", "cite only spans of that origin"];
    refused(&s, cites(O::UserSaid, &["u", "t"]), &["origin_upgraded 0 t"], &says);
    refused(&s, cites(O::ToolOutput, &["u", "t"]), &["origin_upgraded 0 u"], &says);
    let both = ["origin_upgraded 0 t", "origin_upgraded 0 m"];
    refused(&s, cites(O::UserSaid, &["t", "u", "m"]), &both, &says);
    honest(&s, cites(O::Inferred, &["u", "t", "m"]));
    // One source that may speak for itself carries the hedge of all.
    honest(&s, cites(O::Hedged, &["m", "u"]));
}

/// What a model concluded without a hedge is an inference; its own hedge stays one.
#[test]
fn a_model_hedges_or_it_infers() {
    let flat = "The cache holds entries of users.";
    let hedging = "I think the cache holds entries of users.";
    let marked = NewSpan { hedged: true, ..model("marked", flat) };
    let s = enforced(vec![model("flat", flat), model("hedging", hedging), marked]);
    let cites =
        |tag, spans: &[&str]| tell_one(&["flat", "hedging", "marked"], claim(flat, tag, spans));
    let says = ["is tagged hedged", "hedges nowhere", "tag it inferred"];
    refused(&s, cites(O::Hedged, &["flat"]), &["origin_upgraded 0 flat"], &says);
    honest(&s, cites(O::Inferred, &["flat"]));
    for carrying in ["hedging", "marked"] {
        honest(&s, cites(O::Hedged, &[carrying]));
        honest(&s, cites(O::Hedged, &["flat", carrying]));
        let expected = format!("hedge_dropped 0 {carrying}");
        refused(&s, cites(O::Inferred, &["flat", carrying]), &[&expected], &["tag it hedged"]);
    }
}

#[test]
fn hedge_dropped() {
    let hedging = "I think the staging DB is on port 5433.";
    let flat = "The staging DB is on port 5433.";
    let marked = NewSpan { hedged: true, ..user("marked", flat) };
    let s = enforced(vec![user("a", hedging), user("b", flat), marked]);
    let cites = |tag, spans: &[&str]| tell_one(&["a", "b", "marked"], claim(flat, tag, spans));
    let says = ["claim 0 states flatly what a hedges", "tag it hedged", "keep the hedge"];
    refused(&s, cites(O::UserSaid, &["a"]), &["hedge_dropped 0 a"], &says);
    // An inference from a guess is a guess.
    refused(&s, cites(O::Inferred, &["a"]), &["hedge_dropped 0 a"], &says);
    refused(
        &s,
        cites(O::UserSaid, &["marked"]),
        &["hedge_dropped 0 marked"],
        &["what marked hedges"],
    );
    // That another source is sure does not make this one sure.
    refused(&s, cites(O::UserSaid, &["b", "a"]), &["hedge_dropped 0 a"], &says);
    honest(&s, cites(O::UserSaid, &["b"]));
    honest(&s, cites(O::Hedged, &["a"]));
    honest(&s, cites(O::Hedged, &["marked"]));
    honest(&s, cites(O::Hedged, &["b", "a"]));
    let both = ["origin_upgraded 0 a", "hedge_dropped 0 a"];
    refused(&s, cites(O::ToolOutput, &["a"]), &both, &["tagged tool-output"]);
}

/// The hedge is that of the sentence, not of the span.
#[test]
fn a_hedge_of_another_sentence_is_none() {
    let said = "Maybe we move the cache on Friday. The staging DB is on port 5433.";
    let s = enforced(vec![user("a", said)]);
    honest(&s, tell_one(&["a"], claim("The staging DB is on port 5433.", O::UserSaid, &["a"])));
    let moved = "The cache moves on Friday.";
    refused(&s, tell_one(&["a"], claim(moved, O::UserSaid, &["a"])), &["hedge_dropped 0 a"], &[]);
}

#[test]
fn author_without_evidence() {
    let mut s = enforced(vec![user("a", GREEN), user("b", GREEN), user("c", GREEN)]);
    s.by("writer");
    let says =
        ["neither recorded nor read a", "expand it with purpose reground", "summarise again"];
    let all = ["author_without_evidence - a", "author_without_evidence - b"];
    refused(&s, plain("S", &["b", "a"]), &all, &says);
    // What a claim cites from outside covers is needed as well.
    let outside = ["author_without_evidence - a", "author_without_evidence - c"];
    refused(&s, plain_citing("S", &["a"], &["c"]), &outside, &says);
    s.read(&["a"], Purpose::Expand);
    refused(&s, plain("S", &["a"]), &["author_without_evidence - a"], &says);
    s.read(&["a"], Purpose::Reground);
    honest(&s, plain("S", &["a"]));
    refused(&s, plain("S", &["a", "b"]), &["author_without_evidence - b"], &["read b"]);
    s.read(&["b"], Purpose::Audit);
    honest(&s, plain("S", &["a", "b"]));
    // Another's readings are his own.
    s.by("other");
    refused(&s, plain("S", &["a"]), &["author_without_evidence - a"], &says);
    // Who recorded a span knows it; who recorded others does not.
    s.append(vec![saying("d", GREEN)]);
    honest(&s, plain("S", &["d"]));
    refused(&s, plain("S", &["d", "a"]), &["author_without_evidence - a"], &says);
}

/// What cannot be read need not have been.
#[test]
fn an_author_need_not_read_what_is_gone() {
    let mut s = enforced(vec![user("a", GREEN), user("lost", GREEN), withheld("key")]);
    s.lose(&["lost"]);
    s.by("writer").read(&["a"], Purpose::Reground);
    honest(&s, plain_citing("S", &["a", "lost", "key"], &["a"]));
}

/// A covered summary is read like a span.
#[test]
fn an_author_reads_the_summary_that_it_covers() {
    let mut s = compacted();
    s.by("writer").read(&["a"], Purpose::Reground);
    let over = plain_citing("T", &["S"], &["a"]);
    refused(&s, over.clone(), &["author_without_evidence - S"], &["read S"]);
    s.read(&["S"], Purpose::Reground);
    honest(&s, over);
}

/// A result tells of what its call names; its numbers are its own. (Honest claims of every coding
/// agent were refused: the file's name stands in the call only.)
#[test]
fn a_result_speaks_with_its_call() {
    let call = NewSpan {
        content: Content::Bytes(
            br#"{"name":"Read","arguments":{"file":"/repo/go.mod","n":77}}"#[..].into(),
        ),
        digest: Digest::of(br#"{"name":"Read","arguments":{"file":"/repo/go.mod","n":77}}"#),
        ..call("call")
    };
    let said = "module example.com/thing with a good many words besides\n\ngo 1.23.0\n";
    let result = NewSpan {
        content: Content::Bytes(said.as_bytes().into()),
        digest: Digest::of(said.as_bytes()),
        ..result("result", "call")
    };
    let s = enforced(vec![call, result]);
    let cites = |text: &str, spans: &[&str]| {
        tell_one(&["call", "result"], claim(text, O::ToolOutput, spans))
    };
    honest(&s, cites("go.mod says go 1.23.0.", &["result"]));
    honest(&s, cites("go.mod says go 1.23.0.", &["call", "result"]));
    let number = ["anchor_not_in_source 0 \"77\""];
    refused(&s, cites("go.mod has 77 lines.", &["result"]), &number, &[]);
    refused(&s, cites("go.mod was read.", &["call"]), &["origin_upgraded 0 call"], &[]);
}
