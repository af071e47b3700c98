"""Findings: what a claim may not do, each by its smallest clear case beside an honest one."""

from contract import check, executed, need, short
from honesty import (
    COVERS,
    HONEST,
    TEXT,
    claim,
    codes,
    desk,
    free_of,
    lost_span,
    raises,
    replace,
    settled,
    summarize,
    usable,
)
from shapes import span, tool_call, tool_result, withheld


@check
async def an_honest_summary_has_no_findings(lab):
    """Given four spans, when each claim says what its source says, then nothing is found."""
    session = await desk(lab)
    reply = usable(await summarize(session))
    need(reply["findings"] == [], f"{short(reply['findings'])}")


@check
async def finding_unsourced_claim(lab):
    """A claim without a source is found, and only that claim."""
    session = await desk(lab)
    bare = claim("Rule FW-12 of the firewall blocks the import.", "inferred")
    reply = raises(await summarize(session, [*HONEST, bare]), "unsourced_claim")
    # Free: a finding need not name its claim; if it does, it names the one without a source.
    named = [each["claim"] for each in reply["findings"] if "claim" in each]
    need(named in ([], [3], [bare["text"]]) or set(named) == {3}, f"{short(reply['findings'])}")
    free_of(await summarize(session), "unsourced_claim")


@check
async def finding_unknown_source(lab):
    """A source that was never recorded is found, even beside a good one."""
    for sources in (["nowhere"], ["t", "nowhere"]):
        session = await desk(lab)
        wrong = claim("10.0.0.7:5432 refused the connection.", "tool-output", *sources)
        raises(await summarize(session, [HONEST[0], wrong]), "unknown_source")
    free_of(await summarize(session), "unknown_source")


@check
async def finding_source_not_primary(lab):
    """A claim whose only source is another summary is second-hand, and says so."""
    session = await desk(lab)
    first = await settled(session, await summarize(session, id="first"))
    executed(await replace(session, first), "reversible")
    covers = ["first", "z"]
    second = claim("10.0.0.7:5432 refused the connection.", "inferred", "first")
    reading = [*covers, *COVERS]
    reply = await summarize(session, [second], "Refused.", covers, reading=reading)
    # Free: refused, or accepted with the finding; the contract says both "must go back" and
    # "says so". What may not happen is that nothing is found.
    raises(reply, "source_not_primary", status=None)
    primary = claim("10.0.0.7:5432 refused the connection.", "tool-output", "t")
    reply = await summarize(session, [primary], "Refused.", covers, reading=reading)
    free_of(reply, "source_not_primary")


@check
async def finding_source_unrecoverable(lab):
    """A source that nobody can read again is no source: withheld, or lost by a directive."""
    session = await desk(lab, withheld("x"))
    wrong = claim("The import was paused by hand.", "user-said", "x")
    reply = await summarize(session, [*HONEST, wrong], covers=[*COVERS, "x"])
    raises(reply, "source_unrecoverable")
    wrong = claim("The import was paused by hand.", "user-said", await lost_span(session))
    # Free: what else is found; a lost span cannot be covered.
    raises(await summarize(session, [*HONEST, wrong]), "source_unrecoverable")
    free_of(await summarize(session), "source_unrecoverable")


@check
async def a_pruned_source_is_still_a_source(lab):
    """A span behind a stub can be read, so a claim may rest on it."""
    session = await desk(lab)
    first = await settled(session, await summarize(session, id="first"))
    executed(await replace(session, first), "reversible")
    said = claim("The export on port 7001 must stay up.", "user-said", "u")
    reading = ["first", "z", "u"]
    reply = await summarize(session, [said], "Export up.", ["first", "z"], reading=reading)
    for code in ("source_unrecoverable", "unknown_source", "source_not_primary"):
        need(code not in codes(reply), f"{short(reply['findings'])}")


@check
async def finding_origin_upgraded(lab):
    """No claim is stronger than its source: speakers are not exchanged, conclusions no facts."""
    for upgraded in (
        claim("The export on port 7001 must stay up.", "tool-output", "u"),
        claim("10.0.0.7:5432 refused the connection.", "user-said", "t"),
        claim("Rule FW-12 of the firewall blocks the import.", "user-said", "m"),
        claim("Rule FW-12 of the firewall blocks the import.", "tool-output", "m"),
        claim("Rule FW-12 of the firewall blocks the import.", "hedged", "m"),
    ):
        session = await desk(lab)
        raises(await summarize(session, [HONEST[0], upgraded]), "origin_upgraded")
    free_of(await summarize(session), "origin_upgraded")


