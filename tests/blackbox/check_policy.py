"""Policies: what may be said in one, which rule decides, and what is promised under it."""

from contract import TIME, check, executed, need, ok, refused, rejected, short
from officer import Office, about, goes_now, log, moment, removed, rule
from shapes import by_id, span

DAY = 86_400


@check
async def policy_set_and_get(lab):
    """A policy comes back as it was set; each one that is set has a new name and a new version."""
    office = Office(lab)
    empty = ok(await office("policy-get"))
    need(
        (empty["policy"], empty["version"], empty["rules"], empty["holds"]) == (None, 0, [], []),
        f"{short(empty)}",
    )
    match = {
        "sessions": "run-*",
        "origins": ["tool", "summary"],
        "kinds": ["file", "tool_result"],
        "labels": {"case": "7"},
        "pruned": True,
    }
    rules = [
        rule("first", {"for": "30d", "since": "pruned"}, match, notice="1d"),
        rule("second", {"max_bytes": 1_000_000, "max_spans": 50}, live_handles="commit"),
        rule("third", {"forever": True}, residue=True),
    ]
    first = ok(await office("policy-set", rules=rules))
    got = ok(await office("policy-get"))
    need((got["policy"], got["version"]) == (first["policy"], first["version"]), f"{short(got)}")
    need(got["set_by"] == "officer-1" and TIME.match(got["set_at"]), f"{short(got)}")
    for given, back in zip(rules, got["rules"], strict=True):
        for key, value in given.items():
            # Free: defaults may be spelled out, and how a duration is written (24h, 1d).
            wanted = value.items() if isinstance(value, dict) else [(None, value)]
            found = back.get(key, {})
            need(
                all((found.get(inner) if inner else found) == each for inner, each in wanted),
                f"{key}: {short(found)} is not {short(value)}",
            )
    again = ok(await office("policy-set", rules=got["rules"]))
    need(
        again["policy"] != first["policy"] and again["version"] > first["version"],
        f"{first} {again}",
    )
    need(ok(await office("policy-get"))["rules"] == got["rules"], "what came back is set again")
    ok(await office("policy-set", rules=[]))
    need(ok(await office("policy-get"))["rules"] == [], "no rules is a policy, too")


BAD_RULES = (
    {"id": "a", "match": {}, "keep": {"for": "1d"}, "keeps": 1},
    {"id": "a", "match": {"session": "x"}, "keep": {"for": "1d"}},
    {"id": "a", "match": {}, "keep": {"for": "1d", "until": "x"}},
    {"match": {}, "keep": {"for": "1d"}},
    {"id": "a", "match": {}},
    *(rule("a", {"for": each}) for each in ("", "30", "d", "1y", "-1h", "1.5h", "1h ", 30, True)),
    rule("a", {"for": "366000d"}),
    rule("a", {"for": "1d"}, notice="soon"),
    rule("a", {"for": "1d"}, notice=24),
    rule("a", {}),
    rule("a", {"forever": False}),
    rule("a", {"since": "pruned"}),
    rule("a", {"for": "1d", "since": "opened"}),
    rule("a", {"forever": True, "for": "1d"}),
    rule("a", {"forever": True, "max_spans": 1}),
    rule("a", {"forever": True, "max_bytes": 1}),
    rule("a", {"forever": "true"}),
    *(rule("a", {"max_spans": each}) for each in (-1, "5", 1.5)),
    rule("a", {"max_bytes": -1}),
    rule("a", {"for": "1d"}, {"origins": []}),
    rule("a", {"for": "1d"}, {"kinds": []}),
    rule("a", {"for": "1d"}, {"origins": ["robot"]}),
    rule("a", {"for": "1d"}, {"origins": "tool"}),
    rule("a", {"for": "1d"}, {"kinds": ["poem"]}),
    rule("a", {"for": "1d"}, {"labels": {"case": 7}}),
    rule("a", {"for": "1d"}, {"labels": ["case"]}),
    rule("a", {"for": "1d"}, {"pruned": "yes"}),
    rule("a", {"for": "1d"}, {"sessions": ""}),
    rule("a", {"for": "1d"}, {"sessions": "x" * 1_000}),
    rule("a", {"for": "1d"}, {"sessions": ["x"]}),
    rule("", {"for": "1d"}),
    rule("x" * 1_000, {"for": "1d"}),
    rule("a", {"for": "1d"}, live_handles="keep"),
    rule("a", {"for": "1d"}, residue="yes"),
)


