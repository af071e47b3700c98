//! Summaries under a contract that is enforced: how the tests tell them, audit them and read what
//! was found.

use std::collections::BTreeMap;

use lacuna_core::{
    Audit, AuditReply, Claim, ClaimOrigin, ClaimSource, Command, Contract, Digest, Finding,
    NewSpan, Open, Origin, Prune, PruneReply, Purpose, RejectReason, Reply, Role, Summarize,
    SummaryReply, SummaryStatus,
};

use crate::scenario::{Scenario, id, ids, saying};

/// The principal that records the spans of a test.
pub(crate) const WORKER: &str = "worker-1";

/// A session of this size that holds these spans, with a reserve of 15 %; findings refuse.
pub(crate) fn enforced_in(window_tokens: u64, spans: Vec<NewSpan>) -> Scenario {
    let mut s = Scenario::nothing();
    s.send(Command::Open(Open {
        window_tokens,
        reserve_ppm: 150_000,
        contract: Contract::Enforce,
        labels: BTreeMap::new(),
    }))
    .unwrap();
    if !spans.is_empty() {
        s.append(spans);
    }
    s
}

/// A session with a window of 10,000 tokens; findings refuse.
pub(crate) fn enforced(spans: Vec<NewSpan>) -> Scenario {
    enforced_in(10_000, spans)
}

/// What a span of this origin says, in 100 tokens.
pub(crate) fn from(origin: Origin, name: &str, content: &str) -> NewSpan {
    let role = match origin {
        Origin::User | Origin::Harness | Origin::Summary => Role::User,
        Origin::Tool => Role::Tool,
        Origin::Model => Role::Assistant,
        Origin::System => Role::System,
    };
    NewSpan { role, origin, ..saying(name, content) }
}

pub(crate) fn user(name: &str, content: &str) -> NewSpan {
    from(Origin::User, name, content)
}

pub(crate) fn tool(name: &str, content: &str) -> NewSpan {
    from(Origin::Tool, name, content)
}

pub(crate) fn model(name: &str, content: &str) -> NewSpan {
    from(Origin::Model, name, content)
}

/// A claim that cites spans without quoting them.
pub(crate) fn claim(text: &str, origin: ClaimOrigin, sources: &[&str]) -> Claim {
    let source = |span: &&str| ClaimSource { span: id(span), quote: None };
    Claim { text: text.to_owned(), origin, sources: sources.iter().map(source).collect() }
}

/// A claim that quotes one span.
pub(crate) fn quoting(text: &str, origin: ClaimOrigin, span: &str, quote: &str) -> Claim {
    let source = ClaimSource { span: id(span), quote: Some(quote.to_owned()) };
    Claim { text: text.to_owned(), origin, sources: vec![source] }
}

/// A summary `S` with this text.
pub(crate) fn tell(covers: &[&str], text: &str, claims: Vec<Claim>) -> Summarize {
    tell_as("S", covers, text, claims)
}

pub(crate) fn tell_as(name: &str, covers: &[&str], text: &str, claims: Vec<Claim>) -> Summarize {
    Summarize {
        id: Some(id(name)),
        covers: ids(covers),
        text: text.to_owned(),
        digest: Digest::of(text.as_bytes()),
        claims,
    }
}

/// A summary whose text is its only claim.
pub(crate) fn tell_one(covers: &[&str], claim: Claim) -> Summarize {
    let text = claim.text.clone();
    tell(covers, &text, vec![claim])
}

/// A summary that says nothing of its spans that could be wrong.
pub(crate) fn plain(name: &str, covers: &[&str]) -> Summarize {
    plain_citing(name, covers, covers)
}

pub(crate) fn plain_citing(name: &str, covers: &[&str], cites: &[&str]) -> Summarize {
    let claim = claim("Something was noted.", ClaimOrigin::Inferred, cites);
    tell_as(name, covers, "Something was noted.", vec![claim])
}

/// A summary that is always refused: it claims something without a source.
pub(crate) fn wrong(name: &str, covers: &[&str]) -> Summarize {
    plain_citing(name, covers, &[])
}

impl Scenario {
    /// From here on this principal sends the commands.
    pub(crate) fn by(&mut self, principal: &str) -> &mut Self {
        self.principal = principal.parse().unwrap();
        self
    }

