/**
 * A session that another program has open, such as pi in a terminal. Its files are read, and looked at again and again for what that program
 * adds to them. Nothing can be said to it, and what is not in the files yet is not seen: an answer comes when it is whole.
 */
import { type CommandName, type CommandOf, PiError, type SuccessResponse } from "pi-client";
import type { Asks } from "../link/link.svelte";
import { reasonOf } from "./download";

/** How the files are; see `GET /look`. */
interface Sight {
  length: number;
  envelopesLength: number;
  /** The process that has it open, where the server can tell. */
  heldBy?: number;
}

const PAUSE_MS = 1000;

export class Look implements Asks {
  sight = $state.raw<Sight | undefined>();
  /** Whether it was told once who has it open: from then on nobody's name means that nobody has. */
  private isTold = $state.raw(false);
  /** Whether the other program has let it go, as far as that can be known. */
  readonly isFree = $derived(this.isTold && this.sight !== undefined && this.sight.heldBy === undefined);
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isOver = false;
  private readonly seen = () => {
    if (document.visibilityState === "visible" && this.timer !== undefined) {
      clearTimeout(this.timer);
      void this.follow();
    }
  };

  constructor(
    readonly file: string,
    /** Something was added. */
    private readonly changed: () => void,
  ) {}

  /** Begins to follow the files; rejects if they cannot be looked at. */
  async begin(): Promise<void> {
    await this.look();
    document.addEventListener("visibilitychange", this.seen);
    this.wait();
  }

  end(): void {
    this.isOver = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
  }

  /** Asks the files something that one would ask the session. */
  async request<Name extends CommandName>(command: CommandOf<Name> & { type: Name }): Promise<SuccessResponse<Name>> {
    const answer = await fetch(this.address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(command) });
    if (!answer.ok) {
      throw new Error(await reasonOf(answer));
    }
    const response = (await answer.json()) as { success: boolean };
    if (!response.success) {
      throw new PiError(response as ConstructorParameters<typeof PiError>[0]);
    }
    return response as SuccessResponse<Name>;
  }

  private get address(): string {
    return `/look?${new URLSearchParams({ file: this.file }).toString()}`;
  }

  private async look(): Promise<void> {
    const answer = await fetch(this.address);
    if (!answer.ok) {
      throw new Error(await reasonOf(answer));
    }
    const before = this.sight;
    const now = (await answer.json()) as Sight;
    if (this.isOver) {
      return;
    }
    this.sight = now;
    this.isTold ||= now.heldBy !== undefined;
    if (before !== undefined && (before.length !== now.length || before.envelopesLength !== now.envelopesLength)) {
      this.changed();
    }
  }

  private async follow(): Promise<void> {
    this.timer = undefined;
    await this.look().catch(() => undefined); // A server that is away is told of elsewhere; the next look may reach it.
    this.wait();
  }

  private wait(): void {
    if (!this.isOver) {
      this.timer = setTimeout(() => void (document.visibilityState === "visible" ? this.follow() : this.wait()), PAUSE_MS);
    }
  }
}
