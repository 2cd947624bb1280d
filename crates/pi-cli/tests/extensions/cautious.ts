// An extension that asks a person before the session is left or goes elsewhere, and before some words are said.
const cautious = (title: string) => async (event: unknown, ctx: any) =>
  (await ctx.ui.confirm(title, "Really?")) ? undefined : { cancel: true };

export default function (pi: any) {
  pi.on("session_before_switch", cautious("Leave?"));
  pi.on("session_before_fork", cautious("Fork?"));
  pi.on("session_before_tree", cautious("Go there?"));
  pi.on("input", async (event: any, ctx: any) => {
    if (event.text.startsWith("Please")) await ctx.ui.confirm("Say it?", event.text);
    return { action: "continue" };
  });
  pi.registerCommand("ask", {
    description: "Asks, and does nothing",
    handler: async (args: string, ctx: any) => void (await ctx.ui.confirm("Sure?", args)),
  });
  pi.registerCommand("go", {
    description: "Begins a run, and ends when that has begun",
    handler: async () => {
      const begun = new Promise<void>((resolve) => pi.on("agent_start", () => resolve()));
      pi.sendUserMessage("Go on");
      await begun;
    },
  });
}
