// The table for readers, docs/extension-conformance.md.

/** Writes the page from the rows of a run. */
export function page(corpus, rows, { missing, unloaded }, examples, packages) {
  return `${[
    "# Extensions, compared with Pi",
    "",
    `Every extension below was loaded in ${corpus.hosts.map(({ pi }) => `\`${pi}\``).join(" or ")} under Node, and what it`,
    "registered was written down: hooks with their",
    "number, tools with their whole schemas, commands, shortcuts, flags, renderers, providers with their models. Then it was built and loaded",
    "here, without Node, and compared. *Equal* means equal in every member. The page is written by `cargo xtask conformance replay`.",
    "",
    `**Official examples: ${examples.equal} of ${examples.all} equal. Published packages: ${packages.equal} of ${packages.all} equal.**`,
    "",
    ...["example", "package"].flatMap((kind) => table(kind, rows.filter((row) => row.kind === kind))),
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

function table(kind, rows) {
  const title = { example: "Official examples", package: "Published packages" }[kind];
  const head = ["| extension | hooks | tools | commands | other | verdict |", "|---|---|---|---|---|---|"];
  return [`## ${title}`, "", ...head, ...rows.map(line), ""];
}

function line({ id, counts, differences, error }) {
  const { hooks, tools, commands, shortcuts, flags, messageRenderers, providers } = counts;
  const other = Object.entries({ shortcuts, flags, renderers: messageRenderers, providers })
    .filter(([, list]) => list.length)
    .map(([name, list]) => `${list.length} ${list.length === 1 ? name.slice(0, -1) : name}`);
  const verdict = differences.length === 0 ? "equal" : `**differs**: ${cell(error ?? differences[0])}`;
  return `| ${id} | ${hooks || ""} | ${tools.length || ""} | ${commands.length || ""} | ${other.join(", ")} | ${verdict} |`;
}

function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").slice(0, 160);
}
