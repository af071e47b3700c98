//! Sentences whose author keeps a reserve, with the words that say so, and sentences whose author
//! does not, although they look alike.

use lacuna_core::text::{HEDGES, When, hedge};

const HEDGED: &[(&str, &str)] = &[
    ("I think the staging DB is on port 5433.", "think"),
    ("We think it fails.", "think"),
    ("i still think so", "think"),
    ("I really do believe it is 5433.", "believe"),
    ("My guess is 42.", "My guess"),
    ("I guess it is 42.", "guess"),
    ("I suspect a race.", "suspect"),
    ("I assume it is 5433.", "assume"),
    ("The user thinks it is port 5433.", "thinks"),
    ("The user assumes 5433.", "assumes"),
    ("Bob believes it is 5433.", "believes"),
    ("They suspect the cache.", "suspect"),
    ("I thought it was 5433.", "thought"),
    ("I'd say 30.", "I'd say"),
    ("I’d say 30.", "I’d say"),
    ("I don't think so.", "don't think"),
    ("I don’t know which port.", "don’t know"),
    ("IIRC it is 5433.", "IIRC"),
    ("If I recall correctly, 5433.", "If I recall"),
    ("It is 5433, if memory serves.", "if memory serves"),
    ("From memory: 5433.", "From memory"),
    ("AFAIK it is 5433.", "AFAIK"),
    ("As far as I  know it is 5433.", "As far as I  know"),
    ("As far as I\nknow it is 5433.", "As far as I\nknow"),
    ("I'm not sure it is 5433.", "not sure"),
    ("I’m not entirely sure.", "not entirely sure"),
    ("Unsure about the port.", "Unsure"),
    ("The port is uncertain.", "uncertain"),
    ("It is unclear whether 5433 is used.", "unclear"),
    ("It is not clear if 5433 is used.", "is not clear"),
    ("The port is unconfirmed.", "unconfirmed"),
    ("Port 5433 (not verified).", "not verified"),
    ("5433, to be confirmed.", "to be confirmed"),
    ("It is probably 5433.", "probably"),
    ("Perhaps 5433.", "Perhaps"),
    ("Maybe, it is.", "Maybe"),
    ("It is maybe.", "maybe"),
    ("It is \"possibly\" 5433.", "possibly"),
    ("Presumably 5433.", "Presumably"),
    ("It supposedly is 5433.", "supposedly"),
    ("Apparently 5433.", "Apparently"),
    ("It allegedly broke.", "allegedly"),
    ("It reportedly broke.", "reportedly"),
    ("The most likely cause is 5433.", "likely"),
    ("That is unlikely.", "unlikely"),
    ("Hopefully it is 5433.", "Hopefully"),
    ("It might be 5433.", "might"),
    ("It MIGHT be 5433.", "MIGHT"),
    ("It may be 5433.", "may"),
    ("It may not be set.", "may"),
    ("It could be 5433.", "could be"),
    ("It could have been 5433.", "could have"),
    ("It must have been the cache.", "must have been"),
    ("It seems to be 5433.", "seems"),
    ("The port seemed wrong.", "seemed"),
    ("It appears to be 5433.", "appears to"),
    ("It looks like 5433.", "looks like"),
    ("They look like errors.", "look like"),
    ("It is kind of slow.", "is kind of"),
    ("Rumor has it that it is 5433.", "Rumor"),
    ("The port is 5433 (hedged).", "(hedged)"),
    ("[hedged] The port is 5433.", "[hedged]"),
    ("I doubt it is 5433.", "doubt"),
    ("It is 5433, but don't hold me to it.", "don't hold me to"),
    ("I want to say it's 5433.", "I want to say it"),
    ("I want to say that it is 5433.", "I want to say that"),
    ("It was 5433 last I checked.", "last I checked"),
    ("I'm 80% sure it is 5433.", "80% sure"),
    ("I am 99.9 % certain it is 5433.", "99.9 % certain"),
    ("It is 5433, I'm not 100% on that, no, not 100%.", "not 100%"),
    ("I'm not 100 % sure it is 5433.", "not 100 % sure"),
    ("To the best of my recollection it is 5433.", "best of my recollection"),
    ("If my memory serves me, 5433.", "memory serves"),
    ("The port is 5433 (guess).", "(guess)"),
    ("The port is 5433 (guessing).", "(guessing)"),
    ("The port is 5433 (TBD).", "(TBD)"),
    ("The port is 5433 (to confirm).", "(to confirm)"),
    ("The port is 5433 (?).", "(?)"),
    ("The port is 5433(?).", "(?)"),
    ("I couldn't say for sure.", "couldn't say for sure"),
    ("I could not say for sure.", "could not say for sure"),
    ("I don't really know.", "don't really know"),
    ("It can just as well be 5433.", "just as well be"),
    // Words that stand out are still words.
    ("I **think** it is 5433.", "think"),
    ("I _think_ it is 5433.", "think"),
    ("_I think_ it is 5433.", "think"),
    ("**I** think it is 5433.", "think"),
    ("It is *probably* 5433.", "probably"),
    ("It is __probably__ 5433.", "probably"),
    ("_Probably_ 5433.", "Probably"),
    ("I'm **not** sure.", "not** sure"),
];

