"""What disagrees stays in sight: contradictions, pinned spans, and what a summary leaves out."""

import json

from contract import check, executed, need, ok, rejected, short
from honesty import (
    COVERS,
    HONEST,
    TEXT,
    claim,
    codes,
    desk,
    free_of,
    reads,
    replace,
    settled,
    summarize,
    usable,
)
from shapes import span, tool_call, tool_result, unchanged

DENIAL = "10.0.0.7:5432 accepted the connection at 09:20."
# Free: which of the two words a prune of a disagreeing span is refused with.
PROTECTED = ("contradiction_protected", "disconfirming_removed")


async def denied(lab, **fields):
    """The desk with a span that contradicts the tool's result, by append."""
    return await desk(lab, span("d", DENIAL, **fields))


async def resolve_all(session):
    """Resolves every contradiction of the session."""
    for event in await session.events():
        if event["kind"] == "contradiction-noted":
            ok(await session("resolve", contradiction=event["contradiction"], note="looked at"))


@check
async def a_contradicted_span_goes_behind_no_summary(lab):
    """A summary may not replace one side of an open contradiction, appended or by verb."""
    session = await denied(lab)
    name = await settled(session, await summarize(session))
    ok(await session("contradict", spans=["t", "d"], note="one of them is wrong"))
    for fields in ({}, {"accept_lossy": True}, {"dry_run": True}):
        rejected(await replace(session, name, **fields), *PROTECTED)
    await resolve_all(session)
    executed(await replace(session, name), "reversible")

    session = await denied(lab, contradicts=["t"])
    reply = await summarize(session)
    # Free: noticed when the summary covers one side, or when it is used.
    if reply["status"] == "rejected":
        need("disconfirming_removed" in codes(reply), f"{short(reply)}")
    else:
        name = await settled(session, reply)
        rejected(await replace(session, name), *PROTECTED)
    await resolve_all(session)
    name = await settled(session, await summarize(session))
    executed(await replace(session, name), "reversible")


@check
async def finding_disconfirming_removed(lab):
    """A summary that takes both sides of an open contradiction away is refused, here or there."""
    covers = [*COVERS, "d"]
    session = await denied(lab, contradicts=["t"])
    reply = await summarize(session, covers=covers)
    if reply["status"] == "rejected":
        need("disconfirming_removed" in codes(reply), f"{short(reply)}")
    else:
        # Free: the summary is written down, but its prune is refused.
        name = await settled(session, reply, covers)
        answer = rejected(await replace(session, name, covers), *PROTECTED)
        lab.note(f"both sides were covered; the prune says {answer['reason']}")
    await resolve_all(session)
    reply = free_of(await summarize(session, covers=covers), "disconfirming_removed")
    name = await settled(session, reply, covers)
    executed(await replace(session, name, covers), "reversible")


@check
async def the_last_disconfirming_span_stays(lab):
    """A prune that leaves a summary without a disconfirming span is refused and names the spans."""
    session = await denied(lab)
    name = await settled(session, await summarize(session, id="S"))
    executed(await replace(session, name), "reversible")
    ok(await session("contradict", spans=["S", "d"], note="the summary says refused"))
    for spans, fields in ((["d"], {}), (["d", "z"], {}), (["d"], {"accept_lossy": True})):
        before = (await session.window())["entries"]
        answer = rejected(await session("prune", spans=spans, **fields), *PROTECTED)
        need('"d"' in json.dumps(answer), f"the span is not named: {short(answer)}")
        need((await session.window())["entries"] == before, "the window changed")
    await resolve_all(session)
    executed(await session("prune", spans=["d"]), "reversible")


@check
async def a_span_that_denies_a_pruned_source_stays(lab):
    """A contradiction with a span behind a summary protects the side that is still in sight."""
    session = await desk(lab)
    name = await settled(session, await summarize(session, id="S"))
    executed(await replace(session, name), "reversible")
    await session.add(span("d", DENIAL, contradicts=["t"]))
    rejected(await session("prune", spans=["d"]), *PROTECTED)
    await resolve_all(session)
    executed(await session("prune", spans=["d"]), "reversible")


@check
async def one_resolved_of_two_still_protects(lab):
    """Each contradiction stands for itself, for summaries as for drops."""
    session = await desk(lab, span("d", DENIAL), span("e", "5432 was open at 09:21."))
    name = await settled(session, await summarize(session))
    first = ok(await session("contradict", spans=["t", "d"]))["contradiction"]
    second = ok(await session("contradict", spans=["t", "e"]))["contradiction"]
    for contradiction in (first, second):
        rejected(await replace(session, name), *PROTECTED)
        ok(await session("resolve", contradiction=contradiction, note="clock was wrong"))
    executed(await replace(session, name), "reversible")


@check
async def a_pinned_span_goes_behind_no_summary(lab):
    """A pinned span is replaced by nothing, whether or not a summary covers it."""
    session = await desk(lab, span("rule", "Never touch 10.0.0.7 by hand. " * 9, pinned=True))
    covers = [*COVERS, "rule"]
    reply = await summarize(session, covers=covers)
    # Free: a summary that covers a pinned span may be refused at once.
    if reply["status"] != "rejected":
        name = await settled(session, reply, covers)
        for spans in (covers, ["rule"]):
            for fields in ({}, {"accept_lossy": True}):
                rejected(await replace(session, name, spans, **fields), "pinned")
        executed(await replace(session, name), "reversible")
    session = await desk(lab, span("rule", "Never touch 10.0.0.7 by hand.", pinned=True))
    name = await settled(session, await summarize(session))
    executed(await replace(session, name), "reversible")


