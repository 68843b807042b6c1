"""Telemetry: spans of runs, model and tool calls, guardrail checks, sweeps, resumes, deliveries and requests (OpenTelemetry).

No tables. Verbs: `story_of`, `span`, `run_span`, `tell_later`, `tell_requests`, `trace_meta`. Called where each begins and ends; it
calls core and missions. Where no collector is set nothing of OpenTelemetry's SDK is imported and no span is made.
"""
