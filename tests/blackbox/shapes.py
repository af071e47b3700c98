"""Spans to append, and what replies must look like: windows, budgets, prunes."""

import base64
import json

from contract import blake3, need, ok, refused, short

# ---------------------------------------------------------------- spans to append


def span(name, content=None, **fields):
    """A user's message; a field that is None is left out."""
    text = f"contents of {name}" if content is None else content
    whole = {"id": name, "role": "user", "origin": "user", "content": text, **fields}
    return {key: value for key, value in whole.items() if value is not None}


def tool_call(name, content='{"name":"grep","arguments":{"q":"x"}}', **fields):
    """A tool call of the model."""
    return span(name, content, role="assistant", origin="model", kind="tool_call", **fields)


def tool_result(name, call, content="3 matches", **fields):
    """The result that answers a tool call."""
    return span(
        name, content, role="tool", origin="tool", kind="tool_result", answers=call, **fields
    )


def without_content(whole, **instead):
    """The same span with something else in place of its content."""
    return {key: value for key, value in whole.items() if key != "content"} | instead


def withheld(name, **fields):
    """A span whose content is never stored: the digest of nine times its name."""
    body = {"digest": blake3(name.encode() * 9), "bytes": 9 * len(name), "reason": "secret"}
    return without_content(span(name, **fields), withheld=body)


def from_upload(name, upload):
    """A file whose content was uploaded before."""
    return without_content(span(name, kind="file"), upload=upload)


async def upload(session, data, declared=None, close=True):
    """Uploads bytes in chunks of the size that the daemon names; returns the upload's id."""
    size = len(data) if declared is None else declared
    opened = ok(await session("put-open", bytes=size))
    step = opened["chunk_bytes"]
    need(type(step) is int and step > 0 and opened["upload"], f"put-open: {short(opened)}")
    max_payload = session.lab.connection.max_payload
    need(
        step * 4 // 3 < max_payload,
        f"a chunk of {step} bytes does not fit max_payload {max_payload} as base64",
    )
    for offset in range(0, len(data), step):
        chunk = base64.b64encode(data[offset : offset + step]).decode()
        reply = ok(
            await session("put-chunk", upload=opened["upload"], offset=offset, data_b64=chunk)
        )
        need(type(reply["received"]) is int, f"put-chunk: {reply}")
    if close:
        closed = ok(await session("put-close", upload=opened["upload"], digest=blake3(data)))
        need(closed["digest"] == blake3(data), "put-close digest")
    return opened["upload"]


# ---------------------------------------------------------------- reading replies


def tombstone_of(name):
    """The tombstone's exact text."""
    return f"{name}: pruned, unrecoverable, contents unknown"


def by_id(reply):
    """The spans of a reply by their ids."""
    return {each["id"]: each for each in reply["spans"]}


def ids_of(entry):
    """The spans that a window entry stands for."""
    if entry["kind"] in ("span", "tombstone") and entry.get("id"):
        return [entry["id"]]
    listed = entry.get("spans") or ([entry["id"]] if entry.get("id") else [])
    return [each if isinstance(each, str) else each["id"] for each in listed]


def shown_ids(window):
    """Every span that the window's entries stand for, in order."""
    return [name for entry in window["entries"] for name in ids_of(entry)]


def kinds_and_ids(window):
    """The window as pairs: the entry's kind and the spans that it stands for."""
    return [(entry["kind"], ids_of(entry)) for entry in window["entries"]]


def entry_of(window, name):
    """The one entry that a span (or a summary) has in the window."""
    found = [e for e in window["entries"] if name in ids_of(e) or e.get("id") == name]
    need(len(found) == 1, f"{name} stands in {len(found)} window entries")
    return found[0]


def body_of(reply):
    """The content of a reply or a window entry as bytes; None if it carries none."""
    if reply.get("content_b64") is not None:
        return base64.b64decode(reply["content_b64"])
    # Free: an entry carries content or text.
    text = reply.get("content") if reply.get("content") is not None else reply.get("text")
    if text is None:
        return None
    return text.encode() if isinstance(text, str) else json.dumps(text).encode()


async def read_all(session, limit=200_000, **target):
    """A span's whole content, read in pieces."""
    content, total = b"", None
    while total is None or len(content) < total:
        reply = ok(await session("expand", offset=len(content), limit=limit, **target))
        need(
            reply["outcome"] in ("live", "recoverable", "scheduled"),
            f"expand: {short(reply)}",
        )
        piece, total = body_of(reply), reply.get("total_bytes", reply.get("bytes"))
        need(total is not None, "a partial read names neither total_bytes nor bytes")
        need(piece or len(content) >= total, f"an empty read at {len(content)} of {total}")
        need(len(piece) <= limit, f"{len(piece)} bytes for a limit of {limit}")
        content += piece
    return content


