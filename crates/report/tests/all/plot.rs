//! Pictures read back by readers of their own: places in them are values in their tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flowloom_report::html::{ReportOptions, write_report};
use flowloom_report::plot::{DrawError, Form, Offer, Picture, Style, offers_of_runs, offers_of_sweep};
use flowloom_report::statistics::Looks;
use flowloom_report::sweep::{Cell, Curve, Grid, GridAxis, Objective, SweepAnswer, Variant as SweepVariant};
use flowloom_report::{Run, Variant};
use flowloom_testkit::reports::MadeUp;
use quick_xml::Reader;
use quick_xml::events::Event;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plot").join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn variants(runs: impl IntoIterator<Item = (&'static str, MadeUp)>) -> Vec<Variant> {
    let load = |(name, run): (&str, MadeUp)| Variant::of_run(Run::load(&run.write(&folder(name))).unwrap());
    runs.into_iter().map(load).collect()
}

fn short() -> MadeUp {
    MadeUp { connections: 300, seconds: 30, ..MadeUp::default() }
}

/// A sweep of two queues at two rates, with five seeds.
fn sweep() -> (Grid, SweepAnswer) {
    let axes = [("queue", ["drop-tail", "fq-codel"]), ("rate", ["90%", "105%"])];
    let cell = |place: usize, seed: u64| {
        let response = 300.0 + 90.0 * place as f64 + 7.0 * seed as f64;
        let numbers = [("response_time_p50_ms", response), ("response_time_p99_ms", 9.0 * response)];
        let numbers = numbers.map(|(name, value)| (name.to_owned(), value)).into_iter();
        let named = [("throughput_mean_mbps.up", 1.0), ("throughput_mean_mbps.down", 8.5), ("loss_share.down", 0.01)];
        let named = named.map(|(name, value)| (name.to_owned(), value * (1.0 + 1e-3 * seed as f64)));
        let mut cell = Cell::made_up(seed, numbers.chain(named));
        for name in ["response_time_ms", "duration_ms", "queue_delay_ms.down"] {
            let quantiles = Curve::probabilities().map(|p| response * p / (1.001 - p)).collect();
            cell.curves.insert(name.to_owned(), Curve { quantiles, n: 5_000 });
        }
        cell
    };
    let points = [[0, 0], [0, 1], [1, 0], [1, 1]];
    let variants = points.iter().enumerate().map(|(place, points)| SweepVariant {
        name: points.iter().zip(&axes).map(|(point, (_, values))| values[*point]).collect::<Vec<_>>().join(", "),
        points: points.to_vec(),
        cells: (1..=5).map(|seed| Ok(cell(place, seed))).collect(),
    });
    let grid = Grid {
        variants: variants.collect(),
        axes: axes
            .map(|(name, values)| GridAxis { name: name.to_owned(), points: values.map(ToOwned::to_owned).to_vec() })
            .to_vec(),
        objective: Objective::named(Objective::USUAL).unwrap(),
        margin: 0.05,
        looks: Looks::once(5),
        look: 0,
        baseline: None,
        is_one_draw: false,
    };
    let answer = SweepAnswer::of(&grid);
    (grid, answer)
}

/// Places of a path's corners.
type Corners = Vec<(f64, f64)>;

/// An axis as it was read: its ticks by place, and its title.
#[derive(Debug, Default)]
struct ReadAxis {
    ticks: Vec<(f64, String)>,
    title: String,
}

/// A picture as it was read.
#[derive(Debug, Default)]
struct ReadPicture {
    axes: [ReadAxis; 2],
    /// The corners of all paths of each line, by its name.
    lines: Vec<(String, Corners)>,
    texts: Vec<String>,
    style: String,
}

