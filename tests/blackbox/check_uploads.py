"""Uploads: content larger than a message."""

import base64
import json
import re
import secrets

from contract import blake3, check, executed, need, ok, refused, short
from shapes import body_of, from_upload, read_all, shown_ids, span, upload


@check
async def upload_larger_than_max_payload(lab):
    """Content above max_payload goes up in chunks and comes back in pieces, also after a prune."""
    session = await lab.opened(10**7)
    data = (secrets.token_hex(32) + "é\n").encode() * (lab.connection.max_payload // 66 + 3000)
    uploaded = await upload(session, data)
    reply = await session.add(from_upload("f", uploaded))
    need(reply["spans"][0]["digest"] == blake3(data), "digest")
    need(await read_all(session, span="f") == data, "pieces differ from what was uploaded")
    # Free: a reply that cannot fit is a first part or a clean error, never silence.
    answer = await session("expand", span="f")
    if answer.code:
        refused(answer, "too_large", "bad_request")
    else:
        need(
            data.startswith(body_of(answer.body) or b"-")
            and answer.body.get("total_bytes", answer.body.get("bytes")) == len(data),
            "a shortened reply must say so",
        )
    executed(await session("prune", spans=["f"]), "reversible")
    need(await read_all(session, handle=reply["spans"][0]["handle"]) == data, "after the prune")
    await session.window(content=False)
    for form in ({}, {"render": "text"}, {"render": "openai"}):
        await session("window", **form)


@check
async def upload_small_and_repeated_chunk(lab):
    """A chunk may be sent again."""
    session = await lab.opened()
    uploaded = await upload(session, b"hello upload", close=False)
    ok(
        await session(
            "put-chunk",
            upload=uploaded,
            offset=0,
            data_b64=base64.b64encode(b"hello upload").decode(),
        )
    )
    ok(await session("put-close", upload=uploaded, digest=blake3(b"hello upload")))
    await session.add(from_upload("f", uploaded))
    need(body_of(ok(await session("expand", span="f"))) == b"hello upload", "content")


@check
async def upload_wrong_digest(lab):
    """A digest that does not match is bad_request, and the upload cannot be used."""
    session = await lab.opened()
    uploaded = await upload(session, b"abc", close=False)
    refused(await session("put-close", upload=uploaded, digest=blake3(b"abd")), "bad_request")
    refused(await session("append", spans=[from_upload("f", uploaded)]))
    need(shown_ids(await session.window()) == [], "recorded")


@check
async def upload_incomplete_or_out_of_bounds(lab):
    """An upload with missing bytes cannot be closed; chunks outside its size are refused."""
    session = await lab.opened()
    uploaded = await upload(session, b"abc", declared=10, close=False)
    refused(await session("put-close", upload=uploaded, digest=blake3(b"abc")))
    uploaded = ok(await session("put-open", bytes=4))["upload"]
    chunk = base64.b64encode(b"abcdefgh").decode()
    for offset in (0, 3, 2**40, 2**63):
        refused(await session("put-chunk", upload=uploaded, offset=offset, data_b64=chunk))
    refused(await session("put-chunk", upload=uploaded, offset=-1, data_b64=chunk), "bad_request")
    refused(await session("put-chunk", upload=uploaded, offset=0, data_b64="%%"), "bad_request")


@check
async def upload_unknown_or_open(lab):
    """Unknown uploads and uploads that are still open are refused."""
    session = await lab.opened()
    refused(await session("append", spans=[from_upload("f", "none-such")]))
    refused(await session("put-chunk", upload="none-such", offset=0, data_b64="eA=="))
    refused(await session("put-close", upload="none-such", digest=blake3(b"")))
    uploaded = await upload(session, b"abc", close=False)
    refused(await session("append", spans=[from_upload("f", uploaded)]))
    need(shown_ids(await session.window()) == [], "an upload that was not closed was recorded")


@check
async def upload_limits(lab):
    """64 MiB is a span's limit, named in the refusal; reserving without sending does no harm."""
    session = await lab.opened()
    error = refused(await session("put-open", bytes=64 * 2**20 + 1), "too_large")
    need(
        re.search(r"64|67[ ,_.]?108[ ,_.]?864", json.dumps(error)),
        f"the refusal does not name its limit: {short(error)}",
    )
    for bad in (-1, "9", 1.5, None):
        refused(await session("put-open", bytes=bad), "bad_request")
    refused(await session("put-open", bytes=2**63), "too_large", "bad_request")
    for _ in range(40):
        await session("put-open", bytes=64 * 2**20)
    await lab.alive()


@check
async def upload_belongs_to_its_session(lab):
    """An upload of one session is unknown in another, and stays usable in its own."""
    session, other = await lab.opened(), await lab.opened()
    uploaded = await upload(session, b"mine")
    refused(await other("append", spans=[from_upload("f", uploaded)]))
    refused(await other("put-chunk", upload=uploaded, offset=0, data_b64="eHh4eA=="))
    refused(await other("put-close", upload=uploaded, digest=blake3(b"mine")))
    need(shown_ids(await other.window()) == [], "another session's upload was recorded")
    await session.add(from_upload("f", uploaded))
    need(body_of(ok(await session("expand", span="f"))) == b"mine", "content")


@check
async def upload_survives_a_refused_append(lab):
    """An append that is refused leaves its upload for the next one."""
    session = await lab.opened()
    await session.add(span("taken"))
    uploaded = await upload(session, b"kept")
    refused(
        await session("append", spans=[from_upload("f", uploaded), span("taken", "other")]),
        "span_conflict",
    )
    await session.add(from_upload("f", uploaded))
    need(body_of(ok(await session("expand", span="f"))) == b"kept", "content")


@check
async def upload_is_closed_for_good(lab):
    """A closed upload takes no more bytes: its digest vouches for what is recorded."""
    session = await lab.opened()
    uploaded = await upload(session, b"good")
    # Free: refused, or ignored; the content stays what the digest says.
    await session("put-chunk", upload=uploaded, offset=0, data_b64="ZXZpbA==")
    reply = await session.add(from_upload("f", uploaded))
    need(reply["spans"][0]["digest"] == blake3(b"good"), "digest")
    need(body_of(ok(await session("expand", span="f"))) == b"good", "content")


@check
async def upload_with_holes_is_never_closed(lab):
    """Bytes that were never sent are not zeros: such an upload cannot be closed."""
    session = await lab.opened()
    uploaded = ok(await session("put-open", bytes=6))["upload"]
    # Free: chunks out of order are refused or kept.
    await session("put-chunk", upload=uploaded, offset=3, data_b64="ZGVm")
    refused(await session("put-close", upload=uploaded, digest=blake3(b"\0\0\0def")))


@check
async def upload_append_is_retried_safely(lab):
    """An append of an upload, sent again with its command_id, gives the first reply."""
    session = await lab.opened()
    uploaded = await upload(session, b"once")
    request = {"spans": [from_upload("f", uploaded)], "command_id": "put"}
    first = ok(await session("append", **request))
    again = ok(await session("append", **request))
    need(again.pop("duplicate", None) is True and again == first, f"{short(again)}")
    again = await upload(session, b"once")
    reply = await session.add(from_upload("f", again))
    need(reply["spans"][0].get("duplicate") is True or reply.get("duplicate"), f"{short(reply)}")
    refused(
        await session("append", spans=[from_upload("f", await upload(session, b"twice"))]),
        "span_conflict",
    )