async def unchanged(session, act):
    """Runs `act`, which must leave version, window and history as they were."""
    window, events = await session.window(), await session.events()
    result = await act()
    need(await session.window() == window, "the window changed")
    need(await session.events() == events, "history changed")
    return result


async def refused_and_unchanged(session, verb, *codes, **fields):
    """One refused request that must leave the session as it was."""

    async def act():
        return refused(await session(verb, **fields), *codes)

    return await unchanged(session, act)


async def summarised(session, covers, text=None, name=None, claims=None, author="author-1"):
    """An accepted summary by another principal than the pruner.

    The author reads the spans again first (author_without_evidence).
    Free: `needs_audit` is settled by a third principal, who has read the raw spans.
    """
    writer, auditor = session.by(author), session.by("auditor-1")
    for each in covers:
        ok(await writer("expand", span=each, purpose="reground"))
    request = {
        "covers": covers,
        "text": text or "Summary: the grep found 3 matches.",
        "claims": claims
        or [
            {
                "text": "3 matches",
                "origin": "tool-output",
                "sources": [{"span": covers[-1], "quote": "3 matches"}],
            }
        ],
    }
    if name:
        request["id"] = name
    reply = ok(await writer("summarize", **request))
    need(
        reply["status"] in ("accepted", "needs_audit"),
        f"summary {reply['status']}: {short(reply.get('findings'))}",
    )
    if reply["status"] == "needs_audit":
        for each in covers:
            ok(await auditor("expand", span=each, purpose="audit"))
        ok(await auditor("audit", summary=reply["summary"], verdict="pass"))
    return reply


# ---------------------------------------------------------------- shapes


def check_evidence(reply):
    """Evidence names the journal, the version, the head and how many spans were recorded."""
    evidence = reply.get("evidence") or {}
    for key in ("journal", "version", "head", "spans_recorded"):
        need(key in evidence, f"evidence lacks {key}: {short(evidence)}")
    return evidence


def check_budget(budget, window=100_000, ratio=0.15):
    """A budget is whole numbers, and `over` is what its definition says."""
    for key in ("window_tokens", "reserve_tokens", "used_tokens", "free_tokens"):
        need(type(budget.get(key)) is int, f"budget.{key} is {budget.get(key)!r}")
    need(
        budget["window_tokens"] == window,
        f"budget.window_tokens {budget['window_tokens']} != {window}",
    )
    need(
        abs(budget["reserve_tokens"] - window * ratio) <= 1,
        f"reserve_tokens {budget['reserve_tokens']} is not {ratio} of {window}",
    )
    over = budget["used_tokens"] > budget["window_tokens"] - budget["reserve_tokens"]
    need(budget["over"] is over, f"budget.over is wrong: {budget}")
    return budget


def check_versions(events):
    """Versions run from 1 without gaps, and seq only grows."""
    versions = [event["version"] for event in events]
    need(
        versions == list(range(1, len(events) + 1)),
        f"versions have gaps or do not start at 1: {versions[:20]}",
    )
    numbers = [event["seq"] for event in events]
    need(numbers == sorted(set(numbers)), "seq is not strictly increasing in history")


def check_prune(reply, wanted, status="reversible"):
    """An executed prune has a verdict with its proof for every span, a cost and a budget."""
    need(
        reply["status"] == status and reply.get("directive") and type(reply["version"]) is int,
        f"prune: {short(reply)}",
    )
    need(
        sorted(each["id"] for each in reply["spans"]) == sorted(wanted),
        f"spans {short(reply['spans'])}",
    )
    need(type(reply["freed_tokens"]) is int, f"freed_tokens {reply.get('freed_tokens')!r}")
    for key in ("prefix_kept_tokens", "prefix_rewritten_tokens"):
        need(type(reply["cost"][key]) is int, f"cost.{key}")
    need(isinstance(reply["cost"]["thinking_invalidated"], list), "cost.thinking_invalidated")
    check_budget(reply["budget"], reply["budget"]["window_tokens"])
    conditions = ("existence", "addressability", "provenance")
    for each in reply["spans"]:
        proof = each["check"]
        need(all(type(proof[key]) is bool for key in conditions), f"check {proof}")
        holds = all(proof[key] for key in conditions)
        need(holds or proof.get("why"), f"a failed check without why: {proof}")
        need(
            each["status"] != "reversible" or (holds and each.get("handle")),
            f"reversible without proof or handle: {each}",
        )
        need(
            each["status"] != "lossy"
            or (not holds and each.get("tombstone") == tombstone_of(each["id"])),
            f"lossy: {each}",
        )
