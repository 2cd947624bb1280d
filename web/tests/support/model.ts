/** A model that says what the test wrote down, over HTTP as OpenAI's servers speak. */
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Answer {
  thinking?: string;
  /** Each piece is one event. */
  text?: string | string[];
  /** With an id of its own, unless one is given. */
  calls?: { name: string; arguments: unknown; id?: string }[];
  /** Between two pieces. */
  pauseMs?: number;
  /** Said first; then nothing until the test lets it go on. */
  hold?: Promise<void>;
  /** Refuses with this status instead. */
  fail?: number;
  /** The words and the code of a refusal. */
  refusal?: { message: string; code?: string };
  /** Tokens that it says to have read from its cache. */
  cached?: number;
}

export class ScriptedModel {
  private readonly answers: Answer[] = [];
  private usual: Answer = { text: "Done." };
  /** What it was asked, as the provider gets it. */
  readonly asked: { messages: { role: string; content: unknown }[] }[] = [];
  /** How many answers it has said to their end. */
  said = 0;
  private constructor(private readonly server: HttpServer) {}

  static async start(): Promise<ScriptedModel> {
    const server = createServer();
    const model = new ScriptedModel(server);
    server.on("request", (request, response) => void model.hear(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return model;
  }

  /** What `pi serve` is told, so that it asks this model. */
  get words(): string[] {
    return ["--base-url", `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`, "--model", "scripted"];
  }

  /** What it says next, in this order. */
  says(...answers: Answer[]): this {
    this.answers.push(...answers);
    return this;
  }

  /** What it was to say and did not is not said. */
  forget(): void {
    this.answers.length = 0;
  }

  otherwise(answer: Answer): this {
    this.usual = answer;
    return this;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" }).end('{"object":"list","data":[{"id":"scripted"},{"id":"other"}]}');
      return;
    }
    let body = "";
    for await (const piece of request) {
      body += String(piece);
    }
    this.asked.push(JSON.parse(body) as { messages: { role: string; content: unknown }[] });
    const answer = this.answers.shift() ?? this.usual;
    if (answer.fail !== undefined) {
      response.writeHead(answer.fail, { "content-type": "application/json" }).end(JSON.stringify({ error: answer.refusal ?? { message: "the script says no" } }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    await this.say(answer, response);
    response.end("data: [DONE]\n\n");
    this.said += 1;
  }

  private async say(answer: Answer, response: ServerResponse): Promise<void> {
    const send = (delta: unknown, finish_reason: string | null = null) =>
      response.write(`data: ${JSON.stringify({ id: "r", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const pause = () => new Promise((resolve) => setTimeout(resolve, answer.pauseMs ?? 0));
    send({ role: "assistant", content: "" });
    if (answer.thinking !== undefined) {
      send({ reasoning_content: answer.thinking });
    }
    const pieces = typeof answer.text === "string" ? [answer.text] : (answer.text ?? []);
    for (const [index, piece] of pieces.entries()) {
      if (response.destroyed) {
        return;
      }
      send({ content: piece });
      if (answer.pauseMs !== undefined) {
        await pause();
      }
      if (index === 0 && answer.hold !== undefined) {
        await answer.hold;
      }
    }
    if (pieces.length === 0 && answer.hold !== undefined) {
      await answer.hold;
    }
    for (const [index, call] of (answer.calls ?? []).entries()) {
      const id = call.id ?? `call-${this.asked.length}-${index}`;
      send({ tool_calls: [{ index, id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } }] });
    }
    send({}, answer.calls === undefined ? "stop" : "tool_calls");
    const usage = { prompt_tokens: 1200, completion_tokens: 34, total_tokens: 1234, prompt_tokens_details: { cached_tokens: answer.cached ?? 800 } };
    response.write(`data: ${JSON.stringify({ id: "r", object: "chat.completion.chunk", choices: [], usage })}\n\n`);
  }
}

/** Something that the test lets go. */
export function gate(): { open: () => void; opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
