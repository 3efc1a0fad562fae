import type { ReactNode } from 'react'
import { useState } from 'react'
import type { PanelMessage } from '../../src/views/panel.ts'
import { CopyButton } from '../design/controls.tsx'
import { formatCountOf } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { messageText } from './copy-text.ts'
import { keyed } from './keyed.ts'
import { LongText } from './long-text.tsx'

/** The messages of a model request. Long system messages begin closed; the last message is always open. */
export function MessagesBlock({ messages }: { messages: readonly PanelMessage[] }): ReactNode {
  return (
    <ol className="messages">
      {keyed(messages, ({ role }) => role).map(({ key, item }, index) => (
        <Message key={key} message={item} startsOpen={index >= messages.length - 2 || messages.length <= 3} />
      ))}
    </ol>
  )
}

function Message({ message, startsOpen }: { message: PanelMessage; startsOpen: boolean }): ReactNode {
  const [open, setOpen] = useState(startsOpen)
  const size = message.parts.reduce((sum, { text }) => sum + text.length, 0)
  return (
    <li className={`message message-${message.role}`}>
      <div className="message-head">
        <button type="button" className="message-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span className="message-role">{message.role}</span>
          {!open && <span className="message-excerpt">{inertText(firstWords(message))}</span>}
          <span className="message-size number">{formatCountOf(size, 'character')}</span>
        </button>
        <CopyButton text={messageText(message)} label={`Copy the ${message.role} message`} />
      </div>
      {open &&
        keyed(message.parts, ({ kind }) => kind).map(({ key, item }) => (
          <Part key={key} part={item} role={message.role} />
        ))}
    </li>
  )
}

/** A prompt is shown as it was sent; only the words of the agent are formatted. */
function Part({ part, role }: { part: PanelMessage['parts'][number]; role: PanelMessage['role'] }): ReactNode {
  const isFormatted = role === 'assistant' && part.kind === 'text'
  const isCode = part.kind === 'call' || part.kind === 'result'
  return (
    <div className={`part part-${part.kind}`}>
      {part.kind !== 'text' && (
        <span className="part-head">
          {PART_TITLES[part.kind]} {part.name !== undefined && <code>{inertText(part.name)}</code>}
        </span>
      )}
      {isFormatted ? (
        <Markdown text={part.text} />
      ) : (
        <pre className={isCode ? 'code' : 'text'}>
          <LongText text={part.text} />
        </pre>
      )}
    </div>
  )
}

const PART_TITLES = { text: 'Text', reasoning: 'Reasoning', call: 'Tool call', result: 'Tool result' }

function firstWords({ parts }: PanelMessage): string {
  const [first] = parts
  if (!first) return ''
  return `${first.name ? `${first.name} ` : ''}${first.text.slice(0, 120).replace(/\s+/g, ' ')}`
}
