//! The tags that the window shows behind a summary's text.
//!
//! The text is its author's prose, and prose can lose a hedge that the claim still carries. So the
//! runtime itself prints every claim that is no plain statement of a user or a tool, with its tag and
//! the handle of its first source: what is read back can never pass for more than it is.

use crate::event::{Claim, ClaimOrigin};
use crate::{Origin, SessionState};

/// Claims that are printed; the others are counted.
const MOST: usize = 50;
/// A claim is printed up to this many bytes.
const LONGEST: usize = 160;

/// The tags of a summary's claims; none if every claim is a plain statement.
pub fn tags_text(state: &SessionState, claims: &[Claim]) -> Option<String> {
    let weak = claims
        .iter()
        .filter(|claim| matches!(claim.origin, ClaimOrigin::Hedged | ClaimOrigin::Inferred));
    let mut lines: Vec<String> = weak.clone().take(MOST).map(|claim| line(state, claim)).collect();
    let more = weak.count() - lines.len();
    if more > 0 {
        lines.push(format!("[{more} more claims are hedged or inferred; explain to read]"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn line(state: &SessionState, claim: &Claim) -> String {
    let tag = match claim.origin {
        ClaimOrigin::Hedged => "hedged, not established",
        _ => "inferred",
    };
    let source = claim.sources.iter().find_map(|source| state.find(&source.span));
    let by = match source.map(|span| span.origin) {
        Some(Origin::User) => " by user",
        Some(Origin::Tool) => " by tool",
        Some(Origin::Model) => " by model",
        Some(Origin::Summary) => " in a summary",
        _ => "",
    };
    // Across lines a claim would look like prose of the summary again.
    let mut text = claim.text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Nor may it close its own brackets.
    text = text.replace('[', "(").replace(']', ")");
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    match source {
        Some(span) => format!("[{tag}{by}: {text} ({})]", span.handle()),
        None => format!("[{tag}{by}: {text}]"),
    }
}
