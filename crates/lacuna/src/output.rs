//! Output for people: aligned tables, colour only on a terminal, progress on standard error.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A word that asks for attention.
pub(crate) fn warning(text: &str) -> String {
    painted(AnsiColor::Red.on_default().bold(), text)
}

/// A word about something that still can be changed, but not for long.
pub(crate) fn caution(text: &str) -> String {
    painted(AnsiColor::Yellow.on_default(), text)
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
        "scheduled" => caution(word),
        "lossy" | "rejected" | "never_recorded" | "withheld" | "mixed" => warning(word),
        other => other.to_owned(),
    }
}

/// A table without lines; `right` lists the columns of numbers. On a terminal long cells are wrapped
/// within their columns.
pub(crate) fn table(header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    table_within(terminal_width(), header, right, rows)
}

/// The columns of the terminal that standard output is; none if it is no terminal.
fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

fn table_within(
    width: Option<u16>,
    header: &[&str],
    right: &[usize],
    rows: Vec<Vec<String>>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(width) = width {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
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

/// A character as it may stand on a terminal. What others wrote must not move its cursor, colour it
/// or turn its lines around.
fn harmless(c: char) -> char {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if turns || c.is_control() { '·' } else { c }
}

/// A text that somebody else wrote, on one line: control characters shown.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(harmless).collect()
}

/// A content or a message with its lines and tabs. Other control characters are shown.
pub(crate) fn lines(text: &str) -> String {
    let keep = |c| if matches!(c, '\n' | '\t') { c } else { harmless(c) };
    text.replace("\r\n", "\n").chars().map(keep).collect()
}

/// The same on a terminal; elsewhere the content as it is.
pub(crate) fn on_terminal(text: &str) -> Cow<'_, str> {
    match std::io::stdout().is_terminal() {
        true => lines(text).into(),
        false => text.into(),
    }
}

/// Prints a text at once, however it ends. Says whether somebody still reads.
pub(crate) fn print(text: &str) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::io("writing to standard output")(error)),
    }
}

/// One line of a content: cut between characters, control characters shown.
pub(crate) fn excerpt(text: &str, width: usize) -> String {
    let flat: String = text.chars().take(width + 1).map(harmless).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "a\u{1b}[31mred\u{1b}]0;t\u{7} b\u{9b}2J\rc\u{8}\u{7f} \u{202e}d\u{2066} é…";

    #[test]
    fn what_others_wrote_cannot_move_the_cursor_or_colour_anything() {
        let shown = "a·[31mred·]0;t· b·2J·c·· ·d· é…";
        assert_eq!(plain(HOSTILE), shown);
        assert_eq!(excerpt(HOSTILE, 80), shown);
        assert_eq!(lines(HOSTILE), shown);
        assert_eq!(plain("one\r\n\ttwo\u{2028}"), "one···two·");
        assert_eq!(lines("one\r\n\ttwo\u{2028}"), "one\n\ttwo·");
    }

    #[test]
    fn long_cells_are_wrapped_within_their_columns() {
        let why = "it was asked and answered, ".repeat(12);
        let row = vec!["7".into(), "2026-11-30T10:33:25.312Z".into(), verdict("lossy"), why];
        let header = ["version", "at", "by", "what"];
        let text = table_within(Some(100), &header, &[0], vec![row.clone()]);
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows.len() > 4, "{text}");
        assert!(rows[1].contains(" 7 ") && rows[1].contains("2026-11-30T10:33:25.312Z"), "{text}");
        let at = rows[0].find("WHAT").unwrap();
        for row in &rows[2..] {
            assert!(row.chars().count() <= 100 && row[..at].trim().is_empty(), "{text}");
        }
        assert_eq!(table_within(None, &header, &[0], vec![row]).lines().count(), 2);
    }
}
