//! Templates: what the bytes of a data record mean.

use super::bytes::{u16_at, u32_at};
use super::element::Element;
use super::record::Version;

/// Length of a field that states its own length in each record (RFC 7011 section 7).
pub(super) const VARIABLE: u16 = 65_535;
/// The bit of an element number that says an enterprise number follows (RFC 7011 section 3.2).
const ENTERPRISE: u16 = 0x8000;

/// A field of a template, or several that are not understood: they have one length together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub element: Element,
    /// Bytes, or [`VARIABLE`].
    pub length: u16,
}

/// A template as it is used: fields without bytes left out, neighbours that are not understood joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    /// Its records speak of the exporter, not of flows.
    pub options: bool,
    /// The least bytes a record has; never 0.
    pub least: usize,
    pub fields: Box<[Field]>,
}

/// What a template set says about one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// Records of this number look so.
    Is(u16, Template),
    /// No records of this number from here on (IPFIX).
    Withdrawn(u16),
    /// No records of any number from here on: of templates, or of options templates (IPFIX).
    AllWithdrawn { options: bool },
    /// Its records would have no bytes: there would be endlessly many of them.
    Empty(u16),
}

/// The definitions in one (options) template set. Yields an error, and then nothing, where the set contradicts itself.
pub(super) struct Definitions<'a> {
    version: Version,
    options: bool,
    /// What follows the set's header.
    body: &'a [u8],
    at: usize,
}

impl<'a> Definitions<'a> {
    pub fn new(version: Version, options: bool, body: &'a [u8]) -> Definitions<'a> {
        Definitions { version, options, body, at: 0 }
    }

    fn next_definition(&mut self) -> Result<Option<Definition>, String> {
        // What is left and holds no header is padding (RFC 7011 section 3.3.1), as are zeros.
        let rest = &self.body[self.at..];
        let ipfix = self.version == Version::Ipfix;
        let (Some(id), Some(count)) = (u16_at(rest, 0), u16_at(rest, 2)) else { return Ok(None) };
        let withdrawn = ipfix && count == 0;
        match id {
            2 | 3 if withdrawn => {
                self.at += 4;
                return Ok(Some(Definition::AllWithdrawn { options: id == 3 }));
            }
            0 if rest.iter().all(|byte| *byte == 0) => return Ok(None),
            0..256 => return Err(format!("template number {id} is below 256")),
            _ if withdrawn => {
                self.at += 4;
                return Ok(Some(Definition::Withdrawn(id)));
            }
            _ => {}
        }
        let (header, fields) = match (self.options, ipfix) {
            (false, _) => (4, usize::from(count)),
            // RFC 3954 section 6.1: the lengths of scope and options, in bytes.
            (true, false) => {
                let Some(length) = u16_at(rest, 4) else { return Ok(None) };
                if count % 4 != 0 || length % 4 != 0 {
                    return Err(format!("options template {id}: its {count} and {length} bytes are not whole fields"));
                }
                (6, (usize::from(count) + usize::from(length)) / 4)
            }
            // RFC 7011 section 3.4.2.2: the number of all fields, and of those that are scope.
            (true, true) => {
                let Some(scope) = u16_at(rest, 4) else { return Ok(None) };
                if scope == 0 || scope > count {
                    return Err(format!("options template {id}: {scope} of its {count} fields are its scope"));
                }
                (6, usize::from(count))
            }
        };
        let scope = if self.options && !ipfix { usize::from(count) / 4 } else { 0 };
        let (template, length) = self.template(id, &rest[header..], fields, scope)?;
        self.at += header + length;
        Ok(Some(match template.least {
            0 => Definition::Empty(id),
            _ => Definition::Is(id, template),
        }))
    }

    /// Reads `count` fields, of which the first `scope` have numbers of their own (RFC 3954 section 6.1); their bytes.
    fn template(&self, id: u16, bytes: &[u8], count: usize, scope: usize) -> Result<(Template, usize), String> {
        let cut = || format!("template {id} claims {count} fields, and its set ends before the last");
        let mut fields: Vec<Field> = Vec::new();
        let (mut least, mut at) = (0, 0);
        for index in 0..count {
            let (Some(number), Some(length)) = (u16_at(bytes, at), u16_at(bytes, at + 2)) else { return Err(cut()) };
            at += 4;
            let element = if self.version == Version::Ipfix && number & ENTERPRISE != 0 {
                let Some(enterprise) = u32_at(bytes, at) else { return Err(cut()) };
                at += 4;
                Element::new(self.version, Some(enterprise), number & !ENTERPRISE)
            } else if index < scope {
                scope_element(number)
            } else {
                Element::new(self.version, None, number)
            };
            least += if length == VARIABLE { 1 } else { usize::from(length) };
            push(&mut fields, Field { element, length });
        }
        Ok((Template { options: self.options, least, fields: fields.into() }, at))
    }
}

impl Iterator for Definitions<'_> {
    type Item = Result<Definition, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_definition();
        if !matches!(next, Ok(Some(_))) {
            self.at = self.body.len();
        }
        next.transpose()
    }
}

/// Scope types of NetFlow v9 (RFC 3954 section 6.1): 2 is an interface.
fn scope_element(number: u16) -> Element {
    match number {
        2 => Element::Number(super::element::Number::Interface),
        _ => Element::Skip,
    }
}

fn push(fields: &mut Vec<Field>, field: Field) {
    if field.length == 0 {
        return;
    }
    if let Some(Field { element: Element::Skip, length }) = fields.last_mut() {
        let both = length.checked_add(field.length).filter(|both| *both < VARIABLE);
        if let (Element::Skip, Some(both)) = (field.element, both) {
            *length = both;
            return;
        }
    }
    fields.push(field);
}
