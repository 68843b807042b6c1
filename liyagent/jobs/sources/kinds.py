"""The kind of job that keeps a source in step."""

KIND = "source_sync"
