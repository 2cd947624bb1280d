/** A model that takes its time, for tests that need a run to be in flight. Speaks as OpenAI's servers do. */

import { createServer } from "node:http";

const PIECES = 12;
const PAUSE_MS = 40;

export class SlowModel {
  static async start() {
    const model = new SlowModel();
    model.count = 0;
    model.server = createServer((request, response) => model.hear(request, response));
    await new Promise((resolve) => model.server.listen(0, "127.0.0.1", () => resolve(undefined)));
    const { port } = /** @type {import("node:net").AddressInfo} */ (model.server.address());
    /** What `pi serve` is told, so that it asks this model. */
    model.words = ["--base-url", `http://127.0.0.1:${port}/v1`, "--model", "slow"];
    return model;
  }

  /** Lists itself, or answers with pieces that name the answer that they belong to. */
  async hear(request, response) {
    if (request.method === "GET") {
      return void response.writeHead(200, { "content-type": "application/json" }).end('{"object":"list","data":[{"id":"slow"}]}');
    }
    request.resume();
    this.count += 1;
    const number = this.count;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const say = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: `r${number}`, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    for (let piece = 0; piece < PIECES && !response.destroyed; piece += 1) {
      say({ role: "assistant", content: `${number}.${piece} ` });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    say({}, "stop");
    response.end("data: [DONE]\n\n");
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
