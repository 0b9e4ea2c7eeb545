#!/usr/bin/env python3
"""Opens the pages of a running `flowloom view` in headless Chromium and uses them as a reader would.

usage: python3 tests/view_browser.py LINK --flowloom PROGRAM --folder FOLDER [--axe AXE.js] [--pictures DIR]

FOLDER is what `made_up_folders` made. Prints "N passed, N failed" and exits 1 if anything failed. If Chromium itself ends, crashes or
says nothing, all begins again once, which is told.
"""

import argparse
import datetime
import json
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

from report_browser import NAMES, TELEPHONE, Browser, Checks, Gone

DAY = 86_400_000
SPIKE = 60e6 * 8


class Pages:
    """The pages of one server."""

    def __init__(self, browser, link):
        self.browser = browser
        self.link = link.rstrip("/")
        self.opened = 0

    def open(self, place):
        """Opens a page by its link, and waits until it is shown."""
        self.opened += 1
        # Another query makes a new document.
        self.browser.events.append({"method": "mark"})
        self.browser.call("Page.navigate", url=f"{self.link}/?{self.opened}{place}")
        self.browser.wait_until(f"location.search === '?{self.opened}' && document.body?.dataset.shown !== undefined", place)
        self.shown()

    def shown(self):
        """Waits until nothing is asked any more."""
        self.browser.wait_until("!document.querySelector('main')?.textContent.includes('Loading.')", "loading")
        self.browser.settle()

    def after(self, action):
        """Acts, and waits until the page was shown again."""
        before = self.browser.evaluate("Number(document.body.dataset.shown)")
        action()
        self.browser.wait_until(f"Number(document.body.dataset.shown) > {before}", "another view")
        self.shown()

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, text, selector="button, a, summary"):
        found = self.browser.evaluate(f"""(() => {{
            const found = [...document.querySelectorAll({json.dumps(selector)})].find(one => one.textContent.trim() === {json.dumps(text)});
            found?.click();
            return found !== undefined; }})()""")
        if not found:
            raise RuntimeError(f"there is no {text!r}")

    def fields(self):
        return self.browser.evaluate("Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))")


def ask(link, path):
    with urllib.request.urlopen(link.rstrip("/") + path) as answer:
        return json.load(answer)


def period_of(pages):
    fields = pages.fields()
    return float(fields["from"]), float(fields["to"])


def link_of(told, **more):
    series = [one["id"] for one in told["series"] if one["target"] == "core"]
    fields = {"monitor": "0/counters", "from": told["from_ns"] / 1e6, "to": told["to_ns"] / 1e6, **more}
    return "#/monitors?" + "&".join([f"{name}={value}" for name, value in fields.items()] + [f"series={one}" for one in series])


# Pixels of the picture that are of the colour of the first curve's band, as high as the axis reaches: the spike.
HIGHEST = """(() => {
    const canvas = document.querySelector('.chart canvas');
    const [width, height] = [canvas.width, canvas.height];
    const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    // A third of the way.
    const [left, right] = [0.29, 0.4].map(share => Math.round(width * share));
    for (let y = 8; y < height; y++) for (let x = left; x < right; x++) {
      const at = 4 * (y * width + x);
      const [r, g, b, a] = pixels.slice(at, at + 4);
      if (a > 40 && b > r + 60) return y / height;
    }
    return 1; })()"""


def check_year(pages, check, told):
    """A year is one picture, in which a spike of a minute is visible."""
    browser = pages.browser
    pages.open(link_of(told))
    check("the page has its heading", pages.text("h1") == "Monitor counters", pages.text("h1"))
    label = browser.evaluate("document.querySelector('.chart').getAttribute('aria-label')")
    check("the picture says its greatest value", "greatest 480 Mbit/s" in label, label)
    highest = browser.evaluate(HIGHEST)
    check("a spike of a minute is drawn in a year", highest < 0.12, highest)
    table = pages.text("main table")
    check("the table has it too", "480 Mbit/s" in table, table)
    points = browser.evaluate("performance.getEntriesByType('resource').filter(one => one.name.includes('/api/period')).length")
    check("the year is one question", points == 1, points)


