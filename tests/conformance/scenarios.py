"""Which scenarios of the suite our server has to pass, and why the others do not apply to it."""

from __future__ import annotations

from collections.abc import Mapping

# To each the checks within it that do not apply, as WHY_NOT_CHECKED says. What a version does not know is not asked of it.
APPLIES: Mapping[str, frozenset[str]] = {
    "server-initialize": frozenset(),
    "server-session-lifecycle": frozenset(),
    "server-stateless": frozenset(
        {
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
        }
    ),
    "ping": frozenset(),
    "tools-list": frozenset(),
    "tools-call-simple-text": frozenset(),
    "tools-call-error": frozenset(),
    "tools-call-with-progress": frozenset(),
    "http-header-validation": frozenset(),
    "dns-rebinding-protection": frozenset(),
    "input-required-result-unsupported-methods": frozenset(),
    "input-required-result-ignore-extra-params": frozenset(),
    "caching": frozenset(
        {
            "sep-2549-prompts-list-caching-hints",
            "sep-2549-resources-list-caching-hints",
            "sep-2549-resources-templates-list-caching-hints",
        }
    ),
}
WHY_NOT_CHECKED = "they want prompts, resources, or a tool that logs or asks its client"
# By the beginning of its name.
DOES_NOT_APPLY: Mapping[str, str] = {
    "prompts-": "there are no prompts",
    "resources-": "there are no resources",
    "sep-2164-": "there are no resources",
    "sep-2640-": "there are no skills",
    "completion-": "nothing is completed",
    "logging-": "no log is sent to clients: the protocol has deprecated it",
    "tools-call-with-logging": "no log is sent to clients: the protocol has deprecated it",
    "tools-call-image": "an agent answers in text",
    "tools-call-audio": "an agent answers in text",
    "tools-call-embedded-resource": "an agent answers in text",
    "tools-call-mixed-content": "an agent answers in text",
    "tools-call-sampling": "an agent asks its own model, never its client's",
    "tools-call-elicitation": "people are asked in the console, never through the client",
    "elicitation-": "people are asked in the console, never through the client",
    "input-required-result-": "people are asked in the console, never through the client",
    "json-schema-2020-12": "it wants a tool of its own with that schema",
    "server-sse-": "there are no sessions, and no streams to take up again: a call sent again with its key is the same",
    "http-custom-header-": "no argument is repeated in a header",
    "tasks-": "the extension is not offered: run_result tells what became of a run",
}


def why_not(name: str) -> str | None:
    """Return why a scenario does not apply; None for one that does, or is not known here."""
    if name in APPLIES:
        return None
    return next((why for it, why in DOES_NOT_APPLY.items() if name.startswith(it)), None)
