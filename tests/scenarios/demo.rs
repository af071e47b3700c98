//! `lacuna demo`: four answers side by side, quickly, with and without a broker.

use std::time::Duration;

use serde_json::Value;

use crate::rig::{Cli, House, Ran, with_each_broker};

/// What the contract for the demo allows it.
const ALLOWED: Duration = Duration::from_secs(5);
const IDENTIFIER: &str = "req-8f41c0d2-77ae";

fn tells_the_story(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.took < ALLOWED, "took {:?}", ran.took);
    // The four answers stand in one table, one a row.
    let answers: Vec<&str> =
        ran.out.lines().filter(|line| line.contains("expand ")).map(str::trim).collect();
    assert_eq!(answers.len(), 4, "{}", ran.out);
    assert!(answers[0].contains("recoverable") && answers[0].contains(IDENTIFIER), "{answers:?}");
    assert!(answers[1].contains("lossy") && answers[1].contains("lost under p"), "{answers:?}");
    assert!(answers[2].contains("lossy") && answers[2].contains("removed by r"), "{answers:?}");
    assert!(answers[3].contains("never_recorded"), "{answers:?}");
    assert!(ran.out.contains("payload expired:  prune is reversible"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "no colour without a terminal");
}

fn tells_machines(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.took < ALLOWED, "took {:?}", ran.took);
    let object = ran.object();
    let endings = object["endings"].as_array().unwrap();
    let of = |field: &str| -> Vec<&Value> { endings.iter().map(|e| &e["answer"][field]).collect() };
    assert_eq!(of("outcome"), ["recoverable", "lossy", "lossy", "never_recorded"]);
    let block: Value = "block_7".into();
    assert_eq!(of("span"), [&block, &block, &block, &Value::Null]);
    let tombstone = "block_7: pruned, unrecoverable, contents unknown";
    for (ending, kind) in [(&endings[1], "directive"), (&endings[2], "retention")] {
        assert_eq!(ending["answer"]["tombstone"], tombstone);
        assert_eq!(ending["window"], tombstone);
        assert_eq!(ending["answer"]["cause"]["kind"], kind);
    }
    let cause = &endings[2]["answer"]["cause"];
    assert_eq!(cause["rule"], "tool-output");
    assert!(cause["run"].as_str().unwrap().starts_with('r'), "{cause}");
    assert!(cause["policy"].as_str().unwrap().starts_with("policy-"), "{cause}");
    assert_eq!(endings[3]["answer"]["evidence"]["spans_recorded"], 50);
    assert!(endings[0]["asked"].as_str().unwrap().starts_with("block_7@"), "{}", endings[0]);
}

#[test]
fn it_needs_no_broker() {
    tells_the_story(&Cli::nowhere().run(&["demo"]));
    tells_machines(&Cli::nowhere().run(&["demo", "--json"]));
}

#[test]
fn it_tells_the_same_through_a_daemon_as_often_as_asked() {
    with_each_broker(async |server| {
        let house = House::start(server);
        tells_the_story(&house.cli().run(&["demo"]));
        tells_machines(&house.cli().run(&["demo", "--json"]));
        let sessions = house.cli().done(&["sessions"]);
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 6, "{sessions}");
        // Its policy is in force where it is nobody else's.
        assert_eq!(house.cli().done(&["policy", "get"])["policy"], Value::Null);
        let own = ["policy", "get", "--tenant", "lacuna-demo"];
        assert_eq!(house.cli().done(&own)["policy"], "policy-2");
        house.worker().await.verify().await;
    });
}
