"""What stays on record: durability, tombstones, history."""

import json

from contract import TIME, blake3, check, executed, need, ok, refused, short
from shapes import by_id, check_versions, span, tombstone_of, withheld


@check
async def durability_reply(lab):
    """Durability names each span's state, its copies with their digest, and its holds."""
    session = await lab.opened()
    appended = by_id(await session.add(span("a"), span("b"), withheld("x")))
    executed(await session("prune", spans=["b"]), "reversible")
    durable = by_id(ok(await session("durability")))
    need(set(durable) == {"a", "b", "x"}, f"{list(durable)}")
    for name, state in (("a", "live"), ("b", "recoverable"), ("x", "withheld")):
        need(durable[name]["state"] == state, f"{name}: state {durable[name]['state']!r}")
        need(
            "durable_until" in durable[name]
            and isinstance(durable[name]["copies"], list)
            and not durable[name]["holds"],
            f"{short(durable[name])}",
        )
    for name in "ab":
        need(
            durable[name]["copies"]
            and all(
                copy["digest"] == appended[name]["digest"]
                and copy["where"]
                and (copy["verified_at"] is None or TIME.match(copy["verified_at"]))
                for copy in durable[name]["copies"]
            ),
            f"{short(durable[name])}",
        )
    need(durable["x"]["copies"] == [], "a withheld span has no copy")
    need(list(by_id(ok(await session("durability", spans=["b"])))) == ["b"], "asked for one")
    answer = await session("durability", spans=["nope"])
    # Free: an error, or a typed state.
    need(
        answer.code == "unknown_span" or answer.body["spans"][0]["state"] == "never_recorded",
        f"{answer}",
    )


@check
async def tombstones_reply(lab):
    """The tombstone ledger has what was lost, when, by whom and under which directive."""
    session = await lab.opened()
    need(ok(await session("tombstones")).get("tombstones") == [], "empty")
    await session.add(withheld("x", tokens=33), span("a"))
    directive = executed(await session("prune", spans=["x", "a"], accept_lossy=True), "mixed")[
        "directive"
    ]
    ledger = ok(await session("tombstones"))["tombstones"]
    need(len(ledger) == 1, f"{short(ledger)}")
    lost = ledger[0]
    need(
        (lost["span"], lost["tombstone"], lost["digest"], lost["bytes"], lost["tokens"])
        == ("x", tombstone_of("x"), blake3(b"x" * 9), 9, 33),
        f"{short(lost)}",
    )
    cause = lost["cause"]
    need(
        cause["kind"] == "directive"
        and TIME.match(cause["at"])
        and cause.get("directive", directive) == directive
        and cause.get("by", "worker-1") == "worker-1",
        f"{short(cause)}",
    )
    need(len(ok(await session.send("tombstones", b""))["tombstones"]) == 1, "an empty body is {}")


@check
async def history_reply(lab):
    """History has every event with its common and kind fields, and no content."""
    session = await lab.opened()
    appended = by_id(await session.add(span("a", "secret-content", turn=4), span("b")))
    executed(await session("prune", spans=["a"], reason="why", command_id="cmd-7"), "reversible")
    ok(await session("restore", spans=["a"]))
    events = await session.events()
    check_versions(events)
    journal = ok(await lab.journal("head"))["journal"]
    need(
        [event["kind"] for event in events]
        == ["session-opened", "span-recorded", "span-recorded", "prune-executed", "span-restored"],
        f"{[event['kind'] for event in events]}",
    )
    need("secret-content" not in json.dumps(events), "history carries content")
    for event in events:
        need(
            (event["tenant"], event["session"], event["principal"], event["journal"])
            == (lab.tenant, session.name, "worker-1", journal)
            and TIME.match(event["at"])
            and event["hash"],
            f"{short(event)}",
        )
    need(
        [event["at"] for event in events] == sorted(event["at"] for event in events),
        "record time is not monotone",
    )
    recorded = events[1]
    need(
        (
            recorded["span"],
            recorded["role"],
            recorded["origin"],
            recorded["span_kind"],
            recorded["digest"],
            recorded["bytes"],
            recorded["handle"],
            recorded["turn"],
            recorded["seq"],
            recorded["tokens"],
        )
        == (
            "a",
            "user",
            "user",
            "message",
            appended["a"]["digest"],
            14,
            appended["a"]["handle"],
            4,
            appended["a"]["seq"],
            appended["a"]["tokens"],
        ),
        f"{short(recorded)}",
    )
    pruned = events[3]
    need(
        pruned.get("command_id") == "cmd-7"
        and pruned["reason"] == "why"
        and [(each["id"], each["handle"]) for each in pruned["spans"]]
        == [("a", appended["a"]["handle"])]
        and pruned["directive"],
        f"{short(pruned)}",
    )


@check
async def history_pages(lab):
    """Pages of history follow next_version and add up to the whole."""
    session = await lab.opened()
    await session.add(*[span(f"b{n}") for n in range(24)])
    collected, start = [], 1
    for _ in range(40):
        page = ok(await session("history", from_version=start, limit=7))
        need(len(page["events"]) <= 7, "more than the limit")
        collected += page["events"]
        following = page.get("next_version")
        if not page["events"] or following is None:
            break
        need(following == page["events"][-1]["version"] + 1, f"next_version {following}")
        start = following
    check_versions(collected)
    need(len(collected) == 25 and collected == await session.events(), f"{len(collected)} events")
    need(ok(await session("history", from_version=10**6))["events"] == [], "past the end")
    for fields in ({"from_version": "1"}, {"from_version": -1}, {"limit": -1}, {"limit": "5"}):
        refused(await session("history", **fields), "bad_request")
    # Free: odd limits and starts get any clean answer.
    for fields in (
        {"limit": 0},
        {"limit": 2**60},
        {"from_version": 0},
        {"from_version": 2**64 - 1},
    ):
        await session("history", **fields)
