import type { PanelBlock, PanelMessage } from '../../src/views/panel.ts'

/** The content of a block as plain text for the clipboard; what has no plain form is copied as JSON. */
export function copyText(block: PanelBlock): string {
  switch (block.kind) {
    case 'text':
    case 'code':
      return block.text
    case 'diff':
      return block.diff
    case 'facts':
      return block.facts.map(({ label, value }) => `${label}\t${value ?? ''}`).join('\n')
    case 'table': {
      const head = block.columns.map(({ title }) => title).join('\t')
      const rows = block.rows.map((row) => block.columns.map(({ key }) => row[key] ?? '').join('\t'))
      return [head, ...rows].join('\n')
    }
    case 'messages':
      return block.messages.map(messageText).join('\n\n')
    case 'json':
      return JSON.stringify(block.value, null, 2) ?? ''
    default:
      return JSON.stringify(block, null, 2)
  }
}

export function messageText({ role, parts }: PanelMessage): string {
  const texts = parts.map(({ kind, name, text }) =>
    kind === 'text' ? text : `[${[kind, name].join(' ').trim()}] ${text}`,
  )
  return `${role}:\n${texts.join('\n')}`
}
