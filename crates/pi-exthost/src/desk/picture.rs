//! Images that a guest has from elsewhere, as a model can be shown them.

use pi_extproto::connector::{data, tool::ImageBlock};
use pi_tools::Picture;

use super::Desk;

/// Types that models take. Others are left out whatever they hold.
const TAKEN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl Desk {
    /// Checks an image and makes it as small as the settings of the session want it. Its type is what its bytes say. The
    /// error says why it cannot be shown: a provider would refuse the whole request for it, in this turn and in all that
    /// follow.
    pub async fn picture(&self, image: ImageBlock) -> Result<ImageBlock, String> {
        let images = self.inner.house.fittings.tooling.images;
        let ready = tokio::task::spawn_blocking(move || ready(&image, images)).await;
        ready.unwrap_or_else(|broken| Err(broken.to_string()))
    }
}

fn ready(image: &ImageBlock, images: pi_tools::Images) -> Result<ImageBlock, String> {
    let named = image.mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !TAKEN.contains(&named.as_str()) {
        let named: String = named.chars().take(40).collect();
        return Err(format!("models take no images of the type {named:?}"));
    }
    let bytes = data::decode(&image.data).map_err(|_| "its data is not base64".to_owned())?;
    match pi_tools::picture(&bytes, images) {
        Some(Picture::Ready { data, mime_type, note: _ }) => Ok(ImageBlock { data, mime_type: mime_type.to_owned() }),
        Some(Picture::LeftOut { why }) => Err(why.trim_end_matches('.').to_owned()),
        None => Err(format!("it is called {named}, and its bytes are no image")),
    }
}
