//! What a piece of text means, and how that looks in a terminal of so many colours.

use ratatui_core::style::{Color, Modifier, Style};

/// How many colours a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// None; bold and underlined text is still told apart.
    None,
    Sixteen,
    Palette,
    True,
}

/// Styles by meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    pub name: &'static str,
    pub quiet: Style,
    pub strong: Style,
    pub accent: Style,
    /// What the user said.
    pub user: Style,
    pub thinking: Style,
    pub tool: Style,
    pub good: Style,
    pub bad: Style,
    pub warning: Style,
    pub heading: Style,
    pub link: Style,
    pub code: Style,
    pub quote: Style,
    pub border: Style,
    pub added: Style,
    pub removed: Style,
    pub selected: Style,
    pub keyword: Style,
    pub string: Style,
    pub comment: Style,
    pub number: Style,
    pub function: Style,
    pub kind: Style,
}

impl Theme {
    /// What can be named.
    pub const NAMES: [&'static str; 2] = ["dark", "light"];

    /// The theme of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::dark()),
            "light" => Some(Self::light()),
            _ => None,
        }
    }

    /// Light text on a dark ground.
    pub fn dark() -> Self {
        let colour = |red, green, blue| Style::new().fg(Color::Rgb(red, green, blue));
        Self {
            name: "dark",
            quiet: colour(128, 128, 136),
            accent: colour(138, 190, 183),
            user: colour(178, 148, 187),
            thinking: colour(128, 128, 136).add_modifier(Modifier::ITALIC),
            tool: colour(129, 162, 190),
            good: colour(152, 195, 121),
            bad: colour(224, 108, 117),
            warning: colour(229, 192, 123),
            heading: colour(240, 198, 116).add_modifier(Modifier::BOLD),
            link: colour(97, 175, 239).add_modifier(Modifier::UNDERLINED),
            code: colour(138, 190, 183),
            quote: colour(150, 150, 160).add_modifier(Modifier::ITALIC),
            border: colour(80, 80, 92),
            added: colour(152, 195, 121),
            removed: colour(224, 108, 117),
            keyword: colour(198, 120, 221),
            string: colour(152, 195, 121),
            comment: colour(128, 128, 136).add_modifier(Modifier::ITALIC),
            number: colour(209, 154, 102),
            function: colour(97, 175, 239),
            kind: colour(229, 192, 123),
            ..Self::plain()
        }
    }

    /// Dark text on a light ground.
    pub fn light() -> Self {
        let colour = |red, green, blue| Style::new().fg(Color::Rgb(red, green, blue));
        Self {
            name: "light",
            quiet: colour(110, 110, 118),
            accent: colour(0, 110, 110),
            user: colour(120, 40, 140),
            thinking: colour(110, 110, 118).add_modifier(Modifier::ITALIC),
            tool: colour(20, 80, 150),
            good: colour(30, 120, 30),
            bad: colour(180, 20, 30),
            warning: colour(150, 90, 0),
            heading: colour(140, 80, 0).add_modifier(Modifier::BOLD),
            link: colour(0, 80, 180).add_modifier(Modifier::UNDERLINED),
            code: colour(0, 110, 110),
            quote: colour(90, 90, 100).add_modifier(Modifier::ITALIC),
            border: colour(180, 180, 190),
            added: colour(30, 120, 30),
            removed: colour(180, 20, 30),
            keyword: colour(140, 30, 160),
            string: colour(30, 120, 30),
            comment: colour(110, 110, 118).add_modifier(Modifier::ITALIC),
            number: colour(160, 80, 0),
            function: colour(0, 80, 180),
            kind: colour(150, 90, 0),
            ..Self::plain()
        }
    }

    /// Without colours: only what every terminal can show.
    pub fn plain() -> Self {
        let none = Style::new();
        let bold = none.add_modifier(Modifier::BOLD);
        let dim = none.add_modifier(Modifier::DIM);
        Self {
            name: "plain",
            quiet: dim,
            strong: bold,
            accent: none,
            user: bold,
            thinking: dim.add_modifier(Modifier::ITALIC),
            tool: bold,
            good: none,
            bad: bold,
            warning: bold,
            heading: bold,
            link: none.add_modifier(Modifier::UNDERLINED),
            code: none,
            quote: none.add_modifier(Modifier::ITALIC),
            border: dim,
            added: none,
            removed: none,
            selected: none.add_modifier(Modifier::REVERSED),
            keyword: none,
            string: none,
            comment: dim,
            number: none,
            function: none,
            kind: none,
        }
    }
}

