//! The way to the broker fails in every manner that TCP allows, at the worker's end and at the daemon's:
//! what is sent again has one effect and one reply, and everything goes on by itself afterwards.

use std::time::{Duration, Instant};

use crate::rig::{
    Broker, Daemon, Habits, House, Load, Proxy, Sent, Server, Way, Worker, feed_is_journal,
    with_each_broker,
};

/// How long a worker waits for a reply, and how long directions stand still: longer.
const ATTEMPT: Duration = Duration::from_millis(250);
const STALL: Duration = Duration::from_millis(600);
/// How soon it must all go on.
const BOUND: Duration = Duration::from_secs(10);

/// A house, a proxy beside it, a worker behind the proxy and one that is not.
async fn far_away(server: &Server) -> (House, Proxy, Worker, Worker) {
    let house = House::start(server);
    let near = house.worker().await;
    near.open("s").await;
    let proxy = Proxy::before(house.broker.port()).await;
    let far = Worker::connect(&proxy.url(), "acme", "worker-1").await;
    (house, proxy, far, near)
}

#[test]
fn a_worker_whose_replies_stand_still_gets_the_first_reply_late_and_again() {
    with_each_broker(async |server| {
        let (house, proxy, far, near) = far_away(server).await;
        for round in 0..3 {
            let id = format!("late-{round}");
            let mut sent = Sent::new(&far, &id).await;
            far.nats.flush().await.unwrap();
            proxy.stall(Way::Down);
            // It waits in vain and sends again, twice.
            for _ in 0..3 {
                sent.send(&far.nats).await;
                assert_eq!(sent.reply(ATTEMPT).await, None);
            }
            let recorded = sent.effects(&near).await;
            assert_eq!(recorded.len(), 1, "the requests went through");
            proxy.flow();
            let first = sent.replies(3).await;
            assert_eq!(first["spans"][0]["seq"], recorded[0]);
            sent.repeated(&far, Some(&first)).await;
            assert_eq!(sent.effects(&near).await, recorded);
        }
        let done = proxy.done();
        eprintln!("{done:?}");
        assert!(done.held[Way::Down as usize] >= 3 && done.accepted == 1, "{done:?}");
        near.verify().await;
        drop(house);
    });
}

#[test]
fn a_worker_whose_replies_are_lost_with_its_connection_gets_the_same_on_another() {
    with_each_broker(async |server| {
        let (_house, proxy, far, near) = far_away(server).await;
        for (round, half) in [false, true, false, true].into_iter().enumerate() {
            let id = format!("lost-{round}");
            let mut sent = Sent::new(&far, &id).await;
            far.nats.flush().await.unwrap();
            proxy.stall(Way::Down);
            sent.send(&far.nats).await;
            assert_eq!(sent.reply(ATTEMPT).await, None);
            let recorded = sent.effects(&near).await;
            assert_eq!(recorded.len(), 1, "the request went through");
            // The reply is in the proxy, and goes with the connection.
            if half {
                proxy.half_close(Way::Down)
            } else {
                proxy.cut()
            }
            proxy.flow();
            let again = sent.repeated(&far, None).await;
            assert_eq!(
                again["spans"][0]["seq"], recorded[0],
                "what is repeated is the first reply"
            );
            sent.repeated(&near, Some(&again)).await;
            assert_eq!(sent.effects(&near).await, recorded);
        }
        let done = proxy.done();
        eprintln!("{done:?}");
        assert_eq!((done.cut, done.half_closed, done.accepted), (4, [0, 2], 5), "{done:?}");
        near.verify().await;
    });
}

