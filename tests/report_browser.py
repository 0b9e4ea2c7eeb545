#!/usr/bin/env python3
"""Opens a report in headless Chromium, from file://, and uses it as a reader would.

usage: python3 tests/report_browser.py REPORT.html [--axe AXE.js] [--pictures DIR] [--largest BYTES]

Checks that every picture is drawn, that nothing is logged or fetched, and that hovering, zooming, the keyboard, views, tables,
saving, dark mode and print do what they should. --axe also runs axe-core, which AXE.js holds, in light and in dark; --pictures
leaves screenshots and a PDF in DIR, to be looked at; --largest is what the file may have instead of 3 MiB.

Prints "N passed, N failed" and exits 1 if anything failed. If Chromium itself ends, crashes or says nothing, all begins again once,
which is told. Without Chromium it exits 77, skipped; to install it on
Debian: apt-get install chromium
"""

import argparse
import base64
import itertools
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
TIMEOUT = 240
# Pixels across of a small telephone.
TELEPHONE = 390
MAX_BYTES = 3 << 20


class Gone(RuntimeError):
    """Chromium ended, its page crashed, or it says nothing: which is no finding about the report."""


class Browser:
    """A headless Chromium with one page, spoken to over the DevTools protocol through a pair of pipes."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="flowloom-chromium-")
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank",
        ]
        # Chromium reads the protocol from descriptor 3 and writes it to 4; bash can redirect any descriptor there.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command], pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL, stderr=(said := open(self.complaints(), "wb")),
        )
        said.close()
        os.close(theirs_in)
        os.close(theirs_out)
        self.reader = os.fdopen(ours_in, "rb", buffering=0)
        self.writer = os.fdopen(ours_out, "wb", buffering=0)
        self.pending = b""
        self.numbers = itertools.count(1)
        self.events = []
        self.session = None

    def attach(self):
        """Waits until it runs, and takes hold of its page."""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network", "Inspector"]:
            self.call(f"{domain}.enable")

    def complaints(self):
        return pathlib.Path(self.profile) / "complaints.txt"

    def gone(self, why):
        said = self.complaints().read_text(errors="replace").strip().splitlines()[-5:]
        return Gone("\n  ".join([why, *said]))

    def receive(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self.pending:
            if not select.select([self.reader], [], [], max(0, deadline - time.monotonic()))[0]:
                raise self.gone(f"Chromium has said nothing for {TIMEOUT} s")
            chunk = self.reader.read(1 << 16)
            if not chunk:
                raise self.gone(f"Chromium ended by itself, with {self.process.wait()}")
            self.pending += chunk
        message, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(message)
        if message.get("method") == "Inspector.targetCrashed":
            raise self.gone("the page crashed")
        return message

    def call(self, method, **parameters):
        number = next(self.numbers)
        request = {"id": number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        self.writer.write(json.dumps(request).encode() + b"\0")
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def wait_for(self, event):
        while not any(seen["method"] == event for seen in self.events):
            message = self.receive()
            if "method" in message:
                self.events.append(message)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_until(self, expression, what):
        """Until the expression is true: a busy machine takes its time."""
        deadline = time.monotonic() + TIMEOUT
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: did not happen in {TIMEOUT} s")
            self.settle()

    def size(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.settle()

    def settle(self):
        """Lets resize observers and drawing happen."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def media(self, media="", scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key, code=None, text=None, **more):
        parameters = {"key": key, "code": code or key, **more}
        if key == "Tab":
            parameters["windowsVirtualKeyCode"] = 9
        down = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **parameters, **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def screenshot(self, path, **clip):
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        area = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1, **clip}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=area)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, BrokenPipeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Checks:
    """Counts what held and what did not."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def __call__(self, name, holds, found=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {name}" + (f" (found {found})" if found != "" else ""))


def check_drawn(browser, check):
    """Every picture has a path for each of its lines, an original among them where there is one."""
    figures = browser.evaluate("""JSON.parse(document.getElementById('figures').textContent).map(figure => ({
        id: figure.id, roles: (figure.lines ?? figure.cells.flatMap(cell => cell.roles)).map(line => line.role ?? line),
        drawn: [...document.querySelectorAll(`#${figure.id} svg.chart path[data-role]`)]
          .filter(path => path.getAttribute('d').length > 12 && path.getBBox().width > 20).map(path => path.dataset.role),
        looks: [...document.querySelectorAll(`#${figure.id} svg.chart path[data-role]`)].map(path =>
          `${getComputedStyle(path).stroke} ${getComputedStyle(path).strokeDasharray} ${getComputedStyle(path).strokeWidth}`),
        from: document.querySelector(`#${figure.id} .from code`)?.textContent ?? '',
        of: figure.of ?? null, kind: figure.kind ?? null, cells: figure.cells?.length ?? 0,
        label: document.querySelector(`#${figure.id} svg.chart`)?.getAttribute('aria-label'),
        labels: [...document.querySelectorAll(`#${figure.id} svg.chart .label`)].length,
        ticks: [...document.querySelectorAll(`#${figure.id} svg.chart .tick`)].filter(tick => tick.textContent).length,
        rows: document.querySelectorAll(`#${figure.id} .data tbody tr`).length,
        broken: document.querySelector(`#${figure.id} svg.chart`)?.outerHTML.match(/NaN|Infinity|undefined/)?.[0] ?? null,
    }))""")
    check("there are pictures", len(figures) >= 3, len(figures))
    replays = [role for figure in figures for role in figure["roles"] if role.startswith("run")]
    check("replays are drawn", len(replays) >= len(figures), len(replays))
    of_runs = any(figure["from"] for figure in figures)
    for figure in figures:
        name = figure["id"]
        if figure["of"]:
            panels = browser.evaluate(f"document.querySelectorAll('#{name} .surface').length")
            check(f"{name}: has a panel for each cell", panels == figure["cells"], panels)
            drawn = sorted(set(figure["drawn"]))
            check(f"{name}: every line is drawn", drawn == sorted(set(figure["roles"])), drawn)
            continue
        check(f"{name}: names its table", not of_runs or ".parquet" in figure["from"], figure["from"])
        check(f"{name}: no two lines look alike", len(set(figure["looks"])) == len(figure["looks"]), figure["looks"])
        check(f"{name}: every line is drawn", sorted(figure["drawn"]) == sorted(figure["roles"]), figure["drawn"])
        check(f"{name}: has a description", len(figure["label"] or "") > 20, figure["label"])
        check(f"{name}: lines are labelled", figure["labels"] >= 1 or len(figure["roles"]) > 12, figure["labels"])
        check(f"{name}: axes are labelled", figure["ticks"] >= 4, figure["ticks"])
        check(f"{name}: has a table", figure["rows"] >= 2, figure["rows"])
        check(f"{name}: no broken number", figure["broken"] is None, figure["broken"])
    return figures


def check_real_link(browser, check):
    """The real link, where a run has one: a dashed line in both pictures of throughput, and its numbers."""
    if not browser.evaluate("!!document.querySelector('#real-link')"):
        return
    dashes = browser.evaluate("""[...document.querySelectorAll('path.line[data-role="link0"]')].map(path =>
        [path.closest('figure').id, getComputedStyle(path).strokeDasharray, (path.getAttribute('d').match(/M/g) ?? []).length])""")
    check("the real link is in both pictures of throughput", sorted(name for name, *_ in dashes) == ["throughput-left", "throughput-right"], dashes)
    check("its line is dashed", all(dash not in ("", "none") for _, dash, _ in dashes), dashes)
    check("its line has a gap where nothing is known", all(parts == 2 for *_, parts in dashes), dashes)
    rows = browser.evaluate("[...document.querySelectorAll('#real-link tbody tr')].map(row => row.textContent)")
    check("it has numbers beside those of the run", len(rows) == 4 and "83" in rows[0] and "5s" in rows[0].replace(" ", ""), rows)


def check_noise(browser, check, url):
    """Nothing was logged, thrown or asked of the network."""
    browser.evaluate("0")
    errors = [
        event["params"] for event in browser.events
        if event["method"] == "Runtime.exceptionThrown"
        or event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning")
        or event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning", "assert")
    ]
    check("no console error or exception", not errors, errors)
    policy = browser.evaluate("document.querySelector('meta[http-equiv]').content")
    check("the policy allows the page's own style and script by their hashes", "unsafe" not in policy and policy.count("'sha256-") == 2, policy)
    check("the policy lets nothing be fetched", policy.startswith("default-src 'none'") and "http" not in policy and "*" not in policy, policy)
    requests = [event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    others = [request for request in requests if request != url and not request.startswith(("data:", "blob:"))]
    check("no request besides the file", not others, others)


def check_names(browser, check):
    """What a screen reader says of every control, picture and table heading is not empty, and no two ids are one."""
    unnamed = browser.evaluate("""[...document.querySelectorAll('a[href], button, svg.chart, th')].filter(element =>
        !(element.getAttribute('aria-label') || element.textContent).trim()).map(element => element.outerHTML.slice(0, 80))""")
    check("every control, picture and heading has a name", not unnamed, unnamed)
    ids = browser.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    check("ids are unique", len(ids) == len(set(ids)), sorted(ids))
    # Whole words: captures have names like dlt_null.dmp.
    broken = browser.evaluate(r"document.body.innerText.match(/\b(NaN|Infinity|undefined|null)\b/)?.[0] ?? null")
    check("no broken number in the words", broken is None, broken)


def box(browser, selector):
    """The middle of an element after it was scrolled into view, and half its size."""
    browser.evaluate(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
    browser.settle()
    place = browser.evaluate(f"""(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2, box.width / 2, box.height / 2]; }})()""")
    return place


def view(browser, figure):
    """What is drawn: the ticks and the first line or dots. A little zoom of a short axis may leave the ticks as they were."""
    return browser.evaluate(f"""[...document.querySelectorAll('#{figure} .axes .tick')].map(tick => tick.textContent).join(' ')
        + ' ' + document.querySelector('#{figure} path[data-role]').getAttribute('d')""")


def check_mouse(browser, check, figure):
    """Hover shows a value per line, a drag zooms, a double click resets."""
    surface = f"#{figure} .surface"
    x, y, half_width, _ = box(browser, surface)
    browser.mouse("mouseMoved", x, y)
    browser.settle()
    shown = browser.evaluate(f"document.querySelector('#{figure} .readout').innerText")
    hidden = browser.evaluate(f"document.querySelector('#{figure} .readout').hidden")
    lines = browser.evaluate(f"new Set([...document.querySelectorAll('#{figure} path[data-role]')].map(path => path.dataset.role)).size")
    check(f"{figure}: hover shows values", not hidden and any(letter.isdigit() for letter in shown), shown)
    values = browser.evaluate(f"document.querySelectorAll('#{figure} .readout i').length")
    check(f"{figure}: hover has a value for each line", values >= lines, values)
    before = view(browser, figure)
    browser.mouse("mousePressed", x - half_width / 3, y, button="left", clickCount=1)
    for step in range(5):
        browser.mouse("mouseMoved", x - half_width / 3 + step * half_width / 8, y, button="left", buttons=1)
    brushed = browser.evaluate(f"document.querySelectorAll('#{figure} .brush').length")
    browser.mouse("mouseReleased", x + half_width / 3, y, button="left", clickCount=1)
    browser.settle()
    check(f"{figure}: a drag shows what it will zoom to", brushed == 1, brushed)
    check(f"{figure}: a drag zooms the axis", view(browser, figure) != before, before)
    for count in (1, 2):
        browser.mouse("mousePressed", x, y, button="left", clickCount=count)
        browser.mouse("mouseReleased", x, y, button="left", clickCount=count)
    browser.settle()
    check(f"{figure}: a double click resets", view(browser, figure) == before, view(browser, figure))
    browser.mouse("mouseMoved", 1, 1)


# What a quantity's unit makes of it: nanoseconds, bytes, bit/s, packets/s, counts.
UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "d": 86_400e9, "days": 86_400e9, "h": 3_600e9, "B": 1, "kB": 1e3,
         "MB": 1e6, "GB": 1e9, "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "packets/s": 1, "kpackets/s": 1e3,
         "Mpackets/s": 1e6, "": 1}


def number(text):
    """A quantity as the page shows it, `24.3 ms`, in the smallest unit; None of a dash."""
    match = re.match(r"([+−-]?[\d,.]+)\s?([^\s(]*)", text.strip())
    if match is None or match[2] not in UNITS:
        return None
    return float(match[1].replace(",", "").replace("−", "-")) * UNITS[match[2]]


def hover(browser, figure, share):
    """What the readout says with the mouse at this share of the picture's width: x, and a text for each line."""
    x, y, half_width, _ = box(browser, f"#{figure} .surface")
    browser.mouse("mouseMoved", x - half_width + 2 * half_width * share, y)
    browser.wait_until(f"!document.querySelector('#{figure} .readout').hidden", f"hovering {figure}")
    return browser.evaluate(f"""[document.querySelector('#{figure} .readout b').textContent,
        Object.fromEntries([...document.querySelectorAll('#{figure} .readout span')].map(item =>
          [item.firstChild.textContent, item.querySelector('i').textContent]))]""")


