"""Erasures: at somebody's request payloads go at once, and everything that is asked says so."""

from contract import check, executed, fresh, need, ok, refused, short
from officer import (
    Office,
    check_gone,
    check_there,
    goes_now,
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
    kinds_and_ids,
    span,
    summarised,
    tombstone_of,
    tool_call,
    tool_result,
    withheld,
)


async def desk(lab, *spans, pruned=()):
    """An office and a session with these spans, some of them pruned."""
    office = Office(lab)
    session = await office.opened()
    await session.add(*spans)
    if pruned:
        executed(await session("prune", spans=list(pruned)), "reversible")
    return office, session


@check
async def spans_are_erased(lab):
    """Erased spans are lossy with who and why, shown or pruned; the others stay as they were."""
    office, session = await desk(lab, span("a"), span("b"), span("c"), span("d"), pruned="bc")
    reply = ok(
        await office("erase", session=session.name, spans=["a", "b"], reason="art. 17, ticket 9")
    )
    need(
        reply["removed"] == {"spans": 2, "bytes": 2 * len("contents of a")}
        and reply["version"] == await session.version()
        and not reply.get("summaries"),
        f"{short(reply)}",
    )
    window = await session.window()
    need(
        kinds_and_ids(window)
        == [("tombstone", ["a"]), ("tombstone", ["b"]), ("stub", ["c"]), ("span", ["d"])],
        f"{kinds_and_ids(window)}",
    )
    for name in "ab":
        await check_gone(session, name, "erasure", by="officer-1", why="art. 17, ticket 9")
    for name in "cd":
        await check_there(session, name)
    refused(await session("restore", spans=["b"]), "not_recoverable")
    need("contents of a" not in str(await session.window(render="text")), "still rendered")
    await office.verified()


@check
async def a_session_is_erased(lab):
    """Without spans the whole session goes, open or closed; it can still be read and explained."""
    for closed in (False, True):
        office, session = await desk(
            lab, span("q"), tool_call("call"), tool_result("result", "call"), withheld("x")
        )
        if closed:
            ok(await session("close"))
        reply = ok(await office("erase", session=session.name, reason="asked for"))
        need(reply["removed"]["spans"] == 3, f"{short(reply)}")
        for name in ("q", "call", "result"):
            await check_gone(session, name, "erasure", by="officer-1", why="asked for")
        need(await outcome_of(session, "x") == "withheld", "x was never stored")
        gone = tombstones_in(await session.window())
        need(gone == ["q", "call", "result"], f"{gone}")
        await check_renders(session)
        check_versions(await session.events())
        story = ok(await session("explain", span="q"))["story"]
        need(story[-1]["why"] == "asked for", f"{short(story)}")
        if not closed:
            await session.add(span("after"))
            await check_there(session, "after")


@check
async def erased_twice(lab):
    """An erasure sent twice is one: with its command_id the reply is the same, without it 0."""
    office, session = await desk(lab, span("a"), span("b"), span("c"))
    request = {"session": session.name, "spans": ["a"], "reason": "x", "command_id": fresh("e-")}
    first = ok(await office("erase", **request))
    ok(await office("erase", session=session.name, spans=["b"], reason="x"))
    before = await session.events()
    second = ok(await office("erase", **request))
    need(second.pop("duplicate", None) is True, f"{short(second)}")
    first.pop("duplicate", None)
    need(first == second, f"{short(first)} {short(second)}")
    again = ok(await office("erase", session=session.name, spans=["a", "b"], reason="y"))
    need(again["removed"] == {"spans": 0, "bytes": 0}, f"{short(again)}")
    need(await session.events() == before, "something was recorded again")
    refused(await office("erase", **(request | {"spans": ["c"]})), "command_id_reused")
    await check_there(session, "c")
    reply = ok(await office("erase", session=session.name, spans=["c", "c", "a"], reason="z"))
    need(reply["removed"]["spans"] == 1, f"named twice, it goes once: {short(reply)}")
    cause = ok(await session("expand", span="a"))["cause"]
    need(cause["why"] == "x", "the first reason stays")


@check
async def erasures_that_say_nothing_clear(lab):
    """An erasure with an unknown span or a misspelled field erases nothing at all."""
    office, session = await desk(lab, span("a"), span("b"))
    before = (await session.events(), await session.window())
    name = session.name
    refused(await office("erase", session=name, spans=["a", "nope"], reason="x"), "unknown_span")
    refused(await office("erase", session="nope", reason="x"), "unknown_session")
    for fields in (
        {},
        {"session": name},
        {"session": name, "spans": ["a"]},
        {"reason": "x"},
        {"session": name, "spans": [], "reason": "x"},
        {"session": name, "spans": "a", "reason": "x"},
        {"session": name, "spans": [1], "reason": "x"},
        {"session": name, "span": "a", "reason": "x"},
        {"session": name, "spans": ["a"], "reason": 5},
        {"session": "a.b", "reason": "x"},
        {"session": name, "spans": ["a b"], "reason": "x"},
    ):
        refused(await office("erase", **fields), "bad_request")
    need((await session.events(), await session.window()) == before, "something changed")


@check
async def erase_knows_the_sessions_version(lab):
    """expected_version of an erasure is the session's, whether it is open or closed."""
    office, session = await desk(lab, span("a"), span("b"))
    version = await session.version()
    request = {"session": session.name, "spans": ["a"], "reason": "x"}
    error = refused(
        await office("erase", expected_version=version + 1, **request), "version_conflict"
    )
    need(error["details"]["version"] == version, f"{error['details']}")
    await check_there(session, "a")
    reply = ok(await office("erase", expected_version=version, **request))
    need(reply["version"] == version + 1, f"{short(reply)}")
    ok(await session("close"))
    request["spans"] = ["b"]
    refused(await office("erase", expected_version=version, **request), "version_conflict")
    await check_there(session, "b")
    ok(await office("erase", expected_version=version + 2, **request))


