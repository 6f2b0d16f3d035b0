//! A flame graph as an SVG picture without a script: it opens anywhere, and names in it cannot run.
//! Root at the top; hovering over a frame tells its weight.

use std::collections::BTreeMap;
use std::io::Write;

use etwas_queries::Error;

use super::Part;
use super::stacks::Profile;
use crate::ask::seconds;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 17.0;
const HEAD: f64 = 44.0;

/// Narrower frames cannot be seen.
const WIDTH_MIN: f64 = 0.2;

/// Deeper frames are not drawn; a recursion without end would be as high as a tower.
const DEPTH_MAX: usize = 400;

/// Width of a character, nearly.
const CHARACTER: f64 = 6.7;

#[derive(Default)]
struct Node {
    weight: u64,
    below: BTreeMap<usize, Node>,
}

/// Writes the picture. Says how many stacks went into it.
pub fn write(profile: &Profile, part: &Part, out: &mut dyn Write) -> Result<u64, Error> {
    let mut root = Node::default();
    let mut depth = 1;
    for (stack, weight) in &profile.stacks {
        root.weight += weight;
        depth = depth.max(stack.len().min(DEPTH_MAX) + 1);
        let mut node = &mut root;
        for frame in stack.iter().take(DEPTH_MAX) {
            node = node.below.entry(*frame).or_default();
            node.weight += weight;
        }
    }
    let height = HEAD + ROW * depth as f64 + MARGIN;
    let title = format!(
        "{}, {}, {} s to {} s",
        part.trace,
        profile.name,
        seconds(part.from_ns),
        seconds(part.to_ns)
    );
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" \
         font-family=\"ui-monospace, Consolas, monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fbfbfa\"/>\n\
         <text x=\"{MARGIN}\" y=\"24\" font-size=\"15\" font-family=\"sans-serif\">{}</text>",
        escape(&title)
    )?;
    let scale = (WIDTH - 2.0 * MARGIN) / (root.weight.max(1) as f64);
    let mut drawing = Drawing { out, profile, scale, all: root.weight };
    drawing.frame("all", &root, MARGIN, 0)?;
    writeln!(out, "</svg>")?;
    Ok(profile.stacks.len() as u64)
}

struct Drawing<'a> {
    out: &'a mut dyn Write,
    profile: &'a Profile,
    scale: f64,
    all: u64,
}

impl Drawing<'_> {
    /// One frame and what is below it; as deep as `DEPTH_MAX` at most.
    fn frame(&mut self, name: &str, node: &Node, x: f64, depth: usize) -> std::io::Result<()> {
        let width = node.weight as f64 * self.scale;
        if width < WIDTH_MIN {
            return Ok(());
        }
        let y = HEAD + ROW * depth as f64;
        let share = node.weight as f64 * 100.0 / self.all.max(1) as f64;
        let weight = if self.profile.timed {
            format!("{:.3} ms", node.weight as f64 / 1e6)
        } else {
            format!("{} samples", node.weight)
        };
        write!(
            self.out,
            "<g><title>{}: {weight}, {share:.2} %</title><rect x=\"{x:.2}\" y=\"{y:.1}\" \
             width=\"{width:.2}\" height=\"{:.1}\" rx=\"1\" fill=\"{}\"/>",
            escape(name),
            ROW - 1.0,
            colour(name)
        )?;
        let fits = ((width - 6.0) / CHARACTER) as usize;
        if fits >= 3 {
            let label = match name.char_indices().nth(fits) {
                Some((at, _)) => format!("{}…", &name[..at]),
                None => name.to_owned(),
            };
            let (x, y) = (x + 3.0, y + 12.0);
            write!(self.out, "<text x=\"{x:.2}\" y=\"{y:.1}\">{}</text>", escape(&label))?;
        }
        writeln!(self.out, "</g>")?;
        let mut x = x;
        for (frame, below) in &node.below {
            let name = self.profile.frames.get(*frame).map_or("?", String::as_str);
            self.frame(name, below, x, depth + 1)?;
            x += below.weight as f64 * self.scale;
        }
        Ok(())
    }
}

/// Frames of one module have one colour.
fn colour(name: &str) -> String {
    let module = name.split(['!', '+']).next().unwrap_or(name);
    let hash = module
        .bytes()
        .fold(0xcbf2_9ce4_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("hsl({} {}% {}%)", hash % 360, 45 + hash / 360 % 20, 70 + hash / 7200 % 12)
}

/// Text as text of XML. Characters that XML has not are shown as a replacement.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_text() {
        let profile = Profile {
            name: "x",
            timed: true,
            frames: vec!["</text><script>alert(1)</script>\u{0}".into()],
            stacks: vec![(vec![0], 2_000_000)],
        };
        let part = Part { id: 1, trace: "<&>".into(), from_ns: 0, to_ns: 1 };
        let mut out = Vec::new();
        write(&profile, &part, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("<script") && text.contains("&lt;script&gt;"), "{text}");
        assert!(text.contains("2.000 ms, 100.00 %") && !text.contains('\u{0}'));
    }
}