def check_hover_is_table(browser, check, figures):
    """Hover values are the table's: shares lie between those of the quantiles around them, values of series are those of their rows."""
    wanted = {"distribution": ("response-time", "duration", "talk-bytes", "request"), "series": ("active", "throughput-left")}
    for kind, names in wanted.items():
        figure = next((figure["id"] for name in names for figure in figures if figure["id"] == name and figure["kind"] == kind), None)
        if figure is None:
            continue
        head, *rows = browser.evaluate(f"""[...document.querySelectorAll('#{figure} .data tr')].map(row =>
            [...row.children].map(cell => cell.textContent))""")
        for at in (0.2, 0.5, 0.8):
            x, values = hover(browser, figure, at)
            for column, name in enumerate(head[1:], 1):
                if name not in values:
                    continue
                if kind == "distribution":
                    check_share(check, figure, name, number(x), number(values[name]), [(row[0], number(row[column])) for row in rows])
                else:
                    check_value(check, figure, name, number(x) / 1e9, values[name], [(number(row[0]) / 1e9, number(row[column])) for row in rows])
        browser.mouse("mouseMoved", 1, 1)


def check_share(check, figure, name, x, share, rows):
    quantiles = [(float(text.split()[0]) / 100, value) for text, value in rows if text.endswith("%") and value is not None]
    # Three digits of both x and the quantiles.
    below = max([p for p, value in quantiles if value <= x * 0.993], default=0.0)
    above = min([p for p, value in quantiles if value > x * 1.007], default=1.0)
    check(f"{figure}, {name}: hover is the table's", below - 0.007 <= share <= above + 0.007, (x, share, below, above))


