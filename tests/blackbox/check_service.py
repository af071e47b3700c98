"""The service itself: who it is, opening and closing sessions, the journal."""

import asyncio
import json

import nats.errors

from contract import TIME, check, executed, need, ok, refused, short
from shapes import check_budget, shown_ids, span


@check
async def srv_ping_info_stats(lab):
    """The daemon is a NATS service: PING, INFO, STATS answer by name and by id."""
    for verb, kind in (
        ("PING", "ping_response"),
        ("INFO", "info_response"),
        ("STATS", "stats_response"),
    ):
        answer = (await lab.raw(f"$SRV.{verb}.lacuna", b"")).body
        need(
            answer.get("name") == "lacuna" and answer.get("id") and answer.get("version"),
            f"{verb}: {short(answer)}",
        )
        need(str(answer.get("type", "")).endswith(kind), f"{verb}: type {answer.get('type')!r}")
        same = (await lab.raw(f"$SRV.{verb}.lacuna.{answer['id']}", b"")).body
        need(same.get("id") == answer["id"], f"$SRV.{verb}.lacuna.<id> answers {short(same)}")
        if verb != "PING":
            need(
                answer.get("endpoints")
                and all(endpoint.get("subject") for endpoint in answer["endpoints"]),
                f"{verb}: no endpoints",
            )
            need(
                all(endpoint.get("queue_group") for endpoint in answer["endpoints"]),
                f"{verb}: an endpoint has no queue_group",
            )


@check
async def srv_ping_everyone(lab):
    """A ping to all services is answered by `lacuna` too."""
    inbox, names = lab.connection.new_inbox(), []
    subscription = await lab.connection.subscribe(inbox)
    await lab.connection.publish("$SRV.PING", b"", reply=inbox)
    try:
        for _ in range(50):
            names.append(json.loads((await subscription.next_msg(timeout=1)).data).get("name"))
    except (nats.errors.TimeoutError, asyncio.TimeoutError):
        pass
    need("lacuna" in names, f"$SRV.PING answered by {names}")


@check
async def open_reply(lab):
    """Open answers session, version, journal and time; reserve_ratio sets the reserve."""
    session = lab.session()
    reply = ok(
        await session(
            "open", window_tokens=1000, reserve_ratio=0.2, contract="record", labels={"a": "b"}
        )
    )
    need(
        reply["session"] == session.name and type(reply["version"]) is int and reply["journal"],
        f"{reply}",
    )
    need(TIME.match(reply["opened_at"]), f"opened_at {reply['opened_at']!r}")
    need(not reply.get("duplicate"), "the first open is marked duplicate")
    need(
        reply["journal"] == ok(await lab.journal("head"))["journal"],
        "open and journal head name different journals",
    )
    check_budget((await session.window())["budget"], 1000, 0.2)


@check
async def open_again_same_is_duplicate(lab):
    """Opening again with the same parameters is a no-op marked duplicate."""
    session = lab.session()
    first = ok(await session("open", window_tokens=1000))
    second = ok(await session("open", window_tokens=1000))
    need(second.get("duplicate") is True, "not marked duplicate")
    need(first["version"] == second["version"], "a no-op moved the version")
    need(len(await session.events()) == 1, "a no-op recorded an event")


@check
async def open_again_other_is_session_exists(lab):
    """Opening again with other parameters is session_exists and changes nothing."""
    session = await lab.opened(1000)
    refused(await session("open", window_tokens=2000), "session_exists")
    need((await session.window())["budget"]["window_tokens"] == 1000, "the parameters changed")


@check
async def open_bad_requests(lab):
    """An open with a missing, mistyped or unknown value is bad_request and opens nothing."""
    for fields in (
        {},
        {"window_tokens": "1000"},
        {"window_tokens": -5},
        {"window_tokens": 1.5},
        {"window_tokens": None},
        {"window_tokens": True},
        {"window_tokens": 9, "contract": "maybe"},
        {"window_tokens": 9, "labels": []},
        {"window_tokens": 9, "reserve_ratio": "x"},
    ):
        session = lab.session()
        refused(await session("open", **fields), "bad_request")
        refused(await session("window"), "unknown_session")
    # Free: the contract gives no ranges; any clean answer.
    for fields in (
        {"reserve_ratio": 7},
        {"reserve_ratio": -1},
        {"window_tokens": 10**30},
        {"window_tokens": 0},
    ):
        await lab.session()("open", **{"window_tokens": 1000, **fields})
    await lab.alive()