#[test]
fn requests_that_stood_still_arrive_together_or_not_at_all_and_count_once() {
    with_each_broker(async |server| {
        let (_house, proxy, far, near) = far_away(server).await;
        for (round, lost) in [false, true, false, true].into_iter().enumerate() {
            let id = format!("held-{round}");
            let mut sent = Sent::new(&far, &id).await;
            // The broker has the subscription before its way stands still.
            far.nats.publish(sent.inbox.clone(), "\"there\"".into()).await.unwrap();
            assert_eq!(sent.reply(BOUND).await.unwrap(), "there");
            proxy.stall(Way::Up);
            for _ in 0..3 {
                sent.send(&far.nats).await;
                assert_eq!(sent.reply(ATTEMPT / 3).await, None);
            }
            assert_eq!(sent.effects(&near).await.len(), 0, "the requests stand still");
            if lost {
                proxy.cut();
            }
            proxy.flow();
            if lost {
                assert_eq!(sent.reply(ATTEMPT).await, None, "they are gone");
                assert_eq!(sent.effects(&near).await.len(), 0);
                sent.send(&far.nats).await;
            }
            let first = sent.replies(if lost { 1 } else { 3 }).await;
            sent.repeated(&near, Some(&first)).await;
            assert_eq!(sent.effects(&near).await, [first["spans"][0]["seq"].clone()]);
        }
        let done = proxy.done();
        eprintln!("{done:?}");
        assert!(done.held[Way::Up as usize] >= 4 && done.cut == 4, "{done:?}");
        near.verify().await;
    });
}

/// Troubles of the daemon's own connection, each while workers append.
const TROUBLES: [&str; 8] = [
    "cut",
    "half-closed upwards",
    "half-closed downwards",
    "stalled upwards",
    "stalled downwards",
    "stalled both ways and cut",
    "late",
    "cut three times",
];

async fn strike(proxy: &Proxy, trouble: &str) {
    match trouble {
        "cut" => proxy.cut(),
        "half-closed upwards" => proxy.half_close(Way::Up),
        "half-closed downwards" => proxy.half_close(Way::Down),
        "stalled upwards" => proxy.stall(Way::Up),
        "stalled downwards" => proxy.stall(Way::Down),
        "stalled both ways and cut" => {
            proxy.stall(Way::Up);
            proxy.stall(Way::Down);
            tokio::time::sleep(STALL).await;
            proxy.cut();
        }
        // Each way: no reply comes in time.
        "late" => proxy.delay(ATTEMPT),
        _ => {
            for _ in 0..3 {
                proxy.cut();
                tokio::time::sleep(ATTEMPT / 5).await;
            }
        }
    }
    if trouble.contains("stalled") || trouble == "late" {
        tokio::time::sleep(STALL).await;
        proxy.flow();
    }
}

#[test]
fn a_daemon_serves_again_whatever_happened_to_its_connection() {
    with_each_broker(async |server| {
        let mut house = House::behind(Broker::start(server));
        let proxy = Proxy::before(house.broker.port()).await;
        tokio::task::block_in_place(|| {
            house.stop_daemon();
            house.give_daemon(Daemon::start(&house.journal(), &proxy.url()));
        });
        let workers = [house.worker().await, house.worker().await];
        let sessions = ["a", "b"];
        let habits = Habits {
            sessions: sessions.map(str::to_owned).to_vec(),
            appenders: 8,
            attempt: ATTEMPT,
            filling: 100,
        };
        let load = Load::begin(&workers, &habits).await;
        for trouble in TROUBLES {
            load.goes_on(16, BOUND).await;
            strike(&proxy, trouble).await;
            let began = Instant::now();
            load.goes_on(16, BOUND).await;
            eprintln!("{trouble}: goes on {:.0?} after it", began.elapsed());
        }
        let done = proxy.done();
        let account = load.end().await;
        let (answered, resent) = (account.acknowledged.len(), account.resent);
        eprintln!("{answered} acknowledged, {resent} sent again, {done:?}");
        assert!(resent > habits.appenders, "the troubles hit nothing");
        // Both directions count. Of three cuts in a row the later ones may find no connection.
        assert!(done.cut >= 6 && done.half_closed == [1, 1], "{done:?}");
        assert!(done.held.iter().all(|held| *held >= 2) && done.delayed > 2, "{done:?}");
        assert!(done.accepted >= 6, "it connected again: {done:?}");
        account.settle(&workers[0]).await;
        feed_is_journal(&workers[0], &sessions).await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
    });
}