def check_value(check, figure, name, time, text, rows):
    """The row that holds the time has the mean of its bins, which no bin of a row of one differs from."""
    step = rows[1][0] - rows[0][0] if len(rows) > 1 else 0
    found = [value for start, value in rows if start <= time + 1e-9 < start + step and value is not None]
    if "(" in text:
        low, high = (number(part) for part in text[text.index("(") + 1 : -1].split("–"))
    else:
        low = high = number(text)
    # Rows may be means of several drawn bins: then the mean of the neighbours says as much as can be told.
    near = [value for start, value in rows if abs(start - time) <= 2 * step and value is not None]
    slack = max((abs(value) for value in near), default=0.0)
    holds = not found or low - slack <= found[0] <= high + slack
    check(f"{figure}, {name}: hover is near the table's row", holds, (time, text, found))


def check_series_are_tables(browser, check):
    """Every row of a series' table is the mean of the values that are drawn within it."""
    figures = browser.evaluate("""JSON.parse(document.getElementById('figures').textContent).filter(figure => figure.kind === 'series')
        .map(figure => ({ id: figure.id, start: figure.start, step: figure.step, lines: figure.lines.map(line => [line.name, line.y]),
          rows: [...document.querySelectorAll(`#${figure.id} .data tr`)].map(row => [...row.children].map(cell => cell.textContent)) }))""")
    for figure in figures:
        head, *rows = figure["rows"]
        if len(rows) < 3:
            continue
        start, width = number(rows[0][0]) / 1e9, (number(rows[1][0]) - number(rows[0][0])) / 1e9
        worst = 0.0
        for name, values in figure["lines"]:
            if name not in head:
                continue
            for index, row in enumerate(rows[:-1]):
                table = number(row[head.index(name)])
                places = [figure["start"] + at * figure["step"] for at in range(len(values))]
                within = [value for place, value in zip(places, values)
                          if index * width <= place - start < (index + 1) * width - 1e-9]
                # Where bins that are drawn do not fit into those of the table, both are not told of the same time.
                if within and table is not None and abs(width / figure["step"] - round(width / figure["step"])) < 1e-6 and len(within) == round(width / figure["step"]):
                    mean = sum(within) / len(within)
                    worst = max(worst, abs(mean - table) / max(abs(table), 1e-9) if abs(table) > 1e-9 else abs(mean))
        # Three digits in the table.
        check(f"{figure['id']}: the table has the means of what is drawn", worst < 0.006, worst)


