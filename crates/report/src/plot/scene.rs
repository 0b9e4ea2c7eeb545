//! What a picture is made of, in points (1/72 inch) from its top left corner. The files `svg`, `pdf` and `png` write it.

/// A place: across, down.
pub(super) type Place = (f64, f64);

/// A colour: red, green, blue.
pub(super) type Colour = [u8; 3];

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Segment {
    /// Begins a new line here.
    Move(Place),
    /// Goes straight to here.
    Line(Place),
    /// Goes along a cubic curve: two control points, and the end.
    Curve(Place, Place, Place),
    /// Goes back to the beginning of the line.
    Close,
}

/// How a line is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stroke {
    pub colour: Colour,
    /// Width in points.
    pub width: f64,
    /// Lengths of strokes and gaps in points; empty: an unbroken line.
    pub dash: Vec<f64>,
}

impl Stroke {
    /// An unbroken line.
    pub(super) fn plain(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, dash: Vec::new() }
    }
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A text in one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    pub text: String,
    /// Where its baseline begins, has its middle or ends.
    pub at: Place,
    /// Size of the font in points.
    pub size: f64,
    pub anchor: Anchor,
    /// Whether it reads upwards.
    pub is_upright: bool,
    pub colour: Colour,
}

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A line.
    Stroke { path: Vec<Segment>, stroke: Stroke },
    /// A filled area, with the share of the ground that it covers, 0 to 1.
    Fill { path: Vec<Segment>, colour: Colour, opacity: f64 },
    /// A text.
    Text(Text),
}

/// Shapes that belong together: what they are, for readers of an SVG file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// `x-axis`, `line`...
    pub class: &'static str,
    /// Whose line it is; empty for parts that all share.
    pub name: String,
    pub shapes: Vec<Shape>,
}

/// A picture on a white ground.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    /// Width and height in points.
    pub size: (f64, f64),
    /// What it shows, for readers who do not see it, and for the file's title.
    pub title: String,
    pub groups: Vec<Group>,
}

impl Scene {
    /// All texts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.groups.iter().flat_map(|group| &group.shapes).filter_map(|shape| match shape {
            Shape::Text(text) => Some(text),
            _ => None,
        })
    }
}

/// The path through `places`.
pub(super) fn through(places: impl IntoIterator<Item = Place>) -> Vec<Segment> {
    let of = |(index, place)| if index == 0 { Segment::Move(place) } else { Segment::Line(place) };
    places.into_iter().enumerate().map(of).collect()
}
