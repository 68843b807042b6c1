"""The promises that are due now, each in a line of our own words. A due one without a passing test is not kept.

A promise of which only a part can be kept yet says which in `part`; it is due as far as that goes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What was promised; `part` names the half that is due, empty where all of it is."""

    text: str
    part: str = ""


DUE = {
    "CR-01": Due(
        text="Any process takes over the work of a dead one; no state lives in a process.",
        part="agent runs and workflows; the edge by `make test-edge`",
    ),
    "CR-02": Due(
        text="A run that may wait, from playground, A2A or resume, goes on on the survivor; its answer is on transcript and task.",
    ),
    "CR-03": Due(
        text="A fire of a cron trigger is recorded once; its run goes on from its last step."
    ),
    "CR-04": Due(
        text="A Teams turn goes on from its checkpoint; its reply with its cards is posted once."
    ),
    "CR-05": Due(
        text="Webhook and ticket runs and co-pilot turns are resumed; the answer is on the transcript.",
    ),
    "CR-06": Due(
        text="Background jobs go on from their cursor in any process.",
    ),
    "CR-07": Due(
        text="By a setting, what came in by cron, triggers, co-pilot and Teams is written ahead, or not.",
    ),
    "CR-08": Due(
        text="The answer of an entry run is kept, sealed; whoever replaces a dead process hands it on, and runs nothing.",
    ),
    "CR-09": Due(
        text="A step and the calls it asks for are stored, sealed, before one is made.",
    ),
    "CR-10": Due(
        text="A call that changes something is marked just before it is made; a read never is.",
    ),
    "CR-11": Due(text="A run holds a lease that its process renews; the leader sweeps for lapses."),
    "CR-12": Due(text="An attempt that was taken over can write nothing more."),
    "CR-13": Due(text="A lapsed run is claimed once for each loss."),
    "CR-14": Due(text="The calls that a lost step left pass every gate again as it stands now."),
    "CR-15": Due(text="A step that was answered is not asked of the model again."),
    "CR-16": Due(text="A checkpoint that does not verify against its seal fails the run."),
    "CR-17": Due(
        text="A resume passes its starter's rights, containment, a Stop, the channel and run-as again.",
    ),
    "CR-18": Due(
        text="A run lost more than twice fails with the reason; its transcript and its A2A task are told.",
    ),
    "CR-19": Due(text="Every crash resume is audited with step, losses and settlements."),
    "CR-20": Due(text="A read in doubt is made again."),
    "CR-21": Due(
        text="A held write in doubt finds the request that waits, or what was decided of it.",
    ),
    "CR-23": Due(
        text="A delegation in doubt is asked again by its key: its child's answer, or its child is taken over once.",
    ),
    "CR-22": Due(text="A write in doubt whose vendor dedupes on our key is sent again with it."),
    "CR-24": Due(text="Any other write in doubt is read back where it can be, else told unknown."),
    "CR-25": Due(text="A call once marked as a write stays one."),
    "CR-26": Due(text="Writes in flight happen at most once; short key windows are settled."),
    "CR-27": Due(text="A step key follows from run, loop, steps taken and the provider's call id."),
    "CR-28": Due(
        text="A workflow step's key: the same for a retry, a new one for a loop back to the step.",
    ),
    "CR-29": Due(
        text="An approved call's key follows from the approval alone, however often it is sent.",
    ),
    "CR-30": Due(
        text="A person's call outside any run, and a call id that is only a position, get a fresh key."
    ),
    "CR-31": Due(
        text="What is not promised is said in the docs; trainings and red teams whose process stops are interrupted.",
    ),
    "CR-32": Due(
        text="Kill trials over fires, turns and calls: none lost, nothing done twice, recovered within 15 s.",
    ),
    "SG-01": Due(
        text="A workflow's step says how it is undone, by its own output and what it read."
    ),
    "SG-02": Due(text="An agent's map says how its calls are undone; without one nothing changes."),
    "SG-03": Due(text="An undo is fixed in the commit that says that its write took effect."),
    "SG-04": Due(text="What is tried again, or taken by `on_error` or `fallback`, is no failure."),
    "SG-05": Due(text="A failed run is undone newest first, each undo through every gate."),
    "SG-06": Due(
        text="Each undo is marked, keyed by run and step, settled; only what is owed is made."
    ),
    "SG-07": Due(text="A failing undo is tried three times; one that is held is not waited for."),
    "SG-08": Due(
        text="A failed run that registered an undo goes to a person once, with all there is to know."
    ),
    "SG-09": Due(text="It goes as a request that begins it again, as a ticket, or not at all."),
    "SG-10": Due(
        text="A workflow is handed off without undos too, and keeps its writes, where it says so."
    ),
    "SG-11": Due(
        text="Sagas are listed and shown over the API, and what is owed is undone on demand."
    ),
    "SG-12": Due(text="Each thing that happens to a saga is audited."),
    "EV-01": Due(
        text="Starts, steps, calls, decisions, resumes, ends: each an event of a kind that one table describes.",
    ),
    "EV-02": Due(
        text="Events are numbered and chained; one that is dropped, edited, put in or moved is found, and the API says so.",
    ),
    "EV-03": Due(text="The database refuses every change of the log but the purge of what is due."),
    "EV-04": Due(
        text="The same answer has the state folded from events alone beside the run's checkpoint, and whether they agree.",
    ),
    "EV-05": Due(text="A resumed run continues the same sequence of events."),
    "EV-06": Due(text="Words are in events of agents recorded in full alone; else their digest."),
    "EV-07": Due(text="Events ride in the step's commit; a failing one never holds up the run."),
    "EV-08": Due(
        text="The log can be off; events are kept for the days that are set; an agent's runs are listed.",
    ),
    "MI-01": Due(
        text="A mission comes by header, baggage or a message's `_meta`, fits one rule as a whole, or is dropped.",
    ),
    "MI-02": Due(
        text="Where none is named the correlation id, or the request's, stands in: no row is without."
    ),
    "MI-03": Due(
        text="Audit rows are found by mission; under a confidential concern they bear no request stamps.",
    ),
    "MI-04": Due(text="Each span that a run writes bears its mission, as it is exported too."),
    "MI-05": Due(
        text="Every event, the state rebuilt of them and every MCP call out bear the run's mission."
    ),
    "MI-06": Due(
        text="Request, decision, approved call, checkpoint, workflow and resumed run keep a named mission.",
    ),
    "MI-07": Due(
        text="A row's mission is that of the work; no key of a detail sets or changes it."
    ),
    "HO-01": Due(
        text="What is handed over is stored under the SHA-256 of its content and hashed again on each read; a changed row shows.",
    ),
    "HO-02": Due(
        text="The database refuses to change or delete it; a change is a version after the newest, and of two at once one wins.",
    ),
    "HO-03": Due(
        text="A delegation is a thread of the task and what came back; what a failed run left is a snapshot that its request and saga name; words only of what is recorded in full.",
    ),
    "HO-04": Due(text="Each hand-off is an event of its run and a row of the audit log."),
    "HO-05": Due(
        text="Hand-offs are opened, revised, listed and read over the API: every version verified, and whether the chain holds.",
    ),
    "RP-01": Due(
        text="An agent's recent runs, or those named, are replayed under another model; what cannot be is listed with the reason.",
    ),
    "RP-02": Due(
        text="Each task goes through the agent as it stands: its guardrails, policies, caps and hooks.",
    ),
    "RP-03": Due(
        text="Calls are answered from the record: by the same call, else the next unused of that tool, else told that there is none.",
    ),
    "RP-04": Due(
        text="Nothing of a replay is real: no server, approval, undo or event; remote agents and own state are refused.",
    ),
    "RP-05": Due(
        text="Each run is compared with its replay; what answered and fails now is a regression; the cohort comes to the worst.",
    ),
    "RP-06": Due(
        text="Cohort replays are kept, listed and audited, for who may operate agents and read words.",
    ),
    "RT-01": Due(
        text="Each day and when asked, recent runs that answered with every call done are grouped by their tools, and groups compiled.",
    ),
    "RT-02": Due(
        text="A value that is always the same is a literal, one that a call returned an expression, any other a parameter."
    ),
    "RT-03": Due(text="A step that fails leads to the agent itself, with the task it was given."),
    "RT-04": Due(
        text="Routines are listed with definition, parameters, source runs and the definition's digest."
    ),
    "RT-05": Due(
        text="An adoption is a request that names the digest; what no longer hashes to it is not saved; dismissed is for good.",
    ),
    "RT-06": Due(text="An adopted routine's calls pass every gate; its writes are held as before."),
    "RT-07": Due(
        text="Suggestions are listed, filed at once, or not made daily; each change is audited."
    ),
}
