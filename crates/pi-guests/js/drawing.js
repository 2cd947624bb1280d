// Components that an extension draws: their lines go to whoever is there, and keys come back.
import host, { describe, request } from "pi:host";
import { theme } from "pi:api/theme";
import { withoutEffect } from "pi:api/ui";

const open = new Map();

// What a component has of the terminal that it is drawn in.
function screen(native, id, render) {
  return {
    get terminal() {
      const [columns, rows] = native.sizeOf(id);
      return { columns, rows, write: () => undefined, hideCursor: () => undefined, showCursor: () => undefined };
    },
    requestRender: render,
    setFocus: () => undefined,
    addChild: () => undefined,
    removeChild: () => undefined,
    invalidate: render,
    showOverlay: () => ({ hide: () => undefined, setHidden: () => undefined, isHidden: () => true }),
    hideOverlay: () => undefined,
    hasOverlay: () => false,
    addInputListener: () => () => undefined,
    start: () => undefined,
    stop: () => undefined,
  };
}

// A footer asks whenever it is drawn: what the host told counts for so many milliseconds.
const FRESH = 2000;
function fresh(read) {
  let [answer, since] = [undefined, -Infinity];
  return () => {
    const now = host.monotonic();
    if (now - since >= FRESH) [answer, since] = [read(), now];
    return answer;
  };
}

const orNothing = (method, params) => {
  try {
    return host.callSync(method, params);
  } catch {
    return undefined;
  }
};

// The branch of the repository in which the folder of the session lies; "detached" without one.
const gitBranch = () => orNothing("session", { op: "get_git_branch" })?.branch ?? null;

const providerCount = () => new Set((orNothing("session", { op: "get_models" })?.models ?? []).filter(({ is_usable }) => is_usable).map(({ provider }) => provider)).size;

/** How components are drawn, over the native functions; `statuses` are those that the extension shows. */
export function drawn(native, statuses) {
  // What a footer may know beside its theme.
  const footer = {
    getGitBranch: fresh(gitBranch),
    getExtensionStatuses: () => new Map(statuses),
    getAvailableProviderCount: fresh(providerCount),
    onBranchChange() {
      withoutEffect("footerData.onBranchChange");
      return () => undefined;
    },
  };
  const fail = (thrown) => native.uncaught(describe(thrown));

  // Asks for room, has the factory make a component, and shows it until it is taken away.
  async function show(kind, key, below, make, onGone) {
    const id = await request((call) => native.draw(call, kind, key, below));
    if (id === null || id === undefined) return undefined;
    let component;
    let isAsked = false;
    let isHidden = false;
    const render = () => {
      if (isAsked || component === undefined) return;
      isAsked = true;
      // Many requests in one turn are one frame.
      Promise.resolve().then(() => {
        isAsked = false;
        if (!open.has(id)) return;
        try {
          native.frame(id, isHidden ? [] : Array.from(component.render(native.sizeOf(id)[0]), String));
        } catch (thrown) {
          fail(thrown);
        }
      });
    };
    const close = () => {
      if (!open.delete(id)) return;
      native.undraw(id);
      try {
        component?.dispose?.();
      } catch (thrown) {
        fail(thrown);
      }
    };
    open.set(id, {
      key(data) {
        component?.handleInput?.(data);
        render();
      },
      resized() {
        component?.invalidate?.();
        render();
      },
      taken() {
        close();
        onGone?.();
      },
    });
    component = await make(screen(native, id, render), close);
    if (component === undefined || component === null) return close();
    render();
    const hide = (hidden) => {
      isHidden = hidden === true;
      render();
    };
    return { close, render, hide };
  }

  const widgets = new Map();
  const settle = (slot, made) => {
    made.then(
      (shown) => {
        if (widgets.get(slot) === made) return;
        shown?.close();
      },
      (thrown) => fail(thrown),
    );
  };
  const put = (slot, kind, key, below, factory) => {
    const before = widgets.get(slot);
    widgets.delete(slot);
    if (before) settle(slot, before);
    if (typeof factory !== "function") return;
    const made = show(kind, key, below, async (tui) => factory(tui, theme, footer));
    widgets.set(slot, made);
    made.catch(fail);
  };

  return {
    custom(factory, options) {
      return new Promise((resolve, reject) => {
        let end = () => undefined;
        let isOver = false;
        const done = (value) => {
          isOver = true;
          end();
          resolve(value);
        };
        const make = (tui, close) => {
          end = close;
          return factory(tui, theme, host.load("pi:shim/pi/tui/bindings").getKeybindings(), done);
        };
        show(options?.overlay ? "overlay" : "editor", "", false, make, () => resolve(undefined)).then((shown) => {
          if (shown === undefined && !isOver) resolve(undefined);
          if (isOver) shown?.close();
          else options?.onHandle?.(handleOf(end, shown));
        }, (fault) => (fault?.name === "HostFault" ? resolve(undefined) : reject(fault)));
      });
    },
    widget: (key, factory, below) => put(`widget ${key}`, "widget", String(key), below === true, factory),
    chrome: (kind, factory) => put(kind, kind, "", false, factory),
  };
}

// What whoever drew an overlay may do with it. Keys go to the one that is shown, so the focus is only remembered.
function handleOf(hide, shown) {
  let [isHidden, isFocused] = [false, true];
  return {
    hide,
    setHidden(hidden) {
      isHidden = hidden === true;
      shown?.hide(isHidden);
    },
    isHidden: () => isHidden,
    focus: () => void (isFocused = true),
    unfocus: () => void (isFocused = false),
    isFocused: () => isFocused && !isHidden,
    getBounds: () => undefined,
  };
}

/** Called by the event loop. */
export const canvas = {
  key: (id, data) => open.get(id)?.key(data),
  resized: (id) => open.get(id)?.resized(),
  taken: (id) => open.get(id)?.taken(),
};