fn corners(data: &str) -> Corners {
    let steps = data.split(['M', 'L', 'C', 'Z']).filter(|step| !step.is_empty());
    let end = |step: &str| {
        let (x, y) = step.rsplit(' ').next().unwrap().split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    steps.map(end).collect()
}

fn read(svg: &str) -> ReadPicture {
    let mut reader = Reader::from_str(svg);
    let mut picture = ReadPicture::default();
    let (mut class, mut last) = (String::new(), (0.0, 0.0));
    let mut text = String::new();
    loop {
        let event = reader.read_event().unwrap();
        match &event {
            Event::Eof => return picture,
            Event::Start(tag) | Event::Empty(tag) => {
                let element = tag.name().as_ref().to_owned();
                let attributes: BTreeMap<String, String> = tag
                    .attributes()
                    .map(|found| {
                        let found = found.unwrap();
                        let key = found.key.as_ref().to_owned();
                        (key, found.value.to_string())
                    })
                    .collect();
                text.clear();
                match element.as_str() {
                    "g" => {
                        class.clone_from(&attributes["class"]);
                        if class == "line" {
                            let name = attributes["data-name"].replace("&lt;", "<").replace("&amp;", "&");
                            picture.lines.push((name, Corners::new()));
                        }
                    }
                    "path" => {
                        let found = corners(&attributes["d"]);
                        last = found[0];
                        if class == "line" {
                            picture.lines.last_mut().unwrap().1.extend(found);
                        }
                    }
                    _ => {}
                }
            }
            Event::Text(words) => text.push_str(words),
            Event::GeneralRef(name) => text.push(match &name[..] {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                _ => '"',
            }),
            Event::End(tag) if tag.name().as_ref() == "text" => {
                picture.texts.push(text.clone());
                let axis = ["x-axis", "y-axis"].iter().position(|name| *name == class);
                if let Some(axis) = axis {
                    // The title is the last text of its axis; what was taken for one before was a tick.
                    picture.axes[axis].title.clone_from(&text);
                    picture.axes[axis].ticks.push((if axis == 0 { last.0 } else { last.1 }, text.clone()));
                }
            }
            Event::End(tag) if tag.name().as_ref() == "style" => picture.style.clone_from(&text),
            _ => {}
        }
    }
}

/// What a label says: a number, or a power of ten.
fn label(text: &str) -> Option<f64> {
    let Some(raised) = text.strip_prefix("10").filter(|rest| rest.chars().any(|letter| "⁰¹²³⁴⁵⁶⁷⁸⁹".contains(letter)))
    else {
        return text.parse().ok();
    };
    let digit = |letter: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|known| known == letter);
    let digits: String = raised.chars().filter_map(digit).map(|digit| digit.to_string()).collect();
    let exponent: i32 = digits.parse().ok()?;
    Some(10_f64.powi(if raised.starts_with('⁻') { -exponent } else { exponent }))
}

/// What a unit in an axis's title is of the smallest one.
fn unit(title: &str) -> f64 {
    let unit = title.rsplit_once('(').map_or("", |(_, unit)| unit.trim_end_matches(')'));
    match unit {
        "µs" | "kB" | "kbit/s" | "kpackets/s" => 1e3,
        "ms" | "MB" | "Mbit/s" | "Mpackets/s" => 1e6,
        "s" if title.starts_with("time (") => 1.0,
        "s" | "GB" | "Gbit/s" => 1e9,
        _ => 1.0,
    }
}

impl ReadAxis {
    /// The place of a value, by the outermost ticks: in between evenly, or evenly by logarithms.
    fn place(&self, value: f64) -> f64 {
        let size = unit(&self.title);
        let ticks: Vec<(f64, f64)> =
            self.ticks.iter().filter_map(|(place, text)| Some((*place, label(text)? * size))).collect();
        let ((from, low), (to, high)) = (ticks[0], ticks[ticks.len() - 1]);
        let is_even = match ticks[1..ticks.len() - 1] {
            [(middle, between), ..] => ((middle - from) / (to - from) - (between - low) / (high - low)).abs() < 1e-3,
            // Two powers of ten are decades.
            [] => low <= 0.0 || (high / low - 10.0).abs() > 1e-9,
        };
        let forward = |value: f64| if is_even { value } else { value.log10() };
        from + (forward(value) - forward(low)) / (forward(high) - forward(low)) * (to - from)
    }
}