def check_drag(pages, check, told):
    """Dragging over a part shows that part; a link restores it; keys move and zoom."""
    browser = pages.browser
    pages.open(link_of(told))
    box = browser.evaluate("(() => { const box = document.querySelector('.u-over').getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })()")
    left, top, width, height = box
    from_ms, to_ms = period_of(pages)

    def drag():
        browser.mouse("mousePressed", left + width * 0.25, top + height / 2, button="left", clickCount=1)
        browser.mouse("mouseMoved", left + width * 0.4, top + height / 2, button="left", buttons=1)
        browser.mouse("mouseMoved", left + width * 0.5, top + height / 2, button="left", buttons=1)
        browser.mouse("mouseReleased", left + width * 0.5, top + height / 2, button="left", clickCount=1)

    pages.after(drag)
    near, far = period_of(pages)
    length = to_ms - from_ms
    check("dragging zooms to the part", abs(near - from_ms - length * 0.25) < length * 0.01 and abs(far - from_ms - length * 0.5) < length * 0.01, (near, far))
    shown = pages.text("main table")
    hash = browser.evaluate("location.hash")
    pages.open(hash)
    check("a link restores the view", pages.text("main table") == shown and period_of(pages) == (near, far), hash)
    browser.evaluate("document.querySelector('.chart').focus()")
    pages.after(lambda: browser.key("ArrowRight"))
    moved = period_of(pages)
    check("a key moves the period", abs(moved[0] - near - (far - near) / 4) < 2, moved)
    check("the picture keeps the focus", browser.evaluate("document.activeElement.className") == "chart")
    pages.after(lambda: browser.key("+"))
    check("a key zooms", abs((period_of(pages)[1] - period_of(pages)[0]) * 2 - (far - near)) < 4, period_of(pages))
    browser.key(".")
    said = pages.text("#said")
    check("a key reads points", "UTC" in said and "bit/s" in said, said)
    pages.after(lambda: browser.evaluate("history.back()"))
    check("going back goes back", abs(period_of(pages)[0] - moved[0]) < 2, period_of(pages))
    browser.mouse("mouseMoved", left + width * 0.3, top + height / 2)
    browser.settle()
    check("the pointer reads a point", "bit/s" in pages.text(".tip"), pages.text(".tip"))


def check_features(pages, check, told):
    """Sums, percentiles, directions, earlier periods, gaps, days, bursts, correlations, marks."""
    browser = pages.browser
    end = told["to_ns"] / 1e6
    week = {"from": end - 7 * DAY, "to": end}
    pages.open(link_of(told, **week))
    for name, text in [("sum", "Sum"), ("percentile", "95th percentile"), ("mirror", "In downwards")]:
        pages.after(lambda text=text: pages.click(text))
        check(f"{text} is in the link", pages.fields().get(name) == "on", pages.fields())
    rows = browser.evaluate("[...document.querySelectorAll('main table')[0].querySelectorAll('tbody th')].map(cell => cell.textContent)")
    check("the sum is a curve", rows[-1] == "sum", rows)
    pages.after(lambda: browser.evaluate("(() => { const select = document.querySelector('option[value=\"86400\"]').parentElement; select.value = '86400'; select.dispatchEvent(new Event('change')); })()"))
    check("an earlier period is beside it", "1 d before" in pages.text(".legend"), pages.text(".legend"))
    text = pages.text("main")
    check("a gap shows its reason", "no-answer" in text, text[-600:])
    check("a note is a mark", "<b>new fibre</b>" in text, text[-600:])
    check("no name became an element", not browser.evaluate("[...document.querySelectorAll('main b, main img')].length"))
    pages.open(link_of(told, **{"from": end - DAY, "to": end}))
    pages.click("Days at a glance")
    browser.wait_until("document.querySelectorAll('.days a').length > 0", "days")
    days = browser.evaluate("document.querySelectorAll('.days')[0].querySelectorAll('a').length")
    check("a month of days at a glance", 30 <= days <= 33, days)
    href = browser.evaluate("document.querySelectorAll('.days')[0].querySelectorAll('a')[5].getAttribute('href')")
    pages.click("Bursts over a threshold")
    browser.evaluate("(() => { const form = document.querySelector('input[aria-label=Threshold]').form; form.elements[1].value = '20'; form.requestSubmit(); })()")
    browser.wait_until("/bursts?,|There is no burst/.test(document.querySelector('main').innerText)", "bursts")
    check("bursts are told", "longest" in pages.text("main"), pages.text("main")[-500:])
    pages.open(href)
    near, far = period_of(pages)
    check("a day leads to its day", far - near == DAY, (near, far))


