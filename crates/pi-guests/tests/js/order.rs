//! What runs when: the order is Node's.

use crate::house::run;

async fn check(body: &str, expected: &str) {
    let source = format!(
        "const log = []; const say = (word) => log.push(word);
         const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
         {body}
         await sleep(1000); return log.join(' ');"
    );
    assert_eq!(run(&source).await, expected, "{body}");
}

#[tokio::test]
async fn promises_come_before_timers_and_immediates() {
    check(
        "setTimeout(() => say('timer'), 0); Promise.resolve().then(() => say('promise')); say('now');",
        "now promise timer",
    )
    .await;
    check("setImmediate(() => say('immediate')); queueMicrotask(() => say('micro'));", "micro immediate").await;
}

#[tokio::test]
async fn ticks_come_before_promises_once_the_stack_is_empty() {
    check(
        "setTimeout(() => { Promise.resolve().then(() => say('promise')); process.nextTick(() => say('tick')); say('timer'); }, 1);",
        "timer tick promise",
    )
    .await;
    check(
        "setTimeout(() => { process.nextTick(() => { say('t1'); Promise.resolve().then(() => say('p')); process.nextTick(() => say('t2')); }); }, 1);",
        "t1 t2 p",
    )
    .await;
}

#[tokio::test]
async fn timers_run_by_their_time_and_then_by_their_age() {
    check(
        "setTimeout(() => say('c'), 20); setTimeout(() => say('a'), 5); setTimeout(() => say('b'), 5); setTimeout(() => say('first'), 0);",
        "first a b c",
    )
    .await;
}

#[tokio::test]
async fn promises_run_between_two_timers() {
    check(
        "setTimeout(() => { say('t1'); Promise.resolve().then(() => say('p1')); }, 1); setTimeout(() => say('t2'), 1);",
        "t1 p1 t2",
    )
    .await;
}

#[tokio::test]
async fn immediates_of_immediates_wait_for_the_next_round() {
    check(
        "setImmediate(() => { say('i1'); setImmediate(() => say('i3')); }); setImmediate(() => say('i2')); setTimeout(() => say('t'), 1);",
        "i1 i2 i3 t",
    )
    .await;
}

#[tokio::test]
async fn intervals_go_on_until_they_are_cleared() {
    check("let n = 0; const id = setInterval(() => { say(++n); if (n === 3) clearInterval(id); }, 100);", "1 2 3")
        .await;
    check("const id = setTimeout(() => say('never'), 5); clearTimeout(id); say('done');", "done").await;
    check("const id = setImmediate(() => say('never')); clearImmediate(id); setImmediate(() => say('yes'));", "yes")
        .await;
}
