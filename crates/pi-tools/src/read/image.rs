//! Images, turned upright and made as small as models like them.

use std::io::{Cursor, Read};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, ImageResult,
    Limits,
    codecs::{jpeg::JpegEncoder, png::PngEncoder},
    imageops::FilterType,
    metadata::Orientation,
};

use pi_transcript::Block;

use crate::{
    files::FileFault,
    tool::{Failure, Output},
    truncate,
    workspace::Images,
};

/// So many bytes tell the format.
pub(super) const SIGNATURE: usize = 12;

/// How large an image may be that is sent.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// No side is longer, in pixels.
    side: u32,
    /// In base64, as it is sent.
    encoded: usize,
}

const BOUNDS: Bounds = Bounds { side: 2000, encoded: 4_718_592 };

/// A file that is longer is no picture that anybody wants to show to a model.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// What decoding may take: a small file can claim to be a huge picture.
const MAX_MEMORY: u64 = 512 * 1024 * 1024;
const QUALITIES: [u8; 5] = [80, 70, 55, 40, 25];
const SCALES: [f64; 5] = [1.0, 0.75, 0.5, 0.35, 0.2];

/// The format of a file that begins like this; nothing if it is no image that models understand.
pub(super) fn sniff(beginning: &[u8]) -> Option<ImageFormat> {
    match beginning {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

/// An image that was read from somewhere, as models like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    Ready {
        /// In base64.
        data: String,
        mime_type: &'static str,
        /// What a model should know: how much it was scaled. Empty if it was not.
        note: String,
    },
    LeftOut {
        why: String,
    },
}

/// Makes an image ready to be sent: upright, and small enough if it may be changed. `None` if the bytes are none that
/// models understand.
pub fn picture(bytes: &[u8], images: Images) -> Option<Picture> {
    Some(prepare(bytes, sniff(bytes)?, images))
}