def check_clock_change(pages, check, told):
    """Days are those of the zone, also where its clock changes: on 30 March 2025 in Berlin."""
    browser = pages.browser
    end = datetime.datetime(2025, 4, 4, 22, tzinfo=datetime.timezone.utc).timestamp() * 1000
    pages.open(link_of(told, **{"from": end - 62 * DAY, "to": end}))
    pages.click("Days at a glance")
    browser.wait_until("document.querySelectorAll('.days a').length > 0", "days")
    days = browser.evaluate("[...document.querySelectorAll('.days')[0].querySelectorAll('a')].map(day => day.textContent)")
    first = datetime.date(2025, 2, 2)
    expected = [str(first + datetime.timedelta(days=number)) for number in range(62)]
    check("days have their dates", [day[:10] for day in days] == expected, [day[:10] for day in days])
    spike = [day[:10] for day in days if "480 Mbit/s" in day]
    check("the spike is on its day", spike == ["2025-02-02"], spike)
    links = browser.evaluate("[...document.querySelectorAll('.days')[0].querySelectorAll('a')].map(day => new URLSearchParams(day.getAttribute('href').split('?')[1])).map(of => of.get('to') - of.get('from'))")
    check("the day of the change has 23 hours", links[expected.index("2025-03-30")] == 23 * DAY / 24, links)
    check("others have 24", links.count(DAY) == 61, links)


def check_small(pages, check):
    """What no made-up folder has: names of objects as links, points that stand alone, durations as values."""
    browser = pages.browser
    for name in ["constructor", "toString", "__proto__"]:
        pages.open(f"#/{name}")
        check(f"#/{name} is the first page", pages.text("h1") == "Monitor counters", pages.text("h1"))
    curve = "{ points: { start_ns: [0, 100, 900, 1700, 1800], least: [1, 1, 1, 1, 1], mean: [1, 1, 1, 1, 1], most: [1, 1, 9, 1, 1] }, width: 100, interval: 10, factor: 1 }"
    alone = browser.evaluate(f"import('/chart.js').then(chart => {{ const {{ x, alone }} = chart.aligned([{curve}]); return alone[0].map(place => Math.round(x[place] * 1e9)); }})")
    check("a point that stands alone is drawn", alone == [900], alone)
    said = browser.evaluate("import('/numbers.js').then(numbers => [numbers.scaled(3e6, 'ns'), numbers.scaled(3e6, 'bit/s')])")
    check("nanoseconds are durations", said == ["3 ms", "3 Mbit/s"], said)
    browser.events.clear()


def check_correlation(pages, check, told):
    ids = [next(one["id"] for one in told["series"] if (one["target"], one["counter"]) == of) for of in [("core", "out"), ("edge", "in")]]
    end = told["to_ns"] / 1e6
    pages.open(f"#/monitors?monitor=0/counters&from={end - DAY}&to={end}&series={ids[0]}&series={ids[1]}")
    pages.click("Correlation of two series")
    pages.browser.evaluate("document.querySelector(\"input[aria-label='Lags to each side']\").form.requestSubmit()")
    pages.browser.wait_until("/Strongest|does not vary/.test(document.querySelector('main').innerText)", "correlation")
    said = pages.text("#said")
    check("the lag of the later series is found", said.startswith("Strongest edge <b>uplink</b> in 5 min later: coefficient 1"), said)


