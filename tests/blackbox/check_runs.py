"""Retention runs: what goes, what stays, and what every window shows."""

from contract import check, executed, need, ok, refused, rejected, short
from officer import (
    Office,
    check_gone,
    check_there,
    goes_now,
    kinds_of,
    log,
    outcome_of,
    removed,
    rule,
    tombstones_in,
)
from provider import check_renders
from shapes import (
    by_id,
    check_versions,
    entry_of,
    kinds_and_ids,
    span,
    summarised,
    tombstone_of,
    tool_call,
    tool_result,
    withheld,
)

PRUNED = {"pruned": True}


@check
async def a_run_leaves_tombstones(lab):
    """What a run removes is lossy, with run, policy and rule; its stub becomes a tombstone."""
    office = Office(lab)
    session = await office.opened()
    appended = by_id(await session.add(span("a"), span("b"), span("c")))
    executed(await session("prune", spans=["a"]), "reversible")
    need(entry_of(await session.window(), "a")["kind"] == "stub", "a stub before")
    policy = await office.policy(goes_now("gone", PRUNED))
    run = removed(await office.run(), 1)
    need(run["removed"]["bytes"] == len("contents of a") and run["policy"] == policy, f"{run}")
    cause = await check_gone(
        session, "a", "retention", run=run["run"], policy=policy, rule="gone"
    )
    window = await session.window()
    need(
        kinds_and_ids(window) == [("tombstone", ["a"]), ("span", ["b"]), ("span", ["c"])],
        f"{kinds_and_ids(window)}",
    )
    entry = entry_of(window, "a")
    need(entry["text"] == tombstone_of("a") and entry["cause"] == cause, f"{short(entry)}")
    reply = ok(await session("expand", handle=appended["a"]["handle"]))
    need(reply["outcome"] == "lossy" and reply["digest"] == appended["a"]["digest"], f"{reply}")
    error = refused(await session("restore", spans=["a"]), "not_recoverable")
    need(error["details"]["outcome"] == "lossy", f"{error}")
    await check_there(session, "b")
    await office.verified()


@check
async def a_second_run_removes_nothing(lab):
    """Run again, nothing goes that has gone, and nothing is recorded in the session."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    await office.policy(goes_now())
    removed(await office.run(), 2)
    before = (await session.events(), await session.window(), await office.ledger())
    second = removed(await office.run(), 0)
    third = removed(await office.run(), 0)
    need(second["run"] != third["run"] and second["cut"] < third["cut"], f"{second} {third}")
    after = (await session.events(), await session.window(), await office.ledger())
    need(before == after, "something changed")


@check
async def spans_in_the_window_go_too(lab):
    """Under `commit` a span that is shown goes, too; rendered forms stay valid requests."""
    office = Office(lab)
    session = await office.opened()
    await session.add(
        span("q", "please look"),
        tool_call("call"),
        tool_result("result", "call"),
        span("answer", "found it", role="assistant", origin="model"),
        tool_call("call2"),
        tool_result("result2", "call2"),
        span("z", "thanks"),
    )
    executed(await session("prune", spans=["call2", "result2"]), "reversible")
    used = (await session.window())["budget"]["used_tokens"]
    await office.policy(goes_now(match={"kinds": ["tool_call", "tool_result"]}))
    removed(await office.run(), 4)
    window = await session.window()
    need(
        sorted(tombstones_in(window)) == ["call", "call2", "result", "result2"],
        f"{kinds_and_ids(window)}",
    )
    need(type(window["budget"]["used_tokens"]) is int and used > 0, "a budget")
    need("3 matches" not in str(window), "the window still shows what is gone")
    for name in ("call", "result", "call2", "result2"):
        await check_gone(session, name, "retention")
    await check_renders(session)
    # What is gone cannot be pruned reversibly; whatever is said of it is typed.
    reply = ok(await session("prune", spans=["call", "result"]))
    need(reply["status"] == "rejected", f"{short(reply)}")


@check
async def only_a_half_of_a_shared_stub_goes(lab):
    """Of spans that share a stub some go: the rest keeps its stub, its handle and its order."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), log("t1"), span("b"), log("t2"), span("c"))
    executed(await session("prune", spans=["a", "t1", "b", "t2"]), "reversible")
    need(len((await session.window())["entries"]) == 2, "one stub for four spans")
    await office.policy(goes_now(match={"origins": ["tool"]}))
    removed(await office.run(), 2)
    window = await session.window()
    names = [name for _, names in kinds_and_ids(window) for name in names]
    need(names == ["a", "t1", "b", "t2", "c"], f"{kinds_and_ids(window)}")
    need(sorted(tombstones_in(window)) == ["t1", "t2"], f"{kinds_and_ids(window)}")
    for name in "ab":
        need(entry_of(window, name)["kind"] == "stub", f"{name} has no stub")
        await check_there(session, name)
    restored = ok(await session("restore", spans=["a", "b"]))
    need(sorted(restored["restored"]) == ["a", "b"], f"{restored}")
    refused(await session("restore", spans=["a", "t1"]), "not_recoverable")
    shown = kinds_and_ids(await session.window())
    need([names[0] for _, names in shown] == ["a", "t1", "b", "t2", "c"], f"{shown}")


