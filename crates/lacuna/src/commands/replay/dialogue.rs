//! Stepping through a session at a terminal, one line a command.

use super::super::{Context, tail};
use super::interrupt::{Interrupt, Lines};
use super::reel::Reel;
use super::step::Step;
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{caution, faint, plain, print};

const HELP: &str = "\
Enter, n   the next step
b          the step before
g N        to version N
k KIND     the next event of a kind, such as prune-executed
w          the whole window
q          ends, as Ctrl-C and Ctrl-D do
";

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Order {
    Next,
    Back,
    Go(u64),
    Kind(String),
    Window,
    Help,
    Quit,
}

impl Order {
    fn read(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] | ["n"] => Ok(Self::Next),
            ["b"] => Ok(Self::Back),
            ["w"] => Ok(Self::Window),
            ["q"] => Ok(Self::Quit),
            ["?" | "h" | "help"] => Ok(Self::Help),
            ["g", version] => match version.strip_prefix('v').unwrap_or(version).parse() {
                Ok(version) => Ok(Self::Go(version)),
                Err(_) => Err(format!("{version} is no version: g 12 goes to version 12")),
            },
            ["k", kind] => {
                tail::known(&[kind.to_owned()]).map_err(|failure| failure.to_string())?;
                Ok(Self::Kind(kind.to_owned()))
            }
            ["g"] => Err("to which version? g 12 goes to version 12".into()),
            ["k"] => Err("of which kind? k prune-executed goes to the next prune".into()),
            _ => Err(format!("{line:?} is no command: ? lists them")),
        }
    }
}

/// Shows a step, and waits for what to show next; until it is told to end, Ctrl-C, or nobody is there.
pub(super) fn run(
    context: &Context<'_>,
    args: &args::Replay,
    reel: &mut Reel<'_>,
    interrupt: &Interrupt<'_>,
) -> Result<Exit, Failure> {
    let Some(first) = reel.next(reel.first - 1, None)? else {
        reel.say_nothing_found();
        return Ok(Exit::Done);
    };
    let mut player = Player { context, whole: args.window, at: first.version, shown: None };
    let mut text = player.show(first.version, reel)?;
    let mut lines = Lines::of_standard_input(interrupt);
    loop {
        let place = format!("{}/{}", player.at, reel.last);
        text += &faint(&format!("{place}  Enter: next, ?: help"));
        text += " > ";
        if !print(&text)? {
            return Ok(Exit::Done);
        }
        let Some(line) = lines.next() else {
            // What follows must not stand behind the prompt.
            print("\n")?;
            return Ok(Exit::Done);
        };
        let outcome = match Order::read(&line) {
            Ok(Order::Quit) => return Ok(Exit::Done),
            Ok(order) => player.carry_out(order, reel),
            Err(why) => Ok(note(&why)),
        };
        // What cannot be told of one step does not end the replay.
        text = outcome.unwrap_or_else(|failure| note(&failure.to_string()));
    }
}

fn note(text: &str) -> String {
    format!("{}\n", caution(&plain(text)))
}

struct Player<'a> {
    context: &'a Context<'a>,
    /// Whether each step comes with the whole window.
    whole: bool,
    /// The version that it stands at.
    at: u64,
    /// Its step; none if it could not be looked at.
    shown: Option<Step>,
}

impl Player<'_> {
    fn carry_out(&mut self, order: Order, reel: &mut Reel<'_>) -> Result<String, Failure> {
        let found = match order {
            Order::Next => reel.next(self.at, None)?.ok_or("that was the last step: b goes back"),
            Order::Back => reel.before(self.at)?.ok_or("that was the first step: Enter goes on"),
            Order::Kind(kind) => {
                reel.next(self.at, Some(&kind))?.ok_or("no event of this kind is behind this step")
            }
            Order::Go(version) => {
                let (first, last) = (reel.first, reel.last);
                if !(first..=last).contains(&version) {
                    return Ok(note(&format!("there are the versions {first} to {last}")));
                }
                return self.show(version, reel);
            }
            Order::Window => {
                if self.shown.is_none() {
                    return self.show(self.at, reel);
                }
                let step = self.shown.as_mut().map(|step| step.whole_window(self.context));
                return step.unwrap_or_else(|| Ok(String::new()));
            }
            Order::Help => return Ok(HELP.into()),
            Order::Quit => return Ok(String::new()),
        };
        match found {
            Ok(event) => self.show(event.version, reel),
            Err(why) => Ok(note(why)),
        }
    }

    fn show(&mut self, version: u64, reel: &mut Reel<'_>) -> Result<String, Failure> {
        let event = reel.event(version)?.clone();
        // It stands there even if the step cannot be looked at: Enter goes on behind it.
        (self.at, self.shown) = (version, None);
        let mut step = Step::look(self.context, event, false, self.whole)?;
        let window = match self.whole {
            true => step.window_text(),
            false => step.compact_window(self.context)?,
        };
        let text = format!("\n{}{window}", step.text(reel.last, self.context));
        self.shown = Some(step);
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_orders() {
        let read = |line: &str| Order::read(line).unwrap();
        assert_eq!((read(""), read(" n ")), (Order::Next, Order::Next));
        assert_eq!((read("b"), read("w"), read("q")), (Order::Back, Order::Window, Order::Quit));
        assert_eq!((read("g 12"), read("g v7")), (Order::Go(12), Order::Go(7)));
        assert_eq!(read("k prune-executed"), Order::Kind("prune-executed".into()));
        assert_eq!(read("?"), Order::Help);
        for (line, words) in [
            ("g", "which version"),
            ("g twelve", "twelve is no version"),
            ("k", "which kind"),
            ("k pruned", "prune-executed"),
            ("x", "? lists them"),
            ("n n", "? lists them"),
        ] {
            let why = Order::read(line).unwrap_err();
            assert!(why.contains(words), "{line}: {why}");
        }
    }
}
