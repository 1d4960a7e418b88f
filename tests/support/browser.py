"""A page in a real browser: steps of a test are played on it, one after the other.

Any browser made from Chromium that is installed will do; RATIOBENCH_BROWSER names another one.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--virtual-time-budget=5000",
    "--dump-dom",
]
LISTEN = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(String(event.message)));
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
console.error = (...words) => problems.push(words.join(" "));
</script>"""
# Steps are given one after the other, each after the page has settled; what they return is written into the page.
PLAY = """<script>
(async () => {
  const seen = [];
  const settled = () => new Promise((done) => setTimeout(done, 50));
  const set = (control, value) => {
    control.value = value;
    control.dispatchEvent(new Event("input", { bubbles: true }));
  };
  [WORDS]
  for (const step of [STEPS]) {
    try { seen.push(await step()); } catch (error) { problems.push(String(error)); seen.push(null); }
    await settled();
  }
  const outcome = document.createElement("pre");
  outcome.id = "outcome";
  outcome.textContent = JSON.stringify({ seen, problems });
  document.body.append(outcome);
})();
</script>"""


def find_browser() -> str | None:
    """The browser to use, or None."""
    return shutil.which(os.environ.get("RATIOBENCH_BROWSER", "")) or next(filter(None, map(shutil.which, NAMES)), None)


def play(
    page: Path, tmp_path: Path, steps: list[str], *flags: str, words: str = "", address: str = ""
) -> tuple[list[Any], list[str]]:
    """What JavaScript functions return on the page, one after the other, and all errors meanwhile.

    `words` is JavaScript that the steps can use; `address` stands behind the page's own: a query, a place on the page.
    """
    text = page.read_text(encoding="utf-8")
    assert text.count("<head>") == text.count("</body>") == 1
    script = PLAY.replace("[STEPS]", f"[{', '.join(steps)}]").replace("[WORDS]", words)
    copy = tmp_path / "page.html"
    copy.write_text(text.replace("<head>", "<head>" + LISTEN).replace("</body>", script + "</body>"), encoding="utf-8")
    browser = find_browser()
    assert browser is not None
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [browser, *FLAGS, profile, *flags, copy.as_uri() + address],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'<pre id="outcome">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-2000:]
    outcome = json.loads(html.unescape(found[1]))
    return outcome["seen"], outcome["problems"]
