/** The hit that is shown of a search in the conversation: what is folded around it is open as long as it is shown. */
import type { Hit } from "./find";

class Found {
  now = $state.raw<Hit | undefined>();

  isAt(row: number, part: string): boolean {
    return this.now?.row === row && this.now.part === part;
  }
}

export const found = new Found();
