//! The report: a line about the machine, a row per system, ratios.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::Failure;

/// One measurement.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) work: &'static str,
    pub(crate) system: &'static str,
    pub(crate) in_flight: usize,
    pub(crate) events_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// What the figures were measured on.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    cores: usize,
    fdatasync_ms: f64,
}

impl Machine {
    pub(crate) fn measure() -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism()?.get();
        let mut file: File = tempfile::tempfile_in(std::env::current_dir()?)?;
        let mut times = Vec::new();
        for _ in 0..101 {
            file.write_all(&[7; 4_096])?;
            let since = Instant::now();
            rustix::fs::fdatasync(&file)?;
            times.push(since.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(Self { cores, fdatasync_ms: times[times.len() / 2] })
    }
}

/// All measurements of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    machine: Machine,
    rows: Vec<Row>,
    ratios: std::collections::BTreeMap<String, f64>,
}

impl Report {
    pub(crate) fn new(machine: Machine) -> Self {
        let report = Self { machine, rows: Vec::new(), ratios: Default::default() };
        report.say(&format!(
            "{} cores, fdatasync {:.2} ms in the median",
            report.machine.cores, report.machine.fdatasync_ms
        ));
        report
    }

    pub(crate) fn say(&self, line: &str) {
        // Progress goes to standard error, the report to standard output.
        let _ = writeln!(std::io::stderr(), "{line}");
    }

    pub(crate) fn add(&mut self, row: Row) {
        self.say(&format!(
            "  {:18} {:>10.0} /s   p50 {:>8.2} ms   p99 {:>8.2} ms",
            row.system, row.events_per_s, row.p50_ms, row.p99_ms
        ));
        self.rows.push(row);
    }

    /// Medians per system, their ratios, and the report as JSON on standard output.
    pub(crate) fn finish(mut self, file: Option<&Path>) -> Result<(), Failure> {
        let lacuna = self.median("lacuna");
        for other in ["jetstream-always", "jetstream-shipped"] {
            let ratio = lacuna / self.median(other);
            self.say(&format!("lacuna / {other}: {ratio:.2} (medians of all rounds)"));
            self.ratios.insert(format!("one-per-request lacuna/{other}"), ratio);
        }
        let text = serde_json::to_string_pretty(&self)?;
        if let Some(file) = file {
            std::fs::write(file, &text)?;
        }
        writeln!(std::io::stdout(), "{text}")?;
        Ok(())
    }

    fn median(&self, system: &str) -> f64 {
        let rows = self.rows.iter().filter(|row| row.system == system);
        let mut rates: Vec<f64> = rows.map(|row| row.events_per_s).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
