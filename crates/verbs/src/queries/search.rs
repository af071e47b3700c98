//! `search`, with its three verdicts.

use lacuna_core::SessionKey;
use lacuna_engine::{Among, Bounds, Pattern, Searched};
use lacuna_wire::WireError;
use lacuna_wire::session::{
    MatchBody, NotReachedBody, ScannedBody, SearchReply, SearchRequest, UnsearchableBody,
};

use super::{evidence, expect_version, outcome_word};
use crate::error::wire_error;
use crate::fit::{cut, encode, encode_within};
use crate::work::Inner;

/// Matches that are given unless asked otherwise, and at most.
const MATCHES: u64 = 50;
const MOST: u64 = 10_000;
/// The longest pattern, and the most memory that a regular expression may take, in bytes.
const PATTERN: usize = 16 << 10;
const PROGRAM: usize = 1 << 20;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &SearchRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let pattern = pattern(request)?;
    let among = match request.among.as_deref() {
        None | Some("all") => Among::All,
        Some("window") => Among::Window,
        Some("pruned") => Among::Pruned,
        Some(_) => return Err(WireError::bad_request("in is all, window or pruned")),
    };
    let limit = request.limit.unwrap_or(MATCHES).min(MOST);
    if limit == 0 {
        return Err(WireError::bad_request("limit is 0: ask for at least one match"));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let from = usize::try_from(request.from.unwrap_or(0)).unwrap_or(usize::MAX);
    let bounds = Bounds { from, ..Bounds::places(limit) };
    let searched = inner.journal.search(key, &pattern, among, bounds).map_err(wire_error)?;
    expect_version(&searched.state, request.expected_version)?;
    reply(inner, &searched, from, max)
}

fn pattern(request: &SearchRequest) -> Result<Pattern, WireError> {
    let bad = |why: String| Err(WireError::bad_request(why));
    match (&request.literal, &request.regex) {
        (Some(text), None) | (None, Some(text)) if text.is_empty() => {
            bad("an empty pattern is everywhere: say what to look for".into())
        }
        (Some(text), None) | (None, Some(text)) if text.len() > PATTERN => {
            bad(format!("the pattern is longer than {PATTERN} bytes: shorten it"))
        }
        (Some(literal), None) => Ok(Pattern::Literal(literal.clone())),
        (None, Some(regex)) => {
            let built = regex::bytes::RegexBuilder::new(regex).size_limit(PROGRAM).build();
            built.map(Pattern::Regex).or_else(|error| bad(format!("regex: {error}")))
        }
        _ => bad("give either literal or regex".into()),
    }
}

fn reply(
    inner: &Inner,
    searched: &Searched,
    from: usize,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let state = &searched.state;
    let passed_over = from.min(state.spans().len()) as u64;
    let not_reached = searched.reached.map(|first| {
        let rest = &state.spans()[first as usize..];
        NotReachedBody {
            first: state.span(first).id.to_string(),
            spans: rest.len() as u64,
            bytes: rest.iter().map(|span| span.bytes).sum(),
        }
    });
    let all = searched.unsearchable.is_empty() && not_reached.is_none() && passed_over == 0;
    let verdict = match (searched.matches.is_empty(), all) {
        (false, _) => "found",
        (true, true) => "absent",
        (true, false) => "inconclusive",
    };
    let matches = searched.matches.iter().map(|found| {
        let span = state.span(found.span);
        MatchBody {
            span: span.id.to_string(),
            handle: span.handle().to_string(),
            state: outcome_word(found.outcome),
            offset: found.offset,
            excerpt: found.excerpt.clone(),
        }
    });
    let unsearchable = searched.unsearchable.iter().map(|(span, cause)| UnsearchableBody {
        span: state.span(*span).id.to_string(),
        cause: cause.clone(),
    });
    let mut matches: Vec<MatchBody> = matches.collect();
    let mut unsearchable: Vec<UnsearchableBody> = unsearchable.collect();
    let mut body = SearchReply {
        verdict: verdict.to_owned(),
        matches: Vec::new(),
        more: searched.more,
        scanned: ScannedBody {
            spans: searched.spans,
            bytes: searched.bytes,
            by_residue: searched.by_residue,
        },
        unsearchable: Vec::new(),
        unsearchable_omitted: unsearchable.len() as u64,
        not_reached,
        passed_over,
        next: searched.reached.map(u64::from),
        evidence: evidence(inner, state),
    };
    // What was found has two thirds of the message, what could not be searched the rest.
    let room = max.saturating_sub(encode(&body)?.len() + 64);
    body.more |= cut(&mut matches, room / 3 * 2)? > 0;
    body.matches = matches;
    let room = max.saturating_sub(encode(&body)?.len() + 64);
    body.unsearchable_omitted = cut(&mut unsearchable, room)?;
    body.unsearchable = unsearchable;
    encode_within(&body, max)
}