    pub(crate) fn tell(&mut self, summarize: Summarize) -> SummaryReply {
        match self.send(Command::Summarize(summarize)).unwrap() {
            Reply::Summarized(reply) => *reply,
            other => panic!("a summary was answered by {other:?}"),
        }
    }

    /// Records a summary that must not be refused.
    #[track_caller]
    pub(crate) fn told(&mut self, summarize: Summarize) -> SummaryReply {
        let reply = self.tell(summarize);
        assert_ne!(reply.status, SummaryStatus::Rejected, "{:?}", reply.findings);
        reply
    }

    pub(crate) fn audit(&mut self, summary: &str, pass: bool) -> AuditReply {
        let audit = Audit { summary: id(summary), pass, notes: Vec::new() };
        match self.send(Command::Audit(audit)).unwrap() {
            Reply::Audited(reply) => *reply,
            other => panic!("an audit was answered by {other:?}"),
        }
    }

    pub(crate) fn read(&mut self, spans: &[&str], purpose: Purpose) {
        for span in spans {
            self.send(Command::Read { span: id(span), purpose }).unwrap();
        }
    }

    /// This principal reads the spans and audits the summary; who sent commands before does again.
    #[track_caller]
    pub(crate) fn audited_by(&mut self, auditor: &str, summary: &str, spans: &[&str], pass: bool) {
        let before = self.principal.clone();
        self.by(auditor).read(spans, Purpose::Audit);
        let reply = self.audit(summary, pass);
        assert!(reply.counts, "{:?}", reply.findings);
        self.principal = before;
    }

    pub(crate) fn contradict(&mut self, a: &str, b: &str) -> u32 {
        match self.send(Command::Contradict { spans: ids(&[a, b]), note: None }).unwrap() {
            Reply::Contradicted { contradiction, .. } => contradiction,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn resolve(&mut self, contradiction: u32) {
        let note = "settled".to_owned();
        self.send(Command::Resolve { contradiction, note }).unwrap();
    }

    /// Why a prune is refused; none if it is carried out.
    pub(crate) fn refuses(&mut self, prune: Prune) -> Option<RejectReason> {
        self.dry(prune).reason
    }

    pub(crate) fn dry(&mut self, prune: Prune) -> PruneReply {
        self.prune(Prune { dry_run: true, ..prune })
    }
}

/// A finding in one line: `hedge_dropped 0 a`, `anchor_not_in_source 1 "5433"`; `-` for no claim.
pub(crate) fn short(summarize: &Summarize, finding: &Finding) -> String {
    let claim = finding.claim.map(|index| &summarize.claims[index as usize].text);
    let mut line = finding.code.word().to_owned();
    line += &finding.claim.map_or(" -".to_owned(), |index| format!(" {index}"));
    line += &finding.span.as_ref().map_or(String::new(), |span| format!(" {span}"));
    if let Some((start, end)) = finding.at {
        let text = claim.unwrap_or(&summarize.text);
        line += &format!(" {:?}", &text[start as usize..end as usize]);
    }
    line
}

pub(crate) fn found(summarize: &Summarize, reply: &SummaryReply) -> Vec<String> {
    reply.findings.iter().map(|(finding, _)| short(summarize, finding)).collect()
}

/// What would be found, and the sentences with it; the session is left as it is.
pub(crate) fn tried(s: &Scenario, summarize: &Summarize) -> (Vec<String>, Vec<String>) {
    let reply = s.clone().tell(summarize.clone());
    let refused = reply.status == SummaryStatus::Rejected;
    assert_eq!(refused, !reply.findings.is_empty(), "{:?}", reply.findings);
    let said = reply.findings.iter().map(|(_, said)| said.clone()).collect();
    (found(summarize, &reply), said)
}

/// The summary is refused for exactly these findings, and the sentence of the first says all this.
#[track_caller]
pub(crate) fn refused(s: &Scenario, summarize: Summarize, expected: &[&str], telling: &[&str]) {
    let (found, said) = tried(s, &summarize);
    assert_eq!(found, expected, "{said:#?}");
    for words in telling {
        assert!(said[0].contains(words), "{:?} does not say {words:?}", said[0]);
    }
}

/// The summary is not refused.
#[track_caller]
pub(crate) fn honest(s: &Scenario, summarize: Summarize) {
    let (found, said) = tried(s, &summarize);
    assert_eq!(found, Vec::<String>::new(), "{said:#?}");
}
