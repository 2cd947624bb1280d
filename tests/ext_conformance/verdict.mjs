// How two rehearsals compare, and what is enough.

import { joined, varying } from "./common.mjs";

/**
 * What must be reached: shares of rows that are equal. What was reached is not given up silently: raise these, never lower them. A
 * few packages race with themselves, so what is asked of packages lies a little below what was seen.
 */
export const THRESHOLDS = {
  example: { registered: 1, behaved: 1 },
  package: { registered: 0.95, behaved: 0.65 },
};

/**
 * Compares step by step. Where the real Pi went outside of the rehearsal, only what kind of answer it was is compared. Effects that come
 * a step later than there are no difference if all of them come, in their order: nobody waited for them.
 */
export function assess(steps, expected, found, compare) {
  const differences = [];
  const isLeftOut = (index) => expected.steps[index]?.outside || expected.steps[index]?.lacking;
  const isPunctual = compare(expected.together ?? joined(expected, isLeftOut), joined(found, isLeftOut)).length > 0;
  let [equal, answered, done, classed, lacking] = [0, 0, 0, 0, 0];
  const seen = ({ answer, effects }) => ({ answer, effects: isPunctual ? effects : {} });
  steps.forEach((step, index) => {
    const [wanted, got] = [expected.steps[index] ?? {}, found.steps[index]];
    const name = `step ${index + 1}, ${title(step)}`;
    if (wanted.lacking) return void lacking++;
    const isClassed = wanted.outside === true;
    const own = got === undefined ? [`${name}: expected an answer, found none`] : isClassed ? classes(name, wanted, got) : compare(seen(wanted), seen(got), name);
    differences.push(...own);
    if (own.length === 0) equal++;
    if (isClassed) classed++;
    if (!isError(wanted.answer)) answered++;
    if (hasSubstance(step, wanted)) done++;
  });
  if (expected.steps.length !== steps.length) differences.push(`the fixture has ${expected.steps.length} steps, the script ${steps.length}: capture it anew`);
  differences.push(...compare(expected.traces, found.traces, "traces"));
  return { differences, equal, all: steps.length - lacking, answered, done, classed, varied: varying(expected) };
}

function classes(name, wanted, got) {
  const [expected, found] = [wanted, got].map(({ answer }) => (isError(answer) ? "error" : "answer"));
  return expected === found ? [] : [`${name}: expected an ${expected}, found an ${found}`];
}

function title({ fire, tool, command, shortcut, arguments: line, person }) {
  const what = fire ? `event ${fire}` : tool ? `tool ${tool}` : command ? `/${command}${line ? ` ${line}` : ""}` : `key ${shortcut}`;
  return person && person !== "agrees" ? `${what} (${typeof person === "string" ? person : "script"})` : person ? what : `${what} (nobody)`;
}

/** Whether an answer is a thrown error, nothing in time, or a result that says it is one. */
function isError(answer) {
  if (Array.isArray(answer)) return answer.some((one) => one?.error !== undefined);
  return answer?.error !== undefined || answer?.late === true || answer?.missing === true || answer?.isError === true;
}

/** Whether a step shows something: a result, an answer to an event, or an effect. */
function hasSubstance(step, { answer, effects }) {
  if (isError(answer)) return false;
  if (Object.keys(effects ?? {}).length > 0) return true;
  if (step.tool) return true;
  return Array.isArray(answer) && answer.some((one) => one !== null && one !== undefined && !isUntouched(step, one));
}

/** The arguments of a tool call as they were are no answer. */
function isUntouched(step, one) {
  return step.fire === "tool_call" && !one.block && JSON.stringify(one.input) === JSON.stringify(step.event.input);
}

/** All rows together: the numbers, and whether they are enough. */
export function sums(rows) {
  const of = (kind) => {
    const own = rows.filter((row) => row.kind === kind);
    const played = own.filter(({ behaved }) => behaved);
    const add = (name) => played.reduce((sum, { behaved }) => sum + behaved[name], 0);
    return {
      all: own.length,
      registered: own.filter(({ registered }) => registered.length === 0).length,
      played: played.length,
      behaved: played.filter(({ behaved }) => behaved.differences.length === 0).length,
      steps: add("all"), equal: add("equal"), answered: add("answered"), done: add("done"), classed: add("classed"), varied: add("varied"), twice: played.filter(({ behaved }) => behaved.isTwice).length,
    };
  };
  const [examples, packages] = [of("example"), of("package")];
  const isEnough = (sum, { registered, behaved }) => sum.registered >= sum.all * registered && sum.behaved >= sum.played * behaved;
  const isGood = isEnough(examples, THRESHOLDS.example) && isEnough(packages, THRESHOLDS.package);
  const line = (name, { all, registered, played, behaved, steps, equal, answered, done, classed, varied }) =>
    `${name}: ${registered} of ${all} register the same, ${behaved} of ${played} behave the same; steps: ${equal} of ${steps} equal, ${answered} without an error, ${done} with a result or an effect, ${classed} by class; ${varied} values vary in Pi itself`;
  return { examples, packages, isGood, lines: [line("examples", examples), line("packages", packages)] };
}
