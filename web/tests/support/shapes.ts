/** Texts that are one open block until they end, as a model may write them. */
function numbered(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join("");
}

export const SHAPES = {
  list: numbered(3000, (index) => `- item ${index} of *many*\n`),
  table: `| number | words |\n|--:|---|\n${numbered(2000, (index) => `| **${index}** | row of a table |\n`)}`,
  fence: `\`\`\`ts\n${numbered(5000, (index) => `const x${index} = "y";\n`)}`,
  nested: `- a\n  - b\n    - c\n      - d\n${numbered(3000, (index) => `        - deep item ${index}\n`)}`,
  paragraph: numbered(1000, (index) => `*some* words, **${index}** and \`more\` `),
} as const;

/** A shape as a burst of deltas: most of it at once, and the end of it in small pieces, which come for as long as somebody types. */
export function burst(text: string, count: number): string[] {
  const begun = Math.floor(text.length * 0.75);
  return [...cut(text.slice(0, begun), 200), ...cut(text.slice(begun), Math.ceil((text.length - begun) / count))];
}

function cut(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
}
