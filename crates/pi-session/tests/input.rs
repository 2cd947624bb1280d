//! What was typed, in real folders, and the message that it becomes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "a test makes the files that it wants to be attached")]

use std::{fs, path::PathBuf};

use pi_envelope::{Origin, Prompt, Provenance, Purpose, Request, Said, SpanSource, Trust as Belief, estimate, project};
use pi_redact::{MARK, Redactor};
use pi_session::{
    input::{
        Composed, ImageRule, InputError, InputNotice, Mentions, Picture, Surroundings, Typed, as_it_is,
        complete::{self, Command, CommandKind},
        compose,
    },
    resources::{Discovery, Places, Resources, discover},
    scrub,
    settings::trust::Trust,
};
use pi_transcript::{Block, Content, EntryId, Message, content::ImageBlock};
use proptest::prelude::*;

const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const PLANTED: &str = "correct-horse-battery-staple";

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn with(files: &[(&str, &[u8])]) -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.path("work/.git")).unwrap();
        for (path, bytes) in files {
            let path = world.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn places(&self) -> Places {
        Places::usual(Some(self.path("agent")), Some(self.path("home")), self.path("work"), Trust::Trusted)
    }

    fn resources(&self) -> Resources {
        discover(&self.places())
    }

    fn compose(&self, typed: Typed<'_>, mentions: Mentions) -> Result<Composed, InputError> {
        self.compose_with(typed, mentions, ImageRule::Send, &as_it_is)
    }

    fn compose_with(
        &self,
        typed: Typed<'_>,
        mentions: Mentions,
        images: ImageRule,
        pictures: &pi_session::input::Pictures<'_>,
    ) -> Result<Composed, InputError> {
        let (places, resources, redactor) = (self.places(), self.resources(), redactor());
        let around =
            Surroundings { places: &places, resources: &resources, redactor: &redactor, pictures, mentions, images };
        compose(typed, &around, 7)
    }

    /// The segments of the envelope, a line each: kind, origin, trust and text. The folder of this test is left out.
    fn shown(&self, composed: &Composed) -> String {
        let said = said(composed);
        let request =
            Request { id: "r".to_owned(), provider: "p".into(), model: "m".into(), time: 0, purpose: Purpose::Turn };
        let envelope = project(&Prompt { messages: vec![said], ..Prompt::default() }, &request, &estimate);
        let line = |segment: &pi_envelope::Segment| {
            let meta = segment.ours().unwrap();
            let (origin, trust) = (meta.origin.as_ref().unwrap(), meta.trust.unwrap());
            let text = match &segment.body {
                pi_envelope::Body::Media { url, .. } => url.clone(),
                _ => segment.sent(),
            };
            format!("{:?} {origin} {trust:?} {text:?}", segment.body.kind())
        };
        let lines: Vec<String> = envelope.segments().map(|(_, segment)| line(segment)).collect();
        lines.join("\n").replace(&self.path("").display().to_string(), "/")
    }
}

fn redactor() -> Redactor {
    scrub::redactor([("DEPLOY_TOKEN".to_owned(), PLANTED.to_owned())])
}

/// Checks that the spans fit the message.
fn said(composed: &Composed) -> Said {
    let said = Said::new(EntryId::from("00000001"), composed.saying.message.clone(), Provenance::usual(Origin::User));
    said.with_spans(composed.saying.spans.clone()).unwrap()
}

fn text(composed: &Composed) -> String {
    match &composed.saying.message {
        Message::User(user) => user.content.text(),
        other => panic!("{other:?}"),
    }
}

fn typed(text: &str) -> Typed<'_> {
    Typed { text, files: &[], piped: None, images: &[] }
}

#[test]
fn plain_text_stays_as_it_was_typed() {
    let composed = World::with(&[]).compose(typed("just  words\n@nobody"), Mentions::Attach).unwrap();
    let message = Message::user(Content::Blocks(vec![Block::text("just  words\n@nobody")]), 7);
    assert_eq!((composed.saying.message, composed.saying.spans.len()), (message, 0));
    assert_eq!((composed.notices.len(), composed.hidden), (0, 0));
}