def check_views(browser, check, figures):
    """Every view of a figure is one click away, is another picture and names its axis; a difference is what it says."""
    for kind in ("distribution", "series"):
        figure = next((figure["id"] for figure in figures if figure["kind"] == kind and not figure["of"]), None)
        if figure is None:
            continue
        views = browser.evaluate(f"[...document.querySelectorAll('#{figure} [data-view]')].map(button => button.dataset.view)")
        several = browser.evaluate(f"document.querySelectorAll('#{figure} path[data-role]').length") > 1
        wanted = {"distribution": ["cdf", "ccdf"] + ["gap", "quantiles"] * several, "series": ["series", "change"] * several}[kind]
        check(f"{figure}: has its views", views == wanted, views)
        seen = []
        for name in views:
            browser.evaluate(f"document.querySelector('#{figure} [data-view={name}]').click()")
            pressed = browser.evaluate(f"[...document.querySelectorAll('#{figure} [data-view][aria-pressed=true]')].map(button => button.dataset.view)")
            check(f"{figure}: the pressed view is the shown one", pressed == [name], pressed)
            drawn = browser.evaluate(f"""[document.querySelector('#{figure} path[data-role]').getAttribute('d'),
                [...document.querySelectorAll('#{figure} .title')].map(title => title.textContent).join('|')]""")
            check(f"{figure}: {name} is a picture", "NaN" not in drawn[0] and len(drawn[0]) > 8, drawn)
            seen.append(tuple(drawn))
        check(f"{figure}: views are different pictures", len(set(seen)) == len(seen), views)
        if "gap" in views:
            check_gap(browser, check, figure)
        if views:
            browser.evaluate(f"document.querySelector('#{figure} [data-view={views[0]}]').click()")


