//! `replay`: a session step by step, for a person, for a pipe, or for a worker that is being debugged.

mod dialogue;
mod interrupt;
mod publish;
mod reel;
mod step;

use std::io::IsTerminal as _;

use self::interrupt::Interrupt;
use self::reel::Reel;
use self::step::Step;
use super::{Context, rests_on, tail};
use crate::args;
use crate::failure::{Exit, Failure};
use crate::output::{count, print};

pub(super) fn replay(context: &Context<'_>, args: &args::Replay) -> Result<Exit, Failure> {
    tail::known(&args.kinds)?;
    let interrupt = Interrupt::listen(context.backend)?;
    let mut reel = Reel::open(context, args)?;
    if let Some(subject) = &args.publish {
        return publish::publish(context, args, &subject.0, &mut reel, &interrupt);
    }
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if terminal && !context.global.json {
        return dialogue::run(context, args, &mut reel, &interrupt);
    }
    print_all(context, args, &mut reel, &interrupt)
}

/// Prints every step, until all are printed, Ctrl-C, or nobody reads any more.
fn print_all(
    context: &Context<'_>,
    args: &args::Replay,
    reel: &mut Reel<'_>,
    interrupt: &Interrupt<'_>,
) -> Result<Exit, Failure> {
    let json = context.global.json;
    let (mut version, mut steps, mut evidence) = (reel.first - 1, 0, None);
    while let Some(event) = reel.next(version, None)? {
        version = event.version;
        let step = Step::look(context, event, json, args.window)?;
        let text = match json {
            true => step.json()?,
            false => step.text(reel.last, context) + &step.window_text() + "\n",
        };
        if interrupt.pressed() || !print(&text)? {
            return Ok(Exit::Done);
        }
        steps += 1;
        evidence = Some(step.evidence);
    }
    match evidence {
        None => reel.say_nothing_found(),
        Some(evidence) if !json => {
            let all = format!("{} steps; {}\n", count(steps), rests_on(&evidence, None));
            print(&all)?;
        }
        Some(_) => {}
    }
    Ok(Exit::Done)
}
