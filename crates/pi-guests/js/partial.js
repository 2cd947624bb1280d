// The answer of a model so far. The host tells what comes and not what there is: a copy of everything with each piece would cost
// the more the longer an answer gets. It is added up here, and put together when somebody looks.

// A block whose text is joined when it is read. It looks like any other member, to JSON and to copies as well.
function growing(type, member, pieces) {
  const block = { type };
  Object.defineProperty(block, member, {
    enumerable: true,
    configurable: true,
    get() {
      if (pieces.length > 1) pieces.splice(0, pieces.length, pieces.join(""));
      return pieces[0] ?? "";
    },
    set: (text) => void pieces.splice(0, pieces.length, String(text)),
  });
  return block;
}

/** Makes a function that says what there is after a step, of which each must be told it once. */
export function partials() {
  let message;
  let blocks = [];
  let grown = [];

  const begin = (given) => {
    message = given ?? { role: "assistant", content: [] };
    blocks = [...(message.content ?? [])];
    grown = [];
  };
  const grow = (index, kind) => {
    if (grown[index] === undefined) {
      // What was there before it was listened to stays.
      grown[index] = typeof blocks[index]?.[kind] === "string" ? [blocks[index][kind]] : [];
      blocks[index] = growing(kind, kind, grown[index]);
    }
    return grown[index];
  };
  const end = (index, block) => {
    blocks[index] = block;
    grown[index] = undefined;
  };

  return (step, given, usage) => {
    if (given !== undefined || message === undefined) begin(given);
    const { contentIndex: index, delta, content, toolCall } = step;
    const [, kind, phase] = /^(text|thinking|toolcall)_(start|delta|end)$/.exec(step.type) ?? [];
    if (kind === "toolcall") {
      if (phase === "end") end(index, toolCall);
      else blocks[index] ??= { type: "toolCall", id: step.id ?? "", name: step.toolName ?? "", arguments: {} };
    } else if (kind !== undefined) {
      if (phase === "end") end(index, { type: kind, [kind]: content });
      else grow(index, kind);
      // What comes with the first step holds that step already.
      if (phase === "delta" && given === undefined) grown[index].push(delta);
    }
    if (usage !== undefined) message = { ...message, usage };
    return { ...message, content: blocks.filter((block) => block !== undefined) };
  };
}
