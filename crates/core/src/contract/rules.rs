//! The rules of the summary contract: one for each finding code, each in its own function.
//! (PRODUCT, section 3; WIRE, `summarize`.)

use std::collections::BTreeSet;

use super::{Case, disconfirming};
use crate::event::{Claim, ClaimOrigin};
use crate::finding::{Finding, FindingCode};
use crate::state::SpanState;
use crate::{Budget, Origin, Outcome, SessionState, SpanId, SpanIndex, SpanKind};

/// Findings that one summary gets; more of the same teach its author nothing.
const MOST: usize = 200;

/// Everything that is wrong with a summary, in the order of its claims.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, claim) in case.summarize.claims.iter().enumerate() {
        let mut of_claim = Vec::new();
        for rule in [
            unsourced_claim,
            unknown_source,
            source_unrecoverable,
            source_not_primary,
            origin_upgraded,
            hedge_dropped,
            anchor_not_in_source,
        ] {
            rule(case, index, claim, &mut of_claim);
        }
        found.extend(of_claim.into_iter().map(|finding| finding.claim(index)));
        if found.len() >= MOST {
            break;
        }
    }
    for rule in [
        empty_summary,
        text_not_in_sources,
        text_drops_hedge,
        disconfirming_removed,
        author_without_evidence,
        summary_grew,
        reserve_breached,
    ] {
        rule(case, &mut found);
    }
    found.truncate(MOST);
    found
}

type Found = Vec<Finding>;

/// A claim rests on something.
fn unsourced_claim(_: &Case<'_>, _: usize, claim: &Claim, found: &mut Found) {
    if claim.sources.is_empty() {
        found.push(Finding::new(FindingCode::UnsourcedClaim));
    }
}

/// What it rests on was recorded.
fn unknown_source(case: &Case<'_>, _: usize, claim: &Claim, found: &mut Found) {
    let unknown = claim.sources.iter().filter(|source| case.state.index(&source.span).is_none());
    found.extend(unknown.map(|s| Finding::new(FindingCode::UnknownSource).span(&s.span)));
}

/// What it rests on can still be read.
fn source_unrecoverable(case: &Case<'_>, _: usize, claim: &Claim, found: &mut Found) {
    let gone = sources(case.state, claim).filter(|span| !case.readable(span));
    found.extend(gone.map(|span| Finding::new(FindingCode::SourceUnrecoverable).span(&span.id)));
}

/// It goes back to primary spans. Where those behind a summary are gone for good the summary is all
/// that is left: then the claim is second-hand, and says so by being `hedged`.
fn source_not_primary(case: &Case<'_>, _: usize, claim: &Claim, found: &mut Found) {
    let mut known = sources(case.state, claim).peekable();
    if known.peek().is_none() || sources(case.state, claim).any(|span| !span.is_summary()) {
        return;
    }
    for span in known {
        let refused = span.summary.as_ref().is_some_and(|own| own.refused());
        let left = case.state.index(&span.id).is_some_and(|index| case.leads_further(index));
        if refused || left || claim.origin != ClaimOrigin::Hedged {
            found.push(Finding::new(FindingCode::SourceNotPrimary).span(&span.id));
        }
    }
}

/// It is no stronger than any of its sources: a user's and a tool's words each come only from a
/// span of that origin, and what a model concluded without a hedge is an inference.
fn origin_upgraded(case: &Case<'_>, index: usize, claim: &Claim, found: &mut Found) {
    let upgraded = |span: &SpanState| match claim.origin {
        ClaimOrigin::UserSaid => span.origin != Origin::User,
        ClaimOrigin::ToolOutput => span.origin != Origin::Tool,
        ClaimOrigin::Hedged | ClaimOrigin::Inferred => false,
    };
    let refuse = |span: &SpanState| Finding::new(FindingCode::OriginUpgraded).span(&span.id);
    // Of summaries alone another rule speaks.
    let primary = sources(case.state, claim).any(|span| !span.is_summary());
    let all = sources(case.state, claim).filter(|span| primary || !span.is_summary());
    let all = all.filter(|span| !tells_with_result(case.state, claim, span));
    found.extend(all.filter(|span| upgraded(span)).map(refuse));
    // What a user said stands in a user's span, whatever the claim is tagged.
    let said = |span: &SpanState| span.is_summary() || span.origin == Origin::User;
    if matches!(claim.origin, ClaimOrigin::ToolOutput | ClaimOrigin::Inferred)
        && speaks_for_user(&claim.text)
        && !sources(case.state, claim).any(said)
    {
        found.extend(sources(case.state, claim).take(1).map(refuse));
    }
    if claim.origin == ClaimOrigin::Hedged {
        // One source that hedges, or that says more than a model may, carries the hedge.
        let mut all = claim.sources.iter().zip(&case.facts.claims[index].sources);
        let carries = all.any(|(source, facts)| {
            case.state.find(&source.span).is_none_or(|span| {
                let speaks = span.is_summary() || span.origin != Origin::Model;
                speaks || span.hedged || facts.hedges || facts.hedges_somewhere
            })
        });
        if !carries {
            found.extend(sources(case.state, claim).take(1).map(refuse));
        }
    }
}

