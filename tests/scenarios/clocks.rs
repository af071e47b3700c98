//! The machine's clock jumps by years, forwards and back, under a running daemon and between two: the
//! order of events does not care, and record time stands rather than going back.
//!
//! This needs libfaketime, which says the wrong time to one process: `apt-get install faketime`.

use std::path::Path;

use serde_json::Value;

use crate::rig::{Broker, House, Worker, feed_is_journal, with_each_broker};

/// Where packages put it.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

fn library() -> Option<&'static str> {
    let found = LIBRARIES.into_iter().find(|path| Path::new(path).is_file());
    if found.is_none() {
        eprintln!("NOT TESTED: jumps of the clock; there is no libfaketime (package faketime)");
    }
    found
}

/// The year in which an event was recorded.
fn year(event: &Value) -> u32 {
    event["at"].as_str().unwrap()[..4].parse().unwrap()
}

/// Appends, and gives the events of the session.
async fn appended(worker: &Worker, id: &str) -> Vec<Value> {
    worker.append("s", id, "words").await;
    worker.history("s").await
}

#[test]
fn years_forwards_and_back_change_no_order() {
    let Some(library) = library() else { return };
    with_each_broker(async |server| {
        let mut house = House::behind(Broker::start(server));
        let worker = house.worker().await;
        worker.open("s").await;
        let today = year(&appended(&worker, "now").await[1]);
        let clock = house.folder().join("clock");
        let file = clock.to_str().unwrap().to_owned();
        // Nothing but the time of day is changed: sleeps last as long as they did.
        let set = [
            ("LD_PRELOAD", library),
            ("FAKETIME_TIMESTAMP_FILE", &file),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
        ];
        let says = |offset: &str| std::fs::write(&clock, format!("{offset}\n")).unwrap();
        let restart = |house: &mut House| {
            tokio::task::block_in_place(|| {
                house.stop_daemon();
                house.start_daemon_with(&set);
            });
        };
        // Between two daemons: back by seven years, when there are events already.
        says("-7y");
        restart(&mut house);
        let behind = appended(&worker, "behind").await;
        assert_eq!(year(&behind[2]), today, "record time stands");
        assert_eq!(behind[2]["at"], behind[1]["at"]);
        // Under a running daemon: far ahead, back behind everything, and right again.
        let mut years = Vec::new();
        for (id, offset) in [("ahead", "+5y"), ("back", "-20y"), ("right", "+0"), ("later", "+9y")]
        {
            says(offset);
            years.push(year(appended(&worker, id).await.last().unwrap()));
        }
        assert_eq!(years[1..3], [years[0]; 2], "record time stands: {years:?}");
        let ahead = years[0] - today;
        assert!((4..=5).contains(&ahead) && years[3] > years[0] + 2, "the clock jumped: {years:?}");
        // The next one is started at a time long before all of it.
        says("-12y");
        restart(&mut house);
        let all = appended(&worker, "last").await;
        assert_eq!(year(all.last().unwrap()), years[3], "across a restart, too");
        assert_eq!(all.len(), 8);
        for (index, pair) in all.windows(2).enumerate() {
            assert!(pair[0]["at"].as_str() <= pair[1]["at"].as_str(), "{pair:?}");
            assert_eq!(pair[1]["version"], index + 2);
            assert_eq!(pair[1]["seq"], index + 2);
        }
        let ids: Vec<&str> = all[1..].iter().map(|event| event["span"].as_str().unwrap()).collect();
        assert_eq!(ids, ["now", "behind", "ahead", "back", "right", "later", "last"]);
        // Questions about a moment go by record time, and see what was recorded until then.
        let at = serde_json::json!({ "at": { "time": all[4]["at"] } });
        let window = worker.call("s", "window", at).await;
        assert_eq!(window["version"], 6, "three events share that moment");
        feed_is_journal(&worker, &["s"]).await;
        worker.verify().await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
    });
}
