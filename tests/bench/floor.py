"""The floor: what durability alone costs here and now. One INSERT of 2 KB and its commit a step (floor1)."""

from __future__ import annotations

import threading
import time

import psycopg

from tests.bench.world import random_text

STEP_BYTES = 2048
TABLE = "CREATE TABLE IF NOT EXISTS bench_floor (id bigserial PRIMARY KEY, body text NOT NULL)"
INSERT = "INSERT INTO bench_floor (body) VALUES (%s)"


def run_floor(url: str, *, steps: int, threads: int) -> tuple[float, list[float]]:
    """Insert `steps` rows over `threads` connections; return the seconds in all and of each step."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(TABLE)
    seconds: list[float] = []
    lock = threading.Lock()
    ready = threading.Barrier(threads + 1)

    def insert() -> None:
        mine: list[float] = []
        with psycopg.connect(url, autocommit=True, prepare_threshold=0) as connection:
            ready.wait()
            for _ in range(steps // threads):
                began = time.perf_counter()
                connection.execute(INSERT, [random_text(STEP_BYTES)])
                mine.append(time.perf_counter() - began)
        with lock:
            seconds.extend(mine)

    workers = [threading.Thread(target=insert) for _ in range(threads)]
    for worker in workers:
        worker.start()
    ready.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - began, seconds
