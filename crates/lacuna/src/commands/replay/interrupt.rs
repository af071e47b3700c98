//! Ctrl-C, and the pauses that it ends.

use std::io::BufRead as _;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::failure::Failure;

/// How a shell names a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Ctrl-C, heard from now on: what is under way ends at its next step. Pressed again, it ends the process.
pub(super) struct Interrupt {
    pub(super) runtime: Runtime,
    pressed: watch::Receiver<bool>,
}

impl Interrupt {
    pub(super) fn listen() -> Result<Self, Failure> {
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
        Ok(Self { runtime, pressed })
    }

    pub(super) fn pressed(&self) -> bool {
        *self.pressed.borrow()
    }

    /// Waits until this moment. Says whether it came, rather than Ctrl-C.
    pub(super) fn wait(&self, until: Instant) -> bool {
        let mut pressed = self.pressed.clone();
        self.runtime.block_on(async {
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
    interrupt: &'a Interrupt,
}

impl<'a> Lines<'a> {
    pub(super) fn of_standard_input(interrupt: &'a Interrupt) -> Self {
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
        self.interrupt.runtime.block_on(async {
            tokio::select! {
                biased;
                Ok(_) = pressed.wait_for(|pressed| *pressed) => None,
                line = self.lines.recv() => line,
            }
        })
    }
}
