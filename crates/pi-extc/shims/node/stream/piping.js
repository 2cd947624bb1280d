// `pipe` and `unpipe` of a Readable.

export const piping = {
  pipe(target, options) {
    const state = this._readableState;
    const isStandard = target.isTTY !== undefined || target._isStdio;
    const endsToo = options?.end !== false && !isStandard;
    const onData = (chunk) => {
      if (target.write(chunk) !== false) return;
      this.pause();
    };
    const onDrain = () => this.resume();
    const onEnd = () => target.end();
    const onClose = () => this.unpipe(target);
    const onError = (problem) => {
      this.unpipe(target);
      if (target.listenerCount("error") === 0) target.destroy ? target.destroy(problem) : target.emit("error", problem);
    };
    const clean = () => {
      this.removeListener("data", onData);
      this.removeListener("end", onEnd);
      target.removeListener("drain", onDrain);
      target.removeListener("close", onClose);
      target.removeListener("finish", onClose);
      target.removeListener("error", onError);
    };
    state.pipes.push({ target, clean });
    this.on("data", onData);
    target.on("drain", onDrain);
    if (endsToo) this.readableEnded ? queueMicrotask(onEnd) : this.once("end", onEnd);
    target.once("close", onClose);
    target.prependListener("error", onError);
    target.emit("pipe", this);
    if (!state.flowing) this.resume();
    return target;
  },

  unpipe(target) {
    const state = this._readableState;
    const dropped = target ? state.pipes.filter((pipe) => pipe.target === target) : state.pipes.slice();
    state.pipes = state.pipes.filter((pipe) => !dropped.includes(pipe));
    for (const pipe of dropped) {
      pipe.clean();
      pipe.target.emit("unpipe", this, { hasUnpiped: false });
    }
    if (dropped.length > 0 && state.pipes.length === 0) this.pause();
    return this;
  },
};