def check_runs(pages, check, flowloom, folder):
    browser = pages.browser
    pages.open("#/runs")
    check("runs are listed", browser.evaluate("document.querySelectorAll('main tbody tr').length") == 2)
    browser.evaluate("document.querySelector('input[type=search]').value = 'the slow one'")
    pages.after(lambda: browser.evaluate("document.querySelector('form[role=search]').requestSubmit()"))
    check("runs are found by their notes", "runs/slower" in pages.text("main table") and "runs/office" not in pages.text("main table"), pages.text("main table"))
    pages.open("#/runs?tag=slow")
    check("runs are found by tags", browser.evaluate("document.querySelectorAll('main tbody tr').length") == 1)
    pages.open("#/runs")
    browser.evaluate("document.querySelectorAll('main tbody input').forEach(box => box.click())")
    runs = browser.evaluate("[...document.querySelectorAll('main tbody a')].map(link => link.textContent).filter(name => name.startsWith('runs/'))")
    pages.after(lambda: pages.click("Compare"))
    browser.wait_until("document.querySelector('pre') !== null", "the comparison")
    said = subprocess.run([flowloom, "compare", *runs], cwd=folder, capture_output=True, text=True, check=False).stdout
    shown = pages.text("pre")
    check("the comparison is that of the command", "".join(shown.split()) == "".join(said.split()), (shown[:300], said[:300]))
    pages.open("#/run?run=0/runs/office")
    check("a title is text", pages.text("h1") == "<img src=x onerror=alert(1)> office", pages.text("h1"))
    check("a run has its report", "/report?folder=" in browser.evaluate("document.querySelector('a.button').getAttribute('href')"))
    pages.open("#/sweeps")
    pages.after(lambda: pages.click("sweeps/queue"))
    check("a sweep has its sentence, variants and effects", "codel" in pages.text("main table") and "Effects" in pages.text("main") and len(pages.text(".lead")) > 20, pages.text("main")[:600])


def check_map(pages, check, told):
    browser = pages.browser
    pages.open("#/map")
    circles = browser.evaluate("document.querySelectorAll('.map circle').length")
    check("sites are drawn", circles == 3, circles)
    check("a link has its load", "core:ge-0/0/1" in pages.text("main table") and "100 Mbit/s" in pages.text("main table"), pages.text("main table"))
    check("a link that went is not there", "spare:1" not in pages.text("main table"))
    pages.open(f"#/map?monitor=0/counters&to={told['from_ns'] / 1e6 + 5 * DAY}")
    check("as of a date there was another link", "spare:1" in pages.text("main table"), pages.text("main table"))
    pages.after(lambda: pages.click(browser.evaluate("document.querySelector('main table a').textContent")))
    check("a link leads to its history", pages.text("h1") == "Monitor counters" and "ge-0/0/1" in pages.text(".legend"), pages.text(".legend"))


# Fills a link for longer than any test takes.
UNDER_WAY = """
measure.duration = "1000000s"
[network.bottleneck]
rate = "10mbit"
delay = "5ms"
queue = { kind = "drop-tail", limit = "50p" }
[[sources]]
name = "s"
kind = "bulk"
rtt = "20ms"
"""


class UnderWay:
    """A run under way in a folder that is shown; its other half ends with the test."""

    def __init__(self, flowloom, folder):
        experiment = folder.parent / "under-way.toml"
        experiment.write_text(UNDER_WAY)
        self.folder = folder / "runs"
        self.process = subprocess.Popen([flowloom, "-q", "run", experiment, "--force", "-o", self.folder / "under <b>way"])

    def observed(self):
        """Its file, and the time of the run that it says."""
        for _ in range(600):
            for file in self.folder.glob("*.partial-*/running.json"):
                try:
                    return file.parent.name, json.loads(file.read_text())["time_ns"]
                except (FileNotFoundError, json.JSONDecodeError):
                    pass
            time.sleep(0.02)
        raise RuntimeError("the run says nothing")

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


