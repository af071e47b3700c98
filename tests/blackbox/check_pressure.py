"""Large and many: limits that are reached, messages that are full, bursts."""

import asyncio
import json
import re

from contract import blake3, check, executed, need, ok, refused, short
from provider import check_anthropic, check_openai
from shapes import (
    body_of,
    check_versions,
    from_upload,
    read_all,
    shown_ids,
    span,
    tool_call,
    tool_result,
    upload,
    without_content,
)


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


async def pages(session, verb, field, start="from", **fields):
    """Follows `next` to the end; returns the pages. Free: a reply that fits has no `next`."""
    found = [ok(await session(verb, **fields))]
    while found[-1].get("next") is not None:
        need(len(found) < 50, f"{verb}: the pages have no end")
        following = await session(verb, **fields, **{start: found[-1]["next"]})
        need(found[-1][field] or len(found) == 1, f"{verb}: an empty page with a next one")
        found.append(ok(following))
    return found


@check
async def window_pages_add_up(lab):
    """A window that does not fit one message comes in pages that add up, in entries and in text."""
    session = await lab.opened(10**8)
    names = [f"{number:05d}" + "x" * 95 for number in range(4000)]
    for offset in range(0, 4000, 1000):
        await session.add(*[span(name, "aé𝔘" * 20) for name in names[offset : offset + 1000]])
    version = await session.version()
    await session.add(span("later"))
    at = {"version": version}
    for content in (True, False):
        found = await pages(session, "window", "entries", at=at, content=content)
        need([name for page in found for name in shown_ids(page)] == names, f"entries {content}")
        need(all(page["budget"] == found[0]["budget"] for page in found), "budgets differ")
        need(all(page["version"] == version for page in found), "versions differ")
    found = await pages(session, "window", "text", at=at, render="text")
    text = "".join(page["text"] for page in found)
    need(text.count("aé𝔘" * 20) == 4000, f"{text.count('aé𝔘' * 20)} contents in the text")
    positions = [text.index(name) for name in names]
    need(positions == sorted(positions), "order of the text")


@check
async def window_contents_come_in_pages(lab):
    """Contents that do not fit one message together come page by page."""
    session = await lab.opened(10**8)
    size = lab.connection.max_payload // 3
    for number in range(5):
        await session.add(span(f"b{number}", chr(97 + number) * size))
    huge = b"q" * (2 * lab.connection.max_payload)
    await session.add(from_upload("huge", await upload(session, huge)))
    await session.add(span("end", "the end"))
    found = await pages(session, "window", "entries")
    entries = [entry for page in found for entry in page["entries"]]
    contents = {entry["id"]: body_of(entry) for entry in entries}
    for number in range(5):
        need(contents[f"b{number}"] == bytes([97 + number]) * size, f"contents of b{number}")
    need(contents["end"] == b"the end", "contents of end")
    # Free: what stands for a content that no page can hold, but it is read with expand.
    need("huge" in contents, "the huge span is missing")
    need(await read_all(session, span="huge") == huge, "expand")


@check
async def render_comes_in_pages(lab):
    """Messages that do not fit one reply come in pages; together they are a valid request."""
    session = await lab.opened(10**8)
    size = lab.connection.max_payload // 5
    for number in range(8):
        await session.add(tool_call(f"c{number}"))
        await session.add(tool_result(f"r{number}", f"c{number}", chr(97 + number) * size))
        await session.add(span(f"m{number}", "go on", role="assistant", origin="model"))
    for form, valid in (("openai", check_openai), ("anthropic", check_anthropic)):
        found = await pages(session, "window", "messages", render=form)
        messages = [message for page in found for message in page["messages"]]
        need(len(found) > 1, f"{form}: {8 * size} bytes in one reply")
        options = {} if form == "openai" else {"user_first": False}
        valid({**found[0], "messages": messages}, **options)
        text = json.dumps(messages)
        for number in range(8):
            need(chr(97 + number) * size in text, f"{form}: contents of r{number}")


@check
async def directive_and_ledger_come_in_pages(lab):
    """Long listings of a directive, of tombstones and of durability add up over their pages."""
    session = await lab.opened(10**8)
    names = [f"{number:05d}" + "x" * 95 for number in range(5000)]
    lost = {"digest": blake3(b"lost"), "bytes": 4, "reason": "secret"}
    for offset in range(0, 5000, 1000):
        part = names[offset : offset + 1000]
        await session.add(*[without_content(span(name, tokens=1), withheld=lost) for name in part])
    pruned = executed(await session("prune", spans=names, accept_lossy=True), "lossy")
    left_out = 5000 - len(pruned["spans"])
    need(left_out == pruned.get("spans_omitted", 0), f"{left_out} spans are left out silently")
    found = await pages(session, "tombstones", "tombstones")
    listed = [each["span"] for page in found for each in page["tombstones"]]
    need(sorted(listed) == names, f"{len(listed)} tombstones")
    found = await pages(session, "durability", "spans")
    need([each["id"] for page in found for each in page["spans"]] == names, "durability")
    found = await pages(session, "expand", "spans", start="offset", handle=pruned["directive"])
    need([each["id"] for page in found for each in page["spans"]] == names, "the directive")
    check_versions(await session.events())


@check
async def metadata_has_limits(lab):
    """Metadata stays so small that its event fits a message: half a megabyte is refused."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    large = "v" * 500_000
    lost = {"digest": blake3(b"lost"), "bytes": 4, "reason": large}
    for verb, fields in (
        ("append", {"spans": [span("n", labels={"k": large})]}),
        ("append", {"spans": [span("n", labels={f"k{n}": "v" for n in range(50_000)})]}),
        ("append", {"spans": [span("n", media_type=large)]}),
        ("append", {"spans": [span("n", source={"format": large})]}),
        ("append", {"spans": [without_content(span("n"), withheld=lost)]}),
        ("prune", {"spans": ["a"], "reason": large}),
        ("contradict", {"spans": ["a", "b"], "note": large}),
        ("restore", {"spans": ["a"] * 100_000}),
    ):
        answer = await session(verb, **fields)
        need(
            answer.code in ("too_large", "bad_request"),
            f"{verb} with {short(list(fields))} of half a megabyte: {answer}",
        )
    other = lab.session()
    refused(await other("open", window_tokens=9, labels={"k": large}), "too_large", "bad_request")


@check
async def an_error_means_no_effect(lab):
    """A prune that is answered by an error has not happened, however long its reply would be."""
    session = await lab.opened()
    lost = {"digest": blake3(b"lost"), "bytes": 4, "reason": ""}
    room = len(json.dumps({"spans": [without_content(span("n"), withheld=lost)]}))
    lost["reason"] = "r" * (lab.connection.max_payload - room - 100)
    answer = await session("append", spans=[without_content(span("n"), withheld=lost)])
    if answer.code:
        refused(answer, "too_large", "bad_request")
        return
    for fields in ({}, {"accept_lossy": True}):
        before = (await session("tombstones")).body
        answer = await session("prune", spans=["n"], **fields)
        if answer.code:
            need(
                (await session("tombstones")).body == before,
                f"{answer.code} was answered, but the version or the ledger changed",
            )
