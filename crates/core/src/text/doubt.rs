//! Sentences that doubt the one beside them: `I think.`, `Not sure though.`, `It might be outdated.`

use std::ops::Range;

use crate::text::anchor::anchors;
use crate::text::clause::is_one_of;
use crate::text::hedge::hedge;
use crate::text::letters::floor;
use crate::text::line::item;
use crate::text::sentence::sentence_around;

/// The most words of a sentence that says nothing but a doubt, and of one that says it of another.
const ALONE: usize = 10;
const SHORT: usize = 8;

/// How far white space is followed between two sentences, and the longest sentence that is read as a
/// doubt in front, in bytes.
const GAP: usize = 64;
const FRONT: usize = 200;

/// What a sentence consists of that says nothing but a doubt. Beside one of these a word has a topic.
#[rustfmt::skip]
const BARE: &[&str] = &[
    "a", "about", "absolutely", "afaict", "afaik", "again", "all", "am", "any", "anyway", "are",
    "aren't", "as", "at", "be", "been", "believe", "best", "but", "by", "can", "can't", "cannot",
    "certain", "check", "checked", "clear", "completely", "confident", "confirm", "confirmed",
    "correct", "correctly", "could", "couldn't", "did", "didn't", "do", "don't", "double-checked",
    "educated", "entirely", "even", "fairly", "far", "for", "from", "fully", "grain", "guess",
    "guessing", "hard", "have", "haven't", "hold", "honestly", "hunch", "i", "i'd", "i'm", "i've",
    "idea", "if", "iirc", "imo", "in", "is", "isn't", "it", "it's", "just", "know", "knowledge",
    "last", "least", "likely", "may", "maybe", "me", "memory", "might", "mistaken", "most", "my",
    "needs", "no", "not", "of", "off", "on", "only", "or", "outdated", "perhaps", "positive",
    "possibly", "presumably", "pretty", "probably", "quite", "quote", "really", "recall",
    "recollection", "remember", "right", "salt", "say", "serves", "so", "stale", "still",
    "suppose", "sure", "take", "tbc", "tell", "that", "that's", "the", "these", "they", "they're",
    "think", "this", "those", "though", "to", "too", "top", "head", "totally", "tbd", "unclear",
    "uncertain", "unconfirmed", "unless", "unsure", "unverified", "vaguely", "verified", "verify",
    "very", "was", "we", "we're", "were", "wild", "with", "wrong", "yet",
];

/// What a sentence begins with that speaks of the one before it.
#[rustfmt::skip]
const POINTING: &[&str] =
    &["it", "it's", "that", "that's", "these", "they", "they're", "this", "those"];

/// What may stand between a sentence's beginning and the hedge that it is: `But I'm not sure`.
#[rustfmt::skip]
const LEADING: &[&str] = &[
    "although", "am", "and", "but", "honestly", "i", "i'm", "i've", "it", "just", "needs", "only",
    "still", "take", "that", "this", "though", "we", "we're", "we've", "with",
];

/// What stands between a hedge and the topic that it doubts.
const TOWARDS: &[&str] = &["about", "for", "if", "of", "on", "that", "whether"];

/// What begins a topic of its own.
#[rustfmt::skip]
const TOPIC: &[&str] = &[
    "a", "an", "he", "her", "his", "how", "i", "let's", "my", "our", "she", "somebody", "someone",
    "the", "their", "there", "we", "what", "when", "where", "which", "who", "why", "you", "your",
];

/// A word without the marks around it; an apostrophe is straight.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).replace('\u{2019}', "'").to_ascii_lowercase()
}

/// The first words of a sentence, up to one more than a doubt may have.
fn words(sentence: &str) -> Vec<String> {
    let words = sentence.split_whitespace().map(bare).filter(|word| !word.is_empty());
    words.take(ALONE + 1).collect()
}

/// Whether these words of a sentence say nothing but a doubt.
fn only_doubts(sentence: &str, words: &[String]) -> bool {
    let percent = |word: &str| word.bytes().all(|b| b.is_ascii_digit()) && sentence.contains('%');
    (1..=ALONE).contains(&words.len())
        && words.iter().all(|word| is_one_of(BARE, word) || percent(word))
        && !sentence.ends_with('?')
        && hedge(sentence).is_some()
}

