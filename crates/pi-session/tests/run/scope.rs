//! Which models are gone through.

use pi_session::{Complaint, Direction, Session, models::scope::Scope};
use pi_transcript::ThinkingLevel;

use crate::stage::{self, Stage};

/// A session that goes through these.
async fn stage(patterns: &[&str]) -> Stage {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Stage::with([], |blueprint| {
        blueprint.models = stage::several_models();
        blueprint.choice = blueprint.models.find("scripted/model").unwrap();
        blueprint.scope = Scope::new(&patterns);
    })
    .await
}

/// Who is asked, how hard it thinks and whether only some are gone through, after each step in these directions.
async fn gone_through(session: &Session, directions: &str) -> String {
    let mut told = Vec::new();
    for direction in directions.chars() {
        let direction = if direction == '>' { Direction::Forward } else { Direction::Backward };
        told.push(match session.cycle_model(direction).await.unwrap() {
            None => "none".to_owned(),
            Some(cycled) => {
                let state = session.state().await.unwrap();
                assert_eq!(*state.model, *cycled.choice.model());
                format!("{} {} {}", state.model.id, state.thinking, if cycled.is_scoped { "scoped" } else { "all" })
            }
        });
    }
    told.join(", ")
}

#[tokio::test]
async fn models_are_gone_through_as_patterns_say() {
    for (patterns, directions, expected) in [
        (&[] as &[&str], ">>>>", "small off all, large off all, odd off all, model off all"),
        (&[], "<", "odd off all"),
        (&["scripted/large:high", "model:off"], ">>>", "large high scoped, model off scoped, large high scoped"),
        (&["small", "large"], ">>>", "small off scoped, large off scoped, small off scoped"),
        (&["small", "large"], "<<", "large off scoped, small off scoped"),
        (&["*a*:low"], ">>", "small low scoped, large low scoped"),
        (&["model"], ">", "none"),
        (&["nobody/*"], ">", "small off all"),
    ] {
        let stage = stage(patterns).await;
        assert_eq!(gone_through(&stage.session, directions).await, expected, "{patterns:?} {directions}");
    }
}

#[tokio::test]
async fn level_stays_where_a_pattern_names_none() {
    let stage = stage(&["small:medium", "large"]).await;
    assert_eq!(gone_through(&stage.session, ">>").await, "small medium scoped, large medium scoped");
}

#[tokio::test]
async fn whoever_goes_to_a_model_by_its_name_gets_its_level_and_who_chooses_it_does_not() {
    let stage = stage(&["large:high"]).await;
    let session = &stage.session;
    let scoped = session.scoped_models().await.unwrap();
    let [large] = scoped.as_slice() else { panic!("{scoped:?}") };
    assert_eq!((large.choice.name().as_str(), large.thinking), ("scripted/large", Some(ThinkingLevel::High)));
    session.set_model(std::sync::Arc::clone(&large.choice)).await.unwrap();
    assert_eq!(session.state().await.unwrap().thinking, ThinkingLevel::Off);
    session.cycle_to(std::sync::Arc::clone(&large.choice)).await.unwrap();
    assert_eq!(session.state().await.unwrap().thinking, ThinkingLevel::High);
}

#[tokio::test]
async fn pattern_that_nobody_fits_is_complained_of() {
    let stage = stage(&["nobody", "large"]).await;
    let complaints = stage.session.complaints().await.unwrap();
    let texts: Vec<_> = complaints.iter().map(Complaint::to_string).collect();
    assert_eq!(texts, [r#"no model that can be asked fits "nobody" (enabledModels or --models)"#]);
}

#[tokio::test]
async fn models_of_extensions_are_gone_through_too() {
    let script = r#"guest g
provider moon
config {"api":"moon-api","baseUrl":"moon:","models":[{"id":"m1","name":"Moon One","reasoning":true}]}
answer x"#;
    let (stage, _) = Stage::with_guests_and([], &[script], |blueprint| {
        blueprint.scope = Scope::new(&["moon/*:low".to_owned(), "scripted/*".to_owned()]);
    })
    .await;
    assert_eq!(gone_through(&stage.session, ">>").await, "m1 low scoped, model low scoped");
}
