/* Converts HTML to Markdown-like text: headings, lists, links and tables are kept, other markup is dropped. */

const DROPPED_TAGS = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe', 'object', 'select'])
const BLOCK_TAGS =
  /^(p|div|section|article|main|header|footer|nav|aside|ul|ol|table|tr|form|fieldset|figure|figcaption|blockquote|pre|dl|dt|dd|h[1-6]|hr|br|li)$/
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  times: '×',
  rarr: '→',
  larr: '←',
}

/** The title and the text of a page. Relative links are resolved against `baseUrl`. */
export function htmlToText(html: string, baseUrl: string): { title: string; text: string } {
  const title = decodeEntities(/<title[^>]*>([^<]*)/i.exec(html.slice(0, 100_000))?.[1] ?? '').trim()
  let text = ''
  const links: string[] = []
  for (const token of tokenizeHtml(html)) {
    if (token.kind === 'text') text += decodeEntities(token.text).replace(/\s+/g, ' ')
    else text += renderTag(token, links, baseUrl)
  }
  return { title, text: collapseBlankLines(text) }
}

type HtmlToken = { kind: 'text'; text: string } | { kind: 'tag'; name: string; closing: boolean; attributes: string }

/** Prevents quadratic run time on hostile pages: one pass, every position is visited once. */
function* tokenizeHtml(html: string): Generator<HtmlToken> {
  let index = 0
  while (index < html.length) {
    const open = html.indexOf('<', index)
    if (open === -1) {
      yield { kind: 'text', text: html.slice(index) }
      return
    }
    if (open > index) yield { kind: 'text', text: html.slice(index, open) }
    if (html.startsWith('<!--', open)) {
      const end = html.indexOf('-->', open + 4)
      index = end === -1 ? html.length : end + 3
      continue
    }
    const close = html.indexOf('>', open)
    if (close === -1) return
    const tag = /^<(\/?)([a-zA-Z][\w-]*)/.exec(html.slice(open, open + 40))
    index = close + 1
    if (!tag) continue
    const name = (tag[2] ?? '').toLowerCase()
    const closing = tag[1] === '/'
    if (!closing && DROPPED_TAGS.has(name)) {
      index = findClosingTag(html, name, index)
      continue
    }
    yield { kind: 'tag', name, closing, attributes: html.slice(open + tag[0].length, Math.min(close, open + 4000)) }
  }
}

function findClosingTag(html: string, name: string, start: number): number {
  const end = new RegExp(`</${name}\\s*>`, 'gi')
  end.lastIndex = start
  return end.exec(html) ? end.lastIndex : html.length
}

function renderTag(
  { name, closing, attributes }: Extract<HtmlToken, { kind: 'tag' }>,
  links: string[],
  baseUrl: string,
): string {
  if (name === 'a') {
    if (closing) {
      const href = links.pop()
      return href === undefined || href === '' ? '' : `](${href})`
    }
    const href = parseHref(attributes, baseUrl)
    links.push(href)
    return href === '' ? '' : '['
  }
  if (name === 'td' || name === 'th') return closing ? ' | ' : ''
  if (name === 'code' || name === 'kbd') return '`'
  if (name === 'li' && !closing) return '\n- '
  if (name === 'img') return formatAlt(attributes)
  const heading = /^h([1-6])$/.exec(name)
  if (heading && !closing) return `\n\n${'#'.repeat(Number(heading[1]))} `
  if (!BLOCK_TAGS.test(name)) return ''
  return name === 'br' || name === 'tr' || name === 'li' ? '\n' : '\n\n'
}

function parseHref(attributes: string, baseUrl: string): string {
  const raw = decodeEntities(
    /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(attributes)?.slice(1).find(Boolean) ?? '',
  )
  const url = raw === '' || raw.startsWith('#') ? null : URL.parse(raw, baseUrl)
  return url && /^https?:$/.test(url.protocol) ? url.href : ''
}

function formatAlt(attributes: string): string {
  const alt = decodeEntities(
    /\balt\s*=\s*(?:"([^"]*)"|'([^']*)')/i.exec(attributes)?.slice(1).find(Boolean) ?? '',
  ).trim()
  return alt === '' ? '' : `[image: ${alt}]`
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (entity, ...groups) => {
    const [decimal, hex, name] = groups as (string | undefined)[]
    if (name !== undefined) return ENTITIES[name] ?? entity
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })
}

function collapseBlankLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/\[\]\([^)]*\)/g, '')
    .trim()
}
