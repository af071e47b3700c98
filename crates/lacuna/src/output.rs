//! Output for people: aligned tables, colour only on a terminal, progress on standard error.

use std::io::IsTerminal as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A word that asks for attention.
pub(crate) fn warning(text: &str) -> String {
    painted(AnsiColor::Red.on_default().bold(), text)
}

/// A word that says all is well.
pub(crate) fn good(text: &str) -> String {
    painted(AnsiColor::Green.on_default(), text)
}

/// Something that matters less.
pub(crate) fn faint(text: &str) -> String {
    painted(Style::new().dimmed(), text)
}

/// A heading.
pub(crate) fn heading(text: &str) -> String {
    painted(Style::new().bold(), text)
}

/// Colours an outcome or a verdict by what it means.
pub(crate) fn verdict(word: &str) -> String {
    match word {
        "live" | "recoverable" | "reversible" | "accepted" => good(word),
        "lossy" | "rejected" | "never_recorded" | "withheld" | "mixed" => warning(word),
        other => other.to_owned(),
    }
}

/// A table without lines; `right` lists the columns of numbers.
pub(crate) fn table(header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row);
    }
    for &column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(first) = table.column_mut(0) {
        first.set_padding((0, 1));
    }
    table.trim_fmt()
}

/// One line of a content: cut between characters, control characters shown.
pub(crate) fn excerpt(text: &str, width: usize) -> String {
    let flat: String =
        text.chars().take(width + 1).map(|c| if c.is_control() { '·' } else { c }).collect();
    if flat.chars().count() <= width {
        return flat;
    }
    flat.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A progress bar on standard error; silent when that is no terminal.
pub(crate) fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {human_pos}/{human_len} {eta}");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A sign of life on standard error while something takes long; silent when that is no terminal.
pub(crate) fn spinner(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}

/// A number for people.
pub(crate) fn count(count: u64) -> String {
    indicatif::HumanCount(count).to_string()
}