fn rows(csv: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| {
        // Names of variants have commas, and so stand in quotes.
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                letter => cells.last_mut().unwrap().push(letter),
            }
        }
        cells
    };
    csv.lines().map(cells).collect()
}

fn svg(picture: &Picture) -> String {
    String::from_utf8(picture.file(Form::Svg, &Style::default()).unwrap()).unwrap()
}

/// Where the values of a row of the table are, as (x, y); `None` for a value that an axis does not have.
fn expected(head: &[String], row: &[String], axes: &[ReadAxis; 2], name: &str) -> Vec<(Option<f64>, Option<f64>)> {
    let number = |column: &str| {
        let at = head.iter().position(|known| known == column).unwrap();
        row[at].parse::<f64>().ok()
    };
    let [x, y] = axes;
    match head[1].as_str() {
        "time_s" => vec![(number("time_s").map(|value| x.place(value)), number(&head[2]).map(|value| y.place(value)))],
        "octave" => ["low_95", "high_95"]
            .map(|end| (number("octave").map(|value| x.place(value)), number(end).map(|value| y.place(value))))
            .to_vec(),
        _ if head.contains(&"share_at_most".to_owned()) => {
            let share = if y.title.contains('≤') { "share_at_most" } else { "share_above" };
            let share = number(share).filter(|share| *share > 0.0 || y.title.contains('≤'));
            let value = number(&head[1]).filter(|value| *value > 0.0);
            vec![(value.map(|value| x.place(value)), share.map(|share| y.place(share)))]
        }
        _ if name == "interaction" => {
            let column = x.ticks.iter().find(|(_, label)| *label == row[1]).unwrap().0;
            vec![(Some(column), Some(y.place(row[2].parse::<f64>().unwrap() * 1e6)))]
        }
        metric => {
            let size = if metric.contains("_mbps") || metric.contains("_ms") { 1e6 } else { 1.0 };
            ["low", "high"].map(|end| (number(end).map(|value| x.place(value * size)), None)).to_vec()
        }
    }
}

/// Every value of the table is a corner of its line, to a hundredth of a point.
fn check(offer: &Offer) -> usize {
    let picture = offer.picture.as_ref().unwrap_or_else(|why| panic!("{}: {why}", offer.name));
    let read = read(&svg(picture));
    let table = rows(&picture.csv());
    let (head, mut checked) = (&table[0], 0);
    assert!(table.len() > 1, "{} has an empty table", offer.name);
    for row in &table[1..] {
        let lines: Vec<&Corners> =
            read.lines.iter().filter(|(name, _)| *name == row[0]).map(|(_, corners)| corners).collect();
        assert!(
            !lines.is_empty(),
            "{}: no line {} in {:?}",
            offer.name,
            row[0],
            read.lines.iter().map(|line| &line.0).collect::<Vec<_>>()
        );
        // What was set aside is drawn on top of another line, from whose height its own is counted.
        if row[0] == "set aside" {
            continue;
        }
        for (x, y) in expected(head, row, &read.axes, &offer.name) {
            if x.is_none() && y.is_none() {
                continue;
            }
            let near = |place: Option<f64>, found: f64| place.is_none_or(|place| (place - found).abs() < 0.01);
            let found = lines.iter().any(|corners| corners.iter().any(|corner| near(x, corner.0) && near(y, corner.1)));
            assert!(found, "{}: {row:?} is not at {x:?}, {y:?}", offer.name);
            checked += 1;
        }
    }
    checked
}

