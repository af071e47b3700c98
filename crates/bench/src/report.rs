//! The report: a line about the machine, a row per measurement, ratios.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::machine::Machine;
use crate::timing::Timing;

/// One measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) work: String,
    pub(crate) system: String,
    pub(crate) in_flight: usize,
    pub(crate) events_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) p999_ms: f64,
    /// Processor time of the servers for one event; of the whole process for a library.
    pub(crate) cpu_us_per_event: Option<f64>,
    /// Bytes on disk for each byte of payload.
    pub(crate) disk_ratio: Option<f64>,
    /// Peak memory of the servers, or of the whole process.
    pub(crate) rss_mib: Option<f64>,
}

impl Row {
    pub(crate) fn new(work: &str, system: &str, in_flight: usize, mut timing: Timing) -> Self {
        let [p50_ms, p99_ms, p999_ms] = timing.ms([0.5, 0.99, 0.999]);
        Self {
            work: work.into(),
            system: system.into(),
            in_flight,
            events_per_s: timing.events_per_s(),
            p50_ms,
            p99_ms,
            p999_ms,
            cpu_us_per_event: None,
            disk_ratio: None,
            rss_mib: None,
        }
    }

    /// The middle one of several rounds.
    fn median(rounds: &[&Self]) -> Self {
        let of = |field: fn(&Self) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(|row| field(row)).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let or = |value: f64| (!value.is_nan()).then_some(value);
        Self {
            events_per_s: of(|row| row.events_per_s),
            p50_ms: of(|row| row.p50_ms),
            p99_ms: of(|row| row.p99_ms),
            p999_ms: of(|row| row.p999_ms),
            cpu_us_per_event: or(of(|row| row.cpu_us_per_event.unwrap_or(f64::NAN))),
            disk_ratio: or(of(|row| row.disk_ratio.unwrap_or(f64::NAN))),
            rss_mib: or(of(|row| row.rss_mib.unwrap_or(f64::NAN))),
            ..rounds[0].clone()
        }
    }
}

/// All measurements of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
    pub(crate) ratios: BTreeMap<String, f64>,
    /// What was not measured, and why.
    pub(crate) skipped: Vec<String>,
}

impl Report {
    pub(crate) fn new(machine: Machine) -> Self {
        progress(&machine.line());
        let (rows, ratios, skipped) = Default::default();
        Self { machine, rows, ratios, skipped }
    }

    pub(crate) fn add(&mut self, row: Row) {
        progress(&format!(
            "  {:16} {:18} {:>5} in flight {:>9.0} /s   p50 {:>8.2} ms   p99 {:>8.2} ms",
            row.work, row.system, row.in_flight, row.events_per_s, row.p50_ms, row.p99_ms
        ));
        self.rows.push(row);
    }

    /// Something that could not be measured.
    pub(crate) fn skip(&mut self, what: &str, why: &str) {
        let line = format!("{what} is skipped: {why}");
        if !self.skipped.contains(&line) {
            progress(&line);
            self.skipped.push(line);
        }
    }

    /// Puts the middle of its rounds in the place of each measurement.
    pub(crate) fn settle(&mut self) {
        let mut settled: Vec<Row> = Vec::new();
        for row in &self.rows {
            let same = |other: &Row| {
                (&other.work, &other.system, other.in_flight)
                    == (&row.work, &row.system, row.in_flight)
            };
            if !settled.iter().any(same) {
                let rounds: Vec<&Row> = self.rows.iter().filter(|other| same(other)).collect();
                settled.push(Row::median(&rounds));
            }
        }
        self.rows = settled;
    }

    /// The most events in a second that a system reached in a work.
    pub(crate) fn best(&self, work: &str, system: &str) -> Option<f64> {
        let rows = self.rows.iter().filter(|row| row.work == work && row.system == system);
        rows.map(|row| row.events_per_s).max_by(f64::total_cmp)
    }

    /// Notes a ratio, if both sides were measured.
    pub(crate) fn ratio(&mut self, name: &str, ours: Option<f64>, theirs: Option<f64>) {
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            self.ratios.insert(name.to_owned(), ours / theirs);
        }
    }

    /// Prints tables for people, or JSON on request; JSON to a file as well if one is named.
    pub(crate) fn finish(&self, file: Option<&Path>) -> Result<(), Failure> {
        if let Some(file) = file {
            std::fs::write(file, serde_json::to_string_pretty(self)?)?;
        }
        std::io::stdout().write_all(self.tables().as_bytes())?;
        Ok(())
    }

    /// The report in Markdown.
    fn tables(&self) -> String {
        let mut out = format!("{}\n\n", self.machine.line());
        let head = ["work", "system", "in flight", "events/s", "p50 ms", "p99 ms", "p99.9 ms"];
        let rest = ["CPU µs/event", "disk/payload", "memory MiB"];
        let rows = self.rows.iter().map(|row| {
            let or = |value: Option<f64>, digits: usize| {
                value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
            };
            vec![
                row.work.clone(),
                row.system.clone(),
                row.in_flight.to_string(),
                format!("{:.0}", row.events_per_s),
                format!("{:.2}", row.p50_ms),
                format!("{:.2}", row.p99_ms),
                format!("{:.2}", row.p999_ms),
                or(row.cpu_us_per_event, 1),
                or(row.disk_ratio, 2),
                or(row.rss_mib, 0),
            ]
        });
        out += &table(head.iter().chain(&rest).copied(), rows);
        if !self.ratios.is_empty() {
            out.push('\n');
            let rows =
                self.ratios.iter().map(|(name, ratio)| vec![name.clone(), format!("{ratio:.2}")]);
            out += &table(["ratio", "in this run"], rows);
        }
        for skipped in &self.skipped {
            out += &format!("\n{skipped}\n");
        }
        out
    }
}

/// A Markdown table whose columns line up.
pub(crate) fn table<'a>(
    head: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut all: Vec<Vec<String>> = vec![head.into_iter().map(str::to_owned).collect()];
    all.extend(rows);
    let widths: Vec<usize> = (0..all[0].len())
        .map(|column| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for (number, row) in all.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let pad = " ".repeat(width - cell.chars().count());
            if cell == "–" || cell.parse::<f64>().is_ok() {
                format!("{pad}{cell}")
            } else {
                format!("{cell}{pad}")
            }
        });
        out += &format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
        if number == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            out += &format!("| {} |\n", rule.join(" | "));
        }
    }
    out
}

/// Progress goes to standard error, the report to standard output.
pub(crate) fn progress(line: &str) {
    // Nobody reads on: the report still comes.
    let _ = writeln!(std::io::stderr(), "{line}");
}