@check
async def summaries_that_tell_of_it(lab):
    """An erasure names the summaries that cover what went: their words may tell of it."""
    office, session = await desk(lab, tool_call("call"), tool_result("result", "call"), span("z"))
    await summarised(session, ["call", "result"], name="sum")
    executed(await session("prune", spans=["call", "result"], replace_with="sum"), "reversible")
    reply = ok(await office("erase", session=session.name, spans=["z"], reason="x"))
    need(not reply.get("summaries"), f"{short(reply)}")
    reply = ok(await office("erase", session=session.name, spans=["result"], reason="x"))
    need(reply["summaries"] == ["sum"], f"{short(reply)}")
    reply = ok(await office("erase", session=session.name, spans=["sum"], reason="x"))
    need(reply["removed"]["spans"] == 1 and not reply.get("summaries"), f"{short(reply)}")
    await check_gone(session, "sum", "erasure")
    need("3 matches" not in str(await session.window()), "the summary is still shown")
    story = ok(await session("explain", span="sum"))
    need("3 matches" not in str(story), "the summary's claims are still told")
    await check_renders(session)


@check
async def an_erasure_is_told_in_events(lab):
    """One lossy commitment tells all that went, and stands in the ledger, too."""
    office, session = await desk(lab, span("a", "secret-content"), log("t"))
    appended = by_id(ok(await session("durability")))
    ok(await office("erase", principal="officer-2", session=session.name, reason="ticket 9"))
    events = await session.events()
    loss = events[-1]
    need(
        loss["kind"] == "lossy-committed"
        and loss["principal"] == "officer-2"
        and [each["id"] for each in loss["spans"]] == ["a", "t"]
        and loss["spans"][0]["digest"] == appended["a"]["copies"][0]["digest"]
        and loss["spans"][0]["tombstone"] == tombstone_of("a"),
        f"{short(loss)}",
    )
    cause = loss["cause"]
    need(
        (cause["kind"], cause["by"], cause["why"]) == ("erasure", "officer-2", "ticket 9"),
        f"{cause}",
    )
    need("secret-content" not in str(events), "events carry content")
    ledger = await office.ledger()
    need(
        [(each["span"], each["seq"], each["cause"]) for each in ledger]
        == [(name, loss["seq"], cause) for name in "at"],
        f"{short(ledger)}",
    )


@check
async def an_erasure_needs_no_policy_and_no_notice(lab):
    """What a rule keeps for ever goes at once if it is erased; a run finds nothing left to do."""
    office, session = await desk(lab, span("a"), span("b"))
    await office.policy(rule("ever", {"forever": True}))
    ok(await office("erase", session=session.name, spans=["a"], reason="x"))
    await check_gone(session, "a", "erasure")
    reply = await office.evaluated(session, "a")
    need(reply["removable"] is False, f"{short(reply)}")
    await office.policy(goes_now())
    removed(await office.run(), 1)
    await check_gone(session, "a", "erasure")
    await check_gone(session, "b", "retention")


@check
async def what_is_erased_is_not_taken_for_new(lab):
    """The id of an erased span stays taken: the same content again does not bring it back."""
    office, session = await desk(lab, span("a"))
    ok(await office("erase", session=session.name, spans=["a"], reason="x"))
    # Free: no-op, or a conflict; what counts is that the span stays gone.
    await session("append", spans=[span("a")])
    await session("append", spans=[span("a", "something else")])
    await check_gone(session, "a", "erasure")
    found = ok(await session("expand", span="never"))
    need(found["outcome"] == "never_recorded", f"{short(found)}")


@check
async def large_contents_are_erased_whole(lab):
    """A span of many parts goes whole, and its neighbours in the same commit stay whole."""
    large = "0123456789abcdef" * 20_000
    office, session = await desk(lab, span("a"), log("big", large), span("b"))
    reply = ok(await office("erase", session=session.name, spans=["big"], reason="x"))
    need(reply["removed"] == {"spans": 1, "bytes": len(large)}, f"{short(reply)}")
    await check_gone(session, "big", "erasure")
    for name in "ab":
        await check_there(session, name)
    await office.verified()


@check
async def an_erasure_larger_than_a_message(lab):
    """What went in one event is told whole, in as many pages as the reader wants."""
    office = Office(lab)
    session = await office.opened(10_000_000)
    for batch in range(6):
        await session.add(*[log(f"t{batch}.{n}", "x") for n in range(1_000)])
    reply = ok(await office("erase", session=session.name, reason="r" * 1_000))
    need(reply["removed"]["spans"] == 6_000, f"{short(reply)}")
    await session.add(span("z"))
    ok(await office("erase", session=session.name, spans=["z"], reason="x"))
    for limit in (None, 100, 5_000):
        names = [entry["span"] for entry in await office.ledger(limit)]
        need(len(names) == 6_001 and len(set(names)) == 6_001, f"{len(names)} of 6,001 entries")
        need(names[-1] == "z", "oldest first")
    listed, page = 0, {"next": 0}
    while page.get("next") is not None:
        page = ok(await session("tombstones", **({"from": page["next"]} if listed else {})))
        listed += len(page["tombstones"])
    need(listed == 6_001, f"{listed} tombstones")
    loss = [e for e in await session.events() if e["kind"] == "lossy-committed"][0]
    # Free: an event that is longer than a message is cut, and says so.
    need(len(loss["spans"]) == 6_000 or loss.get("omitted"), f"{len(loss['spans'])} spans told")
    refused(await office("ledger", skip="1"), "bad_request")
