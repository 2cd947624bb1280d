//! Each goes on with what the other wrote.

use pi_testkit::{Tmux, model::Answer, server::Script};
use serde_json::json;

use crate::stage::{Program, Stage, read};

#[test]
fn each_goes_on_with_what_the_other_wrote() {
    for (first, second) in [(Program::Ours, Program::Theirs), (Program::Theirs, Program::Ours)] {
        let again = Answer::new().text("As I said: one.").usage(150, 6).reply();
        let more = Answer::new().text("Still one.").usage(170, 4).reply();
        let look = Answer::new().text("I look.").call("call_0", "read", &json!({"path": "a.txt"})).usage(100, 10);
        let tell = Answer::new().text("It is one.").usage(120, 5);
        let script = Script::new().then(look.reply()).then(tell.reply()).then(again).then(more);
        let Some(stage) = Stage::new(script) else { return };
        assert_eq!(stage.run(first, &["-p", "Read a.txt"]).trim_end(), "It is one.");
        let file = stage.session().display().to_string();
        assert_eq!(stage.run(second, &["-p", "--session", &file, "Again?"]).trim_end(), "As I said: one.");
        assert_eq!(stage.run(first, &["-p", "--session", &file, "And now?"]).trim_end(), "Still one.", "{first:?}");
        let said = |role: &str, text: &str| (role.to_owned(), text.to_owned());
        let expected = [
            said("user", "Read a.txt"),
            said("assistant", "I look."),
            said("tool", "one\n"),
            said("assistant", "It is one."),
            said("user", "Again?"),
            said("assistant", "As I said: one."),
            said("user", "And now?"),
        ];
        assert_eq!(stage.last_request(), expected, "{first:?} began");
    }
}

/// A conversation of two questions, and what is said in a fork of it.
fn script_with_fork() -> Script {
    let look = Answer::new().text("I look.").call("call_0", "read", &json!({"path": "a.txt"})).usage(100, 10);
    let rest = ["It is one.", "As I said: one.", "In a fork: one.", "Still one."];
    let rest = rest.map(|text| Answer::new().text(text).usage(120, 5).reply());
    rest.into_iter().fold(Script::new().then(look.reply()), Script::then)
}

fn said(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

const BEGINNING: [(&str, &str); 4] =
    [("user", "Read a.txt"), ("assistant", "I look."), ("tool", "one\n"), ("assistant", "It is one.")];

#[test]
fn session_of_pi_is_forked_here_and_the_fork_opens_in_pi() {
    let Some(stage) = Stage::new(script_with_fork()) else { return };
    if !Tmux::is_there() {
        eprintln!("SKIPPED: tmux is not installed, and nobody types into the terminal");
        return;
    }
    stage.run(Program::Theirs, &["-p", "Read a.txt"]);
    let file = stage.session();
    let name = file.display().to_string();
    stage.run(Program::Theirs, &["-p", "--session", &name, "Again?"]);
    let before = read(&file);
    let command = stage.command(Program::Ours, &["--session", &name]);
    let tmux = Tmux::start(&stage.at(""), (100, 40), &command).expect("tmux starts");
    let see = |text: &str| drop(tmux.wait(text, |screen| screen.contains(text)));
    see("As I said: one.");
    tmux.type_text("/fork");
    tmux.press("Enter");
    see("type to filter");
    tmux.type_text("Again");
    tmux.press("Enter");
    // The new session is shown below the old one. It ends before the question, which is in its editor.
    tmux.wait("the fork", |screen| screen.matches("It is one.").count() == 2);
    tmux.press("Enter");
    see("In a fork: one.");
    tmux.wait("the end", |screen| !screen.contains("esc to stop"));
    tmux.type_text("/quit");
    tmux.press("Enter");
    assert_eq!(tmux.ended(), 0);
    let fork = stage.other_session(&file);
    assert_eq!(read(&file), before, "a fork leaves its origin alone");
    let answer = stage.run(Program::Theirs, &["-p", "--session", &fork.display().to_string(), "And now?"]);
    assert_eq!(answer.trim_end(), "Still one.");
    let mut expected = said(&BEGINNING);
    expected.extend(said(&[("user", "Again?"), ("assistant", "In a fork: one."), ("user", "And now?")]));
    assert_eq!(stage.last_request(), expected);
}

#[test]
fn session_of_ours_is_forked_by_pi_and_the_fork_opens_here() {
    let Some(stage) = Stage::new(script_with_fork()) else { return };
    stage.run(Program::Ours, &["-p", "Read a.txt"]);
    let file = stage.session();
    let before = read(&file);
    stage.run(Program::Theirs, &["-p", "--fork", &file.display().to_string(), "Again?"]);
    assert_eq!(read(&file), before, "a fork leaves its origin alone");
    let fork = stage.other_session(&file);
    let answer = stage.run(Program::Ours, &["-p", "--session", &fork.display().to_string(), "And now?"]);
    assert_eq!(answer.trim_end(), "In a fork: one.");
    let mut expected = said(&BEGINNING);
    expected.extend(said(&[("user", "Again?"), ("assistant", "As I said: one."), ("user", "And now?")]));
    assert_eq!(stage.last_request(), expected);
}
