"""Input that nobody should send: bad JSON, bad names, bad subjects."""

import json

import nats.errors

from contract import Fail, check, fresh, need, ok, refused
from shapes import body_of, shown_ids, span, unchanged, withheld

VERBS = {
    "append": {"spans": [span("q")]},
    "prune": {"spans": ["a"]},
    "restore": {"spans": ["a"]},
    "expand": {"span": "a"},
    "window": {},
    "durability": {},
    "tombstones": {},
    "history": {},
    "close": {},
    "put-open": {"bytes": 3},
    "put-chunk": {"upload": "u", "offset": 0, "data_b64": ""},
    "put-close": {"upload": "u", "digest": "0" * 64},
    "summarize": {"covers": ["a"], "text": "t", "claims": []},
    "audit": {"summary": "a", "verdict": "pass"},
    "suggest": {"free_tokens": 5},
    "contradict": {"spans": ["a", "q"]},
    "resolve": {"contradiction": "c1", "note": "n"},
    "open": {"window_tokens": 100_000},
}


@check
async def unknown_field_is_an_error_everywhere(lab):
    """An unknown request field is bad_request in every verb."""
    session = await lab.opened()
    await session.add(span("a"))

    async def act():
        for verb, fields in VERBS.items():
            refused(await session(verb, **fields, frobnicate=1), "bad_request")
            refused(await session(verb, **fields, **{"": None}), "bad_request")

    await unchanged(session, act)


@check
async def unknown_session_everywhere(lab):
    """A verb on a session that was never opened is unknown_session."""
    for verb, fields in VERBS.items():
        if verb == "open":
            continue
        answer = await lab.session()(verb, **fields)
        # Free: expand may give its typed answer; an upload may be what is called unknown.
        need(
            answer.code == "unknown_session"
            or (verb == "expand" and answer.body.get("outcome") == "never_recorded")
            or (verb in ("put-chunk", "put-close") and answer.code == "bad_request"),
            f"{verb}: {answer}",
        )


@check
async def malformed_json(lab):
    """A body that is not one JSON object is bad_request and has no effect."""
    session = await lab.opened()
    await session.add(span("a"))

    async def act():
        for verb in VERBS:
            for raw in (
                b"{",
                b"[]",
                b'"x"',
                b"null",
                b"7",
                b"{} {}",
                b"{'a':1}",
                b'{"a":NaN}',
                b'{"spans":["a"],}',
                b"\xff\xfe",
                b"}{",
                b"\x00",
                b"{\x00}",
                b"tru",
                b'{"a',
                b"[" * 5000,
            ):
                refused(
                    await session.send(verb, raw),
                    "bad_request",
                    *(["too_large"] if len(raw) > 999 else []),
                )

    await unchanged(session, act)
    # Free: white space and a byte order mark get any clean answer.
    for raw in (b" ", b"\n", b"\xef\xbb\xbf{}", b"{}\n"):
        await session.send("tombstones", raw)
    ok(await session.send("tombstones", b""))
    refused(await lab.session().send("open", b""), "bad_request")


@check
async def deep_nesting(lab):
    """Nesting deeper than 64 is refused; in content it is only text."""
    session = await lab.opened()
    for depth in (65, 200, 5000, 100_000):
        for opening, closing in ((b'{"a":', b"}"), (b"[", b"]")):
            refused(
                await session.send(
                    "append", b'{"spans":' + opening * depth + b"1" + closing * depth + b"}"
                ),
                "bad_request",
                "too_large",
            )
            refused(
                await session.send("append", b'{"x":' + opening * depth), "bad_request", "too_large"
            )
    await lab.alive()
    await session.add(span("a", "[" * 1000 + "]" * 1000))
    need(
        body_of(ok(await session("expand", span="a"))) == b"[" * 1000 + b"]" * 1000,
        "depth is about the request, not about content",
    )


@check
async def non_utf8(lab):
    """A body that is not UTF-8 is bad_request."""
    session = await lab.opened()
    for bad in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf5\x80\x80\x80"):
        refused(
            await session.send(
                "append",
                b'{"spans":[{"id":"a","role":"user","origin":"user","content":"' + bad + b'"}]}',
            ),
            "bad_request",
        )
        refused(await session.send("tombstones", b'{"' + bad + b'":1}'), "bad_request")
    need(shown_ids(await session.window()) == [], "recorded")


