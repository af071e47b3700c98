//! Numbers are compared with their units, where both sides say one that has one meaning.

use lacuna_core::ClaimOrigin as O;

use crate::scenario::Scenario;
use crate::telling::{claim, enforced, refused, tell, tell_one, tried, user};

fn holding(content: &str) -> Scenario {
    enforced(vec![user("a", content)])
}

#[track_caller]
fn check(said: &str, told: &str, holds: bool) {
    let tell = tell_one(&["a"], claim(told, O::UserSaid, &["a"]));
    let (found, _) = tried(&holding(said), &tell);
    let missing = found.iter().all(|found| found.starts_with("anchor_not_in_source 0 "));
    assert!(missing && found.is_empty() == holds, "{told:?} of {said:?}: {found:?}");
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
    ("It waited 5m.", "It reads 5 MB.", true),
    ("It waited 5m.", "It waited 5 hours.", false),
    ("The heap is 30M.", "The heap is 30 MB.", true),
    ("The heap is 30M.", "The heap is 30G.", false),
    ("The heap is 30g.", "The heap is 30 GB.", true),
    ("The heap is 4Gi.", "The heap is 4 GB.", true),
    ("The heap is 4Gi.", "The heap is 4 MB.", false),
    ("It takes 30 KB.", "It takes 30kB.", true),
    ("It takes 30 KB.", "It takes 30 B.", false),
    ("It takes 30 bytes.", "It takes 30B.", true),
    ("Logs are kept for 30d.", "Logs are kept for 30 days.", true),
    ("Logs are kept for 30d.", "Logs are kept for 30h.", false),
    ("It costs 30 CHF.", "It costs CHF 30.", true),
    ("It costs 30 CHF.", "It costs 30 EUR.", false),
    ("It costs EUR 30.", "It costs 30 dollars.", false),
    ("It costs ¥30.", "It costs 30 yen.", true),
    ("It costs ¥30.", "It costs $30.", false),
    ("It costs 30 US dollars.", "It costs 30 dollars.", true),
    ("It costs 30 US dollars.", "It costs $30.", true),
    ("It costs 30 US dollars.", "It costs US$30.", true),
    ("It costs 30 US dollars.", "It costs €30.", false),
    ("They gave 30 us a hint.", "They gave 30 ms.", true),
    ("It took 30us.", "It took 30 µs.", true),
    ("It took 30us.", "It took 30 ms.", false),
    ("It is 30 °C outside.", "It is 30°C outside.", true),
    ("It is 30 degrees Celsius.", "It is 30 °C.", true),
    ("It is 30 °C outside.", "It is 30°F outside.", false),
    ("It is 30°C outside.", "It is 30 °F outside.", false),
    ("It is 30 km away.", "It is 30 kilometers away.", true),
    ("It is 30 km away.", "It is 30 miles away.", false),
    ("The link has 30 Mbps.", "The link has 30 Mb/s.", true),
    ("The link has 30 Mbps.", "The link has 30 Gbps.", false),
    ("It wrote 30 rows.", "It wrote 30 lines.", true),
    ("It wrote 30 rows.", "It wrote 30 MB.", false),
    // A letter for thousands, millions or billions is a part of the value, or a unit.
    ("It costs $25k.", "It costs $25,000.", true),
    ("It costs $25k.", "It costs 25 thousand dollars.", true),
    ("It costs $25k.", "It costs $25M.", false),
    ("It costs $25k.", "It costs $25.", false),
    ("It has 25k rows.", "It has 25 k rows.", true),
    ("It has 25k rows.", "It has 25M rows.", false),
    ("It has 25k rows.", "It has 25 rows.", false),
    ("It costs $1.2M.", "It costs $1.2 million.", true),
    ("It costs $1.2 million.", "It costs $1.2M.", true),
    ("It costs $1.2M.", "It costs $1.2 billion.", false),
    ("It got 4.5M requests.", "It got 4,500,000 requests.", true),
    ("It got 4.5M requests.", "It got 4.5 million requests.", true),
    ("It got 4,500,000 requests.", "It got 4.5M requests.", true),
    ("It got 30 requests.", "It got 30M requests.", false),
    ("It costs $3B.", "It costs $3 billion.", true),
    ("It costs $3bn.", "It costs $3 billion.", true),
    ("It costs $1.2m.", "It costs $1.2 million.", true),
    ("It costs $1.2m.", "It costs $1.2M.", true),
    ("It costs $1.2m.", "It costs €1.2 million.", false),
    ("It has 25M rows.", "It has 25M bytes.", false),
    ("It waited 30m.", "It waited for 30 million.", false),
    ("It has 30m users.", "It has 30 million users.", true),
    ("It has 30m users.", "It has 30 MB of users.", false),
    ("It wrote 30 MB.", "It wrote 30M lines.", false),
    ("It wrote 25 kB.", "It wrote 25K.", true),
    ("It wrote 25 kB.", "It wrote 25k lines.", false),
    ("It costs $30 days ahead.", "It costs 30 dollars.", true),
    ("It costs $3 billion.", "It costs $3B.", true),
    ("The heap is 512M.", "The heap is 512 MB.", true),
    ("The heap is 512 MB.", "The heap is 512M.", true),
    ("The heap is 512m.", "The heap is 512M.", true),
    ("The heap is 512 KB.", "The heap is 512M.", false),
    ("heap_mb: 512", "The heap is 512M.", true),
    ("heap_mb: 512", "It has 512M rows.", false),
    ("requests: 25", "It got 25k.", false),
    // Signs are not compared: a dash has many meanings.
    ("The offset is -5.", "The offset is -5.", true),
    ("Tried 3-5 times.", "Tried 5 times.", true),
    ("40 insertions(+), 12 deletions(-)", "The change is (+40/-12).", true),
    ("It went down 33%.", "It changed by -33%.", true),
    ("ran tail -n 50", "It ran tail -50 on the log.", true),
    ("The balance is -$45.20.", "The balance is -45.20.", true),
    // Durations in two units.
    ("It took 1h30m.", "It took 1h 30m.", true),
    ("It took 1h30m.", "It took 1 hour 30 minutes.", true),
    ("It took 1h 30m.", "It took 1h30m.", true),
    ("It took 1m30s.", "It took 1 minute 30 seconds.", true),
    ("It took 1m30s.", "It took 30 minutes.", false),
    ("real\t0m12.345s", "It took 12.345s.", true),
    ("real\t0m12.345s", "It took 12.345 ms.", false),
];

