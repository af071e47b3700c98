"""Authorship and audit are separate: who wrote, who read, who passed, who may prune with it."""

import json

from contract import check, executed, need, ok, rejected, short
from honesty import (
    COVERS,
    HONEST,
    TEXT,
    audit,
    check_findings,
    checked,
    claim,
    codes,
    desk,
    free_of,
    raises,
    reads,
    replace,
    settled,
    summarize,
    usable,
)
from shapes import entry_of, unchanged

NOT_USABLE = ("summary_not_accepted", "summary_not_audited")
# Free: a refused summary may be kept as refused, or not be known at all.
REFUSED = ("summary_not_accepted", "unknown_replacement")
WRONG = [claim("The export on port 7001 may be stopped.", "user-said")]


async def raw_spans_stay(session, summary, by, *reasons):
    """This principal's prune behind this summary is refused in every form, and changes nothing."""
    for fields in ({"dry_run": True}, {"accept_lossy": True}, {"mode": "summarize"}, {}):
        before = (await session.window())["entries"]
        rejected(await replace(session, summary, by=by, **fields), *reasons)
        need((await session.window())["entries"] == before, "a refused prune changed the window")


@check
async def author_without_evidence(lab):
    """An author who has not read what it covers is refused until it has read all of it."""
    session = await desk(lab)
    raises(await summarize(session, reading=[]), "author_without_evidence")
    session = await desk(lab)
    raises(await summarize(session, reading=COVERS[:-1]), "author_without_evidence")
    free_of(await summarize(session), "author_without_evidence")


@check
async def a_plain_read_is_no_evidence(lab):
    """A read that the journal does not record proves nothing; another's read neither."""
    session = await desk(lab)
    for each in COVERS:
        ok(await session.by("author-1")("expand", span=each))
    await reads(session.by("author-2"), COVERS)
    raises(await summarize(session, reading=[]), "author_without_evidence")


@check
async def who_recorded_has_read(lab):
    """Who has recorded the spans itself needs no further read to write about them."""
    session = await desk(lab)
    reply = await summarize(session, author="worker-1", reading=[])
    free_of(reply, "author_without_evidence")


@check
async def the_author_needs_an_audit(lab):
    """The author's own prune waits until another one who has read the raw spans has passed it."""
    session = await desk(lab)
    summary = usable(await summarize(session))["summary"]
    await raw_spans_stay(session, summary, "author-1", "summary_not_audited")
    reply = await audit(session, summary)
    need(reply["status"] == "accepted" and not reply["findings"], f"{short(reply)}")
    executed(await replace(session, summary, by="author-1"), "reversible")
    need(entry_of(await session.window(), summary)["kind"] == "summary", "no summary in the window")
    event = [each for each in await session.events() if each["kind"] == "summary-audited"]
    need([each["principal"] for each in event] == ["auditor-1"], f"{short(event)}")


@check
async def another_pruner_uses_an_accepted_summary(lab):
    """An accepted summary is usable by any pruner but its author."""
    session = await desk(lab)
    reply = usable(await summarize(session))
    # Free: needs_audit means that others wait too, or that only the author does.
    answer = await replace(session, reply["summary"], dry_run=True)
    if reply["status"] == "accepted" or ok(answer)["status"] != "rejected":
        executed(answer, "reversible")
    else:
        rejected(answer, *NOT_USABLE)
    await settled(session, reply)
    executed(await replace(session, reply["summary"]), "reversible")


async def void(session, summary, auditor, code):
    """An audit that does not count, and says why. Free: an error, or a reply with its finding."""
    answer = await session.by(auditor)("audit", summary=summary, verdict="pass")
    if answer.code:
        need(answer.code in ("contract_violation", "not_permitted"), f"{answer}")
        need(code in json.dumps(answer.body), f"{code} is not named: {answer}")
        return
    check_findings(answer.body)
    # Free: the status may be the audit's own, or that of the summary.
    need(code in codes(answer.body), f"no {code} in {short(answer.body)}")


@check
async def finding_self_audited(lab):
    """The author's own pass is found, does not count, and does not spoil a proper audit."""
    session = await desk(lab)
    summary = usable(await summarize(session))["summary"]
    await reads(session.by("author-1"), COVERS, "audit")
    await void(session, summary, "author-1", "self_audited")
    await raw_spans_stay(session, summary, "author-1", *NOT_USABLE)
    reply = await audit(session, summary)
    need(reply["status"] == "accepted", f"{short(reply)}")
    need("self_audited" not in codes(reply), "another's audit is no self-audit")
    executed(await replace(session, summary, by="author-1"), "reversible")


@check
async def finding_auditor_without_evidence(lab):
    """An auditor who has not read all of the raw spans for it is found and does not count."""
    session = await desk(lab)
    summary = usable(await summarize(session))["summary"]
    for already in ([], COVERS[:-1]):
        await reads(session.by("auditor-1"), already, "audit")
        await void(session, summary, "auditor-1", "auditor_without_evidence")
        await raw_spans_stay(session, summary, "author-1", *NOT_USABLE)
    reply = await audit(session, summary)
    need(reply["status"] == "accepted", f"{short(reply)}")
    need("auditor_without_evidence" not in codes(reply), f"{short(reply)}")
    executed(await replace(session, summary, by="author-1"), "reversible")


@check
async def two_auditors_who_disagree(lab):
    """A fail wins over another's pass, whichever comes first, for the author and for others."""
    for verdicts in (("pass", "fail"), ("fail", "pass")):
        session = await desk(lab)
        summary = usable(await summarize(session))["summary"]
        for auditor, verdict in zip(("auditor-1", "auditor-2"), verdicts):
            reply = await audit(session, summary, verdict, auditor)
        need(reply["status"] == "rejected", f"{verdicts}: {short(reply)}")
        await raw_spans_stay(session, summary, "author-1", *NOT_USABLE)
        await raw_spans_stay(session, summary, "pruner-1", *NOT_USABLE)
        # Free: what supersedes a fail besides; a new summary that is passed always does.
        again = await settled(session, await summarize(session, author="author-2"))
        executed(await replace(session, again), "reversible")


