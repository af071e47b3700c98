//! `kill -9` under load: what was acknowledged is there once, with the same seq and the same reply;
//! what was not is there at most once, and sending it again gives one effect (I1, I2).

use std::time::{Duration, Instant};

use crate::rig::{Dice, Habits, House, Load, current_server, servers};

const APPENDERS: usize = 64;
const SESSIONS: usize = 8;
/// Rounds go on until this has passed.
const LONG_ENOUGH: Duration = Duration::from_secs(8);

async fn round(house: &mut House, dice: &mut Dice, round: usize) -> (usize, usize) {
    let habits = Habits {
        sessions: (0..SESSIONS).map(|session| format!("r{round}-s{session}")).collect(),
        appenders: APPENDERS,
        attempt: Duration::from_secs(20),
        filling: 0,
    };
    let load = Load::begin(&[house.worker().await], &habits).await;
    tokio::time::sleep(dice.between(Duration::from_millis(20), Duration::from_millis(400))).await;
    house.kill_daemon();
    // Replies that had left before it died may still arrive.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let account = load.end().await;
    house.start_daemon();
    account.settle(&house.worker().await).await;
    (account.acknowledged.len(), account.unanswered.len())
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let mut dice = Dice::roll("kill -9 under load");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let began = Instant::now();
        let (mut rounds, mut acknowledged, mut unanswered) = (0, 0, 0);
        while rounds < 3 || began.elapsed() < LONG_ENOUGH {
            let (some, none) = round(&mut house, &mut dice, rounds).await;
            rounds += 1;
            acknowledged += some;
            unanswered += none;
        }
        eprintln!("{rounds} kills, {acknowledged} acknowledged, {unanswered} unanswered");
        assert!(acknowledged > APPENDERS && unanswered > 0, "the kills hit nothing");
        house.stop_daemon();
    });
}

/// One short round with the older broker: its redelivery and its errors differ.
#[test]
fn nor_with_an_older_broker() {
    let Some(old) = servers().into_iter().nth(1) else { return };
    let mut dice = Dice::roll("kill -9 under load, older broker");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&old);
        let (acknowledged, unanswered) = round(&mut house, &mut dice, 0).await;
        eprintln!("{acknowledged} acknowledged, {unanswered} unanswered");
        house.stop_daemon();
    });
}
