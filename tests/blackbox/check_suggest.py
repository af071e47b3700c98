"""Suggestions: prunes that are safe now, enough of them, and the cheapest first."""

from contract import check, executed, need, ok, refused, short
from shapes import span, tool_call, tool_result, unchanged, withheld

LONG = "the import waits for the ledger " * 40


async def crowded(lab):
    """A session with everything that a suggestion has to look at."""
    session = await lab.opened(20_000)
    await session.add(
        span("sys", "You look after imports.", role="system", origin="system", pinned=True),
        span("u1", "Find out why the import fails. " * 20),
        tool_call("c1"),
        tool_call("c2"),
        tool_result("r1", "c1", LONG * 2),
        tool_result("r2", "c2", LONG),
        span("th", "I should look at the rule. " * 20, role="assistant", origin="model",
             kind="thinking"),
        span("a1", "The rule blocks it. " * 20, role="assistant", origin="model"),
        span("pin", LONG, pinned=True),
        withheld("x", tokens=300),
        span("p", "The port is open. " * 30),
        span("q", "The port is closed. " * 30, contradicts=["p"]),
        tool_call("c3"),
        tool_result("r3", "c3", LONG * 3),
        span("u2", "Thanks, go on."),
    )  # fmt: skip
    return session


RESULTS = {"c1": {"r1"}, "c2": {"r2"}, "c3": {"r3"}}
NEVER = {"sys", "pin", "x", "p", "q"}
PRUNABLE = ["u1", "c1", "c2", "r1", "r2", "th", "a1", "c3", "r3", "u2"]


def check_candidates(reply):
    """Each candidate has spans, a verdict and a cost, and touches nothing that is protected."""
    need(isinstance(reply.get("candidates"), list), f"{short(reply)}")
    for each in reply["candidates"]:
        spans = each["spans"]
        need(spans and len(spans) == len(set(spans)), f"spans {short(spans)}")
        need(each["status"] == "reversible" and "durable_until" in each, f"{short(each)}")
        need(type(each["freed_tokens"]) is int and each["freed_tokens"] > 0, f"{short(each)}")
        for key in ("prefix_kept_tokens", "prefix_rewritten_tokens"):
            need(type(each["cost"][key]) is int, f"cost.{key}: {short(each)}")
        need(isinstance(each["cost"]["thinking_invalidated"], list), f"{short(each['cost'])}")
        need(not set(spans) & NEVER, f"protected: {set(spans) & NEVER}")
        for call, results in RESULTS.items():
            both = {call, *results}
            need(not both & set(spans) or both <= set(spans), f"{call} is split in {spans}")
    return reply["candidates"]


async def frees(session, candidates):
    """Prunes the candidates in their order, each as far as its spans are left; the tokens freed."""
    before = (await session.window())["budget"]["used_tokens"]
    gone = set()
    for each in candidates:
        # Free: candidates may be parts of a whole or alternatives that overlap.
        spans = [name for name in each["spans"] if name not in gone]
        if spans:
            executed(await session("prune", spans=spans), "reversible")
            gone |= set(spans)
    return before - (await session.window())["budget"]["used_tokens"]


