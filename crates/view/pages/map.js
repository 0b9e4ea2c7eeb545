// Sites and links as of a time, with the load of a period.

import { ask, url } from "./ask.js";
import { h, number, put, s, table } from "./elements.js";
import { read, scaled, time, time_and_utc, written } from "./numbers.js";

const [WIDTH, HEIGHT, EDGE] = [900, 520, 70];
const SPANS = [["1 hour", 3600e9], ["1 day", 86400e9], ["1 week", 604800e9], ["30 days", 2592000e9]];

export async function map_page(place, fields, folders) {
  put(place, h("h1", {}, "Map"));
  if (!folders.registries.length || !folders.monitors.length) {
    place.append(h("p", {}, "A map needs the store of a monitor, and its registry with sites and links."),
      h("p", { class: "note" }, "The monitor keeps its registry in the store. The store of an earlier version has none: put the registry file (TOML) into a shown folder."));
    return;
  }
  const monitor = folders.monitors.find(one => one.id === fields.get("monitor")) ?? folders.monitors[0];
  // What the store keeps is of the time that is shown.
  const registry = folders.registries.find(one => one.id === fields.get("registry")) ?? folders.registries.find(one => one.id === monitor.id)
    ?? folders.registries[0];
  const { to_ns, from_ns: begun } = await ask("/api/monitor", { monitor: monitor.id });
  const end = fields.has("to") ? Math.round(Number(fields.get("to")) * 1e6) : to_ns ?? Date.now() * 1e6;
  const span = Number(fields.get("span") ?? 86400e9);
  const from = Math.max(end - span, Math.min(begun ?? 0, end - 1), 0);
  const found = await ask("/api/map", { registry: registry.id, monitor: monitor.id, from: Math.round(from), to: Math.round(end), at: Math.round(end) });
  const go = changes => {
    // The registry that a store keeps is that of its own ports.
    const kept = folders.monitors.some(one => one.id === registry.id) && "monitor" in changes ? { registry: changes.monitor } : {};
    location.hash = url("#/map", { registry: registry.id, monitor: monitor.id, to: end / 1e6, span, ...kept, ...changes });
  };
  const when = h("input", { type: "datetime-local", step: 1, value: written(end / 1e6) });
  when.addEventListener("change", () => Number.isFinite(read(when.value)) && go({ to: read(when.value) }));
  const choice = (label, all, at, name) => all.length < 2 ? null : h("label", {}, `${label} `, h("select", { onchange: event => go({ [name]: event.target.value }) },
    all.map(one => h("option", { value: one.id, selected: one.id === at.id }, one.name))));
  place.append(
    h("div", { class: "bar" }, choice("Registry", folders.registries, registry, "registry"), choice("Monitor", folders.monitors, monitor, "monitor"),
      h("label", {}, "As of ", when),
      h("div", { class: "group", role: "group", "aria-label": "Load of" },
        SPANS.map(([text, length]) => h("button", { type: "button", "aria-pressed": String(length === span), onclick: () => go({ span: length }) }, text)))),
    picture(found, monitor),
    h("p", { class: "note" }, `Topology of ${time_and_utc(end / 1e6)}; load since ${time(from / 1e6)}. Lines are as wide as their links carry; from 50 % of the capacity on they are amber, from 80 % on red.`),
    links(found, monitor, from, end), sites(found));
}

/** Where sites are drawn: by their coordinates, else on a circle. */
function places(sites) {
  const known = sites.filter(site => site.latitude !== null && site.longitude !== null);
  const found = new Map();
  if (known.length === sites.length && sites.length > 1) {
    const range = name => [Math.min(...known.map(site => site[name])), Math.max(...known.map(site => site[name]))];
    const [[south, north], [west, east]] = [range("latitude"), range("longitude")];
    // A degree of longitude is shorter the farther it is from the equator.
    const narrow = Math.cos((south + north) / 360 * Math.PI);
    const scale = Math.min((WIDTH - 2 * EDGE) / ((east - west) * narrow || 1e-9), (HEIGHT - 2 * EDGE) / (north - south || 1e-9));
    const [middle_x, middle_y] = [(west + east) / 2, (south + north) / 2];
    for (const site of sites) {
      found.set(site.name, [WIDTH / 2 + (site.longitude - middle_x) * narrow * scale, HEIGHT / 2 - (site.latitude - middle_y) * scale]);
    }
    return found;
  }
  sites.forEach((site, at) => {
    const angle = 2 * Math.PI * at / sites.length - Math.PI / 2;
    found.set(site.name, sites.length === 1 ? [WIDTH / 2, HEIGHT / 2] : [WIDTH / 2 + 330 * Math.cos(angle), HEIGHT / 2 + 190 * Math.sin(angle)]);
  });
  return found;
}