def check_gap(browser, check, figure):
    """The largest difference that is drawn is the KS distance beneath the picture."""
    browser.evaluate(f"document.querySelector('#{figure} [data-view=gap]').click()")
    texts = saved(browser, figure, "csv")
    largest = {}
    for row in texts.splitlines()[1:]:
        name, _, gap = row.rsplit(",", 2)
        largest[name.strip('"')] = max(largest.get(name.strip('"'), 0.0), abs(float(gap)))
    told = browser.evaluate(f"""[...document.querySelectorAll('#{figure} .ratios tbody tr')].map(row =>
        [row.children[0].textContent, row.children[1].textContent])""")
    for name, ks in told:
        # A series that hardly varies has none.
        if not ks.startswith("0."):
            continue
        # Both curves are drawn within 0.001 of the truth.
        check(f"{figure}: the largest difference is KS", name in largest and abs(largest[name] - float(ks)) < 0.004, (name, ks, largest))


def saved(browser, figure, kind):
    """What a button saves, as text; of PNG the first bytes and the size of the picture."""
    browser.evaluate("""window.saved = []; URL.createObjectURL = blob => { saved.push(blob); return 'blob:x'; };
        HTMLAnchorElement.prototype.click = function () { saved.name = this.download; };""")
    browser.evaluate(f"document.querySelector('#{figure} [data-action={kind}]').click()")
    browser.wait_until("saved.length > 0", f"saving {figure} as {kind}")
    if kind == "png":
        return browser.evaluate("""saved[0].arrayBuffer().then(buffer => { const view = new DataView(buffer);
            return [view.getUint32(0) === 0x89504e47, view.getUint32(16), view.getUint32(20), buffer.byteLength]; })""")
    return browser.evaluate("saved[0].text()")


def check_tables_and_downloads(browser, check, figure):
    shown = "getComputedStyle(document.querySelector('#%s .data')).display !== 'none'" % figure
    check("tables are folded away at first", not browser.evaluate(shown))
    browser.evaluate(f"document.querySelector('#{figure} [data-action=table]').click()")
    check("the table button shows the table", browser.evaluate(shown))
    state = browser.evaluate(f"document.querySelector('#{figure} [data-action=table]').getAttribute('aria-expanded')")
    check("the table button says it is open", state == "true", state)
    browser.evaluate(f"document.querySelector('#{figure} [data-action=table]').click()")
    curves = browser.evaluate(
        f"JSON.parse(document.getElementById('figures').textContent).find(figure => figure.id === '{figure}').lines.map(line => line.name)")
    for kind, start in (("svg", "<svg"), ("csv", "series,")):
        text = saved(browser, figure, kind)
        # A distribution of one value is two lines; each curve has its own.
        whole = len(text) > 100 if kind == "svg" else all(f"\n{name}," in text for name in curves)
        check(f"{kind} is saved", text.startswith(start) and whole and "NaN" not in text, text[:80])
    ids = browser.evaluate("JSON.parse(document.getElementById('figures').textContent).map(figure => figure.id)")
    # Every kind of figure and of grid once: one has the id's first word of many.
    for one in {re.split("-|0", name)[0]: name for name in ids}.values():
        is_png, width, height, size = saved(browser, one, "png")
        check(f"{one}: png is saved", is_png and width >= 600 and height >= 300 and size > 2_000, (width, height, size))
        check(f"{one}: csv is saved", len(saved(browser, one, "csv").splitlines()) > 2)


def check_keyboard(browser, check, figure):
    """Tab reaches every control in page order; arrows read values, + zooms, 0 resets."""
    browser.evaluate("document.activeElement.blur(); scrollTo(0, 0); getSelection().removeAllRanges()")
    wanted = browser.evaluate("""[...document.querySelectorAll('a[href], button, svg.chart, summary, [tabindex="0"]:not(svg)')]
        .filter(element => element.checkVisibility()).length""")
    reached = []
    for _ in range(wanted + 2):
        browser.key("Tab")
        reached.append(browser.evaluate("""(() => { const all = [...document.querySelectorAll('a[href], button, svg.chart, summary, [tabindex="0"]:not(svg)')]
            .filter(element => element.checkVisibility()); return all.indexOf(document.activeElement); })()"""))
    order = [index for index in reached if index >= 0]
    check("the keyboard reaches every control", len(set(order)) == wanted, f"{len(set(order))} of {wanted}")
    # Where the first Tab lands depends on what was used last; from there it goes down the page and around once.
    first = order[: len(set(order))]
    top = first.index(min(first))
    check("the focus goes down the page", first[top:] + first[:top] == sorted(first), first)
    browser.evaluate(f"document.querySelector('#{figure} svg.chart').focus()")
    browser.key("ArrowRight")
    check("arrow keys read values", not browser.evaluate(f"document.querySelector('#{figure} .readout').hidden"))
    before = view(browser, figure)
    browser.key("+", "Equal", "+")
    check("+ zooms", view(browser, figure) != before)
    focused = browser.evaluate(f"document.activeElement === document.querySelector('#{figure} svg.chart')")
    check("the focus survives the drawing", focused)
    near = view(browser, figure)
    browser.key("+", "Equal", "+")
    browser.key("-", "Minus", "-")
    check("- takes back half of it", view(browser, figure) not in (before, ""), near)
    browser.key("0", "Digit0", "0")
    check("0 resets", view(browser, figure) == before)
    texts = []
    for key in ("Home", "End", "ArrowLeft"):
        browser.key(key)
        texts.append(browser.evaluate(f"document.querySelector('#{figure} .readout b').textContent"))
    check("Home and End go to the ends", texts[0] != texts[1], texts)
    browser.key("Escape")
    browser.evaluate("document.activeElement.blur()")


