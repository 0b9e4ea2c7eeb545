//! `flowloom schema`: the JSON Schema of experiments, of registries, or of an answer, made from the document that describes it for people.
//!
//! `docs/reference/json.md` and `docs/reference/view-api.md` are the places where fields are listed, and tests hold them against what commands
//! print and `flowloom view` answers; so the schema cannot say anything else.

use serde_json::{Map, Value, json};

use crate::exit::Exit;
use crate::{args, output};
use flowloom::json::JSON_VERSION;
use flowloom::{Error, experiment, nearest, registry_schema};

const DOCUMENT: &str =
    concat!(include_str!("../../../../docs/reference/json.md"), include_str!("../../../../docs/reference/view-api.md"));

/// A table of fields: the heading above it, and (field, type, meaning).
struct Section<'a> {
    name: &'a str,
    /// Of an answer or an event, not of a part of one.
    is_whole: bool,
    /// Of several inputs the answer is a list of such objects.
    may_be_list: bool,
    fields: Vec<(&'a str, &'a str, &'a str)>,
}

/// Runs the command.
pub fn run(args: &args::Schema) -> Result<Exit, Error> {
    let sections = sections(DOCUMENT);
    let names: Vec<&str> = sections.iter().filter(|section| section.is_whole).map(|section| section.name).collect();
    let Some(name) = &args.answer else {
        output::text("experiment\nregistry\n")?;
        output::text(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        return Ok(Exit::Done);
    };
    if name == "experiment" {
        output::text(&format!("{:#}\n", experiment::schema()))?;
        return Ok(Exit::Done);
    }
    if name == "registry" {
        output::text(&format!("{:#}\n", registry_schema()))?;
        return Ok(Exit::Done);
    }
    let Some(section) = sections.iter().find(|section| section.is_whole && section.name == name) else {
        let names = [&["experiment", "registry"], &names[..]].concat();
        let failure = Error::usage(format_args!("there is no answer \"{name}\""))
            .note(format_args!("known: {}", names.join(", ")));
        return Err(match nearest(name, &names) {
            Some(meant) => failure.hint(format_args!("did you mean \"{meant}\"?")),
            None => failure,
        });
    };
    output::text(&format!("{:#}\n", schema(section, &sections)))?;
    Ok(Exit::Done)
}

/// The tables of a document whose first column is `field`.
fn sections(document: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let (mut heading, mut may_be_list) = ((0, ""), false);
    for line in document.lines() {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        if level > 0 {
            (heading, may_be_list) = ((level, line[level..].trim()), false);
        } else if line.contains("of several a list of these objects") {
            may_be_list = true;
        } else if line.starts_with("| field |") {
            // Events have a heading of their own, below that of all lines.
            let event = ["start", "progress", "interval", "observation", "workload", "end"].contains(&heading.1);
            let is_whole = heading.0 == 2 || event;
            sections.push(Section { name: heading.1, is_whole, may_be_list, fields: Vec::new() });
        } else if let (Some(row), Some(section)) = (line.strip_prefix("| `"), sections.last_mut())
            && section.name == heading.1
            && let Some((field, rest)) = row.split_once("` | ")
            && let Some((kind, meaning)) = rest.split_once(" | ")
        {
            section.fields.push((field, kind, meaning.trim_end_matches('|').trim()));
        }
    }
    sections
}

/// The schema of a whole answer, with those of the parts that it names.
fn schema(section: &Section<'_>, sections: &[Section<'_>]) -> Value {
    let mut parts = Vec::new();
    let mut whole = object(section, sections, &mut parts);
    let mut definitions = Map::new();
    let mut next = 0;
    while let Some(&name) = parts.get(next) {
        if let Some(part) = sections.iter().find(|part| part.name == name) {
            definitions.insert(name.to_owned(), object(part, sections, &mut parts));
        }
        next += 1;
    }
    if !section.fields.iter().any(|(field, ..)| *field == "event") {
        whole["properties"]["json_version"] =
            json!({ "const": JSON_VERSION, "description": "the version of all answers" });
    }
    if section.may_be_list {
        // What is said of objects holds of the elements too.
        definitions.insert(section.name.to_owned(), whole.clone());
        whole["type"] = json!(["object", "array"]);
        whole["items"] = json!({ "$ref": format!("#/$defs/{}", section.name) });
    }
    if let Some(fields) = whole.as_object_mut() {
        fields.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        fields.insert(
            "$id".to_owned(),
            format!("urn:flowloom:json:{}:{}", JSON_VERSION, section.name.replace(' ', "-")).into(),
        );
        fields.insert("title".to_owned(), section.name.into());
        if !definitions.is_empty() {
            fields.insert("$defs".to_owned(), definitions.into());
        }
    }
    whole
}