#[test]
fn pipe_files_and_text_stand_in_this_order() {
    let world = World::with(&[("work/a.txt", b"alpha\n"), ("elsewhere/b.png", PIXEL), ("work/empty", b"")]);
    let outside = world.path("elsewhere/b.png").display().to_string();
    let files = ["a.txt".to_owned(), outside, "empty".to_owned()];
    let composed = world
        .compose(Typed { text: "look", files: &files, piped: Some("from a pipe\n"), images: &[] }, Mentions::Attach);
    insta::assert_snapshot!(world.shown(&composed.unwrap()), @r#"
    Document file:stdin Untrusted "from a pipe\n\n"
    Document file:/work/a.txt Project "<file name=\"/work/a.txt\">\nalpha\n\n</file>\n"
    Document file:/elsewhere/b.png Untrusted "<file name=\"/elsewhere/b.png\"></file>\n"
    Text user Trusted "look"
    Media file:/elsewhere/b.png Untrusted "data:image/png;base64,iVBORw0KGgpyZXN0"
    "#);
}

#[cfg(unix)]
#[test]
fn file_is_trusted_by_where_it_lies_and_not_by_how_it_is_named() {
    use std::os::unix::fs::symlink;

    let world = World::with(&[("work/a", b"in"), ("elsewhere/b", b"out"), ("agent/AGENTS.md", b"")]);
    symlink(world.path("elsewhere/b"), world.path("work/link")).unwrap();
    symlink(world.path("elsewhere/b"), world.path("agent/mine")).unwrap();
    let named = ["../elsewhere/b", "link", "../agent/../elsewhere/b", "../work/a", "../agent/mine"];
    let files = named.map(str::to_owned);
    let composed = world.compose(Typed { files: &files, ..typed("look") }, Mentions::Attach).unwrap();
    let trusted: Vec<_> = composed.saying.spans.iter().map(|span| span.provenance.trust).collect();
    let expected =
        [Belief::Untrusted, Belief::Untrusted, Belief::Untrusted, Belief::Project, Belief::Untrusted].to_vec();
    assert_eq!(trusted, expected, "{named:?}");
    let mine = [world.path("agent/mine").display().to_string()];
    let composed = world.compose(Typed { files: &mine, ..typed("look") }, Mentions::Attach).unwrap();
    assert_eq!(composed.saying.spans[0].provenance.trust, Belief::Trusted, "whoever put the link there meant it");
}

#[test]
fn argument_that_cannot_be_attached_is_an_error() {
    let world = World::with(&[("work/binary", b"a\0b"), ("work/folder/x", b"")]);
    fs::write(world.path("work/large"), vec![b'x'; 1_100_000]).unwrap();
    let error = |name: &str| {
        let files = [name.to_owned()];
        let composed = world.compose(Typed { files: &files, ..typed("x") }, Mentions::Attach);
        composed.unwrap_err().to_string().replace(&world.path("").display().to_string(), "/")
    };
    assert_eq!(error("nothing"), "there is no file /work/nothing");
    assert_eq!(error("folder"), "/work/folder is not a file");
    assert_eq!(error("binary"), "/work/binary is neither text nor an image");
    assert_eq!(
        error("large"),
        "/work/large cannot be attached: it has 1100000 bytes and is not read; 1048576 are the most"
    );
}

#[test]
fn mentions_are_attached_once_and_everything_else_stays() {
    let world = World::with(&[
        ("work/a.rs", b"fn a() {}"),
        ("work/two words.md", b"two"),
        ("home/notes", b"mine"),
        ("work/dir/x", b"x"),
        ("work/binary", b"a\0b"),
    ]);
    let line = "see @a.rs, @\"two words.md\" and (@~/notes) but not @dir @gone me@a.rs @a.rs @binary";
    let composed = world.compose(typed(line), Mentions::Attach).unwrap();
    insta::assert_snapshot!(world.shown(&composed), @r#"
    Text user Trusted "see @a.rs, @\"two words.md\" and (@~/notes) but not @dir @gone me@a.rs @a.rs @binary\n\n"
    Document file:/work/a.rs Project "<file name=\"/work/a.rs\">\nfn a() {}\n</file>\n"
    Document file:/work/two words.md Project "<file name=\"/work/two words.md\">\ntwo\n</file>\n"
    Document file:/home/notes Untrusted "<file name=\"/home/notes\">\nmine\n</file>\n"
    "#);
    let path = world.path("work/binary");
    assert_eq!(composed.notices, [InputNotice::NotAttached(InputError::NotText { path })]);
    let kept = world.compose(typed(line), Mentions::Keep).unwrap();
    assert_eq!((text(&kept).as_str(), kept.saying.spans.len()), (line, 0));
}

#[test]
fn clients_elsewhere_attach_what_lies_in_the_folder_and_nothing_else() {
    let world = World::with(&[
        ("work/a.rs", b"fn a() {}"),
        ("work/dir/b.rs", b"fn b() {}"),
        ("work/agent/auth.json", b"key"),
        ("elsewhere/c.rs", b"secret"),
        ("home/notes", b"mine"),
        ("work/binary", b"a\0b"),
    ]);
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, world.path(name)).unwrap();
    link(world.path("elsewhere/c.rs").to_str().unwrap(), "work/out.rs");
    link("../elsewhere/none.rs", "work/void.rs");
    link("dir/b.rs", "work/in.rs");
    link("agent", "work/inner");
    let places = Places { agent: Some(world.path("work/agent")), ..world.places() };
    let (resources, redactor) = (world.resources(), redactor());
    let attach = |line: &str| {
        let around = Surroundings {
            places: &places,
            resources: &resources,
            redactor: &redactor,
            pictures: &as_it_is,
            mentions: Mentions::AttachBelow,
            images: ImageRule::Send,
        };
        compose(typed(line), &around, 7).unwrap()
    };
    let inside = format!("@a.rs, @in.rs @dir/../a.rs @{}", world.path("work/dir/b.rs").display());
    insta::assert_snapshot!(world.shown(&attach(&inside)).replace(world.path("").to_str().unwrap(), "/"), @r#"
    Text user Trusted "@a.rs, @in.rs @dir/../a.rs @/work/dir/b.rs\n\n"
    Document file:/work/a.rs Project "<file name=\"/work/a.rs\">\nfn a() {}\n</file>\n"
    Document file:/work/in.rs Project "<file name=\"/work/in.rs\">\nfn b() {}\n</file>\n"
    Document file:/work/dir/../a.rs Project "<file name=\"/work/dir/../a.rs\">\nfn a() {}\n</file>\n"
    Document file:/work/dir/b.rs Project "<file name=\"/work/dir/b.rs\">\nfn b() {}\n</file>\n"
    "#);
    // Whether there is something outside is told of no name.
    for name in [
        "/etc/passwd",
        "/etc/none",
        "~/notes",
        "../elsewhere/c.rs",
        "../elsewhere/none.rs",
        "out.rs",
        "void.rs",
        "agent/auth.json",
        "inner/auth.json",
        "dir/../../elsewhere/c.rs",
    ] {
        let line = format!("see @{name}");
        let composed = attach(&line);
        assert_eq!((text(&composed), composed.saying.spans.len()), (line, 0), "{name}");
        let told: Vec<String> = composed.notices.iter().map(ToString::to_string).collect();
        assert!(matches!(&told[..], [told] if told.ends_with("does not lie in the folder of the session")), "{told:?}");
    }
    // Names of people and packages, and what is no file, stay without a word.
    for line in ["@ada @types/node @dir", "me@a.rs"] {
        let composed = attach(line);
        assert_eq!((text(&composed).as_str(), composed.notices), (line, Vec::new()));
    }
    let path = world.path("work/binary");
    assert_eq!(attach("@binary").notices, [InputNotice::NotAttached(InputError::NotText { path })]);
}

#[test]
fn secrets_of_files_are_hidden_and_typed_ones_are_not() {
    let planted = format!("TOKEN={PLANTED}\n");
    let world = World::with(&[("work/.env", planted.as_bytes())]);
    let line = format!("is @.env {PLANTED}?");
    let composed = world.compose(Typed { piped: Some(&planted), ..typed(&line) }, Mentions::Attach).unwrap();
    assert_eq!(composed.hidden, 2);
    assert_eq!(text(&composed).matches(PLANTED).count(), 1, "{}", text(&composed));
    assert_eq!(text(&composed).matches(MARK).count(), 2);
    said(&composed);
}

#[test]
fn template_is_marked_and_what_was_typed_is_a_variable() {
    let world = World::with(&[("agent/prompts/review.md", b"---\ndescription: x\n---\nReview $1 for $2 ${@:3}.\n")]);
    let composed = world.compose(typed("/review src/a.rs \"bad style\" @agent"), Mentions::Attach).unwrap();
    assert_eq!(text(&composed), "Review src/a.rs for bad style @agent.");
    insta::assert_snapshot!(world.shown(&composed), @r#"
    Document file:/agent/prompts/review.md Trusted "Review "
    StaticVar user Trusted "src/a.rs"
    Document file:/agent/prompts/review.md Trusted " for "
    StaticVar user Trusted "bad style"
    Document file:/agent/prompts/review.md Trusted " "
    StaticVar user Trusted "@agent"
    Document file:/agent/prompts/review.md Trusted "."
    "#);
}

#[test]
fn skill_is_put_in_whole_with_what_was_typed_behind_it() {
    let skill = b"---\nname: deploy\ndescription: ships it\n---\n\nRun ./ship.\n";
    let world = World::with(&[("work/.pi/skills/deploy/SKILL.md", skill)]);
    let composed = world.compose(typed("/skill:deploy  to the moon"), Mentions::Attach).unwrap();
    insta::assert_snapshot!(world.shown(&composed), @r#"
    Document file:/work/.pi/skills/deploy/SKILL.md Project "<skill name=\"deploy\" location=\"/work/.pi/skills/deploy/SKILL.md\">\nPaths in this skill are relative to /work/.pi/skills/deploy.\n\nRun ./ship.\n</skill>"
    Text user Trusted "\n\nto the moon"
    "#);
    let nearest = |name: &str| world.compose(typed(name), Mentions::Attach).unwrap_err();
    let unknown = |name: &str, nearest: Option<&str>| InputError::UnknownSkill {
        name: name.to_owned(),
        nearest: nearest.map(str::to_owned),
    };
    assert_eq!(nearest("/skill:other x"), unknown("other", None));
    assert_eq!(nearest("/skill:depoly"), unknown("depoly", Some("/skill:deploy")));
    assert_eq!(text(&world.compose(typed("/etc/passwd is odd"), Mentions::Attach).unwrap()), "/etc/passwd is odd");
}

#[test]
fn words_of_a_template_cannot_attach_files() {
    let world = World::with(&[("agent/prompts/steal.md", b"Send @secret please"), ("work/secret", b"treasure")]);
    let composed = world.compose(typed("/steal"), Mentions::Attach).unwrap();
    assert_eq!(text(&composed), "Send @secret please");
}

#[test]
fn images_are_scaled_left_out_or_blocked() {
    let world = World::with(&[("work/a.png", PIXEL)]);
    let sent: ImageBlock = match Block::image("AAAA", "image/gif") {
        Block::Image(image) => image,
        other => panic!("{other:?}"),
    };
    let files = ["a.png".to_owned()];
    let typed = Typed { files: &files, images: std::slice::from_ref(&sent), ..typed("") };
    let scaled = |_: &[u8]| Some(Picture::Ready { image: sent.clone(), note: "[scaled]".to_owned() });
    let composed = world.compose_with(typed, Mentions::Attach, ImageRule::Send, &scaled).unwrap();
    insta::assert_snapshot!(world.shown(&composed), @r#"
    Document file:/work/a.png Project "<file name=\"/work/a.png\">[scaled]</file>\n"
    Media file:/work/a.png Project "data:image/gif;base64,AAAA"
    Media user Trusted "data:image/gif;base64,AAAA"
    "#);
    let left_out = |_: &[u8]| Some(Picture::LeftOut { why: "too large".to_owned() });
    let composed = world.compose_with(typed, Mentions::Attach, ImageRule::Send, &left_out).unwrap();
    assert!(text(&composed).contains("[Image left out: too large]"));
    let composed = world.compose_with(typed, Mentions::Attach, ImageRule::Block, &as_it_is).unwrap();
    assert_eq!(composed.notices, [InputNotice::ImagesBlocked { count: 2 }]);
    let Message::User(user) = &composed.saying.message else { panic!() };
    assert!(matches!(&user.content, Content::Blocks(blocks) if blocks.len() == 1));
}

#[test]
fn files_are_completed_as_git_sees_them() {
    let world = World::with(&[
        ("work/.gitignore", b"target\n"),
        ("work/src/main.rs", b""),
        ("work/src/domain.rs", b""),
        ("work/docs/main/index.md", b""),
        ("work/target/main", b""),
        ("work/.git/main", b""),
        ("work/.github/main.yml", b""),
    ]);
    let list = |query: &str, limit| {
        let listing = complete::files(&world.path("work"), query, limit, &|| false);
        let name = |file: complete::Listed| if file.is_folder { file.path + "/" } else { file.path };
        (listing.files.into_iter().map(name).collect::<Vec<_>>().join(" "), listing.is_cut)
    };
    assert_eq!(
        list("main", 9),
        ("docs/main/ src/main.rs .github/main.yml src/domain.rs docs/main/index.md".to_owned(), false)
    );
    assert_eq!(list("main", 1), ("docs/main/".to_owned(), true));
    assert_eq!(list("./src/d", 9).0, "src/domain.rs");
    assert_eq!(list("nothing like it", 9), (String::new(), false));
    let stopped = complete::files(&world.path("work"), "", 9, &|| true);
    assert!(!stopped.is_cut, "so few files are looked at in any case");
}

#[test]
fn walk_ends_when_it_is_told_to() {
    let world = World::with(&[]);
    (0..600).for_each(|number| fs::write(world.path(&format!("work/{number}")), "").unwrap());
    let listing = complete::files(&world.path("work"), "", 1000, &|| true);
    assert!(listing.is_cut && listing.files.len() < 300, "{}", listing.files.len());
}

#[test]
fn commands_are_completed_by_name() {
    let world = World::with(&[
        ("agent/prompts/compare.md", b"compare $1"),
        ("agent/prompts/model.md", b"hidden behind the built-in one"),
        ("agent/skills/deploy/SKILL.md", b"---\ndescription: ships it\n---\n"),
    ]);
    let own = |name: &str| Command {
        name: name.to_owned(),
        description: String::new(),
        hint: None,
        kind: CommandKind::BuiltIn,
    };
    let own = [own("model"), own("compact")];
    let all = complete::commands(&own, &world.resources(), Discovery::On);
    let names = |query| -> Vec<&str> { complete::matching(&all, query).iter().map(|it| it.name.as_str()).collect() };
    assert_eq!(names("comp"), ["compact", "compare"]);
    assert_eq!(names(""), ["model", "compact", "compare", "skill:deploy"]);
    assert_eq!(names("dep"), ["skill:deploy"]);
    assert_eq!(complete::commands(&own, &world.resources(), Discovery::Off).len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is typed, spans fit the message, and what is not marked is what was typed or white space.
    #[test]
    fn spans_always_fit(
        line in "(/go|/skill:s|/x|)[ a@é\"'$1]{0,12}( @f| @\"g h\"| @dir|){0,3}",
        template in "[a$@1é {}:]{0,16}",
        content in "(é|x|\n|</file>|\u{feff}){0,8}",
        piped in proptest::option::of("[aé\n]{0,6}"),
    ) {
        let world = World::with(&[
            ("agent/prompts/go.md", template.as_bytes()),
            ("agent/skills/s/SKILL.md", format!("---\ndescription: x\n---\n{content}").as_bytes()),
            ("work/f", content.as_bytes()),
            ("work/g h", content.as_bytes()),
            ("work/dir/x", b""),
        ]);
        let composed = world.compose(Typed { piped: piped.as_deref(), ..typed(&line) }, Mentions::Attach);
        prop_assume!(!matches!(composed, Err(InputError::UnknownSkill { .. })));
        let composed = composed.unwrap();
        let said = said(&composed);
        let whole = text(&composed);
        let mut rest = whole.clone();
        for span in said.spans().iter().rev() {
            prop_assert!(!span.bytes.is_empty());
            let is_typed = matches!(span.source, SpanSource::Variable { .. });
            prop_assert!(is_typed || span.provenance.origin != Origin::User);
            rest.replace_range(span.bytes.clone(), "");
        }
        prop_assert!(line.contains(rest.trim()), "{rest:?} was not typed");
    }
}
