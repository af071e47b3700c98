"""The corpus: every honest summary passes, every mutant of it is refused for a named reason."""

import asyncio
import json
from pathlib import Path

from contract import check, need, ok, short
from honesty import checked, codes, lost_span

CORPUS = Path(__file__).parent.parent / "corpus" / "summaries.json"
TOMBSTONE = "__tombstone__"
AT_ONCE = 8


def stories():
    """The stories of the corpus; see its README."""
    return json.loads(CORPUS.read_text(encoding="utf-8"))


async def summary_of(lab, story, claims):
    """The reply to the story's summary with these claims, in a session of its own.

    Who records the spans writes the summary, so nothing has to be read again.
    """
    session = await lab.opened()
    await session.add(*story["spans"])
    if TOMBSTONE in json.dumps(claims):
        name = await lost_span(session)
        claims = json.loads(json.dumps(claims).replace(TOMBSTONE, name))
    body = {"covers": story["summary"]["covers"], "text": story["summary"]["text"]}
    return checked(ok(await session("summarize", **body, claims=claims)))


async def refuse_all(lab, operator):
    """Tries every mutant of one operator; fails with those that were not refused as expected."""
    gate, escaped, tried = asyncio.Semaphore(AT_ONCE), [], 0

    async def attempt(story, mutant):
        claims = list(story["summary"]["claims"])
        claims[mutant["claim"]] = mutant["change"]
        async with gate:
            reply = await summary_of(lab, story, claims)
        if reply["status"] != "rejected" or not codes(reply) & set(mutant["expect"]):
            escaped.append(
                f"{story['name']}[{mutant['claim']}] {reply['status']} {sorted(codes(reply))}"
                f" for {mutant['expect']}: {mutant['change']['text']}"
            )

    tasks = [
        attempt(story, mutant)
        for story in stories()
        for mutant in story["mutants"]
        if mutant["operator"] == operator
    ]
    tried = len(tasks)
    await asyncio.gather(*tasks)
    need(tried >= 10, f"only {tried} mutants of {operator}")
    need(not escaped, f"{len(escaped)} of {tried} escaped: " + short("; ".join(escaped), 2000))


@check
async def corpus_honest_summaries_pass(lab):
    """No honest summary of the corpus is refused, and none has a finding."""
    gate, wrong, all_of_them = asyncio.Semaphore(AT_ONCE), [], stories()
    need(len(all_of_them) >= 30, f"{len(all_of_them)} stories")

    async def attempt(story):
        async with gate:
            reply = await summary_of(lab, story, story["summary"]["claims"])
        if reply["status"] == "rejected" or reply["findings"]:
            wrong.append(f"{story['name']} {reply['status']}: {short(reply['findings'])}")

    await asyncio.gather(*[attempt(story) for story in all_of_them])
    need(not wrong, f"{len(wrong)} honest ones: " + short("; ".join(wrong), 3000))


@check
async def corpus_drop_hedge(lab):
    """A hedge that becomes a fact or a conclusion is refused."""
    await refuse_all(lab, "drop_hedge")


@check
async def corpus_swap_number(lab):
    """A number, version or id that no cited span holds is refused."""
    await refuse_all(lab, "swap_number")


@check
async def corpus_move_attribution(lab):
    """Words that are given to another speaker are refused."""
    await refuse_all(lab, "move_attribution")


@check
async def corpus_cite_tombstone(lab):
    """A claim that rests on what nobody can read again is refused."""
    await refuse_all(lab, "cite_tombstone")


@check
async def corpus_strip_source(lab):
    """A claim without a source is refused."""
    await refuse_all(lab, "strip_source")


@check
async def corpus_raise_origin(lab):
    """A conclusion that is told as heard or seen is refused."""
    await refuse_all(lab, "raise_origin")


@check
async def corpus_unknown_source(lab):
    """A source that never was is refused."""
    await refuse_all(lab, "unknown_source")


@check
async def corpus_change_quote(lab):
    """A quote that its source does not hold is refused."""
    await refuse_all(lab, "change_quote")
