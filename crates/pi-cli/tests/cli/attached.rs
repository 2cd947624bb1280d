//! What is attached to a question: pictures that a model cannot see or that are too much for it, and files that are no text.

use insta::assert_snapshot;
use pi_testkit::server::Script;

use crate::{
    server::{Running, manifest, quiet_world, stream},
    world::{World, shown},
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x10\0\0\0\x08\0";

/// A world with a provider that sees, one that is blind, and one with limits; all have credentials but the last.
fn world(running: &Running) -> World {
    let url = running.base_url();
    let limits = "multimodal:
  input:
    vision: { supported: true, formats: [png, jpeg], max_file_size: 1KB, max_resolution: 2048x2048, max_images: 2 }
";
    let blind = manifest("blind", &url).replace("input: [text, image]", "input: [text]");
    quiet_world()
        .with("agent/providers/sees.yaml", manifest("sees", &url))
        .with("agent/providers/blind.yaml", blind)
        .with("agent/providers/limited.yaml", format!("{}{limits}", manifest("limited", &url)))
        .with("small.png", &PNG[..16])
        .with("wide.png", PNG)
        .with("large.png", [PNG, &[0; 1024]].concat())
        .with("a.gif", b"GIF89a\x01\0\x01\0")
        .with("a.pdf", b"%PDF-1.7")
}

fn run(world: &World, arguments: &str, keys: &[&str]) -> String {
    let mut command = world.command(arguments);
    command.env("PI_CODING_AGENT_DIR", "agent").envs(keys.iter().map(|key| (*key, "k")));
    shown(&command.output().expect("pi runs"))
}

#[test]
fn model_that_cannot_take_what_is_attached_is_not_asked() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let world = world(&running);
    let both = ["BLIND_KEY", "SEES_KEY"];
    assert_snapshot!(run(&world, "ask What? --image small.png --model blind/small", &both), @r"
    --- on standard error
    error: blind/small cannot take small.png: it does not look at pictures
    hint: ask one that can: --model sees/small
    --- exit 2
    ");
    let wide = "    wide: { modalities: { input: [text, image], output: [text] } }\n";
    let blind = manifest("zeta", &running.base_url()).replace("input: [text, image]", "input: [text]");
    let zeta = world.with("agent/providers/zeta.yaml", format!("{blind}{wide}"));
    let told = run(&zeta, "ask What? --image small.png --model zeta", &["ZETA_KEY", "SEES_KEY"]);
    assert!(told.contains("hint: ask one that can: --model zeta/wide, --model sees/small"), "{told}");
    let world = zeta;
    assert_snapshot!(run(&world, "ask What? @a.pdf --model sees/small", &both), @r"
    --- on standard error
    error: sees/small cannot take a.pdf: it does not read documents
    hint: no model that can be asked now can; `pi models --can pdf` shows which could
    --- exit 2
    ");
    assert_snapshot!(run(&world, "ask What? --image small.png --model demo --json", &[]), @r#"
    {"error":{"message":"demo/demo cannot take small.png: it does not look at pictures","hint":"no model that can be asked now can; `pi models --can vision` shows which could","file":"small.png","exit_code":2}}
    --- on standard error
    error: demo/demo cannot take small.png: it does not look at pictures
    hint: no model that can be asked now can; `pi models --can vision` shows which could
    --- exit 2
    "#);
    assert_eq!(running.server.requests().len(), 0);
    let answer = run(&world, "ask What? --image small.png --model sees/small", &both);
    assert!(answer.starts_with("ok\n") && running.server.requests().len() == 1, "{answer}");
}

#[test]
fn limits_of_the_manifest_are_kept_before_anything_is_sent() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let world = world(&running);
    for (arguments, told) in [
        (
            "--image large.png",
            "large.png cannot be sent to limited/small: it has 1.1KB, and the provider takes at most 1KB",
        ),
        (
            "--image wide.png",
            "wide.png cannot be sent to limited/small: it has 4096x2048 pixels, and the provider takes at most 2048x2048",
        ),
        ("@a.gif", "a.gif cannot be sent to limited/small: the provider does not take gif, only png, jpeg"),
        (
            "@small.png --image small.png --image small.png",
            "small.png cannot be sent to limited/small: it is number 3, and the provider takes at most 2",
        ),
    ] {
        for more in ["", " --dry-run"] {
            let text = run(&world, &format!("ask What? {arguments} --model limited/small{more}"), &["LIMITED_KEY"]);
            assert!(text.contains(&format!("error: {told}\nhint: ")) && text.ends_with("exit 2"), "{text}");
        }
    }
    assert_eq!(running.server.requests().len(), 0);
    let fits = run(&world, "ask What? @small.png --image small.png --model limited/small", &["LIMITED_KEY"]);
    assert!(fits.starts_with("ok\n"), "{fits}");
}

#[test]
fn what_is_no_text_is_told_with_what_to_do() {
    let world =
        World::new().with("a.docx", b"PK\x03\x04\xff\xfe").with("old.txt", b"caf\xe9\n").with("a.bin", b"\xff\0\x01");
    assert_snapshot!(world.run("ask Why? @a.docx --model demo"), @r"
    --- on standard error
    error: a.docx is not text: it is an Office document
    hint: save it as PDF or as text, and attach that; `pandoc a.docx -t plain` writes text
    --- exit 2
    ");
    assert_snapshot!(world.run("ask Why? --file old.txt --model demo"), @r"
    --- on standard error
    error: old.txt is not text: it is text in another encoding than UTF-8
    hint: write it in UTF-8: iconv -f LATIN1 -t UTF-8 old.txt | pi ask '…'
    --- exit 2
    ");
    assert_snapshot!(world.run("ask Why? @a.bin --model demo"), @r"
    --- on standard error
    error: a.bin is not text
    hint: attach text, a picture, a PDF, audio or video; `file a.bin` says what it is
    --- exit 2
    ");
    assert_snapshot!(world.run_with_input("ask Why? --model demo", PNG), @r"
    --- on standard error
    error: standard input is not text: it is a picture (image/png)
    hint: only text is read from a pipe; save it and name the file: pi ask 'What is this?' @FILE
    --- exit 2
    ");
    assert_snapshot!(world.run_with_input("ask - --model demo", b"\x1f\x8b\x08\0"), @r"
    --- on standard error
    error: standard input is not text: it is compressed with gzip
    hint: unpack it: gunzip -c FILE | pi ask '…'
    --- exit 2
    ");
}
