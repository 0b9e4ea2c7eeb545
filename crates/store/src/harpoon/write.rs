//! Configurations out.

use std::fmt::Write as _;
use std::io::{self, Write};

use flowloom_models::generate::InitiatorSide;
use flowloom_models::generate::harpoon::{Block, Personality, Plugin};
use quick_xml::Writer;
use quick_xml::events::BytesText;

/// Numbers in a line of a list.
const IN_A_LINE: usize = 16;

/// Writes `plugins` as one configuration.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write(plugins: &[Plugin], out: impl Write) -> io::Result<()> {
    let mut xml = Writer::new_with_indent(out, b' ', 4);
    xml.create_element("harpoon_plugins")
        .write_inner_content(|xml| plugins.iter().try_for_each(|of| plugin(xml, of)))?;
    let mut out = xml.into_inner();
    out.write_all(b"\n")?;
    out.flush()
}

fn plugin(xml: &mut Writer<impl Write>, plugin: &Plugin) -> io::Result<()> {
    let threads = plugin.threads.to_string();
    let personality = match plugin.personality {
        Personality::Client => "client",
        Personality::Server => "server",
        Personality::Unknown => "unknown",
    };
    let attributes = [
        ("name", plugin.name.as_str()),
        ("objfile", &plugin.object),
        ("maxthreads", &threads),
        ("personality", personality),
    ];
    xml.create_element("plugin").with_attributes(attributes).write_inner_content(|xml| {
        for (name, numbers) in
            [("interconnection_times", &plugin.interconnection_times), ("file_sizes", &plugin.file_sizes)]
        {
            if !numbers.is_empty() {
                xml.create_element(name).write_text_content(BytesText::new(&list(numbers)))?;
            }
        }
        if !plugin.active_sessions.is_empty() {
            let sessions = list(&plugin.active_sessions);
            xml.create_element("active_sessions").write_text_content(BytesText::new(&sessions))?;
        }
        for (name, numbers) in &plugin.settings {
            let element = xml.create_element(name.as_str()).with_attribute(("type", "numeric"));
            element.write_text_content(BytesText::new(&list(numbers)))?;
        }
        if let Some(side) = plugin.client_side {
            let side = match side {
                InitiatorSide::Left => " left ",
                InitiatorSide::Right => " right ",
            };
            let element = xml.create_element("client_side").with_attribute(("type", "property"));
            element.write_text_content(BytesText::new(side))?;
        }
        for (name, blocks) in [
            ("client_source_pool", &plugin.sources),
            ("client_destination_pool", &plugin.destinations),
            ("server_pool", &plugin.servers),
        ] {
            if !blocks.is_empty() {
                pool(xml, name, blocks)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn pool(xml: &mut Writer<impl Write>, name: &str, blocks: &[Block]) -> io::Result<()> {
    xml.create_element("address_pool").with_attribute(("name", name)).write_inner_content(|xml| {
        blocks.iter().try_for_each(|block| {
            let (addresses, port) = (block.to_string(), block.port.to_string());
            let attributes = [("ipv4", addresses.as_str()), ("port", &port)];
            xml.create_element("address").with_attributes(attributes).write_empty().map(|_| ())
        })
    })?;
    Ok(())
}

/// Numbers as Harpoon reads them: it takes one only if a blank follows.
fn list(numbers: &[impl std::fmt::Display]) -> String {
    let mut text = String::new();
    for line in numbers.chunks(IN_A_LINE) {
        text.push_str(if numbers.len() > IN_A_LINE { "\n" } else { " " });
        for (at, number) in line.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(text, "{}{number}", if at > 0 { " " } else { "" });
        }
    }
    text.push_str(if numbers.len() > IN_A_LINE { "\n" } else { " " });
    text
}