@check
async def what_a_summary_stands_for_goes(lab):
    """What a summary covers goes, the summary stays, and the window says what is gone."""
    office = Office(lab)
    session = await office.opened()
    await session.add(tool_call("call"), tool_result("result", "call"), span("z"))
    await summarised(session, ["call", "result"], name="sum")
    executed(
        await session("prune", spans=["call", "result"], replace_with="sum"), "reversible"
    )
    await office.policy(goes_now(match={"kinds": ["tool_result"]}))
    removed(await office.run(), 1)
    window = await session.window()
    need(
        entry_of(window, "sum")["kind"] == "summary" and tombstones_in(window) == ["result"],
        f"{kinds_and_ids(window)}",
    )
    await check_gone(session, "result", "retention")
    await check_there(session, "call", '{"name":"grep","arguments":{"q":"x"}}')
    await check_there(session, "sum", "Summary: the grep found 3 matches.")
    await check_renders(session)


@check
async def defer_waits_for_the_close(lab):
    """Under `defer` what an open window leads to stays, and is counted; it goes after the close."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    executed(await session("prune", spans=["a"]), "reversible")
    await office.policy(rule("later", {"for": "0s"}))
    for _ in range(2):
        removed(await office.run(), 0, deferred=2)
    reply = await office.evaluated(session, "a")
    need(reply["removable"] is False and reply["keep_until"] is not None, f"{short(reply)}")
    await check_there(session, "a")
    ok(await session("close"))
    need((await office.evaluated(session, "a"))["removable"] is True, "closed, it may go")
    removed(await office.run(), 2)
    for name in "ab":
        await check_gone(session, name, "retention", rule="later")
    need(sorted(tombstones_in(await session.window())) == ["a", "b"], "tombstones when closed")


@check
async def only_the_newest_are_kept(lab):
    """max_spans and max_bytes keep the newest of each session, counted in what the rule takes."""
    office = Office(lab)
    session, other = await office.opened(), await office.opened()
    for each in (session, other):
        await each.add(*[log(f"t{n}", "x" * 100) for n in range(6)], span("u1"), span("u2"))
    await office.policy(
        rule("tools", {"max_spans": 4}, {"origins": ["tool"]}, live_handles="commit"),
        rule("rest", {"max_spans": 2}, live_handles="commit"),
    )
    reply = await office.evaluated(session, "t0")
    need(reply["removable"] is True and reply["keep_until"] is None, f"{short(reply)}")
    need((await office.evaluated(session, "t5"))["removable"] is False, "t5 is among the newest")
    removed(await office.run(), 4)
    for each in (session, other):
        need(tombstones_in(await each.window()) == ["t0", "t1"], "the oldest two went")
        await check_there(each, "t2", "x" * 100)
    await office.policy(
        rule("tools", {"max_bytes": 250}, {"origins": ["tool"]}, live_handles="commit")
    )
    need(removed(await office.run(), 4)["removed"]["bytes"] == 400, "bytes")
    need(tombstones_in(await session.window()) == ["t0", "t1", "t2", "t3"], "250 bytes hold two")
    await session.add(log("t6", "x" * 100))
    removed(await office.run(), 1)
    await check_gone(session, "t4", "retention", rule="tools")
    await check_there(session, "t6", "x" * 100)


@check
async def time_counts_from_what_the_rule_says(lab):
    """Since pruned and since closed: before that nothing goes, however old it is."""
    office = Office(lab)
    session = await office.opened()
    await session.add(log("t"), log("t2"), span("u"))
    zero = {"for": "0s"}
    await office.policy(
        rule("p", zero | {"since": "pruned"}, {"origins": ["tool"]}, live_handles="commit"),
        rule("c", zero | {"since": "closed"}, live_handles="commit"),
    )
    removed(await office.run(), 0)
    executed(await session("prune", spans=["t"]), "reversible")
    removed(await office.run(), 1)
    await check_gone(session, "t", "retention", rule="p")
    executed(await session("prune", spans=["t2"]), "reversible")
    ok(await session("restore", spans=["t2"]))
    removed(await office.run(), 0)
    ok(await session("close"))
    removed(await office.run(), 1)
    await check_gone(session, "u", "retention", rule="c")
    await check_there(session, "t2")


@check
async def a_run_keeps_to_its_tenant(lab):
    """A policy, a hold and a run concern one tenant; spans of another are not touched."""
    office, other = Office(lab), Office(lab)
    mine, theirs = await office.opened(), await other.opened()
    for each in (mine, theirs):
        await each.add(span("a"))
    await office.policy(goes_now())
    await other.hold()
    removed(await other.run(), 0)
    removed(await office.run(), 1)
    need(ok(await other("policy-get"))["policy"] is None, "the other tenant has a policy")
    await check_there(theirs, "a")
    need(await other.ledger() == [] and len(await office.ledger()) == 1, "ledgers")


@check
async def what_is_not_kept_does_not_go(lab):
    """Withheld spans, and those lost by consent, have no payload: a run does not count them."""
    office = Office(lab)
    session = await office.opened()
    await session.add(withheld("x"), withheld("y"), span("a"))
    executed(await session("prune", spans=["x"], accept_lossy=True), "lossy")
    await office.policy(goes_now())
    removed(await office.run(), 1)
    cause = ok(await session("expand", span="x"))["cause"]
    need(cause["kind"] == "directive", f"{cause}")
    need(await outcome_of(session, "y") == "withheld", "y was never stored")


@check
async def the_ledger_agrees_with_the_sessions(lab):
    """Page by page the ledger has each loss of the tenant once, as each session tells it."""
    office = Office(lab)
    sessions = [await office.opened() for _ in range(3)]
    for each in sessions:
        await each.add(*[log(f"t{n}") for n in range(5)], span("u"), withheld("x"))
        executed(await each("prune", spans=["x"], accept_lossy=True), "lossy")
    await office.policy(goes_now(match={"origins": ["tool"]}))
    removed(await office.run(), 15)
    ok(await office("erase", session=sessions[0].name, spans=["u"], reason="asked for"))
    whole = await office.ledger()
    need(len(whole) == 3 + 15 + 1, f"{len(whole)} entries")
    numbers = [entry["seq"] for entry in whole]
    need(numbers == sorted(numbers), "oldest first")
    for limit in (1, 2, 7, 1_000):
        need(await office.ledger(limit) == whole, f"with pages of {limit}")
    page = ok(await office("ledger", limit=1))
    need(page["entries"] == [e for e in whole if e["seq"] == numbers[0]], "one event together")
    later = ok(await office("ledger", **{"from": page["next"]}))["entries"]
    need(page["entries"] + later == whole, "from the next page on")
    for each in sessions:
        mine = [
            {key: value for key, value in entry.items() if key not in ("seq", "session")}
            for entry in whole
            if entry["session"] == each.name
        ]
        listed = ok(await each("tombstones"))["tombstones"]
        by_span = {entry["span"]: entry for entry in listed}
        need(len(mine) == len(listed), f"{len(mine)} in the ledger, {len(listed)} tombstones")
        for entry in mine:
            told = by_span[entry["span"]]
            need(all(told[key] == value for key, value in entry.items()), f"{entry} {told}")
    need(ok(await office("ledger", **{"from": 10**12}))["entries"] == [], "past the end")
    for fields in ({"limit": 0}, {"limit": -1}, {"from": "1"}, {"session": "x"}):
        refused(await office("ledger", **fields), "bad_request")


@check
async def runs_are_told_in_events(lab):
    """The tenant's stream tells each run from opening to close; sessions tell their losses."""
    office = Office(lab)
    session = await office.opened()
    appended = by_id(await session.add(span("a"), log("t", "secret-content")))
    policy = await office.policy(goes_now("r-b", {"origins": ["tool"]}), goes_now("r-a"))
    run = removed(await office.run(), 2)
    events = await office.stream()
    check_versions(events)
    need(kinds_of(events)[-3:] == ["policy-set", "run-opened", "run-closed"], f"{kinds_of(events)}")
    need("secret-content" not in str(events + await session.events()), "events carry content")
    opened, closed = events[-2:]
    need(
        (opened["run"], opened["cut"], opened["effective_now"], opened["policy"])
        == (run["run"], run["cut"], run["effective_now"], policy)
        and opened["principal"] == "officer-1"
        and opened["tenant"] == office.tenant,
        f"{short(opened)}",
    )
    need(
        (closed["run"], closed["status"], closed["removed"]) == (run["run"], "done", run["removed"])
        and (closed["noticed"], closed["deferred"], closed["held"]) == (0, 0, 0),
        f"{short(closed)}",
    )
    losses = [each for each in await session.events() if each["kind"] == "lossy-committed"]
    need({each["cause"]["rule"] for each in losses} == {"r-a", "r-b"}, f"{short(losses)}")
    for loss in losses:
        need(opened["seq"] < loss["seq"] < closed["seq"], "a loss outside its run")
        name = loss["spans"][0]["id"]
        need(
            loss["spans"]
            == [
                {
                    "id": name,
                    "digest": appended[name]["digest"],
                    "bytes": len("contents of a" if name == "a" else "secret-content"),
                    "tokens": appended[name]["tokens"],
                    "tombstone": tombstone_of(name),
                }
            ],
            f"{short(loss)}",
        )
    await office.verified()


