//! Models of the first generation, and rules of a stream in its words.

use crate::manifest::tree::{Node, Tree};

/// A model: prices for a token become prices for a million, capabilities become what is known of the model.
pub(in crate::manifest) fn model(node: &mut Node) {
    if let Some(pricing) = node.get_mut("pricing") {
        for (old, new) in [
            ("input_per_token", "input_per_1m"),
            ("output_per_token", "output_per_1m"),
            ("cache_hit_input_per_token", "cache_hit_input_per_1m"),
        ] {
            if let Some(mut member) = pricing.take(old) {
                if let Tree::Number(number) = &member.node.value
                    && let Some(price) = number.as_f64().and_then(million)
                {
                    member.node.value = Tree::Number(price);
                }
                pricing.set_default(new, member.at, member.node);
            }
        }
    }
    let Some(Tree::List(words)) = node.get("capabilities").map(|section| section.value.clone()) else { return };
    let Some(section) = node.take("capabilities") else { return };
    let has = |name: &str| words.iter().any(|word| word.as_str() == Some(name));
    let at = section.at;
    if let Some(known) = node.map_mut("model_capabilities", at) {
        for (word, key) in [("tools", "tool_call"), ("reasoning", "reasoning"), ("vision", "attachment")] {
            // A word that is absent says nothing.
            if has(word) {
                known.set_default(key, at, Node { at, value: Tree::Bool(true) });
            }
        }
    }
    if has("vision") {
        let list = ["text", "image"].map(|word| Node::text(at, word)).to_vec();
        if let Some(modalities) = node.map_mut("modalities", at) {
            modalities.set_default("input", at, Node { at, value: Tree::List(list) });
        }
    }
    node.set("capabilities", at, section.node);
}

/// Without the noise that a multiplication of decimals leaves behind.
fn million(price: f64) -> Option<serde_json::Number> {
    serde_json::Number::from_f64((price * 1e12).round() / 1e6)
}

/// `fields` of the rules of a stream are `extract`.
pub(super) fn rules(root: &mut Node) {
    let Some(map) = root.get_mut("streaming").and_then(|streaming| streaming.get_mut("event_map")) else { return };
    let Tree::List(rules) = &mut map.value else { return };
    for rule in rules {
        if let Some(fields) = rule.take("fields") {
            rule.set_default("extract", fields.at, fields.node);
        }
    }
}
