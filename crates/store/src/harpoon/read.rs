//! Configurations in.
//!
//! Known elements are taken at their word or refused with file and line. What nobody knows is left out, and said: Harpoon hands
//! such elements to its plugins.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use flowloom_models::generate::InitiatorSide;
use flowloom_models::generate::harpoon::{Block, Personality, Plugin};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::formats::FormatError;
use crate::formats::error::LineError;
use crate::regular;

/// All files of a configuration together, at most: some eight million numbers.
const MOST_BYTES: u64 = 64 << 20;

/// Files that a configuration takes in, at most.
const MOST_FILES: usize = 64;

/// What is said of elements that are left out, at most; the rest is a number.
const MOST_REMARKS: usize = 32;

/// A file, or a time, at most: 1 TiB, 30 years.
const MOST: [f64; 2] = [(1u64 << 40) as f64, 1e9];

/// What a configuration says.
#[derive(Debug, Default)]
pub struct Config {
    /// Its plugins, in their order.
    pub plugins: Vec<Plugin>,
    /// What it says in vain, each with file and line.
    pub remarks: Vec<String>,
}

/// Reads the configuration at `path`, with the files that it takes in: they are beside it or in folders below.
///
/// # Errors
/// A file that cannot be read, and the first line that cannot be, by its number.
pub fn open(path: &Path) -> Result<Config, FormatError> {
    open_as(path, None)
}

/// The same; remarks and places of plugins have this `name` of all files instead of their own.
///
/// # Errors
/// Those of [`open`], by the names of the files.
pub fn open_as(path: &Path, name: Option<String>) -> Result<Config, FormatError> {
    let mut reading = Reading { name, ..Reading::default() };
    let text = reading.load(path)?;
    reading.open.push(path.to_owned());
    reading.document(&path.display().to_string(), &text)?;
    Ok(reading.done())
}

/// Reads a configuration in memory, which can take in no files.
///
/// # Errors
/// As [`open`].
pub fn read(text: &[u8]) -> Result<Config, FormatError> {
    let mut reading = Reading::default();
    let text = utf8("config", text.to_vec())?;
    reading.document("config", &text)?;
    Ok(reading.done())
}

/// A configuration being read.
#[derive(Default)]
struct Reading {
    config: Config,
    /// What all files are called in what is said of them; `None`: as they are.
    name: Option<String>,
    /// Remarks beyond those that are kept.
    unsaid: usize,
    /// Files that are being read, each taken in by the one before; none in memory.
    open: Vec<PathBuf>,
    files: usize,
    bytes: u64,
}

/// The text of a file and where in it the reader is.
struct Xml<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    file: &'a str,
    /// Bytes whose lines were counted, and the line after them.
    counted: (usize, u64),
}

fn utf8(file: &str, bytes: Vec<u8>) -> Result<String, FormatError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count() as u64;
        let (byte, offset) = (error.as_bytes()[valid.len()], valid.len());
        flaw(file, line, format!("this is not UTF-8 text: byte 0x{byte:02x} at offset {offset}"), "")
    })
}

/// The last part of a path.
fn name_of(file: &str) -> &str {
    file.rsplit(['/', std::path::MAIN_SEPARATOR]).next().unwrap_or(file)
}

fn flaw(file: &str, line: u64, problem: impl Into<String>, expected: &'static str) -> FormatError {
    let (file, text, problem) = (file.to_owned(), String::new(), problem.into());
    FormatError::from(Box::new(LineError { file, line, text, problem, expected }))
}

