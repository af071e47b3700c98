//! What a finding tells the author to change: one sentence for each code.

use super::Case;
use super::examine::TextRange;
use crate::event::ClaimOrigin;
use crate::finding::{Finding, FindingCode};
use crate::refusal::list;
use crate::{Origin, SessionState, SpanId, SpanIndex};

/// Words of a claim or a text are repeated up to this many bytes.
const LONGEST: usize = 120;

/// The sentence of a finding about a summary.
pub(super) fn sentence(case: &Case<'_>, finding: &Finding) -> String {
    use FindingCode as Code;
    let span = || finding.span.as_ref().map_or("?", SpanId::as_str);
    let claim = finding.claim.and_then(|index| case.summarize.claims.get(index as usize));
    let of = match finding.claim {
        Some(index) => format!("claim {index}"),
        None => "the text".to_owned(),
    };
    let words = match claim {
        Some(claim) => excerpt(&claim.text, finding.at),
        None => excerpt(&case.summarize.text, finding.at),
    };
    match finding.code {
        Code::UnsourcedClaim => {
            format!("{of} cites nothing: name the spans that it rests on, or leave it out")
        }
        Code::UnknownSource => format!(
            "{of} cites {}, which this session never recorded: cite a span of the window or of covers",
            span()
        ),
        Code::SourceUnrecoverable => format!(
            "{of} cites {}, which cannot be read any more: cite a span that can, or leave it out",
            span()
        ),
        Code::SourceNotPrimary => not_primary(case, &of, finding.span.as_ref()),
        Code::OriginUpgraded => upgraded(case, &of, finding),
        Code::HedgeDropped if claim.is_some() => format!(
            "{of} states flatly what {} hedges: tag it hedged and keep the hedge in its words, or cite \
             only what says it without one",
            span()
        ),
        Code::HedgeDropped => format!(
            "the text states {words} flatly, {} only with a hedge or at second hand: keep the hedge, \
             or make it a claim tagged hedged",
            span()
        ),
        Code::AnchorNotInSource if finding.at.is_none() => {
            format!("{of} quotes what does not stand in {}: quote it literally", span())
        }
        Code::AnchorNotInSource if claim.is_some() => format!(
            "{of} says {words}, which stands in no span that it cites: correct it, or cite the span \
             that says so"
        ),
        Code::AnchorNotInSource => format!(
            "the text says {words}, which stands neither in a claim nor in a covered span: correct \
             it, or leave it out"
        ),
        Code::DisconfirmingRemoved => format!(
            "{} contradicts what this summarises, and nothing that does would stay in the window: \
             leave it out of covers, restore it, or resolve the contradiction",
            span()
        ),
        Code::AuthorWithoutEvidence => format!(
            "you have neither recorded nor read {}: expand it with purpose reground, then summarise \
             again",
            span()
        ),
        Code::ReserveBreached => format!(
            "with it the window eats into its reserve of {} tokens: shorten it by {} tokens, or cover \
             more",
            case.state.budget().reserve_tokens,
            case.tokens_too_many().unwrap_or(0),
        ),
        Code::SummaryGrew => format!(
            "it takes {} tokens and what it covers {}: shorten it, or cover more",
            case.tokens(),
            case.covered_tokens()
        ),
        Code::EmptySummary if finding.claim.is_some() => {
            format!("{of} has no words: say what it claims, or leave it out")
        }
        Code::EmptySummary if case.summarize.text.trim().is_empty() => {
            "its text is empty: say what the spans say, or prune them without a summary".to_owned()
        }
        Code::EmptySummary => {
            "it claims nothing: give its sentences as claims with origin and sources".to_owned()
        }
        code @ (Code::SelfAudited | Code::AuditorWithoutEvidence) => audit_sentence(code, finding),
    }
}

/// The sentence of a finding about an audit.
pub(crate) fn audit_sentence(code: FindingCode, finding: &Finding) -> String {
    match code {
        FindingCode::SelfAudited => {
            "you wrote this summary: let another principal audit it".to_owned()
        }
        FindingCode::AuditorWithoutEvidence => match &finding.span {
            Some(span) => {
                format!("you have not read {span}: expand it with purpose audit, then audit again")
            }
            None => {
                "nothing of what it covers or cites can be read any more: it cannot be audited; \
                     write another over what can be read"
                    .to_owned()
            }
        },
        _ => format!("the summary was refused when it was written ({code}): write another"),
    }
}

fn not_primary(case: &Case<'_>, of: &str, span: Option<&SpanId>) -> String {
    let state: &SessionState = case.state;
    let index = span.and_then(|id| state.index(id));
    let readable = |index: SpanIndex| {
        let span = state.span(index);
        (!span.is_summary() && case.readable(span)).then(|| span.id.clone())
    };
    // What the summary itself cites comes first: there its claims are most likely to be found.
    let own = index.and_then(|index| state.span(index).summary.as_ref());
    let cited = own.iter().flat_map(|own| own.cites.iter().copied());
    let mut behind: Vec<SpanId> = cited.filter_map(readable).collect();
    if behind.is_empty() {
        let primaries = index.map(|index| state.primaries(index));
        behind = primaries.into_iter().flatten().filter_map(readable).collect();
    }
    let span = span.map_or("?", SpanId::as_str);
    if behind.is_empty() {
        return format!(
            "{of} is second-hand: it rests on the summary {span} alone, and what that summarises is \
             gone; tag it hedged, or leave it out"
        );
    }
    format!(
        "{of} is second-hand: it rests on the summary {span} alone; read the primary spans behind it \
         again and cite them ({})",
        list(&behind)
    )
}

fn upgraded(case: &Case<'_>, of: &str, finding: &Finding) -> String {
    let id = finding.span.as_ref();
    let origin = id.and_then(|id| case.state.find(id)).map(|span| span.origin);
    let word = origin.map_or("?", Origin::word);
    let claim = finding.claim.and_then(|index| case.summarize.claims.get(index as usize));
    let tag = claim.map_or("?", |claim| claim.origin.word());
    let span = id.map_or("?", SpanId::as_str);
    let weaker = |tag: Option<ClaimOrigin>| match tag {
        Some(ClaimOrigin::ToolOutput) => origin == Some(Origin::Tool),
        Some(ClaimOrigin::Inferred) => true,
        _ => false,
    };
    match claim.map(|claim| claim.origin) {
        tag if weaker(tag) => format!(
            "{of} tells what a user said, but {span} is of origin {word}: cite the user's span, or \
             say whose words they are"
        ),
        Some(ClaimOrigin::Hedged) => format!(
            "{of} is tagged hedged, but {span} is of origin {word} and hedges nowhere: tag it \
             inferred"
        ),
        _ => format!(
            "{of} is tagged {tag}, but {span} is of origin {word}: tag it by its weakest source, \
             or cite only spans of that origin"
        ),
    }
}

/// The words at a place, in quotation marks.
fn excerpt(text: &str, at: Option<TextRange>) -> String {
    let words = at.and_then(|(start, end)| text.get(start as usize..end as usize)).unwrap_or("?");
    let cut = words.floor_char_boundary(LONGEST);
    let dots = if cut < words.len() { "…" } else { "" };
    format!("“{}{dots}”", &words[..cut])
}
