import type { RequestRecord } from '../../../views/detail/recorded-requests.ts'
import { formatCount, formatDuration, formatUsd, pluralize } from '../../../views/format-amount.ts'
import { stripControlCharacters, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

type RequestMessage = NonNullable<RequestRecord['request']>['messages'][number]

interface RequestLineOptions {
  style: TerminalStyle
  /** Lines of texts are wrapped; in a pipe they stay as they are. */
  wrap: boolean
  /** With the descriptions and schemas of tools. */
  full: boolean
  /** The request of the same session before it: its messages are not repeated. */
  before?: RequestRecord | undefined
}

/** A model request with its response. */
export function requestLines(request: RequestRecord, options: RequestLineOptions): string[] {
  const { style } = options
  const { number, agent, model, attempt, status, proof, cut, error, partial_text, response, request: content } = request
  const heading: TextSpan[] = [
    ['dim', style.ascii ? '-- ' : '── '],
    ['bold', `request ${number}`],
    `  ${toTerminalLine(agent)}  ${toTerminalLine(model)}  attempt ${attempt}  `,
    [status === 'completed' ? 'green' : 'yellow', status === 'open' ? 'no outcome recorded' : status],
  ]
  const note = (text: string) => wrapText(toTerminalLine(text), style.width, 2).map((line) => style.paint('dim', line))
  return [
    renderLine(style, heading),
    ...note(facts(request)),
    ...note(proof === 'sent' ? 'system prompt and messages: as sent' : `rebuilt, not proved: ${proof}`),
    ...(cut ? note('worked out anew since, by a resume') : []),
    ...(content ? contentLines(content, options) : []),
    ...(response ? messageLines('response', response.content, options) : []),
    ...(partial_text === '' ? [] : textLines('text before it ended', partial_text, options)),
    ...(error ? textLines('error', `${error.code}: ${error.message}`, options) : []),
  ]
}

function facts(request: RequestRecord): string {
  const { response_status, request_id, first_byte_ms, duration_ms, stop, usage, usd, estimated } = request
  const cached = usage?.cache_read ? `, ${formatCount(usage.cache_read)} cached` : ''
  const facts = [
    response_status === null ? '' : `status ${response_status}`,
    request_id === null ? '' : `id ${request_id}`,
    first_byte_ms === null ? '' : `first byte ${formatDuration(first_byte_ms)}`,
    duration_ms === null ? '' : `total ${formatDuration(duration_ms)}`,
    stop === null ? '' : `stop ${stop}`,
    usage === null ? '' : `${formatCount(usage.input)} tokens in${cached}, ${formatCount(usage.output)} out`,
    usage === null ? '' : usd === null ? 'unknown cost' : formatUsd(usd),
    estimated ? 'estimated' : '',
  ]
  return facts.filter((fact) => fact !== '').join(' · ') || 'no facts recorded'
}

function contentLines(
  { system, messages, tools, settings }: NonNullable<RequestRecord['request']>,
  options: RequestLineOptions,
): string[] {
  const { before, full } = options
  const earlier = before?.request?.messages.map((message) => JSON.stringify(message)) ?? []
  const isSame = before?.request?.system === system
  // A compaction or a hook may have changed messages.
  const changed = messages.findIndex((message, index) => JSON.stringify(message) !== earlier[index])
  const repeated = changed === -1 ? messages.length : changed
  const names = tools.map(({ name }) => name).join(', ')
  const schemas = JSON.stringify(tools, null, 2)
  return [
    ...(system === '' ? [] : textLines('system', isSame ? `as in request ${before?.number}` : system, options)),
    ...(repeated > 0
      ? textLines('messages', `${pluralize(repeated, 'message')} as in request ${before?.number}`, options)
      : []),
    ...messages.slice(repeated).flatMap((message) => messageLines(message.role, message.content, options)),
    ...(tools.length === 0
      ? []
      : textLines(
          'tools (names as recorded; schemas of this installation, not proved)',
          full ? schemas : names,
          options,
        )),
    ...textLines('settings (rebuilt, not proved)', JSON.stringify(settings), options),
  ]
}

function messageLines(title: string, content: RequestMessage['content'], options: RequestLineOptions): string[] {
  return content.flatMap((part) => {
    const [what, text] = partText(part)
    return textLines(`${title}${what}`, text, options)
  })
}

function partText(part: RequestMessage['content'][number]): [what: string, text: string] {
  switch (part.type) {
    case 'text':
      return ['', part.text]
    case 'reasoning':
      return [': reasoning', part.text]
    case 'file':
      return [': file', `${part.name ?? ''} ${part.media_type}`.trim()]
    case 'tool-call':
      return [`: call of ${part.name}`, JSON.stringify(part.input) ?? '']
    case 'tool-result':
      return [`: ${part.is_error ? 'error' : 'result'} of ${part.name}`, part.text]
  }
}

function textLines(title: string, text: string, { style, wrap }: RequestLineOptions): string[] {
  const lines = stripControlCharacters(text).trimEnd().split('\n')
  const shown = wrap ? lines.flatMap((line) => wrapText(line, style.width - 2)) : lines
  return [renderLine(style, [['cyan', toTerminalLine(title)]]), ...shown.map((line) => `  ${line}`)]
}