def check_toggles(browser, check, figures):
    role = next(role for role in figures[0]["roles"] if role.startswith("run"))
    lines = f"document.querySelectorAll('path.line[data-role={role}]').length"
    before = browser.evaluate(lines)
    browser.evaluate(f"document.querySelector('[data-toggle={role}]').click()")
    check("a line can be hidden everywhere", before > 0 and browser.evaluate(lines) == 0, before)
    browser.evaluate(f"document.querySelector('[data-toggle={role}]').click()")
    check("and shown again", browser.evaluate(lines) == before)


def luminance(browser, expression):
    colour = browser.evaluate(expression)
    red, green, blue = (int(float(part)) for part in colour[colour.index("(") + 1 : colour.index(")")].split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def check_media(browser, check):
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.body).color"
    line = "getComputedStyle(document.querySelector('path.line')).stroke"
    browser.media(scheme="light")
    check("light mode is light", luminance(browser, ground) > 0.9 and luminance(browser, ink) < 0.2)
    light = browser.evaluate(line)
    browser.media(scheme="dark")
    check("dark mode is dark", luminance(browser, ground) < 0.15 and luminance(browser, ink) > 0.8)
    check("dark mode changes the lines", browser.evaluate(line) != light)
    browser.media("print", "dark")
    check("print is light even for readers of the dark", luminance(browser, ground) > 0.9 and luminance(browser, ink) < 0.2)
    tools = browser.evaluate("getComputedStyle(document.querySelector('.tools')).display")
    check("print leaves out the controls", tools == "none", tools)
    whole = browser.evaluate("[...document.querySelectorAll('figure')].every(figure => getComputedStyle(figure).breakInside === 'avoid')")
    check("print cuts no picture", whole)
    browser.media()


def check_telephone(browser, check):
    browser.size(TELEPHONE)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    wider = browser.evaluate(f"""[...document.querySelectorAll('body *')].filter(element => !element.closest('svg, .scroll') &&
        element.getBoundingClientRect().right > {TELEPHONE} + 1).map(element => element.tagName + '.' + element.className).slice(0, 5)""")
    check("a telephone needs no sideways scrolling", wide <= TELEPHONE, (wide, wider))


def check_narrow(browser, check):
    check_telephone(browser, check)
    columns = browser.evaluate("getComputedStyle(document.querySelector('.figures')).gridTemplateColumns.split(' ').length")
    check("a narrow screen has one column", columns == 1, columns)
    browser.size(1400)
    columns = browser.evaluate("getComputedStyle(document.querySelector('.figures')).gridTemplateColumns.split(' ').length")
    check("a wide screen has two", columns == 2, columns)


def pdf_objects(data):
    """The numbered objects of a PDF, those in object streams too, as bytes."""
    objects = {int(match[1]): match[2] for match in re.finditer(rb"(?m)^(\d+) 0 obj\b(.*?)^endobj", data, re.S)}
    for body in list(objects.values()):
        if b"/ObjStm" not in body:
            continue
        stream = zlib.decompress(body[body.index(b"stream") + 6 :].lstrip(b"\r\n"))
        first = int(re.search(rb"/First (\d+)", body)[1])
        pairs = [int(text) for text in stream[:first].split()]
        ends = pairs[3::2] + [len(stream) - first]
        objects.update({number: stream[first + at : first + end] for number, at, end in zip(pairs[::2], pairs[1::2], ends)})
    return objects


