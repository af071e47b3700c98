//! A second, simple account of retention: every span with all that ever happened to it, and each question
//! answered by looking at everything. It shares no rule with the product.

use std::collections::{BTreeMap, BTreeSet};

use lacuna_core::event::{LiveHandles, Match, Rule, RunTally, Since};
use lacuna_core::{Origin, SpanKind};

/// What was announced about a span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Announced {
    pub(crate) policy: u32,
    pub(crate) at: u64,
    pub(crate) erases_at: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) session: String,
    pub(crate) origin: Origin,
    pub(crate) kind: SpanKind,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) text: String,
    pub(crate) at: u64,
    /// Its place in the order of all; forks have the same span at the same place.
    pub(crate) order: usize,
    pub(crate) pruned_at: Option<u64>,
    /// Why it is gone: `run 3 rule tools` or `erased`.
    pub(crate) gone: Option<String>,
    pub(crate) announced: Option<Announced>,
}

#[derive(Debug, Clone)]
struct Held {
    matches: Match,
    until: Option<u64>,
}

/// A span's session and id.
type Name = (String, String);

/// The account.
#[derive(Debug, Clone, Default)]
pub(crate) struct Naive {
    /// By session and id.
    pub(crate) spans: BTreeMap<(String, String), Span>,
    pub(crate) closed: BTreeMap<String, u64>,
    policy: u32,
    rules: Vec<Rule>,
    holds: Vec<Held>,
    runs: u32,
    pub(crate) ledger: Vec<(String, String, String)>,
}

/// What the account says a span is now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Says {
    Live,
    Pruned,
    Scheduled(u64),
    Gone(String),
}

impl Naive {
    pub(crate) fn set(&mut self, rules: &[Rule]) {
        self.policy += 1;
        self.rules = rules.to_vec();
    }

    pub(crate) fn hold(&mut self, matches: &Match) -> usize {
        self.holds.push(Held { matches: matches.clone(), until: None });
        self.holds.len()
    }

    /// Whether there was such a hold in force.
    pub(crate) fn release(&mut self, number: usize, now: u64) -> bool {
        match self.holds.get_mut(number.wrapping_sub(1)) {
            Some(hold) if hold.until.is_none() => {
                hold.until = Some(now);
                true
            }
            _ => false,
        }
    }

    fn fits(&self, matches: &Match, span: &Span) -> bool {
        let glob = matches.sessions.as_deref().unwrap_or("*");
        let session = match glob.strip_suffix('*') {
            Some(begin) => span.session.starts_with(begin),
            None => span.session == glob,
        };
        let labels = matches.labels.iter().all(|(key, value)| span.labels.get(key) == Some(value));
        session
            && labels
            && (matches.origins.is_empty() || matches.origins.contains(&span.origin))
            && (matches.kinds.is_empty() || matches.kinds.contains(&span.kind))
            && matches.pruned.is_none_or(|pruned| pruned == span.pruned_at.is_some())
    }

    fn rule(&self, span: &Span) -> Option<&Rule> {
        self.rules.iter().find(|rule| self.fits(&rule.matches, span))
    }

    pub(crate) fn held(&self, span: &Span) -> bool {
        self.holds.iter().any(|hold| hold.until.is_none() && self.fits(&hold.matches, span))
    }

    /// Whether what was announced still stands.
    fn stands(&self, span: &Span) -> Option<u64> {
        let announced = span.announced.as_ref().filter(|_| span.gone.is_none())?;
        let freed = self.holds.iter().any(|hold| {
            hold.until.is_some_and(|until| until >= announced.at) && self.fits(&hold.matches, span)
        });
        (announced.policy == self.policy && !freed && !self.held(span))
            .then_some(announced.erases_at)
    }

    pub(crate) fn says(&self, session: &str, id: &str) -> Says {
        let span = &self.spans[&(session.to_owned(), id.to_owned())];
        match (&span.gone, self.stands(span), span.pruned_at) {
            (Some(why), ..) => Says::Gone(why.clone()),
            (None, Some(at), _) => Says::Scheduled(at),
            (None, None, Some(_)) => Says::Pruned,
            (None, None, None) => Says::Live,
        }
    }

