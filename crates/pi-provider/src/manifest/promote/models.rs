//! Models of the first generation, and rules of a stream in its words.

use crate::manifest::{
    diagnostic::Rule,
    load::Report,
    tree::{Member, Node, Tree},
};

/// Models that stand in the manifest itself, by name or as a list, belong under `metadata`.
pub(super) fn gather(root: &mut Node, report: &mut Report<'_>) {
    let Some(written) = root.take("models") else { return };
    let at = written.at;
    let members: Vec<Member> = match written.node.value {
        Tree::Map(members) => members,
        Tree::List(items) => items.into_iter().filter_map(|item| named(item, report)).collect(),
        Tree::Null => return,
        Tree::Bool(_) | Tree::Number(_) | Tree::Text(_) => {
            let message = format!("models by name, or a list of them, are expected, not {}", written.node.kind());
            return report.warning(Rule::Models, written.node.at, "models", message);
        }
    };
    let count = members.len();
    let Some(models) = root.map_mut("metadata", at).and_then(|metadata| metadata.map_mut("models", at)) else { return };
    for member in members {
        if models.get(&member.key).is_some() {
            let message = format!("{:?} is described twice; the first description counts", member.key);
            report.warning(Rule::ModelName, member.at, &format!("models.{}", member.key), message);
        }
        models.set_default(&member.key, member.at, member.node);
    }
    report.note(Rule::PromoteModels, at, "models", format!("its models ({count}) are taken over as metadata.models"));
}

/// A model of a list: its name alone, or an entry with an `id`.
fn named(mut item: Node, report: &mut Report<'_>) -> Option<Member> {
    let at = item.at;
    if let Some(name) = item.as_str() {
        return Some(Member { key: name.to_owned(), at, node: Node::map(at) });
    }
    let id = item.take("id").and_then(|id| id.node.as_str().map(str::to_owned));
    if id.is_none() {
        report.warning(Rule::PromoteModels, at, "models", "a model without an id is left out");
    }
    Some(Member { key: id?, at, node: item })
}

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