@check
async def policies_that_say_nothing_clear(lab):
    """A rule that is misspelled, empty or contradicts itself is refused, and the policy stays."""
    office = Office(lab)
    await office.policy(rule("old", {"for": "30d"}))
    before = (ok(await office("policy-get")), await office.stream())
    for bad in BAD_RULES:
        try:
            error = refused(await office("policy-set", rules=[bad]), "bad_request")
        except Exception as failure:
            raise type(failure)(f"{short(bad)}: {failure}") from failure
        need(error["message"], f"{short(bad)}: no message")
    good = rule("a", {"for": "1d"})
    for rules in ([good, good], [good, rule("b", {})], {"a": good}, "all", None):
        refused(await office("policy-set", rules=rules), "bad_request")
    refused(await office("policy-set"), "bad_request")
    refused(await office("policy-set", rules=[good], dry_run=True), "bad_request")
    many = [rule(f"r{number}", {"for": "1d"}) for number in range(1_001)]
    # Free: which of the two codes a limit has.
    refused(await office("policy-set", rules=many), "bad_request", "too_large")
    need((ok(await office("policy-get")), await office.stream()) == before, "something changed")
    ok(await office("policy-set", rules=many[:1_000]))
    need(len(ok(await office("policy-get"))["rules"]) == 1_000, "a thousand rules are taken")


@check
async def the_message_names_the_rule_and_its_fault(lab):
    """Among many rules the refused one is named, with what is wrong with it."""
    office = Office(lab)
    for bad, words in (
        (rule("wrong-one", {"for": "soon"}), ("wrong-one", "soon")),
        (rule("wrong-one", {}), ("wrong-one",)),
        (rule("wrong-one", {"for": "1d"}, {"origins": ["robot"]}), ("wrong-one", "robot")),
    ):
        rules = [rule("fine", {"for": "1d"}), bad]
        message = refused(await office("policy-set", rules=rules), "bad_request")["message"]
        need(all(word in message for word in words), f"{words} are not in {message!r}")


async def decides(office, session="s", **attributes):
    """The rule that decides about something by its attributes."""
    attributes.setdefault("origin", "user")
    return ok(await office("evaluate", session=session, attributes=attributes))["rule"]


@check
async def the_first_matching_rule_decides(lab):
    """The first rule that matches decides, whatever later ones say; the order is what counts."""
    office = Office(lab)
    rules = [
        rule("case", {"forever": True}, {"labels": {"case": "open"}}),
        rule("tools", {"for": "1h"}, {"origins": ["tool"]}),
        rule("rest", {"for": "30d"}),
    ]
    await office.policy(*rules)
    need(await decides(office, origin="tool", labels={"case": "open"}) == "case", "case first")
    need(await decides(office, origin="tool") == "tools", "then tools")
    need(await decides(office, origin="model") == "rest", "then the rest")
    await office.policy(*rules[::-1])
    need(await decides(office, origin="tool", labels={"case": "open"}) == "rest", "turned round")
    await office.policy(*rules[:2])
    reply = ok(await office("evaluate", session="s", attributes={"origin": "user"}))
    need(
        (reply["rule"], reply["keep_until"], reply["removable"]) == (None, None, False),
        f"what no rule matches is kept for ever: {reply}",
    )


@check
async def all_that_a_match_names_must_fit(lab):
    """Sessions, origins, kinds, labels and pruned: each can exclude, and all must fit."""
    office = Office(lab)
    match = {
        "sessions": "run-?-*",
        "origins": ["tool", "model"],
        "kinds": ["file", "note"],
        "labels": {"a": "1", "b": "2"},
        "pruned": True,
    }
    await office.policy(rule("it", {"for": "1d"}, match))
    fits = {
        "session": "run-7-x",
        "origin": "tool",
        "kind": "note",
        "labels": {"a": "1", "b": "2", "c": "3"},
        "pruned": True,
    }
    need(await decides(office, **fits) == "it", "it fits")
    for other in (
        {"session": "run-77-x"},
        {"session": "run-7"},
        {"session": "xrun-7-x"},
        {"origin": "user"},
        {"origin": "harness"},
        {"kind": "message"},
        {"labels": {"a": "1"}},
        {"labels": {"a": "1", "b": "3"}},
        {"labels": {}},
        {"pruned": False},
    ):
        need(await decides(office, **(fits | other)) is None, f"{other} must not fit")
    need(await decides(office, **(fits | {"session": "run-7-"})) == "it", "* may stand for nothing")
    await office.policy(rule("live", {"for": "1d"}, {"pruned": False}))
    need(await decides(office, pruned=True) is None and await decides(office) == "live", "pruned")


