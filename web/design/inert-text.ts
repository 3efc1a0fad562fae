/*
 * Text of models, tools and repositories, made safe to look at. The page writes text nodes only, so markup is inert anyway; this makes the
 * characters visible that change how other text looks: control characters (terminal escapes), bidirectional marks (spoofed order) and
 * characters without width (hidden text).
 */

const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject here.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu

/** The text with control, bidirectional and invisible characters replaced by visible ones. With `limit`, cut to that many characters. */
export function inertText(text: string, limit = Number.POSITIVE_INFINITY): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text
  return cut.replaceAll('\r\n', '\n').replace(INVISIBLE, visibleForm)
}

/** The same on one line, for titles and labels. */
export function inertLine(text: string, limit = 400): string {
  return inertText(text.slice(0, limit + 1), limit).replace(/[\s\n\t]+/g, ' ')
}

function visibleForm(character: string): string {
  const code = character.codePointAt(0) ?? 0
  // The control pictures of Unicode: U+2400 to U+2421.
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, '0')}\u27e9`
}
