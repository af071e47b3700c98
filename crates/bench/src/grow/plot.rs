//! The growth as a picture: a panel for each measure, events along a logarithmic axis.

use std::fmt::Write as _;

use super::Size;
use crate::machine::Machine;

const WIDTH: f64 = 270.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 46.0;
const GAP: f64 = 44.0;
const COLUMNS: usize = 3;

/// A measure and how it is read off a journal.
type Panel = (&'static str, fn(&Size) -> f64);

const PANELS: [Panel; 6] = [
    ("appends, events/s", |size| size.filled.append_per_s),
    ("open after a clean stop, s", |size| size.stopped.open_s),
    ("open after kill -9, s", |size| size.killed.open_s),
    ("expand of a cold span, p99 ms", |size| size.stopped.expand_p99_ms),
    ("disk bytes for each payload byte", |size| size.filled.disk_ratio),
    ("memory in use, MiB", |size| size.stopped.used_mib),
];

/// Draws the journals whose sessions are of one length.
pub(super) fn svg(machine: &Machine, sizes: &[Size]) -> String {
    let sizes: Vec<&Size> = sizes
        .iter()
        .filter(|size| size.sessions == (size.events / super::SPANS_PER_SESSION).max(1))
        .collect();
    let rows = PANELS.len().div_ceil(COLUMNS);
    let width = LEFT + COLUMNS as f64 * (WIDTH + GAP) + 10.0;
    let height = TOP + rows as f64 * (HEIGHT + 60.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\">{}</text>\n",
        machine.line()
    );
    for (number, (name, of)) in PANELS.iter().enumerate() {
        let x = LEFT + (number % COLUMNS) as f64 * (WIDTH + GAP);
        let y = TOP + (number / COLUMNS) as f64 * (HEIGHT + 60.0);
        panel(&mut out, (x, y), name, &sizes, *of);
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, (x, y): (f64, f64), name: &str, sizes: &[&Size], of: fn(&Size) -> f64) {
    let most = sizes.iter().map(|size| of(size)).fold(f64::MIN_POSITIVE, f64::max) * 1.15;
    let log = |size: &Size| (size.events as f64).log10();
    let (first, last) = sizes
        .iter()
        .fold((f64::MAX, f64::MIN), |(a, b), size| (a.min(log(size)), b.max(log(size))));
    let along = |size: &Size| x + WIDTH * (log(size) - first) / (last - first).max(0.1);
    let up = |value: f64| y + HEIGHT * (1.0 - value / most);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\">{name}</text>\n\
         <path d=\"M{x} {y} V{} H{}\" fill=\"none\" stroke=\"#888\"/>",
        y - 8.0,
        y + HEIGHT,
        x + WIDTH
    );
    let points: Vec<String> =
        sizes.iter().map(|size| format!("{:.1},{:.1}", along(size), up(of(size)))).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#2060a0\" stroke-width=\"2\"/>",
        points.join(" ")
    );
    for size in sizes {
        let (at, value) = (along(size), of(size));
        let label = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") };
        let _ = writeln!(
            out,
            "<circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"#2060a0\"/>\n\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>\n\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
            up(value),
            up(value) - 7.0,
            y + HEIGHT + 15.0,
            size.events
        );
    }
}