/// Whether a hedge goes on with a topic of its own, which the sentence before does not speak of:
/// `Not sure about the password.`
fn has_topic(rest: &str, before: &str) -> bool {
    let mut words = rest.split_whitespace().map(bare).filter(|word| !word.is_empty()).peekable();
    let towards = words.next_if(|word| is_one_of(TOWARDS, word)).is_some();
    let Some(first) = words.next() else { return false };
    if is_one_of(POINTING, &first) || !(towards || is_one_of(TOPIC, &first)) {
        return false;
    }
    let topic = if is_one_of(TOPIC, &first) { words.next().unwrap_or_default() } else { first };
    topic.is_empty() || !before.split_whitespace().any(|word| bare(word) == topic)
}

/// Whether a short sentence speaks of the one before it and doubts it.
fn speaks_of(sentence: &str, words: &[String], before: &str) -> bool {
    let Some(found) = hedge(sentence).filter(|_| words.len() <= SHORT) else { return false };
    let doubt = sentence[found.clone()].to_ascii_lowercase();
    // How something looks is mostly news, not a doubt.
    let looks = ["look", "seem", "appear", "sound", "feel"];
    if looks.iter().any(|look| doubt.starts_with(look)) || sentence.ends_with('?') {
        return false;
    }
    let leading: Vec<_> = sentence[..found.start].split_whitespace().map(bare).collect();
    let lead = words.iter().find(|word| !is_one_of(&["but", "although", "though", "and"], word));
    let points = lead.is_some_and(|word| is_one_of(POINTING, word));
    // `I think it works` says something of its own.
    let own = leading.last().is_some_and(|word| is_one_of(&["i", "we"], word))
        && !["have", "did", "do"].iter().any(|verb| doubt.starts_with(verb));
    let begins = leading.iter().all(|word| is_one_of(LEADING, word)) && !own;
    let knows = ["sure", "certain", "know", "clear"].iter().any(|verb| doubt.ends_with(verb));
    let topic = has_topic(&sentence[found.end..], before);
    (points && !(knows && topic) || begins && !topic) && anchors(sentence).next().is_none()
}

/// The length of the white space that begins a text, and its lines' ends; those of JSON's strings are
/// some, too.
fn gap(text: &str) -> (usize, usize) {
    let (mut at, mut lines) = (0, 0);
    loop {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start().len();
        lines += rest[..space].matches('\n').count();
        at += space;
        if !text[at..].starts_with("\\n") {
            return (at, lines);
        }
        (at, lines) = (at + 2, lines + 1);
    }
}

/// Whether the sentence that follows only doubts the one here, or speaks of it with a doubt.
fn doubted_behind(text: &str, range: &Range<usize>) -> bool {
    let limit = floor(text, text.len().min(range.end + GAP));
    let rest = &text[range.end..limit];
    let (length, lines) = gap(rest);
    // Another item speaks of something else.
    if length == 0 || length == rest.len() || lines > 2 || (lines > 0 && item(&rest[length..])) {
        return false;
    }
    let start = range.end + length;
    let next = &text[start..sentence_around(text, start..start).end];
    let words = words(next);
    let sentence = next.trim_end_matches(['"', ')', ']', '*', '_']);
    if lines <= 1 {
        return only_doubts(sentence, &words) || speaks_of(sentence, &words, &text[range.clone()]);
    }
    // Another paragraph may begin with a label of its own: `Not verified.`
    let back = ["though", "that", "this", "it", "so", "i", "i'm", "i've"];
    words.iter().any(|word| is_one_of(&back, word)) && only_doubts(sentence, &words)
}

/// Whether nothing but a doubt stands before the sentence here. What answers somebody (`I don't think
/// so.`) says nothing of what follows.
fn doubted_in_front(text: &str, start: usize) -> bool {
    let lead = text.len() - text.trim_start().len();
    if start > FRONT || lead >= start {
        return false;
    }
    let end = sentence_around(text, lead..lead).end;
    let Some(between) = text.get(end..start) else { return false };
    let (length, lines) = gap(between);
    let words = words(&text[lead..end]);
    length == between.len()
        && lines <= 2
        && !words.iter().any(|word| is_one_of(&["so", "that"], word))
        && only_doubts(&text[lead..end], &words)
}

/// Whether a sentence beside this one doubts it.
pub(super) fn doubted(text: &str, sentence: Range<usize>) -> bool {
    doubted_behind(text, &sentence) || doubted_in_front(text, sentence.start)
}