@check
async def lone_surrogates(lab):
    """A lone surrogate is refused or kept, never replaced silently."""
    session = await lab.opened()
    # Free: bad_request, or it comes back as it went in.
    for number, text in enumerate(("\\ud800", "a\\udfffb", "\\udc00\\ud800")):
        raw = (
            f'{{"spans":[{{"id":"x{number}","role":"user","origin":"user",'
            f'"content":"{text}"}}]}}'
        ).encode()
        answer = await session.send("append", raw)
        if answer.code:
            refused(answer, "bad_request")
            need(
                ok(await session("expand", span=f"x{number}"))["outcome"] == "never_recorded",
                "refused and recorded",
            )
        else:
            need(
                ok(await session("expand", span=f"x{number}")).get("content")
                == json.loads(f'"{text}"'),
                "a lone surrogate was replaced silently",
            )
    ok(
        await session.send(
            "append",
            b'{"spans":[{"id":"p","role":"user","origin":"user","content":"\\ud83e\\uddd1"}]}',
        )
    )
    need(body_of(ok(await session("expand", span="p"))) == "\U0001f9d1".encode(), "a proper pair")


@check
async def nul_and_controls_in_names(lab):
    """Control characters and endless names get a clean answer."""
    session = await lab.opened()
    await session.add(span("a"))
    answer = await session("expand", span="a\u0000")
    need(
        answer.code == "bad_request" or answer.body.get("outcome") == "never_recorded", f"{answer}"
    )
    # Free: bad_request or rejected.
    for fields in (
        {"spans": ["a\u0000"]},
        {"spans": ["nope"], "reason": "\u0000\u001b[31m\r\n" * 100},
        {"spans": ["\r\nX: y"]},
        {"spans": ["x" * 100_000]},
    ):
        answer = await session("prune", **fields)
        need(answer.code == "bad_request" or answer.body.get("status") == "rejected", f"{answer}")
    await session("append", spans=[span("l", labels={"\u0000": "\u0000", "": ""})])
    ok(await session("history"))
    await session.window(render="text")


@check
async def error_headers(lab):
    """Errors have the service error headers, successes and rejections have not."""
    answer = await lab.session()("window")
    need(
        answer.code == "unknown_session"
        and str(answer.headers.get("Nats-Service-Error-Code")) == "404"
        and answer.headers.get("Nats-Service-Error"),
        f"{answer.headers}",
    )
    other = await lab.opened()
    answer = await other("open", window_tokens=1)
    need(str(answer.headers["Nats-Service-Error-Code"]) == "409", f"{answer.headers}")
    session = await lab.opened()
    answer = await session("tombstones")
    need("Nats-Service-Error-Code" not in answer.headers, "error headers on a success")
    await session.add(withheld("x"))
    answer = await session("prune", spans=["x"])
    need(
        "Nats-Service-Error-Code" not in answer.headers, "a rejected prune is a successful request"
    )


@check
async def error_headers_cannot_be_injected(lab):
    """Text of a request never becomes a header of its error."""
    session = await lab.opened()
    evil = "x\r\nEvil: 1\r\n\r\n{}"
    for verb, fields in (
        ("prune", {"spans": ["a"], evil: 1}),
        ("window", {"render": evil}),
        ("append", {"spans": [span(evil)]}),
        ("expand", {"span": "a", "purpose": evil}),
        ("append", {"spans": [span("u", upload=evil, content=None)]}),
        ("prune", {"spans": ["a"], "mode": "ÿ☃" + "m" * 90_000}),
    ):
        answer = await session(verb, **fields)
        refused(answer)
        need(
            not any(key.lower() == "evil" for key in answer.headers),
            f"{verb}: header injected: {answer.headers}",
        )


