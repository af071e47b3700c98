//! Ctrl-C, and the pauses that it ends.

use std::io::BufRead as _;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::backend::Backend;
use crate::failure::Failure;

/// How a shell names a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Ctrl-C, heard from now on: what is under way ends at its next step. Pressed again, it ends the process.
pub(super) struct Interrupt<'a> {
    pub(super) runtime: Runtime,
    /// Where it is waited: a connection to a daemon lives only while its own runtime runs, and a broker
    /// leaves clients that do not answer its pings.
    waiting: Option<&'a Runtime>,
    pressed: watch::Receiver<bool>,
}

impl<'a> Interrupt<'a> {
    pub(super) fn listen(backend: &'a Backend) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(Failure::io("starting the runtime"))?;
        let (told, pressed) = watch::channel(false);
        runtime.spawn(async move {
            // Where it cannot be heard, it ends the process as it always does.
            if tokio::signal::ctrl_c().await.is_ok() {
                told.send_replace(true);
                if tokio::signal::ctrl_c().await.is_ok() {
                    std::process::exit(INTERRUPTED);
                }
            }
        });
        let waiting = backend.broker().map(|(runtime, _)| runtime);
        Ok(Self { runtime, waiting, pressed })
    }

    pub(super) fn pressed(&self) -> bool {
        *self.pressed.borrow()
    }

    fn waiting(&self) -> &Runtime {
        self.waiting.unwrap_or(&self.runtime)
    }

    /// Waits until this moment. Says whether it came, rather than Ctrl-C.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let mut pressed = self.pressed.clone();
        self.waiting().block_on(async {
            tokio::select! {
                biased;
                Ok(_) = pressed.wait_for(|pressed| *pressed) => false,
                () = tokio::time::sleep_until(until) => true,
            }
        })
    }
}

/// The lines of standard input, read beside everything else so that Ctrl-C is heard meanwhile.
pub(super) struct Lines<'a> {
    lines: mpsc::Receiver<String>,
    interrupt: &'a Interrupt<'a>,
}

impl<'a> Lines<'a> {
    pub(super) fn of_standard_input(interrupt: &'a Interrupt<'a>) -> Self {
        let (give, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                if give.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        Self { lines, interrupt }
    }

    /// The next line; none at the end of the input or after Ctrl-C.
    pub(super) fn next(&mut self) -> Option<String> {
        let mut pressed = self.interrupt.pressed.clone();
        self.interrupt.waiting().block_on(async {
            tokio::select! {
                biased;
                Ok(_) = pressed.wait_for(|pressed| *pressed) => None,
                line = self.lines.recv() => line,
            }
        })
    }
}
