/** What an answer is made of, while it grows and when it is done. */
import type { Block as Content, JsonValue, Message, ToolOutput } from "pi-client";
import { type Block, Growing } from "../markdown/blocks";
import type { Bundles } from "../parts/bundles";

export class TextPart {
  readonly type = "text";
  private said = $state.raw("");
  private growing = new Growing();
  /** What is not in blocks yet. */
  private unread: string[] = [];

  constructor(text = "") {
    this.add(text);
  }

  get text(): string {
    return this.said;
  }

  /** The text in blocks. Read when it is first shown; what is finished stays the same. */
  get blocks(): Bundles<Block> {
    // Asked for, so that whoever draws the blocks is told when there are others.
    void this.said;
    this.unread.splice(0).forEach((more) => this.growing.append(more));
    return this.growing.blocks;
  }

  add(more: string): void {
    this.unread.push(more);
    this.said += more;
  }

  /** Makes it the whole text, which mostly is what was added. */
  become(text: string): void {
    if (!text.startsWith(this.said)) {
      this.growing = new Growing();
      this.unread = [];
      this.said = "";
    }
    if (text.length > this.said.length) {
      this.add(text.slice(this.said.length));
    }
  }
}

export class ThinkingPart {
  readonly type = "thinking";
  text = $state.raw("");
  isGrowing = $state.raw(false);
  readonly isRedacted: boolean;

  constructor(text = "", isRedacted = false) {
    this.text = text;
    this.isRedacted = isRedacted;
  }

  add(more: string): void {
    this.text += more;
  }

  become(text: string): void {
    this.text = text;
  }
}

export class ImagePart {
  readonly type = "image";
  constructor(readonly image: { data: string; mimeType: string }) {}
}

export class ToolPart {
  readonly type = "tool";
  constructor(readonly tool: Tool) {}
}

export type Part = TextPart | ThinkingPart | ImagePart | ToolPart;

export type ToolStatus = "writing" | "waiting" | "running" | "done" | "failed" | "denied" | "lost";

/** How a call ended, beside what came of it. A file tells no words of the policy. */
export interface Ending {
  denied?: string;
  deniedBy?: string;
  durationMs?: number;
}

/** A call of a tool: asked for, at work, and done. */
export class Tool {
  name = $state.raw("");
  args = $state.raw<Record<string, JsonValue>>({});
  /** The arguments as far as the model has written them. */
  written = $state.raw("");
  status = $state.raw<ToolStatus>("waiting");
  output = $state.raw<ToolOutput | undefined>();
  /** Why it was not allowed, as far as that was told. */
  denied = $state.raw<string | undefined>();
  deniedBy = $state.raw<string | undefined>();
  startedAt = $state.raw<number | undefined>();
  durationMs = $state.raw<number | undefined>();

  constructor(
    readonly id: string,
    name: string,
  ) {
    this.name = name;
  }

  /** Its output as text. */
  get text(): string {
    return contentText(this.output?.content ?? []);
  }

  get images(): { data: string; mimeType: string }[] {
    return (this.output?.content ?? []).filter((block) => block.type === "image");
  }

  detail(name: string): JsonValue | undefined {
    const details = this.output?.details;
    return typeof details === "object" && details !== null && !Array.isArray(details) ? details[name] : undefined;
  }

  finish(output: ToolOutput, isError: boolean, { denied, deniedBy, durationMs }: Ending): void {
    this.output = output;
    this.denied = denied ?? this.denied;
    this.deniedBy = deniedBy ?? this.deniedBy;
    this.durationMs = durationMs ?? this.durationMs;
    this.status = this.deniedBy !== undefined ? "denied" : isError ? "failed" : "done";
  }
}

/** The text of some content, without what is not text. */
export function contentText(content: string | readonly Content[]): string {
  if (typeof content === "string") {
    return content;
  }
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

export function contentImages(content: string | readonly Content[]): { data: string; mimeType: string }[] {
  return typeof content === "string" ? [] : content.filter((block) => block.type === "image");
}

/** The parts of a message of the model; those that are there already go on. */
export function partsOf(message: Message, before: readonly Part[], tool: (id: string, name: string) => Tool): Part[] {
  if (message.role !== "assistant") {
    return [];
  }
  return message.content.map((block, index) => {
    const old = before[index];
    switch (block.type) {
      case "text": {
        const part = old?.type === "text" ? old : new TextPart();
        part.become(block.text);
        return part;
      }
      case "thinking": {
        const part = old?.type === "thinking" ? old : new ThinkingPart("", block.redacted === true);
        part.become(block.thinking);
        part.isGrowing = false;
        return part;
      }
      case "image":
        return new ImagePart(block);
      case "toolCall": {
        const called = old?.type === "tool" && old.tool.id === block.id ? old.tool : tool(block.id, block.name);
        called.name = block.name;
        called.args = block.arguments;
        if (called.status === "writing") {
          called.status = "waiting";
        }
        return old?.type === "tool" && old.tool === called ? old : new ToolPart(called);
      }
    }
  });
}