#[test]
fn a_number_is_held_with_its_unit() {
    for (said, told, holds) in ROWS {
        check(said, told, *holds);
    }
}

/// What is not there is named with its unit.
#[test]
fn a_finding_names_the_unit() {
    let s = holding("The timeout is 30ms.");
    let tell = tell_one(&["a"], claim("The timeout is 30 seconds.", O::UserSaid, &["a"]));
    refused(&s, tell, &["anchor_not_in_source 0 \"30 seconds\""], &[]);
}

/// What a span says, a claim of a host with its port, and whether the span supports it.
const HOSTS: &[(&str, &str, bool)] = &[
    (r#"{"host":"db.internal","port":5432}"#, "db.internal:5432", true),
    (r#"connected to "db.internal" (10.0.0.5), port 5432"#, "db.internal:5432", true),
    ("host: db.internal, port:5432", "db.internal:5432", true),
    ("The ledger is on ledger-db, port 5432.", "ledger-db:5432", true),
    ("db.internal:5432 is up", "db.internal:5432", true),
    ("db-a:5432 db-b:5433", "db-a:5433", false),
    ("db-a:5432 and db-b, port 5433", "db-a:5433", false),
    ("db-a is down, db-b:5433 is up", "db-a:5433", false),
    (
        r#"[{"host":"db.internal","port":5432},{"host":"cache.internal","port":6379}]"#,
        "cache.internal:6379",
        true,
    ),
    (
        r#"[{"host":"db.internal","port":5432},{"host":"cache.internal","port":6379}]"#,
        "db.internal:6379",
        false,
    ),
    (
        r#"[{"host":"db.internal","port":5432},{"host":"cache.internal","port":6379}]"#,
        "cache.internal:5432",
        false,
    ),
    ("DB_HOST=ledger-db\nDB_PORT=5432\nUI_HOST=ui\nUI_PORT=6379", "ledger-db:5432", true),
    ("DB_HOST=ledger-db\nDB_PORT=5432\nUI_HOST=ui\nUI_PORT=6379", "ledger-db:6379", false),
    ("The db.internal is down, cache.internal has port 6379.", "db.internal:6379", false),
    ("The ledger is on db.internal.", "db.internal:5432", false),
    ("The ledger is on db.internals, port 5432.", "db.internal:5432", false),
];

#[test]
fn a_host_and_its_port_may_stand_apart() {
    for (said, told, holds) in HOSTS {
        check(said, &format!("The ledger is served by {told} now."), *holds);
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