    /// When its time is over: none if it never is, or not yet known.
    fn over(&self, span: &Span, rule: &Rule) -> Option<u64> {
        if rule.keep.forever {
            return None;
        }
        let newer = self.spans.values().filter(|other| {
            other.session == span.session
                && other.gone.is_none()
                && other.order >= span.order
                && self.rule(other).map(|rule| &rule.id) == Some(&rule.id)
        });
        let (count, bytes) = newer.fold((0, 0), |(n, b), s| (n + 1, b + s.text.len() as u64));
        if rule.keep.max_spans.is_some_and(|most| count > most)
            || rule.keep.max_bytes.is_some_and(|most| bytes > most)
        {
            return Some(0);
        }
        let (period, since) = rule.keep.period?;
        let begun = match since {
            Since::Recorded => Some(span.at),
            Since::Pruned => span.pruned_at,
            Since::Closed => self.closed.get(&span.session).copied(),
        };
        begun.map(|begun| begun + period.0)
    }

    /// A run at this moment.
    pub(crate) fn run(&mut self, now: u64) -> RunTally {
        self.runs += 1;
        let before = self.clone();
        let mut tally = RunTally::default();
        // Those whose time is over in their own session.
        let mut going: BTreeMap<usize, Vec<(Name, String)>> = BTreeMap::new();
        for (name, span) in &mut self.spans {
            let Some(rule) = before.rule(span).filter(|_| span.gone.is_none()) else { continue };
            let Some(over) = before.over(span, rule) else { continue };
            if over > now + rule.notice.0 {
                continue;
            }
            if before.held(span) {
                tally.held += 1;
            } else if rule.live_handles == LiveHandles::Defer
                && !before.closed.contains_key(&span.session)
            {
                tally.deferred += 1;
            } else if rule.notice.0 > 0 && before.stands(span).is_none() {
                tally.noticed += 1;
                let erases_at = over.max(now + rule.notice.0);
                span.announced = Some(Announced { policy: before.policy, at: now, erases_at });
            } else if over <= now && before.stands(span).is_none_or(|at| at <= now) {
                let why = format!("run {} rule {}", before.runs, rule.id);
                going.entry(span.order).or_default().push((name.clone(), why));
            }
        }
        for (order, names) in going {
            let sharing = before.spans.values().filter(|s| s.order == order && s.gone.is_none());
            if sharing.count() > names.len() {
                // Another window keeps it.
                tally.deferred += names.len() as u64;
                continue;
            }
            tally.removed_spans += 1;
            tally.removed_bytes += before.spans[&names[0].0].text.len() as u64;
            for (name, why) in names {
                self.spans.get_mut(&name).unwrap().gone = Some(why.clone());
                self.ledger.push((name.0, name.1, why));
            }
        }
        tally
    }

    /// Begins a session as a fork of another one.
    pub(crate) fn fork(&mut self, child: &str, parent: &str) {
        let shared: Vec<(String, Span)> = self
            .spans
            .iter()
            .filter(|((of, _), _)| of == parent)
            .map(|((_, id), span)| (id.clone(), span.clone()))
            .collect();
        for (id, span) in shared {
            // What was announced stays announced.
            let span = Span { session: child.to_owned(), ..span };
            self.spans.insert((child.to_owned(), id), span);
        }
    }

    /// Erases spans of a session, or all; whether nothing held them.
    pub(crate) fn erase(&mut self, session: &str, ids: Option<&[String]>) -> bool {
        let named = |id: &String| ids.is_none_or(|ids| ids.contains(id));
        let orders: BTreeSet<usize> = self
            .spans
            .iter()
            .filter(|((of, id), span)| of == session && named(id) && span.gone.is_none())
            .map(|(_, span)| span.order)
            .collect();
        let shares = |span: &Span| span.gone.is_none() && orders.contains(&span.order);
        let asked: BTreeSet<_> = self
            .spans
            .iter()
            .filter(|(_, span)| shares(span))
            .map(|(name, _)| name.clone())
            .collect();
        if asked.iter().any(|name| self.held(&self.spans[name])) {
            return false;
        }
        for name in asked {
            self.spans.get_mut(&name).unwrap().gone = Some("erased".to_owned());
            self.ledger.push((name.0, name.1, "erased".to_owned()));
        }
        true
    }
}