/// The schema of an object with the fields of `section`, of which dotted ones make objects within; names of parts go to `parts`.
fn object<'a>(section: &Section<'a>, sections: &[Section<'a>], parts: &mut Vec<&'a str>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    for &(path, kind, meaning) in &section.fields {
        let (outer, inner) = path.split_once('.').unwrap_or((path, ""));
        let (kind, absent) = kind.strip_suffix(" or absent").map_or((kind, false), |kind| (kind, true));
        let mut one = kind_schema(kind, sections, parts);
        if let Some(fields) = one.as_object_mut() {
            fields.insert("description".to_owned(), meaning.into());
        }
        if !absent && !required.contains(&outer) {
            required.push(outer);
        }
        if inner.is_empty() {
            properties.insert(outer.to_owned(), one);
        } else {
            let within = properties
                .entry(outer)
                .or_insert_with(|| json!({ "type": "object", "properties": {}, "required": [] }));
            nest(within, inner, one, absent);
        }
    }
    // Fields may be added: nothing forbids others.
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Puts the schema of a dotted field into that of the object it is in.
fn nest(object: &mut Value, path: &str, schema: Value, absent: bool) {
    let (outer, inner) = path.split_once('.').unwrap_or((path, ""));
    if let Some(required) = object["required"].as_array_mut()
        && !absent
        && !required.iter().any(|known| known == outer)
    {
        required.push(outer.into());
    }
    let place = &mut object["properties"][outer];
    if inner.is_empty() {
        *place = schema;
    } else {
        if place.is_null() {
            *place = json!({ "type": "object", "properties": {}, "required": [] });
        }
        nest(place, inner, schema, absent);
    }
}

/// The schema of a type as the document writes it.
fn kind_schema<'a>(kind: &'a str, sections: &[Section<'a>], parts: &mut Vec<&'a str>) -> Value {
    if let Some(kind) = kind.strip_suffix(" or null") {
        return json!({ "anyOf": [kind_schema(kind, sections, parts), { "type": "null" }] });
    }
    if let Some(item) = kind.strip_prefix("list of ") {
        return json!({ "type": "array", "items": kind_schema(item, sections, parts) });
    }
    if let Some(item) = kind.strip_prefix("map of ") {
        return json!({ "type": "object", "additionalProperties": kind_schema(item, sections, parts) });
    }
    match kind {
        "text" => json!({ "type": "string" }),
        "integer" | "number" | "boolean" | "object" => json!({ "type": kind }),
        part => {
            if !parts.contains(&part) && sections.iter().any(|section| section.name == part) {
                parts.push(part);
            }
            json!({ "$ref": format!("#/$defs/{part}") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference leads to a part.
    fn check(value: &Value, whole: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                    let part = reference.trim_start_matches("#/$defs/");
                    assert!(whole["$defs"].get(part).is_some(), "{} names {part}", whole["title"]);
                }
                fields.values().for_each(|inner| check(inner, whole));
            }
            Value::Array(items) => items.iter().for_each(|inner| check(inner, whole)),
            _ => {}
        }
    }

    #[test]
    fn every_answer_has_a_schema_that_is_whole() {
        let sections = sections(DOCUMENT);
        let wholes: Vec<_> = sections.iter().filter(|section| section.is_whole).collect();
        for name in ["extract", "run", "compare", "interval", "end", "view period", "view map"] {
            assert!(wholes.iter().any(|section| section.name == name), "{name}");
        }
        for section in wholes {
            assert!(!section.fields.is_empty(), "{}", section.name);
            let schema = schema(section, &sections);
            check(&schema, &schema);
        }
    }

    #[test]
    fn fields_become_properties() {
        let document = "## a\n\n| field | type | meaning |\n|---|---|---|\n| `x.y` | integer or null | why |\n| `x.z` | list of part or absent | so |\n\
                        \n### part\n\n| field | type | meaning |\n|---|---|---|\n| `p` | text | a part |\n";
        let sections = sections(document);
        let schema = schema(&sections[0], &sections);
        assert_eq!(schema["properties"]["x"]["properties"]["y"]["anyOf"][0]["type"], "integer");
        assert_eq!(schema["properties"]["x"]["required"], json!(["y"]));
        assert_eq!(schema["properties"]["x"]["properties"]["z"]["items"]["$ref"], "#/$defs/part");
        assert_eq!(schema["$defs"]["part"]["properties"]["p"]["description"], "a part");
        assert_eq!(schema["required"], json!(["x"]));
    }
}