/// Whether a sentence puts its words into a user's mouth: `the user confirmed that ...`.
fn speaks_for_user(text: &str) -> bool {
    const USERS: &[&str] = &["user", "users", "customer", "customers"];
    const SAYS: &[&str] = &[
        "said",
        "says",
        "say",
        "stated",
        "states",
        "confirmed",
        "confirms",
        "told",
        "tells",
        "wrote",
        "mentioned",
        "mentions",
        "reported",
        "reports",
        "claimed",
        "claims",
        "explained",
    ];
    const BETWEEN: &[&str] = &[
        "has",
        "had",
        "also",
        "already",
        "then",
        "just",
        "earlier",
        "later",
        "explicitly",
        "clearly",
    ];
    let is = |word: &str, any: &[&str]| any.iter().any(|one| one.eq_ignore_ascii_case(word));
    let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words().enumerate().any(|(at, word)| {
        let verb = || words().skip(at + 1).find(|word| !is(word, BETWEEN));
        is(word, USERS) && verb().is_some_and(|verb| is(verb, SAYS))
    })
}

/// A hedge stays a hedge, marked on the span or spoken in the words that the claim takes from it.
fn hedge_dropped(case: &Case<'_>, index: usize, claim: &Claim, found: &mut Found) {
    if claim.origin == ClaimOrigin::Hedged {
        return;
    }
    for (source, facts) in claim.sources.iter().zip(&case.facts.claims[index].sources) {
        let span = case.state.find(&source.span);
        if span.is_some_and(|span| tells_with_result(case.state, claim, span)) {
            continue;
        }
        if span.is_some_and(|span| span.hedged) || facts.hedges {
            found.push(Finding::new(FindingCode::HedgeDropped).span(&source.span));
        }
    }
}

/// What it takes from its sources stands in them: quotes, numbers, paths, identifiers, commands.
fn anchor_not_in_source(case: &Case<'_>, index: usize, claim: &Claim, found: &mut Found) {
    let facts = &case.facts.claims[index];
    for (source, facts) in claim.sources.iter().zip(&facts.sources) {
        let read = case.state.find(&source.span).is_some_and(|span| case.readable(span));
        if facts.misquoted && read {
            found.push(Finding::new(FindingCode::AnchorNotInSource).span(&source.span));
        }
    }
    // Of a source that is unknown or gone nobody can say what it holds: that is another finding.
    let all_read = claim
        .sources
        .iter()
        .all(|source| case.state.find(&source.span).is_some_and(|span| case.readable(span)));
    if all_read && !claim.sources.is_empty() {
        let missing = facts.missing.iter();
        found.extend(missing.map(|&at| Finding::new(FindingCode::AnchorNotInSource).at(at)));
    }
}

/// A summary says something and claims something, each claim in words.
fn empty_summary(case: &Case<'_>, found: &mut Found) {
    if case.summarize.text.trim().is_empty() || case.summarize.claims.is_empty() {
        found.push(Finding::new(FindingCode::EmptySummary));
    }
    let claims = case.summarize.claims.iter().enumerate();
    let empty = claims.filter(|(_, claim)| claim.text.trim().is_empty());
    found.extend(empty.map(|(index, _)| Finding::new(FindingCode::EmptySummary).claim(index)));
}

