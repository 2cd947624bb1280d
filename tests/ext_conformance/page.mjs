// The table for readers, docs/extension-conformance.md.

/** Differences that are named per extension; the logs of a replay have them all. */
const NAMED = 3;

/** Writes the page from the rows of a run. */
export function page(corpus, rows, { missing, unloaded }, { examples, packages }) {
  const differing = rows.filter(({ registered, behaved }) => registered.length || behaved?.differences.length);
  const drawn = rows.filter(({ drawing }) => drawing);
  return `${[
    "# Extensions, compared with Pi",
    "",
    `Every extension below was loaded in ${corpus.hosts.map(({ pi }) => `\`${pi}\``).join(" or ")} under Node, and then built and`,
    "loaded here, without Node. The page is written by `cargo xtask conformance replay`.",
    "",
    "**Level 1, what it registers**: hooks with their number, tools with their whole schemas, commands, shortcuts, flags,",
    "renderers, providers with their models. *Equal* means equal in every member.",
    "",
    "**Level 2, what it does**: both hosts perform the same script in a made-up session. Every tool is called with what its schema",
    "needs, with all that it allows and with what does not exist; every command runs without an argument and with one; every event",
    "that it hears is fired with realistic payloads; questions are answered by a person who agrees, one who declines, or nobody.",
    "Compared are, for each step, the result (content, details, error), what a handler answered or changed, and what was done to the",
    "session: messages, entries, names, labels, tools, models, questions, notices, status, widgets, titles, controls and model calls, and at the",
    "end the files that were left. *Equal* means that all steps are.",
    "",
    ...summary(examples, packages),
    "",
    "What must differ between two runs is made equal first: the folders of the run and of the corpus, temporary names, colours, moments, days and",
    "clock times, durations in seconds or milliseconds, UUIDs, numbers of processes, stacks of errors, frames of spinners, the patch that newer versions of Pi",
    "add to what `edit` tells, and the host's own notice that something was denied. Effects are ordered within their kind; one that comes a step later is equal if all come in",
    "their order. A step at which the real Pi wanted the network, which is closed to both, or a program or a native module of the machine, is compared by its",
    "class (an answer or an error); the table says how many those are. Steps for which Pi itself lacks a program that it would download are left out.",
    "",
    "Chance decides nothing: what an extension draws (`Math.random`, `crypto`) falls the same way in both hosts, anew for each step, and the session has one id in both.",
    `${examples.twice + packages.twice} of ${examples.played + packages.played} extensions were captured twice in the real Pi, and a value at which these two captures differ (a race, a time inside a file) is left out,`,
    "alone; the table says how many those are. The others are compared with one capture. Nothing else is left out.",
    "",
    ...["example", "package"].flatMap((kind) => table(kind, rows.filter((row) => row.kind === kind))),
    "## Differences",
    "",
    ...(differing.length ? differing.flatMap(differences) : ["None.", ""]),
    "## What is not rehearsed",
    "",
    "Extensions whose doing is drawing, or whose rehearsal has no end. That they register the same is compared.",
    "",
    "| extension | why |",
    "|---|---|",
    ...drawn.map(({ id, drawing }) => `| ${id} | ${cell(drawing)} |`),
    "",
    "## What is not compared",
    "",
    "Extensions that do not load in Pi itself, on the machine of the capture, are no rows:",
    "",
    "| extension | why |",
    "|---|---|",
    ...missing.map(({ name, fault }) => `| ${name} | ${cell(`not to be had from the registry: ${fault}`)} |`),
    ...unloaded.map(({ id, error }) => `| ${id} | ${cell(error)} |`),
    "",
  ].join("\n")}`;
}

function summary(examples, packages) {
  const row = (name, sum) =>
    `| ${name} | ${sum.registered} of ${sum.all} | ${sum.behaved} of ${sum.played} | ${sum.equal} of ${sum.steps} | ${sum.answered} | ${sum.done} | ${sum.classed} | ${sum.varied} |`;
  return [
    "| | register the same | behave the same | steps equal | steps without an error | steps with a result or an effect | steps by class | values that vary in Pi |",
    "|---|---|---|---|---|---|---|---|",
    row("official examples", examples),
    row("published packages", packages),
  ];
}

function table(kind, rows) {
  const title = { example: "Official examples", package: "Published packages" }[kind];
  const head = ["| extension | hooks | tools | commands | other | registers | behaves | steps equal | vary in Pi |", "|---|---|---|---|---|---|---|---|---|"];
  return [`## ${title}`, "", ...head, ...rows.map(line), ""];
}

function line({ id, counts, registered, behaved }) {
  const { hooks, tools, commands, shortcuts, flags, messageRenderers, providers } = counts;
  const other = Object.entries({ shortcuts, flags, renderers: messageRenderers, providers })
    .filter(([, list]) => list.length)
    .map(([name, list]) => `${list.length} ${list.length === 1 ? name.slice(0, -1) : name}`);
  const verdict = (list) => (list.length === 0 ? "equal" : "**differs**");
  const played = behaved ? `${verdict(behaved.differences)} | ${behaved.equal} of ${behaved.all} | ${behaved.varied || ""}` : "not rehearsed | | ";
  return `| ${id} | ${hooks || ""} | ${tools.length || ""} | ${commands.length || ""} | ${other.join(", ")} | ${verdict(registered)} | ${played} |`;
}

function differences({ id, registered, behaved, error }) {
  const all = [...(error ? [error] : []), ...registered, ...(behaved?.differences ?? [])];
  const more = all.length > NAMED ? [`- and ${all.length - NAMED} more`] : [];
  return [`### ${id}`, "", ...all.slice(0, NAMED).map((text) => `- ${cell(text)}`), ...more, ""];
}

function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").slice(0, 240);
}
