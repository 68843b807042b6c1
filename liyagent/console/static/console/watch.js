// Watches what is under way: whenever its stream tells of something, the part of the page that changes is asked for again.
// Where the stream does not answer it is asked for every five seconds, and where there is none every two. The page says which of these it is.
"use strict";
(() => {
  const box = document.getElementById("now");
  const live = document.getElementById("live");
  if (!box || box.dataset.ended === "yes") return;

  const PAUSE = 300;
  const EVERY = box.dataset.stream ? 5000 : 2000;
  let isAsking = false;
  let isWanted = false;
  let isOver = false;
  let isAway = false;

  const POLLED = "This page brings itself up to date every two seconds.";
  const say = (text) => { if (live.textContent !== text) live.textContent = text; };

  async function ask() {
    if (isOver) return;
    if (isAsking) { isWanted = true; return; }
    isAsking = true;
    isWanted = false;
    try {
      const answer = await fetch(box.dataset.now, { credentials: "same-origin", redirect: "error", cache: "no-store" });
      if (answer.status === 403 || answer.status === 404) {
        say("You may not see this any more.");
        isOver = true;
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const text = await answer.text();
      if (!box.contains(document.activeElement) || !document.activeElement.matches("a, button")) box.innerHTML = text;
      else { const place = [...box.querySelectorAll("a, button")].indexOf(document.activeElement); box.innerHTML = text; box.querySelectorAll("a, button")[place]?.focus(); }
      if (answer.headers.get("X-Liyagent-Ended") === "yes") {
        isOver = true;
        say("");
      } else if (isAway && !box.dataset.stream) say(POLLED);
      isAway = false;
    } catch {
      say("The server does not answer, or you are logged out. Asking again every few seconds; it goes on all the same.");
      isAway = true;
    } finally {
      isAsking = false;
      if (isWanted && !isOver) setTimeout(ask, PAUSE);
    }
  }

  async function listen() {
    while (!isOver) {
      try {
        const answer = await fetch(box.dataset.stream, { credentials: "same-origin", redirect: "error", cache: "no-store" });
        if (answer.ok && answer.body) {
          say("Live: what happens is shown as it happens.");
          const reader = answer.body.getReader();
          for (;;) {
            const { done } = await reader.read();
            if (done) break;
            await ask();
          }
        } else throw new Error(String(answer.status));
      } catch {
        if (!isOver) say("Not live at the moment: asking every five seconds.");
      }
      await ask();
      if (!isOver) await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  }

  setInterval(ask, EVERY);
  if (box.dataset.stream) listen();
  else { say(POLLED); ask(); }
})();
