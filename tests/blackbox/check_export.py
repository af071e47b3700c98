"""Sessions carried into another session: what comes out is what went in, and what was changed is refused."""

import base64

from contract import check, executed, fresh, need, ok, refused, short
from officer import Office
from shapes import kinds_and_ids, span, withheld, without_content


async def exported(session):
    """Every line of a session's export, page by page."""
    lines, start, first = [], 1, None
    for _ in range(100):
        page = ok(await session("export", from_version=start, limit=3))
        first = first or page
        lines += page["events"]
        start = page["next_version"]
        if len(lines) >= page["version"]:
            break
    return first, lines


def carried(line):
    """A line of an export as adopt takes it."""
    event = {"stored": line["stored"]}
    payload = None
    if "content" in line:
        payload = line["content"].encode()
    elif "content_b64" in line:
        payload = base64.b64decode(line["content_b64"])
    if payload is not None:
        payload += base64.b64decode(line.get("claims_b64", ""))
        event["payload_b64"] = base64.b64encode(payload).decode()
    return event


async def busy(lab):
    """A session with text, bytes, a pruned span, a withheld one, and one that went for good."""
    session = await lab.opened(labels={"team": "blue"})
    await session.add(
        span("a", "Grüße, \u0001 🙂", turn=1),
        without_content(span("b"), content_b64=base64.b64encode(bytes(range(256))).decode()),
        withheld("x"),
    )
    executed(await session("prune", spans=["a"]), "reversible")
    executed(await session("prune", spans=["x"], accept_lossy=True), "lossy")
    return session


async def adopt(lab, name, head, lines):
    """Sends lines to a session of this name."""
    body = {"session": name, "journal": head["journal"], "events": lines}
    return await lab.journal("adopt", body)


@check
async def a_session_is_taken_over_whole(lab):
    """The window, the history's kinds and the export itself are the same; times are of the import."""
    session = await busy(lab)
    head, lines = await exported(session)
    copy = lab.session(fresh("copy-"))
    reply = ok(await adopt(lab, copy.name, head, [carried(line) for line in lines]))
    need(reply["adopted"] == len(lines) and reply["version"] == head["version"], f"{short(reply)}")
    there, here = await session.window(), await copy.window()
    need(here["entries"] == there["entries"] and here["budget"] == there["budget"], f"{short(here)}")
    before, after = await session.events(), await copy.events()
    need([e["kind"] for e in before] == [e["kind"] for e in after], "the kinds of the events")
    for old, new in zip(before, after):
        imported = new["imported"]
        need(
            imported["journal"] == old["journal"]
            and imported["seq"] == old["seq"]
            and imported["at"] == old["at"]
            and imported["hash"] == old["hash"]
            and new["at"] >= old["at"],
            f"{short(new)}",
        )
    _, again = await exported(copy)
    need([line["stored"] for line in again] == [line["stored"] for line in lines], "a fixed point")
    # What was taken over before may come again; nothing is new then.
    reply = ok(await adopt(lab, copy.name, head, [carried(line) for line in lines]))
    need(reply["adopted"] == 0, f"{short(reply)}")
    await copy.add(span("more"))
    need(kinds_and_ids(await copy.window())[-1] == ("span", ["more"]), "it goes on here")


@check
async def what_was_changed_on_the_way_is_refused(lab):
    """A changed byte, a changed content, a missing event, another beginning: nothing is recorded."""
    session = await busy(lab)
    head, lines = await exported(session)
    whole = [carried(line) for line in lines]
    flipped = bytearray(base64.b64decode(whole[1]["stored"]))
    flipped[-1] ^= 1
    changed = {
        "a byte of an event": [
            whole[0],
            whole[1] | {"stored": base64.b64encode(flipped).decode()},
            *whole[2:],
        ],
        "a content": [
            whole[0],
            whole[1] | {"payload_b64": base64.b64encode(b"other").decode()},
            *whole[2:],
        ],
        "a content that is missing": [whole[0], {"stored": whole[1]["stored"]}, *whole[2:]],
        "a hole": [whole[0], *whole[2:]],
        "no beginning": whole[1:],
        "no base64": [{"stored": "%%%"}],
        "no event": [{"stored": base64.b64encode(b"x" * 200).decode()}],
    }
    for what, events in changed.items():
        copy = lab.session(fresh("copy-"))
        reply = await adopt(lab, copy.name, head, events)
        refused(reply, "bad_request", "contract_violation", "version_conflict", "session_exists")
        refused(await copy("window"), "unknown_session")
        lab.note(f"{what}: {reply.body['error']['message'][:100]}")
    # Over a session that is something else.
    other = await lab.opened()
    reply = await adopt(lab, other.name, head, whole)
    refused(reply, "session_exists", "bad_request", "version_conflict")
    refused(await lab.journal("adopt", {"session": other.name, "events": whole}), "bad_request")


@check
async def half_an_import_is_not_taken_for_damage(lab):
    """A content that is gone is told by a later event: until that is here, its absence says nothing."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"))
    ok(await office("erase", session=session.name, spans=["a"], reason="asked"))
    head, lines = await exported(session)
    events = [
        carried(line) | ({"gone": line["gone"]["version"]} if "gone" in line else {})
        for line in lines
    ]
    need("gone" in events[1], f"{short(lines[1])}")
    copy = office.session(fresh("copy-"))
    ok(await adopt(office, copy.name, head, events[:3]))
    refused(await copy("expand", span="a"), "unavailable")
    entry = (await copy.window())["entries"][0]
    need(entry.get("unreadable") and "content" not in entry, f"{short(entry)}")
    need(await copy.version() == 3, "nothing was recorded")
    ok(await adopt(office, copy.name, head, events))
    answer = ok(await copy("expand", span="a"))
    need(answer["outcome"] == "lossy" and answer["cause"]["kind"] == "erasure", f"{short(answer)}")
