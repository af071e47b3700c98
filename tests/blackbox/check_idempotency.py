"""command_id and expected_version."""

import asyncio
import json

from contract import check, executed, fresh, need, ok, refused, short
from shapes import (
    check_versions,
    kinds_and_ids,
    refused_and_unchanged,
    shown_ids,
    span,
    unchanged,
    withheld,
)


@check
async def command_id_gives_the_first_reply_again(lab):
    """The same command_id with the same request gives the first reply again and has no effect."""
    session = lab.session()
    request = {"window_tokens": 5000, "command_id": "o1"}
    first = ok(await session("open", **request))
    second = ok(await session("open", **request))
    first.pop("duplicate", None)
    need(second.pop("duplicate") is True and first == second, "open")
    await session.add(withheld("x"), span("y"), span("z"))
    for verb, fields in (
        ("append", {"spans": [span(None, "n"), span("m")]}),
        ("prune", {"spans": ["y"]}),
        ("prune", {"spans": ["x"]}),
        ("prune", {"spans": ["x"], "accept_lossy": True}),
        ("restore", {"spans": ["y"]}),
    ):
        fields["command_id"] = fresh("cmd-")
        first = ok(await session(verb, **fields))
        need(
            "duplicate" not in first or first["duplicate"] is False, "the first is marked duplicate"
        )
        await session.add(span(fresh("f")))

        async def again():
            return ok(await session(verb, **fields))

        second = await unchanged(session, again)
        need(
            second.pop("duplicate", None) is True, f"{verb}: not marked duplicate: {short(second)}"
        )
        first.pop("duplicate", None)
        need(first == second, f"{verb}: another reply\n   {short(first)}\n   {short(second)}")


@check
async def command_id_reused_for_another_request(lab):
    """A command_id used for another request is command_id_reused; the key is per session."""
    session = await lab.opened()
    ok(await session("append", spans=[span("a")], command_id="k"))

    async def act():
        refused(await session("append", spans=[span("b")], command_id="k"), "command_id_reused")
        refused(await session("prune", spans=["a"], command_id="k"), "command_id_reused")

    await unchanged(session, act)
    other = await lab.opened()
    need(
        "duplicate" not in ok(await other("append", spans=[span("b")], command_id="k")),
        "the key is per session",
    )


@check
async def command_id_syntax(lab):
    """A command_id has 1 to 128 characters."""
    session = await lab.opened()
    ok(await session("append", spans=[span("a")], command_id="é" * 128))
    ok(await session("append", spans=[span("b")], command_id="x"))
    for bad in ("", "x" * 129, 5, {}):
        refused(await session("append", spans=[span("c")], command_id=bad), "bad_request")


@check
async def command_id_concurrent(lab):
    """One command sent many times at once has one effect and one reply."""
    session = await lab.opened()
    replies = [
        ok(reply)
        for reply in await asyncio.gather(
            *[session("append", spans=[span(None, "same")], command_id="k") for _ in range(20)]
        )
    ]
    need(len({json.dumps(reply["spans"]) for reply in replies}) == 1, "different replies")
    need(sum(1 for reply in replies if not reply.get("duplicate")) == 1, "not exactly one first")
    need(len(await session.events()) == 2, "more than one effect")


@check
async def command_id_beats_expected_version(lab):
    """A retry gets its first reply, although its own effect moved the version."""
    session = await lab.opened()
    fields = dict(spans=[span("a")], command_id="k", expected_version=await session.version())
    first = ok(await session("append", **fields))
    second = ok(await session("append", **fields))
    need(
        second.get("duplicate") is True and second["version"] == first["version"],
        f"a retry must get the first reply, not version_conflict: {short(second)}",
    )


@check
async def expected_version(lab):
    """A command for another version is version_conflict, names the version and changes nothing."""
    session = await lab.opened()
    opened = await session.version()
    reply = ok(await session("append", spans=[span("a")], expected_version=opened))
    current = reply["version"]
    for verb, fields in (
        ("append", {"spans": [span("b")]}),
        ("prune", {"spans": ["a"]}),
        ("restore", {"spans": ["a"]}),
        ("close", {}),
    ):
        for odd in (opened, current + 1, 2**53):
            error = refused(await session(verb, **fields, expected_version=odd), "version_conflict")
            need(error["details"]["version"] == current, f"{verb}: {short(error)}")
    need(await session.version() == current, "a conflict moved the version")
    refused(
        await session("append", spans=[span("b")], expected_version=str(current)), "bad_request"
    )
    refused(await session("append", spans=[span("b")], expected_version=-1), "bad_request")
    executed(await session("prune", spans=["a"], expected_version=current), "reversible")


