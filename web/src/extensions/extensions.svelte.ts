/** The extensions of a session, or of all that are awake, as the server tells them. */
import type { ListedExtension, PiClient, ServerEvent } from "pi-client";
import { type Trouble, trouble } from "../link/link.svelte";

/** What they did is counted while they work: it is read again so often. */
const FRESH_MS = 3000;

export class Extensions {
  all = $state.raw<readonly ListedExtension[]>([]);
  /** Each with a name of its own: one id may be found in two places, and none of them need have a path. */
  readonly rows = $derived.by(() => {
    const seen = new Map<string, number>();
    return this.all.map((extension) => {
      const place = `${extension.extensionId}\0${extension.path ?? ""}`;
      const count = (seen.get(place) ?? 0) + 1;
      seen.set(place, count);
      return { key: `${place}\0${count}`, extension };
    });
  });
  isRead = $state.raw(false);
  problem = $state.raw<Trouble | undefined>();
  /** Those that are being switched or loaded; all of them if the set holds the empty name. */
  busy = $state.raw<ReadonlySet<string>>(new Set());
  private readonly stop: () => void;
  private readonly clock: ReturnType<typeof setInterval>;
  /** Counts readings, so that a late answer does not undo a newer one. */
  private reading = 0;

  constructor(
    private readonly client: PiClient,
    private readonly session: string | undefined,
  ) {
    this.stop = client.onEvent((event: ServerEvent) => {
      if (event.type === "extensions_changed") {
        void this.read();
      }
    });
    this.clock = setInterval(() => void this.read(), FRESH_MS);
    void this.read();
  }

  close(): void {
    this.stop();
    clearInterval(this.clock);
  }

  /** Switches one for all sessions. Resolves to how it stands then. */
  switch(id: string, isOn: boolean): Promise<ListedExtension | undefined> {
    return this.work(id, async () => {
      const type = isOn ? "enable_extension" : "disable_extension";
      const { data } = await this.client.request({ type, extensionId: id });
      return data.extension;
    });
  }

  /** Reads one again from the disk, or all, and finds what is new. Resolves to how many those are. */
  reload(id?: string): Promise<number | undefined> {
    return this.work(id ?? "", async () => {
      const { data } = await this.client.request({ type: "reload_extensions", ...(id !== undefined && { extensionId: id }) });
      return data.extensions.length;
    });
  }

  private async read(): Promise<void> {
    this.reading += 1;
    const reading = this.reading;
    try {
      const { data } = await this.client.request({ type: "list_extensions", ...(this.session !== undefined && { sessionId: this.session }) });
      if (reading === this.reading) {
        this.all = [...data.extensions].sort((one, other) => one.name.localeCompare(other.name) || one.extensionId.localeCompare(other.extensionId) || (one.path ?? "").localeCompare(other.path ?? ""));
        this.isRead = true;
      }
    } catch (error) {
      if (reading === this.reading && !this.isRead) {
        this.problem = trouble(error);
        this.isRead = true;
      }
    }
  }

  private async work<T>(name: string, act: () => Promise<T>): Promise<T | undefined> {
    this.problem = undefined;
    this.busy = new Set([...this.busy, name]);
    try {
      return await act();
    } catch (error) {
      this.problem = trouble(error);
      return undefined;
    } finally {
      this.busy = new Set([...this.busy].filter((one) => one !== name));
      await this.read();
    }
  }
}
