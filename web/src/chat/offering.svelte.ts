/** What an editor offers while one types, and what is done with the keys then. */
import { tick } from "svelte";
import { type Completion, complete, matching, type Trigger, triggerAt } from "./complete";

/** The editor, and what can be put into it. */
export interface Source {
  area(): HTMLTextAreaElement | null;
  text(): string;
  write(text: string): void;
  /** All that can be called with a `/`; nothing if nobody says. */
  commands(): Promise<readonly Completion[] | undefined>;
  files(word: string): Promise<readonly Completion[]>;
}

/** As long the focus may be on its way from the editor to its offers. */
const PAUSE_MS = 150;

export class Offering {
  offers = $state.raw<readonly Completion[]>([]);
  picked = $state(0);
  trigger = $state.raw<Trigger | undefined>();
  private asking = 0;

  constructor(private readonly from: Source) {}

  /** Looks what fits at the cursor. */
  async offer(): Promise<void> {
    this.trigger = triggerAt(this.from.text(), this.from.area()?.selectionStart ?? this.from.text().length);
    this.asking += 1;
    const mine = this.asking;
    const { trigger } = this;
    if (trigger === undefined) {
      this.offers = [];
      return;
    }
    const found = trigger.kind === "command" ? matching((await this.from.commands()) ?? [], `/${trigger.word}`) : await this.from.files(trigger.word);
    if (mine === this.asking) {
      this.offers = found;
      this.picked = 0;
    }
  }

  async take(chosen: Completion): Promise<void> {
    const area = this.from.area();
    if (this.trigger === undefined || area === null) {
      return;
    }
    const done = complete(this.from.text(), area.selectionStart, this.trigger, chosen);
    this.from.write(done.text);
    await tick();
    area.setSelectionRange(done.cursor, done.cursor);
    area.focus();
    await this.offer();
  }

  /** Whether a key was for what is offered. */
  press(event: KeyboardEvent): boolean {
    const isFor = this.offers.length > 0 && this.handle(event);
    if (isFor) {
      event.preventDefault();
    }
    return isFor;
  }

  /** The same for a key that was pressed in the list itself: who presses it goes on in the editor. */
  pressInList(event: KeyboardEvent): void {
    if (this.press(event)) {
      this.from.area()?.focus();
    }
  }

  private handle(event: KeyboardEvent): boolean {
    if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) {
      return false; // With another key each has a meaning of its own.
    }
    const { offers, trigger } = this;
    const chosen = offers[this.picked];
    switch (event.key) {
      case "ArrowDown":
        this.picked = (this.picked + 1) % offers.length;
        return true;
      case "ArrowUp":
        this.picked = (this.picked + offers.length - 1) % offers.length;
        return true;
      case "Tab":
        if (chosen !== undefined) {
          void this.take(chosen);
        }
        return true;
      case "Enter":
        // What stands there in full is meant; everything else is completed first.
        if (chosen === undefined || trigger === undefined || chosen.insert === this.from.text().slice(trigger.from, this.from.area()?.selectionStart)) {
          this.offers = [];
          return false;
        }
        void this.take(chosen);
        return true;
      case "Escape":
        this.offers = [];
        event.stopPropagation();
        return true;
      default:
        return false;
    }
  }

  /** What was asked for this text comes too late. */
  end(): void {
    this.offers = [];
    this.asking += 1;
    this.trigger = undefined;
  }

  /** Unless the focus goes from the editor to its offers or back. */
  endSoon(): void {
    setTimeout(() => {
      if (document.activeElement !== this.from.area() && document.activeElement?.id !== "offers") {
        this.offers = [];
      }
    }, PAUSE_MS);
  }
}