const PLAIN: &[&str] = &[
    "The staging DB is on port 5433.",
    "With all its mighty power, to our dismay.",
    "The likelihood is 0.5 and the probability 0.3.",
    "On May 12 it was released.",
    "In May 2026 we shipped.",
    "The May release is out.",
    "You may use 5433.",
    "Yes you may copy it.",
    "It could not be found.",
    "It couldn't be found.",
    "It can't be 5433 and cannot be 5434.",
    "It should be 5433.",
    "It must have an id.",
    "It is possible to set both.",
    "That is impossible.",
    "About 30 ms, approximately, roughly 1 GB.",
    "It appears in the list.",
    "We need it to appear to the left.",
    "What would the API look like?",
    "What kind of error is it?",
    "This sort of thing is common.",
    "maybe_uninit is set.",
    "_maybe_uninit is set.",
    "__unlikely_branch is set.",
    "is_probably is set.",
    "Use Maybe::new or maybe.rs.",
    "lib/maybe/x exists.",
    "Call maybe() first.",
    "Set $might and @perhaps.",
    "The parser assumes UTF-8.",
    "Docker assumes the default.",
    "Let me think about it.",
    "What do you think?",
    "Think of it as a list.",
    "The thought process is recorded.",
    "Three suspects and 5 guesses.",
    "The test is expected to pass.",
    "He is supposed to call.",
    "Nobody questions it.",
    "It does not clear the list.",
    "A likely-correct flag.",
    "It is a seam, not a seem-alike.",
    "No doubt about it.",
    "The guess() function returns 5.",
    "The unsureness and the maybes.",
    "Hold me to it.",
    "I want to say hello.",
    "I last checked on Monday.",
    "I'm 100% sure it is 5433.",
    "It ran on not 100% of the lines.",
    "80% of the lines, 5% surely.",
    "INSERT INTO t VALUES (?)",
    "WHERE id IN (?)",
    "match(?)",
    "It is as well known as the memory that serves.",
    "The guess (of the guesser) is in the TBD column.",
    "",
];

#[test]
fn hedged_sentences_are_hedged_by_these_words() {
    for (sentence, words) in HEDGED {
        let found = hedge(sentence).map(|range| &sentence[range]);
        assert_eq!(found, Some(*words), "in {sentence:?}");
    }
    assert!(HEDGED.len() >= 60);
}

#[test]
fn plain_sentences_are_not_hedged() {
    for sentence in PLAIN {
        let found = hedge(sentence).map(|range| &sentence[range]);
        assert_eq!(found, None, "in {sentence:?}");
    }
}

#[test]
fn the_table_is_written_as_it_is_compared() {
    for (at, (words, _)) in HEDGES.iter().enumerate() {
        assert_eq!(*words, words.to_lowercase().trim(), "{words:?}");
        assert!(words.is_ascii() && !words.contains("  ") && words.len() >= 2, "{words:?}");
        assert!(HEDGES[..at].iter().all(|(other, _)| other != words), "{words:?} twice");
    }
}

#[test]
fn every_row_of_the_table_is_found() {
    for (words, when) in HEDGES {
        let rest = if *when == When::Last { "" } else { " be it" };
        let sentence = format!("The port: I {words}{rest}, so it is.");
        assert!(hedge(&sentence).is_some(), "{words:?}");
        let inside = format!("The port: x{words}x is a name.");
        let found = hedge(&inside).map(|range| inside[range].to_string());
        assert_ne!(found.as_deref(), Some(*words), "{words:?}");
    }
}