def printed(browser):
    """Prints to A4. Returns the file, and for each element of interest the pages and heights, in points from the bottom, where it
    begins and ends: links to its two ends make the browser write down where they are."""
    browser.evaluate("""(() => {
        const list = document.createElement('p');
        list.id = 'print-probe';
        document.querySelectorAll('figure, h2, tr').forEach((element, index) => {
            if (element.closest('.data') || element.closest('.ratios')) return;
            for (const [place, name] of [['afterbegin', 'begin'], ['beforeend', 'end']]) {
                const mark = document.createElement('span');
                mark.id = `probe-${index}-${name}-${element.tagName}-${element.id}`;
                mark.className = 'probe';
                (element.tagName === 'TR' ? (name === 'begin' ? element.firstElementChild : element.lastElementChild) : element)
                    .insertAdjacentElement(place, mark);
                const link = document.createElement('a');
                link.href = '#' + mark.id;
                link.textContent = '.';
                list.append(link, ' ');
            }
        });
        document.body.append(list);
    })()""")
    data = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])
    browser.evaluate("document.querySelectorAll('.probe, #print-probe').forEach(element => element.remove())")
    objects = pdf_objects(data)
    pages = [number for number, body in sorted(objects.items()) if re.search(rb"/Type\s*/Page\b(?!s)", body)]
    kids = next(body for body in objects.values() if re.search(rb"/Type\s*/Pages\b", body) and b"/Parent" not in body)
    ordered = [page for page in leaves(objects, kids) if page in pages]
    places = {}
    for body in objects.values():
        for name, page, height in re.findall(rb"/(probe#2d[\w#]+|probe-[\w-]+)\s*\[(\d+) 0 R\s*/XYZ\s+[\d.-]+\s+([\d.-]+)", body):
            text = name.decode().replace("#2d", "-")
            _, index, end, *of = text.split("-", 4)
            places.setdefault((int(index), "-".join(of)), {})[end] = (ordered.index(int(page)), float(height))
    return data, ordered, objects, places


def leaves(objects, node):
    kids = re.search(rb"/Kids\s*\[(.*?)\]", node, re.S)
    for number in re.findall(rb"(\d+) 0 R", kids[1]):
        body = objects[int(number)]
        if b"/Kids" in body:
            yield from leaves(objects, body)
        else:
            yield int(number)


def check_print(browser, check):
    """Page by page: A4, nothing cut, nothing shrunk, no page without anything; and printing leaves the screen as it was."""
    before = browser.evaluate("document.querySelector('svg.chart').getAttribute('width')")
    pictures = browser.evaluate("document.querySelectorAll('figure').length")
    data, pages, objects, places = printed(browser)
    browser.settle()
    check("prints to PDF", data.startswith(b"%PDF") and len(data) > 20_000, len(data))
    check("prints as many pages as it needs", pictures / 8 <= len(pages) <= 6 + pictures + len(places) / 10, len(pages))
    for page, number_of in enumerate(pages, 1):
        size = [float(part) for part in re.search(rb"/MediaBox\s*\[([^\]]*)\]", objects[number_of])[1].split()]
        check(f"page {page} is A4", abs(size[2] - 595) < 2 and abs(size[3] - 842) < 2, size)
        contents = objects[int(re.search(rb"/Contents\s+(\d+)", objects[number_of])[1])]
        drawing = zlib.decompress(contents[contents.index(b"stream") + 6 :].lstrip(b"\r\n"))
        check(f"page {page} has text", drawing.count(b"Tj") + drawing.count(b"TJ") > 2 or page == len(pages), len(drawing))
    figures = {key: ends for key, ends in places.items() if key[1].startswith("FIGURE")}
    check("every picture is printed", len(figures) == pictures, f"{len(figures)} of {pictures}")
    for (_, name), ends in places.items():
        (first, top), (last, bottom) = ends["begin"], ends["end"]
        check(f"{name} is on one page", first == last, (first + 1, last + 1))
        if name.startswith("FIGURE"):
            check(f"{name} has its height", bottom < top - 60, (top, bottom))
            check(f"{name} lies on the paper", top < 842 and bottom > 20, (top, bottom))
    heads = {key[0]: ends["begin"] for key, ends in places.items() if key[1].startswith("H2")}
    for index, (page, height) in heads.items():
        check("no heading stands alone at the foot of a page", height > 80, (index, page + 1, height))
    browser.media("print")
    browser.size(695)
    wide = browser.evaluate("""[...document.querySelectorAll('body *')].filter(element => !element.closest('svg') &&
        element.getBoundingClientRect().right > 697 && element.getClientRects().length)
        .map(element => `${element.tagName}.${element.className} ${Math.round(element.getBoundingClientRect().right)}`).slice(0, 5)""")
    check("nothing is wider than the paper", not wide, wide)
    browser.media()
    browser.size(1400)
    check("printing leaves the screen alone", browser.evaluate("document.querySelector('svg.chart').getAttribute('width')") == before)
    return data