@check
async def suggest_frees_what_was_asked(lab):
    """As long as pruning everything prunable would free it, the candidates free what was asked."""
    session = await crowded(lab)
    dry = executed(await session("prune", spans=PRUNABLE, dry_run=True), "reversible")
    for asked in (1, 100, dry["freed_tokens"] // 2, dry["freed_tokens"]):
        session = await crowded(lab)
        candidates = check_candidates(ok(await session("suggest", free_tokens=asked)))
        need(candidates, f"nothing is suggested for {asked} of {dry['freed_tokens']}")
        if max(each["freed_tokens"] for each in candidates) < asked:
            freed = await frees(session, candidates)
            need(freed >= asked, f"{freed} tokens were freed of {asked}")


@check
async def suggest_more_than_there_is(lab):
    """Who asks for more than can be freed gets what there is, and still nothing protected."""
    session = await crowded(lab)
    for asked in (20_000, 10**12):
        check_candidates(ok(await session("suggest", free_tokens=asked)))
    session = await lab.opened()
    need(ok(await session("suggest", free_tokens=10))["candidates"] == [], "an empty window")
    await session.add(span("pin", LONG, pinned=True), withheld("x", tokens=300))
    need(ok(await session("suggest", free_tokens=10))["candidates"] == [], "nothing is prunable")


@check
async def suggested_prunes_work_as_given(lab):
    """Each candidate is accepted as given, frees what it says, and can be undone."""
    session = await crowded(lab)
    before = (await session.window())["entries"]
    candidates = check_candidates(ok(await session("suggest", free_tokens=10_000)))
    need(candidates, "no candidates")
    for each in candidates:
        spans = each["spans"]
        dry = executed(await session("prune", spans=spans, dry_run=True), "reversible")
        # Free: later candidates may be reckoned as if the earlier ones had been pruned.
        need(dry["freed_tokens"] >= each["freed_tokens"], f"{short(dry)}: {short(each)}")
        if each is candidates[0]:
            need(dry["freed_tokens"] == each["freed_tokens"], f"{short(dry)}: {short(each)}")
            need(dry["cost"] == each["cost"], f"{short(dry['cost'])}: {short(each['cost'])}")
        pruned = executed(await session("prune", spans=spans), "reversible")
        need(sorted(one["id"] for one in pruned["spans"]) == sorted(spans), f"{short(pruned)}")
        ok(await session("restore", spans=spans))
        need((await session.window())["entries"] == before, "the window is not as it was")


@check
async def suggest_changes_nothing(lab):
    """A suggestion is a question: no event, no other window, the same answer again."""
    session = await crowded(lab)

    async def act():
        return ok(await session("suggest", free_tokens=500))

    first = await unchanged(session, act)
    need(await unchanged(session, act) == first, "another answer to the same question")


@check
async def suggest_the_cheapest_first(lab):
    """Of two equal spans the later one comes first: less of the prefix is written anew."""
    session = await lab.opened()
    await session.add(
        span("early", LONG),
        *[span(f"pin{number}", LONG, pinned=True) for number in range(6)],
        span("late", LONG),
        span("end", "Go on.", pinned=True),
    )
    candidates = ok(await session("suggest", free_tokens=50))["candidates"]
    need(candidates and candidates[0]["spans"] == ["late"], f"{short(candidates)}")
    single = [each["spans"][0] for each in candidates if len(each["spans"]) == 1]
    need(single in (["late"], ["late", "early"]), f"{short(candidates)}")


@check
async def suggest_what_thinking_costs(lab):
    """Of two equal spans, the one whose prune invalidates no thinking comes first."""
    session = await lab.opened()
    await session.add(
        span("before", LONG, pinned=True),
        span("a", LONG, role="assistant", origin="model"),
        span("th", "I should look. " * 9, role="assistant", origin="model", kind="thinking",
             pinned=True),
        span("b", LONG, role="assistant", origin="model"),
        span("end", "Go on.", pinned=True),
    )  # fmt: skip
    candidates = ok(await session("suggest", free_tokens=50))["candidates"]
    need(candidates and candidates[0]["spans"] == ["b"], f"{short(candidates)}")


@check
async def suggest_leaves_open_calls(lab):
    """A call that waits for its result is in no candidate that the gate would refuse."""
    session = await lab.opened()
    await session.add(
        span("u", LONG),
        tool_call("c1", LONG),
        tool_call("c2", LONG),
        tool_result("r2", "c2", LONG),
    )
    for each in ok(await session("suggest", free_tokens=10_000))["candidates"]:
        executed(await session("prune", spans=each["spans"], dry_run=True), "reversible")


@check
async def suggest_spares_what_a_contradiction_needs(lab):
    """Once the contradiction is resolved, its spans may be suggested too."""
    session = await lab.opened()
    await session.add(span("p", LONG), span("q", LONG, contradicts=["p"]))
    need(ok(await session("suggest", free_tokens=50))["candidates"] == [], "both are protected")
    events = [each for each in await session.events() if each["kind"] == "contradiction-noted"]
    ok(await session("resolve", contradiction=events[0]["contradiction"], note="q is right"))
    need(ok(await session("suggest", free_tokens=50))["candidates"], "nothing after the resolve")


@check
async def suggest_bad_requests(lab):
    """A suggestion asks for a whole number of tokens and for nothing else."""
    session = await crowded(lab)
    for fields in (
        {},
        {"free_tokens": "500"},
        {"free_tokens": None},
        {"free_tokens": 1.5},
        {"free_tokens": -1},
        {"free_tokens": True},
        {"free_tokens": 500, "spans": ["u1"]},
        {"free_tokens": 500, "accept_lossy": True},
    ):
        refused(await session("suggest", **fields), "bad_request")
    # Free: nothing asked is any clean answer.
    await session("suggest", free_tokens=0)
    refused(await lab.session()("suggest", free_tokens=5), "unknown_session")