#[test]
fn places_in_pictures_of_runs_are_values_of_tables() {
    let variants = variants([("alone", short())]);
    let offers = offers_of_runs(&variants);
    let names = |with: bool| -> Vec<&str> {
        offers.iter().filter(|offer| offer.picture.is_ok() == with).map(|offer| offer.name.as_str()).collect()
    };
    for wanted in [
        "response-cdf",
        "response-ccdf",
        "duration-cdf",
        "rtt-cdf",
        "adu-size-cdf",
        "active",
        "throughput",
        "goodput-cdf",
        "arrivals",
        "queue-length",
        "queue-length-ccdf",
    ] {
        assert!(names(true).contains(&wanted), "{wanted}: {:?}", names(false));
    }
    for offer in offers.iter().filter(|offer| offer.picture.is_ok()) {
        assert!(check(offer) > 3, "{}", offer.name);
    }
}

#[test]
fn places_in_pictures_of_sweeps_are_values_of_tables() {
    let (grid, answer) = sweep();
    for offer in offers_of_sweep(&grid, &answer) {
        match offer.name.as_str() {
            "queue-delay-p99" => assert_eq!(offer.picture.unwrap_err(), "no cell has this value"),
            "effects" => {
                let table = rows(&offer.picture.unwrap().csv());
                assert_eq!(table[1][..2], ["queue", "fq-codel"]);
                assert_eq!(table[1][5], "yes");
            }
            _ => assert!(check(&offer) > 3, "{}", offer.name),
        }
    }
}

#[test]
fn axes_say_quantity_and_unit() {
    let (grid, answer) = sweep();
    let mut offers = offers_of_runs(&variants([("axes", short())]));
    let titles = |offers: &[Offer], name: &str| {
        let offer = offers.iter().find(|offer| offer.name == name).unwrap();
        read(&svg(offer.picture.as_ref().unwrap())).axes.map(|axis| axis.title)
    };
    assert_eq!(titles(&offers, "response-cdf"), ["response time (ms)", "share of response times ≤ x"]);
    assert_eq!(titles(&offers, "queue-length"), ["time (s)", "queue length (packets)"]);
    assert_eq!(titles(&offers, "throughput")[0], "time (s)");
    assert!(titles(&offers, "throughput")[1].ends_with("bit/s)"), "{:?}", titles(&offers, "throughput"));
    offers = offers_of_sweep(&grid, &answer);
    assert_eq!(titles(&offers, "answer")[0], "response time p50 (ms)");
    assert_eq!(titles(&offers, "interaction"), ["rate", "response time p50 (ms)"]);
}

