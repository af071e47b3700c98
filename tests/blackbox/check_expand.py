"""Expand: typed answers about one span, byte-identical content, handles."""

import json
import re

from contract import blake3, check, executed, need, ok, refused, short
from shapes import body_of, check_evidence, check_versions, read_all, span, withheld


@check
async def expand_live_and_recoverable(lab):
    """A span reads the same live and pruned, by id and by handle."""
    session = await lab.opened()
    appended = (await session.add(span("a", "hello", tokens=7)))["spans"][0]
    for state in ("live", "recoverable"):
        for fields in ({"span": "a"}, {"handle": appended["handle"]}):
            reply = ok(await session("expand", **fields))
            need(reply["outcome"] == state and body_of(reply) == b"hello", f"{short(reply)}")
            check_evidence(reply)
            for key, value in (
                ("span", "a"),
                ("handle", appended["handle"]),
                ("digest", appended["digest"]),
                ("bytes", 5),
                ("tokens", 7),
                ("role", "user"),
                ("origin", "user"),
                ("kind", "message"),
            ):
                need(reply.get(key) == value, f"{key}: {reply.get(key)!r}")
        if state == "live":
            executed(await session("prune", spans=["a"]), "reversible")


@check
async def expand_never_recorded(lab):
    """What was never recorded is answered as such, with evidence, and only within its session."""
    session = await lab.opened()
    await session.add(span("a"), span("b"))
    for fields in ({"span": "nope"}, {"handle": "nope@deadbeef"}):
        reply = ok(await session("expand", **fields))
        need(reply["outcome"] == "never_recorded", f"{short(reply)}")
        evidence = check_evidence(reply)
        need(
            evidence["spans_recorded"] >= 2 and evidence["version"] == await session.version(),
            f"{short(evidence)}",
        )
        need(body_of(reply) is None, "content for nothing")
    other = lab.session()
    ok(await other("open", window_tokens=10))
    need(
        ok(await other("expand", span="a"))["outcome"] == "never_recorded", "another session's span"
    )
    await session.add(span("nope"))
    need(ok(await session("expand", span="nope"))["outcome"] == "live", "recorded since")


@check
async def expand_handle_mismatch(lab):
    """A known id with another digest is handle_mismatch; malformed handles get a typed answer."""
    session = await lab.opened()
    handle = (await session.add(span("a")))["spans"][0]["handle"]
    digest = handle.split("@")[1]
    refused(
        await session("expand", handle="a@" + ("0" if digest[0] != "0" else "1") + digest[1:]),
        "handle_mismatch",
    )
    executed(await session("prune", spans=["a"]), "reversible")
    refused(
        await session("expand", handle="a@" + digest[:-1] + ("0" if digest[-1] != "0" else "1")),
        "handle_mismatch",
    )
    # Free: a malformed handle is an error or names nothing.
    for odd in (
        "a",
        "a@",
        "@" + digest,
        "@",
        "",
        "a@zz",
        "a@" + digest + "@",
        "a@" + "0" * 5000,
        "\u0000",
        "../../etc/passwd@00",
    ):
        answer = await session("expand", handle=odd)
        need(
            answer.code in ("bad_request", "handle_mismatch")
            or answer.body.get("outcome") in ("never_recorded", "recoverable"),
            f"{odd[:20]!r}: {answer}",
        )


@check
async def expand_directive_handle(lab):
    """A directive's id is a handle that lists its spans."""
    session = await lab.opened()
    await session.add(span("a"), withheld("x"), span("b"))
    pruned = executed(await session("prune", spans=["a", "x"], accept_lossy=True), "mixed")
    listing = ok(await session("expand", handle=pruned["directive"]))
    need(listing.get("outcome") != "never_recorded", f"{short(listing)}")
    check_evidence(listing)
    # Free: in which field they are listed.
    listed = re.sub(r"@[0-9a-f]+", "", json.dumps(listing))
    need(
        '"a"' in listed and '"x"' in listed and '"b"' not in listed,
        f"a directive lists its spans: {listed}",
    )


@check
async def expand_offset_limit(lab):
    """offset and limit slice bytes; the slices add up to the content."""
    session = await lab.opened()
    text = "".join(chr(97 + n % 26) for n in range(10_000))
    await session.add(span("a", text), span("u", "aé𝔘" * 500))
    for offset, count in ((0, 10), (5, 1), (9990, 10), (9990, 500), (0, 10_000)):
        reply = ok(await session("expand", span="a", offset=offset, limit=count))
        need(
            body_of(reply) == text[offset : offset + count].encode()
            and reply["total_bytes"] == 10_000
            and reply["offset"] == offset,
            f"{offset},{count}: {short(reply)}",
        )
    reply = ok(await session("expand", span="a", offset=9000))
    need(body_of(reply) == text[9000:].encode(), "offset without limit")
    need(
        await read_all(session, 1001, span="u") == ("aé𝔘" * 500).encode(),
        "pieces of multi-byte text do not add up",
    )
    for fields in ({"offset": -1}, {"limit": -1}, {"offset": "0"}, {"limit": 1.5}):
        refused(await session("expand", span="a", **fields), "bad_request")
    # Free: past the end is empty or refused.
    for fields in (
        {"offset": 10_001},
        {"offset": 2**63},
        {"limit": 0},
        {"limit": 2**63},
        {"offset": 1, "limit": 2**64 - 1},
    ):
        answer = await session("expand", span="a", **fields)
        need(
            answer.code == "bad_request"
            or text.encode().endswith(body_of(answer.body) or b"")
            or body_of(answer.body) == text[1:].encode(),
            f"{fields}: {answer}",
        )


@check
async def expand_purposes(lab):
    """Reads for audit and regrounding are recorded with the reader; others are not."""
    session = await lab.opened()
    await session.add(span("a"))
    for purpose, count in (("audit", 1), ("reground", 2)):
        ok(await session.by("auditor-9")("expand", span="a", purpose=purpose))
        reads = [event for event in await session.events() if event["kind"] == "span-read"]
        need(
            len(reads) == count
            and reads[-1]["principal"] == "auditor-9"
            and "a" in json.dumps(reads[-1]),
            f"{purpose}: {short(reads)}",
        )
    ok(await session("expand", span="a", purpose="expand"))
    refused(await session("expand", span="a", purpose="fun"), "bad_request")
    check_versions(await session.events())


@check
async def expand_withheld(lab):
    """A withheld span is known by its declared digest and has no content."""
    session = await lab.opened()
    appended = (await session.add(withheld("x")))["spans"][0]
    need(
        appended["digest"] == blake3(b"x" * 9), "the digest of a withheld span is the declared one"
    )
    reply = ok(await session("expand", span="x"))
    need(reply["outcome"] == "withheld" and body_of(reply) is None, f"{short(reply)}")
    need(reply.get("bytes", 9) == 9, "bytes")
    check_evidence(reply)


@check
async def expand_bad_requests(lab):
    """Expand takes a span or a handle."""
    session = await lab.opened()
    handle = (await session.add(span("a")))["spans"][0]["handle"]
    refused(await session("expand"), "bad_request")
    refused(await session("expand", span=5), "bad_request")
    refused(await session("expand", handle=None), "bad_request")
    # Free: with both given it is an error, or the handle counts.
    answer = await session("expand", span="a", handle=handle)
    need(answer.code == "bad_request" or answer.body.get("span") == "a", f"{answer}")
    answer = await session("expand", span="b", handle=handle)
    need(answer.code is not None or answer.body.get("span") == "a", f"{answer}")
