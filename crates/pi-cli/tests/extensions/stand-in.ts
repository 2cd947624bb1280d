// Does what a model would be asked for, where somebody says that it should.
const WISHED = "do it yourself";

export default function (pi: any) {
  pi.on("input", async (event: any) => (event.text === WISHED ? { action: "handled" } : undefined));
  pi.on("session_before_compact", async (event: any) => {
    if (event.customInstructions !== WISHED) return undefined;
    const { firstKeptEntryId, tokensBefore } = event.preparation;
    return { compaction: { summary: "They talked.", firstKeptEntryId, tokensBefore } };
  });
  pi.on("session_before_tree", async (event: any) =>
    event.preparation.customInstructions === WISHED ? { summary: { summary: "They went on." } } : undefined);
  pi.registerCommand("nothing", { description: "Does nothing", handler: async () => {} });
}
