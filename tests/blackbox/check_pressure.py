"""Large and many: limits that are reached, messages that are full, bursts."""

import asyncio
import json
import re

from contract import check, need, ok, refused, short
from shapes import read_all, shown_ids, span


@check
async def prune_ten_thousand(lab):
    """10,000 spans fit one directive; one more is refused, naming the limit."""
    session = await lab.opened(10**8)
    names = [f"t{number}" for number in range(10_001)]
    for offset in range(0, 10_001, 1000):
        await session.add(*[span(name, "t", tokens=1) for name in names[offset : offset + 1000]])
    answer = await session("prune", spans=names)
    need(
        answer.code == "too_large" or (not answer.code and answer.body.get("status") == "rejected"),
        f"10,001 spans: {short(answer.body)}",
    )
    need(re.search(r"10[ ,_.]?000", json.dumps(answer.body)), "the refusal does not name its limit")
    # Free: the reply may not fit max_payload; then nothing may have happened.
    answer = await session.send("prune", json.dumps({"spans": names[:10_000]}).encode(), timeout=15)
    pruned = ok(await session("expand", span="t9999"))["outcome"] == "recoverable"
    if answer.code:
        refused(answer, "too_large")
        need(not pruned, "an error was answered, but the prune happened")
        lab.note("10,000 spans: refused because of the reply's size")
    else:
        need(answer.body["status"] == "reversible" and pruned, f"{short(answer.body)}")
        need(
            ok(await session("expand", span="t10000"))["outcome"] == "live", "t10000 was not named"
        )
        need(ok(await session("restore", spans=["t5", "t9999"]))["restored"], "restore")
    answer = await session("window", content=False)
    need(not answer.code or answer.code == "too_large", f"{answer}")


@check
async def window_reply_larger_than_max_payload(lab):
    """A window that does not fit a message gets a clean answer; its parts stay readable."""
    session = await lab.opened(10**7)
    count = 5
    size = lab.connection.max_payload // 3
    for i in range(count):
        await session.add(span(f"b{i}", chr(97 + i) * size))
    window = await session.window(content=False)
    need(shown_ids(window) == [f"b{i}" for i in range(count)], "content:false fits and must work")
    # Free: any clean answer.
    for form in ({}, {"render": "text"}, {"render": "openai"}, {"render": "anthropic"}):
        answer = await session("window", **form)
        need(answer.code in (None, "too_large", "bad_request", "unavailable"), f"{answer}")
        need(answer.code or "budget" in answer.body, f"{form}: {short(answer.body)}")
    need(await read_all(session, span="b4") == b"e" * size, "expand")
    need(len(await session.events()) == count + 1, "history")


@check
async def large_but_legal_request(lab):
    """A request that just fits a message is handled, or refused for its shape."""
    session = await lab.opened(10**7)
    room = lab.connection.max_payload - 4096
    text = "z" * room
    await session.add(span("a", text))
    need(await read_all(session, span="a") == text.encode(), "content")
    refused(await session.send("append", b'{"spans":[' + b" " * room), "bad_request", "too_large")
    refused(
        await session.send("prune", b'{"spans":["' + b"a" * room + b'"],"x":1}'),
        "bad_request",
        "too_large",
    )
    await lab.alive()


@check
async def burst_of_requests_all_answered(lab):
    """Every request of a burst is answered, if need be with overloaded."""
    session = await lab.opened()
    await session.add(span("a"))
    replies = await asyncio.gather(
        *[session(("window", "tombstones", "history")[i % 3]) for i in range(600)]
    )
    bad = [each for each in replies if each.code not in (None, "overloaded")]
    need(not bad, f"{bad[:2]}")
    need(
        all(each.code or {"entries", "tombstones", "events"} & set(each.body) for each in replies),
        "a reply without its field",
    )
    await lab.alive()
