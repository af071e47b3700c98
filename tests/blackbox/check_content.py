"""What a span carries: bytes that come back as they were, optional fields, external bodies."""

import base64

from contract import TIME, blake3, check, executed, need, ok, refused, rejected, short
from provider import check_renders
from shapes import body_of, shown_ids, span


@check
async def append_exactly_one_body(lab):
    """A span has exactly one of content, content_b64, upload, withheld and external."""
    session = await lab.opened()
    unstored = {"digest": blake3(b"z"), "bytes": 1, "reason": "secret"}
    for bad in (
        {},
        {"content": "x", "content_b64": "eA=="},
        {"content": "x", "withheld": unstored},
        {"upload": "u", "withheld": unstored},
    ):
        refused(
            await session("append", spans=[{"id": "a", "role": "user", "origin": "user", **bad}]),
            "bad_request",
        )
    need(shown_ids(await session.window()) == [], "something was recorded")


@check
async def append_bytes_come_back_identical(lab):
    """Expand gives back exactly the bytes that were appended, before and after a prune."""
    session = await lab.opened()
    texts = {
        "crlf": "a\r\nb\tc\r",
        "nul": "a\u0000b",
        "uni": "e\u0301 é 𝔘 \u202e \ufeff \U0001f9d1\u200d\U0001f680",
        "ws": "  \n ",
        "json": '{"a":"\\u0000\\\\"}',
    }
    await session.add(*[span(name, text) for name, text in texts.items()])
    for pruned in (False, True):
        for name, text in texts.items():
            reply = ok(await session("expand", span=name))
            need(body_of(reply) == text.encode(), f"{name}: {body_of(reply)!r}")
            need(reply["bytes"] == len(text.encode()), f"{name}: bytes {reply['bytes']}")
        if not pruned:
            executed(await session("prune", spans=list(texts)), "reversible")


@check
async def append_binary(lab):
    """Base64 content is kept as its bytes: digest, whole read and slice."""
    session = await lab.opened()
    data = bytes(range(256)) * 3
    reply = await session.add(
        {
            "id": "bin",
            "role": "user",
            "origin": "user",
            "kind": "file",
            "media_type": "application/octet-stream",
            "content_b64": base64.b64encode(data).decode(),
        }
    )
    need(reply["spans"][0]["digest"] == blake3(data), "digest of decoded bytes")
    expanded = ok(await session("expand", span="bin"))
    need(expanded.get("content_b64") and body_of(expanded) == data, f"{short(expanded)}")
    need(
        body_of(ok(await session("expand", span="bin", offset=100, limit=50))) == data[100:150],
        "binary slice",
    )
    for form in (None, "text"):
        await session.window(**({"render": form} if form else {}))
    await check_renders(session)


@check
async def append_empty_content(lab):
    """Empty content is either refused or comes back empty."""
    session = await lab.opened()
    # Free: accepted or bad_request.
    answer = await session("append", spans=[span("e", "")])
    if answer.code:
        refused(answer, "bad_request")
    else:
        need(body_of(ok(await session("expand", span="e"))) == b"", "empty content")
        await check_renders(session)


@check
async def append_optional_fields(lab):
    """Every optional span field and kind of the contract is accepted."""
    session = await lab.opened()
    await session.add(
        span(
            "u",
            kind="message",
            hedged=True,
            turn=1,
            labels={"k": "v"},
            media_type="text/markdown",
            source={
                "format": "openai-chat",
                "id": "m1",
                "parent": "m0",
                "time": "2026-01-01T00:00:00.000Z",
            },
        )
    )
    await session.add(
        *[
            span(f"k{number}", kind=kind, origin=origin, role=role)
            for number, (kind, origin, role) in enumerate(
                (
                    ("thinking", "model", "assistant"),
                    ("note", "harness", "developer"),
                    ("constraint", "system", "system"),
                )
            )
        ]
    )
    await session.add(span("u2", supersedes="u"), span("u3", contradicts=["u"]))
    reply = ok(await session("expand", span="u"))
    need(
        reply["hedged"] is True and reply["kind"] == "message" and TIME.match(reply["recorded_at"]),
        f"{short(reply)}",
    )


@check
async def append_external_without_store(lab):
    """An external span whose store is unknown is never reversible."""
    session = await lab.opened()
    bodiless = span("x")
    del bodiless["content"]
    # Free: refused, or accepted and then not reversible.
    answer = await session(
        "append",
        spans=[
            {
                **bodiless,
                "external": {"store": "none-such", "key": "k", "digest": blake3(b"k"), "bytes": 1},
            }
        ],
    )
    if not answer.code:
        rejected(await session("prune", spans=["x"]), "not_reversible")
        executed(await session("prune", spans=["x"], accept_lossy=True), "lossy")