@check
async def invalid_subject_tokens(lab):
    """Tenant, principal and session tokens outside the syntax never make a session."""
    body = b'{"window_tokens":10}'
    # Free: bad_request, or nobody listens there; never a session.
    for token in (
        "a!b",
        "a$b",
        "é",
        "x" * 65,
        "*",
        ">",
        "a%00",
        "a:b",
        "a+b",
        "a/../b",
        "a.b",
    ):
        try:
            answer = await lab.raw(
                f"lacuna.v1.{lab.tenant}.worker-1.session.{token}.open", body, nobody=True
            )
        except nats.errors.Error as error:
            lab.note(f"client refuses {token!r}: {error}")
            continue
        refused(answer, "bad_request", "no_responders")
    for tenant, principal in (
        ("a!b", "p"),
        ("x" * 65, "p"),
        (lab.tenant, "p!"),
        (lab.tenant, "x" * 65),
    ):
        refused(
            await lab.raw(
                f"lacuna.v1.{tenant}.{principal}.session.{fresh()}.open", body, nobody=True
            ),
            "bad_request",
            "no_responders",
            "not_permitted",
        )
    ok(await lab.session("S_-" + fresh("z").ljust(61, "9")[:61]).send("open", body))
    ok(await lab.session(principal="P" * 64).send("open", body))
    answer = await lab.raw(f"lacuna.v1.events.worker-1.session.{fresh()}.open", body, nobody=True)
    need("opened_at" not in answer.body, "`events` is a tenant")
    if "stream" in answer.body:
        lab.note("a request under lacuna.v1.events.… was stored in the feed's stream")


@check
async def unknown_verbs(lab):
    """An unknown verb is refused or has no responder; it never hangs."""
    session = await lab.opened()
    # Free: bad_request or no responders; never a timeout.
    for verb in ("explode", "OPEN", "x" * 200, "window.extra", "put", "é"):
        refused(
            await session.send(verb, b"{}", nobody=True),
            "bad_request",
            "no_responders",
            "not_permitted",
        )
    for tail in ("journal.explode", "retention.explode", "nothing.head", "journal"):
        refused(
            await lab.raw(f"lacuna.v1.{lab.tenant}.worker-1.{tail}", b"{}", nobody=True),
            "bad_request",
            "no_responders",
            "not_permitted",
        )
    await lab.alive()


@check
async def request_without_reply_subject(lab):
    """A request that nobody waits for does no harm and has one effect at most."""
    session = await lab.opened()
    for verb, raw in (
        ("append", json.dumps({"spans": [span("quiet")], "command_id": "q1"}).encode()),
        ("window", b"{}"),
        ("prune", b"{"),
        ("explode", b""),
    ):
        await lab.connection.publish(session.subject(verb), raw)
    await lab.connection.flush()
    await lab.alive()
    # Free: the silent append was done or ignored.
    ok(await session("append", spans=[span("quiet")], command_id="q1"))
    need(shown_ids(await session.window()) == ["quiet"], "one effect at most")


@check
async def request_with_odd_headers(lab):
    """Headers of a request do not matter."""
    session = await lab.opened()
    message = await lab.connection.request(
        session.subject("tombstones"),
        b"{}",
        timeout=8,
        headers={"Nats-Msg-Id": "1", "Nats-Service-Error-Code": "500", "X": "y" * 5000},
    )
    need(json.loads(message.data).get("tombstones") == [], f"{message.data[:99]}")


@check
async def an_answer_is_sent_where_the_asker_may_hear_it_only(lab):
    """A request that wants its reply on the feed, or as another's request, is not carried out."""
    session = await lab.opened()
    await session.add(span("a"))
    before = await session.version()
    for reply in (
        f"lacuna.v1.events.{lab.tenant}.{session.name}.notice-given",
        f"lacuna.v1.{lab.tenant}.worker-2.session.{session.name}.close",
        "$SRV.PING",
    ):
        heard = await lab.connection.subscribe(reply) if reply.startswith("lacuna") else None
        body = json.dumps({"spans": [span("b")]}).encode()
        await lab.connection.publish(session.subject("append"), body, reply=reply)
        await lab.connection.flush()
        need(await session.version() == before, f"{reply}: it was carried out")
        if heard:
            try:
                message = await heard.next_msg(timeout=0.3)
                raise Fail(f"{reply}: {message.data[:100]!r}")
            except nats.errors.TimeoutError:
                await heard.unsubscribe()
