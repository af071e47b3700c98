//! What has to be found somewhere: the anchors of claims and of the text, and which of a span's own
//! count as identifiers.

use std::collections::HashSet;
use std::ops::Range;

use super::examine::TextRange;
use crate::SessionState;
use crate::SpanIndex;
use crate::text::{Anchor, AnchorKind, Counted, Form, anchors, form};

/// An anchor of a claim or of the text, on its way to being found.
pub(super) struct Sought {
    pub(super) anchor: Anchor,
    pub(super) form: Form,
    /// What it counts, if it is a number.
    pub(super) counted: Option<Counted>,
    /// The same with its scale taken for a unit: `512M` in megabytes.
    pub(super) unscaled: Option<Unscaled>,
    /// Where it ends with its unit.
    ends: usize,
    pub(super) found: bool,
}

/// A number whose scale is taken for a unit.
pub(super) struct Unscaled {
    pub(super) form: Form,
    pub(super) counted: Counted,
    /// Where it stands without the scale.
    pub(super) place: Range<usize>,
}

impl Unscaled {
    fn of(text: &str, number: &Range<usize>) -> Option<Self> {
        let (counted, place) = Counted::unscaled(text, number)?;
        let form = form(AnchorKind::Number, text.get(place.clone())?);
        Some(Self { form, counted, place })
    }
}

impl Sought {
    fn of(text: &str, anchor: Anchor) -> Self {
        let form = form(anchor.kind, anchor.of(text));
        let number = (anchor.kind == AnchorKind::Number).then_some(anchor.start..anchor.end);
        let counted = number.as_ref().map(|number| Counted::at(text, number));
        let ends = counted.map_or(anchor.end, |(_, ends)| ends);
        let counted = counted.map(|(counted, _)| counted);
        let unscaled = number.and_then(|number| Unscaled::of(text, &number));
        Self { anchor, form, counted, unscaled, ends, found: false }
    }

    /// The forms by which it is found.
    pub(super) fn forms(&self) -> impl Iterator<Item = Form> + '_ {
        std::iter::once(self.form).chain(self.unscaled.as_ref().map(|unscaled| unscaled.form))
    }

    /// Whether a number that counts this may be it.
    pub(super) fn may_be(&self, other: Counted) -> bool {
        self.counted.is_none_or(|counted| counted.may_be(other))
    }
}

/// The anchors of a text that have to be found somewhere, each once. The ids of the session's own
/// spans and their handles need no source.
///
/// `own`: the spans that the summary covers or cites; their ids and handles need no source. Of other
/// spans only a whole handle does not: whoever records a span gives it any name.
pub(super) fn seek(state: &SessionState, own: &HashSet<SpanIndex>, text: &str) -> Vec<Sought> {
    let mut named: Range<usize> = 0..0;
    let (mut seen, mut sought) = (foldhash::HashSet::default(), Vec::new());
    let odd = odd_words(text);
    for anchor in odd.chain(anchors(text)) {
        let is_own = named_span(state, text, &anchor)
            .is_some_and(|(index, whole)| whole || own.contains(&index));
        if is_own || in_handle(state, text, &anchor) {
            named = anchor.start..anchor.end;
        }
        let outside = anchor.end > named.end || anchor.start < named.start;
        let one = Sought::of(text, anchor);
        if outside && seen.insert((one.form, one.counted)) {
            sought.push(one);
        }
    }
    sought
}

/// The span that an anchor names by its id or its whole handle, and whether it is the handle. Only
/// words that look like ids are ids.
fn named_span(state: &SessionState, text: &str, anchor: &Anchor) -> Option<(SpanIndex, bool)> {
    let words = anchor.of(text);
    let (id, digest) = words.split_once('@').unwrap_or((words, ""));
    let looks_like_one =
        matches!(anchor.kind, AnchorKind::RequestId | AnchorKind::Uuid | AnchorKind::Identifier);
    if !looks_like_one && digest.is_empty() {
        return None;
    }
    let index = state.index_of(id)?;
    let whole = !digest.is_empty() && state.span(index).handle().to_string() == words;
    (whole || digest.is_empty()).then_some((index, whole))
}

