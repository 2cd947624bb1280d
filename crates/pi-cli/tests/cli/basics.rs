//! Version, help, wrong arguments, what is not built, colours, and output that cannot be written.

use std::{
    io::{Read as _, Seek as _},
    process::Stdio,
    time::Duration,
};

use insta::assert_snapshot;

use crate::world::{BAD, GOOD, World};

#[test]
fn version_is_one_line() {
    assert_snapshot!(World::new().run("--version"), @r"
    pi 0.1.0
    --- exit 0
    ");
}

#[test]
fn help_is_grouped_with_examples_codes_and_variables() {
    assert_snapshot!(World::new().run("--help"), @r"
    A coding agent as a service: talk to it, ask models, look into its prompts, its protocols and its
    decisions

    Usage: pi [OPTIONS] [MESSAGE]...
           pi [OPTIONS] <COMMAND>

    Talk to models:
      ask       Ask a model
      models    List models: context, price, capabilities, and whether a credential is found
      provider  Look at providers, check their manifests and try them

    Look into sessions:
      sessions  List sessions: age, messages, cost, and what was said first
      session   Delete sessions
      export    Write a session down as a page, as Markdown, or what the model was shown
      context   Show what filled the model's context, segment by segment

    Look into files:
      envelope     Check, compare and sum up prompt envelopes
      ext-message  Check messages between an extension and its host

    Understand the system:
      schema  Print a schema: JSON Schema, TypeScript or WIT
      policy  Ask what an extension may do, and why

    Run:
      trust        Use what a project brings: extensions, servers, settings, skills, templates, models
      config       Show every setting, who chose it, and what cannot be used
      serve        Serve clients: the agent on a WebSocket, or on standard input and output
      journal      Look at what the server wrote down about commands, and check it
      ext          Write, build, check and sign extensions
      mcp          Add, list, try and remove servers of the Model Context Protocol
      completions  Print a script that lets your shell complete the words of pi
      help         Print help for a command

    Options:
          --color <WHEN>                   When to use colours [default: auto] [possible values: auto,
                                           always, never]
      -p, --print                          Print the last answer and end; so it is anyway where standard
                                           output is no terminal
          --mode <MODE>                    What is printed: text (the last answer) or json (every event,
                                           one object per line)
      -c, --continue                       Go on with the last session of this folder
      -r, --resume                         Choose a session of this folder to go on with
          --session <SESSION>              Go on with this session: its file, the beginning of its id,
                                           or `last`
          --no-session                     Keep nothing of it
          --session-dir <DIR>              Keep sessions below this folder instead of the agent
                                           directory
      -m, --model <MODEL>                  The model as PROVIDER/MODEL, PROVIDER or MODEL; :LEVEL behind
                                           it says how hard to think [default: of the session, then as
                                           in `pi ask`]
          --provider <PROVIDER>            The provider of that model, if its name does not say it
          --thinking <LEVEL>               How hard to think: off, minimal, low, medium, high, xhigh or
                                           max
          --models <PATTERNS>              The models that ctrl+p goes through, the first of which
                                           answers unless another is named: names or parts of them, and
                                           * and ? in PROVIDER/MODEL or MODEL, such as
                                           'openai/*:high,sonnet' [default: enabledModels of the
                                           settings]
          --base-url <URL>                 Ask here instead of at the provider's address; without a
                                           provider, a server of the OpenAI kind
          --api-key-env <NAME>             Take the credential from this variable
          --provider-dir <DIR>             Also read manifests from this folder or file; may be
                                           repeated, and a later one wins
          --system-prompt <TEXT>           Instructions instead of ours
          --append-system-prompt <TEXT>    More instructions; may be repeated
          --skill <PATH>                   Also use this skill, or those in this folder; may be repeated
          --no-skills                      Use no skills but those that are named
          --prompt-template <PATH>         Also use this prompt template, or those in this folder; may
                                           be repeated
          --no-prompt-templates            Use no prompt templates but those that are named
          --no-context-files               Read no AGENTS.md or CLAUDE.md
          --tools <NAMES>                  The only tools that are offered, such as read,grep,find,ls
          --no-tools                       Offer no tools
      -e, --extension <PATH>               Also load this extension, or those in this folder; may be
                                           repeated
          --no-extensions                  Load no extensions but those that are named
          --extension-flag <NAME[=VALUE]>  Give a flag of an extension a value; may be repeated
          --trace-protocol <FILE>          Write everything that extensions and pi say to each other to
                                           this file, one JSON message a line
      -h, --help                           Print help
      -V, --version                        Print version

    Examples:
      pi -p 'What does this project do?'
          let the agent work in this folder, and print its last answer
      git diff | pi -p 'Review this' @notes.md
          put a text and a file in front of the message
      pi ask 'What is a monad?' --model anthropic/claude-sonnet-5-5
          ask a model and see the answer as it comes
      pi export last -o session.html
          write the last session of this folder down as one page
      pi models --available
          see which models can be asked now
      pi envelope validate logs/
          check every envelope in a folder
      pi envelope diff before.json after.json
          see what changed, and where the cache breaks
      pi ext-message validate --json trace.jsonl
          check a recorded exchange, for a script
      pi schema extension --format ts > messages.ts
          get types for an extension
      pi policy explain --config settings.json --extension git --call @call.json
          see why a call is refused

    Exit codes:
      0    done; all files are valid, nothing differs
      1    done, and the answer is no: not valid, different, nothing fits, a check or the model fails
      2    not done: wrong arguments, nothing to compare or explain, no answer, unwritable output
      75   not done: the model's server failed, and may not if asked again later
      130  not done: interrupted
      143  not done: asked to end by a signal

    Environment:
      NO_COLOR                                          no colours, if not empty
      CLICOLOR_FORCE                                    colours even where nobody looks, if neither
                                                        empty nor 0
      TERM                                              no colours and no progress, if dumb
      HOME                                              what ~ means in paths that policy judges
      PI_CODING_AGENT_DIR                               the agent directory, if not ~/.pi/agent
      PI_EXTENSION_LOG_DIR                              the folder of the logs of extensions, if not
                                                        logs/extensions in the agent directory
      NPM_CONFIG_PREFIX, PATH                           where the packages are that `npm install -g`
                                                        installed
      PI_SERVER_PORT                                    the port of `pi serve`, if not 3141
      PI_SERVER_<SETTING>                               a setting of the server, such as
                                                        PI_SERVER_MAX_SESSIONS; `pi config server` lists
                                                        them
      <PROVIDER>_API_KEY                                credential of a provider, unless its manifest
                                                        names another variable
      HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY      how providers are reached
      SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS  certificates that providers may show
      OLLAMA_HOST and others that manifests name        where servers on this machine listen
    --- exit 0
    ");
}

#[test]
fn help_of_a_command_names_its_arguments() {
    assert_snapshot!(World::new().run("envelope validate --help"), @r"
    Say whether files are valid envelopes, and what is wrong with those that are not

    Usage: pi envelope validate [OPTIONS] <FILE>...

    Arguments:
      <FILE>...  Files; `-` is standard input, a folder stands for the .json and .jsonl files below it

    Options:
          --color <WHEN>  When to use colours [default: auto] [possible values: auto, always, never]
          --jsonl         Read one document per line, as is done for .jsonl files anyway
          --json          Print one object per file: {file, valid, errors: [{line?, path, message}]}
      -q, --quiet         Do not show valid files
      -h, --help          Print help
    --- exit 0
    ");
    assert_snapshot!(World::new().run("help policy explain"), @r"
    Show the decision about one host call with every reason on the way to it

    Usage: pi policy explain [OPTIONS] --extension <ID> --call <JSON>

    Options:
          --color <WHEN>                 When to use colours [default: auto] [possible values: auto,
                                         always, never]
          --config <FILE>                The settings file that holds the policy [default: your
                                         settings, what was decided about extensions, and what the
                                         project forbids]
          --extension <ID>               The extension that calls
          --from <PATH>                  Which extension of that name is meant: its file or folder
                                         [default: the one of this folder, or the one that was last
                                         seen]
          --call <JSON>                  The payload of the host call as JSON; @FILE reads it from a
                                         file, @- from standard input
          --manifest <FILE>              The extension's extension.json: its version, and what it
                                         declares to need
          --extension-version <VERSION>  The extension's version, if there is no manifest [default:
                                         0.0.0]
          --mode <MODE>                  Use this mode instead of the one in the settings [possible
                                         values: strict, prompt, permissive]
          --project <FOLDER>             The project folder from which paths count [default: the current
                                         folder]
          --untrusted                    The extension came with a project that nobody trusts yet
          --evidence <NAME=LEVEL>        What is known about the extension, as NAME=LEVEL with a level
                                         from 0 to 1; may be repeated [default: nobody looked:
                                         unsigned=1 unscanned=1]
          --at <TIME>                    Decide as of this time [default: now]
          --json                         Print the explanation as one JSON object
      -h, --help                         Print help
    --- exit 0
    ");
}

#[test]
fn no_arguments_and_no_terminal_are_nothing_to_say() {
    assert_snapshot!(World::new().run(""), @r"
    --- on standard error
    error: there is nothing to say
    hint: write it as an argument, `pi -p 'What is in this folder?'`, or pipe it in
    --- exit 2
    ");
}

#[test]
fn wrong_arguments_say_what_is_right() {
    assert_snapshot!(World::new().run("envelop"), @r"
    --- on standard error
    error: unrecognized subcommand 'envelop'

      tip: a similar subcommand exists: 'envelope'
      tip: to say it to the agent, write it with --print: pi -p 'envelop'

    Usage: pi [OPTIONS] [MESSAGE]...
           pi [OPTIONS] <COMMAND>

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(World::new().run("policy explain --config a --call {} --extension="), @r"
    --- on standard error
    error: a value is required for '--extension <ID>' but none was supplied

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(World::new().run("envelope validate"), @r"
    --- on standard error
    error: the following required arguments were not provided:
      <FILE>...

    Usage: pi envelope validate <FILE>...

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn both_streams_in_one_place_read_in_order() {
    let world = World::new().with("good.json", GOOD).with("bad.json", BAD);
    let mut file = tempfile::tempfile().expect("a temporary file");
    let [output, error] = [(); 2].map(|()| file.try_clone().expect("another handle"));
    let mut command = world.command("envelope validate good.json gone.json bad.json");
    command.stdout(output).stderr(error).status().expect("pi runs");
    let mut shown = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut shown)).expect("the file can be read");
    assert_snapshot!(shown, @r#"
    valid    good.json
    error: cannot read gone.json: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    invalid  bad.json
             messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
             messages[0].segments: expected at least 1 item, found 0
    2 documents in 3 files: 1 file valid, 1 invalid, 1 not read
    hint: `pi schema envelope` prints what is expected
    "#);
}

#[test]
fn words_that_are_no_command_are_told_with_the_nearest() {
    let shown = World::new().run("ext inspekt git");
    assert!(shown.contains("unrecognized subcommand 'inspekt'") && shown.contains("'inspect'"), "{shown}");
    assert!(shown.ends_with("--- exit 2"), "{shown}");
    let shown = World::new().run("ext --help");
    assert!(shown.starts_with("Write, build, check and sign extensions") && shown.ends_with("--- exit 0"), "{shown}");
}

#[test]
fn commands_with_commands_have_examples() {
    for name in ["envelope", "policy"] {
        let shown = World::new().run(&format!("{name} --help"));
        assert!(shown.contains(&format!("Examples:\n  pi {name} ")), "{shown}");
    }
}

#[test]
fn colours_are_used_when_asked_for() {
    let world = World::new().with("good.json", GOOD).with("bad.json", BAD);
    assert_snapshot!(world.run("--color always envelope validate good.json bad.json gone.json"), @r#"
    ␛[32mvalid␛[0m    ␛[1mgood.json␛[0m
    ␛[1;31minvalid␛[0m  ␛[1mbad.json␛[0m
             ␛[36mmessages[0].role␛[0m: expected one of "system", "user", "assistant", "tool", found "robot"
             ␛[36mmessages[0].segments␛[0m: expected at least 1 item, found 0
    2 documents in 3 files: 1 file valid, ␛[1;31m1 invalid␛[0m, ␛[1;31m1 not read␛[0m
    --- on standard error
    ␛[1;31merror:␛[0m cannot read gone.json: No such file or directory (os error 2)
    ␛[36mhint:␛[0m check the name; `-` reads standard input
    ␛[36mhint:␛[0m `pi schema envelope` prints what is expected
    --- exit 1
    "#);
    assert!(world.run("--help --color always").contains("␛["));
}

#[test]
fn variables_decide_about_colours() {
    let world = World::new().with("good.json", GOOD);
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = world.command("envelope validate good.json");
        let output = command.envs(variables.iter().copied()).output().expect("pi runs");
        output.stdout.contains(&0x1b)
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")]));
}

#[test]
fn reader_that_goes_away_is_no_error() {
    for (arguments, expected) in [("schema wire", 0), ("envelope validate --json bad.json", 1), ("--help", 0)] {
        let world = World::new().with("bad.json", BAD);
        let mut child =
            world.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pi starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("pi ends");
        assert_eq!((output.status.code(), &*output.stderr), (Some(expected), &b""[..]), "{arguments}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = World::new().command("schema wire").stdout(full).output().expect("pi runs");
    assert_eq!(output.status.code(), Some(2));
    assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    error: cannot write the output: No space left on device (os error 28)
    hint: check the disk and where the output goes
    ");
}

/// A measured figure stands in the benchmarks; this only notices if something heavy is done before anything is asked.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about time")]
fn version_starts_fast() {
    let world = World::new();
    let best = (0..10).map(|_| {
        let start = std::time::Instant::now();
        world.run("--version");
        start.elapsed()
    });
    let best = best.min().expect("ten runs");
    assert!(best < Duration::from_millis(200), "{best:?}");
}

#[test]
fn shells_get_a_script_that_completes_every_command() {
    for (shell, beginning) in [
        ("bash", "_pi() {"),
        ("zsh", "#compdef pi"),
        ("fish", "# Print an optspec"),
        ("powershell", "\nusing namespace"),
    ] {
        let script = World::new().run(&format!("completions {shell}"));
        assert!(script.starts_with(beginning), "{script}");
        for word in ["models", "provider", "completions", "available"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let refused = World::new().run("completions tcsh");
    assert!(refused.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{refused}");
}

#[test]
fn answer_without_tokens_is_refused_in_words() {
    assert_snapshot!(World::new().run("ask Hi --max-tokens 0"), @r"
    --- on standard error
    error: invalid value '0' for '--max-tokens <N>': an answer needs at least 1 token; leave the option out for the model's own limit

    For more information, try '--help'.
    --- exit 2
    ");
}