@check
async def a_failed_audit_stops_every_pruner(lab):
    """One fail by somebody who has read makes the summary unusable. Findings may say why."""
    session = await desk(lab)
    summary = usable(await summarize(session))["summary"]
    reply = await audit(session, summary, "fail")
    need(reply["status"] == "rejected", f"{short(reply)}")
    for pruner in ("pruner-1", "author-1", "auditor-1"):
        await raw_spans_stay(session, summary, pruner, *NOT_USABLE)


@check
async def audit_of_a_rejected_summary(lab):
    """A refused summary stays refused, whoever passes it."""
    session = await desk(lab)
    reply = raises(await summarize(session, WRONG, id="wrong"), "unsourced_claim")
    auditor = session.by("auditor-1")
    await reads(auditor, COVERS, "audit")
    answer = await auditor("audit", summary=reply["summary"], verdict="pass")
    # Free: an error, or a reply that says rejected.
    need(answer.code or answer.body["status"] == "rejected", f"{answer}")
    for pruner in ("author-1", "pruner-1"):
        await raw_spans_stay(session, reply["summary"], pruner, *REFUSED)


@check
async def audit_bad_requests(lab):
    """An audit names a summary and a verdict; anything else is refused and changes nothing."""
    session = await desk(lab)
    summary = usable(await summarize(session))["summary"]
    reader = session.by("auditor-1")
    await reads(reader, COVERS, "audit")

    async def act():
        for fields in (
            {},
            {"summary": summary},
            {"verdict": "pass"},
            {"summary": summary, "verdict": "maybe"},
            {"summary": summary, "verdict": True},
            {"summary": [summary], "verdict": "pass"},
            {"summary": summary, "verdict": "pass", "findings": "none"},
            {"summary": summary, "verdict": "pass", "auditor": "auditor-2"},
        ):
            answer = await reader("audit", **fields)
            need(answer.code == "bad_request", f"{fields}: {answer}")
        for unknown in ("nowhere", "u"):
            answer = await reader("audit", summary=unknown, verdict="pass")
            need(answer.code in ("unknown_span", "bad_request"), f"{unknown}: {answer}")

    await unchanged(session, act)


@check
async def one_principal_in_all_roles(lab):
    """Author, auditor and pruner in one person never gets raw spans behind its own summary."""
    session = (await desk(lab)).by("solo")
    for attempt in range(3):
        name, text = f"mine{attempt}", TEXT + " Indeed." * attempt
        reply = usable(await summarize(session, HONEST, text, author="solo", id=name))
        await reads(session, [*COVERS, name], "audit")
        await void(session, name, "solo", "self_audited")
        need(reply["summary"] == name, f"{short(reply)}")
        await raw_spans_stay(session, name, "solo", *NOT_USABLE)
        rejected(await replace(session, name, ["t"], by="solo"), *NOT_USABLE)
    # A second summary by the same hand is no audit of the first, and stubs are not its cover.
    executed(await session("prune", spans=["c", "t"]), "reversible")
    answer = ok(await replace(session, "mine0", by="solo"))
    need(answer["status"] == "rejected", f"{short(answer)}")
    kinds = [entry["kind"] for entry in (await session.window())["entries"]]
    need("summary" not in kinds, f"{kinds}")


@check
async def contract_record_refuses_nothing(lab):
    """Under `record` findings are recorded and nothing is refused, not even the author's prune."""
    session = await desk(lab, contract="record")
    wrong = [
        claim("The export on port 7009 may be stopped.", "tool-output", "u"),
        claim("Nobody said this.", "user-said"),
    ]
    reply = await summarize(session, wrong, reading=[], id="loose")
    need(reply["status"] != "rejected", f"{short(reply)}")
    wanted = {"origin_upgraded", "anchor_not_in_source", "unsourced_claim"}
    wanted |= {"author_without_evidence"}
    need(wanted <= codes(reply), f"{wanted - codes(reply)} not found")
    recorded = [each for each in await session.events() if each["kind"] == "summary-recorded"]
    text = short(recorded[-1], 100_000) + short(ok(await session("explain", span="loose")), 100_000)
    missing = [code for code in wanted if code not in text]
    need(not missing, f"{missing} are not recorded")
    executed(await replace(session, "loose", by="author-1"), "reversible")


@check
async def audits_are_sent_again(lab):
    """An audit and a refused summary that are sent again have one effect and one reply."""
    session = await desk(lab)
    summary = usable(await summarize(session))["summary"]
    await audit(session, summary, command_id="audit-1")
    auditor, author = session.by("auditor-1"), session.by("author-1")
    wrong = {"covers": COVERS, "text": TEXT, "claims": WRONG, "command_id": "wrong-1"}
    first = checked(ok(await author("summarize", **wrong)))
    need(first["status"] == "rejected", f"{short(first)}")
    first.pop("duplicate", None)

    async def act():
        again = {"summary": summary, "verdict": "pass", "command_id": "audit-1"}
        answer = ok(await auditor("audit", **again))
        need(answer.get("duplicate") is True and answer["status"] == "accepted", f"{short(answer)}")
        again = ok(await author("summarize", **wrong))
        need(again.pop("duplicate", None) is True, "a refused summary is not marked duplicate")
        need(again == first, f"another reply: {short(again)}")

    await unchanged(session, act)
    other = {**wrong, "text": TEXT + " Really."}
    need((await author("summarize", **other)).code == "command_id_reused", "another request")