@check
async def labels_of_the_session_count(lab):
    """A rule sees the labels of a span and those of its session; the span's own come first."""
    office = Office(lab)
    await office.policy(rule("red", {"for": "1d"}, {"labels": {"team": "red"}}))
    session = office.session()
    ok(await session("open", window_tokens=1_000, labels={"team": "red"}))
    await session.add(span("a"), span("b", labels={"team": "blue"}))
    other = await office.opened()
    await other.add(span("c"), span("d", labels={"team": "red"}))
    for where, name, wanted in (
        (session, "a", "red"),
        (session, "b", None),
        (other, "c", None),
        (other, "d", "red"),
    ):
        found = (await office.evaluated(where, name))["rule"]
        need(found == wanted, f"{name}: {found!r}, not {wanted!r}")


@check
async def evaluate_by_attributes(lab):
    """How long a thing elsewhere is kept: counted from where the rule says, removable when over."""
    office = Office(lab)
    policy = await office.policy(
        rule("pruned", {"for": "1h", "since": "pruned"}, {"origins": ["tool"]}),
        rule("closed", {"for": "1d", "since": "closed"}, {"origins": ["model"]}),
        rule("recorded", {"for": "2d"}, {"origins": ["user"]}),
        rule("ever", {"forever": True}),
    )
    old, older = "2020-01-01T00:00:00.000Z", "2019-01-01T00:00:00.000Z"

    async def ask(**attributes):
        reply = ok(await office("evaluate", session="elsewhere", attributes=attributes))
        need(reply["policy"] == policy and reply["held_by"] == [], f"{short(reply)}")
        need(isinstance(reply["why"], str) and reply["why"], f"{short(reply)}")
        return reply["rule"], reply["keep_until"], reply["removable"]

    wanted = ("recorded", "2020-01-03T00:00:00.000Z", True)
    need(await ask(origin="user", recorded_at=old) == wanted, "since recorded")
    name, until, removable = await ask(origin="user")
    need((name, removable) == ("recorded", False) and about(until, 2 * DAY), f"{until}")
    need(await ask(origin="tool", recorded_at=old) == ("pruned", None, False), "not pruned yet")
    wanted = ("pruned", "2020-01-01T01:00:00.000Z", True)
    need(await ask(origin="tool", recorded_at=older, pruned_at=old) == wanted, "since pruned")
    name, until, removable = await ask(origin="tool", recorded_at=old, pruned=True)
    need((name, removable) == ("pruned", False) and about(until, 3_600), f"{until}")
    need(await ask(origin="model", recorded_at=old) == ("closed", None, False), "not closed yet")
    wanted = ("closed", "2020-01-02T00:00:00.000Z", True)
    need(await ask(origin="model", closed_at=old) == wanted, "since closed")
    need(await ask(origin="system", recorded_at=old) == ("ever", None, False), "for ever")


