// `util.parseArgs`.

const fail = (code, message) => { throw Object.assign(new TypeError(message), { code }); };

export function parseArgs(config = {}) {
  const strict = config.strict ?? true;
  const allowPositionals = config.allowPositionals ?? !strict;
  const options = config.options ?? {};
  const args = [...(config.args ?? [])];
  const values = Object.create(null);
  const positionals = [];
  const tokens = [];
  const byShort = Object.fromEntries(Object.entries(options).filter(([, option]) => option.short).map(([name, option]) => [option.short, name]));

  const store = (name, raw, value, index, inlineValue) => {
    const option = options[name];
    if (strict) checkOption(name, raw, option, value, allowPositionals);
    const token = { kind: "option", name, rawName: raw, index, value: undefined, inlineValue: undefined };
    if (value !== undefined) Object.assign(token, { value, inlineValue });
    tokens.push(token);
    const stored = value ?? !raw.startsWith("--no-") ?? true;
    if (option?.multiple) (values[name] ??= []).push(stored);
    else values[name] = stored;
  };

  for (let index = 0; index < args.length; index++) {
    const arg = args[index];
    if (arg === "--") {
      tokens.push({ kind: "option-terminator", index });
      for (const [more, value] of args.slice(index + 1).entries()) positional(value, index + 1 + more);
      break;
    }
    if (/^--[^=]+=/.test(arg)) {
      const at = arg.indexOf("=");
      store(arg.slice(2, at), arg.slice(0, at), arg.slice(at + 1), index, true);
    } else if (arg.startsWith("--") && arg.length > 2) {
      let name = arg.slice(2);
      const start = index;
      if (config.allowNegative && name.startsWith("no-") && !options[name]) name = name.slice(3);
      const takes = options[name]?.type === "string" && args[index + 1] !== undefined;
      store(name, arg, takes ? args[++index] : undefined, start, takes ? false : undefined);
    } else if (/^-[^-]/.test(arg)) {
      index = shortOptions(arg, index);
    } else positional(arg, index);
  }

  function shortOptions(arg, index) {
    for (let at = 1; at < arg.length; at++) {
      const name = byShort[arg[at]] ?? arg[at];
      const rest = arg.slice(at + 1);
      if (options[name]?.type === "string") {
        if (rest !== "") store(name, `-${arg[at]}`, rest, index, true);
        else {
          const value = args[index + 1];
          store(name, `-${arg[at]}`, value, index, value === undefined ? undefined : false);
          return value === undefined ? index : index + 1;
        }
        return index;
      }
      store(name, `-${arg[at]}`, undefined, index);
    }
    return index;
  }

  function positional(value, index) {
    if (!allowPositionals) fail("ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${value}'. This command does not take positional arguments`);
    positionals.push(value);
    tokens.push({ kind: "positional", index, value });
  }

  for (const [name, option] of Object.entries(options)) if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  return config.tokens ? { values, positionals, tokens } : { values, positionals };
}

function checkOption(name, raw, option, value, allowPositionals) {
  if (!option) {
    const hint = allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(raw)}` : "";
    fail("ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${raw}'${hint}`);
  }
  const shown = option.short ? `-${option.short}, --${name}` : `--${name}`;
  if (option.type === "string" && typeof value !== "string") fail("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${shown} <value>' argument missing`);
  if (option.type === "boolean" && value !== undefined) fail("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${shown}' does not take an argument`);
}
