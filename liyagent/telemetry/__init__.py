"""Telemetry: spans of runs, model calls, tool calls, guardrail checks, sweeps, resumes and deliveries (OpenTelemetry).

No tables. Verbs: `story_of`, `span`, `tell_run`, `write_span`, `trace_meta`. Called where each begins and ends; it
calls core and missions. Where no collector is set nothing of OpenTelemetry's SDK is imported and no span is made.
"""