@check
async def evaluate_refuses_what_it_cannot_read(lab):
    """A question about a span or about attributes, not both, with words of the contract."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"))
    good = {"origin": "user"}
    for fields in (
        {},
        {"span": "a", "attributes": good},
        {"attributes": {}},
        {"attributes": {"origin": "robot"}},
        {"attributes": {"origin": "user", "kind": "poem"}},
        {"attributes": {"origin": "user", "recorded_at": "yesterday"}},
        {"attributes": {"origin": "user", "recorded_at": 5}},
        {"attributes": {"origin": "user", "age": "5d"}},
        {"attributes": {"origin": "user", "pruned": "yes"}},
        {"attributes": good | {"pruned": False, "pruned_at": "2020-01-01T00:00:00.000Z"}},
        {"attributes": good, "now": "2020-01-01T00:00:00.000Z"},
        {"span": "no such span, by its letters"},
    ):
        refused(await office("evaluate", session=session.name, **fields), "bad_request")
    refused(await office("evaluate", attributes=good), "bad_request")
    refused(await office("evaluate", session="a.b", span="a"), "bad_request")
    refused(await office("evaluate", session=session.name, span="nope"), "unknown_span")
    refused(await office("evaluate", session="nope", span="a"), "unknown_session")


@check
async def evaluate_a_span(lab):
    """Of a span: until when, by which rule and policy, what holds it, and a sentence."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), log("t"))
    policy = await office.policy(
        rule("tools", {"for": "5d", "since": "pruned"}, {"origins": ["tool"]}),
        rule("rest", {"for": "3d"}),
    )
    recorded_at = moment(ok(await session("expand", span="a"))["recorded_at"])
    reply = await office.evaluated(session, "a")
    need(
        (reply["rule"], reply["policy"], reply["removable"]) == ("rest", policy, False)
        and about(reply["keep_until"], 3 * DAY, of=recorded_at, slack=0)
        and "rest" in reply["why"],
        f"{short(reply)}",
    )
    need((await office.evaluated(session, "t"))["keep_until"] is None, "t is not pruned")
    executed(await session("prune", spans=["t"]), "reversible")
    need(about((await office.evaluated(session, "t"))["keep_until"], 5 * DAY), "t is pruned")
    hold = await office.hold(origins=["user"])
    reply = await office.evaluated(session, "a")
    need(reply["held_by"] == [hold] and hold in reply["why"], f"{short(reply)}")
    need((await office.evaluated(session, "t"))["held_by"] == [], "t is not held")


@check
async def no_policy_keeps_for_ever(lab):
    """Without a policy, and under one without rules, everything is kept for ever."""
    office = Office(lab)
    session = await office.opened()
    for policy in (False, True):
        if policy:
            await office.policy()
        name = f"a{policy:d}"
        appended = by_id(await session.add(span(name)))[name]
        need(appended["durable_until"] is None, f"{appended}")
        pruned = executed(await session("prune", spans=[name]), "reversible")
        need(pruned["spans"][0].get("durable_until") is None, f"{pruned['spans']}")
        reply = await office.evaluated(session, name)
        need(
            (reply["keep_until"], reply["rule"], reply["removable"]) == (None, None, False)
            and (reply["policy"] is None) is not policy,
            f"{short(reply)}",
        )
        run = removed(await office.run(), 0)
        need((run["policy"] is None) is not policy, f"{run}")
        need((await office.ledger()) == [], "the ledger is empty")
        need((await office.plan())["sessions"] == [], "nothing is planned")


@check
async def what_is_promised_follows_the_policy(lab):
    """durable_until in append, prune, durability and suggest is what the policy in force says."""
    office = Office(lab)
    session = await office.opened(2_000)
    await office.policy(
        rule("user", {"for": "2d"}, {"origins": ["user"]}),
        rule("tool", {"for": "1h", "since": "pruned"}, {"origins": ["tool"]}),
        rule("model", {"max_spans": 100}, {"origins": ["model"]}, notice="3h"),
    )
    spans = [span("u"), log("t", "long words " * 60), span("k", origin="harness")]
    spans.append(span("m", "more words " * 60, role="assistant", origin="model"))
    appended = by_id(await session.add(*spans))
    seconds = {"u": 2 * DAY, "t": 3_600, "m": 3 * 3_600}

    def fits(found, where):
        for name, wanted in seconds.items():
            until = found[name]["durable_until"]
            need(until is not None and about(until, wanted), f"{where} {name}: {until}")
        need(found["k"].get("durable_until") is None, f"{where} k: {found['k']}")

    fits(appended, "append")
    fits(by_id(ok(await session("durability"))), "durability")
    candidates = ok(await session("suggest", free_tokens=50))["candidates"]
    need(candidates, "nothing is suggested")
    for each in candidates:
        shortest = min((seconds.get(name, 10**9) for name in each["spans"]))
        until = each["durable_until"]
        need(
            until is None if shortest == 10**9 else about(until, shortest),
            f"suggest {each['spans']}: {until}",
        )
    fits(by_id(executed(await session("prune", spans=list("utkm")), "reversible")), "prune")
    fits(by_id(ok(await session("durability"))), "durability of pruned spans")


