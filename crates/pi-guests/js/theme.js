// The colours that components draw with. The client decides what they look like in the end.

const FG = {
  accent: 36, border: 90, borderAccent: 36, borderMuted: 90, success: 32, error: 31, warning: 33, muted: 90, dim: 90, text: 39,
  thinkingText: 90, userMessageText: 39, customMessageText: 39, customMessageLabel: 35, toolTitle: 39, toolOutput: 90, mdHeading: 33,
  mdLink: 34, mdLinkUrl: 90, mdCode: 36, mdCodeBlock: 32, mdCodeBlockBorder: 90, mdQuote: 90, mdQuoteBorder: 90, mdHr: 90,
  mdListBullet: 36, toolDiffAdded: 32, toolDiffRemoved: 31, toolDiffContext: 90, syntaxComment: 90, syntaxKeyword: 35,
  syntaxFunction: 34, syntaxVariable: 36, syntaxString: 32, syntaxNumber: 33, syntaxType: 36, syntaxOperator: 39,
  syntaxPunctuation: 39, thinkingOff: 90, thinkingMinimal: 90, thinkingLow: 34, thinkingMedium: 36, thinkingHigh: 35,
  thinkingXhigh: 31, bashMode: 33,
};
const BG = { selectedBg: 100, userMessageBg: 49, customMessageBg: 49, toolPendingBg: 49, toolSuccessBg: 49, toolErrorBg: 49 };

const wrap = (on, off) => (text) => `\u001b[${on}m${text}\u001b[${off}m`;
const colour = (codes, token) => {
  const code = codes[token];
  if (code === undefined) throw new Error(`Unknown theme color: ${token}`);
  return code;
};

export const theme = {
  name: "dark",
  sourcePath: undefined,
  fg: (token, text) => wrap(colour(FG, token), 39)(text),
  bg: (token, text) => wrap(colour(BG, token), 49)(text),
  bold: wrap(1, 22),
  italic: wrap(3, 23),
  underline: wrap(4, 24),
  inverse: wrap(7, 27),
  strikethrough: wrap(9, 29),
  getFgAnsi: (token) => `\u001b[${colour(FG, token)}m`,
  getBgAnsi: (token) => `\u001b[${colour(BG, token)}m`,
  getColorMode: () => "256color",
  getThinkingBorderColor: (level) => (text) => theme.fg(`thinking${level[0].toUpperCase()}${level.slice(1)}`, text),
  getBashModeBorderColor: () => (text) => theme.fg("bashMode", text),
};