/// An image and a line about it.
pub(super) fn show(
    file: &mut impl Read,
    length: u64,
    format: ImageFormat,
    images: Images,
    shown: &str,
) -> Result<Output, Failure> {
    if length > MAX_FILE {
        let [length, limit] =
            [length, MAX_FILE].map(|bytes| truncate::size(usize::try_from(bytes).unwrap_or(usize::MAX)));
        return Err(Failure::new(format!("{shown} is an image of {length}; at most {limit} can be shown")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(|error| FileFault::reading(shown, error))?;
    let (note, image) = match prepare(&bytes, format, images) {
        Picture::Ready { data, mime_type, note } => {
            let gap = if note.is_empty() { "" } else { "\n" };
            (format!("Read image file [{mime_type}]{gap}{note}"), Some(Block::image(data, mime_type)))
        }
        Picture::LeftOut { why } => {
            (format!("Read image file [{}]\n[Image left out: {why}]", format.to_mime_type()), None)
        }
    };
    Ok(Output { content: [Block::text(note)].into_iter().chain(image).collect(), ..Output::default() })
}

fn prepare(bytes: &[u8], format: ImageFormat, images: Images) -> Picture {
    let as_it_is =
        || Picture::Ready { data: STANDARD.encode(bytes), mime_type: format.to_mime_type(), note: String::new() };
    let fitted = match images {
        Images::AsTheyAre => decode(bytes, format).map(|_| Fitted::AsItIs),
        Images::Scaled => fit(bytes, format, BOUNDS),
    };
    match fitted {
        Ok(Fitted::AsItIs) => as_it_is(),
        Ok(Fitted::Changed { data, mime_type, note }) => Picture::Ready { data, mime_type, note },
        Ok(Fitted::TooLarge) => Picture::LeftOut { why: "it cannot be made small enough to be sent.".to_owned() },
        Err(error) => match error {
            // A model may understand what our decoder does not, or finds too large.
            ImageError::Unsupported(_) | ImageError::Limits(_)
                if images == Images::AsTheyAre || BOUNDS.admit(bytes.len()) =>
            {
                as_it_is()
            }
            ImageError::Unsupported(_) | ImageError::Limits(_) => Picture::LeftOut { why: error.to_string() },
            // Providers refuse the whole prompt for it, in this turn and in all that follow.
            ImageError::Decoding(_) | ImageError::IoError(_) | ImageError::Encoding(_) | ImageError::Parameter(_) => {
                Picture::LeftOut { why: format!("it is broken: {error}") }
            }
        },
    }
}

enum Fitted {
    AsItIs,
    Changed { data: String, mime_type: &'static str, note: String },
    TooLarge,
}

impl Bounds {
    /// Whether so many bytes may be sent.
    fn admit(self, bytes: usize) -> bool {
        bytes.div_ceil(3) * 4 <= self.encoded
    }
}

/// The whole image, as it lies in the file, and how it is to be turned.
fn decode(bytes: &[u8], format: ImageFormat) -> ImageResult<(DynamicImage, Orientation)> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    Ok((DynamicImage::from_decoder(decoder)?, orientation))
}

fn fit(bytes: &[u8], format: ImageFormat, bounds: Bounds) -> ImageResult<Fitted> {
    // One that is sent as it is gets decoded too: its beginning does not tell whether the rest is there.
    let (mut picture, orientation) = decode(bytes, format)?;
    let is_small = picture.width().max(picture.height()) <= bounds.side && bounds.admit(bytes.len());
    if is_small && orientation == Orientation::NoTransforms {
        return Ok(Fitted::AsItIs);
    }
    picture.apply_orientation(orientation);
    let upright = (picture.width(), picture.height());
    if upright.0.max(upright.1) > bounds.side {
        picture = picture.resize(bounds.side, bounds.side, FilterType::Triangle);
    }
    for scale in SCALES {
        let side = |length: u32| ((f64::from(length) * scale).round() as u32).max(1);
        let scaled = match scale {
            1.0 => None,
            _ => Some(picture.resize(side(picture.width()), side(picture.height()), FilterType::Triangle)),
        };
        let scaled = scaled.as_ref().unwrap_or(&picture);
        if let Some((data, mime_type)) = smallest(scaled, bounds)? {
            return Ok(Fitted::Changed { data, mime_type, note: note(upright, (scaled.width(), scaled.height())) });
        }
    }
    Ok(Fitted::TooLarge)
}

/// The smaller one of PNG and JPEG; worse JPEGs if neither is small enough.
fn smallest(picture: &DynamicImage, bounds: Bounds) -> ImageResult<Option<(String, &'static str)>> {
    let fits = |bytes: &Vec<u8>| bounds.admit(bytes.len());
    let mut png = Vec::new();
    picture.write_with_encoder(PngEncoder::new(&mut png))?;
    let opaque = picture.to_rgb8();
    for quality in QUALITIES {
        let mut jpeg = Vec::new();
        let encoder = JpegEncoder::new_with_quality(&mut jpeg, quality);
        encoder.write_image(&opaque, opaque.width(), opaque.height(), ExtendedColorType::Rgb8)?;
        if fits(&png) && png.len() <= jpeg.len() {
            return Ok(Some((STANDARD.encode(&png), "image/png")));
        }
        if fits(&jpeg) {
            return Ok(Some((STANDARD.encode(&jpeg), "image/jpeg")));
        }
    }
    Ok(fits(&png).then(|| (STANDARD.encode(&png), "image/png")))
}

/// How to get from what the model sees to the file.
fn note((width, height): (u32, u32), (shown_width, shown_height): (u32, u32)) -> String {
    if (width, height) == (shown_width, shown_height) {
        return String::new();
    }
    let factor = f64::from(width) / f64::from(shown_width);
    format!(
        "[Image: original {width}x{height}, displayed at {shown_width}x{shown_height}. \
         Multiply coordinates by {factor:.2} to map to original image.]"
    )
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage};

    use super::*;

    /// What becomes of a picture of noise, which no format makes small: its type, its size and the note.
    fn fitted(encoded: usize) -> Option<(&'static str, (u32, u32), String)> {
        let mut random = fastrand::Rng::with_seed(7);
        let noise = RgbImage::from_fn(100, 50, |_, _| Rgb([random.u8(..), random.u8(..), random.u8(..)]));
        let mut png = Vec::new();
        noise.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).expect("an image");
        match fit(&png, ImageFormat::Png, Bounds { side: 80, encoded }).expect("an image") {
            Fitted::AsItIs => panic!("a side is too long"),
            Fitted::TooLarge => None,
            Fitted::Changed { data, mime_type, note } => {
                assert!(data.len() <= encoded, "{}", data.len());
                let bytes = STANDARD.decode(data).expect("base64");
                let picture = image::load_from_memory(&bytes).expect("an image");
                Some((mime_type, (picture.width(), picture.height()), note))
            }
        }
    }

    #[test]
    fn image_is_sent_worse_and_then_smaller() {
        let note = |size: &str, factor: &str| {
            format!(
                "[Image: original 100x50, displayed at {size}. Multiply coordinates by {factor} to map to original image.]"
            )
        };
        assert_eq!(fitted(20_000), Some(("image/jpeg", (80, 40), note("80x40", "1.25"))));
        let (_, half, _) = fitted(1_600).expect("an image");
        assert!(half.0 < 80, "{half:?}");
        assert_eq!(fitted(100), None);
    }

    #[test]
    fn picture_is_anything_that_models_understand() {
        let small = RgbImage::from_pixel(4, 3, Rgb([1, 2, 3]));
        let mut png = Vec::new();
        small.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).expect("an image");
        let ready = Picture::Ready { data: STANDARD.encode(&png), mime_type: "image/png", note: String::new() };
        assert_eq!(picture(&png, Images::Scaled), Some(ready.clone()));
        assert_eq!(picture(&png, Images::AsTheyAre), Some(ready));
        assert_eq!(picture(b"words", Images::Scaled), None);
        let large = RgbImage::from_pixel(2400, 2, Rgb([1, 2, 3]));
        let mut png = Vec::new();
        large.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).expect("an image");
        let Some(Picture::Ready { note, .. }) = picture(&png, Images::Scaled) else { panic!("it can be scaled") };
        assert!(note.starts_with("[Image: original 2400x2, displayed at 2000x2."), "{note}");
    }
}