@check
async def min_durability_beyond_the_policy(lab):
    """A prune that asks for more than the policy promises is rejected, and changes nothing."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"), span("b"), log("t"))
    await office.policy(rule("user", {"for": "72h"}, {"origins": ["user"]}))
    window = await session.window()
    for dry_run in (True, False):
        reply = rejected(
            await session("prune", spans=["a", "t"], min_durability="73h", dry_run=dry_run),
            "durability_too_short",
        )
        need("advice" in reply and reply["freed_tokens"] == 0, f"{short(reply)}")
    need((await session.window())["entries"] == window["entries"], "the window changed")
    executed(await session("prune", spans=["a"], min_durability="71h"), "reversible")
    executed(await session("prune", spans=["t"], min_durability="365d"), "reversible")
    refused(await session("prune", spans=["b"], min_durability="soon"), "bad_request")
    await office.policy(goes_now())
    rejected(await session("prune", spans=["b"], min_durability="1s"), "durability_too_short")
    # A hold promises nothing: it may be released at any time.
    await office.hold()
    rejected(await session("prune", spans=["b"], min_durability="1s"), "durability_too_short")
    executed(await session("prune", spans=["b"]), "reversible")


@check
async def the_tenants_stream_has_versions(lab):
    """expected_version on retention verbs is the version of the tenant's own stream."""
    office = Office(lab)
    rules = [rule("a", {"for": "1d"})]
    details = refused(
        await office("policy-set", rules=rules, expected_version=5), "version_conflict"
    )["details"]
    need(details["version"] == 0, f"{details}")
    version = ok(await office("policy-set", rules=rules, expected_version=0))["version"]
    hold = ok(await office("hold", reason="x", expected_version=version))
    for verb, fields in (
        ("policy-set", {"rules": rules}),
        ("policy-get", {}),
        ("hold", {"reason": "x"}),
        ("release", {"hold": hold["hold"], "reason": "x"}),
        ("plan", {}),
        ("run", {}),
        ("ledger", {}),
    ):
        error = refused(await office(verb, expected_version=version, **fields), "version_conflict")
        need(error["details"]["version"] == hold["version"], f"{verb}: {error['details']}")
    version = ok(await office("policy-get"))["version"]
    need(version == hold["version"], "a refused command changed the stream")
    for verb in ("policy-get", "plan", "ledger"):
        ok(await office(verb, expected_version=version))
    released = ok(
        await office("release", hold=hold["hold"], reason="x", expected_version=version)
    )
    await office.run(expected_version=released["version"])


@check
async def retention_commands_sent_twice(lab):
    """A command_id makes policy-set, hold, release and run one effect with one reply."""
    office = Office(lab)
    session = await office.opened()
    await session.add(span("a"))
    for verb, fields in (
        ("policy-set", {"rules": [goes_now(match={"origins": ["user"]})]}),
        ("hold", {"reason": "x"}),
        ("release", {"hold": "h1", "reason": "x"}),
        ("run", {}),
    ):
        first = ok(await office(verb, command_id=f"id-{verb}", **fields))
        before = await office.stream()
        second = ok(await office(verb, command_id=f"id-{verb}", **fields))
        need(second.pop("duplicate", None) is True, f"{verb}: not marked: {short(second)}")
        first.pop("duplicate", None)
        need(first == second, f"{verb}: another reply\n   {short(first)}\n   {short(second)}")
        need(await office.stream() == before, f"{verb}: something was recorded again")
    for verb, fields in (
        ("policy-set", {"rules": []}),
        ("hold", {"reason": "y"}),
        ("run", {"unlimited": True}),
    ):
        refused(await office(verb, command_id=f"id-{verb}", **fields), "command_id_reused")
    refused(await office("hold", command_id="id-run", reason="x"), "command_id_reused")
    refused(await office("run", command_id=""), "bad_request")


@check
async def the_reserved_session(lab):
    """The tenant's stream is a session that can be read, and that nobody opens or writes to."""
    office = Office(lab)
    stream = office.session("_retention")
    for setup in (False, True):
        if setup:
            await office.policy(rule("a", {"for": "1d"}))
            await office.hold("a case")
        # Free: the code; what counts is that nothing comes of it.
        refused(await stream("open", window_tokens=1_000))
        refused(await stream("append", spans=[span("a")]))
        refused(await stream("prune", spans=["a"]))
        refused(await stream("close"))
        refused(await office("erase", session="_retention", reason="x"))
    events = await office.stream()
    need(
        [event["kind"] for event in events][-2:] == ["policy-set", "hold-placed"]
        and [event["version"] for event in events] == list(range(1, len(events) + 1)),
        f"{[event['kind'] for event in events]}",
    )
    names = ok(await office.journal("sessions"))["sessions"]
    need("_retention" not in names, "the stream is listed among the sessions")
