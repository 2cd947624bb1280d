/** What any command may carry beside its payload. */
export interface CommandHead {
  /** Unique per intent. Needed for `dependsOn` and for replay. */
  id?: string;
  /** Commands of this client that must have succeeded first. */
  dependsOn?: string[];
  /** The same command under the same key runs once. */
  idempotencyKey?: string;
}

export interface VersionedHead extends CommandHead {
  /** The command fails unless the session has this version. */
  ifSessionVersion?: number;
}
