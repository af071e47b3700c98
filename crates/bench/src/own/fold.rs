//! Reading all of a journal: its events folded into states, and everything verified.

use std::collections::HashMap;
use std::time::Instant;

use crossbeam_channel::bounded;
use lacuna_core::{SessionNo, SessionState};
use lacuna_engine::{Journal, Options, VerifyOptions};

use super::Figure;
use crate::Failure;
use crate::fill::Filler;
use crate::process::Processes;
use crate::sample::Sample;

/// Spans of one session.
const SESSION: u64 = 1_000;

/// Folds and verifies so many events, with contents of 1 KiB, and a quarter as many of 4 KiB.
pub(super) fn measure(events: u64) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for (events, bytes) in [(events, 1_024), (events / 4, 4_096)] {
        let folder = tempfile::tempdir()?;
        let journal = Journal::open(folder.path(), Options::default())?;
        let sample = Sample::read(bytes)?;
        Filler::new(&journal, &sample, 0, (events / SESSION).max(1)).record(events)?;
        if bytes == 1_024 {
            let begun = Instant::now();
            let (folded, sessions) = fold(&journal)?;
            let took = begun.elapsed().as_secs_f64();
            figures.push(Figure::new(
                &format!("replay of {folded} events into {sessions} sessions"),
                format!("{:.0} events/s", folded as f64 / took),
            ));
        }
        let own = Processes::of([std::process::id()]);
        let (begun, cpu) = (Instant::now(), own.cpu_seconds()?);
        let report = journal.verify(&VerifyOptions::default(), |_| {})?;
        let (took, cpu) = (begun.elapsed().as_secs_f64(), own.cpu_seconds()? - cpu);
        if !report.faults.is_empty() {
            return Err(format!("{:?}", report.faults).into());
        }
        let payload = report.payload_bytes as f64 / 1e9;
        figures.push(Figure::new(
            &format!("verify of {} events with payloads of {bytes} bytes", report.events),
            format!(
                "{:.0} events/s, {:.2} GB/s of payload, {:.2} GB/s for each core",
                report.events as f64 / took,
                payload / took,
                payload / cpu
            ),
        ));
        journal.close()?;
    }
    Ok(figures)
}

/// Every event of the journal: decoded by one thread and folded by another.
fn fold(journal: &Journal) -> Result<(u64, usize), Failure> {
    let (sender, decoded) = bounded(16);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut next = 1;
            while let Some(walked) = journal.events_from(next)? {
                if let Some(damaged) = walked.damaged {
                    return Err(Failure::from(damaged));
                }
                next = walked.next;
                if sender.send(walked.events).is_err() {
                    break;
                }
            }
            Ok::<_, Failure>(())
        });
        let mut states: HashMap<SessionNo, SessionState> = HashMap::new();
        let mut folded = 0;
        for recorded in decoded.iter().flatten() {
            match states.get_mut(&recorded.session) {
                Some(state) => state.evolve(&recorded),
                None => {
                    let state =
                        SessionState::open(&recorded).ok_or("a session without a beginning")?;
                    states.insert(recorded.session, state);
                }
            }
            folded += 1;
        }
        reading.join().map_err(|_| "the reading thread panicked")??;
        Ok((folded, states.len()))
    })
}
