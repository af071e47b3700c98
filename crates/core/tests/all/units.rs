//! Numbers are compared with their units, where both sides say one that has one meaning.

use lacuna_core::ClaimOrigin as O;

use crate::scenario::Scenario;
use crate::telling::{claim, enforced, honest, refused, tell, tell_one, user};

fn holding(content: &str) -> Scenario {
    enforced(vec![user("a", content)])
}

/// What a span says, what a claim says, and whether the span supports it.
const ROWS: &[(&str, &str, bool)] = &[
    ("The timeout is 30ms.", "The timeout is 30 ms.", true),
    ("The timeout is 30ms.", "The timeout is 30 milliseconds.", true),
    ("The timeout is 30ms.", "The timeout is 30 seconds.", false),
    ("The timeout is 30 s.", "The timeout is 30s.", true),
    ("The timeout is 30 s.", "The timeout is 30ms.", false),
    ("The timeout is 30.", "The timeout is 30 seconds.", true),
    ("The timeout is 30 seconds.", "The timeout is 30.", true),
    ("timeout_ms: 30", "The timeout is 30 ms.", true),
    ("It takes 5 GB.", "It takes 5 GiB.", true),
    ("It takes 5 GB.", "It takes 5 MB.", false),
    ("It takes 5 GB, and 5 MB for the index.", "The index takes 5 MB.", true),
    ("Usage is at 40 percent.", "Usage is at 40%.", true),
    ("Usage is at 40%.", "Usage is at 40 GB.", false),
    ("It costs $30 a month.", "It costs 30 dollars.", true),
    ("It costs $30 a month.", "It costs 30 EUR.", false),
    ("Logs are kept for 30 days.", "The logs have a 30-day retention.", true),
    ("Logs are kept for 30 days.", "Logs are kept for 30 hours.", false),
    ("3 million bytes were read.", "3,000,000 bytes were read.", true),
    ("3 million bytes were read.", "3 million bits were read.", false),
    // What has more than one meaning is not compared.
    ("It waited 5m.", "It waited 5 minutes.", true),
    ("Took 12 b.", "It took 12 bytes.", true),
    // A minus is not made up; a dash is none.
    ("The offset is -5.", "The offset is -5.", true),
    ("The offset is 5.", "The offset is -5.", false),
    ("The offset is \u{2212}5.", "The offset is -5.", true),
    ("Tried 3-5 times.", "Tried 5 times.", true),
];

#[test]
fn a_number_is_held_with_its_unit() {
    for (said, told, holds) in ROWS {
        let s = holding(said);
        let tell = tell_one(&["a"], claim(told, O::UserSaid, &["a"]));
        if *holds {
            honest(&s, tell);
        } else {
            let number = told.split(' ').skip_while(|word| !word.contains(char::is_numeric));
            let number: Vec<&str> = number.collect();
            let number = number.join(" ");
            let words = number.trim_end_matches(['.', '%']);
            let words = words.trim_start_matches('-').split(" were").next().unwrap();
            refused(&s, tell, &[&format!("anchor_not_in_source 0 {words:?}")], &[]);
        }
    }
}

/// A text may not tell in another unit what its claims tell.
#[test]
fn the_text_is_held_to_the_units_of_its_claims() {
    let s = holding("The timeout of the ledger is 300 ms, as measured.");
    let told = claim("The timeout is 300 ms.", O::UserSaid, &["a"]);
    let text = "The ledger has a timeout of 300 s.";
    let tell = tell(&["a"], text, vec![told]);
    refused(&s, tell, &["anchor_not_in_source - \"300 s\""], &[]);
}