@check
async def open_tenants_are_namespaces(lab):
    """The same session name in two tenants is two sessions."""
    here = await lab.opened()
    there = lab.session(here.name, tenant=lab.tenant + "-two")
    await here.add(span("x"))
    refused(await there("append", spans=[span("x")]), "unknown_session")
    ok(await there("open", window_tokens=50))
    need(shown_ids(await there.window()) == [], "tenants share a window")


@check
async def close_then_refuse(lab):
    """A closed session refuses changes and can still be read."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    executed(await session("prune", spans=["a"]), "reversible")
    window = await session.window()
    ok(await session("close"))
    need((await session.events())[-1]["kind"] == "session-closed", "no session-closed event")
    for verb, fields in (
        ("append", {"spans": [span("d")]}),
        ("prune", {"spans": ["b"]}),
        ("restore", {"spans": ["a"]}),
    ):
        refused(await session(verb, **fields), "session_closed")
    need(
        (await session.window())["entries"] == window["entries"]
        and ok(await session("expand", span="a"))["outcome"] == "recoverable",
        "a closed session can still be read",
    )
    ok(await session("durability"))
    ok(await session("tombstones"))
    # Free: what a second close or open does.
    answer = await session("close")
    need(answer.code in (None, "session_closed"), f"{answer}")
    await session("open", window_tokens=100_000)


@check
async def journal_head_and_verify(lab):
    """The head moves with every event; verify checks the whole journal or a range."""
    before = ok(await lab.journal("head"))
    session = await lab.opened()
    appended = (await session.add(span("a")))["spans"][0]
    after = ok(await lab.journal("head"))
    need(
        after["seq"] >= appended["seq"]
        and after["seq"] > before["seq"]
        and after["head"] != before["head"]
        and after["journal"] == before["journal"],
        f"{before} {after}",
    )
    need(TIME.match(after["recorded_at"]), f"{after}")
    executed(await session("prune", spans=["a"]), "reversible")
    for fields in ({}, {"from": appended["seq"], "to": after["seq"]}, {"from": after["seq"]}):
        verdict = ok(await lab.journal("verify", fields))
        need(
            verdict["ok"] is True
            and verdict["faults"] == []
            and type(verdict["checked"]["events"]) is int
            and verdict["checked"]["events"] > 0
            and type(verdict["checked"]["payloads"]) is int,
            f"{fields}: {short(verdict)}",
        )
    refused(await lab.journal("verify", {"form": 1}), "bad_request")
    refused(await lab.journal("head", {"x": 1}), "bad_request")
    refused(await lab.journal("verify", {"from": "1"}), "bad_request")
    # Free: an empty range gets any clean answer.
    await lab.journal("verify", {"from": 10**9})
    await lab.journal("verify", {"from": 5, "to": 2})


@check
async def open_with_the_old_defaults_spelled_out(lab):
    """Defaults spelled out are the same parameters; labels and contract count as parameters."""
    session = await lab.opened(1000)
    again = ok(await session("open", window_tokens=1000, reserve_ratio=0.15, contract="enforce"))
    need(again.get("duplicate") is True, "the defaults are other parameters")
    for fields in ({"contract": "record"}, {"reserve_ratio": 0.2}, {"labels": {"a": "b"}}):
        refused(await session("open", window_tokens=1000, **fields), "session_exists")


@check
async def close_is_the_end(lab):
    """After the close no command has an effect, by whatever verb."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    ok(await session("close"))
    before = (await session.window(), await session.events())
    for verb, fields in (
        ("append", {"spans": [span("a")]}),
        ("prune", {"spans": ["a"]}),
        ("contradict", {"spans": ["a", "b"]}),
        ("summarize", {"covers": ["a"], "text": "t", "claims": []}),
        ("put-open", {"bytes": 3}),
    ):
        refused(await session(verb, **fields), "session_closed")
    need((await session.window(), await session.events()) == before, "something changed")
