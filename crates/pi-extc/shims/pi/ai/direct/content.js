// Content of messages, as every dialect wants it.

const blocksOf = ({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []));

/** Its texts, one to a line, without half characters that no provider takes. */
export const textOf = (message) => blocksOf(message).filter(({ type }) => type === "text").map(({ text }) => whole(text)).join("\n");

export const imagesOf = (message) => blocksOf(message).filter(({ type }) => type === "image");

/** Whether a message was said by this very model: only then does it take back what it signed. */
export const isSaidBy = (model, message) => message.provider === model.provider && message.model === model.id && message.api === model.api;

export const whole = (text) => String(text).replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "");