def check_axe(browser, check, source):
    """axe-core finds nothing to say against the page, in light and in dark, with tables and readouts open."""
    browser.evaluate(source)
    for scheme in ("light", "dark"):
        browser.media(scheme=scheme)
        browser.evaluate("document.querySelectorAll('[data-action=table]').forEach(button => button.click())")
        found = browser.evaluate("""axe.run(document, { resultTypes: ['violations'] }).then(results =>
            results.violations.map(rule => `${rule.id}: ${rule.nodes.length} of ${rule.help}: ${rule.nodes[0].html.slice(0, 120)}: ${rule.nodes[0].any[0]?.message ?? ''}`))""")
        check(f"axe-core has nothing to say, {scheme}", found == [], found)
        browser.evaluate("document.querySelectorAll('[data-action=table]').forEach(button => button.click())")
    browser.media()


def check_without_script(browser, check, figures, url):
    """Without JavaScript there are plain pictures, and the tables are open."""
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.events = [event for event in browser.events if event["method"] != "Page.loadEventFired"]
    browser.call("Page.navigate", url=url)
    browser.wait_for("Page.loadEventFired")
    drawn = browser.evaluate("""[...document.querySelectorAll('figure')].filter(figure =>
        figure.querySelector('svg.chart path.line')?.getBBox().width > 20).length""")
    check("pictures without JavaScript", drawn == len(figures), drawn)
    shown = browser.evaluate("[...document.querySelectorAll('.data')].filter(table => table.getClientRects().length).length")
    tables = sum(1 for figure in figures if not figure["of"])
    check("tables without JavaScript", shown == tables, shown)


def take_pictures(browser, folder, pdf):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.pdf").write_bytes(pdf)
    for width, scheme in itertools.product((1400, 420), ("light", "dark")):
        browser.media(scheme=scheme)
        browser.size(width)
        browser.screenshot(folder / f"report-{width}-{scheme}.png")
    browser.media()
    browser.size(1400)


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--axe", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--largest", type=int, default=MAX_BYTES)
    # Whether the page opens without a complaint, has names, and fits a telephone: for pages whose pictures others have, too.
    parser.add_argument("--basics", action="store_true")
    arguments = parser.parse_args(arguments)
    report = arguments.report.resolve()
    if not report.is_file():
        print(f"error: {report}: there is no such report", file=sys.stderr)
        return 2
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("skipped: no Chromium here; install it with: apt-get install chromium")
        return 77
    for last in (False, True):
        try:
            return look(program, report, arguments)
        except Gone as gone:
            print(f"{'FAILED' if last else 'begun again, since'}: {gone}")
    return 1


def look(program, report, arguments):
    """All checks of a report, in a browser of their own; the exit code."""
    check = Checks()
    check(f"the report is smaller than {arguments.largest} bytes", report.stat().st_size < arguments.largest, report.stat().st_size)
    browser = Browser(program)
    try:
        browser.attach()
        browser.size(1400)
        url = report.as_uri()
        begun = time.monotonic()
        browser.call("Page.navigate", url=url)
        browser.wait_for("Page.loadEventFired")
        browser.settle()
        if arguments.basics:
            check_names(browser, check)
            check_telephone(browser, check)
            check_noise(browser, check, url)
            print(f"{check.passed} passed, {check.failed} failed")
            return 1 if check.failed else 0
        figures = check_drawn(browser, check)
        drawn = time.monotonic() - begun
        if not figures:
            print(f"{check.passed} passed, {check.failed} failed")
            return 1
        check_real_link(browser, check)
        for kind in ("series", "distribution", "octaves"):
            figure = next((figure["id"] for figure in figures if figure["kind"] == kind and not figure["of"]), None)
            # A run of less than two bins has no course of time to draw.
            if figure:
                check_mouse(browser, check, figure)
        grid = next((figure["id"] for figure in figures if figure["of"]), None)
        if grid:
            check_mouse(browser, check, grid)
        figure = next(figure["id"] for figure in figures if figure["kind"] == "distribution")
        check_names(browser, check)
        check_hover_is_table(browser, check, figures)
        check_series_are_tables(browser, check)
        check_keyboard(browser, check, figure)
        check_toggles(browser, check, figures)
        check_media(browser, check)
        check_narrow(browser, check)
        if arguments.axe:
            check_axe(browser, check, arguments.axe.read_text())
        pdf = check_print(browser, check)
        if arguments.pictures:
            take_pictures(browser, arguments.pictures, pdf)
        check_views(browser, check, figures)
        check_tables_and_downloads(browser, check, figure)
        check_without_script(browser, check, figures, url)
        check_noise(browser, check, url)
    finally:
        browser.close()
    print(f"{check.passed} passed, {check.failed} failed; {len(figures)} pictures drawn in {drawn:.1f} s")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