def check_running(pages, check, run):
    """A run under way is listed and leads to its page, which is as new as what the run says."""
    browser = pages.browser
    name, _ = run.observed()
    pages.open("#/runs")
    browser.wait_until("document.querySelector('main section a') !== null", "the list of runs under way")
    check("a run under way is listed by its name", pages.text("main section a") == "runs/under <b>way", pages.text("main section"))
    pages.after(lambda: pages.click("runs/under <b>way"))
    check("it leads to its page", pages.text("h1") == "runs/under <b>way", pages.text("h1"))
    shown = "Number(document.querySelector('main [data-time]')?.dataset.time)"
    late = []
    for _ in range(3):
        before = run.observed()[1]
        while run.observed()[1] == before:
            time.sleep(0.01)
        _, now = run.observed()
        begun = time.monotonic()
        browser.wait_until(f"{shown} >= {now}", "a new observation")
        late.append(time.monotonic() - begun)
    check("what the run says is shown within a second", min(late) < 1, late)
    drawn = browser.evaluate("[...document.querySelectorAll('.chart')].map(one => one.getAttribute('aria-label'))")
    check("throughput, delay, queue and connections are drawn", len(drawn) == 4 and "left to right 10 Mbit/s" in drawn[0], drawn)
    check("pictures have pixels", browser.evaluate("document.querySelectorAll('.chart canvas').length") == 4)
    before = browser.evaluate(shown)
    pages.after(lambda: browser.media(scheme="dark"))
    check("what was observed is kept when the page is drawn anew", browser.evaluate(shown) >= before)
    pages.after(browser.media)
    return f"#/running?run=0/runs/{name}"


def check_stop(pages, check, run, place):
    """The stop button asks twice, and the page ends with the link to the report."""
    browser = pages.browser
    pages.open(place)
    pages.click("Stop the run", "button")
    check("a stop is asked for twice", browser.evaluate("document.activeElement.textContent") == "Stop it now")
    pages.click("Let it go on", "button")
    check("a run that may go on does", run.process.poll() is None)
    pages.click("Stop the run", "button")
    pages.click("Stop it now", "button")
    browser.wait_until("document.querySelector('main')?.innerText.includes('The run is over.')", "the end of the run")
    check("the run ends as one that was interrupted", run.process.wait() == 3, run.process.returncode)
    href = browser.evaluate("[...document.querySelectorAll('a.button')].find(one => one.textContent === 'Open the report')?.getAttribute('href')")
    check("its page leads to its report", href is not None and href.startswith("/report?folder=0%2Fruns%2Funder"), href)
    pages.after(lambda: pages.click("The run", "a"))
    check("and to the run", pages.text("h1") == "runs/under <b>way" or "under-way" in pages.text("h1"), pages.text("h1"))
    check("which is not complete", "complete\tno" in pages.text("main table"), pages.text("main table"))


def check_noise(pages, check, expected):
    """Nothing was logged or thrown, and no other server was asked."""
    events = pages.browser.events
    errors = [
        event["params"] for event in events
        if event["method"] == "Runtime.exceptionThrown"
        or event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning")
        or event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning", "assert")
    ]
    check(f"no console error or exception, {expected}", not errors, errors[:3])
    requests = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    others = [request for request in requests if not request.startswith((pages.link + "/", "data:", "blob:"))]
    check(f"no request to another server, {expected}", requests and not others, others[:3])