/// The page's own data, with the page's own arithmetic.
#[test]
fn a_picture_has_the_data_of_the_page() {
    let variants = variants([("page-a", short()), ("page-b", MadeUp { slower: 1.3, ..short() })]);
    let mut page = Vec::new();
    write_report(&variants, &mut page, &ReportOptions::default()).unwrap();
    let page = String::from_utf8(page).unwrap();
    let data = page.split_once("id=\"figures\">").unwrap().1.split_once("</script>").unwrap().0;
    let figures: serde_json::Value = serde_json::from_str(data).unwrap();
    let figure = figures.as_array().unwrap().iter().find(|figure| figure["id"] == "response-time").unwrap();
    let mut shown: Vec<[f64; 2]> = Vec::new();
    for line in figure["lines"].as_array().unwrap() {
        let n = line["n"].as_f64().unwrap();
        let above = line["above"].as_array().unwrap().iter().map(|above| above.as_f64().unwrap() / n);
        shown.extend(line["x"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).zip(above).map(|(x, y)| [x, y]));
    }
    let offers = offers_of_runs(&variants);
    let picture = offers[0].picture.as_ref().unwrap();
    let table = rows(&picture.csv());
    // A number beyond six digits is written with zeros there.
    let drawn: Vec<[f64; 2]> =
        table[1..].iter().map(|row| [row[1].parse().unwrap(), row[3].parse().unwrap()]).collect();
    assert_eq!(drawn.len(), shown.len());
    for (a, b) in drawn.iter().zip(&shown) {
        assert!((a[0] / b[0] - 1.0).abs() < 1e-5 && (a[1] - b[1]).abs() < 1e-12, "{a:?} {b:?}");
    }
    let colours = read(&svg(picture));
    assert_eq!(colours.lines.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["page-a", "page-b"]);
    assert!(svg(picture).contains("stroke=\"#bd5315\""), "the page's first colour");
    let text = svg(picture);
    let (_, size) = text.split_once("viewBox=\"0 0 ").unwrap();
    let [width, height] = [0, 1].map(|place| size.split(['"', ' ']).nth(place).unwrap());
    assert!(text.contains(&format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>")), "the ground");
}

#[test]
fn files_are_whole_and_always_the_same() {
    let offers = offers_of_runs(&variants([("files", short())]));
    let picture = offers[0].picture.as_ref().unwrap();
    let style = Style { title: Some("A & B <\u{7} 队".to_owned()), ..Style::default() };
    for (_, form) in Form::ALL {
        assert!(picture.file(form, &style) == picture.file(form, &style), "{form:?}");
    }
    let svg = read(&String::from_utf8(picture.file(Form::Svg, &style).unwrap()).unwrap());
    assert!(svg.style.contains("@font-face") && svg.style.contains("data:font/ttf;base64,"), "{}", &svg.style[..80]);
    assert!(svg.texts.contains(&"A & B <? ?".to_owned()), "{:?}", svg.texts);

    let png = picture.file(Form::Png, &Style { height: Some(60.0), ..style.clone() }).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (1_004, 709));
    assert_eq!(reader.info().pixel_dims.unwrap().xppu, 11_811);
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    let dark = pixels.chunks_exact(3).filter(|pixel| pixel.iter().all(|part| *part < 100)).count();
    assert!(pixels[..3] == [255; 3] && (1_000..100_000).contains(&dark), "{dark}");

    let pdf = picture.file(Form::Pdf, &style).unwrap();
    assert!(pdf.starts_with(b"%PDF-1."));
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.contains("FLWLMP+Arimo") && text.contains("FontFile2") && !text.contains("Date"), "{text}");
    let start: usize = text.rsplit_once("startxref\n").unwrap().1.lines().next().unwrap().parse().unwrap();
    let table = String::from_utf8_lossy(&pdf[start..]);
    let entries: Vec<&str> =
        table.lines().skip(3).take_while(|line| line.ends_with(" n ") || line.ends_with(" n")).collect();
    assert!(table.starts_with("xref") && entries.len() >= 9, "{table}");
    for (number, entry) in entries.iter().enumerate() {
        let at: usize = entry[..10].parse().unwrap();
        assert!(pdf[at..].starts_with(format!("{} 0 obj", number + 1).as_bytes()), "{entry}");
    }
}

#[test]
fn what_has_no_data_or_no_room_says_so() {
    let run = MadeUp { queues: false, ..short() };
    let offers = offers_of_runs(&variants([("empty", run)]));
    let queue = offers.iter().find(|offer| offer.name == "queue-length").unwrap();
    assert_eq!(queue.picture.as_ref().unwrap_err(), "no packet waited");
    let picture = offers[0].picture.as_ref().unwrap();
    let least = match picture.file(Form::Svg, &Style { width: 20.0, height: Some(10.0), ..Style::default() }) {
        Err(DrawError::TooSmall(least)) => least,
        other => panic!("{other:?}"),
    };
    let style = Style { width: least.width, height: Some(least.height), ..Style::default() };
    picture.file(Form::Svg, &style).unwrap();
    let style = Style { dpi: 4_000.0, ..Style::default() };
    assert_eq!(picture.file(Form::Png, &style), Err(DrawError::Pixels));
}