@check
async def nobody_speaks_for_harness_and_system(lab):
    """What the harness or the system said is neither the user's word nor a tool's."""
    note = span("h", "Session resumed after 50 steps.", origin="harness", kind="note")
    rule = span("s", "Refunds above 250 EUR need a human.", role="system", origin="system")
    covers = [*COVERS, "h", "s"]
    for source, text in (
        ("h", "The session was resumed after 50 steps."),
        ("s", "Refunds above 250 EUR need a human."),
    ):
        for origin in ("user-said", "tool-output"):
            session = await desk(lab, note, rule)
            wrong = claim(text, origin, source)
            raises(await summarize(session, [wrong], covers=covers), "origin_upgraded")
        # Free: whether such a claim may be hedged; inferred is the weakest and always fits.
        honest = claim(text, "inferred", source)
        free_of(await summarize(session, [honest], covers=covers), "origin_upgraded")


@check
async def weaker_than_the_source_is_allowed(lab):
    """A claim may be weaker than its source: inferred from what a user or a tool said."""
    session = await desk(lab)
    weaker = [
        claim("The export on port 7001 must stay up.", "inferred", "u"),
        claim("The import fails because 10.0.0.7:5432 refuses it.", "inferred", "t", "u"),
    ]
    free_of(await summarize(session, weaker), "origin_upgraded")


GUESS = "I think the staging DB is on port 5433."


@check
async def finding_hedge_dropped_from_a_marked_span(lab):
    """A span marked hedged makes its claims hedged, whatever its words; inferred drops it too."""
    marked = span("g", "The staging DB is on port 5433.", hedged=True)
    covers = [*COVERS, "g"]
    for origin in ("user-said", "inferred"):
        session = await desk(lab, marked)
        wrong = claim("The staging DB is on port 5433.", origin, "g")
        raises(await summarize(session, [wrong], covers=covers), "hedge_dropped")
    honest = claim("The user takes 5433 for the port of the staging DB.", "hedged", "g")
    reply = free_of(await summarize(session, [honest], covers=covers), "hedge_dropped")
    need("origin_upgraded" not in codes(reply), "a hedge of a hedged span is no upgrade")


@check
async def finding_hedge_dropped_around_the_quote(lab):
    """A span that is not marked hedges by its words around those that a claim quotes."""
    covers = [*COVERS, "g"]
    for content, quote in (
        (GUESS, "the staging DB is on port 5433"),
        ("Port 5433 is probably the staging DB.", "Port 5433"),
        ("I'm not sure, but the staging DB might be on port 5433.", "on port 5433"),
        ("Maybe it is 5433, the port of the staging DB.", "5433, the port of the staging DB"),
    ):
        session = await desk(lab, span("g", content))
        wrong = claim("The staging DB is on port 5433.", "user-said", ("g", quote))
        raises(await summarize(session, [wrong], covers=covers), "hedge_dropped")
        honest = claim("The user guesses that it is port 5433.", "hedged", ("g", quote))
        free_of(await summarize(session, [honest], covers=covers), "hedge_dropped")


@check
async def a_hedge_elsewhere_does_not_count(lab):
    """A hedge in another sentence, a polite question, the month of May: these hedge nothing."""
    covers = [*COVERS, "g"]
    for content, quote in (
        ("I think it rains. The staging DB is on port 5433.", "The staging DB is on port 5433"),
        ("Could you write it down? The staging DB is on port 5433.", "is on port 5433"),
        ("Since 3 May the staging DB is on port 5433.", "the staging DB is on port 5433"),
    ):
        session = await desk(lab, span("g", content))
        honest = claim("The staging DB is on port 5433.", "user-said", ("g", quote))
        free_of(await summarize(session, [honest], covers=covers), "hedge_dropped")


SEEN = (
    ("waits on port 8443", "waits on port 8444"),
    ("runs release v2.14.3", "runs release v2.14.8"),
    ("wrote /var/lib/ledger/cut.db", "wrote /var/lib/ledger/cat.db"),
    ("called https://ledger.example/v2/cuts", "called https://ledger.example/v3/cuts"),
    ("mailed ops@ledger.example", "mailed dev@ledger.example"),
    (
        "has id 7d1f0c9e-5a2b-4f1c-8b35-02e6a7d94c10",
        "has id 7d1f0c9e-5a2b-4f1c-8b35-02e6a7d94c11",
    ),
    ("failed with ERR_LEDGER_LOCKED", "failed with ERR_LEDGER_CLOSED"),
    ("answered request req_01HX9Q7ZP4", "answered request req_01HX9Q7ZP9"),
    ("took 1,204 ms", "took 1,402 ms"),
    ("ran `ledger cut --force`", "ran `ledger cut --dry-run`"),
    ("is at commit 5f6cc8d9e0a1", "is at commit 5f6cc8d9e0a7"),
)


