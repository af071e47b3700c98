"""The gate: reversible, lossy, mixed, rejected, and what then stands in the window."""

import asyncio
import json

from contract import check, executed, need, ok, refused, rejected, short
from provider import check_renders
from shapes import (
    body_of,
    by_id,
    check_evidence,
    check_prune,
    entry_of,
    ids_of,
    kinds_and_ids,
    shown_ids,
    span,
    tombstone_of,
    unchanged,
    withheld,
)


@check
async def prune_drop_reversible(lab):
    """A sound span leaves the window for a stub whose handle leads back to it."""
    session = await lab.opened()
    appended = by_id(
        await session.add(*[span(f"b{i}", f"text {i} " * 60, tokens=100) for i in range(5)])
    )
    used_before = (await session.window())["budget"]["used_tokens"]
    reply = executed(
        await session("prune", spans=["b2"], mode="drop", reason="not needed"), "reversible"
    )
    check_prune(reply, ["b2"])
    need(
        reply["spans"][0]["handle"] == appended["b2"]["handle"], "handle differs from the append's"
    )
    window = await session.window()
    need(shown_ids(window) == [f"b{i}" for i in range(5)], f"order {shown_ids(window)}")
    stub = entry_of(window, "b2")
    need(stub["kind"] == "stub" and stub.get("handle"), f"{short(stub)}")
    need("text 2 text 2" not in json.dumps(window), "the content is still in the window")
    need(
        window["version"] == reply["version"] and window["budget"] == reply["budget"],
        "window and reply disagree",
    )
    need(
        window["budget"]["used_tokens"] < used_before and 0 < reply["freed_tokens"] <= 100,
        f"freed {reply['freed_tokens']}",
    )
    # Free: counted gross or net of the stub.
    need(0 <= reply["cost"]["prefix_kept_tokens"] <= 200, f"kept {reply['cost']}")
    need(stub.get("pruned_tokens", 100) == 100, f"pruned_tokens {stub}")
    expanded = ok(await session("expand", handle=stub["handle"]))
    need("b2" in json.dumps(expanded), "the stub's handle does not lead to the span")
    expanded = ok(await session("expand", handle=reply["spans"][0]["handle"]))
    need(
        expanded["outcome"] == "recoverable" and body_of(expanded) == ("text 2 " * 60).encode(),
        f"{short(expanded)}",
    )


@check
async def prune_other_modes(lab):
    """The modes summarize and compress are known; others are bad_request."""
    session = await lab.opened()
    await session.add(span("a"), span("b"), span("d"))
    # Free: without replace_with they are executed or refused cleanly.
    for name, mode in (("a", "summarize"), ("b", "compress")):
        answer = await session("prune", spans=[name], mode=mode)
        if answer.code:
            refused(answer, "bad_request")
        else:
            need(
                answer.body["status"] == "reversible" or answer.body.get("reason"),
                f"{short(answer.body)}",
            )
    refused(await session("prune", spans=["d"], mode="burn"), "bad_request")
    refused(await session("prune", spans=["d"], mode=None, reason=5), "bad_request")


@check
async def prune_consecutive_share_one_stub(lab):
    """Consecutive spans of one directive share one stub, whose handle lists them."""
    session = await lab.opened()
    await session.add(*[span(f"b{i}", "w " * 100) for i in range(6)])
    executed(await session("prune", spans=["b3", "b1", "b2", "b5"]), "reversible")
    window = await session.window()
    need(
        [ids_of(entry) for entry in window["entries"]]
        == [["b0"], ["b1", "b2", "b3"], ["b4"], ["b5"]],
        f"{[ids_of(entry) for entry in window['entries']]}",
    )
    need(window["entries"][1]["kind"] == "stub", "stub")
    listing = ok(await session("expand", handle=window["entries"][1]["handle"]))
    need(
        all(f"b{i}" in json.dumps(listing) for i in (1, 2, 3)),
        f"the shared stub's handle: {short(listing)}",
    )


@check
async def prune_dry_run_changes_nothing(lab):
    """A dry run gives the verdict, changes nothing and records nothing."""
    session = await lab.opened()
    await session.add(span("a", "w " * 100), withheld("x"), span("p", pinned=True))

    async def act():
        check_prune(
            executed(await session("prune", spans=["a"], dry_run=True), "reversible"), ["a"]
        )
        rejected(await session("prune", spans=["x"], dry_run=True), "not_reversible")
        executed(await session("prune", spans=["x"], dry_run=True, accept_lossy=True), "lossy")
        executed(await session("prune", spans=["a", "x"], dry_run=True, accept_lossy=True), "mixed")
        rejected(await session("prune", spans=["p"], dry_run=True), "pinned")

    await unchanged(session, act)
    need(ok(await session("tombstones"))["tombstones"] == [], "a dry run left a tombstone")
    executed(await session("prune", spans=["a"], dry_run=False), "reversible")
    for bad in ("true", 1):
        refused(await session("prune", spans=["x"], dry_run=bad), "bad_request")


