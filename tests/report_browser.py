#!/usr/bin/env python3
"""Opens a report in headless Chromium, from file://, and uses it as a reader would.

usage: python3 tests/report_browser.py REPORT.html [--pictures DIR]

Checks that every picture is drawn, that nothing is logged or fetched, and that hovering, zooming, the keyboard, tables,
dark mode and print do what they should. --pictures also leaves screenshots and a PDF in DIR, to be looked at.

Prints "N passed, N failed" and exits 1 if anything failed. Without Chromium it exits 77, skipped; to install it on
Debian: apt-get install chromium
"""

import base64
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
TIMEOUT = 60
MAX_BYTES = 3 << 20


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
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.reader = os.fdopen(ours_in, "rb", buffering=0)
        self.writer = os.fdopen(ours_out, "wb", buffering=0)
        self.pending = b""
        self.numbers = itertools.count(1)
        self.events = []
        self.session = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def receive(self):
        deadline = time.monotonic() + TIMEOUT
        while b"\0" not in self.pending:
            chunk = self.reader.read(1 << 16)
            if not chunk or time.monotonic() > deadline:
                raise RuntimeError("Chromium stopped answering")
            self.pending += chunk
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

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
        id: figure.id, roles: figure.lines.map(line => line.role),
        drawn: [...document.querySelectorAll(`#${figure.id} svg.chart path[data-role]`)]
          .filter(path => path.getAttribute('d').length > 12 && path.getBBox().width > 20).map(path => path.dataset.role),
        label: document.querySelector(`#${figure.id} svg.chart`)?.getAttribute('aria-label'),
        labels: [...document.querySelectorAll(`#${figure.id} svg.chart .label`)].length,
        ticks: [...document.querySelectorAll(`#${figure.id} svg.chart .tick`)].filter(tick => tick.textContent).length,
        rows: document.querySelectorAll(`#${figure.id} .data tbody tr`).length,
        broken: document.querySelector(`#${figure.id} svg.chart`)?.outerHTML.match(/NaN|Infinity|undefined/)?.[0] ?? null,
    }))""")
    check("there are pictures", len(figures) >= 3, len(figures))
    replays = [role for figure in figures for role in figure["roles"] if role.startswith("run")]
    check("replays are drawn", len(replays) >= len(figures), len(replays))
    for figure in figures:
        name = figure["id"]
        check(f"{name}: every line is drawn", sorted(figure["drawn"]) == sorted(figure["roles"]), figure["drawn"])
        check(f"{name}: has a description", len(figure["label"] or "") > 20, figure["label"])
        check(f"{name}: lines are labelled", figure["labels"] >= 1, figure["labels"])
        check(f"{name}: axes are labelled", figure["ticks"] >= 4, figure["ticks"])
        check(f"{name}: has a table", figure["rows"] >= 2, figure["rows"])
        check(f"{name}: no broken number", figure["broken"] is None, figure["broken"])
    return figures


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
    """What is drawn: the ticks and the first line. A little zoom of a short axis may leave the ticks as they were."""
    return browser.evaluate(f"""[...document.querySelectorAll('#{figure} .axes .tick')].map(tick => tick.textContent).join(' ')
        + ' ' + document.querySelector('#{figure} path.line').getAttribute('d')""")


def check_mouse(browser, check, figure):
    """Hover shows a value per line, a drag zooms, a double click resets."""
    surface = f"#{figure} .surface"
    x, y, half_width, _ = box(browser, surface)
    browser.mouse("mouseMoved", x, y)
    browser.settle()
    shown = browser.evaluate(f"document.querySelector('#{figure} .readout').innerText")
    hidden = browser.evaluate(f"document.querySelector('#{figure} .readout').hidden")
    lines = browser.evaluate(f"document.querySelectorAll('#{figure} path.line').length")
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


def check_hover_is_table(browser, check):
    """The response time the picture shows at a share is the one the table has: medians straddle one half."""
    figure = "response-time"
    found = browser.evaluate(f"""(() => {{
        const figure = JSON.parse(document.getElementById('figures').textContent).find(figure => figure.id === '{figure}');
        if (!figure) return [];
        const cells = row => [...row.children].map(cell => cell.textContent);
        // A point without response times has a column and no line.
        const names = cells(document.querySelector('#{figure} .data thead tr'));
        const rows = [...document.querySelectorAll('#{figure} .data tbody tr')].map(cells);
        const median = rows.find(row => row[0] === '50 %');
        const units = {{ ns: 1, us: 1e3, ms: 1e6, s: 1e9, d: 86400e9 }};
        return figure.lines.map(line => {{
            const text = median?.[names.indexOf(line.name)] ?? 'no column';
            const [number, unit] = text.split(' ');
            const at = line.above.findIndex(above => 1 - above / line.n >= 0.5);
            return [line.name, text, Number(number) * units[unit], line.x[at]];
        }});
    }})()""")
    for name, text, table, curve in found:
        near = table is not None and abs(table - curve) <= 0.02 * curve
        check(f"{name}: the curve's median is the table's", near, (text, curve))


def check_views(browser, check, figure):
    before = browser.evaluate(f"document.querySelector('#{figure} path.line').getAttribute('d')")
    browser.evaluate(f"document.querySelector('#{figure} [data-view=ccdf]').click()")
    browser.settle()
    pressed = browser.evaluate(f"document.querySelector('#{figure} [data-view][aria-pressed=true]').dataset.view")
    check(f"{figure}: the pressed view is the shown one", pressed == "ccdf", pressed)
    after = browser.evaluate(f"document.querySelector('#{figure} path.line').getAttribute('d')")
    check(f"{figure}: CCDF is another picture", before != after and "NaN" not in after)
    title = browser.evaluate(f"document.querySelector('#{figure} .axes .title').textContent")
    check(f"{figure}: CCDF names its axis", ">" in title, title)
    browser.evaluate(f"document.querySelector('#{figure} [data-view=cdf]').click()")


def check_tables_and_downloads(browser, check, figure):
    shown = "getComputedStyle(document.querySelector('#%s .data')).display !== 'none'" % figure
    check("tables are folded away at first", not browser.evaluate(shown))
    browser.evaluate(f"document.querySelector('#{figure} [data-action=table]').click()")
    check("the table button shows the table", browser.evaluate(shown))
    state = browser.evaluate(f"document.querySelector('#{figure} [data-action=table]').getAttribute('aria-expanded')")
    check("the table button says it is open", state == "true", state)
    browser.evaluate(f"document.querySelector('#{figure} [data-action=table]').click()")
    browser.evaluate("""window.saved = []; URL.createObjectURL = blob => { blob.text().then(text => saved.push(text)); return 'blob:x'; };
        HTMLAnchorElement.prototype.click = function () { saved.name = this.download; };""")
    curves = browser.evaluate(
        f"JSON.parse(document.getElementById('figures').textContent).find(figure => figure.id === '{figure}').lines.map(line => line.name)")
    for kind, start in (("svg", "<svg"), ("csv", "series,")):
        browser.evaluate("saved.length = 0")
        browser.evaluate(f"document.querySelector('#{figure} [data-action={kind}]').click()")
        browser.evaluate("new Promise(done => setTimeout(done, 50))")
        text = browser.evaluate("saved[0] || ''")
        # A distribution of one value is two lines; each curve has its own.
        whole = len(text) > 100 if kind == "svg" else all(f"\n{name}," in text for name in curves)
        check(f"{kind} is saved", text.startswith(start) and whole and "NaN" not in text, text[:80])


def check_keyboard(browser, check, figure):
    """Tab reaches every control in page order; arrows read values, + zooms, 0 resets."""
    browser.evaluate("document.activeElement.blur(); scrollTo(0, 0); getSelection().removeAllRanges()")
    wanted = browser.evaluate("""[...document.querySelectorAll('a[href], button, svg.chart, pre[tabindex]')]
        .filter(element => element.getClientRects().length).length""")
    reached = []
    for _ in range(wanted + 2):
        browser.key("Tab")
        reached.append(browser.evaluate("""(() => { const all = [...document.querySelectorAll('a[href], button, svg.chart, pre[tabindex]')]
            .filter(element => element.getClientRects().length); return all.indexOf(document.activeElement); })()"""))
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
    browser.key("0", "Digit0", "0")
    check("0 resets", view(browser, figure) == before)
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


def check_narrow(browser, check):
    browser.size(420)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    check("a narrow screen needs no sideways scrolling", wide <= 420, wide)
    columns = browser.evaluate("getComputedStyle(document.querySelector('.figures')).gridTemplateColumns.split(' ').length")
    check("a narrow screen has one column", columns == 1, columns)
    browser.size(1400)
    columns = browser.evaluate("getComputedStyle(document.querySelector('.figures')).gridTemplateColumns.split(' ').length")
    check("a wide screen has two", columns == 2, columns)


def check_print(browser, check):
    """The PDF has text and pictures, and printing leaves the screen as it was."""
    before = browser.evaluate("document.querySelector('svg.chart').getAttribute('width')")
    data = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])
    browser.settle()
    check("prints to PDF", data.startswith(b"%PDF") and len(data) > 20_000, len(data))
    check("printing leaves the screen alone", browser.evaluate("document.querySelector('svg.chart').getAttribute('width')") == before)
    return data


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
    check("tables without JavaScript", shown == len(figures), shown)


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
    if not arguments or len(arguments) not in (1, 3) or len(arguments) == 3 and arguments[1] != "--pictures":
        print(__doc__, file=sys.stderr)
        return 2
    report = pathlib.Path(arguments[0]).resolve()
    if not report.is_file():
        print(f"error: {report}: there is no such report", file=sys.stderr)
        return 2
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("skipped: no Chromium here; install it with: apt-get install chromium")
        return 77
    check = Checks()
    check("the report is smaller than 3 MB", report.stat().st_size < MAX_BYTES, report.stat().st_size)
    browser = Browser(program)
    try:
        browser.size(1400)
        url = report.as_uri()
        browser.call("Page.navigate", url=url)
        browser.wait_for("Page.loadEventFired")
        browser.settle()
        figures = check_drawn(browser, check)
        if not figures:
            print(f"{check.passed} passed, {check.failed} failed")
            return 1
        for kind in ("series", "distribution"):
            found = browser.evaluate(
                f"JSON.parse(document.getElementById('figures').textContent).find(figure => figure.kind === '{kind}')?.id ?? ''")
            # A run of less than two bins has no course of time to draw.
            if found:
                figure = found
                check_mouse(browser, check, figure)
        check_names(browser, check)
        check_hover_is_table(browser, check)
        check_views(browser, check, figure)
        check_keyboard(browser, check, figure)
        check_toggles(browser, check, figures)
        check_media(browser, check)
        check_narrow(browser, check)
        pdf = check_print(browser, check)
        if len(arguments) == 3:
            take_pictures(browser, pathlib.Path(arguments[2]), pdf)
        check_tables_and_downloads(browser, check, figure)
        check_without_script(browser, check, figures, url)
        check_noise(browser, check, url)
    finally:
        browser.close()
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