/// Whether an anchor is a part of a whole handle, on either side of its `@`.
fn in_handle(state: &SessionState, text: &str, anchor: &Anchor) -> bool {
    const LONGEST: usize = 160;
    let of_handle = |c: char| c.is_ascii_alphanumeric() || "_.:-@".contains(c);
    let from = text.floor_char_boundary(anchor.start.saturating_sub(LONGEST));
    let before = text[from..anchor.start].rfind(|c| !of_handle(c)).map_or(from, |at| {
        let width = text[from + at..].chars().next().map_or(1, char::len_utf8);
        from + at + width
    });
    let behind = text[anchor.end..].find(|c| !of_handle(c)).unwrap_or(text.len() - anchor.end);
    let run = text[before..anchor.end + behind.min(LONGEST)].trim_end_matches(['.', ':', '-']);
    let Some((id, digest)) = run.split_once('@') else { return false };
    digest == "prune"
        || state.index_of(id).is_some_and(|index| state.span(index).handle().to_string() == run)
}

/// Whether an anchor names a span of the session.
pub(super) fn names_span(state: &SessionState, text: &str, anchor: &Anchor) -> bool {
    named_span(state, text, anchor).is_some()
}

/// Words with digits of other scripts, or with letters that nobody sees: the extractor reads past
/// them, so that they have to stand in a source as they are.
fn odd_words(text: &str) -> impl Iterator<Item = Anchor> + '_ {
    let odd = |c: char| {
        !c.is_ascii()
            && (c.is_numeric() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}'))
    };
    let part = move |c: char| odd(c) || c.is_ascii_alphanumeric();
    let mut at = 0;
    std::iter::from_fn(move || {
        if text.is_ascii() {
            return None;
        }
        loop {
            let start = at + text[at..].find(part)?;
            let length = text[start..].find(|c| !part(c)).unwrap_or(text.len() - start);
            at = start + length;
            let word = &text[start..at];
            // What joins emoji joins no letters or digits.
            let telling = word.chars().any(char::is_alphanumeric) && word.chars().any(odd);
            if telling {
                return Some(Anchor { kind: AnchorKind::Quote, start, end: at });
            }
        }
    })
}

/// Whether an anchor is no more than plumbing: the key of a JSON object, or the id by which a provider
/// pairs a call with its result. Nobody misses those.
pub(super) fn is_plumbing(text: &str, anchor: &Anchor) -> bool {
    let words = anchor.of(text);
    let pairs = ["toolu_", "call_", "chatcmpl-", "msg_"].iter().any(|lead| words.starts_with(lead));
    let key = text[..anchor.start].ends_with('"')
        && text[anchor.end..]
            .strip_prefix('"')
            .is_some_and(|rest| rest.trim_start().starts_with(':'));
    key || (pairs && anchor.kind == AnchorKind::RequestId)
}

/// What an anchor of the summary's text, beside its claims, is held to: none, to nothing; true, to
/// stand in some span. An author counts, and writes dates its own way: small numbers, times and
/// single words in quotation marks are prose.
pub(super) fn telling(text: &str, anchor: &Anchor) -> Option<bool> {
    let words = anchor.of(text);
    let digits = words.bytes().filter(u8::is_ascii_digit).count();
    match anchor.kind {
        AnchorKind::Number if digits < 2 => None,
        AnchorKind::Number => Some(digits > 2),
        AnchorKind::Time => Some(false),
        AnchorKind::Quote => {
            let odd = !words.is_ascii() && words.split_whitespace().count() == 1;
            Some(odd || words.split_whitespace().count() > 3)
        }
        _ => Some(true),
    }
}

pub(super) fn range_of(sought: &Sought) -> TextRange {
    let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    (at(sought.anchor.start), at(sought.ends))
}

/// Of places within each other only the inner ones: they say most precisely what is wrong.
pub(super) fn innermost(mut places: Vec<TextRange>) -> Vec<TextRange> {
    // Of equal beginnings the longer first, so that an outer place stands before its inner ones.
    places.sort_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
    places.dedup();
    let mut kept: Vec<TextRange> = Vec::with_capacity(places.len());
    for place in places {
        while kept.last().is_some_and(|outer| outer.0 <= place.0 && place.1 <= outer.1) {
            kept.pop();
        }
        kept.push(place);
    }
    kept
}

/// A set of forms to which most of a text's forms do not belong: told so by one bit.
pub(super) struct Sieve {
    bits: [u64; 32],
    /// Sorted.
    forms: Vec<Form>,
}

impl Sieve {
    pub(super) fn of(forms: impl Iterator<Item = Form>) -> Self {
        let mut forms: Vec<Form> = forms.collect();
        forms.sort_unstable();
        forms.dedup();
        let mut bits = [0; 32];
        for form in &forms {
            let bit = form.bits(11);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        Self { bits, forms }
    }

    pub(super) fn holds(&self, form: Form) -> bool {
        let bit = form.bits(11);
        self.bits[bit / 64] & (1 << (bit % 64)) != 0 && self.forms.binary_search(&form).is_ok()
    }
}
