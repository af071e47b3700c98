//! Honest English sentences that hold nothing to be checked letter by letter. Every anchor found
//! here would refuse a summary that says the like.

use lacuna_core::text::anchors;

const PROSE: &[&str] = &[
    "The build failed because the linker could not find libssl, and the fix was to install it.",
    "Set the path and/or the flag; read/write access is not needed.",
    "We moved the client/server split behind a read-only flag, e.g. for the state-of-the-art I/O layer, i.e. nothing else.",
    "The U.S. team re-ran the tests; everything passed on GitHub and in the CI/CD pipeline.",
    "OpenAI's JSON API returned HTTP errors (see README), etc. The user doesn't want TCP/IP details.",
    "PostgreSQL and Node.js are both fine.",
    "It's a yes/no/maybe kind of question: his/her/their choice.",
    "The IDs and URLs of both PRs were checked; the APIs return JSON or YAML.",
    "Don't do this. 'Tis the users' choice, and the team's.",
    "A well-known, hard-to-find, long-running, off-by-one bug.",
    "Dr. Smith vs. Mr. Jones a.k.a. the reviewer, Ph.D., at p.m. hours.",
    "Use UTF-8, SHA-256 and base64, not x86_64 or i18n.",
    "McCarthy wrote it; the iPhone and macOS apps use WebSockets.",
    "The function(s) and file(s) were renamed - twice - before the merge...",
    "I'd say it's done.Then we stop -- or not.",
    "*Important*: **bold**, _emphasis_ and ~~gone~~.",
    "The user asked for three changes; two of them are in.",
    "Latency at p99 and p50 is fine, and so are the Q3 results.",
    "The service is available 24/7 on localhost.",
    "A GPT-4-class model, or GPT-5, wrote the k8s manifests for S3 and EC2.",
    "Both the IPv4 and the IPv6 listener work over TLS and HTTP/S.",
    "The JavaScript and TypeScript clients use OAuth2 and WebRTC.",
    "1. The first thing was done.",
    "2) The second thing was not.",
    "  3. And the third neither.",
    "The team agreed: no more half-baked, copy-and-paste fixes.",
    "She said \"no\" and he said 'ok'.",
    "Why not? Because it's slow; that's why!",
    "The request/response cycle and the publish/subscribe layer were swapped.",
    "Pros/cons were weighed by the front-end and back-end teams.",
    "The CEO (a former NASA engineer) left the R&D group at AT&T.",
    "Ask the DBA, w/o delay, b/c of the outage.",
    "Rust's borrow checker complained, so the clone stays.",
    "The plan: refactor, test, ship.",
    "The docs say N/A under Windows/Linux/macOS.",
    "Errors are logged at WARN, not ERROR.",
    "The user's laptop (a MacBook) runs Ubuntu in a VM.",
    "Et al. is fine; cf. the appendix, resp. the notes.",
    "The migration is done, the rollback isn't…",
    "An “ok” is enough.",
    "Café, naïve, façade and Übersicht are words.",
    "Он сказал, что всё готово.",
    "测试已经通过，文件没有问题。",
    "テストは成功しました。",
    "The team uses DevOps practices and a LaTeX paper from a PhD student.",
    "Her name is O'Brien-Smith and his is van der Berg.",
    "TODO: nothing. FIXME: nothing. NOTE: nothing.",
    "It's 'quoted by nobody'd.",
    "The colour (or color) is grey/gray.",
    "Read the fine manual @ work + at home ~ often.",
    "a, b, c and x, y, z.",
    "Yes -- no --- maybe ---- so.",
    "See the appendix . Then stop .",
    "The roles user/assistant/tool/system are kept, in 2D and in 3D.",
    "Use Ctrl+C or Cmd-Shift-P to exit; C++, C#, .NET and Objective-C++ developers know.",
    "The A/B test and the go/no-go call: I/O-bound or CPU-bound?",
    "(a) first, (b) second, [c] third, {d} fourth, <e> fifth",
];

#[test]
fn honest_prose_holds_no_anchors() {
    for line in PROSE {
        let found: Vec<_> = anchors(line).map(|anchor| (anchor.kind, anchor.of(line))).collect();
        assert_eq!(found, [], "in {line:?}");
    }
    let all = PROSE.join("\n");
    assert_eq!(anchors(&all).count(), 0);
}