@check
async def finding_anchor_not_in_source(lab):
    """Numbers, paths, addresses, identifiers and commands of a claim stand in a cited span."""
    result = "".join(f"the ledger {right}\n" for right, _ in SEEN)
    more = (tool_call("c2"), tool_result("t2", "c2", result))
    covers = [*COVERS, "c2", "t2"]
    for right, wrong in SEEN:
        session = await desk(lab, *more)
        swapped = claim(f"The ledger {wrong}.", "tool-output", "t2")
        reply = await summarize(session, [HONEST[0], swapped], covers=covers)
        need("anchor_not_in_source" in codes(reply), f"{wrong!r} is nowhere: {codes(reply)}")
        need(reply["status"] == "rejected", f"{wrong!r}: {reply['status']}")
        honest = claim(f"The ledger {right}.", "tool-output", "t2")
        free_of(await summarize(session, [honest], covers=covers), "anchor_not_in_source")
    elsewhere = claim("The ledger waits on port 8443.", "tool-output", "t")
    reply = await summarize(session, [elsewhere], covers=covers)
    raises(reply, "anchor_not_in_source")


@check
async def a_quote_stands_in_its_source(lab):
    """A quote that its source does not hold is refused."""
    for quote in ("port 7001 may go", "must stay up. The old export"):
        session = await desk(lab)
        wrong = claim("The export must stay up.", "user-said", ("u", quote))
        reply = await summarize(session, [wrong])
        # Free: the code; the contract names none of its own for quotes.
        need(reply["status"] == "rejected" and reply["findings"], f"{quote!r}: {short(reply)}")
    right = claim("The export must stay up.", "user-said", ("u", "must stay up"))
    usable(await summarize(session, [right]))


@check
async def finding_empty_summary(lab):
    """A summary that says nothing is no summary."""
    session, found = await desk(lab), set()
    for text, claims in (("", []), (" \n ", []), ("", HONEST), (TEXT, [])):
        answer = await session("summarize", covers=COVERS, text=text, claims=list(claims))
        if answer.code:
            # Free: a blank text may be a bad request as well.
            need(answer.code in ("bad_request", "contract_violation"), f"{answer}")
            continue
        found |= codes(answer.body)
        # Free: whether a text without claims, or claims without a text, is empty.
        need(
            answer.body["status"] == "rejected" or text.strip() or claims,
            f"an empty summary is {answer.body['status']}",
        )
    need("empty_summary" in found, f"no empty_summary but {found}")
    free_of(await summarize(await desk(lab)), "empty_summary")


@check
async def finding_summary_grew(lab):
    """A summary that is larger than what it replaces is found."""
    session = await desk(lab)
    claims = [claim("The export on port 7001 must stay up.", "user-said", "u")]
    wordy = "The user wants the old export on port 7001 to stay up while we look. " * 12
    reply = await summarize(session, claims, wordy, ["u", "m"])
    # Free: whether that alone refuses the summary.
    raises(reply, "summary_grew", status=None)
    free_of(await summarize(session), "summary_grew")


@check
async def finding_reserve_breached(lab):
    """A summary that leaves the window in its reserve says so."""
    # Free: which of two cases is meant, a window that is over before and after, or one that is
    # over with the summary only; and the status, for a session in its reserve must be able to
    # shrink.
    session = await desk(lab, span("load", "words " * 9000, tokens=9_500), window_tokens=10_000)
    found = codes(await summarize(session))
    session = await lab.opened(10_000)
    stays = span("u", "The export on port 7001 must stay up.", tokens=20)
    await session.add(stays, span("load", "words " * 8000, tokens=8_400))
    said = claim("The export on port 7001 must stay up.", "user-said", "u")
    wordy = "The user wants the old export on port 7001 to stay up. " * 40
    found |= codes(await summarize(session, [said], wordy, ["u"]))
    need("reserve_breached" in found, f"no reserve_breached but {found}")
    free_of(await summarize(await desk(lab)), "reserve_breached")
