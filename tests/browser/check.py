"""Opens a report in headless Chromium and looks at every part of it.

    check.py REPORT.html [--screenshots DIR] [--expect TEXT]... [--hostile]

Fails when the page logs an error, asks for anything, or does not react. Needs `playwright` (PyPI) and a
Chromium: the one that CHROMIUM names, else `chromium` on the path. Run by tests/pictures.rs where both are.
"""

import argparse
import json
import os
import pathlib
import shutil
import sys
import time

from playwright.sync_api import sync_playwright


def main():
    args = argparse.ArgumentParser()
    args.add_argument("report", type=pathlib.Path)
    args.add_argument("--screenshots", type=pathlib.Path)
    args.add_argument("--expect", action="append", default=[], help="text that some page shows")
    args.add_argument("--hostile", action="store_true", help="names try to run; they must not")
    args = args.parse_args()
    browser_path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    problems, requests, seen = [], [], []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page = context.new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(f"{e}"))
        page.on("request", lambda r: requests.append(r.url))
        page.on("dialog", lambda d: (problems.append(f"dialog {d.message}"), d.dismiss()))
        begun = time.monotonic()
        page.goto(args.report.resolve().as_uri())
        page.wait_for_selector("main h2")
        usable = time.monotonic() - begun
        data = json.loads(page.evaluate("document.getElementById('data').textContent"))

        def visit(name, hash_):
            page.evaluate("h => { location.hash = h }", hash_)
            page.wait_for_timeout(150)
            text = page.inner_text("main")
            if not text.strip():
                problems.append(f"{hash_} shows nothing")
            seen.append(text)
            if args.screenshots:
                args.screenshots.mkdir(parents=True, exist_ok=True)
                page.screenshot(path=args.screenshots / f"{name}.png", full_page=True)

        tabs = page.eval_on_selector_all("nav a", "list => list.map(a => a.getAttribute('href'))")
        for tab in tabs:
            visit(tab[1:], tab)
        pictured = [p["trace"] for p in data["pictures"]][:12]
        for at in pictured:
            visit(f"trace-{at}", f"#trace/{at}")
        for at in range(min(12, len(data["findings"]))):
            visit(f"finding-{at}", f"#finding/{at}")
        interact(page, data, problems)
        page.emulate_media(color_scheme="dark")
        page.reload()
        visit("dark-overview", "#overview")
        if data["findings"]:
            visit("dark-finding", "#finding/0")
        page.set_viewport_size({"width": 390, "height": 800})
        for name, hash_ in [("narrow-overview", "#overview"), ("narrow-finding", "#finding/0"), ("narrow-trace", "#trace/0")]:
            visit(name, hash_)
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if wide > 1:
                problems.append(f"{hash_} is {wide} pixels wider than a narrow window")
        if args.hostile and page.evaluate("window.hacked !== undefined"):
            problems.append("a name ran as a script")
        browser.close()
    everything = "\n".join(seen)
    for text in args.expect:
        if text not in everything:
            problems.append(f"nowhere shown: {text}")
    foreign = [url for url in requests if not url.startswith("file:")]
    if foreign or len(requests) > 2:
        problems.append(f"requests: {requests}")
    size = args.report.stat().st_size
    print(f"{args.report.name}: {size} bytes, usable after {usable:.2f} s, {len(data['traces'])} traces, "
          f"{len(data['figures'])} figures, {len(seen)} pages")
    for problem in problems:
        print(f"problem: {problem}")
    sys.exit(1 if problems else 0)


def interact(page, data, problems):
    """Sorts, filters, zooms, switches; each must change what is shown."""
    page.evaluate("location.hash = '#overview'")
    page.wait_for_timeout(100)
    if len(data["traces"]) > 1:
        before = page.inner_text("tbody tr:first-child td:first-child")
        page.click("th button >> nth=0")
        page.click("th button >> nth=0")
        if page.inner_text("tbody tr:first-child td:first-child") == before and page.get_attribute("th >> nth=0", "aria-sort") is None:
            problems.append("sorting does nothing")
        page.fill("input[type=search]", "no such trace anywhere")
        if page.locator("tbody tr").count() != 0:
            problems.append("filtering does nothing")
        page.fill("input[type=search]", "")
    lanes = next((i for i, f in enumerate(data["findings"]) if any(data["figures"][x]["kind"] == "lanes" for x in f["figures"])), None)
    if lanes is None:
        return
    page.evaluate("i => { location.hash = '#finding/' + i }", lanes)
    page.wait_for_selector("canvas")
    page.wait_for_timeout(200)
    shot = "document.querySelector('.lanes canvas').toDataURL()"
    first = page.evaluate(shot)
    page.focus(".lanes canvas")
    page.keyboard.press("+")
    page.wait_for_timeout(50)
    second = page.evaluate(shot)
    if first == second:
        problems.append("zooming by keyboard does nothing")
    page.keyboard.press("Home")
    page.wait_for_timeout(50)
    if page.evaluate(shot) != first:
        problems.append("Home does not show all again")
    box = page.locator(".lanes canvas").bounding_box()
    found = False
    for x in range(220, int(box["width"]) - 10, 40):
        page.mouse.move(box["x"] + x, box["y"] + 30)
        if page.locator(".tip").is_visible() and " s to " in page.inner_text(".tip"):
            found = True
            break
    if not found:
        problems.append("hovering over a lane tells nothing")
    page.mouse.move(box["x"] + 300, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 40)
    page.mouse.up()
    page.wait_for_timeout(50)
    if page.evaluate(shot) == first:
        problems.append("zooming by mouse does nothing")
    page.select_option("figure select >> nth=0", "priority")
    page.click("details.sql summary >> nth=0")
    if not page.locator("details.sql pre >> nth=0").is_visible():
        problems.append("the SQL cannot be seen")


main()