@check
async def a_call_goes_behind_a_summary_with_its_result(lab):
    """A summary does not allow what a drop does not: a call leaves only with its results."""
    session = await desk(lab)
    name = await settled(session, await summarize(session))
    rejected(await replace(session, name, ["u", "c", "m"]), "would_orphan")
    executed(await replace(session, name), "reversible")


KEPT = "req_01HX9Q7ZP4"
LEFT_OUT = (
    "7d1f0c9e-5a2b-4f1c-8b35-02e6a7d94c10",
    "/var/lib/ledger/cut-0417.db",
    "https://ledger.example/v2/cuts",
    "ops@ledger.example",
    "ERR_LEDGER_LOCKED",
)


@check
async def omitted_identifiers_are_listed(lab):
    """Identifiers of covered spans that neither text nor claims hold are listed with their span."""
    lines = "".join(f"cut: seen {each}\n" for each in (*LEFT_OUT, KEPT, "/etc/kept.toml"))
    session = await desk(lab, tool_call("c2"), tool_result("t2", "c2", lines))
    covers = [*COVERS, "c2", "t2"]
    kept = claim(f"The cut saw {KEPT}.", "tool-output", "t2")
    text = TEXT + " The cut saw /etc/kept.toml."
    reply = usable(await summarize(session, [*HONEST, kept], text, covers))
    listed = {each["text"]: each["span"] for each in reply["omitted_identifiers"]}
    # Free: an identifier may stand in a longer text, a path in its URL, say.
    for identifier in LEFT_OUT:
        where = [name for text, name in listed.items() if identifier in text]
        need(where and set(where) == {"t2"}, f"{identifier} is not listed: {short(listed)}")
    for identifier in (KEPT, "/etc/kept.toml", "10.0.0.7:5432"):
        need(identifier not in listed, f"{identifier} is kept, but listed as omitted")


@check
async def nothing_omitted_from_a_full_summary(lab):
    """A summary that keeps every identifier lists none; a span that is not covered has no part."""
    session = await lab.opened()
    log = "the import waits\n" * 40
    await session.add(
        tool_call("c", '{"name":"probe"}'),
        tool_result("t", "c", log + "code ERR_NO_ROUTE"),
        span("z", "Look at ERR_OTHER_CASE next."),
    )
    claims = [claim("The probe ended with code ERR_NO_ROUTE.", "tool-output", "t")]
    reply = usable(await summarize(session, claims, "Ended in ERR_NO_ROUTE.", ["c", "t"]))
    listed = [each["text"] for each in reply["omitted_identifiers"]]
    need(not any("ERR_" in each for each in listed), f"{short(listed)}")


async def behind_a_summary(lab):
    """The desk's four spans behind an accepted summary S, and more log to summarise."""
    session = await desk(lab)
    executed(
        await replace(session, await settled(session, await summarize(session, id="S"))),
        "reversible",
    )
    more = "09:30:00 import: rule FW-12 was lifted, 312 rows came through\n"
    await session.add(tool_call("c2"), tool_result("t2", "c2", more * 9))
    return session


@check
async def a_summary_of_a_summary_goes_back_to_primaries(lab):
    """A second summary cites the spans behind the first; its depth is recorded."""
    session = await behind_a_summary(lab)
    covers = ["S", "c2", "t2"]
    claims = [
        *HONEST[:2],
        claim("312 rows came through after rule FW-12 was lifted.", "tool-output", "t2"),
    ]
    text = "First 10.0.0.7:5432 refused; later 312 rows came through. Port 7001 stays up."
    reading = [*covers, *COVERS]
    reply = usable(await summarize(session, claims, text, covers, reading=reading, id="S2"))
    need(
        not codes(reply) & {"source_not_primary", "unknown_source", "source_unrecoverable"},
        f"{short(reply['findings'])}",
    )
    name = await settled(session, reply, [*covers, *COVERS])
    executed(await replace(session, name, covers), "reversible")
    recorded = [each for each in await session.events() if each["kind"] == "summary-recorded"]
    depths = [each.get("depth") for each in recorded]
    # Free: where the depth is shown and from which number it counts; reading the primaries
    # again may have reset it.
    if None in depths:
        lab.note("summary-recorded shows no depth")
    else:
        need(all(type(each) is int for each in depths), f"depths {depths}")
    for each in COVERS:
        reply = ok(await session("expand", span=each))
        need(reply["outcome"] == "recoverable", f"{each} behind two summaries: {short(reply)}")


@check
async def a_second_author_reads_the_first_summary_too(lab):
    """Who has not read what a summary of summaries covers is refused."""
    session = await behind_a_summary(lab)
    claims = [claim("312 rows came through.", "tool-output", "t2")]
    reply = await summarize(session, claims, "312 rows.", ["S", "c2", "t2"], reading=["S", "c2"])
    need("author_without_evidence" in codes(reply), f"{short(reply)}")
    need(reply["status"] == "rejected", f"{short(reply)}")


@check
async def reading_is_recorded_but_changes_no_window(lab):
    """Reads for a summary are events; the window stays as it is."""
    session = await desk(lab)
    before = (await session.window())["entries"]
    await reads(session.by("author-1"), COVERS)
    need((await session.window())["entries"] == before, "a read changed the window")

    async def act():
        ok(await session.by("author-1")("expand", span="u"))

    await unchanged(session, act)