const share_of = link => {
  const most = Math.max(link.forth.mean_bps ?? -1, link.back.mean_bps ?? -1);
  return most < 0 || !link.capacity_bps ? null : most / link.capacity_bps;
};
const percent = share => (share === null ? "–" : `${Math.round(share * 1000) / 10} %`);
const shade = share => (share === null ? 0 : share < 0.5 ? 1 : share < 0.8 ? 2 : 3);

function picture(found, monitor) {
  const at = places(found.sites);
  const lines = found.links.map(link => {
    const [one, other] = [link.from, link.to].map(end => at.get(end.site ?? ""));
    if (!one || !other) return null;
    const share = share_of(link);
    const width = 2 + Math.min(10, 10 * Math.sqrt(Math.max(link.forth.mean_bps ?? 0, link.back.mean_bps ?? 0) / 1e9));
    const same = link.from.site === link.to.site;
    if (same) return null;
    return s("a", { href: history(link, found, monitor), "aria-label": `${ends(link)}: ${scaled(link.forth.mean_bps, "bit/s")} forth, ${scaled(link.back.mean_bps, "bit/s")} back` },
      s("line", { x1: one[0], y1: one[1], x2: other[0], y2: other[1], class: `load${shade(share)}`, "stroke-width": width }),
      s("text", { class: "load", "text-anchor": "middle", x: (one[0] + other[0]) / 2, y: (one[1] + other[1]) / 2 - 6 },
        share === null ? scaled(Math.max(link.forth.mean_bps ?? 0, link.back.mean_bps ?? 0), "bit/s") : percent(share)));
  });
  const dots = found.sites.map(site => {
    const [x, y] = at.get(site.name);
    return s("g", {}, s("circle", { cx: x, cy: y, r: 11 }), s("text", { x: x, y: y + 30, "text-anchor": "middle" }, site.name || "no site"));
  });
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "map", role: "group", "aria-label": `${found.sites.length} sites and ${found.links.length} links; the tables below have the numbers` }, lines, dots);
}

const ends = link => `${link.from.target}:${link.from.port} – ${link.to.target}:${link.to.port}`;
const history = (link, found, monitor) => url("#/monitors", {
  monitor: monitor.id, series: [link.forth.series, link.back.series].filter(id => id !== null), from: found.from_ns / 1e6, to: found.to_ns / 1e6,
});

function links(found, monitor) {
  if (!found.links.length) return h("p", {}, "The registry has no links at this time.");
  const rate = value => number(value, scaled(value, "bit/s"));
  return h("section", {}, h("h2", {}, "Links"),
    table("Load in each direction: mean, 95th percentile of 5 minutes, greatest", ["link", "capacity", "forth", "95 %", "greatest", "back", "95 %", "greatest", "used"],
      found.links.map(link => [
        link.forth.series === null && link.back.series === null ? ends(link) : h("a", { href: history(link, found, monitor) }, ends(link)),
        rate(link.capacity_bps), ...[link.forth, link.back].flatMap(load => [rate(load.mean_bps), rate(load.p95_bps), rate(load.most_bps)]),
        number(0, percent(share_of(link))),
      ])));
}

function sites(found) {
  const rows = found.sites.flatMap(site => site.targets.map(target => [
    site.name || "no site", site.place ?? "", target.name, target.type ?? "",
    h("span", {}, target.ports.map(port => `${port.name}${port.carries ? ` (${port.carries})` : ""}`).join(", ")),
  ]));
  return h("section", {}, h("h2", {}, "Sites"), table("What is where", ["site", "place", "target", "type", "ports"], rows));
}
