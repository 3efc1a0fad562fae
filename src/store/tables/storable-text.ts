/** Databases reject or mangle lone surrogates and U+0000 in text. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
