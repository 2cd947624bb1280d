/**
 * Which call an id means. Some servers begin to count their ids anew in every turn, or give two calls of one turn the same: an id means the
 * calls of the nearest answer that has it, and there the first that has not ended. Calls of one turn end in any order, and their results are
 * told in the order of the calls.
 */
import { type Part, Tool } from "./parts.svelte";

/** An answer as far as it is drawn. */
interface Answer {
  key: number;
  parts: readonly Part[];
}

/** Its calls; while it is written, there may be parts that nobody told of yet. */
export function toolsOf(parts: readonly (Part | undefined)[]): Tool[] {
  return parts.flatMap((part) => (part?.type === "tool" ? [part.tool] : []));
}

export class Calls {
  /** The calls of the nearest answer with an id. Those of no answer were told of before the answer in which they stand. */
  private readonly nearest = new Map<string, { answer: number | undefined; tools: Tool[] }>();
  /** Those that are drawn already, in the order of their answers, where an answer is read anew. */
  private former: Tool[] = [];
  /** Those whose result was told, and not only that they ended. */
  private readonly answered = new WeakSet<Tool>();

  /** A call that stands in an answer. */
  called(id: string, name: string, answer: number): Tool {
    const known = this.nearest.get(id);
    if (known !== undefined && known.answer === undefined && known.tools[0] !== undefined) {
      known.answer = answer;
      return known.tools[0];
    }
    const former = this.former.findIndex((tool) => tool.id === id);
    const tool = former === -1 ? new Tool(id, name) : (this.former.splice(former, 1)[0] as Tool);
    this.answered.delete(tool); // Its result comes once more, too.
    this.keep(tool, answer);
    return tool;
  }

  /** The call that an event is about. */
  at(id: string, name: string): Tool {
    const known = this.find(id);
    if (known !== undefined) {
      return known;
    }
    const tool = new Tool(id, name);
    this.nearest.set(id, { answer: undefined, tools: [tool] });
    return tool;
  }

  /** The call that a result belongs to. */
  answer(id: string): Tool | undefined {
    const tools = this.nearest.get(id)?.tools ?? [];
    const tool = tools.find((one) => !this.answered.has(one)) ?? tools.at(-1);
    if (tool !== undefined) {
      this.answered.add(tool);
    }
    return tool;
  }

  find(id: string): Tool | undefined {
    const tools = this.nearest.get(id)?.tools ?? [];
    return tools.find(({ status }) => status === "writing" || status === "waiting" || status === "running") ?? tools.at(-1);
  }

  /** Goes through answers anew that are drawn: what is read next follows them, and `former` are the calls that it may bring again. */
  follow(answers: readonly Answer[], former: readonly Answer[] = []): void {
    this.nearest.clear();
    for (const { key, parts } of answers) {
      toolsOf(parts).forEach((tool) => this.keep(tool, key));
    }
    this.former = former.flatMap(({ parts }) => toolsOf(parts));
  }

  private keep(tool: Tool, answer: number): void {
    const known = this.nearest.get(tool.id);
    if (known?.answer === answer) {
      known.tools.push(tool);
    } else {
      this.nearest.set(tool.id, { answer, tools: [tool] });
    }
  }
}
