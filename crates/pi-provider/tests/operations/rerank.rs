//! Documents in the order in which they answer a question.

use pi_provider::rerank::{Ranked, Ranking, Rerank, read, request};
use serde_json::json;

use crate::{
    check_json,
    provider::{built_in, target},
    reading, said,
};

fn ask() -> Rerank {
    Rerank { query: "q".to_owned(), documents: vec!["a".to_owned(), "b".to_owned()], top: Some(2) }
}

#[test]
fn both_forms_ask_alike() {
    for (provider, url) in [
        ("cohere", "https://api.cohere.com/v2/rerank"),
        ("llamacpp", "http://127.0.0.1:8080/v1/rerank"),
        ("together", "https://api.together.xyz/v1/rerank"),
    ] {
        let manifest = built_in(provider);
        let body = json!({"model": "m", "query": "q", "documents": ["a", "b"], "top_n": 2});
        check_json(request(&target(&manifest, "m"), &ask()), &format!("POST {url}"), &body);
    }
}

#[test]
fn best_comes_first_in_every_form() {
    let results = vec![Ranked { index: 1, score: 0.9 }, Ranked { index: 0, score: 0.1 }];
    let cohere = json!({
        "id": "r",
        "results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}],
        "meta": {"billed_units": {"search_units": 1}},
    });
    let jina = json!({
        "model": "jina-reranker",
        "usage": {"total_tokens": 8},
        "results": [{"index": 0, "relevance_score": 0.1, "document": {"text": "a"}}, {"index": 1, "relevance_score": 0.9}],
    });
    let voyage = json!({"data": [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.9}]});
    let bare = json!([{"index": 0, "score": 0.1}, {"index": 1, "score": 0.9}]);
    let manifest = built_in("cohere");
    let read = |body: &serde_json::Value| -> Ranking {
        reading(&manifest, |reading| read(reading, body.to_string().as_bytes(), 2)).unwrap()
    };
    for body in [&cohere, &jina, &voyage, &bare] {
        assert_eq!(read(body).results, results, "{body}");
    }
    assert_eq!(read(&cohere).search_units, Some(1));
    assert_eq!(read(&jina).usage.unwrap().total, Some(8));
    assert_eq!(read(&jina).model.as_deref(), Some("jina-reranker"));
    assert_eq!((read(&bare).usage, read(&bare).search_units), (None, None));
}

#[test]
fn undeclared_empty_and_foreign_results_are_errors() {
    let (openai, cohere) = (built_in("openai"), built_in("cohere"));
    assert_eq!(said(request(&target(&openai, "m"), &ask())), "E1005 openai does not declare rerank");
    let empty = Rerank { documents: Vec::new(), ..ask() };
    let empty = said(request(&target(&cohere, "m"), &empty));
    assert_eq!(empty, "E1001 option documents cannot be sent: there is no document");
    let body = json!({"results": [{"index": 2, "relevance_score": 0.9}]}).to_string();
    let foreign = said(reading(&cohere, |reading| read(reading, body.as_bytes(), 2)));
    let expected = "a result has no score, or no document of its number";
    assert_eq!(foreign, format!("E3001 the answer of cohere cannot be read: {expected}"));
}