def check_report(pages, check):
    """A report is shown, draws its pictures, and can ask nothing."""
    browser = pages.browser
    browser.events.clear()
    browser.call("Page.navigate", url=f"{pages.link}/report?folder=0/runs/office")
    browser.wait_for("Page.loadEventFired")
    browser.settle()
    check("a report is drawn", browser.evaluate("document.querySelectorAll('svg.chart path').length") > 3)
    check("a report is of no origin", browser.evaluate("self.origin") == "null", browser.evaluate("self.origin"))
    check_noise(pages, check, "report")
    asked = browser.evaluate("fetch('/api/folders').then(() => 'answered', () => 'refused')")
    check("a report can ask nothing", asked == "refused", asked)
    browser.events.clear()


def check_pages(pages, check, told, axe, pictures, under_way):
    """Each page for readers who cannot see or use a mouse, on a telephone, in light and in dark."""
    browser = pages.browser
    end = told["to_ns"] / 1e6
    places = {
        "week": link_of(told, **{"from": end - 7 * DAY, "to": end, "sum": "on", "percentile": "on", "mirror": "on", "beside": "before"}),
        "map": "#/map", "runs": "#/runs", "run": "#/run?run=0/runs/office", "sweeps": "#/sweeps", "sweep": "#/sweep?sweep=0/sweeps/queue",
        "compare": "#/compare?run=0/runs/office&run=0/runs/slower", "running": under_way,
    }
    for name, place in places.items():
        pages.open(place)
        for scheme in ("light", "dark"):
            if scheme == "dark":
                # The picture takes other colours: the page is shown again.
                pages.after(lambda: browser.media(scheme="dark"))
            browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
            browser.settle()
            pages.shown()
            if axe:
                # Rows of a table are alike, and there are thousands.
                browser.evaluate("document.querySelectorAll('tbody').forEach(body => [...body.rows].slice(20).forEach(row => row.remove()))")
                browser.evaluate(axe)
                found = browser.evaluate("""axe.run(document, { resultTypes: ['violations'] }).then(results =>
                    results.violations.map(rule => `${rule.id}: ${rule.nodes.length} of ${rule.help}: ${rule.nodes[0].html.slice(0, 160)}: ${rule.nodes[0].any[0]?.message ?? ''}`))""")
                check(f"axe-core has nothing to say of {name}, {scheme}", found == [], found)
            if pictures:
                height = browser.evaluate("Math.min(document.documentElement.scrollHeight, 3600)")
                browser.screenshot(pictures / f"view-{name}-{scheme}.png", height=height)
        browser.size(TELEPHONE)
        wide = browser.evaluate("document.documentElement.scrollWidth")
        check(f"{name} fits a telephone", wide <= TELEPHONE, wide)
        if pictures:
            browser.screenshot(pictures / f"view-{name}-telephone.png", height=3000)
        browser.size(1400)
        pages.after(browser.media)

def look(program, arguments):
    """All checks, in a browser of their own; the exit code."""
    check = Checks()
    browser = Browser(program)
    pages = Pages(browser, arguments.link)
    told = ask(arguments.link, "/api/monitor?monitor=0/counters")
    run = None
    try:
        browser.attach()
        browser.call("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
        browser.size(1400)
        check_year(pages, check, told)
        check_drag(pages, check, told)
        check_features(pages, check, told)
        check_clock_change(pages, check, told)
        check_correlation(pages, check, told)
        check_small(pages, check)
        check_runs(pages, check, arguments.flowloom, arguments.folder)
        check_map(pages, check, told)
        run = UnderWay(arguments.flowloom, arguments.folder)
        place = check_running(pages, check, run)
        check_pages(pages, check, told, arguments.axe and arguments.axe.read_text(), arguments.pictures, place)
        check_stop(pages, check, run, place)
        check_noise(pages, check, "pages")
        check_report(pages, check)
    finally:
        if run:
            run.end()
        browser.close()
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("link")
    parser.add_argument("--flowloom", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--axe", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args(arguments)
    program = next((found for found in map(shutil.which, NAMES) if found), None)
    if program is None:
        print("skipped: there is no Chromium", file=sys.stderr)
        return 77
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    for last in (False, True):
        try:
            return look(program, arguments)
        except Gone as gone:
            print(gone if last else f"again, because {gone}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
