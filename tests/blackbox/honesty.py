"""A small session with an honest summary, and the people around it: authors, auditors, pruners.

The desk holds a user's request, a call with its result, the model's conclusion, and a message that
stays. `HONEST` and `TEXT` are a summary of the first four that no rule can object to; a check
changes one thing in it. Principals: worker-1 records, author-1 writes, auditor-N audit, pruner-1
prunes; everybody reads first what he speaks about, unless the check is about that.
"""

import re

from contract import need, ok, short
from shapes import span, tool_call, tool_result, withheld

CODES = set(
    "unsourced_claim unknown_source source_not_primary source_unrecoverable origin_upgraded"
    " hedge_dropped anchor_not_in_source disconfirming_removed self_audited"
    " auditor_without_evidence author_without_evidence reserve_breached summary_grew"
    " empty_summary".split()
)
# Words by which a reader sees that something is not a fact.
DOUBT = re.compile(r"hedged|think|thought|guess|believ|not sure|unsure|uncertain", re.I)
COVERS = ["u", "c", "t", "m"]
LOG = "".join(f"09:14:{second:02d} import: waiting for the ledger\n" for second in range(10, 40))
DESK = (
    span("u", "Find out why the import fails. The old export on port 7001 must stay up."),
    tool_call("c", '{"name":"probe","arguments":{"target":"10.0.0.7:5432"}}'),
    tool_result("t", "c", LOG + "09:14:41 10.0.0.7:5432 refused the connection, error E4102"),
    span("m", "Rule FW-12 of the firewall blocks the import.", role="assistant", origin="model"),
    span("z", "Thanks, go on."),
)
TEXT = "The import fails: 10.0.0.7:5432 refuses connections. The export on port 7001 stays up."


def claim(text, origin, *sources):
    """A claim; a source is a span's id, or the id with a quote."""
    named = [
        {"span": each} if isinstance(each, str) else {"span": each[0], "quote": each[1]}
        for each in sources
    ]
    return {"text": text, "origin": origin, "sources": named}


HONEST = (
    claim("The export on port 7001 must stay up.", "user-said", ("u", "port 7001 must stay up")),
    claim("10.0.0.7:5432 refused the connection with error E4102.", "tool-output", "t"),
    claim("Rule FW-12 of the firewall blocks the import.", "inferred", "m"),
)


async def desk(lab, *more, window_tokens=100_000, **fields):
    """A session with the desk's spans, and more before the last."""
    session = await lab.opened(window_tokens, **fields)
    await session.add(*DESK[:-1], *more, DESK[-1])
    return session


async def lost_span(session, name="lost"):
    """A span that is recorded, out of the window, and cannot be read any more; returns its id."""
    await session.add(withheld(name))
    ok(await session("prune", spans=[name], accept_lossy=True))
    return name


async def reads(session, names, purpose="reground"):
    """Reads spans so that the journal knows it."""
    for name in names:
        ok(await session("expand", span=name, purpose=purpose))


async def summarize(session, claims=HONEST, text=TEXT, covers=COVERS, author="author-1", **more):
    """Reads what is covered and what is cited, and sends a summary. Returns the checked reply.

    `reading` names other spans to read; `id` and `command_id` go into the request.
    """
    writer = session.by(author)
    await reads(writer, more.pop("reading", covers))
    request = {"covers": list(covers), "text": text, "claims": list(claims), **more}
    return checked(ok(await writer("summarize", **request)))


def checked(reply):
    """What every reply to `summarize` has: a status, findings that say what to change, lists."""
    need(reply.get("status") in ("accepted", "needs_audit", "rejected"), f"status {short(reply)}")
    check_findings(reply)
    need(isinstance(reply.get("omitted_identifiers"), list), f"{short(reply)}")
    need(type(reply.get("attempts_left")) is int, f"attempts_left {reply.get('attempts_left')!r}")
    return reply


def check_findings(reply):
    """Findings have a code of the contract and a message."""
    need(isinstance(reply.get("findings"), list), f"findings: {short(reply)}")
    for each in reply["findings"]:
        need(each.get("code") in CODES, f"finding {short(each)}")
        need(isinstance(each.get("message"), str) and each["message"], f"no message: {short(each)}")


def codes(reply):
    """The codes of a reply's findings."""
    return {each["code"] for each in reply["findings"]}


def usable(reply):
    """A summary that was not refused. Free: needs_audit, if nobody has audited yet."""
    need(reply["status"] != "rejected", f"an honest summary is rejected: {short(reply)}")
    return reply


def raises(reply, code, status="rejected"):
    """A refused summary with this finding among others. Free: status None takes any."""
    need(code in codes(reply), f"no {code} but {codes(reply)}, status {reply['status']}")
    need(status in (None, reply["status"]), f"{code}: status is {reply['status']}")
    return reply


def free_of(reply, code):
    """An honest summary that has not this finding."""
    usable(reply)
    need(code not in codes(reply), f"{code} in an honest summary: {short(reply['findings'])}")
    return reply


async def audit(session, summary, verdict="pass", auditor="auditor-1", covers=COVERS, **more):
    """An audit by somebody who has read the raw spans. Returns the reply's body."""
    reader = session.by(auditor)
    await reads(reader, covers, "audit")
    reply = ok(await reader("audit", summary=summary, verdict=verdict, **more))
    need(reply.get("status") in ("accepted", "rejected"), f"audit: {short(reply)}")
    need(type(reply.get("version")) is int, f"audit: {short(reply)}")
    check_findings(reply)
    return reply


async def settled(session, reply, covers=COVERS):
    """Makes an honest summary usable for everybody: another one has read and passes it."""
    usable(reply)
    answer = await audit(session, reply["summary"], covers=covers)
    need(answer["status"] == "accepted", f"a proper audit is not accepted: {short(answer)}")
    return reply["summary"]


async def replace(session, summary, spans=COVERS, by="pruner-1", **fields):
    """A prune that puts the summary in the place of the spans."""
    return await session.by(by)("prune", spans=list(spans), replace_with=summary, **fields)