impl<'a> Xml<'a> {
    fn new(file: &'a str, text: &'a str) -> Xml<'a> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        Xml { reader, text, file, counted: (0, 1) }
    }

    /// The line of byte `at`, which is not before the one asked for last.
    fn line_of(&mut self, at: usize) -> u64 {
        let (from, line) = self.counted;
        let between = self.text.as_bytes().get(from..at).unwrap_or_default();
        let line = line + between.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = (at.max(from), line);
        line
    }

    /// What comes next, and its line.
    fn next(&mut self) -> Result<(Event<'a>, u64), FormatError> {
        let line = self.line_of(self.reader.buffer_position() as usize);
        match self.reader.read_event() {
            Ok(event) => Ok((event, line)),
            Err(error) => {
                let at = self.reader.error_position() as usize;
                let line = self.line_of(at);
                Err(flaw(self.file, line, error.to_string(), ""))
            }
        }
    }

    fn flaw(&self, line: u64, problem: impl Into<String>, expected: &'static str) -> FormatError {
        flaw(self.file, line, problem, expected)
    }

    /// The attributes of an element.
    fn attributes(&self, element: &BytesStart<'_>, line: u64) -> Result<Vec<(String, String)>, FormatError> {
        let read = |found: Result<quick_xml::events::attributes::Attribute<'_>, _>| {
            let found = found.map_err(|error: quick_xml::events::attributes::AttrError| error.to_string())?;
            let value = found.normalized_value(XmlVersion::Explicit1_0).map_err(|error| error.to_string())?;
            Ok((found.key.as_ref().to_owned(), value.into_owned()))
        };
        let found: Result<_, String> = element.attributes().map(read).collect();
        found.map_err(|problem| self.flaw(line, problem, ""))
    }

    /// The text of an element that has begun, line by line with their numbers, to its end.
    fn text(&mut self, name: &str) -> Result<Vec<(String, u64)>, FormatError> {
        let mut lines = Vec::new();
        let mut add = |text: &str, line: u64| {
            lines.extend((line..).zip(text.split('\n')).map(|(line, text)| (text.to_owned(), line)));
        };
        loop {
            match self.next()? {
                (Event::Text(text), line) => add(&text.into_inner(), line),
                (Event::CData(text), line) => add(&text.into_inner(), line),
                (Event::Comment(_) | Event::PI(_), _) => {}
                (Event::End(_), _) => return Ok(lines),
                (Event::Eof, line) => return Err(self.flaw(line, format!("the file ends within {name}"), "")),
                (_, line) => return Err(self.flaw(line, format!("{name} has more than text in it"), "numbers")),
            }
        }
    }

    /// The numbers of an element that has begun, each of which `take` takes or refuses.
    fn numbers<T>(
        &mut self,
        name: &str,
        expected: &'static str,
        take: impl Fn(f64) -> Option<T>,
    ) -> Result<Vec<T>, FormatError> {
        let mut numbers = Vec::new();
        for (text, line) in self.text(name)? {
            for word in text.split_ascii_whitespace() {
                let number = word.parse().ok().and_then(&take);
                let shown: String = word.chars().take(40).collect();
                numbers.push(number.ok_or_else(|| self.flaw(line, format!("\"{shown}\" in {name}"), expected))?);
            }
        }
        Ok(numbers)
    }

    /// Goes to the end of an element that has begun.
    fn skip(&mut self, name: &str) -> Result<(), FormatError> {
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                (Event::Start(_), _) => depth += 1,
                (Event::End(_), _) => depth -= 1,
                (Event::Eof, line) => return Err(self.flaw(line, format!("the file ends within {name}"), "")),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Reading {
    fn done(self) -> Config {
        let mut config = self.config;
        if self.unsaid > 0 {
            config.remarks.push(format!("{} more elements are left out", self.unsaid));
        }
        config
    }

    /// Where something is, for what is said of it.
    fn place(&self, xml: &Xml<'_>, line: u64) -> String {
        format!("{}:{line}", self.name.as_deref().unwrap_or_else(|| name_of(xml.file)))
    }

    fn remark(&mut self, xml: &Xml<'_>, line: u64, remark: &str) {
        if self.config.remarks.len() < MOST_REMARKS {
            // Workloads keep it: where the file lies on somebody's disk is nobody's business.
            let place = self.place(xml, line);
            self.config.remarks.push(format!("{place}: {remark}"));
        } else {
            self.unsaid += 1;
        }
    }

    /// Says that `text` between elements is left out, unless it is nothing: some of Harpoon's own examples have a `>` too much.
    fn stray(&mut self, xml: &Xml<'_>, line: u64, text: &str) {
        let stray = text.trim_matches(|c: char| c.is_whitespace() || c == '>');
        if !stray.is_empty() {
            let shown: String = stray.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
            self.remark(xml, line, &format!("the text \"{shown}\" is in no element and is left out"));
        }
    }

    /// The text of a file, within the limits.
    fn load(&mut self, path: &Path) -> Result<String, FormatError> {
        let file = path.display().to_string();
        let failed = |source| FormatError::Open { file: file.clone(), source };
        let mut bytes = Vec::new();
        let opened = regular::open(path).map_err(failed)?;
        opened.take(MOST_BYTES - self.bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(flaw(&file, 1, "the configuration is larger than 64 MiB", "shorter lists"));
        }
        utf8(&file, bytes)
    }

    /// A configuration that nothing takes in.
    fn document(&mut self, file: &str, text: &str) -> Result<(), FormatError> {
        let mut xml = Xml::new(file, text);
        self.plugins(&mut xml, true)?;
        if self.config.plugins.is_empty() {
            let line = xml.line_of(text.len());
            return Err(flaw(file, line, "no plugin in it", "<harpoon_plugins> with a <plugin> or more"));
        }
        Ok(())
    }

    /// Plugins, to the end of the element around them, or of the file.
    fn plugins(&mut self, xml: &mut Xml<'_>, is_file: bool) -> Result<(), FormatError> {
        loop {
            match xml.next()? {
                (Event::Start(element), line) => match element.name().as_ref() {
                    "harpoon_plugins" if is_file => self.plugins(xml, false)?,
                    "plugin" => self.plugin(xml, &element, line)?,
                    "config_file" => self.take_in(xml, line, |reading, within| reading.plugins(within, true))?,
                    name if is_file => {
                        let problem = format!("<{name}> begins no configuration of Harpoon");
                        return Err(xml.flaw(line, problem, "<harpoon_plugins>"));
                    }
                    name => {
                        self.remark(xml, line, &format!("element {name} is not known and is left out"));
                        xml.skip(name)?;
                    }
                },
                (Event::Text(text), line) => self.stray(xml, line, &text.into_inner()),
                (Event::End(_), _) => return Ok(()),
                (Event::Eof, _) if is_file => return Ok(()),
                (Event::Eof, line) => return Err(xml.flaw(line, "the file ends within harpoon_plugins", "")),
                _ => {}
            }
        }
    }

    /// A plugin that has begun.
    fn plugin(&mut self, xml: &mut Xml<'_>, element: &BytesStart<'_>, line: u64) -> Result<(), FormatError> {
        let mut plugin = Plugin { place: self.place(xml, line), ..Plugin::default() };
        let mut threads = None;
        for (key, value) in xml.attributes(element, line)? {
            match key.as_str() {
                "name" => plugin.name = value,
                "objfile" => plugin.object = value,
                "maxthreads" => {
                    threads = value.trim().parse().ok();
                    threads.ok_or_else(|| xml.flaw(line, format!("maxthreads \"{value}\""), "a whole number"))?;
                }
                "personality" => {
                    plugin.personality = match value.as_str() {
                        "client" => Personality::Client,
                        "server" => Personality::Server,
                        "unknown" => Personality::Unknown,
                        _ => {
                            let problem = format!("personality \"{value}\"");
                            return Err(xml.flaw(line, problem, "client, server or unknown"));
                        }
                    }
                }
                _ => self.remark(xml, line, &format!("attribute {key} of a plugin is not known and is left out")),
            }
        }
        let has = [("name", !plugin.name.is_empty()), ("objfile", !plugin.object.is_empty())];
        if let Some((missing, _)) = has.into_iter().chain([("maxthreads", threads.is_some())]).find(|(_, given)| !given)
        {
            return Err(xml.flaw(line, format!("a plugin without {missing}"), "name, objfile and maxthreads"));
        }
        plugin.threads = threads.unwrap_or_default();
        self.inside(xml, &mut plugin, false)?;
        self.config.plugins.push(plugin);
        Ok(())
    }

    /// What is in a plugin, to its end, or to that of a file that it takes in.
    fn inside(&mut self, xml: &mut Xml<'_>, plugin: &mut Plugin, is_file: bool) -> Result<(), FormatError> {
        loop {
            match xml.next()? {
                (Event::Start(element), line) => {
                    let name = element.name();
                    self.element(xml, plugin, name.as_ref(), &element, line)?;
                }
                (Event::Text(text), line) => self.stray(xml, line, &text.into_inner()),
                (Event::End(_), _) => return Ok(()),
                (Event::Eof, _) if is_file => return Ok(()),
                (Event::Eof, line) => {
                    return Err(xml.flaw(line, format!("the file ends within plugin {}", plugin.name), ""));
                }
                _ => {}
            }
        }
    }

    /// An element of a plugin that has begun.
    fn element(
        &mut self,
        xml: &mut Xml<'_>,
        plugin: &mut Plugin,
        name: &str,
        element: &BytesStart<'_>,
        line: u64,
    ) -> Result<(), FormatError> {
        let [most_bytes, most_seconds] = MOST;
        let from_zero = |most: f64| move |number: f64| (0.0..=most).contains(&number).then_some(number);
        match name {
            "interconnection_times" => plugin.interconnection_times.extend(xml.numbers(
                name,
                "seconds from 0 to 1e9, with blanks between",
                from_zero(most_seconds),
            )?),
            "file_sizes" => plugin.file_sizes.extend(xml.numbers(
                name,
                "whole numbers of bytes up to 1 TiB, with blanks between",
                move |number| from_zero(most_bytes)(number).filter(|bytes| bytes.fract() == 0.0),
            )?),
            "active_sessions" => plugin.active_sessions.extend(xml.numbers(
                name,
                "whole numbers of sessions, with blanks between",
                |number: f64| {
                    ((0.0..=f64::from(u32::MAX)).contains(&number) && number.fract() == 0.0).then_some(number as u32)
                },
            )?),
            "address_pool" => self.pool(xml, plugin, element, line)?,
            "config_file" => self.take_in(xml, line, |reading, within| reading.inside(within, plugin, true))?,
            "client_side" => {
                let text: Vec<(String, u64)> = xml.text(name)?;
                plugin.client_side = match text.iter().map(|(text, _)| text.trim()).find(|text| !text.is_empty()) {
                    Some("left") => Some(InitiatorSide::Left),
                    Some("right") => Some(InitiatorSide::Right),
                    _ => return Err(xml.flaw(line, "client_side is neither", "left or right")),
                };
            }
            _ if Plugin::SETTINGS.contains(&name) => {
                let numbers = xml.numbers(name, "numbers from 0 on, with blanks between", from_zero(1e18))?;
                plugin.settings.entry(name.to_owned()).or_default().extend(numbers);
            }
            _ => {
                let why = if Plugin::IDLE.contains(&name) { "has no use here" } else { "is not known" };
                self.remark(xml, line, &format!("element {name} of plugin {} {why} and is left out", plugin.name));
                xml.skip(name)?;
            }
        }
        Ok(())
    }

    /// A pool that has begun.
    fn pool(
        &mut self,
        xml: &mut Xml<'_>,
        plugin: &mut Plugin,
        element: &BytesStart<'_>,
        line: u64,
    ) -> Result<(), FormatError> {
        let name = xml.attributes(element, line)?.into_iter().find(|(key, _)| key == "name").map(|(_, name)| name);
        let pool = match name.as_deref().unwrap_or_default() {
            "client_source_pool" | "client_src_pool" => &mut plugin.sources,
            "client_destination_pool" | "client_dest_pool" | "client_dst_pool" => &mut plugin.destinations,
            "server_pool" => &mut plugin.servers,
            other => {
                self.remark(xml, line, &format!("address_pool \"{other}\" is not known and is left out"));
                return xml.skip("address_pool");
            }
        };
        loop {
            match xml.next()? {
                (Event::Start(element), line) if element.name().as_ref() == "address" => {
                    let mut block = Block::ANY;
                    for (key, value) in xml.attributes(&element, line)? {
                        match key.as_str() {
                            "ipv4" => {
                                let parsed: Block =
                                    value.parse().map_err(|error| xml.flaw(line, format!("ipv4: {error}"), ""))?;
                                block = Block { port: block.port, ..parsed };
                            }
                            "port" => {
                                block.port = value.trim().parse().map_err(|_| {
                                    xml.flaw(line, format!("port \"{value}\""), "a whole number up to 65535")
                                })?;
                            }
                            _ => {
                                let problem = format!("attribute {key} of an address");
                                return Err(xml.flaw(line, problem, "ipv4 and port"));
                            }
                        }
                    }
                    pool.push(block);
                    xml.skip("address")?;
                }
                (Event::Start(element), line) => {
                    let problem = format!("element {} in an address_pool", element.name().as_ref());
                    return Err(xml.flaw(line, problem, "<address ipv4=\"10.0.0.0/24\" port=\"80\"/>"));
                }
                (Event::End(_), _) => return Ok(()),
                (Event::Eof, line) => return Err(xml.flaw(line, "the file ends within address_pool", "")),
                _ => {}
            }
        }
    }

    /// The file that a config_file that has begun names.
    fn take_in(
        &mut self,
        xml: &mut Xml<'_>,
        line: u64,
        read: impl FnOnce(&mut Reading, &mut Xml<'_>) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let text = xml.text("config_file")?;
        let name = text.iter().map(|(text, _)| text.trim()).find(|text| !text.is_empty()).unwrap_or_default();
        let Some(folder) = self.open.last().map(|file| file.parent().unwrap_or(Path::new("")).to_owned()) else {
            return Err(xml.flaw(line, "config_file in a text that is no file", ""));
        };
        let is_below =
            Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if name.is_empty() || !is_below {
            let problem = format!("config_file \"{name}\"");
            return Err(xml.flaw(
                line,
                problem,
                "a file beside this one or in a folder below, without .. or a leading /",
            ));
        }
        let path = folder.join(name);
        if self.open.contains(&path) {
            return Err(xml.flaw(line, format!("config_file \"{name}\" takes in itself"), ""));
        }
        self.files += 1;
        if self.files > MOST_FILES {
            return Err(xml.flaw(line, format!("more than {MOST_FILES} files in a configuration"), ""));
        }
        let text = self.load(&path).map_err(|error| match error {
            FormatError::Open { file, source } => xml.flaw(line, format!("config_file {file}: {source}"), ""),
            other => other,
        })?;
        self.open.push(path.clone());
        let file = path.display().to_string();
        read(self, &mut Xml::new(&file, &text))?;
        self.open.pop();
        Ok(())
    }
}
