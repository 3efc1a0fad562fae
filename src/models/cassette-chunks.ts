import type { ModelChunk } from '../kernel/model.ts'
import type { Replacement } from './cassette-request.ts'
import { applyReplacements, mapStrings } from './cassette-request.ts'

/*
 * Words arrive in pieces, and what is to be replaced may be broken over several of them: a key or an id that no single
 * piece shows. So the pieces of a text are looked at together, and keep their number and order.
 */

type TextChunk = Extract<ModelChunk, { type: 'text' | 'reasoning' }>

/** The chunks with every part of their texts replaced that `find` finds; `field` changes what is not words. */
export function replaceInChunks(
  chunks: readonly ModelChunk[],
  find: (text: string) => readonly Replacement[],
  field: (value: unknown) => unknown = (value) => mapStrings(value, (text) => applyReplacements(text, find(text))),
): ModelChunk[] {
  const changed: ModelChunk[] = []
  for (let index = 0; index < chunks.length; ) {
    const chunk = chunks[index] as ModelChunk
    if (chunk.type !== 'text' && chunk.type !== 'reasoning') {
      changed.push(chunk.type === 'tool-call' ? replaceInToolCall(chunk, field) : chunk)
      index += 1
      continue
    }
    const run = chunks.slice(index).findIndex((next) => next.type !== chunk.type)
    const end = run < 0 ? chunks.length : index + run
    changed.push(...replaceInTextChunks(chunks.slice(index, end) as TextChunk[], find, field))
    index = end
  }
  return changed
}

function replaceInToolCall(
  call: Extract<ModelChunk, { type: 'tool-call' }>,
  field: (value: unknown) => unknown,
): ModelChunk {
  return {
    ...call,
    input: field(call.input),
    // It quotes the arguments, and cut short a secret is no longer known by its looks.
    ...(call.invalid === undefined ? undefined : { invalid: 'the arguments are not JSON' }),
    ...(call.provider === undefined ? undefined : { provider: field(call.provider) }),
  }
}

function replaceInTextChunks(
  words: readonly TextChunk[],
  find: (text: string) => readonly Replacement[],
  field: (value: unknown) => unknown,
): TextChunk[] {
  const pieces = replaceAcrossPieces(
    words.map(({ text }) => text),
    find(words.map(({ text }) => text).join('')),
  )
  return words.map((chunk, index) => {
    const text = pieces[index] ?? ''
    if (chunk.type === 'text' || chunk.provider === undefined) return { ...chunk, text }
    return { ...chunk, text, provider: field(chunk.provider) }
  })
}

/** What replaces a part stands in the piece where the part began; the rest of the part is taken from the others. */
export function replaceAcrossPieces(pieces: readonly string[], replacements: readonly Replacement[]): string[] {
  if (replacements.length === 0) return [...pieces]
  let offset = 0
  return pieces.map((piece) => {
    const from = offset
    const to = offset + piece.length
    offset = to
    const own = replacements
      .filter(({ start, end }) => start < to && end > from)
      .map(({ start, end, text }) => ({
        start: Math.max(start, from) - from,
        end: Math.min(end, to) - from,
        text: start >= from ? text : '',
      }))
    return applyReplacements(piece, own)
  })
}
