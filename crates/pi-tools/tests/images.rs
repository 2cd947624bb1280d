//! `read` of images.

#![expect(clippy::disallowed_methods, reason = "tests look at real files beside the seam")]

#[expect(dead_code, reason = "each test uses the part of the room that it needs")]
#[path = "support/room.rs"]
mod room;

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use serde_json::json;

use pi_tools::Images;
use pi_transcript::Block;
use room::Room;

/// Red on the left, blue on the right.
fn picture(width: u32, height: u32) -> DynamicImage {
    let paint = |x: u32, _| if x < width / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) };
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, paint))
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), format).expect("an image");
    bytes
}

/// A JPEG that says how it is to be turned.
fn turned(orientation: u8) -> Vec<u8> {
    let jpeg = encoded(&picture(40, 20), ImageFormat::Jpeg);
    let mut exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let length = u16::try_from(exif.len() + 2).expect("a short segment").to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat()
}

async fn shown(room: &Room, path: &str) -> (String, Option<(Vec<u8>, String)>) {
    let output = room.call("read", json!({ "path": path })).await.expect("an image");
    let note = output.content[0].as_text().expect("a note").to_owned();
    let image = output.content.get(1).map(|block| match block {
        Block::Image(image) => (STANDARD.decode(&image.data).expect("base64"), image.mime_type.clone()),
        other => panic!("{other:?}"),
    });
    (note, image)
}

#[tokio::test]
async fn small_image_is_sent_as_it_is() {
    let room = Room::new();
    for (format, mime_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encoded(&picture(30, 20), format);
        room.put("no ending", &bytes);
        let expected = (format!("Read image file [{mime_type}]"), Some((bytes, mime_type.to_owned())));
        assert!(shown(&room, "no ending").await == expected, "{mime_type}");
    }
    room.put("text.png", "no image");
    assert_eq!(room.told("read", json!({ "path": "text.png" })).await, "no image");
}

#[tokio::test]
async fn large_image_is_scaled_down() {
    let room = Room::new();
    room.put("wide.png", encoded(&picture(2400, 240), ImageFormat::Png));
    let (note, image) = shown(&room, "wide.png").await;
    let (bytes, mime_type) = image.expect("an image");
    let scaled = image::load_from_memory(&bytes).expect("an image");
    assert_eq!((scaled.width(), scaled.height()), (2000, 200));
    let hint =
        "[Image: original 2400x240, displayed at 2000x200. Multiply coordinates by 1.20 to map to original image.]";
    assert_eq!(note, format!("Read image file [{mime_type}]\n{hint}"));
    let room = Room::with(|settings| settings.images = Images::AsTheyAre);
    let original = encoded(&picture(2400, 240), ImageFormat::Png);
    room.put("wide.png", &original);
    assert!(shown(&room, "wide.png").await.1 == Some((original, "image/png".to_owned())));
}

#[tokio::test]
async fn image_is_turned_upright() {
    let room = Room::new();
    for (orientation, size, first_is_red) in
        [(1, (40, 20), true), (3, (40, 20), false), (6, (20, 40), true), (8, (20, 40), false)]
    {
        room.put("photo.jpg", turned(orientation));
        let (note, image) = shown(&room, "photo.jpg").await;
        let upright = image::load_from_memory(&image.expect("an image").0).expect("an image");
        let [red, _, blue] = upright.to_rgb8().get_pixel(2, 2).0;
        let found = ((upright.width(), upright.height()), red > blue, note.contains("displayed"));
        assert_eq!(found, (size, first_is_red, false), "orientation {orientation}");
    }
}

#[tokio::test]
async fn image_that_lies_about_its_size_does_no_harm() {
    let room = Room::new();
    let mut huge = encoded(&picture(30, 20), ImageFormat::Png);
    // It claims to be 60000 pixels wide and high.
    huge[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    room.put("huge.png", &huge);
    let (note, _) = shown(&room, "huge.png").await;
    assert!(note.starts_with("Read image file [image/png]"), "{note}");
}

#[tokio::test]
async fn broken_image_is_told_of_and_not_sent() {
    for images in [Images::Scaled, Images::AsTheyAre] {
        let room = Room::with(|settings| settings.images = images);
        for (format, mime_type) in [(ImageFormat::Png, "image/png"), (ImageFormat::WebP, "image/webp")] {
            let whole = encoded(&picture(30, 20), format);
            let mut spoiled = whole.clone();
            let middle = whole.len() / 2;
            spoiled[middle..].iter_mut().for_each(|byte| *byte = !*byte);
            for bytes in [&whole[..40], &whole[..middle], &spoiled] {
                room.put("broken", bytes);
                let (note, image) = shown(&room, "broken").await;
                let expected = format!("Read image file [{mime_type}]\n[Image left out: it is broken: ");
                assert!(note.starts_with(&expected) && image.is_none(), "{note}");
            }
        }
    }
}