@check
async def prune_is_atomic(lab):
    """One span without a copy rejects the whole directive, which is recorded as an event."""
    session = await lab.opened()
    await session.add(span("a"), withheld("x"), span("b"))
    before = await session.window()
    known = len(await session.events())
    reply = rejected(await session("prune", spans=["a", "x", "b"]), "not_reversible")
    verdict = by_id(reply)["x"]
    need(
        verdict["status"] == "rejected"
        and verdict["check"]["existence"] is False
        and verdict["check"].get("why"),
        f"{short(verdict)}",
    )
    window = await session.window()
    need(window["entries"] == before["entries"], "the window changed")
    events = (await session.events())[known:]
    need(
        [event["kind"] for event in events] == ["prune-rejected"],
        f"events {[event['kind'] for event in events]}",
    )
    event = events[0]
    need(
        event["directive"] == reply["directive"]
        and event["reason"] == "not_reversible"
        and event["version"] == reply["version"]
        and {each["id"] for each in event["spans"]} >= {"x"},
        f"{short(event)}",
    )
    for bad in (["a", "nope"], ["a", "x", "nope"]):
        rejected(await session("prune", spans=bad))
        need((await session.window())["entries"] == before["entries"], "not atomic")


@check
async def prune_lossy(lab):
    """With accept_lossy a tombstone with the exact text takes the span's place everywhere."""
    session = await lab.opened()
    await session.add(span("a"), withheld("x"), withheld("y"), span("b"))
    rejected(await session("prune", spans=["x", "y"]), "not_reversible")
    rejected(await session("prune", spans=["x"], accept_lossy=False), "not_reversible")
    reply = executed(
        await session("prune", spans=["x", "y"], accept_lossy=True, reason="gone anyway"), "lossy"
    )
    check_prune(reply, ["x", "y"], "lossy")
    window = await session.window()
    need(shown_ids(window) == ["a", "x", "y", "b"], f"{shown_ids(window)}")
    for name in "xy":
        entry = entry_of(window, name)
        need(
            entry["kind"] == "tombstone"
            and entry.get("text") == tombstone_of(name)
            and entry.get("cause"),
            f"{short(entry)}",
        )
    need(
        tombstone_of("x") in (await session.window(render="text"))["text"],
        "the text render has no tombstone",
    )
    openai, anthropic = await check_renders(session)
    need(
        tombstone_of("x") in openai and tombstone_of("y") in anthropic, "a render has no tombstone"
    )
    expanded = ok(await session("expand", span="x"))
    # Free: which of the two outcomes.
    need(expanded["outcome"] in ("lossy", "withheld"), f"{short(expanded)}")
    check_evidence(expanded)
    if expanded["outcome"] == "lossy":
        need(
            expanded["tombstone"] == tombstone_of("x")
            and expanded["cause"]["kind"] == "directive"
            and expanded["cause"].get("directive") == reply["directive"],
            f"{short(expanded)}",
        )
    events = [event for event in await session.events() if event["kind"] == "lossy-committed"]
    committed = [each for event in events for each in event["spans"]]
    need(
        sorted(each["id"] for each in committed) == ["x", "y"]
        and all(each["tombstone"] == tombstone_of(each["id"]) for each in committed),
        f"{short(events)}",
    )


@check
async def prune_mixed(lab):
    """With lossy accepted, sound and unsound spans are mixed: each by its own proof."""
    session = await lab.opened()
    await session.add(span("a"), withheld("x"), span("b"))
    reply = executed(await session("prune", spans=["a", "x", "b"], accept_lossy=True), "mixed")
    check_prune(reply, ["a", "b", "x"], "mixed")
    verdicts = by_id(reply)
    need(
        [verdicts[name]["status"] for name in "axb"] == ["reversible", "lossy", "reversible"],
        f"{short(verdicts)}",
    )
    window = await session.window()
    need(
        kinds_and_ids(window) == [("stub", ["a"]), ("tombstone", ["x"]), ("stub", ["b"])],
        f"{short(window['entries'])}",
    )
    need(ok(await session("expand", span="b"))["outcome"] == "recoverable", "b")


@check
async def prune_accept_lossy_on_sound_span_stays_reversible(lab):
    """Accepting loss does not make a sound prune lossy."""
    session = await lab.opened()
    await session.add(span("a"))
    executed(await session("prune", spans=["a"], accept_lossy=True), "reversible")
    need(ok(await session("expand", span="a"))["outcome"] == "recoverable", "outcome")


@check
async def prune_accept_lossy_type(lab):
    """accept_lossy counts only as JSON true; anything else, and any misspelling, is bad_request."""
    session = await lab.opened()
    await session.add(withheld("x"))

    async def act():
        for bad in ("true", 1, 1.0, "yes", [], {}, [True], 0, "false"):
            refused(await session("prune", spans=["x"], accept_lossy=bad), "bad_request")
        refused(await session("prune", spans=["x"], accept_losy=True), "bad_request")
        refused(await session("prune", spans=["x"], Accept_Lossy=True), "bad_request")

    await unchanged(session, act)
    # Free: null is an error or means "not accepted".
    answer = await session("prune", spans=["x"], accept_lossy=None)
    if answer.code:
        refused(answer, "bad_request")
    else:
        rejected(answer, "not_reversible")
    answer = await session.send(
        "prune", b'{"spans":["x"],"accept_lossy":false,"accept_lossy":true}'
    )
    # Free: a key given twice is refused, or one of the two counts.
    need(
        answer.code == "bad_request" or answer.body.get("status") in ("rejected", "lossy"),
        f"duplicate keys: {answer}",
    )


@check
async def prune_concurrent_only_one_wins(lab):
    """Of equal prunes at the same time one is executed and the others are already_pruned."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    replies = [
        ok(reply)
        for reply in await asyncio.gather(*[session("prune", spans=["a"]) for _ in range(12)])
    ]
    verdicts = [(reply["status"], reply.get("reason")) for reply in replies]
    need(
        verdicts.count(("reversible", None)) == 1
        and all(
            each in (("reversible", None), ("rejected", "already_pruned")) for each in verdicts
        ),
        f"{verdicts}",
    )
