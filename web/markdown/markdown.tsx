import type { ReactNode } from 'react'
import { useMemo } from 'react'
import { LongText } from '../blocks/long-text.tsx'
import { inertText } from '../design/inert-text.ts'
import { ScrollArea } from '../design/scroll-area.tsx'
import type { Inline } from './parse-inline.ts'
import type { MarkdownBlock, TableCell } from './parse-markdown.ts'
import { parseMarkdown } from './parse-markdown.ts'

/** Longer texts are shown as they are. */
const MAX_CHARS = 100_000

/** The words of an agent, formatted. Elements and text nodes only: HTML in it is text, images and links are never loaded or followed. */
export function Markdown({ text }: { text: string }): ReactNode {
  const blocks = useMemo(() => (text.length > MAX_CHARS ? null : parseMarkdown(text)), [text])
  if (!blocks)
    return (
      <p className="text">
        <LongText text={text} />
      </p>
    )
  return <div className="markdown">{renderBlocks(blocks)}</div>
}

/* Positions are the keys: the text is parsed as a whole, and nothing in it keeps state. */

function renderBlocks(blocks: readonly MarkdownBlock[]): ReactNode[] {
  return blocks.map((block, index) => renderBlock(block, index))
}

function renderBlock(block: MarkdownBlock, key: number): ReactNode {
  switch (block.kind) {
    case 'heading':
      // Not a heading of the page: an agent must not change its outline.
      return (
        <p key={key} className={`markdown-heading markdown-heading-${Math.min(block.level, 3)}`}>
          {renderInline(block.text)}
        </p>
      )
    case 'paragraph':
      return <p key={key}>{renderInline(block.text)}</p>
    case 'code':
      return (
        <pre key={key} className="code">
          <LongText text={block.text} />
        </pre>
      )
    case 'quote':
      return <blockquote key={key}>{renderBlocks(block.blocks)}</blockquote>
    case 'list':
      return <MarkdownList key={key} list={block} />
    case 'table':
      return <MarkdownTable key={key} table={block} />
    default:
      return <hr key={key} />
  }
}

function MarkdownList({ list: { start, items } }: { list: Extract<MarkdownBlock, { kind: 'list' }> }): ReactNode {
  const entries = items.map(({ checked, blocks }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the list is parsed as a whole, and its entries keep no state.
    <li key={index} className={checked === null ? undefined : 'markdown-check'}>
      {checked === null ? null : <span className="markdown-box">{checked ? '☑ ' : '☐ '}</span>}
      {renderBlocks(blocks)}
    </li>
  ))
  return start === null ? <ul>{entries}</ul> : <ol start={start}>{entries}</ol>
}

function MarkdownTable({ table: { head, rows } }: { table: Extract<MarkdownBlock, { kind: 'table' }> }): ReactNode {
  return (
    <ScrollArea label="Table">
      <table className="table">
        <thead>
          <tr>{renderCells(head, 'th')}</tr>
        </thead>
        <tbody>
          {rows.map((cells, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the table is parsed as a whole, and its rows keep no state.
            <tr key={index}>{renderCells(cells, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

function renderCells(cells: readonly TableCell[], Cell: 'th' | 'td'): ReactNode[] {
  return cells.map(({ text, align }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the table is parsed as a whole, and its cells keep no state.
    <Cell key={index} className={align === 'right' ? 'right' : undefined}>
      {renderInline(text)}
    </Cell>
  ))
}

function renderInline(parts: readonly Inline[]): ReactNode[] {
  return parts.map((part, key) => {
    switch (part.kind) {
      case 'text':
        return inertText(part.text)
      case 'code':
        // biome-ignore lint/suspicious/noArrayIndexKey: the text is parsed as a whole, and its parts keep no state.
        return <code key={key}>{inertText(part.text)}</code>
      case 'strong':
        // biome-ignore lint/suspicious/noArrayIndexKey: as above.
        return <strong key={key}>{renderInline(part.children)}</strong>
      case 'emphasis':
        // biome-ignore lint/suspicious/noArrayIndexKey: as above.
        return <em key={key}>{renderInline(part.children)}</em>
      case 'deleted':
        // biome-ignore lint/suspicious/noArrayIndexKey: as above.
        return <s key={key}>{renderInline(part.children)}</s>
      default:
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above.
          <span key={key} className="markdown-link">
            {part.kind === 'image' ? 'image: ' : ''}
            {renderInline(part.children)} <span className="markdown-address">({inertText(part.address)})</span>
          </span>
        )
    }
  })
}
