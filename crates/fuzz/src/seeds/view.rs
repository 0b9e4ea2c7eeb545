//! Questions: one of each kind.

/// Paths with their queries.
pub fn questions() -> Vec<Vec<u8>> {
    let all = [
        "/api/folders",
        "/api/monitor?monitor=0%2Fcounters",
        "/api/period?monitor=0/counters&series=1&series=2&from=2026-11-01&to=2026-12-01T10:00:05Z&points=720&percentile=5min&sum=true",
        "/api/period.csv?monitor=0&series=7&from=1795000000000000000&to=1795000060000000000",
        "/api/days?monitor=0&series=1&from=2026-11-01&to=2026-12-01&offset=-330",
        "/api/correlation?monitor=0&series=1&series=2&from=2026-11-01&to=2026-11-02&width=60s&lags=30",
        "/api/bursts?monitor=0&series=1&from=2026-11-01&to=2026-11-02&above=1.5e6",
        "/api/marks?from=2026-11-01&to=2026-11-02",
        "/api/map?registry=0/campus.toml&monitor=0&from=2026-11-01&to=2026-11-02&at=2026-11-01T12:00",
        "/api/runs?search=drop-tail+office&tag=slow",
        "/api/run?run=0/runs/a",
        "/api/compare?run=0/runs/a&run=0/runs/b",
        "/api/sweep?sweep=0/q",
        "/report?folder=0/runs/a",
    ];
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}
