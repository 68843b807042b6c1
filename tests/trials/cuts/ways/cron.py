"""The clock: a slot that falls due, once."""

from __future__ import annotations

from dataclasses import dataclass

from tests.trials.cuts.ways.visit import Told, Visit


@dataclass(slots=True, kw_only=True)
class Cron(Visit):
    """A trigger of its own, whose one slot of the year falls due. Nobody sends anything, so nobody sends it again."""

    is_answered: bool = True

    def prepare(self) -> None:
        self.ends.desk.ask("cron_trigger", key=self.name, agent=self.agent)

    def play(self, told: Told) -> None:
        self.ends.desk.ask("fall_due", key=self.name)
        told.do("fire")
        told.carry()

    def broken(self, url: str, run: str) -> list[str]:
        """One slot with one outcome, and the next slot after it."""
        fires = self.ask(url, "GET", f"/api/cron-triggers/{self.name}/fires").body["fires"]
        shown = [(it["kind"], it["state"], it["outcome"]) for it in fires]
        broken = [] if shown == [("slot", "ended", "answered")] else [f"the fires are {shown}"]
        trigger = self.ask(url, "GET", f"/api/cron-triggers/{self.name}").body
        if trigger["problem"] or not trigger["next_slot"]:
            broken.append(f"the trigger stands still: {trigger['problem']}")
        return broken + self.answer_broken(url, run)