/// The text holds nothing that neither its claims nor the spans hold: what cannot be read holds
/// nothing either.
fn text_not_in_sources(case: &Case<'_>, found: &mut Found) {
    let unheld = case.facts.unheld.iter();
    found.extend(unheld.map(|&at| Finding::new(FindingCode::AnchorNotInSource).at(at)));
}

/// The text states nothing flatly that the spans state with a hedge, unless a claim stands for it.
fn text_drops_hedge(case: &Case<'_>, found: &mut Found) {
    for (at, span) in &case.facts.flat {
        found.push(Finding::new(FindingCode::HedgeDropped).span(span).at(*at));
    }
}

/// Something that contradicts the summary stays in the window beside it.
fn disconfirming_removed(case: &Case<'_>, found: &mut Found) {
    let state = case.state;
    let covers: BTreeSet<SpanIndex> = case.covered().collect();
    let basis = covers.iter().copied().chain(case.cited()).collect();
    let against = disconfirming::of_basis(state, &basis, None);
    let stays = |&index: &SpanIndex| !covers.contains(&index) && state.stands(index);
    if !against.iter().any(stays) {
        let against = against.iter().map(|&index| &state.span(index).id);
        found.extend(against.map(|id| Finding::new(FindingCode::DisconfirmingRemoved).span(id)));
    }
}

/// The author has recorded or read what it covers and what it cites.
fn author_without_evidence(case: &Case<'_>, found: &mut Found) {
    let state = case.state;
    let cited = case.cited().filter(|&index| !state.span(index).is_summary());
    let needed: BTreeSet<SpanIndex> = case.covered().chain(cited).collect();
    for index in needed {
        let span = state.span(index);
        let knows = span.by == *case.author || state.read_by(index, case.author).is_some();
        if !knows && case.readable(span) {
            found.push(Finding::new(FindingCode::AuthorWithoutEvidence).span(&span.id));
        }
    }
}

/// It is smaller than what it replaces.
fn summary_grew(case: &Case<'_>, found: &mut Found) {
    if u64::from(case.tokens()) > case.covered_tokens() {
        found.push(Finding::new(FindingCode::SummaryGrew));
    }
}

/// The window with it keeps its reserve, as far as a shorter text could keep it.
fn reserve_breached(case: &Case<'_>, found: &mut Found) {
    if case.tokens_too_many().is_some() {
        found.push(Finding::new(FindingCode::ReserveBreached));
    }
}

impl Case<'_> {
    /// By how many tokens the summary is too large for the reserve; none where it is not, or where
    /// no text over these spans would be small enough.
    pub(super) fn tokens_too_many(&self) -> Option<u64> {
        let state = self.state;
        let standing = self.covered().filter(|&index| state.stands(index));
        let freed: u64 = standing.map(|index| state.shown_tokens(index)).sum();
        let without = state.budget().used_tokens.saturating_sub(freed);
        let with = without + u64::from(self.tokens()) + u64::from(self.tag_tokens());
        let Budget { window_tokens, reserve_tokens, .. } = state.budget();
        let usable = window_tokens - reserve_tokens;
        (with > usable && without <= usable).then(|| with - usable)
    }
}

/// Whether a span is the call of a tool whose result the same claim cites: together they are what the
/// tool was asked and what it said.
fn tells_with_result(state: &SessionState, claim: &Claim, span: &SpanState) -> bool {
    span.kind == SpanKind::ToolCall
        && sources(state, claim)
            .any(|other| span.results.iter().any(|&i| state.span(i).id == other.id))
}

/// The spans that a claim cites, as far as the session knows them.
fn sources<'a>(state: &'a SessionState, claim: &'a Claim) -> impl Iterator<Item = &'a SpanState> {
    claim.sources.iter().filter_map(|source| state.find(&source.span))
}

/// Whether a span's content could be had at all, by what the session knows of it.
pub(super) fn has_content(state: &SessionState, span: &SpanState) -> bool {
    !matches!(state.outcome(span), Outcome::Lossy | Outcome::Withheld)
}

/// Whether these facts say that a span could not be read.
pub(super) fn unread(case: &Case<'_>, id: &SpanId) -> bool {
    case.facts.unreadable.contains_key(id)
}