@check
async def expected_version_race(lab):
    """Of many commands for the same version one wins."""
    session = await lab.opened()
    version = await session.version()
    replies = await asyncio.gather(
        *[session("append", spans=[span(f"r{i}")], expected_version=version) for i in range(15)]
    )
    winners = [each for each in replies if not each.code]
    need(len(winners) == 1, f"{len(winners)} winners")
    for each in replies:
        if each.code:
            refused(each, "version_conflict")
    need(len(shown_ids(await session.window())) == 1, "window")


@check
async def command_id_outlives_the_session(lab):
    """A retry after the close still gets its first reply, the close's own retry too."""
    session = await lab.opened()
    request = {"spans": [span("a")], "command_id": "late"}
    first = ok(await session("append", **request))
    closed = ok(await session("close", command_id="end"))
    again = ok(await session("append", **request))
    need(again.pop("duplicate", None) is True and again == first, f"append: {short(again)}")
    again = ok(await session("close", command_id="end"))
    need(again.pop("duplicate", None) is True and again == closed, f"close: {short(again)}")


@check
async def command_id_of_notes_and_summaries(lab):
    """contradict, resolve and summarize keep their command_id like every command."""
    session = await lab.opened(contract="record")
    await session.add(span("a"), span("b"))
    author = session.by("author-1")
    ok(await author("expand", span="a", purpose="reground"))
    noted = ok(await author("contradict", spans=["a", "b"]))
    summary = {"covers": ["a"], "text": "t", "claims": []}
    for verb, fields, other in (
        ("contradict", {"spans": ["a", "b"]}, {"spans": ["b", "a"]}),
        ("resolve", {"contradiction": noted["contradiction"], "note": "n"}, {"note": "m"}),
        ("summarize", summary, {"text": "u"}),
    ):
        first = ok(await author(verb, **fields, command_id=verb + "-2"))
        again = ok(await author(verb, **fields, command_id=verb + "-2"))
        need(again.pop("duplicate", None) is True and again == first, f"{verb}: {short(again)}")
        refused(
            await author(verb, **{**fields, **other}, command_id=verb + "-2"),
            "command_id_reused",
        )
    check_versions(await session.events())


@check
async def command_id_of_a_recorded_read(lab):
    """A read for audit is an event: sent again with its command_id it is recorded once."""
    session = await lab.opened()
    await session.add(span("a"))
    request = {"span": "a", "purpose": "audit", "command_id": "read-1"}
    ok(await session("expand", **request))
    again = ok(await session("expand", **request))
    reads = [event for event in await session.events() if event["kind"] == "span-read"]
    need(len(reads) == 1, f"{len(reads)} span-read events for one command_id")
    need(again.get("duplicate") is True, "not marked duplicate")


@check
async def command_id_is_free_after_a_refusal(lab):
    """A command that was refused or only tried has had no effect, so its id is not used up."""
    session = await lab.opened()
    await session.add(span("a"))
    refused(await session("append", spans=[span("a", "other")], command_id="k"), "span_conflict")
    ok(await session("append", spans=[span("b")], command_id="k"))
    executed(await session("prune", spans=["b"], dry_run=True, command_id="p"), "reversible")
    pruned = executed(await session("prune", spans=["b"], command_id="p"), "reversible")
    need("duplicate" not in pruned, "a dry run used up its command_id")
    window = await session.window()
    need(kinds_and_ids(window) == [("span", ["a"]), ("stub", ["b"])], f"{short(window)}")


@check
async def expected_version_lets_writers_take_turns(lab):
    """Writers that retry on version_conflict with its details.version all get through."""
    session = await lab.opened()

    async def write(writer):
        version, written = 1, 0
        while written < 10:
            reply = await session(
                "append", spans=[span(f"w{writer}.{written}")], expected_version=version
            )
            if reply.code:
                version = refused(reply, "version_conflict")["details"]["version"]
            else:
                version, written = ok(reply)["version"], written + 1

    await asyncio.gather(*[write(writer) for writer in range(10)])
    need(await session.version() == 101, f"version {await session.version()}")
    shown = shown_ids(await session.window())
    need(len(set(shown)) == len(shown) == 100, f"{len(shown)} spans")


@check
async def expected_version_everywhere(lab):
    """Every other command checks expected_version too, whether or not it would have an effect."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    for verb, fields in (
        ("open", {"window_tokens": 100_000}),
        ("append", {"spans": [span("a")]}),
        ("prune", {"spans": ["a"], "dry_run": True}),
        ("contradict", {"spans": ["a", "b"]}),
        ("summarize", {"covers": ["a"], "text": "t", "claims": []}),
        ("expand", {"span": "a", "purpose": "audit"}),
    ):
        await refused_and_unchanged(session, verb, "version_conflict", expected_version=1, **fields)