impl Colours {
    /// What the environment says of the terminal.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let term = variable("TERM").unwrap_or_default();
        if is_set("NO_COLOR") || matches!(term.as_str(), "" | "dumb") {
            return Self::None;
        }
        let deep = variable("COLORTERM").is_some_and(|value| matches!(value.as_str(), "truecolor" | "24bit"));
        if deep || term.ends_with("-direct") || is_set("WT_SESSION") {
            return Self::True;
        }
        if term.contains("256color") || term.starts_with("tmux") || term.starts_with("screen") {
            return Self::Palette;
        }
        Self::Sixteen
    }

    /// The nearest colour that there is; `None` for the terminal's own.
    pub fn nearest(self, colour: Color) -> Option<Color> {
        match (self, colour) {
            (Self::None, _) | (_, Color::Reset) => None,
            (Self::Palette, Color::Rgb(red, green, blue)) => Some(Color::Indexed(palette(red, green, blue))),
            (Self::Sixteen, Color::Rgb(red, green, blue)) => Some(sixteen(red, green, blue)),
            (Self::Sixteen | Self::Palette | Self::True, colour) => Some(colour),
        }
    }
}

/// The nearest of the colour cube and the greys.
fn palette(red: u8, green: u8, blue: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |value: u8| (0..6u8).min_by_key(|step| STEPS[usize::from(*step)].abs_diff(value)).unwrap_or(0);
    let (r, g, b) = (step(red), step(green), step(blue));
    let cube = 16 + 36 * r + 6 * g + b;
    let average = ((u16::from(red) + u16::from(green) + u16::from(blue)) / 3).min(238) as u8;
    let grey_step = (average.saturating_sub(3) / 10).min(23);
    let grey = 8 + 10 * grey_step;
    let at = |step: u8| STEPS[usize::from(step)];
    let cube_distance = distance([red, green, blue], [at(r), at(g), at(b)]);
    if distance([red, green, blue], [grey; 3]) < cube_distance { 232 + grey_step } else { cube }
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(left, right)| u32::from(left.abs_diff(right)).pow(2)).sum()
}

/// The nearest of the usual sixteen, by hue first: what they look like is for the user to choose.
fn sixteen(red: u8, green: u8, blue: u8) -> Color {
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    if most - least < 40 {
        return match most {
            0..64 => Color::Black,
            64..170 => Color::DarkGray,
            170..220 => Color::Gray,
            220.. => Color::White,
        };
    }
    let middle = least + (most - least) / 2;
    match (red > middle, green > middle, blue > middle) {
        (true, true, _) => Color::Yellow,
        (true, false, true) => Color::Magenta,
        (true, false, false) => Color::Red,
        (false, true, true) => Color::Cyan,
        (false, true, false) => Color::Green,
        (false, false, _) => Color::Blue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_environment() {
        for (variables, expected) in [
            (&[("TERM", "xterm")][..], Colours::Sixteen),
            (&[("TERM", "xterm-256color")], Colours::Palette),
            (&[("TERM", "tmux-256color")], Colours::Palette),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], Colours::True),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("NO_COLOR", "1")], Colours::None),
            (&[("TERM", "xterm"), ("NO_COLOR", "")], Colours::Sixteen),
            (&[("TERM", "dumb")], Colours::None),
            (&[], Colours::None),
        ] {
            let find =
                |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(Colours::of(&find), expected, "{variables:?}");
        }
    }

    #[test]
    fn colours_become_the_nearest_that_there_is() {
        let red = Color::Rgb(224, 108, 117);
        assert_eq!(Colours::True.nearest(red), Some(red));
        assert_eq!(Colours::Palette.nearest(red), Some(Color::Indexed(168)));
        assert_eq!(Colours::Palette.nearest(Color::Rgb(128, 128, 128)), Some(Color::Indexed(244)));
        assert_eq!(Colours::Sixteen.nearest(red), Some(Color::Red));
        assert_eq!(Colours::Sixteen.nearest(Color::Rgb(128, 128, 136)), Some(Color::DarkGray));
        assert_eq!(Colours::None.nearest(red), None);
    }
}