@check
async def a_run_that_would_take_too_much(lab):
    """A run that would take too much takes nothing and raises an alert; unlimited it goes."""
    office = Office(lab)
    session = await office.opened(10_000_000)
    for batch in range(11):
        await session.add(*[log(f"t{batch}.{n}", "x") for n in range(1_000)])
    await office.policy(goes_now())
    plan = ok(await office("plan"))
    # Free: the limit; the default stops at eleven thousand spans of eleven thousand.
    need(plan["over_limit"] is True and plan["removed"]["spans"] == 11_000, f"{short(plan)}")
    need(plan["sessions"][0]["spans_omitted"] > 0, "spans that the plan does not tell are counted")
    told = len(plan["sessions"][0]["spans"]) + plan["sessions"][0]["spans_omitted"]
    need(told == 11_000, f"{told} spans told or counted")
    reply = ok(await office("run"))
    need(reply["status"] == "over_limit", f"{short(reply)}")
    events = await office.stream()
    need(events[-1]["kind"] == "alert-raised" and events[-1]["message"], f"{short(events[-1])}")
    need(await office.ledger() == [], "something went")
    await check_there(session, "t0.0", "x")
    removed(await office.run(unlimited=True), 11_000)
    need(await outcome_of(session, "t10.999") == "lossy", "unlimited, it goes")
    need(len(await office.ledger()) == 11_000, "the ledger has them all")


@check
async def what_is_shown_of_the_past(lab):
    """The window of an earlier version shows what stood there, with no content of what is gone."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a", "very-secret"), span("b"))
    version = await session.version()
    executed(await session("prune", spans=["a"]), "reversible")
    await office.policy(goes_now(match=PRUNED))
    removed(await office.run(), 1)
    window = await session.window(at={"version": version})
    need("very-secret" not in str(window), "the past shows what is gone")
    need([names for _, names in kinds_and_ids(window)] == [["a"], ["b"]], f"{short(window)}")
    events = await session.events()
    check_versions(events)
    need(kinds_of(events)[-1] == "lossy-committed", f"{kinds_of(events)}")
    rejected(await session("prune", spans=["a"]))
