"""Receipts: what the model was shown can be shown again, and what was sent instead is on record."""

import json

from contract import blake3, check, executed, need, ok, refused, short
from shapes import span, tool_call, tool_result


def canonical(value):
    """JSON with sorted keys and without white space."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sent(window):
    """The digest of a rendered window as a worker computes it."""
    if "text" in window:
        return blake3(window["text"].encode())
    parts = {key: window[key] for key in ("messages", "system") if key in window}
    return blake3(canonical(parts))


async def busy(lab):
    """A session with a conversation, a tool call, characters of all kinds, a stub and a tombstone."""
    session = await lab.opened()
    await session.add(
        span("sys", "Be brief.\n\tAlways.", role="system", origin="system"),
        span("u1", "Grüße \u2028 \"quoted\" \u0001 \u007f 🙂", turn=1),
        tool_call("c1", '{"name":"f","arguments":{"b":1.5,"a":[1,2.0,1e3],"n":null}}', turn=1),
        tool_result("r1", "c1", turn=1),
        span("u2", turn=1),
        span("u3", turn=1),
    )
    executed(await session("prune", spans=["u2"]), "reversible")
    return session


@check
async def what_was_sent_is_what_was_shown(lab):
    """In every form the worker's own digest is the daemon's; without a form it is found."""
    session = await busy(lab)
    at = {"version": await session.version()}
    for number, form in enumerate(("text", "openai", "anthropic")):
        digest = sent(await session.window(render=form, at=at))
        reply = ok(await session("receipt", turn=1, rendered=form, sent_digest=digest, at=at))
        need(
            reply["receipt"] == f"w{2 * number + 1}"
            and reply["window_version"] == at["version"]
            and reply["rendered"] == form
            and reply["rendered_digest"] == digest
            and reply["discrepancy"] is False,
            f"{form}: {short(reply)}",
        )
        found = ok(await session("receipt", sent_digest=digest, at={"receipt": "w1"}))
        need(found["rendered"] == form and not found["discrepancy"], f"{form}: {short(found)}")


@check
async def a_receipt_names_a_moment(lab):
    """The window of a receipt is shown again, byte for byte, whatever came after."""
    session = await busy(lab)
    shown = await session.window(render="openai")
    entries = await session.window()
    receipt = ok(await session("receipt", turn=1, rendered="openai", sent_digest=sent(shown)))
    await session.add(span("later", turn=2))
    executed(await session("prune", spans=["u1", "u3"]), "reversible")
    for at in ({"receipt": receipt["receipt"]}, {"turn": 1}):
        again = await session.window(render="openai", at=at)
        need(again["messages"] == shown["messages"], f"{at}: {short(again)}")
        need(sent(again) == receipt["rendered_digest"], f"{at}: another digest")
        then = await session.window(at=at)
        need(then["entries"] == entries["entries"], f"{at}: {short(then)}")
    digests = [entry["digest"] for entry in entries["entries"]]
    whole = blake3(b"".join(bytes.fromhex(digest) for digest in digests))
    need(
        receipt["entries_digest"] == whole and receipt["entries"] == len(digests),
        f"{short(receipt)}",
    )


@check
async def another_text_is_a_discrepancy(lab):
    """A digest of something else is recorded as a discrepancy, in the reply and in the event."""
    session = await busy(lab)
    other = blake3(b"something else")
    for fields in ({}, {"rendered": "text"}, {"rendered": "entries"}):
        reply = ok(await session("receipt", sent_digest=other, **fields))
        need(reply["discrepancy"] is True, f"{fields}: {short(reply)}")
        event = (await session.events())[-1]
        need(
            event["kind"] == "window-receipted"
            and event["discrepancy"] is True
            and event["sent_digest"] == other
            and event["version"] == reply["version"],
            f"{short(event)}",
        )


@check
async def receipts_that_are_refused(lab):
    """Unknown forms, digests that are none, moments that never were, closed sessions."""
    session = await busy(lab)
    refused(await session("receipt", rendered="html"), "bad_request")
    refused(await session("receipt", sent_digest="abc"), "bad_request")
    refused(await session("receipt", at={"version": 99}), "bad_request")
    refused(await session("receipt", at={"receipt": "w1"}), "bad_request")
    refused(await session("window", at={"receipt": "x"}), "bad_request")
    refused(await session("receipt", turn=-1), "bad_request")
    first = ok(await session("receipt", turn=1, command_id="r"))
    again = ok(await session("receipt", turn=1, command_id="r"))
    need(again.pop("duplicate") is True and again == first, f"{short(again)}")
    refused(await session("receipt", turn=2, command_id="r"), "command_id_reused")
    ok(await session("close"))
    refused(await session("receipt"), "session_closed")
