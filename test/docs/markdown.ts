export type MarkdownFile = { path: string; source: string }

/** `line` is the line of the opening fence, counted from 1. */
export type CodeBlock = { path: string; line: number; language: string; flags: string[]; body: string }

export function codeBlocks({ path, source }: MarkdownFile): CodeBlock[] {
  const blocks: CodeBlock[] = []
  let open: { block: CodeBlock; fence: string; indent: string; lines: string[] } | undefined
  for (const [index, line] of source.split('\n').entries()) {
    const [, indent = '', fence = '', info = ''] = /^(\s*)(`{3,}|~{3,})\s*(.*)$/.exec(line) ?? []
    if (!open && fence) {
      const [language = '', ...flags] = info.trim().split(/\s+/)
      open = { block: { path, line: index + 1, language, flags, body: '' }, fence, indent, lines: [] }
    } else if (open && fence.startsWith(open.fence) && info.trim() === '') {
      blocks.push({ ...open.block, body: open.lines.map((text) => `${text}\n`).join('') })
      open = undefined
    } else if (open) {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
    }
  }
  if (open) throw new Error(`${path}:${open.block.line} opens a code block without an end`)
  return blocks
}

/** Targets of relative links and images, without anchors. */
export function relativeLinks(file: MarkdownFile): { target: string; line: number }[] {
  return blankCode(file.source)
    .split('\n')
    .flatMap((line, index) => {
      const inline = [...line.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)]
      const references = [...line.matchAll(/^\s*\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)/g)]
      return [...inline, ...references].map(([, target = '']) => ({ target, line: index + 1 }))
    })
    .filter(({ target }) => !/^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(target))
    .map(({ target, line }) => ({ target: decodeURIComponent(target.replace(/[#?].*$/, '')), line }))
}

/** Blanks code blocks and code spans and keeps the line numbers. */
function blankCode(source: string): string {
  let fence: string | undefined
  const lines = source.split('\n').map((line) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
    const toggles = mark !== undefined && (fence === undefined || mark.startsWith(fence))
    if (toggles) fence = fence === undefined ? mark : undefined
    return toggles || fence !== undefined ? '' : line.replace(/`[^`]*`/g, '')
  })
  return lines.join('\n')
}
