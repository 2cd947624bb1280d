//! Processes of extensions, on the real engine and with real processes.

use crate::house::{call, program, start, text, tool};
use serde_json::json;

/// Runs the body of a tool that can start processes.
async fn run(body: &str) -> String {
    let source = format!(
        "import {{ shim }} from 'pi:shims'; const {{ spawn }} = shim('pi:shim/node/child_process');\n{}",
        tool(body)
    );
    let guest = start(program(&source)).await.expect("it loads");
    text(&call(&guest, "t", json!({})).await.expect("an answer"))
}

#[tokio::test(flavor = "multi_thread")]
async fn process_that_says_nothing_runs_all_the_same() {
    let body = "const child = spawn('/bin/cat'); const seen = [];
        child.on('spawn', () => { seen.push('spawn'); child.stdin.write('hi'); });
        child.stdout.on('data', (data) => { seen.push(String(data)); child.stdin.end(); });
        return new Promise((resolve) => child.on('close', (code) => resolve([...seen, code])));";
    assert_eq!(run(body).await, "spawn,hi,0");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_reach_a_process_by_their_names() {
    let body = |signal: &str| {
        format!(
            "const child = spawn('/bin/sh', ['-c', \"trap 'echo got; exit 7' TERM; echo ready; while :; do sleep 0.02; done\"]);
            let out = '';
            child.stdout.on('data', (data) => {{ out += String(data).trim() + ' '; if (out === 'ready ') child.kill({signal}); }});
            return new Promise((resolve) => child.on('close', (code, signal) => resolve(out + code + ' ' + signal)));"
        )
    };
    assert_eq!(run(&body("")).await, "ready got 7 null");
    // None that whoever started the tests may have had ignored, as a shell does with SIGINT for what it starts beside it.
    assert_eq!(run(&body("'SIGUSR1'")).await, "ready null SIGUSR1");
    assert_eq!(run(&body("'SIGKILL'")).await, "ready null SIGKILL");
}

#[tokio::test(flavor = "multi_thread")]
async fn pi_exec_that_had_its_time_gives_the_code_that_pi_gives() {
    let body = "const told = async (script) => {
            const { code, killed, stdout } = await pi.exec('/bin/sh', ['-c', script], { timeout: 300 });
            return [code, killed, stdout.trim()].join(' ');
        };
        return [await told('echo a; sleep 100'), await told(\"trap 'exit 3' TERM; echo b; while :; do sleep 0.02; done\")];";
    assert_eq!(run(body).await, "0 true a,3 true b");
}
