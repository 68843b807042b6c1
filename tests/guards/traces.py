"""The guards of traces: a mission on each span, one story across processes, no words by mistake, nobody held up."""

from __future__ import annotations

from tests.guards.guard import Guard

ROOM = "liyagent/telemetry/"
SPANS = "tests/unit/telemetry/test_spans.py::"
SENDING = "tests/unit/telemetry/test_sending.py::"
REQUESTS = "tests/unit/telemetry/test_requests.py::"
CARRIED = "tests/unit/runs/carrying/test_traces.py::"
ASKED_IN = "tests/unit/telemetry/test_asked_in.py::"

TRACES: tuple[Guard, ...] = (
    Guard(
        name="a span's mission is validated as it begins",
        file=f"{ROOM}processors.py",
        search="named = clean_mission(get_baggage(BAGGAGE, parent_context))",
        replace='named = str(get_baggage(BAGGAGE, parent_context) or "")',
        tests=(
            f"{SPANS}test_a_mission_of_another_shape_is_dropped_and_the_correlation_id_stands_in",
        ),
    ),
    Guard(
        name="a span without a mission is not sent",
        file=f"{ROOM}sending.py",
        search="        if mission_of(span) is None:\n",
        replace="        if mission_of(span) is None and not span:\n",
        tests=(f"{SPANS}test_a_span_that_lost_its_mission_is_counted_and_never_sent",),
    ),
    Guard(
        name="the span of a run has the id that all processes know",
        file=f"{ROOM}tracing.py",
        search="return super().generate_span_id() if chosen is None else chosen[1]",
        replace="return super().generate_span_id() if chosen is None else chosen[1] ^ 1",
        tests=(
            f"{SPANS}test_what_two_processes_tell_of_a_run_is_one_trace_below_the_span_of_the_run",
            f"{CARRIED}test_a_run_that_was_lost_and_resumed_is_one_story_each_span_with_its_mission",
        ),
    ),
    Guard(
        name="words of a run not recorded in full are in no span",
        file=f"{ROOM}tracing.py",
        search="has_words=self.has_words and run.recording == FULL",
        replace="has_words=self.has_words",
        tests=(
            f"{SPANS}test_words_are_told_where_recording_and_setting_both_say_so",
            f"{CARRIED}test_words_that_were_asked_for_are_those_that_guardrails_left_and_of_full_recording_alone",
        ),
    ),
    Guard(
        name="words that nobody asked for are in no span",
        file=f"{ROOM}live.py",
        search="        if not self._has_words:\n            return\n",
        replace="",
        tests=(f"{CARRIED}test_no_words_are_told_of_a_run_recorded_in_full_that_nobody_asked_for",),
    ),
    Guard(
        name="a tool that the model made up names no span",
        file="runs/attempt.py",
        search='call.name if call.contract is not None else ""',
        replace="call.name",
        tests=(f"{CARRIED}test_no_words_are_told_of_a_run_recorded_in_full_that_nobody_asked_for",),
    ),
    Guard(
        name="of an exception a span has the class alone",
        file=f"{ROOM}live.py",
        search="            self.fail(kind.__name__)\n",
        replace="            self.fail(str(error))\n",
        tests=(f"{SPANS}test_what_ends_a_block_is_told_by_its_name_alone",),
    ),
    Guard(
        name="what a collector missed is kept",
        file=f"{ROOM}sending.py",
        search="                self._put_back(batch)\n",
        replace="",
        tests=(f"{SENDING}test_what_a_collector_missed_while_it_was_down_is_sent_once_it_is_back",),
    ),
    Guard(
        name="a collector that is down is not hurried",
        file=f"{ROOM}sending.py",
        search="                if not self._ending.wait(pause):\n",
        replace="                if not self._ending.wait(0):\n",
        tests=(f"{SENDING}test_one_that_is_down_is_not_asked_faster_the_more_waits",),
    ),
    Guard(
        name="text that is none loses no batch",
        file=f"{ROOM}otlp.py",
        search='return text if text.isascii() else text.encode("utf-8", "replace").decode()',
        replace="return text",
        tests=(
            f"{SENDING}test_text_that_is_none_costs_neither_its_span_nor_those_that_go_along",
            f"{SPANS}test_words_are_told_where_recording_and_setting_both_say_so",
        ),
    ),
    Guard(
        name="an answer that cannot be read ends nothing",
        file=f"{ROOM}otlp.py",
        search="    except DecodeError:\n",
        replace="    except ZeroDivisionError:\n",
        tests=(f"{SENDING}test_whatever_a_collector_answers_ends_nothing",),
    ),
    Guard(
        name="spans that wait have a bound",
        file=f"{ROOM}sending.py",
        search="                self._waiting.popleft()\n                SPANS.of(FULL).inc()\n",
        replace="                SPANS.of(FULL).inc(0)\n",
        tests=(f"{SENDING}test_of_too_many_that_wait_the_oldest_give_way_and_are_counted",),
    ),
    Guard(
        name="a request that names no mission bears its id",
        file=f"{ROOM}requests.py",
        search="MISSION: stamp.mission_of_work",
        replace="MISSION: stamp.mission",
        tests=(
            f"{REQUESTS}test_the_span_of_a_request_bears_its_mission_its_id_where_none_was_named",
        ),
    ),
    Guard(
        name="what may be told of a request is one table",
        file=f"{ROOM}requests.py",
        search="{REQUEST_FACTS[name]: it for name, it in found.items() if name in REQUEST_FACTS}",
        replace="found",
        tests=(f"{REQUESTS}test_a_request_is_told_of_with_these_attributes_and_no_others",),
    ),
    Guard(
        name="the instrumentation is shown no headers of a request",
        file=f"{ROOM}requests.py",
        search='shown = {"REQUEST_METHOD": method, "REQUEST_URI": "/"}',
        replace='shown = {**request.META, "REQUEST_METHOD": method, "REQUEST_URI": "/"}',
        tests=(f"{REQUESTS}test_a_request_is_told_of_with_these_attributes_and_no_others",),
    ),
    Guard(
        name="a method that nobody knows is not repeated in a span",
        file=f"{ROOM}requests.py",
        search="method = request.method if request.method in METHODS else OTHER",
        replace="method = str(request.method)",
        tests=(f"{REQUESTS}test_a_method_that_nobody_knows_is_not_repeated",),
    ),
    Guard(
        name="other packages find no span and no baggage of a request",
        file=f"{ROOM}requests.py",
        search="        token = attach(Context())\n",
        replace='        token = attach(Context({**__import__("opentelemetry.context").context.get_current()}))\n',
        tests=(f"{REQUESTS}test_nothing_of_a_request_is_in_what_other_packages_read",),
    ),
    Guard(
        name="spans of requests push out none of runs",
        file=f"{ROOM}sending.py",
        search="if gives_way and len(self._waiting) >= self._most // 2:",
        replace="if gives_way and not self._most:",
        tests=(f"{REQUESTS}test_requests_push_out_no_spans_of_runs",),
    ),
    Guard(
        name="requests of machines that watch are not told of",
        file=f"{ROOM}requests.py",
        search="if request.path.startswith(LEFT_OUT):",
        replace="if request.path.startswith(LEFT_OUT) and not request:",
        tests=(f"{REQUESTS}test_what_machines_ask_all_the_time_is_not_told_of",),
    ),
    Guard(
        name="without a collector no span is made",
        file=f"{ROOM}spans.py",
        search="    if conf is None:\n        return None\n",
        replace='    if conf is None:\n        conf = TracesConf(url="http://127.0.0.1:9/v1/traces")\n',
        tests=(
            "tests/unit/telemetry/test_off.py::test_every_span_without_a_collector_is_one_object",
            f"{CARRIED}test_where_no_collector_is_set_a_call_out_says_nothing_of_spans",
        ),
    ),
    Guard(
        name="trace: what is no traceparent is dropped",
        file="liyagent/core/traceparent.py",
        search="RULE.fullmatch(value)",
        replace="RULE.match(value)",
        tests=(f"{ASKED_IN}test_what_is_no_traceparent_is_dropped",),
    ),
    Guard(
        name="trace: a run's span is linked to whoever asked",
        file=f"{ROOM}tracing.py",
        search="links=links, start=began",
        replace="start=began",
        tests=(
            f"{ASKED_IN}test_the_span_of_a_run_that_was_lost_is_linked_to_whoever_asked_for_it",
        ),
    ),
    Guard(
        name="trace: who asked is kept only where it is told",
        file="runs/start.py",
        search=" and settings.LIYAGENT.traces",
        replace="",
        tests=(f"{ASKED_IN}test_where_nothing_is_traced_nothing_of_it_is_kept",),
    ),
    Guard(
        name="trace: an arrival keeps who asked for it",
        file="liyagent/entry/begin.py",
        search='traceparent=words.get(TRACEPARENT, "")',
        replace="traceparent=current_stamp().traceparent",
        tests=(f"{ASKED_IN}test_an_arrival_that_another_process_starts_keeps_its_own",),
    ),
)
