//! The tags that the window shows behind a summary's text.
//!
//! The text is its author's prose, and prose can lose a hedge that the claim still carries. So the
//! runtime itself prints every claim that is no plain statement of a user or a tool, with its tag and
//! the handle of its first source: what is read back can never pass for more than it is.

use crate::event::{Claim, ClaimOrigin};
use crate::{Origin, SessionState};

/// Claims that are printed, hedged ones first; the others are counted.
const MOST: usize = 100;
/// A hedged claim is printed up to this many bytes.
const HEDGED: usize = 400;
/// An inferred one up to so many: enough to know it by.
const INFERRED: usize = 80;

/// The tags of a summary's claims; none if every claim is a plain statement.
pub fn tags_text(state: &SessionState, claims: &[Claim]) -> Option<String> {
    let of = |origin| claims.iter().filter(move |claim| claim.origin == origin);
    let weak = of(ClaimOrigin::Hedged).chain(of(ClaimOrigin::Inferred));
    let mut lines: Vec<String> = weak.clone().take(MOST).map(|claim| line(state, claim)).collect();
    let more = weak.count() - lines.len();
    if more > 0 {
        lines.push(format!("[{more} more claims are hedged or inferred; explain to read]"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn line(state: &SessionState, claim: &Claim) -> String {
    let source = claim.sources.iter().find_map(|source| state.find(&source.span));
    let by = match source.map(|span| span.origin) {
        Some(Origin::User) => " by user",
        Some(Origin::Tool) => " by tool",
        Some(Origin::Model) => " by model",
        Some(Origin::Summary) => " in a summary",
        _ => "",
    };
    let (tag, most) = match claim.origin {
        ClaimOrigin::Hedged => (format!("hedged{by}, not established"), HEDGED),
        // Who infers from whom says the handle.
        _ => ("inferred".to_owned(), INFERRED),
    };
    // Across lines a claim would look like prose of the summary again.
    let mut text = claim.text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Nor may it close its own brackets.
    text = text.replace('[', "(").replace(']', ")");
    // Nor turn the line round, or hide a part of it.
    text.retain(|c| !c.is_control() && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'));
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    match source {
        Some(span) => format!("[{tag}: {text} ({})]", span.handle()),
        None => format!("[{tag}: {text}]"),
    }
}
