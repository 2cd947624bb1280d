// Fuzzy search: the letters of the query in their order; lower scores are better.

export function fuzzyMatch(query, text) {
  const plain = score(query.toLowerCase(), text.toLowerCase());
  if (plain.matches) return plain;
  // "codex52" also finds "52 codex": letters and digits in the other order.
  const swapped = /^([a-z]+)(\d+)$/.exec(query.toLowerCase()) ?? /^(\d+)([a-z]+)$/.exec(query.toLowerCase());
  if (!swapped) return plain;
  const other = score(swapped[2] + swapped[1], text.toLowerCase());
  return other.matches ? { matches: true, score: other.score + 5 } : plain;
}

function score(query, text) {
  if (query === "") return { matches: true, score: 0 };
  if (query.length > text.length) return { matches: false, score: 0 };
  let [at, total, last, run] = [0, 0, -1, 0];
  for (let i = 0; i < text.length && at < query.length; i++) {
    if (text[i] !== query[at]) continue;
    if (last === i - 1) total -= 5 * ++run;
    else {
      run = 0;
      if (last >= 0) total += 2 * (i - last - 1);
    }
    if (i === 0 || /[\s\-_./:]/.test(text[i - 1])) total -= 10;
    total += i * 0.1;
    last = i;
    at++;
  }
  return at < query.length ? { matches: false, score: 0 } : { matches: true, score: total };
}

/** Items that every word of the query finds, best first. */
export function fuzzyFilter(items, query, getText) {
  const words = query.trim().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return items;
  const found = [];
  for (const item of items) {
    const text = getText(item);
    const all = words.map((word) => fuzzyMatch(word, text));
    if (all.every(({ matches }) => matches)) found.push({ item, total: all.reduce((sum, own) => sum + own.score, 0) });
  }
  return found.sort((one, other) => one.total - other.total).map(({ item }) => item);
}
