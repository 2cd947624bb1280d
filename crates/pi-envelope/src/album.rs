//! Several envelopes in one file, with everything that they share written once.
//!
//! The requests of a session repeat one another: each shows the whole prompt. In an [`Album`] a segment and a message are written once
//! and named by their place, a request says how many messages it has in common with the one before it, and what the cache did, which
//! differs from request to request, stands with the request. The viewer of `web/` reads it.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    envelope::{Envelope, Message, Segment},
    meta::{CacheState, Meta, Request, SegmentMeta},
    tokens::sum,
};

/// Envelopes, the oldest first.
#[derive(Debug, Default, Serialize)]
pub struct Album {
    album: Form,
    /// What it is called.
    title: String,
    segments: Vec<Value>,
    messages: Vec<Value>,
    requests: Vec<Page>,
    #[serde(skip)]
    known: HashMap<String, usize>,
    /// The messages of the last request.
    #[serde(skip)]
    last: Vec<usize>,
}

/// The only form of an album.
#[derive(Debug, Default, Serialize)]
enum Form {
    #[default]
    #[serde(rename = "1.0")]
    V1,
}

#[derive(Debug, Serialize)]
struct Page {
    request: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
    /// How many messages are the same as in the request before.
    same: usize,
    /// The others, by their places.
    messages: Vec<usize>,
    /// What the cache did with the segments, in prompt order, as runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cache: Vec<(&'static str, usize)>,
}

impl Album {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Whether nothing was put in.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Puts an envelope behind the others. `entry` is where the conversation stood, if that is known.
    pub fn add(&mut self, envelope: &Envelope, entry: Option<&str>) {
        let messages: Vec<usize> = envelope.messages.iter().map(|message| self.message(message)).collect();
        let same = self.last.iter().zip(&messages).take_while(|(before, now)| before == now).count();
        let page = Page {
            request: self.request(envelope, entry),
            model: envelope.model.clone(),
            meta: envelope.meta.as_ref().map(value),
            same,
            messages: messages[same..].to_vec(),
            cache: runs(envelope),
        };
        self.requests.push(page);
        self.last = messages;
    }

    fn request(&self, envelope: &Envelope, entry: Option<&str>) -> Value {
        let meta = envelope.ours();
        let asked = meta.and_then(|meta| meta.request.as_ref());
        let model = |request: &Request| format!("{}/{}", request.provider, request.model);
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("id", asked.map_or_else(|| self.requests.len().to_string(), |request| request.id.clone()).into());
        put("time", asked.map_or(0, |request| request.time).into());
        put("model", asked.map(model).or_else(|| envelope.model.clone()).unwrap_or_default().into());
        put("purpose", asked.map_or_else(|| json!("turn"), |request| value(&request.purpose)));
        put("tokens", value(&sum(envelope.segments().map(|(_, segment)| segment.tokens()))));
        if let Some(usage) = meta.and_then(|meta| meta.usage.as_ref()) {
            put("usage", value(usage));
        }
        if let Some(entry) = entry {
            put("entryId", entry.into());
        }
        Value::Object(members)
    }

    fn message(&mut self, message: &Message) -> usize {
        let places: Vec<usize> = message.segments.iter().map(|segment| self.segment(segment)).collect();
        let mut head = value(&Message { segments: Vec::new(), ..message.clone() });
        head["segments"] = json!(places);
        Self::place(&mut self.known, &mut self.messages, 'm', head)
    }

    fn segment(&mut self, segment: &Segment) -> usize {
        let mut bare = segment.clone();
        if let Some(Meta::Ours(meta)) = &mut bare.meta {
            meta.cache = None;
            // A `meta` that said nothing else was made for the cache.
            if *meta == SegmentMeta::default() {
                bare.meta = None;
            }
        }
        Self::place(&mut self.known, &mut self.segments, 's', value(&bare))
    }

    fn place(known: &mut HashMap<String, usize>, list: &mut Vec<Value>, sort: char, item: Value) -> usize {
        let key = format!("{sort}{item}");
        *known.entry(key).or_insert_with(|| {
            list.push(item);
            list.len() - 1
        })
    }
}

/// What the cache did, as runs; nothing if nobody knows.
fn runs(envelope: &Envelope) -> Vec<(&'static str, usize)> {
    let mut runs: Vec<(&'static str, usize)> = Vec::new();
    for (_, segment) in envelope.segments() {
        let state = match segment.ours().and_then(|meta| meta.cache) {
            Some(CacheState::Cached) => "cached",
            Some(CacheState::Written) => "written",
            Some(CacheState::Uncached) => "uncached",
            None => "unknown",
        };
        match runs.last_mut() {
            Some((last, length)) if *last == state => *length += 1,
            Some(_) | None => runs.push((state, 1)),
        }
    }
    if runs.iter().all(|(state, _)| *state == "unknown") { Vec::new() } else { runs }
}

fn value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).expect("parts of an envelope are plain JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse, reconcile};

    fn envelope(id: &str, texts: &[&str]) -> Envelope {
        let message = |(index, text): (usize, &&str)| json!({"id": format!("m{index}"), "role": "user", "timestamp": 1, "segments": [{"kind": "text", "content": text}]});
        let messages: Vec<_> = texts.iter().enumerate().map(message).collect();
        let request = json!({"id": id, "provider": "p", "model": "m", "time": 5});
        let value = json!({"version": "1.0", "model": "m", "messages": messages, "meta": {"request": request}});
        parse(value.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn what_is_shared_is_written_once() {
        let mut album = Album::new("talk");
        album.add(&envelope("r1", &["a", "b"]), Some("e1"));
        album.add(&envelope("r2", &["a", "b", "c"]), None);
        let usage = pi_transcript::Usage { cache_read: 1, ..Default::default() };
        let mut cached = envelope("r3", &["a", "x", "c"]);
        reconcile(&mut cached, &usage);
        album.add(&cached, None);
        let written = value(&album);
        assert_eq!(written["album"], "1.0");
        assert_eq!(written["segments"].as_array().unwrap().len(), 4);
        assert_eq!(written["messages"].as_array().unwrap().len(), 4);
        let lists: Vec<_> =
            written["requests"].as_array().unwrap().iter().map(|page| (&page["same"], &page["messages"])).collect();
        assert_eq!(json!(lists), json!([[0, [0, 1]], [2, [2]], [1, [3, 2]]]));
        assert_eq!(
            written["requests"][0]["request"],
            json!({
                "id": "r1", "time": 5, "model": "p/m", "purpose": "turn", "tokens": {"count": 2, "how": "estimated"}, "entryId": "e1",
            })
        );
        assert_eq!(written["requests"][0].get("cache"), None);
        assert_eq!(written["requests"][2]["cache"], json!([["cached", 3]]));
    }
}
