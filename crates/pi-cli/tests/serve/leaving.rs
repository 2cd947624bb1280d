//! Commands of extensions that leave their session for another, in the real server, over a real socket.

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    room::write,
    serving::{Serving, fits},
};

/// Leaves in every way that there is, and says in the session that comes how that looks there.
const USHER: &str = r#"export default function (pi: any) {
  const told = (word: string) => ({ withSession: async (next: any) => {
    const said = next.sessionManager.getEntries().filter((entry: any) => entry.type === "message");
    next.ui.notify(`${word}: ${said.length} messages in ${next.sessionManager.getSessionFile()}`);
  } });
  const go = (name: string, work: any) => pi.registerCommand(name, { description: name, handler: async (args: string, ctx: any) => {
    try { await work(ctx, args); } catch (fault: any) { ctx.ui.notify(`refused: ${fault.message}`); }
  } });
  go("fresh", (ctx: any) => ctx.newSession(told("fresh")));
  go("back", (ctx: any, path: string) => ctx.switchSession(path, told("back")));
  go("branch", (ctx: any) => {
    const answer = ctx.sessionManager.getEntries().findLast((entry: any) => entry.type === "message");
    return ctx.fork(answer.id, { position: "at", ...told("branch") });
  });
  go("twice", async (ctx: any) => {
    await ctx.newSession(told("twice"));
    await ctx.newSession(told("thrice"));
  });
  go("end", (ctx: any) => ctx.shutdown());
}"#;

fn serving() -> Serving {
    let script = Script::new().otherwise(Answer::new().text("Good day.").reply());
    Serving::prepared(script, &["-e", "usher.ts"], |room| {
        write(&room.project().join("usher.ts"), USHER.as_bytes());
    })
}

/// Says something, and waits until it is done.
async fn say(client: &mut Client, id: &str, message: &str) {
    client.send(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": message})).await;
    done(client, id).await;
}

async fn done(client: &mut Client, id: &str) {
    let ended = client.answer(id).await;
    assert_eq!(ended["success"], true, "{ended}");
}

/// Calls a command, and answers what the extension says then.
async fn notice(client: &mut Client, id: &str, command: &str) -> String {
    client.send(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": command})).await;
    let shape = json!({"type": "extension_ui_request", "method": "notify"});
    let is_it = |frame: &Value| frame["type"] == "event" && fits(&frame["event"], &shape);
    let told = client.expect(&format!("what {command} says"), is_it).await["event"]["message"].clone();
    told.as_str().expect("a text").to_owned()
}

async fn state(client: &mut Client, id: &str) -> (String, u64) {
    let state = client.ask(&json!({"type": "get_state", "id": id, "sessionId": "s"})).await;
    let file = state["data"]["sessionFile"].as_str().expect("a file").to_owned();
    (file, state["data"]["messageCount"].as_u64().expect("a number"))
}

async fn client(serving: &Serving) -> Client {
    let mut client = serving.with_session("").await;
    let heard = client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await;
    assert_eq!(heard["success"], true, "{heard}");
    client
}

#[test]
fn command_begins_forks_and_switches_in_the_room_of_its_session() {
    let serving = serving();
    serving.block_on(async {
        let mut client = client(&serving).await;
        say(&mut client, "p1", "Hello").await;
        let (first, count) = state(&mut client, "s1").await;
        assert_eq!(count, 2);

        let told = notice(&mut client, "p2", "/fresh").await;
        done(&mut client, "p2").await;
        let (fresh, count) = state(&mut client, "s2").await;
        assert_eq!((told, count), (format!("fresh: 0 messages in {fresh}"), 0));
        assert_ne!(fresh, first);

        // What is said now is said there.
        say(&mut client, "p3", "Here I am").await;
        let told = notice(&mut client, "p4", &format!("/back {first}")).await;
        assert_eq!(told, format!("back: 2 messages in {first}"));
        done(&mut client, "p4").await;
        say(&mut client, "p5", "And back").await;
        assert_eq!(state(&mut client, "s3").await, (first.clone(), 4));

        let told = notice(&mut client, "p6", "/branch").await;
        done(&mut client, "p6").await;
        let (branch, count) = state(&mut client, "s4").await;
        assert_eq!((told, count), (format!("branch: 4 messages in {branch}"), 4));
        assert_ne!(branch, first);

        // The command goes on in the session that comes, and may leave that one as well.
        assert!(notice(&mut client, "p7", "/twice").await.starts_with("twice: 0 messages"));
        let shape = json!({"type": "extension_ui_request", "method": "notify"});
        let thrice =
            client.expect("the second", |frame| fits(&frame["event"], &shape)).await["event"]["message"].clone();
        done(&mut client, "p7").await;
        let (last, _) = state(&mut client, "s5").await;
        assert_eq!(thrice, format!("thrice: 0 messages in {last}"));
    });
    let said = serving.room.server.requests().last().expect("the model was asked").json()["messages"].to_string();
    assert!(said.contains("Hello") && said.contains("And back") && !said.contains("Here I am"), "{said}");
}

#[test]
fn command_is_told_why_it_cannot_leave() {
    let serving = serving();
    serving.block_on(async {
        let mut client = client(&serving).await;
        say(&mut client, "p1", "Hello").await;
        let before = state(&mut client, "s1").await;
        let outside = notice(&mut client, "p2", "/back /etc/hostname").await;
        assert!(outside.starts_with("refused: ") && outside.to_lowercase().contains("session"), "{outside}");
        let own = notice(&mut client, "p3", &format!("/back {}", before.0)).await;
        assert!(own.starts_with("refused: "), "{own}");
        let ended = notice(&mut client, "p4", "/end").await;
        assert!(ended.contains("ending the program is not possible here"), "{ended}");
        assert_eq!(state(&mut client, "s2").await, before);
    });
}
