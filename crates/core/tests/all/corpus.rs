//! The corpus of honest summaries in `tests/corpus`: none of them is refused, and every one of their
//! mutants is, for a reason that fits.

use lacuna_core::{
    Claim, ClaimOrigin, ClaimSource, Command, Content, Contract, Digest, FindingCode, NewSpan,
    Open, Origin, Reply, Role, SpanKind, Summarize, SummaryReply, SummaryStatus,
};
use serde::Deserialize;

use crate::scenario::{Scenario, id, span};

#[derive(Deserialize)]
struct Story {
    name: String,
    spans: Vec<StorySpan>,
    summary: Told,
    mutants: Vec<Mutant>,
}

#[derive(Deserialize)]
struct StorySpan {
    id: String,
    role: String,
    origin: String,
    kind: Option<String>,
    content: String,
    #[serde(default)]
    hedged: bool,
    answers: Option<String>,
}

#[derive(Deserialize)]
struct Told {
    covers: Vec<String>,
    text: String,
    claims: Vec<ToldClaim>,
}

#[derive(Deserialize, Clone)]
struct ToldClaim {
    text: String,
    origin: String,
    sources: Vec<ToldSource>,
}

#[derive(Deserialize, Clone)]
struct ToldSource {
    span: String,
    quote: Option<String>,
}

#[derive(Deserialize)]
struct Mutant {
    operator: String,
    claim: Option<usize>,
    change: Option<ToldClaim>,
    text: Option<String>,
    expect: Vec<String>,
}

fn stories() -> Vec<Story> {
    serde_json::from_str(include_str!("../../../../tests/corpus/summaries.json")).unwrap()
}

fn claim(told: &ToldClaim) -> Claim {
    let source = |source: &ToldSource| ClaimSource {
        span: id(match source.span.as_str() {
            "__tombstone__" => "lost",
            "__nowhere__" => "nowhere",
            other => other,
        }),
        quote: source.quote.clone(),
    };
    Claim {
        text: told.text.clone(),
        origin: ClaimOrigin::from_word(&told.origin).unwrap(),
        sources: told.sources.iter().map(source).collect(),
    }
}

/// A session that holds a story's spans, and one that is lost.
fn session(story: &Story) -> Scenario {
    let mut s = Scenario::nothing();
    let open = Open {
        window_tokens: 200_000,
        reserve_ppm: 150_000,
        contract: Contract::Enforce,
        labels: Default::default(),
    };
    s.send(Command::Open(open)).unwrap();
    let spans = story.spans.iter().map(|told| NewSpan {
        id: Some(id(&told.id)),
        role: Role::from_word(&told.role).unwrap(),
        origin: Origin::from_word(&told.origin).unwrap(),
        kind: told.kind.as_deref().map_or(SpanKind::Message, |k| SpanKind::from_word(k).unwrap()),
        digest: Digest::of(told.content.as_bytes()),
        content: Content::Bytes(told.content.as_bytes().into()),
        tokens: None,
        hedged: told.hedged,
        answers: told.answers.as_deref().map(id),
        ..span(&told.id)
    });
    s.append(spans.chain([span("lost")]).collect());
    s.lose(&["lost"]);
    s
}

fn told(s: &Scenario, story: &Story, change: Option<&Mutant>) -> SummaryReply {
    let mut claims: Vec<Claim> = story.summary.claims.iter().map(claim).collect();
    let mut text = story.summary.text.clone();
    if let Some(mutant) = change {
        if let (Some(at), Some(changed)) = (mutant.claim, &mutant.change) {
            claims[at] = claim(changed);
        }
        if let Some(changed) = &mutant.text {
            text = changed.clone();
        }
    }
    let covers = story.summary.covers.iter().map(|span| id(span)).collect();
    let digest = Digest::of(text.as_bytes());
    let summarize = Summarize { id: Some(id("S")), covers, text, digest, claims };
    match s.clone().send(Command::Summarize(summarize)).unwrap() {
        Reply::Summarized(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

fn said(reply: &SummaryReply) -> Vec<String> {
    reply.findings.iter().map(|(finding, said)| format!("{}: {said}", finding.code)).collect()
}

#[test]
fn no_honest_summary_is_refused() {
    let stories = stories();
    assert!(stories.len() >= 30, "{} stories", stories.len());
    let mut refused = Vec::new();
    for story in &stories {
        let reply = told(&session(story), story, None);
        if reply.status == SummaryStatus::Rejected {
            refused.push(format!("{}: {}", story.name, said(&reply).join("\n    ")));
        }
    }
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
}

#[test]
fn every_mutant_is_refused_for_a_reason_that_fits() {
    let (mut count, mut wrong) = (0, Vec::new());
    for story in stories() {
        let s = session(&story);
        let honest = told(&s, &story, None);
        for mutant in &story.mutants {
            count += 1;
            let reply = told(&s, &story, Some(mutant));
            let fits = reply.findings.iter().any(|(finding, _)| {
                let new = honest.findings.iter().all(|(other, _)| other != finding);
                new && mutant.expect.iter().any(|code| code == finding.code.word())
            });
            if reply.status != SummaryStatus::Rejected || !fits {
                let changed = mutant.change.as_ref().map(|change| change.text.as_str());
                wrong.push(format!(
                    "{} {} claim {:?} ({:?}): expected {:?}, found {:?}",
                    story.name,
                    mutant.operator,
                    mutant.claim,
                    changed,
                    mutant.expect,
                    said(&reply)
                ));
            }
        }
    }
    assert!(count >= 200, "{count} mutants");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(FindingCode::from_word("hedge_dropped").is_some());
}
