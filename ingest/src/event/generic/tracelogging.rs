//! TraceLogging: the schema that travels in every event (extended item 11), and the provider's
//! name (item 12).
//!
//! A schema is `u16 size, tags, z8 event name, fields`; a field is `z8 name, u8 type` and, each
//! announced by the byte before, an output type, tags, and a count (event-payloads.md,
//! section 11). Called by `Schemas` once for each distinct schema.

use super::cursor::Cursor;
use super::layout::{Bad, Base, Count, Field, Kind, Layout, Show};
use super::limits;

/// Input types: the low five bits.
const TYPE_MASK: u8 = 0x1F;
const STRUCT: u8 = 24;
/// What stands in front of the values.
const COUNT_MASK: u8 = 0x60;
const CONSTANT_COUNT: u8 = 0x20;
const VARIABLE_COUNT: u8 = 0x40;
const CUSTOM: u8 = 0x60;
/// Another byte follows.
const CHAIN: u8 = 0x80;

/// The schema proper, without bytes that follow its own size.
pub(super) fn blob(item: &[u8]) -> Result<&[u8], Bad> {
    let size = usize::from(Cursor::new(item).u16()?);
    item.get(..size).ok_or(Bad::Malformed)
}

/// The event's name, as bytes.
pub(super) fn event_name(blob: &[u8]) -> Result<&[u8], Bad> {
    let mut c = Cursor::new(blob);
    c.skip(2)?;
    tags(&mut c)?;
    name(&mut c)
}

/// The provider's name in a provider traits item, as bytes.
pub(super) fn provider_name(item: &[u8]) -> Result<&[u8], Bad> {
    let traits = blob(item)?;
    name(&mut Cursor::at(traits, 2))
}

/// A name must have its NUL: without it the schema is cut.
fn name<'a>(c: &mut Cursor<'a>) -> Result<&'a [u8], Bad> {
    if !c.rest().contains(&0) {
        return Err(Bad::Malformed);
    }
    Ok(c.ansiz_bytes())
}

/// Tags have no public meaning: seven bits a byte, at most 28.
fn tags(c: &mut Cursor<'_>) -> Result<(), Bad> {
    for _ in 0..4 {
        if c.u8()? & CHAIN == 0 {
            return Ok(());
        }
    }
    Err(Bad::Malformed)
}

/// Compiles a schema.
pub(super) fn compile(blob: &[u8]) -> Result<Layout, Bad> {
    let event = event_name(blob)?;
    let mut c = Cursor::new(blob);
    c.skip(2)?;
    tags(&mut c)?;
    name(&mut c)?;
    let mut nodes = Vec::new();
    let mut left = limits::FIELDS;
    while !c.is_empty() {
        nodes.push(node(&mut c, &mut left, 0)?);
    }
    let event = String::from_utf8_lossy(event).into_owned().into();
    flatten(nodes, Layout { event: Some(event), ..Layout::default() })
}

/// A field with the members of its structure, before they are laid out flat.
struct Node {
    field: Field,
    members: Vec<Node>,
}

fn node(c: &mut Cursor<'_>, left: &mut usize, depth: usize) -> Result<Node, Bad> {
    *left = left.checked_sub(1).ok_or(Bad::Limit("fields of an event"))?;
    if depth > limits::DEPTH {
        return Err(Bad::Limit("structures inside structures"));
    }
    let name = String::from_utf8_lossy(name(c)?);
    let input = c.u8()?;
    let mut output = 0;
    if input & CHAIN != 0 {
        output = c.u8()?;
        if output & CHAIN != 0 {
            tags(c)?;
        }
        output &= !CHAIN;
    }
    let mut count = Count::One;
    match input & COUNT_MASK {
        CONSTANT_COUNT => count = Count::Fixed(c.u16()?),
        VARIABLE_COUNT => count = Count::Prefixed,
        CUSTOM => {
            // A description in the provider's own terms; the value is counted bytes.
            let description = usize::from(c.u16()?);
            c.skip(description)?;
            let kind = Kind::Value(Base::CountedBinary, Show::from_tracelogging(output));
            return Ok(Node { field: Field::new(&name, kind), members: Vec::new() });
        }
        _ => {}
    }
    let mut members = Vec::new();
    let kind = if input & TYPE_MASK == STRUCT {
        for _ in 0..output {
            members.push(node(c, left, depth + 1)?);
        }
        Kind::Struct { first: 0, members: u16::from(output) }
    } else {
        let base = base(input & TYPE_MASK).ok_or(Bad::Malformed)?;
        Kind::Value(base, show(base, count, output))
    };
    let field = Field { count, ..Field::new(&name, kind) };
    Ok(Node { field, members })
}

/// The list of TDH up to 25, but binary values carry their size.
fn base(input: u8) -> Option<Base> {
    match input {
        14 => Some(Base::CountedBinary),
        other => Base::from_tdh(u16::from(other)),
    }
}

/// The output type, with two exceptions from win10-tracelogging-primitive-types.etl and its
/// baseline: a 64-bit integer is signed unless the schema insists (its `int64_type` of -204 is
/// declared as UINT64), and one byte alone stays a number even where it is called a character.
fn show(base: Base, count: Count, output: u8) -> Show {
    match (base, Show::from_tracelogging(output)) {
        (Base::U64, Show::Plain) => Show::Signed,
        (Base::I8 | Base::U8, Show::Text) if count == Count::One => Show::Plain,
        (_, show) => show,
    }
}

/// Top-level fields first, then the members of each structure together.
fn flatten(nodes: Vec<Node>, mut layout: Layout) -> Result<Layout, Bad> {
    layout.top = nodes.len();
    let mut queue = vec![(None, nodes)];
    let mut at = 0;
    while at < queue.len() {
        let (parent, nodes) = std::mem::take(&mut queue[at]);
        let start = layout.fields.len() as u16;
        if let Some(Kind::Struct { first, .. }) =
            parent.and_then(|p: usize| layout.fields.get_mut(p)).map(|f| &mut f.kind)
        {
            *first = start;
        }
        for node in nodes {
            let index = layout.fields.len();
            layout.fields.push(node.field);
            if !node.members.is_empty() {
                queue.push((Some(index), node.members));
            }
        }
        at += 1;
    }
    layout.seal()
}
