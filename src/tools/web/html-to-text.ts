import type { TokenizerCallbacks } from 'htmlparser2'
import { Tokenizer } from 'htmlparser2'

/*
 * Converts HTML to Markdown-like text: headings, lists, links and tables are kept, other markup is dropped.
 * Denial of service: only the tokenizer of htmlparser2 is used, a state machine that visits every character once. Its
 * parser searches the stack of open tags for every closing tag, which is quadratic on a hostile page.
 */

const DROPPED_TAGS = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe', 'object', 'select'])
const BLOCK_TAGS =
  /^(p|div|section|article|main|header|footer|nav|aside|ul|ol|table|tr|form|fieldset|figure|figcaption|blockquote|pre|dl|dt|dd|h[1-6]|hr|br|li)$/

/** The title and the text of a page. Relative links are resolved against `baseUrl`. */
export function htmlToText(html: string, baseUrl: string): { title: string; text: string } {
  const converter = new Converter(html, baseUrl)
  const tokenizer = new Tokenizer({}, converter)
  tokenizer.write(html)
  tokenizer.end()
  return { title: collapseSpaces(converter.title).trim(), text: collapseBlankLines(converter.parts.join('')) }
}

class Converter implements TokenizerCallbacks {
  title = ''
  /** Joined once: removing the end of a growing string would copy it each time. */
  readonly parts: string[] = []
  readonly #html: string
  readonly #baseUrl: string
  /** The element whose content is dropped, until its closing tag. */
  #dropped: string | undefined
  #isTitle = false
  #tag = ''
  #attribute = ''
  #attributes: Record<string, string> = {}
  /** The targets of the open links; empty for a link that is not shown. */
  readonly #links: string[] = []
  /** The number of parts before the text of the innermost link. */
  #linkStart = 0

  constructor(html: string, baseUrl: string) {
    this.#html = html
    this.#baseUrl = baseUrl
  }

  ontext(start: number, end: number): void {
    this.#addText(this.#html.slice(start, end))
  }

  ontextentity(codePoint: number): void {
    this.#addText(String.fromCodePoint(codePoint))
  }

  onopentagname(start: number, end: number): void {
    this.#tag = this.#html.slice(start, end).toLowerCase()
    this.#attributes = {}
  }

  onattribname(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase()
    // Only the first of several equal attributes counts, as in browsers.
    this.#attribute = Object.hasOwn(this.#attributes, name) ? '' : name
  }

  onattribdata(start: number, end: number): void {
    this.#addAttributeText(this.#html.slice(start, end))
  }

  onattribentity(codePoint: number): void {
    this.#addAttributeText(String.fromCodePoint(codePoint))
  }

  onopentagend(): void {
    // The closing tag of `head` is optional.
    if (this.#tag === 'body' && this.#dropped === 'head') this.#dropped = undefined
    if (this.#tag === 'title') this.#isTitle = this.title === ''
    else if (this.#dropped === undefined && DROPPED_TAGS.has(this.#tag)) this.#dropped = this.#tag
    else if (this.#dropped === undefined) this.#openTag(this.#tag)
  }

  onselfclosingtag(): void {
    if (!DROPPED_TAGS.has(this.#tag)) this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    const name = this.#html.slice(start, end).toLowerCase()
    this.#isTitle = false
    if (this.#dropped === undefined) this.#closeTag(name)
    else if (this.#dropped === name) this.#dropped = undefined
  }

  onattribend(): void {}
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}
  onend(): void {}

  #addText(text: string): void {
    if (this.#isTitle) this.title += text
    else if (this.#dropped === undefined) this.parts.push(collapseSpaces(text))
  }

  #addAttributeText(text: string): void {
    if (this.#attribute !== 'href' && this.#attribute !== 'alt') return
    this.#attributes[this.#attribute] = (this.#attributes[this.#attribute] ?? '') + text
  }

  #openTag(name: string): void {
    const heading = /^h([1-6])$/.exec(name)
    if (name === 'a') this.#openLink()
    else if (name === 'code' || name === 'kbd') this.parts.push('`')
    else if (name === 'li') this.parts.push('\n- ')
    else if (name === 'img') this.parts.push(formatAlt(this.#attributes.alt))
    else if (heading) this.parts.push(`\n\n${'#'.repeat(Number(heading[1]))} `)
    else this.parts.push(blockBreak(name))
  }

  #closeTag(name: string): void {
    if (name === 'a') this.#closeLink()
    else if (name === 'td' || name === 'th') this.parts.push(' | ')
    else if (name === 'code' || name === 'kbd') this.parts.push('`')
    else this.parts.push(blockBreak(name))
  }

  #openLink(): void {
    const href = this.#attributes.href ?? ''
    const url = href === '' || href.startsWith('#') ? null : URL.parse(href, this.#baseUrl)
    const target = url && /^https?:$/.test(url.protocol) ? url.href : ''
    this.#links.push(target)
    if (target !== '') this.parts.push('[')
    this.#linkStart = this.parts.length
  }

  #closeLink(): void {
    const target = this.#links.pop() ?? ''
    if (target === '') return
    // A link without text, such as one around an icon, is dropped.
    if (this.parts.length === this.#linkStart) this.parts.pop()
    else this.parts.push(`](${target})`)
  }
}

function blockBreak(name: string): string {
  if (!BLOCK_TAGS.test(name)) return ''
  return name === 'br' || name === 'tr' || name === 'li' ? '\n' : '\n\n'
}

function formatAlt(alt = ''): string {
  return alt.trim() === '' ? '' : `[image: ${alt.trim()}]`
}

function collapseSpaces(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function collapseBlankLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
