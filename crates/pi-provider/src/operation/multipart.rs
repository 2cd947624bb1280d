//! Forms with files in them (RFC 7578).
//!
//! Written by hand rather than by the HTTP client: the bytes are the same each time, so that a request can be shown, tried
//! again and compared.

use memchr::memmem;

/// A form; fields in the order in which they are sent.
#[derive(Debug, Default)]
pub(crate) struct Form<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Debug)]
struct Part<'a> {
    name: &'a str,
    file: Option<FileHead<'a>>,
    content: &'a [u8],
}

#[derive(Debug)]
struct FileHead<'a> {
    name: &'a str,
    media_type: &'a str,
}

impl<'a> Form<'a> {
    pub(crate) fn text(&mut self, name: &'a str, content: &'a str) {
        self.parts.push(Part { name, file: None, content: content.as_bytes() });
    }

    pub(crate) fn file(&mut self, name: &'a str, file_name: &'a str, media_type: &'a str, content: &'a [u8]) {
        self.parts.push(Part { name, file: Some(FileHead { name: file_name, media_type }), content });
    }

    /// The media type, which names the boundary, and the body.
    pub(crate) fn encode(&self) -> (String, Vec<u8>) {
        let boundary = self.boundary();
        let length = self.parts.iter().map(|part| part.content.len() + 200).sum();
        let mut body = Vec::with_capacity(length);
        for part in &self.parts {
            body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
            let name = quoted(part.name);
            let head = match &part.file {
                None => format!("Content-Disposition: form-data; name=\"{name}\"\r\n\r\n"),
                Some(file) => format!(
                    "Content-Disposition: form-data; name=\"{name}\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
                    quoted(file.name),
                    file.media_type.replace(['\r', '\n'], " "),
                ),
            };
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(part.content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), body)
    }

    /// A line that no content holds.
    fn boundary(&self) -> String {
        let occurs =
            |boundary: &str| self.parts.iter().any(|part| memmem::find(part.content, boundary.as_bytes()).is_some());
        let mut number = 0u64;
        loop {
            let boundary = format!("pi-form-boundary-{number:016x}");
            if !occurs(&boundary) {
                return boundary;
            }
            number += 1;
        }
    }
}

/// A name inside quotes, escaped as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_written_as_browsers_write_it() {
        let mut form = Form::default();
        form.text("model", "whisper-1");
        form.file("file", "a \"b\"\r\nX: y.wav", "audio/wav", b"RIFF\0\r\n--pi");
        let (media_type, body) = form.encode();
        assert_eq!(media_type, "multipart/form-data; boundary=pi-form-boundary-0000000000000000");
        let expected = "--pi-form-boundary-0000000000000000\r\n\
            Content-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
            --pi-form-boundary-0000000000000000\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"a %22b%22%0D%0AX: y.wav\"\r\n\
            Content-Type: audio/wav\r\n\r\nRIFF\0\r\n--pi\r\n\
            --pi-form-boundary-0000000000000000--\r\n";
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn boundary_is_not_in_the_content() {
        let mut form = Form::default();
        form.file("file", "f", "text/plain", b"--pi-form-boundary-0000000000000000--");
        assert!(form.encode().0.ends_with("boundary=pi-form-boundary-0000000000000001"));
    }
}
